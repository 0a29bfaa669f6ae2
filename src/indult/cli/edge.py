"""The edge of the command line: what goes in and out, and the one place where errors become text and an exit code.

Nothing here needs click, so that a verb whose time counts can do without it (`indult.cli.plain`).
"""

from __future__ import annotations

import errno
import io
import json
import os
import sys
from typing import TYPE_CHECKING, Any, Final, TextIO

from indult.errors import IndultError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["deliver", "emit", "interrupted", "printable", "read_input", "say", "unexpected"]

INTERRUPTED: Final = 130
"""What a shell reports for a command that Ctrl-C ended."""

_UNDELIVERED: Final = {errno.EBADF, errno.EIO, errno.ENOSPC, errno.EPIPE}
"""How standard output fails; an error of a file names the file."""


def deliver(call: Callable[[], object]) -> int:
    """Run `call` and return the exit code of the process; every error of every verb becomes text here."""
    _speak_utf8()
    try:
        code = call()
    except IndultError as exc:
        return _fail(exc.lines(), exc.exit_code)
    except KeyboardInterrupt:
        # The terminal has shown `^C`.
        return interrupted(lead="\n")
    except OSError as exc:
        if exc.errno in _UNDELIVERED and exc.filename is None:
            return _undelivered(exc, 1)
        return _fail([unexpected(exc)], 1)
    except Exception as exc:
        return _fail([unexpected(exc)], 1)
    return _deliver(code if isinstance(code, int) else 0)


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


def say(*lines: str) -> None:
    """Print lines of text for a person, at once; what an agent wrote in them has been made `printable`."""
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


def printable(text: str) -> str:
    """Return `text` with control, bidirectional and other invisible characters spelled out.

    What an agent wrote may be shown to a person; it must not move the cursor or turn the line around.
    """
    if text.isascii() and text.isprintable():
        return text
    from indult.characters import misleading

    return "".join(char if char == "\t" or not misleading(char) else _escaped(char) for char in text)


def interrupted(*, lead: str = "") -> int:
    """Say that a person stopped the command, behind `lead`, and return the exit code for it."""
    return _fail(["interrupted"], INTERRUPTED, lead=lead)


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


def _fail(lines: list[str], code: int, *, lead: str = "") -> int:
    shown = "\n".join(printable(line) for text in lines for line in text.split("\n"))
    try:
        sys.stderr.write(f"{lead}error: {shown}\n")
        sys.stderr.flush()
    except OSError:
        _give_up(sys.stderr)
    return code


def _give_up(stream: TextIO) -> None:
    """Let go what a stream still holds: the interpreter writes it when it ends, and would end with 120 for it."""
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, stream.fileno())
    os.close(quiet)


def unexpected(exc: BaseException) -> str:
    """Return what to say of an error that is none of ours, whose traceback is kept in a file."""
    what = " ".join(f"{type(exc).__name__}: {exc}".split())
    return f"indult itself failed, the traceback is in `{_write_log(exc)}`: {what}"


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


def _write_log(exc: BaseException) -> Path:
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
