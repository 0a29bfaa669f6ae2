"""Requests: opened by the gate and by agents, answered by people, used up by judgements.

Each request has a stream of its own (`request:ID`), and how it stands is the fold over that stream. Every change names
the version of the stream that it saw; whoever was slower reads again and decides anew.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, TypeVar

from indult.actions import Action
from indult.approvals import ApprovalRequest, Grant, HumanDecision, RequestState, Standing, Verify, request_stream
from indult.boundary import Boundary
from indult.canonical import parse_json
from indult.errors import (
    ForgedRecord,
    IneffectiveRequest,
    InputError,
    LedgerConflict,
    ReplayedDecision,
    ScopeError,
    UnknownRequest,
)
from indult.gate import index
from indult.gate.deciding import check_apart, check_decision, check_origin, gone
from indult.gate.marks import Mark, mark_of
from indult.gate.records import Folded, Live, Records, timed_out
from indult.gate.subjects import AT_WORK, check_subject
from indult.gate.times import check_time
from indult.ids import new_id
from indult.ledger import Draft, Event, Ledger, mask, mask_text, utc_now
from indult.policy import Policy
from indult.scopes import Scope, check_line

__all__ = ["Opening", "Requests", "asked_stream"]

_ATTEMPTS: Final = 1000
"""How often a write is tried again. Each conflict means that somebody else got ahead, so this many mean a defect."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """A request that is open already (`drafts` is empty), or what has to be appended to open it."""

    request: str
    standing: Standing
    drafts: tuple[Draft, ...] = ()
    expect: Mapping[str, int] = field(default_factory=dict)


def asked_stream(subject: str) -> str:
    """Return the name of the stream that keeps which requests a subject opened, in order."""
    return f"requests:{subject}"


class Requests:
    """All that reads and writes requests in a ledger.

    `clock` gives the present, `new_id` the id of a request, `verify` tells whether a signature is good, and `mark` is
    the high-water mark of the ledger; what is not given is the real one.
    """

    def __init__(
        self,
        ledger: Ledger,
        policy: Policy,
        *,
        clock: Callable[[], str] = utc_now,
        new_id: Callable[[], str] | None = None,
        verify: Verify | None = None,
        mark: Mark | None = None,
    ) -> None:
        self.ledger = ledger
        self.policy = policy
        self._new_id = new_id or _fresh_id
        self._mark = mark if mark is not None else mark_of(ledger)
        self._records = Records(ledger, policy, clock=clock, verify=verify or _verify, mark=self._mark)

    def standing(self, request: str) -> Standing:
        """Return how a request stands now.

        Raises:
            UnknownRequest: There is none of that id.
            ForgedRecord: Its stream is not what its chain says.
        """
        return self._records.fold(request, self._records.now()).standing

    def live(self, subject: str) -> tuple[Grant, ...]:
        """Return the live grants of a subject, by id, each folded afresh from its request's verified stream.

        A record that was forged opens nothing; `forged` tells of it.
        """
        return self.look(subject).grants

    def look(self, subject: str) -> Live:
        """Return all that the index of live requests of a subject leads to."""
        return self._records.live(subject)

    def forged(self, subject: str | None = None) -> tuple[ForgedRecord, ...]:
        """Return what is wrong with the records that the indexes of a subject lead to; of all, those that are open."""
        found = () if subject is None else self._records.live(subject).forged
        return (*found, *self._records.pending(subject)[1])

    def pending(self, subject: str | None = None) -> list[Standing]:
        """Return the requests that wait for an answer, those of one subject or all, oldest first."""
        return self._records.pending(subject)[0]

    def last(self, subject: str) -> Standing | None:
        """Return how the request stands that a subject opened last, if it ever opened one."""
        asked = self.ledger.last(asked_stream(subject), "asked")
        return None if asked is None else self.standing(str(asked.data["request"]))

    def grant(self, grant: str) -> Standing:
        """Return how the request behind a grant stands.

        Raises:
            UnknownRequest: No decision opened such a grant.
        """
        return self._of_grant(grant, self._records.now()).standing

    def open(
        self,
        scope: Scope,
        *,
        boundary: Boundary,
        requested_by: str,
        kind: str = "call",
        question: str | None = None,
        card: Mapping[str, Any] | None = None,
        expires_at: str | None = None,
        action: Action | None = None,
        facts: Mapping[str, Any] | None = None,
        supersede: bool = False,
    ) -> Standing:
        """Ask a person to open `scope`, and return how the request stands.

        An open request for the same targets is returned instead of a second one, and so is one that was rejected
        under the same policy: nobody is asked twice. With `supersede` a new one takes the place of all of the same
        subject and kind that are open or approved, unless it says exactly the same.

        Raises:
            IneffectiveRequest: Approving it would not open all that it names.
            ScopeError: It cannot be shown or kept as it is.
        """

        def attempt() -> Standing:
            opening = self.opening(
                scope,
                boundary=boundary,
                requested_by=requested_by,
                kind=kind,
                question=question,
                card=card,
                expires_at=expires_at,
                action=action,
                facts=facts,
                supersede=supersede,
            )
            if opening.drafts:
                self.note(self.ledger.append(*opening.drafts, expect=opening.expect))
                self.sweep(scope.subject)
            return opening.standing

        return self._again(attempt)

    def opening(
        self,
        scope: Scope,
        *,
        boundary: Boundary,
        requested_by: str,
        kind: str = "call",
        question: str | None = None,
        card: Mapping[str, Any] | None = None,
        expires_at: str | None = None,
        action: Action | None = None,
        facts: Mapping[str, Any] | None = None,
        supersede: bool = False,
    ) -> Opening:
        """Return what `open` would append, for a caller who opens it in a transaction of its own."""
        check_subject(scope.subject)
        for when in (scope.expires_at, expires_at):
            check_time(when)
        opened, reasons = boundary.opens(scope, action, facts)
        if reasons:
            raise IneffectiveRequest(
                f"approving this would not open all of it: {'; '.join(reasons)}",
                hint="name targets that the rules ask about; what a rule denies, no approval can open",
            )
        _check_visible(opened, requested_by)
        subject = opened.subject
        stream = asked_stream(subject)
        seen = self.ledger.head(stream)[0]
        now = self._records.now()
        older = self._asked(kind, opened, now)
        request = ApprovalRequest(
            id=self._new_id(),
            kind=kind,
            scope=opened,
            question=question or _question(opened),
            requested_by=requested_by,
            opened_at=now,
            card=dict(card or {}),
            expires_at=expires_at,
            policy=self.policy.digest,
        )
        if older is not None and _answers(older.standing, request, supersede=supersede):
            return Opening(request=older.standing.request.id, standing=older.standing)
        replaced = self._replaced(request, older, now, supersede=supersede)
        kept = _kept(replace(request, supersedes=replaced[0].standing.request.id if replaced else None))
        data = {"request": kept.to_dict()}
        standing = self._records.begun(kept.id, data, now)
        views = index.entries(standing) | {
            index.asked(subject): {index.asked_key(kind, opened): {"request": kept.id}},
        }
        drafts = [
            Draft(stream, "asked", {"request": kept.id}),
            Draft(request_stream(kept.id), "request_opened", {**data, "latest": views}),
        ]
        expect = {stream: seen}
        for folded in replaced:
            draft, version = self._change(folded, "superseded", {"by": kept.id}, now)
            drafts.append(draft)
            expect[draft.stream] = version
        expect[request_stream(kept.id)] = 0
        return Opening(request=kept.id, standing=standing, drafts=tuple(drafts), expect=expect)

    def decide(self, decision: HumanDecision) -> Standing:
        """Record what a person answered, and return how the request stands then.

        Raises:
            UnknownRequest: There is no such request.
            StaleDecision: It was shown something else than what stands there.
            SupersededRequest: A newer request took its place.
            RevokedGrant: What it once opened was taken back.
            WithdrawnRequest: What it is about came to its end without an answer.
            ExpiredRequest: The time to decide, or to use what would be opened, is over.
            ReplayedDecision: It was made before, or what it opened is used already.
            SelfMadeDecision: Whoever asked cannot answer.
            UnentitledApprover: The policy does not name the decider, or whoever works on what it is about could be it.
            BadSignature: The signature is missing, or is not the decider's.
            OvertakenDecision: Somebody decided since the decider looked.
            ForgedRecord: The records of the request, or the whole ledger, are not what they were.
        """

        def attempt() -> Standing:
            if self._mark is not None:
                self._mark.check(self.ledger)
            now = self._records.now()
            folded = self._records.fold(decision.request, now)
            other = self._request_of(decision.grant)
            if other not in {None, decision.request}:
                raise ReplayedDecision(
                    f"decision `{decision.id}` was made before, on request `{other}`",
                    hint="a new answer needs a new id",
                )
            check_decision(decision, folded.standing, self.policy, now=now, verify=self._records.verify)
            check_apart(decision, folded.standing.request.scope, self.ledger.recall(AT_WORK))
            return self._write(folded, "decided", {"decision": decision.to_dict()}, now, index.of_grant(decision))

        return self._again(attempt)

    def reserve(self, grants: Iterable[Grant | str], *, action: Action, by: str) -> tuple[list[Draft], dict[str, int]]:
        """Return what uses each of these grants, or ids of grants, once, to be appended together with the judgement.

        The append must name the versions that are returned with the drafts, and hand its events to `note`. Where it
        meets a `LedgerConflict` somebody was quicker: the action has to be judged again.

        Raises:
            ApprovalError: A grant is not live; the class says what became of it.
        """
        now = self._records.now()
        drafts: list[Draft] = []
        expect: dict[str, int] = {}
        named = {
            one if isinstance(one, str) else one.id: None if isinstance(one, str) else one.request for one in grants
        }
        for grant, request in sorted(named.items()):
            folded = self._of_grant(grant, now, request)
            found = folded.standing
            if found.grant is None or found.grant.id != grant:
                raise gone(grant, found)
            reservation = f"{found.request.id}.{found.version + 1}"
            data = {"reservation": reservation, "grant": grant, "action": action.digest, "by": by}
            draft, version = self._change(folded, "reserved", data, now)
            drafts.append(draft)
            expect[draft.stream] = version
        return drafts, expect

    def not_started(self, reservation: str, why: str) -> Standing:
        """Give one use back, since what was reserved for never began.

        Raises:
            UnknownRequest: There is no such reservation.
            ReplayedDecision: It was returned before.
        """

        def attempt() -> Standing:
            now = self._records.now()
            folded = self._records.fold(reservation.rpartition(".")[0], now)
            if reservation not in folded.standing.reservations:
                made = [e for e in folded.events if e.kind == "reserved" and e.data["reservation"] == reservation]
                if made:
                    raise ReplayedDecision(f"reservation `{reservation}` was returned before", hint="it counts once")
                raise UnknownRequest(f"there is no reservation `{reservation}`")
            return self._write(folded, "returned", {"reservation": reservation, "why": why}, now)

        return self._again(attempt)

    def revoke(self, grant: str, *, by: str, note: str = "") -> Standing:
        """Take a grant back, whatever is left of it, and return how its request stands then.

        Raises:
            UnknownRequest: No decision opened such a grant.
            RevokedGrant: It was taken back before.
            SupersededRequest: Its request was superseded, which took it back.
            ExpiredRequest: Its time is over.
        """

        def attempt() -> Standing:
            now = self._records.now()
            folded = self._of_grant(grant, now)
            # A spent grant can be revoked: a use that is returned must not bring it back to life.
            used_up = folded.standing.state is RequestState.SPENT
            if not used_up and (folded.standing.grant is None or folded.standing.grant.id != grant):
                raise gone(grant, folded.standing)
            data = {"grant": grant, "by": by, "at": now, "note": note}
            return self._write(folded, "revoked", data, now)

        return self._again(attempt)

    def withdraw(self, subject: str, *, why: str, kind: str | None = None) -> int:
        """Take back what a subject still asks, since its matter is over; return how many requests that were.

        These are its open requests, of one `kind` or of all, and the approved ones that name no target. A live grant
        stays, and so does a rejection. Each is closed in a transaction of its own; nobody can decide on it afterwards.

        Raises:
            ScopeError: The reason is not one plain line.
        """
        check_line(why, "reason")
        # Not from the views: they know nothing of an approval that opens nothing.
        asked = [event for event in self.ledger.events(asked_stream(subject)) if event.kind == "asked"]
        names = dict.fromkeys(str(event.data.get("request")) for event in asked)
        return sum(self._again(partial(self._withdrawn, name, subject, why, kind)) for name in names)

    def _withdrawn(self, request: str, subject: str, why: str, kind: str | None) -> bool:
        """Take back a request if it is of this subject and kind and still waits; tell whether it was."""
        now = self._records.now()
        try:
            folded = self._records.fold(request, now)
        except (UnknownRequest, ForgedRecord):
            return False  # it opens nothing; `forged` tells of it
        asked = folded.standing.request
        if asked.scope.subject != subject or kind not in {None, asked.kind} or not _waits(folded.standing):
            return False
        self._write(folded, "withdrawn", {"why": why}, now)
        return True

    def sweep(self, subject: str) -> int:
        """Write down which grants and requests of a subject are over by time, and return how many were.

        It changes nothing that holds: it keeps the index as short as what is live.
        """
        now = self._records.now()
        over = [one.request.id for one in self._records.live(subject).over]
        for request, entry in self.ledger.recall(index.opened(subject)).items():
            expires = entry.get("expires_at")
            if isinstance(expires, str) and expires <= now:
                over.append(request)
        swept = 0
        for request in over:
            try:
                folded = self._records.fold(request, now)
                if timed_out(folded.standing) and folded.events[-1].kind != "expired":
                    self._write(folded, "expired", {}, now)
                    swept += 1
            except (LedgerConflict, UnknownRequest, ForgedRecord):
                continue  # somebody else changes it, or `forged` tells of it
        return swept

    def note(self, events: Iterable[Event]) -> None:
        """Advance the high-water mark to the last of these events that belongs to a request."""
        if self._mark is None:
            return
        last = max(
            (event for event in events if event.stream.startswith("request:")),
            key=lambda event: event.position,
            default=None,
        )
        if last is not None:
            self._mark.advance(last)

    def _again(self, attempt: Callable[[], T]) -> T:
        """Make an attempt until nobody else gets ahead of it."""
        for _ in range(_ATTEMPTS - 1):
            try:
                return attempt()
            except LedgerConflict:
                continue
        return attempt()

    def _change(
        self, folded: Folded, kind: str, data: dict[str, Any], now: str, views: Mapping[str, Any] | None = None
    ) -> tuple[Draft, int]:
        """Return the draft of one more event of a request, with what it does to the views, and the version it saw."""
        standing = self._records.after(folded, kind, data, now)
        latest = index.entries(standing) | dict(views or {})
        stream = request_stream(folded.standing.request.id)
        return Draft(stream, kind, {**data, "latest": latest}), folded.standing.version

    def _write(
        self, folded: Folded, kind: str, data: dict[str, Any], now: str, views: Mapping[str, Any] | None = None
    ) -> Standing:
        draft, version = self._change(folded, kind, data, now, views)
        self.note(self.ledger.append(draft, expect={draft.stream: version}))
        return self.standing(folded.standing.request.id)

    def _of_grant(self, grant: str, now: str, request: str | None = None) -> Folded:
        """Fold the request behind a grant, `request` if it is known."""
        request = request or self._request_of(grant)
        if request is None:
            raise UnknownRequest(f"there is no grant `{grant}`", hint="`indult grants` lists those that are live")
        folded = self._records.fold(request, now)
        check_origin(grant, folded.standing)
        return folded

    def _request_of(self, grant: str) -> str | None:
        """Return the request to which the index leads from a grant."""
        found = self.ledger.latest(index.GRANTS, grant)
        return None if found is None else str(found.get("request"))

    def _asked(self, kind: str, scope: Scope, now: str) -> Folded | None:
        """Return the last request of the same subject, kind and targets."""
        found = self.ledger.latest(index.asked(scope.subject), index.asked_key(kind, scope))
        if found is None:
            return None
        try:
            folded = self._records.fold(str(found.get("request")), now)
        except (UnknownRequest, ForgedRecord):
            return None  # it opens nothing and answers nothing; `forged` tells of it
        return folded if folded.standing.request.scope.subject == scope.subject else None

    def _replaced(
        self, request: ApprovalRequest, older: Folded | None, now: str, *, supersede: bool
    ) -> tuple[Folded, ...]:
        """Return what a new request closes: the one for the same targets if it is open, and more with `supersede`."""
        found: dict[str, Folded] = {}
        if older is not None and (supersede or older.standing.state is RequestState.OPEN):
            found[older.standing.request.id] = older
        if supersede:
            subject = request.scope.subject
            for name in {**self.ledger.recall(index.opened(subject)), **self.ledger.recall(index.live(subject))}:
                try:
                    found.setdefault(name, self._records.fold(name, now))
                except (UnknownRequest, ForgedRecord):
                    continue  # it opens nothing; `forged` tells of it
        return tuple(
            folded
            for _, folded in sorted(found.items())
            if not folded.standing.state.closed
            and (folded.standing.request.kind, folded.standing.request.scope.subject)
            == (request.kind, request.scope.subject)
        )


def _waits(found: Standing) -> bool:
    """Tell whether something may still come of a request though nothing is open by it."""
    if found.state is RequestState.APPROVED:
        return not found.request.scope.targets
    return found.state is RequestState.OPEN


def _answers(older: Standing, request: ApprovalRequest, *, supersede: bool) -> bool:
    """Tell whether an older request for the same targets answers a new one, so that nobody is asked again."""
    if older.request.scope.rules != request.scope.rules:
        return False
    if supersede:
        same = replace(
            request, id=older.request.id, opened_at=older.request.opened_at, supersedes=older.request.supersedes
        )
        return older.state is RequestState.OPEN and _kept(same) == older.request
    return older.state is RequestState.OPEN or (
        older.state is RequestState.REJECTED and older.request.policy == request.policy
    )


def _kept(request: ApprovalRequest) -> ApprovalRequest:
    """Return the request as the ledger will keep it, secrets in its card and its question masked.

    What would be opened has none: `_check_visible` refused it.
    """
    return ApprovalRequest.from_dict(mask(request.to_dict()))


def _check_visible(scope: Scope, requested_by: str) -> None:
    """Refuse a scope that a person would see with something masked: an approval covers nothing unseen.

    Raises:
        ScopeError: Something in it looks like a secret, as it stands in a string or in the text as a whole.
    """
    if any(_holds_secret(text) for text in scope.shown.values()):
        raise ScopeError(
            "the call holds what looks like a secret, which nobody can be shown",
            hint="keep secrets out of arguments, for instance in the environment of the tool",
        )
    shown = {"requester": requested_by, **scope.to_dict()}
    masked = mask(shown)
    for name in ("targets", "subject", "rules", "title", "change", "requester"):
        if masked[name] != shown[name]:
            raise ScopeError(
                f"the {name} of the scope: something in it looks like a secret",
                hint="a ledger keeps no secrets, so it could neither be shown nor be found again",
            )


def _holds_secret(text: str) -> bool:
    """Tell whether a shown text would be masked: as JSON, inside its strings, or as the line that the ledger keeps."""
    if mask_text(text) != text:
        return True
    try:
        value = parse_json(text)
    except InputError:
        return False  # a text that is no JSON has no strings of its own
    return bool(mask(value) != value)


def _question(scope: Scope) -> str:
    question = f"Open {scope.title}?"
    return question if len(question) <= 500 else "Open this?"


def _fresh_id() -> str:
    return new_id("r", time.time_ns() // 1_000_000, os.urandom(10))


def _verify(public_key: str, payload: bytes, signature: str) -> bool:
    from indult.signatures import verify

    return verify(public_key, payload, signature)
