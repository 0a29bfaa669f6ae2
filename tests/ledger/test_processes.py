from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, NoReturn

from indult.ledger import Body, Draft
from indult.ledger.sqlite import SqliteLedger
from indult.testing.kill import count_boundaries, kill_at

if TYPE_CHECKING:
    from pathlib import Path

HEAD = """
import sys
sys.path[:0] = {path!r}
from indult.errors import LedgerConflict
from indult.ledger import Body, Draft
from indult.ledger.sqlite import SqliteLedger
"""


def _start(script: str, *args: str) -> subprocess.Popen[str]:
    head = HEAD.format(path=[entry for entry in sys.path if entry])
    return subprocess.Popen(
        [sys.executable, "-c", head + script, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


WRITER = """
with SqliteLedger(sys.argv[1], timeout=60) as ledger:
    print("ready", flush=True)
    sys.stdin.readline()
    for n in range(40):
        ledger.append(Draft(sys.argv[2], "step", {"counts": {"s": {"n": 1}}}, (Body(f"{sys.argv[2]} {n}"),)))
        while True:
            version = ledger.head("shared")[0]
            try:
                ledger.append(Draft("shared", "step", {"version": version + 1}), expect={"shared": version})
                break
            except LedgerConflict:
                pass
"""


def test_processes_write_at_once(path: Path) -> None:
    """Several processes that make and write one ledger at once lose nothing, tear nothing and overtake nobody."""
    writers = [_start(WRITER, str(path), f"run:{n}") for n in range(4)]
    for writer in writers:
        assert writer.stdout is not None
        assert "ready\n" == writer.stdout.readline()
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    assert [""] * 4 == [writer.communicate()[0] for writer in writers]

    assert [0] * 4 == [writer.returncode for writer in writers]
    with SqliteLedger(path) as ledger:
        found = ledger.verify()
        assert ((), 320, 5, 160) == (found.faults, found.events, found.streams, found.bodies)
        assert 160 == ledger.counter("s", "n")
        assert list(range(1, 161)) == [event.data["version"] for event in ledger.events("shared")]
        assert [("shared", 160), *((f"run:{n}", 40) for n in range(4))] == sorted(ledger.streams(), reverse=True)[
            :1
        ] + list(ledger.streams("run:"))


def _open_when_told(path: Path, go: int) -> NoReturn:
    """End this child process after it opened and wrote a ledger, as soon as the other end of `go` is closed."""
    try:
        os.read(go, 1)
        with SqliteLedger(path, timeout=60) as ledger:
            ledger.append(Draft("run:1", "step", {}))
        os._exit(0)
    finally:
        os._exit(9)


def test_processes_make_one_ledger_at_once(path: Path) -> None:
    """Processes that find no ledger and make it at the same moment all get the same one."""
    for n in range(15):
        target = path.with_name(f"{n}.db")
        go, start = os.pipe()
        children = []
        for _ in range(6):
            child = os.fork()
            if child == 0:
                os.close(start)
                _open_when_told(target, go)
            children.append(child)
        os.close(start)
        ended = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        os.close(go)

        assert [0] * 6 == ended
        with SqliteLedger(target) as ledger:
            assert ((), 6) == (ledger.verify().faults, ledger.head("run:1")[0])


def test_a_reader_sees_what_others_write(path: Path) -> None:
    """A reader notices that another ledger has written, and a writer waits for no reader in the middle of its events."""
    with SqliteLedger(path) as writer:
        writer.append(*(Draft("a", "step", {"n": n}) for n in range(600)))
        with SqliteLedger(path, read_only=True) as reader:
            before = reader.data_version()
            events = reader.events()
            next(events)
            writer.append(Draft("a", "step", {}))
            assert before != reader.data_version()
            assert reader.data_version() == reader.data_version()
            assert 599 == sum(1 for _ in events)
            assert 601 == sum(1 for _ in reader.events())


KILLED = """
with SqliteLedger(sys.argv[1], timeout=60) as ledger:
    n = ledger.head("run:1")[0]
    print("ready", flush=True)
    while True:
        n += 1
        data = {"n": n, "counts": {"s": {"n": 1, "twice": 2}}, "latest": {"s": {"k": {"n": n}}}, "keep": {"s": {"k": {"n": n}}}}
        ledger.append(Draft("run:1", "intent", {"n": n}, (Body(f"body {n}"),)), Draft("run:1", "close", data))
"""


def test_a_writer_killed_at_any_time_leaves_whole_steps(path: Path) -> None:
    """After SIGKILL at random instants the ledger verifies, holds only whole appends and can be written on."""
    chance = random.Random(1)
    with SqliteLedger(path):
        pass
    for _ in range(10):
        writer = _start(KILLED, str(path))
        assert writer.stdout is not None
        assert "ready\n" == writer.stdout.readline()
        try:
            writer.wait(chance.uniform(0.001, 0.06))
        except subprocess.TimeoutExpired:
            writer.kill()
        writer.communicate()
        assert -signal.SIGKILL == writer.returncode

        with SqliteLedger(path) as ledger:
            found = ledger.verify()
            assert () == found.faults
            steps = found.events // 2
            assert (0, 2 * steps) == (found.events % 2, ledger.counter("s", "twice"))
            assert (steps, steps) == (len(ledger.remembered("s", "k")), found.bodies)


def _steps(ledger: SqliteLedger) -> None:
    body = Body("text")
    draft = Draft("run:1", "step", {"counts": {"s": {"n": 1}}, "keep": {"s": {"k": {}}}}, (body,))
    ledger.append(draft, expect={"run:1": 0})
    ledger.forget(body.digest)
    ledger.anchor()


def _killed(path: Path, boundary: int) -> int:
    """Take the steps in a child process that dies at a boundary, and return how it ended."""
    child = os.fork()
    if child == 0:
        try:
            ledger = SqliteLedger(path)
            kill_at(ledger, boundary)
            _steps(ledger)
            os._exit(0)
        finally:
            os._exit(9)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_killed_at_each_boundary(path: Path) -> None:
    """Killed before or after any single statement, a ledger holds the whole of each append before it, or none."""
    with SqliteLedger(path.with_name("counted.db")) as ledger, count_boundaries(ledger) as seen:
        _steps(ledger)
    commits = [place for place, statement in enumerate(seen.statements, 1) if statement == "after COMMIT"]

    assert 3 == len(commits)
    assert seen.passed == len(seen.statements)
    for boundary in range(1, seen.passed + 2):
        target = path.with_name(f"{boundary}.db")
        with SqliteLedger(target):
            pass
        assert (0 if boundary > seen.passed else -signal.SIGKILL) == _killed(target, boundary)
        with SqliteLedger(target) as ledger:
            assert () == ledger.verify().faults
            assert sum(boundary >= commit for commit in commits) == ledger.verify().events
            ledger.append(Draft("run:2", "step", {}))


def test_a_ledger_is_not_for_a_forked_child(path: Path) -> None:
    """A child process that inherits a ledger is told to open its own, before it can do harm."""
    with SqliteLedger(path) as ledger:
        ledger.append(Draft("run:1", "step", {}))
        child = os.fork()
        if child == 0:
            try:
                ledger.append(Draft("run:1", "step", {}))
            except BaseException as exc:  # a forked test must not go on
                os._exit(3 if "another process" in str(exc) else 4)
            os._exit(5)
        assert 3 == os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

        assert 1 == ledger.head("run:1")[0]
