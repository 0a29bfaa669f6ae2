from __future__ import annotations

from typing import TYPE_CHECKING

from indult.ledger import open_ledger

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Run


class TestShow:
    def test_shows_what_the_run_printed(self, indult: Run) -> None:
        """The steps in the ledger are those that were printed while the run was under way."""
        printed = indult("mixer", "--json").json
        shown = indult("run", "show", "--json").json

        assert printed[:-1] == shown[:-1]
        assert printed[-1]["stop"] == shown[-1]["stop"]

    def test_shows_steps_whose_content_was_forgotten(self, indult: Run, tmp_path: Path) -> None:
        """A step whose arguments were forgotten is still there, with its verdict."""
        path = str(tmp_path / "l.db")
        indult("mixer", "--db", path, "--max-turns", "1")
        with open_ledger(path) as ledger:
            step = next(iter(ledger.events(kinds=("step",))))
            ledger.forget(step.data["content"]["body"])
        ran = indult("run", "show", "--db", path)

        assert "[DOWNGRADE] a_jordan: what was proposed is not kept any more" in ran.stdout.splitlines()

    def test_an_unknown_run_is_an_error(self, indult: Run) -> None:
        """A name that is no run's is refused with the way to find one."""
        indult("mixer")
        ran = indult("run", "show", "run_x")

        assert (1, "error: there is no run `run_x`\nhint: indult run list\n") == (ran.exit_code, ran.stderr)

    def test_a_ledger_without_runs_has_nothing_to_show(self, indult: Run, tmp_path: Path) -> None:
        """Without any run there is nothing to show."""
        path = str(tmp_path / "l.db")
        open_ledger(path).close()
        ran = indult("run", "show", "--db", path)

        assert (1, "error: there is no run in this ledger\nhint: indult run list\n") == (ran.exit_code, ran.stderr)


class TestList:
    def test_a_name_misspelled_makes_no_ledger(self, indult: Run, tmp_path: Path) -> None:
        """Looking into a ledger that is not there is an error, and there is none afterwards."""
        ran = indult("run", "list", "--db", str(tmp_path / "typo.db"))

        assert 1 == ran.exit_code
        assert "there is no ledger at" in ran.stderr
        assert not (tmp_path / "typo.db").exists()

    def test_lists_runs_with_their_stop(self, indult: Run) -> None:
        """Each run is a line with its name, world, events and how it ended."""
        indult("mixer", "--max-turns", "1")
        (line,) = indult("run", "list").stdout.splitlines()

        assert line.startswith("run_")
        assert "mixer" in line
        assert "7 events  STOP: budget_turns — turn budget hit (1 turns)" in line


class TestResume:
    def test_a_finished_run_is_not_resumed(self, indult: Run) -> None:
        """A run that reached its goal has ended."""
        indult("mixer")
        ran = indult("run", "resume")

        assert 1 == ran.exit_code
        assert "has ended: goal_reached" in ran.stderr
