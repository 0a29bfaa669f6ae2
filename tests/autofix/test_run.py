"""Runs: many signals, several at a time, one run in a repository, and how a person stops one and goes on."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from tests.autofix.yard import Yard, ends, lines

from indult.autofix.receipt import receipt
from indult.autofix.records import runs
from indult.autofix.signals import SignalState
from indult.budget import Budget
from indult.errors import ConfigurationError, RunError, ShipError, UnknownSignal
from indult.loop.stop import StopKind

# Each signal names a file of its own.
FIXER = lines(
    [
        "name = task.split('value ')[1].split()[0]",
        "(here / 'src' / (name + '.py')).write_text('REPAIRED')",
    ]
)
SLOW = lines(["import time", "Path(os.environ['INDULT_TASK']).with_name('begun').touch()", "time.sleep(600)"])


def several(yard: Yard, count: int) -> list[str]:
    """Notice so many faults."""
    letters = "abcdefghij"[:count]
    return [yard.signal(f"the value {letter} is wrong") for letter in letters]


class TestMany:
    """Many signals in one run."""

    @pytest.mark.parametrize("jobs", [1, 3])
    def test_each_lands_once(self, tmp_path: Path, jobs: int) -> None:
        """Every signal has a fix of its own, whether one at a time or several, and each lands once."""
        yard = Yard.make(tmp_path, FIXER)
        names = several(yard, 5)
        receipt_ = yard.run(jobs=jobs)
        assert sorted(ends(receipt_)) == [("landed", "goal_reached")] * 5
        assert (receipt_.fixes, receipt_.meter.engine_calls, len(receipt_.ended("landed"))) == (5, 5, 5)
        assert [yard.find(name).state for name in names] == [SignalState.LANDED] * 5
        assert yard.repo.git("rev-list", "--count", "--merges", "main") == "5"
        assert (yard.leftovers(), yard.branches()) == ([], [])

    def test_the_most_urgent_is_first(self, tmp_path: Path) -> None:
        """A rule of triage gives a priority, and the budget goes to those first."""
        rule = "  triage:\n    - {id: urgent, when: 'signal.summary.contains(\"value c\")', priority: 5}\n"
        yard = Yard.make(tmp_path, FIXER, more=rule)
        names = several(yard, 3)
        receipt_ = yard.run(budget=Budget(engine_calls=1))
        assert [end["signal"] for end in receipt_.ended("landed")] == [names[2]]
        assert receipt_.stop.kind is StopKind.BUDGET_ENGINE_CALLS
        assert [yard.find(name).state for name in names[:2]] == [SignalState.FIX] * 2

    def test_two_that_change_one_line(self, tmp_path: Path) -> None:
        """Of two fixes that do not go together one lands, and the other is told to merge and resolve that."""
        fixer = lines(
            [
                "import time",
                "name = task.split('value ')[1].split()[0]",
                "both = [Path(sys.argv[0]).with_name('begun-' + one) for one in 'ab']",
                "Path(sys.argv[0]).with_name('begun-' + name).touch()",
                # So that each begins at the same commit.
                "until = time.monotonic() + 60",
                "while not all(one.exists() for one in both) and time.monotonic() < until: time.sleep(0.05)",
                "if 'Merge main' in task:",
                "    subprocess.run(['git', '-c', 'user.name=F', '-c', 'user.email=f@example.com', 'merge', '-q', 'main'])",
                "    (here / 'src/app.py').write_text('BOTH')",
                "else: (here / 'src/app.py').write_text(name)",
            ]
        )
        yard = Yard.make(tmp_path, fixer)
        several(yard, 2)
        receipt_ = yard.run(jobs=2)
        assert sorted(ends(receipt_)) == [("landed", "goal_reached")] * 2
        assert yard.content("src/app.py") == "BOTH"


class TestNothing:
    """A run that cannot begin."""

    def test_without_a_fixer(self, tmp_path: Path) -> None:
        """A law that names none is told how to."""
        yard = Yard.make(tmp_path, FIXER)
        yard.repo.commit({"indult.yaml": "schema: 1\nextends: indult/repository@1\n"})
        with pytest.raises(ConfigurationError, match="names no fixer"):
            yard.run()

    def test_without_trust(self, tmp_path: Path) -> None:
        """A law that nobody trusts runs no program."""
        yard = Yard.make(tmp_path, "(here / 'src/app.py').write_text('VALUE = 2')\n", trusted=False)
        yard.signal()
        with pytest.raises(ShipError, match="names a fixer, and nobody trusts it"):
            yard.run()
        assert yard.find(yard.signal()).turns == 0

    def test_a_changed_law_is_trusted_anew(self, tmp_path: Path) -> None:
        """Another fixer in the target's law does not run before a person looked at it."""
        yard = Yard.make(tmp_path, FIXER)
        law = (yard.repo.folder / "indult.yaml").read_text(encoding="utf-8")
        yard.repo.commit({"indult.yaml": law.replace("turns: 3", "turns: 4")})
        with pytest.raises(ShipError, match="nobody trusts it"):
            yard.run()

    def test_an_unknown_signal(self, tmp_path: Path) -> None:
        """Naming a signal that there is not fails before any fixer is called."""
        yard = Yard.make(tmp_path, FIXER)
        several(yard, 1)
        with pytest.raises(UnknownSignal):
            yard.run("s_000000000000")
        with yard.ledger() as ledger:
            assert runs(ledger) == []


