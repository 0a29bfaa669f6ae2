"""The syntax of go.mod and go.work: one directive a line, alone or in a block of its kind.

Whatever the Go command refuses is refused here, and so is what it reads in another way than its reference says: a
string with an escape, and a string in back quotes.

Source: The Go Modules Reference, "go.mod files".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from indult.characters import misleading
from indult.decompose.manifests.reading import Unreadable

__all__ = ["Line", "lines"]

_WORD: Final = r"(?:[^\s()\[\]{},\"'`/]|/(?![/*]))+"
_TOKEN: Final = re.compile(
    rf"[ \t]*(?:(?P<comment>//.*)|(?P<mark>[()\[\]{{}},])"
    rf"|(?:\"(?P<text>[^\"\\]*)\"|(?P<word>{_WORD}))(?=[ \t()\[\]{{}},]|//|\Z))"
)


class Line(NamedTuple):
    """One directive: what it is, its arguments, and the comment behind it without the slashes."""

    verb: str
    args: tuple[str, ...]
    comment: str


class _Token(NamedTuple):
    kind: str
    text: str


def lines(text: str, *, alone: frozenset[str], blocks: frozenset[str]) -> Iterator[Line]:
    """Yield the directives of a file, those of `alone` on lines of their own, those of `blocks` in blocks too."""
    block = ""
    for number, raw in enumerate(text.split("\n"), 1):
        *tokens, comment = _tokens(raw.removesuffix("\r"), number)
        if not tokens:
            continue
        if block:
            if tokens == [_Token("mark", ")")]:
                block = ""
            else:
                yield Line(block, _args(tokens, number), comment.text)
            continue
        verb = _verb(tokens[0], alone | blocks, number)
        if tokens[-1] == _Token("mark", "(") and len(tokens) == 2:
            if verb not in blocks:
                raise Unreadable(f"`{verb}` has no blocks, line {number}")
            block = verb
        elif [token.text for token in tokens[1:] if token.kind == "mark"] != ["(", ")"] or len(tokens) > 3:
            yield Line(verb, _args(tokens[1:], number), comment.text)
        elif verb not in blocks:
            raise Unreadable(f"`{verb}` has no blocks, line {number}")
    if block:
        raise Unreadable(f"a block of `{block}` has no end")


def _tokens(raw: str, number: int) -> list[_Token]:
    """Return the tokens of a line; the last one is its comment, which may be empty."""
    found: list[_Token] = []
    place = 0
    raw = raw.rstrip(" \t")
    if "\r" in raw:
        # Only some readers end a line there.
        raise Unreadable(f"a carriage return inside line {number}")
    while place < len(raw):
        token = _TOKEN.match(raw, place)
        if token is None or token.lastgroup is None:
            raise Unreadable(f"no go.mod syntax at line {number}")
        kind, text = token.lastgroup, token[token.lastgroup]
        if kind == "comment":
            return [*found, _Token(kind, text[2:])]
        if not text.isascii() and any(map(misleading, text)):
            raise Unreadable(f"a character that cannot be seen at line {number}")
        found.append(_Token(kind, text))
        place = token.end()
    return [*found, _Token("comment", "")]


def _verb(token: _Token, known: frozenset[str], number: int) -> str:
    if token.kind != "word" or token.text not in known:
        raise Unreadable(f"an unknown directive at line {number}")
    return token.text


def _args(tokens: Sequence[_Token], number: int) -> tuple[str, ...]:
    """Return the arguments of a directive; of all marks only those of an interval of versions can stand in one."""
    for token in tokens:
        if token.kind == "mark" and token.text not in {"[", ",", "]"}:
            raise Unreadable(f"`{token.text}` inside line {number}")
    return tuple(token.text for token in tokens)
