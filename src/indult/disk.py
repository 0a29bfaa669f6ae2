"""The disk of this machine, as far as taking an action apart asks about it: links, folders, spellings and contents."""

from __future__ import annotations

import os
import stat
import sys
from typing import Final

__all__ = ["MAX_BYTES", "Disk"]

MAX_BYTES: Final = 32_000_000
"""Largest file that is looked into."""


class Disk:
    """The file system below `root`; it is asked each time, and nothing is kept but whether case matters."""

    def __init__(self, root: str) -> None:
        self.windows = sys.platform == "win32"
        self.folds = _folds(root)

    def link(self, path: str) -> str | None:
        """Return the text of the symbolic link at a path, none if there is none that can be read."""
        try:
            return os.readlink(path)  # noqa: PTH115 (as it is, and not as `Path` would write it)
        except (OSError, ValueError):
            return None

    def folder(self, path: str) -> bool:
        """Tell whether a folder is at a path."""
        return os.path.isdir(path)  # noqa: PTH112 (a path may hold what `Path` changes)

    def entries(self, path: str) -> list[tuple[str, str]]:
        """Return what is in a folder: each name, and what it is; nothing of a folder that cannot be read."""
        try:
            with os.scandir(path) as found:
                return [(one.name, _kind(one)) for one in found]
        except (OSError, ValueError):
            return []

    def spelled(self, path: str) -> str:
        """Return the path as its folders list it, as far as it exists."""
        if not self.folds:
            return path
        found, sign, rest = "", "/", path.strip("/")
        for step in rest.split("/"):
            found = f"{found}{sign if found or path.startswith('/') else ''}{self._entry(found or '/', step)}"
        return found or "/"

    def content(self, path: str) -> bytes | None:
        """Return the bytes of an ordinary file of up to `MAX_BYTES`, none of anything else."""
        try:
            # Nothing but an ordinary file: opening another thing may never end.
            descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        except (OSError, ValueError):
            return None
        try:
            about = os.fstat(descriptor)
            if not stat.S_ISREG(about.st_mode) or about.st_size > MAX_BYTES:
                return None
            with open(descriptor, "rb", closefd=False) as file:
                data = file.read(MAX_BYTES + 1)
            return data if len(data) <= MAX_BYTES else None
        except OSError:
            return None
        finally:
            os.close(descriptor)

    def digest(self, path: str) -> str | None:
        """Return `sha256:` and the hash of an ordinary file, none where there is none."""
        from hashlib import sha256

        data = self.content(path)
        return None if data is None else "sha256:" + sha256(data).hexdigest()

    def _entry(self, folder: str, name: str) -> str:
        try:
            names = os.listdir(folder)  # noqa: PTH208 (names only)
        except OSError:
            return name
        if name in names:
            return name
        return next((one for one in sorted(names) if one.casefold() == name.casefold()), name)


def _kind(entry: os.DirEntry[str]) -> str:
    try:
        if entry.is_symlink():
            return "link"
        return "folder" if entry.is_dir(follow_symlinks=False) else "file"
    except OSError:
        return "file"


def _folds(root: str) -> bool:
    """Tell whether names that differ in case are one file there: by the root's own name, or else as systems usually do."""
    folder, name = os.path.split(root.rstrip("/"))
    if name.swapcase() != name:
        try:
            return os.path.samefile(os.path.join(folder, name.swapcase()), root)  # noqa: PTH118, PTH121
        except (OSError, ValueError):
            return False
    return sys.platform in {"darwin", "win32"}
