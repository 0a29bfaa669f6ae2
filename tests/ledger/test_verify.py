from __future__ import annotations

import sqlite3
import tracemalloc
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from indult.errors import InputError
from indult.ledger import GENESIS, Anchor, Body, Damage, Draft, Verification
from indult.ledger.audit import anchor_line, read_anchors
from indult.ledger.sqlite import SqliteLedger
from indult.ledger.streams import content_hash, log_digest
from indult.testing.memory import MemoryLedger

if TYPE_CHECKING:
    from collections.abc import Callable

DIGEST = Body("body 1").digest
FORGOTTEN = Body("body 2").digest


def _verify(path: Path, anchors: tuple[Anchor, ...] = ()) -> Verification:
    with SqliteLedger(path, read_only=True) as ledger:
        return ledger.verify(anchors)


def _anchor(path: Path) -> Anchor:
    with SqliteLedger(path) as ledger:
        return ledger.anchor()


def test_a_true_ledger_verifies(filled: Path) -> None:
    """A ledger that nobody touched has no fault, and its parts are counted."""
    found = _verify(filled)

    assert () == found.faults
    assert (9, 3, 2, 1, 1) == (found.events, found.streams, found.bodies, found.forgotten, found.anchors)


# Every column of every table, changed by hand: statement, what must be found, at which stream, version and position.
CHANGES: dict[str, tuple[str, Damage, tuple[Any, ...] | None]] = {
    "events.position": ("UPDATE events SET position = 50 WHERE position = 3", Damage.POSITION, ("run:2", 2, 4)),
    "events.position of the last": (
        "UPDATE events SET position = 10 WHERE position = 9",
        Damage.POSITION,
        ("run:1", 4, 10),
    ),
    "events.position below": ("UPDATE events SET position = -1 WHERE position = 1", Damage.POSITION, ("run:1", 1, -1)),
    "events.stream": ("UPDATE events SET stream = 'run:3' WHERE position = 4", Damage.VERSION, ("run:3", 2, 4)),
    "events.version": ("UPDATE events SET version = 7 WHERE position = 3", Damage.VERSION, ("run:1", 7, 3)),
    "events.kind": ("UPDATE events SET kind = 'intent' WHERE position = 3", Damage.CONTENT, ("run:1", 2, 3)),
    "events.at": (
        "UPDATE events SET at = '2020-01-01T00:00:00.000000Z' WHERE position = 3",
        Damage.CONTENT,
        ("run:1", 2, 3),
    ),
    "events.data": ("UPDATE events SET data = '{\"n\":8}' WHERE position = 4", Damage.CONTENT, ("run:2", 2, 4)),
    "events.data by one space": (
        "UPDATE events SET data = data || ' ' WHERE position = 4",
        Damage.CONTENT,
        ("run:2", 2, 4),
    ),
    "events.prev": (f"UPDATE events SET prev = '{GENESIS}' WHERE position = 3", Damage.PREV, ("run:1", 2, 3)),
    "events.hash": (f"UPDATE events SET hash = '{GENESIS}' WHERE position = 3", Damage.CONTENT, ("run:1", 2, 3)),
    "events.log": (f"UPDATE events SET log = '{GENESIS}' WHERE position = 3", Damage.LOG, ("run:1", 2, 3)),
    "no JSON": ("UPDATE events SET data = '[' WHERE position = 4", Damage.CONTENT, ("run:2", 2, 4)),
    "a blob": ("UPDATE events SET data = x'00ff' WHERE position = 4", Damage.UNREADABLE, ("run:2", 2, 4)),
    "no text": ("UPDATE events SET hash = 5.5 WHERE position = 4", Damage.CONTENT, ("run:2", 2, 4)),
    "a deleted event": ("DELETE FROM events WHERE position = 4", Damage.POSITION, ("run:1", 3, 5)),
    "the first event deleted": ("DELETE FROM events WHERE position = 1", Damage.POSITION, ("run:2", 1, 2)),
    "the last event cut off": ("DELETE FROM events WHERE position = 9", Damage.HEAD, ("run:1", 4, 9)),
    "all events deleted": ("DELETE FROM events", Damage.HEAD, None),
    "an event put in at the end": (
        "INSERT INTO events SELECT 10, stream, version + 1, kind, at, data, hash, hash, log FROM events WHERE position = 9",
        Damage.CONTENT,
        ("run:1", 5, 10),
    ),
    "an event written twice": (
        "INSERT INTO events SELECT 10, 'run:9', version, kind, at, data, prev, hash, log FROM events WHERE position = 1",
        Damage.CONTENT,
        ("run:9", 1, 10),
    ),
    "heads.version": ("UPDATE heads SET version = 3 WHERE stream = 'run:1'", Damage.HEAD, None),
    "heads.position": ("UPDATE heads SET position = 3 WHERE stream = 'run:1'", Damage.HEAD, None),
    "heads.hash": (f"UPDATE heads SET hash = '{GENESIS}' WHERE stream = 'run:1'", Damage.HEAD, None),
    "heads.stream": ("UPDATE heads SET stream = 'run:7' WHERE stream = 'run:1'", Damage.HEAD, None),
    "a head deleted": ("DELETE FROM heads WHERE stream = 'run:2'", Damage.HEAD, ("run:2", 3, 6)),
    "bodies.text": (f"UPDATE bodies SET text = 'other' WHERE digest = '{DIGEST}'", Damage.BODY, ("run:1", 1, 1)),
    "bodies.digest": (
        f"UPDATE bodies SET digest = '{GENESIS}' WHERE digest = '{DIGEST}'",
        Damage.BODY,
        ("run:1", 1, 1),
    ),
    "bodies.position": (f"UPDATE bodies SET position = 2 WHERE digest = '{DIGEST}'", Damage.BODY, ("run:2", 1, 2)),
    "a body deleted": (f"DELETE FROM bodies WHERE digest = '{DIGEST}'", Damage.BODY, ("run:1", 1, 1)),
    "a body emptied": (f"UPDATE bodies SET text = NULL WHERE digest = '{DIGEST}'", Damage.BODY, ("run:1", 1, 1)),
    "a body forgotten in another's name": (
        f"UPDATE bodies SET text = NULL, position = 8 WHERE digest = '{DIGEST}'",
        Damage.BODY,
        ("ledger", 2, 8),
    ),
    "a forgotten body put back": (
        f"UPDATE bodies SET text = 'body 2', position = 8 WHERE digest = '{FORGOTTEN}'",
        Damage.BODY,
        ("ledger", 2, 8),
    ),
    "a body put in": (
        f"INSERT INTO bodies (digest, position, text) VALUES ('{Body('new').digest}', 1, 'new')",
        Damage.BODY,
        ("run:1", 1, 1),
    ),
    "counters.value": ("UPDATE counters SET value = 9 WHERE name = 'n'", Damage.VIEW, None),
    "counters.value by type": ("UPDATE counters SET value = 3.0 WHERE name = 'n'", Damage.VIEW, None),
    "counters.name": ("UPDATE counters SET name = 'm' WHERE name = 'n'", Damage.VIEW, None),
    "counters.scope": ("UPDATE counters SET scope = 't' WHERE name = 'n'", Damage.VIEW, None),
    "a counter deleted": ("DELETE FROM counters WHERE name = 'n'", Damage.VIEW, None),
    "a counter put in": ("INSERT INTO counters VALUES ('s', 'x', 0)", Damage.VIEW, None),
    "latest.value": ("UPDATE latest SET value = '{}'", Damage.VIEW, None),
    "latest.key": ("UPDATE latest SET key = 'x'", Damage.VIEW, None),
    "latest.scope": ("UPDATE latest SET scope = 'x'", Damage.VIEW, None),
    "kept.value": ("UPDATE kept SET value = '{}' WHERE position = 1", Damage.VIEW, None),
    "kept.position": ("UPDATE kept SET position = 2 WHERE position = 1", Damage.VIEW, None),
    "kept.key": ("UPDATE kept SET key = 'x'", Damage.VIEW, None),
    "kept.scope": ("UPDATE kept SET scope = 'x'", Damage.VIEW, None),
    "a kept object deleted": ("DELETE FROM kept WHERE position = 3", Damage.VIEW, None),
    "a trigger put in": (
        "CREATE TRIGGER z AFTER INSERT ON events BEGIN DELETE FROM counters; END",
        Damage.SCHEMA,
        None,
    ),
    "a trigger with a name like SQLite's own": (
        "CREATE TRIGGER sqlitez AFTER INSERT ON events BEGIN DELETE FROM counters; END",
        Damage.SCHEMA,
        None,
    ),
    "a table put in": ("CREATE TABLE x (y)", Damage.SCHEMA, None),
    "an index dropped": ("DROP INDEX events_kind", Damage.SCHEMA, None),
}


