"""Killed at any instant, a run loses no signal, lands nothing twice, and leaves nothing that blocks the next one."""

from __future__ import annotations

import os
import random
import signal as system
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from tests.autofix.yard import Yard, lines

from indult.autofix.records import fixes
from indult.autofix.signals import SignalState, signals

CIRCLES = int(os.environ.get("INDULT_KILLS", "50"))

# Each signal has a file of its own to repair, so that several land in one run; the mark tells processes that are left.
FIXER = lines(
    [
        "import time",
        "name = task.split('value ')[1].split()[0]",
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(120)', os.environ.get('MARK', '')])",
        "path = here / 'src' / (name + '.py')",
        "path.parent.mkdir(exist_ok=True)",
        "time.sleep(0.05)",
        "path.write_text(path.read_text() + 'REPAIRED\\n' if path.exists() else 'REPAIRED\\n')",
    ]
)
NAMES = ("one", "two")


def running(mark: str) -> list[str]:
    """Return the processes whose command line holds the mark, and that are not about to end."""
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdigit() and mark.encode() in (entry / "cmdline").read_bytes().split(b"\0"):
                found.append(entry.name)
    return found


def until(condition: object, seconds: float = 30.0) -> bool:
    """Wait until a condition holds, and tell whether it did."""
    assert callable(condition)
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def start(yard: Yard, mark: str, jobs: str = "1") -> subprocess.Popen[bytes]:
    """Start a run in a process of its own, as a person would."""
    command = [
        sys.executable,
        "-m",
        "indult",
        "autofix",
        "run",
        "--repository",
        str(yard.repo.folder),
        "--into",
        "main",
    ]
    environment = {**os.environ, "MARK": mark}
    return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to see what is left of a process")
def test_fifty_circles(tmp_path: Path) -> None:
    """A run is killed at a random instant, again and again, until all has landed: each repair once, and nothing is left."""
    chance = random.Random(20)
    killed = kills = 0
    while kills < CIRCLES:
        folder = tmp_path / f"yard{killed}"
        yard = Yard.make(folder, FIXER)
        names = {yard.signal(f"the value {name} is wrong"): name for name in NAMES}
        mark = f"mark-{killed}-{os.getpid()}"
        for _ in range(40):
            process = start(yard, mark, chance.choice("12"))
            try:
                process.wait(chance.uniform(0.2, 2.5))
            except subprocess.TimeoutExpired:
                process.send_signal(system.SIGKILL)
                process.wait()
                kills += 1
                assert until(lambda: not running(mark)), "a fixer outlived its run"  # noqa: B023 # asked at once
            with yard.ledger() as ledger:
                states = {signal.id: signal.state for signal in signals(ledger)}
            assert set(states) == set(names), "a signal was lost"
            if all(state is SignalState.LANDED for state in states.values()):
                break
        last = yard.run()
        assert last.stop.kind == "goal_reached"
        check(yard, set(names.values()))
        killed += 1


def check(yard: Yard, names: set[str]) -> None:
    """See that each repair landed exactly once, and that nothing is left of any fix."""
    for name in names:
        assert yard.content(f"src/{name}.py") == "REPAIRED"
    landings = yard.repo.git("log", "--first-parent", "--format=%s", "main").splitlines()
    assert len([line for line in landings if line.startswith("Land ")]) == len(names)
    assert (yard.leftovers(), yard.branches()) == ([], [])
    with yard.ledger() as ledger:
        assert fixes(ledger) == []
        assert ledger.recall("at_work") == {}
        assert ledger.recall("worktrees") == {}
        assert ledger.verify().ok
