"""Makers, tools and graders that do what they should not, as other people's code may."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from typing import Any

import pytest

from indult import Action, Advice, Budget, Critique, Evidence, Loop, Outcome, Proposal, Result, Status, Step, Usage
from indult import loads_policy as loads
from indult.boundary import Brief
from indult.errors import InputError, LedgerBusy, LedgerConflict, LedgerError, RunError
from indult.loop import StopKind
from indult.testing.fakes import RecordingExecutor, ScriptedProposer, StaticVerifier
from indult.testing.memory import MemoryLedger

LAW = "{schema: 1, default: deny, rules: [{id: read, tool: read, effect: allow}]}"
READ = Action(tool="read")


class Unspeakable(Exception):
    """An error that cannot be shown."""

    def __repr__(self) -> str:
        raise RuntimeError("no words")


class Garbled(Exception):
    """An error whose words no UTF-8 can carry."""

    def __repr__(self) -> str:
        return "\ud800" * 400


class Mute:
    """A value that cannot be shown."""

    def __repr__(self) -> str:
        raise SystemExit(3)


def nested() -> Any:
    """Return lists in lists, deeper than anything can follow."""
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    return value


RAISED: dict[str, Callable[[], BaseException]] = {
    "exit": lambda: SystemExit(3),
    "generator exit": GeneratorExit,
    "base": lambda: BaseException("base"),
    "stop": StopIteration,
    "without words": Unspeakable,
    "surrogates": Garbled,
    "message with surrogates": lambda: InputError("\ud800"),
    "message that is none": lambda: InputError(None),  # type: ignore[arg-type]
    "huge": lambda: ValueError("x" * 2_000_000),
    "conflict": lambda: LedgerConflict("not yours"),
    "busy": lambda: LedgerBusy("not yours"),
}

EACH_RAISED = pytest.mark.parametrize("make", RAISED.values(), ids=RAISED)


class Seam:
    """One seam of the loop, played by a function."""

    def __init__(self, answer: Callable[[Any], Any], effect: str = "outside") -> None:
        self.propose = self.execute = self.review = answer
        self.effect = effect


def raising(exc: BaseException) -> Seam:
    """Return a seam that raises."""

    def answer(_: Any) -> Any:
        raise exc

    return Seam(answer)


class Play:
    """A run of two turns in a ledger of its own."""

    def __init__(self, **seams: Any) -> None:
        self.ledger = MemoryLedger(clock=lambda: "2026-01-01T00:00:00.000000Z")
        self.steps: list[Step] = []
        self.loop = Loop(
            policy=loads(LAW),
            ledger=self.ledger,
            on_step=self.steps.append,
            **{
                "proposer": ScriptedProposer([READ, READ]),
                "executor": RecordingExecutor(),
                "verifier": StaticVerifier(),
                "budget": Budget(turns=2),
                **seams,
            },
        )

    def run(self) -> Result:
        """Run once, as run `one`."""
        return asyncio.run(self.loop.run("one"))

    def kinds(self) -> list[str]:
        """Return the kinds of all events of the run."""
        return [event.kind for event in self.ledger.events("run:one")]

    def refused(self) -> str:
        """Return why the first proposal was refused."""
        refused = self.steps[0].refused
        assert refused is not None
        return refused


def made(**fields: Any) -> Callable[[], Any]:
    """Return a function that makes a proposal with these fields."""
    return lambda: Proposal(**{"action": READ, **fields})


def touched(value: Any, **fields: Any) -> Any:
    """Return a frozen value with fields that it would have refused."""
    for name, item in fields.items():
        object.__setattr__(value, name, item)
    return value


class TestMakers:
    @EACH_RAISED
    def test_whatever_is_raised_is_a_refused_proposal(self, make: Callable[[], BaseException]) -> None:
        """An exception of any kind is told in at most 300 characters that a ledger can keep, and the loop goes on."""
        play = Play(proposer=raising(make()))

        assert StopKind.BUDGET_TURNS is play.run().stop.kind
        assert 0 < len(play.refused().encode()) <= 300
        assert ["run_started", "step", "step", "run_stopped"] == play.kinds()

    @pytest.mark.parametrize("make", [KeyboardInterrupt, asyncio.CancelledError])
    def test_a_person_who_stops_the_run_stops_it(self, make: type[BaseException]) -> None:
        """An interrupt and a cancellation are meant for the run and end it, with a record."""
        play = Play(proposer=raising(make()))
        with pytest.raises(make):
            play.run()

        assert ["run_started", "run_stopped"] == play.kinds()

    def test_a_run_that_is_closed_while_its_maker_waits_writes_nothing_more(self) -> None:
        """Closing the coroutine of a run is no mistake of the maker that was being waited for."""
        play = Play(proposer=Seam(lambda brief: asyncio.sleep(1000)))

        async def close() -> None:
            run = play.loop.run("one")
            run.send(None)
            run.close()

        asyncio.run(close())

        assert ["run_started"] == play.kinds()

    @pytest.mark.parametrize(
        "make",
        [
            made(rationale="\ud800"),
            made(rationale=object()),
            made(usage=None),
            lambda: Proposal(action=READ, usage=touched(Usage(), tokens=-100)),
            lambda: Proposal(action=READ, usage=touched(Usage(), cost=math.nan)),
            lambda: Proposal(action=touched(Action(tool="read"), tool="read\ud800")),
            lambda: Proposal(action=touched(Action(tool="read"), cwd="\ud800")),
            lambda: Proposal(action=touched(Action(tool="read"), call_id="\ud800")),
            lambda: Proposal(action=touched(Action(tool="read"), tool="r" * 2_000)),
            lambda: Proposal(action=touched(Action(tool="read"), args={"x": object()})),
            lambda: Proposal(action=touched(Action(tool="read"), tool=None)),
            lambda: type("Close", (Action,), {})(tool="read"),
        ],
    )
    def test_a_proposal_that_cannot_be_kept_is_refused(self, make: Callable[[], Any]) -> None:
        """Parts of other types, without UTF-8 or out of range refuse the proposal before anything is judged."""
        play = Play(proposer=Seam(lambda brief: make()))
        result = play.run()

        assert StopKind.BUDGET_TURNS is result.stop.kind
        assert play.refused()
        assert (0, 0, 0) == (result.meter.tokens, result.meter.cost, result.meter.gate_evaluations)

    @pytest.mark.parametrize("honest", range(9))
    def test_a_proposal_is_read_once(self, honest: int) -> None:
        """A proposal that shows another action on a later look has only the one that was checked performed."""
        looks = 0

        class Shifty(Proposal):
            def __getattribute__(self, name: str) -> Any:
                nonlocal looks
                if name != "action":
                    return super().__getattribute__(name)
                looks += 1
                return READ if looks <= honest else Action(tool="read", args={"unchecked": 1}, actor="somebody")

        def shift(_: Brief) -> Proposal:
            nonlocal looks
            looks = 0
            return Shifty(action=READ)

        play = Play(proposer=Seam(shift))
        play.run()

        assert [READ] * (2 if honest else 0) == play.loop.executor.actions  # type: ignore[attr-defined]

    def test_what_was_judged_is_what_runs(self) -> None:
        """A maker, a check and a tool that change the arguments of their action later change none but their own."""
        ran: list[dict[str, Any]] = []
        seen: list[dict[str, Any]] = []
        mine = Action(tool="read", args={"n": 1})

        def spoil(action: Action) -> None:
            action.args["n"] = mine.args["n"] = 10**6

        def execute(action: Action) -> Outcome:
            ran.append(dict(action.args))
            spoil(action)
            return Outcome(status=Status.DONE)

        def review(evidence: Evidence) -> Critique:
            seen.append(evidence.action.args)
            return Critique(score=1, reason="seen")

        proposer = ScriptedProposer([Proposal(action=mine)])
        Play(proposer=proposer, executor=Seam(execute), verifier=Seam(review), check=spoil).run()

        assert ([{"n": 1}], [{"n": 1}]) == (ran, seen)

    @pytest.mark.parametrize(
        "fields",
        [
            {"tokens": -1},
            {"tokens": None},
            {"tokens": 0.5},
            {"tokens": True},
            {"tokens": "9"},
            {"tokens": 2**53},
            {"cost": -0.1},
            {"cost": math.nan},
            {"cost": math.inf},
            {"cost": None},
            {"cost": 10**5000},
        ],
    )
    def test_usage_that_no_budget_holds_against_is_refused(self, fields: dict[str, Any]) -> None:
        """Tokens and cost are numbers from 0 to 2**53 - 1, so no maker can lower what a run has spent."""
        with pytest.raises(InputError, match="usage has"):
            Usage(**fields)

    def test_totals_stay_within_what_a_record_keeps(self) -> None:
        """Two makers' calls of the largest usage each come to the largest that can be written."""
        most = 2**53 - 1
        usage = Usage(tokens=most, cost=most)
        result = Play(proposer=ScriptedProposer([Proposal(action=READ, usage=usage)] * 2)).run()

        assert (most, most) == (result.meter.tokens, result.meter.cost)


