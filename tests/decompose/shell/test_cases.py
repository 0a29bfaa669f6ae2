from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import pytest
from tests.decompose.shell.mutations import faults, mutations

from indult.decompose.paths import Places
from indult.decompose.shell import shell_parts
from indult.testing.runners.shell import Disk, run

CASES = Path(__file__).parents[2] / "data" / "shell" / "shell.jsonl"
ISSUED = Path(os.environ.get("INDULT_CASES") or Path(__file__).parents[4] / "shared" / "cases") / "agent_commands.jsonl"


def test_the_gate_answers_the_shell_cases() -> None:
    """At least 240 of the 243 cases get an answer that counts as right, and none that should not is approved."""
    cases = {case["id"]: case for case in map(json.loads, CASES.read_text(encoding="utf-8").splitlines())}
    wrong = {
        one["id"]: one["verdict"]
        for one in run(CASES)
        if one["verdict"] not in [cases[one["id"]]["expected"], *cases[one["id"]].get("also_ok", [])]
    }

    assert 243 == len(cases)
    assert len(wrong) <= 3, wrong
    assert "APPROVE" not in wrong.values(), wrong


def test_real_commands_of_agents_come_apart() -> None:
    """Commands that agents really issued are taken apart without an error, and all but a few of them can be read."""
    if not ISSUED.exists():
        pytest.skip(f"there is no {ISSUED}: name its folder in INDULT_CASES")
    places = Places(Disk({}), "/repo", "/home/dev")
    found: Counter[bool] = Counter()
    for row in map(json.loads, ISSUED.read_text(encoding="utf-8").splitlines()):
        parts = shell_parts(row["command"], tool="Bash", cwd="/repo", places=places)
        assert parts, row["id"]
        found[any("cannot be read" in part.asks for part in parts)] += 1

    assert found[True] <= 0.03 * found.total(), found


def test_mutated_texts_neither_raise_nor_pass_where_bash_refuses_them() -> None:
    """Of texts with faults in them, none raises, takes long, or is approved although it is no valid bash."""
    assert [] == list(faults(mutations(300, seed=2026)))
