"""One run under way: its steps, each written whole."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from indult.actions import Action
from indult.boundary import Brief
from indult.budget import Meter
from indult.canonical import copy_json, parse_json
from indult.critiques import Critique, steer
from indult.errors import IndultError, InputError, LedgerError
from indult.gate import Gate, preview
from indult.judgements import Verdict
from indult.ledger import Body, Draft, Event
from indult.loop.protocols import Evidence, Outcome, Proposal, Status
from indult.loop.step import Cursor, Step, critique_key, intended, memory, steer_key
from indult.loop.stop import StopKind, StopReason

if TYPE_CHECKING:
    from indult.loop.loop import Loop

__all__ = ["Run", "run_stream"]

T = TypeVar("T")


def run_stream(run: str) -> str:
    """Return the name of the stream that keeps a run."""
    return f"run:{run}"


class Run:
    """One run under way: its cursor, its meter, and the version of its stream.

    A step without an effect outside the ledger is one event and one transaction; a step with one is an `intent` before
    the effect and a `close` after it.
    """

    def __init__(self, loop: Loop, run: str, cursor: Cursor, meter: Meter, version: int) -> None:
        self.loop = loop
        self.run = run
        self.stream = run_stream(run)
        self.cursor = cursor
        self.meter = meter
        self.version = version
        self.gate = Gate(loop.policy, loop.ledger, self.stream)
        self.started = loop.clock() - meter.seconds
        self._facts: str | None = None

    def append(self, kind: str, data: Mapping[str, Any], bodies: tuple[Body, ...] = ()) -> Event:
        """Write one event of this run, provided that nobody else did since its last.

        Raises:
            LedgerConflict: Another process writes to this run.
        """
        draft = Draft(stream=self.stream, kind=kind, data=dict(data), bodies=bodies)
        (event,) = self.loop.ledger.append(draft, expect={self.stream: self.version})
        self.version = event.version
        return event

    async def step(self, actor: str) -> StopReason | None:
        """Let one actor propose, and take what it proposes through the gate, the world and the grader."""
        facts = self.loop.facts()
        brief = self._brief(actor, facts)
        self.meter.engine_calls += 1
        proposal, refused = await self._propose(brief)
        if proposal is not None:
            self.meter.tokens += proposal.usage.tokens
            self.meter.cost += proposal.usage.cost
        step = Step(
            turn=self.cursor.turn,
            actor=actor,
            injected=brief.injected,
            steer=brief.steer,
            proposal=proposal,
            refused=refused,
        )
        if proposal is None or proposal.action is None:
            return self._close(step, brief, "step", {}, ())
        return await self._perform(step, proposal.action, brief, facts)

    async def _perform(self, step: Step, action: Action, brief: Brief, facts: Mapping[str, Any]) -> StopReason | None:
        """Judge a proposal, run what may run, and have it graded."""
        judgement = self.gate.review(action, facts, briefed=brief.digest)
        self.meter.gate_evaluations += judgement.evaluations
        step.judgement = judgement
        permitted = judgement.permitted(action)
        rationale = step.proposal.rationale if step.proposal is not None else ""
        record, bodies = self.gate.record(action, facts, judgement, {"rationale": rationale} if rationale else {})
        if permitted is None or getattr(self.loop.executor, "effect", "outside") == "ledger":
            step.outcome = await self._execute(permitted, action)
            return await self._grade(step, action, brief, "step", record, bodies)
        self.append("intent", {**self._place(step, brief), **record}, bodies)
        step.outcome = await self._execute(permitted, action)
        return await self._grade(step, action, brief, "close", _named(record), ())

    def open_intent(self) -> Event | None:
        """Return the intent of which nobody wrote how it ended, if there is one."""
        intent = self.loop.ledger.last(self.stream, "intent")
        if intent is None:
            return None
        close = self.loop.ledger.last(self.stream, "close")
        return intent if close is None or close.version < intent.version else None

    async def settle(self, intent: Event, word: str | None) -> StopReason | None:
        """Close an intent that may have run, or return the stop that asks a person whether it did."""
        judgement, action = intended(intent.data, self.content(intent))
        tool = intent.data["tool"]
        if word is None and (action is None or tool not in self.loop.idempotent):
            detail = f"`{tool}` may have run: version {intent.version} of `{self.stream}` has no close"
            return StopReason(kind=StopKind.AWAITING_APPROVAL, detail=detail)
        self.meter = Meter.from_dict(intent.data["meter"])
        actor, injected = intent.data["actor"], intent.data["injected"]
        brief = Brief(text="", digest=intent.data["briefed"], actor=actor, injected=injected)
        if word is None and action is not None:
            outcome = await self._execute(judgement.permitted(action), action)
        else:
            outcome = Outcome(status=Status.DONE if word == "done" else Status.NOT_STARTED)
        step = Step(
            turn=intent.data["turn"],
            actor=actor,
            injected=injected,
            steer=intent.data.get("steer"),
            judgement=judgement,
            outcome=outcome,
        )
        if action is None:
            return self._close(step, brief, "close", _named(intent.data), ())
        return await self._grade(step, action, brief, "close", _named(intent.data), ())

    def content(self, event: Event) -> dict[str, Any]:
        """Return what the ledger still keeps of the action of an event; empty where nothing is."""
        kept = event.data.get("content")
        text = self.loop.ledger.body(kept["body"]) if kept else None
        return parse_json(text) if text is not None else {}

    def _brief(self, actor: str, facts: Mapping[str, Any]) -> Brief:
        loop, ledger = self.loop, self.loop.ledger
        latest = ledger.latest(loop.memory, critique_key(actor))
        critique = Critique.from_dict(latest) if latest is not None else None
        advised = steer(ledger.remembered(loop.memory, steer_key(actor)), facts, loop.ladder) if loop.ladder else None
        return self.gate.boundary().brief(loop.task, critique, actor=actor, steer=advised)

    async def _propose(self, brief: Brief) -> tuple[Proposal | None, str | None]:
        """Ask the maker; whatever it does wrong becomes a refused proposal."""
        try:
            proposal = await _settled(self.loop.proposer.propose(brief))
            wrong = _wrong(proposal, brief)
            if wrong is not None:
                return None, wrong
            if proposal.action is not None:
                self.loop.check(proposal.action)
        except IndultError as exc:
            return None, exc.message
        except Exception as exc:
            return None, f"the proposer raised `{exc!r}`"
        return proposal, None

    async def _execute(self, permitted: Action | None, action: Action) -> Outcome:
        """Perform what may run; of an action that may not, let the world measure what it would have met."""
        executor = self.loop.executor
        try:
            if permitted is not None:
                outcome = await _settled(executor.execute(permitted))
            elif hasattr(executor, "measure"):
                outcome = replace(executor.measure(action), status=Status.NOT_RUN, counts={})
            else:
                return Outcome(status=Status.NOT_RUN)
        except LedgerError:
            raise
        except Exception as exc:
            return Outcome(status=Status.FAILED, result=f"the executor raised `{exc!r}`")
        if not isinstance(outcome, Outcome):
            return Outcome(status=Status.FAILED, result=f"the executor returned a `{type(outcome).__name__}`")
        return outcome

    async def _grade(
        self, step: Step, action: Action, brief: Brief, kind: str, record: Mapping[str, Any], bodies: tuple[Body, ...]
    ) -> StopReason | None:
        """Have a step graded and written; a grader that fails ends the run, since nothing may pass ungraded."""
        assert step.judgement is not None
        assert step.outcome is not None
        evidence = Evidence(action=action, judgement=step.judgement, outcome=step.outcome)
        self.meter.reviews += 1
        try:
            critique = await _settled(self.loop.verifier.review(evidence))
        except Exception as exc:
            failed = f"the verifier raised `{exc!r}`"
        else:
            if isinstance(critique, Critique):
                self.meter.tokens += critique.tokens
                step.critique = critique
                return self._close(step, brief, kind, record, bodies)
            failed = f"the verifier returned a `{type(critique).__name__}`, not a critique"
        if kind == "close":
            # The effect is out in the world: its outcome is kept even though nobody graded it.
            self._close(step, brief, kind, record, bodies)
        return StopReason(kind=StopKind.FAILED, detail=failed)

    def _close(
        self, step: Step, brief: Brief, kind: str, record: Mapping[str, Any], bodies: tuple[Body, ...]
    ) -> StopReason | None:
        """Write a step as one event with all that it changes, and move on."""
        if step.refused is not None:
            step.critique = Critique(score=0, reason=f"proposal refused: {step.refused}")
        cursor, outcome = self.cursor, step.outcome
        cursor.index += 1
        cursor.progressed |= outcome is not None and outcome.advanced
        cursor.asked |= step.judgement is not None and step.judgement.verdict is Verdict.ASK_USER
        data = {**self._place(step, brief), **record, **memory(self.loop.memory, step, opens_turn=cursor.index == 1)}
        if outcome is not None and outcome.result is not None:
            result = preview({"result": _readable(outcome.result)})
            data["result"], bodies = {"body": result.digest}, (*bodies, result)
        step.event = self.append(kind, data, bodies)
        self.loop.on_step(step)
        return None

    def _place(self, step: Step, brief: Brief) -> dict[str, Any]:
        data = step.fields(self.cursor, self.meter, brief)
        if self.loop.budget.seconds is not None:
            data["seconds"] = round(self.meter.seconds, 3)
        return data


def _wrong(proposal: object, brief: Brief) -> str | None:
    """Say what is wrong with the shape of a proposal, if anything is."""
    if not isinstance(proposal, Proposal):
        return f"the proposer returned a `{type(proposal).__name__}`, not a proposal"
    if proposal.action is None:
        return None
    if type(proposal.action) is not Action:
        return f"the proposer proposed a `{type(proposal.action).__name__}`, not an action"
    if proposal.action.actor != brief.actor:
        return f"the proposal is in the name of `{proposal.action.actor}`, not of `{brief.actor}`"
    return None


def _named(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a close repeats of its intent."""
    return {name: record[name] for name in ("tool", "action", "judgement")}


def _readable(result: object) -> Any:
    try:
        return copy_json(result, name="result")
    except InputError:
        return repr(result)


async def _settled(value: T | Awaitable[T]) -> T:
    """Return a value that may have to be waited for."""
    return await value if inspect.isawaitable(value) else value
