"""`indult autofix`: how runs are followed, what turns came to, and with what a command ends."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.autofix.yard import Yard, lines

from indult.autofix.receipt import Receipt
from indult.autofix.records import run_stream, runs
from indult.autofix.run import LOCK
from indult.cli import autofix, receipts
from indult.ledger import Draft, open_ledger
from indult.loop.stop import StopKind, StopReason
from indult.places import repository_ledger
from indult.ship.locks import held

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conftest import Ran, Run

TWICE = lines(
    [
        "print('\\n'.join(f'line {number}' for number in range(30)), 'STOP: goal_reached', sep='\\n')",
        "if 'did not pass' in task: (here / 'src/app.py').write_text('VALUE = 2\\n')",
        "else: (here / 'src/other.py').write_text('VALUE = 3\\n')",
    ]
)
CHECKED = "checks:\n  value: [grep, -q, VALUE = 2, src/app.py]\n"
ASKS = lines(["report('--change', 'which value is right?')"])
SLOW = lines(["import time", "Path(os.environ['INDULT_TASK']).with_name('begun').touch()", "time.sleep(600)"])


class Cli:
    """A repository with a fixer, and the command line in its folder."""

    def __init__(self, folder: Path, indult: Run) -> None:
        self.folder, self.indult = folder, indult

    def make(self, fixer: str, **options: Any) -> Yard:
        """Make the repository and be in it."""
        yard = Yard.make(self.folder / "yard", fixer, **options)
        os.chdir(yard.repo.folder)
        return yard

    def __call__(self, *args: str) -> Ran:
        return self.indult("autofix", *args)

    def row(self, *args: str) -> dict[str, Any]:
        """Return the last line that a command prints as JSON."""
        return dict(self(*args, "--json").json[-1])


@pytest.fixture(name="cli")
def _cli(indult: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Return what makes a repository and runs `indult autofix` there."""
    monkeypatch.chdir(tmp_path)
    return Cli(tmp_path, indult)


@pytest.fixture(name="at_work")
def _at_work(cli: Cli) -> Iterator[subprocess.Popen[str]]:
    """Return a run whose fixer has begun and will not end by itself."""
    yard = cli.make(SLOW)
    yard.signal("the value is wrong")
    process = subprocess.Popen(
        [sys.executable, "-m", "indult", "autofix", "run"], stdout=subprocess.PIPE, encoding="utf-8"
    )
    try:
        until = time.monotonic() + 60
        while not any(place.joinpath("begun").exists() for place in yard.leftovers()):
            assert time.monotonic() < until
            time.sleep(0.05)
        yield process
    finally:
        process.kill()
        process.communicate()


def lock_of(repository: Path) -> Path:
    """Return the file that a run in a repository holds a lock on."""
    return Path(repository_ledger(str(repository))).with_name(LOCK)


