"""`indult mixer`: five personas act on their own until the loop stops and says why."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable
from typing import Any, Final

import click

from indult.cli.frame import db_option, emit, json_option
from indult.gate import Requests
from indult.ids import new_id
from indult.ledger import open_ledger
from indult.loop import Result, Step, StopKind, run_stream
from indult.worlds.mixer import Mixer, MixerOptions, mixer_policy
from indult.worlds.mixer.show import metrics, step_lines, step_row, stop_lines

__all__ = ["command", "exit_code", "play"]

_LONG: Final = 500
"""Steps from which a run on a terminal shows a progress bar in place of every step."""


@click.command(name="mixer", help="Let personas act on their own under a declared law, and say why they stop.")
@click.option("--reset", is_flag=True, help="Forget the bonds and critiques of earlier runs first.")
@click.option("--max-intensity", type=int, default=4, show_default=True, help="The venue's intensity cap.")
@click.option("--require-consent", is_flag=True, help="Moves of intensity 3 and more need consent.")
@click.option("--blocked", multiple=True, metavar="ID", help="A persona that may not be approached; repeatable.")
@click.option("--goal-stage", default="walk_buddy", show_default=True, help="The stage that any pair must reach.")
@click.option("--max-turns", type=click.IntRange(0), default=12, show_default=True, help="Most turns.")
@click.option(
    "--max-engine-calls", type=click.IntRange(0), default=60, show_default=True, help="Most proposals asked for."
)
@click.option(
    "--stall-patience", type=int, default=4, show_default=True, help="Turns without progress before it stops."
)
@click.option(
    "--on-ask",
    type=click.Choice(["continue", "stop"]),
    default="continue",
    show_default=True,
    help="Go on without an answer, or stop after a turn in which asking was all that happened.",
)
@click.option("--seed", type=int, default=7, show_default=True, help="Seed of who is near.")
@click.option("--agents", type=int, default=5, show_default=True, help="How many personas; more than 5 are made up.")
@db_option
@json_option
def command(*, reset: bool, db: str | None, as_json: bool, **options: Any) -> int:
    """Run the mixer once, on the memory of the runs before."""
    chosen = MixerOptions(**options)
    with open_ledger(db) as ledger:
        world = Mixer(ledger, chosen)
        if reset:
            world.reset()
        run = new_id("run", time.time_ns() // 1_000_000, os.urandom(10))

        async def start(on_step: Callable[[Step], None]) -> Result:
            return await world.loop(on_step=on_step).run(run, world="mixer", options=chosen.to_dict())

        return play(world, start, as_json=as_json)


def play(world: Mixer, start: Callable[[Callable[[Step], None]], Any], *, as_json: bool) -> int:
    """Run `start` with a watcher that shows every step, then show how it ended; return the exit code."""
    turns, agents = world.options.max_turns, len(world.cast)
    steps = min(turns * agents, world.options.max_engine_calls)
    try:
        if not as_json and steps >= _LONG and sys.stdout.isatty():
            with click.progressbar(length=steps, label="steps") as bar:
                result = asyncio.run(start(lambda step: bar.update(1)))
        else:
            result = asyncio.run(start(_emit_step if as_json else _print_step))
    except KeyboardInterrupt:
        click.echo("\ncancelled; every step so far is kept, and `indult run resume` goes on from there", err=True)
        raise
    if as_json:
        emit(
            {"stop": result.stop.to_dict(), "metrics": metrics(result.meter), "bonds": world.bonds(), "run": result.run}
        )
    else:
        click.echo("\n".join(["", *_bond_lines(world), *_waiting_lines(world, result), *stop_lines(result)]))
    return exit_code(result)


def exit_code(result: Result) -> int:
    """Return what a run ends a command with: 0 at the goal, 4 waiting for a person, 1 failed, else 5."""
    codes = {StopKind.GOAL_REACHED: 0, StopKind.AWAITING_APPROVAL: 4, StopKind.FAILED: 1}
    return codes.get(result.stop.kind, 5)


def _emit_step(step: Step) -> None:
    emit(step_row(step))


def _print_step(step: Step) -> None:
    if step.event is not None and step.event.data["cursor"]["index"] == 1:
        click.echo(f"{'' if step.turn == 1 else chr(10)}Turn {step.turn}")
    click.echo("\n".join(step_lines(step_row(step))))


def _waiting_lines(world: Mixer, result: Result) -> list[str]:
    """Return the requests that a run waits for, if it does."""
    if result.stop.kind is not StopKind.AWAITING_APPROVAL:
        return []
    waiting = Requests(world.ledger, mixer_policy()).pending(run_stream(result.run))
    return [
        f"waiting: {one.request.id} ({one.request.requested_by}): {' '.join(one.request.scope.words())}"
        for one in waiting
    ]


def _bond_lines(world: Mixer) -> list[str]:
    return [f"{row['a']} + {row['b']}: bond {row['bond']} ({row['stage']})" for row in world.bonds()[:5]]
