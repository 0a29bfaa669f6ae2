"""Processes: a number and a start are one, and nothing is sent to another."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from uuid import uuid4

import pytest
from tests.autofix.bench import until

from indult.keeping import processes
from indult.keeping.processes import Seen, below, end, marked, seen, send, start_of

MARK = uuid4().hex


@pytest.fixture(name="child")
def _child() -> Iterator[subprocess.Popen[bytes]]:
    """Start a process with a mark in its environment, and a child of its own."""
    line = "import os, time; os.fork(); time.sleep(600)"
    child = subprocess.Popen([sys.executable, "-c", line], env={**os.environ, "MARK": MARK}, start_new_session=True)
    until(lambda: len(below([child.pid], seen())) == 1)
    yield child
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def without_handles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Be on a system that cannot open processes."""

    def refused(pid: int) -> int:
        raise OSError(errno.ENOSYS, "not implemented")

    monkeypatch.setattr(os, "pidfd_open", refused, raising=False)


def test_what_is_below(child: subprocess.Popen[bytes]) -> None:
    """What a process started is below it and below its parent, and the process itself is not."""
    found = below([child.pid], seen())

    assert child.pid not in found
    assert {child.pid, *found} <= {*below([os.getpid()], seen())}
    assert [child.pid] == [one.parent for one in found.values()]


def test_a_circle_ends() -> None:
    """A listing that was taken while numbers changed hands may name two processes as each other's parent."""
    among = {1: Seen(1, 2, "a"), 2: Seen(2, 1, "b"), 3: Seen(3, 3, "c")}

    assert {2} == {*below([1], among)}
    assert {*()} == {*below([3], among)}


def test_the_mark_is_a_whole_variable(child: subprocess.Popen[bytes]) -> None:
    """A process is known by a variable and its value, and by no part of it."""
    among = seen()

    assert {child.pid, *below([child.pid], among)} == {*marked(f"MARK={MARK}", among)}
    assert {*()} == {*marked(f"MARK={MARK[:-1]}", among), *marked(f"ARK={MARK}", among)}


def test_one_that_has_ended_runs_no_more() -> None:
    """A process that waits to be fetched has no start and is not seen."""
    child = subprocess.Popen([sys.executable, "-c", ""])
    until(lambda: start_of(child.pid) is None)

    assert child.pid not in seen()
    child.wait()


def test_one_whose_first_thread_has_ended() -> None:
    """A process that goes on in another thread runs, whatever its first thread does."""
    line = (
        "import ctypes, threading, time; threading.Thread(target=time.sleep, args=(600,)).start(); "
        "ctypes.CDLL(None).pthread_exit(None)"
    )
    child = subprocess.Popen([sys.executable, "-c", line])
    one = Seen(child.pid, 0, start_of(child.pid) or "")
    if sys.platform == "linux":
        until(lambda: _state(child.pid) == "Z")

    assert child.pid in seen()
    assert send(one, signal.SIGKILL)
    assert -signal.SIGKILL == child.wait()


def _state(pid: int) -> str:
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        return file.read().rpartition(")")[2].split()[0]


@pytest.mark.parametrize("handles", [True, False])
def test_only_the_same_process_is_sent_to(
    child: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch, handles: bool
) -> None:
    """A signal goes to a process by number and start, however the system has it sent."""
    if not handles:
        without_handles(monkeypatch)
    start = start_of(child.pid) or ""

    assert not send(Seen(child.pid, 0, f"{start}0"), signal.SIGKILL)
    assert child.poll() is None
    assert send(Seen(child.pid, 0, start), signal.SIGKILL)
    assert -signal.SIGKILL == child.wait()


@pytest.mark.parametrize("handles", [True, False])
def test_end_says_what_is_left(child: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch, handles: bool) -> None:
    """What is found is ended until nothing is, and what cannot be ended is told of."""
    if not handles:
        without_handles(monkeypatch)
    inner = below([child.pid], seen())

    assert () == end(lambda: {pid: one for pid, one in seen().items() if pid in inner}, grace=0.0)
    monkeypatch.setattr(processes, "KILLED", 0.1)
    stranger = Seen(child.pid, 0, "another start")
    assert (child.pid,) == end(lambda: {child.pid: stranger}, grace=0.0)
    assert child.poll() is None


@pytest.mark.skipif(shutil.which("ps", path=os.defpath) is None, reason="needs ps")
def test_where_only_ps_tells(child: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    """On a system without /proc the same is found by `ps`."""
    monkeypatch.setattr(processes, "_LINUX", False)

    assert child.pid in below([os.getpid()], seen())
    assert 1 == len(below([child.pid], seen()))
    assert send(Seen(child.pid, 0, start_of(child.pid) or ""), signal.SIGTERM)
    assert -signal.SIGTERM == child.wait()
    assert start_of(child.pid) is None
