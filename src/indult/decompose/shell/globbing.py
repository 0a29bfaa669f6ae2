"""The files that a glob of a shell finds on the disk, as far as they are there already."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Final

from indult.decompose.paths import Places

__all__ = ["matches"]

_WILD: Final = frozenset("*?[")
_MOST: Final = 200
"""How many names are looked at one by one; of more, the glob alone counts."""


def matches(places: Places, base: str, glob: str) -> tuple[str, ...]:
    """Return the paths that a glob finds from a folder, none where there are too many or it reaches any depth."""
    if "**" in glob or "/../" in f"/{glob}/":
        return ()
    found = ["/" if places.is_absolute(glob) else base]
    for step in glob.strip("/").split("/"):
        found = [path for folder in found for path in _step(places, folder, step)]
        if len(found) > _MOST:
            return ()
    return tuple(found)


def _step(places: Places, folder: str, step: str) -> Iterator[str]:
    if not set(step) & _WILD:
        yield f"{folder.rstrip('/')}/{step}"
        return
    glob = step.replace("[^", "[!")
    for name, _ in places.fs.entries(places.real(folder)):
        if fnmatchcase(name, glob) and (name[:1] != "." or step[:1] == "."):
            yield f"{folder.rstrip('/')}/{name}"
