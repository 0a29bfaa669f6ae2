"""`indult run`: find, show and continue the runs that a ledger keeps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import click

from indult.cli.frame import db_option, emit, json_option
from indult.cli.mixer import play
from indult.errors import RunError
from indult.gate import kept
from indult.ledger import Ledger, open_ledger
from indult.loop import Result, Step, run_stream
from indult.loop.step import STEPS, recorded
from indult.worlds.mixer import Mixer, MixerOptions
from indult.worlds.mixer.show import step_lines, step_row

__all__ = ["command"]


@click.group(name="run", help="List, show and resume the runs in a ledger.")
def command() -> None:
    """Group the verbs of runs."""


@command.command(name="list", help="List the runs, oldest first.")
@db_option
@json_option
def list_runs(*, db: str | None, as_json: bool) -> None:
    """Print one line per run: its name, world, events, and how it ended."""
    with open_ledger(db, create=False) as ledger:
        for row in _runs(ledger):
            if as_json:
                emit(row)
            else:
                click.echo(f"{row['run']}  {row['world']:<8} {row['events']:>6} events  {_ended(row)}")


@command.command(help="Show the steps of a run; by default of the latest.")
@click.argument("run", required=False)
@db_option
@json_option
def show(*, run: str | None, db: str | None, as_json: bool) -> None:
    """Print a run as the ledger has it."""
    with open_ledger(db, create=False) as ledger:
        row = _find(ledger, run)
        for event in ledger.events(run_stream(row["run"])):
            if event.kind in STEPS:
                _show_step(recorded(event, kept(ledger, event.data) or {}), as_json=as_json)
        if as_json:
            emit(row)
        else:
            click.echo(_ended(row))


@command.command(help="Continue an interrupted run exactly where it stood; by default the latest.")
@click.argument("run", required=False)
@db_option
@json_option
def resume(*, run: str | None, db: str | None, as_json: bool) -> int:
    """Continue a run from its last whole step."""
    with open_ledger(db, create=False) as ledger:
        row = _find(ledger, run)
        if row["world"] != "mixer":
            raise RunError(
                f"run `{row['run']}` belongs to the world `{row['world']}`, which this command cannot build",
                hint="call Loop.resume from the program that started it",
            )
        world = Mixer(ledger, MixerOptions.from_dict(row["options"]))

        async def go_on(on_step: Callable[[Step], None]) -> Result:
            return await world.loop(on_step=on_step).resume(row["run"])

        return play(world, go_on, as_json=as_json)


def _runs(ledger: Ledger) -> Iterator[dict[str, Any]]:
    """Yield what a list says of each run, oldest first."""
    for stream, version in ledger.streams("run:"):
        first = next(iter(ledger.events(stream, limit=1)))
        last = ledger.last(stream)
        assert last is not None
        yield {
            "run": stream.removeprefix("run:"),
            "world": first.data["world"],
            "options": first.data["options"],
            "at": first.at,
            "events": version,
            "stop": last.data["stop"] if last.kind == "run_stopped" else None,
        }


def _find(ledger: Ledger, run: str | None) -> dict[str, Any]:
    """Return the run of that name, or the latest one."""
    rows = [row for row in _runs(ledger) if run is None or row["run"] == run]
    if not rows:
        raise RunError(
            "there is no run in this ledger" if run is None else f"there is no run `{run}`", hint="indult run list"
        )
    return max(rows, key=lambda row: str(row["at"]))


def _show_step(step: Step, *, as_json: bool) -> None:
    row = step_row(step)
    if as_json:
        emit(row)
    elif step.judgement is not None and step.proposal is None:
        click.echo(f"[{step.judgement.verdict:<8}] {step.actor}: what was proposed is not kept any more")
    else:
        click.echo("\n".join(step_lines(row)))


def _ended(row: dict[str, Any]) -> str:
    stop = row["stop"]
    return "not finished" if stop is None else f"STOP: {stop['kind']} — {stop['detail']}"
