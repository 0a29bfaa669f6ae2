"""One signal's way: brief, fixer, gate, and round again with what the gate said, until it stops and says why.

It is the loop for a maker that works on files: the fixer reads a brief and changes a work tree of its own, its branch is
the proposal, the ship gate judges it and the project's checks grade it, and what they said is the critique of the next
turn. Whoever hands back, or gets no further, ends it, and a person is asked about exactly what stands in the way.
"""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from indult.approvals import RequestState
from indult.autofix.fingerprints import one_line
from indult.autofix.records import CRITIQUES, KEPT, Fix, branch_of, run_stream
from indult.autofix.signals import SignalState, move
from indult.autofix.task import task_text
from indult.autofix.triage import NOTE_UNNAMED, handed_back
from indult.autofix.turn import FIXER, Turn, Work, ship_it
from indult.autofix.workspace import Workspace
from indult.boundary import Brief
from indult.critiques import Critique
from indult.errors import ApprovalError, ConfigurationError, IndultError, LedgerError, RunError, ScopeError, ShipError
from indult.gate import Gate, Requests
from indult.ids import new_id
from indult.judgements import Verdict
from indult.ledger import Body, Draft
from indult.loop.stop import StopKind, StopReason
from indult.ship.checks import SECONDS
from indult.ship.git import Repository
from indult.ship.report import HANDOFF, Report, hand_back, signal_subject
from indult.ship.ship import Landed, Ship

if TYPE_CHECKING:
    from indult.approvals import Standing
    from indult.autofix.setting import Setting
    from indult.autofix.signals import Signal

__all__ = ["Came", "Circle"]

ASKER: Final = "autofix"
"""Who hands back what a fixer got stuck with."""

_LINE: Final = 150
"""How many characters of a summary stand on a card."""

_SAID: Final = 2_000
"""How many characters of what was said, and of what was printed, stand on a card."""

_FOR_A_PERSON: Final = frozenset({StopKind.STALLED, StopKind.BUDGET_TURNS})
"""Stops that more of the same would not get past."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Came:
    """How a signal's circle ended: why, in which state, after how many turns, what landed, and which request waits."""

    signal: str
    stop: StopReason
    state: SignalState
    turns: int
    landed: Landed | None = None
    request: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        shown: dict[str, Any] = {"signal": self.signal, "state": str(self.state), "turns": self.turns}
        shown["stop"] = self.stop.to_dict()
        if self.landed is not None:
            shown["landed"] = self.landed.to_dict()
        if self.request is not None:
            shown["request"] = self.request
        return shown


