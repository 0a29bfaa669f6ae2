"""`indult hook`: answer a coding agent's harness, which asks before and after each call of a tool.

A harness runs the tool when its hook breaks. So nothing here ends in any other way than with an answer in the words of
the harness, or with what blocks the call there.
"""

from __future__ import annotations

import os
import sys
from _thread import allocate_lock, start_new_thread
from importlib import import_module
from typing import TYPE_CHECKING, Final, NoReturn

from indult.cli.edge import printable, unexpected
from indult.cli.plain import DATABASE, Option, Verb
from indult.errors import ConfigurationError, IndultError, UsageError
from indult.places import POLICY, repository

if TYPE_CHECKING:
    from indult.adapters.hooks import Answer, Event, Harness, Wire

__all__ = ["DEADLINE", "HARNESSES", "VERB", "run"]

HARNESSES: Final = ("claude-code", "codex", "copilot")
"""The harnesses whose words are known."""

PROJECT: Final = "CLAUDE_PROJECT_DIR"
"""The variable in which Claude Code names the folder that a session was begun in."""

ENTRY: Final = ("CLAUDE_CODE_ENTRYPOINT", "sdk-cli")
"""The variable, and its value, by which Claude Code tells that it runs with `-p`: nobody is there to be asked."""

LARGEST: Final = 32_000_000
"""How much of an event is read: results of calls, which are not judged, may be larger than anything that is."""

DEADLINE: Final = 20.0
"""After how many seconds a call is blocked: a harness waits 30 or more, and then runs the tool."""


def run(*, harness: str, root: str | None, require: bool) -> int:
    """Read one event from standard input and answer it."""
    if harness not in HARNESSES:
        raise UsageError(f"unknown harness `{harness}`", hint=f"one of {', '.join(HARNESSES)}")
    words: Harness = import_module(f"indult.adapters.{harness.replace('-', '_')}")
    mouth = _Mouth(words)
    try:
        mouth.event = words.read(_input())
        if os.environ.get(ENTRY[0]) == ENTRY[1]:
            mouth.event = mouth.event._replace(headless=True)
        found = _root(mouth.event, root, harness)
        # Whoever names a repository means one with a policy.
        wire = words.write(mouth.event, _answer(mouth.event, found, require=require or root is not None))
    except BaseException as exc:
        wire = words.failure(_why(exc), mouth.event)
    return mouth.say(wire)


VERB: Final = Verb(
    name="hook",
    short_help="Answer a coding agent's hook: judge its call before it runs.",
    help="Answer one event of a coding agent's harness, read from standard input as JSON: before a call of a tool, judge "
    "it and record that. HARNESS is claude-code, codex or copilot. Whatever goes wrong blocks the call.",
    argument=("harness", ""),
    options=(
        Option(
            "--repository",
            "root",
            "The repository whose policy holds; by default the nearest one above the folder of the call.",
            metavar="PATH",
        ),
        Option(
            "--require", "require", "Block the call where there is no policy, instead of saying nothing.", is_flag=True
        ),
    ),
    run=run,
)


def __getattr__(name: str) -> object:
    """Make the click command when it is asked for: a plain command line does without."""
    if name != "command":
        raise AttributeError(name)
    from indult.cli.frame import command_of

    return command_of(VERB)


def _input() -> bytes:
    return sys.stdin.buffer.read(LARGEST)


def _root(event: Event, given: str | None, harness: str) -> str | None:
    """Return the repository whose policy holds for an event.

    An agent can change its folder, and make one with a policy of its own. Where the harness says in which project its
    session was begun, the policy of that one holds.
    """
    project = os.environ.get(PROJECT) if harness == "claude-code" else None
    named = given or (project if project and os.path.lexists(os.path.join(project, POLICY)) else None)  # noqa: PTH118
    return os.path.realpath(named) if named else repository(event.cwd)


def _answer(event: Event, root: str | None, *, require: bool) -> Answer:
    from indult.adapters.hooks import NOTHING, decide

    if root is None or not os.path.lexists(os.path.join(root, POLICY)):  # noqa: PTH118
        if require:
            raise ConfigurationError(
                f"there is no policy in `{root or event.cwd}`", hint=f"write `{POLICY}` there, or run `indult init`"
            )
        return NOTHING
    from indult.adapters.desk import Desk

    with Desk.open(root, database=os.environ.get(DATABASE) or None) as desk:
        return decide(event, desk)


class _Mouth:
    """Says one thing to the harness, in time: whoever is late says nothing any more."""

    def __init__(self, words: Harness) -> None:
        self.event: Event | None = None
        self._words = words
        self._mine = allocate_lock()
        self._done = allocate_lock()
        self._done.acquire()
        start_new_thread(self._watch, ())

    def say(self, wire: Wire) -> int:
        """Write an answer and return the exit code."""
        self._mine.acquire()
        self._done.release()
        trouble = _written(wire.stdout)
        if trouble is not None:
            wire = self._words.failure(f"the answer cannot be written: {trouble}", self.event)
        if wire.stderr:
            sys.stderr.write(_shown(wire))
            sys.stderr.flush()
        return wire.exit_code

    def _watch(self) -> None:
        """Block the call where the answer does not come in time, whatever it waits for."""
        if not self._done.acquire(timeout=DEADLINE) and self._mine.acquire(blocking=False):
            self._give_up()

    def _give_up(self) -> NoReturn:
        wire = self._words.failure(f"no answer within {DEADLINE:g} seconds", self.event)
        os.write(1, wire.stdout.encode())
        os.write(2, _shown(wire).encode())
        os._exit(wire.exit_code)


def _written(text: str) -> str | None:
    """Write to standard output, and return what was in the way of it."""
    if sys.__stdout__ is None:
        return "standard output is closed"
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except (OSError, ValueError) as exc:
        return str(exc)
    return None


def _why(exc: BaseException) -> str:
    if isinstance(exc, IndultError):
        return "\n".join(exc.lines())
    try:
        return unexpected(exc)
    except Exception:
        return f"indult itself failed: {type(exc).__name__}: {exc}"


def _shown(wire: Wire) -> str:
    """Return what goes to standard error, of which a harness shows the lines as they are."""
    if not wire.stderr and not wire.exit_code:
        return ""
    lead = ["indult: blocked, since the call cannot be judged"] if wire.exit_code else []
    return "\n".join([*lead, *(printable(line) for line in wire.stderr.split("\n"))]) + "\n"