class TestStatus:
    """How runs stand."""

    def test_at_work(self, cli: Cli, at_work: subprocess.Popen[str]) -> None:
        """A run that is at work has a process and no stop, and its fix tells which fault it is about."""
        text = cli("status").stdout
        row = cli.row("status")
        run = row["latest"][0]["run"]
        assert f"at work: process {at_work.pid}, run {run} for " in text
        (fix,) = (line for line in text.splitlines() if line.startswith("at work  s_"))
        assert fix.endswith("(the value is wrong)")
        assert "STOP" not in text
        assert "cancelled" not in text
        latest = row["latest"][0]
        assert ("at-work", None, f"process {at_work.pid}") == tuple(
            latest[key] for key in ("standing", "stop", "process")
        )
        assert "the value is wrong" == row["fixes"][0]["summary"]
        assert f"at work: process {at_work.pid}" in cli("status", "--all").stdout
        signal = row["fixes"][0]["signal"]
        assert "  under way\n" in cli("show", signal).stdout
        assert cli.row("show", signal)["under_way"] is True
        lock_of(Path.cwd()).unlink()
        assert f"at work: process {at_work.pid}, run {run} for " in cli("status").stdout

    def test_killed(self, cli: Cli, at_work: subprocess.Popen[str]) -> None:
        """A run that was killed ended without a word, and is told how it goes on."""
        at_work.kill()
        at_work.wait()
        text = cli("status").stdout
        row = cli.row("status")
        run = row["latest"][0]["run"]
        assert f"the run {run} ended without a word: `indult autofix resume {run}` goes on\n" in text
        assert any(line.startswith("left     s_") for line in text.splitlines())
        assert "STOP" not in text
        assert ("left", None) == (row["latest"][0]["standing"], row["latest"][0]["stop"])
        assert "  ended without a word\n" in cli("show", row["fixes"][0]["signal"]).stdout
        with held(str(lock_of(Path.cwd()))):
            text = cli("status").stdout
        assert f"at work: process {os.getpid()}, which has begun no run yet\n" in text
        assert f"the run {run} ended without a word" in text
        ran = cli("stop")
        assert (1, "error: no run of autofix is at work here") == (ran.exit_code, ran.stderr.splitlines()[0])

    def test_about_to_begin(self, cli: Cli) -> None:
        """A process that has begun no run yet is told beside the latest run, which stays over."""
        yard = cli.make(TWICE, more=CHECKED)
        yard.signal()
        assert 0 == cli("run").exit_code
        with held(str(lock_of(yard.repo.folder))):
            text = cli("status").stdout
            row = cli.row("status")
        assert f"at work: process {os.getpid()}, which has begun no run yet\n" in text
        assert "STOP: goal_reached" in text
        assert (f"process {os.getpid()}", "over") == (row["process"], row["latest"][0]["standing"])
        assert "at work" not in cli("status").stdout

    def test_older_ones(self, cli: Cli) -> None:
        """Every run is a line with `--all`, and one that is named is told in full."""
        yard = cli.make(TWICE, more=CHECKED)
        yard.signal("the value is wrong")
        assert 0 == cli("run").exit_code
        assert 0 == cli("run").exit_code
        with yard.ledger() as ledger:
            first, second = runs(ledger)
        listed = cli("status", "--all").stdout.splitlines()
        assert [first, second] == [line.split()[0] for line in listed]
        assert "landed 1, waiting 0  goal_reached — 1 landed" in listed[0]
        assert "landed 0, waiting 0  goal_reached" in listed[1]
        assert f"run {second}\n" in cli("status").stdout
        text = cli("status", first).stdout
        assert f"run {first}\n  s_" in text
        assert "[src/app.py, src/other.py]  (the value is wrong)\n" in text
        assert "STOP: goal_reached — 1 landed, nothing is left to fix\n" in text
        assert ["over", "over"] == [one["standing"] for one in cli("status", "--all", "--json").json]

    def test_what_is_written_behind_its_end(self, cli: Cli) -> None:
        """A run is over once it said so, whatever is written of it since."""
        yard = cli.make(TWICE, more=CHECKED)
        yard.signal()
        assert 0 == cli("run").exit_code
        with yard.ledger() as ledger:
            ledger.append(Draft(run_stream(runs(ledger)[0]), "stop_asked", {"by": "ann"}))
        assert "STOP: goal_reached — 1 landed" in cli("status").stdout
        assert "goal_reached" == cli.row("status")["latest"][0]["stop"]["kind"]

    def test_no_such_run(self, cli: Cli) -> None:
        """A run that there is none of is told, and where they are listed."""
        cli.make(TWICE).signal()
        ran = cli("status", "a_1")
        assert (1, "error: there is no run `a_1`\nhint: indult autofix status --all\n") == (ran.exit_code, ran.stderr)
        assert 1 == cli("status", "a_1", "--all").exit_code
        assert "" == cli("status", "--all").stdout


