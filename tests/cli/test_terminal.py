from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Office, Terminal

PROMPT = "Approve exactly this? [y/N]: "


class TestPrompt:
    def test_shows_what_would_be_opened_and_asks(self, office: Office, terminal: Callable[..., Terminal]) -> None:
        """On a terminal `approve` shows the scope and the paragraphs before and after, and `y` approves."""
        row = office.ask("--question", "May I write to Max?")
        one = terminal("approve", row["id"], "--by", "max")
        shown = one.until(PROMPT)
        one.answer("y")

        assert 0 == one.end()
        for line in (
            "  question   May I write to Max?",
            '  opens      {"args":{"to":"max"},"cwd":null,"tool":"send"}',
            f"  digest     {row['digest']}",
            "the brief without it:\n  Sending needs a person.\nthe brief with it:\n  Except for one call of send (",
        ):
            assert line in shown
        assert f"approved {row['id']} by max (unsigned)\n" in one.shown
        assert "approved" == office.show(row["id"])["state"]

    @pytest.mark.parametrize("answer", ["n", "", "no"])
    def test_everything_but_yes_is_no(self, office: Office, terminal: Callable[..., Terminal], answer: str) -> None:
        """An empty line, or no, decides nothing, is no error, and is told how to refuse or to answer with words."""
        row = office.ask()
        one = terminal("approve", row["id"])
        one.until(PROMPT)
        one.answer(answer)

        assert 1 == one.end()
        assert "error:" not in one.shown
        assert [
            f"nothing was decided: {row['id']} stays as it is",
            f"to refuse it: indult reject {row['id']}",
            f"to answer with words: indult discuss {row['id']} --note TEXT",
        ] == one.shown.splitlines()[-3:]
        assert [] == office.show(row["id"])["decisions"]

    def test_the_end_of_the_input_decides_nothing(self, office: Office, terminal: Callable[..., Terminal]) -> None:
        """Ended with Ctrl-D at the prompt, the verb ends as with Ctrl-C, and nothing is recorded."""
        row = office.ask()
        one = terminal("approve", row["id"])
        one.until(PROMPT)
        os.write(one.side, b"\x04")

        assert 130 == one.end()
        assert "error: interrupted\n" in one.shown
        assert [] == office.show(row["id"])["decisions"]

    def test_the_digest_is_the_answer(self, office: Office, terminal: Callable[..., Terminal]) -> None:
        """With `--digest` nobody is asked, not even on a terminal."""
        row = office.ask()
        one = terminal("approve", row["id"], "--digest", row["digest"])

        assert 0 == one.end()
        assert PROMPT not in one.shown

    def test_what_is_closed_is_not_asked_about(self, office: Office, terminal: Callable[..., Terminal]) -> None:
        """A request that a newer one has replaced is refused before anybody reads it."""
        row = office.ask()
        office.ask(to="eve")
        one = terminal("approve", row["id"])

        assert 1 == one.end()
        assert PROMPT not in one.shown
        assert "superseded" in one.shown

    def test_nothing_that_was_written_moves_the_cursor(self, office: Office, terminal: Callable[..., Terminal]) -> None:
        """Escape sequences and bidirectional marks in the call and in notes reach the terminal as text."""
        row = office.ask(to="\x1b[2J\u202eevil")
        office("discuss", row["id"], "--note", "\x1b]0;title\x07\ndigest     sha256:\u2066mine")
        one = terminal("approve", row["id"])
        shown = one.until(PROMPT)
        one.answer("n")
        one.end()

        assert not re.search("[\x00-\x09\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]", shown)
        assert "\\x1b]0;title\\x07\n             | digest     sha256:\\u2066mine\n" in shown

    def test_says_that_it_is_approved_already(self, office: Office, terminal: Callable[..., Terminal]) -> None:
        """Whoever approves what is approved is told before the question that the grant is replaced."""
        row = office.ask()
        office.approve(row, "--by", "max")
        grant = office.show(row["id"])["grant"]["id"]
        one = terminal("approve", row["id"], "--by", "max")
        shown = one.until(PROMPT)
        one.answer("y")

        assert f"approved already: another approval takes the place of {grant}\n{PROMPT}" in shown
        assert 0 == one.end()
        assert grant != office.show(row["id"])["grant"]["id"]

    def test_says_nothing_of_the_kind_the_first_time(self, office: Office, terminal: Callable[..., Terminal]) -> None:
        """What nobody has approved yet is asked about without it."""
        one = terminal("approve", office.ask()["id"])

        assert "approved already" not in one.until(PROMPT)


class TestNothing:
    @pytest.mark.parametrize(
        ("words", "said"),
        [
            (("requests",), "no open request\n"),
            (("requests", "--subject", "t"), "no open request of `t`\n"),
            (("requests", "--subject", "t", "--all"), ""),
            (("requests", "--json"), ""),
            (("grants",), "no grant\n"),
            (("grants", "--subject", "t"), "no grant of `t`\n"),
            (("grants", "--json"), ""),
        ],
    )
    def test_is_said(
        self, office: Office, terminal: Callable[..., Terminal], words: tuple[str, ...], said: str
    ) -> None:
        """A list with nothing in it says so on a terminal; with `--json`, and to a pipe, it is empty."""
        office("reject", office.ask()["id"])
        one = terminal(*words)

        assert 0 == one.end()
        assert said == one.shown
        assert ("", "") == (office(*words).stdout, office(*words).stderr)

    def test_is_not_said_of_what_is_there(self, office: Office, terminal: Callable[..., Terminal]) -> None:
        """A list with something in it says nothing besides."""
        office.approve(office.ask())
        office.ask(subject="t")
        for words in (("requests",), ("grants",)):
            one = terminal(*words)

            assert 0 == one.end()
            assert "\nno " not in "\n" + one.shown

    def test_is_not_waited_for(self, office: Office, terminal: Callable[..., Terminal]) -> None:
        """A report that is neither given nor piped is asked for with an error, instead of a silent wait."""
        one = terminal("report")

        assert 1 == one.end()
        assert (
            "error: a report is neither given nor piped\n"
            "hint: `@FILE` for a file, `-` for standard input, or options: see `indult report --help`\n"
        ) == one.shown


class TestTwoPeople:
    def test_whoever_answers_second_is_overtaken(self, office: Office, terminal: Callable[..., Terminal]) -> None:
        """A yes that did not see the no before it is refused as overtaken."""
        row = office.ask()
        one = terminal("approve", row["id"], "--by", "max")
        one.until(PROMPT)
        office("reject", row["id"], "--by", "eve")
        one.answer("y")

        assert 1 == one.end()
        assert "was decided on at version 2, after the version 0 that `" in one.shown
        assert "rejected" == office.show(row["id"])["state"]

    def test_one_of_two_at_once_counts(self, office: Office, terminal: Callable[..., Terminal]) -> None:
        """Two people who say yes to what they were shown at once: one is recorded, the other overtaken."""
        row = office.ask()
        both = [terminal("approve", row["id"], "--by", name) for name in ("max", "eve")]
        for one in both:
            one.until(PROMPT)
        for one in both:
            one.answer("y")

        assert [0, 1] == sorted(one.end() for one in both)
        assert 1 == sum("was decided on at version 2, after the version 0 that `" in one.shown for one in both)
        assert 1 == len(office.show(row["id"])["decisions"])
