"""Words: what quotes, escapes, braces and the tilde leave of them, and which of them nobody knows beforehand.

A word is first a row of marks, one for each character with whether it was quoted, and one for each expansion whose value
is not known. Braces are expanded on that row, as bash does before anything else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

from indult.decompose.shell.braces import expanded

__all__ = ["ANY", "BARE", "FOUND", "NUMBER", "QUOTED", "SPLIT", "Mark", "Value", "Word", "marks", "values", "words"]

BARE: Final = 0
"""A character as it stands."""
QUOTED: Final = 1
"""A character that stands for itself alone."""
ANY: Final = 2
"""A text that is not known, within one word."""
SPLIT: Final = 3
"""A text that is not known and may be any number of words."""
NUMBER: Final = 4
"""A number that is not known."""
FOUND: Final = 5
"""A character of a glob that stands for a name which it found."""

Mark = tuple[str, int]
Value = Callable[[dict[str, Any]], tuple[str, int] | None]
"""Returns what is known of a parameter: its text and whether it is one word, or else a kind of unknown."""

_ESCAPES: Final = {
    "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "\\": "\\", "'": "'", '"': '"', "?": "?",
}  # fmt: skip
_ANSI: Final = re.compile(
    r"\\(?:x(?P<hex>[0-9A-Fa-f]{1,2})|u(?P<short>[0-9A-Fa-f]{1,4})|U(?P<long>[0-9A-Fa-f]{1,8})|(?P<octal>[0-7]{1,3})"
    r"|c(?P<control>.)|(?P<plain>[abeEfnrtv\\'\"?]))",
    re.DOTALL,
)
_WILD: Final = frozenset("*?[")
_ASSIGNED: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")


class Word(NamedTuple):
    """One word as a program gets it: its text, or the glob that finds its files, or neither where it is not known."""

    text: str | None
    glob: str | None = None
    whole: bool = True
    """Of a word that is not known: whether it is exactly one."""
    names: tuple[str, ...] = ()
    """Of files that a search finds by one of several names: those."""

    @property
    def shown(self) -> Any:
        """Return the word as it stands in a target."""
        if self.text is not None:
            return self.text
        return None if self.glob is None else {"glob": self.glob}


def marks(parts: Iterable[dict[str, Any]], value: Value, *, quoted: bool = False) -> list[Mark]:
    """Return the row of marks of the parts of a word."""
    row: list[Mark] = []
    for part in parts:
        kind = part["Type"]
        if kind == "Lit":
            row += _literal(part.get("Value", ""), quoted=quoted)
        elif kind == "SglQuoted":
            row += _single(part)
        elif kind == "DblQuoted":
            row.append(("", QUOTED))
            row += [("", ANY)] if part.get("Dollar") else marks(part.get("Parts", ()), value, quoted=True)
        elif kind == "ParamExp" or (kind == "CmdSubst" and quoted):
            row += _parameter(part, value, quoted=quoted)
        elif kind == "ArithmExp":
            row.append(("", NUMBER))
        elif kind == "ExtGlob":
            row.append(("", SPLIT))
        elif kind == "ProcSubst":
            # The name of a pipe stands there.
            row += [(char, BARE) for char in "/dev/fd/??"]
        else:
            row.append(("", ANY if quoted else SPLIT))
    return row


def _literal(text: str, *, quoted: bool) -> list[Mark]:
    row: list[Mark] = []
    chars = iter(text)
    for char in chars:
        if char != "\\":
            row.append((char, QUOTED if quoted else BARE))
            continue
        after = next(chars, None)
        if after is None:
            row.append(("\\", QUOTED))
        elif after == "\n":
            continue
        elif quoted and after not in '$`"\\':
            row += [("\\", QUOTED), (after, QUOTED)]
        else:
            row.append((after, QUOTED))
    return row


def _single(part: dict[str, Any]) -> list[Mark]:
    text = part.get("Value", "")
    if part.get("Dollar"):
        # What follows a NUL is dropped, up to the end of the quotes.
        text = _ANSI.sub(_escape, text).partition("\0")[0]
        if "\ufffd" in text:
            return [("", QUOTED), ("", ANY)]
    return [("", QUOTED), *((char, QUOTED) for char in text)]


def _escape(found: re.Match[str]) -> str:
    code = found["hex"] or found["short"] or found["long"]
    if code:
        number = int(code, 16)
        # Bytes from 0x80 on are halves of characters: which, depends on what stands around.
        if (found["hex"] and number > 0x7F) or number > 0x10FFFF or 0xD800 <= number < 0xE000:
            return "\ufffd"
        return chr(number)
    if found["octal"]:
        number = int(found["octal"], 8) & 0xFF
        return chr(number) if number < 0x80 else "\ufffd"
    if found["control"]:
        return chr(ord(found["control"].upper()) & 0x1F)
    return _ESCAPES[found["plain"]]


def _parameter(part: dict[str, Any], value: Value, *, quoted: bool) -> list[Mark]:
    known = value(part)
    if known is None:
        name = part.get("Param", {}).get("Value", "")
        one = quoted and name != "@" and not _is_list(part)
        return [("", ANY if one else SPLIT)]
    text, kind = known
    if kind == FOUND:
        # A name may hold blanks and stars, by which it comes apart where it is not quoted.
        return [("", QUOTED), *((char, FOUND) for char in text)] if quoted else [("", SPLIT)]
    if kind == QUOTED:
        plain = quoted or not (_WILD | set(" \t\n\\")).intersection(text)
        return [("", QUOTED), *((char, QUOTED) for char in text)] if plain else [("", SPLIT)]
    return [("", kind)]


def _is_list(part: dict[str, Any]) -> bool:
    """Tell whether an expansion gives several words within quotes too."""
    index = part.get("Index")
    text = "".join(one.get("Value", "?") for one in (index or {}).get("Parts", ()))
    return bool(part.get("Names")) or text == "@" or bool(part.get("Excl"))


def words(parts: Iterable[dict[str, Any]], value: Value, home: Callable[[str], str | None]) -> list[Word]:
    """Return the words that a word of the text comes to: several after braces, none where nothing is left of it.

    `home` gives the folder that a tilde prefix stands for, none where it is not known.
    """
    return [one for row in expanded(marks(parts, value)) if (one := _word(_tilde(row, home))) is not None]


def values(parts: Iterable[dict[str, Any]], value: Value, home: Callable[[str], str | None]) -> Word:
    """Return the one word of an assignment or a subject, which is neither split nor searched for files."""
    row = _tilde(marks(parts, value), home)
    if any(kind in {ANY, SPLIT, NUMBER, FOUND} for _, kind in row):
        return Word(None)
    return Word("".join(char for char, _ in row))


def _tilde(row: list[Mark], home: Callable[[str], str | None]) -> list[Mark]:
    """Expand the tilde at the start of a word, or behind the sign of what looks like an assignment."""
    text = "".join(char if kind == BARE and char else "\0" for char, kind in row)
    assigned = _ASSIGNED.match(text)
    starts = [0, *(at + 1 for at, char in enumerate(text) if char in ":=" and assigned)] if assigned else [0]
    out = list(row)
    for start in sorted(set(starts), reverse=True):
        if text[start : start + 1] != "~":
            continue
        prefix = re.match(r"~[^/:\0]*", text[start:])
        assert prefix is not None
        end = start + len(prefix[0])
        if text[end : end + 1] == "\0":
            # With a quote in it, or an expansion, the prefix is text.
            continue
        folder = home(prefix[0])
        out[start:end] = [("", ANY)] if folder is None else [(char, QUOTED) for char in folder]
    return out


def _word(row: list[Mark]) -> Word | None:
    if not row:
        return None
    if any(kind in {ANY, SPLIT} for _, kind in row):
        return Word(None, None, all(kind != SPLIT for _, kind in row))
    if any(_is_wild(row, at) for at in range(len(row))):
        return Word(None, _glob(row))
    return Word("".join(char for char, _ in row))


def _is_wild(row: list[Mark], at: int) -> bool:
    char, kind = row[at]
    if kind == BARE and char == "[":
        return _closing(row, at) is not None
    return kind in {NUMBER, FOUND} or (kind == BARE and char in _WILD)


def _glob(row: list[Mark]) -> str:
    """Return a glob that finds at least what this one does: a set of characters stands for any one."""
    out: list[str] = []
    at = 0
    while at < len(row):
        char, kind = row[at]
        if kind == NUMBER:
            out.append("*")
        elif kind == BARE and char == "[":
            end = _closing(row, at)
            out.append("?" if end else "[")
            at = end or at
        else:
            out.append(char)
        at += 1
    return re.sub(r"\*{2,}", "**", "".join(out))


def _closing(row: list[Mark], at: int) -> int | None:
    """Return where the set of characters that opens at a place is closed, none where it is not."""
    place = at + 1
    while place < len(row) and row[place] in {("!", BARE), ("^", BARE)}:
        place += 1
    place += 1
    while place < len(row):
        if row[place] == ("]", BARE):
            return place
        if row[place][0] == "/":
            return None
        place += 1
    return None
