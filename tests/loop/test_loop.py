from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from indult import (
    Action,
    Budget,
    Critique,
    Evidence,
    Ledger,
    Loop,
    Outcome,
    Policy,
    Proposal,
    Result,
    Status,
    Step,
    Usage,
)
from indult import loads_policy as loads
from indult.boundary import Brief
from indult.errors import LedgerFull, RunError
from indult.gate import Requests
from indult.ledger import Draft
from indult.loop import StopKind
from indult.testing.fakes import RecordingExecutor, ScriptedProposer, StaticVerifier
from indult.testing.memory import MemoryLedger

LAW = """
schema: 1
default: deny
rules:
  - {id: read, tool: read, effect: allow}
  - {id: send, tool: send, effect: ask, says: Sending needs a person.}
  - id: wipe
    tool: wipe
    effect: deny
    says: Never wipe.
    when: args.depth > 1
    downgrade: [{depth: 9}, {depth: 1}]
  - {id: shallow, tool: wipe, effect: allow}
"""


def read(path: str = "a") -> Action:
    """Return an action that the law allows."""
    return Action(tool="read", args={"path": path})


SEND = Action(tool="send", args={"to": "x"})


def numbered(ledger: Ledger, policy: Policy) -> Requests:
    """Return requests with ids that count up, so that two runs of the same kind write the same."""

    def number() -> str:
        return f"r_{sum(1 for _ in ledger.streams('request:')) + 1:04}"

    return Requests(ledger, policy, clock=lambda: "2026-01-01T00:00:00.000000Z", new_id=number)


class Setup:
    """A loop with fakes at its seams."""

    def __init__(self, script: list[Any], **changes: Any) -> None:
        self.ledger: Ledger = changes.pop("ledger", None) or MemoryLedger(clock=lambda: "2026-01-01T00:00:00.000000Z")
        self.maker = changes.pop("proposer", None) or ScriptedProposer(script)
        self.executor = changes.pop("executor", None) or RecordingExecutor(effect="ledger")
        self.verifier = changes.pop("verifier", None) or StaticVerifier()
        self.steps: list[Step] = []
        policy = loads(changes.pop("law", LAW))
        self.requests = numbered(self.ledger, policy)
        self.loop = Loop(
            policy=policy,
            ledger=self.ledger,
            requests=self.requests,
            proposer=self.maker,
            executor=self.executor,
            verifier=self.verifier,
            on_step=changes.pop("on_step", self.steps.append),
            **{"stall_patience": 2, **changes},
        )

    def run(self) -> Result:
        """Run once, as run `one`."""
        return asyncio.run(self.loop.run("one"))

    def resume(self, **settled: Any) -> Result:
        """Resume run `one`."""
        return asyncio.run(self.loop.resume("one", **settled))

    def kinds(self) -> list[str]:
        """Return the kinds of all events of the run."""
        return [event.kind for event in self.ledger.events("run:one")]


