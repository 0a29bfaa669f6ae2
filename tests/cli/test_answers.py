from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from indult import load_policy, open_ledger
from indult.approvals import ApprovalRequest, Choice, RequestState, Standing
from indult.autofix.signals import Sighting, SignalState, ingest, move
from indult.cli.answers import answer_lines, lead
from indult.gate import Gate
from indult.scopes import Scope
from indult.ship.report import HANDOFF

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Terminal
    from tests.conftest import Run

LAW = """
schema: 1
default: deny
rules:
  - {id: files, target: "file:**", effect: ask, says: Files need a person.}
"""
COMMIT = "0123456789" * 4
AGAIN = "`indult autofix run` or `resume` takes the signal up"
NOTHING_MORE = f"{AGAIN} again, and nothing more is open to it than now"
WORDS = f"{AGAIN} with your words"
EXACTLY = f"{AGAIN} with exactly this open to it"
ALONE = "`indult autofix run` or `resume` leaves the signal alone: it is ignored from then on"
LANDS = "`indult autofix run` or `resume` lands exactly this commit, if its checks pass"


class Desk:
    """A folder with a policy, and a signal that waits for a person."""

    def __init__(self, folder: Path, indult: Run) -> None:
        (folder / "indult.yaml").write_text(LAW, encoding="utf-8")
        self.folder, self.indult = folder, indult
        with open_ledger(folder / "ledger.db") as ledger:
            (self.signal,) = ingest(ledger, [Sighting(kind="test", summary="the total is wrong")]).ids
            self.move(SignalState.NEEDS_HUMAN)

    def move(self, state: SignalState) -> None:
        """Put the signal into a state."""
        with open_ledger(self.folder / "ledger.db") as ledger:
            move(ledger, self.signal, state, reason="a test says so")

    def ask(self, scope: Callable[[str], Scope] | None = None, **options: Any) -> dict[str, Any]:
        """Hand the signal back, by default without naming anything to open, and return the request as JSON."""
        subject = f"signal:{self.signal}"
        wanted = scope(subject) if scope else Scope.nothing(subject=subject, title="the total", change="nothing")
        with open_ledger(self.folder / "ledger.db") as ledger:
            gate = Gate(load_policy(self.folder / "indult.yaml"), ledger, subject)
            found = gate.requests.open(
                wanted, boundary=gate.boundary(), requested_by="fixer", kind=HANDOFF, facts={}, **options
            )
        (row,) = self.indult("show", found.request.id, "--json").json
        return dict(row)

    def decide(self, verb: str, row: dict[str, Any], *args: str) -> list[str]:
        """Answer a request and return the lines of what came of it."""
        ran = self.indult(verb, row["id"], "--digest", row["digest"], "--by", "ada", *args)
        assert (0, "") == (ran.exit_code, ran.stderr)
        return ran.stdout.splitlines()


