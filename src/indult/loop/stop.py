"""Why a loop ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

__all__ = ["StopKind", "StopReason", "budget_stop"]


class StopKind(StrEnum):
    """The ways a loop can end; a budget that ran out is named by its meter."""

    GOAL_REACHED = "goal_reached"
    STALLED = "stalled"
    BUDGET_TURNS = "budget_turns"
    BUDGET_ENGINE_CALLS = "budget_engine_calls"
    BUDGET_REVIEWS = "budget_reviews"
    BUDGET_GATE_EVALUATIONS = "budget_gate_evaluations"
    BUDGET_TOKENS = "budget_tokens"
    BUDGET_SECONDS = "budget_seconds"
    BUDGET_COST = "budget_cost"
    AWAITING_APPROVAL = "awaiting_approval"
    CANCELLED = "cancelled"
    FAILED = "failed"

    @property
    def resumable(self) -> bool:
        """Tell whether the same run may go on after this stop."""
        return self in {StopKind.AWAITING_APPROVAL, StopKind.CANCELLED, StopKind.FAILED}


@dataclass(frozen=True, slots=True, kw_only=True)
class StopReason:
    """Why a loop ended: a kind and a detail for a person."""

    kind: StopKind
    detail: str

    def to_dict(self) -> dict[str, str]:
        """Return the JSON form."""
        return {"kind": str(self.kind), "detail": self.detail}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> StopReason:
        """Read what `to_dict` wrote."""
        return cls(kind=StopKind(data["kind"]), detail=data["detail"])

    def __str__(self) -> str:
        return f"{self.kind} — {self.detail}"


_NAMES: Final = {
    "engine_calls": "engine-call",
    "reviews": "review",
    "gate_evaluations": "gate-evaluation",
    "tokens": "token",
    "seconds": "time",
    "cost": "cost",
}


def budget_stop(meter: str, ceiling: float) -> StopReason:
    """Return the stop of a run whose counter `meter` is at its `ceiling`."""
    detail = f"turn budget hit ({ceiling} turns)" if meter == "turns" else f"{_NAMES[meter]} budget hit ({ceiling})"
    return StopReason(kind=StopKind(f"budget_{meter}"), detail=detail)
