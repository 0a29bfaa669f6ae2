"""Grades with advice, and what an actor's remembered advice comes to under the present facts."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from indult.canonical import canonical
from indult.errors import InputError

__all__ = ["Advice", "Critique", "fact", "holds", "steer"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """What to do another way next time.

    `rung` is the boldest move that is advised, where the world has a ladder of moves. `because` are the ids of the
    rules that pushed back and `read` the facts they read: the advice holds as long as those facts are the same.
    """

    rung: str | None = None
    because: tuple[str, ...] = ()
    read: Mapping[str, Any] = field(default_factory=dict)
    text: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"rung": self.rung, "because": list(self.because), "read": dict(self.read), "text": self.text}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Advice:
        """Read what `to_dict` wrote."""
        return cls(rung=data["rung"], because=tuple(data["because"]), read=data["read"], text=data["text"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Critique:
    """A grade from 0 to 1 with its axes, its reason and, where the gate pushed back, advice.

    `asked` are the targets that the gate asked a person about and `request` is the question, both filled in by the loop:
    once live grants open them, the critique is void and no brief repeats it.

    Raises:
        InputError: The score or an axis is not a number from 0 to 1 (NaN is not).
    """

    score: float
    reason: str
    axes: Mapping[str, float] = field(default_factory=dict)
    advice: Advice | None = None
    tokens: int = 0
    asked: tuple[str, ...] = ()
    request: str | None = None

    def __post_init__(self) -> None:
        """Refuse grades that mean nothing."""
        for name, value in (("score", self.score), *self.axes.items()):
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
                raise InputError(f"critique has the {name} `{value}`: it must be a number from 0 to 1")

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        shown: dict[str, Any] = {"score": self.score, "axes": dict(self.axes), "reason": self.reason}
        if self.advice is not None:
            shown["advice"] = self.advice.to_dict()
        if self.asked:
            shown["asked"] = list(self.asked)
        if self.request is not None:
            shown["request"] = self.request
        return shown

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Critique:
        """Read what `to_dict` wrote."""
        advice = Advice.from_dict(data["advice"]) if "advice" in data else None
        asked = tuple(data.get("asked", ()))
        return cls(
            score=data["score"],
            axes=data["axes"],
            reason=data["reason"],
            advice=advice,
            asked=asked,
            request=data.get("request"),
        )

    def void(self, opened: Container[str]) -> bool:
        """Tell whether live grants have opened all that this critique is about."""
        return _opened(self.asked, opened)


def fact(facts: Mapping[str, Any], path: str) -> Any:
    """Return the fact at a dotted path, or `None` where there is none."""
    value: Any = facts
    for name in path.split("."):
        if not isinstance(value, Mapping) or name not in value:
            return None
        value = value[name]
    return value


def holds(read: Mapping[str, Any], facts: Mapping[str, Any]) -> bool:
    """Tell whether every fact that was read then is the same now, in value and type."""
    return all(_same(fact(facts, path), value) for path, value in read.items())


def steer(
    kept: Iterable[Mapping[str, Any]], facts: Mapping[str, Any], ladder: Sequence[str], opened: Container[str] = ()
) -> str | None:
    """Return the lowest rung that an actor's remembered push-backs advise under the present facts.

    `kept` are `{"rung", "read"}` mappings, with `asked` where the gate asked a person; `ladder` runs from the boldest
    move to the gentlest; `opened` are the targets that live grants open. Without any push-back that still holds there is
    no steer: whoever was never pushed back is never steered.
    """
    places = [
        ladder.index(item["rung"])
        for item in kept
        if item["rung"] in ladder and holds(item["read"], facts) and not _opened(item.get("asked", ()), opened)
    ]
    return ladder[max(places)] if places else None


def _opened(asked: Sequence[str], opened: Container[str]) -> bool:
    """Tell whether all that was asked about has been opened since; what was never asked about cannot be."""
    return bool(asked) and all(target in opened for target in asked)


def _same(present: Any, before: Any) -> bool:
    return canonical(present) == canonical(before)
