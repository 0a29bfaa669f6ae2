from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from indult.errors import InputError
from indult.testing.runners.ship import run

CASES = Path(__file__).parents[1] / "data" / "ship" / "ship.jsonl"
ROWS: list[dict[str, Any]] = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(name="results", scope="module")
def _results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Run all cases once, with no settings of a person in the way."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
        for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
            patch.delenv(name, raising=False)
        return {row["id"]: row for row in run(CASES)}


@pytest.mark.parametrize("case", ROWS, ids=lambda case: f"{case['id']}-{case['fault_kind']}")
def test_lands_or_is_refused(results: dict[str, dict[str, Any]], case: dict[str, Any]) -> None:
    """A branch lands or is refused as the case says, and a refusal names all that it has to."""
    found = results[case["id"]]

    assert case["expected"] == found["result"], f"{case['why']}: {found['message']}"
    assert [] == [words for words in case["must_mention"] if words not in found["message"]], found["message"]


def test_all_cases_ran(results: dict[str, dict[str, Any]]) -> None:
    """Every line of the file is a case, and each has one result."""
    assert [row["id"] for row in ROWS] == list(results)
    assert 139 == len(results)


def test_a_refusal_of_the_gate_names_rules(results: dict[str, dict[str, Any]]) -> None:
    """Whatever has to be mentioned was refused by a rule and not by chance: each such message names one."""
    refused = [case["id"] for case in ROWS if case["expected"] == "refuse" and case["must_mention"]]

    assert [] == [
        name for name in refused if "[repo." not in (text := results[name]["message"]) and "[gate]" not in text
    ]


@pytest.mark.parametrize(("events", "expected"), [(["approve"], "land"), (["approve", "revoke"], "refuse")])
def test_an_approval_can_be_taken_back(tmp_path: Path, events: list[str], expected: str) -> None:
    """A grant that was revoked before the ship opens nothing."""
    (case,) = (row for row in ROWS if row["id"] == "ship-001")
    handed = case["approval_timeline"][0]
    answers = [{"event": name, "handoff": handed["handoff"], "by": "human", "at": 20} for name in events]
    file = tmp_path / "cases.jsonl"
    file.write_text(json.dumps({**case, "approval_timeline": [handed, *answers]}), encoding="utf-8")

    assert [expected] == [row["result"] for row in run(file)]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"branch_changes": [{"op": "burn", "path": "a"}]}, "`burn` is no operation of a ship case"),
        ({"branch_changes": [{"op": "delete", "path": "a"}]}, "there is no `a` on the branch"),
        ({"branch_changes": [{"path": "a"}]}, "`None` is no operation of a ship case"),
        ({"base_files": None}, "`x` is no ship case: TypeError"),
    ],
)
def test_what_is_no_case(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    """A line that is no case ends the run with the reason, so that no case is passed over."""
    case = {"id": "x", "base_files": {}, "branch_changes": [], "approval_timeline": [], **changes}
    file = tmp_path / "cases.jsonl"
    file.write_text(json.dumps(case), encoding="utf-8")

    with pytest.raises(InputError) as caught:
        list(run(file))

    assert message in caught.value.message
