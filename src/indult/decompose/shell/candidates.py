"""The texts in a word that a program may take for a path: the word itself, the value of an option, a piece of a list."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from indult.decompose.shell.inputs import COMPILERS, handed_on
from indult.decompose.shell.programs import plain
from indult.decompose.shell.words import Word

__all__ = ["candidates", "guesses"]

_LONGEST: Final = 4096

_ENDS: Final = {"sed": "efl", "gsed": "efl", "make": "CfIWo", "gmake": "CfIWo", "git": "CmFSGO", "cut": "bcdf"}
"""Program -> letters behind which what follows is a value; of any other, a letter may be one more option or the value."""

_WORDS: Final = COMPILERS | {"go", "java", "javac", "kotlinc", "find", "clang-tidy", "openssl"}
"""Programs whose options are no letters in a cluster but words."""

_MESSAGES: Final = frozenset({"git", "sed", "gsed", "awk", "grep", "egrep", "cut", "tr"})
"""Programs with texts and patterns behind a letter, in which a colon means nothing."""

_LETTERS: Final = re.compile(r"-[A-Za-z0-9]+")
_DEPENDENCIES: Final = re.compile(r"-M[FJ](?P<value>/.*)", re.DOTALL)
"""Options of compilers with the name of a file right behind them."""


def candidates(name: str, text: str) -> Iterator[str]:
    """Yield the texts in a word behind a program that it may take for a path."""
    handed = handed_on(name, text)
    if handed is not None:
        for one in handed:
            yield from candidates(name, one)
        return
    seen: dict[str, None] = {}
    if plain(Word(text)):
        seen[text] = None
    elif not text.startswith("--"):
        seen.update(dict.fromkeys(_attached(name, text)))
        # Some options have a colon for a sign.
        seen.update(dict.fromkeys(re.split("[:,]", text)[1:] if name not in _MESSAGES else ()))
    value = text.partition("=")[2]
    for piece in (text if plain(Word(text)) else "", value):
        seen[piece] = None
        seen[piece.removeprefix("file://")] = None
        seen[piece.partition("@")[2]] = None
        if ":" in piece or "," in piece:
            seen.update((one, None) for one in piece.replace(",", ":").split(":"))
        seen[piece.partition("=")[2]] = None
    yield from (one for one in seen if one and len(one) <= _LONGEST)


def _attached(name: str, text: str) -> Iterator[str]:
    """Yield what may be the value of a letter behind others, as in `-uoFILE`: which letters take one is not known."""
    yield text[2:]
    letters = _LETTERS.match(text)
    ends = _ENDS.get(name, "")
    for at in range(3, letters.end() + 1 if letters else 3):
        if text[at - 2] in ends:
            return
        # The rest of an option that is a word is a piece of a path, but not one from the root.
        if not (name in _WORDS and text[at : at + 1] == "/"):
            yield text[at:]
    found = _DEPENDENCIES.match(text) if name in COMPILERS else None
    if found is not None:
        yield found["value"]


def guesses(name: str) -> list[str]:
    """Return the names that a search for a glob is likely about: `*env` is about `.env`, `*.py` about nothing hidden."""
    if not name or name[0] not in "*?":
        return [name] if name else []
    rest = name.replace("*", "").replace("?", "")
    return [rest, f".{rest.lstrip('.')}"] if rest else []
