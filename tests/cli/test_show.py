from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from indult import Action, Gate, load_policy, open_ledger
from indult.cli.showing import age, moment
from indult.errors import UsageError
from indult.scopes import Scope

if TYPE_CHECKING:
    from tests.cli.conftest import Office

NOW = "2026-01-31T12:00:00.000000Z"


class TestShow:
    def test_shows_all_that_a_person_needs(self, office: Office) -> None:
        """A request is shown with scope, requester, card, digest and the paragraphs of the brief before and after."""
        row = office.ask("--question", "May I?", "--change", "send a letter")
        ran = office("show", row["id"], "--by", "max")

        assert (0, "") == (ran.exit_code, ran.stderr)
        first, *fields = ran.stdout.splitlines()
        assert f"{row['id']}  open" == first
        shown = {line[2:12].strip(): line[13:] for line in fields if line.startswith("  ") and line[2] != " "}
        assert ("May I?", "s", "send a letter", "send", "never") == tuple(
            shown[name] for name in ("question", "subject", "change", "under", "expires")
        )
        assert "1 of 1 left" == shown["uses"]
        assert row["digest"] == shown["digest"]
        assert "reason: needs approval under `send`: Sending needs a person." == shown["card"]

    def test_gives_the_paragraphs_before_and_after(self, office: Office) -> None:
        """The brief of the approved request is word for word what was announced."""
        row = office.ask()
        brief = office.show(row["id"])["brief"]
        call = '{"args":{"to":"max"},"cwd":null,"tool":"send"}'

        assert ["Sending needs a person."] == brief["before"]
        assert [f"Except for one call of send (`{call}` only), this holds: Sending needs a person."] == brief["after"]
        office.approve(row)
        assert brief == office.show(row["id"])["brief"]

    def test_finds_a_request_by_its_grant(self, office: Office) -> None:
        """The id of a grant shows the request behind it, with the decisions and what is left."""
        office.approve(row := office.ask(), "--by", "max")
        grant = office.show(row["id"])["grant"]["id"]

        assert office.show(row["id"]) == office.show(grant)
        text = office("show", grant).stdout
        assert "  decided    approve by max (unsigned) via cli at " in text
        assert f"  grant      {grant}  1 of 1 uses left" in text

    def test_closed_requests_change_nothing(self, office: Office) -> None:
        """Of a request that is closed the brief is not shown: nothing that anyone says changes it."""
        row = office.ask()
        office.ask(to="eve")
        text = office("show", row["id"]).stdout

        assert {"before": [], "after": []} == office.show(row["id"])["brief"]
        assert "superseded by r_" in text
        assert "the brief with" not in text

    def test_says_that_the_policy_changed(self, office: Office) -> None:
        """A request from before a change of the policy says so: its paragraphs are those of the policy now."""
        row = office.ask()
        assert "another one now" not in office("show", row["id"]).stdout
        law = office.folder / "indult.yaml"
        law.write_text(law.read_text(encoding="utf-8").replace("Sending needs", "Mail needs"), encoding="utf-8")

        assert "  policy     another one now than when this was asked\n" in office("show", row["id"]).stdout
        assert ["Mail needs a person."] == office.show(row["id"])["brief"]["before"]

    def test_a_damaged_record_opens_nothing(self, office: Office) -> None:
        """What somebody wrote into a record is refused by `show` and named in the lists, which show the rest."""
        bad, good = office.ask(), office.ask(subject="t")
        with closing(sqlite3.connect(office.folder / "ledger.db")) as db:
            for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
                db.execute(f"DROP TRIGGER {name}")
            db.execute(
                "UPDATE events SET data = replace(data, 'one call', '\x1b[2Jone call') WHERE stream = ?",
                (f"request:{bad['id']}",),
            )
            db.commit()
        ran = office("show", bad["id"])

        assert (1, "") == (ran.exit_code, ran.stdout)
        assert f"request `{bad['id']}` cannot be read" in ran.stderr
        for verb in (["requests"], ["requests", "--all"]):
            ran = office(*verb)
            assert (1, True) == (ran.exit_code, ran.stdout.replace("\n", "").isprintable())
            assert f"damaged: request `{bad['id']}` cannot be read" in ran.stdout
            assert good["id"] in ran.stdout
        assert 1 == sum("error" in row for row in office("requests", "--json").json)

    def test_nothing_is_hidden(self, office: Office) -> None:
        """A call with what looks like a secret becomes no request: nobody could be shown what would be opened."""
        action = {"tool": "send", "args": {"to": "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"}}
        ran = office("request", json.dumps(action), "--subject", "s")

        assert 0 != ran.exit_code
        assert "the call holds what looks like a secret, which nobody can be shown" in ran.stderr
        assert "ghp_0123" not in ran.stdout + ran.stderr
        assert [] == office("requests", "--json").json

    def test_no_entry_of_a_card_passes_for_a_field(self, office: Office) -> None:
        """What a program puts on a card stands under `card`, whatever it is called and holds."""
        with open_ledger(office.folder / "ledger.db") as ledger:
            gate = Gate(load_policy("indult.yaml"), ledger, "s")
            action = Action(tool="send")
            standing = gate.requests.open(
                Scope.call(action, subject="s"),
                boundary=gate.boundary(),
                requested_by="agent",
                card={"opens": "nothing\n  opens      nothing", "digest": "sha256:0", "\x1b[2J": ["\u202e"]},
                action=action,
                facts={},
            )
        lines = office("show", standing.request.id).stdout.splitlines()

        assert 1 == sum(line.startswith("  digest ") for line in lines)
        assert ["  card       opens: nothing", "             |   opens      nothing"] == [
            line for line in lines if "nothing" in line
        ]
        assert "  card       \\x1b[2J: \\u202e" in lines

    def test_notes_keep_their_lines(self, office: Office) -> None:
        """A note of several lines is indented, so that none of them passes for a field."""
        row = office.ask()
        office("discuss", row["id"], "--note", "first\n  digest     sha256:fake")

        assert "\n             |   digest     sha256:fake\n" in office("show", row["id"]).stdout

    def test_a_name_that_is_none(self, office: Office) -> None:
        """A name that no request and no grant has is refused."""
        office.ask()
        for name in ("r_none", "g_none", "none", ""):
            ran = office("show", name)

            assert (1, "") == (ran.exit_code, ran.stdout)
            assert f"`{name}`" in ran.stderr