class TestShow:
    """What each turn came to."""

    def test_turns(self, cli: Cli) -> None:
        """Each turn is told with what came of it, what was said, how the fixer ended and the end of what it printed."""
        yard = cli.make(TWICE, more=CHECKED)
        name = yard.signal("the value is wrong")
        assert 0 == cli("run").exit_code
        text = cli("show", name).stdout
        first, second = text.split("turn 2  ")
        assert first.startswith("turn 1  20")
        assert "  refused\n" in first
        assert "  fixer   done, exit code 0, after " in first
        assert "  | the check `value` did not pass: ended with 1\n" in first
        assert "  printed, without its first 11 lines (--turn 1)\n  | line 11\n" in first
        assert "  | STOP: goal_reached\n" in first
        assert second.partition("\n")[0].endswith("  landed")
        assert f"  landed: goal_reached — landed {yard.repo.git('rev-parse', 'main')}\n" in second
        assert "brief" not in text
        assert "\nSTOP" not in text

    def test_one_turn(self, cli: Cli) -> None:
        """One turn is told in full, with the brief where that is wished."""
        yard = cli.make(TWICE, more=CHECKED)
        name = yard.signal("the value is wrong")
        assert 0 == cli("run").exit_code
        text = cli("show", name, "--turn", "2", "--brief").stdout
        assert text.startswith("turn 2  ")
        assert "  printed\n  | line 0\n" in text
        first, second = yard.briefs(name)
        assert "  | " + first.splitlines()[0] + "\n" in text
        assert second == cli.row("show", name, "--turn", "2", "--brief")["brief"]
        ran = cli("show", name, "--turn", "3")
        assert f"error: signal `{name}` has no turn 3\nhint: indult autofix show {name}\n" == ran.stderr

    def test_json(self, cli: Cli) -> None:
        """As JSON each turn and each end is an object, in order."""
        yard = cli.make(TWICE, more=CHECKED)
        name = yard.signal("the value is wrong")
        assert 0 == cli("run").exit_code
        first, second, end = cli("show", name, "--json").json
        assert [("turn", 1, "refused"), ("turn", 2, "landed")] == [
            (one["what"], one["turn"], one["came"]) for one in (first, second)
        ]
        assert ("done", 0) == (first["fixer"]["why"], first["fixer"]["code"])
        assert first["said"].startswith("The branch was refused at ship:")
        assert first["output"].startswith("line 0\n")
        assert ("ended", "landed", 2) == (end["what"], end["state"], end["turns"])
        assert "brief" not in first

    def test_runs_after_each_other(self, cli: Cli) -> None:
        """Turns of several fixes are counted on, whichever run they belong to."""
        yard = cli.make(ASKS)
        name = yard.signal("the value is wrong")
        assert 4 == cli("run").exit_code
        assert 4 == cli("run", "--signal", name).exit_code
        rows = [row for row in cli("show", name, "--json").json if row["what"] == "turn"]
        assert [(1, 1), (2, 1)] == [(row["turn"], row["turn_of_fix"]) for row in rows]
        assert 2 == len({row["run"] for row in rows})
        assert "needs-human: awaiting_approval — a person is asked: " in cli("show", name).stdout

    def test_a_held_branch(self, cli: Cli) -> None:
        """A branch that a person approved lands without a turn, and that is told in its place."""
        yard = cli.make(lines(["(here / 'vendor/libdb/core.py').write_text('STEP = 2\\n')"]))
        name = yard.signal("the step is wrong")
        assert 4 == cli("run").exit_code
        branch = yard.last(name).request.card["branch"]
        yard.decide(name)
        assert 0 == cli("run").exit_code
        *_, held, ended = cli("show", name).stdout.splitlines()
        assert held.endswith(f"Z  shipped {branch} as it was held: landed")
        assert "  landed: goal_reached — landed " in ended
        *_, row, _ = cli("show", name, "--json").json
        assert ("held", branch, "landed") == (row["what"], row["branch"], row["came"])

    def test_none_yet(self, cli: Cli) -> None:
        """A signal that no fixer worked on says so."""
        name = cli.make(ASKS).signal()
        assert f"no fixer was at work on {name} yet: it is new\n" == cli("show", name).stdout
        assert "" == cli("show", name, "--json").stdout
        assert 1 == cli("show", "s_000000000000").exit_code


