"""Whether a decision counts, asked before it is recorded; each refusal has a name of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from indult.approvals import Choice, HumanDecision, RequestState, Standing, Verify, Via, entitled
from indult.errors import (
    ApprovalError,
    BadSignature,
    ExpiredRequest,
    ForgedRecord,
    OvertakenDecision,
    ReplayedDecision,
    RevokedGrant,
    SelfMadeDecision,
    StaleDecision,
    SupersededRequest,
    UnentitledApprover,
    WithdrawnRequest,
)
from indult.gate.subjects import SIGNAL
from indult.gate.times import check_time
from indult.ledger import mask
from indult.policy import Policy
from indult.scopes import Scope

__all__ = ["check_apart", "check_decision", "check_origin", "gone"]


def check_decision(decision: HumanDecision, found: Standing, policy: Policy, *, now: str, verify: Verify) -> None:
    """Refuse a decision that cannot count, by the first of these reasons.

    Raises:
        ApprovalError: The class says why; see `Requests.decide`.
    """
    request = found.request
    if decision.digest != request.digest:
        raise StaleDecision(
            f"the decision is on `{decision.digest}`, and request `{request.id}` is `{request.digest}`",
            hint=f"look at it again: `indult show {request.id}`",
        )
    for when in (decision.at, decision.expires_at):
        check_time(when)
    _check_state(decision, found, now)
    if any(decision.id == made.id for made in found.decisions):
        raise ReplayedDecision(f"decision `{decision.id}` was made before", hint="a new answer needs a new id")
    _check_offer(decision, found)
    if decision.by == request.requested_by:
        raise SelfMadeDecision(f"`{decision.by}` asked for this and cannot answer it", hint="somebody else has to")
    _check_channel(decision, request.scope, policy)
    entitled(decision, request.scope, policy, verify)
    if decision.seen != found.seen:
        raise OvertakenDecision(
            f"request `{request.id}` was decided on at version {found.seen}, after the version {decision.seen} that"
            f" `{decision.by}` saw",
            hint=f"look at it again: `indult show {request.id}`",
        )
    if mask(decision.to_dict()) != decision.to_dict():
        raise ApprovalError("the decision holds what looks like a secret", hint="leave it out of the note")


def _check_state(decision: HumanDecision, found: Standing, now: str) -> None:
    """Refuse a decision on a request that is over."""
    request = found.request
    if found.state.closed:
        raise gone(request.id, found)
    ends = [end for end in (request.expires_at, request.scope.expires_at) if end is not None]
    if decision.choice is Choice.APPROVE:
        ends += [decision.expires_at] if decision.expires_at is not None else []
    if ends and min(ends) <= now:
        raise ExpiredRequest(
            f"request `{request.id}`: what would be approved was over at {min(ends)}",
            hint="ask again, with a later expiry",
        )
    if found.reservations:
        raise ReplayedDecision(
            f"request `{request.id}` is decided, and its grant in use",
            hint="`indult revoke` takes back what is left of it",
        )


def _check_offer(decision: HumanDecision, found: Standing) -> None:
    """Refuse an answer that the request does not offer, or that would give more than was asked for."""
    request, scope = found.request, found.request.scope
    if decision.choice not in request.choices:
        offered = ", ".join(request.choices)
        raise ApprovalError(
            f"request `{request.id}` cannot be answered with `{decision.choice}`", hint=f"one of: {offered}"
        )
    if decision.uses is not None and decision.uses > scope.max_uses:
        raise ApprovalError(
            f"request `{request.id}` offers {scope.max_uses} uses, not {decision.uses}",
            hint="an answer can narrow what was asked for, not widen it",
        )
    if decision.expires_at is not None and scope.expires_at is not None and decision.expires_at > scope.expires_at:
        raise ApprovalError(
            f"request `{request.id}` offers no time after {scope.expires_at}",
            hint="an answer can narrow what was asked for, not widen it",
        )


def _check_channel(decision: HumanDecision, scope: Scope, policy: Policy) -> None:
    """Refuse an approval through a channel that the rules do not take."""
    if decision.choice is not Choice.APPROVE:
        return
    asked_for = [rule.approval for rule in (*policy.rules, policy.default_rule) if rule.id in scope.rules]
    if decision.via is Via.FORM and any(word != "any" for word in asked_for):
        raise UnentitledApprover(
            "a form in the agent's own client cannot approve this", hint="it can discuss or reject; approve elsewhere"
        )
    if "signed" in asked_for and (decision.signature is None or not policy.approvers):
        raise BadSignature(
            "a rule of this request takes signed approvals only", hint="declare `approvers`, and sign with their key"
        )


def check_apart(decision: HumanDecision, scope: Scope, at_work: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuse a decision about a signal without a signature while somebody works on any: it could be their own.

    What the one is asked the other could answer, so it does not matter on which signal they work; `at_work` tells who
    works on what, by subject.

    Raises:
        UnentitledApprover: Somebody is at work.
    """
    if not at_work or decision.signature is not None or not scope.subject.startswith(SIGNAL):
        return
    subject, entry = next(iter(sorted(at_work.items())))
    raise UnentitledApprover(
        f"`{entry.get('who', 'somebody')}` is at work on `{subject}`, and an answer without a signature could be its own",
        hint="answer when it has ended (`indult autofix status`), or declare approvers, who sign",
    )


def gone(name: str, found: Standing) -> ApprovalError:
    """Return the error that says what became of a request, or of a grant of it, that is not live."""
    request = found.request.id
    match found.state:
        case RequestState.SUPERSEDED:
            return SupersededRequest(
                f"`{name}` was superseded by request `{found.superseded_by}`",
                hint=f"`indult show {found.superseded_by}`",
            )
        case RequestState.REVOKED:
            return RevokedGrant(f"`{name}` was taken back", hint="ask again with a new request")
        case RequestState.EXPIRED:
            return ExpiredRequest(f"the time of `{name}` is over", hint="ask again with a new request")
        case RequestState.WITHDRAWN:
            return WithdrawnRequest(f"`{name}` was withdrawn: {found.withdrawn}", hint="it needs no answer any more")
        case RequestState.SPENT:
            return ReplayedDecision(f"`{name}` is used up", hint="ask again with a new request")
        case _:
            return RevokedGrant(
                f"`{name}` does not hold: a later answer to request `{request}` took its place",
                hint=f"`indult show {request}`",
            )


def check_origin(grant: str, found: Standing) -> None:
    """Refuse a request to which an index leads from a grant that no decision on it opened."""
    if all(decision.grant != grant for decision in found.decisions):
        raise ForgedRecord(
            f"an index leads from grant `{grant}` to request `{found.request.id}`, which never opened it"
        )
