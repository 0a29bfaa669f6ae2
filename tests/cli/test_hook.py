"""`indult hook` as a process: what it says, and that it blocks whatever goes wrong."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from indult.cli import hook
from indult.places import repository_ledger

if TYPE_CHECKING:
    from tests.conftest import Ran, Run

LAW = """
schema: 1
default: deny
rules:
  - {id: reading, tool: Look, effect: allow}
  - {id: asking, tool: Send, effect: ask, says: Sending needs a person.}
"""


@pytest.fixture(name="root")
def _root(tmp_path: Path, data_home: Path) -> Path:
    """Make a repository with a policy."""
    root = tmp_path / "app"
    (root / ".git").mkdir(parents=True)
    (root / "indult.yaml").write_text(LAW, encoding="utf-8")
    return root


def event(root: Path, tool: str = "Look", **fields: Any) -> str:
    """Return a call as Claude Code writes it."""
    data = {"session_id": "s-1", "cwd": str(root), "hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": {}}
    return json.dumps({**data, "tool_use_id": "c-1", **fields})


def decision(ran: Ran) -> Any:
    """Return what was decided, none where nothing was."""
    return json.loads(ran.stdout).get("hookSpecificOutput", {}).get("permissionDecision")


def blocked(ran: Ran) -> str:
    """Return why a call was blocked, having seen that it was, in the words of Claude Code and Codex."""
    assert ran.exit_code == 2
    assert ran.stdout == ""
    assert ran.stderr.strip()
    return ran.stderr


class TestAnswers:
    def test_answers_on_standard_output(self, indult: Run, root: Path) -> None:
        """A call is answered in JSON, and the process ends well whatever the answer."""
        for tool, expected in (("Look", None), ("Send", "ask"), ("Drop", "deny")):
            ran = indult("hook", "claude-code", stdin=event(root, tool))
            assert (0, expected) == (ran.exit_code, decision(ran))

    def test_the_policy_of_the_folder_above_holds(self, indult: Run, root: Path) -> None:
        """A call in a folder below is judged by the policy of its repository."""
        (root / "deep" / "er").mkdir(parents=True)

        assert "deny" == decision(indult("hook", "claude-code", stdin=event(root / "deep" / "er", "Drop")))

    def test_a_repository_can_be_named(self, indult: Run, root: Path, tmp_path: Path) -> None:
        """Wherever the agent goes, the policy of the repository that is named holds."""
        ran = indult("hook", "claude-code", "--repository", str(root), stdin=event(tmp_path, "Drop"))

        assert "deny" == decision(ran)

    def test_a_policy_of_the_agents_own_changes_nothing(
        self, indult: Run, root: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """In a folder that the agent made and gave a policy, that of the project still holds."""
        own = root / "own"
        own.mkdir()
        (own / "indult.yaml").write_text("{schema: 1, default: ask, rules: [{id: a, effect: allow}]}", encoding="utf-8")
        assert decision(indult("hook", "claude-code", stdin=event(own, "Drop"))) is None
        monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(root))

        assert "deny" == decision(indult("hook", "claude-code", stdin=event(own, "Drop")))

    def test_nobody_is_asked_where_nobody_is(self, indult: Run, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where Claude Code runs without a person, a question is a denial that names the request."""
        monkeypatch.setenv("CLAUDE_CODE_ENTRYPOINT", "sdk-cli")

        assert "deny" == decision(indult("hook", "claude-code", stdin=event(root, "Send")))

    def test_without_a_policy_nothing_is_said(self, indult: Run, tmp_path: Path) -> None:
        """A folder without a policy is none of indult's business."""
        ran = indult("hook", "claude-code", stdin=event(tmp_path))

        assert (0, "{}\n") == (ran.exit_code, ran.stdout)


