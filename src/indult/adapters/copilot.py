"""The hooks of Copilot: those of its SDK, such as `onPreToolUse`, and the same events as commands of its CLI.

Its JSON does not name the event; the fields tell which it is. Arguments are an object in the SDK and a text in the CLI.
Whatever goes wrong is a denial in JSON, since an exit code tells the SDK nothing.
"""

from __future__ import annotations

from typing import Any, Final

from indult.adapters.claude_code import FAILED, line
from indult.adapters.hooks import Answer, Event, Kind, Say, Wire
from indult.canonical import parse_json
from indult.errors import InputError

__all__ = ["failure", "read", "write"]

_SDK: Final = "sdk"
_CLI: Final = "cli"

_TOOL: Final = ("toolName", "toolArgs")
_RESULT: Final = ("toolResult", "error")
_BEGINS: Final = ("source", "initialPrompt")
_STOPS: Final = ("stopReason", "reason")


def read(raw: bytes) -> Event:
    """Return the event that Copilot describes.

    Raises:
        InputError: It is none that is known, or something in it is of another type.
    """
    data = parse_json(raw, name="event")
    if not isinstance(data, dict):
        raise InputError(f"the event is a `{type(data).__name__}`, not an object")
    kind = _kind(data)
    given = data.get("toolArgs")
    return Event(
        kind=kind,
        session=_text(data, "sessionId", ""),
        actor="copilot",
        cwd=_text(data, "cwd"),
        tool=_text(data, "toolName") if "toolName" in data else "",
        args=_args(given) if "toolName" in data else {},
        call_id=_text(data, "toolCallId", "") or None,
        result=next((data[name] for name in _RESULT if data.get(name) is not None), None),
        failed=_failed(data),
        form=_CLI if isinstance(given, str) or "sessionId" in data else _SDK,
    )


def write(event: Event, answer: Answer) -> Wire:
    """Return an answer in Copilot's words; where there is no objection that is `null`, or nothing in a command."""
    shown: dict[str, Any] = {}
    if event.kind is Kind.PRE:
        shown = _decision(answer)
    if answer.context and event.kind in {Kind.PRE, Kind.SESSION, Kind.PROMPT}:
        shown["additionalContext"] = answer.context
    if not shown:
        return Wire("null\n" if event.form == _SDK else "", _noticed(answer))
    return Wire(line(shown), _noticed(answer))


def failure(text: str, event: Event | None = None) -> Wire:
    """Return what denies the call; of an event that nothing waits for, a text on standard error tells."""
    if event is None or event.kind.judges:
        reason = f"indult: {text}" if text.strip() else FAILED
        return Wire(line({"permissionDecision": "deny", "permissionDecisionReason": reason}), text)
    return Wire("null\n" if event.form == _SDK else "", text)


def _decision(answer: Answer) -> dict[str, Any]:
    if answer.say is Say.NOTHING:
        return {}
    shown: dict[str, Any] = {"permissionDecision": answer.say.value, "permissionDecisionReason": answer.reason}
    return shown if answer.args is None else {**shown, "modifiedArgs": answer.args}


def _noticed(answer: Answer) -> str:
    return answer.notice


def _kind(data: dict[str, Any]) -> Kind:
    """Return what happened; whatever names a tool and could be a call that is about to run is taken as one."""
    if "toolName" in data:
        # A result that is `null` is none: taken for the end of a call, the call would run without a judgement.
        return Kind.POST if any(data.get(name) is not None for name in _RESULT) else Kind.PRE
    for names, kind in ((("prompt",), Kind.PROMPT), (_BEGINS, Kind.SESSION), (_STOPS, Kind.STOP)):
        if any(name in data for name in names):
            return kind
    raise InputError("the event is none that is known", hint=f"one with {', '.join(_TOOL)}, or of a session")


def _failed(data: dict[str, Any]) -> bool:
    result = data.get("toolResult")
    return data.get("error") is not None or (
        isinstance(result, dict) and result.get("resultType") in {"failure", "error", "denied"}
    )


def _args(given: object) -> dict[str, Any]:
    args = parse_json(given, name="`toolArgs` of the event") if isinstance(given, str) else given
    if not isinstance(args, dict):
        raise InputError(f"`toolArgs` of the event is a `{type(args).__name__}`, not an object")
    return args


def _text(data: dict[str, Any], name: str, default: str | None = None) -> str:
    value = data.get(name, default)
    if value is None and default is not None:
        return default
    if not isinstance(value, str) or (default is None and not value):
        raise InputError(f"the event has no `{name}`, a text")
    return value
