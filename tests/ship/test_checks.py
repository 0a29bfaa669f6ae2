"""Checks: nothing that one starts outlives it, however far it goes."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.autofix.bench import until
from tests.ship.repos import Repo

from indult.errors import ShipError
from indult.keeping.processes import start_of
from indult.ship.checks import SECONDS, Failed, run_checks
from indult.ship.git import Repository

LEAVES = 'setsid sleep 300 & echo $! > "$1"; '
"""It leaves a process in a session of its own, and says which."""


@pytest.fixture(name="repo")
def _repo(tmp_path: Path) -> Repo:
    repo = Repo.make(tmp_path / "repository")
    repo.commit({"src/app.js": "one\n"})
    return repo


@pytest.fixture(name="place")
def _place(tmp_path: Path) -> Path:
    """Return where a check says which process it leaves."""
    return tmp_path / "pid"


def check(
    repo: Repo, *words: str, seconds: float = SECONDS, stopped: Callable[[], bool] = lambda: False
) -> Failed | None:
    """Run one check on `main`."""
    with Repository.open(repo.folder) as repository:
        return run_checks({"tests": words}, repository, repo.id("main"), seconds=seconds, stopped=stopped)


def left(place: Path) -> int:
    """Return which process a check left, 0 as long as it says nothing."""
    return int(place.read_text() or 0) if place.exists() else 0


def test_what_it_leaves_in_a_session_of_its_own(repo: Repo, place: Path) -> None:
    """Such a process ends with its check, which has passed."""
    assert check(repo, "sh", "-c", LEAVES, "check", str(place)) is None
    assert start_of(left(place)) is None


@pytest.mark.parametrize(("seconds", "why"), [(1.0, "not done after 1 s"), (60.0, "stopped")])
def test_it_has_to_end(repo: Repo, place: Path, seconds: float, why: str) -> None:
    """At its limit, and when the ship has to stop, all of a check ends."""
    words = ("sh", "-c", f"{LEAVES} echo so far; sleep 300", "check", str(place))

    came = check(repo, *words, seconds=seconds, stopped=lambda: seconds > 1 and left(place) > 0)

    assert came is not None
    assert why == came.why
    assert start_of(left(place)) is None


def test_the_ship_is_killed(repo: Repo, place: Path) -> None:
    """A check ends with whoever runs it."""
    run = os.fork()
    if run == 0:
        check(repo, "sh", "-c", f"{LEAVES} sleep 300", "check", str(place))
        os._exit(0)
    until(lambda: left(place))

    os.kill(run, signal.SIGKILL)
    os.waitpid(run, 0)

    until(lambda: start_of(left(place)) is None)


def test_whoever_keeps_it_is_killed(repo: Repo) -> None:
    """A check that kills its keeper has not passed."""
    came = check(repo, "sh", "-c", "kill -9 $PPID; exit 0")

    assert came is not None
    assert "whoever kept it was killed" == came.why


def test_one_that_is_no_program(repo: Repo) -> None:
    """A check that cannot be started is an error, and says why."""
    with pytest.raises(ShipError, match=r"cannot be started: no such file or directory: `\./gone`"):
        check(repo, "./gone")
