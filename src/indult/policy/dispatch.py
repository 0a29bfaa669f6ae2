"""Which rules a target meets, found without asking each of their patterns.

Every pattern is filed under something that all names have which it matches: a base name, a folder on the way to it, or
else some text anywhere in it. Of all patterns, only those are tried that a name leads to.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from indult.policy.patterns import Matcher, first_word, glob, program

__all__ = ["CommandDispatch", "Dispatch"]

_Filed = list[tuple[int, Matcher]]
"""The bit of a rule, and one pattern of it."""

_NONE: Final[_Filed] = []


class Dispatch:
    """The patterns of many rules for one kind of target; each rule is a bit, and what is found is the sum of them.

    `globs` holds the bit of a rule with a glob of it.
    """

    __slots__ = ("_always", "_bases", "_folders", "_names", "_texts")

    def __init__(self, globs: Iterable[tuple[int, str]]) -> None:
        self._always = 0
        self._bases: dict[str, _Filed] = {}
        self._folders: dict[str, _Filed] = {}
        self._texts: dict[str, _Filed] = {}
        for bit, text in globs:
            if text == "**":
                self._always |= bit
            else:
                self._place(text).append((bit, glob(text)))
        self._names = frozenset(self._folders)

    def _place(self, text: str) -> _Filed:
        """Return the list that a pattern belongs on."""
        *folders, base = text.split("/")
        if "*" not in base:
            return self._bases.setdefault(base, [])
        # Before a slash, and behind one or at the beginning, what has no star is a whole folder of all that matches.
        folder = next((name for name in reversed(folders) if name and "*" not in name), None)
        if folder is not None:
            return self._folders.setdefault(folder, [])
        # The slash of a `**/` may be missing from a name, all other text may not.
        return self._texts.setdefault(max((piece.strip("/") for piece in text.split("*")), key=len), [])

    def meets(self, name: str) -> int:
        """Return the bits of the rules that a name meets."""
        folders = name.split("/")
        found = self._always
        filed = self._bases.get(folders.pop(), _NONE)
        # Each folder once: a name may repeat one thousands of times.
        known = self._names.intersection(folders)
        if known:
            filed = [*filed, *(one for folder in known for one in self._folders[folder])]
        for text, more in self._texts.items():
            if text in name:
                filed = [*filed, *more]
        for bit, matches in filed:
            if not found & bit and matches(name):
                found |= bit
        return found


class CommandDispatch:
    """The same for commands: patterns are filed under the word that names the program."""

    __slots__ = ("_all", "_first")

    def __init__(self, patterns: Iterable[tuple[int, str, Matcher]]) -> None:
        self._first: dict[str | None, _Filed] = {}
        self._all: _Filed = []
        for bit, text, matches in patterns:
            self._first.setdefault(first_word(text), []).append((bit, matches))
            self._all.append((bit, matches))

    def meets(self, name: str) -> int:
        """Return the bits of the rules that a name meets; where its program is not known, all are tried."""
        word = program(name)
        filed = self._all if word is None else [*self._first.get(None, _NONE), *self._first.get(word, _NONE)]
        found = 0
        for bit, matches in filed:
            if not found & bit and matches(name):
                found |= bit
        return found
