"""Ships on their way: the record that one began, and what became of it when nobody lived to say so.

A landing has an effect outside the ledger, so it is two transactions: *started* (judgement, the uses of grants that it
relies on, the commit that is about to land) and *landed* or *undone*. Whoever ships next into the same repository finds
what was left between the two and asks the target's history what became of it.

Ledger: stream of the subject, kinds `ship_started {ship, repository, branch, into, head, onto, commit, reservations}`,
`ship_landed {ship, commit}`, `ship_undone {ship, why}`; views `ships:DIGEST` of the repository, one entry per open ship,
and `landed`, commit to ship.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from indult.canonical import digest_text
from indult.errors import ForgedRecord, ReplayedDecision, ShipError
from indult.ledger import Draft

if TYPE_CHECKING:
    from indult.gate import Requests
    from indult.ledger import Ledger
    from indult.ship.git import Repository

__all__ = ["GRANT", "LANDED", "Intent", "bring_along", "landed", "recover", "reservations", "started", "undo"]

GRANT: Final = "Indult-Grant"
"""The trailer of a landing commit that names a grant it used up, and the ledger position of its decision."""


LANDED: Final = "landed"
"""The view that finds the ship of a commit that landed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """A landing that began: `commit` takes the place of `onto` as the tip of `into`, which brings in `head`.

    `reservations` are the uses of grants that it took.
    """

    ship: str
    repository: str
    branch: str
    into: str
    head: str
    onto: str
    commit: str
    reservations: tuple[str, ...] = ()


def started(intent: Intent, stream: str) -> Draft:
    """Return the event that a landing begins with."""
    data: dict[str, Any] = asdict(intent) | {"reservations": list(intent.reservations)}
    return Draft(stream, "ship_started", {**data, "latest": _view(intent, {"stream": stream})})


def landed(intent: Intent, stream: str) -> Draft:
    """Return the event that says that it landed."""
    views = _view(intent, None) | {LANDED: {intent.commit: {"ship": intent.ship}}}
    return Draft(stream, "ship_landed", {"ship": intent.ship, "commit": intent.commit, "latest": views})


def undo(intent: Intent, stream: str, why: str, *, requests: Requests, ledger: Ledger) -> None:
    """Give back what a ship had reserved, since nothing of it landed, and record that.

    The uses come first: if nobody lives to record the rest, it is done again, and what was returned counts once.
    """
    for reservation in intent.reservations:
        try:
            requests.not_started(reservation, why)
        except ReplayedDecision:
            continue
    data = {"ship": intent.ship, "why": why, "latest": _view(intent, None)}
    ledger.append(Draft(stream, "ship_undone", data))


def recover(repository: Repository, into: str, *, requests: Requests, ledger: Ledger) -> list[tuple[Intent, bool]]:
    """Close every ship into this repository that was left open, and return each with whether it had landed.

    The caller holds the lock of the repository, so none of them is still on its way. One into another branch than `into`
    whose end cannot be told, since its branch is none any more, stays open and keeps nobody else from landing.

    Raises:
        ShipError: Of a ship into `into` it cannot be told whether it landed.
        ForgedRecord: The view leads to a ship that no stream tells of.
    """
    found = []
    for ship, entry in sorted(ledger.recall(_scope(repository.common)).items()):
        stream = str(entry.get("stream"))
        intent = _find(ledger, stream, ship)
        try:
            tip = repository.tip(intent.into)
            has_landed = tip is not None and repository.contains(tip, intent.commit)
        except ShipError as exc:
            if intent.into != into:
                continue
            raise ShipError(
                f"whether the ship `{ship}` of `{intent.branch}` into `{into}` landed cannot be told: {exc.message}",
                hint=exc.hint,
            ) from exc
        if has_landed:
            if tip == intent.commit:
                bring_along(repository, intent)
            ledger.append(landed(intent, stream))
        else:
            undo(intent, stream, "the ship ended before it landed", requests=requests, ledger=ledger)
        found.append((intent, has_landed))
    return found


def bring_along(repository: Repository, intent: Intent) -> tuple[str, ...]:
    """Bring the work trees that have the target checked out to what landed; return those that had to be left behind."""
    return tuple(
        worktree
        for worktree in repository.worktrees(intent.into)
        if not repository.sync(worktree, intent.onto, intent.commit)
    )


def _find(ledger: Ledger, stream: str, ship: str) -> Intent:
    for event in ledger.events(stream, kinds={"ship_started"}, newest_first=True):
        if event.data.get("ship") == ship:
            values = {name: event.data[name] for name in Intent.__dataclass_fields__}
            return Intent(**{**values, "reservations": tuple(values["reservations"])})
    raise ForgedRecord(f"the ledger has no record of the ship `{ship}`", hint="run `indult log verify`")


def _view(intent: Intent, value: dict[str, Any] | None) -> dict[str, dict[str, Any]]:
    return {_scope(intent.repository): {intent.ship: value}}


def _scope(repository: str) -> str:
    return f"ships:{digest_text(repository)}"


def reservations(drafts: Sequence[Draft]) -> tuple[str, ...]:
    """Return the uses of grants among the events that are about to be written."""
    return tuple(str(draft.data["reservation"]) for draft in drafts if draft.kind == "reserved")
