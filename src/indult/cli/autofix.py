"""`indult autofix`: run the self-repair circle over the signals that triage takes up, and follow it."""

from __future__ import annotations

import signal as signals_of_the_system
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import click

from indult.autofix.receipt import receipt
from indult.autofix.records import fixes, runs
from indult.autofix.run import Autofix, ask_to_stop
from indult.autofix.signals import SignalState, signals
from indult.budget import Budget
from indult.cli.edge import say
from indult.cli.frame import db_option, emit, json_option, printable
from indult.errors import ConfigurationError
from indult.ledger import open_ledger
from indult.loop.stop import StopKind
from indult.places import repository_ledger
from indult.ship.git import Repository
from indult.ship.ship import POLICY_FILE

if TYPE_CHECKING:
    from types import FrameType

    from indult.autofix.receipt import Receipt
    from indult.autofix.setting import Progress
    from indult.ledger import Ledger

__all__ = ["command"]

CODES: Final = {StopKind.GOAL_REACHED: 0, StopKind.AWAITING_APPROVAL: 4, StopKind.FAILED: 1}
"""What each stop ends the command with; any other is a run that stopped short, 5."""

_repository = click.option(
    "--repository", metavar="PATH", default=".", show_default=True, help="The repository, or a work tree of it."
)


@click.group(
    name="autofix",
    help="Take signals up, let a fixer work on each in a work tree of its own, and land what the gate allows. The fixer "
    "is the command that the policy of the target branch names.",
)
def command() -> None:
    """Group the verbs of autofix."""


@command.command(
    help="Start a run: notice, triage, fix, land or hand back. Ends with 0 when nothing is left to fix, with 4 when a "
    "person has to answer, with 5 when it stopped short, with 1 when it failed.",
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
@_repository
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
    with _opened(repository, db) as (root, target, ledger), _stoppable() as cancelled:
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
            tell=_tell(as_json=as_json),
        )
        return _told(autofix.run(), as_json=as_json)


@command.command(help="Go on with a run that was stopped or killed, or that waits for a person; by default the latest.")
@click.argument("run", required=False)
@_repository
@db_option
@json_option
def resume(*, run: str | None, repository: str, db: str | None, as_json: bool) -> int:
    """Go on with a run, with what is left of its budget."""
    with _opened(repository, db) as (root, target, ledger), _stoppable() as cancelled:
        autofix = Autofix(
            root=root,
            ledger=ledger,
            into=target or "",
            database=db or "",
            cancelled=cancelled,
            tell=_tell(as_json=as_json),
        )
        return _told(autofix.resume(run), as_json=as_json)


@command.command(help="Show the runs, what is under way, and how many signals stand where.")
@_repository
@db_option
@json_option
def status(*, repository: str, db: str | None, as_json: bool) -> None:
    """Print what the ledger knows of autofix."""
    with _opened(repository, db, read_only=True) as (_, _, ledger):
        states = {str(state): sum(1 for _ in signals(ledger, state)) for state in SignalState}
        latest = runs(ledger)[-1:]
        found = [receipt(ledger, name) for name in latest]
        under_way = [
            {"signal": fix.signal, "fix": fix.fix, "branch": fix.branch, "since": fix.since} for fix in fixes(ledger)
        ]
        if as_json:
            emit({"signals": states, "fixes": under_way, "latest": [one.to_dict() for one in found]})
            return
        counted = ", ".join(f"{count} {state}" for state, count in states.items() if count)
        say(f"signals  {counted or 'none'}")
        for fix in under_way:
            say(printable(f"at work  {fix['signal']} on {fix['branch']} since {fix['since']}"))
        for one in found:
            say(*map(printable, _lines(one)))


@command.command(
    help="Ask the run that is at work to stop: it ends its fixers, and what they left undone is taken up again."
)
@click.option("--by", metavar="NAME", default="somebody", show_default=True, help="Who asks.")
@_repository
@db_option
@json_option
def stop(*, by: str, repository: str, db: str | None, as_json: bool) -> None:
    """Ask a run to stop."""
    with _opened(repository, db) as (_, _, ledger):
        name = ask_to_stop(ledger, by=by)
    if as_json:
        emit({"run": name, "asked": True})
    else:
        say(f"asked {name} to stop")


@contextmanager
def _opened(path: str, db: str | None, *, read_only: bool = False) -> Iterator[tuple[str, str | None, Ledger]]:
    """Open a repository and its ledger: its main work tree, and the branch that is checked out there."""
    with Repository.open(path) as found:
        root, target = found.root, found.checked_out()
    with open_ledger(db or repository_ledger(root), read_only=read_only) as ledger:
        yield root, target, ledger


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

    kinds = (signals_of_the_system.SIGINT, signals_of_the_system.SIGTERM)
    before = {one: signals_of_the_system.signal(one, ask) for one in kinds}
    try:
        yield lambda: bool(asked)
    finally:
        put_back()


def _tell(*, as_json: bool) -> Callable[[Progress], None]:
    def tell(progress: Progress) -> None:
        if as_json:
            emit(progress.to_dict())
        else:
            say(printable("  ".join(word for word in (progress.signal, progress.what, progress.text) if word)))

    return tell


def _told(came: Receipt, *, as_json: bool) -> int:
    """Say what came of a run and return the exit code."""
    if as_json:
        emit(came.to_dict())
    else:
        say("", *map(printable, _lines(came)))
    return CODES.get(came.stop.kind, 5)


def _lines(came: Receipt) -> Iterator[str]:
    yield f"run {came.run}"
    for end in came.ends:
        yield f"  {end['signal']}  {end['state']}  {_stop(end)}{_more(end)}"
    yield f"  fixes {came.fixes}, ships {came.ships}, landed {len(came.ended('landed'))}, handed back {len(came.ended('needs-human'))}"
    for rule, count in came.refusals.items():
        yield f"  refused by {rule}: {count}"
    meter = came.meter
    yield (
        f"  fixer calls {meter.engine_calls}, gate evaluations {meter.gate_evaluations}, tokens {meter.tokens}, "
        f"cost {meter.cost:g}, seconds {meter.seconds:.0f}"
    )
    yield f"STOP: {came.stop}"


def _stop(end: Any) -> str:
    return f"{end['stop']['kind']} — {end['stop']['detail']}"


def _more(end: Any) -> str:
    landed, request = end.get("landed"), end.get("request")
    if landed:
        return f" [{', '.join(landed['files'])}]"
    return f" (indult show {request})" if request else ""