class TestRun:
    """What a run tells on its way, and with what it ends."""

    def test_lines_name_the_fault(self, cli: Cli) -> None:
        """Each line about a signal says which fault it is, as JSON it does not."""
        yard = cli.make(TWICE, more=CHECKED)
        name = yard.signal("the value is wrong")
        told = cli("run").stdout
        about = [line for line in told.splitlines() if line.startswith(name)]
        assert len(about) > 4
        assert all(line.endswith("(the value is wrong)") for line in about)

    def test_a_person_has_to_answer(self, cli: Cli) -> None:
        """A run that hands back ends with 4 though its budget ended it, and a later one that asks nobody does not."""
        yard = cli.make(ASKS)
        yard.signal("one")
        yard.signal("two")
        ran = cli("run", "--engine-calls", "1", "--json")
        assert (4, "budget_engine_calls", 1) == (ran.exit_code, ran.json[-1]["stop"]["kind"], ran.json[-1]["waits"])
        assert 5 == cli("run", "--engine-calls", "0").exit_code

    @pytest.mark.parametrize(
        ("kind", "waits", "code"),
        [
            (StopKind.GOAL_REACHED, 0, 0),
            (StopKind.AWAITING_APPROVAL, 0, 4),
            (StopKind.STALLED, 1, 4),
            (StopKind.STALLED, 0, 5),
            (StopKind.CANCELLED, 2, 4),
            (StopKind.CANCELLED, 0, 5),
            (StopKind.FAILED, 0, 1),
            (StopKind.FAILED, 1, 1),
        ],
    )
    def test_exit_codes(self, tmp_path: Path, kind: StopKind, waits: int, code: int) -> None:
        """A failure is a failure; any other end is 4 where a signal of the run waits for a person."""
        came = Receipt(run="a_1", stop=StopReason(kind=kind, detail="d"), waits=waits)
        with open_ledger(tmp_path / "ledger.db") as ledger:
            assert code == autofix._told(came, ledger, as_json=True)

    def test_an_unknown_signal(self, cli: Cli) -> None:
        """A signal that there is none of opens no run."""
        yard = cli.make(TWICE)
        yard.signal()
        ran = cli("run", "--signal", "s_000000000000")
        assert (1, "error: there is no signal `s_000000000000`") == (ran.exit_code, ran.stderr.splitlines()[0])
        with yard.ledger() as ledger:
            assert [] == runs(ledger)


class TestBeside:
    """A summary behind a line."""

    @pytest.mark.parametrize(
        ("columns", "expected"),
        [
            ("80", "s_1  turn  (the value that is shown is wrong)"),
            ("40", "s_1  turn  (the value that is shown is…)"),
            ("10", "s_1  turn  (the value that is shown…)"),
        ],
    )
    def test_fits(self, monkeypatch: pytest.MonkeyPatch, columns: str, expected: str) -> None:
        """It is cut to what is left of the line, and a little of it is always there."""
        monkeypatch.setenv("COLUMNS", columns)
        assert expected == receipts.beside("s_1  turn", "the value that is shown is wrong")

    def test_not_all_of_a_long_one(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """On a wide line no more than sixty characters of it repeat."""
        monkeypatch.setenv("COLUMNS", "300")
        assert f"s_1  ({'x' * 59}…)" == receipts.beside("s_1", "x" * 200)

    def test_nothing(self) -> None:
        """Without a summary a line stays as it is."""
        assert "run" == receipts.beside("run", "")
