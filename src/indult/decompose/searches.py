"""What a program comes upon that reads all below a folder: the names of the files that really lie there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from indult.decompose.ignored import Ignores
from indult.decompose.paths import Places

__all__ = ["Filter", "finder"]

MOST: Final = 200_000
"""How many entries of folders are looked at; a program that reads more takes far longer than that itself."""

_OBJECTS: Final = "/.git/objects"
"""Where git keeps contents under no name of theirs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which files below a folder a program reads: all, as far as it is not known that it leaves some out.

    `kind` is what it does to them: `read` is all that a search does, and a formatter has `write`.

    `hidden` are those whose name begins with a dot, or below such a folder; `ignored` those that `.gitignore` leaves
    out. `only`, `without` and `folders` are globs of names: of the files that are read alone, of those that are left
    out, and of the folders that are not entered.
    """

    kind: str = "read"
    hidden: bool = True
    ignored: bool = True
    only: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Fold the names that are read alone."""
        object.__setattr__(self, "only", tuple(glob.lower() for glob in self.only))

    def enters(self, name: str) -> bool:
        """Tell whether a folder of this name is looked into."""
        return (self.hidden or name[:1] != ".") and not _any(name, self.folders)

    def reads(self, name: str) -> bool:
        """Tell whether a file of this name is read."""
        if not self.hidden and name[:1] == ".":
            return False
        # Some programs take the names that they are about in any case.
        return not _any(name, self.without) and (not self.only or _any(name.lower(), self.only))


def _any(name: str, globs: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, glob) for glob in globs)


def finder(places: Places, searches: list[tuple[str, Filter]]) -> Callable[[], tuple[str, ...] | None]:
    """Return a function that lists what searches from these folders read, as targets, none where it is too much."""

    def found() -> tuple[str, ...] | None:
        names: dict[str, None] = {}
        left = MOST
        for start, filtered in searches:
            for name in _below(places, start, filtered):
                left -= 1
                if left < 0:
                    return None
                if name:
                    names[f"{filtered.kind}:{name}"] = None
        return tuple(names)

    return found


def _below(places: Places, start: str, filtered: Filter) -> Iterator[str]:
    """Yield the names of the files below a folder, and nothing for each entry that is looked at."""
    real = places.real(start)
    todo = [(real, Ignores.at(places, real) if not filtered.ignored else None)]
    while todo:
        folder, ignores = todo.pop()
        if ignores is not None and folder != real:
            ignores = ignores.entered(folder)
        inside = []
        for name, kind in sorted(places.fs.entries(folder)):
            yield ""
            path = f"{folder.rstrip('/')}/{name}"
            taken = filtered.enters(name) if kind == "folder" else filtered.reads(name)
            if not taken or (ignores is not None and ignores.leaves_out(path, folder=kind == "folder")):
                continue
            if kind != "folder":
                yield from _names(places, path, kind)
            elif not path.endswith(_OBJECTS):
                inside.append((path, ignores))
        todo += reversed(inside)


def _names(places: Places, path: str, kind: str) -> Iterator[str]:
    """Yield the name of a file, and of what a link leads to, be that a file or a folder: whoever follows it reads that."""
    yield places.name(path)
    if kind == "link":
        target = places.name(places.real(path))
        yield from (target, f"{target}/-")