class TestSteps:
    def test_only_what_is_permitted_is_performed(self) -> None:
        """An approved action runs as it is, a downgraded one as its first approved rung, others not at all."""
        setup = Setup([read(), SEND, Action(tool="wipe", args={"depth": 5}), Action(tool="nothing")], on_ask="continue")
        setup.run()

        assert [("read", {"path": "a"}), ("wipe", {"depth": 1})] == [
            (action.tool, action.args) for action in setup.executor.actions
        ]

    def test_a_step_without_an_outside_effect_is_one_event(self) -> None:
        """With an executor whose effects are the ledger's own, a run is its start, its steps and its stop."""
        setup = Setup([read()])
        setup.run()

        assert ["run_started", "step", "step", "step", "run_stopped"] == setup.kinds()

    def test_an_outside_effect_has_an_intent_before_and_a_close_after(self) -> None:
        """The intent is in the ledger when the effect happens, and the close follows it."""
        seen: list[list[str]] = []
        setup = Setup([])
        setup = Setup([read(), SEND], executor=RecordingExecutor(lambda action: note(setup, seen)), on_ask="continue")
        setup.run()

        assert [["run_started", "intent"]] == seen
        assert ["run_started", "intent", "close", "step", "step", "run_stopped"] == setup.kinds()

    def test_the_next_brief_carries_the_latest_critique(self) -> None:
        """What the grader said of a step stands in the same actor's next brief, and in nobody else's."""
        critique = Critique(score=0.2, reason="too eager")
        setup = Setup([read(), read(), read()], verifier=StaticVerifier(critique), actors=("a", "b"))
        setup.run()

        assert ["", "", "too eager"] == [brief.injected for brief in setup.maker.briefs[:3]]
        assert "> too eager" in setup.maker.briefs[2].text

    def test_a_judgement_names_the_boundary_that_was_read(self) -> None:
        """The digest of the brief and of the judgement are both recorded, so anyone can see that they agree."""
        setup = Setup([read()])
        setup.run()
        judgement = setup.steps[0].judgement

        assert judgement is not None
        assert setup.maker.briefs[0].digest == judgement.briefed == judgement.boundary

    def test_a_failing_executor_is_an_outcome(self) -> None:
        """An effect that raises is recorded as failed, earns no progress, and the loop goes on."""

        def fail(action: Action) -> Outcome:
            raise OSError("no route to host")

        setup = Setup([read(), read()], executor=RecordingExecutor(fail, effect="ledger"))
        result = setup.run()

        assert [Status.FAILED, Status.FAILED] == [step.outcome and step.outcome.status for step in setup.steps]
        assert StopKind.STALLED is result.stop.kind

    def test_an_outcome_that_is_none_is_a_failure(self) -> None:
        """An executor that returns something else than an outcome is recorded as failed."""
        setup = Setup([read()], executor=RecordingExecutor(lambda action: True, effect="ledger"))  # type: ignore[arg-type,return-value]
        setup.run()

        assert Status.FAILED is (setup.steps[0].outcome and setup.steps[0].outcome.status)

    def test_makers_and_graders_may_wait(self) -> None:
        """The same loop takes coroutines at each seam."""

        class Slow(ScriptedProposer):
            async def propose(self, brief: Brief) -> Proposal:
                await asyncio.sleep(0)
                proposal: Proposal = super().propose(brief)
                return proposal

        setup = Setup([], proposer=Slow([read()]))
        setup.run()

        assert ["a"] == [action.args["path"] for action in setup.executor.actions]


def note(setup: Setup, seen: list[list[str]]) -> Outcome:
    """Record which events the ledger has at this moment."""
    seen.append(setup.kinds())
    return Outcome(status=Status.DONE)


