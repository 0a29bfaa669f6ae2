from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.gate.desk import NOON, Clock, Desk, Person

from indult import Action, loads_policy
from indult.approvals import Choice, Standing
from indult.autofix.signals import MAX_REASON, Sighting, Signal, SignalState, find, ingest, move
from indult.autofix.triage import NOTE_UNNAMED, Decision, answered, decide, handed_back, triage
from indult.ledger import Draft
from indult.policy.autofix import Autofix, TriageRule, TriageState
from indult.scopes import check_line
from indult.ship.report import Report, hand_back

NEW, FIX, HUMAN, IGNORED = SignalState.NEW, SignalState.FIX, SignalState.NEEDS_HUMAN, SignalState.IGNORED
DAY = 86_400

LAW = """
schema: 1
extends: indult/repository@1
"""

LIBDB = {"dependency": "libdb", "version": "1.8.2", "paths": ["package.json"], "change": "reset the retry counter"}
OPENED = "ann approved libdb@1.8.2"


def signal(**values: Any) -> Signal:
    """Return a signal that was seen three times, with nothing made of it yet."""
    given: dict[str, Any] = {
        "id": "s_000000000001",
        "kind": "test",
        "summary": "a timeout of 30 s",
        "fingerprint": "sha256:0",
        "source": "payments/test_pay.py",
        "count": 3,
        "state": NEW,
        "first_at": NOON,
        "seen_at": NOON,
        "reason": "not looked at yet",
    }
    return Signal(**{**given, **values})


def rule(ident: str, when: str | None = None, state: str | None = "ignored", **values: Any) -> TriageRule:
    """Return a rule of triage."""
    return TriageRule(id=ident, when=when, state=None if state is None else TriageState(state), **values)


def law(*rules: TriageRule, **values: Any) -> Autofix:
    """Return how signals are taken up, with these rules."""
    return Autofix(triage=rules, **values)


