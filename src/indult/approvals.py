"""Requests, decisions and the grants that follow from them: records, and the pure fold over them.

A grant is never stored. The events of one request, in the order of their stream, say what was asked, what people
answered and what was used; `standing` folds them into what holds now.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, Protocol

from indult.canonical import canonical, digest
from indult.errors import ApprovalError, BadSignature, ForgedRecord, UnentitledApprover
from indult.policy import Policy
from indult.scopes import MAX_USES, Scope, check_line

__all__ = [
    "ApprovalRequest",
    "Choice",
    "Grant",
    "HumanDecision",
    "RequestState",
    "Standing",
    "Via",
    "request_stream",
    "standing",
]


class Choice(StrEnum):
    """What a human can answer; only `approve` opens anything."""

    APPROVE = "approve"
    DISCUSS = "discuss"
    REJECT = "reject"


class Via(StrEnum):
    """Through which channel an answer came."""

    INBOX = "inbox"
    CLI = "cli"
    FORM = "form"


class RequestState(StrEnum):
    """What has become of a request."""

    OPEN = "open"
    APPROVED = "approved"
    REJECTED = "rejected"
    SPENT = "spent"
    REVOKED = "revoked"
    SUPERSEDED = "superseded"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"

    @property
    def closed(self) -> bool:
        """Tell whether nothing that anyone decides can change it any more."""
        return self not in {RequestState.OPEN, RequestState.APPROVED, RequestState.REJECTED}


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRequest:
    """A question that the loop hands back to a person: open exactly this scope?

    `kind` tells requests of one sort from those of another (`call` for a call that the gate asked about), `requested_by`
    is the actor who wants it, `card` is what else a person is shown. Times are RFC 3339 in UTC, as the ledger writes
    them.
    """

    id: str
    kind: str
    scope: Scope
    question: str
    requested_by: str
    opened_at: str
    card: Mapping[str, Any] = field(default_factory=dict)
    choices: tuple[Choice, ...] = tuple(Choice)
    expires_at: str | None = None
    supersedes: str | None = None
    policy: str = ""

    def __post_init__(self) -> None:
        """Refuse a question that is not one plain line."""
        check_line(self.question, "question")
        check_line(self.requested_by, "requester")

    @property
    def digest(self) -> str:
        """Return `sha256:` over all that a person is shown; a decision names it."""
        return digest(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "schema": 1,
            "id": self.id,
            "kind": self.kind,
            "scope": self.scope.to_dict(),
            "question": self.question,
            "requested_by": self.requested_by,
            "opened_at": self.opened_at,
            "card": dict(self.card),
            "choices": [str(choice) for choice in self.choices],
            "expires_at": self.expires_at,
            "supersedes": self.supersedes,
            "policy": self.policy,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ApprovalRequest:
        """Read what `to_dict` wrote, with all checks of the scope.

        Raises:
            ScopeError: The scope is none.
            ForgedRecord: It is no request, or one of another schema.
        """
        values = dict(data)
        try:
            if values.pop("schema") != 1:
                raise ForgedRecord("a request of another schema")
            values["scope"] = Scope.from_dict(values["scope"])
            values["choices"] = tuple(Choice(choice) for choice in values["choices"])
            return cls(**values)
        except (KeyError, TypeError, ValueError) as exc:
            raise ForgedRecord(f"not a request: {exc}") from exc


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanDecision:
    """A human's answer to one request.

    `digest` is that of the request as it was shown; `seen` is the version of the last decision on it that the decider
    saw, 0 for none. `uses` and `expires_at` may narrow what the scope offers. `signature` is over `payload`.

    Raises:
        ApprovalError: The answer is no choice, or uses are out of range.
    """

    id: str
    request: str
    choice: Choice
    digest: str
    seen: int
    by: str
    via: Via
    at: str
    uses: int | None = None
    expires_at: str | None = None
    note: str = ""
    signature: str | None = None

    def __post_init__(self) -> None:
        """Refuse what could not be shown or counted."""
        check_line(self.by, "approver")
        if self.uses is not None and (type(self.uses) is not int or not 1 <= self.uses <= MAX_USES):
            raise ApprovalError(f"`{self.uses}` uses cannot be approved", hint=f"1 to {MAX_USES}")
        if len(self.note) > 4000:
            raise ApprovalError(f"the note is {len(self.note)} characters long, at most 4000")

    @property
    def grant(self) -> str:
        """Return the id of the grant that this decision opens, if it opens one."""
        return "g_" + self.id.removeprefix("d_")

    def payload(self, scope: Scope) -> bytes:
        """Return what is signed: request, digests of what was shown and of the scope, choice, limits, place and time."""
        signed = {
            "schema": 1,
            "type": "indult-decision",
            "id": self.id,
            "request": self.request,
            "digest": self.digest,
            "scope": scope.digest,
            "subject": scope.subject,
            "choice": str(self.choice),
            "uses": self.uses,
            "expires_at": self.expires_at,
            "seen": self.seen,
            "by": self.by,
            "at": self.at,
            "note": self.note,
        }
        return canonical(signed).encode()

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        shown = {name: getattr(self, name) for name in HumanDecision.__dataclass_fields__}
        return {"schema": 1, **shown, "choice": str(self.choice), "via": str(self.via)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> HumanDecision:
        """Read what `to_dict` wrote.

        Raises:
            ForgedRecord: It is no decision, or one of another schema.
        """
        values = dict(data)
        try:
            if values.pop("schema") != 1:
                raise ForgedRecord("a decision of another schema")
            return cls(**{**values, "choice": Choice(values["choice"]), "via": Via(values["via"])})
        except (KeyError, TypeError, ValueError) as exc:
            raise ForgedRecord(f"not a decision: {exc}") from exc


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """What an approval opens now: derived from a request and the decisions on it, and never stored.

    `uses` is how many were approved and `uses_left` how many of them remain. `at` is the position in the ledger of the decision that opened it.
    """

    id: str
    request: str
    scope: Scope
    decision: HumanDecision
    uses_left: int
    expires_at: str | None = None
    at: int = 0
    uses: int = 0

    @property
    def signed(self) -> bool:
        """Tell whether the decision carries a signature; a live grant under declared approvers always does."""
        return self.decision.signature is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How a request stands: its state, all decisions, the guidance of the last one, and the grant if it opens one now.

    `version` is that of the request's stream, `seen` that of the last decision on it (0 for none): what the next
    decision has to name. `uses_left` counts reservations; `wanted` is how many approvers it takes. `withdrawn` is why it
    was withdrawn, if it was.
    """

    request: ApprovalRequest
    state: RequestState
    version: int
    seen: int = 0
    decisions: tuple[HumanDecision, ...] = ()
    grant: Grant | None = None
    uses_left: int = 0
    wanted: int = 1
    approved_by: tuple[str, ...] = ()
    reservations: Mapping[str, str] = field(default_factory=dict)
    superseded_by: str | None = None
    withdrawn: str | None = None
    refused: tuple[str, ...] = ()

    @property
    def guidance(self) -> str:
        """Return what the last person who said something wrote."""
        return next((decision.note for decision in reversed(self.decisions) if decision.note), "")

    @property
    def answer(self) -> str:
        """Return the last answer in words: who chose what, and what they wrote; empty without one."""
        if not self.decisions:
            return ""
        last = self.decisions[-1]
        return f"{last.by} chose to {last.choice}{f': {last.note}' if last.note else ''}"

    @property
    def signed(self) -> bool:
        """Tell whether every approval on it carries a signature."""
        approving = [decision for decision in self.decisions if decision.by in self.approved_by]
        return bool(approving) and all(decision.signature is not None for decision in approving)


