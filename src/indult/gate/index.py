"""Where requests are found: views of the ledger that follow from how each request stands, and prove nothing.

| scope | key | value | holds |
|---|---|---|---|
| `live:SUBJECT` | request | `version`, `expires_at` | requests on which an approval stands |
| `open:SUBJECT` | request | `version`, `expires_at` | requests that wait for an answer |
| `requests` | request | `subject`, `title`, `opened_at` | the same, of all subjects |
| `asked:SUBJECT` | digest of kind and targets | `request` | the last request for these targets |
| `grants` | grant | `request` | the request behind a grant, dead ones too |

The first three lose their entry when there is nothing left to decide or to open, so that finding what is live takes as
long after a million dead requests as after none. Whatever is found is folded from its own stream before it counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from indult.canonical import digest

if TYPE_CHECKING:
    from indult.approvals import HumanDecision, Standing
    from indult.scopes import Scope

__all__ = ["GRANTS", "OPEN", "asked", "asked_key", "entries", "live", "of_grant", "opened"]

OPEN: Final = "requests"
"""The scope that holds the open requests of all subjects."""

GRANTS: Final = "grants"
"""The scope that holds which request a grant is of."""


def live(subject: str) -> str:
    """Return the scope of the requests of a subject on which an approval stands."""
    return f"live:{subject}"


def opened(subject: str) -> str:
    """Return the scope of the requests of a subject that wait for an answer."""
    return f"open:{subject}"


def asked(subject: str) -> str:
    """Return the scope that finds the last request of a subject for some targets."""
    return f"asked:{subject}"


def asked_key(kind: str, scope: Scope) -> str:
    """Return the key of a request among those of its subject: what it asks for, in whatever order."""
    return digest({"kind": kind, "targets": sorted(scope.targets)})


def entries(standing: Standing) -> dict[str, dict[str, Any]]:
    """Return what the views say of a request that stands like this."""
    from indult.approvals import RequestState

    request = standing.request
    subject = request.scope.subject
    is_open = standing.state is RequestState.OPEN
    shown = {"subject": subject, "title": request.scope.title, "opened_at": request.opened_at}
    waiting = {"version": standing.version, "expires_at": request.expires_at}
    grant = standing.grant
    granted = None if grant is None else {"version": standing.version, "expires_at": grant.expires_at}
    return {
        live(subject): {request.id: granted},
        opened(subject): {request.id: waiting if is_open else None},
        OPEN: {request.id: shown if is_open else None},
    }


def of_grant(decision: HumanDecision) -> dict[str, dict[str, Any]]:
    """Return what the views say of the grant that a decision opens."""
    from indult.approvals import Choice

    return {GRANTS: {decision.grant: {"request": decision.request}}} if decision.choice is Choice.APPROVE else {}
