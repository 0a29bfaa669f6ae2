"""Subjects: whose judgements a stream of the ledger keeps.

What is done in a work tree is judged under the work tree's own subject, unless the ledger says which one it belongs to:
view `worktrees`, path -> {subject, policy}.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

from indult.errors import ForgedRecord, InputError

if TYPE_CHECKING:
    from indult.ledger import Ledger

__all__ = ["AT_WORK", "SIGNAL", "WORKTREES", "appointed", "appointment", "check_subject", "tree_name"]

SIGNAL: Final = "signal:"
"""How the subject of a signal begins."""

AT_WORK: Final = "at_work"
"""The view of the subjects that somebody works on who could be the one that decides: subject to `{who}`."""

WORKTREES: Final = "worktrees"
"""The view of the work trees that belong to something else than to whoever works in them."""

_OWN: Final = ("request:", "requests:", "trust:", "policy:", "memory:")
"""How the names of streams begin that keep other records than judgements."""


def check_subject(subject: str) -> None:
    """Refuse a subject whose judgements would be written among the ledger's own records.

    Raises:
        InputError: It is the name of such a stream, or empty.
    """
    if not subject or subject == "ledger" or subject.startswith(_OWN):
        raise InputError(f"`{subject}` cannot be a subject", hint="any other name, for instance `session:42`")


def tree_name(root: str) -> str:
    """Return the name of a work tree as text, whatever bytes it is made of."""
    return os.fsencode(root).decode("utf-8", "backslashreplace")


def appointment(root: str, subject: str | None, policy: str = "") -> dict[str, dict[str, Any]]:
    """Return what an event has as `latest`, so that calls in a work tree count for a subject, under a policy file.

    `root` is the real path of the tree, as it was when it was made: whoever works there could put a link in its place.
    Without a subject, the work tree is its own again.
    """
    there = None if subject is None else {"subject": subject, "policy": tree_name(policy)}
    return {WORKTREES: {tree_name(root): there}}


def appointed(root: str, ledger: Ledger) -> tuple[str, str, str] | None:
    """Return the work tree around a folder that the ledger has another subject for, that subject, and the policy file.

    Whoever makes a repository, or a policy, further below does not get away from it.

    Raises:
        ForgedRecord: What the ledger has is neither.
    """
    here = root
    while (found := ledger.latest(WORKTREES, tree_name(here))) is None:
        above = os.path.dirname(here)  # noqa: PTH120
        if above == here:
            return None
        here = above
    subject, policy = found.get("subject"), found.get("policy")
    if not (isinstance(subject, str) and subject and isinstance(policy, str) and os.path.isabs(policy)):  # noqa: PTH117
        raise ForgedRecord(f"what the ledger has of the work tree `{tree_name(here)}` is no subject with a policy")
    return here, subject, policy
