"""How requests, decisions and grants are shown: as text in which nothing can mislead, and as JSON."""

from __future__ import annotations

import re
import sys
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import click

from indult.approvals import Choice, Grant, HumanDecision, RequestState, Standing, Via
from indult.canonical import canonical
from indult.cli.frame import emit, printable
from indult.cli.law import policy_in_force
from indult.errors import IndultError, LedgerReadOnly, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from indult.boundary import Boundary
    from indult.gate import Requests
    from indult.ledger import Ledger
    from indult.policy import Policy
    from indult.scopes import Scope

__all__ = [
    "NOTHING",
    "UNNAMED",
    "Paragraphs",
    "age",
    "card_lines",
    "decision_lines",
    "grant_data",
    "grant_line",
    "moment",
    "paragraphs",
    "reading",
    "request_line",
    "row",
    "signing",
    "standing_data",
    "standing_lines",
    "tell_damaged",
    "tell_nothing",
    "unsigned_note",
]

UNNAMED: Final = "nothing: no exception is named, so whatever the answer is, name the one change and ask again"
"""What whoever hands back without naming an exception is told."""

NOTHING: Final = "nothing: no exception is named, so the answer only says which way to go"
"""What a person is told whom such a hand-back asks."""

_COMMIT: Final = "all in it that needs approval, and nothing once it is another commit"
_MANIFEST: Final = "at a ship, in it only the entry below and what needs no approval"

_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_DURATION: Final = re.compile(r"(?:[0-9]{1,9}[smhdw])+")
_OFFSET: Final = re.compile(r"(?:[Zz]|[+-]\d\d:\d\d)\Z")


@contextmanager
def reading(db: str | None, policy: str | None, *, create: bool = False) -> Iterator[tuple[Ledger, Requests, Policy]]:
    """Open the requests of a ledger to read them; with `create`, make the ledger where none is."""
    from indult.gate import Requests
    from indult.ledger import open_ledger

    law = policy_in_force(policy, db)
    if create:
        with suppress(LedgerReadOnly):
            open_ledger(db).close()
    with open_ledger(db, read_only=True) as ledger:
        yield ledger, Requests(ledger, law), law


def moment(text: str, now: str) -> str:
    """Return the time that `2h` (from `now` on) or an RFC 3339 text means, as the ledger writes times.

    Raises:
        UsageError: It is neither, or not after `now`.
    """
    try:
        if _DURATION.fullmatch(text):
            seconds = sum(int(number) * _UNITS[unit] for number, unit in re.findall(r"(\d+)(\D)", text))
            at: datetime | None = datetime.fromisoformat(now) + timedelta(seconds=seconds)
        else:
            at = datetime.fromisoformat(text).astimezone(UTC) if _OFFSET.search(text) else None
    except (ValueError, OverflowError):
        at = None
    if at is None:
        raise UsageError(f"`{text}` is no time to end at", hint="30m, 2h, 7d, or 2030-01-31T12:00:00Z")
    shown = at.isoformat(timespec="microseconds")[:26] + "Z"
    if shown <= now:
        raise UsageError(f"`{text}` is over already")
    return shown


def age(since: str, now: str) -> str:
    """Return how long ago `since` was, in its largest unit: `5s`, `3m`, `2h`, `4d`."""
    seconds = max(0, int((datetime.fromisoformat(now) - datetime.fromisoformat(since)).total_seconds()))
    unit = next(unit for unit in ("d", "h", "m", "s") if seconds >= _UNITS[unit] or unit == "s")
    return f"{seconds // _UNITS[unit]}{unit}"


def signing(standing: Standing, policy: Policy) -> str:
    """Return `signed` or `unsigned`: how the approvals on a request are, or how one would be."""
    if standing.approved_by:
        return "signed" if standing.signed else "unsigned"
    return "signed" if policy.approvers else "unsigned"


def unsigned_note(policy: Policy) -> list[str]:
    """Return the line that says what an unsigned decision is worth, unless the policy declares approvers."""
    if policy.approvers:
        return []
    return ["decisions are unsigned: whoever can write the ledger can approve"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Paragraphs:
    """The paragraphs of the brief that change with the grant of a request: as they are without it, and with it."""

    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"before": list(self.before), "after": list(self.after)}


def paragraphs(boundary: Boundary, standing: Standing, *, by: str) -> Paragraphs:
    """Return what approving a request changes in the brief of its subject; nothing for one that is closed.

    `boundary` is the one in force now. `by` stands for the approver as long as there is none.
    """
    if standing.state.closed:
        return Paragraphs()
    grant = standing.grant or _as_if(standing, by)
    others = tuple(one for one in boundary.grants if one.request != standing.request.id)
    before = _split(replace(boundary, grants=others).text())
    after = _split(replace(boundary, grants=(*others, grant)).text())
    return Paragraphs(
        before=tuple(part for part in before if part not in after),
        after=tuple(part for part in after if part not in before),
    )


