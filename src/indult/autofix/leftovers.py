"""What a killed run leaves, and how the next one clears it away: processes, work trees, open records.

The ledger tells of each fix before anything of it is made, so nothing is looked for that was not written down. What
landed is asked of the target's history, as every ship does; a signal of which nothing landed waits for a fixer again.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from indult.autofix.fixer import Process, end_left
from indult.autofix.records import FIX, KEPT, STREAM, Fix, branch_end, fixes, run_stream
from indult.autofix.signals import SignalState, find, move
from indult.autofix.workspace import Workspace, fixes_folder
from indult.gate import Requests
from indult.ledger import Draft
from indult.loop.stop import StopKind, StopReason
from indult.ship.git import Repository
from indult.ship.intents import recover

if TYPE_CHECKING:
    from indult.ledger import Event, Ledger
    from indult.policy import Policy

__all__ = ["clear"]

_ENDED: Final = StopReason(kind=StopKind.CANCELLED, detail="the run ended while a fix was under way")


def clear(repository: Repository, ledger: Ledger, policy: Policy, *, into: str) -> Iterator[tuple[str, str]]:
    """Close what killed runs left open, and yield each signal with what became of it.

    The caller holds the lock of the runs of this repository, so nobody is at work.

    Raises:
        ShipError: Of a landing it cannot be told whether it took place.
        LedgerError: The ledger failed.
    """
    left = [fix for fix in fixes(ledger) if fix.repository == repository.common]
    for fix in left:
        if fix.process:
            end_left(Process.from_dict(fix.process))
    if left:
        with repository.lock():
            recover(repository, into, requests=Requests(ledger, policy), ledger=ledger)
    for fix in left:
        yield fix.signal, _close(ledger, fix)
    kept = _still_kept(repository, ledger, into)
    for place in _places(repository.root):
        # Nothing that lies in the folder is believed: a fixer could have written it.
        for branch in _branches(repository, place.name) or [""]:
            workspace = Workspace(str(place), common=repository.common, branch=branch, start="")
            workspace.remove(keep_branch=not branch or branch in kept)


def _places(root: str) -> list[Path]:
    """Return the folders of fixes that are there."""
    folder = Path(fixes_folder(root))
    return sorted(folder.iterdir()) if folder.is_dir() else []


def _branches(repository: Repository, fix: str) -> list[str]:
    """Return the branch of a fix by the name of its folder, if there is one."""
    return repository.matching(f"indult/s_*/{branch_end(fix)}") if FIX.fullmatch(fix) else []


def _still_kept(repository: Repository, ledger: Ledger, into: str) -> set[str]:
    """Return the branches that stay for a person; one of which all has landed goes, and so does the record of one that is gone."""
    kept = set(ledger.recall(KEPT))
    tips = {branch: repository.tip(branch) for branch in kept}
    target = repository.head(into)
    over = {branch for branch, tip in tips.items() if tip is None or repository.contains(target, tip)}
    for branch in sorted(over):
        tip = tips[branch]
        if tip is not None:
            repository.drop(branch, tip)
    if over:
        ledger.append(Draft(STREAM, "branches_dropped", {"latest": {KEPT: dict.fromkeys(sorted(over))}}))
    return kept - over


def _close(ledger: Ledger, fix: Fix) -> str:
    """Write how a fix ended of which nobody lived to say so, and return that in words."""
    landed, handed = (_since(ledger, fix, kind) for kind in ("ship_landed", "handed_back"))
    data: dict[str, object] = {"signal": fix.signal, "fix": fix.fix, "turns": 0, "stop": _ENDED.to_dict()}
    if landed is not None:
        state, reason = (
            SignalState.LANDED,
            f"landed {_commit(ledger, fix, landed)}, and the run ended before it said so",
        )
    elif handed is not None:
        state, reason = SignalState.NEEDS_HUMAN, f"handed back as {handed.data['request']}, and the run ended"
        data["request"] = handed.data["request"]
    else:
        state, reason = SignalState.FIX, str(_ENDED.detail)
    more = {"counts": {run_stream(fix.run): {f"ended:{state}": 1}}, "latest": fix.closed(None)}
    draft = Draft(run_stream(fix.run), "signal_ended", {**data, "state": str(state), **more})
    signal = find(ledger, fix.signal)
    move(ledger, signal.id, state, reason=reason, drafts=(draft,))
    return reason


def _since(ledger: Ledger, fix: Fix, kind: str) -> Event | None:
    """Return the last event of a kind that the signal has since a fix began."""
    last = ledger.last(fix.subject, kind)
    return last if last is not None and last.version > fix.version else None


def _commit(ledger: Ledger, fix: Fix, landed: Event) -> str:
    """Return the commit of a landing."""
    for event in ledger.events(fix.subject, kinds={"ship_started"}, newest_first=True):
        if event.data.get("ship") == landed.data.get("ship"):
            return str(event.data["commit"])
    return str(landed.data.get("ship"))
