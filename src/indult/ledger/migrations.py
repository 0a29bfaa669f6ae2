"""The tables of a SQLite ledger and how an older file becomes a present one.

Each migration is a function that is run once, in order, in one transaction; the number of those that ran stands in the
file's `user_version`. Migrations are never edited once released, only added.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

__all__ = ["APPLICATION_ID", "FAMILY", "MIGRATIONS", "RANKED", "VIEWS", "version", "view_tables"]

APPLICATION_ID: Final = 0x494E444C
"""`INDL`, which tells a ledger from any other database."""

VIEWS: Final = ("counters", "latest", "kept")
"""The tables that `rebuild` drops and folds again."""


FAMILY: Final = "substr(name, 1, instr(name, ':'))"
"""The part of a counter's name up to its first colon: `bond:` of `bond:P1|P2`. Counters are ranked by family."""

RANKED: Final = "instr(name, ':') > 0"
"""Counters without a colon belong to no family, and cost no ranking."""


def m001_ledger(db: sqlite3.Connection) -> None:
    """Make events, heads, bodies and views."""
    db.execute(
        "CREATE TABLE events (position INTEGER PRIMARY KEY, stream TEXT NOT NULL, version INTEGER NOT NULL,"
        " kind TEXT NOT NULL, at TEXT NOT NULL, data TEXT NOT NULL, prev TEXT NOT NULL, hash TEXT NOT NULL,"
        # The running digest over the hashes of all events up to this one: it fixes the positions.
        " log TEXT NOT NULL)"
    )
    db.execute("CREATE UNIQUE INDEX events_version ON events (stream, version)")
    db.execute("CREATE INDEX events_kind ON events (stream, kind, version)")
    # The chain finds a change; these keep one from happening by a slip of the hand.
    for act in ("UPDATE", "DELETE"):
        db.execute(
            f"CREATE TRIGGER events_no_{act.lower()} BEFORE {act} ON events"
            " BEGIN SELECT RAISE(ABORT, 'events are append-only'); END"
        )
    # A body that was forgotten keeps its row: text NULL, and the position of the event that says so.
    db.execute(
        "CREATE TABLE bodies (id INTEGER PRIMARY KEY, digest TEXT NOT NULL UNIQUE, position INTEGER NOT NULL, text TEXT)"
    )
    for statement in view_tables("main"):
        db.execute(statement)
    db.execute(heads_table("main"))


def heads_table(schema: str) -> str:
    """Return the statement that makes the table of stream heads."""
    return (
        f"CREATE TABLE {schema}.heads (stream TEXT NOT NULL PRIMARY KEY, version INTEGER NOT NULL,"
        " position INTEGER NOT NULL, hash TEXT NOT NULL) WITHOUT ROWID"
    )


def view_tables(schema: str) -> tuple[str, ...]:
    """Return the statements that make the tables of the views; `temp` is where `verify` folds its own."""
    # The values have no declared type: an integer stays one, and becomes a real only when a real is added.
    counters = (
        f"CREATE TABLE {schema}.counters (scope TEXT NOT NULL, name TEXT NOT NULL,"
        " value NOT NULL CHECK (abs(value) <= 9007199254740991), PRIMARY KEY (scope, name)) WITHOUT ROWID"
    )
    top = f"CREATE INDEX {schema}.counters_top ON counters (scope, {FAMILY}, value DESC, name) WHERE {RANKED}"
    latest = (
        f"CREATE TABLE {schema}.latest (scope TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,"
        " PRIMARY KEY (scope, key)) WITHOUT ROWID"
    )
    kept = (
        f"CREATE TABLE {schema}.kept (scope TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,"
        " position INTEGER NOT NULL, PRIMARY KEY (scope, key, value)) WITHOUT ROWID"
    )
    return counters, top, latest, kept


MIGRATIONS: Final[tuple[Callable[[sqlite3.Connection], None], ...]] = (m001_ledger,)


def version(db: sqlite3.Connection) -> int:
    """Return how many migrations a file has seen."""
    found: int = db.execute("PRAGMA user_version").fetchone()[0]
    return found
