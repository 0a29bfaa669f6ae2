"""Adding to a JSON file, and taking out of it, in its text, so that all else in it stays byte for byte as a person wrote it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from indult.errors import ConfigurationError

__all__ = ["append", "parse", "put", "swap", "take"]

_SPACE: Final = re.compile(r"[ \t\r\n]*")
_INDENT: Final = re.compile(r"^([ \t]+)\S", re.MULTILINE)
_DECODE: Final = json.JSONDecoder()


class _Member(NamedTuple):
    """A member of an object or array: its name, where it begins (with its key), and its value."""

    name: str | int
    begin: int
    start: int
    end: int


class _Span(NamedTuple):
    """Where an object or array stands: from its first bracket to behind the last, and its members in order."""

    start: int
    end: int
    members: tuple[_Member, ...]


def parse(text: str, *, source: str) -> dict[str, Any]:
    """Return the object that a JSON text is; nothing at all is an empty one.

    Raises:
        ConfigurationError: It is no object, not plain JSON, or has a key twice.
    """

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise ValueError("a key stands twice")
        return found

    try:
        value = json.loads(text, object_pairs_hook=unique) if text.strip() else {}
    except (ValueError, RecursionError) as exc:
        raise _wrong(source, f"not plain JSON: {exc}") from exc
    if not isinstance(value, dict):
        raise _wrong(source, "not an object")
    return value


def put(text: str, key: str, value: Any, *, source: str) -> str:
    """Return the text of an object with one key more.

    Raises:
        ConfigurationError: As for `parse`.
    """
    parse(text, source=source)
    text = text if text.strip() else "{}\n"
    return _inserted(text, _span(text, _skip(text, 0)), f"{json.dumps(key, ensure_ascii=False)}: ", value)


def append(text: str, path: Iterable[str], value: Any, *, source: str) -> str:
    """Return the text with `value` as the last element of the list at `path`; what is missing on the way is made.

    Raises:
        ConfigurationError: As for `parse`, or something else stands on the way.
    """
    parse(text, source=source)
    text = text if text.strip() else "{}\n"
    steps = list(path)
    span = _span(text, _skip(text, 0))
    for at, step in enumerate(steps):
        found = next((member.start for member in span.members if member.name == step), None)
        if found is None:
            rest = value = [value]
            for name in reversed(steps[at + 1 :]):
                value = {name: rest}
                rest = value
            return _inserted(text, span, f"{json.dumps(step, ensure_ascii=False)}: ", value)
        wanted = "[" if at == len(steps) - 1 else "{"
        if text[found] != wanted:
            raise _wrong(source, f"`{'.'.join(steps[: at + 1])}` is no {'list' if wanted == '[' else 'object'}")
        span = _span(text, found)
    return _inserted(text, span, "", value)


def take(text: str, path: Sequence[str | int], *, source: str) -> str:
    """Return the text without what stands at `path`, and without whatever on the way holds nothing any more.

    Raises:
        ConfigurationError: As for `parse`.
    """
    parse(text, source=source)
    span = _span(text, _skip(text, 0))
    for step in path[:-1]:
        span = _span(text, next(member.start for member in span.members if member.name == step))
    at = next(at for at, member in enumerate(span.members) if member.name == path[-1])
    if len(span.members) == 1 and len(path) > 1:
        return take(text, path[:-1], source=source)
    return _without(text, span, at)


def swap(text: str, old: str, new: str, *, source: str) -> str:
    """Return the text with `new` in place of each string value that is `old`; keys stay.

    Raises:
        ConfigurationError: As for `parse`.
    """
    found = list(_strings(text, _skip(text, 0), old)) if parse(text, source=source) else []
    for start, end in reversed(found):
        text = text[:start] + json.dumps(new, ensure_ascii=False) + text[end:]
    return text


def _strings(text: str, at: int, wanted: str) -> Iterator[tuple[int, int]]:
    """Yield where below an object or array the string values stand that are `wanted`, in order."""
    for member in _span(text, at).members:
        if text[member.start] in "{[":
            yield from _strings(text, member.start, wanted)
        elif text[member.start] == '"' and json.loads(text[member.start : member.end]) == wanted:
            yield member.start, member.end


def _without(text: str, span: _Span, at: int) -> str:
    """Return the text without one member and the comma that parts it from its neighbour."""
    members = span.members
    if at:
        return text[: members[at - 1].end] + text[members[at].end :]
    if len(members) > 1:
        return text[: members[0].begin] + text[members[1].begin :]
    return text[: span.start + 1] + text[span.end - 1 :]


def _span(text: str, at: int) -> _Span:
    """Return where the object or array at a place stands."""
    close = "}" if text[at] == "{" else "]"
    members: list[_Member] = []
    place = _skip(text, at + 1)
    while text[place] != close:
        name: str | int = len(members)
        begin = place
        if close == "}":
            name, place = _DECODE.raw_decode(text, place)
            place = _skip(text, _skip(text, place) + 1)
        _, end = _DECODE.raw_decode(text, place)
        members.append(_Member(name, begin, place, end))
        place = _skip(text, end)
        place = _skip(text, place + 1) if text[place] == "," else place
    return _Span(at, place + 1, tuple(members))


def _inserted(text: str, span: _Span, lead: str, value: Any) -> str:
    """Return the text with one member more at the end of an object or array, in the layout of the file."""
    body = text[span.start : span.end]
    newline = "\r\n" if "\r\n" in text else "\n"
    if span.members and "\n" not in body:
        new = f", {lead}{json.dumps(value, ensure_ascii=False)}"
        return text[: span.members[-1].end] + new + text[span.members[-1].end :]
    unit = _unit(text)
    outer = _lead(text, span.start)
    inner = outer + unit
    shown = json.dumps(value, ensure_ascii=False, indent=unit).replace("\n", f"{newline}{inner}")
    if span.members:
        end = span.members[-1].end
        return f"{text[:end]},{newline}{inner}{lead}{shown}{text[end:]}"
    return f"{text[: span.start + 1]}{newline}{inner}{lead}{shown}{newline}{outer}{text[span.end - 1 :]}"


def _unit(text: str) -> str:
    found = _INDENT.search(text)
    return found[1] if found else "  "


def _lead(text: str, at: int) -> str:
    """Return the white space that the line of a place begins with."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    assert found is not None
    return found.end()


def _wrong(source: str, why: str) -> ConfigurationError:
    return ConfigurationError(f"`{source}` cannot be added to: {why}", hint="put it right, or add the entries by hand")
