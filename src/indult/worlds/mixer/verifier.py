"""The rule-based grader: it sees the evidence of a step and nothing of the maker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from indult.critiques import Advice, Critique
from indult.judgements import Verdict
from indult.loop import Evidence

__all__ = ["RuleVerifier"]

_TOKENS: Final = 60
"""Estimated tokens of one review."""

_ADVANCE: Final = 0.5
_APPROPRIATE: Final = {Verdict.APPROVE: 0.30, Verdict.DOWNGRADE: 0.25}
_QUALITY: Final = 0.2


class RuleVerifier:
    """Grades three axes: whether the bond rose, whether the verdict suits the move, and how well the pair fits.

    `ladder` runs from the boldest move to the gentlest; a move that was pushed back earns the advice to take the next.
    """

    def __init__(self, ladder: Sequence[str]) -> None:
        self._ladder = tuple(ladder)

    def review(self, evidence: Evidence) -> Critique:
        """Return the grade of one step."""
        judgement, outcome = evidence.judgement, evidence.outcome
        axes = {
            "advance": _ADVANCE if outcome.advanced else 0,
            "appropriate": _APPROPRIATE.get(judgement.verdict, 0),
            "quality": round(_QUALITY * (outcome.fit or 0.0), 4),
        }
        return Critique(
            score=round(sum(axes.values()), 2),
            axes=axes,
            reason=_reason(evidence),
            advice=self._advice(evidence) if judgement.pushed_back else None,
            tokens=_TOKENS,
        )

    def _advice(self, evidence: Evidence) -> Advice:
        judgement = evidence.judgement
        place = self._ladder.index(evidence.action.args["type"])
        rung = self._ladder[min(place + 1, len(self._ladder) - 1)]
        return Advice(rung=rung, because=judgement.rules, read=judgement.read, text=f"try '{rung}' or gentler")


def _reason(evidence: Evidence) -> str:
    args, judgement, outcome = evidence.action.args, evidence.judgement, evidence.outcome
    gained = int((outcome.after or 0) - (outcome.before or 0))
    if judgement.verdict is Verdict.DOWNGRADE and judgement.instead is not None:
        return f"recovered via downgrade to '{judgement.instead.args['type']}'; bond advanced (+{gained})"
    if judgement.verdict is not Verdict.APPROVE:
        pressed = f"action '{args['type']}' (intensity {args['intensity']}) was {judgement.verdict}"
        return f"{pressed}; over-reached for the current safety context"
    if not outcome.advanced:
        return f"'{args['type']}' was allowed but did not advance the bond"
    fitting = f"good fit (compat {outcome.fit or 0.0:.2f})"
    return f"approved '{args['type']}' advanced the goal (bond +{gained}); {fitting}"