class TestExecutors:
    @EACH_RAISED
    def test_whatever_is_raised_is_a_failed_outcome(self, make: Callable[[], BaseException]) -> None:
        """An exception of any kind is the outcome of one execution, closed after its intent and never repeated."""
        count = 0

        def execute(_: Action) -> Outcome:
            nonlocal count
            count += 1
            raise make()

        play = Play(executor=Seam(execute))

        assert StopKind.BUDGET_TURNS is play.run().stop.kind
        assert 2 == count
        assert [Status.FAILED] * 2 == [step.outcome.status for step in play.steps if step.outcome]
        assert ["run_started", *["intent", "close"] * 2, "run_stopped"] == play.kinds()

    @pytest.mark.parametrize(("given", "ends"), [(LedgerConflict, RunError), (LedgerBusy, LedgerBusy)])
    def test_a_world_that_cannot_read_its_ledger_ends_the_run(
        self, given: type[LedgerError], ends: type[Exception]
    ) -> None:
        """An error of the ledger inside a world of the ledger is not taken for one of the loop's own writing."""
        count = 0

        def execute(_: Action) -> Outcome:
            nonlocal count
            count += 1
            raise given("the world's own")

        with pytest.raises(ends, match="the world's own"):
            Play(executor=Seam(execute, effect="ledger")).run()

        assert 1 == count

    def test_a_conflict_of_our_own_writing_is_judged_again(self) -> None:
        """Somebody who gets ahead of the intent costs a second look, and the action still runs once."""
        play = Play(proposer=ScriptedProposer([READ]))
        append = play.ledger.append
        failed: list[int] = []

        def contested(*drafts: Any, **options: Any) -> Any:
            if drafts[-1].kind == "intent" and not failed:
                failed.append(1)
                raise LedgerConflict("another writer was quicker")
            return append(*drafts, **options)

        play.ledger.append = contested  # type: ignore[method-assign]
        play.run()

        assert [READ] == play.loop.executor.actions  # type: ignore[attr-defined]

    def test_a_conflict_after_the_effect_is_never_judged_again(self) -> None:
        """A close that somebody got ahead of ends the run: what has happened does not happen twice."""
        play = Play()
        append = play.ledger.append

        def contested(*drafts: Any, **options: Any) -> Any:
            if drafts[-1].kind == "close":
                raise LedgerConflict("another writer was quicker")
            return append(*drafts, **options)

        play.ledger.append = contested  # type: ignore[method-assign]
        with pytest.raises(RunError):
            play.run()

        assert [READ] == play.loop.executor.actions  # type: ignore[attr-defined]

    @pytest.mark.parametrize("effect", ["outside", "ledger"])
    @pytest.mark.parametrize(
        "make",
        [Mute, object, lambda: 10**5000, lambda: "\ud800", lambda: math.nan, lambda: {"a": Mute()}, nested],
    )
    def test_a_result_of_any_kind_is_kept_in_some_form(self, make: Callable[[], Any], effect: str) -> None:
        """A result that is no JSON, or that cannot even be shown, leaves a done step with some words."""
        play = Play(executor=Seam(lambda action: Outcome(status=Status.DONE, result=make()), effect=effect))

        assert StopKind.BUDGET_TURNS is play.run().stop.kind
        assert [Status.DONE] * 2 == [step.outcome.status for step in play.steps if step.outcome]

    @pytest.mark.parametrize(
        "fields",
        [
            {"status": "done"},
            {"after": 10**400},
            {"after": 10**5000},
            {"fit": math.inf},
            {"before": True},
            {"counts": None},
            {"counts": {"a": "b"}},
            {"counts": {"a": math.nan}},
            {"counts": {"a": True}},
            {"counts": {"a": 10**400}},
            {"counts": {"a": 1e300}},
            {"counts": {1: 1}},
            {"counts": {"": 1}},
            {"counts": {"\ud800": 1}},
            {"counts": {"a" * 300: 1}},
            {"counts": {str(n): 1 for n in range(1_001)}},
        ],
    )
    def test_an_outcome_that_cannot_be_kept_is_a_failed_one(self, fields: dict[str, Any]) -> None:
        """Measures and changes of counters are refused where the outcome is made, and again where it is taken."""
        with pytest.raises(InputError):
            Outcome(**{"status": Status.DONE, **fields})
        play = Play(executor=Seam(lambda action: touched(Outcome(status=Status.DONE), **fields)))

        assert StopKind.BUDGET_TURNS is play.run().stop.kind
        assert [Status.FAILED] * 2 == [step.outcome.status for step in play.steps if step.outcome]

    def test_an_effect_whose_counters_overflow_is_closed(self) -> None:
        """Where the ledger cannot keep what an effect changed, the close says how it ended and the run fails."""
        play = Play(executor=Seam(lambda action: Outcome(status=Status.DONE, counts={"a": 2**53 - 1})))

        assert StopKind.FAILED is play.run().stop.kind
        assert ["run_started", *["intent", "close"] * 2, "run_stopped"] == play.kinds()


