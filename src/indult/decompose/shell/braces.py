"""Brace expansion, which bash does on a word before it looks at anything else in it."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

from indult.decompose.shell.shfmt import Unparsable

__all__ = ["MOST", "expanded"]

MOST: Final = 1000
"""Most words that one may come to."""

_BARE: Final = 0
_Row = list[tuple[str, int]]
_RANGE: Final = re.compile(r"(-?\d{1,9}|[A-Za-z])\.\.(-?\d{1,9}|[A-Za-z])(?:\.\.(-?\d{1,9}))?\Z")


def expanded(row: _Row) -> list[_Row]:
    """Return the words that the braces of a word stand for, in order; one without braces is its own only word.

    Raises:
        Unparsable: There are too many.
    """
    if not any(mark == ("{", _BARE) for mark in row):
        return [row]
    done: list[_Row] = []
    todo = [(row, 0)]
    while todo:
        word, start = todo.pop()
        found = _first(word, start)
        if found is None:
            done.append(word)
        else:
            before, choices, after = found
            todo.extend(([*before, *choice, *after], len(before)) for choice in reversed(choices))
        if len(done) + len(todo) > MOST:
            raise Unparsable(f"braces stand for over {MOST} words")
    return done


def _first(row: _Row, start: int) -> tuple[_Row, list[_Row], _Row] | None:
    """Return what stands before, in and behind the first pair of braces that is one."""
    for at in range(start, len(row)):
        if row[at] != ("{", _BARE):
            continue
        end, commas = _pair(row, at)
        if end is None:
            continue
        inside = row[at + 1 : end]
        if commas:
            edges = [at, *commas, end]
            choices = [row[one + 1 : other] for one, other in pairwise(edges)]
        else:
            found = _range(inside)
            if found is None:
                continue
            choices = found
        return row[:at], choices, row[end + 1 :]
    return None


def _pair(row: _Row, at: int) -> tuple[int | None, list[int]]:
    """Return where a brace is closed, and the commas that stand directly in it."""
    depth = 0
    commas: list[int] = []
    for place in range(at, len(row)):
        char, kind = row[place]
        if kind != _BARE:
            continue
        if char == "{":
            depth += 1
        elif char == "}":
            depth -= 1
            if depth == 0:
                return place, commas
        elif char == "," and depth == 1:
            commas.append(place)
    return None, []


def _range(inside: _Row) -> list[_Row] | None:
    """Return the words of `{1..3}` or `{a..e..2}`, none where it is no such thing."""
    if any(kind != _BARE for _, kind in inside):
        return None
    found = _RANGE.match("".join(char for char, _ in inside))
    if found is None or found[1].isalpha() != found[2].isalpha():
        return None
    letters = found[1].isalpha()
    first, last = (ord(found[1]), ord(found[2])) if letters else (int(found[1]), int(found[2]))
    step = abs(int(found[3] or 1)) or 1
    if abs(last - first) // step > MOST:
        raise Unparsable(f"braces stand for over {MOST} words")
    numbers = range(first, last + 1, step) if last >= first else range(first, last - 1, -step)
    if letters:
        return [[(chr(number), 1)] for number in numbers]
    padded = any(text.lstrip("-").startswith("0") and len(text.lstrip("-")) > 1 for text in (found[1], found[2]))
    width = max(len(found[1]), len(found[2])) if padded else 0
    return [[(char, 1) for char in (f"{number:0{width}d}" if width else str(number))] for number in numbers]
