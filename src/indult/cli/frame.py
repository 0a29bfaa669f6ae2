"""What every verb shares: late import, output, and the one place where errors become text and an exit code.

A verb is a module `indult.cli.<verb>` with a click command named `command`. Its function returns its exit code
(`None` for 0), raises `IndultError` for what a person can put right, and prints through `emit` or `click.echo`.
"""

from __future__ import annotations

import errno
import io
import json
import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, TextIO

import click

from indult.errors import IndultError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

__all__ = ["Verbs", "db_option", "emit", "invoke", "json_option", "policy_option", "printable", "read_input"]

INTERRUPTED: Final = 130
"""What a shell reports for a command that Ctrl-C ended."""

_UNDELIVERED: Final = {errno.EBADF, errno.EIO, errno.ENOSPC, errno.EPIPE}
"""How standard output fails; an error of a file names the file."""

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON Lines instead of text.")
"""The `--json` of every verb; the function gets it as `as_json`."""

db_option = click.option(
    "--db", metavar="PATH", envvar="INDULT_DB", help="The ledger; by default one in your data folder."
)
"""The `--db` of every verb that reads or writes a ledger."""

policy_option = click.option(
    "--policy", metavar="FILE", default="indult.yaml", show_default=True, help="The policy file."
)
"""The `--policy` of every verb that judges or renders."""


class Verbs(click.Group):
    """A group whose commands are imported when they run; `table` gives their modules and one-line helps."""

    def __init__(self, table: Mapping[str, tuple[str, str]], **attributes: Any) -> None:
        super().__init__(**attributes)
        self.table = table

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the verbs in the order of the table."""
        del ctx
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return the command of one verb."""
        del ctx
        if cmd_name not in self.table:
            return None
        command: click.Command = import_module(self.table[cmd_name][0]).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of verbs without importing one."""
        del ctx
        if self.table:
            with formatter.section("Verbs"):
                formatter.write_dl([(verb, about) for verb, (_, about) in self.table.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the verb that the first word names, or say which one may have been meant."""
        verb = args[0]
        if verb not in self.table and not verb.startswith("-"):
            raise UsageError(f"no such verb: `{verb}`", hint=_near(verb, self.table) or "see `indult --help`")
        return super().resolve_command(ctx, args)


def read_input(given: str) -> bytes:
    """Return what an argument stands for: standard input for `-`, a file for `@FILE`, else its own text.

    Raises:
        UsageError: The file cannot be read.
    """
    from indult.canonical import MAX_BYTES

    if given == "-":
        return sys.stdin.buffer.read(MAX_BYTES + 1)
    if not given.startswith("@"):
        return given.encode("utf-8", "surrogateescape")
    try:
        with open(given[1:], "rb") as file:
            return file.read(MAX_BYTES + 1)
    except OSError as exc:
        raise UsageError(f"cannot read `{given[1:]}`: {(exc.strerror or str(exc)).lower()}") from exc


def emit(value: Any) -> None:
    """Print one value as a line of JSON, at once, so that a reader can follow a run."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False) + "\n")
    sys.stdout.flush()


def printable(text: str) -> str:
    """Return `text` with control, bidirectional and other invisible characters spelled out.

    What an agent wrote may be shown to a person; it must not move the cursor or turn the line around.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char == "\t" else _escaped(char) for char in text)


def invoke(group: click.Group, args: Sequence[str] | None) -> int:
    """Run a command line and return its exit code; every error of every verb becomes text here."""
    _speak_utf8()
    try:
        code = group.main(args=args, prog_name="indult", standalone_mode=False)
    except IndultError as exc:
        return _fail(exc.lines(), exc.exit_code)
    except click.exceptions.NoArgsIsHelpError as exc:
        click.echo(exc.message, err=True)
        return 1
    except click.ClickException as exc:
        return _fail(_usage(exc).lines(), 1)
    except (click.Abort, KeyboardInterrupt):
        return _fail(["interrupted"], INTERRUPTED)
    except OSError as exc:
        if exc.errno in _UNDELIVERED and exc.filename is None:
            return _undelivered(exc, 1)
        return _fail([_unexpected(exc)], 1)
    except Exception as exc:
        return _fail([_unexpected(exc)], 1)
    return _deliver(code if isinstance(code, int) else 0)


