"""Work trees: which have a branch checked out, what is changed in them, bringing one up to date, and a fresh checkout.

A work tree belongs to its owner: only here does git read the configuration of a real repository, and whatever in it
could run a program is switched off for the call or is a reason to leave the work tree alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from indult.characters import fold
from indult.errors import ShipError
from indult.ship.objects import GITLINK, LINK, PROGRAM
from indult.ship.process import failed

if TYPE_CHECKING:
    from indult.ship.objects import Objects
    from indult.ship.process import Git

__all__ = ["dirty", "export", "having", "sync"]

_LONG: Final = 8 * 1024 * 1024
"""Files longer than so many bytes are written piece by piece as they are read."""


def having(git: Git, common: str, ref: str) -> list[str]:
    """Return the work trees of a repository that have a ref checked out."""
    done = git.inside(f"--git-dir={common}", "worktree", "list", "--porcelain", "-z", more={})
    if done.returncode:
        raise failed(done, "list the work trees")
    found = []
    for block in done.stdout.split(b"\0\0"):
        lines = block.split(b"\0")
        if b"branch " + ref.encode() not in lines or b"bare" in lines:
            continue
        place = next((line[9:] for line in lines if line.startswith(b"worktree ")), b"")
        if place and os.path.isdir(place) and _at_home(git, common, os.fsdecode(place)):
            found.append(os.fsdecode(place))
    return found


def dirty(git: Git, common: str, worktree: str, paths: Iterable[str]) -> tuple[str, ...]:
    """Return those of the paths that are changed, staged or in the way in a work tree, sorted."""
    more = _inside(git, common, worktree)
    filters = sorted({name.split(".", 1)[1].rpartition(".")[0] for name in _settings(git, more, "filter.")})
    words = ("status", "--porcelain=v1", "-z", "--untracked-files=all", "--ignored=matching", "--no-renames")
    done = git.inside(*words, "--ignore-submodules=all", more={**more, **_without_filters(filters)}, cwd=worktree)
    if done.returncode:
        raise failed(done, f"look at the work tree `{worktree}`")
    wanted = set(paths)
    found = set()
    for line in done.stdout.split(b"\0"):
        name = line[3:].decode(errors="backslashreplace")
        if name.endswith("/"):
            # An ignored folder is told as one; what it holds is in the way like anything else.
            found |= {
                path for path in wanted if path.startswith(name) and os.path.lexists(os.path.join(worktree, path))
            }
        elif name in wanted:
            found.add(name)
        # A file stands where a folder has to be, or the other way round.
        found |= {path for path in wanted if name and path.startswith(name + "/")}
    return tuple(sorted(found))


def sync(git: Git, common: str, worktree: str, old: str, new: str) -> bool:
    """Bring a work tree that shows the commit `old` to `new`; false, and nothing is touched, where it must not be."""
    if not _at_home(git, common, worktree):
        return False
    more = _inside(git, common, worktree)
    if _settings(git, more, "filter.") or _settings(git, more, "hook."):
        return False
    git.inside("update-index", "-q", "--refresh", more=more, cwd=worktree)
    # A merge of two trees: what neither changes stays as it is, staged or not, and what is dirty ends it all.
    return git.inside("read-tree", "-m", "-u", old, new, more=more, cwd=worktree).returncode == 0


def export(objects: Objects, tree: str, folder: str) -> None:
    """Write every file of a tree into an empty folder, as its bytes are; a submodule is an empty folder.

    Raises:
        ShipError: A name cannot be written safely, or not at all, or the folder is not empty.
    """
    base = os.fsencode(folder)
    try:
        os.makedirs(base, exist_ok=True)
        if os.listdir(base):
            raise ShipError(f"the folder `{folder}` is not empty")
        places: dict[str, list[tuple[bytes, str]]] = {}
        for path, entry in objects.files(tree):
            _check_name(path)
            if entry.mode == GITLINK:
                os.makedirs(os.path.join(base, path), exist_ok=True)
            else:
                places.setdefault(entry.oid, []).append((os.path.join(base, path), entry.mode))
        links = _write(objects, places)
        # After all files, so that none is written through one of them.
        for place, target in links:
            os.makedirs(os.path.dirname(place), exist_ok=True)
            os.symlink(target, place)
    except (OSError, ValueError) as exc:
        raise ShipError(f"the checkout cannot be made: {exc}") from exc


def _write(objects: Objects, places: dict[str, list[tuple[bytes, str]]]) -> list[tuple[bytes, bytes]]:
    """Write the files, and return place and target of the links."""
    links = []
    long = objects.long(list(places), _LONG)
    for oid, kind, content in objects.each(oid for oid in places if oid not in long):
        if kind != "blob":
            raise ShipError(f"`{oid}` is a {kind}, not a file")
        links += [(place, content) for place, mode in places[oid] if mode == LINK]
        _write_files(places[oid], [content])
    for oid in long:
        if any(mode == LINK for _, mode in places[oid]):
            raise ShipError(f"the link `{oid}` is longer than any system follows")
        for place in places[oid]:
            _write_files([place], objects.pour(oid))
    return links


def _write_files(places: Iterable[tuple[bytes, str]], pieces: Iterable[bytes]) -> None:
    """Write one content to each of these places that is that of a file."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    for place, mode in places:
        if mode != LINK:
            os.makedirs(os.path.dirname(place), exist_ok=True)
            with open(os.open(place, flags, 0o755 if mode == PROGRAM else 0o644), "wb") as out:
                out.writelines(pieces)


def _check_name(path: bytes) -> None:
    """Refuse a path that leads out of the folder, or into what git believes to be a repository."""
    for part in path.decode(errors="backslashreplace").split("/"):
        if part in {"", ".", ".."} or fold(part) == ".git":
            raise ShipError(f"`{path.decode(errors='backslashreplace')}` cannot be checked out")


def _at_home(git: Git, common: str, worktree: str) -> bool:
    """Tell whether a folder really is a work tree of this repository."""
    done = git.inside("rev-parse", "--path-format=absolute", "--git-common-dir", more={}, cwd=worktree)
    return done.returncode == 0 and os.path.realpath(os.fsdecode(done.stdout).rstrip("\n")) == common


def _inside(git: Git, common: str, worktree: str) -> dict[str, str]:
    """Return the environment that makes git work in exactly this work tree, whatever the configuration says of it."""
    done = git.inside("rev-parse", "--absolute-git-dir", more={}, cwd=worktree)
    if done.returncode or not _at_home(git, common, worktree):
        raise ShipError(f"`{worktree}` is no work tree of `{common}`")
    return {"GIT_DIR": os.fsdecode(done.stdout).rstrip("\n"), "GIT_WORK_TREE": worktree}


def _settings(git: Git, more: dict[str, str], start: str) -> list[str]:
    """Return the names of the settings that begin so."""
    done = git.inside("config", "-z", "--name-only", "--list", more=more)
    if done.returncode:
        raise failed(done, "read the configuration")
    return [name for name in done.stdout.decode(errors="surrogateescape").split("\0") if name.startswith(start)]


def _without_filters(names: list[str]) -> dict[str, str]:
    """Return the environment that makes each filter of these do nothing."""
    settings = [
        (f"filter.{name}.{key}", value)
        for name in names
        for key, value in (("clean", ""), ("smudge", ""), ("process", ""), ("required", "false"))
    ]
    found = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (key, value) in enumerate(settings):
        found |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return found