@pytest.mark.parametrize(("statement", "damage", "where"), CHANGES.values(), ids=CHANGES)
def test_a_change_is_found_by_name(
    filled: Path, tamper: Callable[..., None], statement: str, damage: Damage, where: tuple[Any, ...] | None
) -> None:
    """A change of any column, and any row put in or taken out, is found and named where it is."""
    tamper(statement)

    faults = _verify(filled).faults
    assert damage == faults[0].damage
    if where is not None:
        assert where == (faults[0].stream, faults[0].version, faults[0].position)


def test_a_body_that_came_again_cannot_go_by_its_old_leave(filled: Path, tamper: Callable[..., None]) -> None:
    """A body carried again after it was forgotten may not be emptied in the name of the old `forgotten` event."""
    with SqliteLedger(filled) as ledger:
        (event,) = ledger.append(Draft("run:2", "note", {}, (Body("body 2"),)))
    tamper(f"UPDATE bodies SET text = NULL, position = 8 WHERE digest = '{FORGOTTEN}'")

    assert [(Damage.BODY, event.position)] == [(fault.damage, fault.position) for fault in _verify(filled).faults]


def test_a_dropped_trigger_is_found(filled: Path) -> None:
    """A ledger whose events are no longer protected from change is told of, even when nothing was changed."""
    with closing(sqlite3.connect(filled)) as db:
        db.execute("DROP TRIGGER events_no_update")

    assert ["the trigger `events_no_update` is missing"] == [fault.message for fault in _verify(filled).faults]


