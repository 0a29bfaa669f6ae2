"""Strict readers of the formats that manifests and locks are written in.

Each returns plain typed values or raises `Unreadable`: two tools that read the same bytes could read them two ways, so
a duplicate key, a byte order mark, NaN, a YAML alias and the like are never guessed at.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from typing import Any, Final

__all__ = [
    "MAX_BYTES",
    "MAX_DEPTH",
    "Unreadable",
    "decode",
    "pointer",
    "read_json",
    "read_loose_json",
    "read_toml",
    "read_yaml",
    "same",
    "written",
]

MAX_BYTES: Final = 32_000_000
"""Largest manifest or lock in bytes."""

MAX_DEPTH: Final = 100
"""Deepest nesting of a manifest or lock."""

# Without libyaml the parser takes about a second for each 100 kB.
_MAX_SLOW_YAML: Final = 1_000_000

_MAX_KEY_PARTS: Final = 100

# What has no end goes on to where it could have had one, so that no character is looked at for each quote before it.
_LOOSE: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|(?P<bad>[\[{,][ \t\r\n]*+,)|,(?=[ \t\r\n]*+[}\]])', re.DOTALL)
_TOML_TEXT: Final = re.compile(
    r'"""[^"\\]*+(?:(?:\\.|"{1,2}(?!"))[^"\\]*+)*+"{0,5}|\'\'\'[^\']*+(?:\'{1,2}(?!\')[^\']*+)*+\'{0,5}'
    r'|"[^"\\\n]*+(?:\\[^\n][^"\\\n]*+)*+"?|\'[^\'\n]*+\'?|#[^\n]*+',
    re.DOTALL,
)
# Line breaks to one version of YAML and text to the other.
_BREAKS: Final = re.compile("[\x85\u2028\u2029]")
_NULL: Final = frozenset({"", "~", "null"})
_INTEGER: Final = re.compile(r"-?(0|[1-9][0-9]{0,17})\Z")
_FLOAT: Final = re.compile(r"-?(0|[1-9][0-9]{0,17})\.[0-9]{1,18}\Z")
# Plain words that YAML 1.1 or 1.2 reads as something else than text.
_AMBIGUOUS: Final = re.compile(
    r"(?:y|n|yes|no|on|off|true|false|null|<<|="
    r"|[-+]?(?:0b[01_]+|0o?[0-7_]+|0x[0-9a-f_]+|[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?)"
    r"|[-+]?(?:[0-9][0-9_]*(?:\.[0-9_]*)?|\.[0-9_]+)(?:e[-+]?[0-9]+)?|[-+]?\.(?:inf|nan)"
    r"|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[t \t].*)?)\Z",
    re.IGNORECASE | re.ASCII,
)


class Unreadable(Exception):
    """The bytes cannot be read, or not in one way only; the text says why in a few words."""


def decode(raw: bytes) -> str:
    """Return the text of `raw`, which is UTF-8 without a byte order mark and without a zero byte."""
    if raw.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")):
        raise Unreadable("starts with a byte order mark")
    if b"\0" in raw:
        raise Unreadable("holds a zero byte")
    try:
        return raw.decode()
    except UnicodeDecodeError as exc:
        raise Unreadable(f"not UTF-8 at byte {exc.start}") from None


def read_json(raw: bytes) -> Any:
    """Read JSON to the letter of the standard: no comments, no trailing commas, no key twice, no NaN."""
    return _json(decode(raw))


def read_loose_json(raw: bytes) -> Any:
    """Read JSON in which a comma may follow the last item of an object or a list; comments are refused."""

    def fix(found: re.Match[str]) -> str:
        if found["bad"]:
            raise Unreadable("a comma without a value before it")
        return found[0] if found[0] != "," else " "

    return _json(_LOOSE.sub(fix, decode(raw)))


def read_toml(raw: bytes) -> dict[str, Any]:
    """Read TOML; a number that is not finite is refused."""
    text = decode(raw)
    for line in _TOML_TEXT.sub("", text).splitlines():
        # Such a key costs the parser the square of its length.
        if line.count(".") > _MAX_KEY_PARTS:
            raise Unreadable("a key of too many parts")
    try:
        value = tomllib.loads(text)
    except (ValueError, RecursionError) as exc:
        raise Unreadable(_reason("TOML", exc)) from None
    _checked(value)
    return value


