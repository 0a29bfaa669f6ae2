"""Law 11: an approval answers one request, held against a naive model over random timelines of answers, uses and clocks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample

from indult import Action, Gate, Verdict, approvals, loads_policy
from indult.approvals import Choice, HumanDecision, Via
from indult.errors import ApprovalError
from indult.gate import Requests, requests
from indult.ledger import Draft
from indult.scopes import Scope
from indult.testing.memory import MemoryLedger

LAW = loads_policy(
    "schema: 1\ndefault: deny\nrules: [{id: send, tool: send, effect: ask, says: Sending needs a person.}]"
)
ACTION = Action(tool="send", args={"to": "x"}, actor="agent")
OTHER = Action(tool="send", args={"to": "y"}, actor="agent")


def at(minute: int) -> str:
    """Return a time of the clock."""
    return f"2026-01-01T{minute // 60:02}:{minute % 60:02}:00.000000Z"


@dataclass(frozen=True)
class Answer:
    """Somebody answers; `looked` is whether they saw the answer before theirs, `shown` whether what stands there."""

    by: str
    choice: Choice
    looked: bool
    shown: bool
    uses: int | None


@dataclass(frozen=True)
class Try:
    """An agent tries the action, or another one."""

    other: bool


@dataclass(frozen=True)
class Revoke:
    """A person takes the grant back."""


@dataclass(frozen=True)
class Return:
    """The last use turns out never to have begun."""


@dataclass(frozen=True)
class Withdraw:
    """The matter is over, and whoever asked takes the question back."""


@dataclass(frozen=True)
class Clock:
    """Time goes on, or somebody sets the clock back."""

    minutes: int


OPERATIONS = st.one_of(
    st.builds(
        Answer,
        by=st.sampled_from(["ann", "ann", "bob", "agent"]),
        choice=st.sampled_from([Choice.APPROVE, Choice.APPROVE, Choice.REJECT, Choice.DISCUSS]),
        looked=st.sampled_from([True, True, True, False]),
        shown=st.sampled_from([True, True, True, False]),
        uses=st.sampled_from([None, None, 1]),
    ),
    st.builds(Try, other=st.sampled_from([False, False, True])),
    st.just(Revoke()),
    st.just(Return()),
    st.just(Withdraw()),
    st.builds(Clock, minutes=st.sampled_from([5, 20, 70, -40])),
)


@dataclass
class Model:
    """What should hold, kept as a person would: with a few words and a count."""

    offered: int
    minute: int = 0
    furthest: int = 0
    answers: int = 0
    approved: int | None = None
    used: int = 0
    open_uses: int = 0
    rejected: bool = False
    over: bool = False

    def live(self) -> bool:
        """Tell whether the grant opens anything."""
        return self.approved is not None and not self.ended() and self.used < self.approved

    def ended(self) -> bool:
        """Tell whether it or its grant was taken back or its hour is over; no clock that is set back undoes that."""
        return self.over or self.furthest >= 60

    def waits(self) -> bool:
        """Tell whether there is still a question to take back."""
        return self.approved is None and not self.rejected and not self.over

    def takes(self, answer: Answer) -> bool:
        """Tell whether an answer counts."""
        spent = self.approved is not None and self.used >= self.approved
        if self.ended() or spent or self.open_uses or answer.by == "agent" or not answer.shown:
            return False
        return answer.looked or self.answers == 0


@dataclass
class World:
    """The real thing under the same timeline."""

    uses: int
    minute: int = 0
    number: int = 0
    ledger: MemoryLedger = field(init=False)
    requests: Requests = field(init=False)
    gate: Gate = field(init=False)
    request: str = ""

    def __post_init__(self) -> None:
        """Ask for the action, with an hour to use what is approved."""
        self.ledger = MemoryLedger(clock=lambda: at(0))
        self.requests = Requests(self.ledger, LAW, clock=lambda: at(self.minute), new_id=lambda: "r_1")
        self.gate = Gate(LAW, self.ledger, "run:1", requests=self.requests)
        call = Scope.call(ACTION, subject="run:1")
        scope = Scope.from_dict({**call.to_dict(), "max_uses": self.uses, "expires_at": at(60)})
        opened = self.requests.open(
            scope, boundary=self.gate.boundary(), requested_by="agent", action=ACTION, facts={}, supersede=True
        )
        self.request = opened.request.id

    def answer(self, answer: Answer) -> bool:
        """Answer, and tell whether it was taken."""
        self.number += 1
        found = self.requests.standing(self.request)
        decision = HumanDecision(
            id=f"d_{self.number:04}",
            request=self.request,
            choice=answer.choice,
            digest=found.request.digest if answer.shown else "sha256:" + "0" * 64,
            seen=found.seen if answer.looked else 0,
            by=answer.by,
            via=Via.CLI,
            at=at(max(0, self.minute)),
            uses=answer.uses,
        )
        try:
            self.requests.decide(decision)
        except ApprovalError:
            return False
        return True


@dataclass(frozen=True)
class Timeline:
    """How many uses are asked for, and what happens then."""

    uses: int
    operations: list[Any]


TIMELINES = st.builds(Timeline, uses=st.integers(1, 3), operations=st.lists(OPERATIONS, max_size=14))


def law_11(timeline: Timeline) -> None:
    """Of what is answered only what may count does, and there are never more uses than were approved."""
    world, model = World(timeline.uses), Model(timeline.uses)
    reservations: list[str] = []
    for operation in timeline.operations:
        match operation:
            case Answer():
                taken = world.answer(operation)
                assert model.takes(operation) == taken
                if taken:
                    model.answers += 1
                    if operation.choice is Choice.APPROVE:
                        model.approved = min(timeline.uses, operation.uses or timeline.uses, model.approved or 99)
                        model.rejected = False
                    elif operation.choice is Choice.REJECT:
                        model.approved = None
                        model.rejected = True
            case Try(other=True):
                assert Verdict.ASK_USER is world.gate.review(OTHER, {}).verdict
            case Try():
                expected = model.live()
                judgement = world.gate.review(ACTION, {})
                assert (Verdict.APPROVE if expected else Verdict.ASK_USER) is judgement.verdict
                if expected:
                    drafts, expect = world.requests.reserve(judgement.grants, action=ACTION, by="agent")
                    world.requests.note(world.ledger.append(*drafts, expect=expect))
                    reservations.append(drafts[0].data["reservation"])
                    model.used, model.open_uses = model.used + 1, model.open_uses + 1
            case Revoke():
                grants = [grant.id for grant in world.requests.live("run:1")]
                assert bool(grants) == model.live()
                if grants:
                    world.requests.revoke(grants[0], by="ann")
                    model.over = True
            case Withdraw():
                waits = model.waits()
                assert int(waits) == world.requests.withdraw("run:1", why="it is over")
                model.over = model.over or waits
            case Return():
                if reservations:
                    world.requests.not_started(reservations.pop(), "it never began")
                    model.used, model.open_uses = model.used - 1, model.open_uses - 1
            case Clock(minutes=minutes):
                world.minute = max(0, world.minute + minutes)
                model.furthest = max(model.furthest, world.minute)
                # What the ledger has seen is what counts: an event at the new time makes it stick.
                world.ledger._clock = lambda now=world.minute: at(now)  # type: ignore[misc]
                world.ledger.append(Draft("clock", "tick", {}))
        used = sum(event.kind == "reserved" for event in world.ledger.events(f"request:{world.request}"))
        returned = sum(event.kind == "returned" for event in world.ledger.events(f"request:{world.request}"))
        assert used - returned == model.used <= timeline.uses


class TestLaw:
    def test_holds(self) -> None:
        """The law holds for every timeline that is drawn."""
        settings(max_examples=400, suppress_health_check=list(HealthCheck), deadline=None)(given(TIMELINES)(law_11))()


def whoever_asks_may_answer(patch: pytest.MonkeyPatch) -> None:
    """Take a decision from the requester too, when it is made and when it is folded."""
    patch.setattr(requests, "check_decision", lambda *given, **named: None)
    patch.setattr(approvals, "_wrong", lambda *given: None)


def uses_are_not_counted(patch: pytest.MonkeyPatch) -> None:
    """Forget what was reserved."""
    take = approvals._Fold.take

    def forgetful(self: Any, event: Any) -> None:
        if event.kind != "reserved":
            take(self, event)

    patch.setattr(approvals._Fold, "take", forgetful)


def a_withdrawal_is_forgotten(patch: pytest.MonkeyPatch) -> None:
    """Take answers to what was withdrawn."""
    take = approvals._Fold.take

    def forgetful(self: Any, event: Any) -> None:
        if event.kind != "withdrawn":
            take(self, event)

    patch.setattr(approvals._Fold, "take", forgetful)


def the_clock_is_believed(patch: pytest.MonkeyPatch) -> None:
    """Take the present from the clock alone, so that setting it back revives what was over."""
    from indult.gate import records

    patch.setattr(records.Records, "now", lambda self: self._clock())


MUTANTS: list[Callable[[pytest.MonkeyPatch], None]] = [
    whoever_asks_may_answer,
    uses_are_not_counted,
    a_withdrawal_is_forgotten,
    the_clock_is_believed,
]


class TestMutants:
    @pytest.mark.parametrize("mutant", MUTANTS)
    def test_is_killed_by_the_law(
        self, mutant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """With the code broken, the law finds a timeline against it."""
        mutant(monkeypatch)

        def fails(timeline: Timeline) -> bool:
            try:
                law_11(timeline)
            except (AssertionError, KeyError, ApprovalError):
                return True
            return False

        quick = settings(
            max_examples=2000, phases=[Phase.generate], suppress_health_check=list(HealthCheck), deadline=None
        )
        try:
            find(TIMELINES, fails, settings=quick)
        except NoSuchExample:
            pytest.fail(f"law 11 did not notice {mutant.__name__}")
