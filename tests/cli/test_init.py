"""`indult init`: policy, hooks, ledger and trust in one go, twice the same, and undone without a trace."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from indult.ledger import open_ledger
from indult.places import repository_ledger
from indult.policy import load_policy
from indult.trust import trusted

if TYPE_CHECKING:
    from tests.conftest import Run


@pytest.fixture(name="root")
def _root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in a repository of Python with tests and settings of Claude Code."""
    root = tmp_path / "shop"
    (root / ".git").mkdir(parents=True)
    (root / ".claude").mkdir()
    (root / ".claude" / "settings.json").write_text('{"permissions": {"deny": ["Bash(rm:*)"], "allow": ["Bash"]}}')
    (root / "Makefile").write_text("test:\n\tpytest\n")
    (root / "shop.py").write_text("")
    monkeypatch.chdir(root)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    return root


def tree(root: Path) -> dict[str, bytes]:
    """Return all files below a folder."""
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_first_time(indult: Run, root: Path) -> None:
    """Everything is there afterwards, the policy is trusted, and the ledger lies outside of the work tree."""
    ran = indult("init", "--json")

    ledger = Path(ran.json[0]["ledger"])
    assert (0, True) == (ran.exit_code, ran.json[0]["trusted"])
    assert [("indult.yaml", "written"), (".claude/settings.json", "added to")] == [
        (file["path"], file["done"]) for file in ran.json[0]["files"]
    ]
    assert (repository_ledger(str(root)), 0o600) == (str(ledger), ledger.stat().st_mode & 0o777)
    assert not ledger.is_relative_to(root)
    with open_ledger(str(ledger), read_only=True) as opened:
        record = trusted(root / "indult.yaml", opened)
    assert record is not None
    assert load_policy(root / "indult.yaml").digest == record.digest


def test_twice(indult: Run, root: Path, data_home: Path) -> None:
    """A second run changes nothing, in the repository and in the ledger."""
    indult("init")
    before = tree(root)
    with open_ledger(repository_ledger(str(root)), read_only=True) as opened:
        events = len(list(opened.events()))

    again = indult("init", "--json")

    assert (0, before) == (again.exit_code, tree(root))
    assert {"unchanged"} == {file["done"] for file in again.json[0]["files"]}
    with open_ledger(repository_ledger(str(root)), read_only=True) as opened:
        assert events == len(list(opened.events()))


def test_undo(indult: Run, root: Path, data_home: Path) -> None:
    """Undoing leaves the repository and the data folder as they were."""
    before = tree(root)
    indult("init", "--harness", "claude-code", "--harness", "codex", "--harness", "copilot")

    dry = indult("init", "--undo", "--dry-run")
    assert {"would be removed", "would be restored"} == {line.rpartition(" ")[0] for line in dry.stdout.splitlines()}
    assert 0 == indult("init", "--undo").exit_code

    assert before == tree(root)
    assert [".claude", ".git", "Makefile", "shop.py"] == sorted(path.name for path in root.iterdir())
    assert {} == tree(data_home)
    assert "there is nothing to undo" in indult("init", "--undo").stderr


def test_undo_what_was_changed(indult: Run, root: Path) -> None:
    """A file that somebody changed since is kept, and the exit code says that not all is undone."""
    indult("init")
    (root / "indult.yaml").write_text("schema: 1\nrules: []\n")

    ran = indult("init", "--undo")

    assert 1 == ran.exit_code
    assert "kept indult.yaml (it was changed since)\n" in ran.stdout
    assert "hooks" not in json.loads((root / ".claude" / "settings.json").read_text())


def test_dry_run(indult: Run, root: Path, data_home: Path) -> None:
    """A dry run shows each change and makes none."""
    before = tree(root)

    ran = indult("init", "--dry-run", "--import", "claude")

    assert 0 == ran.exit_code
    assert "+++ b/indult.yaml" in ran.stdout
    assert "+  - id: claude.deny.1\n" in ran.stdout
    assert "permissions.allow[0]: Bash: not imported" in ran.stdout
    assert before == tree(root)
    assert not data_home.exists()


def test_dry_run_with_nothing_to_do(indult: Run, root: Path) -> None:
    """A dry run after the setup says that there is nothing to do; one without a harness says that none was found."""
    indult("init")
    done = indult("init", "--dry-run")
    (root / ".claude" / "settings.json").unlink()
    (root / ".claude").rmdir()
    bare = indult("init", "--dry-run")

    assert "nothing to do: all that would be written is there already" == done.stdout.splitlines()[-1]
    assert "note: no harness was found, so no hook puts the gate before an agent" in bare.stdout
    assert "no harness was found" in indult("init").stdout


