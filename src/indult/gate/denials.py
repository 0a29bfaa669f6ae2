"""Denials as state: how often the same was refused to a subject, so that the third answer is not the first again.

Every action is judged anew each time. What is the same about two refused ones is the digest of what may not go ahead in
them, by its exact names, of the rules that say so, of the facts that these read, and of the policy; the spelling does
not count.

| view | scope | key | holds |
|---|---|---|---|
| counter | `denials:SUBJECT` | that digest | how often it was refused |
| latest | `denials:SUBJECT` | that digest | from the third time on: `count`, `session`, `actor`, `rules`, `targets` |

Both follow from the event of the judgement. Whoever reports a refusal that was repeated takes it out of `latest`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from indult.canonical import digest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from indult.boundary import Fault
    from indult.judgements import Judgement
    from indult.ledger import Ledger

__all__ = ["REPEATED", "denials", "reported", "views"]

REPEATED: Final = 3
"""From which refusal of the same on an agent is told to stop and hand back."""

_SHOWN: Final = 5
"""How many targets are kept of what was refused repeatedly."""

_LONGEST: Final = 200
"""How much of such a target is kept."""


def denials(subject: str) -> str:
    """Return the scope that counts what was refused to a subject."""
    return f"denials:{subject}"


def key(judgement: Judgement, faults: Iterable[Fault], policy: str) -> str:
    """Return what is the same about two refusals of the same under a policy of this digest."""
    targets = sorted({fault.target for fault in faults if fault.verdict is judgement.verdict})
    same = {"targets": targets, "rules": list(judgement.rules), "read": _plain(judgement.read), "policy": policy}
    return digest(same)


def views(
    ledger: Ledger,
    subject: str,
    judgement: Judgement,
    faults: tuple[Fault, ...],
    *,
    policy: str,
    actor: str,
    session: str | None,
) -> tuple[dict[str, Any], int]:
    """Return what a refusal adds to the data of its event, and how often the same was refused, this time included."""
    scope, name = denials(subject), key(judgement, faults, policy)
    count = int(ledger.counter(scope, name)) + 1
    data: dict[str, Any] = {"counts": {scope: {name: 1}}}
    if count >= REPEATED:
        targets = [fault.target[:_LONGEST] for fault in faults if fault.verdict is judgement.verdict][:_SHOWN]
        entry = {"count": count, "session": session or "", "actor": actor, "rules": list(judgement.rules)}
        data["latest"] = {scope: {name: {**entry, "targets": targets}}}
    return data, count


def reported(subject: str, names: Iterable[str]) -> dict[str, Any]:
    """Return what an event adds to its data that reports these refusals: they are not reported twice."""
    return {"latest": {denials(subject): dict.fromkeys(names)}}


def _plain(read: Mapping[str, Any]) -> dict[str, Any]:
    """Return facts as JSON: a value of another type, such as a time, by its text."""
    known = (str, int, float, bool, list, dict, type(None))
    return {name: value if isinstance(value, known) else str(value) for name, value in read.items()}
