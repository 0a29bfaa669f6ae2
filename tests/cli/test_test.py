from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Run

LAW = """
schema: 1
default: deny
rules:
  - {id: cap, tool: move, effect: deny, when: args.n > 4, says: Stay low., downgrade: [{n: 1}]}
  - {id: move, tool: move, effect: allow}
"""
CASES = """
cases:
  - {name: low, action: {tool: move, args: {n: 1}}, expect: APPROVE, rules: [move]}
  - {name: high, action: {tool: move, args: {n: 9}}, expect: DOWNGRADE, instead: {n: 1}}
"""


@pytest.fixture(name="law")
def _law(tmp_path: Path) -> Path:
    """Write a small policy and return its path."""
    path = tmp_path / "law.yaml"
    path.write_text(LAW, encoding="utf-8")
    return path


def write(folder: Path, text: str) -> str:
    """Write a file of cases and return its path."""
    path = folder / "cases.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)


class TestCases:
    def test_passing_cases_end_with_0(self, indult: Run, law: Path, tmp_path: Path) -> None:
        """Every case is a line, and the totals count exceptions apart."""
        ran = indult("test", write(tmp_path, CASES), "--policy", str(law))

        assert 0 == ran.exit_code
        assert ["test low ... ok", "test high ... ok", "2 tests, 2 passed, 0 failed, 0 exceptions"] == (
            ran.stdout.splitlines()
        )

    @pytest.mark.parametrize(
        ("old", "new", "why"),
        [
            ("expect: APPROVE", "expect: DENY", "APPROVE, expected DENY: allowed by `move`"),
            ("rules: [move]", "rules: [cap]", "decided by ['move'], expected ['cap']"),
            ("instead: {n: 1}", "instead: {n: 2}", "instead {'n': 1}, expected {'n': 2}"),
        ],
    )
    def test_a_failing_case_ends_with_1_and_says_why(
        self, indult: Run, law: Path, tmp_path: Path, old: str, new: str, why: str
    ) -> None:
        """A verdict, a set of rules or a rung other than expected fails the case."""
        ran = indult("test", write(tmp_path, CASES.replace(old, new)), "--policy", str(law))

        assert 1 == ran.exit_code
        assert f"fail: {why}" in ran.stdout

    def test_speaks_junit(self, indult: Run, law: Path, tmp_path: Path) -> None:
        """With `-o junit` CI systems read the results."""
        path = write(tmp_path, CASES.replace("expect: APPROVE", "expect: DENY"))
        suite = ET.fromstring(indult("test", path, "--policy", str(law), "-o", "junit").stdout)

        assert ("2", "1") == (suite.get("tests"), suite.get("failures"))
        assert ["low"] == [case.get("name") for case in suite if case.find("failure") is not None]

    def test_speaks_json(self, indult: Run, law: Path, tmp_path: Path) -> None:
        """With `-o json` each case is a line and the totals are the last."""
        rows = indult("test", write(tmp_path, CASES), "--policy", str(law), "-o", "json").json

        assert [True, True] == [row["passed"] for row in rows[:-1]]
        assert {"tests": 2, "passed": 2, "failed": 0, "exceptions": 0} == rows[-1]

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("cases: 3", "has no list `cases`"),
            ("cases: []", "has no list `cases`"),
            ("cases: [3]", "case 1: a case is a `int`, not a mapping"),
            ("cases: [{name: a, expect: DENY}]", "case 1: a case has no `action`"),
            ("cases: [{name: a, action: {tool: t}, expect: MAYBE}]", "`MAYBE` is no verdict"),
            ("cases: [{name: a, action: {tool: t}, expect: DENY, why: x}]", "case 1: a case has the unknown key `why`"),
            ("cases: [{name: a, action: {tol: t}, expect: DENY}]", "case 1: action has the unknown key `tol`"),
        ],
    )
    def test_malformed_cases_are_an_error(
        self, indult: Run, law: Path, tmp_path: Path, text: str, message: str
    ) -> None:
        """A file that holds something else than cases is refused, never passed over."""
        ran = indult("test", write(tmp_path, text), "--policy", str(law))

        assert 1 == ran.exit_code
        assert message in ran.stderr

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            (
                "cases: [{name: a, action: {tool: move, args: {n: 1}}, facts: {shp: 1}, expect: APPROVE}]",
                "no fact `shp`",
            ),
            ("cases: [{name: a, action: {tool: move, args: {n: 1}}, rules: [moev], expect: APPROVE}]", "`moev`"),
        ],
    )
    def test_a_misspelled_name_passes_no_case(
        self, indult: Run, law: Path, tmp_path: Path, text: str, message: str
    ) -> None:
        """A fact or a rule that the policy does not have is an error of the case, whatever verdict would come out."""
        ran = indult("test", write(tmp_path, text), "--policy", str(law))

        assert 3 == ran.exit_code
        assert message in ran.stderr

    def test_no_files_are_an_error(self, indult: Run, law: Path) -> None:
        """A test run of nothing does not pass."""
        assert 1 == indult("test", "--policy", str(law)).exit_code


