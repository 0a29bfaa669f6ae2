"""`indult autofix status`: how the runs of autofix stand, and what is under way."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from indult.autofix.receipt import receipt
from indult.autofix.records import STATE, fixes, process_of, run_stream, runs
from indult.autofix.run import LOCK
from indult.autofix.signals import tally
from indult.cli.edge import say
from indult.cli.frame import db_option, emit, json_option, printable
from indult.cli.receipts import beside, lines, summaries
from indult.cli.showing import age
from indult.errors import RunError, UsageError
from indult.ledger import open_ledger, utc_now
from indult.loop.stop import StopReason
from indult.places import repository_ledger
from indult.ship.git import Repository
from indult.ship.locks import holder

if TYPE_CHECKING:
    from collections.abc import Callable

    from indult.autofix.receipt import Receipt
    from indult.autofix.records import Fix
    from indult.ledger import Ledger

__all__ = ["at_work", "opened", "repository_option", "status"]

repository_option = click.option(
    "--repository", metavar="PATH", default=".", show_default=True, help="The repository, or a work tree of it."
)

_BEGAN: Final = frozenset({"run_started", "run_resumed"})


@contextmanager
def opened(path: str, db: str | None, *, read_only: bool = False) -> Iterator[tuple[str, str | None, Ledger]]:
    """Open a repository and its ledger: its main work tree, and the branch that is checked out there."""
    with Repository.open(path) as found:
        root, target = found.root, found.checked_out()
    with open_ledger(db or repository_ledger(root), read_only=read_only) as ledger:
        yield root, target, ledger


def at_work(root: str, ledger: Ledger) -> str | None:
    """Return which process runs autofix in a repository, in words; none if none does."""
    held = holder(str(Path(repository_ledger(root)).with_name(LOCK)))
    return held or _living(ledger, held)


def _living(ledger: Ledger, held: str | None) -> str | None:
    """Return the process of the run that is not over, if it is still there; `held` is the one that holds the lock."""
    found = ledger.latest(STATE, "run")
    if found is None:
        return None
    pid = int(found.get("pid", 0))
    return f"process {pid}" if process_of(ledger) is not None or held == f"process {pid}" else None


class RunStanding(StrEnum):
    """How a run stands."""

    AT_WORK = "at-work"
    """Its process is there."""
    OVER = "over"
    """It has said why it stopped."""
    LEFT = "left"
    """Its process ended without a word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A run, how it stands, since when, and which process is at work on it."""

    receipt: Receipt
    standing: RunStanding
    since: str
    process: str | None

    @classmethod
    def of(cls, ledger: Ledger, run: str, process: str | None) -> Known:
        """Return what is known of a run; `process` is the one that runs autofix in its repository.

        Raises:
            RunError: There is no such run.
        """
        began = next(ledger.events(run_stream(run), kinds=_BEGAN, newest_first=True, limit=1), None)
        if began is None:
            raise RunError(f"there is no run `{run}`", hint="indult autofix status --all")
        stopped = ledger.last(run_stream(run), "run_stopped")
        over = stopped is not None and stopped.version > began.version
        came = receipt(ledger, run)
        if over and stopped is not None:
            # Somebody may have asked it to stop just then, or have cleared up behind it since.
            came = replace(came, stop=StopReason.from_dict(stopped.data["stop"]))
        current = (ledger.latest(STATE, "run") or {}).get("run") == run
        mine = _living(ledger, process) if current and not over else None
        return cls(
            receipt=came,
            standing=RunStanding.OVER if over else RunStanding.AT_WORK if mine else RunStanding.LEFT,
            since=began.at,
            process=mine,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form: the receipt, without a stop where there is none yet."""
        shown = {**self.receipt.to_dict(), "standing": str(self.standing), "since": self.since}
        if self.standing is not RunStanding.OVER:
            shown["stop"] = None
        return shown if self.process is None else {**shown, "process": self.process}

    def line(self, now: str) -> str:
        """Return in a line how it stands."""
        match self.standing:
            case RunStanding.AT_WORK:
                return f"at work: {self.process}, run {self.receipt.run} for {age(self.since, now)}"
            case RunStanding.LEFT:
                return f"the run {self.receipt.run} ended without a word: `indult autofix resume {self.receipt.run}` goes on"
            case RunStanding.OVER:
                return f"STOP: {self.receipt.stop}"

    def row(self, now: str) -> str:
        """Return the line of a list of runs."""
        came = self.receipt
        ends = f"landed {len(came.ended('landed'))}, waiting {came.waits}"
        how = {RunStanding.AT_WORK: f"at work: {self.process}", RunStanding.LEFT: "ended without a word"}
        return f"{came.run}  {age(self.since, now):>4}  {ends}  {how.get(self.standing, str(came.stop))}"


@click.command(
    short_help="Show what is under way, and what runs came to.",
    help="Show what is under way, how many signals stand where, and what the latest run came to, or the one that is named.",
    epilog="For instance: indult autofix status --all",
)
@click.argument("run", required=False)
@click.option("--all", "everything", is_flag=True, help="List all runs, one line each, oldest first.")
@repository_option
@db_option
@json_option
def status(*, run: str | None, everything: bool, repository: str, db: str | None, as_json: bool) -> None:
    """Print what the ledger knows of autofix."""
    if run is not None and everything:
        raise UsageError("RUN names one run, and `--all` lists all", hint="one of them at a time")
    with opened(repository, db, read_only=True) as (root, _, ledger):
        process, now = at_work(root, ledger), utc_now()
        if everything:
            for name in runs(ledger):
                known = Known.of(ledger, name, process)
                emit(known.to_dict()) if as_json else say(printable(known.row(now)))
            return
        found = [Known.of(ledger, name, process) for name in ([run] if run else runs(ledger)[-1:])]
        states = {str(state): count for state, count in tally(ledger).items()}
        summary = summaries(ledger)
        if as_json:
            under_way = [_fix(fix, summary) for fix in fixes(ledger)]
            emit(
                {"signals": states, "fixes": under_way, "process": process, "latest": [one.to_dict() for one in found]}
            )
            return
        counted = ", ".join(f"{count} {state}" for state, count in states.items() if count)
        say(f"signals  {counted or 'none'}")
        if process is not None and _living(ledger, process) is None:
            say(f"at work: {process}, which has begun no run yet")
        for fix in fixes(ledger):
            word = "at work" if _living(ledger, process) else "left   "
            say(beside(printable(f"{word}  {fix.signal} on {fix.branch} since {fix.since}"), summary(fix.signal)))
        for known in found:
            over = known.standing is RunStanding.OVER
            say(*([] if over else [printable(known.line(now))]), *lines(known.receipt, summary, over=over))


def _fix(fix: Fix, summary: Callable[[str], str]) -> dict[str, Any]:
    shown = {"signal": fix.signal, "summary": summary(fix.signal), "run": fix.run, "fix": fix.fix}
    return {**shown, "branch": fix.branch, "since": fix.since}
