from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Office

SEND = '{"tool": "send", "args": {"to": "max"}}'


class TestAsking:
    def test_says_what_is_asked_and_how_to_answer(self, office: Office) -> None:
        """A request prints its id, what it would open under which rule, its digest and the verbs that answer it."""
        ran = office("request", SEND, "--subject", "s")
        name = ran.stdout.split()[0]
        shown = office.show(name)

        assert (4, "") == (ran.exit_code, ran.stderr)
        assert [
            f"{name}  open",
            '  opens    {"args":{"to":"max"},"cwd":null,"tool":"send"}',
            "  under    send",
            f"  digest   {shown['digest']}",
            f"  look     indult show {name}",
            f"  answer   indult approve {name}",
            f"           indult discuss {name} --note TEXT",
            f"           indult reject {name}",
        ] == ran.stdout.splitlines()

    def test_takes_what_a_person_is_told(self, office: Office) -> None:
        """Question, title, change, requester, uses and expiry are those that were given."""
        row = office.ask(
            "--question", "May I?", "--title", "the letter", "--change", "send one letter", "--by", "bot",
            "--uses", "3", "--expires", "2999-01-01T00:00:00+01:00",
        )  # fmt: skip
        request = row["request"]
        scope = request["scope"]

        assert ("May I?", "bot") == (request["question"], request["requested_by"])
        assert ("s", "the letter", "send one letter", 3) == (
            scope["subject"], scope["title"], scope["change"], scope["max_uses"],
        )  # fmt: skip
        assert "2998-12-31T23:00:00.000000Z" == scope["expires_at"]

    def test_the_actor_of_the_action_asks(self, office: Office) -> None:
        """Without `--by`, whoever proposes the action is the one who asks."""
        assert "clerk" == office.ask(actor="clerk")["requested_by"]

    def test_names_every_rule_that_asks(self, office: Office) -> None:
        """A call under two ask rules is asked for once, under both."""
        row = office.ask(to="all")

        assert ["all", "send"] == row["request"]["scope"]["rules"]

    def test_a_newer_request_takes_the_place_of_older_ones(self, office: Office) -> None:
        """Older open requests of the same subject are superseded, those of another subject are not."""
        old, other = office.ask(), office.ask(subject="t")
        new = office.ask(to="eve")

        assert ["superseded", "open", "open"] == [office.show(row["id"])["state"] for row in (old, other, new)]
        assert new["id"] == office.show(old["id"])["superseded_by"]

    def test_the_same_question_is_asked_once(self, office: Office) -> None:
        """Asking exactly the same again finds the request that is open; saying more is another question."""
        first, again, other = office.ask(), office.ask(), office.ask("--question", "Please?")

        assert first["id"] == again["id"]
        assert first["id"] == other["request"]["supersedes"]

    def test_reads_standard_input(self, office: Office) -> None:
        """The action may come on standard input."""
        assert 4 == office("request", "-", "--subject", "s", stdin=SEND).exit_code


