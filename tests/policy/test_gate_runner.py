from __future__ import annotations

import json
from pathlib import Path

import pytest

from indult.errors import InputError
from indult.testing.runners.gate import policy_of, run

DATA = Path(__file__).parent.parent / "data" / "policy" / "gate_workloads.json"


def test_the_workloads_get_the_right_verdicts() -> None:
    """Every action of both workloads gets the verdict that the file expects."""
    workloads = json.loads(DATA.read_text(encoding="utf-8"))

    results = {line["workload"]: line["verdicts"] for line in run(DATA)}

    assert {name: workload["expected"] for name, workload in workloads.items()} == results
    assert {"APPROVE", "ASK_USER", "DENY"} == {verdict for verdicts in results.values() for verdict in verdicts}


def test_a_rule_without_a_sentence_gets_one() -> None:
    """The rules of a workload say nothing, so that the runner says something for them."""
    rule = {"id": "x", "effect": "deny"}

    assert "Mind the rule x." == policy_of({"default": "deny", "context": {}, "rules": [rule]}).rule("x").says


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    """A file that holds no workloads is an error that says what is missing."""
    file = tmp_path / "x.json"
    file.write_text('{"A": {"rules": []}}', encoding="utf-8")

    with pytest.raises(InputError, match="`A` is not a workload"):
        list(run(file))
