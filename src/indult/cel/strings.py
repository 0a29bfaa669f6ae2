"""The string extension: positions count code points, and one outside the text is an error."""

from __future__ import annotations

import re
from typing import Any, Final

from indult.errors import EvaluationError

__all__ = [
    "char_at",
    "index_of",
    "join",
    "last_index_of",
    "lower_ascii",
    "quote",
    "replace",
    "reverse",
    "split",
    "substring",
    "trim",
    "upper_ascii",
]

# The White_Space characters of Unicode; Python's `str.strip` takes four more (U+001C to U+001F).
_SPACE: Final = "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
_LOWER: Final = {code: code + 32 for code in range(65, 91)}
_UPPER: Final = {code: code - 32 for code in range(97, 123)}
_QUOTED: Final = {
    "\a": r"\a", "\b": r"\b", "\f": r"\f", "\n": r"\n", "\r": r"\r", "\t": r"\t", "\v": r"\v", "\\": r"\\", '"': r"\"",
}  # fmt: skip
_TO_QUOTE: Final = r'[\a\b\f\n\r\t\v\\"]'


def _within(position: int, text: str) -> int:
    if 0 <= position <= len(text):
        return position
    raise EvaluationError(f"index `{position}` is outside a text of {len(text)}")


def char_at(text: str, position: int) -> str:
    """Return the character at a position, nothing right behind the last."""
    return text[_within(position, text) : position + 1]


def index_of(text: str, part: str, start: int = 0) -> int:
    """Return where `part` first begins at or after `start`, or -1."""
    return text.find(part, _within(start, text))


def last_index_of(text: str, part: str, start: int | None = None) -> int:
    """Return where `part` last begins at or before `start`, or -1."""
    if start is None:
        return text.rfind(part)
    return text.rfind(part, 0, _within(start, text) + len(part))


def lower_ascii(text: str) -> str:
    """Return the text with A to Z in lower case, everything else as it is."""
    return text.translate(_LOWER)


def upper_ascii(text: str) -> str:
    """Return the text with a to z in upper case, everything else as it is."""
    return text.translate(_UPPER)


def replace(text: str, old: str, new: str, limit: int = -1) -> str:
    """Return the text with `old` replaced by `new`, at most `limit` times when that is not negative."""
    return text.replace(old, new, max(limit, -1))


def split(text: str, separator: str, limit: int = -1) -> list[str]:
    """Return the parts between separators, at most `limit` of them when that is not negative."""
    if limit == 0:
        return []
    if separator:
        return text.split(separator, max(limit - 1, -1) if limit > 0 else -1)
    if limit < 0 or limit > len(text):
        return list(text) or [""]
    return [*text[: limit - 1], text[limit - 1 :]]


def substring(text: str, start: int, end: int | None = None) -> str:
    """Return the text from `start` up to, not with, `end`."""
    stop = len(text) if end is None else _within(end, text)
    if _within(start, text) > stop:
        raise EvaluationError(f"substring begins at `{start}`, behind its end `{stop}`")
    return text[start:stop]


def trim(text: str) -> str:
    """Return the text without white space at both ends."""
    return text.strip(_SPACE)


def join(parts: list[Any], separator: str = "") -> str:
    """Return the texts of a list as one, with a separator between them."""
    if not all(type(part) is str for part in parts):
        raise EvaluationError("`join` needs a list of strings")
    return separator.join(parts)


def quote(text: str) -> str:
    """Return the text in double quotes, safe to print on one line."""
    return '"' + re.sub(_TO_QUOTE, lambda match: _QUOTED[match.group()], text) + '"'


def reverse(text: str) -> str:
    """Return the text backwards."""
    return text[::-1]
