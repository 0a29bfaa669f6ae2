"""Ceilings of a run and the counters that are held against them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from indult.errors import ConfigurationError

__all__ = ["Budget", "Meter"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Ceilings of a run; `None` is no ceiling.

    Raises:
        ConfigurationError: A ceiling is negative or not a number.
    """

    turns: int | None = None
    engine_calls: int | None = None
    reviews: int | None = None
    gate_evaluations: int | None = None
    tokens: int | None = None
    seconds: float | None = None
    cost: float | None = None

    def __post_init__(self) -> None:
        """Refuse ceilings that could never be compared."""
        for item in fields(self):
            ceiling = getattr(self, item.name)
            if ceiling is None:
                continue
            whole = item.name not in {"seconds", "cost"}
            fits = isinstance(ceiling, int) or (isinstance(ceiling, float) and not whole)
            if isinstance(ceiling, bool) or not fits or not 0 <= ceiling < float("inf"):
                wanted = "a whole number" if whole else "a number"
                raise ConfigurationError(f"budget `{item.name}` is `{ceiling}`: it must be {wanted} from 0")

    def to_dict(self) -> dict[str, Any]:
        """Return the ceilings that are set."""
        return {item.name: getattr(self, item.name) for item in fields(self) if getattr(self, item.name) is not None}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Budget:
        """Read what `to_dict` wrote."""
        return cls(**data)


@dataclass(slots=True, kw_only=True)
class Meter:
    """Counters of a run, each raised where the thing happens and nowhere else.

    `turns` counts turns that were finished, `reviews` calls of the verifier, `tokens`, `seconds` and `cost` what makers
    and graders reported or the clock showed.
    """

    turns: int = 0
    engine_calls: int = 0
    reviews: int = 0
    gate_evaluations: int = 0
    tokens: int = 0
    seconds: float = 0.0
    cost: float = 0

    def exhausted(self, budget: Budget, *, within_turn: bool = False) -> tuple[str, int | float] | None:
        """Return the name and ceiling of the first counter at its ceiling, in the order of the fields, or `None`.

        Within a turn the number of turns is no reason to stop.
        """
        for item in fields(budget):
            ceiling = getattr(budget, item.name)
            if ceiling is None or (within_turn and item.name == "turns"):
                continue
            if getattr(self, item.name) >= ceiling:
                return item.name, ceiling
        return None

    def to_dict(self) -> dict[str, Any]:
        """Return every counter except `seconds`, which a log of the same run would not repeat."""
        return {item.name: getattr(self, item.name) for item in fields(self) if item.name != "seconds"}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Meter:
        """Read what `to_dict` wrote."""
        return cls(**data)
