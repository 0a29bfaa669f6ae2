"""What the scalars of a policy file mean, and where each of their characters stands in the file.

YAML 1.1 and 1.2 readers differ over `no`, `on`, `017`, `1:30`, `2024-01-01` and the like. Where text is wanted, such a
word is the text that a person sees; where any JSON value may stand, it is refused rather than guessed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from indult.canonical import MAX_INTEGER
from indult.errors import PolicyError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from indult.policy.reader import Node

__all__ = ["json_scalar", "misleading", "positions", "text_scalar"]

# These expressions are compiled when first used: together they would cost every start two milliseconds.
_MISLEADING: Final = (
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff\ufffe\uffff"
    "\U000e0000-\U000e007f]"
)
_MISLEADING_ASCII: Final = "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"

_WORDS: Final = {
    word: value
    for value, name in ((True, "true"), (False, "false"), (None, "null"))
    for word in (name, name.capitalize(), name.upper())
} | {"~": None}

_NUMERIC: Final = frozenset("+-.0123456789")
_JSON_NUMBER: Final = r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?"

# Plain scalars that are no text in YAML 1.2's core schema ...
_CORE_NUMBER: Final = (
    r"[-+]?(?:[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+|(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|\.(?:inf|Inf|INF))"
    r"|\.(?:nan|NaN|NAN)"
)

# ... and those that are none in YAML 1.1: switches, grouped, binary and sexagesimal numbers, dates.
_OLD_WORDS: Final = frozenset(
    form for word in ("yes", "no", "on", "off") for form in (word, word.capitalize(), word.upper())
)
_OLD_NUMBER: Final = (
    r"[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|[0-9][0-9_]*(?::[0-5]?[0-9])*(?:\.[0-9_]*)?|\.[0-9_]+)(?:[eE][-+][0-9]+)?"
    r"|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:(?:[Tt]|[ \t]+)[0-9].*)?"
)


def misleading(text: str) -> re.Match[str] | None:
    """Return the first character that misleads a reader of the text, or none.

    Those are control and bidirectional characters, line breaks that only some readers see, and what has no glyph.
    """
    return re.search(_MISLEADING_ASCII if text.isascii() else _MISLEADING, text)


def text_scalar(text: str, *, plain: bool) -> str:
    """Return the text that a scalar stands for.

    Raises:
        PolicyError: Without quotes it is empty, a number, a truth value or null.
    """
    if not plain:
        return text
    if text == "":
        raise PolicyError("nothing stands here, but a text must")
    if text in _WORDS or (text[0] in _NUMERIC and re.fullmatch(_CORE_NUMBER, text)):
        raise PolicyError(f"`{text}` is not a text", hint=f'put it in quotes: "{text}"')
    return text


def json_scalar(text: str, *, plain: bool) -> Any:
    """Return the JSON value that a scalar stands for.

    Raises:
        PolicyError: Without quotes it is empty, no JSON number, or means different things to different readers.
    """
    if not plain:
        return text
    if text in _WORDS:
        return _WORDS[text]
    number = re.fullmatch(_JSON_NUMBER, text) if text[:1] in _NUMERIC else None
    if number:
        return _number(text, is_float=bool(number[1] or number[2]))
    if text == "":
        raise PolicyError("nothing stands here", hint='write `null`, or `""` for an empty text')
    if text in _OLD_WORDS:
        value = "true" if text.lower() in ("yes", "on") else "false"
        raise PolicyError(
            f"`{text}` is a text to some YAML readers and {value} to others",
            hint=f'write {value}, or "{text}" for the text',
        )
    if text[0] in _NUMERIC and (re.fullmatch(_CORE_NUMBER, text) or re.fullmatch(_OLD_NUMBER, text)):
        raise PolicyError(
            f"`{text}` is a number or a date to some YAML readers and something else to others",
            hint=f'write a decimal number without a leading zero or sign, or "{text}" for the text',
        )
    return text


def _number(text: str, *, is_float: bool) -> int | float:
    value: int | float
    if is_float:
        value = float(text)
        if value - value != 0:
            raise PolicyError(f"the number `{text}` is too large")
        return value
    # Longer ones are beyond the range for sure, and Python refuses to read thousands of digits.
    value = int(text[:20])
    if abs(value) > MAX_INTEGER:
        raise PolicyError(f"the integer `{text[:20]}` is not kept exactly by every reader", hint="write it in quotes")
    return value


def positions(node: Node, lines: list[str], offset: int) -> tuple[int, int]:
    """Return line and column, from 1, of the character of a scalar's value that has this offset.

    Folding and indentation change white space only, so the n-th character of the value that is not white space is the
    n-th one of the file that is not, once escapes count as what they stand for.
    """
    before = sum(1 for char in node.value[:offset] if not char.isspace())
    at_space = node.value[offset : offset + 1].strip() == ""
    place = (node.line, node.column)
    for count, (line, column, width) in enumerate(_units(node, lines)):
        if count == before:
            return place if at_space and before else (line, column)
        place = (line, column + width)
    return place


def _units(node: Node, lines: list[str]) -> Iterator[tuple[int, int, int]]:
    """Yield line, column and width of every unit of a scalar that stands for something other than white space."""
    if node.style in ("|", ">"):
        first, column, end = node.line + 1, 0, (node.end_line, node.end_column)
    else:
        quoted = node.style in ("'", '"')
        first, column = node.line, node.column - 1 + quoted
        end = (node.end_line, node.end_column - quoted)
    unit = re.compile(_UNITS.get(node.style, _SOLID))
    for line in range(first, min(end[0], len(lines)) + 1):
        text = lines[line - 1][: end[1] - 1] if line == end[0] else lines[line - 1]
        for found in unit.finditer(text, column):
            if node.style != '"' or not _blank(found[0]):
                yield line, found.start() + 1, len(found[0])
        column = 0


_SOLID: Final = r"\S"
_UNITS: Final = {
    "'": r"''|\S",
    '"': r"\\(?:x.{2}|u.{4}|U.{8}|.|$)|\S",
}
_BLANKS: Final = frozenset(["\\", "\\ ", "\\t", "\\\t", "\\n", "\\v", "\\f", "\\r", "\\N", "\\_", "\\L", "\\P"])


def _blank(unit: str) -> bool:
    """Tell whether a unit of a double-quoted scalar stands for white space, or, before a line break, for nothing."""
    if len(unit) <= 2:
        return unit in _BLANKS
    return chr(min(int(unit[2:], base=16), 0x10FFFF)).isspace()  # noqa: FURB166 # no prefix that `int` knows