def _deliver(code: int) -> int:
    """Return `code` once the output has been taken; output that was not taken is never a success."""
    try:
        sys.stdout.flush()
    except OSError as exc:
        return _undelivered(exc, code or 1)
    return code


def _undelivered(exc: OSError, code: int) -> int:
    """Say why the output was not taken, unless its reader has left."""
    _give_up(sys.stdout)
    if isinstance(exc, BrokenPipeError):
        return code
    return _fail([f"cannot write the output: {(exc.strerror or str(exc)).lower()}"], code)


def _fail(lines: list[str], code: int) -> int:
    shown = "\n".join(printable(line) for text in lines for line in text.split("\n"))
    try:
        sys.stderr.write(f"error: {shown}\n")
        sys.stderr.flush()
    except OSError:
        _give_up(sys.stderr)
    return code


def _give_up(stream: TextIO) -> None:
    """Let go what a stream still holds: the interpreter writes it when it ends, and would end with 120 for it."""
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, stream.fileno())
    os.close(quiet)


def _unexpected(exc: Exception) -> str:
    what = " ".join(f"{type(exc).__name__}: {exc}".split())
    return f"indult itself failed, the traceback is in `{_write_log(exc)}`: {what}"


def _usage(exc: click.ClickException) -> UsageError:
    """Put one of click's own complaints into our words."""
    ctx = exc.ctx if isinstance(exc, click.UsageError) else None
    hint = f"see `{ctx.command_path if ctx else 'indult'} --help`"
    match exc:
        case click.NoSuchOption():
            return UsageError(f"no such option: `{exc.option_name}`", hint=_near_of(exc.possibilities) or hint)
        case click.MissingParameter():
            return UsageError(f"missing {_kind(exc.param)} `{_name(exc.param)}`", hint=hint)
        case click.BadParameter() if exc.param is not None:
            return UsageError(f"{_kind(exc.param)} `{_name(exc.param)}`: {_lowered(exc.message)}", hint=hint)
    return UsageError(_lowered(exc.format_message()), hint=hint)


def _kind(param: click.Parameter | None) -> str:
    return "argument" if isinstance(param, click.Argument) else "option"


def _name(param: click.Parameter | None) -> str:
    if isinstance(param, click.Option):
        return max(param.opts, key=len)
    return "" if param is None else param.human_readable_name


def _lowered(message: str) -> str:
    """Turn a sentence of click's into one of ours: lower case, no full stop, user input in backticks."""
    words = message.rstrip(".").replace("'", "`")
    return words[:1].lower() + words[1:]


def _near(word: str, words: Mapping[str, object]) -> str | None:
    from difflib import get_close_matches

    return _near_of(get_close_matches(word, words))


def _near_of(near: Sequence[str] | None) -> str | None:
    return "did you mean {}?".format(" or ".join(f"`{word}`" for word in near)) if near else None


def _escaped(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _speak_utf8() -> None:
    """Write UTF-8 whatever the locale says: JSON Lines are UTF-8, and what it cannot carry is spelled out."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
        elif stream is None:
            # The caller closed it. What is said is lost, and the exit code still tells the verdict.
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 # it stays open to the end


def _write_log(exc: Exception) -> Path:
    """Write the traceback where only this user can read it, and return the file."""
    import tempfile
    import time
    import traceback
    from pathlib import Path

    import indult

    folder = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "indult"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=time.strftime("crash-%Y%m%dT%H%M%S-"), suffix=".log", dir=folder)
    except OSError:
        handle, name = tempfile.mkstemp(prefix="indult-crash-", suffix=".log")
    with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(f"indult {indult.__version__}, Python {sys.version}, {sys.platform}\n\n")
        file.writelines(traceback.format_exception(exc))
    return Path(name)
