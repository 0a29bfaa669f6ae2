"""The policy that a verb works under: the file that was named, or what is in force where none was."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from indult.cli.plain import DATABASE, POLICY
from indult.places import default_ledger

if TYPE_CHECKING:
    from indult.ledger import Ledger
    from indult.policy import Policy

__all__ = ["ledger_is_there", "policy_in_force"]


def policy_in_force(named: str | None, db: str | None = None) -> Policy:
    """Return the policy of the file that `--policy` names, or what is in force where it names none.

    A file that was named holds as it is. Of the default one, what a person trusts of it counts too, and so do the
    policies of the user and of the system.

    Raises:
        IndultError: A policy or the record of what is trusted cannot be read.
    """
    if named is not None:
        from indult.policy import load_policy

        return load_policy(named)
    from indult.trust import effective_policy

    file, address = str(POLICY.default), db or os.environ.get(DATABASE) or None
    # Most who judge have recorded nothing yet, and a database takes longer to open than all the rest.
    if not ledger_is_there(address):
        return effective_policy(file)
    with _opened(address) as ledger:
        return effective_policy(file, ledger)


def _opened(address: str | None) -> Ledger:
    """Open a ledger to read it; one that is being made right now, or is of an older version, is brought up to date."""
    from indult.errors import LedgerError
    from indult.ledger import open_ledger

    try:
        return open_ledger(address, read_only=True)
    except LedgerError:
        return open_ledger(address, create=False)


def ledger_is_there(address: str | None) -> bool:
    """Tell whether the file of a ledger exists; what is no plain path is taken to."""
    if address is not None and "://" in address:
        return True
    return os.path.lexists(address or default_ledger())
