"""Paths as an action writes them, and the names that they have in targets: where they lead, on this disk.

Everything that depends on a disk is asked of a `FileSystem`, so that what is done here stays a pure function of facts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, Protocol

from indult.characters import fold

__all__ = ["HERE", "FileSystem", "Places"]

HERE: Final = "."
"""The name of the root itself."""

_HOMES: Final = ("/home", "/Users")
_HOME: Final = "/home/~"
"""The name, for rules, of a home that lies where no rule would look for one."""

_GIT_CONFIG: Final = ("/.git/config", "/.git/config.worktree")
# Understood when settings of git are met, as hooks mostly meet other files.
_GIT_MODULE: Final = r"/\.git/(?:modules|worktrees)/.*/config(?:\.worktree)?\Z"
_ADDRESS: Final = rb"https?://[^/\s@]+@|://[^/\s@:]*:[^/\s@]+@|(?i:extraheader|password|token)\s*="
_CREDENTIALS: Final = "#credentials"

_MOST_LINKS: Final = 40
_LONGEST: Final = 4096
_DRIVE: Final = re.compile(r"\A/([A-Za-z])(?=/|\Z)")


class FileSystem(Protocol):
    """What a decomposition may ask about a disk; paths are absolute and normal, with `/` between names."""

    windows: bool
    """Whether a backslash parts names too."""
    folds: bool
    """Whether two names that differ in case are one file."""

    def link(self, path: str) -> str | None:
        """Return the text of the symbolic link at a path (or the long name of a short one), none if it is no link."""

    def folder(self, path: str) -> bool:
        """Tell whether a folder is at a path."""

    def entries(self, path: str) -> Iterable[tuple[str, str]]:
        """Return what is in a folder: each name, and `folder`, `link` or `file`; nothing of what is no folder."""

    def spelled(self, path: str) -> str:
        """Return the path in the spelling that the disk has it in; what does not exist stays as it is."""

    def content(self, path: str) -> bytes | None:
        """Return the bytes of an ordinary file, none where there is none or it is too large to be looked at."""

    def digest(self, path: str) -> str | None:
        """Return `sha256:` and the hash of an ordinary file, none where there is none."""


class Places:
    """A disk, the root that names are relative to, and the home folder."""

    def __init__(self, fs: FileSystem, root: str, home: str | None) -> None:
        self.fs = fs
        self._links: dict[str, str | None] = {}
        self._credentials: dict[str, bool] = {}
        self.root = self.normal(root)
        self.home = None if home is None else self.normal(home)
        real = self._real(self.root)
        self._roots = tuple(dict.fromkeys(self._cased(one) for one in (self.root, real) if one is not None))
        odd = self.home is not None and self.home != "/root" and self.home.rpartition("/")[0] not in _HOMES
        self._homes = (
            tuple({self._cased(one) for one in (self.home, self.real(self.home))}) if odd and self.home else ()
        )

    def normal(self, text: str) -> str:
        """Return an absolute path without `.`, `..` and repeated slashes, as it reads."""
        if self.fs.windows:
            text = _DRIVE.sub(lambda drive: drive[1].upper() + ":", text.replace("\\", "/"), count=1)
        drive = text[:2] if self.fs.windows and text[1:2] == ":" else ""
        steps: list[str] = []
        for step in text[len(drive) :].split("/"):
            if step == "..":
                del steps[-1:]
            elif step not in {"", "."}:
                steps.append(step)
        return f"{drive}/{'/'.join(steps)}"

    def is_absolute(self, text: str) -> bool:
        """Tell whether a path starts from a root."""
        if self.fs.windows and (text[1:3] in {":/", ":\\"} or text.startswith("\\")):
            return True
        return text.startswith("/")

    def join(self, base: str, text: str) -> str:
        """Return the normal path that a text names from a base."""
        return self.normal(text if self.is_absolute(text) else f"{base}/{text}")

    def names(self, base: str, text: str) -> tuple[str, ...] | None:
        """Return the names of a path: as it reads, and where its links lead; none where they lead in a circle.

        What lies hidden in a home has a name as if that were in `/home` too, wherever it really is, and settings of git
        with an address that holds a password have another one that says so.
        On a disk where case does not matter the names are in the disk's own spelling.
        """
        if len(text) > _LONGEST:
            return ()
        real = self._real(self.real(base), text)
        if real is None:
            return None
        paths = (self.join(base, text), real)
        names = [self.name(path) for path in paths]
        names += [name for path in paths if self.is_absolute(self.name(path)) for name in self._at_home(path)]
        names += [f"{self.name(path)}{_CREDENTIALS}" for path in paths if self._shows_credentials(path)]
        return tuple(dict.fromkeys(names))

    def _shows_credentials(self, path: str) -> bool:
        """Tell whether a path leads to settings of git with a password or a token in them."""
        lowered = path.lower()
        if "/.git/" not in lowered or not (lowered.endswith(_GIT_CONFIG) or re.search(_GIT_MODULE, lowered)):
            return False
        if path not in self._credentials:
            self._credentials[path] = re.search(_ADDRESS, self.fs.content(path) or b"") is not None
        return self._credentials[path]

    def _at_home(self, path: str) -> Iterator[str]:
        for home in self._homes:
            rest = path[len(home.rstrip("/")) :]
            if self._cased(path) == home or (self._cased(path).startswith(home.rstrip("/")) and rest[:2] == "/."):
                yield _HOME + rest.rstrip("/")

    def folded(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the names folded, as far as the disk takes them for the same."""
        return tuple(fold(name) for name in names) if self.fs.folds else ()

    def name(self, path: str) -> str:
        """Return the name of an absolute path: relative to the root inside it."""
        path = self.fs.spelled(path) if self.fs.folds else path
        cased = self._cased(path)
        for root in self._roots:
            if cased == root:
                return HERE
            if cased.startswith(root.rstrip("/") + "/"):
                return path[len(root.rstrip("/")) + 1 :]
        return path

    def followed(self, base: str, text: str) -> str:
        """Return where the system gets to from a base, link by link."""
        return self._real(self.real(base), text) or self.join(base, text)

    def real(self, path: str) -> str:
        """Return where a folder really lies, or as it reads where its links lead in a circle."""
        return self._real(path) or path

    def _cased(self, path: str) -> str:
        return path.casefold() if self.fs.folds and len(path.casefold()) == len(path) else path

    def _real(self, base: str, text: str = "") -> str | None:
        """Follow a path as the system does, link by link, with `..` taken where it stands."""
        if self.is_absolute(text):
            base = "/"
        if self.fs.windows:
            text = self.normal(text) if self.is_absolute(text) else text.replace("\\", "/")
        todo = [*reversed(text.split("/")), *reversed(base.split("/"))]
        path, followed = "", 0
        while todo:
            step = todo.pop()
            if step in {"", "."}:
                continue
            if step == "..":
                path = path.rpartition("/")[0]
                continue
            if self.fs.windows and not path and step[1:2] == ":":
                path = step
                continue
            path = f"{path}/{step}"
            link = self._link(path)
            if link is None:
                continue
            followed += 1
            if followed > _MOST_LINKS:
                return None
            path = "" if self.is_absolute(link) else path.rpartition("/")[0]
            todo.extend(reversed((self.normal(link) if self.is_absolute(link) else link).split("/")))
        return path or "/"

    def _link(self, path: str) -> str | None:
        if path not in self._links:
            self._links[path] = self.fs.link(path)
        return self._links[path]
