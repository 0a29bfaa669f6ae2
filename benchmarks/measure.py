"""What the benchmarks share: measuring in turns, and comparing with the last run.

A figure is the median over many rounds; within a round everything is measured once, one after the other, so that a busy
moment of the machine hits all of them. Only ratios within one run mean anything.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from time import perf_counter

LAST = Path(__file__).parent / "out" / "last.json"
"""The figures of the last run on this machine."""


def in_turns(functions: Mapping[str, Callable[[], object]], *, rounds: int) -> dict[str, float]:
    """Return the median time of each function in seconds, after one round that does not count."""
    times: dict[str, list[float]] = {name: [] for name in functions}
    names = list(functions)
    for number in range(rounds + 1):
        # Another one comes first each time, so that nothing always runs in the cache that another left behind.
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            start = perf_counter()
            functions[name]()
            if number:
                times[name].append(perf_counter() - start)
    return {name: median(values) for name, values in times.items()}


class Report:
    """Prints figures with their bars, remembers which bar was missed, and compares with the last run."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.missed: list[str] = []
        self.figures: dict[str, float] = {}
        kept = json.loads(LAST.read_text(encoding="utf-8")) if LAST.is_file() else {}
        self._before: dict[str, float] = kept.get(name, {})

    def ratio(self, what: str, value: float, *, most: float | None = None, least: float | None = None) -> None:
        """Print one ratio, its bar and what it was the last time."""
        self.figures[what] = round(value, 4)
        bar = (
            f"  (bar: at most {most})"
            if most is not None
            else f"  (bar: at least {least})"
            if least is not None
            else ""
        )
        missed = (most is not None and value > most) or (least is not None and value < least)
        if missed:
            self.missed.append(what)
        before = f"  [last run: {self._before[what]:.2f}]" if what in self._before else ""
        print(f"  {value:8.2f}  {what}{bar}{' MISSED' if missed else ''}{before}")

    def close(self) -> int:
        """Keep the figures for the next run and return 1 if a bar was missed."""
        kept = json.loads(LAST.read_text(encoding="utf-8")) if LAST.is_file() else {}
        LAST.parent.mkdir(exist_ok=True)
        LAST.write_text(json.dumps({**kept, self.name: self.figures}, indent=1), encoding="utf-8")
        return int(bool(self.missed))
