from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from tests.cli.conftest import COMMAND

from indult.autofix.signals import Signal, signals
from indult.ledger import open_ledger

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Terminal

PYTHON = sys.executable


@pytest.fixture(name="ledger", autouse=True)
def _ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Be in a folder of its own and name a ledger there."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("INDULT_DB", str(tmp_path / "ledger.db"))
    return tmp_path / "ledger.db"


def watch(*args: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run `indult watch` in a process of its own."""
    words = [PYTHON, "-c", COMMAND, "watch", *args]
    return subprocess.run(words, input=stdin, capture_output=True, text=True, timeout=60, check=False)


def start(*args: str) -> subprocess.Popen[str]:
    """Start `indult watch`, and read its output as it comes."""
    return subprocess.Popen(
        [PYTHON, "-c", COMMAND, "watch", *args], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )


def found(ledger: Path) -> list[Signal]:
    """Return the signals of a ledger, none where there is no ledger."""
    if not ledger.exists():
        return []
    with open_ledger(ledger, read_only=True) as opened:
        return list(signals(opened))


def test_a_success_leaves_nothing(ledger: Path) -> None:
    """A command that does what it should writes what it writes, and nothing else happens."""
    ran = watch("--", "sh", "-c", "cat; echo out; echo err >&2", stdin="in\n")
    assert (0, "in\nout\n", "err\n") == (ran.returncode, ran.stdout, ran.stderr)
    assert not ledger.exists()


def test_a_failure_is_a_signal(ledger: Path) -> None:
    """A command that fails ends as it would alone and is a signal, with its output as evidence."""
    ran = watch("--", "sh", "-c", "echo begun; echo 'Error: cart is empty' >&2; exit 3")
    (one,) = found(ledger)
    assert (3, "begun\n") == (ran.returncode, ran.stdout)
    assert f"Error: cart is empty\nindult: signal {one.id}\n" == ran.stderr
    assert ("command", 1) == (one.kind, one.count)
    assert one.summary.endswith("ended with 3: Error: cart is empty")
    with open_ledger(ledger, read_only=True) as opened:
        evidence = opened.body(str(one.detail)) or ""
    assert evidence.startswith("$ sh -c ")
    assert {"begun", "Error: cart is empty"} <= set(evidence.splitlines())


def test_the_same_failure_is_the_same_signal(ledger: Path) -> None:
    """What differs from one run to the next makes no other signal, what went wrong does."""
    script = "echo \"took $(date +%s%N) ns in $(mktemp -u)\"; echo 'Error: {} at line '$$; exit 1"
    for what in ("empty", "empty", "full"):
        watch("--", "sh", "-c", script.replace("{}", "$0"), what)
    assert [1, 2] == sorted(one.count for one in found(ledger))


def test_what_it_is_called(ledger: Path) -> None:
    """Kind, name and key are those that are given."""
    for text in ("a", "b"):
        watch("--kind", "build", "--name", "nightly", "--key", "k", "--", "sh", "-c", f"echo error {text}; exit 2")
    (one,) = found(ledger)
    assert ("build", "nightly", "nightly ended with 2: error a", 2) == (one.kind, one.source, one.summary, one.count)


def test_options_of_the_command(ledger: Path) -> None:
    """What stands behind the command's first word is the command's."""
    assert "--name x --json\n" == watch("echo", "--name", "x", "--json").stdout


def test_a_bad_kind_runs_nothing(tmp_path: Path) -> None:
    """Where no signal could be made, nothing is run."""
    ran = watch("--kind", "Two words", "--", "touch", "made")
    assert 1 == ran.returncode
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(("word", "code"), [("./nothing", 127), ("./folder", 126)])
def test_no_such_command(ledger: Path, tmp_path: Path, word: str, code: int) -> None:
    """What cannot be run ends as in a shell, and is no signal: nothing was tried."""
    (tmp_path / "folder").mkdir()
    ran = watch("--", word)
    assert (code, "") == (ran.returncode, ran.stdout)
    assert ran.stderr.startswith(f"error: cannot run `{word}`: ")
    assert [] == found(ledger)


def test_a_command_that_is_killed(ledger: Path) -> None:
    """A command that a signal ends is a failure, with the code that a shell gives it."""
    assert 137 == watch("--", "sh", "-c", "kill -9 $$").returncode
    (one,) = found(ledger)
    assert one.summary.endswith("was ended by signal 9")


@pytest.mark.parametrize(("number", "recorded"), [(signal.SIGTERM, 1), (signal.SIGINT, 0), (signal.SIGHUP, 1)])
def test_signals_are_passed_on(ledger: Path, number: signal.Signals, recorded: int) -> None:
    """The command is told to end and says how it ends; what a person interrupts is no failure."""
    script = f"trap 'echo told; exit 9' {number.name[3:]}; echo ready; while :; do sleep 0.05; done"
    with start("--", "sh", "-c", script) as process:
        assert process.stdout is not None
        assert "ready\n" == process.stdout.readline()
        process.send_signal(number)
        assert ("told\n", 9) == (process.stdout.read(), process.wait(20))
    assert recorded == len(found(ledger))


def test_what_is_left_running_is_not_waited_for() -> None:
    """A command that leaves something running in the background ends when it ends."""
    ran = start("--", "sh", "-c", "sleep 60 & echo $!; exit 4")
    assert ran.stdout is not None
    left = int(ran.stdout.readline())
    try:
        assert 4 == ran.wait(20)
    finally:
        os.kill(left, signal.SIGKILL)
        ran.stdout.close()


def test_a_reader_that_leaves(ledger: Path) -> None:
    """Where nobody reads on, the command is told as it would be alone, and that is no failure of it."""
    with start("--", "yes") as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        assert 141 == process.wait(20)
    assert [] == found(ledger)


def test_a_lot_of_output(ledger: Path) -> None:
    """Output of any length and any bytes is passed on whole, and both ends are kept."""
    script = "import os,sys; os.write(1, b'begin\\xff'); sys.stdout.write('x' * 9_000_000); print('end'); sys.exit(1)"
    words = [PYTHON, "-c", COMMAND, "watch", "--", PYTHON, "-c", script]
    ran = subprocess.run(words, capture_output=True, timeout=60, check=False)
    assert b"begin\xff" + b"x" * 9_000_000 + b"end\n" == ran.stdout
    (one,) = found(ledger)
    with open_ledger(ledger, read_only=True) as opened:
        evidence = opened.body(str(one.detail)) or ""
    assert "begin\ufffdx" in evidence
    assert evidence.endswith("xend\n")


def test_a_ledger_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no signal can be written that is said, and the command's own exit code stands."""
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("INDULT_DB", str(tmp_path / "file" / "ledger.db"))
    ran = watch("--", "sh", "-c", "exit 6")
    assert 6 == ran.returncode
    assert "indult: no signal was written: " in ran.stderr


def test_a_fixer_at_work(ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a fixer tries on its way is no signal: it would make work for fixers."""
    monkeypatch.setenv("INDULT_SIGNAL", "s_0123456789ab")
    assert 3 == watch("--", "sh", "-c", "exit 3").returncode
    assert [] == found(ledger)


class TestTerminal:
    def test_is_passed_through(self, ledger: Path, terminal: Callable[..., Terminal]) -> None:
        """On a terminal the command has terminals, asks and is answered, and its lines end as they should."""
        script = '[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && echo all; printf "name? "; read name; echo "hi $name"; stty size; exit 5'
        one = terminal("watch", "--", "sh", "-c", script)
        one.until("name? ")
        one.answer("max")
        assert 5 == one.end()
        assert "all\nname? max\nhi max\n" in one.shown
        assert 1 == len(found(ledger))

    def test_ctrl_c(self, ledger: Path) -> None:
        """Ctrl-C reaches the command once, and is no failure."""
        script = "n=0; trap 'n=$((n+1)); echo told $n' INT; echo ready; while [ $n -lt 1 ]; do sleep 0.05; done; sleep 0.3; exit 7"
        side, inner = os.openpty()
        words = [PYTHON, "-c", "import os, fcntl, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0);" + COMMAND]
        process = subprocess.Popen(
            [*words, "watch", "--", "sh", "-c", script], stdin=inner, stdout=inner, stderr=inner, start_new_session=True
        )
        os.close(inner)
        shown = b""
        until = time.monotonic() + 30
        try:
            while b"ready" not in shown and time.monotonic() < until:
                shown += os.read(side, 4096)
            os.write(side, b"\x03")
            assert 7 == process.wait(30)
            while b"told 1" not in shown and time.monotonic() < until:
                shown += os.read(side, 4096)
        finally:
            process.kill()
            process.wait()
            os.close(side)
        assert b"told 2" not in shown
        assert [] == found(ledger)