class TestStops:
    def test_the_goal_comes_first(self) -> None:
        """A goal reached in the last allowed turn is a goal, not a spent budget."""
        setup = Setup([read()], goal=lambda turn: "done" if turn else None, budget=Budget(turns=1))

        assert "goal_reached — done" == str(setup.run().stop)

    def test_a_goal_reached_before_the_first_turn_costs_nothing(self) -> None:
        """The goal is asked for before anybody proposes."""
        setup = Setup([read()], goal=lambda turn: "already there")

        assert 0 == setup.run().meter.engine_calls

    def test_a_spent_budget_comes_before_a_stall(self) -> None:
        """With nothing to spend, the budget is named, not the stall that would follow."""
        assert (
            StopKind.BUDGET_ENGINE_CALLS is Setup([], budget=Budget(engine_calls=0), stall_patience=1).run().stop.kind
        )

    @pytest.mark.parametrize(
        ("budget", "kind", "detail"),
        [
            (Budget(turns=2), StopKind.BUDGET_TURNS, "turn budget hit (2 turns)"),
            (Budget(engine_calls=3), StopKind.BUDGET_ENGINE_CALLS, "engine-call budget hit (3)"),
            (Budget(reviews=2), StopKind.BUDGET_REVIEWS, "review budget hit (2)"),
            (Budget(gate_evaluations=2), StopKind.BUDGET_GATE_EVALUATIONS, "gate-evaluation budget hit (2)"),
            (Budget(tokens=15), StopKind.BUDGET_TOKENS, "token budget hit (15)"),
            (Budget(cost=0.5), StopKind.BUDGET_COST, "cost budget hit (0.5)"),
            (Budget(seconds=5), StopKind.BUDGET_SECONDS, "time budget hit (5)"),
        ],
    )
    def test_every_budget_stops_the_run_by_its_name(self, budget: Budget, kind: StopKind, detail: str) -> None:
        """Each ceiling ends the run with its own kind and says what it was."""
        proposal = Proposal(action=read(), usage=Usage(tokens=10, cost=0.3))
        ticks = iter(range(100))
        setup = Setup([proposal] * 9, budget=budget, clock=lambda: next(ticks))

        assert (kind, detail) == ((stop := setup.run().stop).kind, stop.detail)

    def test_a_turn_cut_short_is_no_turn(self) -> None:
        """A budget that ends a turn in the middle leaves that turn uncounted."""
        setup = Setup([read()] * 9, actors=("a", "b", "c"), budget=Budget(engine_calls=4))

        assert (1, 4) == ((meter := setup.run().meter).turns, meter.engine_calls)

    def test_turns_in_which_nobody_proposes_are_turns_without_progress(self) -> None:
        """An empty proposal is an engine call and nothing else, and enough of them are a stall."""
        result = Setup([], stall_patience=3).run()

        assert "stalled — no approved progress for 3 turns" == str(result.stop)
        assert (3, 0, 0) == (result.meter.engine_calls, result.meter.reviews, result.meter.gate_evaluations)

    def test_progress_resets_the_patience(self) -> None:
        """Only turns without progress in a row are a stall."""
        result = Setup([SEND, read(), SEND, read(), SEND, SEND], on_ask="continue").run()

        assert 6 == result.meter.turns

    def test_a_question_stops_a_turn_without_progress(self) -> None:
        """By default a run waits for a person at the end of a turn that only asked."""
        result = Setup([SEND]).run()

        assert "awaiting_approval — turn 1 waits for a person" == str(result.stop)

    def test_a_question_does_not_stop_a_turn_with_progress(self) -> None:
        """While somebody gets on, the run does not wait for a person."""
        result = Setup([SEND, read()], actors=("a", "b"), stall_patience=1).run()

        assert (StopKind.STALLED, 2) == (result.stop.kind, result.meter.turns)

    @pytest.mark.parametrize("grade", [RuntimeError("judge is down"), "good", None, 0.9])
    def test_a_failing_verifier_ends_the_run(self, grade: Any) -> None:
        """Nothing passes ungraded: a grader that raises or returns something else ends the run as failed."""

        class Broken:
            def review(self, evidence: Evidence) -> Any:
                if isinstance(grade, Exception):
                    raise grade
                return grade

        setup = Setup([read()], verifier=Broken())

        assert StopKind.FAILED is setup.run().stop.kind
        assert ["run_started", "run_stopped"] == setup.kinds()

    def test_a_failing_verifier_leaves_the_outcome_of_an_outside_effect(self) -> None:
        """An effect that happened is kept with its outcome even though nobody could grade it."""

        class Broken:
            def review(self, evidence: Evidence) -> Any:
                raise RuntimeError("judge is down")

        setup = Setup([read()], verifier=Broken(), executor=RecordingExecutor())
        setup.run()

        assert ["run_started", "intent", "close", "run_stopped"] == setup.kinds()
        close = setup.ledger.last("run:one", "close")
        assert close is not None
        assert "done" == close.data["outcome"]["status"]
        assert "critique" not in close.data

    def test_a_cancelled_run_says_so(self) -> None:
        """Ctrl-C ends a run with its own stop reason, and the interrupt goes on to the caller."""

        def interrupt(step: Step) -> None:
            raise KeyboardInterrupt

        setup = Setup([read()] * 3, on_step=interrupt)
        with pytest.raises(KeyboardInterrupt):
            setup.run()

        last = setup.ledger.last("run:one")
        assert last is not None
        assert {"kind": "cancelled", "detail": "cancelled in turn 1"} == last.data["stop"]

    def test_ctrl_c_is_heard_although_nothing_waits(self) -> None:
        """A maker and tools that never wait do not keep a run from being cancelled after the step under way."""

        async def cancel_soon() -> int:
            task = asyncio.ensure_future(setup.loop.run("one"))

            def cancel(step: Step) -> None:
                setup.steps.append(step)
                task.cancel()

            setup.loop.on_step = cancel
            with pytest.raises(asyncio.CancelledError):
                await task
            return len(setup.steps)

        setup = Setup([read()] * 50, budget=Budget(turns=50))

        assert 1 == asyncio.run(cancel_soon())
        assert "run_stopped" == setup.kinds()[-1]


