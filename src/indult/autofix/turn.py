"""One turn: a fixer reads its brief and works, and what it leaves on its branch is shipped.

Nothing that a fixer prints or returns says how it went. What counts is the hand-back in the ledger, the branch, what the
gate and the project's checks say of it, and whether the ledger is still the one that it was.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from indult.approvals import RequestState
from indult.autofix.fingerprints import one_line
from indult.autofix.fixer import Ended, run_fixer
from indult.autofix.records import Seal
from indult.autofix.setting import CANCELLED
from indult.canonical import digest
from indult.critiques import Critique
from indult.errors import RunError, ShipError
from indult.judgements import Verdict
from indult.loop.stop import StopKind, StopReason
from indult.ship.checks import run_checks
from indult.ship.ship import Judged, Landed, Refused, Ship

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any

    from indult.autofix.setting import Setting
    from indult.autofix.signals import Signal
    from indult.autofix.workspace import Workspace
    from indult.boundary import Brief
    from indult.gate import Gate

__all__ = ["FIXER", "Turn", "Work", "ship_it"]

FIXER: Final = "fixer"
"""The actor who works on a fix: whoever asks in its name cannot be the one who answers."""

_AGAIN: Final = 5
"""How often a branch is shipped once more because its target moved meanwhile."""

_REASON: Final = 3_900
"""How many characters of what the gate said a critique repeats."""

_LONG: Final = 1_000
"""How many characters of one line of a refusal are repeated."""

_SUBJECT: Final = 72
"""How many characters of a summary are the subject of a commit."""

_CALM: Final = "nothing changed"
_MOVED: Final = "moved"


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What one turn came to: `what` in a word, `said` in the words that the next brief repeats, `shown` in a line.

    `wall` is the same for two turns that got equally far. `landed`, `request`, `judged` and `refused` are there where it
    came to them, `stop` where no turn can follow.
    """

    what: str
    said: str
    shown: str = ""
    wall: str = ""
    landed: Landed | None = None
    request: str | None = None
    judged: Judged | None = None
    refused: Refused | None = None
    ended: Ended | None = None
    stop: StopReason | None = None

    @property
    def line(self) -> str:
        """Return what came of it in a line for whoever watches."""
        return self.shown or one_line(self.said, _LONG) or self.what

    @property
    def rules(self) -> tuple[str, ...]:
        """Return the rules that refused what was shipped in this turn."""
        return self.refused.rules if self.refused is not None and self.what == "refused" else ()

    def critique(self) -> Critique:
        """Return what the next brief repeats of this turn; what a person opens since makes it void."""
        judged, faults = self.judged, () if self.refused is None else self.refused.faults
        parts = len(judged.parts) if judged is not None else 0
        # Measured by the gate: how much of what was shipped it had nothing against.
        score = 1.0 if self.landed is not None else max(0.0, 1 - len(faults) / parts) if parts and faults else 0.0
        asked = tuple(dict.fromkeys(fault.target for fault in faults if fault.verdict is Verdict.ASK_USER))
        return Critique(score=round(score, 4), reason=self.said[:_REASON], asked=asked[:1000], request=self.request)


