"""A run of autofix: notice, triage, fix, land or hand back, over many signals, until it stops and says why.

One run at a time works in a repository; whoever was killed left records that the next one reads, and clears away all that
it made. The command of the fixer comes from the policy of the target branch, and only from one that a person trusts.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from indult.autofix.circle import Came, Circle
from indult.autofix.friction import gather
from indult.autofix.leftovers import clear
from indult.autofix.receipt import Receipt, receipt
from indult.autofix.records import STATE, process_of, run_stream, runs, stop_of
from indult.autofix.setting import Progress, Setting
from indult.autofix.signals import SignalState, find, move, signals
from indult.autofix.triage import decide, triage
from indult.autofix.workspace import fixes_folder
from indult.budget import Budget
from indult.errors import ConfigurationError, FactError, IndultError, LedgerError, RunError
from indult.gate import Requests
from indult.ids import new_id
from indult.keeping.processes import start_of
from indult.ledger import Draft, utc_now
from indult.loop.stop import StopKind, StopReason
from indult.places import repository_ledger
from indult.policy.autofix import Autofix as Law
from indult.setup.detect import detect
from indult.ship.git import Repository
from indult.ship.locks import held
from indult.ship.ship import POLICY_FILE, Ship

if TYPE_CHECKING:
    from collections.abc import Mapping

    from indult.autofix.signals import Signal
    from indult.ledger import Ledger
    from indult.policy import Policy

__all__ = ["FACTS", "Autofix", "ask_to_stop"]

FACTS: Final = ("session", "repo", "now")
"""What autofix can supply of a policy's declared context; the session is the signal."""

LOCK: Final = "autofix.lock"
"""The file beside the ledger of a repository that a run holds a lock on."""

_FOR_PEOPLE: Final = frozenset({StopKind.STALLED, StopKind.BUDGET_TURNS})
"""Stops of single signals: once a person has answered, the run may go on."""

_TOLD: Final = 10
"""How many signals that are left alone are told of at the end of a run."""

_POLL: Final = 0.5
"""Seconds between two looks for whether a person wants the run to stop."""


