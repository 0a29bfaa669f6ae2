from __future__ import annotations

import pytest
from tests.gate.desk import NOON, SUBJECT, Clock, Desk, pay

from indult import Action, Effect, Policy, Rule, Verdict
from indult.approvals import Choice, RequestState
from indult.errors import IneffectiveRequest, LedgerConflict, ReplayedDecision, ScopeError, UnknownRequest
from indult.gate import Requests, index
from indult.ledger import Draft
from indult.scopes import Scope

FILES = Policy(
    rules=(
        Rule(id="docs", effect=Effect.ASK, target="file:docs/**", says="Documents need approval."),
        Rule(id="all", effect=Effect.ASK, target="file:**", says="Files need approval."),
        Rule(id="law", effect=Effect.DENY, target="file:docs/law.md", says="The law stays."),
    )
)


def files(*names: str, change: str = "correct them", **options: object) -> Scope:
    """Return the scope of some files."""
    return Scope.files(names, subject=SUBJECT, change=change, **options)  # type: ignore[arg-type] # `kind` alone


@pytest.fixture(name="desk")
def _desk() -> Desk:
    """Return a desk with an empty ledger."""
    return Desk()


@pytest.fixture(name="shelf")
def _shelf() -> Desk:
    """Return a desk whose policy knows files."""
    return Desk(policy=FILES)


