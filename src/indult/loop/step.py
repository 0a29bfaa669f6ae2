"""One step of a loop, as the ledger keeps it: where it stood, what happened, and what it leaves for the next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from indult.actions import Action
from indult.boundary import Brief
from indult.budget import Meter
from indult.critiques import Critique
from indult.judgements import Judgement
from indult.ledger import Event
from indult.loop.protocols import Outcome, Proposal, Status

__all__ = ["STEPS", "TURNS", "Cursor", "Step", "critique_key", "intended", "memory", "recorded", "steer_key"]

STEPS: Final = ("step", "close")
"""Kinds of events that end a step."""

TURNS: Final = "turns"
"""The counter of a memory that numbers the turns of all its runs."""


@dataclass(slots=True, kw_only=True)
class Cursor:
    """Where a run stands: the turn (from 1), the next actor in it, and what the turn and the run have come to.

    `progressed` and `asked` are of the present turn, `idle` counts the finished turns without progress since the last
    one with it.
    """

    turn: int = 1
    index: int = 0
    progressed: bool = False
    asked: bool = False
    idle: int = 0

    def next_turn(self) -> None:
        """Go to the first actor of the next turn."""
        self.idle = 0 if self.progressed else self.idle + 1
        self.turn, self.index, self.progressed, self.asked = self.turn + 1, 0, False, False

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {name: getattr(self, name) for name in ("turn", "index", "progressed", "asked", "idle")}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Cursor:
        """Read what `to_dict` wrote."""
        return cls(**data)


@dataclass(slots=True, kw_only=True)
class Step:
    """What one actor did in one turn, for whoever watches a run or reads its ledger.

    It is filled in hop by hop, from the proposal to the event that holds it all; a watcher gets it whole. Without a `judgement` there was nothing to judge: either nobody proposed, or `refused` says why the proposal was not
    taken.
    """

    turn: int
    actor: str
    injected: str = ""
    steer: str | None = None
    proposal: Proposal | None = None
    refused: str | None = None
    judgement: Judgement | None = None
    outcome: Outcome | None = None
    critique: Critique | None = None
    event: Event | None = None

    def fields(self, cursor: Cursor, meter: Meter, brief: Brief) -> dict[str, Any]:
        """Return what every event of a step says about its place in the run."""
        shown: dict[str, Any] = {
            "turn": self.turn,
            "actor": self.actor,
            "briefed": brief.digest,
            "injected": self.injected,
            "cursor": cursor.to_dict(),
            "meter": meter.to_dict(),
        }
        if self.steer is not None:
            shown["steer"] = self.steer
        if self.refused is not None:
            shown["refused"] = self.refused
        if self.outcome is not None:
            shown["outcome"] = self.outcome.to_dict()
        if self.critique is not None:
            shown["critique"] = self.critique.to_dict()
        return shown


def intended(data: Mapping[str, Any], content: Mapping[str, Any]) -> tuple[Judgement, Action | None]:
    """Return what an event of a judged action was about, from its fields and the content kept beside it.

    There is no action where the ledger kept too little of it to be sure.
    """
    judged = dict(data["judgement"])
    if "args" not in content:
        return Judgement.from_dict(judged), None
    named = {"tool": data["tool"], "actor": data["actor"]}
    if "instead" in content:
        judged["instead"] = {**named, "args": content["instead"]}
    action = Action(**named, args=content["args"])
    return Judgement.from_dict(judged), action if action.digest == data["action"] else None


def recorded(event: Event, content: Mapping[str, Any]) -> Step:
    """Return a step as the ledger has it; `content` is what is still kept of the action (empty if nothing is)."""
    data = event.data
    judgement, action = intended(data, content) if "judgement" in data else (None, None)
    proposal = Proposal(action=action, rationale=content.get("rationale", "")) if action is not None else None
    outcome = data.get("outcome")
    return Step(
        turn=data["turn"],
        actor=data["actor"],
        injected=data["injected"],
        steer=data.get("steer"),
        proposal=proposal,
        refused=data.get("refused"),
        judgement=judgement,
        outcome=Outcome(**{**outcome, "status": Status(outcome["status"])}) if outcome else None,
        critique=Critique.from_dict(data["critique"]) if "critique" in data else None,
        event=event,
    )


def critique_key(actor: str) -> str:
    """Return the key under which a memory keeps an actor's latest critique."""
    return f"critique:{actor}"


def steer_key(actor: str) -> str:
    """Return the key under which a memory keeps the rungs that an actor was advised."""
    return f"steer:{actor}"


def memory(scope: str, step: Step, *, opens_turn: bool) -> dict[str, Any]:
    """Return the changes of a memory that a step brings: the latest critique, its advice, the counters."""
    changes: dict[str, Any] = {}
    counts = dict(step.outcome.counts) if step.outcome is not None else {}
    if opens_turn:
        counts[TURNS] = 1
    if counts:
        changes["counts"] = {scope: counts}
    critique = step.critique
    if critique is not None:
        changes["latest"] = {scope: {critique_key(step.actor): critique.to_dict()}}
        if critique.advice is not None and critique.advice.rung is not None:
            kept: dict[str, Any] = {"rung": critique.advice.rung, "read": dict(critique.advice.read)}
            if critique.asked:
                kept["asked"] = list(critique.asked)
            changes["keep"] = {scope: {steer_key(step.actor): kept}}
    return changes
