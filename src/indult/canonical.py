"""Canonical JSON (RFC 8785) and the digests made of it.

Values are `None`, `bool`, `int` within the exact range of a double, finite `float`, `str`, and lists and string-keyed
dicts of those. What the standard library writes in the same bytes takes that path; everything else is formatted by the
`rfc8785` package, imported on first use.
"""

from __future__ import annotations

import json
from typing import Any, Final

from indult.errors import InputError
from indult.hashing import sha256

__all__ = ["MAX_BYTES", "MAX_DEPTH", "MAX_INTEGER", "canonical", "copy_json", "digest", "digest_text", "parse_json"]

MAX_BYTES: Final = 1_000_000
"""Largest JSON input in bytes (design section 13)."""

MAX_DEPTH: Final = 100
"""Deepest nesting of JSON input (design section 13)."""

MAX_INTEGER: Final = 2**53 - 1
"""Largest integer that every JSON reader keeps exactly (RFC 7493, section 2.2)."""

_encode = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":"), sort_keys=True).encode


def canonical(value: Any) -> str:
    """Return the canonical JSON text of `value`.

    Raises:
        InputError: The value is not JSON, holds NaN, an infinity, a lone surrogate or an integer beyond 2**53 - 1.
    """
    whole: list[float] = []
    if _plain(value, 0, whole):
        return _encode(_whole(value) if whole else value)
    import rfc8785

    try:
        return rfc8785.dumps(value).decode()
    except (rfc8785.CanonicalizationError, UnicodeError) as exc:
        raise InputError(f"value has no canonical JSON: {exc}") from exc


def digest(value: Any) -> str:
    """Return `sha256:` and the hex SHA-256 of the canonical JSON of `value`."""
    return digest_text(canonical(value))


def digest_text(text: str) -> str:
    """Return `sha256:` and the hex SHA-256 of `text` in UTF-8."""
    try:
        return "sha256:" + sha256(text.encode()).hexdigest()
    except UnicodeEncodeError as exc:
        raise InputError("text holds a lone surrogate, which UTF-8 cannot carry") from exc


def parse_json(text: str | bytes, *, name: str = "input") -> Any:
    """Read JSON that every reader reads the same way.

    `name` stands for the input in errors.

    Raises:
        InputError: Over 1 MB, nested over 100 deep, not UTF-8, not JSON, a key given twice, NaN, an infinity, a lone
            surrogate, or an integer beyond 2**53 - 1.
    """
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    if len(raw) > MAX_BYTES:
        raise InputError(f"{name} is too large: {len(raw)} bytes, at most {MAX_BYTES}")
    try:
        value = json.loads(raw.decode(), object_pairs_hook=_pairs, parse_constant=_constant)
    except UnicodeDecodeError as exc:
        raise InputError(f"{name} is not UTF-8: byte {exc.start}") from exc
    except RecursionError:
        raise InputError(f"{name} is nested over {MAX_DEPTH} deep") from None
    except json.JSONDecodeError as exc:
        raise InputError(f"{name} is not JSON: line {exc.lineno} column {exc.colno}: {exc.msg.lower()}") from exc
    except _Twice as exc:
        raise InputError(f"{name} has the key `{exc}` twice in one object") from None
    except ValueError as exc:
        raise InputError(f"{name} is not JSON: {exc}") from exc
    return copy_json(value, name=name)


def copy_json(value: Any, *, name: str = "value") -> Any:
    """Return a copy of a JSON value that shares no list or dict with it, in plain `dict`, `list`, `str`, `int`, ....

    Raises:
        InputError: As for `parse_json`, size aside.
    """
    return _copy(value, name, MAX_DEPTH)


def _copy(value: Any, name: str, depth: int) -> Any:
    kind = type(value)
    if kind is str:
        if not value.isascii():
            _check_text(value, name)
        return value
    if kind is int:
        if not -MAX_INTEGER <= value <= MAX_INTEGER:
            raise InputError(
                f"{name} holds the integer `{value}`, which not every reader keeps exactly",
                hint="send integers beyond 2**53 - 1 as strings",
            )
        return value
    if value is None or kind is bool:
        return value
    if kind is float:
        if value - value != 0:
            raise InputError(f"{name} holds `{value}`, which is not a JSON number")
        # RFC 8785 writes 3.0 as 3: what has one canonical text is one value, before a judgement and in its replay.
        return int(value) if value.is_integer() and -MAX_INTEGER <= value <= MAX_INTEGER else value
    if depth == 0:
        raise InputError(f"{name} is nested over {MAX_DEPTH} deep")
    if kind is list or kind is tuple:
        return [_copy(item, name, depth - 1) for item in value]
    if kind is dict:
        copied = {}
        for key, item in value.items():
            if type(key) is not str:
                raise InputError(f"{name} has the key `{key!r}`, which is not a string")
            if not key.isascii():
                _check_text(key, name)
            copied[key] = _copy(item, name, depth - 1)
        return copied
    return _copy_subclass(value, name, depth)


def _copy_subclass(value: Any, name: str, depth: int) -> Any:
    """Reduce a subclass (a `StrEnum`, a `defaultdict`) to the plain type it extends; anything else is no JSON."""
    plain: Any
    for plain in (str, int, float, list, dict):
        if isinstance(value, plain):
            return _copy(plain(value), name, depth)
    raise InputError(f"{name} holds a `{type(value).__name__}`, which is not JSON")


def _check_text(text: str, name: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError(f"{name} holds a lone surrogate, which UTF-8 cannot carry") from None


def _plain(value: Any, depth: int, whole: list[float]) -> bool:
    """Tell whether the standard library gives the bytes of RFC 8785 for `value`, with its `whole` floats as integers.

    It does not for floats that either writes with an exponent, and not for keys beyond U+D7FF, which RFC 8785 sorts as
    UTF-16.
    """
    kind = type(value)
    if kind is str:
        return value.isascii() or _encodable(value)
    if kind is int:
        return bool(-MAX_INTEGER <= value <= MAX_INTEGER)
    if value is None or kind is bool:
        return True
    if kind is float:
        if value.is_integer():
            whole.append(value)
            return bool(-MAX_INTEGER <= value <= MAX_INTEGER)
        # Between these bounds Python's repr and ECMAScript both write the shortest digits without an exponent.
        return bool(1e-4 <= abs(value) < 1e16)
    if depth > MAX_DEPTH * 2:
        raise InputError(f"value is nested over {MAX_DEPTH * 2} deep")
    if kind is dict:
        for key, item in value.items():
            if type(key) is not str or not (key.isascii() or max(key) < "\ud800"):
                return False
            if not _plain(item, depth + 1, whole):
                return False
        return True
    if kind is list or kind is tuple:
        return all(_plain(item, depth + 1, whole) for item in value)
    return False


def _whole(value: Any) -> Any:
    """Return a plain value with its whole floats as integers, which is how RFC 8785 writes them."""
    kind = type(value)
    if kind is float:
        return int(value) if value.is_integer() else value
    if kind is dict:
        return {key: _whole(item) for key, item in value.items()}
    return [_whole(item) for item in value] if kind is list or kind is tuple else value


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


class _Twice(ValueError):
    """A key stands twice in one object."""


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _Twice(key)
            seen.add(key)
    return value


def _constant(word: str) -> Any:
    raise ValueError(f"`{word}` is not a JSON number")
