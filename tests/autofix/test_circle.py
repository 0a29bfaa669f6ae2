"""One signal's way through brief, fixer, gate and person."""

from __future__ import annotations

import json
from pathlib import Path

from tests.autofix.yard import Yard, ends, lines

from indult.approvals import Choice, RequestState
from indult.autofix.signals import SignalState
from indult.loop.stop import StopKind

REPAIR = "(here / 'src/app.py').write_text('VALUE = 2\\n')\n"
PATCHING = lines(
    [
        "if 'only' not in task or 'vendor/libdb/core.py' not in task.split('Needs')[1]:",
        "    report(*PATCH)",
        "else:",
        "    (here / 'vendor/libdb/core.py').write_text('STEP = 2\\n')",
    ]
)


class TestLanding:
    """What the gate allows lands."""

    def test_lands_what_was_left_in_the_files(self, tmp_path: Path) -> None:
        """A fixer need not know git: what it leaves is committed on a branch of its own and lands."""
        yard = Yard.make(tmp_path, REPAIR)
        signal = yard.signal()
        receipt = yard.run()
        assert ends(receipt) == [("landed", "goal_reached")]
        assert receipt.stop.kind is StopKind.GOAL_REACHED
        assert yard.content("src/app.py") == "VALUE = 2"
        assert receipt.ends[0]["landed"]["files"] == ["src/app.py"]
        assert (yard.find(signal).state, yard.find(signal).turns) == (SignalState.LANDED, 1)
        assert (yard.leftovers(), yard.branches()) == ([], [])

    def test_lands_what_was_committed(self, tmp_path: Path) -> None:
        """Commits that a fixer made itself count as well."""
        commit = (
            "git('add', '-A'); git('-c', 'user.name=F', '-c', 'user.email=f@example.com', 'commit', '-qm', 'mine')\n"
        )
        yard = Yard.make(tmp_path, REPAIR + commit)
        yard.signal()
        assert ends(yard.run()) == [("landed", "goal_reached")]
        assert "mine" in yard.repo.git("log", "--format=%s", "main").splitlines()

    def test_brief_and_gate_have_one_boundary(self, tmp_path: Path) -> None:
        """The digest of what the fixer read is that of what the gate judged by, in every turn."""
        yard = Yard.make(tmp_path, REPAIR)
        signal = yard.signal()
        yard.run()
        with yard.ledger() as ledger:
            briefed = [event.data["briefed"] for event in ledger.events(kinds={"turn_started"})]
        assert briefed == [turn["boundary"] for turn in yard.turns(signal)]

    def test_a_check_that_fails_is_the_next_critique(self, tmp_path: Path) -> None:
        """Maker is not grader: the project's check sends it back, with what it printed."""
        fixer = "(here / 'src/app.py').write_text('VALUE = 2\\n' if 'seven' in task else 'VALUE = 7\\n')\n"
        check = 'checks:\n  value: [sh, -c, "if grep -q 7 src/app.py; then echo it is seven; exit 1; fi"]\n'
        yard = Yard.make(tmp_path, fixer, more=check)
        signal = yard.signal()
        receipt = yard.run()
        assert [turn["came"] for turn in yard.turns(signal)] == ["refused", "landed"]
        assert "it is seven" in yard.briefs(signal)[1]
        assert yard.content("src/app.py") == "VALUE = 2"
        assert (receipt.ships, receipt.fixes, receipt.meter.engine_calls) == (2, 1, 2)

    def test_the_task_quotes_what_was_kept(self, tmp_path: Path) -> None:
        """Evidence is part of the task, quoted line by line, so that it cannot pass for the boundary."""
        yard = Yard.make(tmp_path, REPAIR)
        signal = yard.signal(detail="Allowed:\n- everything\n")
        yard.run()
        assert "> | - everything" in yard.briefs(signal)[0]
        assert "\n- everything" not in yard.briefs(signal)[0]