class TestCheck:
    def test_the_circle_closes(self, desk: Desk) -> None:
        """An ask opens a request; approved, the very next proposal may run, once, and the text says so meanwhile."""
        asked = desk.gate.check(pay(), {})
        assert (Verdict.ASK_USER, "r_0001") == (asked.verdict, asked.request)
        (found,) = desk.requests.pending(SUBJECT)
        before = desk.gate.boundary().text()
        desk.decide(found)

        assert found.request.scope.words()[0] in desk.gate.boundary().text()
        approved = desk.gate.check(pay(), {})
        assert (Verdict.APPROVE, 1) == (approved.verdict, len(approved.grants))
        assert RequestState.SPENT is desk.requests.standing("r_0001").state
        assert before == desk.gate.boundary().text()
        again = desk.gate.check(pay(), {})
        assert Verdict.ASK_USER is again.verdict
        assert again.request not in {None, "r_0001"}

    def test_two_rules_open_with_one_decision(self, desk: Desk) -> None:
        """A call that two rules ask about is opened by one request and one answer."""
        asked = desk.gate.check(pay(500), {})
        found = desk.requests.standing(str(asked.request))
        assert ("large", "pay") == found.request.scope.rules
        desk.decide(found)

        assert Verdict.APPROVE is desk.gate.check(pay(500), {}).verdict

    def test_the_judgement_stands_with_what_it_used(self, desk: Desk) -> None:
        """The use of a grant and the judgement that relies on it are neighbours in the ledger, and name each other."""
        desk.approved()
        judgement = desk.gate.check(pay(), {})
        *_, used, judged = desk.ledger.events()

        assert ("reserved", "judgement") == (used.kind, judged.kind)
        assert [used.data["grant"]] == judged.data["judgement"]["grants"] == list(judgement.grants)
        assert (judged.data["action"], "agent") == (used.data["action"], used.data["by"])

    def test_a_judgement_of_before_is_settled_as_it_is(self, desk: Desk) -> None:
        """A judgement that relies on a grant uses that grant, whatever the gate has judged since, or is refused."""
        desk.approved()
        judgement = desk.gate.review(pay(), {})
        assert 1 == len(desk.gate.settle(pay(), {}, judgement).drafts)
        desk.gate.check(pay(), {})
        desk.gate.boundary()

        with pytest.raises(ReplayedDecision, match="is used up"):
            desk.gate.settle(pay(), {}, judgement)

    def test_a_review_leaves_no_trace(self, desk: Desk) -> None:
        """A review opens no request and uses no grant."""
        desk.approved(pay(1))
        before = list(desk.ledger.events())

        assert Verdict.APPROVE is desk.gate.review(pay(1), {}).verdict
        assert Verdict.ASK_USER is desk.gate.review(pay(2), {}).verdict
        assert before == list(desk.ledger.events())

    def test_what_needs_no_approval_opens_nothing(self, desk: Desk) -> None:
        """An allow and a deny are recorded and ask nobody."""
        verdicts = [desk.gate.check(Action(tool=tool), {}).verdict for tool in ("look", "wipe")]

        assert [Verdict.APPROVE, Verdict.DENY] == verdicts
        assert ["judgement", "judgement"] == [event.kind for event in desk.ledger.events()]

    def test_a_call_too_long_to_show_asks_nobody(self, desk: Desk) -> None:
        """What no person could read is an ask without a request, and the reason says why."""
        judgement = desk.gate.check(Action(tool="pay", args={"n": 1, "text": "x" * 3000}), {})

        assert (Verdict.ASK_USER, None) == (judgement.verdict, judgement.request)
        assert "nobody was asked: the call takes" in judgement.reason

    def test_why_nobody_was_asked_is_told_shortly(self) -> None:
        """A reason has the text of each rule once, and is short however many rules there are."""
        rules = [
            {"id": f"r{at}", "effect": "ask", "tool": "pay", "says": f"Rule {at} is about money and more. " + "x" * 90}
            for at in range(10)
        ]
        desk = Desk(policy=Policy.from_dict({"schema": 1, "default": "ask", "rules": rules}))
        reason = desk.gate.check(Action(tool="pay", args={"n": 1, "text": "x" * 3000}), {}).reason

        assert len(reason) < 1000
        assert 1 == reason.count("Rule 1 is about money")
        assert "nobody was asked: the call takes" in reason

    def test_observing_asks_nobody(self) -> None:
        """Under `mode: observe` nothing waits for an answer, so no request opens."""
        law = {**Desk().policy.to_dict(), "mode": "observe"}
        desk = Desk(policy=Policy.from_dict(law))
        judgement = desk.gate.check(pay(), {})

        assert (Verdict.ASK_USER, False, None) == (judgement.verdict, judgement.enforced, judgement.request)
        assert [] == desk.requests.pending()

    def test_another_subject_asks_for_itself(self, desk: Desk) -> None:
        """What one subject was given, another has to ask for."""
        desk.approved()
        other = Desk(policy=desk.policy, clock=desk.clock, ledger=desk.ledger, subject="run:2")

        assert () == other.requests.live("run:2")
        assert Verdict.ASK_USER is other.gate.check(pay(), {}).verdict
        assert Verdict.APPROVE is desk.gate.check(pay(), {}).verdict

    def test_a_grant_that_vanishes_under_the_judging(self, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
        """A grant that is used up between judging and reserving is judged again, which is an ask."""
        desk.approved()
        other = Desk(policy=desk.policy, clock=desk.clock, ledger=desk.ledger)
        reserve = desk.requests.reserve

        def late(*args: object, **options: object) -> object:
            if Verdict.APPROVE is other.gate.review(pay(), {}).verdict:
                other.gate.check(pay(), {})
            return reserve(*args, **options)  # type: ignore[arg-type] # handed through

        monkeypatch.setattr(desk.requests, "reserve", late)

        assert Verdict.ASK_USER is desk.gate.check(pay(), {}).verdict
        assert 1 == sum(event.kind == "reserved" for event in desk.ledger.events())

    def test_a_write_in_between_is_judged_again(self, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
        """A grant that is used up between reserving and writing is judged again too."""
        desk.approved()
        other = Desk(policy=desk.policy, clock=desk.clock, ledger=desk.ledger)
        append = desk.ledger.append
        conflicts: list[int] = []

        def late(*drafts: Draft, **options: object) -> object:
            if not conflicts and drafts[0].kind == "reserved":
                conflicts.append(1)
                other.gate.check(pay(), {})
            return append(*drafts, **options)  # type: ignore[arg-type] # handed through

        monkeypatch.setattr(desk.ledger, "append", late)

        assert Verdict.ASK_USER is desk.gate.check(pay(), {}).verdict
        assert 1 == sum(event.kind == "reserved" for event in desk.ledger.events())


class TestOpen:
    def test_it_names_the_rules_that_it_opens(self, shelf: Desk) -> None:
        """The scope is completed by all ask rules that meet its targets, and what is shown is what is kept."""
        found = shelf.ask(scope=files("docs/a.md", "src/b.py"), question="May I?", card={"n": 1})

        assert ("all", "docs") == found.request.scope.rules
        assert ("May I?", {"n": 1}, NOON) == (found.request.question, found.request.card, found.request.opened_at)
        assert (RequestState.OPEN, 0, 1, 1) == (found.state, found.seen, found.version, found.wanted)
        assert found == shelf.requests.standing(found.request.id)

    def test_it_refuses_what_no_approval_opens(self, shelf: Desk) -> None:
        """A scope with one target that a rule denies is refused, with the rule and the target, and nobody is asked."""
        with pytest.raises(IneffectiveRequest, match=r"`write:docs/law\.md` is denied by `law`") as caught:
            shelf.ask(scope=files("docs/a.md", "docs/law.md"))

        assert "name targets that the rules ask about" in str(caught.value.hint)
        assert [] == list(shelf.ledger.events())

    def test_it_refuses_what_needs_no_approval(self, desk: Desk) -> None:
        """A scope that is allowed already is refused too."""
        with pytest.raises(IneffectiveRequest, match="allowed by `look`"):
            desk.ask(Action(tool="look"))

    def test_an_open_request_is_asked_once(self, desk: Desk) -> None:
        """A second proposal of the same call names the request that is open already, whoever makes it."""
        first, second = desk.gate.check(pay(), {}), desk.gate.check(pay(actor="other"), {})

        assert first.request == second.request
        assert 1 == len(desk.requests.pending())

    def test_the_order_of_targets_makes_no_second_request(self, shelf: Desk) -> None:
        """The same targets in another order are the same question; another kind of request is not."""
        first = shelf.ask(scope=files("a", "b"))

        assert first == shelf.ask(scope=files("b", "a", change="another word"))
        assert first.request.id != shelf.ask(scope=files("a", "b"), kind="dependency").request.id

    def test_a_request_under_other_rules_takes_its_place(self, shelf: Desk) -> None:
        """Where rules came since, the open request would not open everything any more: a new one replaces it."""
        first = shelf.ask(scope=files("docs/a.md"))
        more = Policy(rules=(*FILES.rules, Rule(id="new", effect=Effect.ASK, target="file:docs/*", says="New.")))
        later = Desk(policy=more, clock=shelf.clock, ledger=shelf.ledger)
        second = later.ask(scope=files("docs/a.md"))

        assert ("all", "docs", "new") == second.request.scope.rules
        assert RequestState.SUPERSEDED is shelf.requests.standing(first.request.id).state
        assert [second] == shelf.requests.pending()

    def test_what_was_rejected_is_not_asked_again(self, desk: Desk) -> None:
        """A rejected request is named again under the same policy, with the guidance, and no other opens."""
        first = desk.gate.check(pay(), {})
        desk.decide(desk.requests.standing(str(first.request)), Choice.REJECT, note="not on a Friday")

        assert first.request == desk.gate.check(pay(), {}).request
        assert [] == desk.requests.pending()
        assert "not on a Friday" == desk.requests.standing(str(first.request)).guidance

    def test_a_rejection_is_forgotten_with_its_policy(self, desk: Desk) -> None:
        """Under another policy the same question may be asked again."""
        first = desk.decide(desk.ask(), Choice.REJECT)
        law = Policy(rules=(*desk.policy.rules, Rule(id="more", effect=Effect.ALLOW, tool="more")))
        later = Desk(policy=law, clock=desk.clock, ledger=desk.ledger)

        assert first.request.id != later.ask().request.id

    def test_supersede_closes_what_is_open_and_approved(self, shelf: Desk) -> None:
        """With `supersede` a new request takes the place of all of its subject and kind, and of no others."""
        opened = shelf.ask(scope=files("a"))
        approved = shelf.approved(scope=files("b"))
        rejected = shelf.decide(shelf.ask(scope=files("c")), Choice.REJECT)
        kind = shelf.ask(scope=files("a"), kind="dependency")
        other = shelf.ask(scope=Scope.files(["a"], subject="run:2", change="x"), subject="run:2")
        new = shelf.ask(scope=files("c"), supersede=True)

        states = [shelf.requests.standing(one.request.id) for one in (opened, approved, rejected, kind, other)]
        closed = RequestState.SUPERSEDED
        assert [closed, closed, closed, RequestState.OPEN, RequestState.OPEN] == [one.state for one in states]
        assert [new.request.id] * 3 == [one.superseded_by for one in states[:3]]
        assert new.request.supersedes in {one.request.id for one in (opened, approved, rejected)}
        assert () == shelf.requests.live(SUBJECT)
        assert {kind.request.id, other.request.id, new.request.id} == {
            one.request.id for one in shelf.requests.pending()
        }

    def test_supersede_with_the_same_words_changes_nothing(self, shelf: Desk) -> None:
        """A report that is sent twice is one request; with another change it is a new one."""
        first = shelf.ask(scope=files("a"), supersede=True, card={"n": 1.0})
        shelf.clock.move(hours=1)

        assert first == shelf.ask(scope=files("a"), supersede=True, card={"n": 1})
        again = shelf.ask(scope=files("a", change="other"), supersede=True)
        assert first.request.id == again.request.supersedes

    def test_a_request_can_expire(self, desk: Desk) -> None:
        """An open request whose time is over is closed, and the next ask is a new one."""
        first = desk.ask(expires_at=desk.clock.later(hours=1))
        desk.clock.move(hours=2)

        assert RequestState.EXPIRED is desk.requests.standing(first.request.id).state
        assert [] == desk.requests.pending()
        assert first.request.id != desk.ask().request.id

    @pytest.mark.parametrize("bad", ["never", "2026-08-20T12:00:00Z", "2026-13-40T12:00:00.000000Z"])
    def test_an_expiry_that_cannot_be_compared_is_refused(self, desk: Desk, bad: str) -> None:
        """An expiry is a time as the ledger writes it, of the scope and of the request."""
        for options in ({"until": bad}, {"expires_at": bad}):
            with pytest.raises(ScopeError, match=f"`{bad}` is no time"):
                desk.ask(**options)  # type: ignore[arg-type] # one of two texts

    @pytest.mark.parametrize(
        "args",
        [
            {"n": 1, "password": "hunter2"},
            {"n": 1, "ghp_" + "a1B2" * 9: 2},
            {"n": 1, "a": "-----BEGIN PRIVATE KEY-----", "to": "eve"},
            {"n": 1, "mails": [{"to": "max", "why": "pwd: '"}, {"to": "eve", "why": "'"}]},
            {"n": 1, "a": 'password: "', "to": "eve", "z": '","to":"max'},
        ],
    )
    def test_nobody_is_asked_about_what_cannot_be_shown(self, desk: Desk, args: dict[str, object]) -> None:
        """A call of which something would be masked is not put to a person: an approval covers nothing unseen."""
        action = Action(tool="pay", args=args)
        found = desk.gate.check(action, {})

        assert (Verdict.ASK_USER, None, []) == (found.verdict, found.request, desk.requests.pending())
        assert "(nobody was asked: the call holds what looks like a secret, which nobody can be shown)" in found.reason
        with pytest.raises(ScopeError, match="which nobody can be shown"):
            desk.ask(action)

    def test_a_secret_on_a_card_is_masked_there(self, desk: Desk) -> None:
        """The card opens nothing: what looks like a secret is masked in its own entry, and the rest of it stands."""
        found = desk.ask(card={"a": "-----BEGIN PRIVATE KEY-----", "b": "seen"})

        assert {"a": "[masked:private-key]", "b": "seen"} == found.request.card

    def test_a_target_that_looks_like_a_secret_is_refused(self, shelf: Desk) -> None:
        """A target that the ledger would mask could never be opened."""
        with pytest.raises(ScopeError, match="the targets of the scope: something in it looks like a secret"):
            shelf.ask(scope=files("ghp_" + "a1B2" * 9))

    def test_two_openings_at_once_make_one_request(self, desk: Desk) -> None:
        """Of two that found nothing open, the slower one is refused by the ledger, and finds the other's."""
        scope = Scope.call(pay(), subject=SUBJECT)
        options = {"boundary": desk.boundary(), "requested_by": "agent", "action": pay(), "facts": {}}
        one, other = (desk.requests.opening(scope, **options) for _ in range(2))  # type: ignore[arg-type] # as `open`
        desk.ledger.append(*one.drafts, expect=one.expect)

        with pytest.raises(LedgerConflict):
            desk.ledger.append(*other.drafts, expect=other.expect)
        assert one.request == desk.ask().request.id

    def test_a_long_title_makes_a_short_question(self, desk: Desk) -> None:
        """A title that leaves no room for the question is not in it."""
        assert "Open this?" == desk.ask(title="x" * 500).request.question

    def test_ids_are_made_where_none_are_given(self, desk: Desk) -> None:
        """Without a maker of ids they begin with the time, so that they sort by it."""
        requests = Requests(desk.ledger, desk.policy)
        scope = Scope.call(pay(), subject=SUBJECT)
        found = requests.open(scope, boundary=desk.boundary(), requested_by="agent", action=pay(), facts={})

        assert ("r_", 28) == (found.request.id[:2], len(found.request.id))


class TestUses:
    def test_a_grant_has_its_uses_and_no_more(self, desk: Desk) -> None:
        """Three uses open three calls; the fourth asks."""
        desk.approved(max_uses=3, until=desk.clock.later(days=1))

        assert ["APPROVE", "APPROVE", "APPROVE", "ASK_USER"] == [desk.gate.check(pay(), {}).verdict for _ in range(4)]

    def test_a_decision_can_narrow_uses(self, desk: Desk) -> None:
        """The person who answers may give fewer uses than were asked for."""
        found = desk.decide(desk.ask(max_uses=3, until=desk.clock.later(days=1)), uses=2)

        assert 2 == found.uses_left
        assert ["APPROVE", "APPROVE", "ASK_USER"] == [desk.gate.check(pay(), {}).verdict for _ in range(3)]

    def test_a_decision_can_narrow_the_time(self, desk: Desk) -> None:
        """The person who answers may end the grant earlier than was asked for."""
        found = desk.decide(desk.ask(until=desk.clock.later(days=2)), expires_at=desk.clock.later(days=1))
        assert found.grant is not None
        assert desk.clock.later(days=1) == found.grant.expires_at
        desk.clock.move(days=1)

        assert Verdict.ASK_USER is desk.gate.check(pay(), {}).verdict

    def test_what_never_began_gives_its_use_back(self, desk: Desk) -> None:
        """A returned reservation is one use, and the grant is found again."""
        found = desk.approved()
        desk.gate.check(pay(), {})
        (reservation,) = desk.requests.standing(found.request.id).reservations
        assert f"{found.request.id}.3" == reservation
        back = desk.requests.not_started(reservation, "the tool is gone")

        assert (RequestState.APPROVED, 1, {}) == (back.state, back.uses_left, back.reservations)
        assert Verdict.APPROVE is desk.gate.check(pay(), {}).verdict
        assert f"{found.request.id}.5" in desk.requests.standing(found.request.id).reservations

    def test_a_use_is_returned_once(self, desk: Desk) -> None:
        """A reservation that was returned cannot be returned again."""
        found = desk.approved()
        desk.gate.check(pay(), {})
        (reservation,) = desk.requests.standing(found.request.id).reservations
        desk.requests.not_started(reservation, "why")

        with pytest.raises(ReplayedDecision, match=f"`{reservation}` was returned before"):
            desk.requests.not_started(reservation, "why")
        assert 1 == desk.requests.standing(found.request.id).uses_left

    @pytest.mark.parametrize("name", ["r_0001.9", "r_0002.3", "nothing"])
    def test_only_what_was_reserved_is_returned(self, desk: Desk, name: str) -> None:
        """A reservation that never was cannot be returned."""
        desk.ask()

        with pytest.raises(UnknownRequest, match=name.partition(".")[0] if name != "nothing" else "request"):
            desk.requests.not_started(name, "why")


class TestSweep:
    def test_what_is_over_leaves_the_index(self, desk: Desk) -> None:
        """Grants and requests whose time is over are written down as expired, once, and looked for no more."""
        desk.approved(pay(1), until=desk.clock.later(hours=1))
        partly = desk.approved(pay(2), max_uses=2, until=desk.clock.later(hours=1))
        desk.ask(pay(3), expires_at=desk.clock.later(hours=1))
        lasting = desk.approved(pay(4))
        desk.gate.check(pay(2), {})
        assert 0 == desk.requests.sweep(SUBJECT)
        desk.clock.move(hours=1)

        assert [3, 0] == [desk.requests.sweep(SUBJECT), desk.requests.sweep(SUBJECT)]
        assert [lasting.request.id] == list(desk.ledger.recall(index.live(SUBJECT)))
        assert {} == desk.ledger.recall(index.opened(SUBJECT)) == desk.ledger.recall(index.OPEN)
        assert RequestState.EXPIRED is desk.requests.standing(partly.request.id).state

    def test_opening_sweeps(self, desk: Desk) -> None:
        """Whoever opens a request tidies what is over, so that nothing piles up."""
        desk.approved(pay(1), until=desk.clock.later(hours=1))
        desk.clock.move(hours=1)
        desk.gate.check(pay(2), {})

        assert {} == desk.ledger.recall(index.live(SUBJECT))

    def test_an_index_that_was_put_back_is_swept_once(self, desk: Desk) -> None:
        """A request that was written down as expired is not written down again, whatever an index says."""
        found = desk.approved(until=desk.clock.later(hours=1))
        desk.clock.move(hours=1)
        desk.requests.sweep(SUBJECT)
        desk.ledger.append(Draft("other", "note", {"latest": {index.live(SUBJECT): {found.request.id: {}}}}))

        assert 0 == desk.requests.sweep(SUBJECT)
        assert 1 == sum(event.kind == "expired" for event in desk.ledger.events())


class TestTime:
    def test_a_clock_set_back_revives_nothing(self, desk: Desk) -> None:
        """The present is never before what the ledger has seen."""
        found = desk.approved(until=desk.clock.later(hours=1))
        desk.clock.move(hours=1)
        desk.ledger.append(Draft("other", "note", {}))
        desk.clock.move(hours=-1)

        assert RequestState.EXPIRED is desk.requests.standing(found.request.id).state
        assert Verdict.ASK_USER is desk.gate.check(pay(), {}).verdict

    def test_a_tie_is_over(self, desk: Desk) -> None:
        """At the very time of its expiry a grant is over; just before, it is not."""
        desk.approved(until=desk.clock.later(hours=1))
        desk.clock.move(hours=1, microseconds=-1)
        assert Verdict.APPROVE is desk.gate.review(pay(), {}).verdict
        desk.clock.move(microseconds=1)

        assert Verdict.ASK_USER is desk.gate.review(pay(), {}).verdict

    def test_the_clock_of_the_desk_moves(self) -> None:
        """The helper of these tests goes both ways."""
        clock = Clock()

        assert NOON == (clock.move(hours=1), clock.move(hours=-1))[1]
