"""The hooks of Codex: the events of Claude Code, with answers of which far fewer are understood.

What Codex does not support in an answer it counts as a failure of the hook, and then runs the tool: `ask`, `allow` by
itself, a denial without a reason, fields that it does not know, exit code 2 without a text, any other exit code. So a
call is answered with nothing, or with a denial that has a reason. A question to a person is a denial that names the
request, and a downgrade is one that says what may be called instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from indult.adapters import claude_code
from indult.adapters.claude_code import event, fields, line
from indult.adapters.hooks import Answer, Event, Kind, Say, Wire
from indult.canonical import canonical

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["failure", "read", "write"]

KINDS: Final[Mapping[str, Kind]] = {
    "PreToolUse": Kind.PRE,
    "PermissionRequest": Kind.PERMISSION,
    "SessionStart": Kind.SESSION,
    "SubagentStart": Kind.SESSION,
    "UserPromptSubmit": Kind.PROMPT,
    "PostToolUse": Kind.POST,
    "Stop": Kind.STOP,
}

_NO_REASON: Final = "indult: not run"


def read(raw: bytes) -> Event:
    """Return the event that Codex describes.

    Raises:
        InputError: It is none that is known, or something in it is of another type.
    """
    data = fields(raw, KINDS)
    kind = KINDS[data["hook_event_name"]]
    # An answer to a call carries no context: versions differ in what they make of it.
    return event(data, kind, "codex")._replace(tells=kind in {Kind.SESSION, Kind.PROMPT})


def write(event: Event, answer: Answer) -> Wire:
    """Return an answer in Codex's words."""
    output: dict[str, Any] = {}
    reason = answer.reason.strip() or _NO_REASON
    if event.kind is Kind.PRE and _denies(answer):
        denied = {"permissionDecision": "deny", "permissionDecisionReason": reason + _instead(answer)}
        output = {"hookSpecificOutput": {"hookEventName": event.form, **denied}}
    elif event.kind is Kind.PERMISSION and answer.say is Say.DENY:
        decision = {"behavior": "deny", "message": reason}
        output = {"hookSpecificOutput": {"hookEventName": event.form, "decision": decision}}
    elif event.tells and answer.context:
        output = {"hookSpecificOutput": {"hookEventName": event.form, "additionalContext": answer.context}}
    if answer.notice and not event.kind.judges:
        output["systemMessage"] = answer.notice
    return Wire(line(output))


def failure(text: str, event: Event | None = None) -> Wire:
    """Return what blocks the call, never without a text; of an event that nothing waits for, the person is told."""
    return claude_code.failure(text, event)


def _denies(answer: Answer) -> bool:
    return answer.say in {Say.DENY, Say.ASK} or answer.args is not None


def _instead(answer: Answer) -> str:
    return "" if answer.args is None else f"\nCall it with this instead: {canonical(answer.args)}"
