"""Canary calls: run the very hook command that is installed with calls that have to be blocked, and read the answer.

An answer is read as the harness reads it, by its own traps: what a harness takes for leave to run the tool counts as
such, whatever was meant.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from indult.places import POLICY
from indult.setup.harnesses import ENTRIES

__all__ = ["Call", "Ran", "Reading", "calls", "harmless", "reading", "run_hook"]

_SECONDS: Final = 60.0
_CODEX: Final = frozenset(
    {"hookEventName", "permissionDecision", "permissionDecisionReason", "updatedInput", "additionalContext"}
)
_ANY: Final = frozenset(
    {"continue", "stopReason", "suppressOutput", "systemMessage", "decision", "reason", "hookSpecificOutput"}
)


class Reading(StrEnum):
    """What a harness does after an answer."""

    RUNS = "runs"
    ASKS = "asks"
    BLOCKED = "blocked"
    FAILED = "failed"
    """Blocked, because the hook failed and said so in a way that blocks."""
    BROKEN = "broken"
    """The tool runs, because the hook failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call of a tool: what it is in words, the tool and its arguments."""

    what: str
    tool: str
    args: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What the process of a hook did; `exit_code` is none where it did not end in time."""

    stdout: str
    stderr: str
    exit_code: int | None


def calls(root: str, harness: str) -> Iterator[Call]:
    """Yield the calls by which an agent would get around the gate; each has to be denied."""
    for path in (POLICY, ENTRIES[harness].file):
        args = {"file_path": str(Path(root) / path), "content": "canary\n"}
        # Codex has no such tool: it writes by patches and in the shell.
        tool, args = ("Bash", {"command": f"echo canary > {path}"}) if harness == "codex" else ("Write", args)
        yield Call(what=f"writing {path}", tool=tool, args=args)
    for command in ("indult approve r_canary", "indult init --undo"):
        yield Call(what=f"`{command}`", tool="Bash", args={"command": command})


def harmless() -> Call:
    """Return a call that no policy has a reason to deny."""
    return Call(what="echo canary", tool="Bash", args={"command": "echo canary"})


def run_hook(harness: str, command: str, call: Call, *, root: str, environment: Mapping[str, str]) -> Ran:
    """Run a hook's command as the harness does: in a shell, in the repository, with the call on standard input."""
    given = {"CLAUDE_PROJECT_DIR": root} if harness == "claude-code" else {}
    try:
        done = subprocess.run(
            ["/bin/sh", "-c", command], cwd=root, env={**os.environ, **given, **environment}, input=_event(harness, call, root),
            capture_output=True, timeout=_SECONDS, check=False, encoding="utf-8", errors="replace",
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return Ran(stdout="", stderr="", exit_code=None)
    return Ran(stdout=done.stdout, stderr=done.stderr, exit_code=done.returncode)


def reading(harness: str, ran: Ran) -> tuple[Reading, str]:
    """Return what a harness makes of an answer to the call of a tool, and the reason that it was given."""
    if ran.exit_code is None:
        return Reading.BROKEN, "no answer in time"
    said = ran.stderr.strip()
    if harness != "copilot" and ran.exit_code == 2:
        return (Reading.FAILED, said) if said else (Reading.BROKEN, "exit code 2 without a text")
    if ran.exit_code != 0:
        return Reading.BROKEN, f"exit code {ran.exit_code}: {said}"
    try:
        shown = json.loads(ran.stdout) if ran.stdout.strip() else {}
        assert shown is None or isinstance(shown, dict)
    except (ValueError, AssertionError):
        return Reading.BROKEN, "standard output is no JSON object"
    if harness == "copilot":
        return _judged(
            (shown or {}).get("permissionDecision"), str((shown or {}).get("permissionDecisionReason") or "")
        )
    return _hook(harness, shown or {})


def _hook(harness: str, shown: Mapping[str, Any]) -> tuple[Reading, str]:
    specific = shown.get("hookSpecificOutput", {})
    if set(shown) - _ANY or not isinstance(specific, dict):
        return Reading.BROKEN, "a field that the harness does not know"
    word, reason = specific.get("permissionDecision"), str(specific.get("permissionDecisionReason") or "").strip()
    if specific and specific.get("hookEventName") != "PreToolUse":
        return Reading.BROKEN, "the answer is to another event"
    stops = shown.get("continue") is False or "stopReason" in shown or shown.get("suppressOutput")
    odd = set(specific) - _CODEX or word not in {None, "deny"} or (word and not reason)
    if harness == "codex" and (stops or odd):
        return Reading.BROKEN, "an answer that Codex does not take"
    return _judged(word, reason)


def _judged(word: object, reason: str) -> tuple[Reading, str]:
    """Return what a word comes to; a denial that names no judgement is a failure, and Codex is denied what asks."""
    if word == "deny":
        denied, asks = "denied by" in reason, "needs approval" in reason
        return (Reading.BLOCKED if denied else Reading.ASKS if asks else Reading.FAILED), reason
    return (Reading.ASKS if word in {"ask", "defer"} else Reading.RUNS), reason


def _event(harness: str, call: Call, root: str) -> str:
    if harness == "copilot":
        event: dict[str, Any] = {"timestamp": 0, "cwd": root, "toolName": _COPILOT.get(call.tool, call.tool)}
        return json.dumps({**event, "toolArgs": json.dumps(_copilot_args(call))})
    event = {
        "session_id": "indult-doctor", "transcript_path": "", "cwd": root, "permission_mode": "default",
        "hook_event_name": "PreToolUse", "tool_name": call.tool, "tool_input": dict(call.args),
        "tool_use_id": "indult-doctor",
    }  # fmt: skip
    if harness == "codex":
        event |= {"turn_id": "indult-doctor", "model": "indult-doctor"}
    return json.dumps(event)


_COPILOT: Final = {"Bash": "bash", "Write": "create"}


def _copilot_args(call: Call) -> dict[str, Any]:
    if call.tool == "Write":
        return {"path": call.args["file_path"], "file_text": call.args["content"]}
    return dict(call.args)