def test_import(indult: Run, root: Path) -> None:
    """Permissions that were there become rules, and each line says how they differ."""
    ran = indult("init", "--import", "claude", "--json")

    assert "command:rm" == load_policy(root / "indult.yaml").rule("claude.deny.1").target
    assert ["claude.deny.1", None] == [line["rule"] for line in ran.json[0]["imported"]]
    assert all(line["differs"] for line in ran.json[0]["imported"])


def test_import_into_a_policy(indult: Run, root: Path) -> None:
    """A policy that was there is not written over: the rules are shown."""
    (root / "indult.yaml").write_text("schema: 1\nrules: []\n")

    ran = indult("init", "--import", "claude")

    assert "schema: 1\nrules: []\n" == (root / "indult.yaml").read_text()
    assert "  - id: claude.deny.1" in ran.stdout


def test_policy_that_was_there(indult: Run, root: Path) -> None:
    """A policy that somebody else wrote is not trusted by the way: a person has to look at it."""
    (root / "indult.yaml").write_text("schema: 1\nrules: [{id: all, effect: allow}]\n")

    ran = indult("init")

    assert 4 == ran.exit_code
    assert "until you trust it all holds that it says, and any change to it; look at it: indult trust" in ran.stdout
    with open_ledger(repository_ledger(str(root)), read_only=True) as opened:
        assert trusted(root / "indult.yaml", opened) is None


def test_policy_that_does_not_load(indult: Run, root: Path) -> None:
    """Under a policy that does not load every call would be blocked, so nothing is written."""
    (root / "indult.yaml").write_text("schema: 2\nrules: []\n")
    before = tree(root)

    ran = indult("init")

    assert (3, before) == (ran.exit_code, tree(root))
    assert ran.stderr.startswith("error: indult.yaml:1:9: unknown schema `2`")


def test_policy_that_was_taken_away(indult: Run, root: Path) -> None:
    """A policy that a person trusted is not replaced by a fresh one just because the file is gone."""
    (root / "indult.yaml").write_text("schema: 1\nrules: []\n")
    digest = load_policy(root / "indult.yaml").digest
    indult("init")
    assert 0 == indult("trust", "--digest", digest).exit_code
    (root / "indult.yaml").unlink()

    assert 4 == indult("init").exit_code
    with open_ledger(repository_ledger(str(root)), read_only=True) as opened:
        record = trusted(root / "indult.yaml", opened)
    assert record is not None
    assert digest == record.digest


def test_policy_that_was_changed(indult: Run, root: Path) -> None:
    """Running it again does not make a change trusted."""
    indult("init")
    with (root / "indult.yaml").open("a") as file:
        file.write("mode: observe\n")

    ran = indult("init")

    assert 4 == ran.exit_code
    assert "not trusted indult.yaml is not the version that is trusted, and until it is the stricter of" in ran.stdout


def test_program_that_is_gone(indult: Run, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run again from elsewhere, it mends hooks whose program is not found, and undoing still goes back to the beginning."""
    before = tree(root)
    program = root.parent / "bin" / "indult"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    indult("init")
    hooks = (root / ".claude" / "settings.json").read_text()
    monkeypatch.setenv("PATH", "/usr/bin:/bin")

    again = indult("init")

    beside = str(Path(sys.executable).parent / "indult")
    assert hooks.replace('"indult hook', f'"{beside} hook') == (root / ".claude" / "settings.json").read_text()
    assert f"the hooks name `{beside}`" in again.stdout
    assert 0 == indult("init", "--undo").exit_code
    assert before == tree(root)


def test_ledger_in_the_work_tree(indult: Run, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ledger that would lie where an agent may write is refused before anything is written."""
    before = tree(root)
    monkeypatch.setenv("INDULT_DB", str(root / "x.db"))

    ran = indult("init")

    assert (3, before) == (ran.exit_code, tree(root))
    assert "would lie in the work tree" in ran.stderr


def test_settings_that_cannot_be_added_to(indult: Run, root: Path) -> None:
    """Where one file cannot be added to, nothing is written at all."""
    (root / ".claude" / "settings.json").write_text("{} // mine")
    before = tree(root)

    ran = indult("init")

    assert (3, before) == (ran.exit_code, tree(root))
    assert "error: `.claude/settings.json` cannot be added to: not plain JSON" in ran.stderr


def test_no_repository(indult: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Outside of a repository there is nothing to set up."""
    monkeypatch.chdir(tmp_path)

    assert (1, "error: this is no repository\nhint: git init\n") == (indult("init").exit_code, indult("init").stderr)


def test_undo_goes_alone(indult: Run, root: Path) -> None:
    """Undoing takes back all of it, so it takes no harness."""
    assert 1 == indult("init", "--undo", "--harness", "codex").exit_code