@dataclass(slots=True, kw_only=True)
class Work:
    """A fixer's work on one signal: its work tree, the ship that would land it, and where its branch stood last."""

    setting: Setting
    signal: Signal
    workspace: Workspace
    ship: Ship
    head: str
    refused: Turn | None = None
    """The last turn that was refused at ship; it stands as long as nothing else is on the branch."""

    def turn(
        self,
        brief: Brief,
        gate: Gate,
        started: Callable[[], StopReason | None],
        kept: Callable[[Mapping[str, Any]], None],
    ) -> Turn:
        """Let the fixer work by a brief, and take what it leaves.

        `started` is called before it is let loose, and may say why it is not; `kept` is told by which process.

        Raises:
            LedgerError: The ledger failed, or is not what it was.
            PolicyError: The target has no policy any more.
        """
        handed = self._handed_back(gate)
        seal = Seal.of(gate.ledger)
        if (stop := started()) is not None:
            return Turn(what="spent", said="", stop=stop)
        ended = self._run(brief, kept)
        try:
            seal.check(gate.ledger)
        finally:
            self.setting.says("fixer", self.signal, f"ended: {ended.why}", seconds=round(ended.seconds, 1))
        if ended.why == "not_started":
            raise RunError(
                f"the fixer `{self.setting.fixer[0]}` cannot be started: {ended.output.strip()}",
                hint="the command is the key `fixer` of the policy; is its folder on the PATH of this run?",
            )
        if ended.why == "vanished":
            raise RunError(
                f"what kept the fixer of `{self.signal.id}` is gone, and what it started may still run",
                hint="look for its processes and end them before you answer or run anything",
            )
        turn = replace(self._came(ended, gate, handed), ended=ended)
        if turn.what == "refused" and turn.judged is not None:
            self.refused = turn
        return turn

    def _run(self, brief: Brief, kept: Callable[[Mapping[str, Any]], None]) -> Ended:
        return run_fixer(
            self.setting.fixer,
            workspace=self.workspace,
            task=brief.text,
            environment={
                "INDULT_ACTOR": FIXER,
                "INDULT_SIGNAL": self.signal.id,
                **({"INDULT_DB": self.setting.database} if self.setting.database else {}),
            },
            seconds=self.setting.seconds_left(),
            stop=self.setting.cancelled,
            started=lambda process: kept(process.to_dict()),
        )

    def _came(self, ended: Ended, gate: Gate, handed: int) -> Turn:
        if self.setting.cancelled():
            return Turn(what="cancelled", said="", stop=CANCELLED)
        if self._handed_back(gate) > handed:
            return self._answered(gate)
        if ended.why != "done":
            return _unfinished(ended)
        try:
            self.workspace.commit(f"{self.signal.summary[:_SUBJECT]}\n\nRepairs the signal {self.signal.id}.")
        except ShipError as exc:
            # It took apart what git needs: more turns could put that right.
            return Turn(
                what="unfinished", said=f"What is in the files cannot be committed: {exc.message}.", wall=exc.message
            )
        head = self.ship.repository.head(self.ship.branch)
        if head == self.head:
            return self._idle()
        self.head = head
        return self._shipped()

    def _shipped(self) -> Turn:
        """Ship the branch, one of this run at a time, and tell of a check that fails without the branch as well."""
        with self.setting.landing:
            turn = ship_it(self.ship)
            failed, judged = turn.refused.failed if turn.refused is not None else None, turn.judged
            if failed is None or judged is None or self.setting.cancelled():
                return turn
            key = (judged.onto, failed.name)
            if key not in self.setting.already:
                again = run_checks(
                    {failed.name: failed.command},
                    self.ship.repository,
                    judged.onto,
                    seconds=self.ship.check_seconds(),
                    stopped=self.ship.stopped,
                )
                self.setting.already[key] = again is not None
        if not self.setting.already[key]:
            return turn
        more = f"`{failed.name}` fails on {self.ship.into} without this branch as well: nothing lands until it passes."
        return replace(turn, said=f"{turn.said}\n{more}")

    def _idle(self) -> Turn:
        """Return the turn of a fixer that changed nothing: what was refused before still is."""
        said = "The last turn changed nothing, and handed nothing back."
        last = None if self.refused is None else self.refused.refused
        if self.refused is not None and (self.refused.wall == _MOVED or (last is not None and last.failed is not None)):
            # It was overtaken, or a check failed that need not fail each time.
            return self._shipped()
        if self.refused is None:
            return Turn(what="nothing", said=said, wall=_CALM)
        return replace(self.refused, what="nothing", said=f"{said}\n{self.refused.said}", wall=_CALM, ended=None)

    def _handed_back(self, gate: Gate) -> int:
        """Return the version of the last hand-back of the signal."""
        last = gate.ledger.last(gate.subject, "handed_back")
        return 0 if last is None else last.version

    def _answered(self, gate: Gate) -> Turn:
        """Return the turn of a fixer that handed back: a person is asked, unless one said no to the same before."""
        last = gate.ledger.last(gate.subject, "handed_back")
        assert last is not None
        standing = gate.requests.standing(str(last.data["request"]))
        request = standing.request
        if standing.state is RequestState.REJECTED:
            said = f"What was handed back was asked before: {standing.answer}. It is not asked again."
            return Turn(what="refused", said=said, wall=f"rejected {request.id}")
        detail = f"a person is asked: {request.scope.title}"
        stop = StopReason(kind=StopKind.AWAITING_APPROVAL, detail=detail)
        return Turn(what="handed_back", said=f"Handed back: {request.scope.title}", request=request.id, stop=stop)


