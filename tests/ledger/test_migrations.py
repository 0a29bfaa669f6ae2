from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from indult.errors import LedgerNewer, LedgerReadOnly
from indult.ledger import Draft, checking, files
from indult.ledger.migrations import APPLICATION_ID, MIGRATIONS
from indult.ledger.sqlite import SqliteLedger

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def _second(db: sqlite3.Connection) -> None:
    db.execute("CREATE TABLE second (x)")


def _failing(db: sqlite3.Connection) -> None:
    db.execute("CREATE TABLE third (x)")
    raise KeyboardInterrupt


def _use(monkeypatch: pytest.MonkeyPatch, *more: Callable[[sqlite3.Connection], None]) -> None:
    for module in (files, checking):
        monkeypatch.setattr(module, "MIGRATIONS", (*MIGRATIONS, *more))


def test_a_new_file_says_what_it_is(path: Path) -> None:
    """A ledger carries its application id and the number of its migrations."""
    with SqliteLedger(path):
        pass

    with closing(sqlite3.connect(path)) as db:
        found = [db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")]
    assert [APPLICATION_ID, len(MIGRATIONS)] == found


def test_an_older_ledger_is_migrated_once(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A writer brings an older ledger up to date, keeping what it holds; a reader asks for that first."""
    _use(monkeypatch, _second)
    with pytest.raises(LedgerReadOnly, match="older version"):
        SqliteLedger(filled, read_only=True)
    for _ in range(2):
        with SqliteLedger(filled) as ledger:
            assert ((), 9) == (ledger.verify().faults, ledger.verify().events)
    monkeypatch.undo()

    with pytest.raises(LedgerNewer, match=f"version {len(MIGRATIONS) + 1}"):
        SqliteLedger(filled)


def test_a_failed_migration_changes_nothing(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Migrations are made all or not at all."""
    _use(monkeypatch, _second, _failing)
    with pytest.raises(KeyboardInterrupt):
        SqliteLedger(filled)
    monkeypatch.undo()

    with SqliteLedger(filled) as ledger:
        ledger.append(Draft("run:1", "step", {}))
        assert () == ledger.verify().faults
