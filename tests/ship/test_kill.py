"""Killed at any write, a ship has landed or it has not: never twice, never half, and no use is lost or spent twice."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.ship.yard import PATCH, Yard

from indult.approvals import RequestState
from indult.ledger.sqlite import SqliteLedger
from indult.ship.process import Git
from indult.ship.ship import Landed
from indult.testing.kill import count_boundaries, kill_at

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def opened(folder: Path) -> SqliteLedger:
    """Open the ledger of a yard; what a killed process wrote needs no disk to survive it."""
    ledger = SqliteLedger(folder / "ledger.db")
    ledger._db.execute("PRAGMA synchronous = OFF")
    return ledger


@contextmanager
def watching(reached: Callable[[str], None]) -> Iterator[None]:
    """Tell of every call of git, just before it and just after it."""
    real = Git.run

    def run(self: Git, *words: str, **options: Any) -> Any:
        reached(f"before {' '.join(words)}")
        done = real(self, *words, **options)
        reached(f"after {' '.join(words)}")
        return done

    Git.run = run  # type: ignore[method-assign]
    try:
        yield
    finally:
        Git.run = real  # type: ignore[method-assign]


@pytest.fixture(scope="module", name="ready")
def _ready(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a yard in which the fix is approved and not shipped yet, its target checked out."""
    folder = tmp_path_factory.mktemp("ready")
    with opened(folder) as ledger:
        yard = Yard.make(folder, ledger)
        yard.approved()
        yard.repo.git("switch", "--quiet", "main")
    return folder


def copied(ready: Path, to: Path) -> Path:
    """Return a copy of the yard that may be shipped in."""
    shutil.copytree(ready, to, symlinks=True)
    return to


def land(yard: Yard, prepare: Callable[[], None]) -> None:
    """Judge, then land with whatever `prepare` sets up."""
    with yard.repository() as repository:
        ship = yard.ship(repository)
        judged = ship.judge()
        prepare()
        assert isinstance(ship.land(judged), Landed)


def killed(folder: Path, at: int, where: str) -> bool:
    """Land in a child that is killed at a boundary of the ledger or of git; tell whether it was."""
    child = os.fork()
    if child == 0:
        try:
            ledger = opened(folder)
            yard = Yard(folder=folder, ledger=ledger)
            if where == "ledger":
                land(yard, lambda: kill_at(ledger, at))
            else:
                passed = 0
                armed = False

                def reached(_: str) -> None:
                    nonlocal passed
                    passed += armed
                    if passed == at:
                        os.kill(os.getpid(), signal.SIGKILL)

                def arm() -> None:
                    nonlocal armed
                    armed = True

                with watching(reached):
                    land(yard, arm)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def boundaries(ready: Path, tmp_path: Path) -> tuple[int, int]:
    """Return how many boundaries of the ledger and of git lie in a landing."""
    folder = copied(ready, tmp_path / "counted")
    calls: list[str] = []
    armed = False

    def reached(call: str) -> None:
        if armed:
            calls.append(call)

    with opened(folder) as ledger, watching(reached):
        yard = Yard(folder=folder, ledger=ledger)
        with yard.repository() as repository:
            ship = yard.ship(repository)
            judged = ship.judge()
            armed = True
            with count_boundaries(ledger) as seen:
                assert isinstance(ship.land(judged), Landed)
    return seen.passed, len(calls)


def check(folder: Path) -> str:
    """Ship once more, as a process does that begins anew, and see that all came out as if nobody had been killed."""
    with opened(folder) as ledger:
        yard = Yard(folder=folder, ledger=ledger)
        before = yard.repo.id("main")
        had_landed = "Indult-Grant" in yard.repo.git("log", "-1", "--format=%B", before)
        came = yard.landed()
        assert came.empty == had_landed
        assert () == ledger.verify().faults
        # One commit of the target's history used the grant, and it holds all of the fix.
        using = yard.repo.git("log", "--format=%H", "--grep=^Indult-Grant: g_", "main").split()
        assert [yard.repo.id("main")] == using
        assert yard.repo.id("fix^{tree}") == yard.repo.id("main^{tree}")
        assert 1 == sum(1 for _ in ledger.events("signal:s1", kinds={"ship_landed"}))
        (grant,) = {event.data["grant"] for event in ledger.events(kinds={"reserved"})}
        assert RequestState.SPENT is yard.requests().grant(grant).state
        uses = sum(1 for _ in ledger.events(kinds={"reserved"})) - sum(1 for _ in ledger.events(kinds={"returned"}))
        assert 1 == uses
        scope = f"ships:{_digest(yard)}"
        assert {} == ledger.recall(scope)
        # The work tree that has the target checked out shows what landed.
        assert "" == yard.repo.git("status", "--porcelain")
        assert "patch\n" == (yard.repo.folder / PATCH).read_text()
    return "landed" if had_landed else "not landed"


def _digest(yard: Yard) -> str:
    from indult.canonical import digest_text

    with yard.repository() as repository:
        return digest_text(repository.common)


@pytest.mark.parametrize("where", ["ledger", "git"])
def test_killed_at_each_boundary(ready: Path, tmp_path: Path, where: str) -> None:
    """At every statement of the ledger and around every call of git, the next ship brings it to the one right end."""
    found = boundaries(ready, tmp_path)
    number = found[0] if where == "ledger" else found[1]
    assert number > 10
    came = []
    for at in range(1, number + 1):
        folder = copied(ready, tmp_path / f"{at}")
        assert killed(folder, at, where)
        came.append(check(folder))
        shutil.rmtree(folder)
    # Before some boundary nothing has landed, and from it on everything has.
    assert {"landed", "not landed"} == set(came)
    assert sorted(came, reverse=True) == came
