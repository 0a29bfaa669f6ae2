"""The rule-based maker: it proposes the best-fitting meeting, as bold as it likes and as gentle as it was advised."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Final

from indult.actions import Action
from indult.boundary import Brief
from indult.loop import Proposal, Usage
from indult.worlds.mixer.people import MOVES, TOOL, Persona, fit

__all__ = ["RuleMaker"]

_TOKENS: Final = 120
"""Estimated tokens of one proposal."""

_LADDER: Final = tuple(MOVES)


class RuleMaker:
    """Proposes for whichever persona a brief is addressed to.

    Who is near is the rest of the cast, shuffled by one generator per run, so the same seed gives the same run.
    """

    def __init__(self, cast: Sequence[Persona], *, seed: int, place: str, blocked: Sequence[str] = ()) -> None:
        self._cast = {persona.id: persona for persona in cast}
        self._rng = Random(seed)
        self._place = place
        self._blocked = frozenset(blocked)
        self._fits: dict[str, dict[str, float]] = {}

    def propose(self, brief: Brief) -> Proposal:
        """Propose a move towards the best fit among the people nearby, or nothing when none may be approached."""
        actor = self._cast[brief.actor]
        near = [name for name in self._near(actor) if name not in self._blocked]
        if not near:
            return Proposal(action=None)
        target = self._cast[max(near, key=self._fits_of(actor).__getitem__)]
        own = "gentle_intro" if actor.timid or target.timid else "visit"
        move = own if brief.steer is None else max(own, brief.steer, key=_LADDER.index)
        args = {"type": move, "intensity": MOVES[move], "participants": [actor.id, target.id]}
        return Proposal(
            action=Action(tool=TOOL, args=args, actor=actor.id),
            rationale=self._rationale(actor, target, own, move),
            usage=Usage(tokens=_TOKENS),
        )

    def skip(self, calls: int) -> None:
        """Put the generator where it was after so many calls of `propose`."""
        others = list(range(len(self._cast) - 1))
        for _ in range(calls):
            self._rng.shuffle(others)

    def _near(self, actor: Persona) -> list[str]:
        others = [name for name in self._cast if name != actor.id]
        self._rng.shuffle(others)
        return others

    def _fits_of(self, actor: Persona) -> dict[str, float]:
        """Return how well each of the others suits an actor; it never changes, and large casts ask for it often."""
        if actor.id not in self._fits:
            self._fits[actor.id] = {name: fit(actor, other) for name, other in self._cast.items() if name != actor.id}
        return self._fits[actor.id]

    def _rationale(self, actor: Persona, target: Persona, own: str, move: str) -> str:
        if move != own:
            return f"prior critique advised a gentler move; start light at the {self._place}."
        if own == "visit":
            return f"{actor.name} and {target.name} share energy/traits; propose an active meetup at the {self._place}."
        return f"{actor.name} or {target.name} reads as low-energy/reserved; start light at the {self._place}."