@dataclass(slots=True, kw_only=True)
class Autofix:
    """What runs of autofix in one repository need.

    `root` is its main work tree, `only` the signals that are taken up whatever became of them, none for all that triage
    takes up. `budget` narrows that of the policy. `cancelled` tells whether whoever started the run wants it to end.
    """

    root: str
    ledger: Ledger
    into: str
    policy_file: str = POLICY_FILE
    jobs: int = 1
    only: Sequence[str] = ()
    budget: Budget = field(default_factory=Budget)
    database: str = ""
    cancelled: Callable[[], bool] = lambda: False
    tell: Callable[[Progress], None] = lambda progress: None
    clock: Callable[[], str] = utc_now
    _watched: tuple[int, bool, float] = field(default=(-1, False, 0.0))

    def run(self) -> Receipt:
        """Start a run and return what came of it.

        Raises:
            RunError: Another run is at work in this repository.
            ConfigurationError: The target's policy names no fixer, or nobody trusts it.
            IndultError: Git, the ledger or the policy is not what it must be.
        """
        with self._alone():
            law, words = self._law()
            for signal in self.only:
                find(self.ledger, signal)
            self._clear()
            name = new_id("a", time.time_ns() // 1_000_000, os.urandom(10))
            budget = _narrowed(law.budget, self.budget)
            started = {
                "root": self.root,
                "into": self.into,
                "policy_file": self.policy_file,
                "jobs": self.jobs,
                "only": list(self.only),
                "budget": budget.to_dict(),
            }
            self.ledger.append(Draft(run_stream(name), "run_started", {**started, "latest": _at_work(name)}))
            return self._work(self._setting(name, law, words, budget))

    def resume(self, run: str | None = None) -> Receipt:
        """Go on with a run that was stopped or killed, or waits for a person: with what is left of its budget.

        Raises:
            RunError: There is no such run, it has ended, or another one is at work.
        """
        with self._alone():
            name, data = self._unfinished(run)
            # All that shapes a run is in its record: it goes on under the law that it began under.
            self.into, self.policy_file = data["into"], data["policy_file"]
            self.jobs, self.only = data["jobs"], tuple(data["only"])
            law, words = self._law()
            self._clear()
            budget = Budget.from_dict(data["budget"])
            self.ledger.append(Draft(run_stream(name), "run_resumed", {"latest": _at_work(name)}))
            return self._work(self._setting(name, law, words, budget))

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Be the one run in this repository; the kernel lets go of the lock whenever the process ends."""
        folder = Path(repository_ledger(self.root)).parent
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        busy = "another run of autofix is at work, see `indult autofix status`"
        with held(str(folder / LOCK), seconds=0, busy=busy):
            self._check_alone()
            yield

    def _law(self) -> tuple[Law, tuple[str, ...]]:
        """Return the keys `autofix` and `fixer` of the target's policy, if a person trusts it as it is."""
        with self._shipping() as ship:
            policy = ship.own_policy(ship.repository.head(self.into))
            if not policy.fixer:
                raise ConfigurationError(
                    f"the policy of `{self.into}` names no fixer", hint="for instance `fixer: [claude, -p]`"
                )
            ship.check_trust(policy, "a fixer")
            self._tell_law(ship)
        if "/" not in policy.fixer[0] and shutil.which(policy.fixer[0]) is None:
            raise ConfigurationError(
                f"the fixer `{policy.fixer[0]}` is not on the PATH", hint="install it, or give its place in the policy"
            )
        return policy.autofix or Law(), tuple(policy.fixer)

    def _tell_law(self, ship: Ship) -> None:
        """Tell whoever changed the law in the work tree that the one of the target holds."""
        committed = ship.repository.file(ship.repository.head(self.into), self.policy_file)
        place = Path(self.root) / self.policy_file
        if place.is_file() and place.read_bytes() != committed:
            text = f"`{self.policy_file}` in the work tree is another one: the one that is committed to `{self.into}` holds"
            self.tell(Progress(what="law", text=text))

    def _setting(self, name: str, law: Law, words: tuple[str, ...], budget: Budget) -> Setting:
        return Setting(
            run=name,
            root=self.root,
            places=fixes_folder(self.root),
            ledger=self.ledger,
            into=self.into,
            policy_file=self.policy_file,
            policy_place=str(Path(self.root) / self.policy_file),
            fixer=words,
            law=law,
            facts=self._facts,
            budget=budget,
            harnesses=detect(self.root).harnesses,
            database=self.database,
            cancelled=lambda: self._asked(name),
            tell=self.tell,
            clock=self.clock,
        )

    def _facts(self, policy: Policy, signal: str) -> dict[str, Any]:
        known = {"session": signal, "repo": self.root, "now": self.clock()}
        for name in policy.context:
            if name not in known:
                raise FactError(
                    f"the policy declares the fact `{name}`, which autofix cannot supply",
                    hint=f"autofix supplies {', '.join(FACTS)}",
                )
        return {name: known[name] for name in policy.context}

    def _asked(self, run: str) -> bool:
        """Tell whether somebody wants the run to end; the ledger is asked now and then."""
        version, asked, at = self._watched
        now = time.monotonic()
        if not asked and now - at >= _POLL:
            found = self.ledger.latest(STATE, "stop")
            asked = found is not None and found.get("run") == run
            self._watched = (version, asked, now)
        return asked or self.cancelled()

    def _clear(self) -> None:
        """Clear away what a run left that was killed, and close it."""
        with self._shipping() as ship:
            policy = ship.policy(ship.repository.head(self.into))
            for signal, what in clear(ship.repository, self.ledger, policy, into=self.into):
                self.tell(Progress(what="recovered", signal=signal, text=what))
        left = self.ledger.latest(STATE, "run")
        if left is not None:
            self._close(
                str(left["run"]), StopReason(kind=StopKind.CANCELLED, detail="the run ended without a word"), {}
            )

    def _check_alone(self) -> None:
        """Refuse to work beside a run that the lock does not show: its lock was removed, or it has another repository.

        Raises:
            RunError: There is one, or the ledger is that of another repository.
        """
        left, pid = self.ledger.latest(STATE, "run"), process_of(self.ledger)
        # One of this process that failed without a word is over: the lock is ours.
        if left is not None and pid not in {None, os.getpid()}:
            raise RunError(f"the run `{left['run']}` is at work in process {pid}", hint="see `indult autofix status`")
        names = runs(self.ledger)
        first = next(self.ledger.events(run_stream(names[-1]), limit=1)) if names else None
        root = self.root if first is None else str(first.data.get("root", self.root))
        if root != self.root:
            raise RunError(
                f"this ledger has the runs of `{root}`", hint="each repository needs a ledger of its own for autofix"
            )

    @contextmanager
    def _shipping(self) -> Iterator[Ship]:
        """Open the repository, for what only a ship knows: the law of the target."""
        with Repository.open(self.root) as repository:
            yield Ship(
                repository=repository, ledger=self.ledger, branch="", into=self.into, policy_file=self.policy_file
            )

    def _close(self, run: str, stop: StopReason, counts: Mapping[str, Any]) -> None:
        data = {"stop": stop.to_dict(), "counts": counts, "latest": {STATE: {"run": None, "stop": None}}}
        self.ledger.append(Draft(run_stream(run), "run_stopped", data))

    def _unfinished(self, run: str | None) -> tuple[str, dict[str, Any]]:
        """Return the run that is meant and how it was started, if it may go on."""
        names = runs(self.ledger)
        name = run or (names[-1] if names else None)
        first = next(self.ledger.events(run_stream(name), limit=1), None) if name is not None else None
        if name is None or first is None:
            raise RunError(
                "there is no run of autofix in this ledger" if run is None else f"there is no run `{run}`",
                hint="indult autofix run",
            )
        stop = stop_of(self.ledger, name)
        if stop is not None and not stop.kind.resumable and stop.kind not in _FOR_PEOPLE:
            raise RunError(f"run `{name}` has ended: {stop}", hint="indult autofix run")
        return name, first.data

    def _work(self, setting: Setting) -> Receipt:
        """Work until there is a reason to stop, and write it."""
        setting.says("run", text=f"run {setting.run} into {self.into}", run=setting.run)
        try:
            stop = self._rounds(setting)
        except IndultError as exc:
            stop = StopReason(kind=StopKind.FAILED, detail=exc.message)
            if isinstance(exc, LedgerError):
                # What failed may not take the reason either; it is told all the same.
                with suppress(LedgerError):
                    self._close(setting.run, stop, setting.took())
                return Receipt(run=setting.run, stop=stop)
        self._close(setting.run, stop, setting.took())
        return receipt(self.ledger, setting.run)

    def _rounds(self, setting: Setting) -> StopReason:
        """Take signals up by their priority, several at a time if so wished, until none is left or the budget is."""
        self._notice(setting)
        # What fixers make signals of waits for the next run, or one could go on for ever.
        until = self.clock()
        came: list[Came] = []
        again: set[str] = set()
        busy: dict[Future[Came], str] = {}
        failed: list[BaseException] = []
        setting.cancelled = lambda: bool(failed) or self._asked(setting.run)
        with ThreadPoolExecutor(max_workers=self.jobs) as pool:
            while True:
                stop = setting.spent()
                free = 0 if stop or failed else self.jobs - len(busy)
                # Taken before any begins, and only as many as there is room for: thousands may wait.
                for signal in list(islice(self._waiting(again | set(busy.values()), until), free)):
                    busy[pool.submit(Circle(setting=setting, signal=signal).go)] = signal.id
                if not busy:
                    break
                for future in wait(busy, timeout=_POLL, return_when=FIRST_COMPLETED).done:
                    name = busy.pop(future)
                    if (error := future.exception()) is not None:
                        failed.append(error)
                        continue
                    came.append(future.result())
                    if came[-1].state is SignalState.FIX:
                        again.add(name)
                    self._triage(setting)
        if failed:
            raise failed[0]
        self._tell_left(setting)
        return stop or self._reason(setting.run, came)

    def _notice(self, setting: Setting) -> None:
        """Make signals of what the ledger tells, and see which are taken up."""
        gather(self.ledger, clock=self.clock)
        for name in self.only:
            if find(self.ledger, name).state is not SignalState.FIX:
                move(self.ledger, name, SignalState.FIX, reason="a person asked for it by name")
        self._triage(setting)

    def _triage(self, setting: Setting) -> None:
        with self._shipping() as ship:
            policy = ship.policy(ship.repository.head(self.into))
        for signal, decision in triage(self.ledger, policy, Requests(self.ledger, policy), clock=self.clock):
            setting.says("triage", signal, f"{decision.state}: {decision.reason}", state=str(decision.state))

    def _tell_left(self, setting: Setting) -> None:
        """Tell which signals were left alone, and why; of many, a few."""
        left = list(islice(signals(self.ledger, SignalState.NEW), _TOLD + 1))
        for signal in left[:_TOLD]:
            setting.says("left", signal, decide(signal, setting.law, now=self.clock()).reason)
        if len(left) > _TOLD:
            setting.says("left", text="and more: `indult signal list --state new`")

    def _waiting(self, without: set[str], until: str) -> Iterator[Signal]:
        """Yield the signals that wait for a fixer and were known by a time, the most urgent first."""
        for signal in signals(self.ledger, SignalState.FIX):
            if signal.first_at <= until and signal.id not in without and (not self.only or signal.id in self.only):
                yield signal

    def _reason(self, run: str, came: Sequence[Came]) -> StopReason:
        """Return why a run ends that has nothing left to take up; `came` is what it took up since it last began."""
        landed = int(self.ledger.counter(run_stream(run), f"ended:{SignalState.LANDED}"))
        waits = sum(1 for _ in signals(self.ledger, SignalState.NEEDS_HUMAN))
        detail = f"{landed} landed, {waits} {'waits' if waits == 1 else 'wait'} for a person"
        kinds = {one.stop.kind for one in came}
        if StopKind.AWAITING_APPROVAL in kinds or (waits and not kinds - {StopKind.GOAL_REACHED}):
            return StopReason(kind=StopKind.AWAITING_APPROVAL, detail=detail)
        for kind in (StopKind.FAILED, StopKind.STALLED, StopKind.BUDGET_TURNS):
            if kind in kinds:
                return StopReason(kind=kind, detail=detail)
        if kinds - {StopKind.GOAL_REACHED}:
            return StopReason(kind=StopKind.FAILED, detail=f"{detail}, and not all could be worked on")
        return StopReason(kind=StopKind.GOAL_REACHED, detail=f"{landed} landed, nothing is left to fix")


def _at_work(run: str) -> dict[str, dict[str, Any]]:
    """Return the views of a run that begins: which it is, and in which process."""
    pid = os.getpid()
    return {STATE: {"run": {"run": run, "pid": pid, "start": start_of(pid) or ""}, "stop": None}}


def _narrowed(one: Budget, other: Budget) -> Budget:
    """Return the budget of which each ceiling is the lower of two."""
    given: dict[str, Any] = one.to_dict()
    for name, ceiling in other.to_dict().items():
        given[name] = min(given.get(name, ceiling), ceiling)
    return Budget.from_dict(given)


def ask_to_stop(ledger: Ledger, *, by: str) -> str:
    """Ask the run that is at work to stop, and return its name; it ends its fixers and says so.

    Raises:
        RunError: None is at work, as far as the ledger knows.
    """
    found = ledger.latest(STATE, "run")
    if found is None:
        raise RunError("no run of autofix is at work here", hint="indult autofix status")
    run = str(found["run"])
    ledger.append(Draft(run_stream(run), "stop_asked", {"by": by, "latest": {STATE: {"stop": {"run": run, "by": by}}}}))
    return run