@pytest.fixture(name="desk")
def _desk(indult: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """Be in a folder with a policy, a ledger and a signal."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("INDULT_DB", str(tmp_path / "ledger.db"))
    return Desk(tmp_path, indult)


def files(subject: str) -> Scope:
    """Return the scope of a file."""
    return Scope.files(["a.py"], subject=subject, change="correct it")


def commit(subject: str) -> Scope:
    """Return the scope of a commit."""
    return Scope.commit(COMMIT, subject=subject, change="as it stands")


class TestShow:
    @pytest.mark.parametrize(("scope", "approving"), [(None, NOTHING_MORE), (files, EXACTLY)])
    def test_ends_with_how_to_answer(self, desk: Desk, scope: Callable[[str], Scope] | None, approving: str) -> None:
        """An open request ends with the verbs that answer it, and what each makes of the signal that waits for it."""
        name = desk.ask(scope)["id"]

        assert [
            f"  answer     indult approve {name}",
            f"               {approving}",
            f"             indult discuss {name} --note TEXT",
            f"               {WORDS}",
            f"             indult reject {name}",
            f"               {ALONE}",
        ] == desk.indult("show", name).stdout.splitlines()[-6:]

    def test_without_a_signal_that_waits(self, desk: Desk) -> None:
        """Where no signal waits for the answer, only the verbs are shown."""
        row = desk.ask()
        desk.move(SignalState.LANDED)

        assert [
            f"  answer     indult approve {row['id']}",
            f"             indult discuss {row['id']} --note TEXT",
            f"             indult reject {row['id']}",
        ] == desk.indult("show", row["id"]).stdout.splitlines()[-3:]

    def test_what_is_answered_has_no_such_lines(self, desk: Desk) -> None:
        """What a person has approved or rejected is shown without them."""
        row = desk.ask()
        desk.decide("reject", row)

        assert "  answer " not in desk.indult("show", row["id"]).stdout

    def test_only_what_is_offered(self, desk: Desk) -> None:
        """An answer that the request does not offer is not shown."""
        request = ApprovalRequest(
            id="r_1",
            kind=HANDOFF,
            scope=commit("s"),
            question="Open it?",
            requested_by="fixer",
            opened_at="",
            choices=(Choice.REJECT,),
        )

        assert ["  answer     indult reject r_1"] == [
            *answer_lines(Standing(request=request, state=RequestState.OPEN, version=1), waits=False)
        ]

    def test_a_brief_that_stays_is_one_line(self, desk: Desk) -> None:
        """Where approving changes nothing of the brief, that is said once; where it does, both are shown."""
        same, other = (desk.indult("show", desk.ask(scope)["id"]).stdout for scope in (None, files))

        assert 1 == same.count("the brief")
        assert "\nthe brief is the same without it and with it\n" in same
        assert ("\nthe brief without it:\n" in other, "\nthe brief with it:\n" in other) == (True, True)
        assert "the brief is the same" not in other

    def test_what_names_nothing_speaks_to_a_person(self, desk: Desk) -> None:
        """A person is told what their answer is, and not what the fixer should do."""
        shown = desk.indult("show", desk.ask()["id"]).stdout

        assert "  opens      nothing: no exception is named, so the answer only says which way to go\n" in shown
        assert "ask again" not in shown


class TestNext:
    @pytest.mark.parametrize(("scope", "then"), [(None, NOTHING_MORE), (files, EXACTLY)])
    def test_an_approval(self, desk: Desk, scope: Callable[[str], Scope] | None, then: str) -> None:
        """Whoever approves is told what happens next, by what was approved."""
        assert f"next: {then}" in desk.decide("approve", desk.ask(scope))

    def test_a_held_commit(self) -> None:
        """A commit that was approved lands as it is."""
        request = ApprovalRequest(
            id="r_1", kind=HANDOFF, scope=commit("s"), question="Open it?", requested_by="fixer", opened_at=""
        )

        assert LANDS == lead(Standing(request=request, state=RequestState.OPEN, version=1), Choice.APPROVE)

    def test_words(self, desk: Desk) -> None:
        """Words take the signal up again; none do not, so nothing is said of what follows."""
        row = desk.ask()
        assert f"next: {WORDS}" in desk.decide("discuss", row, "--note", "half a cent goes up")
        (row,) = desk.indult("show", row["id"], "--json").json
        assert "next:" not in "\n".join(desk.decide("discuss", row, "--note", " ", "--seen", str(row["seen"])))

    def test_a_rejection(self, desk: Desk) -> None:
        """A rejection is the end of it."""
        assert f"next: {ALONE}" in desk.decide("reject", desk.ask())

    @pytest.mark.parametrize("state", [SignalState.NEW, SignalState.LANDED])
    def test_no_signal_waits(self, desk: Desk, state: SignalState) -> None:
        """Of a signal that waits for nobody nothing is announced."""
        row = desk.ask()
        desk.move(state)

        assert "next:" not in "\n".join(desk.decide("reject", row))


class TestUnsigned:
    def test_is_said_once(self, desk: Desk, terminal: Callable[..., Terminal]) -> None:
        """On a terminal what an unsigned decision is worth is said before the question, and not again after it."""
        one = terminal("approve", desk.ask(files)["id"])
        one.until("Approve exactly this?")
        one.answer("y")

        assert 0 == one.end()
        assert 1 == one.shown.count("decisions are unsigned: whoever can write the ledger can approve")
