"""What a run of the mixer looks like, as data and as lines of text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from indult.budget import Meter
from indult.judgements import Verdict
from indult.loop import Result, Step
from indult.worlds.mixer.people import TOOL, stage

__all__ = ["metrics", "step_lines", "step_row", "stop_lines"]


def step_row(step: Step) -> dict[str, Any]:
    """Return a step as one flat row, with the move that was made, or proposed where none was.

    A step without a judgement shows `verdict` null and, where a proposal was not taken, says in `refused` why.
    """
    row: dict[str, Any] = {"turn": step.turn, "actor": step.actor}
    if step.judgement is None or step.proposal is None or step.proposal.action is None:
        return {**row, "verdict": None, "injected": step.injected, "refused": step.refused}
    judgement, outcome, critique = step.judgement, step.outcome, step.critique
    made = judgement.permitted(step.proposal.action) or step.proposal.action
    downgraded = " | downgraded: high-intensity action was denied." if judgement.verdict is Verdict.DOWNGRADE else ""
    after = outcome.after if outcome is not None and outcome.after is not None else 0
    axes: Mapping[str, float] = critique.axes if critique is not None else {}
    return {
        **row,
        "target": made.args["participants"][1],
        "move": made.args["type"],
        "intensity": made.args["intensity"],
        "verdict": str(judgement.verdict),
        "score": critique.score if critique is not None else None,
        "advance": axes.get("advance", 0) > 0,
        "appropriate": axes.get("appropriate", 0) > 0,
        "injected": step.injected,
        "reason": critique.reason if critique is not None else None,
        "rationale": step.proposal.rationale + downgraded,
        "bond_after": after,
        "stage_after": stage(after),
    }


def step_lines(row: Mapping[str, Any], gate: str = TOOL) -> list[str]:
    """Return a row of `step_row` as text; `gate` stands behind the verdict and says what it was about."""
    if row["verdict"] is None:
        why = f"proposal refused: {row['refused']}" if row["refused"] else "nobody to approach"
        return [f"[-       ] {row['actor']}: {why}"]
    lines = [f"[{row['verdict']:<8}] {row['actor']} -> {row['target']}: {row['move']} (intensity {row['intensity']})"]
    if row["injected"]:
        lines.append(f"    <- injected critique : {row['injected']}")
    lines.append(f"    proposal rationale : {row['rationale']}")
    lines.append(f"    gate : {row['verdict']} ({gate})")
    graded = f"score={row['score']:.2f} advance={row['advance']} appropriate={row['appropriate']}"
    lines.append(f"    verifier (grader): {graded} | {row['reason']}")
    return lines


def metrics(meter: Meter) -> dict[str, int]:
    """Return the counters of a run under the names of the mixer's cost line; tokens are estimates."""
    return {
        "engine_calls": meter.engine_calls,
        "verifier_calls": meter.reviews,
        "gate_evaluations": meter.gate_evaluations,
        "sim_tokens": meter.tokens,
    }


def stop_lines(result: Result) -> list[str]:
    """Return why a run ended and what it cost."""
    cost = " ".join(f"{name}={value}" for name, value in metrics(result.meter).items())
    return [f"STOP: {result.stop}", f"responsible loop engineering: {cost}"]
