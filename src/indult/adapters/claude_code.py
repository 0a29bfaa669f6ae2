"""The hooks of Claude Code: `PreToolUse` and its neighbours, as JSON on standard input and output.

Whatever goes wrong must end with exit code 2 and a text on standard error: with any other code but 0 the tool runs.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from indult.adapters.hooks import Answer, Event, Kind, Say, Wire
from indult.canonical import parse_json
from indult.errors import InputError
from indult.hashing import sha256

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["failure", "fields", "read", "write"]

KINDS: Final[Mapping[str, Kind]] = {
    "PreToolUse": Kind.PRE,
    "PermissionRequest": Kind.PERMISSION,
    "SessionStart": Kind.SESSION,
    "SubagentStart": Kind.SESSION,
    "UserPromptSubmit": Kind.PROMPT,
    "PostToolUse": Kind.POST,
    "PostToolUseFailure": Kind.POST,
    "Stop": Kind.STOP,
}

_SILENT: Final = ("dontAsk", "bypassPermissions")
"""The modes in which nobody is asked anything: a question might count as an answer there."""

_ENDS: Final = ("PostToolUse", "PostToolUseFailure")
_NAMES: Final = ("session_id", "cwd", "hook_event_name", "tool_name", "tool_use_id", "agent_id", "agent_type")

BLOCK: Final = 2
"""Standard error is shown to the model, and the tool does not run."""

FAILED: Final = "indult failed"
"""What a failure says that has no words of its own."""


def read(raw: bytes) -> Event:
    """Return the event that Claude Code describes.

    Raises:
        InputError: It is none that is known, or something in it is of another type.
    """
    data = fields(raw, KINDS)
    return event(data, KINDS[data["hook_event_name"]], "claude-code")


def write(event: Event, answer: Answer) -> Wire:
    """Return an answer in Claude Code's words; where there is no objection, nothing is said."""
    shown: dict[str, Any] = {}
    if event.kind is Kind.PRE:
        shown = _decision(event, answer)
    elif event.kind is Kind.PERMISSION and answer.say is Say.DENY:
        shown = {"decision": {"behavior": "deny", "message": answer.reason}}
    if answer.context and event.kind in {Kind.PRE, Kind.SESSION, Kind.PROMPT}:
        shown["additionalContext"] = answer.context
    output: dict[str, Any] = {"hookSpecificOutput": {"hookEventName": event.form, **shown}} if shown else {}
    if answer.notice:
        output["systemMessage"] = answer.notice
    return Wire(line(output))


def failure(text: str, event: Event | None = None) -> Wire:
    """Return what blocks the call; of an event that nothing waits for, the person is told."""
    if event is None or event.kind.judges:
        return Wire(stderr=text if text.strip() else FAILED, exit_code=BLOCK)
    return Wire(line({"systemMessage": f"indult: {text}"}))


def _decision(event: Event, answer: Answer) -> dict[str, Any]:
    match answer.say:
        case Say.NOTHING:
            return {}
        case Say.ASK if event.headless:
            # `defer` would let the call wait, but is ignored, and the call runs, where it is one of several.
            return _decided("deny", answer.reason)
        case Say.ALLOW if answer.args is not None:
            return {**_decided("allow", answer.reason), "updatedInput": answer.args}
        case _:
            return _decided(answer.say.value, answer.reason)


def _decided(word: str, reason: str) -> dict[str, Any]:
    return {"permissionDecision": word, "permissionDecisionReason": reason}


def fields(raw: bytes, kinds: Mapping[str, Kind]) -> dict[str, Any]:
    """Return the fields of an event whose name is one of `kinds`.

    Raises:
        InputError: It is no object, or no event that is known.
    """
    try:
        data = parse_json(raw, name="event")
    except InputError:
        data = _ended(raw)
        if data is None:
            raise
    if not isinstance(data, dict):
        raise InputError(f"the event is a `{type(data).__name__}`, not an object")
    name = data.get("hook_event_name")
    if not isinstance(name, str) or name not in kinds:
        raise InputError(f"unknown hook event `{name}`", hint=f"one of {', '.join(kinds)}")
    return data


def _ended(raw: bytes) -> dict[str, Any] | None:
    """Return the event of a call that has ended with a result that is too large, or that two readers could read in two ways.

    Nothing is judged there, and the result is not looked into: its digest is that of the whole event.
    """
    try:
        data = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict) or data.get("hook_event_name") not in _ENDS:
        return None
    known = {name: data[name] for name in _NAMES if isinstance(data.get(name), str)}
    return {**known, "tool_input": {}, "tool_response": "sha256:" + sha256(raw).hexdigest()}


def event(data: dict[str, Any], kind: Kind, harness: str) -> Event:
    """Return the event of such fields.

    Raises:
        InputError: One that is needed is absent, or one is of another type.
    """
    tool, args = ("", {}) if not (kind.judges or kind is Kind.POST) else (_text(data, "tool_name"), _args(data))
    agent = _text(data, "agent_type", "") or _text(data, "agent_id", "")
    failed = data["hook_event_name"] == "PostToolUseFailure"
    return Event(
        kind=kind,
        session=_text(data, "session_id", ""),
        actor=f"{harness}:{agent}" if agent else harness,
        cwd=_text(data, "cwd"),
        tool=tool,
        args=args,
        call_id=_text(data, "tool_use_id", "") or None,
        headless=data.get("permission_mode") in _SILENT,
        result=data.get("error" if failed else "tool_response"),
        failed=failed,
        form=data["hook_event_name"],
        agent=_text(data, "agent_id", ""),
    )


def _args(data: dict[str, Any]) -> dict[str, Any]:
    args = data.get("tool_input")
    if not isinstance(args, dict):
        raise InputError(f"`tool_input` of the event is a `{type(args).__name__}`, not an object")
    return args


def _text(data: dict[str, Any], name: str, default: str | None = None) -> str:
    value = data.get(name, default)
    if value is None and default is not None:
        return default
    if not isinstance(value, str) or (default is None and not value):
        raise InputError(f"the event has no `{name}`, a text")
    return value


def line(output: dict[str, Any]) -> str:
    """Return one line of JSON, in ASCII: no locale and no terminal changes a byte of it."""
    return json.dumps(output) + "\n"
