"""Killed at any statement, nothing approved is lost, nothing is spent twice, and nothing pending becomes approved."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.gate.desk import SUBJECT, Clock, Desk, pay

from indult import Verdict
from indult.approvals import Choice, RequestState
from indult.gate import index
from indult.ledger.sqlite import SqliteLedger
from indult.testing.kill import count_boundaries, kill_at

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def opened(path: Path) -> SqliteLedger:
    """Open a ledger whose times are those of the test; what a killed process wrote needs no disk to survive it."""
    ledger = SqliteLedger(path, clock=Clock())
    ledger._db.execute("PRAGMA synchronous = OFF")
    return ledger


def desk_of(ledger: SqliteLedger) -> Desk:
    """Return a desk whose ids tell how much is in the ledger, so that a second try takes no id twice."""
    return Desk(ledger=ledger, name=f"{sum(1 for _ in ledger.events())}-")


def story(ledger: SqliteLedger) -> Iterator[str]:
    """Take the steps that are still to be taken of one life of a request, and yield the name of each that was taken.

    Each step looks only at what the ledger says, as a process does that begins anew.
    """
    desk = desk_of(ledger)
    known = {found.request.id: found for found in desk.requests.pending()}
    spent = [event.data["reservation"] for event in ledger.events(kinds=["reserved"])]
    given_back = ledger.last("request:" + spent[0].rpartition(".")[0], "returned") if spent else None
    if not spent and not desk.requests.live(SUBJECT):
        if not known:
            assert Verdict.ASK_USER is desk.gate.check(pay(), {}).verdict
            yield "asked"
        (found,) = desk.requests.pending()
        if not found.decisions:
            desk.decide(found, Choice.DISCUSS, note="why?")
            yield "discussed"
        desk.decide(found)
        yield "approved"
    if not spent:
        assert Verdict.APPROVE is desk.gate.check(pay(), {}).verdict
        yield "used"
        (event,) = ledger.events(kinds=["reserved"])
        spent = [event.data["reservation"]]
    if given_back is None:
        desk.requests.not_started(spent[0], "killed")
        yield "returned"
    (grant,) = desk.requests.live(SUBJECT) or (None,)
    if grant is not None:
        desk.requests.revoke(grant.id, by="bob")
        yield "revoked"


def check(ledger: SqliteLedger, done: list[str]) -> None:
    """See that a ledger is whole, and that the request stands where `done` says."""
    desk = desk_of(ledger)
    assert () == ledger.verify().faults
    assert () == desk.requests.forged(SUBJECT)
    streams = [name.removeprefix("request:") for name, _ in ledger.streams("request:")]
    assert bool(done) == bool(streams)
    if not streams:
        assert {} == ledger.recall(index.OPEN)
        return
    (request,) = streams
    state = desk.requests.standing(request).state
    expected = {
        "asked": RequestState.OPEN,
        "discussed": RequestState.OPEN,
        "approved": RequestState.APPROVED,
        "used": RequestState.SPENT,
        "returned": RequestState.APPROVED,
        "revoked": RequestState.REVOKED,
    }
    assert expected[done[-1]] is state
    assert (state is RequestState.APPROVED) == bool(desk.requests.live(SUBJECT))
    assert (state is RequestState.OPEN) == bool(desk.requests.pending(SUBJECT))
    # A use and the judgement that relies on it are one transaction.
    used = [event.data["grant"] for event in ledger.events(kinds=["reserved"])]
    relied = [
        grant for event in ledger.events(kinds=["judgement"]) for grant in event.data["judgement"].get("grants", [])
    ]
    assert used == relied


def killed(path: Path, boundary: int) -> int:
    """Play the story in a child process that is killed at a boundary; return the signal that ended it."""
    child = os.fork()
    if child == 0:
        try:
            ledger = opened(path)
            kill_at(ledger, boundary)
            list(story(ledger))
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0


def test_killed_at_each_boundary(tmp_path: Path) -> None:
    """At every statement of a request's life, what was written is whole, and the life goes on from there to its end."""
    with opened(tmp_path / "whole.db") as ledger, count_boundaries(ledger) as seen:
        # How many transactions were over when a step was: each is one, however many statements it takes.
        ends = {seen.statements.count("after COMMIT"): name for name in story(ledger)}
    steps = ["asked", "discussed", "approved", "used", "returned", "revoked"]
    assert steps == list(ends.values())
    assert list(range(1, 7)) == list(ends)

    for boundary in range(1, seen.passed + 1):
        path = tmp_path / f"{boundary}.db"
        with opened(path):
            pass
        assert signal.SIGKILL == killed(path, boundary)
        done = seen.statements[:boundary].count("after COMMIT")
        with opened(path) as ledger:
            check(ledger, steps[:done])
            assert steps[done:] == list(story(ledger)), f"killed at boundary {boundary}"
            check(ledger, steps)
        path.unlink()
