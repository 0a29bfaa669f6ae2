"""The lock of a repository: one process lands at a time, and whoever waits for it learns for whom."""

from __future__ import annotations

import fcntl
import os
import re
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from indult.errors import ShipError

__all__ = ["LANDING", "SECONDS", "held", "holder"]

SECONDS: Final = 60.0
"""How long to wait for another process."""

LANDING: Final = "another branch is landing there; ship again when it is done"
"""What whoever holds the lock of a repository is doing."""

_PAUSE: Final = 0.05


@contextmanager
def held(path: str, *, seconds: float | None = None, busy: str = LANDING) -> Iterator[None]:
    """Hold the lock on a file, which then says which process has it; the kernel lets go if the process ends.

    It is waited for so many `seconds`, by default `SECONDS`; `busy` says what the one that has it is doing.

    Raises:
        ShipError: The file cannot be one, or another process does not let go of it.
    """
    try:
        # A pipe in its place is opened at once, and refused.
        handle = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
    except OSError as exc:
        raise ShipError(f"the repository cannot be locked: {exc.strerror}: `{path}`") from exc
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise ShipError(f"the repository cannot be locked: `{path}` is no ordinary file", hint="remove it")
        _wait(handle, path, SECONDS if seconds is None else seconds, busy)
        os.ftruncate(handle, 0)
        os.pwrite(handle, b"%d\n" % os.getpid(), 0)
        yield
    finally:
        os.close(handle)


def holder(path: str) -> str | None:
    """Return who holds the lock on a file, in words; none if nobody does. Nobody is waited for, and nothing is written.

    Raises:
        ShipError: What lies there cannot be looked at.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError as exc:
        raise ShipError(f"the lock cannot be looked at: {exc.strerror}: `{path}`") from exc
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _who(handle)
    else:
        return None
    finally:
        os.close(handle)


def _wait(handle: int, path: str, seconds: float, busy: str) -> None:
    """Take the lock as soon as nobody else has it."""
    # Whoever only looks has it for a moment, so that it is asked for twice at least.
    end = time.monotonic() + max(seconds, _PAUSE)
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= end:
                raise _busy(handle, path, seconds, busy) from None
            time.sleep(_PAUSE)
        else:
            return


def _busy(handle: int, path: str, seconds: float, busy: str) -> ShipError:
    waited = f" for more than {seconds:g} s" if seconds else ""
    return ShipError(f"the repository is locked by {_who(handle)}{waited}", hint=f"{busy}, or end what holds `{path}`")


def _who(handle: int) -> str:
    """Return which process wrote itself into the file of a lock."""
    found = re.fullmatch(rb"(\d{1,10})\n", os.pread(handle, 16, 0))
    return f"process {found[1].decode()}" if found else "another process"
