from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import pytest

from indult import __version__
from indult.cli.frame import Verbs, emit, invoke, json_option
from indult.errors import InputError, PolicyError

if TYPE_CHECKING:
    from collections.abc import Callable


def group_of(*commands: click.Command) -> click.Group:
    """Return a group like the real one with these verbs."""
    return click.Group(name="indult", commands={str(command.name): command for command in commands})


def raising(error: BaseException) -> click.Group:
    """Return a group whose verb `go` raises `error`."""

    @click.command("go")
    def go() -> None:
        raise error

    return group_of(go)


@click.command("paint")
@click.argument("wall")
@click.option("--colour", type=click.Choice(["red", "green"]), help="What colour.")
@click.option("--coats", type=click.IntRange(min=1), required=True, help="How often.")
@json_option
def paint(wall: str, colour: str | None, coats: int, as_json: bool) -> int:
    """Paint a wall."""
    if as_json:
        emit({"wall": wall, "colour": colour})
    return coats


def ends(capsys: pytest.CaptureFixture[str], group: click.Group, *args: str) -> tuple[int, str, str]:
    """Run a command line and return its exit code and output."""
    code = invoke(group, args)
    out, err = capsys.readouterr()
    return code, out, err


class TestExitCodes:
    """What a verb returns is what the process ends with."""

    def test_returned(self, capsys: pytest.CaptureFixture[str]) -> None:
        """An integer that the verb returns is the exit code."""
        assert (4, "", "") == ends(capsys, group_of(paint), "paint", "north", "--coats", "4")

    @pytest.mark.parametrize("leave", [lambda ctx: None, lambda ctx: ctx.exit(0)])
    def test_nothing_is_zero(self, capsys: pytest.CaptureFixture[str], leave: Callable[[Any], None]) -> None:
        """A verb that returns nothing ended well."""

        @click.command("go")
        @click.pass_context
        def go(ctx: click.Context) -> None:
            leave(ctx)

        assert (0, "", "") == ends(capsys, group_of(go), "go")

    def test_ctx_exit(self, capsys: pytest.CaptureFixture[str]) -> None:
        """`ctx.exit` works from anywhere inside a verb."""
        assert (2, "", "") == ends(capsys, raising(click.exceptions.Exit(2)), "go")