class TestRules:
    def test_without_a_rule(self) -> None:
        """A signal is taken up as soon as it is seen, with no policy but the default."""
        assert Decision(state=FIX, reason="seen 3 times") == decide(signal(), Autofix(), now=NOON)
        assert "seen once" == decide(signal(count=1), Autofix(), now=NOON).reason

    def test_the_example_of_the_reference(self) -> None:
        """Timeouts wait for a person, payments come first and at once, and logs are left alone."""
        rules = (
            rule(
                "flaky", 'signal.kind == "test" && signal.summary.contains("timeout")', "needs-human", says="By hand."
            ),
            rule("payments", 'signal.source.startsWith("payments/")', None, priority=10, threshold=1),
            rule("noise", 'signal.kind == "log"'),
        )
        found = [
            decide(one, law(*rules, threshold=2), now=NOON)
            for one in (
                signal(),
                signal(summary="assert 1 == 2", count=1),
                signal(kind="log", source="app.log"),
                signal(kind="command", source="", count=1),
            )
        ]

        assert [
            (HUMAN, "By hand.", ("flaky", "payments"), 10, "flaky"),
            (FIX, "seen once", ("payments",), 10, None),
            (IGNORED, "the triage rule `noise` says so", ("noise",), 0, "noise"),
            (NEW, "seen once, and taken up once it is seen 2 times", (), 0, None),
        ] == [(one.state, one.reason, one.rules, one.priority, one.rule) for one in found]

    @pytest.mark.parametrize(
        ("states", "wins"),
        [
            (("fix", "ignored", "needs-human"), HUMAN),
            (("fix", "ignored"), IGNORED),
            (("fix", "needs-human"), HUMAN),
            (("fix",), FIX),
        ],
    )
    def test_the_strictest_wins(self, states: tuple[str, ...], wins: SignalState) -> None:
        """A person beats leaving alone, and leaving alone beats fixing, in every order."""
        for order in permutations(states):
            found = decide(signal(), law(*(rule(f"r-{state}", None, state) for state in order)), now=NOON)
            assert (wins, f"r-{wins}") == (found.state, found.rule)

    @given(
        st.lists(
            st.builds(
                rule,
                st.sampled_from("abcdefgh"),
                st.sampled_from([None, "signal.count > 2", "signal.count > 3", "int(signal.summary) > 1"]),
                st.sampled_from(["needs-human", "ignored", "fix"]),
                priority=st.none() | st.integers(-5, 5),
                says=st.none() | st.just("Because."),
            )
            | st.builds(
                rule,
                st.sampled_from("abcdefgh"),
                st.sampled_from([None, "signal.count > 2", "signal.count > 3"]),
                st.none() | st.just("fix"),
                priority=st.integers(-5, 5),
                threshold=st.integers(1, 5),
            ),
            unique_by=lambda one: one.id,
            max_size=6,
        ),
        st.randoms(use_true_random=False),
    )
    def test_the_order_of_rules_has_no_meaning(self, rules: list[TriageRule], chance: Any) -> None:
        """Rules in any order decide the same, down to the reason, and by the highest numbers of those that match."""
        found = decide(signal(), law(*rules), now=NOON)
        shuffled = list(rules)
        chance.shuffle(shuffled)

        assert found == decide(signal(), law(*shuffled), now=NOON)
        matching = [one for one in rules if one.when in {None, "signal.count > 2"}]
        failing = [one for one in rules if one.when is not None and one.when.startswith("int")]
        assert {one.id for one in [*matching, *failing]} == set(found.rules)
        assert max((one.priority for one in matching if one.priority is not None), default=0) == found.priority
        states = {one.state for one in matching} | {TriageState.NEEDS_HUMAN for _ in failing}
        threshold = max((one.threshold for one in matching if one.threshold is not None), default=1)
        if TriageState.NEEDS_HUMAN in states:
            assert HUMAN is found.state
        elif TriageState.IGNORED in states:
            assert IGNORED is found.state
        else:
            assert (FIX if threshold <= 3 else NEW) is found.state

    def test_numbers_of_rules_that_do_not_match(self) -> None:
        """A rule that does not match changes no priority and no threshold."""
        rules = (rule("a", "signal.count > 3", None, priority=9, threshold=9), rule("b", None, None, priority=-2))

        assert (FIX, -2) == (
            decide(signal(), law(*rules), now=NOON).state,
            decide(signal(), law(*rules), now=NOON).priority,
        )

    @pytest.mark.parametrize(
        "when",
        [
            "int(signal.summary) > 3",
            "signal.count / 0 > 1",
            "signal.summary.matches(signal.summary + '(')",
            "signal.summary.split(' ')[9] == ''",
        ],
    )
    @pytest.mark.parametrize("state", ["ignored", "fix", "needs-human", None])
    def test_a_condition_that_fails_asks_a_person(self, when: str, state: str | None) -> None:
        """A rule that cannot be judged is never passed over, whatever it would have said."""
        broken = rule("broken", when, state, priority=7)

        found = decide(signal(), law(broken, rule("noise")), now=NOON)

        assert (HUMAN, "broken", ("broken", "noise"), 0) == (found.state, found.rule, found.rules, found.priority)
        assert found.reason.startswith("the triage rule `broken` has no value for it: ")

    def test_a_condition_that_fails_beside_one_that_asks_a_person(self) -> None:
        """Both reasons are told."""
        found = decide(
            signal(), law(rule("b", "signal.count / 0 > 1"), rule("a", None, "needs-human", says="No.")), now=NOON
        )

        assert (HUMAN, ("b", "a")) == (found.state, found.rules)
        assert found.reason.endswith("; No.")

    def test_a_reason_is_one_plain_line(self) -> None:
        """Neither a long sentence nor what an agent wrote makes a reason that could pass for another line."""
        wide = rule("wide", None, "needs-human", says="Never\n  state  new\n" * 60)
        found = [
            decide(signal(), law(wide), now=NOON),
            decide(signal(summary="x\u202ey\n\x1b[31m"), law(rule("a", "int(signal.summary) > 3")), now=NOON),
        ]

        for one in found:
            check_line(one.reason, "reason", most=MAX_REASON)


