"""What a harness does with what a hook's process wrote: runs the tool, asks a person, or blocks the call.

Written after the harnesses' own readers of such output, with every way in which they run the tool because a hook did
not speak their language: these are `broken`.
"""

from __future__ import annotations

import json
from typing import Any, Final

from indult.adapters.hooks import Wire

UNIVERSAL: Final = {"continue", "stopReason", "suppressOutput", "systemMessage", "decision", "reason"}
CODEX: Final = {
    "hookEventName",
    "permissionDecision",
    "permissionDecisionReason",
    "updatedInput",
    "additionalContext",
}


def claude_code(wire: Wire) -> str:
    """Return `runs`, `allowed`, `asks`, `blocked`, or `broken` where the tool runs because the hook failed."""
    if wire.exit_code == 2:
        return "blocked" if wire.stderr.strip() else "broken"
    shown = _object(wire)
    if wire.exit_code != 0 or shown is None or shown.keys() - UNIVERSAL - {"hookSpecificOutput"}:
        return "broken"
    specific = shown.get("hookSpecificOutput", {})
    if specific and specific.get("hookEventName") != "PreToolUse":
        return "broken"
    word = specific.get("permissionDecision")
    known = {None: "runs", "allow": "allowed", "ask": "asks", "deny": "blocked"}
    return known.get(word, "broken")


def codex(wire: Wire) -> str:
    """Return `runs`, `blocked`, or `broken` where the tool runs because the hook failed."""
    if wire.exit_code == 2:
        return "blocked" if wire.stderr.strip() else "broken"
    shown = _object(wire)
    if wire.exit_code != 0 or shown is None or shown.keys() - UNIVERSAL - {"hookSpecificOutput"}:
        return "broken"
    if shown.get("continue") is False or "stopReason" in shown or shown.get("suppressOutput"):
        return "broken"
    specific = shown.get("hookSpecificOutput", {})
    if specific.keys() - CODEX or (specific and specific.get("hookEventName") != "PreToolUse"):
        return "broken"
    word, reason = specific.get("permissionDecision"), specific.get("permissionDecisionReason", "")
    if word == "deny":
        return "blocked" if reason.strip() else "broken"
    return "runs" if word is None and not reason and "updatedInput" not in specific else "broken"


def copilot(wire: Wire) -> str:
    """Return `runs`, `allowed`, `asks`, `blocked`, or `broken`."""
    if wire.exit_code != 0:
        return "broken"
    if not wire.stdout.strip():
        return "runs"
    shown = json.loads(wire.stdout)
    if shown is None:
        return "runs"
    known = {None: "runs", "allow": "allowed", "ask": "asks", "deny": "blocked"}
    return known.get(shown.get("permissionDecision"), "broken")


OBEY: Final = {"claude-code": claude_code, "codex": codex, "copilot": copilot}


def _object(wire: Wire) -> dict[str, Any] | None:
    try:
        found = json.loads(wire.stdout or "{}")
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
