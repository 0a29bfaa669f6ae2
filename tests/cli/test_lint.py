"""`indult lint`: files of instructions against the gate of the repository."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from indult.places import POLICY as POLICY_FILE
from indult.places import repository_ledger
from indult.setup.instructions import FILES

if TYPE_CHECKING:
    from tests.conftest import Run

DOCS = Path(__file__).parents[2] / "docs"
POLICY = """\
schema: 1
rules:
  - {id: gen, effect: ask, target: "file:gen/**", says: Ask before you change what is generated.}
  - {id: rest, effect: allow, target: ["file:**", "command:make"]}
"""


@pytest.fixture(name="root")
def _root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, indult: Run) -> Path:
    """Stand in a repository whose instructions have their block."""
    root = tmp_path / "shop"
    (root / ".git").mkdir(parents=True)
    monkeypatch.chdir(root)
    (root / "indult.yaml").write_text(POLICY)
    (root / "AGENTS.md").write_text("# Rules\n\nNever edit `gen/a.py`.\n")
    assert 0 == indult("brief", "--write", "AGENTS.md").exit_code
    return root


def test_in_step(indult: Run, root: Path) -> None:
    """Instructions that say what the gate answers pass, named or not."""
    assert (0, "") == (indult("lint").exit_code, indult("lint", "AGENTS.md").stdout)


def test_stale(indult: Run, root: Path) -> None:
    """After a change to the policy the block is stale, with its line, until it is written again."""
    (root / "indult.yaml").write_text(POLICY.replace("generated.", "made."))

    ran = indult("lint")

    assert (
        1,
        "AGENTS.md:5: the block is not what the gate answers now\n    hint: indult brief --write AGENTS.md\n",
    ) == (
        ran.exit_code,
        ran.stdout,
    )
    indult("brief", "--write", "AGENTS.md")
    assert 0 == indult("lint").exit_code


def test_prose(indult: Run, root: Path) -> None:
    """A sentence that the gate answers otherwise is found with file and line, commands too."""
    text = (root / "AGENTS.md").read_text()
    (root / "AGENTS.md").write_text(f"You may edit `gen/b.py`.\nNever run `make test`.\n\n{text}")

    ran = indult("lint", "--json")

    assert [
        ("AGENTS.md", 1, "permits changing `gen/b.py`, which needs a person's approval (gen)"),
        ("AGENTS.md", 2, "forbids running `make test`, which the gate allows (rest)"),
    ] == [(found["file"], found["line"], found["text"]) for found in ran.json]


def test_what_a_person_opened(indult: Run, root: Path) -> None:
    """A sentence that forbids what is open for this work tree is found as long as it is."""
    event = {
        "session_id": "s",
        "cwd": str(root),
        "hook_event_name": "PreToolUse",
        "tool_name": "Write",
        "tool_input": {"file_path": str(root / "gen" / "a.py"), "content": "x"},
        "tool_use_id": "t",
    }
    asked = indult("hook", "claude-code", stdin=json.dumps(event))
    assert "ask" == asked.json[0]["hookSpecificOutput"]["permissionDecision"]
    request = indult("requests", "--json").json[0]["id"]
    digest = indult("show", request, "--json").json[0]["digest"]
    assert 0 == indult("lint").exit_code

    assert 0 == indult("approve", request, "--digest", digest, "--by", "ada").exit_code

    found = indult("lint", "--json").json
    assert [3] == [one["line"] for one in found]
    assert found[0]["text"].startswith("forbids changing `gen/a.py`, which a person has opened (g_")


def test_policy_that_is_not_trusted(indult: Run, root: Path) -> None:
    """Where a file is not the trusted version, the gate says otherwise than the file; that is a finding of its own."""
    db = repository_ledger(str(root))
    digest = indult("trust", "--show", "--json", "--db", db).json[0]["digest"]
    assert 0 == indult("trust", "--digest", digest, "--db", db).exit_code
    (root / "indult.yaml").write_text(POLICY + "  - {id: all, effect: allow}\n")

    assert indult("lint").stdout.startswith("indult.yaml:1: this is not the version that a person trusts")
    assert (3, True) == (
        indult("brief", "--write", "AGENTS.md").exit_code,
        "nothing was written" in indult("brief", "--write", "AGENTS.md").stderr,
    )


@pytest.mark.parametrize(
    ("args", "text"),
    [(("none.md",), "there is no file `none.md`"), (("/etc/hostname",), "leads out of the repository")],
)
def test_files_that_cannot_be_read(args: tuple[str, ...], text: str, indult: Run, root: Path) -> None:
    """A file that is not there, or not of the repository, is an error."""
    ran = indult("lint", *args)

    assert 1 == ran.exit_code
    assert text in ran.stderr


def test_recipe_for_commits(indult: Run, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The hook that the page on `indult init` shows runs for each file that counts, and stops a commit of a stale block."""
    page = (DOCS / "howto" / "init.md").read_text(encoding="utf-8")
    (config,) = [found for found in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL) if found.startswith("repos:")]
    (hook,) = yaml.safe_load(config)["repos"][0]["hooks"]
    assert [True] * 5 == [re.search(hook["files"], name) is not None for name in (POLICY_FILE, *FILES)]
    assert ("system", False) == (hook["language"], hook["pass_filenames"])
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:/usr/bin:/bin")
    for name in ("GIT_AUTHOR", "GIT_COMMITTER"):
        monkeypatch.setenv(f"{name}_NAME", "agent")
        monkeypatch.setenv(f"{name}_EMAIL", "agent@example.org")
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    run = root / ".git" / "hooks" / "pre-commit"
    run.parent.mkdir(exist_ok=True)
    run.write_text(f"#!/bin/sh\nexec {hook['entry']}\n")
    run.chmod(0o755)
    commit = ["git", "commit", "-q", "--allow-empty", "-m", "x"]

    assert 0 == subprocess.run(commit, check=False).returncode
    (root / "indult.yaml").write_text(POLICY.replace("generated.", "made."))
    refused = subprocess.run(commit, check=False, capture_output=True, text=True)

    assert 1 == refused.returncode
    assert "AGENTS.md:5: the block is not what the gate answers now" in refused.stdout + refused.stderr


def test_no_policy(indult: Run, root: Path) -> None:
    """Without a policy there is nothing to hold instructions against."""
    (root / "indult.yaml").unlink()

    assert (3, "error: there is no `indult.yaml` here\nhint: indult init\n") == (
        indult("lint").exit_code,
        indult("brief", "--write", "AGENTS.md").stderr,
    )


def test_no_files(indult: Run, root: Path) -> None:
    """Without any instructions there is nothing to hold against the gate."""
    (root / "AGENTS.md").unlink()

    assert "error: there is none of AGENTS.md, CLAUDE.md" in indult("lint").stderr
