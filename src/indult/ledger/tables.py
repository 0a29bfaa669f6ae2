"""The views as tables of SQLite: the same fold as `views.Views`, one event at a time, in any schema of a connection."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from indult.ledger.views import overflow

if TYPE_CHECKING:
    from indult.ledger.views import Changes

__all__ = ["Folder"]


class Folder:
    """Applies changes to the tables of one schema: `main`, or `temp` where they are folded anew to be compared."""

    __slots__ = ("_clear", "_count", "_keep", "_latest", "_remove")

    def __init__(self, schema: str) -> None:
        self._clear = tuple(f"DELETE FROM {schema}.{table} WHERE scope = ?" for table in ("counters", "latest", "kept"))  # noqa: S608 # no value
        self._count = (
            f"INSERT INTO {schema}.counters (scope, name, value) VALUES (?, ?, ?)"  # noqa: S608 # no value
            " ON CONFLICT (scope, name) DO UPDATE SET value = value + excluded.value"
        )
        self._latest = (
            f"INSERT INTO {schema}.latest (scope, key, value) VALUES (?, ?, ?)"  # noqa: S608 # no value
            " ON CONFLICT (scope, key) DO UPDATE SET value = excluded.value"
        )
        self._remove = f"DELETE FROM {schema}.latest WHERE scope = ? AND key = ?"  # noqa: S608 # no value
        self._keep = f"INSERT OR IGNORE INTO {schema}.kept (scope, key, value, position) VALUES (?, ?, ?, ?)"  # noqa: S608 # no value

    def apply(self, db: sqlite3.Connection, made: Changes, position: int) -> None:
        """Apply what the event at `position` does to the views."""
        for scope in made.clear:
            for statement in self._clear:
                db.execute(statement, (scope,))
        for counted in made.counts:
            try:
                db.execute(self._count, counted)
            except sqlite3.IntegrityError as exc:
                raise overflow(counted[0], counted[1]) from exc
        for scope, key, latest in made.latest:
            if latest is None:
                db.execute(self._remove, (scope, key))
            else:
                db.execute(self._latest, (scope, key, latest))
        for kept in made.keep:
            db.execute(self._keep, (*kept, position))