class TestThreshold:
    @pytest.mark.parametrize(("count", "state"), [(1, NEW), (2, NEW), (3, FIX), (4, FIX)])
    def test_edge(self, count: int, state: SignalState) -> None:
        """A signal is taken up once it is seen as often as the threshold says, not before."""
        assert state is decide(signal(count=count), Autofix(threshold=3), now=NOON).state

    def test_of_rules(self) -> None:
        """The threshold of a rule stands in the place of the general one, be it lower or higher; the highest counts."""
        low, high = rule("low", None, None, threshold=2), rule("high", None, "fix", threshold=5)

        assert FIX is decide(signal(count=2), law(low, threshold=9), now=NOON).state
        assert NEW is decide(signal(count=4), law(low, high), now=NOON).state
        assert FIX is decide(signal(count=5), law(low, high), now=NOON).state

    @pytest.mark.parametrize(("state", "wins"), [("needs-human", HUMAN), ("ignored", IGNORED)])
    def test_holds_up_no_other_state(self, state: str, wins: SignalState) -> None:
        """What is not to be fixed need not be seen often."""
        assert wins is decide(signal(count=1), law(rule("a", None, state), threshold=9), now=NOON).state


class TestCooldown:
    @pytest.mark.parametrize(
        ("now", "state"),
        [
            ("2026-08-20T12:00:00.000000Z", NEW),
            ("2026-08-21T11:59:59.999999Z", NEW),
            ("2026-08-21T12:00:00.000000Z", FIX),
            ("2026-08-21T12:00:00.000001Z", FIX),
        ],
    )
    def test_edge(self, now: str, state: SignalState) -> None:
        """A signal whose fix ended is left alone for the cooldown, to the microsecond."""
        assert state is decide(signal(ended_at=NOON), Autofix(), now=now).state

    def test_says_until_when(self) -> None:
        """The reason names when the signal is taken up, and why not before."""
        found = decide(signal(ended_at=NOON), Autofix(cooldown=90), now=NOON)

        assert f"left alone until 2026-08-20T12:01:30.000000Z, since its last fix ended at {NOON}" == found.reason

    def test_none(self) -> None:
        """A cooldown of nothing holds nothing up, and neither does one of a signal that nobody worked on."""
        assert FIX is decide(signal(ended_at=NOON), Autofix(cooldown=0), now=NOON).state
        assert FIX is decide(signal(ended_at=None), Autofix(), now=NOON).state

    def test_holds_up_no_other_state(self) -> None:
        """What a rule leaves alone or to a person need not cool down."""
        assert IGNORED is decide(signal(ended_at=NOON), law(rule("a")), now=NOON).state


class Yard(Desk):
    """A ledger with one signal that a fixer can hand back, and people who answer."""

    def meet(self, **values: Any) -> Signal:
        """See friction, and return its signal."""
        (name,) = ingest(self.ledger, [Sighting(kind="test", summary="assert 1 == 2", **values)], clock=self.clock).ids
        return find(self.ledger, name)

    def now(self) -> Signal:
        """Return the signal as it is now."""
        return find(self.ledger, self.subject.removeprefix("signal:"))

    def hand(self, named: dict[str, Any] | None = None, **card: Any) -> Standing:
        """Hand the signal back, and leave it to a person."""
        data = {"signal": self.now().id, "by": "fixer", "card": card}
        named = {} if named is None else {"relaxes_constraint": True, "dependency_exception": named}
        found = hand_back(Report.from_dict({**data, **named}), gate=self.gate)
        self.put(HUMAN)
        return found

    def put(self, state: SignalState, **more: Any) -> Signal:
        """Put the signal into a state."""
        return move(self.ledger, self.now(), state, reason="for a test", more=more)

    def look(self) -> list[tuple[SignalState, str]]:
        """Triage, and return the state and the reason of every change."""
        return [
            (decision.state, decision.reason)
            for _, decision in triage(self.ledger, self.policy, self.requests, clock=self.clock)
        ]


def yard(text: str = LAW, **values: Any) -> Yard:
    """Return a yard whose signal was seen once."""
    at = Yard(policy=loads_policy(text), clock=Clock(), subject="signal:", **values)
    found = at.meet()
    return Yard(policy=at.policy, clock=at.clock, ledger=at.ledger, subject=found.subject, **values)