class _Event(Protocol):
    """What the fold reads of an event of a ledger."""

    @property
    def kind(self) -> str: ...

    @property
    def version(self) -> int: ...

    @property
    def position(self) -> int: ...

    @property
    def data(self) -> dict[str, Any]: ...


Verify = Callable[[str, bytes, str], bool]
"""`verify(public_key, payload, signature)` tells whether a signature is good."""


def request_stream(request: str) -> str:
    """Return the name of the stream that keeps a request."""
    return f"request:{request}"


def entitled(decision: HumanDecision, scope: Scope, policy: Policy, verify: Verify) -> None:
    """Refuse a decision that does not come from an approver of the policy; without any, everybody may decide unsigned.

    Raises:
        UnentitledApprover: The policy declares approvers, and the decider is none of them.
        BadSignature: The signature is missing, or is not the approver's over this decision.
    """
    if not policy.approvers:
        return
    key = policy.approvers.get(decision.by)
    if key is None:
        raise UnentitledApprover(f"`{decision.by}` is no approver", hint=f"approvers: {', '.join(policy.approvers)}")
    if decision.signature is None:
        raise BadSignature(f"the decision of `{decision.by}` is not signed", hint="the policy declares approvers")
    if not verify(key, decision.payload(scope), decision.signature):
        raise BadSignature(f"the signature is not that of `{decision.by}` over this decision")


