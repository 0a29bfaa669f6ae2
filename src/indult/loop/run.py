"""One run under way: its steps, each written whole."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from indult.actions import Action
from indult.boundary import Brief
from indult.budget import Meter
from indult.canonical import MAX_INTEGER
from indult.critiques import Critique, steer
from indult.errors import ApprovalError, InputError, LedgerConflict, LedgerError, RunError
from indult.gate import Gate, Settled, kept, preview
from indult.judgements import Verdict
from indult.ledger import Body, Draft, Event
from indult.loop.plain import for_the_run, fresh, graded, measured, taken, told
from indult.loop.protocols import Evidence, Outcome, Proposal, Status
from indult.loop.step import Cursor, Step, critique_key, intended, memory, steer_key
from indult.loop.stop import StopKind, StopReason

if TYPE_CHECKING:
    from indult.loop.loop import Loop

__all__ = ["Run", "run_stream"]

T = TypeVar("T")
N = TypeVar("N", int, float)

_ATTEMPTS = 1000
"""How often an action is judged again because somebody got ahead: so many mean a defect, and the run ends there."""


def run_stream(run: str) -> str:
    """Return the name of the stream that keeps a run."""
    return f"run:{run}"


@dataclass(frozen=True, slots=True)
class _Record:
    """What the last event of a step keeps besides its place: fields, bodies, and what its judgement settles."""

    kind: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    bodies: tuple[Body, ...] = ()
    settled: Settled | None = None


class _Overtaken(Exception):
    """Somebody else was quicker, and nothing has been written or done yet; `cause` is how that showed."""

    def __init__(self, cause: LedgerConflict | ApprovalError) -> None:
        super().__init__(cause.message)
        self.cause = cause


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
        self.gate = Gate(loop.policy, loop.ledger, self.stream, requests=loop.requests)
        self.started = loop.clock() - meter.seconds
        self._facts: str | None = None

    def append(
        self, kind: str, data: Mapping[str, Any], bodies: tuple[Body, ...] = (), settled: Settled | None = None
    ) -> Event:
        """Write one event of this run and what its judgement settles, provided that nobody else wrote since.

        What settles a judgement is written before anything is done, so a conflict there only means to judge again.

        Raises:
            LedgerConflict: Another process writes to this run.
            _Overtaken: It does, or somebody used or opened what the judgement relies on.
        """
        draft = Draft(stream=self.stream, kind=kind, data=dict(data), bodies=bodies)
        drafts, expect = (settled.drafts, settled.expect) if settled is not None else ((), {})
        try:
            events = self.loop.ledger.append(*drafts, draft, expect={**expect, self.stream: self.version})
        except LedgerConflict as exc:
            if settled is None:
                raise
            raise _Overtaken(exc) from exc
        self.version = events[-1].version
        if settled is not None:
            self.gate.appended(settled, events)
        return events[-1]

    async def step(self, actor: str) -> StopReason | None:
        """Let one actor propose, and take what it proposes through the gate, the world and the grader."""
        facts = self.loop.facts()
        brief = self._brief(actor, facts)
        self.meter.engine_calls += 1
        proposal, refused = await self._propose(brief)
        if proposal is not None:
            self.meter.tokens = _sum(self.meter.tokens, proposal.usage.tokens)
            self.meter.cost = _sum(self.meter.cost, proposal.usage.cost)
        step = Step(
            turn=self.cursor.turn,
            actor=actor,
            injected=brief.injected,
            steer=brief.steer,
            proposal=proposal,
            refused=refused,
        )
        if proposal is None or proposal.action is None:
            return self._close(step, brief, _Record(kind="step"))
        for attempt in range(_ATTEMPTS):
            try:
                return await self._perform(step, proposal.action, brief, facts)
            except _Overtaken as exc:
                # A grant was used up, or a request opened, since the gate looked: nothing has happened yet, so the
                # action is judged again. Whoever else writes to this very run is another matter.
                moved = self.loop.ledger.head(self.stream)[0] != self.version
                if moved or attempt == _ATTEMPTS - 1:
                    raise exc.cause from None
        raise AssertionError("unreachable")

    async def _perform(self, step: Step, action: Action, brief: Brief, facts: Mapping[str, Any]) -> StopReason | None:
        """Judge a proposal, run what may run, and have it graded."""
        judgement = self.gate.review(action, facts, briefed=brief.digest)
        self.meter.gate_evaluations += judgement.evaluations
        try:
            settled = self.gate.settle(action, facts, judgement)
        except (ApprovalError, LedgerConflict) as exc:
            raise _Overtaken(exc) from exc
        step.judgement = settled.judgement
        permitted = judgement.permitted(action)
        rationale = step.proposal.rationale if step.proposal is not None else ""
        extra = {"rationale": rationale} if rationale else {}
        fields, bodies = self.gate.record(action, facts, settled.judgement, extra)
        if permitted is None or self._inside:
            step.outcome = await self._execute(permitted, action)
            return await self._grade(step, action, brief, _Record("step", fields, bodies, settled))
        reserved = [draft.data["reservation"] for draft in settled.drafts if draft.kind == "reserved"]
        if reserved:
            fields["reservations"] = reserved
        try:
            self.append("intent", {**self._place(step, brief, self.cursor), **fields}, bodies, settled)
        except InputError as exc:
            return self._unkept(step, brief, _Record("intent"), exc)
        step.outcome = await self._execute(permitted, action)
        return await self._grade(step, action, brief, _Record("close", _named(fields)))

    def open_intent(self) -> Event | None:
        """Return the intent of which nobody wrote how it ended, if there is one."""
        intent = self.loop.ledger.last(self.stream, "intent")
        if intent is None:
            return None
        close = self.loop.ledger.last(self.stream, "close")
        return intent if close is None or close.version < intent.version else None

    async def settle(self, intent: Event, word: str | None) -> StopReason | None:
        """Close an intent that may have run, or return the stop that asks a person whether it did."""
        judgement, action = intended(intent.data, kept(self.loop.ledger, intent.data) or {})
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
        record = _Record("close", _named(intent.data))
        if action is None:
            return self._close(step, brief, record)
        return await self._grade(step, action, brief, record)

    def _brief(self, actor: str, facts: Mapping[str, Any]) -> Brief:
        loop, ledger = self.loop, self.loop.ledger
        latest = ledger.latest(loop.memory, critique_key(actor))
        critique = Critique.from_dict(latest) if latest is not None else None
        boundary = self.gate.boundary()
        pushed = ledger.remembered(loop.memory, steer_key(actor)) if loop.ladder else ()
        advised = steer(pushed, facts, loop.ladder, boundary.opened)
        guidance = self._guidance(critique.request) if critique is not None and critique.request else ""
        return boundary.brief(loop.task, critique, actor=actor, steer=advised, guidance=guidance)

    def _guidance(self, request: str) -> str:
        """Return what a person answered to an actor's last question, in words, if anybody wrote any."""
        try:
            return self.gate.requests.standing(request).answer
        except ApprovalError:
            return ""  # what is damaged opens nothing and guides nobody; `indult log verify` tells of it

    async def _propose(self, brief: Brief) -> tuple[Proposal | None, str | None]:
        """Ask the maker; whatever it does wrong becomes a refused proposal."""
        try:
            # From here on only our own copy counts: what a maker still holds may change.
            proposal = taken(await _settled(self.loop.proposer.propose(brief)), brief)
            if proposal.action is not None:
                self.loop.check(fresh(proposal.action))
        except BaseException as exc:
            if for_the_run(exc):
                raise
            return None, told(exc, "the proposer")
        return proposal, None

    async def _execute(self, permitted: Action | None, action: Action) -> Outcome:
        """Perform what may run; of an action that may not, let the world measure what it would have met."""
        executor = self.loop.executor
        try:
            if permitted is not None:
                return measured(await _settled(executor.execute(fresh(permitted))))
            if hasattr(executor, "measure"):
                return measured(executor.measure(fresh(action)), status=Status.NOT_RUN, counts={})
            return Outcome(status=Status.NOT_RUN)
        except BaseException as exc:
            if for_the_run(exc):
                raise
            if isinstance(exc, LedgerError) and self._inside:
                self._unreadable(exc)
            return Outcome(status=Status.FAILED, result=told(exc, "the executor"))

    @property
    def _inside(self) -> bool:
        """Tell whether all effects are the ledger's own, so that a step which was not written did not happen."""
        return getattr(self.loop.executor, "effect", "outside") == "ledger"

    def _unreadable(self, exc: LedgerError) -> NoReturn:
        """End the run for a ledger that its world cannot read; a conflict there is none of our own writing."""
        if isinstance(exc, LedgerConflict):
            raise RunError(f"the executor met a conflict in the ledger: {told(exc, 'the executor')}") from exc
        raise exc

    async def _grade(self, step: Step, action: Action, brief: Brief, record: _Record) -> StopReason | None:
        """Have a step graded and written; a grader that fails ends the run, since nothing may pass ungraded."""
        assert step.judgement is not None
        assert step.outcome is not None
        # A copy, so that a grader cannot change what is about to be written.
        evidence = Evidence(action=fresh(action), judgement=step.judgement, outcome=measured(step.outcome))
        self.meter.reviews += 1
        try:
            critique = graded(await _settled(self.loop.verifier.review(evidence)))
            request = step.judgement.request
            asked = (action.target(),) if request is not None else ()
            step.critique = replace(critique, asked=asked, request=request)
        except BaseException as exc:
            if for_the_run(exc):
                raise
            failed = told(exc, "the verifier")
        else:
            self.meter.tokens = _sum(self.meter.tokens, critique.tokens)
            return self._close(step, brief, record)
        if record.kind == "close":
            # The effect is out in the world: its outcome is kept even though nobody graded it.
            self._close(step, brief, record)
        return StopReason(kind=StopKind.FAILED, detail=failed)

    def _close(self, step: Step, brief: Brief, record: _Record) -> StopReason | None:
        """Write a step as one event with all that it changes, and move on."""
        if step.refused is not None:
            step.critique = Critique(score=0, reason=f"proposal refused: {step.refused}")
        outcome, bodies, settled = step.outcome, record.bodies, record.settled
        cursor = replace(
            self.cursor,
            index=self.cursor.index + 1,
            progressed=self.cursor.progressed or (outcome is not None and outcome.advanced),
            asked=self.cursor.asked or (step.judgement is not None and step.judgement.verdict is Verdict.ASK_USER),
        )
        changes = memory(self.loop.memory, step, opens_turn=cursor.index == 1)
        data = {**self._place(step, brief, cursor), **record.fields, **changes}
        if outcome is not None and outcome.result is not None:
            result = preview({"result": outcome.result})
            data["result"], bodies = {"body": result.digest}, (*bodies, result)
        unused = outcome is not None and outcome.status is Status.NOT_STARTED
        if unused and settled is not None:
            # What never began uses nothing up, so what it would have used is not written at all.
            settled = Settled(judgement=settled.judgement)
        try:
            step.event = self.append(record.kind, data, bodies, settled)
        except InputError as exc:
            return self._unkept(step, brief, record, exc)
        self.cursor = cursor
        if unused:
            for reservation in record.fields.get("reservations", ()):
                self.gate.requests.not_started(reservation, "the action is known not to have begun")
        self.loop.on_step(step)
        return None

    def _unkept(self, step: Step, brief: Brief, record: _Record, exc: InputError) -> StopReason:
        """End the run over a step that no ledger keeps; of an effect, at least how it ended is written."""
        if record.kind == "close":
            if step.critique is None or step.outcome is None:
                raise exc
            step.outcome, step.critique = replace(step.outcome, result=told(exc, "the ledger"), counts={}), None
            self._close(step, brief, record)
        return StopReason(kind=StopKind.FAILED, detail=f"the step cannot be kept: {told(exc, 'the ledger')}")

    def _place(self, step: Step, brief: Brief, cursor: Cursor) -> dict[str, Any]:
        data = step.fields(cursor, self.meter, brief)
        if self.loop.budget.seconds is not None:
            data["seconds"] = round(self.meter.seconds, 3)
        return data


def _sum(total: N, more: N) -> N | int:
    """Add what was reported; a total that no record could keep stays at the largest that one can."""
    return min(total + more, MAX_INTEGER)


def _named(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a close repeats of its intent."""
    return {name: record[name] for name in ("tool", "action", "judgement", "reservations") if name in record}


async def _settled(value: T | Awaitable[T]) -> T:
    """Return a value that may have to be waited for."""
    return await value if inspect.isawaitable(value) else value