def test_events_are_protected_from_a_slip(filled: Path) -> None:
    """A plain UPDATE or DELETE of events by hand is refused by the file itself."""
    with closing(sqlite3.connect(filled)) as db:
        for statement in ("UPDATE events SET kind = 'x'", "DELETE FROM events"):
            with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                db.execute(statement)


SWAP = (
    "UPDATE events SET position = -1 WHERE position = {0}",
    "UPDATE events SET position = {0} WHERE position = {1}",
    "UPDATE events SET position = {1} WHERE position = -1",
)


@pytest.mark.parametrize(("one", "other", "first"), [(1, 3, 1), (3, 4, 3), (8, 9, 8)])
def test_swapped_events_are_found(filled: Path, tamper: Callable[..., None], one: int, other: int, first: int) -> None:
    """Two events that changed places are found, also where each stays in order in its own stream."""
    tamper(*(statement.format(one, other) for statement in SWAP))

    faults = _verify(filled).faults
    assert first == faults[0].position
    assert faults[0].damage in {Damage.VERSION, Damage.LOG}


def _rewritten(path: Path, until: int, **change: Any) -> list[str]:
    """Return the statements by which someone who knows the rules writes the log anew, true hashes and all."""
    with closing(sqlite3.connect(path)) as db:
        rows = db.execute("SELECT position, stream, version, kind, at, data FROM events ORDER BY position").fetchall()
    heads: dict[str, str] = {}
    log = GENESIS
    statements = []
    for position, stream, version, kind, at, data in rows[:until]:
        data = change.get("data", data) if position == change.get("position") else data
        prev = heads.get(stream, GENESIS)
        hashed = content_hash(stream=stream, version=version, kind=kind, at=at, text=data, prev=prev)
        log = log_digest(log, hashed)
        heads[stream] = hashed
        statements += [
            f"UPDATE events SET data = '{data}', prev = '{prev}', hash = '{hashed}', log = '{log}' WHERE position = {position}",
            f"UPDATE heads SET hash = '{hashed}', version = {version}, position = {position} WHERE stream = '{stream}'",
        ]
    return [*statements, f"DELETE FROM events WHERE position > {until}"]


def test_a_rewritten_ledger_is_found_only_by_an_anchor(filled: Path, tamper: Callable[..., None]) -> None:
    """A log written anew from an event on, hashes and heads too, contradicts an anchor that was kept elsewhere."""
    with SqliteLedger(filled) as ledger:
        ledger.append(Draft("run:2", "note", {"n": 4}))
    anchor = _anchor(filled)
    tamper(*_rewritten(filled, until=11, position=10, data='{"n":5}'))

    inside = _verify(filled)
    # The `anchored` event in the log still tells, until it is written anew as well.
    assert [Damage.ANCHOR] == [fault.damage for fault in inside.faults]
    with closing(sqlite3.connect(filled)) as db:
        log = db.execute("SELECT log FROM events WHERE position = 10").fetchone()[0]
    tamper(
        *_rewritten(
            filled,
            until=11,
            position=11,
            data=f'{{"digest":"{log}","position":10,"prev":"{anchor.prev}"}}',
        )
    )
    whole = _verify(filled)
    against = _verify(filled, (anchor,))

    assert (True, True) == (whole.ok, "rewritten as a whole" in (whole.blind or ""))
    assert [(Damage.ANCHOR, 11)] == [(fault.damage, fault.position) for fault in against.faults]


