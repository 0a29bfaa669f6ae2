"""`indult watch`: run a command as if it ran alone, and make a signal of its failure."""

from __future__ import annotations

import os
import select
import selectors
import signal
import subprocess
import sys
import termios
import threading
from contextlib import ExitStack, suppress
from shlex import join
from time import monotonic
from typing import TYPE_CHECKING, Final

import click

from indult.autofix.logs import Ends, plain, telling
from indult.autofix.signals import Sighting, ingest
from indult.cli.frame import db_option, printable
from indult.errors import IndultError, UsageError
from indult.ledger import open_ledger

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

__all__ = ["command"]

NOT_FOUND: Final = 127
NOT_RUN: Final = 126
"""What a shell ends with where it finds no such command, and where it cannot run what it finds."""

_KEPT: Final = 5
"""How many of the last lines make a failure the same again."""

_NAMED: Final = 80
"""How many characters of a command its summary shows."""

_PIECE: Final = 65_536
_QUIET: Final = 0.2
_LONGEST: Final = 2.0
"""How many seconds output is waited for, and read, that a command leaves behind: a terminal is slower than its end."""

_PASSED: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_AT_WORK: Final = "INDULT_SIGNAL"
"""What is set where a fixer is at work: its failures on the way are no signals."""


@click.command(
    name="watch",
    short_help="Run a command, and make a signal of its failure.",
    help="Run COMMAND as if it ran alone: on this terminal, with its output and its exit code. If it fails, that is a "
    "signal of kind `command`, the same again where it fails in the same way. Ctrl-C is no failure.",
    # What stands behind the first word of the command is the command's.
    context_settings={"allow_interspersed_args": False},
)
@click.option("--kind", metavar="WORD", default="command", show_default=True, help="What kind of signal a failure is.")
@click.option("--key", metavar="TEXT", help="What makes it the same again; by default the command and its last lines.")
@click.option("--name", metavar="TEXT", help="What the command is called where it is shown; by default its words.")
@db_option
@click.argument("words", metavar="COMMAND...", nargs=-1, required=True, type=click.UNPROCESSED)
def command(*, kind: str, key: str | None, name: str | None, db: str | None, words: tuple[str, ...]) -> int:
    """Run a command and return its exit code."""
    # What could not be made a signal of is refused before anything runs.
    Sighting(kind=kind, summary="x")
    sys.stdout.flush()
    try:
        code, output, let_go = run(words)
    except OSError as exc:
        reason = (exc.strerror or str(exc)).lower()
        click.echo(f"error: cannot run `{printable(words[0])}`: {printable(reason)}", err=True)
        return NOT_FOUND if isinstance(exc, FileNotFoundError) else NOT_RUN
    except ValueError as exc:
        raise UsageError("a word of the command holds a zero byte") from exc
    if code and not let_go and not os.environ.get(_AT_WORK):
        _record(_sighting(words, code, output, kind=kind, key=key, name=name), db)
    return code


def _record(sighting: Sighting, db: str | None) -> None:
    """Write a sighting; where that fails, say so and let the command's own exit code stand."""
    try:
        with open_ledger(db) as ledger:
            (name,) = ingest(ledger, [sighting]).ids
        click.echo(f"indult: signal {name}", err=True)
    except IndultError as exc:
        click.echo("\n".join(printable(f"indult: no signal was written: {line}") for line in exc.lines()), err=True)


def _sighting(
    words: Sequence[str], code: int, output: str, *, kind: str, key: str | None, name: str | None
) -> Sighting:
    """Return what there is to tell of a command that failed."""
    text = plain(output)
    written = join(words)
    called = name or (written if len(written) <= _NAMED else f"{written[: _NAMED - 1]}…")
    ended = f"ended with {code}" if code < 128 else f"was ended by signal {code - 128}"
    last = [line for line in text.split("\n") if line.strip()][-_KEPT:]
    said = telling(text)
    return Sighting(
        kind=kind,
        summary=f"{called} {ended}: {said}" if said else f"{called} {ended}",
        source=name or written,
        detail=f"$ {written}\n{text.rstrip()}\n",
        key=key or "\n".join([written, *last]),
    )


def run(words: Sequence[str]) -> tuple[int, str, bool]:
    """Run a command with its output passed on and return its exit code, its output, and whether it was let go.

    That is so where a person interrupted it, or where nobody reads its output any more.

    Raises:
        OSError: It cannot be started.
    """
    with ExitStack() as stack:
        # From before it starts, so that no signal is lost in between.
        passing = _Passing(stack)
        channels = _Channels(stack)
        process = subprocess.Popen(words, stdout=channels.outward[1], stderr=channels.outward[2])
        passing.begin(process)
        channels.started()
        done, end = os.pipe()
        stack.callback(os.close, done)
        waiter = threading.Thread(target=_wait, args=(process, end), daemon=True)
        waiter.start()
        channels.pass_on(done)
        waiter.join()
        code = process.returncode
        return (code if code >= 0 else 128 - code), channels.kept.text(), passing.interrupted or channels.unread


