"""`indult init` in real repositories of several kinds: it works at once, and undone nothing of it is left."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from indult.places import repository_ledger
from indult.setup.harnesses import ENTRIES

if TYPE_CHECKING:
    from tests.conftest import Run

KINDS: dict[str, tuple[dict[str, str], str | None]] = {
    "python": ({"pyproject.toml": "[tool.pytest.ini_options]\n", "src/a.py": "A = 1\n"}, "pytest -q"),
    "node": ({"package.json": '{"scripts": {"test": "node t.js"}}', "package-lock.json": "{}", "t.js": ""}, "npm test"),
    "rust": ({"Cargo.toml": '[package]\nname = "r"\nversion = "0.1.0"\n', "src/main.rs": "fn main() {}"}, "cargo test"),
    "go": ({"go.mod": "module x\n", "main.go": "package main\n"}, "go test ./..."),
    "mixed": (
        {"Makefile": "test:\n\ttrue\n", "go.mod": "module x\n", "package.json": "{}", "b/setup.py": ""},
        "make test",
    ),
    "nothing": ({}, None),
    "prose": ({"README": "hello\r\n", "AGENTS.md": "# A\r\n\r\nNever edit `x/y.py`.\r\n"}, None),
    "set up for agents": (
        {
            ".claude/settings.json": '{\n\t"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command",'
            ' "command": "true"}]}]},\n\t"permissions": {"allow": ["Bash(ls:*)"]}}',
            ".codex/config.toml": 'model = "x"\n',
            ".codex/hooks.json": '{"hooks": {"Stop": []}}\r\n',
            "CLAUDE.md": "@AGENTS.md",
        },
        None,
    ),
}
"""Files of each kind, and a command of its tests."""


def made(root: Path, files: dict[str, str]) -> Path:
    """Make a repository with files, of which one is readable to its owner alone."""
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        path.chmod(0o600 if name.endswith("settings.json") else 0o644)
    return root


def tree(root: Path) -> dict[str, tuple[int, bytes | None]]:
    """Return all that lies below a folder but git's own, with mode and content."""
    return {
        str(path.relative_to(root)): (path.lstat().st_mode, path.read_bytes() if path.is_file() else None)
        for path in root.rglob("*")
        if ".git" not in path.relative_to(root).parts
    }


def judged(indult: Run, root: Path, command: str) -> str | None:
    """Return what is decided on a command, none where nothing speaks against it."""
    call = {"session_id": "s", "cwd": str(root), "hook_event_name": "PreToolUse", "tool_use_id": "t"}
    ran = indult(
        "hook",
        "claude-code",
        "--require",
        stdin=json.dumps({**call, "tool_name": "Bash", "tool_input": {"command": command}}),
    )
    assert 0 == ran.exit_code
    found: str | None = ran.json[0].get("hookSpecificOutput", {}).get("permissionDecision")
    return found


def init(indult: Run) -> None:
    """Set up for all harnesses, and see that a second run has nothing to do."""
    args = [part for harness in ENTRIES for part in ("--harness", harness)]
    assert 0 == indult("init", *args).exit_code
    again = indult("init", *args, "--json")
    assert {"unchanged"} == {file["done"] for file in again.json[0]["files"]}


@pytest.mark.parametrize("kind", KINDS)
def test_kinds(kind: str, indult: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking and testing is free at once, publishing and undoing is denied, and afterwards each byte and mode is back."""
    files, tests = KINDS[kind]
    root = made(tmp_path / "shop", files)
    monkeypatch.chdir(root)
    before = tree(root)

    init(indult)

    assert [None, "deny", "deny"] == [
        judged(indult, root, one) for one in ("git status", "git push --force", "indult init --undo")
    ]
    assert tests is None or judged(indult, root, tests) is None
    assert 0 == indult("init", "--undo").exit_code
    assert before == tree(root)


def test_in_a_folder_below(indult: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder below, the repository is set up and not the folder."""
    root = made(tmp_path / "shop", {"pkg/deep/a.py": ""})
    monkeypatch.chdir(root / "pkg" / "deep")
    before = tree(root)

    init(indult)

    assert {"indult.yaml", *(entries.file for entries in ENTRIES.values())} == {
        name for name in tree(root).keys() - before.keys() if (root / name).is_file()
    }
    assert 0 == indult("init", "--undo").exit_code
    assert before == tree(root)


def test_in_a_work_tree(indult: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A work tree is set up by itself, with the ledger of its repository, and the other one stays as it is."""
    root = made(tmp_path / "shop", {"a.py": ""})
    git = ["git", "-C", str(root), "-c", "user.name=agent", "-c", "user.email=agent@example.org"]
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "Begin"], check=True)
    subprocess.run([*git, "worktree", "add", "-q", str(tmp_path / "other")], check=True)
    monkeypatch.chdir(tmp_path / "other")
    before = (tree(root), tree(tmp_path / "other"))

    init(indult)

    assert repository_ledger(str(root)) == repository_ledger(str(tmp_path / "other"))
    assert (before[0], "deny") == (tree(root), judged(indult, tmp_path / "other", "git push --force"))
    assert 0 == indult("init", "--undo").exit_code
    assert before == (tree(root), tree(tmp_path / "other"))


def test_from_an_environment_that_is_not_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set up by the path of its program, hooks find it, and `indult doctor` passes without it on the path."""
    root = made(tmp_path / "shop", {})
    program = str(Path(sys.executable).parent / "indult")
    environment = {**os.environ, "PATH": "/usr/bin:/bin", "XDG_DATA_HOME": str(tmp_path / "data")}

    def indult(*args: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [program, *args], cwd=root, env=environment, capture_output=True, text=True, check=False, timeout=120
        )

    assert 0 == indult("init", "--harness", "codex").returncode
    examined = indult("doctor", "--json")

    assert [] == [line for line in examined.stdout.splitlines() if json.loads(line)["state"] == "FAIL"]
    assert (0, 0) == (examined.returncode, indult("init", "--undo").returncode)
    assert {} == tree(root)


def test_a_clone(indult: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a clone what the file allows is allowed before anybody trusts it; `indult doctor` fails with that, until somebody does."""
    root = made(tmp_path / "shop", {})
    monkeypatch.chdir(root)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:/usr/bin:/bin")
    init(indult)
    git = ["git", "-c", "user.name=agent", "-c", "user.email=agent@example.org"]
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "Begin"], check=True)
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", str(root), str(clone)], check=True)
    monkeypatch.chdir(clone)

    fresh = indult("doctor")
    assert judged(indult, clone, "git status") is None
    assert 4 == indult("init").exit_code
    waiting = indult("doctor")
    digest = indult("trust", "--show", "--json").json[0]["digest"]
    assert 0 == indult("trust", "--digest", digest).exit_code

    assert (1, 1) == (fresh.exit_code, waiting.exit_code)
    for ran in (fresh, waiting):
        assert (
            "FAIL  trust: nobody trusts the policy here yet: until somebody does, what the file allows is" in ran.stdout
        )
    assert 0 == indult("doctor").exit_code
