"""`verify` and `rebuild` of a SQLite ledger, in memory that does not grow with it: the second fold is a temporary table."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from indult.canonical import digest_text
from indult.errors import InputError, LedgerCorrupt
from indult.ledger.audit import FORGOTTEN, Audit, Damage
from indult.ledger.files import roll_back
from indult.ledger.migrations import MIGRATIONS, VIEWS, heads_table, view_tables
from indult.ledger.streams import OWN_STREAM
from indult.ledger.tables import Folder
from indult.ledger.views import changes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from indult.ledger.audit import Anchor, Verification

__all__ = ["rebuild", "verify"]

_ROWS: Final = "SELECT position, stream, version, kind, at, data, prev, hash, log FROM main.events ORDER BY position"
_KEYS: Final = {"counters": "scope, name", "latest": "scope, key", "kept": "scope, key, value", "heads": "stream"}


def rebuild(db: sqlite3.Connection) -> int:
    """Fold the views again inside a transaction and return how many events were folded."""
    for table in VIEWS:
        db.execute(f"DROP TABLE main.{table}")
    for statement in view_tables("main"):
        db.execute(statement)
    folder = Folder("main")
    folded = 0
    for position, data in db.execute("SELECT position, data FROM main.events ORDER BY position"):
        folder.apply(db, changes(_object(data, position)), position)
        folded += 1
    return folded


def _object(text: str, position: int) -> dict[str, Any]:
    import json

    try:
        data = json.loads(text)
    except (TypeError, ValueError):
        data = None
    if type(data) is not dict:
        raise LedgerCorrupt(f"the event at position {position} cannot be read", hint="run `indult log verify`")
    return data


def verify(db: sqlite3.Connection, anchors: Iterable[Anchor]) -> Verification:
    """Check the ledger of a connection in one read transaction."""
    with _scratch(db):
        audit = Audit(heads=_Heads(db), body=lambda digest: _body(db, digest))
        folder = Folder("temp")
        for row in db.execute(_ROWS):
            made = audit.see(row)
            try:
                folder.apply(db, made, row[0])
            except InputError as exc:
                audit.add(Damage.UNREADABLE, f"{exc}", (row[1], row[2], row[0]))
        _heads(db, audit)
        _structure(db, audit)
        _views(db, audit)
        _bodies(db, audit)
        covered = audit.compare(anchors, lambda version, position: _own_hash(db, version, position))
        return audit.result(
            streams=_count(db, "temp.heads"),
            bodies=_count(db, "main.bodies WHERE text IS NOT NULL"),
            forgotten=_count(db, "main.bodies WHERE text IS NULL"),
            anchored=covered,
        )


@contextmanager
def _scratch(db: sqlite3.Connection) -> Iterator[None]:
    """Give a read transaction with empty views and heads in the temporary schema."""
    db.execute("BEGIN")
    try:
        for statement in (*view_tables("temp"), heads_table("temp")):
            db.execute(statement)
        yield
    finally:
        # Takes the temporary tables along: nothing that was done here stays.
        roll_back(db)


class _Heads:
    """The heads that the walk recomputes, in a temporary table."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def get(self, stream: str) -> tuple[int, int, str] | None:
        found: tuple[int, int, str] | None = self._db.execute(
            "SELECT version, position, hash FROM temp.heads WHERE stream = ?", (stream,)
        ).fetchone()
        return found

    def put(self, stream: str, head: tuple[int, int, str]) -> None:
        self._db.execute("INSERT OR REPLACE INTO temp.heads VALUES (?, ?, ?, ?)", (stream, *head))


