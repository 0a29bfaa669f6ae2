"""Stand-ins for the seams of the loop, the ones that indult's own tests use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from indult.actions import Action
from indult.boundary import Brief
from indult.critiques import Critique
from indult.loop import Evidence, Outcome, Proposal, Status

__all__ = ["FixedClock", "RecordingExecutor", "ScriptedProposer", "StaticVerifier"]


class FixedClock:
    """A clock for ledgers that starts at a given time and moves by a given step with every reading.

    It gives RFC 3339 text in UTC with microseconds.
    """

    def __init__(
        self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC), step: timedelta = timedelta(seconds=1)
    ) -> None:
        self._now = start
        self._step = step

    def __call__(self) -> str:
        """Return the present time, then move on."""
        now, self._now = self._now, self._now + self._step
        return now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class ScriptedProposer:
    """Proposes what it was given, in order, then nothing more; keeps every brief in `briefs`.

    An item is an `Action` (its actor is put right), a `Proposal`, an exception to raise, or anything else to return as
    it is, for makers that misbehave.
    """

    def __init__(self, script: Iterable[Any]) -> None:
        self.script: Sequence[Any] = list(script)
        self.briefs: list[Brief] = []
        self._next = 0

    def propose(self, brief: Brief) -> Any:
        """Return the next item of the script."""
        self.briefs.append(brief)
        place, self._next = self._next, self._next + 1
        if place >= len(self.script):
            return Proposal(action=None)
        item = self.script[place]
        if isinstance(item, BaseException):
            raise item
        if isinstance(item, Action):
            return Proposal(action=Action(tool=item.tool, args=item.args, actor=brief.actor, cwd=item.cwd))
        return item

    def skip(self, calls: int) -> None:
        """Go on behind the first `calls` items."""
        self._next = calls


class RecordingExecutor:
    """Keeps every action that it was let to perform in `actions` and returns what `answer` makes of it."""

    def __init__(self, answer: Callable[[Action], Outcome] | None = None, *, effect: str = "outside") -> None:
        self.actions: list[Action] = []
        self.effect = effect
        self._answer = answer

    def execute(self, action: Action) -> Outcome:
        """Record the action and return its outcome: done, unless `answer` says otherwise."""
        self.actions.append(action)
        return self._answer(action) if self._answer is not None else Outcome(status=Status.DONE)


class StaticVerifier:
    """Grades everything the same and keeps all the evidence that it saw in `evidence`."""

    def __init__(self, critique: Critique | None = None) -> None:
        self.evidence: list[Evidence] = []
        self._critique = critique if critique is not None else Critique(score=0.5, reason="seen")

    def review(self, evidence: Evidence) -> Critique:
        """Record the evidence and return the grade."""
        self.evidence.append(evidence)
        return self._critique
