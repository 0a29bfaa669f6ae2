"""What is in the tree of a fix: which files git is told of, and which folders it must not look into.

A repository inside of the tree has a configuration of its own, and whatever looks into it may run what that says. So it
is found here, without git, and git is told to leave it alone.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from indult.errors import ShipError

__all__ = ["GITLINK", "Survey", "readable", "survey"]

GITLINK: Final = "160000"
"""The mode of an entry that is another repository."""

_MOST: Final = 1000
_MEND: Final = "remove it, or put the file back"

# What git opens of a repository without a look at what it is.
_FILES: Final = (
    "HEAD", "config", "config.worktree", "packed-refs", "shallow", "info/attributes", "info/exclude", "info/grafts",
)  # fmt: skip
_READ: Final = frozenset({b".gitignore", b".gitattributes"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """Of the paths that git knows: those that are `there`, and those that are `gone`; `nested` are other repositories.

    The paths are relative to the tree. A known repository that is still a folder is neither there nor gone.
    """

    there: tuple[bytes, ...]
    gone: tuple[bytes, ...]
    nested: tuple[bytes, ...]

    def patterns(self) -> list[str]:
        """Return the patterns by which git ignores the other repositories."""
        return [f"/{os.fsdecode(_escaped(path))}/" for path in self.nested]


def survey(tree: str, known: Mapping[bytes, str]) -> Survey:
    """Return what is in a tree; `known` are the paths of its index with the mode of each.

    Raises:
        ShipError: Something is in the place of a file that git would wait for, or of a folder nothing can be told.
    """
    base = os.fsencode(tree)
    folders = {folder for path, mode in known.items() if mode != GITLINK for folder in _above(path)}
    there: list[bytes] = []
    gone: list[bytes] = []
    nested: list[bytes] = []
    real: dict[bytes, bool] = {}
    for path, mode in known.items():
        found = _mode(base, path, real)
        if mode == GITLINK and stat.S_ISDIR(found):
            nested.append(path)
        else:
            (there if stat.S_ISREG(found) or stat.S_ISLNK(found) else gone).append(path)
    nested += (path for path in _nested(base, folders, {*nested}))
    if len(nested) > _MOST:
        raise ShipError(f"there are more than {_MOST} other repositories in `{tree}`")
    return Survey(there=tuple(there), gone=tuple(gone), nested=tuple(nested))


def readable(common: Path) -> None:
    """Refuse a repository in which something else is in the place of a file: git would wait for a pipe.

    Raises:
        ShipError: There is such a thing.
    """
    for name in _FILES:
        place = common / name
        try:
            mode = place.stat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as exc:
            raise ShipError(f"`{place}` cannot be read: {(exc.strerror or str(exc)).lower()}") from exc
        if not stat.S_ISREG(mode):
            raise ShipError(f"`{place}` is no ordinary file", hint=_MEND)


def _nested(base: bytes, folders: set[bytes], known: set[bytes]) -> Iterator[bytes]:
    """Yield the folders that are repositories and hold nothing that is known."""
    ahead = [b""]
    while ahead:
        lead = ahead.pop()
        try:
            with os.scandir(base + b"/" + lead) as entries:
                found = [(one.name, _is_folder(one), one.is_file() or one.is_symlink()) for one in entries]
        except OSError as exc:
            place = os.fsdecode(base + b"/" + lead)
            raise ShipError(f"`{place}` cannot be read: {(exc.strerror or str(exc)).lower()}") from exc
        if lead and lead not in folders and any(_is_git(name) for name, _, _ in found):
            yield lead
            continue
        for name, folder, file in found:
            path = lead + b"/" + name if lead else name
            if name in _READ and not folder and not file:
                raise ShipError(f"`{os.fsdecode(path)}` is no ordinary file", hint=_MEND)
            if folder and not _is_git(name) and path not in known:
                ahead.append(path)


def _is_git(name: bytes) -> bool:
    return (name.lower() if sys.platform == "darwin" else name) == b".git"


def _is_folder(entry: os.DirEntry[bytes]) -> bool:
    return entry.is_dir(follow_symlinks=False)


def _mode(base: bytes, path: bytes, real: dict[bytes, bool]) -> int:
    """Return the mode of what is at a path, 0 if there is nothing, or the way to it leads through a link."""
    for folder in _above(path):
        if folder not in real:
            real[folder] = stat.S_ISDIR(_looked(base + b"/" + folder))
        if not real[folder]:
            return 0
    return _looked(base + b"/" + path)


def _looked(place: bytes) -> int:
    try:
        return os.lstat(place).st_mode
    except OSError:
        return 0


def _above(path: bytes) -> list[bytes]:
    """Return the folders that a path lies in, the outermost first."""
    parts = path.split(b"/")
    return [b"/".join(parts[:number]) for number in range(1, len(parts))]


def _escaped(path: bytes) -> bytes:
    """Return a path as a pattern that means nothing but that path."""
    for sign in (b"\\", b"*", b"?", b"["):
        path = path.replace(sign, b"\\" + sign)
    return path.removesuffix(b" ") + b"\\ " if path.endswith(b" ") else path
