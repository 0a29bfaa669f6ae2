"""Which files of a repository its `.gitignore` files leave out, as searches that respect them do.

What cannot be read here counts as not left out, so that a search is rather taken to read a file than not.
"""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Final, NamedTuple

from indult.decompose.paths import Places

__all__ = ["Ignores"]

_FILE: Final = ".gitignore"
_STRONGER: Final = (".ignore", ".rgignore")
"""Files that searches read before it; one that takes a file in again may do so with any."""

_MOST_LINES: Final = 1_000
_LONGEST: Final = 200


class _Pattern(NamedTuple):
    """One line: the folder that it holds in, its steps, and whether it takes in again and is about folders alone."""

    base: str
    steps: tuple[str, ...]
    again: bool
    folders: bool
    anywhere: bool


class Ignores:
    """The lines that hold in a folder: those of the folders above it in the repository, and its own."""

    def __init__(self, places: Places, folder: str, above: tuple[_Pattern, ...] = (), *, on: bool = True) -> None:
        """Take what holds above a folder, and whether any file is left out at all, and read what the folder says."""
        self._places = places
        stronger = (line for name in _STRONGER for line in self._lines(f"{folder}/{name}"))
        self._on = on and not any(line.startswith("!") for line in stronger)
        own = self._lines(f"{folder}/{_FILE}") if self._on else []
        self._patterns = (*above, *(one for line in own for one in _read(folder, line)))

    @classmethod
    def at(cls, places: Places, folder: str) -> Ignores:
        """Return what holds in a folder, with all that is above it; nothing outside of the repository."""
        root = places.real(places.root).rstrip("/")
        git = f"{root}/.git"
        # In a work tree beside another one it is a file.
        inside = places.fs.folder(git) or places.fs.content(git) is not None
        found = cls(places, root, on=inside and f"{folder}/".startswith(f"{root}/"))
        steps = folder[len(root) :].strip("/").split("/")
        for step in filter(None, steps):
            root = f"{root}/{step}"
            found = found.entered(root)
        return found

    def entered(self, folder: str) -> Ignores:
        """Return what holds in a folder below, with its own lines."""
        return Ignores(self._places, folder, self._patterns, on=self._on)

    def leaves_out(self, path: str, *, folder: bool) -> bool:
        """Tell whether a file or folder is left out: the last line that is about it decides."""
        if not self._on:
            return False
        found = [one for one in self._patterns if (folder or not one.folders) and _matches(one, path)]
        return bool(found) and not found[-1].again

    def _lines(self, path: str) -> list[str]:
        content = self._places.fs.content(path) or b""
        return content.decode(errors="replace").splitlines()[:_MOST_LINES]


def _read(folder: str, line: str) -> Iterator[_Pattern]:
    text = line.rstrip()
    if not text or text.startswith("#"):
        return
    again = text.startswith("!")
    text = text.removeprefix("!")
    if "\\" in text or "[" in text or len(text) > _LONGEST:
        # It is not read: where it leaves out, nothing is lost; where it takes in again, it may be about anything.
        text = "**" if again else ""
    steps = tuple(step for step in text.split("/") if step)
    if steps:
        yield _Pattern(folder, steps, again, text.endswith("/"), "/" not in text.rstrip("/"))


def _matches(pattern: _Pattern, path: str) -> bool:
    head = pattern.base.rstrip("/") + "/"
    if not path.startswith(head):
        return False
    steps = path[len(head) :].split("/")
    if pattern.anywhere:
        return pattern.steps[0] == "**" or fnmatchcase(steps[-1], pattern.steps[0])
    return _steps_match(pattern.steps, steps)


def _steps_match(pattern: tuple[str, ...], steps: list[str]) -> bool:
    """Tell whether steps of a path are those of a pattern, in which `**` stands for any number of them."""
    places = {0}
    for at, one in enumerate(pattern):
        if one == "**":
            # At the end it stands for at least one.
            places = {to for place in places for to in range(place + (at == len(pattern) - 1), len(steps) + 1)}
        else:
            places = {place + 1 for place in places if place < len(steps) and fnmatchcase(steps[place], one)}
    return len(steps) in places
