"""What somebody does who can write the file of a ledger, and what the tests of forging look at afterwards."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.gate.desk import SUBJECT, Desk, pay

from indult import Verdict
from indult.approvals import request_stream
from indult.canonical import canonical
from indult.errors import ForgedRecord
from indult.gate import index
from indult.gate.marks import mark_of
from indult.ledger import GENESIS, Draft
from indult.ledger.sqlite import SqliteLedger
from indult.ledger.streams import content_hash


def path_of(desk: Desk) -> Path:
    """Return the file of a desk's ledger."""
    assert isinstance(desk.ledger, SqliteLedger)
    return desk.ledger.path


def tamper(desk: Desk, *statements: tuple[str, tuple[Any, ...]]) -> None:
    """Run statements on the file of the ledger behind its back, its triggers put out of the way and back."""
    with closing(sqlite3.connect(path_of(desk), isolation_level=None)) as db:
        triggers = db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            db.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            db.execute(*statement)
        for _, sql in triggers:
            db.execute(sql)


def forget_mark(desk: Desk) -> None:
    """Delete the high-water mark, as a forger of the same user can."""
    mark = mark_of(desk.ledger)
    assert mark is not None
    mark.path.unlink(missing_ok=True)


Edit = Callable[[dict[str, Any]], None]


def edit(desk: Desk, request: str, kind: str, change: Edit, *, chained: bool, head: bool = True) -> None:
    """Change the data of the first event of a kind of a request, and delete the mark; with a right chain, from there on."""
    forget_mark(desk)
    stream = request_stream(request)
    statements: list[tuple[str, tuple[Any, ...]]] = []
    changed, prev = False, GENESIS
    for event in list(desk.ledger.events(stream)):
        data = event.data
        if event.kind == kind and not changed:
            change(data)
            changed = True
        text, hashed = canonical(data), event.hash
        if chained:
            hashed = content_hash(
                stream=stream, version=event.version, kind=event.kind, at=event.at, text=text, prev=prev
            )
        before, prev = (prev if chained else event.prev), hashed
        statements.append(
            (
                "UPDATE events SET data = ?, prev = ?, hash = ? WHERE position = ?",
                (text, before, hashed, event.position),
            )
        )
    assert changed
    if head:
        statements.append(("UPDATE heads SET hash = ? WHERE stream = ?", (prev, stream)))
    tamper(desk, *statements)


def write(desk: Desk, request: str, kind: str, data: dict[str, Any], **views: Any) -> None:
    """Write an event past all checks of requests, with a right chain: the ledger itself takes whatever it is given."""
    desk.ledger.append(Draft(request_stream(request), kind, {**data, "latest": views} if views else data))


def listed(desk: Desk, request: str, subject: str = SUBJECT) -> None:
    """Put a request into the index of live ones, and into nothing else."""
    tamper(
        desk,
        (
            "INSERT OR REPLACE INTO latest (scope, key, value) VALUES (?, ?, ?)",
            (index.live(subject), request, json.dumps({"version": 9, "expires_at": None})),
        ),
    )


def refused(desk: Desk, request: str) -> str:
    """Return why decisions of a request do not count, having seen that they open nothing."""
    assert () == desk.requests.live(SUBJECT)
    assert Verdict.ASK_USER is desk.gate.review(pay(), {}).verdict
    return " / ".join(desk.requests.standing(request).refused)


def forged(desk: Desk, subject: str = SUBJECT) -> str:
    """Return what is told of forged records of a subject, having seen that they open nothing."""
    assert () == desk.requests.live(subject)
    assert Verdict.ASK_USER is desk.gate.review(pay(), {}).verdict
    found = desk.requests.forged(subject)
    assert all(type(one) is ForgedRecord for one in found)
    return " / ".join(one.message for one in found)
