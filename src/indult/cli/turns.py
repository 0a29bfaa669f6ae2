"""`indult autofix show`: what each turn of a signal came to, and how its fixes ended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import click

from indult.autofix.records import fixes, run_stream, runs
from indult.autofix.signals import find
from indult.cli.edge import say
from indult.cli.following import at_work, opened, repository_option
from indult.cli.frame import db_option, emit, json_option, printable
from indult.errors import RunError

if TYPE_CHECKING:
    from indult.autofix.signals import Signal
    from indult.ledger import Event, Ledger

__all__ = ["show"]

SHOWN: Final = 20
"""Lines of what a fixer printed that are shown where no turn is picked."""

_KINDS: Final = frozenset({"turn_started", "turn_ended", "held_shipped", "signal_ended"})


@dataclass(slots=True, kw_only=True)
class Turn:
    """What is known of one turn: `number` counts all of its signal, and `ended` is empty as long as it has not ended."""

    number: int
    started: Event
    run: str
    ended_at: str | None = None
    ended: Mapping[str, Any] = field(default_factory=dict)
    under_way: bool = False

    @property
    def fix(self) -> str:
        """Return the fix that it belongs to."""
        return str(self.started.data["fix"])

    def to_dict(self, ledger: Ledger, *, brief: bool) -> dict[str, Any]:
        """Return the JSON form; `came` is none where the turn has not ended."""
        shown: dict[str, Any] = {"what": "turn", "turn": self.number, "run": self.run, "fix": self.fix}
        shown |= {"turn_of_fix": self.started.data["turn"], "at": self.started.at, "ended_at": self.ended_at}
        shown |= {"came": self.ended.get("came"), "under_way": self.under_way}
        shown |= {"said": self.ended.get("critique", {}).get("reason"), "fixer": self.ended.get("fixer")}
        shown["output"] = _body(ledger, self.ended.get("output"))
        return {**shown, "brief": _body(ledger, self.started.data["brief"])} if brief else shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Other:
    """What else became of a signal in a run: a held branch that was shipped, or the end of a fix."""

    event: Event
    run: str

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        data, held = self.event.data, self.event.kind == "held_shipped"
        names = ("branch", "came") if held else ("state", "turns", "stop", "landed", "request")
        shown = {name: data[name] for name in names if name in data}
        return {"what": "held" if held else "ended", "run": self.run, "fix": data["fix"], "at": self.event.at, **shown}

    def line(self) -> str:
        """Return it as a line of text."""
        data = self.event.data
        if self.event.kind == "held_shipped":
            return f"{self.event.at}  shipped {data['branch']} as it was held: {data['came']}"
        asked = f" (indult show {data['request']})" if data.get("request") else ""
        return f"{self.event.at}  {data['state']}: {data['stop']['kind']} — {data['stop']['detail']}{asked}"


@click.command(
    name="show",
    short_help="Show what each turn of a signal came to.",
    help="Show what each turn of SIGNAL came to, the newest last: when it was, what came of it and what was said of that, "
    "how the fixer ended, and the end of what it printed.",
    epilog="For instance: indult autofix show s_0123456789ab --turn 2 --brief",
)
@click.argument("name", metavar="SIGNAL")
@click.option("--turn", metavar="N", type=click.IntRange(1), help="Only this one of its turns, with all that is kept.")
@click.option("--brief", is_flag=True, help="What the fixer was told, too.")
@repository_option
@db_option
@json_option
def show(*, name: str, turn: int | None, brief: bool, repository: str, db: str | None, as_json: bool) -> None:
    """Print the turns of a signal."""
    with opened(repository, db, read_only=True) as (root, _, ledger):
        signal = find(ledger, name)
        found = _found(ledger, signal, alive=at_work(root, ledger) is not None)
        if turn is not None:
            found = [one for one in found if isinstance(one, Turn) and one.number == turn]
            if not found:
                raise RunError(f"signal `{name}` has no turn {turn}", hint=f"indult autofix show {name}")
        for one in found:
            if as_json:
                emit(one.to_dict(ledger, brief=brief) if isinstance(one, Turn) else one.to_dict())
            elif isinstance(one, Turn):
                say(*map(printable, _lines(ledger, one, brief=brief, most=None if turn else SHOWN)))
            else:
                say(printable(one.line()))
    if not found and not as_json:
        say(f"no fixer was at work on {name} yet: it is {signal.state}")


def _found(ledger: Ledger, signal: Signal, *, alive: bool) -> list[Turn | Other]:
    """Return what became of a signal in all runs, oldest first; `alive` tells whether a run is at work now."""
    events = [
        (event, run)
        for run in runs(ledger)
        for event in ledger.events(run_stream(run), kinds=_KINDS)
        if event.data.get("signal") == signal.id
    ]
    # A run that was gone on with later stands in its own stream, so the streams do not follow each other.
    events.sort(key=lambda one: one[0].position)
    under_way = {fix.fix for fix in fixes(ledger) if alive}
    found: list[Turn | Other] = []
    turns: dict[tuple[str, int], Turn] = {}
    for event, run in events:
        key = str(event.data["fix"]), int(event.data.get("turn", 0))
        if event.kind == "turn_started":
            turns[key] = Turn(number=len(turns) + 1, started=event, run=run, under_way=key[0] in under_way)
            found.append(turns[key])
        elif event.kind == "turn_ended" and key in turns:
            turns[key].ended, turns[key].ended_at, turns[key].under_way = event.data, event.at, False
        elif event.kind != "turn_ended":
            found.append(Other(event=event, run=run))
    return found


def _lines(ledger: Ledger, turn: Turn, *, brief: bool, most: int | None) -> Iterator[str]:
    """Yield what is told of a turn; what others wrote is set in, so that no line of it can pass for one of ours."""
    came = turn.ended.get("came") or ("under way" if turn.under_way else "ended without a word")
    yield f"turn {turn.number}  {turn.started.at}  {came}"
    yield f"  run     {turn.run}, turn {turn.started.data['turn']} of fix {turn.fix}"
    fixer = turn.ended.get("fixer")
    if fixer:
        code = "" if fixer["code"] is None else f", exit code {fixer['code']}"
        yield f"  fixer   {fixer['why']}{code}, after {fixer['seconds']:.1f} s"
    yield from _set_in("said", turn.ended.get("critique", {}).get("reason"))
    if brief:
        yield from _set_in("brief", _body(ledger, turn.started.data["brief"]))
    yield from _set_in("printed", _body(ledger, turn.ended.get("output")), most=most, all_of_it=f"--turn {turn.number}")


def _set_in(name: str, text: str | None, *, most: int | None = None, all_of_it: str = "") -> Iterator[str]:
    """Yield a text under its name, or the last lines of it, with the words that show all."""
    lines = (text or "").rstrip().splitlines()
    if not lines:
        return
    left = 0 if most is None else max(0, len(lines) - most)
    yield f"  {name}" + (f", without its first {left} lines ({all_of_it})" if left else "")
    yield from (f"  | {line}" for line in lines[left:])


def _body(ledger: Ledger, kept: Mapping[str, Any] | None) -> str | None:
    """Return a text that is kept apart; none where it was forgotten, or there is none."""
    return None if kept is None else ledger.body(str(kept["body"]))