class TestAnswers:
    def test_none_yet(self) -> None:
        """A hand-back without an answer, and a signal without a hand-back, wait."""
        at = yard()
        at.put(HUMAN)
        assert handed_back(at.requests, at.subject) is None
        assert [] == at.look()

        at.hand()
        assert [] == at.look()
        assert answered(at.now(), None) is None

    def test_approved(self) -> None:
        """What was named and approved is worked on, by whom and what being told."""
        at = yard()
        at.decide(at.hand(LIBDB))

        assert [(FIX, OPENED)] == at.look()
        assert (FIX, OPENED, None) == (at.now().state, at.now().reason, at.now().rule)

    def test_approved_with_a_note(self) -> None:
        """What a person wrote beside a yes is told too."""
        at = yard()
        at.decide(at.hand(LIBDB), note="Only in the api.\nNowhere else.")

        assert [(FIX, f"{OPENED}; ann: Only in the api. Nowhere else.")] == at.look()

    def test_approved_but_nothing_was_named(self) -> None:
        """Approving a card that named no patch opened nothing, and the fixer is told to name it and ask again (R40)."""
        at = yard()
        at.decide(at.hand(title="the schema is wrong"))

        assert [(FIX, f"ann approved the schema is wrong; {NOTE_UNNAMED}")] == at.look()
        assert () == at.requests.live(at.subject)

    def test_the_note_stays_whole(self) -> None:
        """Long names, titles and notes do not push out what the fixer has to do."""
        at = yard()
        at.decide(at.hand(title="t" * 400), by="a" * 200, note="n" * 4000)

        ((state, reason),) = at.look()

        assert FIX is state
        assert NOTE_UNNAMED in reason
        check_line(at.now().reason, "reason", most=MAX_REASON)

    def test_discussed(self) -> None:
        """A question goes back to the fixer; to discuss without a word asks for nothing."""
        at = yard()
        request = at.hand(LIBDB)
        at.decide(request, Choice.DISCUSS, note=" ")
        assert [] == at.look()

        at.decide(request, Choice.DISCUSS, by="bob", note="Why not 1.8.1?")
        assert [(FIX, "bob asks: Why not 1.8.1?")] == at.look()
        assert () == at.requests.live(at.subject)

    def test_rejected(self) -> None:
        """A no ends it, with the words of whoever said it."""
        at = yard()
        at.decide(at.hand(LIBDB), Choice.REJECT, note="Leave it.")

        assert [(IGNORED, "ann rejected libdb@1.8.2: Leave it.")] == at.look()
        assert IGNORED is at.now().state
        assert [] == at.look()

    def test_the_last_word_counts(self) -> None:
        """A no after a question is a no, and a question after a no is a question."""
        for choices, state in (((Choice.DISCUSS, Choice.REJECT), IGNORED), ((Choice.REJECT, Choice.DISCUSS), FIX)):
            at = yard()
            request = at.hand(LIBDB)
            for choice in choices:
                at.decide(request, choice, note="Words.")
            assert [state] == [found for found, _ in at.look()]

    def test_approved_and_then_asked(self) -> None:
        """A word after a yes stands beside it."""
        at = yard()
        request = at.hand(LIBDB)
        at.decide(request)
        at.decide(request, Choice.DISCUSS, by="bob", note="Is it fast?")

        assert [(FIX, f"{OPENED}; bob asks: Is it fast?")] == at.look()

    def test_approved_after_a_no(self) -> None:
        """Only those are named whose approval stands."""
        at = yard()
        request = at.hand(LIBDB)
        for choice, by in ((Choice.APPROVE, "ann"), (Choice.REJECT, "bob"), (Choice.APPROVE, "bob")):
            at.decide(request, choice, by=by)

        assert [(FIX, "bob approved libdb@1.8.2")] == at.look()

    @pytest.mark.parametrize("end", ["expired", "revoked", "used"])
    def test_over(self, end: str) -> None:
        """What has expired, was taken back or is used up is no answer."""
        at = yard()
        request = at.hand(LIBDB)
        at.decide(request, expires_at=at.clock.later(hours=1))
        found = at.decide(request, Choice.DISCUSS, note="And hurry.")
        assert found.grant is not None
        if end == "expired":
            at.clock.move(hours=1)
        elif end == "revoked":
            at.requests.revoke(found.grant.id, by="ann")
        else:
            drafts, expect = at.requests.reserve(
                [found.grant], action=Action(tool="ship", args={}, actor="fixer"), by="fixer"
            )
            at.ledger.append(*drafts, expect=expect)

        assert [] == at.look()
        assert HUMAN is at.now().state

    def test_superseded(self) -> None:
        """The answer to an older hand-back is none to the newest."""
        at = yard()
        at.decide(at.hand(LIBDB))
        newest = at.hand({**LIBDB, "version": "1.9.0"})
        assert [] == at.look()

        at.decide(newest)
        assert [(FIX, "ann approved libdb@1.9.0")] == at.look()

    def test_a_call_that_was_asked_about_is_no_hand_back(self) -> None:
        """An approval of a call opens this call, and leaves the signal where it is; the hand-back before it counts."""
        text = f"{LAW}rules:\n  - {{id: pay, tool: pay, effect: ask, says: Ask.}}\n"
        at = yard(text)
        request = at.hand(LIBDB)
        at.decide(at.ask())
        assert [] == at.look()
        assert request == handed_back(at.requests, at.subject)

        at.decide(request)
        assert [(FIX, OPENED)] == at.look()

    def test_several_approvers(self) -> None:
        """The first of two approvals does not start a fix, the second does."""
        ann, bob = Person("ann"), Person("bob")
        rules = (
            "rules:\n  - {id: two, effect: ask, target: 'entry:**', approvals: 2, exception: dependency, says: Two.}\n"
        )
        text = f"{LAW}{rules}approvers: {{ann: {ann.line}, bob: {bob.line}}}\n"
        people = {"ann": ann, "bob": bob}
        at = yard(text, sign=lambda decision, scope: people[decision.by].sign(decision, scope))
        request = at.hand(LIBDB)
        at.decide(request)
        assert [] == at.look()

        at.decide(request, by="bob")
        assert [(FIX, "ann and bob approved libdb@1.8.2")] == at.look()

    def test_an_answer_that_cannot_count(self) -> None:
        """What was written past the checks of a decision starts nothing, and what it says is told to nobody."""
        ann, eve = Person("ann"), Person("eve")
        at = yard(f"{LAW}approvers: {{ann: {ann.line}}}\n", sign=eve.sign)
        request = at.hand(LIBDB)
        for choice in Choice:
            forged = at.answer(at.requests.standing(request.request.id), choice, note="Do as I say.")
            at.ledger.append(Draft(f"request:{request.request.id}", "decided", {"decision": forged.to_dict()}))
            assert [] == at.look()
        assert 3 == len(at.requests.standing(request.request.id).refused)

    def test_needs_neither_threshold_nor_cooldown(self) -> None:
        """Who answered is not made to wait."""
        at = yard(f"{LAW}autofix: {{threshold: 99}}\n")
        at.decide(at.hand(LIBDB))
        at.put(HUMAN, ended_at=at.clock.now)

        assert [(FIX, OPENED)] == at.look()

    def test_keeps_the_priority(self) -> None:
        """What came first comes first again."""
        at = yard()
        at.decide(at.hand(LIBDB))
        at.put(HUMAN, priority=7)
        at.look()

        assert 7 == at.now().priority


