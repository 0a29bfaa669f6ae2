"""Ranges, as each ecosystem writes what may be installed of a package.

A range is no version, so that no named exception opens it: the text of its target holds at least one character that no
version has. Where the range has none itself, as in `1.2`, words say what it is.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["is_cargo", "is_npm", "poetry", "python", "unnamed", "was"]

_LONGEST: Final = 200
_NUMBER: Final = r"(?:0|[1-9][0-9]{0,15})"
_LABELS: Final = r"(?:-[0-9A-Za-z.-]{1,100})?(?:\+[0-9A-Za-z.-]{1,100})?"
_ANY: Final = rf"(?:{_NUMBER}|[xX*])"
_PARTIAL: Final = rf"{_ANY}(?:\.{_ANY}(?:\.{_ANY}{_LABELS})?)?"
_COMPARED: Final = rf"(?:(?:[\^~=]|[<>]=?) ?)?{_PARTIAL}"

# One space where there may be some: padding decides how a line reads.
_NPM: Final = re.compile(rf"(?:{_COMPARED}(?: {_COMPARED})*|{_PARTIAL} - {_PARTIAL})\Z")
_CARGO: Final = re.compile(rf"{_COMPARED}(?:, ?{_COMPARED})*\Z")
_PYTHON: Final = re.compile(r"(?:===|[=!~><]=|[><])[A-Za-z0-9][A-Za-z0-9.!+_-]*(?:\.\*)?\Z")
_POETRY: Final = re.compile(r"(?:[\^~]|[=!~><]=|[><=])? ?[0-9][A-Za-z0-9.!+_-]*(?:\.\*)?\Z|\*\Z")
_OPERATORS: Final = frozenset("^~><=*|, ")


def is_npm(text: object) -> bool:
    """Tell whether a value is a range of npm: no tag, no alias, no place and no other protocol."""
    return _short(text) and all(_NPM.match(one) for one in re.split(r" ?\|\| ?", str(text)))


def is_cargo(text: object) -> bool:
    """Tell whether a value is a requirement of Cargo."""
    return _short(text) and _CARGO.match(str(text)) is not None


def python(specifiers: list[str]) -> str | None:
    """Return specifiers as one text that does not depend on order and blanks; `*` stands for none of them."""
    found = sorted({"".join(one.split()) for one in specifiers} - {""})
    text = ",".join(found) or "*"
    return text if _short(text) and all(map(_PYTHON.match, found)) else None


def poetry(text: object) -> str | None:
    """Return a constraint in Poetry's own form as one text that does not depend on blanks."""
    if not _short(text):
        return None
    ways = [re.split(r" ?, ?", one) for one in re.split(r" ?\|\|? ?", str(text).strip())]
    if not all(_POETRY.match(one) for way in ways for one in way):
        return None
    return "||".join(",".join(one.replace(" ", "") for one in way) for way in ways)


def unnamed(text: str) -> str:
    """Return the text of a range as no version can read."""
    return text if _OPERATORS.intersection(text) else f"{text} (a range)"


def was(version: str, text: str) -> str:
    """Return a version that took the place of a range, as no version can read."""
    return f"{version} (was {text})"


def _short(text: object) -> bool:
    return isinstance(text, str) and 0 < len(text) <= _LONGEST