def _as_if(standing: Standing, by: str) -> Grant:
    """Return the grant that an approval by `by` would open."""
    request = standing.request
    decision = HumanDecision(
        id="d_", request=request.id, choice=Choice.APPROVE, digest=request.digest, seen=standing.seen,
        by=by, via=Via.CLI, at=request.opened_at,
    )  # fmt: skip
    return Grant(
        id=decision.grant, request=request.id, scope=request.scope, decision=decision,
        uses_left=request.scope.max_uses, expires_at=request.scope.expires_at,
    )  # fmt: skip


def _split(text: str) -> list[str]:
    """Split the text of a boundary into the sentences of its rules, each as one paragraph."""
    return [part.removeprefix("- ") for part in re.split(r"\n\n|\n(?=- )", text)]


def request_line(standing: Standing, policy: Policy, now: str) -> str:
    """Return the line of a list: id, age, state, signed or not, subject and title."""
    request = standing.request
    return printable(
        f"{request.id}  {age(request.opened_at, now):>4}  {standing.state:<10}  {signing(standing, policy):<8}"
        f"  {request.scope.subject}  {request.scope.title}"
    )


def row(standing: Standing, policy: Policy) -> dict[str, Any]:
    """Return a request as the JSON line of a list."""
    request = standing.request
    return {
        "id": request.id,
        "kind": request.kind,
        "subject": request.scope.subject,
        "title": request.scope.title,
        "state": str(standing.state),
        "opened_at": request.opened_at,
        "requested_by": request.requested_by,
        "digest": request.digest,
        "seen": standing.seen,
        "signing": signing(standing, policy),
        "approved_by": list(standing.approved_by),
        "wanted": standing.wanted,
    }


def standing_data(standing: Standing, policy: Policy, changes: Paragraphs) -> dict[str, Any]:
    """Return all there is to know of a request as JSON: the row of a list, and the records behind it."""
    return {
        **row(standing, policy),
        "request": standing.request.to_dict(),
        "scope_digest": standing.request.scope.digest,
        "decisions": [{**one.to_dict(), "signed": one.signature is not None} for one in standing.decisions],
        "refused": list(standing.refused),
        "guidance": standing.guidance,
        "uses_left": standing.uses_left,
        "reservations": dict(standing.reservations),
        "superseded_by": standing.superseded_by,
        "withdrawn": standing.withdrawn,
        "brief": changes.to_dict(),
        "grant": grant_data(standing.grant) if standing.grant is not None else None,
    }


def standing_lines(standing: Standing, policy: Policy, changes: Paragraphs, now: str) -> Iterator[str]:
    """Yield all that a person has to see of a request before answering it."""
    request, scope = standing.request, standing.request.scope
    yield f"{printable(request.id)}  {_state(standing)}"
    yield from _field("question", request.question)
    yield from _field("asked by", f"{request.requested_by}, {age(request.opened_at, now)} ago ({request.opened_at})")
    yield from _field("subject", scope.subject)
    yield from _field("title", scope.title)
    yield from _field("change", scope.change)
    yield from _opens(scope)
    yield from _field("under", ", ".join(scope.rules) or "no rule")
    if scope.targets:
        yield from _field("uses", _uses(standing))
    yield from _field("expires", scope.expires_at or "never")
    if request.expires_at is not None and request.expires_at != scope.expires_at:
        yield from _field("answer by", request.expires_at)
    for entry in card_lines(request.card):
        # Whoever asks names the entries of a card: none of them may pass for a field.
        yield from _field("card", entry)
    if request.supersedes is not None:
        yield from _field("supersedes", request.supersedes)
    for one in standing.decisions:
        yield from decision_lines(one)
    for line in standing.refused:
        yield from _field("void", line)
    if standing.grant is not None:
        yield from _field("grant", grant_line(standing.grant))
    if request.policy != policy.digest:
        yield from _field("policy", "another one now than when this was asked")
    yield from _field("digest", request.digest)
    yield from _field("seen", str(standing.seen))
    if not standing.state.closed:
        yield from _paragraph_lines(changes)
        yield from (printable(line) for line in unsigned_note(policy))


