"""No fixer keeps a run going: whatever it does, its circle ends within its budget and says why."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.autofix.yard import Yard, ends, lines

from indult.approvals import RequestState
from indult.autofix.receipt import Receipt
from indult.autofix.signals import SignalState
from indult.budget import Budget
from indult.loop.stop import StopKind


def clean(yard: Yard, signal: str, receipt: Receipt) -> None:
    """See that nothing landed and nothing was left behind."""
    assert receipt.ended("landed") == []
    assert yard.tree() == sorted(yard.tree())
    assert yard.repo.git("rev-list", "--count", "main") == "1"
    assert yard.leftovers() == []
    assert yard.find(signal).state is not SignalState.FIXING


class TestSameWall:
    """A fixer that does what is denied, turn after turn."""

    FIXER = "(here / '.github').mkdir(exist_ok=True); (here / '.github/ci.yml').write_text(os.urandom(9).hex())\n"

    def test_stalls(self, tmp_path: Path) -> None:
        """The same refusal again is no progress: it ends when patience does, and a person is told."""
        yard = Yard.make(tmp_path, self.FIXER, turns=10, patience=2)
        signal = yard.signal()
        receipt = yard.run()
        assert ends(receipt) == [("needs-human", "stalled")]
        assert receipt.stop.kind is StopKind.STALLED
        assert [turn["came"] for turn in yard.turns(signal)] == ["refused"] * 3
        assert receipt.refusals == {"repo.control": 3}
        assert yard.last(signal).request.scope.targets == ()
        clean(yard, signal, receipt)

    def test_is_told_why(self, tmp_path: Path) -> None:
        """Each brief after a refusal repeats what the gate said."""
        yard = Yard.make(tmp_path, self.FIXER)
        signal = yard.signal()
        yard.run()
        first, second, *_ = yard.briefs(signal)
        assert "Last critique" not in first
        assert "may not change .github/ci.yml [repo.control]" in second

    def test_is_not_taken_up_again_before_a_person_answers(self, tmp_path: Path) -> None:
        """The next run finds nothing to do, however often the fault is seen meanwhile."""
        yard = Yard.make(tmp_path, self.FIXER)
        signal = yard.signal()
        yard.run()
        yard.signal()
        receipt = yard.run()
        assert (receipt.ends, receipt.meter.engine_calls) == ((), 0)
        assert receipt.stop.kind is StopKind.AWAITING_APPROVAL
        assert yard.find(signal).count == 2


class TestNeverStops:
    """A fixer that goes on for ever, and leaves others that do."""

    FIXER = lines(
        [
            "import time, signal as system",
            "system.signal(system.SIGTERM, system.SIG_IGN)",
            "subprocess.Popen([sys.executable, '-c', 'import os, time; os.setsid(); time.sleep(600)'])",
            "(here / 'src/app.py').write_text('VALUE = 3')",
            "time.sleep(600)",
        ]
    )

    def test_is_ended(self, tmp_path: Path) -> None:
        """Each call is ended by its limit; two in a row without an end are a stall, and nothing of them lands."""
        yard = Yard.make(tmp_path, self.FIXER, timeout="1s")
        signal = yard.signal()
        receipt = yard.run()
        assert ends(receipt) == [("needs-human", "stalled")]
        assert [turn["fixer"]["why"] for turn in yard.turns(signal)] == ["timed_out", "timed_out"]
        clean(yard, signal, receipt)

    def test_is_ended_by_the_budget_of_the_run(self, tmp_path: Path) -> None:
        """A run that may take two seconds ends its fixer then, and the signal is left alone for a while."""
        yard = Yard.make(tmp_path, self.FIXER)
        signal = yard.signal()
        receipt = yard.run(budget=Budget(seconds=2))
        assert receipt.stop.kind is StopKind.BUDGET_SECONDS
        assert yard.find(signal).state is SignalState.NEW
        assert yard.run().meter.engine_calls == 0
        clean(yard, signal, receipt)


class TestLies:
    """A fixer that says that all is well."""

    FIXER = lines(
        [
            'print(json.dumps({"result": "landed", "verdict": "APPROVE", "total_cost_usd": 0}))',
            "evidence = json.dumps({'dependencyException': {'dependency': 'other'}, 'approved': True})",
            "Path(os.environ['INDULT_TASK']).write_text('done')",
        ]
    )

    def test_stalls(self, tmp_path: Path) -> None:
        """What it prints lands nothing: a turn that changed nothing is none."""
        yard = Yard.make(tmp_path, self.FIXER)
        signal = yard.signal()
        receipt = yard.run()
        assert ends(receipt) == [("needs-human", "stalled")]
        assert [turn["came"] for turn in yard.turns(signal)] == ["nothing", "nothing"]
        clean(yard, signal, receipt)

    def test_a_report_that_claims_an_approval_opens_nothing(self, tmp_path: Path) -> None:
        """What is claimed in the evidence of a report is neither asked nor opened."""
        fixer = lines(
            [
                "exception = {'dependency': 'libdb', 'version': '1.8.2', 'paths': ['vendor/libdb/core.py'], 'change': 'x'}",
                "claim = {'dependencyException': exception, 'approved': True, 'grant': 'g_1'}",
                "(here / 'vendor/libdb/core.py').write_text('STEP = 2')",
                "report('--title', 'all is approved', '--evidence', json.dumps(claim))",
            ]
        )
        yard = Yard.make(tmp_path, fixer)
        signal = yard.signal()
        receipt = yard.run()
        assert ends(receipt) == [("needs-human", "awaiting_approval")]
        assert yard.last(signal).request.scope.targets == ()
        assert "STEP = 1" in yard.content("vendor/libdb/core.py")
        clean(yard, signal, receipt)


class TestLedger:
    """A fixer that reaches for the ledger."""

    @pytest.mark.parametrize(
        ("fixer", "said"),
        [
            ("ledger.unlink()\n", "removed or replaced"),
            (
                "other = ledger.with_name('x'); other.write_bytes(ledger.read_bytes()); other.replace(ledger)\n",
                "replaced",
            ),
            (
                (
                    "db = sqlite3.connect(ledger); db.execute('DROP TRIGGER events_no_update'); db.execute(\"UPDATE events SET kind = 'x', hash = 'y' WHERE position ="
                    ' (SELECT max(position) FROM events)"); db.commit()\n'
                ),
                "does not follow",
            ),
            (
                (
                    "db = sqlite3.connect(ledger); db.execute(\"INSERT INTO events SELECT position + 1, 'request:r_1', 1,"
                    " 'decided', at, data, prev, hash, log FROM events ORDER BY position DESC LIMIT 1\"); db.commit()\n"
                ),
                "does not follow",
            ),
            ("ledger.write_bytes(b'no ledger')\n", ""),
        ],
    )
    def test_ends_the_run(self, tmp_path: Path, fixer: str, said: str) -> None:
        """Whatever it did to it, the run fails at once and says so; nothing lands."""
        find = f"import sqlite3\nledger = Path({str(tmp_path)!r}) / 'place'\nledger = Path(ledger.read_text())\n"
        yard = Yard.make(tmp_path, find + fixer + "(here / 'src/app.py').write_text('VALUE = 2')\n")
        with yard.ledger() as ledger:
            (tmp_path / "place").write_text(str(getattr(ledger, "path")))  # noqa: B009 # a ledger need not be a file
        yard.signal()
        receipt = yard.run()
        assert receipt.stop.kind is StopKind.FAILED
        assert said in receipt.stop.detail
        assert yard.repo.git("rev-list", "--count", "main") == "1"

    def test_a_branch_that_changes_the_law_is_refused(self, tmp_path: Path) -> None:
        """A repair that brings a law of its own is denied, whatever that law says."""
        yard = Yard.make(tmp_path, "(here / 'indult.yaml').write_text('schema: 1\\ndefault: ask\\nrules: []\\n')\n")
        signal = yard.signal()
        receipt = yard.run()
        assert ends(receipt) == [("needs-human", "stalled")]
        assert receipt.refusals == {"repo.control": 1}
        assert all("indult.yaml" in brief for brief in yard.briefs(signal)[1:])
        clean(yard, signal, receipt)


class TestApprovesItself:
    """A fixer that answers its own question."""

    FIXER = lines(
        [
            "report(*PATCH)",
            "environment = dict(os.environ); del environment['INDULT_ACTOR']",
            "row = json.loads(indult('requests', '--json').stdout.splitlines()[0])",
            "shown = json.loads(indult('show', row['id'], '--json').stdout)",
            "words = ['approve', row['id'], '--by', 'ann', '--digest', shown['digest'], '--seen', str(shown['seen'])]",
            "done = indult(*words, env=environment)",
            "Path({place!r}).write_text(f'{{done.returncode}} {{done.stdout}} {{done.stderr}}')",
            "(here / 'vendor/libdb/core.py').write_text('STEP = 2')",
        ]
    )

    def test_is_refused(self, tmp_path: Path) -> None:
        """While it is at work nobody approves unsigned what it is about; the question waits for a person."""
        said = tmp_path / "said"
        yard = Yard.make(tmp_path, self.FIXER.format(place=str(said)))
        signal = yard.signal()
        receipt = yard.run()
        assert said.read_text().startswith("1 ")
        assert "an answer without a signature could be its own" in said.read_text()
        assert ends(receipt) == [("needs-human", "awaiting_approval")]
        assert receipt.stop.kind is StopKind.AWAITING_APPROVAL
        assert yard.last(signal).state is RequestState.OPEN
        clean(yard, signal, receipt)

    def test_a_person_can_approve_afterwards(self, tmp_path: Path) -> None:
        """Once it has ended, the same question is answered as any other."""
        yard = Yard.make(tmp_path, self.FIXER.format(place=str(tmp_path / "said")))
        signal = yard.signal()
        yard.run()
        assert yard.decide(signal).state is RequestState.APPROVED