def ship_it(ship: Ship) -> Turn:
    """Ship a branch, once more where its target moved meanwhile, and return what came of it."""
    try:
        for _ in range(_AGAIN):
            turn = _shipped(ship)
            if turn.wall != _MOVED:
                return turn
    except ShipError as exc:
        # Not the fixer's doing, such as a target that somebody works in: more turns would not help.
        stop = StopReason(kind=StopKind.FAILED, detail=exc.message)
        return Turn(what="blocked", said=exc.message, wall=f"blocked {exc.message}", stop=stop)
    return turn


def _shipped(ship: Ship) -> Turn:
    repository = ship.repository
    head, onto = repository.head(ship.branch), repository.head(ship.into)
    conflicts = repository.merged(onto, head)[1]
    if conflicts:
        names = ", ".join(_lines(conflicts))
        said = f"The branch does not merge into {ship.into}: {names}. Merge {ship.into} into it and resolve that."
        return Turn(what="refused", said=said, wall=digest({"conflicts": list(conflicts)}))
    judged = ship.judge()
    if judged.empty:
        return Turn(
            what="nothing", said=f"The branch holds nothing that {ship.into} has not.", wall=_CALM, judged=judged
        )
    came = ship.finish(judged)
    if isinstance(came, Landed):
        return Turn(what="landed", said=f"landed {came.commit}", landed=came, judged=judged)
    if came.verdict is None and came.failed is None and _moved(ship, judged):
        return Turn(what="refused", said=came.message, wall=_MOVED, judged=judged, refused=came)
    shown = next(_lines(came.lines))
    return Turn(what="refused", said=_said(came), shown=shown, wall=_wall(came), judged=judged, refused=came)


def _moved(ship: Ship, judged: Judged) -> bool:
    repository = ship.repository
    return (repository.tip(ship.branch), repository.tip(ship.into)) != (judged.head, judged.onto)


def _said(came: Refused) -> str:
    """Return why a ship was refused, in the words that the next brief repeats; a name in it cannot begin a line."""
    lines = ["The branch was refused at ship:", *_lines(came.lines)]
    if came.failed is not None:
        lines += ["The end of what it printed:", *(f"| {line}" for line in _lines(_end(came.failed.output)))]
    return "\n".join(lines)


def _lines(texts: Iterable[str]) -> Iterator[str]:
    """Yield each text as one plain line: names of files may hold anything."""
    return (one_line(text, _LONG) for text in texts)


def _end(output: str) -> list[str]:
    return output.splitlines()[-40:]


def _wall(came: Refused) -> str:
    """Return what is the same about two refusals: the faults by their exact names, or the check that failed."""
    faults = sorted({(fault.target, str(fault.verdict)) for fault in came.faults})
    failed = None if came.failed is None else came.failed.name
    return digest(
        {"faults": [list(one) for one in faults], "failed": failed, "lines": [] if faults else list(came.lines)}
    )


def _how(ended: Ended) -> str:
    return "was ended from outside" if ended.code is None else f"ended with exit code {ended.code}"


def _unfinished(ended: Ended) -> Turn:
    why = {
        "timed_out": f"The last turn was ended after {ended.seconds:.0f} s; what it left is in the files.",
        "stopped": "The last turn was ended from outside; what it left is in the files.",
    }.get(ended.why, f"The last turn {_how(ended)}; what it left is in the files.")
    return Turn(what="unfinished", said=why, wall=f"unfinished {ended.why}")
