"""The loop: propose, gate, perform, verify, remember, until it stops and says why."""

from __future__ import annotations

from asyncio import CancelledError, sleep
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Literal

from indult.actions import Action
from indult.budget import Budget, Meter
from indult.errors import LedgerConflict, RunError
from indult.gate import Requests
from indult.ledger import Event, Ledger
from indult.loop.protocols import Executor, Proposer, Verifier
from indult.loop.run import Run, run_stream
from indult.loop.step import STEPS, TURNS, Cursor, Step
from indult.loop.stop import StopKind, StopReason, budget_stop
from indult.policy import Policy

__all__ = ["Loop", "Result"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """How a run ended and what it took."""

    run: str
    stop: StopReason
    meter: Meter


@dataclass(kw_only=True)
class Loop:
    """Runs actors under one policy, one step per actor and turn.

    `facts` gives the declared facts at the time of a step. `goal(turn)` returns a detail once the goal is reached, and
    is asked with turn 0 before anything runs. `check(action)` raises an `IndultError` for an action that the world does
    not know, which refuses the proposal. `ladder` names the world's moves from the boldest to the gentlest. `memory` is
    the scope that critiques, advice and the world's counters persist in, over all runs of one ledger; turns are numbered
    through over all runs of a memory.

    `on_ask: stop` ends a run that waits for a person at the end of a turn without progress; `continue` goes on.
    `idempotent` names the tools that may safely run twice. `requests` are those of the ledger, by default with the
    system's clock.
    """

    policy: Policy
    ledger: Ledger
    proposer: Proposer
    executor: Executor
    verifier: Verifier
    actors: Sequence[str] = ("agent",)
    facts: Callable[[], Mapping[str, Any]] = dict
    goal: Callable[[int], str | None] = lambda turn: None
    check: Callable[[Action], None] = lambda action: None
    task: str = ""
    ladder: Sequence[str] = ()
    memory: str = "loop"
    budget: Budget = field(default_factory=Budget)
    stall_patience: int | None = 4
    on_ask: Literal["stop", "continue"] = "stop"
    idempotent: frozenset[str] = frozenset()
    requests: Requests | None = None
    on_step: Callable[[Step], None] = lambda step: None
    clock: Callable[[], float] = monotonic

    async def run(self, run: str, *, world: str = "", options: Mapping[str, Any] | None = None) -> Result:
        """Start the run named `run`; `world` and `options` are kept so that it can be found and resumed.

        Raises:
            RunError: There is a run of that name, or another process writes to it.
            LedgerError: A step could not be written; the run holds every step before it.
        """
        stream = run_stream(run)
        if self.ledger.head(stream)[0]:
            raise RunError(f"run `{run}` exists", hint=f"continue it: indult run resume {run}")
        first = int(self.ledger.counter(self.memory, TURNS)) + 1
        started = {
            "world": world,
            "first_turn": first,
            "options": dict(options or {}),
            "policy": self.policy.digest,
            "budget": self.budget.to_dict(),
            "actors": len(self.actors),
        }
        state = Run(self, run, Cursor(turn=first), Meter(), 0)
        state.append("run_started", started)
        return await self._run(state)

    async def resume(self, run: str, *, settle: Literal["done", "not_started"] | None = None) -> Result:
        """Continue an interrupted run from its last whole step.

        An intent without a close may have run. An idempotent tool runs again; for any other, `settle` must say what a
        person found, else the run stops `awaiting_approval`.

        Raises:
            RunError: There is no such run, or it has ended.
        """
        state, stopped = self._state(run)
        if stopped is not None and not stopped.kind.resumable:
            raise RunError(f"run `{run}` has ended: {stopped}")
        intent = state.open_intent()
        if intent is not None:
            unsettled = await state.settle(intent, settle)
            if unsettled is not None:
                return self._stopped(state, unsettled)
        elif stopped is not None and stopped.kind is StopKind.AWAITING_APPROVAL:
            self._next_turn(state)
        if hasattr(self.proposer, "skip"):
            self.proposer.skip(state.meter.engine_calls)
        return await self._run(state)

    def _state(self, run: str) -> tuple[Run, StopReason | None]:
        """Return a run as its last whole step left it, and the reason why it stopped if it did."""
        stream = run_stream(run)
        last = self.ledger.last(stream)
        if last is None:
            raise RunError(f"there is no run `{run}`", hint="indult run list")
        stopped = StopReason.from_dict(last.data["stop"]) if last.kind == "run_stopped" else None
        found = [event for kind in STEPS if (event := self.ledger.last(stream, kind)) is not None]
        done: Event | None = max(found, key=lambda event: event.version, default=None)
        if done is None:
            first = next(iter(self.ledger.events(stream, limit=1))).data["first_turn"]
            return Run(self, run, Cursor(turn=first), Meter(), last.version), stopped
        meter = Meter.from_dict({**done.data["meter"], "seconds": done.data.get("seconds", 0.0)})
        return Run(self, run, Cursor.from_dict(done.data["cursor"]), meter, last.version), stopped

    async def _run(self, state: Run) -> Result:
        try:
            return self._stopped(state, await self._turns(state))
        except (CancelledError, KeyboardInterrupt):
            self._stopped(state, StopReason(kind=StopKind.CANCELLED, detail=f"cancelled in turn {state.cursor.turn}"))
            raise
        except LedgerConflict as exc:
            raise RunError(f"run `{state.run}` is written by another process: {exc.message}") from exc

    def _stopped(self, state: Run, stop: StopReason) -> Result:
        state.append("run_stopped", {"stop": stop.to_dict(), "meter": state.meter.to_dict()})
        return Result(run=state.run, stop=stop, meter=state.meter)

    async def _turns(self, state: Run) -> StopReason:
        """Take turns until there is a reason to stop."""
        stop = None if state.meter.engine_calls else self._stop_before(state)
        while stop is None:
            while state.cursor.index < len(self.actors) and self._spent(state, within_turn=True) is None:
                failed = await state.step(self.actors[state.cursor.index])
                # Makers and tools may never wait, and only where something waits can a run be cancelled.
                await sleep(0)
                if failed is not None:
                    return failed
            stop = self._stop_after(state)
        return stop

    def _stop_before(self, state: Run) -> StopReason | None:
        reached = self.goal(0)
        if reached is not None:
            return StopReason(kind=StopKind.GOAL_REACHED, detail=reached)
        return self._spent(state)

    def _stop_after(self, state: Run) -> StopReason | None:
        """Look for a reason to stop after a turn: goal, then budgets, then a question that waits, then a stall."""
        cursor = state.cursor
        self._count_turn(state)
        reached = self.goal(cursor.turn)
        if reached is not None:
            return StopReason(kind=StopKind.GOAL_REACHED, detail=reached)
        spent = self._spent(state)
        if spent is not None:
            return spent
        if cursor.asked and not cursor.progressed and self.on_ask == "stop":
            return StopReason(kind=StopKind.AWAITING_APPROVAL, detail=f"turn {cursor.turn} waits for a person")
        idle = 0 if cursor.progressed else cursor.idle + 1
        if self.stall_patience is not None and idle >= self.stall_patience:
            return StopReason(kind=StopKind.STALLED, detail=f"no approved progress for {idle} turns")
        cursor.next_turn()
        return None

    def _count_turn(self, state: Run) -> None:
        """Count a turn that every actor had; one that a budget cut short is none."""
        if state.cursor.index >= len(self.actors):
            state.meter.turns += 1

    def _next_turn(self, state: Run) -> None:
        """Go on after a person was waited for; a turn that was cut short is first taken to its end."""
        if state.cursor.index >= len(self.actors):
            self._count_turn(state)
            state.cursor.next_turn()

    def _spent(self, state: Run, *, within_turn: bool = False) -> StopReason | None:
        state.meter.seconds = self.clock() - state.started
        hit = state.meter.exhausted(self.budget, within_turn=within_turn)
        return None if hit is None else budget_stop(*hit)