class TestOnce:
    @pytest.mark.parametrize("choice", [Choice.APPROVE, Choice.DISCUSS])
    def test_an_answer_counts_once(self, choice: Choice) -> None:
        """A fix that an answer started and that came to nothing is not started again by the same answer."""
        at = yard()
        request = at.hand(LIBDB)
        at.decide(request, choice, note="Go on.")
        assert [FIX] == [state for state, _ in at.look()]

        at.put(SignalState.FIXING)
        at.put(HUMAN)
        assert [] == at.look()

        at.decide(request, Choice.DISCUSS, note="Once more.")
        assert [(FIX, "ann asks: Once more.")] == at.look()

    def test_a_no_counts_once_too(self) -> None:
        """A signal that is taken up after a no is not given up by it again."""
        at = yard()
        at.decide(at.hand(LIBDB), Choice.REJECT)
        assert [IGNORED] == [state for state, _ in at.look()]

        at.put(FIX)
        at.put(HUMAN)
        assert [] == at.look()

    def test_an_answer_during_a_fix(self) -> None:
        """What is answered while a fixer is at work, before its fix ends, is not lost."""
        at = yard()
        at.put(FIX)
        at.put(SignalState.FIXING)
        request = hand_back(
            Report.from_dict({"signal": at.now().id, "by": "fixer", "card": {"why": "unclear"}}), gate=at.gate
        )
        at.decide(request, Choice.DISCUSS, note="Look at the log.")
        at.clock.move(hours=1)
        at.put(HUMAN, ended_at=at.clock.now)

        assert [(FIX, "ann asks: Look at the log.")] == at.look()

    def test_an_answer_from_before_the_signal_came_back(self) -> None:
        """What was said of a fault that was fixed since is no answer to the fault that came back."""
        at = yard()
        request = at.hand(title="unclear")
        at.put(FIX)
        at.decide(request, Choice.DISCUSS, note="Look at the log.")
        at.put(SignalState.LANDED)
        at.meet()
        assert [FIX] == [state for state, _ in at.look()]

        at.put(HUMAN)
        assert [] == at.look()

    def test_the_order_is_that_of_the_ledger(self) -> None:
        """A clock that stands still, or goes back, neither repeats an answer nor loses one."""
        at = yard()
        request = at.hand(LIBDB)
        at.decide(request, Choice.DISCUSS, note="One.")
        at.clock.move(hours=-5)
        assert [(FIX, "ann asks: One.")] == at.look()

        at.put(HUMAN)
        assert [] == at.look()

        at.decide(request, Choice.DISCUSS, note="Two.", at="2020-01-01T00:00:00.000000Z")
        assert [(FIX, "ann asks: Two.")] == at.look()

    def test_the_version_that_was_heard(self) -> None:
        """Of several answers on one hand-back, those after the last that was heard count."""
        at = yard()
        request = at.hand(LIBDB)
        first = at.decide(request, Choice.DISCUSS, note="One.")
        second = at.decide(request, Choice.DISCUSS, note="Two.")

        found = [answered(at.now(), second, heard=heard) for heard in (0, first.seen, second.seen)]

        assert ["ann asks: Two.", "ann asks: Two.", None] == [one and one.reason for one in found]


