from __future__ import annotations

import json
import os
import select
import signal
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from indult.ledger import Body, Draft, default_path
from indult.ledger.sqlite import SqliteLedger

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.conftest import Ran, Run


@pytest.fixture(name="log")
def _log(indult: Run, filled: Path) -> Run:
    """Run `indult log ARGS` on the ledger of `filled`."""

    def run(*args: str, stdin: str | bytes = "") -> Ran:
        return indult("log", *args, "--db", str(filled), stdin=stdin)

    return run


def test_log_lists_the_newest(log: Run) -> None:
    """The bare verb lists the newest events, oldest first, one line each."""
    ran = log("--limit", "3")

    assert (0, "") == (ran.exit_code, ran.stderr)
    assert [["7", "ledger/1", "anchored"], ["8", "ledger/2", "forgotten"], ["9", "run:1/4", "stopped"]] == [
        [line.split()[0], *line.split()[2:4]] for line in ran.stdout.splitlines()
    ]


def test_log_selects(log: Run) -> None:
    """Events are selected by stream, kind and number; `--limit 0` means all."""

    def positions(*args: str) -> list[int]:
        return [event["position"] for event in log("--json", *args).json]

    assert list(range(1, 10)) == positions("--limit", "0")
    assert [2, 4, 6] == positions("--stream", "run:2")
    assert [8, 9] == positions("--kind", "stopped", "--kind", "forgotten")
    assert [6] == positions("--stream", "run:2", "--kind", "note", "--limit", "1")
    assert [] == positions("--stream", "none", "--limit", "0")


def test_log_as_json_gives_events(log: Run, filled: Path) -> None:
    """Each JSON line is a whole event."""
    with SqliteLedger(filled, read_only=True) as ledger:
        assert [event.to_dict() for event in ledger.events()] == log("--json").json


def test_log_shows_long_and_strange_data_on_one_line(indult: Run, path: Path) -> None:
    """A line is cut to a length, and control characters in it are spelled out."""
    with SqliteLedger(path) as ledger:
        ledger.append(Draft("run:\u202e1", "step", {"text": "\x1b[31m" + "x" * 500}))
    ran = indult("log", "--db", str(path))

    assert "run:\\u202e1/1" in ran.stdout
    assert "\x1b" not in ran.stdout
    assert len(ran.stdout) < 300
    assert ran.stdout.endswith("…\n")


def test_log_without_a_ledger(indult: Run, data_home: Path) -> None:
    """Without a ledger every verb says so, and none makes one."""
    for args in ((), ("verify",), ("streams",), ("rebuild",), ("forget", "x"), ("anchor", "--to", str(data_home))):
        ran = indult("log", *args)
        assert (1, "") == (ran.exit_code, ran.stdout)
        assert ran.stderr.startswith(f"error: there is no ledger at `{default_path()}`\nhint: ")
    assert not data_home.exists()


def test_log_streams(log: Run) -> None:
    """Streams are listed by name with their versions."""
    assert "     2  ledger\n     4  run:1\n     3  run:2\n" == log("streams").stdout
    assert [{"stream": "run:1", "version": 4}] == log("streams", "--prefix", "run:1", "--json").json


def test_log_verify(log: Run) -> None:
    """A true ledger verifies with exit code 0, and what cannot be seen is said in words."""
    ran = log("verify")

    assert (0, "") == (ran.exit_code, ran.stderr)
    assert "9 events in 3 streams, 2 bodies, 1 anchors" in ran.stdout
    assert "1 body forgotten\n" in ran.stdout
    assert "not seen: without an anchor kept elsewhere" in ran.stdout
    assert (True, 9, 1) == tuple(log("verify", "--json").json[0][name] for name in ("ok", "events", "forgotten"))


def test_log_verify_names_what_is_broken(log: Run, tamper: Callable[..., None]) -> None:
    """A broken ledger gives exit code 1 and names the first broken event by stream, version and position."""
    tamper("UPDATE events SET kind = 'intent' WHERE position = 3")
    ran = log("verify")

    assert 1 == ran.exit_code
    assert "broken (content): event 2 of stream `run:1` at position 3 does not give its hash" in ran.stdout
    assert "[run:1/2 at 3]" in ran.stdout
    assert "error: the ledger does not verify: event 2 of stream `run:1` at position 3" in ran.stderr
    ran = log("verify", "--json")
    assert (1, "") == (ran.exit_code, ran.stderr)
    fault = ran.json[0]["faults"][0]
    assert ("content", "run:1", 2, 3) == tuple(fault[name] for name in ("damage", "stream", "version", "position"))


