"""The history of a commit, believed only as far as the commits themselves tell it.

Git does not check a commit against its id when it walks through history, so one that was written over can hide what
comes before it, or what its message says. Git is asked for the order alone: each commit is read and checked, and all of
them together have to be what their parents say.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from indult.errors import ShipError
from indult.ship.objects import MOST

if TYPE_CHECKING:
    import subprocess

    from indult.ship.objects import Objects

__all__ = ["Commit", "History", "read_commit"]

_HEAD: Final = re.compile(rb"tree ([0-9a-f]+)\n((?:parent [0-9a-f]+\n)*)")


class Commit(NamedTuple):
    """One commit: its id, its tree, its parents, and all of what it holds."""

    oid: str
    tree: str
    parents: tuple[str, ...]
    content: bytes


def read_commit(oid: str, kind: str, content: bytes) -> Commit:
    """Return the commit that an object is.

    Raises:
        ShipError: It is none.
    """
    found = _HEAD.match(content)
    if kind != "commit" or found is None or len(content) >= MOST:
        raise ShipError(f"`{oid}` is a {kind} that cannot be read as a commit")
    return Commit(oid, found[1].decode(), tuple(found[2].decode().split()[1::2]), content)


class History:
    """Walks through history.

    `run` has git list the commits of what it is given, later ones first; `cut_off` tells why it did not get to the end.
    """

    def __init__(
        self,
        objects: Objects,
        run: Callable[[bytes], subprocess.CompletedProcess[bytes]],
        cut_off: Callable[[subprocess.CompletedProcess[bytes], str], ShipError],
    ) -> None:
        self._objects = objects
        self._run = run
        self._cut_off = cut_off

    def walk(self, tip: str, until: Iterable[str] = ()) -> Iterator[Commit]:
        """Yield the commits in the history of `tip`, itself included, that are not in that of `until`, as git says.

        Each is checked, and that one which came before it has it as a parent. Only git's word is there for what is in
        the history of `until`; without that, all of the history is checked.

        Raises:
            ShipError: The history is cut off or is another one than git tells of; it may come after the last commit.
        """
        bounds = list(until)
        done = self._run("".join([f"{tip}\n", *(f"^{one}\n" for one in bounds)]).encode())
        listed = done.stdout.decode().split()
        known = {tip}
        for found in self._objects.each(listed):
            commit = read_commit(*found)
            if commit.oid not in known:
                raise _lies(commit.oid)
            known.update(commit.parents)
            yield commit
        if done.stderr or done.returncode:
            raise self._cut_off(done, "walk the history")
        left = known.difference(listed)
        if left and not bounds:
            raise _lies(min(left))

    def around(self, tip: str, until: Iterable[str]) -> tuple[set[str], set[str]]:
        """Return the ids that `walk` yields, and those that it ends at: each is a parent of one of them, or `tip`."""
        found, known = set(), {tip}
        for commit in self.walk(tip, until):
            found.add(commit.oid)
            known.update(commit.parents)
        return found, known - found

    def contains(self, tip: str, commit: str) -> bool:
        """Tell whether a commit is in the history of another one, itself included.

        Most often it is enough to check what only one of the two has: what they share is before both.
        """
        if tip == commit:
            return True
        if self._objects.has(commit, tip):
            own, ends = self.around(tip, [commit])
            if commit in ends or commit in own:
                return True
            # What is a parent in the history of `commit` cannot have it in its own history.
            _, shared = self.around(commit, [tip])
            if ends <= shared:
                return False
        return any(one.oid == commit for one in self.walk(tip))

    def within(self, tip: str, commits: Iterable[str]) -> None:
        """See that all of these commits are in the history of `tip`.

        Raises:
            ShipError: One is not.
        """
        left = set(commits) - {tip}
        # The later ones first; a branch that often takes in the target ends at many of its commits.
        for _ in range(_ROUNDS):
            if not left:
                return
            left -= self.around(tip, sorted(left))[1]
        left -= {commit.oid for commit in self.walk(tip)} if left else set()
        if left:
            raise _lies(min(left))

    def trailer(self, tip: str, key: str, value: str) -> str | None:
        """Return a commit in the history of `tip` with the trailer `key: value`, or with more words behind the value."""
        wanted, text = (key.lower().encode(), value.encode()), value.encode()
        for commit in self.walk(tip):
            if text in commit.content and wanted in _trailers(commit.content.partition(b"\n\n")[2]):
                return commit.oid
        return None

    def claims(self, tip: str, until: str, key: str) -> list[str]:
        """Return the commits of `tip` that `until` has not, whose message has a trailer of this key."""
        wanted = key.lower().encode()
        return [
            commit.oid
            for commit in self.walk(tip, [until])
            if any(name == wanted for name, _ in _trailers(commit.content.partition(b"\n\n")[2]))
        ]


_ROUNDS: Final = 4


def _lies(oid: str) -> ShipError:
    return ShipError(f"git tells of another history than the commits do: {oid}", hint="git fsck")


def _trailers(message: bytes) -> set[tuple[bytes, bytes]]:
    """Return the trailers of a message, key in lower case: its last paragraph, each with its first word and whole."""
    found = set()
    for line in message.rstrip().rpartition(b"\n\n")[2].splitlines():
        key, colon, value = line.partition(b":")
        if colon and value.strip():
            lower = key.strip().lower()
            found |= {(lower, value.strip()), (lower, value.split()[0])}
    return found
