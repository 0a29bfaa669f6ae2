"""What all circles of a run have in common: where, under which law, with which fixer, and what is left of the budget."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from indult.autofix.records import counted, meter_of
from indult.budget import Budget
from indult.ledger import utc_now
from indult.loop.stop import StopKind, StopReason, budget_stop

if TYPE_CHECKING:
    from indult.autofix.signals import Signal
    from indult.ledger import Ledger
    from indult.policy import Policy
    from indult.policy.autofix import Autofix

__all__ = ["CANCELLED", "Progress", "Setting"]

CANCELLED: Final = StopReason(kind=StopKind.CANCELLED, detail="it was asked to stop")


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """One thing that happened, for whoever watches: what, to which signal, and in a line of text."""

    what: str
    signal: str = ""
    text: str = ""
    more: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        shown = {"what": self.what, "signal": self.signal, "text": self.text, **self.more}
        return {name: value for name, value in shown.items() if value != ""}


@dataclass(slots=True, kw_only=True)
class Setting:
    """What the circles of a run share; they may be in threads of their own.

    `root` is the repository, `places` the folder of the folders of its fixes, `policy_place` the policy file of its main
    work tree. `cancelled` tells whether a person wants the run to end.
    """

    run: str
    root: str
    places: str
    ledger: Ledger
    into: str
    policy_file: str
    policy_place: str
    fixer: Sequence[str]
    law: Autofix
    facts: Callable[[Policy, str], Mapping[str, Any]]
    budget: Budget = field(default_factory=Budget)
    harnesses: Sequence[str] = ()
    database: str = ""
    cancelled: Callable[[], bool] = lambda: False
    tell: Callable[[Progress], None] = lambda progress: None
    clock: Callable[[], str] = utc_now
    landing: Lock = field(default_factory=Lock)
    """Held by the one that ships: otherwise each landing would move the target under all others."""
    starting: Lock = field(default_factory=Lock)
    """Held by the one that looks at the budget and takes of it."""
    already: dict[tuple[str, str], bool] = field(default_factory=dict)
    """Whether a check fails on a commit of the target itself, by commit and name."""
    _lock: Lock = field(default_factory=Lock)
    _since: float = field(default_factory=time.monotonic)

    def took(self, **counts: float) -> dict[str, dict[str, int | float]]:
        """Return the counters that an event of this run raises: these, and the seconds since the last such event."""
        with self._lock:
            now = time.monotonic()
            seconds, self._since = round(now - self._since, 3), now
        return counted(self.run, {**counts, "seconds": seconds})

    def spent(self) -> StopReason | None:
        """Return why no fixer may be called any more, if so."""
        if self.cancelled():
            return CANCELLED
        meter = meter_of(self.ledger, self.run)
        meter.seconds += time.monotonic() - self._since
        hit = meter.exhausted(self.budget)
        return None if hit is None else budget_stop(*hit)

    def seconds_left(self, *, within: float | None = None) -> float:
        """Return how long one call of a fixer may take, or what else ends `within` so many seconds."""
        most = self.law.timeout if within is None else within
        if self.budget.seconds is None:
            return most
        used = meter_of(self.ledger, self.run).seconds + time.monotonic() - self._since
        return max(0.0, min(most, self.budget.seconds - used))

    def says(self, what: str, signal: Signal | str = "", text: str = "", **more: Any) -> None:
        """Tell whoever watches what happened."""
        name = signal if isinstance(signal, str) else signal.id
        self.tell(Progress(what=what, signal=name, text=text, more=more))