class TestGraders:
    @EACH_RAISED
    def test_whatever_is_raised_ends_the_run_with_a_close(self, make: Callable[[], BaseException]) -> None:
        """An exception of any kind fails the run after the outcome is recorded."""
        play = Play(verifier=raising(make()))
        result = play.run()

        assert StopKind.FAILED is result.stop.kind
        assert len(result.stop.detail.encode()) <= 300
        assert ["run_started", "intent", "close", "run_stopped"] == play.kinds()

    @pytest.mark.parametrize(
        "fields",
        [
            {"score": 10**5000},
            {"score": True},
            {"reason": None},
            {"reason": "\ud800"},
            {"reason": "x" * 4_001},
            {"axes": {1: 1}},
            {"axes": None},
            {"axes": {"\ud800": 1}},
            {"tokens": None},
            {"tokens": -5},
            {"tokens": 2**53},
        ],
    )
    def test_a_critique_that_cannot_be_kept_ends_the_run_with_a_close(self, fields: dict[str, Any]) -> None:
        """Grades are checked where they are made, and again where they are taken, and never crash after an effect."""
        with pytest.raises(InputError):
            Critique(**{"score": 1, "reason": "fine", **fields})
        play = Play(verifier=Seam(lambda evidence: touched(Critique(score=1, reason="fine"), **fields)))

        assert StopKind.FAILED is play.run().stop.kind
        assert ["run_started", "intent", "close", "run_stopped"] == play.kinds()

    @pytest.mark.parametrize(
        "fields",
        [
            {"rung": 1},
            {"rung": "\ud800"},
            {"because": "rule"},
            {"because": (1,)},
            {"read": None},
            {"read": {"x": object()}},
            {"read": {"x": "y" * 200_000}},
            {"text": "\ud800"},
            {"text": "x" * 4_001},
        ],
    )
    def test_advice_that_cannot_be_kept_ends_the_run_with_a_close(self, fields: dict[str, Any]) -> None:
        """Advice is checked like the critique that carries it."""
        with pytest.raises(InputError):
            Advice(**fields)
        advice = touched(Advice(), **fields)
        play = Play(verifier=Seam(lambda evidence: Critique(score=1, reason="fine", advice=advice)))

        assert StopKind.FAILED is play.run().stop.kind
        assert ["run_started", "intent", "close", "run_stopped"] == play.kinds()

    def test_a_grader_that_quotes_a_long_argument_ends_the_run_with_a_close(self) -> None:
        """A maker cannot crash a run by an argument that its grader repeats."""
        long = Action(tool="read", args={"x": "y" * 350_000})
        verifier = Seam(lambda evidence: Critique(score=1, reason=f"did {evidence.action.args}"))
        play = Play(proposer=ScriptedProposer([long]), verifier=verifier)

        assert StopKind.FAILED is play.run().stop.kind
        assert ["run_started", "intent", "close", "run_stopped"] == play.kinds()

    def test_a_grader_cannot_change_what_is_written(self) -> None:
        """A grader has its own copy of the outcome that it grades."""

        def review(evidence: Evidence) -> Critique:
            evidence.outcome.result.append(object())
            touched(evidence.outcome, status=Status.FAILED)
            return Critique(score=1, reason="fine")

        executor = RecordingExecutor(lambda action: Outcome(status=Status.DONE, result=[1]))
        play = Play(executor=executor, verifier=Seam(review))
        play.run()

        assert {"status": "done"} == play.steps[0].event.data["outcome"]  # type: ignore[union-attr]
