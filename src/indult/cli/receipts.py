"""How runs of autofix are told: their receipts in lines, and what is behind the id of a signal."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any, Final

from indult.autofix.signals import find
from indult.cli.edge import printable
from indult.errors import LedgerError, UnknownSignal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from indult.autofix.receipt import Receipt
    from indult.ledger import Ledger

__all__ = ["beside", "lines", "summaries"]

_WIDTH: Final = 120
"""How wide a line is that is on no terminal."""

_LEAST: Final = 24
_MOST: Final = 60
"""Characters of a summary that are shown, however little or much fits: it repeats, and the line is about something else."""


def summaries(ledger: Ledger) -> Callable[[str], str]:
    """Return what tells the summary of a signal, which is looked up once; nothing where there is none."""

    @cache
    def summary(signal: str) -> str:
        # Whoever tells of a failing ledger is not stopped by it.
        with suppress(UnknownSignal, LedgerError):
            return printable(find(ledger, signal).summary) if signal else ""
        return ""

    return summary


def beside(line: str, summary: str) -> str:
    """Return a line with a summary behind it, as much of it as fits."""
    if not summary:
        return line
    room = min(max(get_terminal_size((_WIDTH, 24)).columns - len(line) - 4, _LEAST), _MOST)
    return f"{line}  ({summary if len(summary) <= room else f'{summary[: room - 1]}…'})"


def lines(came: Receipt, summary: Callable[[str], str], *, over: bool = True) -> Iterator[str]:
    """Yield what a run came to; why it stopped only if it is `over`."""
    yield f"run {came.run}"
    for end in came.ends:
        text = f"  {end['signal']}  {end['state']}  {_stop(end)}{_more(end)}"
        yield beside(printable(text), summary(str(end["signal"])))
    yield f"  fixes {came.fixes}, ships {came.ships}, landed {len(came.ended('landed'))}, waiting {came.waits}"
    for rule, count in came.refusals.items():
        yield printable(f"  refused by {rule}: {count}")
    meter = came.meter
    yield (
        f"  fixer calls {meter.engine_calls}, gate evaluations {meter.gate_evaluations}, tokens {meter.tokens}, "
        f"cost {meter.cost:g}, seconds {meter.seconds:.0f}"
    )
    if over:
        yield printable(f"STOP: {came.stop}")


def _stop(end: Mapping[str, Any]) -> str:
    return f"{end['stop']['kind']} — {end['stop']['detail']}"


def _more(end: Mapping[str, Any]) -> str:
    landed, request = end.get("landed"), end.get("request")
    if landed:
        return f" [{', '.join(landed['files'])}]"
    return f" (indult show {request})" if request else ""