class TestBlocks:
    def test_a_policy_that_is_required_and_not_there(self, indult: Run, tmp_path: Path) -> None:
        """Where a policy is required a call without one is blocked."""
        assert "no policy" in blocked(indult("hook", "claude-code", "--require", stdin=event(tmp_path)))

    def test_a_repository_that_is_named_and_has_no_policy(self, indult: Run, root: Path, tmp_path: Path) -> None:
        """Whoever names a repository means its policy; without one the call is blocked, wherever it happens."""
        ran = indult("hook", "claude-code", "--repository", str(tmp_path / "other"), stdin=event(root))

        assert "no policy" in blocked(ran)

    def test_a_policy_in_error(self, indult: Run, root: Path) -> None:
        """A policy that cannot be loaded blocks, with its place."""
        (root / "indult.yaml").write_text("schema: 1\nrules: [{id: a}]\n", encoding="utf-8")

        assert "indult.yaml:2" in blocked(indult("hook", "claude-code", stdin=event(root)))

    @pytest.mark.parametrize("kind", ["directory", "link", "nothing to read"])
    def test_a_policy_that_is_no_file(self, indult: Run, root: Path, kind: str) -> None:
        """What stands in the place of the policy and is none blocks."""
        path = root / "indult.yaml"
        path.unlink()
        if kind == "directory":
            path.mkdir()
        else:
            path.symlink_to(root / "absent" if kind == "link" else "/dev/null")

        blocked(indult("hook", "claude-code", stdin=event(root)))

    def test_a_fact_that_no_hook_knows(self, indult: Run, root: Path) -> None:
        """A policy that wants to know what a hook cannot say blocks, by name."""
        (root / "indult.yaml").write_text(LAW.replace("rules:", "context: {branch: string}\nrules:"), encoding="utf-8")

        assert "`branch`" in blocked(indult("hook", "claude-code", stdin=event(root)))

    @pytest.mark.parametrize("text", ["", "{", "[]", "\0", "{}", '{"hook_event_name": "PreToolUse"}'])
    def test_an_event_that_is_none(self, indult: Run, text: str) -> None:
        """Whatever cannot be read as an event blocks."""
        blocked(indult("hook", "claude-code", stdin=text))

    def test_a_ledger_that_is_damaged(self, indult: Run, root: Path) -> None:
        """A judgement that cannot be recorded is none."""
        path = Path(repository_ledger(str(root)))
        path.parent.mkdir(parents=True)
        path.write_text("no database, but long enough to be taken for one by its size" * 100, encoding="ascii")

        assert "not a ledger" in blocked(indult("hook", "claude-code", stdin=event(root)))

    def test_a_work_tree_that_leads_nowhere(self, indult: Run, root: Path) -> None:
        """What `.git` says and cannot be read blocks, since nobody knows whose ledger is meant."""
        (root / ".git").rmdir()
        (root / ".git").write_text("gitdir: ../gone\n", encoding="utf-8")

        assert "no git directory" in blocked(indult("hook", "claude-code", stdin=event(root)))

    @pytest.mark.parametrize("harness", ["claude-code", "codex"])
    def test_an_error_of_its_own(self, indult: Run, root: Path, monkeypatch: pytest.MonkeyPatch, harness: str) -> None:
        """Even a defect of indult blocks, and the traceback is kept."""

        def broken(*_: object, **__: object) -> None:
            raise RuntimeError("a defect")

        monkeypatch.setattr(hook, "_answer", broken)

        assert "a defect" in blocked(indult("hook", harness, stdin=event(root)))

    @pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, RecursionError, SystemExit])
    def test_an_interruption(
        self, indult: Run, root: Path, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
    ) -> None:
        """Being interrupted, or running out of memory, blocks."""

        def broken(*_: object, **__: object) -> None:
            raise error

        monkeypatch.setattr(hook, "_answer", broken)

        blocked(indult("hook", "claude-code", stdin=event(root)))

    def test_copilot_is_told_in_json(self, indult: Run, tmp_path: Path) -> None:
        """Where an exit code says nothing, a failure is a denial in JSON."""
        ran = indult(
            "hook", "copilot", "--require", stdin=json.dumps({"cwd": str(tmp_path), "toolName": "x", "toolArgs": {}})
        )

        assert (0, "deny") == (ran.exit_code, json.loads(ran.stdout)["permissionDecision"])

    @pytest.mark.parametrize(
        "args",
        [
            [],
            ["vim"],
            ["claude-code", "--nonsense"],
            ["claude-code", "--repository"],
            ["claude-code", "codex"],
            ["claude-code", "--require=yes"],
        ],
    )
    def test_a_command_line_in_error(self, indult: Run, root: Path, args: list[str]) -> None:
        """A hook that was installed wrongly blocks."""
        assert 2 == indult("hook", *args, stdin=event(root)).exit_code

    def test_what_cannot_be_kept(self, indult: Run, root: Path) -> None:
        """An event that holds half a character blocks, in a text that can be shown."""
        blocked(indult("hook", "claude-code", stdin=event(root, tool_input={"a": "\ud800"})))

    def test_an_event_over_1_mb(self, indult: Run, root: Path) -> None:
        """A call that is larger than anything that is judged blocks."""
        assert "too large" in blocked(
            indult("hook", "claude-code", stdin=event(root, tool_input={"a": "x" * 1_000_001}))
        )