def _wait(process: subprocess.Popen[bytes], end: int) -> None:
    process.wait()
    os.close(end)


class _Passing:
    """Passes the signals that end a process on to the command, and lets the command answer them."""

    def __init__(self, stack: ExitStack) -> None:
        self.interrupted = False
        self._process: subprocess.Popen[bytes] | None = None
        self._early: list[int] = []
        for number in _PASSED:
            # What is ignored here, as under `nohup`, the command ignores too.
            if signal.getsignal(number) is not signal.SIG_IGN:
                stack.callback(signal.signal, number, signal.signal(number, self._take))

    def begin(self, process: subprocess.Popen[bytes]) -> None:
        """Pass on to this process from now on, first what came too early."""
        self._process = process
        for number in self._early:
            process.send_signal(number)

    def _take(self, number: int, frame: FrameType | None) -> None:
        del frame
        self.interrupted |= number in {signal.SIGINT, signal.SIGQUIT}
        # A terminal interrupts all that stand before it; the command was told already.
        if number in {signal.SIGINT, signal.SIGQUIT} and _foreground():
            return
        if self._process is None:
            self._early.append(number)
        else:
            self._process.send_signal(number)


def _foreground() -> bool:
    """Tell whether a terminal interrupts this process and the command together."""
    try:
        return os.isatty(0) and os.tcgetpgrp(0) == os.getpgrp()
    except OSError:
        return False


class _Channels:
    """The output of a command: terminals where ours are, else pipes, so that it writes as it would alone."""

    def __init__(self, stack: ExitStack) -> None:
        self.kept = Ends()
        self.unread = False
        """Whether nobody reads our output any more."""
        self.outward: dict[int, int] = {}
        self._inward: dict[int, int] = {}
        shared: tuple[int, int] | None = None
        for ours in (1, 2):
            if not os.isatty(ours):
                pair = os.pipe()
            elif shared is None:
                pair = shared = _terminal(ours, stack)
            else:
                # One terminal, so that what is written to both stays in order.
                self.outward[ours] = shared[1]
                continue
            self._inward[pair[0]], self.outward[ours] = ours, pair[1]
            os.set_blocking(pair[0], False)
        stack.callback(self._close)

    def started(self) -> None:
        """Let go the command's sides, which it holds itself now."""
        for place in set(self.outward.values()):
            os.close(place)
        self.outward = {}

    def pass_on(self, done: int) -> None:
        """Pass output on until the command has ended; what it left running is not waited for."""
        with selectors.DefaultSelector() as selector:
            for place in (done, *self._inward):
                selector.register(place, selectors.EVENT_READ)
            until: float | None = None
            while self._inward:
                wait = None if until is None else min(_QUIET, until - monotonic())
                ready = [key.fd for key, _ in selector.select(wait)]
                if until is not None and (not ready or monotonic() > until):
                    return
                if done in ready:
                    selector.unregister(done)
                    until = monotonic() + _LONGEST
                for place in ready:
                    if place in self._inward and not self._piece(place):
                        selector.unregister(place)
                        os.close(place)
                        del self._inward[place]

    def _piece(self, place: int) -> bool:
        """Pass on what is there and tell whether there can be more."""
        try:
            data = os.read(place, _PIECE)
        except BlockingIOError:
            return True
        except OSError:
            return False  # a terminal whose other side is closed
        self.kept.add(data)
        try:
            _write(self._inward[place], data)
        except OSError:
            # The command is told as it would be alone: by what it writes to.
            self.unread = True
            return False
        return bool(data)

    def _close(self) -> None:
        for place in {*self._inward, *self.outward.values()}:
            os.close(place)


def _write(place: int, data: bytes) -> None:
    while data:
        try:
            data = data[os.write(place, data) :]
        except BlockingIOError:
            select.select([], [place], [])


def _terminal(ours: int, stack: ExitStack) -> tuple[int, int]:
    """Open a terminal that is as ours, and stays as large; return our side and the command's."""
    inner, outer = os.openpty()
    modes = termios.tcgetattr(ours)
    # Our terminal makes of a line's end what it makes of it.
    modes[1] &= ~termios.OPOST
    termios.tcsetattr(outer, termios.TCSANOW, modes)

    def resize(*_: object) -> None:
        with suppress(OSError):
            termios.tcsetwinsize(inner, termios.tcgetwinsize(ours))

    resize()
    stack.callback(signal.signal, signal.SIGWINCH, signal.signal(signal.SIGWINCH, resize))
    return inner, outer
