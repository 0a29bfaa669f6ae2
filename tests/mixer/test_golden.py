from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from indult.testing.runners.mixer import run

CASES = Path(__file__).parents[1] / "data" / "mixer" / "runs.json"


@pytest.fixture(name="results", scope="module")
def _results() -> dict[str, dict[str, Any]]:
    """Run all cases once, each on the memory that it continues."""
    return {row["name"]: row for row in run(CASES)}


@pytest.mark.parametrize("case", json.loads(CASES.read_text(encoding="utf-8")), ids=lambda case: case["name"])
@pytest.mark.parametrize("part", ["stop", "metrics", "bonds", "steps"])
def test_a_run_equals_the_golden_one(results: dict[str, dict[str, Any]], case: dict[str, Any], part: str) -> None:
    """Every recorded run is reproduced to the letter: each move, verdict, score, reason, bond, the stop and the costs."""
    assert case[part] == results[case["name"]][part]
