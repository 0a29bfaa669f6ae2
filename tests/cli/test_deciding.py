from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from indult.approvals import ApprovalRequest, HumanDecision, RequestState
from indult.cli.deciding import os_user
from indult.errors import ApprovalError

if TYPE_CHECKING:
    from tests.cli.conftest import Office

SEND = '{"tool": "send", "args": {"to": "max"}}'


class TestApprove:
    def test_opens_exactly_what_was_asked(self, office: Office) -> None:
        """The approved call runs once and only for its subject; another call, and the same one again, ask."""
        ran = office.approve(office.ask(), "--by", "max")

        assert (0, "") == (ran.exit_code, ran.stderr)
        assert 4 == office("check", SEND, "--subject", "t").exit_code
        assert 4 == office("check", SEND.replace("max", "eve"), "--subject", "s").exit_code
        assert [0, 4] == [office("check", SEND, "--subject", "s").exit_code for _ in range(2)]

    def test_says_what_came_of_it(self, office: Office) -> None:
        """The answer names the grant, its uses, who approved, and that nothing is signed."""
        row = office.ask()
        ran = office.approve(row, "--by", "max")
        grant = office.show(row["id"])["grant"]["id"]
        first, second, note = ran.stdout.splitlines()

        assert f"approved {row['id']} by max (unsigned)" == first
        assert f"grant {grant}  1 of 1 uses left, expires never  unsigned by max  s  one call of send" == second
        assert "decisions are unsigned: whoever can write the ledger can approve" == note

    def test_narrows(self, office: Office) -> None:
        """Whoever approves may allow fewer uses and less time than was asked for."""
        row = office.ask("--uses", "9", "--expires", "2999-01-01T00:00:00Z")
        office.approve(row, "--uses", "2", "--expires", "2998-01-01T00:00:00Z")
        grant = office.show(row["id"])["grant"]

        assert (2, "2998-01-01T00:00:00.000000Z") == (grant["uses_left"], grant["expires_at"])

    def test_the_user_of_the_system_decides(self, office: Office) -> None:
        """Without `--by`, the decision is that of the user of this process."""
        office.approve(row := office.ask())

        assert [os_user()] == office.show(row["id"])["approved_by"]

    def test_as_json(self, office: Office) -> None:
        """With `--json` the request is printed as it stands after the answer, with the decision."""
        (after,) = office.approve(office.ask(), "--json", "--by", "max", "--note", "go on").json
        (decision,) = after["decisions"]

        assert ("approved", "go on", False) == (after["state"], after["guidance"], decision["signed"])
        assert ("approve", "max", "cli", 0) == tuple(decision[name] for name in ("choice", "by", "via", "seen"))

    @pytest.mark.parametrize("more", [[], ["--json"]])
    def test_needs_the_digest_without_a_terminal(self, office: Office, more: list[str]) -> None:
        """Where nobody can be shown the request, only the digest of what was shown approves it."""
        row = office.ask()
        ran = office("approve", row["id"], *more)

        assert (1, "") == (ran.exit_code, ran.stdout)
        assert "error: without a terminal `approve` needs `--digest`" in ran.stderr
        assert row["digest"] not in ran.stderr
        assert "open" == office.show(row["id"])["state"]

    def test_an_answer_in_between_is_not_overruled_unseen(self, office: Office) -> None:
        """With a digest alone nobody was seen to answer; `--seen` says that somebody was."""
        row = office.ask()
        office("discuss", row["id"], "--note", "hm", "--by", "eve")
        refused = office.approve(row)
        seen = office.show(row["id"])["seen"]

        assert f"was decided on at version {seen}, after the version 0 that" in refused.stderr
        assert f"  seen       {seen}\n" in office("show", row["id"]).stdout
        assert 0 == office.approve(row, "--seen", str(seen)).exit_code

    def test_needs_an_id(self, office: Office) -> None:
        """There is no approving of whatever is newest."""
        office.ask()

        assert "missing argument `ID`" in office("approve").stderr


