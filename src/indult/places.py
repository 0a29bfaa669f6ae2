"""Where indult keeps things of its own in a home folder: the base directories of the XDG specification.

Paths are texts, since whoever judges an action has no time to import `pathlib`.
"""

from __future__ import annotations

import os
from typing import Final

from indult.hashing import sha256

__all__ = ["POLICY", "config_folder", "data_folder", "default_ledger", "repository", "repository_ledger"]

POLICY: Final = "indult.yaml"
"""The name of a policy file."""


def config_folder() -> str:
    """Return the folder of what a person sets: `$XDG_CONFIG_HOME/indult`, by default `~/.config/indult`."""
    return _folder("XDG_CONFIG_HOME", ".config")


def data_folder() -> str:
    """Return the folder of what indult writes: `$XDG_DATA_HOME/indult`, by default `~/.local/share/indult`."""
    return _folder("XDG_DATA_HOME", os.path.join(".local", "share"))  # noqa: PTH118


def default_ledger() -> str:
    """Return the ledger that is meant where none is named: that of the repository one stands in, else the user's.

    What a person opens in one repository must not count in another one that has a signal or a session of the same name.
    """
    try:
        root = repository(".")
        if root is not None:
            return repository_ledger(root)
    except OSError:
        pass  # the folder is gone, or what makes it a work tree cannot be read
    return os.path.join(data_folder(), "ledger.db")  # noqa: PTH118


def repository(folder: str) -> str | None:
    """Return the repository that `folder` lies in, by its real path: the nearest folder that is one or holds a policy."""
    here = os.path.realpath(folder)
    while True:
        if any(os.path.lexists(os.path.join(here, name)) for name in (".git", POLICY)) or _bare(here):  # noqa: PTH118
            return here
        above = os.path.dirname(here)  # noqa: PTH120
        if above == here:
            return None
        here = above


def _bare(folder: str) -> bool:
    """Tell whether a folder is a repository without a work tree."""
    return all(os.path.lexists(os.path.join(folder, name)) for name in ("HEAD", "objects", "refs"))  # noqa: PTH118


def repository_ledger(root: str) -> str:
    """Return where the ledger of the repository at `root` is: in the folder of data, one for all of its work trees.

    Raises:
        OSError: What `.git` leads to cannot be read.
    """
    name = sha256(os.fsencode(_common(os.path.realpath(root)))).hexdigest()[:16]
    return os.path.join(data_folder(), "repositories", name, "ledger.db")  # noqa: PTH118


def _common(root: str) -> str:
    """Return the git directory that all work trees of a repository share, or `root` where there is none.

    One that cannot be found is an error: a ledger by another name would not know what a person trusted or refused.
    """
    git = os.path.join(root, ".git")  # noqa: PTH118
    if os.path.isfile(git):  # noqa: PTH113
        told = _line(git)
        git = os.path.join(root, told.removeprefix("gitdir:").strip() or git) if told.startswith("gitdir:") else git  # noqa: PTH118
        shared = os.path.join(git, "commondir")  # noqa: PTH118
        if os.path.isfile(shared):  # noqa: PTH113
            git = os.path.join(git, _line(shared))  # noqa: PTH118
    if not os.path.lexists(os.path.join(root, ".git")):  # noqa: PTH118
        return root
    if not os.path.isdir(git):  # noqa: PTH112
        raise NotADirectoryError(f"`{root}` is a work tree of `{git}`, which is no git directory")
    return os.path.realpath(git)


def _line(path: str) -> str:
    """Return the one line of a file of git's, whatever bytes a name in it is made of."""
    with open(path, "rb") as file:
        return os.fsdecode(file.read(10_000)).strip()


def _folder(name: str, default: str) -> str:
    home = os.environ.get(name, "")
    # The specification has relative paths ignored.
    base = home if os.path.isabs(home) else os.path.join(os.path.expanduser("~"), default)  # noqa: PTH111, PTH117, PTH118
    return os.path.join(base, "indult")  # noqa: PTH118
