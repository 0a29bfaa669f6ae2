"""What git takes from the disk: whether a word is a file or a commit, and which repository it finds where it is run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final

from indult.decompose.paths import Places
from indult.decompose.shell.programs import plain
from indult.decompose.shell.words import Word

__all__ = ["behind_verb", "heads", "moves_branch", "strange"]

_VALUED: Final = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--config-env"})
_REVISION: Final = re.compile(r"[0-9a-f]{7,64}|.*(?:[~^:]|@\{).*", re.DOTALL)
_MOST: Final = 64


def behind_verb(words: list[Word]) -> tuple[str, list[Word]]:
    """Return what git is told to do, empty where that is not known, and the words behind it."""
    at = 0
    while at < len(words) and (words[at].text or "").startswith("-"):
        at += 2 if words[at].text in _VALUED else 1
    return (words[at].text or "", words[at + 1 :]) if at < len(words) else ("", [])


def moves_branch(words: list[Word], there: Callable[[str], bool]) -> str:
    """Return why `git reset` takes the branch to another commit, empty where it only takes files out of the index.

    `there` tells whether a file has a name: git takes a word for a file then, or refuses it where it may be both.
    """
    verb, rest = behind_verb(words)
    if verb != "reset":
        return ""
    texts = [word.text for word in rest]
    before = rest[: texts.index("--")] if "--" in texts else rest
    first = next((word for word in before if plain(word)), None)
    if first is None or first.glob is not None or first.text in {"HEAD", "@"}:
        return ""
    named = "--" not in texts and first.text is not None and not _REVISION.fullmatch(first.text) and there(first.text)
    return "" if named else "`git reset` moves the branch to another commit"


def heads(places: Places, bases: Iterable[str]) -> set[str]:
    """Return the paths at which a repository without a work tree would have its head, for git to find it before another."""
    found: dict[str, None] = {}
    for base in bases:
        path = places.real(base)
        for _ in range(_MOST):
            if places.fs.folder(f"{path}/.git") or places.fs.digest(f"{path}/.git") is not None:
                break
            found[f"{path.rstrip('/')}/HEAD"] = None
            path, slash, _ = path.rpartition("/")
            if not slash:
                break
    return set(found)


def strange(places: Places, found: Iterable[str]) -> str:
    """Return why git runs what the settings of a folder say that is no work tree, empty where there is no such folder."""
    for head in found:
        folder = head.removesuffix("/HEAD")
        if places.fs.digest(head) is None and places.fs.link(head) is None:
            continue
        parts = all(places.fs.folder(f"{folder}/{one}") for one in ("objects", "refs"))
        if parts or places.fs.digest(f"{folder}/commondir") is not None:
            return f"`{places.name(folder)[-80:]}` is a repository of its own, whose settings can name programs"
    return ""
