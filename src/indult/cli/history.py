"""How the history of a signal is told: what was written of it in its stream, each event in a line of words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from indult.cli.frame import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from indult.autofix.signals import Signal
    from indult.ledger import Event, Ledger

__all__ = ["HISTORY", "data_of", "history", "told"]

HISTORY: Final = 200
"""How many of the newest events of a signal are shown, its sightings aside."""

_VIEWS: Final = frozenset({"bodies", "clear", "counts", "keep", "latest"})
_COUNTED: Final = frozenset({"judgement", "outcome", "signal_seen"})


def history(ledger: Ledger, signal: Signal) -> tuple[list[Event], int]:
    """Return the newest events of a signal, oldest first, and how many calls were judged; what is only counted is left out."""
    newest: list[Event] = []
    judged = 0
    for event in ledger.events(signal.subject, newest_first=True):
        judged += event.kind == "judgement"
        if event.kind not in _COUNTED and len(newest) < HISTORY:
            newest.append(event)
    return newest[::-1], judged


def data_of(event: Event) -> dict[str, Any]:
    """Return what an event says, without what only feeds the views."""
    return {name: value for name, value in event.data.items() if name not in _VIEWS}


def told(event: Event) -> str:
    """Return an event in one line: of a move what it was from, to and why, of any other what it came to."""
    data = data_of(event)
    if {"before", "state", "reason"} <= data.keys():
        by = f" by {data['by']}" if data.get("by") else ""
        return printable(
            f"{event.kind.removeprefix('signal_')}{by}  {data['before']} -> {data['state']}: {data['reason']}"
        )
    try:
        words = _WORDS.get(event.kind, _others)(data)
    except (KeyError, TypeError):
        # Whoever can write the ledger can write this too, and not in our shape.
        words = _others(data)
    return printable(f"{event.kind}  {words}".rstrip())


def _others(data: Mapping[str, Any]) -> str:
    """Return what can be said of an event that is not known here: its short values by name."""
    return ", ".join(f"{name} {value}" for name, value in data.items() if isinstance(value, str | int))


_WORDS: Final[Mapping[str, Callable[[Mapping[str, Any]], str]]] = {
    "briefed": lambda data: f"{data['actor']} was told the boundary {data['boundary']}",
    "handed_back": lambda data: f"by {data['by']} as {data['request']}",
    "reported": lambda data: f"refused again and again: {len(data['denials'])} of its calls",
    "ship_landed": lambda data: f"commit {data['commit']}",
    "ship_refused": lambda data: (
        f"{data['branch']} into {data['into']}" + (f" by {', '.join(data['rules'])}" if data["rules"] else "")
    ),
    "ship_started": lambda data: f"{data['branch']} into {data['into']} as commit {data['commit']}",
    "ship_undone": lambda data: str(data["why"]),
}
