"""Running a command under a keeper: it ends at its limit, when it has to stop and when whoever runs it is killed.

Nothing that the command started outlives it, however far it went. Nothing is imported from where it runs.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final, Self

from indult.errors import RunError
from indult.keeping.orphans import KEEPERS, Orphans, adopting
from indult.keeping.processes import KILLED, Seen, below, end, marked, seen, send, start_of

__all__ = ["GRACE", "MARK", "Kept", "Process", "end_left", "run_kept"]

GRACE: Final = 5.0
"""For how many seconds a command that has to end may do so by itself."""

PATIENCE: Final = 15.0
"""For how many seconds more a keeper is waited for, which may itself have been stopped."""

MARK: Final = "INDULT_FIX"
"""The variable by which what a command started is known again where its keeper was killed."""

_EACH: Final = 0.1
_PIECE: Final = 65_536
_LARGEST: Final = 1_000_000
_WHYS: Final = frozenset({"done", "stopped", "timed_out", "failed"})
_SOURCE: Final = str(Path(__file__).resolve().parents[2])

# The standard library comes first, and neither the folder nor the variables of the caller add anything to it.
_PROGRAM: Final = "import sys; sys.path.append(sys.argv[1]); from indult.keeping.keeper import main; sys.exit(main())"


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """A keeper and its command: their numbers, when each started, and the mark of all that was started, if it has one."""

    pid: int
    start: str
    fixer: int
    fixer_start: str
    mark: str

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read what `to_dict` wrote."""
        return cls(
            pid=int(data["pid"]),
            start=str(data["start"]),
            fixer=int(data["fixer"]),
            fixer_start=str(data["fixer_start"]),
            mark=str(data["mark"]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """How a command ended.

    `why` is done, timed_out, stopped, not_started, failed where its keeper was killed and all that was left has been
    ended, or vanished where that is not sure. `code` is none where there is none, and a signal's number, negated, where
    one ended it. `left` counts processes that could not be ended; `said` is what there is to say of one not started.
    """

    code: int | None
    why: str
    seconds: float
    left: int = 0
    said: str = ""


def run_kept(
    words: Sequence[str],
    *,
    cwd: str,
    environment: Mapping[str, str],
    output: str,
    seconds: float,
    task: bytes | str | None = None,
    stop: Callable[[], bool] = lambda: False,
    started: Callable[[Process], None] = lambda _: None,
    grace: float | None = None,
) -> Kept:
    """Run a command to its end, which comes after `seconds` at the latest, or when `stop` says so.

    `task` is what it reads, or the path of a file of that. What it prints goes to the file `output`, the middle of very
    much left out. `started` is told which processes to look for, should this one be killed (`end_left`).

    Raises:
        RunError: The keeper itself cannot be started, or one of the files is none.
    """
    with ExitStack() as stack:
        stack.enter_context(adopting())
        reads, writes, log = _files(stack, task, output)
        order = {
            "words": list(words),
            "cwd": cwd,
            "environment": dict(environment),
            "task": reads,
            "output": writes,
            "seconds": seconds,
            "grace": GRACE if grace is None else grace,
            "parent": os.getpid(),
        }
        watch = _Watch(order, log, mark=environment.get(MARK, ""), stop=stop, started=started)
        try:
            watch.run()
        finally:
            watch.close()
        return _kept(watch, log)


def end_left(process: Process) -> bool:
    """End what a killed run left of a command, and tell whether there was anything.

    A process counts as its own only with its number and its start, or with the mark of this call.
    """
    keeper = Seen(process.pid, 0, process.start)
    there = start_of(process.pid) == process.start
    if there:
        # It ends what it keeps better than anybody else, and may be about to.
        send(keeper, signal.SIGTERM)
        until = time.monotonic() + GRACE + KILLED
        while start_of(process.pid) == process.start and time.monotonic() < until and not _halted(process.pid):
            _fetch(process.pid)
            time.sleep(0.02)
    found = bool(_left(process))
    if found:
        end(lambda: _left(process), grace=GRACE)
    return there or found


def _left(process: Process) -> dict[int, Seen]:
    """Return what runs of a keeper, its command and all that it started."""
    _fetch(process.pid)
    all_ = seen()
    own = {process.pid: process.start, process.fixer: process.fixer_start}
    roots = {pid: all_[pid] for pid, start in own.items() if pid in all_ and all_[pid].start == start}
    if process.mark:
        roots |= marked(f"{MARK}={process.mark}", all_)
    found = roots | below(roots, all_)
    # Whoever looks is not what was left, even where the command called it.
    found.pop(os.getpid(), None)
    return found


def _halted(pid: int) -> bool:
    """Tell whether a process was stopped, so that it answers nothing until somebody has it go on."""
    with suppress(OSError), open(f"/proc/{pid}/stat", "rb") as file:
        return file.read().rpartition(b")")[2].split()[0] in {b"T", b"t"}
    return False


def _fetch(pid: int) -> None:
    """Fetch a keeper that has ended, if it was a child of this process that nobody else waits for."""
    with suppress(ChildProcessError, OSError):
        os.waitpid(pid, os.WNOHANG)


class _Watch:
    """A keeper as its run sees it."""

    def __init__(
        self,
        order: dict[str, Any],
        log: IO[bytes],
        *,
        mark: str,
        stop: Callable[[], bool],
        started: Callable[[Process], None],
    ) -> None:
        self.heard: dict[str, Any] = {}
        self.process: Process | None = None
        self.starting = False
        self.stopped = False
        self.sure = True
        self.begun = time.monotonic()
        self._mark = mark
        self._stop = stop
        self._started = started
        self._latest = self.begun + float(order["seconds"]) + _patience(order["grace"])
        self._grace = float(order["grace"])
        self._order = order
        self._orphans = Orphans()
        self._line, self._keeper = _start(log, (order["task"], order["output"]))

    def run(self) -> None:
        """Listen until the keeper has said how it ended, or can say nothing any more."""
        with suppress(OSError):
            self._line.sendall(json.dumps(self._order).encode() + b"\n")
        poll = select.poll()
        poll.register(self._line, select.POLLIN)
        rest = b""
        while time.monotonic() < self._latest:
            self._orphans.look(self._keeper.pid)
            if not self.stopped and self._stop():
                self.stopped = True
                self._let_go()
                self._latest = time.monotonic() + _patience(self._grace)
            if not poll.poll(_EACH * 1000):
                continue
            piece = self._more()
            if not piece:
                return
            *lines, rest = (rest + piece).split(b"\n")
            rest = rest[-_LARGEST:]
            for one in lines:
                self._hear(_said(one))

    def close(self) -> None:
        """See that the keeper has ended, and all that it kept."""
        self._let_go()
        try:
            with suppress(subprocess.TimeoutExpired):
                # One that has said all it had to say, or was told to end, is about to.
                self._keeper.wait(min(_patience(self._grace), max(1.0, self._latest - time.monotonic())))
        finally:
            # Whoever is impatient leaves the keeper to itself: its input is closed.
            self._line.close()
        if self.process is not None and not self.heard:
            end_left(self.process)
        if self._keeper.poll() is None:
            self._keeper.kill()
            self._keeper.wait()
        KEEPERS.discard(self._keeper.pid)
        if self.starting and not self.heard:
            self.sure = self._orphans.end(grace=self._grace)

    def _more(self) -> bytes:
        try:
            return self._line.recv(_PIECE)
        except OSError:
            return b""

    def _hear(self, said: dict[str, Any]) -> None:
        if "starting" in said:
            self.starting = True
        elif "pid" not in said:
            self.heard = said or self.heard
        elif self.process is None:
            self.process = Process(
                pid=said["pid"],
                start=said["start"],
                fixer=said["kept"],
                fixer_start=said["kept_start"],
                mark=self._mark,
            )
            self._started(self.process)

    def _let_go(self) -> None:
        with suppress(OSError):
            self._line.shutdown(socket.SHUT_WR)


def _said(line: bytes) -> dict[str, Any]:
    """Return what a keeper said in a line, nothing where it is none of what a keeper says."""
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(said, dict):
        return {}
    forms: tuple[dict[str, Callable[[Any], bool]], ...] = (
        {"starting": lambda value: value is True},
        {"not_started": _is_text},
        {"pid": _is_number, "start": _is_text, "kept": _is_number, "kept_start": _is_text},
        {
            "why": lambda value: _is_text(value) and value in _WHYS,
            "code": lambda value: value is None or _is_whole(value),
            "left": _is_whole,
            "seconds": lambda value: isinstance(value, float) and value >= 0,
        },
    )
    fits = any(said.keys() == form.keys() and all(ok(said[name]) for name, ok in form.items()) for form in forms)
    return said if fits else {}


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 1


def _patience(grace: float) -> float:
    """Return how long a keeper that should end may take: longer than what it waits for itself."""
    return grace + KILLED + PATIENCE


def _start(log: IO[bytes], files: tuple[int, int]) -> tuple[socket.socket, subprocess.Popen[bytes]]:
    """Start a keeper that has these files open, and return the line to it."""
    command = [sys.executable, "-I", "-S", "-c", _PROGRAM, _SOURCE]
    # Unlike a pipe it cannot be opened by whoever finds it below `/proc`.
    ours, theirs = socket.socketpair()
    try:
        keeper = subprocess.Popen(
            command,
            cwd="/",
            stdin=theirs.fileno(),
            stdout=theirs.fileno(),
            stderr=log,
            pass_fds=files,
            start_new_session=True,
        )
    except OSError as exc:
        ours.close()
        raise RunError(f"the keeper of a command cannot be started: {(exc.strerror or str(exc)).lower()}") from exc
    finally:
        theirs.close()
    KEEPERS.add(keeper.pid)
    return ours, keeper


def _files(stack: ExitStack, task: bytes | str | None, output: str) -> tuple[int, int, IO[bytes]]:
    """Open what the command reads, what it writes, and the log of the keeper, which has no name."""
    log = stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 (the stack closes it)
    if isinstance(task, bytes):
        given = stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 (the same)
        given.write(task)
        given.seek(0)
        reads = given.fileno()
    else:
        reads = _opened(stack, os.devnull if task is None else task, os.O_RDONLY, device=task is None)
    return reads, _opened(stack, output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), log


def _opened(stack: ExitStack, path: str, flags: int, *, device: bool = False) -> int:
    """Open an ordinary file; whatever else is in its place, nobody waits for it."""
    try:
        found = os.open(path, flags | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as exc:
        raise RunError(f"`{path}` cannot be opened: {(exc.strerror or str(exc)).lower()}") from exc
    stack.callback(os.close, found)
    if not device and not stat.S_ISREG(os.fstat(found).st_mode):
        raise RunError(f"`{path}` is no ordinary file")
    os.set_blocking(found, True)
    return found


def _kept(watch: _Watch, log: IO[bytes]) -> Kept:
    heard = watch.heard
    seconds = float(heard.get("seconds", time.monotonic() - watch.begun))
    if "not_started" in heard:
        return Kept(code=None, why="not_started", seconds=seconds, said=heard["not_started"])
    if heard:
        return Kept(code=heard["code"], why=heard["why"], seconds=seconds, left=heard["left"])
    if not watch.starting:
        log.seek(0)
        said = log.read(_LARGEST).decode(errors="replace").strip() or "the keeper ended without a word"
        return Kept(code=None, why="stopped" if watch.stopped else "not_started", seconds=seconds, said=said)
    if not watch.sure:
        return Kept(code=None, why="vanished", seconds=seconds)
    return Kept(code=None, why="stopped" if watch.stopped else "failed", seconds=seconds)
