"""`indult autofix`: run the self-repair circle over the signals that triage takes up, and follow it."""

from __future__ import annotations

import signal as signals_of_the_system
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import click

from indult.autofix.run import Autofix, ask_to_stop
from indult.budget import Budget
from indult.cli.deciding import os_user
from indult.cli.edge import say
from indult.cli.following import at_work, opened, repository_option, status
from indult.cli.frame import db_option, emit, json_option, printable
from indult.cli.receipts import beside, lines, summaries
from indult.cli.turns import show
from indult.errors import ConfigurationError, RunError
from indult.loop.stop import StopKind
from indult.ship.ship import POLICY_FILE

if TYPE_CHECKING:
    from types import FrameType

    from indult.autofix.receipt import Receipt
    from indult.autofix.setting import Progress
    from indult.ledger import Ledger

__all__ = ["command"]

CODES: Final = {StopKind.GOAL_REACHED: 0, StopKind.AWAITING_APPROVAL: 4, StopKind.FAILED: 1}
"""What each stop ends the command with; any other is a run that stopped short, 5."""


@click.group(
    name="autofix",
    help="Take signals up, let a fixer work on each in a work tree of its own, and land what the gate allows. The fixer "
    "is the command that the policy of the target branch names.",
)
def command() -> None:
    """Group the verbs of autofix."""


@command.command(
    help="Start a run: notice, triage, fix, land or hand back. Ends with 0 when nothing is left to fix, with 4 when a "
    "person has to answer for a signal of it, with 5 when it stopped short, with 1 when it failed.",
)
@click.option("--into", metavar="TARGET", help="The branch that fixes land in; by default the one that is checked out.")
@click.option("--jobs", metavar="N", type=click.IntRange(1, 64), default=1, show_default=True, help="Fixes at a time.")
@click.option(
    "--signal", "only", metavar="ID", multiple=True, help="Only this signal, whatever became of it; repeat it."
)
@click.option("--engine-calls", metavar="N", type=click.IntRange(0), help="The most calls of the fixer in this run.")
@click.option("--seconds", metavar="N", type=click.FloatRange(0), help="The longest that this run may take.")
@click.option("--tokens", metavar="N", type=click.IntRange(0), help="The most tokens that its fixers may report.")
@click.option("--cost", metavar="N", type=click.FloatRange(0), help="The highest cost that its fixers may report.")
@repository_option
@click.option(
    "--policy-file", metavar="NAME", default=POLICY_FILE, show_default=True, help="Where the policy lies in TARGET."
)
@db_option
@json_option
def run(
    *,
    into: str | None,
    jobs: int,
    only: tuple[str, ...],
    repository: str,
    policy_file: str,
    db: str | None,
    as_json: bool,
    **ceilings: float | None,
) -> int:
    """Start a run and tell what happens."""
    with opened(repository, db) as (root, target, ledger), _stoppable() as cancelled:
        autofix = Autofix(
            root=root,
            ledger=ledger,
            into=into or _checked_out(target),
            policy_file=policy_file,
            jobs=jobs,
            only=only,
            budget=Budget.from_dict({name: value for name, value in ceilings.items() if value is not None}),
            database=db or "",
            cancelled=cancelled,
            tell=_tell(ledger, as_json=as_json),
        )
        return _told(autofix.run(), ledger, as_json=as_json)


@command.command(
    short_help="Go on with a run that has not reached its end.",
    help="Go on with a run that was stopped or killed, that failed or got no further, or that waits for a person; by "
    "default with the latest. One that has spent its budget is over.",
)
@click.argument("run", required=False)
@repository_option
@db_option
@json_option
def resume(*, run: str | None, repository: str, db: str | None, as_json: bool) -> int:
    """Go on with a run, with what is left of its budget."""
    with opened(repository, db) as (root, target, ledger), _stoppable() as cancelled:
        autofix = Autofix(
            root=root,
            ledger=ledger,
            into=target or "",
            database=db or "",
            cancelled=cancelled,
            tell=_tell(ledger, as_json=as_json),
        )
        return _told(autofix.resume(run), ledger, as_json=as_json)


@command.command(
    help="Ask the run that is at work to stop: it ends its fixers, and what they left undone is taken up again."
)
@click.option("--by", metavar="NAME", help="Who asks; by default the user of this system.")
@repository_option
@db_option
@json_option
def stop(*, by: str | None, repository: str, db: str | None, as_json: bool) -> None:
    """Ask a run to stop."""
    with opened(repository, db) as (root, _, ledger):
        if at_work(root, ledger) is None:
            raise RunError("no run of autofix is at work here", hint="indult autofix status")
        name = ask_to_stop(ledger, by=os_user() if by is None else by)
    if as_json:
        emit({"run": name, "asked": True})
    else:
        say(f"asked {name} to stop")


command.add_command(show)
command.add_command(status)


def _checked_out(target: str | None) -> str:
    if target is None:
        raise ConfigurationError("no branch is checked out that fixes could land in", hint="--into TARGET")
    return target


@contextmanager
def _stoppable() -> Iterator[Callable[[], bool]]:
    """Take Ctrl-C and the end of a session as a wish to stop; a second one ends at once, and the next run clears up."""
    asked: list[int] = []

    def ask(number: int, frame: FrameType | None) -> None:
        del frame
        asked.append(number)
        put_back()

    def put_back() -> None:
        for kind, handler in before.items():
            signals_of_the_system.signal(kind, handler)

    kinds = (signals_of_the_system.SIGINT, signals_of_the_system.SIGTERM, signals_of_the_system.SIGHUP)
    before = {one: signals_of_the_system.signal(one, ask) for one in kinds}
    try:
        yield lambda: bool(asked)
    finally:
        put_back()


def _tell(ledger: Ledger, *, as_json: bool) -> Callable[[Progress], None]:
    summary = summaries(ledger)

    def tell(progress: Progress) -> None:
        if as_json:
            emit(progress.to_dict())
            return
        line = "  ".join(word for word in (progress.signal, progress.what, progress.text) if word)
        say(beside(printable(line), summary(progress.signal)))

    return tell


def _told(came: Receipt, ledger: Ledger, *, as_json: bool) -> int:
    """Say what came of a run and return the exit code."""
    if as_json:
        emit(came.to_dict())
    else:
        say("", *lines(came, summaries(ledger)))
    code = CODES.get(came.stop.kind, 5)
    # Whatever ended the run: a person who has to answer is told so by whatever called it. What failed comes first.
    return 4 if came.waits and came.stop.kind is not StopKind.FAILED else code