def test_a_user_without_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user whom the system does not name is called by number, whatever the environment says."""
    monkeypatch.setattr("os.getuid", lambda: 4_000_000_001)
    monkeypatch.setenv("LOGNAME", "ada")

    assert "uid-4000000001" == os_user()


class TestOtherAnswers:
    def test_discuss_leaves_it_open(self, office: Office) -> None:
        """Words alone open nothing; they stand on the request."""
        row = office.ask()
        ran = office("discuss", row["id"], "--note", "to whom?", "--by", "max")
        shown = office.show(row["id"])

        assert (0, f"discussed {row['id']} by max (unsigned)") == (ran.exit_code, ran.stdout.splitlines()[0])
        assert ("open", "to whom?") == (shown["state"], shown["guidance"])
        assert 4 == office("check", SEND, "--subject", "s").exit_code

    def test_discuss_needs_words(self, office: Office) -> None:
        """A discussion without a note would say nothing."""
        assert "missing option `--note`" in office("discuss", office.ask()["id"]).stderr

    def test_reject_takes_an_approval_back(self, office: Office) -> None:
        """A later no ends what an earlier yes had opened."""
        office.approve(row := office.ask())
        ran = office("reject", row["id"], "--note", "no", "--by", "eve")

        assert (0, f"rejected {row['id']} by eve (unsigned)") == (ran.exit_code, ran.stdout.splitlines()[0])
        assert "rejected" == office.show(row["id"])["state"]
        assert [] == office("grants", "--json").json


def _stale(office: Office) -> list[str]:
    return ["approve", office.ask()["id"], "--digest", "sha256:" + "0" * 64]


def _empty(office: Office) -> list[str]:
    return ["approve", office.ask()["id"], "--digest", ""]


def _nobody(office: Office) -> list[str]:
    return ["reject", office.ask()["id"], "--by", ""]


def _unknown(office: Office) -> list[str]:
    return ["approve", "r_none", "--digest", office.ask()["digest"]]


def _superseded(office: Office) -> list[str]:
    row = office.ask()
    office.ask(to="eve")
    return ["approve", row["id"], "--digest", row["digest"]]


def _revoked(office: Office) -> list[str]:
    office.approve(row := office.ask())
    office("revoke", office.show(row["id"])["grant"]["id"])
    return ["approve", row["id"], "--digest", row["digest"]]


def _used(office: Office) -> list[str]:
    office.approve(row := office.ask())
    office("check", SEND, "--subject", "s")
    return ["approve", row["id"], "--digest", row["digest"]]


def _own(office: Office) -> list[str]:
    row = office.ask("--by", "max")
    return ["approve", row["id"], "--digest", row["digest"], "--by", "max"]


def _overtaken(office: Office) -> list[str]:
    row = office.ask()
    office("reject", row["id"], "--by", "eve")
    return ["approve", row["id"], "--digest", row["digest"]]


def _in_use(office: Office) -> list[str]:
    office.approve(row := office.ask("--uses", "2", "--expires", "1h"))
    office("check", SEND, "--subject", "s")
    return ["reject", row["id"]]


def _wide(office: Office) -> list[str]:
    row = office.ask()
    return ["approve", row["id"], "--digest", row["digest"], "--uses", "2"]


def _late(office: Office) -> list[str]:
    row = office.ask("--expires", "1h")
    return ["approve", row["id"], "--digest", row["digest"], "--expires", "2h"]


def _twice(office: Office) -> list[str]:
    office.approve(row := office.ask())
    grant = office.show(row["id"])["grant"]["id"]
    office("revoke", grant)
    return ["revoke", grant]


def _secret(office: Office) -> list[str]:
    return ["reject", office.ask()["id"], "--note", "password=hunter2hunter2"]


def _long(office: Office) -> list[str]:
    return ["reject", office.ask()["id"], "--note", "x" * 4001]


def _nameless(office: Office) -> list[str]:
    return ["reject", office.ask()["id"], "--by", "a\u202eb"]


class TestRefused:
    @pytest.mark.parametrize(
        ("case", "message"),
        [
            (_stale, "the decision is on `sha256:0000"),
            (_empty, "the decision is on ``, and request `r_"),
            (_nobody, "no approver"),
            (_unknown, "there is no request `r_none`"),
            (_superseded, "was superseded by request `r_"),
            (_revoked, "was taken back"),
            (_used, "is used up"),
            (_own, "`max` asked for this and cannot answer it"),
            (_overtaken, "was decided on at version 2, after the version 0 that `"),
            (_in_use, "is decided, and its grant in use"),
            (_wide, "offers 1 uses, not 2"),
            (_late, "offers no time after"),
            (_twice, "was taken back"),
            (_secret, "the decision holds what looks like a secret"),
            (_long, "the note is 4001 characters long, at most 4000"),
            (_nameless, "the approver holds U+202E"),
        ],
    )
    def test_is_refused_by_name(self, office: Office, case: Any, message: str) -> None:
        """A decision that does not count ends with 1 and one error that says why, and changes nothing."""
        args = case(office)
        before = office("log", "--limit", "0", "--json").stdout
        ran = office(*args)

        assert (1, "") == (ran.exit_code, ran.stdout)
        assert message in ran.stderr
        assert before == office("log", "--limit", "0", "--json").stdout


PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "approvals.md").read_text(encoding="utf-8")


def test_every_refusal_is_documented() -> None:
    """Each class of refusal stands in the reference, with what to do about it."""
    assert [] == [kind.__name__ for kind in ApprovalError.__subclasses__() if f"| `{kind.__name__}` |" not in PAGE]


def test_every_state_is_documented() -> None:
    """Each state of a request stands in the reference."""
    assert [] == [state for state in RequestState if f"| `{state}` |" not in PAGE]


def test_records_are_documented(office: Office) -> None:
    """The records of the reference can be read, and have the keys of those that are written."""
    request, decision, grant = (json.loads(text) for text in re.findall(r"```json\n(.*?)```", PAGE, flags=re.DOTALL))
    office.approve(row := office.ask())
    shown = office.show(row["id"])

    assert request == ApprovalRequest.from_dict(request).to_dict()
    assert decision == HumanDecision.from_dict(decision).to_dict()
    assert [*grant] == [*shown["grant"]]
    assert [] == [key for key in shown if f"`{key}`" not in PAGE.partition("## JSON of the verbs")[2]]
