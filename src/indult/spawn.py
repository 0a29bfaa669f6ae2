"""Running a program on a short text, without `subprocess`, whose import takes longer than most programs run."""

from __future__ import annotations

import os
import select
import time
from contextlib import suppress
from typing import Final

__all__ = ["MAX_GIVEN", "TimedOut", "run"]

MAX_GIVEN: Final = 16_384
"""Longest text that can be given: what every system's pipes take before anybody reads."""

_PIECE: Final = 65_536


class TimedOut(Exception):
    """A program did not end in time; it was killed."""


def run(path: str, argv: list[str], given: bytes, *, seconds: float) -> tuple[int, bytes]:
    """Run a program in an empty environment and return its exit code and standard output.

    Raises:
        OSError: There is no such program, or it cannot be run.
        TimedOut: It takes longer than `seconds`.
        ValueError: The text is too long.
    """
    if len(given) > MAX_GIVEN:
        raise ValueError(f"{len(given)} bytes are more than a pipe takes")
    until = time.monotonic() + seconds
    taken, give = os.pipe()
    read, wrote = os.pipe()
    try:
        actions = [
            (os.POSIX_SPAWN_DUP2, taken, 0),
            (os.POSIX_SPAWN_DUP2, wrote, 1),
            (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
        ]
        child = os.posix_spawn(path, argv, {}, file_actions=actions)
    except BaseException:
        for end in (taken, give, read, wrote):
            os.close(end)
        raise
    os.close(taken)
    os.close(wrote)
    try:
        with suppress(BrokenPipeError):  # it may end before it has read all
            os.write(give, given)
        os.close(give)
        out = _all(read, until)
    except BaseException:
        os.kill(child, 9)
        os.waitpid(child, 0)
        raise
    finally:
        os.close(read)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), out


def _all(read: int, until: float) -> bytes:
    """Return everything up to the end of a pipe."""
    poll = select.poll()
    poll.register(read, select.POLLIN)
    pieces: list[bytes] = []
    while True:
        left = until - time.monotonic()
        if left <= 0 or not poll.poll(left * 1000):
            raise TimedOut
        piece = os.read(read, _PIECE)
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)