class TestNotAsking:
    def test_what_is_allowed_needs_no_request(self, office: Office) -> None:
        """An action that may run as it is ends with 0, and nothing is asked."""
        ran = office("request", '{"tool": "read"}', "--subject", "s")

        assert (0, "") == (ran.exit_code, ran.stderr)
        assert ["APPROVE", "allowed by `read`", "no request: it may run as it is"] == ran.stdout.splitlines()
        assert [] == office("requests", "--all", "--json").json

    def test_what_is_denied_cannot_be_asked_for(self, office: Office) -> None:
        """A denied action ends with 2 and names the rule; nothing is asked."""
        ran = office("request", '{"tool": "rm"}', "--subject", "s")

        assert 2 == ran.exit_code
        assert [
            "DENY", "denied by `rm`: Nothing is deleted.", "no request: what is denied cannot be asked for",
        ] == ran.stdout.splitlines()  # fmt: skip
        assert [] == office("requests", "--all", "--json").json

    def test_a_gentler_action_is_named(self, office: Office) -> None:
        """What is denied with a way down ends with 5 and shows what may run instead."""
        ran = office("request", '{"tool": "move", "args": {"n": 9}}', "--subject", "s")

        assert 5 == ran.exit_code
        assert 'instead: {"args":{"n":1},"tool":"move"}' in ran.stdout

    def test_what_a_grant_opens_needs_no_second_request(self, office: Office) -> None:
        """A call that a live grant opens ends with 0 and names the grant."""
        office.approve(row := office.ask())
        ran = office("request", SEND, "--subject", "s", "--json")

        assert 0 == ran.exit_code
        assert [office.show(row["id"])["grant"]["id"]] == ran.json[0]["grants"]

    def test_an_observing_policy_asks_nobody(self, office: Office) -> None:
        """Under `mode: observe` nothing blocks, so there is nothing to ask for."""
        law = office.folder / "indult.yaml"
        law.write_text("mode: observe\n" + law.read_text(encoding="utf-8"), encoding="utf-8")
        ran = office("request", SEND, "--subject", "s")

        assert 0 == ran.exit_code
        assert ran.stdout.endswith("no request: this policy blocks nothing\n")

    @pytest.mark.parametrize(
        ("args", "message"),
        [
            (["--uses", "2"], "more than one use needs an expiry"),
            (["--uses", "101", "--expires", "2h"], "option `--uses`"),
            (["--expires", "soon"], "`soon` is no time to end at"),
            (["--expires", "2020-01-01T00:00:00Z"], "`2020-01-01T00:00:00Z` is over already"),
            (["--expires", "2999-01-01T00:00:00"], "`2999-01-01T00:00:00` is no time to end at"),
            (["--expires", "999999999w"], "`999999999w` is no time to end at"),
            (["--question", "a\nb"], "the question holds U+000A"),
            (["--question", "\x1b[2Jyes"], "the question holds U+001B"),
            (["--title", "\u202egnp.exe"], "the title holds U+202E"),
            (["--change", "a\u200bb"], "the change holds U+200B"),
            (["--by", "a\tb"], "the requester holds U+0009"),
            (["--by", " "], "no requester"),
            (["--title", "x" * 501], "the title is 501 characters long, at most 500"),
        ],
    )  # fmt: skip
    def test_a_request_is_plain_and_finite(self, office: Office, args: list[str], message: str) -> None:
        """What could mislead whoever reads it, or has no end, is refused, and the text is not repeated raw."""
        ran = office("request", SEND, "--subject", "s", *args)

        assert (1, "") == (ran.exit_code, ran.stdout)
        assert message in ran.stderr
        assert ran.stderr.replace("\n", "").isprintable()
        assert [] == office("requests", "--all", "--json").json

    def test_what_nobody_can_read_cannot_be_asked_for(self, office: Office) -> None:
        """A call that takes over 2 kB to show is refused."""
        action = json.dumps({"tool": "send", "args": {"to": "x" * 2000}})
        ran = office("request", action, "--subject", "s")

        assert 1 == ran.exit_code
        assert "bytes to show, at most 2000" in ran.stderr

    def test_a_subject_is_a_must(self, office: Office) -> None:
        """Without a subject nobody could spend what would be opened."""
        ran = office("request", SEND)

        assert (1, "error: missing option `--subject`\nhint: see `indult request --help`\n") == (
            ran.exit_code, ran.stderr,
        )  # fmt: skip


def test_hostile_arguments_are_spelled_out(office: Office) -> None:
    """Escape sequences, bidirectional marks and newlines in the call are shown as escapes, by every verb."""
    row = office.ask(to="\x1b[2J\u202eevil\nx\u2066")
    shown = [
        office("show", row["id"]).stdout,
        office("requests").stdout,
        office.approve(row).stdout,
        office("grants").stdout,
        office("show", row["id"]).stdout,
    ]

    assert r"\u001b[2J\u202eevil\nx\u2066" in shown[0]
    assert all(text.replace("\n", "").isprintable() for text in shown)
