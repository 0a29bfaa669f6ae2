"""A scripted harness: it speaks Claude Code's hook protocol to real `indult hook` processes, and obeys what they say.

Its agent is a list of calls. Each goes through `PreToolUse`; what may run is done for real in the work tree, and
`PostToolUse` tells how it went. Where a person has to be asked it does what a person at the keyboard would see: nothing
runs, and the call can be made again later.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.adapters.obeying import claude_code

from indult.adapters.hooks import Wire

__all__ = ["Called", "Harness"]

_BOUNDARY = re.compile(r"indult, boundary (sha256:[0-9a-f]{64})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    """One call as it went: what the hook said, in a word and in full, and the result if it ran.

    `read` is the digest of the boundary in the last text that the agent had been given when it made the call.
    """

    tool: str
    read: str
    word: str
    said: dict[str, Any]
    args: dict[str, Any]
    result: str | None

    @property
    def reason(self) -> str:
        """What the model is told of the decision."""
        return str(self.said.get("permissionDecisionReason", ""))


@dataclass(slots=True)
class Harness:
    """A session in the work tree `root`; `context` is all that its hooks gave the agent to read, oldest first."""

    root: Path
    session: str = "s-1"
    calls: list[Called] = field(default_factory=list)
    context: list[str] = field(default_factory=list)

    def begin(self) -> None:
        """Begin the session."""
        self._context(self.hook("SessionStart", source="startup"))

    def prompt(self, text: str) -> None:
        """Send what a person typed."""
        self._context(self.hook("UserPromptSubmit", prompt=text))

    def stop(self) -> str:
        """End the turn and return what the person is told."""
        return str(self.hook("Stop", stop_hook_active=False).get("systemMessage", ""))

    def call(self, tool: str, /, **args: Any) -> Called:
        """Make a call: ask the hook, run it if that may be, and tell how it went."""
        name = f"toolu_{len(self.calls) + 1}"
        read = self.read
        wire = self.process("PreToolUse", tool_name=tool, tool_input=args, tool_use_id=name)
        word = claude_code(wire)
        assert word != "broken", wire
        shown = json.loads(wire.stdout or "{}")
        self._context(shown)
        said = shown.get("hookSpecificOutput", {})
        done = dict(said.get("updatedInput", args))
        result = self._run(tool, done) if word in {"runs", "allowed"} else None
        if result is not None:
            self.hook("PostToolUse", tool_name=tool, tool_input=done, tool_use_id=name, tool_response=result)
        called = Called(tool=tool, read=read, word=word, said=said, args=done, result=result)
        self.calls.append(called)
        return called

    @property
    def read(self) -> str:
        """Return the digest of the boundary that the agent was told last, as it stands in the text that it read."""
        told = [found for text in self.context for found in _BOUNDARY.findall(text)]
        return told[-1] if told else ""

    def hook(self, event: str, **fields: Any) -> dict[str, Any]:
        """Run a hook that must not fail and return what it said."""
        wire = self.process(event, **fields)
        assert wire.exit_code == 0, wire
        found: dict[str, Any] = json.loads(wire.stdout)
        return found

    def process(self, event: str, **fields: Any) -> Wire:
        """Run a hook as the harness would: a process that gets JSON on its standard input."""
        data = {
            "session_id": self.session,
            "transcript_path": str(self.root / ".." / "transcript.jsonl"),
            "cwd": str(self.root),
            "permission_mode": "default",
            "hook_event_name": event,
            **fields,
        }
        ran = indult("hook", "claude-code", "--require", cwd=self.root, given=json.dumps(data))
        return Wire(ran.stdout, ran.stderr, ran.returncode)

    def _context(self, shown: dict[str, Any]) -> None:
        text = shown.get("hookSpecificOutput", {}).get("additionalContext")
        if text:
            self.context.append(text)

    def _run(self, tool: str, args: dict[str, Any]) -> str:
        """Do what a call asks for."""
        match tool:
            case "Read":
                return Path(args["file_path"]).read_text(encoding="utf-8")
            case "Write":
                Path(args["file_path"]).write_text(args["content"], encoding="utf-8")
                return "written"
            case "Edit":
                path = Path(args["file_path"])
                text = path.read_text(encoding="utf-8").replace(args["old_string"], args["new_string"], 1)
                path.write_text(text, encoding="utf-8")
                return "edited"
            case "Bash":
                ran = subprocess.run(
                    ["/bin/bash", "-c", args["command"]], cwd=self.root, capture_output=True, text=True, check=False
                )
                return ran.stdout + ran.stderr
            case _:
                return json.dumps(args)


def indult(*args: str, cwd: Path, given: str = "") -> subprocess.CompletedProcess[str]:
    """Run an indult process to its end."""
    command = [sys.executable, "-m", "indult", *args]
    return subprocess.run(command, cwd=cwd, input=given, capture_output=True, text=True, check=False, timeout=120)
