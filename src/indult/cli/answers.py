"""What a person can answer to a request, and what becomes of a signal by each answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from indult.approvals import Choice, RequestState
from indult.cli.frame import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from indult.approvals import Standing
    from indult.gate import Requests

__all__ = ["answer_lines", "lead", "waiting"]

_OPTIONS: Final = {Choice.DISCUSS: " --note TEXT"}
"""What an answer takes besides the id of the request."""

_NEXT: Final = "`indult autofix run` or `resume`"


def waiting(requests: Requests, standing: Standing) -> bool:
    """Tell whether a signal waits for the answer to this request, and goes on by it."""
    from indult.ship.report import signal_of

    subject = standing.request.scope.subject
    name = signal_of(subject)
    if name is None:
        return False
    from indult.autofix.signals import SignalState, find
    from indult.autofix.triage import handed_back
    from indult.errors import UnknownSignal

    try:
        signal = find(requests.ledger, name)
    except UnknownSignal:
        return False  # handed back by somebody who works without `indult autofix`
    if signal.state is not SignalState.NEEDS_HUMAN:
        return False
    newest = handed_back(requests, subject)
    return newest is not None and newest.request.id == standing.request.id


def lead(standing: Standing, choice: Choice) -> str:
    """Return what an answer makes of the signal that waits for it."""
    targets = standing.request.scope.targets
    match choice:
        case Choice.DISCUSS:
            return f"{_NEXT} takes the signal up with your words"
        case Choice.REJECT:
            return f"{_NEXT} leaves the signal alone: it is ignored from then on"
        case Choice.APPROVE if not targets:
            return f"{_NEXT} takes the signal up again, and nothing more is open to it than now"
        case Choice.APPROVE if targets[0].startswith("commit:"):
            return f"{_NEXT} lands exactly this commit, if its checks pass"
        case _:
            return f"{_NEXT} takes the signal up with exactly this open to it"


def answer_lines(standing: Standing, *, waits: bool) -> Iterator[str]:
    """Yield how an open request is answered; where a signal `waits` for it, what each answer leads to."""
    if standing.state is not RequestState.OPEN:
        return
    request = standing.request
    for number, choice in enumerate(request.choices):
        command = f"indult {choice} {request.id}{_OPTIONS.get(choice, '')}"
        yield printable(f"  {'' if number else 'answer':<10} {command}")
        if waits:
            yield f"{'':<15}{lead(standing, choice)}"
