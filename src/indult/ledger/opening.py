"""Which ledger an address means, and where the default one is."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from indult.errors import MissingExtra, UsageError
from indult.ledger.streams import utc_now
from indult.places import default_ledger

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from indult.ledger.protocol import Ledger

__all__ = ["default_path", "open_ledger"]


def default_path() -> Path:
    """Return where the ledger is by default: that of the repository one stands in, else the user's own."""
    from pathlib import Path

    return Path(default_ledger())


def open_ledger(
    address: str | os.PathLike[str] | None = None,
    *,
    clock: Callable[[], str] = utc_now,
    read_only: bool = False,
    create: bool = True,
    timeout: float = 5.0,
) -> Ledger:
    """Open the ledger at a path or URL, the default one for None, and make it unless `read_only` or not `create`.

    Raises:
        LedgerError: It cannot be opened; the class and hint say why.
        MissingExtra: The address is of PostgreSQL.
        UsageError: The address is of no known kind.
    """
    path = default_ledger() if address is None else address
    if isinstance(path, str) and "://" in path:
        scheme, _, rest = path.partition("://")
        if scheme in {"postgres", "postgresql"}:
            raise MissingExtra("a ledger in PostgreSQL is not there yet", hint="give the path of a file")
        if scheme != "sqlite" or not rest:
            raise UsageError(f"`{scheme}://` is no ledger", hint="give the path of a file")
        path = rest
    from indult.ledger.sqlite import SqliteLedger

    return SqliteLedger(path, clock=clock, read_only=read_only, create=create, timeout=timeout)
