"""What autofix keeps in the ledger, and the seal that shows whether somebody else wrote in it.

| stream | kinds |
|---|---|
| `autofix:RUN` | `run_started`, `run_resumed`, `fix_opened`, `held_shipped`, `turn_started`, `turn_ended`, `signal_ended`, `run_stopped` |
| `autofix:branches` | `branches_dropped`: branches that stayed for a person, and landed or went since |
| `signal:ID` | the states of the signal (`indult.autofix.signals`), hand-backs and ships |

| view | scope | key | holds |
|---|---|---|---|
| latest | `autofix` | `run`, `stop` | the run that is not over, and who asked it to stop |
| latest | `fixes` | signal | the fix that is open: a `Fix` |
| latest | `at_work`, `worktrees` | subject, folder | while a fix is open (`indult.gate.subjects`) |
| latest | `autofix:critiques` | signal | the latest critique |
| latest | `autofix:kept` | branch | the branches that stay: `signal`, and `ready`, the commit that only waits to be landed |
| counter | `autofix:RUN` | meter or `rule:ID` | what the run took, each raised where it happens |

A turn is two transactions: `turn_started` before the fixer is let loose, `turn_ended` with all that came of it. A fix that
lands has the two of its ship in between.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from indult.budget import Meter
from indult.errors import ChainBroken, LedgerCorrupt
from indult.gate.subjects import AT_WORK, appointment
from indult.keeping.processes import start_of
from indult.ledger.streams import GENESIS, follows
from indult.loop.stop import StopReason

if TYPE_CHECKING:
    from indult.ledger import Event, Ledger

__all__ = [
    "CRITIQUES",
    "FIX",
    "FIXES",
    "KEPT",
    "METERS",
    "STATE",
    "STREAM",
    "Fix",
    "Seal",
    "branch_end",
    "branch_of",
    "counted",
    "fixes",
    "meter_of",
    "process_of",
    "run_stream",
    "runs",
    "stop_of",
]

STATE: Final = "autofix"
STREAM: Final = "autofix:branches"
FIXES: Final = "fixes"
CRITIQUES: Final = "autofix:critiques"
KEPT: Final = "autofix:kept"

FIX: Final = re.compile(r"f_[0-9A-HJKMNP-TV-Z]{26}")
"""The name of a fix."""

METERS: Final = ("turns", "engine_calls", "gate_evaluations", "tokens", "seconds", "cost")
"""The counters of a run that a budget is held against."""


def branch_of(signal: str, fix: str) -> str:
    """Return the name of the branch of a fix."""
    return f"indult/{signal}/{branch_end(fix)}"


def branch_end(fix: str) -> str:
    """Return the last part of the name of the branch of a fix."""
    return fix[-8:].lower()


def run_stream(run: str) -> str:
    """Return the stream of a run, which is the scope of its counters too."""
    return f"autofix:{run}"


def runs(ledger: Ledger) -> list[str]:
    """Return the names of the runs in a ledger, oldest first."""
    return [stream.removeprefix("autofix:") for stream, _ in ledger.streams("autofix:a_")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """One fix under way: for which signal, on which branch, in which folder.

    `place` is the folder of its own, `tree` the work tree in it, `since` the time it began, `version` that of the signal's
    stream then, and `repository` the common git directory. `process` is what keeps its fixer, where one is at work.
    """

    fix: str
    signal: str
    run: str
    branch: str
    place: str
    tree: str
    since: str
    version: int
    repository: str
    process: Mapping[str, Any] | None = None

    @property
    def subject(self) -> str:
        """Return the subject of what is asked for the signal."""
        return f"signal:{self.signal}"

    def opened(self, *, policy: str, who: str) -> dict[str, dict[str, Any]]:
        """Return the views of a fix that begins; `policy` is the policy file that holds in its work tree.

        From now on to its end nobody decides unsigned: not only a fixer runs code of the branch, checks do so too.
        """
        return {
            FIXES: {self.signal: asdict(self)},
            AT_WORK: {self.subject: {"who": who}},
            **appointment(self.tree, self.subject, policy),
        }

    def kept_by(self, process: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """Return the view of a fix whose fixer is kept by a process."""
        return {FIXES: {self.signal: {**asdict(self), "process": dict(process)}}}

    def closed(self, keep: Mapping[str, Any] | None) -> dict[str, dict[str, Any]]:
        """Return the views of a fix that is over; where its branch stays, `keep` is what is to be known of it."""
        kept = {self.branch: None if keep is None else {"signal": self.signal, **keep}}
        return {
            FIXES: {self.signal: None},
            KEPT: kept,
            AT_WORK: {self.subject: None},
            **appointment(self.tree, None),
        }


def fixes(ledger: Ledger) -> list[Fix]:
    """Return the fixes that were begun and not ended, by signal."""
    return [Fix(**entry) for _, entry in sorted(ledger.recall(FIXES).items())]


def meter_of(ledger: Ledger, run: str) -> Meter:
    """Return what a run took so far."""
    found = ledger.counters(run_stream(run))
    whole = {name: int(found.get(name, 0)) for name in METERS if name not in {"seconds", "cost"}}
    return Meter(**whole, seconds=float(found.get("seconds", 0)), cost=found.get("cost", 0))


def process_of(ledger: Ledger) -> int | None:
    """Return the process of the run that is not over, if it is still there."""
    found = ledger.latest(STATE, "run") or {}
    pid = int(found.get("pid", 0))
    return pid if pid and start_of(pid) == found.get("start") else None


def stop_of(ledger: Ledger, run: str) -> StopReason | None:
    """Return why a run stopped; none as long as it goes on, or was killed."""
    marks = {"run_started", "run_resumed", "run_stopped"}
    last = next(ledger.events(run_stream(run), kinds=marks, newest_first=True, limit=1), None)
    return StopReason.from_dict(last.data["stop"]) if last is not None and last.kind == "run_stopped" else None


def counted(run: str, counts: Mapping[str, int | float]) -> dict[str, dict[str, int | float]]:
    """Return the counters of a run that an event raises, in the shape of its key `counts`."""
    return {run_stream(run): {name: by for name, by in counts.items() if by}}


@dataclass(frozen=True, slots=True)
class Seal:
    """What the ledger was before a fixer was let loose, which runs as the same user and could write where we write.

    `position` and `hash` are those of the last event, `files` the identity of each file of the ledger, and `size` that of
    the first of them, which never shrinks.
    """

    position: int
    hash: str
    files: tuple[tuple[str, int, int], ...]
    size: int

    @classmethod
    def of(cls, ledger: Ledger) -> Self:
        """Take the seal of a ledger as it is now."""
        last = next(ledger.events(newest_first=True, limit=1), None)
        return cls(
            position=0 if last is None else last.position,
            hash=GENESIS if last is None else last.hash,
            files=tuple(_files(ledger)),
            size=_size(ledger),
        )

    def check(self, ledger: Ledger) -> None:
        """See that the ledger is the same file, holds what it held, and that each event since follows from those before.

        Raises:
            LedgerCorrupt: A file of it was removed or replaced, or what stood last was changed.
            ChainBroken: An event since does not follow from what its stream held.
        """
        gone = sorted(set(self.files) - set(_files(ledger)))
        if gone or _size(ledger) < self.size:
            raise LedgerCorrupt(
                f"the ledger was removed or replaced while a fixer was at work: `{(gone or self.files)[0][0]}`",
                hint="put back a copy, and run `indult log verify` on it",
            )
        kept = next(ledger.events(after=self.position - 1, limit=1), None) if self.position else None
        if self.position and (kept is None or kept.hash != self.hash):
            raise LedgerCorrupt(
                f"event {self.position} of the ledger was changed while a fixer was at work",
                hint="run `indult log verify`",
            )
        heads: dict[str, tuple[int, str]] = {}
        for event in ledger.events(after=self.position):
            version, prev = heads.get(event.stream) or _before(ledger, event)
            if not follows(event, version + 1, prev):
                raise ChainBroken(
                    f"event {event.position} of the ledger does not follow from its stream `{event.stream}`",
                    hint="run `indult log verify`",
                )
            heads[event.stream] = event.version, event.hash


def _before(ledger: Ledger, event: Event) -> tuple[int, str]:
    """Return version and hash of what stands before an event in its stream."""
    if event.version == 1:
        return 0, GENESIS
    found = next(ledger.events(event.stream, after=event.version - 2, limit=1), None)
    return (0, "") if found is None else (found.version, found.hash)


def _size(ledger: Ledger) -> int:
    """Return how long the file of a ledger is; 0 where it is none, or gone."""
    path = getattr(ledger, "path", None)
    try:
        return 0 if path is None else Path(path).stat().st_size
    except FileNotFoundError:
        return 0


def _files(ledger: Ledger) -> Iterator[tuple[str, int, int]]:
    """Yield each file of a ledger with its identity; one that is kept elsewhere than in files has none."""
    path = getattr(ledger, "path", None)
    for name in () if path is None else (os.fspath(path), f"{path}-wal"):
        try:
            found = Path(name).stat()
        except FileNotFoundError:
            continue
        yield name, found.st_dev, found.st_ino
