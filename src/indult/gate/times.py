"""Times as the ledger writes them, the only form in which the order of texts is the order of times."""

from __future__ import annotations

from datetime import datetime

from indult.errors import InputError, ScopeError
from indult.ledger.streams import check_at

__all__ = ["check_time"]


def check_time(at: str | None) -> None:
    """Refuse an expiry that could not be compared with the present: it might never come.

    Raises:
        ScopeError: It is not UTC as the ledger writes it, or no such time exists.
    """
    if at is None:
        return
    try:
        datetime.fromisoformat(check_at(at))
    except (InputError, ValueError) as exc:
        raise ScopeError(f"`{at}` is no time", hint="write UTC as 2026-08-20T09:00:00.000000Z") from exc
