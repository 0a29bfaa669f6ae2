from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from indult.ledger import Body, Draft
from indult.ledger.sqlite import SqliteLedger

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture(name="path")
def _path(tmp_path: Path) -> Path:
    """Name a file for a ledger."""
    return tmp_path / "ledger.db"


@pytest.fixture(name="template", scope="session")
def _template(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Make a ledger with nine events in three streams, an anchor, two bodies and one forgotten, and values in each view."""
    path = tmp_path_factory.mktemp("template") / "ledger.db"
    with SqliteLedger(path) as ledger:
        for n in range(1, 4):
            ledger.append(
                Draft(
                    "run:1",
                    "step",
                    {
                        "n": n,
                        "counts": {"s": {"n": 1, "half": 0.5}},
                        "latest": {"s": {"k": {"n": n}}},
                        "keep": {"s": {"k": {"n": n % 2}}},
                    },
                    (Body(f"body {n}"),),
                ),
                Draft("run:2", "note", {"n": n}),
            )
        ledger.anchor()
        ledger.forget(Body("body 2").digest)
        ledger.append(Draft("run:1", "stopped", {}))
    return path.read_bytes()


@pytest.fixture(name="filled")
def _filled(path: Path, template: bytes) -> Path:
    """Give a copy of the ledger of `template`."""
    path.write_bytes(template)
    return path


@pytest.fixture(name="tamper")
def _tamper(filled: Path) -> Callable[..., None]:
    """Give a way to run statements on the file of `filled` behind its back, its triggers put out of the way and back."""

    def tamper(*statements: str) -> None:
        with closing(sqlite3.connect(filled, isolation_level=None)) as db:
            db.execute("PRAGMA ignore_check_constraints = ON")
            triggers = db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
            for name, _ in triggers:
                db.execute(f"DROP TRIGGER {name}")
            for statement in statements:
                db.execute(statement)
            for _, sql in triggers:
                db.execute(sql)

    return tamper
