from __future__ import annotations

import os
import select
import signal as signals
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest
from tests.cli.conftest import COMMAND

from indult.autofix.signals import SignalState, move
from indult.ledger import Body, Draft, open_ledger

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Terminal
    from tests.conftest import Ran, Run

REPORT = """<testsuite name="shop">
<testcase classname="tests.test_cart" name="test_total" file="tests/test_cart.py"><failure message="3 != 4"/></testcase>
<testcase classname="tests.test_cart" name="test_fine"/>
</testsuite>
"""
LAW = """
schema: 1
default: deny
rules:
  - {id: send, tool: send, effect: deny, says: Nothing is sent.}
"""


@pytest.fixture(name="signal")
def _signal(indult: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Be in a folder of its own with a ledger, and return what runs `indult signal` there."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("INDULT_DB", str(tmp_path / "ledger.db"))

    def run(*args: str, stdin: str | bytes = "") -> Ran:
        return indult("signal", *args, stdin=stdin)

    return run


def added(signal: Run, *args: str, stdin: str | bytes = "") -> dict[str, Any]:
    """Add signals and return what became of them."""
    ran = signal("add", *args, "--json", stdin=stdin)
    assert 0 == ran.exit_code, ran.stderr
    (row,) = ran.json
    return dict(row)


def shown(signal: Run, name: str) -> dict[str, Any]:
    """Return all that is known of a signal."""
    (row,) = signal("show", name, "--json").json
    return dict(row)


def ledger_has(path: Path) -> bool:
    """Tell whether there is a signal in a ledger yet."""
    if not path.exists():
        return False
    with open_ledger(path) as ledger:
        return ledger.recall("signals") != {}


class TestAdding:
    def test_a_line(self, signal: Run) -> None:
        """A summary is a signal, and the same again is the same one."""
        ran = signal("add", "the cart is empty")
        assert 0 == ran.exit_code
        name = ran.stdout.partition(":")[0]
        assert f"{name}: 1 new, 0 seen again, 0 new again after a fix\n" == ran.stdout
        assert {"new": 0, "again": 1, "reopened": 0, "ids": [name]} == added(
            signal, "the cart is empty", "--times", "4"
        )
        row = shown(signal, name)
        assert ("note", "the cart is empty", "new", 5) == (row["kind"], row["summary"], row["state"], row["count"])

    def test_all_that_can_be_told(self, signal: Run) -> None:
        """Kind, source, evidence and key are those that are given."""
        options = ("--kind", "alert", "--source", "shop", "--detail", "one\ntwo", "--key", "k")
        first = added(signal, "the cart is empty", *options)
        again = added(signal, "another text", "--kind", "alert", "--key", "k")
        assert first["ids"] == again["ids"]
        row = shown(signal, first["ids"][0])
        assert ("alert", "shop", "one\ntwo") == (row["kind"], row["source"], row["evidence"])

    def test_evidence_from_elsewhere(self, signal: Run, tmp_path: Path) -> None:
        """Evidence is read from a file or standard input, of any length and whatever it holds."""
        (tmp_path / "out.log").write_bytes(b"begin\xff" + b"x" * 3_000_000 + b"end")
        (name,) = added(signal, "a", "--detail", "@out.log")["ids"]
        evidence = shown(signal, name)["evidence"]
        assert evidence.startswith("begin\ufffdx")
        assert evidence.endswith("end")
        (name,) = added(signal, "b", "--detail", "-", stdin="piped")["ids"]
        assert "piped" == shown(signal, name)["evidence"]

    def test_reports(self, signal: Run, tmp_path: Path) -> None:
        """Failed tests of several reports are signals."""
        (tmp_path / "a.xml").write_text(REPORT)
        (tmp_path / "b.xml").write_text(REPORT.replace("test_total", "test_more"))
        assert 2 == added(signal, "--junit", "a.xml", "--junit", "b.xml")["new"]
        kinds = {(row["kind"], row["source"], row["summary"]) for row in signal("list", "--json").json}
        assert ("test", "tests/test_cart.py", "tests.test_cart::test_total: 3 != 4") in kinds

    def test_a_broken_report(self, signal: Run, tmp_path: Path) -> None:
        """Where one report is none, nothing of the others counts either."""
        (tmp_path / "a.xml").write_text(REPORT)
        (tmp_path / "b.xml").write_text(REPORT[:-5])
        ran = signal("add", "and this", "--junit", "a.xml", "--junit", "b.xml")
        assert 1 == ran.exit_code
        assert (
            "error: `b.xml` is no JUnit report: line 4: unclosed token\nhint: nothing of it was taken\n" == ran.stderr
        )
        assert "error: " in signal("list").stderr

    def test_a_log(self, signal: Run, tmp_path: Path) -> None:
        """Lines that match are signals, of a file or of standard input."""
        log = "10:00 ERROR cart: order 7\n10:01 fine\n10:02 ERROR cart: order 8\n"
        (tmp_path / "app.log").write_text(log)
        first = added(signal, "--log", "app.log", "--pattern", "ERROR (?P<key>.*)")
        again = added(signal, "--log", "-", "--pattern", "ERROR (?P<key>.*)", stdin=log)
        assert ([1, 0], [0, 1]) == ([first["new"], first["again"]], [again["new"], again["again"]])
        row = shown(signal, first["ids"][0])
        assert ("log", "app.log", 4) == (row["kind"], row["source"], row["count"])

    def test_a_log_that_goes_on(self, signal: Run, tmp_path: Path) -> None:
        """Ctrl-C ends the reading of a log, and what was read by then counts."""
        words = [sys.executable, "-c", COMMAND, "signal", "add", "--log", "-", "--pattern", "ERROR"]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            # More than a batch, so that the ledger shows when they are read.
            process.stdin.write("ERROR one\n" * 510)
            process.stdin.flush()
            until = time.monotonic() + 30
            while not ledger_has(tmp_path / "ledger.db") and time.monotonic() < until:
                select.select([], [], [], 0.05)
            process.send_signal(signals.SIGINT)
            assert "1 new" in process.stdout.read()
            assert 0 == process.wait(20)
        (row,) = signal("list", "--json").json
        assert 500 <= row["count"] <= 510

    def test_the_ledger(self, signal: Run, indult: Run, tmp_path: Path) -> None:
        """What was refused again and again is a signal, once."""
        (tmp_path / "indult.yaml").write_text(LAW)
        for _ in range(4):
            indult("check", '{"tool": "send", "args": {}, "actor": "agent"}', "--subject", "session:1")
        first = added(signal, "--from-ledger")
        again = added(signal, "--from-ledger")
        assert (1, 0) == (first["new"], again["new"])
        assert ("denials", 2) == tuple(shown(signal, first["ids"][0])[name] for name in ("kind", "count"))

    @pytest.mark.parametrize(
        ("args", "message"),
        [
            ((), "nothing to tell of"),
            (("  ",), "a sighting has no summary"),
            (("a", "--kind", "Two words"), "`Two words` is no kind of a signal"),
            (("a", "--times", "0"), "a sighting has `0` times"),
            (("a", "--detail", "@nothing"), "cannot read `nothing`: no such file or directory"),
            (("--detail", "x", "--from-ledger"), "`--detail` goes with SUMMARY"),
            (("--kind", "x", "--from-ledger"), "`--kind` goes with SUMMARY or `--log`"),
            (("--log", "x"), "`--log` and `--pattern` go together"),
            (("a", "--pattern", "x"), "`--log` and `--pattern` go together"),
            (("--log", "nothing", "--pattern", "x"), "cannot read `nothing`: no such file or directory"),
            (("--log", "-", "--pattern", "("), "malformed pattern `(`: missing ): ("),
            (("--junit", "nothing"), "cannot read `nothing`: no such file or directory"),
            (("--junit", "."), "cannot read `.`: is a directory"),
        ],
    )
    def test_what_cannot_be_told(self, signal: Run, args: tuple[str, ...], message: str) -> None:
        """What would say nothing is refused in one line, and no ledger is made."""
        ran = signal("add", *args)
        assert (1, "") == (ran.exit_code, ran.stdout)
        assert f"error: {message}" == ran.stderr.splitlines()[0]
        assert not os.path.lexists(os.environ["INDULT_DB"])


class TestListing:
    def test_in_order(self, signal: Run) -> None:
        """What matters most comes first, then what waits longest; states can be picked."""
        names = [added(signal, text)["ids"][0] for text in ("one", "two", "three")]
        with open_ledger(os.environ["INDULT_DB"]) as ledger:
            move(ledger, names[2], SignalState.FIX, reason="r", more={"priority": 3})
            move(ledger, names[0], SignalState.IGNORED, reason="r")
        lines = signal("list", "--all").stdout.splitlines()
        assert [names[2], names[0], names[1]] == [line.split()[0] for line in lines]
        assert ["fix", "1x", "note", "three"] == [lines[0].split()[place] for place in (1, 2, 4, 5)]
        picked = signal("list", "--state", "fix", "--state", "new", "--json").json
        assert ["three", "two"] == [row["summary"] for row in picked]

    def test_what_is_over_is_counted(self, signal: Run) -> None:
        """What landed or is ignored is listed with `--all` or by its state, and otherwise counted beside the list."""
        names = [added(signal, text)["ids"][0] for text in ("one", "two", "three")]
        with open_ledger(os.environ["INDULT_DB"]) as ledger:
            move(ledger, names[0], SignalState.IGNORED, reason="r")
            move(ledger, names[1], SignalState.LANDED, reason="r")
        ran = signal("list")
        assert [names[2]] == [line.split()[0] for line in ran.stdout.splitlines()]
        assert "not shown: 1 landed and 1 ignored (--all)\n" == ran.stderr
        assert [names[2]] == [row["id"] for row in signal("list", "--json").json]
        assert 3 == len(signal("list", "--all", "--json").json)
        ran = signal("list", "--state", "ignored")
        assert (names[0], "") == (ran.stdout.split()[0], ran.stderr)
        assert 1 == signal("list", "--state", "fix", "--all").exit_code

    def test_a_heading_for_a_person(self, signal: Run, terminal: Callable[..., Terminal]) -> None:
        """On a terminal the columns have names; a pipe gets signals only."""
        (name,) = added(signal, "one")["ids"]
        shown = terminal("signal", "list")
        assert 0 == shown.end()
        heading, line = shown.shown.splitlines()
        assert ["ID", "STATE", "SEEN", "LAST", "KIND", "SUMMARY"] == heading.split()
        assert heading.index("SUMMARY") == line.index("one")
        assert line.startswith(name)

    def test_nothing(self, signal: Run) -> None:
        """That there is no signal is said, and as JSON there is none."""
        added(signal, "a")
        assert "no signal is landed\n" == signal("list", "--state", "landed").stdout
        assert "" == signal("list", "--state", "landed", "--json").stdout

    def test_no_such_state(self, signal: Run) -> None:
        """A state that no signal can be in is refused."""
        assert 1 == signal("list", "--state", "done").exit_code


class TestShowing:
    def test_all_that_is_known(self, signal: Run) -> None:
        """State, reasons, hand-backs, judgements and evidence of a signal are shown."""
        (name,) = added(signal, "the cart is empty", "--source", "shop", "--detail", "line one\nline two")["ids"]
        with open_ledger(os.environ["INDULT_DB"]) as ledger:
            more = {"priority": 3, "rule": "payments", "turns": 2, "ended_at": "2026-03-01T00:00:00.000000Z"}
            move(ledger, name, SignalState.NEEDS_HUMAN, reason="a person has to look", kind="triaged", more=more)
            ledger.append(
                Draft(f"signal:{name}", "handed_back", {"by": "fixer", "request": "r_1"}),
                Draft(f"signal:{name}", "judgement", {"tool": "Bash"}),
                Draft(f"signal:{name}", "judgement", {"tool": "Bash"}),
            )
        text = signal("show", name).stdout
        for line in (
            "state       needs-human: a person has to look",
            "source      shop",
            "priority    3 by payments",
            "seen        once, 20",
            f"turns       indult autofix show {name}",
            "fixers      2 calls, the last fix ended 2026-03-01T00:00:00.000000Z",
            "request     r_1 (closed): indult show r_1",
            f"your word   indult signal move {name} --state fix|ignored|landed --reason TEXT",
            "2 judgements of its fixers' calls and branches: ",
            "triaged  new -> needs-human: a person has to look",
            "handed_back  by fixer as r_1\n",
            "  | line one\n  | line two\n",
        ):
            assert line in text
        row = shown(signal, name)
        assert ["triaged", "handed_back"] == [event["kind"] for event in row["history"]]
        assert (2, {"r_1": "closed"}, "line one\nline two") == (row["judged"], row["requests"], row["evidence"])

    def test_history_in_words(self, signal: Run) -> None:
        """Each event is a line of words and whole, one that is not in our shape too."""
        (name,) = added(signal, "a")["ids"]
        added(signal, "a")
        stream = f"signal:{name}"
        reason = "because " * 45
        with open_ledger(os.environ["INDULT_DB"]) as ledger:
            move(ledger, name, SignalState.FIX, reason=reason)
            ledger.append(
                Draft(stream, "judgement", {"tool": "Bash"}),
                Draft(stream, "outcome", {"judgement": 3, "status": "done"}),
                Draft(stream, "ship_refused", {"branch": "b", "into": "main", "head": "h", "rules": ["r1", "r2"]}),
                Draft(stream, "ship_started", {"branch": "b", "into": "main", "commit": "c0ffee", "reservations": []}),
                Draft(stream, "ship_landed", {"ship": "1", "commit": "c0ffee"}),
                Draft(stream, "ship_undone", {"why": "the target moved"}),
                Draft(stream, "ship_refused", {"rules": 3, "note": "x\ny"}),
                Draft(stream, "looked_at", {"by": "ann", "times": 2, "more": {"a": [1]}}),
            )
        text = signal("show", name).stdout
        for line in (
            f"moved  new -> fix: {reason.strip()}\n",
            "ship_refused  b into main by r1, r2\n",
            "ship_started  b into main as commit c0ffee\n",
            "ship_landed  commit c0ffee\n",
            "ship_undone  the target moved\n",
            "ship_refused  note x\\x0ay, rules 3\n",
            "looked_at  by ann, times 2\n",
            "seen        2 times, first ",
            "1 judgement of its fixers' calls and branches: indult log --stream ",
        ):
            assert line in text
        assert "outcome" not in text

    def test_nothing_of_it_passes_for_ours(self, signal: Run) -> None:
        """What others wrote into a signal is one line each, or set in, and moves no cursor."""
        detail = "\x1b[2Jx\nstate       landed: \u202eall is well"
        (name,) = added(signal, "a\x1b]0;t\x07b\nstate: landed", "--detail", detail)["ids"]
        text = signal("show", name).stdout
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert ["state       new: not looked at yet"] == [
            line for line in text.splitlines() if line.startswith("state")
        ]
        assert "  | \\x1b[2Jx\n  | state       landed: \\u202eall is well\n" in text

    def test_forgotten_evidence(self, signal: Run) -> None:
        """That evidence was forgotten is said."""
        (name,) = added(signal, "a", "--detail", "a name")["ids"]
        with open_ledger(os.environ["INDULT_DB"]) as ledger:
            ledger.forget(Body("a name").digest)
        assert "  | (forgotten)\n" in signal("show", name).stdout
        assert shown(signal, name)["evidence"] is None

    def test_an_unknown_one(self, signal: Run) -> None:
        """A signal that there is none of is an error with a hint."""
        (name,) = added(signal, "a")["ids"]
        ran = signal("show", name[:-1])
        assert (1, "") == (ran.exit_code, ran.stdout)
        assert f"error: there is no signal `{name[:-1]}`\nhint: did you mean `{name}`?\n" == ran.stderr


class TestMoving:
    """What a person says is to become of a signal."""

    def test_try_again(self, signal: Run) -> None:
        """What waits for a person is taken up again, and who said so and why is in its history."""
        (name,) = added(signal, "a")["ids"]
        with open_ledger(os.environ["INDULT_DB"]) as ledger:
            move(ledger, name, SignalState.NEEDS_HUMAN, reason="stalled", more={"priority": 3, "turns": 2})
        ran = signal("move", name, "--state", "fix", "--reason", "the mirror is up\nagain", "--by", "ann")
        assert (0, "") == (ran.exit_code, ran.stderr)
        assert [
            f"{name}  needs-human -> fix: the mirror is up again",
            "the next `indult autofix run` takes it up",
        ] == ran.stdout.splitlines()
        row = shown(signal, name)
        assert ("fix", "the mirror is up again", 3, 2) == tuple(
            row[key] for key in ("state", "reason", "priority", "turns")
        )
        assert "moved by ann  needs-human -> fix: the mirror is up again\n" in signal("show", name).stdout

    @pytest.mark.parametrize("state", ["new", "needs-human", "ignored", "landed"])
    def test_any_other_state(self, signal: Run, state: str) -> None:
        """Every state but that of a fixer at work can be given, as JSON too."""
        (name,) = added(signal, "a")["ids"]
        (row,) = signal("move", name, "--state", state, "--reason", "r", "--by", "ann", "--json").json
        assert (state, "new", "ann", "r") == (row["state"], row["before"], row["by"], row["reason"])
        assert state == shown(signal, name)["state"]

    @pytest.mark.parametrize(("state", "withdrawn"), [("ignored", 1), ("landed", 1), ("needs-human", 0), ("fix", 0)])
    def test_questions_of_what_is_over(
        self, signal: Run, indult: Run, tmp_path: Path, state: str, withdrawn: int
    ) -> None:
        """What is asked for a signal that is over is withdrawn, and stays open for any other."""
        (tmp_path / "indult.yaml").write_text(LAW)
        (name,) = added(signal, "a")["ids"]
        request = indult("report", "--signal", name, "--by", "fixer", "--change", "which one?").stdout.split()[0]
        ran = signal("move", name, "--state", state, "--reason", "r", "--by", "ann")
        assert bool(withdrawn) == ("1 question withdrawn\n" in ran.stdout)
        (row,) = indult("show", request, "--json").json
        assert ("withdrawn" if withdrawn else "open") == row["state"]

    def test_not_under_a_fixer(self, signal: Run) -> None:
        """A signal that a fixer is at work on stays with it."""
        (name,) = added(signal, "a")["ids"]
        with open_ledger(os.environ["INDULT_DB"]) as ledger:
            move(ledger, name, SignalState.FIXING, reason="a fix is under way")
        ran = signal("move", name, "--state", "ignored", "--reason", "r")
        assert (1, "") == (ran.exit_code, ran.stdout)
        assert f"error: a fixer is at work on the signal `{name}`" == ran.stderr.splitlines()[0]
        assert "fixing" == shown(signal, name)["state"]

    def test_not_by_a_fixer(self, signal: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        """Whoever is at work decides nothing about signals."""
        (name,) = added(signal, "a")["ids"]
        monkeypatch.setenv("INDULT_ACTOR", "fixer")
        ran = signal("move", name, "--state", "landed", "--reason", "r")
        assert ran.stderr.startswith("error: `fixer` is at work here (INDULT_ACTOR)")
        assert "new" == shown(signal, name)["state"]

    @pytest.mark.parametrize(
        "args",
        [
            ("--state", "fixing", "--reason", "r"),
            ("--state", "fix", "--reason", " "),
            ("--state", "fix"),
            ("--reason", "r"),
        ],
    )
    def test_half_of_it(self, signal: Run, args: tuple[str, ...]) -> None:
        """State and reason are both told, and `fixing` is nobody's to give."""
        (name,) = added(signal, "a")["ids"]
        assert 1 == signal("move", name, *args).exit_code
        assert "new" == shown(signal, name)["state"]

    def test_an_unknown_one(self, signal: Run) -> None:
        """A signal that there is none of is told."""
        added(signal, "a")
        ran = signal("move", "s_000000000000", "--state", "fix", "--reason", "r")
        assert (1, "error: there is no signal `s_000000000000`") == (ran.exit_code, ran.stderr.splitlines()[0])