class TestTimes:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("90s", "2026-01-31T12:01:30.000000Z"),
            ("1h30m", "2026-01-31T13:30:00.000000Z"),
            ("2d", "2026-02-02T12:00:00.000000Z"),
            ("1w", "2026-02-07T12:00:00.000000Z"),
            ("2026-01-31T12:00:01Z", "2026-01-31T12:00:01.000000Z"),
            ("2026-02-01T12:00:00.5+12:00", "2026-02-01T00:00:00.500000Z"),
        ],
    )
    def test_durations_and_times(self, text: str, expected: str) -> None:
        """An expiry is a time from now on or an RFC 3339 time, written as the ledger writes times."""
        assert expected == moment(text, NOW)

    @pytest.mark.parametrize("text", ["", "2", "h", "-2h", "2.5h", "2 h", "٢h", "2026-02-01", "2026-02-01T00:00", "x"])
    def test_what_is_no_time(self, text: str) -> None:
        """Whatever could be read two ways is refused."""
        with pytest.raises(UsageError, match="is no time to end at"):
            moment(text, NOW)

    @pytest.mark.parametrize("text", ["0s", "2026-01-31T12:00:00Z", "2026-01-31T12:59:00+01:00"])
    def test_what_is_over(self, text: str) -> None:
        """A time that is not after now would end what it should begin."""
        with pytest.raises(UsageError, match="is over already"):
            moment(text, NOW)

    @pytest.mark.parametrize(
        ("since", "expected"),
        [
            ("2026-01-31T12:00:00.000000Z", "0s"),
            ("2026-01-31T11:59:01.000000Z", "59s"),
            ("2026-01-31T11:59:00.000000Z", "1m"),
            ("2026-01-31T09:30:00.000000Z", "2h"),
            ("2026-01-01T12:00:00.000000Z", "30d"),
            ("2026-01-31T12:00:09.000000Z", "0s"),
        ],
    )
    def test_ages(self, since: str, expected: str) -> None:
        """An age is given in its largest unit, and never less than nothing."""
        assert expected == age(since, NOW)
