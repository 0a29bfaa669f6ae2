"""Subjects: whose judgements a stream of the ledger keeps."""

from __future__ import annotations

from typing import Final

from indult.errors import InputError

__all__ = ["check_subject"]

_OWN: Final = ("request:", "requests:", "trust:", "policy:", "memory:")
"""How the names of streams begin that keep other records than judgements."""


def check_subject(subject: str) -> None:
    """Refuse a subject whose judgements would be written among the ledger's own records.

    Raises:
        InputError: It is the name of such a stream, or empty.
    """
    if not subject or subject == "ledger" or subject.startswith(_OWN):
        raise InputError(f"`{subject}` cannot be a subject", hint="any other name, for instance `session:42`")
