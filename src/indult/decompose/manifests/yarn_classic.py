"""The format of `yarn.lock` of version 1: blocks of lines, indented by two blanks for each level."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from indult.decompose.manifests.reading import Unreadable, decode

__all__ = ["read_classic"]

# What yarn writes without quotes; it takes words that begin with `true` or `false` for something else than text.
_TOKEN: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"|(?!true|false)[A-Za-z][^:\s,"\\\[\]]*')
_GAP: Final = re.compile(r", | |:\Z")


def read_classic(raw: bytes) -> dict[str, dict[str, Any]]:
    """Return each `NAME@RANGE` with the block that answers it.

    Raises:
        Unreadable: A line that is of no known form, or something given twice.
    """
    blocks: dict[str, dict[str, Any]] = {}
    block: dict[str, Any] = {}
    inner: dict[str, Any] | None = None
    for number, line in enumerate(re.split("\r?\n", decode(raw)), 1):
        if not line.strip(" ") or line.startswith("#"):
            continue
        level = len(line) - len(line.lstrip(" "))
        words, opens, commas = _words(line[level:], number)
        if level == 0 and opens and commas:
            block, inner = {}, None
            for head in words:
                _put(blocks, head, block, number)
        elif level == 2 and blocks and len(words) == 1 and opens:
            inner = {}
            _put(block, words[0], inner, number)
        elif level == 2 and blocks and len(words) == 2 and not opens and not commas:
            inner = None
            _put(block, words[0], words[1], number)
        elif level == 4 and inner is not None and len(words) == 2 and not opens and not commas:
            _put(inner, words[0], words[1], number)
        else:
            raise _wrong(number)
    return blocks


def _put(into: dict[str, Any], key: str, value: Any, number: int) -> None:
    if key in into:
        raise Unreadable(f"line {number} says again what another one says")
    into[key] = value


def _words(text: str, number: int) -> tuple[list[str], bool, bool]:
    """Return the words of a line, whether it ends in a colon, and whether commas part its words (or it has but one)."""
    words: list[str] = []
    gaps: set[str] = set()
    at = 0
    while at < len(text):
        if words:
            gap = _GAP.match(text, at)
            if gap is None:
                raise _wrong(number)
            if gap[0] == ":":
                return words, True, gaps <= {", "}
            gaps.add(gap[0])
            at = gap.end()
        found = _TOKEN.match(text, at)
        if found is None:
            raise _wrong(number)
        words.append(_word(found[0], number))
        at = found.end()
    return words, False, bool(gaps) and gaps == {", "}


def _word(token: str, number: int) -> str:
    if not token.startswith('"'):
        return token
    try:
        return str(json.loads(token))
    except ValueError:
        raise _wrong(number) from None


def _wrong(number: int) -> Unreadable:
    return Unreadable(f"line {number} is of no known form")
