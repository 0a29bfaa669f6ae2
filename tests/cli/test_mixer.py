from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Run


class TestText:
    def test_reads_like_the_worked_example(self, indult: Run) -> None:
        """The output has the step lines, the injected critique, the stop and, as its last line, the costs."""
        ran = indult("mixer")
        lines = ran.stdout.splitlines()

        assert 0 == ran.exit_code
        assert [
            "[APPROVE ] a_jordan -> a_theo: gentle_intro (intensity 3)",
            "    <- injected critique : recovered via downgrade to 'leave_a_note'; bond advanced (+1)",
            "    proposal rationale : prior critique advised a gentler move; start light at the park.",
            "    gate : APPROVE (social_action)",
        ] == lines[(start := lines.index("Turn 2") + 1) : start + 4]
        assert [
            "STOP: goal_reached — a pair reached 'walk_buddy' on turn 9",
            "responsible loop engineering: engine_calls=45 verifier_calls=45 gate_evaluations=49 sim_tokens=8100",
        ] == lines[-2:]

    def test_shows_the_grade_of_each_step(self, indult: Run) -> None:
        """The first step shows the verifier's line of the worked example."""
        expected = (
            "    verifier (grader): score=0.87 advance=True appropriate=True"
            " | recovered via downgrade to 'leave_a_note'; bond advanced (+1)"
        )

        assert expected in indult("mixer").stdout.splitlines()


class TestMemory:
    def test_persists_until_it_is_reset(self, indult: Run) -> None:
        """A second run goes on where the first ended, and `--reset` forgets both."""
        first = indult("mixer", "--json").json
        second = indult("mixer", "--json").json
        third = indult("mixer", "--json", "--reset").json

        assert "a pair already at/above 'walk_buddy'" == second[-1]["stop"]["detail"]
        assert first[:-1] == third[:-1]

    def test_a_reset_leaves_the_log_as_it_was(self, indult: Run) -> None:
        """Forgetting the memory deletes no event: both runs are still listed."""
        indult("mixer")
        indult("mixer", "--reset")

        assert 2 == len(indult("run", "list", "--json").json)


class TestExitCode:
    @pytest.mark.parametrize(
        ("args", "code", "stop"),
        [
            ((), 0, "goal_reached"),
            (("--max-turns", "3"), 5, "budget_turns"),
            (("--max-engine-calls", "7"), 5, "budget_engine_calls"),
            (("--max-intensity", "1"), 5, "stalled"),
            (("--blocked", "a_jordan", "--max-turns", "1"), 5, "budget_turns"),
        ],
    )
    def test_tells_whether_the_goal_was_reached(self, indult: Run, args: tuple[str, ...], code: int, stop: str) -> None:
        """0 at the goal, 5 where the run stopped short of it."""
        ran = indult("mixer", "--json", *args)

        assert (code, stop) == (ran.exit_code, ran.json[-1]["stop"]["kind"])

    @pytest.mark.parametrize(
        ("args", "message"),
        [
            (("--goal-stage", "walkbuddy"), "there is no stage `walkbuddy`"),
            (("--blocked", "a_nobody"), "there is no persona `a_nobody`"),
            (("--agents", "1"), "`1` agents cannot meet"),
            (("--stall-patience", "0"), "stall patience is `0`"),
        ],
    )
    def test_an_unknown_value_ends_with_3(self, indult: Run, args: tuple[str, ...], message: str) -> None:
        """What the world does not know is refused before anything runs."""
        ran = indult("mixer", *args)

        assert (3, "") == (ran.exit_code, ran.stdout)
        assert message in ran.stderr
        assert "hint: " in ran.stderr


class TestOptions:
    def test_blocked_people_are_not_approached_and_do_not_act(self, indult: Run) -> None:
        """Nobody proposes to a blocked person, and whatever a blocked person proposes is denied."""
        steps = indult("mixer", "--json", "--blocked", "a_jordan").json[:-1]

        assert "a_jordan" not in {step.get("target") for step in steps}
        assert {"DENY"} == {step["verdict"] for step in steps if step["actor"] == "a_jordan"}

    def test_everybody_blocked_proposes_nothing(self, indult: Run) -> None:
        """With nobody to approach there are engine calls and nothing else, and the run stalls."""
        names = ("a_jordan", "a_riley", "a_quinn", "a_sasha", "a_theo")
        last = indult("mixer", "--json", *(word for name in names for word in ("--blocked", name))).json[-1]

        assert "stalled" == last["stop"]["kind"]
        assert {"engine_calls": 20, "verifier_calls": 0, "gate_evaluations": 0, "sim_tokens": 0} == last["metrics"]

    def test_more_agents_are_made_from_the_seed(self, indult: Run) -> None:
        """Seven agents act in every turn, and the same seed makes the same two more."""
        args = ("mixer", "--json", "--agents", "7", "--reset", "--goal-stage", "close", "--max-turns", "2")
        steps = indult(*args).json[:-1]

        assert 14 == len(steps)
        assert steps == indult(*args).json[:-1]

    def test_a_ledger_can_be_named(self, indult: Run, tmp_path: Path, data_home: Path) -> None:
        """With `--db` everything goes to that file and nothing to the default place."""
        indult("mixer", "--db", str(tmp_path / "mine.db"))

        assert (tmp_path / "mine.db").is_file()
        assert not data_home.exists()
