"""Friction that the ledger tells of: calls that were refused again and again, low grades in a row, runs that stalled.

Nothing is read twice: the position up to which the ledger was read is kept in the view `autofix` under `friction`, in the
transaction that writes what was found (stream `autofix:friction`, kind `friction_read`). What stands in the streams of
signals is left out: a fixer that is refused is no fault of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from indult.autofix.signals import Ingested, Sighting, Together, ingest
from indult.canonical import canonical
from indult.errors import IndultError, LedgerConflict
from indult.gate.denials import REPEATED, denials
from indult.ledger import Draft, Event, Ledger, utc_now
from indult.loop import StopKind
from indult.loop.step import STEPS
from indult.policy import DEFAULT

__all__ = ["LOW", "STREAK", "friction", "gather"]

LOW: Final = 0.4
"""Grades under this are low."""

STREAK: Final = 3
"""How many low grades of an actor in a row are friction."""

_STREAM: Final = "autofix:friction"
_SCOPE: Final = "autofix"
_KEY: Final = "friction"
_KINDS: Final = ("judgement", "run_stopped", *STEPS)
_NOT_OURS: Final = ("signal:", "autofix:")
_FAR: Final = 10_000
_ATTEMPTS: Final = 1000


def friction(
    ledger: Ledger, after: int, *, low: float = LOW, streak: int = STREAK, repeated: int = REPEATED
) -> tuple[Iterator[Sighting], int]:
    """Return the friction behind a position, as it is read, and the position up to which it is read.

    What was refused `repeated` times, of which the ledger tells from the third on, is friction from then on, each time;
    so are each `streak` grades under `low` that an actor gets in a row.
    """
    last = next(ledger.events(newest_first=True, limit=1), None)
    position = after if last is None else last.position
    return _Reader(ledger, after, position, low, streak, repeated).read(), position


def gather(ledger: Ledger, *, clock: Callable[[], str] = utc_now) -> Ingested:
    """Make signals of all friction that was not read before."""
    for _ in range(_ATTEMPTS):
        kept = ledger.latest(_SCOPE, _KEY) or {"position": 0}
        version, _hash = ledger.head(_STREAM)
        found, position = friction(ledger, int(kept["position"]))
        first = next(found, None)
        # Reading a short way again costs less than an event for each look.
        if first is None and position - int(kept["position"]) < _FAR:
            return Ingested(0, 0, 0, ())
        data = {"latest": {_SCOPE: {_KEY: {"position": position}}}}
        try:
            return ingest(
                ledger,
                _chained(first, found),
                clock=clock,
                together=Together(Draft(_STREAM, "friction_read", data), version),
            )
        except LedgerConflict:
            continue
    raise LedgerConflict("the friction of this ledger is read by too many at once")


def _chained(first: Sighting | None, rest: Iterator[Sighting]) -> Iterator[Sighting]:
    if first is not None:
        yield first
        yield from rest


@dataclass(slots=True)
class _Reader:
    """One way through the events between two positions; `streaks` are those of the actors of runs that go on."""

    ledger: Ledger
    after: int
    position: int
    low: float
    streak: int
    repeated: int
    streaks: dict[str, dict[str, int]] = field(default_factory=dict)

    def read(self) -> Iterator[Sighting]:
        """Yield what the events tell of."""
        for event in self.ledger.events(after=self.after, kinds=_KINDS):
            if event.position > self.position:
                return
            if event.stream.startswith(_NOT_OURS):
                continue
            try:
                found = list(self._told(event))
            except (AttributeError, IndultError, KeyError, TypeError, ValueError):
                continue  # whoever wrote it writes events of another shape, of which nothing is known here
            yield from found

    def _told(self, event: Event) -> Iterator[Sighting]:
        """Yield what one event tells of."""
        if event.kind == "judgement":
            yield from self._refused(event)
        elif event.kind == "run_stopped":
            yield from self._stopped(event)
            self.streaks.pop(event.stream, None)
        else:
            yield from self._graded(event)

    def _refused(self, event: Event) -> Iterator[Sighting]:
        """Tell of a call that was refused as often before."""
        entries = (event.data.get("latest") or {}).get(denials(event.stream)) or {}
        for entry in entries.values():
            if entry is not None and int(entry.get("count", 0)) >= self.repeated:
                yield self._denial(event, entry)

    def _denial(self, event: Event, entry: dict[str, Any]) -> Sighting:
        reason = (event.data.get("judgement") or {}).get("reason", "")
        rules = [str(rule) for rule in entry.get("rules", [])] or [DEFAULT]
        tool = str(event.data.get("tool", ""))
        return Sighting(
            kind="denials",
            summary=f"`{tool}` was tried again and again: {reason}",
            source=event.stream,
            detail=canonical({"subject": event.stream, "tool": tool, **entry}),
            # That no rule covers a tool is another matter for each tool.
            key=f"{DEFAULT} {tool}" if rules == [DEFAULT] else " ".join(sorted(rules)),
        )

    def _stopped(self, event: Event) -> Iterator[Sighting]:
        """Tell of a run that stalled."""
        stop = event.data.get("stop") or {}
        if stop.get("kind") == StopKind.STALLED:
            world = self._world(event.stream)
            yield Sighting(
                kind="stalled",
                summary=f"a run of {world} stalled: {stop.get('detail', '')}",
                source=event.stream,
                detail=canonical(event.data),
                key=world,
            )

    def _graded(self, event: Event) -> Iterator[Sighting]:
        """Tell of low grades in a row."""
        score, actor = _score(event), str(event.data.get("actor", ""))
        if score is None:
            return
        known = self.streaks.setdefault(event.stream, {})
        if actor not in known:
            known[actor] = self._before(event.stream, actor)
        known[actor] = known[actor] + 1 if score < self.low else 0
        if known[actor] and known[actor] % self.streak == 0:
            yield self._low(event, actor)

    def _low(self, event: Event, actor: str) -> Sighting:
        world, critique = self._world(event.stream), event.data["critique"]
        times = f"{self.streak} times in a row"
        return Sighting(
            kind="low_score",
            summary=f"{actor} of {world} was graded under {self.low} {times}: {critique.get('reason', '')}",
            source=event.stream,
            detail=canonical({"run": event.stream, "actor": actor, "turn": event.data.get("turn"), **critique}),
            key=f"{world} {actor}",
        )

    def _before(self, stream: str, actor: str) -> int:
        """Return how many low grades in a row an actor had up to the position from which is read."""
        found = 0
        for event in self.ledger.events(stream, kinds=STEPS, newest_first=True):
            score = _score(event)
            if event.position > self.after or event.data.get("actor") != actor or score is None:
                continue
            if score >= self.low:
                break
            found += 1
        return found

    def _world(self, stream: str) -> str:
        """Return the world of a run, as its first event has it."""
        first = next(self.ledger.events(stream, limit=1), None)
        return str(first.data.get("world", stream)) if first is not None else stream


def _score(event: Event) -> float | None:
    """Return the grade in an event of a step, if there is one."""
    critique = event.data.get("critique")
    score = critique.get("score") if isinstance(critique, dict) else None
    return score if isinstance(score, (int, float)) else None
