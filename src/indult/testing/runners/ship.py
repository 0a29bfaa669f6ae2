"""The `ship` case runner: a branch and a story of hand-backs and answers, through the real gate of a real repository.

The story is played by the calls that the verbs make: reports, decisions and a ship. A call that is refused is part of
it; what counts is whether the branch lands.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from indult.approvals import Choice, HumanDecision, Standing, Via, request_stream
from indult.canonical import canonical
from indult.errors import IndultError, InputError, UnknownRequest
from indult.gate import Gate, Requests
from indult.gate.marks import Mark
from indult.ledger import Ledger, open_ledger
from indult.policy import Policy
from indult.scopes import Scope
from indult.ship.git import Repository
from indult.ship.report import Report, hand_back, signal_subject
from indult.ship.ship import Landed, Refused, Ship
from indult.testing.branches import Branches

__all__ = ["run"]

LAW: Final = """\
schema: 1
extends: indult/repository@1
rules:
  - id: gate
    effect: deny
    target: file:**/maxclaw.toml
    says: Leave maxclaw.toml alone.
"""
"""The policy of the target branch."""

_NOON: Final = datetime(2026, 8, 20, 12, tzinfo=UTC)


def run(path: Path) -> Iterator[dict[str, Any]]:
    """Yield `{"id", "result", "message"}` for each case of a JSON Lines file; `result` is `land` or `refuse`.

    Raises:
        InputError: A line is no case.
    """
    with Path(path).open(encoding="utf-8") as lines:
        for line in lines:
            if not line.strip():
                continue
            case = json.loads(line)
            try:
                with TemporaryDirectory(prefix="indult-case-") as folder, ExitStack() as stack:
                    came = _Play(case=case, folder=Path(folder), stack=stack).ship()
            except (KeyError, TypeError) as exc:
                raise InputError(f"`{case.get('id')}` is no ship case: {type(exc).__name__}: {exc}") from exc
            landed = isinstance(came, Landed)
            message = f"landed: {', '.join(came.files)}" if isinstance(came, Landed) else came.message
            yield {"id": case["id"], "result": "land" if landed else "refuse", "message": message}


@dataclass(slots=True, kw_only=True)
class _Play:
    """One case on its way: its repository, its ledger, a clock that its events move, and what was handed back."""

    case: Mapping[str, Any]
    folder: Path
    stack: ExitStack
    now: str = ""
    requests: dict[str, str] = field(default_factory=dict)
    branches: Branches = field(init=False)
    repository: Repository = field(init=False)
    ledger: Ledger = field(init=False)
    _ids: Iterator[int] = field(default_factory=lambda: count(1))

    def __post_init__(self) -> None:
        """Make the repository and the ledger."""
        base = {**self.case["base_files"], "indult.yaml": LAW}
        self.branches = Branches(self.folder / "repository", base, self.case["branch_changes"])
        self.repository = self.stack.enter_context(Repository.open(self.branches.folder))
        self._move(0)
        self._open()

    def ship(self) -> Landed | Refused:
        """Play the story, ship the branch, and return what came of it."""
        for event in self.case["approval_timeline"]:
            self._move(event["at"])
            # A report or an answer may be refused. Then nothing is stored, and the story goes on.
            with suppress(IndultError):
                self._play(event)
        ship = self._ship(self.branches.branch)
        try:
            judged = ship.judge()
            self._move_on()
            if judged.empty:
                return Landed(commit=judged.onto, empty=True)
            return ship.land(judged) if judged.allowed else ship.refuse(judged)
        except IndultError as exc:
            return Refused(lines=(exc.message,))

    def _play(self, event: Mapping[str, Any]) -> None:
        """Do what one event of the story says, by the call that the verb for it makes."""
        match event:
            case {"event": "handoff" | "new-handoff", "handoff": name}:
                gate = self._gate(signal_subject(event["signal"]))
                self.requests[name] = hand_back(_report(event), gate=gate).request.id
            case {"event": "approve" | "discuss" | "reject" as choice, "handoff": name, "by": by}:
                self._decide(name, Choice(choice), by, event.get("comment", ""))
            case {"event": "revoke", "handoff": name, "by": by}:
                requests, found = self._found(name)
                requests.revoke(found.grant.id if found.grant is not None else "g_none", by=by)
            case {"event": "restart"}:
                self.ledger.close()
                self._open()
            case {"event": "ship-refused"}:
                self._refused()
            case {"event": "store-edit", "handoff": name, "set": changes}:
                self._edit(name, changes)
            case _:
                raise InputError(f"`{event.get('event')}` is no event of a ship case")

    def _decide(self, name: str, choice: Choice, by: str, note: str) -> None:
        """Answer a hand-back as it stands now."""
        requests, found = self._found(name)
        decision = HumanDecision(
            id=f"d_{next(self._ids):04}",
            request=found.request.id,
            choice=choice,
            digest=found.request.digest,
            seen=found.seen,
            by=by,
            via=Via.CLI,
            at=self.now,
            note=note,
        )
        requests.decide(decision)

    def _found(self, name: str) -> tuple[Requests, Standing]:
        """Return how the request of a hand-back stands now, and the requests that it is one of."""
        if name not in self.requests:
            raise UnknownRequest(f"there is no request for the hand-back `{name}`")
        requests = self._requests(self.ledger, self._policy())
        return requests, requests.standing(self.requests[name])

    def _refused(self) -> None:
        """Ship a branch that holds something forbidden besides, which the gate must refuse."""
        forbidden = {"op": "write", "path": "vendor/forbidden.js", "content": "x\n"}
        self.branches.add([forbidden], branch="forbidden")
        came = self._ship("forbidden").run().to_dict()
        if came["result"] != "refused":
            raise AssertionError("a branch landed that had to be refused")

    def _edit(self, name: str, changes: Mapping[str, Any]) -> None:
        """Change what a hand-back named in the file of the ledger, as somebody would who can write it."""
        (event,) = self.ledger.events(request_stream(self.requests[name]), kinds={"request_opened"})
        handed = next(one for one in self.case["approval_timeline"] if one.get("handoff") == name)
        named = {**handed["exception"], **changes}
        old = Scope.from_dict(event.data["request"]["scope"])
        scope = Scope.dependency(
            named["dependency"], named["version"], named["paths"], named["change"], subject=old.subject
        ).under(old.rules)
        request = {**event.data["request"], "scope": scope.to_dict()}
        text = canonical({**event.data, "request": request})
        with closing(sqlite3.connect(self._file)) as db:
            for (trigger,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
                db.execute(f"DROP TRIGGER {trigger}")
            db.execute("UPDATE events SET data = ? WHERE position = ?", (text, event.position))
            db.commit()

    def _move_on(self) -> None:
        """Put the changes on the branch that arrive after it was judged."""
        if self.case.get("after_check_changes"):
            self.branches.add(self.case["after_check_changes"])

    def _ship(self, branch: str) -> Ship:
        return Ship(
            repository=self.repository,
            ledger=self.ledger,
            branch=branch,
            into=self.branches.target,
            subjects=[signal_subject(signal) for signal in self._signals()],
            by="fixer",
            requests=self._requests,
        )

    def _signals(self) -> list[str]:
        """Return the signals of the ship: those that the case names, else all, in order of first appearance."""
        named = self.case.get("ship_signals")
        timeline = self.case["approval_timeline"]
        return list(named or dict.fromkeys(event["signal"] for event in timeline if "signal" in event))

    def _policy(self) -> Policy:
        return self._ship(self.branches.branch).policy(self.repository.head(self.branches.target))

    def _gate(self, subject: str) -> Gate:
        policy = self._policy()
        return Gate(policy, self.ledger, subject, requests=self._requests(self.ledger, policy))

    def _requests(self, ledger: Ledger, policy: Policy) -> Requests:
        """Return the requests of a ledger by the clock of the story; the mark is kept beside it, not in a home folder."""
        return Requests(ledger, policy, clock=lambda: self.now, mark=Mark(self.folder / "mark.json"))

    @property
    def _file(self) -> Path:
        return self.folder / "ledger" / "ledger.db"

    def _open(self) -> None:
        self.ledger = self.stack.enter_context(open_ledger(self._file, clock=lambda: self.now))

    def _move(self, seconds: float) -> None:
        then = _NOON + timedelta(seconds=seconds)
        self.now = then.isoformat(timespec="microseconds")[:26] + "Z"


def _report(event: Mapping[str, Any]) -> Report:
    """Return the report of a hand-off."""
    data = {name: event[name] for name in ("signal", "by", "relaxes_constraint", "card", "evidence") if name in event}
    if event.get("exception") is not None:
        data["dependency_exception"] = event["exception"]
    return Report.from_dict(data)
