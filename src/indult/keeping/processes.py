"""Processes as the system tells of them: which one a number means, what it started, and how all of that is ended.

Only the standard library is needed, since the keeper has to be there quickly. A number alone means nothing: it is given
to another process once the first has ended. So a process is its number and when it started, and nothing is sent to one
whose start is another.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Final, NamedTuple

__all__ = [
    "KILLED",
    "Seen",
    "below",
    "born",
    "children",
    "end",
    "lower",
    "lowered",
    "marked",
    "seen",
    "send",
    "start_of",
]

KILLED: Final = 30.0
"""For how many seconds processes are killed over and over, before those that are left are told of and left."""

_NEAR: Final = 64
_UNLIMITED: Final = 2**40
_LINUX: Final = sys.platform == "linux"


class Seen(NamedTuple):
    """A process that runs: its number, that of its parent, and when it started, in words of the system."""

    pid: int
    parent: int
    start: str


def seen() -> dict[int, Seen]:
    """Return every process that runs; one that has ended and waits to be fetched runs no more."""
    if not _LINUX:
        return _listed()
    found = (_told(int(name)) for name in os.listdir("/proc") if name.isdigit())  # noqa: PTH208 (names only)
    return {one.pid: one for one in found if one is not None}


def start_of(pid: int) -> str | None:
    """Return when the process of this number started, none where there is none that runs."""
    one = _told(pid) if _LINUX else _listed().get(pid)
    return None if one is None else one.start


def below(roots: Iterable[int], among: Mapping[int, Seen]) -> dict[int, Seen]:
    """Return what these processes started, and what that started, without themselves."""
    children: dict[int, list[Seen]] = {}
    for one in among.values():
        children.setdefault(one.parent, []).append(one)
    first = set(roots)
    found: dict[int, Seen] = {}
    ahead = list(first)
    while ahead:
        for one in children.get(ahead.pop(), ()):
            if one.pid not in found and one.pid not in first:
                found[one.pid] = one
                ahead.append(one.pid)
    return found


def children(parent: int, near: Iterable[int]) -> dict[int, Seen]:
    """Return the children of a process whose numbers come soon after one of these.

    A listing takes so long that what is another process a moment later is never in it; the next number is looked up at
    once.
    """
    numbers = {number for pid in near for number in range(pid + 1, pid + _NEAR)}
    found = (_told(number) for number in numbers) if _LINUX else ()
    return {one.pid: one for one in found if one is not None and one.parent == parent}


def born(pid: int) -> list[int] | None:
    """Return the children of a process, ended ones included, by the word of the system; none where it gives none."""
    found: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208 (names only)
            with suppress(ProcessLookupError), open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                found += map(int, file.read().split())
    except OSError:
        return None
    return found


def lower() -> None:
    """Lower a limit of this process by a trifle: all it starts has it, and only the superuser can raise it again."""
    import resource

    if _LINUX:
        most = resource.getrlimit(resource.RLIMIT_MSGQUEUE)[1]
        less = _UNLIMITED if most == resource.RLIM_INFINITY else max(0, most - 1)
        # A sandbox may forbid it, and then nothing is known by it.
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_MSGQUEUE, (less, less))


def lowered(pid: int) -> bool:
    """Tell whether that limit of a process is lower than ours, so that somebody who was lowered started it."""
    import resource

    if not _LINUX:
        return False
    try:
        theirs = resource.prlimit(pid, resource.RLIMIT_MSGQUEUE)[1]
    except OSError:
        return False
    ours = resource.getrlimit(resource.RLIMIT_MSGQUEUE)[1]
    return theirs != resource.RLIM_INFINITY and (ours == resource.RLIM_INFINITY or theirs < ours)


def marked(word: str, among: Mapping[int, Seen]) -> dict[int, Seen]:
    """Return the processes that have a word, such as `NAME=value`, in the environment that they were started with."""
    return {pid: one for pid, one in among.items() if os.fsencode(word) in _environment(pid)}


def send(one: Seen, number: int) -> bool:
    """Send a signal to a process, if it still is the same, and tell whether it was sent."""
    # What is opened stays this process, whoever gets its number next.
    handle = _opened(one.pid)
    try:
        if start_of(one.pid) != one.start:
            return False
        if handle is None:
            os.kill(one.pid, number)
        else:
            signal.pidfd_send_signal(handle, number)
    except OSError:
        return False
    finally:
        if handle is not None:
            os.close(handle)
    return True


def end(
    find: Callable[[], Mapping[int, Seen]], *, grace: float, over: Callable[[], bool] | None = None
) -> tuple[int, ...]:
    """End what `find` finds until it is over: ask first, and kill after `grace` seconds; return what is left.

    Without `over`, it is when nothing is found any more.
    """
    over = over or (lambda: not find())
    asked: set[tuple[int, str]] = set()
    until = time.monotonic() + grace
    while not over() and time.monotonic() < until:
        for one in find().values():
            if (one.pid, one.start) not in asked:
                send(one, signal.SIGTERM)
                asked.add((one.pid, one.start))
        time.sleep(0.02)
    until = time.monotonic() + KILLED
    while not over() and time.monotonic() < until:
        _kill(find)
        time.sleep(0.001)
    return () if over() else tuple(find()) or (0,)


def _kill(find: Callable[[], Mapping[int, Seen]]) -> None:
    """Kill what is found, all of it stopped before: what is stopped starts nothing that would not be found."""
    stopped: set[tuple[int, str]] = set()
    for _ in range(100):
        new = [one for one in find().values() if (one.pid, one.start) not in stopped]
        if not new:
            break
        for one in new:
            send(one, signal.SIGSTOP)
            stopped.add((one.pid, one.start))
    for one in find().values():
        send(one, signal.SIGKILL)


def _opened(pid: int) -> int | None:
    """Open a process, where the system can; some kernels are too old, and some containers forbid it."""
    with suppress(OSError, AttributeError):
        handle = os.pidfd_open(pid)
        try:
            signal.pidfd_send_signal(handle, 0)
        except OSError:
            os.close(handle)
        else:
            return handle
    return None


def _told(pid: int) -> Seen | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The name of the program stands in brackets and may hold anything.
            words = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    # A first thread that has ended leaves the others running.
    if words[0] in b"ZX" and int(words[17]) <= 1:
        return None
    return Seen(pid, int(words[1]), f"{_boot()}:{int(words[19])}")


@lru_cache(maxsize=1)
def _boot() -> str:
    """Return the name of this start of the system, since times count from it."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read(8)
    except OSError:
        return ""


def _listed() -> dict[int, Seen]:
    """Return every process that runs where only `ps` tells of them."""
    command = ["ps", "-A", "-o", "pid=,ppid=,stat=,lstart="]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env={"LC_ALL": "C", "PATH": os.defpath}
    ) as process:
        out = process.communicate()[0]
    found = {}
    for line in out.decode(errors="replace").splitlines():
        words = line.split(None, 3)
        if len(words) == 4 and not words[2].startswith("Z") and int(words[0]) != process.pid:
            found[int(words[0])] = Seen(int(words[0]), int(words[1]), " ".join(words[3].split()))
    return found


def _environment(pid: int) -> list[bytes]:
    with suppress(OSError), open(f"/proc/{pid}/environ", "rb") as file:
        return file.read().split(b"\0")
    return []
