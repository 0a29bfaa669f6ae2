"""Who is in the park, what they may do there, and how well two of them fit (numbers: the mixer's published facts)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from indult.errors import WorldError

__all__ = ["CAST", "MOVES", "STAGES", "TOOL", "Persona", "check_known", "fit", "make_cast", "pair", "stage"]

TOOL: Final = "social_action"
"""The one tool of this world."""

MOVES: Final = {"visit": 8, "gentle_intro": 3, "leave_a_note": 2}
"""The ladder of moves with their intensity, from the boldest to the gentlest."""

STAGES: Final = {"stranger": 0, "acquaintance": 3, "friendly": 8, "walk_buddy": 15, "close": 25}
"""The stages of a bond with the points that each begins at."""

_TIMID: Final = frozenset({"shy", "timid", "reserved", "cautious", "introvert"})
_TIMID_ENERGY: Final = 3
_TRAITS: Final = ("outgoing", "playful", "curious", "shy", "reserved", "calm", "gentle", "bold", "cautious")


@dataclass(frozen=True, slots=True)
class Persona:
    """One person in the park: an id, a name, traits, and energy from 0 to 10."""

    id: str
    name: str
    traits: frozenset[str]
    energy: int

    @property
    def timid(self) -> bool:
        """Tell whether the person is easily overwhelmed, by trait or by low energy."""
        return bool(self.traits & _TIMID) or self.energy <= _TIMID_ENERGY


CAST: Final = (
    Persona("a_jordan", "Jordan", frozenset({"outgoing", "playful"}), 8),
    Persona("a_riley", "Riley", frozenset({"outgoing", "curious"}), 7),
    Persona("a_quinn", "Quinn", frozenset({"shy", "reserved"}), 2),
    Persona("a_sasha", "Sasha", frozenset({"calm", "gentle", "curious"}), 4),
    Persona("a_theo", "Theo", frozenset({"playful", "bold"}), 9),
)
"""The five of the worked example, in the order in which they act."""


def make_cast(agents: int, seed: int) -> tuple[Persona, ...]:
    """Return the first `agents` of the cast; beyond five, more personas are made from the seed.

    Raises:
        WorldError: Fewer than two people cannot meet.
    """
    if agents < 2:
        raise WorldError(f"`{agents}` agents cannot meet", hint="at least 2")
    rng = Random(f"cast:{seed}")
    more = [
        Persona(f"a_{number:04}", f"Persona {number}", frozenset(rng.sample(_TRAITS, 2)), rng.randint(1, 10))
        for number in range(len(CAST) + 1, agents + 1)
    ]
    return (*CAST[:agents], *more)


def fit(one: Persona, other: Persona) -> float:
    """Return how well two personas suit each other, from 0 to 1, rounded to two places.

    Half is the Jaccard similarity of their traits, half the nearness of their energy.
    """
    jaccard = len(one.traits & other.traits) / len(one.traits | other.traits)
    return round(0.5 * jaccard + 0.5 * (1 - abs(one.energy - other.energy) / 10), 2)


def pair(one: str, other: str) -> str:
    """Return the name of the bond of two people; it does not matter who comes first."""
    return "|".join(sorted((one, other)))


def stage(points: float) -> str:
    """Return the stage of a bond with so many points."""
    return max((name for name in STAGES if STAGES[name] <= points), key=STAGES.__getitem__)


def check_known(what: str, given: str, known: Sequence[str]) -> None:
    """Refuse a name that this world does not know.

    Raises:
        WorldError: With the names that would have worked.
    """
    if given not in known:
        raise WorldError(f"there is no {what} `{given}`", hint=f"{what}s: {', '.join(known)}")
