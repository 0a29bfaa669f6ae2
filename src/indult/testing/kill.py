"""Ending a process at an exact point of its writing, to see what a power cut would leave.

A boundary is a point just before a statement of a SQLite ledger, or just after a COMMIT. They count from 1, from the
moment that the ledger is given to `kill_at` or `count_boundaries`.
"""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from indult.ledger.sqlite import SqliteLedger

__all__ = ["Boundaries", "count_boundaries", "kill_at"]


@dataclass(slots=True)
class Boundaries:
    """How many boundaries were passed, and the statements at which they lie."""

    passed: int
    statements: list[str]


def kill_at(ledger: SqliteLedger, boundary: int) -> None:
    """End this process with SIGKILL when `ledger` reaches a boundary; nothing happens if it never does."""
    passed = 0

    def reached(_: str) -> None:
        nonlocal passed
        passed += 1
        if passed == boundary:
            os.kill(os.getpid(), signal.SIGKILL)

    _watch(ledger, reached)


@contextmanager
def count_boundaries(ledger: SqliteLedger) -> Iterator[Boundaries]:
    """Count the boundaries that the body of a `with` passes, so that a test can then kill at each of them."""
    seen = Boundaries(0, [])

    def reached(statement: str) -> None:
        seen.passed += 1
        seen.statements.append(statement)

    connection = ledger._db  # noqa: SLF001 # the ledger needs no seam of its own for this
    _watch(ledger, reached)
    try:
        yield seen
    finally:
        ledger._db = connection  # noqa: SLF001 # as above


def _watch(ledger: SqliteLedger, reached: Callable[[str], None]) -> None:
    ledger._db = _Watched(ledger._db, reached)  # type: ignore[assignment]  # noqa: SLF001 # stands in for it


class _Watched:
    """A connection that tells of each statement before it runs, and of each COMMIT after it too."""

    def __init__(self, connection: Any, reached: Callable[[str], None]) -> None:
        self._connection = connection
        self._reached = reached

    def execute(self, statement: str, *values: Any) -> Any:
        self._reached(statement)
        found = self._connection.execute(statement, *values)
        if statement == "COMMIT":
            self._reached("after COMMIT")
        return found

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)
