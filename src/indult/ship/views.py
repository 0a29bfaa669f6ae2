"""Git directories of ours, which have of a real repository only what is borrowed by name, and where that one lies."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from indult.errors import ShipError
from indult.ship.process import told

if TYPE_CHECKING:
    from indult.ship.process import Git

__all__ = ["place", "view"]


def place(git: Git, path: str) -> tuple[str, str, str]:
    """Return the common git directory of the repository that a path lies in, its main work tree and its kind of ids."""
    if not os.path.isdir(path):
        raise ShipError(f"there is no folder `{path}`")
    words = ("rev-parse", "--path-format=absolute", "--git-common-dir", "--show-object-format")
    done = git.inside(*words, more={}, cwd=path)
    if done.returncode:
        raise ShipError(f"`{path}` is not in a repository: {told(done)}")
    place, algorithm = os.fsdecode(done.stdout).rstrip("\n").rsplit("\n", 1)
    if algorithm not in {"sha1", "sha256"}:
        raise ShipError(f"the repository of `{path}` has object ids of an unknown kind: `{algorithm}`")
    common = os.path.realpath(place)
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