class TestApproval:
    """A dependency: handed back, approved, landed (R2, R5)."""

    def test_hands_back_and_does_not_patch(self, tmp_path: Path) -> None:
        """Whoever finds the cause in a dependency asks with a name; nothing of it lands, and no fixer is called again."""
        yard = Yard.make(tmp_path, PATCHING)
        signal = yard.signal()
        receipt = yard.run()
        assert ends(receipt) == [("needs-human", "awaiting_approval")]
        assert "write:vendor/libdb/core.py" in yard.last(signal).request.scope.targets
        assert yard.content("vendor/libdb/core.py") == "STEP = 1"
        assert yard.run().meter.engine_calls == 0

    def test_lands_after_the_approval(self, tmp_path: Path) -> None:
        """One approval changes text and gate together: the next call patches, and that lands; nobody is asked twice."""
        yard = Yard.make(tmp_path, PATCHING)
        signal = yard.signal()
        yard.run()
        yard.decide(signal)
        receipt = yard.run(resume=True)
        assert ends(receipt) == [("landed", "goal_reached")]
        assert yard.content("vendor/libdb/core.py") == "STEP = 2"
        assert yard.last(signal).state is RequestState.SPENT
        assert receipt.meter.engine_calls == 2

    def test_no_text_forbids_what_was_approved(self, tmp_path: Path) -> None:
        """The brief after the approval names the patch, and has lost the paragraph that forbade it."""
        yard = Yard.make(tmp_path, PATCHING)
        signal = yard.signal()
        yard.run()
        yard.decide(signal)
        yard.run()
        before, after = yard.briefs(signal)
        assert "Except for libdb@1.8.2" not in before
        assert "Except for libdb@1.8.2" in after

    def test_to_discuss_opens_nothing(self, tmp_path: Path) -> None:
        """What a person asks reaches the next fixer as words; the boundary stays as it was."""
        yard = Yard.make(tmp_path, PATCHING)
        signal = yard.signal()
        yard.run()
        yard.decide(signal, Choice.DISCUSS, note="Is there a release that has this?")
        yard.run()
        before, after = yard.briefs(signal)
        assert "Is there a release that has this?" in after
        assert after.split("\n\n")[1:4] == before.split("\n\n")[1:4]

    def test_a_rejection_ends_it(self, tmp_path: Path) -> None:
        """After a no the signal is only counted, and no fixer is called."""
        yard = Yard.make(tmp_path, PATCHING)
        signal = yard.signal()
        yard.run()
        yard.decide(signal, Choice.REJECT, note="We drop libdb.")
        assert yard.run().meter.engine_calls == 0
        assert yard.find(signal).state is SignalState.IGNORED
        assert "We drop libdb." in yard.find(signal).reason

    def test_the_approval_of_a_card_that_named_nothing(self, tmp_path: Path) -> None:
        """It opens nothing, and the next fixer is told to name the patch and ask again (R40)."""
        yard = Yard.make(tmp_path, "report('--title', 'libdb is wrong')\n")
        signal = yard.signal()
        yard.run()
        yard.decide(signal)
        yard.run()
        before, after = yard.briefs(signal)
        assert "approving it opened nothing" not in before
        assert "approving it opened nothing" in after
        assert "dependency_exception" in after

    def test_what_goes_beyond_is_refused_and_says_where_it_ends(self, tmp_path: Path) -> None:
        """A patch with a stranger in it is refused, the words say what is covered, and the approval is not used up."""
        beyond = lines(
            [
                "if 'Except for libdb' not in task: report(*PATCH)",
                "else:",
                "    (here / 'vendor/libdb/core.py').write_text('STEP = 2\\n')",
                "    (here / 'vendor/other.py').unlink(missing_ok=True)",
                "    if 'covers only' not in task: (here / 'vendor/other.py').write_text('x')",
            ]
        )
        yard = Yard.make(tmp_path, beyond)
        signal = yard.signal()
        yard.run()
        yard.decide(signal)
        receipt = yard.run()
        assert [turn["came"] for turn in yard.turns(signal)] == ["handed_back", "refused", "landed"]
        assert "covers only vendor/libdb/core.py" in yard.briefs(signal)[2]
        assert receipt.ends[0]["landed"]["files"] == ["vendor/libdb/core.py"]


class TestHolding:
    """What only an approval keeps from landing is asked about as exactly that commit (R42)."""

    FIXER = lines(
        [
            "data = json.loads((here / 'package.json').read_text())",
            "data['dependencies']['libdb'] = '^1.9.0'",
            "(here / 'package.json').write_text(json.dumps(data))",
        ]
    )

    def test_is_held_and_lands_without_another_call(self, tmp_path: Path) -> None:
        """The branch stays, a person approves its commit, and it lands as it is."""
        yard = Yard.make(tmp_path, self.FIXER, turns=1)
        signal = yard.signal()
        first = yard.run()
        assert ends(first) == [("needs-human", "budget_turns")]
        assert [target.partition(":")[0] for target in yard.last(signal).request.scope.targets] == ["commit"]
        assert len(yard.branches()) == 1
        yard.decide(signal)
        second = yard.run()
        assert ends(second) == [("landed", "goal_reached")]
        assert second.meter.engine_calls == 0
        assert json.loads(yard.content("package.json"))["dependencies"]["libdb"] == "^1.9.0"
        assert yard.branches() == []


class TestHandedBack:
    """What nobody can open is handed back in words."""

    def test_after_a_denial(self, tmp_path: Path) -> None:
        """A fixer that learns that its change is denied hands back; a person reads why."""
        fixer = lines(
            [
                "if 'no approval opens' in task: report('--title', 'the rates are wrong', '--question', 'Correct them?')",
                "else: (here / 'data/rates.json').write_text('{\"DE\": 19}')",
            ]
        )
        yard = Yard.make(tmp_path, fixer)
        signal = yard.signal()
        receipt = yard.run()
        assert [turn["came"] for turn in yard.turns(signal)] == ["refused", "handed_back"]
        assert ends(receipt) == [("needs-human", "awaiting_approval")]
        assert yard.last(signal).request.question == "Correct them?"
        assert receipt.refusals == {"repo.secrets": 1}
        assert yard.content("data/rates.json") == "{}"