@dataclass(slots=True, kw_only=True)
class Circle:
    """One signal's circle in a run."""

    setting: Setting
    signal: Signal
    turns: int = 0
    idle: int = 0
    walls: set[str] = field(default_factory=set)
    keep: dict[str, str] | None = None
    """What is to be known of the branch where it stays: for a person, or since it only waits to be landed."""

    def go(self) -> Came:
        """Go round until there is a reason to stop; nothing stays behind but the branch that a person was asked about.

        Raises:
            LedgerError: The ledger failed, or somebody else wrote in it.
            PolicyError: The target has no policy any more, or none that can be read.
        """
        with Repository.open(self.setting.root) as repository:
            held = self._approved(repository) or self._ready(repository)
            fix = self._fix(repository)
            self._open(fix, self._let_go(repository, held))
            try:
                held_turn = None if held is None else self._land_held(repository, fix, held)
                if isinstance(held_turn, Came):
                    return held_turn
                with self._workspace(repository, fix, repository.head(held or self.setting.into)) as work:
                    work.refused = held_turn
                    return self._round(work, fix)
            except (LedgerError, ConfigurationError, RunError) as exc:
                # No other fix would fare better: the run ends, and the signal waits on.
                if not isinstance(exc, LedgerError):
                    self._failed(fix, exc.message, SignalState.FIX)
                raise
            except IndultError as exc:
                return self._failed(fix, exc.message, SignalState.NEW)
            except Exception as exc:
                # One signal must not keep all others from being repaired; it is left alone for a while.
                trace = "".join(traceback.format_exception(exc))
                return self._failed(fix, f"indult itself failed: {type(exc).__name__}: {exc}", SignalState.NEW, trace)

    def _failed(self, fix: Fix, why: str, state: SignalState, trace: str = "") -> Came:
        """End a circle that something else than the fixer broke."""
        stop = StopReason(kind=StopKind.FAILED, detail=one_line(why, _LINE * 4))
        if trace:
            body = Body(trace)
            more = {"why": stop.detail, "trace": {"body": body.digest}}
            self._record("fix_failed", fix, more, counts=self.setting.took(), views={}, bodies=(body,))
        return self._end(Turn(what="failed", said=why), state, stop, fix)

    def _land_held(self, repository: Repository, fix: Fix, branch: str) -> Came | Turn:
        """Land a branch that only waited for that; where it is refused, return how, and a fixer goes on from there."""
        with self.setting.landing:
            turn = ship_it(self._ship(repository, branch))
        views = {CRITIQUES: {self.signal.id: turn.critique().to_dict()}}
        more = {"branch": branch, "came": turn.what}
        self._record("held_shipped", fix, more, counts=self._shipped(turn), views=views)
        self.setting.says("held", self.signal, turn.line, came=turn.what, branch=branch)
        if turn.landed is not None:
            repository.drop(branch, repository.head(branch))
            return self._end(turn, SignalState.LANDED, _landed(turn), fix, held=branch)
        # What is in its way is not the fixer's to clear: it waits.
        return turn if turn.stop is None else self._end(turn, SignalState.FIX, turn.stop, fix)

    @contextmanager
    def _workspace(self, repository: Repository, fix: Fix, start: str) -> Iterator[Work]:
        """Make the folder that a fixer works in, and take it away at the end."""
        workspace = Workspace.make(
            repository, root=self.setting.root, fix=fix.fix, branch=fix.branch, start=start, place=fix.place
        )
        try:
            workspace.install_hooks(self.setting.harnesses)
            ship = self._ship(repository, fix.branch)
            yield Work(setting=self.setting, signal=self.signal, workspace=workspace, ship=ship, head=start)
        finally:
            workspace.remove(keep_branch=self.keep is not None)

    def _open(self, fix: Fix, gone: Mapping[str, None]) -> None:
        """Write that a fix begins, before anything of it is made: whoever comes next knows what to clear away."""
        views = fix.opened(policy=self.setting.policy_place, who=FIXER)
        views[KEPT] = dict(gone)
        draft = self._draft("fix_opened", fix, {"branch": fix.branch}, counts=self.setting.took(fixes=1), views=views)
        self.signal = move(
            self.setting.ledger, self.signal.id, SignalState.FIXING, reason="a fix is under way", drafts=(draft,)
        )

    def _let_go(self, repository: Repository, held: str | None) -> dict[str, None]:
        """Delete the branches that stayed for this signal and that this fix does not begin at; return them."""
        kept = self.setting.ledger.recall(KEPT)
        mine = [branch for branch, known in kept.items() if known.get("signal") == self.signal.id and branch != held]
        for branch in mine:
            if (tip := repository.tip(branch)) is not None:
                repository.drop(branch, tip)
        return dict.fromkeys(mine)

    def _round(self, work: Work, fix: Fix) -> Came:
        """Take turns until there is a reason to stop."""
        turn = Turn(what="begun", said="")
        while True:
            stop = turn.stop or self.setting.spent() or self._stuck()
            if stop is not None:
                return self._stopped(work, fix, turn, stop)
            turn = self._turn(work, fix)
            if turn.landed is not None:
                return self._end(turn, SignalState.LANDED, _landed(turn), fix)

    def _turn(self, work: Work, fix: Fix) -> Turn:
        """Take one turn: two records, and between them a fixer at work and a ship."""
        gate, brief = self._brief(work.ship)
        turn = work.turn(brief, gate, lambda: self._started(fix, brief), lambda process: self._kept_by(fix, process))
        if turn.what == "spent":
            return turn
        self._count(turn)
        self._close(turn, fix)
        return turn

    def _started(self, fix: Fix, brief: Brief) -> StopReason | None:
        """Write the first record of a turn, unless the budget has no call of a fixer left: one looks at a time."""
        with self.setting.starting:
            stop = self.setting.spent()
            if stop is not None:
                return stop
            self.turns += 1
            text = Body(brief.text)
            more = {"turn": self.turns, "briefed": brief.digest, "brief": {"body": text.digest}}
            self._record("turn_started", fix, more, counts=self.setting.took(engine_calls=1), views={}, bodies=(text,))
        self.setting.says("turn", self.signal, f"turn {self.turns} of {self.setting.law.turns}", brief=brief.digest)
        return None

    def _kept_by(self, fix: Fix, process: Mapping[str, Any]) -> None:
        """Write which process keeps the fixer, for whoever has to end it should this one be killed."""
        self._record("fixer_started", fix, {}, counts={}, views=fix.kept_by(process))

    def _brief(self, ship: Ship) -> tuple[Gate, Brief]:
        """Return the gate of the signal, and what a fixer reads now: both of the same boundary."""
        ledger = self.setting.ledger
        policy = ship.policy(ship.repository.head(ship.into))
        gate = Gate(policy, ledger, signal_subject(self.signal.id))
        boundary = gate.boundary()
        latest = ledger.latest(CRITIQUES, self.signal.id)
        critique = None if latest is None else Critique.from_dict(latest)
        if critique is not None and self._opened(gate, critique):
            critique = None
        last = handed_back(gate.requests, gate.subject)
        note = NOTE_UNNAMED if last is not None and _unnamed(last) else ""
        evidence = ledger.body(self.signal.detail) if self.signal.detail else None
        task = task_text(self.signal, evidence or "", note=note)
        # What was said of a question that is over is not said of this fault.
        guidance = last.answer if last is not None and last.guidance and not last.state.closed else ""
        return gate, boundary.brief(task, critique, actor=FIXER, guidance=guidance)

    def _opened(self, gate: Gate, critique: Critique) -> bool:
        """Tell whether a person has opened a whole commit since, with all in it that the critique is about."""
        cards = [gate.requests.standing(grant.request).request.card for grant in gate.boundary().grants]
        return bool(critique.asked) and any(set(critique.asked) <= set(card.get("asked", ())) for card in cards)

    def _count(self, turn: Turn) -> None:
        """Keep count of turns that got no further than one before."""
        self.idle = self.idle + 1 if turn.wall in self.walls or turn.what in {"nothing", "unfinished"} else 0
        self.walls.add(turn.wall)

    def _stuck(self) -> StopReason | None:
        law = self.setting.law
        if self.idle >= law.patience:
            return StopReason(kind=StopKind.STALLED, detail=f"{self.idle} turns got no further")
        if self.turns >= law.turns:
            return StopReason(kind=StopKind.BUDGET_TURNS, detail=f"turn budget hit ({law.turns} turns)")
        return None

    def _close(self, turn: Turn, fix: Fix) -> None:
        """Write the second record of a turn, with all that came of it."""
        usage = turn.ended.usage if turn.ended is not None else None
        counts: dict[str, float] = {"turns": 1, f"turn:{turn.what}": 1}
        if usage is not None:
            counts |= {"tokens": usage.tokens or 0, "cost": usage.cost or 0}
        critique = turn.critique()
        more: dict[str, Any] = {"turn": self.turns, "came": turn.what, "critique": critique.to_dict()}
        if turn.judged is not None:
            more["boundary"] = turn.judged.judgement.boundary
        if turn.ended is not None:
            more["fixer"] = {"why": turn.ended.why, "code": turn.ended.code, "seconds": round(turn.ended.seconds, 3)}
        output = Body(turn.ended.output if turn.ended is not None else "")
        views = {**fix.kept_by({}), CRITIQUES: {self.signal.id: critique.to_dict()}}
        more["output"] = {"body": output.digest}
        self._record("turn_ended", fix, more, counts=self._shipped(turn, **counts), views=views, bodies=(output,))
        self.setting.says("came", self.signal, turn.line, came=turn.what)

    def _shipped(self, turn: Turn, **counts: float) -> dict[str, dict[str, int | float]]:
        """Return the counters of a turn, with those of its ship if there was one."""
        if turn.judged is not None and turn.what != "nothing":
            counts |= {"gate_evaluations": turn.judged.judgement.evaluations, "ships": 1}
        return self.setting.took(**counts, **{f"rule:{rule}": 1 for rule in turn.rules})

    def _stopped(self, work: Work, fix: Fix, turn: Turn, stop: StopReason) -> Came:
        """End a circle that did not land: hand back what a person has to decide, and leave the rest for another run."""
        if turn.request is not None:
            return self._end(turn, SignalState.NEEDS_HUMAN, stop, fix, request=turn.request)
        if turn.what == "blocked":
            # The repair is done, and something of the repository is in its way: it lands once that is cleared.
            self.keep = {"ready": work.head}
            return self._end(turn, SignalState.FIX, stop, fix)
        if stop.kind in _FOR_A_PERSON and (request := self._ask(work, fix, work.refused or turn, stop)) is not None:
            return self._end(turn, SignalState.NEEDS_HUMAN, stop, fix, request=request)
        # What has spent its turns or the budget of the run is left alone for a while; the rest is taken up again.
        again = stop.kind is StopKind.CANCELLED or not self.turns
        return self._end(turn, SignalState.FIX if again else SignalState.NEW, stop, fix)

    def _ask(self, work: Work, fix: Fix, turn: Turn, stop: StopReason) -> str | None:
        """Ask a person about what a fixer got stuck with: its commit where approving that would land it, else in words.

        What a person has opened already stays open: no new question takes its place, and none is returned.
        """
        gate = self._brief(work.ship)[0]
        if gate.boundary().grants:
            return None
        self.keep = {} if turn.judged is not None else None
        held = self._hold(work.ship, turn)
        if held is not None:
            return held
        card = {
            "title": self.signal.summary[:_LINE],
            "question": "The fixer got no further. Go on, and how?",
            "stop": str(stop),
            "said": turn.said[:_SAID],
            "printed": turn.ended.output[-_SAID:] if turn.ended is not None and not turn.rules else "",
            "branch": fix.branch if self.keep is not None else "",
        }
        report = Report(signal=self.signal.id, by=ASKER, card={name: text for name, text in card.items() if text})
        return hand_back(report, gate=gate).request.id

    def _hold(self, ship: Ship, turn: Turn) -> str | None:
        """Ask a person to open the commit that the branch is at, if only that keeps it from landing."""
        if turn.refused is None or turn.refused.verdict is not Verdict.ASK_USER:
            return None
        try:
            # As it is now: later turns may have added to what was refused.
            judged = ship.judge()
            if judged.empty or judged.judgement.verdict is not Verdict.ASK_USER:
                return None
            return ship.hold(judged, change=self.signal.summary[:_LINE]).request.id
        except (ApprovalError, ScopeError, ShipError):
            return None  # more than a person can read, or a part that no approval opens: it is said in words

    def _approved(self, repository: Repository) -> str | None:
        """Return the branch of which a person was asked about exactly the commit that it is at, and approved it (R42)."""
        policy = self._ship(repository, "HEAD").policy(repository.head(self.setting.into))
        requests = Requests(self.setting.ledger, policy)
        for grant in requests.live(signal_subject(self.signal.id)):
            branch = requests.standing(grant.request).request.card.get("branch")
            tip = repository.tip(str(branch)) if branch else None
            if tip is not None and f"commit:{tip}" in grant.scope.targets:
                return str(branch)
        return None

    def _ready(self, repository: Repository) -> str | None:
        """Return the branch of a repair of this signal that only waits to be landed."""
        for branch, known in self.setting.ledger.recall(KEPT).items():
            if known.get("signal") == self.signal.id and known.get("ready") == repository.tip(branch) is not None:
                return branch
        return None

    def _ship(self, repository: Repository, branch: str) -> Ship:
        setting = self.setting
        ship = Ship(
            repository=repository,
            ledger=setting.ledger,
            branch=branch,
            into=setting.into,
            subjects=(signal_subject(self.signal.id),),
            by=FIXER,
            policy_file=setting.policy_file,
            about=f'For the signal {self.signal.id}: "{self.signal.summary}"',
            check_seconds=lambda: setting.seconds_left(within=SECONDS),
            stopped=setting.cancelled,
        )
        ship.facts = setting.facts(ship.policy(repository.head(setting.into)), self.signal.id)
        return ship

    def _fix(self, repository: Repository) -> Fix:
        name = new_id("f", time.time_ns() // 1_000_000, os.urandom(10))
        place = Path(self.setting.places) / name
        return Fix(
            fix=name,
            signal=self.signal.id,
            run=self.setting.run,
            branch=branch_of(self.signal.id, name),
            place=str(place),
            tree=str(place / "tree"),
            since=self.setting.clock(),
            version=self.signal.version,
            repository=repository.common,
        )

    def _record(self, kind: str, fix: Fix, more: Mapping[str, Any], **kept: Any) -> None:
        """Write an event of the run by itself."""
        self.setting.ledger.append(self._draft(kind, fix, more, **kept))

    def _draft(
        self,
        kind: str,
        fix: Fix,
        more: Mapping[str, Any],
        *,
        counts: Mapping[str, Any],
        views: Mapping[str, Any],
        bodies: tuple[Body, ...] = (),
    ) -> Draft:
        data = {"signal": self.signal.id, "fix": fix.fix, **more}
        return Draft(run_stream(self.setting.run), kind, {**data, "counts": counts, "latest": views}, bodies)

    def _end(
        self,
        turn: Turn,
        state: SignalState,
        stop: StopReason,
        fix: Fix,
        *,
        request: str | None = None,
        held: str | None = None,
    ) -> Came:
        """Write how the circle ended, together with the state that the signal has from now on."""
        came = Came(
            signal=self.signal.id, stop=stop, state=state, turns=self.turns, landed=turn.landed, request=request
        )
        views = fix.closed(self.keep)
        if held is not None:
            views[KEPT][held] = None
        counts = self.setting.took(**{f"ended:{state}": 1})
        draft = self._draft("signal_ended", fix, came.to_dict(), counts=counts, views=views)
        worked = bool(self.turns) or turn.landed is not None or turn.what == "failed"
        self.signal = move(
            self.setting.ledger,
            self.signal.id,
            state,
            reason=str(stop),
            more={"turns": self.signal.turns + self.turns, **({"ended_at": self.setting.clock()} if worked else {})},
            drafts=(draft,),
        )
        if state is SignalState.LANDED:
            # A question about what is repaired has nobody to answer to any more.
            requests = Requests(self.setting.ledger, turn.judged.policy) if turn.judged is not None else None
            if requests is not None:
                requests.withdraw(
                    signal_subject(self.signal.id), why=f"the signal has landed: {stop.detail}", kind=HANDOFF
                )
        self.setting.says("ended", self.signal, str(stop), came=came.to_dict())
        return came


def _unnamed(standing: Standing) -> bool:
    """Tell whether a person approved what named nothing, so that nothing was opened (R40)."""
    return standing.state is RequestState.APPROVED and not standing.request.scope.targets


def _landed(turn: Turn) -> StopReason:
    assert turn.landed is not None
    return StopReason(kind=StopKind.GOAL_REACHED, detail=f"landed {turn.landed.commit}")