def test_a_cut_off_end_is_found_only_by_an_anchor(filled: Path, tamper: Callable[..., None]) -> None:
    """A log that was cut off at its end, heads and all, contradicts an anchor of what was cut."""
    anchor = _anchor(filled)
    tamper(*_rewritten(filled, until=9), "UPDATE heads SET version = 2, position = 8 WHERE stream = 'ledger'")
    with closing(sqlite3.connect(filled, isolation_level=None)) as db:
        db.execute("UPDATE heads SET hash = (SELECT hash FROM events WHERE position = 8) WHERE stream = 'ledger'")

    assert _verify(filled).ok
    assert [Damage.ANCHOR] == [fault.damage for fault in _verify(filled, (anchor,)).faults]


def test_events_after_the_last_anchor_are_told_of(filled: Path) -> None:
    """What an anchor does not cover is said in words, with where it begins."""
    anchor = _anchor(filled)
    with SqliteLedger(filled) as ledger:
        ledger.append(Draft("run:2", "note", {}), Draft("run:2", "note", {}))

    found = _verify(filled, (anchor,))
    assert found.ok
    assert (found.blind or "").startswith("the 2 events after position 10 stand in no anchor")


def test_statistics_do_no_harm(filled: Path) -> None:
    """A ledger for which somebody made SQLite's own statistics still verifies."""
    with closing(sqlite3.connect(filled)) as db:
        db.execute("ANALYZE")

    assert () == _verify(filled).faults


def test_verify_leaves_nothing_behind(filled: Path) -> None:
    """Verifying writes nothing into the ledger and can be repeated on one connection."""
    before = filled.read_bytes()
    with SqliteLedger(filled, read_only=True) as ledger:
        assert ledger.verify() == ledger.verify()

    assert before == filled.read_bytes()


def test_verify_needs_little_memory(path: Path) -> None:
    """The memory that verifying needs does not grow with the number of events."""

    def peak(ledger: SqliteLedger) -> int:
        tracemalloc.start()
        try:
            assert ledger.verify().ok
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    def draft(n: int) -> Draft:
        return Draft(
            "run:1", "step", {"text": "x" * 500, "counts": {"s": {f"c{n}": 1}}, "keep": {"s": {"k": {"n": n}}}}
        )

    with SqliteLedger(path) as ledger:
        ledger.append(*(draft(n) for n in range(500)))
        few = peak(ledger)
        ledger.append(*(draft(n) for n in range(500, 5000)))
        many = peak(ledger)

    assert many < few + 100_000


def test_memory_ledger_finds_changes() -> None:
    """The ledger in memory finds the changes that a test makes to its rows, too."""
    ledger = MemoryLedger()
    ledger.append(Draft("a", "step", {"n": 1}), Draft("b", "step", {"counts": {"s": {"n": 1}}}, (Body("x"),)))
    row = ledger.rows[1]
    for place, damage in ((0, Damage.POSITION), (2, Damage.VERSION), (5, Damage.CONTENT), (8, Damage.LOG)):
        ledger.rows[1] = (*row[:place], 9 if place < 5 else "{}", *row[place + 1 :])
        assert damage == ledger.verify().faults[0].damage
    ledger.rows[1] = row
    ledger.views.counters["s"]["n"] = 2
    ledger._bodies.clear()

    assert [Damage.BODY, Damage.VIEW] == [fault.damage for fault in ledger.verify().faults]


def test_an_anchor_file_is_read_strictly(filled: Path) -> None:
    """An anchor file gives its anchors again, and a line that is none is named."""
    anchor = _anchor(filled)
    text = anchor_line(anchor) + "\n" + anchor_line(anchor)

    assert [anchor, anchor] == read_anchors(text, "f")
    for bad in ("{", "[]", '{"schema":2}', '{"schema":1}', anchor_line(anchor).replace(anchor.at, "now")):
        with pytest.raises(InputError, match="`f` line 2 is no anchor"):
            read_anchors(f"\n{bad}", "f")