class TestProcess:
    """The same as real processes, where what Python does at its end counts too."""

    def run(self, *args: str, stdin: bytes, **more: Any) -> subprocess.CompletedProcess[bytes]:
        """Run a hook to its end."""
        command = [sys.executable, "-m", "indult", "hook", *args]
        return subprocess.run(command, input=stdin, capture_output=True, check=False, timeout=60, **more)

    def test_standard_output_that_is_closed(self, root: Path) -> None:
        """An answer that nobody can read is no leave to run the tool."""
        command = f"exec {sys.executable} -m indult hook claude-code >&-"
        ran = subprocess.run(command, shell=True, input=event(root).encode(), capture_output=True, check=False)

        assert ran.returncode == 2
        assert ran.stderr.strip()

    def test_standard_output_that_is_full(self, root: Path) -> None:
        """Nor is one that could not be written."""
        with open("/dev/full", "wb") as full:
            ran = subprocess.run(
                [sys.executable, "-m", "indult", "hook", "claude-code"],
                input=event(root, "Drop").encode(),
                stdout=full,
                stderr=subprocess.PIPE,
                check=False,
            )

        assert ran.returncode == 2
        assert ran.stderr.strip()

    def test_a_locale_that_knows_no_letters(self, root: Path) -> None:
        """Whatever the locale, the answer arrives as JSON."""
        ran = self.run(
            "claude-code",
            stdin=event(root, "Drop", tool_input={"ä": "\u202e"}).encode(),
            env={**os.environ, "LC_ALL": "C"},
        )

        assert "deny" == json.loads(ran.stdout)["hookSpecificOutput"]["permissionDecision"]

    def test_a_ledger_that_is_locked(self, root: Path) -> None:
        """A ledger that another process holds blocks when its time is over."""
        assert self.run("claude-code", stdin=event(root).encode()).returncode == 0
        other = sqlite3.connect(repository_ledger(str(root)), isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        try:
            ran = self.run("claude-code", stdin=event(root).encode())
        finally:
            other.close()

        assert (2, b"") == (ran.returncode, ran.stdout)
        assert b"in use" in ran.stderr

    @pytest.mark.parametrize("harness", ["claude-code", "codex", "copilot"])
    def test_standard_input_that_never_ends(self, root: Path, harness: str) -> None:
        """A hook that waits too long for anything gives up by itself, before the harness would run the tool."""
        code = f"from indult.cli import hook, main; hook.DEADLINE = 0.2; main(['hook', '{harness}'])"
        with subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            out, err = process.stdout.read(), process.stderr.read()

        assert b"no answer within 0.2 seconds" in err
        if harness == "copilot":
            assert (0, "deny") == (process.returncode, json.loads(out)["permissionDecision"])
        else:
            assert (2, b"") == (process.returncode, out)

    def test_it_is_quick_to_import(self, root: Path) -> None:
        """Nothing that takes long to import stands between a harness and its answer."""
        self.run("claude-code", stdin=event(root).encode())
        slow = ["click", "yaml", "pathlib", "subprocess", "tempfile", "asyncio", "logging", "difflib", "hashlib", "threading", "re2", "cryptography"]  # fmt: skip
        code = (
            "import sys; before = {*sys.modules}; from indult.cli import main; code = main(['hook', 'claude-code'])\n"
            f"sys.exit(code or ','.join(({set(slow)} & {{*sys.modules}}) - before) or 0)"
        )
        ran = subprocess.run(
            [sys.executable, "-I", "-c", code], input=event(root).encode(), capture_output=True, check=False
        )

        assert (0, b"") == (ran.returncode, ran.stderr)