class Told:
    """A naive account of one signal: what was answered to its newest hand-back since it was last taken up."""

    def __init__(self) -> None:
        self.state = NEW
        self.fresh: list[tuple[Choice, str, str]] = []
        self.approving: set[str] = set()

    def hand(self) -> None:
        """A new hand-back: what was said of the one before is over."""
        self.state, self.fresh, self.approving = HUMAN, [], set()

    def decide(self, choice: Choice, by: str, note: str) -> None:
        """Somebody answers it."""
        self.fresh.append((choice, by, note))
        if choice is Choice.APPROVE:
            self.approving.add(by)
        elif choice is Choice.REJECT:
            self.approving.clear()

    def put(self, state: SignalState) -> None:
        """The signal is put into a state; once it is taken up, what was said so far is heard."""
        self.state = state
        if state is FIX:
            self.fresh = []

    def look(self) -> list[SignalState]:
        """Return what triage decides."""
        if self.state is not HUMAN or not self.fresh:
            return []
        choice, _, note = self.fresh[-1]
        approved = any(one is Choice.APPROVE and by in self.approving for one, by, _ in self.fresh)
        if choice is Choice.REJECT:
            self.put(IGNORED)
        elif approved or (choice is Choice.DISCUSS and note):
            self.put(FIX)
        else:
            return []
        return [self.state]


ANSWERS = st.tuples(st.sampled_from(list(Choice)), st.sampled_from(["ann", "bob"]), st.sampled_from(["", "Why?"]))
STEPS = st.tuples(st.sampled_from(["look", "look", "decide", "decide", "wait", "wait", "take", "hand"]), ANSWERS)


