from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from indult.ledger.sqlite import SqliteLedger
from indult.testing.ledger_suite import LedgerSuite
from indult.testing.memory import MemoryLedger

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from indult.ledger import Ledger


class TestSqlite(LedgerSuite):
    """The ledger in a file does what a ledger must."""

    @pytest.fixture(name="ledger")
    def _ledger(self, tmp_path: Path) -> Iterator[Ledger]:
        with SqliteLedger(tmp_path / "ledger.db") as ledger:
            yield ledger


class TestMemory(LedgerSuite):
    """The ledger in memory does what a ledger must."""

    @pytest.fixture(name="ledger")
    def _ledger(self) -> Iterator[Ledger]:
        with MemoryLedger() as ledger:
            yield ledger
