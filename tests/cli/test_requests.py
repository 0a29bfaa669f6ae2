from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from indult import load_policy, open_ledger
from indult.gate import Requests

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.cli.conftest import Office

COMMAND = f"import sys; sys.path[:0] = {[entry for entry in sys.path if entry]!r}; from indult.cli import main; sys.exit(main())"


class TestList:
    def test_lists_what_is_open(self, office: Office) -> None:
        """Each open request is one line: id, age, state, signed or unsigned, subject and title, the oldest first."""
        first, second = office.ask(subject="a"), office.ask("--title", "the letter", subject="b")
        office.approve(office.ask(subject="c"))
        ran = office("requests")
        lines = [line.split(maxsplit=5) for line in ran.stdout.splitlines()]

        assert 0 == ran.exit_code
        assert [
            [first["id"], "open", "unsigned", "a", "one call of send"],
            [second["id"], "open", "unsigned", "b", "the letter"],
        ] == [[line[0], *line[2:]] for line in lines]

    def test_selects_and_shows_all(self, office: Office) -> None:
        """`--subject` leaves out the others, and `--all` shows what is closed as well."""
        first, other = office.ask(), office.ask(subject="t")
        second = office.ask(to="eve")

        def listed(*args: str) -> list[tuple[str, str]]:
            return [(row["id"], row["state"]) for row in office("requests", "--json", *args).json]

        assert [(second["id"], "open")] == listed("--subject", "s")
        assert [(first["id"], "superseded"), (second["id"], "open")] == listed("--subject", "s", "--all")
        assert [(first["id"], "superseded"), (other["id"], "open"), (second["id"], "open")] == listed("--all")

    def test_shows_what_was_withdrawn(self, office: Office) -> None:
        """A withdrawn request is listed with `--all` only, `show` says why it was, and no answer to it is taken."""
        row = office.ask()
        with open_ledger(office.folder / "ledger.db") as ledger:
            assert 1 == Requests(ledger, load_policy(office.folder / "indult.yaml")).withdraw("s", why="it is over")

        assert "" == office("requests").stdout
        assert [(row["id"], "withdrawn")] == [
            (one["id"], one["state"]) for one in office("requests", "--all", "--json").json
        ]
        assert f"{row['id']}  withdrawn: it is over" == office("show", row["id"]).stdout.splitlines()[0]
        assert "it is over" == office.show(row["id"])["withdrawn"]
        ran = office("approve", row["id"], "--digest", row["digest"])
        assert (1, f"error: `{row['id']}` was withdrawn: it is over") == (ran.exit_code, ran.stderr.splitlines()[0])

    def test_nothing_is_open(self, office: Office) -> None:
        """Where nothing waits, nothing is listed."""
        office.approve(office.ask())

        assert [] == office("requests", "--json").json

    def test_without_a_ledger(self, office: Office) -> None:
        """Without a ledger each verb that reads or answers says so, and none makes one."""
        for args in (["requests"], ["grants"], ["show", "x"], ["approve", "x"], ["reject", "x"], ["revoke", "x"]):
            ran = office(*args)

            assert (1, "error: there is no ledger") == (ran.exit_code, ran.stderr[:25])
        assert not (office.folder / "ledger.db").exists()


@pytest.fixture(name="watch")
def _watch(office: Office) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start `indult requests --watch ARGS` in a process of its own."""
    started: list[subprocess.Popen[str]] = []

    def start(*args: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", COMMAND, "requests", "--watch", *args],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1,
        )  # fmt: skip
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def next_line(process: subprocess.Popen[str]) -> str:
    """Return the next line that a watcher shows, which must come soon."""
    assert process.stdout is not None
    assert select.select([process.stdout], [], [], 20)[0], "nothing was shown"
    return process.stdout.readline()


class TestWatch:
    def test_shows_requests_and_answers_of_others(
        self, office: Office, watch: Callable[..., subprocess.Popen[str]]
    ) -> None:
        """New requests and answers are shown as other processes write them, and Ctrl-C is a proper end."""
        first = office.ask()
        watcher = watch("--json", "--subject", "s")

        def told() -> dict[str, Any]:
            return dict(json.loads(next_line(watcher)))

        assert (first["id"], "open") == ((row := told())["id"], row["state"])
        office.ask(subject="t")
        office.approve(first)
        assert ("decided", "approved", first["id"]) == ((row := told())["event"], row["state"], row["id"])
        office("check", '{"tool": "send", "args": {"to": "max"}}', "--subject", "s")
        assert ("reserved", "spent") == ((row := told())["event"], row["state"])
        second = office.ask(to="eve")
        assert ("request_opened", second["id"]) == ((row := told())["event"], row["id"])
        office("reject", second["id"])
        assert ("decided", "rejected") == ((row := told())["event"], row["state"])
        os.kill(watcher.pid, signal.SIGINT)
        assert ("", "") == watcher.communicate(timeout=10)
        assert 0 == watcher.returncode

    def test_says_why_a_question_is_withdrawn(
        self, office: Office, watch: Callable[..., subprocess.Popen[str]]
    ) -> None:
        """Whoever watches is told that nobody waits for an answer any more, and why."""
        row = office.ask()
        watcher = watch()
        assert next_line(watcher).startswith(row["id"])
        with open_ledger(office.folder / "ledger.db") as ledger:
            Requests(ledger, load_policy(office.folder / "indult.yaml")).withdraw("s", why="it is over")

        assert f"{row['id']}  is withdrawn: it is over\n" == next_line(watcher)

    def test_waits_for_a_ledger_that_is_not_there_yet(
        self, office: Office, watch: Callable[..., subprocess.Popen[str]]
    ) -> None:
        """Whoever watches first makes the ledger that others will write."""
        watcher = watch("--json")
        while not (office.folder / "ledger.db").exists():
            assert watcher.poll() is None
        row = office.ask()

        assert row["id"] == json.loads(next_line(watcher))["id"]

    def test_tells_it_to_a_person(self, office: Office, watch: Callable[..., subprocess.Popen[str]]) -> None:
        """As text, an answer is one line with who gave it and what was said."""
        row = office.ask()
        watcher = watch()
        assert next_line(watcher).startswith(row["id"])
        office("discuss", row["id"], "--note", "why\x1b[2J\nnow?", "--by", "max")

        assert f"{row['id']}  discuss by max (unsigned): why\\x1b[2J\\x0anow?\n" == next_line(watcher)