def test_log_anchor_and_verify(log: Run, tmp_path: Path, filled: Path, tamper: Callable[..., None]) -> None:
    """Anchors are added to a file, verify holds the ledger against all of them, and a cut-off end is found."""
    file = tmp_path / "anchors.jsonl"
    first = log("anchor", "--to", str(file))
    second = log("anchor", "--to", str(file), "--json")

    assert first.stdout.startswith(f"anchored 9 events in `{file}`: sha256:")
    assert second.json == [json.loads(file.read_text().splitlines()[1])]
    assert 0o600 == stat.S_IMODE(file.stat().st_mode)
    ran = log("verify", "--anchor", str(file))
    assert (0, True) == (ran.exit_code, "2 anchors agree, up to position 10\n" in ran.stdout)
    assert "not seen" not in ran.stdout

    tamper(
        "DELETE FROM events WHERE position = 11",
        "UPDATE heads SET version = 3, position = 10, hash = (SELECT hash FROM events WHERE position = 10)"
        " WHERE stream = 'ledger'",
    )
    assert 0 == log("verify").exit_code
    ran = log("verify", "--anchor", str(file))
    assert 1 == ran.exit_code
    assert "what it fixed up to position 10 was changed or cut off" in ran.stderr


def test_log_anchor_says_what_is_wrong(log: Run, tmp_path: Path, filled: Path) -> None:
    """An anchor file that cannot be written, read or understood gives one error, and no anchor is recorded for it."""
    ran = log("anchor", "--to", str(tmp_path / "none" / "x"))
    assert (1, f"error: cannot write `{tmp_path / 'none' / 'x'}`: no such file or directory\n") == (
        ran.exit_code,
        ran.stderr,
    )
    with SqliteLedger(filled, read_only=True) as ledger:
        assert 9 == ledger.verify().events
    file = tmp_path / "anchors"
    for text, message in (("", "there is no anchor in"), ("x\n", "line 1 is no anchor"), ("\xff", "cannot read")):
        file.write_bytes(text.encode("latin-1"))
        ran = log("verify", "--anchor", str(file))
        assert (1, True) == (ran.exit_code, message in ran.stderr)
    assert "cannot read" in log("verify", "--anchor", str(tmp_path / "none")).stderr


def test_log_rebuild(log: Run, filled: Path) -> None:
    """Views that were damaged are folded again."""
    with closing(sqlite3.connect(filled)) as db:
        db.execute("DELETE FROM counters")
        db.commit()

    assert 1 == log("verify").exit_code
    assert "folded 9 events\n" == log("rebuild").stdout
    assert 0 == log("verify").exit_code
    assert [{"folded": 9}] == log("rebuild", "--json").json


def test_log_forget(log: Run, filled: Path) -> None:
    """A body is forgotten by its digest; again is told of, and an unknown digest is an error."""
    digest = Body("body 1").digest

    assert f"forgot {digest}\n" == log("forget", digest).stdout
    assert f"{digest} was forgotten before\n" == log("forget", digest).stdout
    assert [{"digest": digest, "forgotten": True, "now": False}] == log("forget", digest, "--json").json
    assert "2 bodies forgotten" in log("verify").stdout
    ran = log("forget", "sha256:0")
    assert (1, True) == (ran.exit_code, ran.stderr.startswith("error: the ledger has no body `sha256:0`"))


def test_options_may_stand_before_the_verb(indult: Run, filled: Path) -> None:
    """`--db` and `--json` given to `log` are meant for its verbs too."""
    assert 3 == len(indult("log", "--db", str(filled), "--json", "streams").json)


@pytest.fixture(name="follower")
def _follower(filled: Path) -> Iterator[subprocess.Popen[str]]:
    """Follow the ledger of `filled` in a process of its own."""
    code = f"import sys; sys.path[:0] = {[entry for entry in sys.path if entry]!r}; from indult.cli import main; sys.exit(main())"
    args = ["log", "--follow", "--json", "--limit", "1", "--kind", "stopped", "--stream", "run:1", "--db", str(filled)]
    process = subprocess.Popen(
        [sys.executable, "-c", code, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def _next(follower: subprocess.Popen[str]) -> int:
    """Return the position of the next event that is shown, which must come soon."""
    assert follower.stdout is not None
    assert select.select([follower.stdout], [], [], 20)[0], "nothing was shown"
    position: int = json.loads(follower.stdout.readline())["position"]
    return position


def test_log_follow(follower: subprocess.Popen[str], filled: Path) -> None:
    """`--follow` shows what other processes write, as they write it, and ends cleanly on Ctrl-C."""
    assert 9 == _next(follower)
    with SqliteLedger(filled) as ledger:
        ledger.append(Draft("run:1", "step", {}), Draft("run:2", "stopped", {}), Draft("run:1", "stopped", {}))
    assert 12 == _next(follower)
    with SqliteLedger(filled) as ledger:
        ledger.append(Draft("run:1", "stopped", {}))
    assert 13 == _next(follower)
    os.kill(follower.pid, signal.SIGINT)

    assert ("", "") == follower.communicate(timeout=10)
    assert 0 == follower.returncode