class TestExpectedErrors:
    """An `IndultError` is text for a person, not a traceback."""

    def test_message_and_hint(self, capsys: pytest.CaptureFixture[str]) -> None:
        """The message and the hint go to standard error, nothing to standard output."""
        error = InputError("stdin is not JSON", hint="give one object")

        assert (1, "", "error: stdin is not JSON\nhint: give one object\n") == ends(capsys, raising(error), "go")

    def test_exit_code_of_the_error(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Each class of error has its exit code, and all its lines are shown."""
        error = PolicyError("unknown key", source="indult.yaml", line=1, column=1, excerpt="x: 1")

        expected = "error: indult.yaml:1:1: unknown key\n    x: 1\n    ^\n"
        assert (3, "", expected) == ends(capsys, raising(error), "go")

    def test_nothing_moves_the_cursor(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Control and bidirectional characters of a message are shown spelled out."""
        error = InputError("no such file: `\x1b[2J\u202egpj.\r`")

        assert (1, "", "error: no such file: `\\x1b[2J\\u202egpj.\\x0d`\n") == ends(capsys, raising(error), "go")


class TestUsage:
    """Complaints about the command line are in our words and end with 1, since 2 means a denial."""

    @pytest.mark.parametrize(
        ("args", "expected"),
        [
            (["--wat"], "error: no such option: `--wat`\nhint: see `indult --help`\n"),
            (["paint", "w", "--coat", "1"], "error: no such option: `--coat`\nhint: did you mean `--coats`?\n"),
            (["paint", "--coats", "1"], "error: missing argument `WALL`\nhint: see `indult paint --help`\n"),
            (["paint", "w"], "error: missing option `--coats`\nhint: see `indult paint --help`\n"),
            (
                ["paint", "w", "--coats", "1", "--colour", "blue"],
                "error: option `--colour`: `blue` is not one of `red`, `green`\nhint: see `indult paint --help`\n",
            ),
            (
                ["paint", "w", "--coats", "0"],
                "error: option `--coats`: 0 is not in the range x>=1\nhint: see `indult paint --help`\n",
            ),
            (
                ["paint", "w", "--coats", "x"],
                "error: option `--coats`: `x` is not a valid integer range\nhint: see `indult paint --help`\n",
            ),
            (
                ["paint", "w", "--coats"],
                "error: option `--coats` requires an argument\nhint: see `indult --help`\n",
            ),
            (
                ["paint", "v", "w", "--coats", "1"],
                "error: got unexpected extra argument (w)\nhint: see `indult paint --help`\n",
            ),
        ],
    )
    def test_wording(self, capsys: pytest.CaptureFixture[str], args: list[str], expected: str) -> None:
        """Each complaint names what is at fault and says where to look."""
        assert (1, "", expected) == ends(capsys, group_of(paint), *args)

    @pytest.mark.parametrize(
        ("verb", "hint"), [("chekc", "did you mean `check`?"), ("frobnicate", "see `indult --help`")]
    )
    def test_unknown_verb(self, capsys: pytest.CaptureFixture[str], verb: str, hint: str) -> None:
        """A verb that does not exist is answered with the nearest one."""
        group = Verbs({"check": ("indult.nowhere", "Judge.")}, name="indult")

        assert (1, "", f"error: no such verb: `{verb}`\nhint: {hint}\n") == ends(capsys, group, verb)

    def test_no_verb(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Without a verb the help goes to standard error, and the exit code is not that of an approval."""
        code, out, err = ends(capsys, Verbs({}, name="indult", no_args_is_help=True))

        assert (1, "") == (code, out)
        assert err.startswith("Usage: indult")


class TestUnexpectedErrors:
    """A fault of indult's own is one line, and the rest is in a file."""

    def test_says_where_the_log_is(
        self, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The traceback is written where only this user can read it."""
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))

        code, out, err = ends(capsys, raising(ZeroDivisionError("by\nnought")), "go")

        (log,) = tmp_path.glob("indult/*.log")
        assert (1, "") == (code, out)
        assert f"error: indult itself failed, the traceback is in `{log}`: ZeroDivisionError: by nought\n" == err
        assert 0o600 == stat.S_IMODE(log.stat().st_mode)
        assert 0o700 == stat.S_IMODE(log.parent.stat().st_mode)
        assert log.read_text().startswith(f"indult {__version__}, Python {sys.version}")
        assert log.read_text().endswith("ZeroDivisionError: by\nnought\n")

    def test_no_state_folder(
        self, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Where the state folder cannot be made, the log goes to the temporary folder."""
        (tmp_path / "file").touch()
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))

        _, _, err = ends(capsys, raising(RecursionError("deep")), "go")

        (name,) = re.findall(r"`(.+?)`", err)
        assert "RecursionError: deep\n" in Path(name).read_text()
        Path(name).unlink()

    def test_interrupted(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Ctrl-C ends with what shells report for it."""
        assert (130, "", "\nerror: interrupted\n") == ends(capsys, raising(KeyboardInterrupt()), "go")


class TestOutput:
    """What verbs print."""

    def test_emit(self, capsys: pytest.CaptureFixture[str]) -> None:
        """`--json` prints one object a line, text as it is."""
        assert (1, '{"wall": "n\u00f6rdlich", "colour": null}\n', "") == ends(
            capsys, group_of(paint), "paint", "n\u00f6rdlich", "--coats", "1", "--json"
        )


def run(*args: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
    """Run a Python script in a process of its own."""
    return subprocess.run([sys.executable, *args], capture_output=True, check=False, timeout=60, **options)


@pytest.mark.parametrize("_buffered", ["", "1"], ids=["buffered", "unbuffered"], indirect=True)
class TestProcess:
    """What only a real process shows, whether Python holds output back or not."""

    @pytest.fixture(autouse=True)
    def _buffered(self, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
        """Set what decides whether Python holds output back."""
        monkeypatch.setenv("PYTHONUNBUFFERED", request.param)

    def test_module(self) -> None:
        """`python -m indult` is the command."""
        done = run("-m", "indult", "--version")

        assert (0, f"indult {__version__}\n".encode(), b"") == (done.returncode, done.stdout, done.stderr)

    def test_reader_gone(self) -> None:
        """When nobody reads the output, the command ends quietly and not with 0."""
        script = (
            "import sys, click\nfrom indult.cli.frame import emit, invoke\n"
            "@click.command()\ndef go():\n    while True: emit({'a': 1})\n"
            "sys.exit(invoke(click.Group(commands={'go': go}), ['go']))"
        )
        reading, writing = os.pipe()
        os.close(reading)
        done = subprocess.run(
            [sys.executable, "-c", script], stdout=writing, stderr=subprocess.PIPE, check=False, timeout=60
        )
        os.close(writing)

        assert (1, b"") == (done.returncode, done.stderr)

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
    @pytest.mark.parametrize("args", [["--version"], ["policy", "schema"]])
    def test_no_space(self, args: list[str]) -> None:
        """Output that could not be written is an error, said once."""
        with open("/dev/full", "wb") as full:
            done = subprocess.run(
                [sys.executable, "-m", "indult", *args], stdout=full, stderr=subprocess.PIPE, check=False, timeout=60
            )

        assert (1, b"error: cannot write the output: no space left on device\n") == (done.returncode, done.stderr)

    def test_nobody_reads_errors(self) -> None:
        """Where standard error is gone too, the exit code is that of the error."""
        reading, writing = os.pipe()
        os.close(reading)
        done = subprocess.run(
            [sys.executable, "-m", "indult", "check", "--policy", "/nowhere", "{}"],
            stdout=writing,
            stderr=writing,
            check=False,
            timeout=60,
        )
        os.close(writing)

        assert 3 == done.returncode

    def test_closed_output(self) -> None:
        """A caller that closed standard output still gets the exit code."""
        done = subprocess.run(
            ["sh", "-c", f"'{sys.executable}' -m indult --version >&-"], capture_output=True, check=False, timeout=60
        )

        assert (0, b"") == (done.returncode, done.stderr)