class TestOnly:
    """Runs of signals by name."""

    def test_takes_up_what_was_ignored(self, tmp_path: Path) -> None:
        """A person who names a signal wants it repaired, whatever triage made of it; all others wait."""
        rule = "  triage:\n    - {id: noise, when: 'signal.kind == \"test\"', state: ignored}\n"
        yard = Yard.make(tmp_path, FIXER, more=rule)
        names = several(yard, 2)
        assert yard.run().ends == ()
        receipt_ = yard.run(names[1])
        assert [end["signal"] for end in receipt_.ended("landed")] == [names[1]]
        assert yard.find(names[0]).state is SignalState.IGNORED


class TestStopping:
    """A person stops a run, and goes on."""

    def test_stops_and_goes_on(self, tmp_path: Path) -> None:
        """What was asked to stop ends its fixer at once; the signal waits, and the same run goes on with it."""
        yard = Yard.make(tmp_path, "if 'again' not in str(Path(sys.argv[0]).read_text()): pass\n" + SLOW)
        name = several(yard, 1)[0]
        asked = threading.Event()
        threading.Timer(1.5, asked.set).start()
        began = time.monotonic()
        receipt_ = yard.run(cancelled=asked.is_set)
        assert time.monotonic() - began < 60
        assert receipt_.stop.kind is StopKind.CANCELLED
        assert yard.find(name).state is SignalState.FIX
        assert (yard.leftovers(), yard.branches()) == ([], [])
        (tmp_path / "fixer.py").write_text((tmp_path / "fixer.py").read_text().split("if 'again'")[0] + FIXER)
        after = yard.run(resume=True)
        assert after.run == receipt_.run
        assert (ends(after)[-1], after.meter.engine_calls) == (("landed", "goal_reached"), 2)

    def test_a_run_that_reached_its_goal_is_over(self, tmp_path: Path) -> None:
        """There is nothing to go on with."""
        yard = Yard.make(tmp_path, FIXER)
        several(yard, 1)
        yard.run()
        with pytest.raises(RunError, match="has ended"):
            yard.run(resume=True)

    def test_without_any_run(self, tmp_path: Path) -> None:
        """Going on needs a run."""
        yard = Yard.make(tmp_path, FIXER)
        with pytest.raises(RunError, match="no run of autofix"):
            yard.run(resume=True)


