"""The fixer: a command that is given a task and works in a work tree, kept by a process that ends all it started.

The fixer gets the task on standard input and in the file `INDULT_TASK`. It is no part of this process: what it printed,
how it ended and what it says it used is all that is known of it.
"""

from __future__ import annotations

import json
import os
import secrets
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from indult.autofix.processes import KILLED, Seen, below, end, marked, seen, send, start_of
from indult.autofix.usage import Usage, read_usage
from indult.errors import RunError
from indult.ledger import mask_text

if TYPE_CHECKING:
    from indult.autofix.workspace import Workspace

__all__ = ["GRACE", "MARK", "Ended", "Process", "end_left", "run_fixer"]

GRACE: Final = 5.0
"""For how many seconds a fixer that has to end may do so by itself."""

PATIENCE: Final = 15.0
"""For how many seconds more a keeper is waited for, which may itself have been stopped."""

MARK: Final = "INDULT_FIX"
"""The variable by which what a fixer started is known again where its keeper was killed."""

_SHOWN: Final = 4000
_TAIL: Final = 256 * 1024
_EACH: Final = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """A keeper and its fixer: their numbers, when each started, and the mark of all that the fixer started."""

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
class Ended:
    """How a call of a fixer ended.

    `why` is done, failed, timed_out, stopped or not_started; `code` is none where there is none, and a signal's number,
    negated, where one ended it. `output` is the end of what was printed, secrets masked. `left` counts processes that
    could not be ended, such as those of another user.
    """

    code: int | None
    why: str
    seconds: float
    output: str
    usage: Usage = field(default_factory=Usage)
    left: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        found = {name: getattr(self, name) for name in ("code", "why", "seconds", "output")}
        return {**found, "usage": self.usage.to_dict()} | ({"left": self.left} if self.left else {})


def run_fixer(
    words: Sequence[str],
    *,
    workspace: Workspace,
    task: str,
    environment: Mapping[str, str],
    seconds: float,
    stop: Callable[[], bool],
    started: Callable[[Process], None],
) -> Ended:
    """Run a fixer to its end, which comes after `seconds` at the latest, or when `stop` says so, and return how it was.

    `environment` is added to `workspace.environment()`. `started` is told which processes to look for, should this one
    be killed (`end_left`).

    Raises:
        RunError: The keeper itself cannot be started.
        ShipError: The folder of the workspace cannot be written to.
    """
    mark = secrets.token_hex(12)
    workspace.prepare(task)
    order = {
        "words": list(words),
        "cwd": workspace.tree,
        "environment": {**workspace.environment(), **environment, MARK: mark},
        "task": workspace.task,
        "output": workspace.output,
        "seconds": seconds,
        "grace": GRACE,
        "parent": os.getpid(),
    }
    watch = _Watch(order, mark=mark, said=Path(workspace.place) / "keeper.log", stop=stop, started=started)
    try:
        watch.run()
    finally:
        watch.close()
    return _ended(watch, workspace)


def end_left(process: Process) -> bool:
    """End what a killed run left of a fixer, and tell whether there was anything.

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
    """Return what runs of a keeper, its fixer and all that it started."""
    _fetch(process.pid)
    all_ = seen()
    own = {process.pid: process.start, process.fixer: process.fixer_start}
    roots = {pid: all_[pid] for pid, start in own.items() if pid in all_ and all_[pid].start == start}
    roots |= marked(f"{MARK}={process.mark}", all_)
    found = roots | below(roots, all_)
    # Whoever looks is not what was left, even where the fixer called it.
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
    """A keeper as its run sees it; what it says last is in `said`."""

    def __init__(
        self,
        order: dict[str, Any],
        *,
        mark: str,
        said: Path,
        stop: Callable[[], bool],
        started: Callable[[Process], None],
    ) -> None:
        self.heard: dict[str, Any] = {}
        self.process: Process | None = None
        self.stopped = False
        self.begun = time.monotonic()
        self.log = said
        self._mark = mark
        self._stop = stop
        self._started = started
        self._latest = self.begun + float(order["seconds"]) + _patience()
        self._keeper = _start(said)
        self._order = order

    def run(self) -> None:
        """Listen until the keeper has said how it ended, or can say nothing any more."""
        assert self._keeper.stdin is not None
        assert self._keeper.stdout is not None
        with suppress(BrokenPipeError):
            self._keeper.stdin.write(json.dumps(self._order).encode() + b"\n")
            self._keeper.stdin.flush()
        out = self._keeper.stdout.fileno()
        poll = select.poll()
        poll.register(out, select.POLLIN)
        line = b""
        while time.monotonic() < self._latest:
            if not self.stopped and self._stop():
                self.stopped = True
                self._let_go()
                self._latest = time.monotonic() + _patience()
            if not poll.poll(_EACH * 1000):
                continue
            piece = os.read(out, 65_536)
            if not piece:
                return
            *lines, line = (line + piece).split(b"\n")
            for one in lines:
                self._hear(json.loads(one))

    def close(self) -> None:
        """See that the keeper has ended, and all that it kept."""
        self._let_go()
        try:
            with suppress(subprocess.TimeoutExpired):
                # One that has said all it had to say, or was told to end, is about to.
                self._keeper.wait(min(_patience(), max(1.0, self._latest - time.monotonic())))
        finally:
            # Whoever is impatient leaves the keeper to itself: its input is closed.
            if self._keeper.stdout is not None:
                self._keeper.stdout.close()
        if self.process is not None and "why" not in self.heard:
            end_left(self.process)
        if self._keeper.poll() is None:
            self._keeper.kill()
            self._keeper.wait()

    def _hear(self, said: dict[str, Any]) -> None:
        if "pid" in said:
            self.process = Process(mark=self._mark, **said)
            self._started(self.process)
        else:
            self.heard = said

    def _let_go(self) -> None:
        if self._keeper.stdin is not None:
            with suppress(OSError):
                self._keeper.stdin.close()


def _patience() -> float:
    """Return how long a keeper that should end may take: longer than what it waits for itself."""
    return GRACE + KILLED + PATIENCE


def _start(said: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-P", "-m", "indult.autofix.keeper"]
    try:
        with said.open("wb") as log:
            return subprocess.Popen(
                command,
                cwd=said.parent,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
    except OSError as exc:
        raise RunError(f"the keeper of the fixer cannot be started: {(exc.strerror or str(exc)).lower()}") from exc


def _ended(watch: _Watch, workspace: Workspace) -> Ended:
    heard = watch.heard
    seconds = float(heard.get("seconds", time.monotonic() - watch.begun))
    if watch.process is None:
        said = heard.get("not_started") or _tail(str(watch.log)).strip() or "the keeper ended without a word"
        return Ended(
            code=None,
            why="stopped" if watch.stopped and not heard else "not_started",
            seconds=seconds,
            output=mask_text(said)[-_SHOWN:],
        )
    output = _tail(workspace.output)
    code = heard.get("code")
    why = str(heard.get("why", "stopped" if watch.stopped else "failed"))
    if why == "done" and code != 0:
        why = "failed"
    return Ended(
        code=code,
        why=why,
        seconds=seconds,
        output=mask_text(output)[-_SHOWN:],
        usage=read_usage(workspace.usage, output),
        left=int(heard.get("left", 0)),
    )


def _tail(path: str) -> str:
    """Return the end of a file as text."""
    try:
        # Whatever a fixer put in the place of the file, nobody waits for it.
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _TAIL))
            return file.read(_TAIL).decode(errors="replace")
    except OSError:
        return ""
