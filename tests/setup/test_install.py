from __future__ import annotations

import json
from pathlib import Path

import pytest

from indult.errors import ConfigurationError
from indult.setup.install import journal_place, ledger_of, plan, program_here


def test_changes(tmp_path: Path) -> None:
    """Where nothing is, the policy comes first, and then a file for each harness."""
    found = plan(str(tmp_path), harnesses=["codex", "claude-code"], program="indult")

    assert ["indult.yaml", ".claude/settings.json", ".codex/hooks.json"] == [change.path for change in found.changes]
    assert all(change.needed for change in found.changes)


def test_policy_that_is_there(tmp_path: Path) -> None:
    """A policy that is there stays; imported rules are shown for it."""
    (tmp_path / "indult.yaml").write_text("schema: 1\nrules: []\n")
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "settings.json").write_text(json.dumps({"permissions": {"deny": ["Bash(rm:*)"]}}))

    found = plan(str(tmp_path), harnesses=["codex"], source="claude", program="indult")

    assert [".codex/hooks.json"] == [change.path for change in found.changes]
    assert "id: claude.deny.1" in found.by_hand


def test_settings_that_are_no_text(tmp_path: Path) -> None:
    """A file that is no UTF-8 is an error with its name."""
    (tmp_path / ".codex").mkdir()
    (tmp_path / ".codex" / "hooks.json").write_bytes(b"\xff")

    with pytest.raises(ConfigurationError, match=r"`\.codex/hooks\.json` cannot be added to"):
        plan(str(tmp_path), harnesses=["codex"])


def test_program_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hooks name indult by its name where the path finds it outside of the work tree, and never one inside."""
    for name in ("out", "root/.venv"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "indult").write_text("#!/bin/sh\n")
        (tmp_path / name / "indult").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "out"))
    outside = program_here(str(tmp_path / "root"))
    monkeypatch.setenv("PATH", str(tmp_path / "root" / ".venv"))

    assert "indult" == outside
    assert "indult" != program_here(str(tmp_path / "root"))
    assert plan(str(tmp_path / "root"), harnesses=["codex"]).notes[-1].startswith("the hooks name `/")


def test_ledger_outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ledger is that of the repository in the data folder, or the one that the environment names, never inside."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    root = tmp_path / "root"
    root.mkdir()

    assert Path(ledger_of(str(root), None)).is_relative_to(tmp_path / "data" / "indult" / "repositories")
    assert str(tmp_path / "x.db") == ledger_of(str(root), str(tmp_path / "x.db"))
    with pytest.raises(ConfigurationError, match="would lie in the work tree"):
        ledger_of(str(root), str(root / "x.db"))
    monkeypatch.setenv("XDG_DATA_HOME", str(root / "data"))
    with pytest.raises(ConfigurationError, match="would lie in the work tree"):
        ledger_of(str(root), None)


def test_journal_of_each_work_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two work trees of one repository have one ledger and a journal each."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    (tmp_path / "one" / ".git").mkdir(parents=True)
    (tmp_path / "one" / ".git" / "worktrees" / "two").mkdir(parents=True)
    (tmp_path / "one" / ".git" / "worktrees" / "two" / "commondir").write_text("../..\n")
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / ".git").write_text(f"gitdir: {tmp_path / 'one' / '.git' / 'worktrees' / 'two'}\n")
    one, two = (journal_place(str(tmp_path / name)) for name in ("one", "two"))

    assert one.parent == two.parent
    assert one.name != two.name