class TestCommand:
    """The verbs, in processes of their own."""

    def indult(self, yard: Yard, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a verb in the repository."""
        command = [sys.executable, "-m", "indult", *words]
        return subprocess.run(command, cwd=yard.repo.folder, capture_output=True, encoding="utf-8", check=False)

    def test_run_prints_what_happens_and_a_receipt(self, tmp_path: Path) -> None:
        """As JSON each line is a thing that happened, and the last one the receipt; the exit code says how it ended."""
        yard = Yard.make(tmp_path, FIXER)
        several(yard, 1)
        done = self.indult(yard, "autofix", "run", "--into", "main", "--json")
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        assert (done.returncode, done.stderr) == (0, "")
        assert [row["what"] for row in rows[:-1]] == ["run", "triage", "turn", "fixer", "came", "ended"]
        assert rows[-1]["stop"]["kind"] == "goal_reached"
        assert rows[-1]["landed"] == 1

    def test_lands_in_the_branch_that_is_checked_out(self, tmp_path: Path) -> None:
        """Without `--into` it is the one of the main work tree, which shows the repair afterwards."""
        yard = Yard.make(tmp_path, FIXER)
        several(yard, 1)
        assert self.indult(yard, "autofix", "run").returncode == 0
        assert (yard.repo.folder / "src" / "a.py").read_text() == "REPAIRED"

    def test_one_run_at_a_time(self, tmp_path: Path) -> None:
        """A second run says who is at work; `stop` ends the first, and `status` tells of both."""
        yard = Yard.make(tmp_path, SLOW)
        several(yard, 1)
        command = [sys.executable, "-m", "indult", "autofix", "run"]
        first = subprocess.Popen(command, cwd=yard.repo.folder, stdout=subprocess.PIPE, encoding="utf-8")
        try:
            self.wait_for_a_fixer(yard)
            second = self.indult(yard, "autofix", "run")
            assert second.returncode == 1
            assert f"locked by process {first.pid}" in second.stderr
            status = self.indult(yard, "autofix", "status").stdout
            assert "1 fixing" in status
            assert "at work  s_" in status
            assert "asked a_" in self.indult(yard, "autofix", "stop").stdout
            out, _ = first.communicate(timeout=60)
        finally:
            first.kill()
            first.wait()
        assert first.returncode == 5
        assert "STOP: cancelled" in out
        assert "1 fix\n" in self.indult(yard, "autofix", "status").stdout

    def wait_for_a_fixer(self, yard: Yard) -> None:
        """Wait until a fixer has begun."""
        end = time.monotonic() + 60
        while not any(place.joinpath("begun").exists() for place in yard.leftovers()):
            assert time.monotonic() < end
            time.sleep(0.05)

    def test_nobody_is_at_work(self, tmp_path: Path) -> None:
        """There is nothing to stop then."""
        yard = Yard.make(tmp_path, FIXER)
        several(yard, 1)
        done = self.indult(yard, "autofix", "stop")
        assert (done.returncode, "no run of autofix is at work" in done.stderr) == (1, True)


class TestReceipt:
    """What the ledger knows of a run."""

    def test_of_a_run_that_is_over(self, tmp_path: Path) -> None:
        """It is the same whenever it is asked for."""
        yard = Yard.make(tmp_path, FIXER)
        several(yard, 2)
        told = yard.run()
        with yard.ledger() as ledger:
            assert receipt(ledger, runs(ledger)[0]) == told

    def test_counts_what_fixers_report(self, tmp_path: Path) -> None:
        """Tokens and cost are those that fixers say, and a budget is held against them."""
        fixer = "Path(os.environ['INDULT_USAGE']).write_text(json.dumps({'tokens': 700, 'cost': 0.5}))\n" + FIXER
        yard = Yard.make(tmp_path, fixer)
        several(yard, 3)
        told = yard.run(budget=Budget(tokens=1000))
        assert (told.meter.tokens, told.meter.cost) == (1400, 1.0)
        assert told.stop.kind is StopKind.BUDGET_TOKENS


def test_another_law_in_the_work_tree_is_told(tmp_path: Path) -> None:
    """Who changed the law and did not commit it learns that the committed one holds."""
    yard = Yard.make(tmp_path, FIXER)
    yard.run()
    assert "law" not in [progress.what for progress in yard.told]
    yard.repo.write("indult.yaml", "schema: 1\n")
    yard.run()
    assert "`indult.yaml` in the work tree is another one" in next(one.text for one in yard.told if one.what == "law")
