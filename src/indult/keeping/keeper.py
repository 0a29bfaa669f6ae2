"""The keeper: a process of its own that starts a command, and sees to it that nothing the command started outlives it.

It is told what to start by one line of JSON on standard input, and says on standard output, a line each, that it has
started and how it came to its end. The end comes when the command ends, when the limit is reached, or when standard
input is closed, which the system does for whoever is killed. It opens no file: those that it needs are open when it
begins, and both its ends are a socket, which no other process can open by way of `/proc`.

On Linux everything that loses its parent becomes the keeper's own child, whatever session or group it went to, so all is
found. Elsewhere what left its parent and its session behind is not. What another service was asked to run, a container
or a job, is nobody's child here.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from indult.keeping.processes import Seen, below, children, end, lower, seen, start_of

__all__ = ["MOST", "TAIL", "Keeper", "Log", "main"]

MOST: Final = 8 * 1024 * 1024
"""How many bytes of what a command prints are kept from the beginning."""

TAIL: Final = 256 * 1024
"""How many bytes are kept from the end where it prints more."""

_PIECE: Final = 65_536
_GLIMPSE: Final = 0.05
_DEATH_SIGNAL: Final = 1
_SUBREAPER: Final = 36
_LIBC: Final = ctypes.CDLL(None) if sys.platform == "linux" else None


class Log:
    """A file of what is printed, of which only so much is kept."""

    def __init__(self, descriptor: int, *, most: int = MOST, tail: int = TAIL) -> None:
        self._file = open(descriptor, "wb", buffering=0)  # noqa: SIM115 (it stays open to the end)
        self._most = most
        self._tail = tail
        self._size = 0
        self._rest = b""
        self._dropped = 0

    def take(self, piece: bytes) -> None:
        """Take what was printed next."""
        kept, piece = piece[: self._most - self._size], piece[self._most - self._size :]
        self._size += len(kept)
        self._write(kept)
        if piece:
            rest = self._rest + piece
            self._dropped += max(0, len(rest) - self._tail)
            self._rest = rest[-self._tail :]

    def close(self) -> None:
        """Write the end, behind a line that says how much is missing before it."""
        if self._dropped:
            self._write(b"\n[indult: %d bytes were dropped here]\n" % self._dropped)
        self._write(self._rest)
        self._file.close()

    def _write(self, piece: bytes) -> None:
        # A full disk is no reason to let the command go unkept.
        with suppress(OSError):
            while piece:
                piece = piece[self._file.write(piece) or 0 :]


class Keeper:
    """Starts one command and keeps it.

    `order` is what was asked for, `wake` a pipe that signals write to, and `parent` who has to be there.
    """

    def __init__(self, order: dict[str, Any], wake: int, parent: int) -> None:
        self._order = order
        self._wake = wake
        self._parent = parent
        self._stopped = False
        self._pid = 0
        self._code: int | None = None
        self._out = -1
        self._log = Log(order["output"])

    def stop(self, *_: object) -> None:
        """Note that somebody asked for the end."""
        self._stopped = True

    def start(self) -> Seen:
        """Start the command in a session of its own.

        Raises:
            OSError: There is no such program, or it cannot be run.
            ValueError: The command is none.
        """
        me = os.getpid()

        def bind() -> None:
            # Whatever kills the keeper ends the command, too.
            _ask_kernel(_DEATH_SIGNAL, int(signal.SIGKILL))
            # By that it is known again should there be nobody who keeps it; a loss of a byte of what few programs use.
            lower()
            if os.getppid() != me:
                os._exit(1)

        self._out, wrote = os.pipe()
        try:
            process = subprocess.Popen(
                self._order["words"], cwd=self._order["cwd"], env=self._order["environment"],
                stdin=self._order["task"], stdout=wrote, stderr=wrote, start_new_session=True,
                preexec_fn=bind,  # noqa: PLW1509 (there is one thread)
            )  # fmt: skip
        finally:
            os.close(wrote)
            os.close(self._order["task"])
        # It is fetched by `_fetch`, with all that become children later.
        process.returncode = 0
        self._pid = process.pid
        os.set_blocking(self._out, False)
        return Seen(self._pid, me, start_of(self._pid) or "")

    def watch(self) -> str:
        """Wait until the command ends, or has to, and return which of it: done, stopped or timed_out."""
        until = time.monotonic() + float(self._order["seconds"])
        poll = select.poll()
        for descriptor in (0, self._out, self._wake):
            poll.register(descriptor, select.POLLIN)
        while True:
            self._fetch()
            if self._code is not None:
                return "done"
            if self._stopped or os.getppid() != self._parent:
                return "stopped"
            left = until - time.monotonic()
            if left <= 0:
                return "timed_out"
            ready = {descriptor for descriptor, _ in poll.poll(min(left, 1.0) * 1000)}
            if 0 in ready and _over():
                return "stopped"
            if self._out in ready and not self._read():
                poll.unregister(self._out)
            if self._wake in ready:
                os.read(self._wake, _PIECE)

    def finish(self) -> tuple[int | None, int]:
        """End all that is left, and return how the command ended and how many processes could not be ended."""
        left = end(self._left, grace=float(self._order["grace"]), over=lambda: _alone(self._fetch))
        while self._out >= 0 and self._read():
            pass
        self._fetch()
        self._log.close()
        return self._code, len(left)

    def _left(self) -> dict[int, Seen]:
        """Return what the command started and still runs, itself included."""
        # Whoever is asked to end may have much to say.
        for _ in range(64):
            if not self._read():
                break
        return _family(self._fetch)

    def _read(self) -> bool:
        """Read a piece of what was printed, and tell whether there may be more now."""
        try:
            piece = os.read(self._out, _PIECE) if self._out >= 0 else b""
        except BlockingIOError:
            return False
        self._log.take(piece)
        return bool(piece)

    def _fetch(self) -> list[int]:
        """Fetch the children that have ended, and return their numbers."""
        found: list[int] = []
        with suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    break
                found.append(pid)
                if pid == self._pid:
                    self._code = os.waitstatus_to_exitcode(status)
        return found


def main() -> int:
    """Keep one command, in a child of this process, which watches over the child: killing one of the two frees nothing."""
    line = _line()
    order = json.loads(line) if line else {}
    _ask_kernel(_SUBREAPER, 1)
    # The other way by which the end of the run is noticed, whoever else may hold the pipe.
    _ask_kernel(_DEATH_SIGNAL, int(signal.SIGKILL))
    if os.getppid() != order.get("parent"):
        return 1
    me = os.getpid()
    child = os.fork()
    if child == 0:
        os._exit(_keep(order, me))
    begun = time.monotonic()
    status = None
    while status is None:
        pid, ended = os.waitpid(-1, 0)
        status = ended if pid == child else None
    left = end(lambda: _family(_orphans), grace=0.0, over=lambda: _alone(_orphans))
    if status:
        _say({"why": "failed", "code": None, "left": len(left), "seconds": time.monotonic() - begun})
    return min(status, 1)


def _keep(order: dict[str, Any], parent: int) -> int:
    """Start the command and keep it, as the child of `parent`."""
    _ask_kernel(_SUBREAPER, 1)
    wake, woken = os.pipe()
    os.set_blocking(woken, False)
    begun = time.monotonic()
    try:
        keeper = Keeper(order, wake, parent)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, keeper.stop)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
        # From here on something may run, whether more is heard of it or not.
        _say({"starting": True})
        try:
            kept = keeper.start()
        except (OSError, ValueError, IndexError) as exc:
            _say({"not_started": (getattr(exc, "strerror", None) or str(exc)).lower()})
            return 0
        _say({"pid": os.getpid(), "start": start_of(os.getpid()), "kept": kept.pid, "kept_start": kept.start})
        why = keeper.watch()
        code, left = keeper.finish()
        _say({"why": why, "code": code, "left": left, "seconds": time.monotonic() - begun})
    except BaseException:
        # What is left is ended by the parent. Nobody needs the module otherwise, and it takes long.
        import traceback

        traceback.print_exc()
        sys.stderr.flush()
        return 1
    return 0


def _orphans() -> list[int]:
    """Fetch what has ended of a keeper that is gone, all of which is ours by now, and return the numbers."""
    found = []
    with suppress(ChildProcessError):
        while pid := os.waitpid(-1, os.WNOHANG)[0]:
            found.append(pid)
    return found


def _family(fetch: Callable[[], list[int]]) -> dict[int, Seen]:
    """Return what this process started and still runs, and what that started; `fetch` fetches what has ended."""
    ended = fetch()
    found = below([os.getpid()], seen())
    # What ends and goes on as another process does so under our eyes: it is our child when its parent has ended.
    until = time.monotonic() + _GLIMPSE
    while not found and not _childless() and time.monotonic() < until:
        ended = fetch() or ended
        found = children(os.getpid(), ended[-4:])
    return found


def _alone(fetch: Callable[[], list[int]]) -> bool:
    """Tell whether nothing is left, by the word of the system and no listing.

    On Linux all that runs below has a child of ours above it.
    """
    fetch()
    return _childless()


def _childless() -> bool:
    """Tell whether this process has no child, not even one that has ended and was not fetched."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return True
    return False


def _over() -> bool:
    """Tell whether standard input is at its end; whoever was killed may leave it in any state."""
    try:
        return not os.read(0, _PIECE)
    except OSError:
        return True


def _line() -> bytes:
    """Return the first line of standard input; what comes behind it is only its end."""
    found = b""
    while not found.endswith(b"\n"):
        piece = os.read(0, _PIECE)
        if not piece:
            return b""
        found += piece
    return found


def _say(what: dict[str, Any]) -> None:
    # Whoever listened may have been killed.
    with suppress(OSError):
        os.write(1, json.dumps(what).encode() + b"\n")


def _ask_kernel(option: int, value: int) -> None:
    """Ask Linux for something about this process; elsewhere nobody can be asked."""
    if _LIBC is not None:
        _LIBC.prctl(option, value, 0, 0, 0)
