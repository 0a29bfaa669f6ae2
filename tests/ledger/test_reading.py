from __future__ import annotations

import tracemalloc
from typing import TYPE_CHECKING

from indult.ledger import Draft
from indult.ledger.sqlite import SqliteLedger

if TYPE_CHECKING:
    from pathlib import Path


def test_large_events_are_read_few_at_a_time(path: Path) -> None:
    """Reading large events needs memory for a few of them only."""
    with SqliteLedger(path) as ledger:
        ledger.append(*(Draft("run:1", "step", {"n": n, "text": "x" * 200_000}) for n in range(80)))
        tracemalloc.start()
        try:
            numbers = [event.data["n"] for event in ledger.events()]
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert list(range(80)) == numbers
    assert peak < 5_000_000


def test_an_unfinished_reading_holds_nothing(path: Path) -> None:
    """A reading that was left in the middle keeps no lock and no old state alive."""
    with SqliteLedger(path) as ledger:
        ledger.append(*(Draft("run:1", "step", {"n": n}) for n in range(300)))
        events = ledger.events()
        next(events)
        ledger.append(Draft("run:1", "step", {"n": 300}))

        assert 0 == ledger._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        assert 2 == next(events).position


def test_lookups_are_answered_by_an_index(path: Path) -> None:
    """What a step reads is found by an index, however long the ledger is; nothing is scanned or sorted."""
    seen: list[str] = []
    with SqliteLedger(path) as ledger:
        ledger.append(Draft("run:1", "step", {}))
        ledger._db.set_trace_callback(seen.append)
        ledger.last("run:1")
        ledger.last("run:1", "step")
        ledger.head("run:1")
        ledger.latest("s", "k")
        ledger.counter("s", "n")
        ledger.top("s", "bond:")
        list(ledger.events("run:1", after=5, limit=1))
        ledger.body("sha256:0")
        ledger._db.set_trace_callback(None)
        plans = {query: [row[3] for row in ledger._db.execute(f"EXPLAIN QUERY PLAN {query}")] for query in seen}

    assert {} == {
        query: plan
        for query, plan in plans.items()
        if any(not step.startswith("SEARCH") or "B-TREE" in step for step in plan)
    }