class TestReplay:
    @pytest.fixture(name="ledger")
    def _ledger(self, indult: Run, tmp_path: Path) -> str:
        """Play the mixer into a ledger of its own and return its path."""
        path = str(tmp_path / "l.db")
        indult("mixer", "--db", path, "--max-turns", "1")
        return path

    @pytest.fixture(name="mixer_law")
    def _mixer_law(self, tmp_path: Path) -> Path:
        """Write the law of the mixer into a file of its own."""
        from importlib.resources import files

        path = tmp_path / "mixer.yaml"
        path.write_text((files("indult.worlds.mixer") / "indult.yaml").read_text(encoding="utf-8"), encoding="utf-8")
        return path

    def test_the_same_law_changes_nothing(self, indult: Run, ledger: str, mixer_law: Path) -> None:
        """A ledger judged again under its own policy comes out as it is."""
        ran = indult("test", "--replay", ledger, "--policy", str(mixer_law))

        assert (0, "5 judged again, 0 would change\n") == (ran.exit_code, ran.stdout)

    def test_another_law_lists_every_change(self, indult: Run, ledger: str, mixer_law: Path) -> None:
        """Without its ladder the cap denies what it lowered before: four verdicts change, each with its reason."""
        text = mixer_law.read_text(encoding="utf-8").replace(
            "    downgrade: [{type: leave_a_note, intensity: 2}]\n", ""
        )
        mixer_law.write_text(text, encoding="utf-8")
        rows = indult("test", "--replay", ledger, "--policy", str(mixer_law), "-o", "json").json

        assert {"judged": 5, "changed": 4, "left_out": {}} == rows[-1]
        assert {("DOWNGRADE", "DENY")} == {(row["before"], row["after"]) for row in rows[:-1]}

    def test_what_cannot_be_judged_again_is_counted(self, indult: Run, ledger: str, mixer_law: Path) -> None:
        """Judgements whose arguments were forgotten are named as left out, not passed over."""
        from indult.ledger import open_ledger

        with open_ledger(ledger) as opened:
            step = next(iter(opened.events(kinds=("step",))))
            opened.forget(step.data["content"]["body"])
        ran = indult("test", "--replay", ledger, "--policy", str(mixer_law))

        assert "4 judged again, 0 would change, 1 left out (forgotten or never kept)\n" == ran.stdout

    def test_a_missing_ledger_is_an_error(self, indult: Run, mixer_law: Path) -> None:
        """A replay never makes an empty ledger to find nothing in."""
        ran = indult("test", "--replay", "nowhere.db", "--policy", str(mixer_law))

        assert (1, "error: there is no ledger `nowhere.db`\n") == (ran.exit_code, ran.stderr)