@dataclass(slots=True)
class _Fold:
    """A request on the way from its first event to its last."""

    request: ApprovalRequest
    policy: Policy
    verify: Verify
    decisions: list[HumanDecision] = field(default_factory=list)
    approving: dict[str, tuple[HumanDecision, int]] = field(default_factory=dict)
    reserved: dict[str, str] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)
    seen: int = 0
    used: int = 0
    end: RequestState | None = None
    rejected: bool = False
    superseded_by: str | None = None
    withdrawn: str | None = None

    def take(self, event: _Event) -> None:
        data = event.data
        match event.kind:
            case "decided":
                self._decided(HumanDecision.from_dict(data["decision"]), event)
            case "reserved":
                self.reserved[data["reservation"]] = data["grant"]
                self.used += 1
            case "returned":
                if self.reserved.pop(data["reservation"], None) is not None:
                    self.used -= 1
            case "revoked":
                self.end = RequestState.REVOKED
            case "superseded":
                self.end, self.superseded_by = RequestState.SUPERSEDED, data["by"]
            case "expired":
                self.end = RequestState.EXPIRED
            case "withdrawn":
                self.end, self.withdrawn = RequestState.WITHDRAWN, str(data["why"])

    def _decided(self, decision: HumanDecision, event: _Event) -> None:
        """Count a decision, provided that whoever made it may: what was written past the checks opens nothing."""
        seen, self.seen = self.seen, event.version
        self.decisions.append(decision)
        wrong = _wrong(decision, self.request, seen)
        if wrong is None:
            try:
                entitled(decision, self.request.scope, self.policy, self.verify)
            except ApprovalError as exc:
                wrong = exc.message
        if wrong is not None:
            self.refused.append(f"{decision.id}: {wrong}")
        elif decision.choice is Choice.APPROVE:
            self.approving[decision.by] = (decision, event.position)
            self.rejected = False
        elif decision.choice is Choice.REJECT:
            self.approving.clear()
            self.rejected = True

    def grant(self, wanted: int, now: str) -> Grant | None:
        """Return the grant that holds at `now`, if any does."""
        if self.end is not None or len(self.approving) < wanted or not self.request.scope.targets:
            return None
        decision, at = max(self.approving.values(), key=lambda item: item[1])
        approvals = [one for one, _ in self.approving.values()]
        scope = self.request.scope
        approved = min([scope.max_uses, *(one.uses for one in approvals if one.uses is not None)])
        uses = approved - self.used
        expires = min((one for one in (scope.expires_at, *(a.expires_at for a in approvals)) if one), default=None)
        if uses <= 0 or (expires is not None and expires <= now):
            return None
        return Grant(
            id=decision.grant,
            request=self.request.id,
            scope=scope,
            decision=decision,
            uses_left=uses,
            expires_at=expires,
            at=at,
            uses=approved,
        )


def _wrong(decision: HumanDecision, request: ApprovalRequest, seen: int) -> str | None:
    """Say why a decision in the ledger cannot count, whatever its signature."""
    if decision.request != request.id or decision.digest != request.digest:
        return "it answers another request, or what was shown is not what stands here"
    if decision.by == request.requested_by:
        return "whoever asked cannot answer"
    if decision.seen != seen:
        return "it did not see the decision before it"
    return None


def wanted(scope: Scope, policy: Policy) -> int:
    """Return how many approvers a scope takes: the most that any of its rules asks for."""
    return max([1, *(rule.approvals for rule in policy.rules if rule.id in scope.rules)])


def standing(events: Iterable[_Event], policy: Policy, *, now: str, verify: Verify) -> Standing:
    """Fold the events of one request into how it stands at `now`.

    The order is that of the stream and no clock has a say in it; `now` only ends what has an expiry.

    Raises:
        ForgedRecord: The stream does not begin with a request.
    """
    fold: _Fold | None = None
    version = 0
    for event in events:
        version = event.version
        if event.kind == "request_opened" and fold is None:
            fold = _Fold(ApprovalRequest.from_dict(event.data["request"]), policy, verify)
        elif fold is None:
            raise ForgedRecord("the stream of a request does not begin with a request")
        else:
            fold.take(event)
    if fold is None:
        raise ForgedRecord("there is no request in this stream")
    needed = wanted(fold.request.scope, policy)
    grant = fold.grant(needed, now)
    offered = [decision.uses for decision, _ in fold.approving.values() if decision.uses is not None]
    return Standing(
        request=fold.request,
        state=_state(fold, grant, needed, now),
        version=version,
        seen=fold.seen,
        decisions=tuple(fold.decisions),
        grant=grant,
        uses_left=max(0, min([fold.request.scope.max_uses, *offered]) - fold.used),
        wanted=needed,
        approved_by=tuple(fold.approving),
        reservations=dict(fold.reserved),
        superseded_by=fold.superseded_by,
        withdrawn=fold.withdrawn,
        refused=tuple(fold.refused),
    )


_NEVER: Final = "9999"


def _state(fold: _Fold, grant: Grant | None, needed: int, now: str) -> RequestState:
    if fold.end is not None:
        return fold.end
    if grant is not None:
        return RequestState.APPROVED
    if len(fold.approving) >= needed and not fold.request.scope.targets:
        return RequestState.APPROVED
    if len(fold.approving) >= needed:
        # Approved once, and nothing is left of it: either it was used, or its time is over.
        return RequestState.SPENT if fold.used else RequestState.EXPIRED
    if (fold.request.expires_at or _NEVER) <= now:
        return RequestState.EXPIRED
    return RequestState.REJECTED if fold.rejected else RequestState.OPEN