def read_yaml(raw: bytes, *, words: bool = False) -> Any:
    """Read one YAML document without anchors, aliases, tags, directives and merge keys.

    A plain word that YAML 1.1 and 1.2 read differently is refused; with `words`, every scalar is a text, as for a tool
    that reads its file so.
    """
    text = decode(raw)
    if _BREAKS.search(text):
        raise Unreadable("a character that only some readers take for a line break")
    import yaml

    fast = getattr(yaml, "CSafeLoader", None)
    if fast is None and len(text) > _MAX_SLOW_YAML:
        raise Unreadable("too large to be read without libyaml")
    loader: Any = fast or yaml.SafeLoader
    try:
        parser = loader(text)
        try:
            return _checked(_yaml(parser.get_event, words=words))
        finally:
            parser.dispose()
    except (yaml.YAMLError, RecursionError) as exc:
        raise Unreadable(_reason("YAML", exc)) from None


def same(one: Any, other: Any) -> bool:
    """Tell whether two values are equal with their types: `True`, `1` and `1.0` are three values.

    The order of keys in an object does not count.
    """
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    # Two dates at one moment in different zones are equal to Python and not to whoever reads the file.
    return bool(one == other) and str(one) == str(other)


def pointer(*keys: str) -> str:
    """Return the JSON pointer (RFC 6901) that leads through `keys`."""
    return "".join("/" + key.replace("~", "~0").replace("/", "~1") for key in keys)


def written(value: Any) -> str:
    """Return a value as a message can show it: a text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, default=str)


def _json(text: str) -> Any:
    try:
        value = json.loads(text, object_pairs_hook=_pairs, parse_constant=_constant)
    except (ValueError, RecursionError) as exc:
        raise Unreadable(_reason("JSON", exc)) from None
    return _checked(value)


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise Unreadable("a key twice in one object")
    return made


def _constant(word: str) -> Any:
    raise Unreadable(f"`{word}` is no JSON")


def _reason(format: str, exc: Exception) -> str:
    """Say why in one line; what a parser says of the place helps whoever looks for it."""
    if isinstance(exc, RecursionError):
        return "nested too deep"
    mark = getattr(exc, "problem_mark", None)
    line = getattr(exc, "lineno", None) or (mark.line + 1 if mark else None)
    return f"not {format}" + (f" at line {line}" if line else "")


def _checked(value: Any) -> Any:
    """Return a value that is not too deep and holds only finite numbers and texts that UTF-8 can carry."""
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH + 1):
        if not level:
            return value
        deeper: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                deeper.extend(item)
                deeper.extend(item.values())
            elif isinstance(item, list):
                deeper.extend(item)
            elif isinstance(item, str):
                _check_text(item)
            elif isinstance(item, float) and not math.isfinite(item):
                raise Unreadable("a number that is not finite")
        level = deeper
    raise Unreadable("nested too deep")


def _check_text(text: str) -> None:
    if not text.isascii() and any("\ud800" <= char <= "\udfff" for char in text):
        raise Unreadable("half of a surrogate pair")


def _yaml(events: Any, *, words: bool) -> Any:
    """Build the value of the only document; the stack holds the open collections and the key that each waits with."""
    root: list[Any] = []
    stack: list[tuple[Any, list[Any]]] = [(root, [])]
    while True:
        event = events()
        kind = type(event).__name__
        if kind == "StreamEndEvent":
            return root[0] if root else None
        if kind == "DocumentStartEvent" and (root or event.version or event.tags):
            raise Unreadable("a second document or a directive")
        if kind in {"SequenceEndEvent", "MappingEndEvent"}:
            stack.pop()
        elif kind in {"AliasEvent", "ScalarEvent", "SequenceStartEvent", "MappingStartEvent"}:
            if event.anchor is not None or getattr(event, "tag", None) is not None:
                raise Unreadable("an anchor, an alias or a tag")
            made = _node(event, kind, words=words)
            _attach(*stack[-1], made)
            if kind != "ScalarEvent":
                stack.append((made, []))
            if len(stack) > MAX_DEPTH:
                raise Unreadable("nested too deep")


def _node(event: Any, kind: str, *, words: bool) -> Any:
    if kind == "ScalarEvent":
        plain = event.style in {None, ""} and event.implicit[0]
        return _plain(event.value) if plain and not words else event.value
    return [] if kind == "SequenceStartEvent" else {}


def _attach(parent: Any, waiting: list[Any], made: Any) -> None:
    if isinstance(parent, list):
        parent.append(made)
    elif waiting:
        parent[waiting.pop()] = made
    elif not isinstance(made, str):
        raise Unreadable("a key that is no text")
    elif made == "<<":
        raise Unreadable("a merge key")
    elif made in parent:
        raise Unreadable("a key twice in one mapping")
    else:
        waiting.append(made)


def _plain(text: str) -> Any:
    """Return what a plain scalar means to every version of YAML."""
    if text in _NULL:
        return None
    if text in {"true", "false"}:
        return text == "true"
    if _INTEGER.match(text):
        return int(text)
    if _FLOAT.match(text):
        return float(text)
    if _AMBIGUOUS.match(text):
        raise Unreadable(f"`{text[:40]}` without quotes is not the same to every reader")
    return text