class TestResume:
    def test_an_unknown_run_is_an_error(self) -> None:
        """There is nothing to resume where nothing ran."""
        with pytest.raises(RunError, match="there is no run `one`"):
            Setup([]).resume()

    def test_a_finished_run_is_an_error(self) -> None:
        """A run that ended by itself is not continued; a new run goes on from the same memory."""
        setup = Setup([])
        setup.run()
        with pytest.raises(RunError, match="run `one` has ended: stalled"):
            setup.resume()

    def test_a_name_is_used_once(self) -> None:
        """Two runs cannot have the same name."""
        setup = Setup([])
        setup.run()
        with pytest.raises(RunError, match="run `one` exists"):
            setup.run()

    def test_goes_on_after_a_person_was_waited_for(self) -> None:
        """A run that awaited approval goes on with the next turn."""
        setup = Setup([SEND, read()])
        setup.run()
        result = setup.resume()

        assert [1, 2, 3, 4] == [step.turn for step in setup.steps]
        assert (4, StopKind.STALLED) == (result.meter.turns, result.stop.kind)

    @pytest.mark.parametrize("at", range(1, 9))
    def test_equals_an_undisturbed_run_wherever_a_write_failed(self, at: int) -> None:
        """A run whose n-th write fails holds whole steps only, and resumed it ends as if nothing had happened."""
        script = [read("a"), SEND, read("b"), Action(tool="wipe", args={"depth": 5}), None, read("c")]
        changes: dict[str, Any] = {"actors": ("a", "b"), "on_ask": "continue", "budget": Budget(turns=3)}
        whole = Setup(script, **changes)
        whole.run()
        broken = Setup(script, **changes)
        failing(broken.ledger, at)
        with pytest.raises(LedgerFull):
            broken.run()
        del broken.ledger.append
        again = Setup(script, ledger=broken.ledger, **changes)
        if at == 1:
            again.run()
        else:
            again.resume()

        assert plain(whole.ledger) == plain(again.ledger)

    def test_an_open_intent_asks_a_person(self) -> None:
        """What may have run is not run again by itself: the run stops and says which event is open."""
        setup = interrupted()
        result = setup.resume()

        assert "awaiting_approval — `read` may have run: version 2 of `run:one` has no close" == str(result.stop)
        assert [] == setup.executor.actions

    def test_an_open_intent_of_an_idempotent_tool_runs_again(self) -> None:
        """A tool that is declared idempotent is simply run again."""
        setup = interrupted(idempotent=frozenset({"read"}))
        setup.resume()

        assert ["a"] == [action.args["path"] for action in setup.executor.actions]
        assert ["intent", "close"] == setup.kinds()[1:3]

    @pytest.mark.parametrize(("word", "status"), [("done", Status.DONE), ("not_started", Status.NOT_STARTED)])
    def test_a_person_can_settle_an_open_intent(self, word: str, status: Status) -> None:
        """A person who looked says whether it ran; that is the close, and nothing runs a second time."""
        setup = interrupted()
        setup.resume()
        setup.resume(settle=word)
        close = setup.ledger.last("run:one", "close")

        assert close is not None
        assert status == close.data["outcome"]["status"]
        assert [] == setup.executor.actions

    def test_two_processes_cannot_write_one_run(self) -> None:
        """A run that somebody else moved on is left to them."""

        def meddle(step: Step) -> None:
            setup.ledger.append(Draft(stream="run:one", kind="step", data={"turn": 9}))

        setup = Setup([read()] * 3, on_step=meddle)
        with pytest.raises(RunError, match="run `one` is written by another process"):
            setup.run()


def failing(ledger: Ledger, at: int) -> None:
    """Let the n-th write of a ledger fail as on a full disk."""
    append: Callable[..., Any] = ledger.append
    count = 0

    def limited(*drafts: Draft, **options: Any) -> Any:
        nonlocal count
        count += 1
        if count == at:
            raise LedgerFull("there is no space left")
        return append(*drafts, **options)

    ledger.append = limited  # type: ignore[method-assign]


def plain(ledger: Ledger) -> list[tuple[str, dict[str, Any]]]:
    """Return the events of a run without their times and hashes."""
    return [(event.kind, event.data) for event in ledger.events("run:one")]


def interrupted(**changes: Any) -> Setup:
    """Return a loop over a ledger in which a run has an intent without a close, as a power cut leaves it."""
    broken = Setup([read()], executor=RecordingExecutor())
    failing(broken.ledger, 3)
    with pytest.raises(LedgerFull):
        broken.run()
    del broken.ledger.append
    return Setup([read()], executor=RecordingExecutor(), ledger=broken.ledger, **changes)
