"""Orphans: what a command started and nobody keeps any more, because its keeper was killed.

On Linux such processes come to whoever ran the keeper, which may have other children, of other threads. So one is ended
only where it cannot be anything else, and where one could be either, that is told.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from indult.keeping.processes import Seen, below, born, end, lowered, seen, start_of

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["KEEPERS", "Orphans", "adopting"]

KEEPERS: Final[set[int]] = set()
"""The keepers that this process has started and still has."""

_SET: Final = 36
_GET: Final = 37
_SETTLED: Final = 1.0
"""For how many seconds it is waited that a child of which nobody knows is gone; most are a moment's work."""

_LIBC: Final = ctypes.CDLL(None) if sys.platform == "linux" else None
_lock: Final = threading.Lock()
_threads = 0
_before = 0


@contextmanager
def adopting() -> Iterator[None]:
    """Have orphans come to this process for a while; the last of several threads leaves it as the first found it."""
    global _threads, _before  # noqa: PLW0603 (it is one setting of the process)
    with _lock:
        if _threads == 0:
            _before = _asked()
            _ask(1)
        _threads += 1
    try:
        yield
    finally:
        with _lock:
            _threads -= 1
            if _threads == 0:
                _ask(_before)


class Orphans:
    """What may become an orphan of one keeper. `look` is called while it is there, often, and `end` when it is gone."""

    def __init__(self) -> None:
        self._mine: dict[int, Seen] = {}
        self._kept: dict[int, Seen] = {}
        self._ours: dict[int, Seen] = {}
        self.look(0)

    def look(self, keeper: int) -> None:
        """Look which children this process has, and what runs below the keeper."""
        if _LIBC is None:
            return
        mine = born(os.getpid())
        self._mine = _seen(mine or [])
        self._kept = {}
        ahead = [keeper] if keeper in self._mine else []
        while ahead:
            for pid in born(ahead.pop()) or []:
                if pid not in self._kept:
                    self._kept |= _seen([pid])
                    ahead.append(pid)

    def end(self, *, grace: float) -> bool:
        """End what the keeper left, and tell whether that was surely all."""
        self._ours = dict(self._kept)
        until = time.monotonic() + _SETTLED
        while True:
            left = end(self._found, grace=grace)
            doubtful = self._doubtful()
            if left or not doubtful or time.monotonic() > until:
                return _LIBC is not None and not left and not doubtful
            time.sleep(0.02)

    def _found(self) -> dict[int, Seen]:
        """Return what surely is the keeper's, and runs."""
        all_ = seen()
        self._ours |= {one.pid: one for one in all_.values() if self._new(one) and _adopted(one)}
        for pid in self._ours.keys() - all_.keys():
            # It may have come to us, and has ended.
            with suppress(OSError):
                os.waitpid(pid, os.WNOHANG)
        self._ours = {pid: one for pid, one in self._ours.items() if all_.get(pid, one).start == one.start}
        roots = {pid: one for pid, one in self._ours.items() if pid in all_}
        return roots | below(roots, all_)

    def _doubtful(self) -> dict[int, Seen]:
        """Return the children that may be orphans, or have been started by another thread."""
        return {
            one.pid: one
            for one in seen().values()
            if self._new(one) and one.pid not in KEEPERS and _session(one.pid) == one.pid and not _adopted(one)
        }

    def _new(self, one: Seen) -> bool:
        known = self._mine.get(one.pid)
        return one.parent == os.getpid() and (known is None or known.start != one.start)


def _adopted(one: Seen) -> bool:
    """Tell whether a child was surely started by somebody else, who was kept.

    One of our own would be in our session, or at the head of another, and have the limits that we have.
    """
    return _session(one.pid) not in {0, _session(0), one.pid} or lowered(one.pid)


def _session(pid: int) -> int:
    try:
        return os.getsid(pid)
    except OSError:
        return 0


def _seen(pids: list[int]) -> dict[int, Seen]:
    found = {pid: start_of(pid) for pid in pids}
    return {pid: Seen(pid, 0, start) for pid, start in found.items() if start is not None}


def _asked() -> int:
    found = ctypes.c_int(0)
    if _LIBC is not None:
        _LIBC.prctl(_GET, ctypes.byref(found), 0, 0, 0)
    return found.value


def _ask(value: int) -> None:
    if _LIBC is not None:
        _LIBC.prctl(_SET, value, 0, 0, 0)