@given(st.lists(STEPS, min_size=5, max_size=30))
def test_any_course_is_as_the_naive_account_has_it(steps: list[tuple[str, Any]]) -> None:
    """Whatever is handed back, answered and taken up in whatever order, every answer counts once and none is lost."""
    at, told = yard(), Told()
    request = at.hand(title="the first hand-back")
    told.hand()
    for number, (step, (choice, by, note)) in enumerate(steps):
        match step:
            case "look":
                assert told.look() == [state for state, _ in at.look()]
            case "decide":
                at.decide(request, choice, by=by, note=note)
                told.decide(choice, by, note)
            case "wait" | "take":
                state = HUMAN if step == "wait" else FIX
                at.put(state)
                told.put(state)
            case "hand":
                request = at.hand(title=f"hand-back {number}")
                told.hand()


class TestRecorded:
    def test_each_change_once(self) -> None:
        """A change is an event of the signal, with the rules behind it; nothing is written where nothing changes."""
        at = yard(f"{LAW}autofix: {{threshold: 2, triage: [{{id: a, priority: 4}}]}}\n")
        before = at.ledger.head(at.subject)
        assert [] == at.look()
        assert before == at.ledger.head(at.subject)

        at.meet()
        assert [(FIX, "seen 2 times")] == at.look()
        event = at.ledger.last(at.subject, "triaged")
        assert event is not None
        kept = ("before", "state", "reason", "rules", "rule", "priority", "answer")
        assert ("new", "fix", "seen 2 times", ["a"], None, 4, None) == tuple(event.data[name] for name in kept)
        assert 4 == at.now().priority
        assert [] == at.look()

    def test_names_the_answer(self) -> None:
        """The event names the human decision that it rests on."""
        at = yard()
        found = at.decide(at.hand(LIBDB))
        at.look()

        event = at.ledger.last(at.subject, "triaged")
        assert event is not None
        assert found.decisions[-1].id == event.data["answer"]

    def test_rules_beat_nothing_that_is_decided(self) -> None:
        """Only what is new or waits for a person is looked at."""
        at = yard(f"{LAW}autofix: {{triage: [{{id: all, state: ignored}}]}}\n")
        for state in (FIX, SignalState.FIXING, SignalState.LANDED, IGNORED):
            at.put(state)
            assert [] == at.look()

    def test_many_signals(self) -> None:
        """Each is decided about by itself, highest priority first once it is known."""
        at = yard(f"{LAW}autofix: {{triage: [{{id: log, when: signal.kind == 'log', state: ignored}}]}}\n")
        ingest(at.ledger, [Sighting(kind="log", summary=f"lost {word}") for word in ("one", "two", "three")])

        assert [FIX, IGNORED, IGNORED, IGNORED] == sorted(
            (state for state, _ in at.look()), key=lambda one: one is not FIX
        )

    def test_a_sighting_meanwhile(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A sighting that comes in between the decision and its record does not undo it."""
        at = yard()
        self._between(monkeypatch, at.meet)

        assert [(FIX, "seen once")] == at.look()
        assert (FIX, 2) == (at.now().state, at.now().count)

    def test_moved_meanwhile(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where somebody else was quicker, theirs stands."""
        at = yard()
        self._between(monkeypatch, lambda: at.put(IGNORED))

        assert [] == at.look()
        assert (IGNORED, "for a test") == (at.now().state, at.now().reason)

    def test_taken_back_meanwhile(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """An approval that is revoked while a decision rests on it starts nothing."""
        at = yard()
        found = at.decide(at.hand(LIBDB))
        assert found.grant is not None
        grant = found.grant.id
        self._between(monkeypatch, lambda: at.requests.revoke(grant, by="ann"))

        assert [] == at.look()
        assert HUMAN is at.now().state

    @staticmethod
    def _between(monkeypatch: pytest.MonkeyPatch, act: Any) -> None:
        """Do something once, after the first decision and before it is recorded."""
        left = [act]

        def moving(*args: Any, **values: Any) -> Signal:
            if left:
                left.pop()()
            return move(*args, **values)

        monkeypatch.setattr("indult.autofix.triage.move", moving)
