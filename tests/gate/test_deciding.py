from __future__ import annotations

from typing import Any

import pytest
from tests.gate.desk import SUBJECT, Desk, Person, pay, strict_desk

from indult import Action, Verdict
from indult.approvals import Choice, RequestState, Via
from indult.errors import (
    ApprovalError,
    BadSignature,
    ExpiredRequest,
    OvertakenDecision,
    ReplayedDecision,
    RevokedGrant,
    ScopeError,
    SelfMadeDecision,
    StaleDecision,
    SupersededRequest,
    UnentitledApprover,
    UnknownRequest,
)

ANN, BOB, EVE = Person("ann"), Person("bob"), Person("eve")


@pytest.fixture(name="desk")
def _desk() -> Desk:
    """Return a desk with an empty ledger, whose policy declares no approvers."""
    return Desk()


@pytest.fixture(name="signed")
def _signed() -> Desk:
    """Return a desk whose policy declares ann and bob as approvers."""
    return strict_desk(ANN, BOB)


def launch() -> Action:
    """Return a call that takes two approvers."""
    return Action(tool="launch")


class TestChoices:
    def test_approve_opens(self, desk: Desk) -> None:
        """An approval opens the scope that was shown, with who gave it."""
        found = desk.approved()

        assert (RequestState.APPROVED, ("ann",), 1) == (found.state, found.approved_by, found.uses_left)
        assert found.grant is not None
        assert (found.grant,) == desk.requests.live(SUBJECT)
        assert found.grant.decision.grant == found.grant.id

    def test_discuss_leaves_guidance_and_opens_nothing(self, desk: Desk) -> None:
        """A word without an approval is guidance: the request stays open, and nothing opens."""
        found = desk.decide(desk.ask(), Choice.DISCUSS, note="which account?")

        assert (RequestState.OPEN, "which account?", 2) == (found.state, found.guidance, found.seen)
        assert () == desk.requests.live(SUBJECT)
        assert [found] == desk.requests.pending()
        approved = desk.decide(found)
        assert (RequestState.APPROVED, "which account?") == (approved.state, approved.guidance)

    def test_reject_closes_until_somebody_approves(self, desk: Desk) -> None:
        """The last answer stands: a rejection takes an approval back, and an approval a rejection."""
        found = desk.decide(desk.approved(), Choice.REJECT)
        assert (RequestState.REJECTED, None) == (found.state, found.grant)
        assert Verdict.ASK_USER is desk.gate.review(pay(), {}).verdict

        assert RequestState.APPROVED is desk.decide(found).state
        assert Verdict.APPROVE is desk.gate.review(pay(), {}).verdict

    def test_a_choice_that_was_not_offered(self, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
        """An answer that the request does not offer is refused, with those that it does."""
        found = desk.ask()
        object.__setattr__(found.request, "choices", (Choice.DISCUSS,))
        from indult.gate.deciding import check_decision

        with pytest.raises(ApprovalError, match="cannot be answered with `approve`") as caught:
            check_decision(
                desk.answer(found), found, desk.policy, now=desk.clock.now, verify=lambda key, payload, signature: True
            )
        assert "one of: discuss" == caught.value.hint


class TestTwoApprovers:
    def test_two_people_open(self, signed: Desk) -> None:
        """Where a rule asks for two approvals, the first opens nothing and the second opens."""
        asked = signed.ask(launch())
        one = signed.decide(asked, by="ann")
        assert (RequestState.OPEN, 2, ("ann",), None) == (one.state, one.wanted, one.approved_by, one.grant)
        two = signed.decide(asked, by="bob")

        assert (RequestState.APPROVED, ("ann", "bob"), True) == (two.state, two.approved_by, two.signed)
        assert Verdict.APPROVE is signed.gate.check(launch(), {}).verdict

    def test_one_person_counts_once(self, signed: Desk) -> None:
        """The same approver twice is one approval."""
        asked = signed.ask(launch())
        signed.decide(asked, by="ann")

        assert (RequestState.OPEN, ("ann",)) == (signed.decide(asked, by="ann").state, ("ann",))
        assert () == signed.requests.live(SUBJECT)

    def test_one_rejection_takes_all_back(self, signed: Desk) -> None:
        """A rejection needs no second person, and after it both have to approve anew."""
        asked = signed.ask(launch())
        for by in ("ann", "bob"):
            signed.decide(asked, by=by)
        signed.decide(asked, Choice.REJECT, by="bob")

        assert RequestState.OPEN is signed.decide(asked, by="ann").state
        assert RequestState.APPROVED is signed.decide(asked, by="bob").state

    def test_the_narrower_offer_holds(self, signed: Desk) -> None:
        """Of two approvals with other limits, the grant has the fewest uses and the earliest end."""
        asked = signed.ask(launch(), max_uses=5, until=signed.clock.later(days=5))
        signed.decide(asked, by="ann", uses=2)
        found = signed.decide(asked, by="bob", uses=3, expires_at=signed.clock.later(days=1))

        assert found.grant is not None
        assert (2, signed.clock.later(days=1)) == (found.grant.uses_left, found.grant.expires_at)


class TestRefusals:
    def test_unknown(self, desk: Desk) -> None:
        """A decision on no request is refused, with the way to find those that are."""
        answer = desk.answer(desk.ask(), request="r_none")

        with pytest.raises(UnknownRequest, match="no request `r_none`") as caught:
            desk.requests.decide(answer)
        assert "`indult requests`" in str(caught.value.hint)

    def test_stale(self, desk: Desk) -> None:
        """A decision on another digest than that of the request is refused, with the way to look again."""
        found = desk.ask()
        with pytest.raises(StaleDecision, match=f"request `{found.request.id}` is `{found.request.digest}`") as caught:
            desk.decide(found, digest="sha256:" + "0" * 64)

        assert f"`indult show {found.request.id}`" in str(caught.value.hint)

    def test_superseded(self, desk: Desk) -> None:
        """A decision on a superseded request is refused, with the one that took its place."""
        found = desk.ask()
        newer = desk.ask(change="something else", supersede=True)

        with pytest.raises(
            SupersededRequest, match=f"`{found.request.id}` was superseded by request `{newer.request.id}`"
        ):
            desk.decide(found)

    def test_revoked(self, desk: Desk) -> None:
        """A decision on a request whose grant was revoked is refused."""
        found = desk.approved()
        assert found.grant is not None
        desk.requests.revoke(found.grant.id, by="bob")

        with pytest.raises(RevokedGrant, match=f"`{found.request.id}` was taken back") as caught:
            desk.decide(found)
        assert "new request" in str(caught.value.hint)

    def test_expired(self, desk: Desk) -> None:
        """A decision after the request's time is refused."""
        found = desk.ask(expires_at=desk.clock.later(hours=1))
        desk.clock.move(hours=1)

        with pytest.raises(ExpiredRequest, match=f"the time of `{found.request.id}` is over"):
            desk.decide(found)

    def test_what_would_be_over_at_once(self, desk: Desk) -> None:
        """An approval that could never be used is refused; a rejection is not."""
        found = desk.ask(until=desk.clock.later(hours=1))
        with pytest.raises(ExpiredRequest, match=f"over at {desk.clock.now}"):
            desk.decide(found, expires_at=desk.clock.now)
        desk.clock.move(hours=2)
        with pytest.raises(ExpiredRequest):
            desk.decide(found)

    def test_used(self, desk: Desk) -> None:
        """A decision on a request whose grant is used up is refused."""
        found = desk.approved()
        desk.gate.check(pay(), {})

        with pytest.raises(ReplayedDecision, match=f"`{found.request.id}` is used up"):
            desk.decide(found)

    def test_in_use(self, desk: Desk) -> None:
        """Once a grant is reserved its decision stands; to take back what is left is to revoke."""
        found = desk.approved(max_uses=2, until=desk.clock.later(days=1))
        desk.gate.check(pay(), {})

        with pytest.raises(ReplayedDecision, match="in use") as caught:
            desk.decide(found, Choice.REJECT)
        assert "`indult revoke`" in str(caught.value.hint)

    def test_replayed(self, desk: Desk) -> None:
        """A decision that was recorded is refused the second time, on its request and on any other."""
        found = desk.ask()
        answer = desk.answer(found)
        desk.requests.decide(answer)
        other = desk.ask(pay(2))

        for again in (answer, desk.answer(other, id=answer.id)):
            with pytest.raises(ReplayedDecision, match=f"decision `{answer.id}` was made before"):
                desk.requests.decide(again)

    def test_self_made(self, desk: Desk) -> None:
        """Whoever asked cannot answer."""
        with pytest.raises(SelfMadeDecision, match="`agent` asked for this"):
            desk.decide(desk.ask(), by="agent")

    def test_unentitled(self, signed: Desk) -> None:
        """Where approvers are declared, a decision by anybody else is refused, with their names."""
        with pytest.raises(UnentitledApprover, match="`eve` is no approver") as caught:
            signed.decide(signed.ask(), by="eve")

        assert "approvers: ann, bob" == caught.value.hint

    def test_unsigned(self, signed: Desk) -> None:
        """Where approvers are declared, a decision without a signature is refused."""
        found = signed.ask()
        signed.sign = lambda decision, scope: decision

        with pytest.raises(BadSignature, match="the decision of `ann` is not signed"):
            signed.decide(found)

    def test_signed_by_another(self, signed: Desk) -> None:
        """A signature of another key than the approver's is refused."""
        signed.sign = EVE.sign

        with pytest.raises(BadSignature, match="not that of `ann`"):
            signed.decide(signed.ask())

    def test_overtaken(self, desk: Desk) -> None:
        """Of two decisions on the same seen position, the second is refused, and says what it did not see."""
        found = desk.ask()
        one, other = desk.answer(found), desk.answer(found, Choice.REJECT, by="bob")
        desk.requests.decide(one)

        with pytest.raises(OvertakenDecision, match="at version 2, after the version 0 that `bob` saw") as caught:
            desk.requests.decide(other)
        assert f"`indult show {found.request.id}`" in str(caught.value.hint)
        assert RequestState.APPROVED is desk.requests.standing(found.request.id).state

    def test_overtaken_while_it_is_written(self, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
        """A decision that is recorded while another is about to be written overtakes it all the same."""
        found = desk.ask()
        one, other = desk.answer(found), desk.answer(found, Choice.REJECT, by="bob")
        second = desk.under(desk.policy)
        append = desk.ledger.append

        def late(*drafts: Any, **options: Any) -> Any:
            monkeypatch.setattr(desk.ledger, "append", append)
            second.decide(one)
            return append(*drafts, **options)

        monkeypatch.setattr(desk.ledger, "append", late)

        with pytest.raises(OvertakenDecision):
            desk.requests.decide(other)

    @pytest.mark.parametrize(
        ("changes", "error", "message"),
        [
            ({"uses": 3}, ApprovalError, "offers 2 uses, not 3"),
            ({"expires_at": "2026-08-22T12:00:00.000000Z"}, ApprovalError, "offers no time after 2026-08-21"),
            ({"expires_at": "tomorrow"}, ScopeError, "`tomorrow` is no time"),
            ({"at": "now"}, ScopeError, "`now` is no time"),
            ({"note": "token=ghp_" + "a1B2" * 9}, ApprovalError, "looks like a secret"),
            ({"via": Via.FORM}, UnentitledApprover, "a form in the agent's own client cannot approve"),
        ],
    )
    def test_more_than_was_asked_for(
        self, desk: Desk, changes: dict[str, Any], error: type[Exception], message: str
    ) -> None:
        """An answer cannot widen what was asked for, nor hold what could not be compared or kept."""
        found = desk.ask(max_uses=2, until="2026-08-21T12:00:00.000000Z")

        with pytest.raises(error, match=message):
            desk.decide(found, **changes)
        assert RequestState.OPEN is desk.requests.standing(found.request.id).state

    def test_a_form_can_reject(self, desk: Desk) -> None:
        """A form of the agent's client may say no, and may approve where the rule takes anybody."""
        assert RequestState.REJECTED is desk.decide(desk.ask(), Choice.REJECT, via=Via.FORM).state
        assert RequestState.APPROVED is desk.decide(desk.ask(Action(tool="any")), via=Via.FORM).state

    def test_a_refused_decision_is_not_recorded(self, desk: Desk) -> None:
        """What is refused leaves the request as it was."""
        found = desk.ask()
        with pytest.raises(SelfMadeDecision):
            desk.decide(found, by="agent")

        assert found == desk.requests.standing(found.request.id)


class TestRevoke:
    def test_what_is_left_is_taken_back(self, desk: Desk) -> None:
        """A revoked grant opens nothing, whatever is left of it, and its request is over."""
        found = desk.approved(max_uses=3, until=desk.clock.later(days=1))
        desk.gate.check(pay(), {})
        assert found.grant is not None
        gone = desk.requests.revoke(found.grant.id, by="bob", note="wrong account")

        assert (RequestState.REVOKED, None) == (gone.state, gone.grant)
        assert Verdict.ASK_USER is desk.gate.check(pay(), {}).verdict
        (event,) = desk.ledger.events(kinds=["revoked"])
        assert ("bob", "wrong account") == (event.data["by"], event.data["note"])

    def test_a_returned_use_does_not_bring_it_back(self, desk: Desk) -> None:
        """What was reserved before the grant was revoked may be returned, and stays revoked."""
        found = desk.approved()
        desk.gate.check(pay(), {})
        assert found.grant is not None
        (reservation,) = desk.requests.standing(found.request.id).reservations
        desk.requests.revoke(found.grant.id, by="bob")

        assert RequestState.REVOKED is desk.requests.not_started(reservation, "why").state
        assert () == desk.requests.live(SUBJECT)

    def test_twice(self, desk: Desk) -> None:
        """What was revoked cannot be revoked again."""
        found = desk.approved()
        assert found.grant is not None
        desk.requests.revoke(found.grant.id, by="bob")

        with pytest.raises(RevokedGrant, match=f"`{found.grant.id}` was taken back"):
            desk.requests.revoke(found.grant.id, by="bob")

    def test_unknown(self, desk: Desk) -> None:
        """What no decision opened cannot be revoked."""
        with pytest.raises(UnknownRequest, match="no grant `g_none`") as caught:
            desk.requests.revoke("g_none", by="bob")

        assert "`indult grants`" in str(caught.value.hint)

    def test_what_is_over(self, desk: Desk) -> None:
        """A grant that a later answer, a newer request or the time ended says so."""
        replaced = desk.approved(pay(1))
        desk.decide(replaced, Choice.REJECT)
        superseded = desk.approved(pay(2))
        desk.ask(pay(2), change="something else", supersede=True)
        expired = desk.approved(pay(3), until=desk.clock.later(hours=1))
        desk.clock.move(hours=1)

        for found, error in (
            (replaced, RevokedGrant),
            (superseded, SupersededRequest),
            (expired, ExpiredRequest),
        ):
            assert found.grant is not None
            with pytest.raises(error, match=found.grant.id):
                desk.requests.revoke(found.grant.id, by="bob")

    def test_reserving_what_is_gone(self, desk: Desk) -> None:
        """A grant that does not hold cannot be reserved, and the error says what became of it."""
        found = desk.approved()
        assert found.grant is not None
        assert RequestState.APPROVED is desk.requests.grant(found.grant.id).state
        desk.gate.check(pay(), {})

        with pytest.raises(ReplayedDecision, match=f"`{found.grant.id}` is used up"):
            desk.requests.reserve([found.grant.id], action=pay(), by="agent")

    def test_reserving_what_was_answered_anew(self, desk: Desk) -> None:
        """A second approval is another grant; the first does not hold beside it."""
        first = desk.approved()
        second = desk.decide(first)
        assert first.grant is not None
        assert second.grant is not None

        with pytest.raises(RevokedGrant, match=f"`{first.grant.id}` does not hold: a later answer"):
            desk.requests.reserve([first.grant.id], action=pay(), by="agent")
        assert 1 == len(desk.requests.reserve([second.grant.id], action=pay(), by="agent")[0])
