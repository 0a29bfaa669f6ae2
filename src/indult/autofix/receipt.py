"""The receipt of a run: what came of each signal and what it took, read from the ledger where each was written."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from indult.autofix.records import meter_of, run_stream, stop_of
from indult.autofix.signals import SignalState, find
from indult.budget import Meter
from indult.loop.stop import StopKind, StopReason

if TYPE_CHECKING:
    from collections.abc import Mapping

    from indult.ledger import Ledger

__all__ = ["RUNNING", "Receipt", "receipt"]

RUNNING: Final = StopReason(kind=StopKind.CANCELLED, detail="not finished")
"""What stands in place of the stop of a run that has none yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What a run came to: why it stopped, each signal's end, and what was counted on the way.

    `ends` has the last end of each signal, in the order of these. `refusals` counts by rule what the gate refused at
    ship, and `waits` the signals that a person has to answer for.
    """

    run: str
    stop: StopReason
    ends: tuple[Mapping[str, Any], ...] = ()
    meter: Meter = field(default_factory=Meter)
    fixes: int = 0
    ships: int = 0
    refusals: Mapping[str, int] = field(default_factory=dict)
    waits: int = 0

    def ended(self, state: str) -> list[Mapping[str, Any]]:
        """Return the ends in a state."""
        return [end for end in self.ends if end["state"] == state]

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "run": self.run,
            "stop": self.stop.to_dict(),
            "signals": [dict(end) for end in self.ends],
            "landed": len(self.ended("landed")),
            "waits": self.waits,
            "fixes": self.fixes,
            "ships": self.ships,
            "refusals": dict(self.refusals),
            "metrics": {**self.meter.to_dict(), "seconds": round(self.meter.seconds, 3)},
        }


def receipt(ledger: Ledger, run: str) -> Receipt:
    """Return what the ledger knows of a run, whether or not it is over."""
    stream = run_stream(run)
    counters = ledger.counters(stream)
    ends = _ends(ledger, stream)
    asked = {str(end["signal"]) for end in ends if end["state"] == SignalState.NEEDS_HUMAN}
    return Receipt(
        run=run,
        stop=stop_of(ledger, run) or RUNNING,
        ends=ends,
        meter=meter_of(ledger, run),
        fixes=int(counters.get("fixes", 0)),
        ships=int(counters.get("ships", 0)),
        refusals={
            name.removeprefix("rule:"): int(count) for name, count in counters.items() if name.startswith("rule:")
        },
        waits=sum(find(ledger, name).state is SignalState.NEEDS_HUMAN for name in asked),
    )


def _ends(ledger: Ledger, stream: str) -> tuple[dict[str, Any], ...]:
    """Return the last end of each signal of a run, in the order in which they came."""
    found: dict[str, dict[str, Any]] = {}
    for event in ledger.events(stream, kinds={"signal_ended"}):
        found.pop(str(event.data["signal"]), None)
        found[str(event.data["signal"])] = _end(event.data)
    return tuple(found.values())


def _end(data: Mapping[str, Any]) -> dict[str, Any]:
    return {name: data[name] for name in ("signal", "state", "turns", "stop", "landed", "request") if name in data}
