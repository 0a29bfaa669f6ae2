"""Git directories of ours, which have of a real repository only what is borrowed by name, and where that one lies."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Final

from indult.errors import ShipError
from indult.ship.process import told

if TYPE_CHECKING:
    from indult.ship.process import Git

__all__ = ["own_store", "place", "view"]

_FILES: Final = ("HEAD", "config", "packed-refs", "shallow", "index", "objects/info/alternates", "info/grafts")
"""What git opens without a look at what it is; it would wait for a pipe for ever."""


def place(git: Git, path: str) -> tuple[str, str, str]:
    """Return the common git directory of the repository that a path lies in, its main work tree and its kind of ids."""
    if not os.path.isdir(path):
        raise ShipError(f"there is no folder `{path}`")
    _check_files(_nearest(path))
    words = ("rev-parse", "--path-format=absolute", "--git-common-dir", "--show-object-format")
    done = git.inside(*words, more={}, cwd=path)
    if done.returncode:
        raise ShipError(f"`{path}` is not in a repository: {told(done)}")
    place, algorithm = os.fsdecode(done.stdout).rstrip("\n").rsplit("\n", 1)
    if algorithm not in {"sha1", "sha256"}:
        raise ShipError(f"the repository of `{path}` has object ids of an unknown kind: `{algorithm}`")
    common = os.path.realpath(place)
    _check_files(common)
    parent, name = os.path.split(common)
    if name == ".git":
        return common, parent, algorithm
    done = git.inside("rev-parse", "--show-toplevel", more={}, cwd=path)
    return common, os.fsdecode(done.stdout).rstrip("\n") if done.returncode == 0 else common, algorithm


def view(home: str, name: str, algorithm: str, common: str | None = None) -> str:
    """Make a bare git directory of ours; with `common` it has the refs and the logs of that one."""
    folder = os.path.join(home, name)
    os.mkdir(folder, 0o700)
    extensions = {"objectformat": algorithm} if algorithm != "sha1" else {}
    borrowed = [] if common is None else ["refs", "packed-refs"]
    if common is not None:
        borrowed += [one for one in ("logs", "reftable") if os.path.isdir(os.path.join(common, one))]
    for one in borrowed:
        assert common is not None
        os.symlink(os.path.join(common, one), os.path.join(folder, one))
    if "reftable" in borrowed:
        extensions["refstorage"] = "reftable"
    if common is None:
        os.mkdir(os.path.join(folder, "refs"))
    lines = [
        "[core]",
        f"repositoryformatversion = {int(bool(extensions))}",
        "bare = true",
        # Where commits are said to be, and what they are said to hold: asked of the commits themselves.
        "commitGraph = false",
        "useReplaceRefs = false",
        f"hooksPath = {os.devnull}",
        f"logAllRefUpdates = {'true' if 'logs' in borrowed else 'false'}",
        "[extensions]",
        *(f"{key} = {value}" for key, value in extensions.items()),
    ]
    for file, text in (("config", "\n".join(lines)), ("HEAD", "ref: refs/heads/.invalid")):
        with open(os.path.join(folder, file), "x", encoding="ascii") as out:
            out.write(text + "\n")
    return folder


def own_store(home: str, store: str) -> str:
    """Make a folder of objects that has all of `store` but what that one borrows from elsewhere."""
    folder = os.path.join(home, "own")
    os.mkdir(folder, 0o700)
    for name in ("pack", *(f"{number:02x}" for number in range(256))):
        os.symlink(os.path.join(store, name), os.path.join(folder, name))
    return folder


def _nearest(path: str) -> str:
    """Return where the git directory of a main work tree would be that a path lies in, as far as one can tell."""
    folder = os.path.realpath(path)
    while not os.path.lexists(os.path.join(folder, ".git")) and os.path.dirname(folder) != folder:
        folder = os.path.dirname(folder)
    return os.path.join(folder, ".git")


def _check_files(common: str) -> None:
    """Refuse a repository in which something else is in the place of a file."""
    for name in _FILES:
        place = os.path.join(common, name)
        try:
            mode = os.stat(place).st_mode
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as exc:
            raise ShipError(f"the repository cannot be read: {exc.strerror}: `{place}`") from exc
        if not stat.S_ISREG(mode):
            raise ShipError(f"`{place}` is no ordinary file", hint="remove it, or put the file back")