def _structure(db: sqlite3.Connection, audit: Audit) -> None:
    """Ask SQLite for damage of the file, and compare the schema with a fresh one: a trigger could change what is written."""
    for (line,) in db.execute("PRAGMA main.integrity_check(1)"):
        if line != "ok":
            audit.add(Damage.FILE, f"the file is damaged: {line.lower()}")
    # The tables of ANALYZE may come and go; no other name is left out, or a trigger could hide behind it.
    schema = "SELECT type, name, sql FROM main.sqlite_master WHERE name NOT IN ('sqlite_stat1', 'sqlite_stat4')"
    fresh = sqlite3.connect(":memory:")
    try:
        for migration in MIGRATIONS:
            migration(fresh)
        wanted = {row[:2]: row[2] for row in fresh.execute(schema)}
    finally:
        fresh.close()
    found = {row[:2]: row[2] for row in db.execute(schema)}
    for kind, name in sorted(wanted.keys() | found.keys()):
        if wanted.get((kind, name)) != found.get((kind, name)):
            how = "missing" if (kind, name) not in found else "changed" if (kind, name) in wanted else "not ours"
            audit.add(Damage.SCHEMA, f"the {kind} `{name}` is {how}")


def _body(db: sqlite3.Connection, digest: str) -> tuple[int, bool] | None:
    row = db.execute("SELECT position, text IS NULL FROM main.bodies WHERE digest = ?", (digest,)).fetchone()
    return None if row is None else (row[0], bool(row[1]))


def _heads(db: sqlite3.Connection, audit: Audit) -> None:
    for stream, version, position in _differing(db, "heads", "stream, version, position"):
        audit.add(
            Damage.HEAD,
            f"the last event of stream `{stream}` is not the recorded one: events were cut off, or the record was changed",
            (stream, version, position),
        )


def _views(db: sqlite3.Connection, audit: Audit) -> None:
    for table in VIEWS:
        for scope, name, *_ in _differing(db, table, _KEYS[table]):
            audit.add(Damage.VIEW, f"view `{table}` is not the fold of the events: scope `{scope}`, name `{name}`")


def _differing(db: sqlite3.Connection, table: str, columns: str) -> list[tuple[Any, ...]]:
    """Return the first rows by which a table and the one that was recomputed differ, either way."""
    found: dict[tuple[Any, ...], None] = {}
    every = "*, typeof(value)" if table == "counters" else "*"  # 1 and 1.0 are equal, but not the same
    for one, other in (("main", "temp"), ("temp", "main")):
        both = f"SELECT {every} FROM {one}.{table} EXCEPT SELECT {every} FROM {other}.{table}"  # noqa: S608 # no value
        query = f"SELECT {columns} FROM ({both}) LIMIT 5"  # noqa: S608 # no value
        found.update(dict.fromkeys(db.execute(query)))
    return list(found)


def _bodies(db: sqlite3.Connection, audit: Audit) -> None:
    """Check each body against its digest and against the event that it came with, or that says it was forgotten."""
    query = (
        "SELECT b.digest, b.position, b.text, e.stream, e.version, e.kind, e.data FROM main.bodies b"
        " LEFT JOIN main.events e ON e.position = b.position ORDER BY b.id"
    )
    for digest, position, text, stream, version, kind, data in db.execute(query):
        where = (stream, version, position)
        if text is not None and (type(text) is not str or digest_text(text) != digest):
            audit.add(Damage.BODY, f"body `{digest}` does not give its digest: its text was changed", where)
            continue
        try:
            event = {} if data is None else _object(data, position)
        except LedgerCorrupt:
            continue  # the walk has told of it
        if text is None:
            known = (stream, kind, event.get("body")) == (OWN_STREAM, FORGOTTEN, digest)
        else:
            carried = event.get("bodies")
            known = type(carried) is list and digest in carried
        if not known:
            audit.add(Damage.BODY, f"body `{digest}` belongs to no event", where)


def _own_hash(db: sqlite3.Connection, version: int, position: int) -> str | None:
    row = db.execute(
        "SELECT hash FROM main.events WHERE position = ? AND stream = ? AND version = ?",
        (position, OWN_STREAM, version),
    ).fetchone()
    return None if row is None else row[0]


def _count(db: sqlite3.Connection, what: str) -> int:
    found: int = db.execute(f"SELECT count(*) FROM {what}").fetchone()[0]  # noqa: S608 # no value
    return found