def card_lines(card: Mapping[str, Any]) -> Iterator[str]:
    """Yield the entries of a card as text: one for each of a list or an object of texts, JSON for what else there is."""
    for name, value in card.items():
        if isinstance(value, str):
            yield f"{name}: {value}"
        elif isinstance(value, dict) and value and all(isinstance(one, str) for one in value.values()):
            yield from (f"{name}, {key}: {one}" for key, one in value.items())
        elif isinstance(value, list) and value and all(isinstance(one, str) for one in value):
            yield from (f"{name}: {one}" for one in value)
        else:
            yield f"{name}: {canonical(value)}"


def tell_damaged(errors: Iterable[IndultError], *, as_json: bool) -> None:
    """Print what is wrong with records that open nothing since they are damaged; the others are shown all the same."""
    for exc in errors:
        if as_json:
            emit({"error": exc.message})
        else:
            click.echo(printable(f"damaged: {exc.message}"))


def tell_nothing(what: str, subject: str | None) -> None:
    """Say to a person at a terminal that a list is empty; whoever reads the list gets nothing, as it holds nothing."""
    if sys.stderr.isatty():
        click.echo(printable(what if subject is None else f"{what} of `{subject}`"), err=True)


def decision_lines(decision: HumanDecision) -> Iterator[str]:
    """Yield one decision: what, who, when, whether it is signed, how it narrows, and its note."""
    limits = [f"{decision.uses} uses"] if decision.uses is not None else []
    limits += [f"until {decision.expires_at}"] if decision.expires_at is not None else []
    sign = "signed" if decision.signature is not None else "unsigned"
    yield from _field(
        "decided",
        ", ".join([f"{decision.choice} by {decision.by} ({sign}) via {decision.via} at {decision.at}", *limits]),
    )
    if decision.note:
        yield from _field("note", decision.note)


def grant_line(grant: Grant) -> str:
    """Return the line of a list of grants: id, uses left, expiry, approver, subject and title."""
    sign = "signed" if grant.signed else "unsigned"
    left = f"{grant.uses_left} of {grant.scope.max_uses} uses left"
    return printable(
        f"{grant.id}  {left}, expires {grant.expires_at or 'never'}  {sign} by {grant.decision.by}"
        f"  {grant.scope.subject}  {grant.scope.title}"
    )


def grant_data(grant: Grant) -> dict[str, Any]:
    """Return a live grant as JSON."""
    return {
        "id": grant.id,
        "request": grant.request,
        "subject": grant.scope.subject,
        "title": grant.scope.title,
        "targets": list(grant.scope.targets),
        "rules": list(grant.scope.rules),
        "scope_digest": grant.scope.digest,
        "uses_left": grant.uses_left,
        "max_uses": grant.scope.max_uses,
        "expires_at": grant.expires_at,
        "by": grant.decision.by,
        "signed": grant.signed,
        "at": grant.at,
    }


def _opens(scope: Scope) -> Iterator[str]:
    """Yield what approving a request opens, each target on a line of its own."""
    entries = {target[: target.find("#") + 1] for target in scope.targets if target.startswith("entry:")}
    if not scope.targets:
        yield from _field("opens", NOTHING)
    for target, word in zip(scope.targets, scope.words(), strict=True):
        yield from _field("opens", word)
        if word != target:
            yield from _field("", target)
        elif target.startswith("commit:"):
            yield from _field("", _COMMIT)
        elif target.startswith("write:") and f"entry:{target.removeprefix('write:')}#" in entries:
            yield from _field("", _MANIFEST)


def _state(standing: Standing) -> str:
    """Return the state and what belongs to it."""
    if standing.state is RequestState.SUPERSEDED:
        return f"{standing.state} by {printable(str(standing.superseded_by))}"
    if standing.state is RequestState.WITHDRAWN:
        return f"{standing.state}: {printable(str(standing.withdrawn))}"
    if standing.state is RequestState.OPEN and standing.wanted > 1:
        return f"{standing.state}, {len(standing.approved_by)} of {standing.wanted} approvals"
    return str(standing.state)


def _uses(standing: Standing) -> str:
    most = standing.request.scope.max_uses
    return f"{standing.uses_left} of {most} left"


def _field(name: str, text: str) -> Iterator[str]:
    """Yield a field under its name; a text of several lines keeps them, indented, so that none passes for a field."""
    for number, line in enumerate(text.split("\n")):
        yield f"  {printable(name) if number == 0 else '':<10} {'' if number == 0 else '| '}{printable(line)}".rstrip()


def _paragraph_lines(changes: Paragraphs) -> Iterator[str]:
    if not changes.before and not changes.after:
        yield "the brief is the same without it and with it"
        return
    for heading, paragraphs in (("the brief without it:", changes.before), ("the brief with it:", changes.after)):
        yield heading
        for paragraph in paragraphs or ("(nothing of it changes)",):
            yield from ("  " + printable(line) for line in paragraph.split("\n"))
