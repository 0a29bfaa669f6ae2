"""Reading requests: each is folded from its own stream, whose chain is verified while it is folded.

Nothing here trusts a view: an entry of an index only says where to look.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeVar

from indult.approvals import Choice, Grant, RequestState, Standing, Verify, request_stream, standing
from indult.errors import ApprovalError, ForgedRecord, LedgerCorrupt, ScopeError, UnknownRequest
from indult.gate import index
from indult.gate.marks import Mark
from indult.ledger import GENESIS, Event, Ledger
from indult.ledger.streams import follows
from indult.policy import Policy

__all__ = ["Folded", "Live", "Next", "Records", "timed_out"]


class Next(NamedTuple):
    """An event that may be written next, for the fold to say what it would make of a request."""

    kind: str
    version: int
    position: int
    data: dict[str, Any]


class Folded(NamedTuple):
    """A request as its stream tells it: the events, and how it stood at a time."""

    events: tuple[Event, ...]
    standing: Standing
    at: str

    def holds(self, now: str) -> bool:
        """Tell whether it stands at `now` as it did then: no expiry lies between."""
        request = self.standing.request
        ends = [request.expires_at, request.scope.expires_at, *(made.expires_at for made in self.standing.decisions)]
        return self.at <= now and not any(end is not None and self.at < end <= now for end in ends)


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """What the index of a subject led to: requests with a live grant, those whose time is over, and forged records.

    `void` are those whose approvals do not count under the present policy, though they did when they were given: they
    wait for an answer again. A forged record opens nothing; it is kept here to be told.
    """

    standings: tuple[Standing, ...] = ()
    over: tuple[Standing, ...] = ()
    void: tuple[Standing, ...] = ()
    forged: tuple[ForgedRecord, ...] = ()

    @property
    def grants(self) -> tuple[Grant, ...]:
        """Return the live grants, by id."""
        found = (one.grant for one in self.standings)
        return tuple(sorted((grant for grant in found if grant is not None), key=lambda grant: grant.id))


class Records:
    """The requests of one ledger, read under one policy.

    `clock` gives the present; the time of the ledger's last event counts where it is later, so that a clock that was
    set back revives nothing. `verify` checks signatures.
    """

    def __init__(
        self, ledger: Ledger, policy: Policy, *, clock: Callable[[], str], verify: Verify, mark: Mark | None
    ) -> None:
        self.ledger = ledger
        self.policy = policy
        self.mark = mark
        self._clock = clock
        self._verify = verify
        self._good: dict[tuple[str, bytes, str], bool] = {}
        self._known: dict[str, Folded] = {}

    def now(self) -> str:
        """Return the present: never before what already happened."""
        last = next(self.ledger.events(newest_first=True, limit=1), None)
        now = self._clock()
        return now if last is None else max(now, last.at)

    def fold(self, request: str, now: str) -> Folded:
        """Fold one request from its stream.

        Raises:
            UnknownRequest: There is no such request.
            ForgedRecord: The stream is not what its chain says, or holds something else than this request.
        """
        stream = request_stream(request)
        head = self.ledger.head(stream)
        try:
            events = tuple(self.ledger.events(stream))
        except LedgerCorrupt as exc:
            raise ForgedRecord(f"request `{request}` cannot be read: {exc}", hint=_VERIFY) from exc
        known = self._known.get(request)
        # Read anew each time, but not verified anew as long as every field of every event is the same.
        if known is not None and known.events == events and head == _head(events) and known.holds(now):
            return known
        _check_chain(request, events, head)
        found = self._standing(request, events, now)
        if found.request.id != request:
            raise ForgedRecord(f"the stream of request `{request}` holds request `{found.request.id}`", hint=_VERIFY)
        folded = Folded(events, found, now)
        remember(self._known, request, folded)
        return folded

    def after(self, folded: Folded, kind: str, data: dict[str, Any], now: str) -> Standing:
        """Return how a request would stand after one more event."""
        last = folded.events[-1]
        event = Next(kind, last.version + 1, last.position + 1, data)
        return self._standing(folded.standing.request.id, (*folded.events, event), now)

    def begun(self, request: str, data: dict[str, Any], now: str) -> Standing:
        """Return how a request would stand after its first event."""
        return self._standing(request, (Next("request_opened", 1, 1, data),), now)

    def live(self, subject: str) -> Live:
        """Fold the requests of a subject on which an approval stands."""
        listed = self.ledger.recall(index.live(subject))
        if not listed:
            return Live()
        if self.mark is not None:
            try:
                self.mark.check(self.ledger)
            except ForgedRecord as exc:
                return Live(forged=(exc,))
        now = self.now()
        standings: list[Standing] = []
        over: list[Standing] = []
        void: list[Standing] = []
        forged: list[ForgedRecord] = []
        for request in listed:
            try:
                found = self._listed(request, subject, now)
            except ForgedRecord as exc:
                forged.append(exc)
                continue
            if found.grant is not None:
                standings.append(found)
            elif timed_out(found):
                over.append(found)
            elif not found.state.closed and self._void(found):
                void.append(found)
            elif self.ledger.latest(index.live(subject), request) is not None:
                # Read again, since somebody may have used it up between the index and the fold.
                forged.append(ForgedRecord(f"request `{request}` is listed as live, and is {found.state}"))
        return Live(standings=tuple(standings), over=tuple(over), void=tuple(void), forged=tuple(forged))

    def _void(self, found: Standing) -> bool:
        """Tell whether the policy, and nothing in the records, is why an approval no longer counts.

        It declares other approvers now, or takes more of them. A signature that is there and wrong is another matter.
        """
        approving = [decision for decision in found.decisions if decision.choice is Choice.APPROVE]
        known = [decision for decision in approving if decision.id not in {one.split(":")[0] for one in found.refused}]
        others = [decision for decision in approving if decision not in known]
        if any(decision.by in self.policy.approvers and decision.signature is not None for decision in others):
            return False
        return bool(others) or 0 < len(found.approved_by) < found.wanted

    def pending(self, subject: str | None) -> tuple[list[Standing], list[ForgedRecord]]:
        """Fold the requests that wait for an answer, those of one subject or all, oldest first; tell of forged ones."""
        listed = {
            request: str(entry.get("subject"))
            for request, entry in self.ledger.recall(index.OPEN).items()
            if subject is None or entry.get("subject") == subject
        }
        now = self.now() if listed else ""
        found: list[Standing] = []
        forged: list[ForgedRecord] = []
        for request, owner in listed.items():
            try:
                one = self._listed(request, owner, now)
            except ForgedRecord as exc:
                forged.append(exc)
                continue
            if one.state is RequestState.OPEN:
                found.append(one)
        return sorted(found, key=lambda one: (one.request.opened_at, one.request.id)), forged

    def _listed(self, request: str, subject: str, now: str) -> Standing:
        """Fold a request that an index names."""
        try:
            found = self.fold(request, now).standing
        except UnknownRequest as exc:
            raise ForgedRecord(f"an index lists request `{request}`, which does not exist") from exc
        if found.request.scope.subject != subject:
            raise ForgedRecord(
                f"an index lists request `{request}` under `{subject}`; it is of `{found.request.scope.subject}`"
            )
        return found

    def _standing(self, request: str, events: Iterable[Event | Next], now: str) -> Standing:
        try:
            return standing(events, self.policy, now=now, verify=self.verify)
        except (ApprovalError, ScopeError, KeyError, TypeError, ValueError) as exc:
            # A forger need not write what the fold expects.
            raise ForgedRecord(f"request `{request}` cannot be read: {exc}", hint=_VERIFY) from exc

    def verify(self, public_key: str, payload: bytes, signature: str) -> bool:
        """Check a signature, one that was checked before from memory: the answer can never be another."""
        key = (public_key, payload, signature)
        if key not in self._good:
            remember(self._good, key, self._verify(*key))
        return self._good[key]


_REMEMBERED: Final = 1024
"""How many requests and signatures are remembered as checked: more than any subject has live grants."""

_VERIFY: Final = "run `indult log verify`"

K = TypeVar("K")
V = TypeVar("V")


def remember(memory: dict[K, V], key: K, value: V) -> None:
    """Keep a value, and forget all others where there are too many."""
    if len(memory) >= _REMEMBERED:
        memory.clear()
    memory[key] = value


def timed_out(found: Standing) -> bool:
    """Tell whether a request is over for no other reason than the time."""
    return found.state is RequestState.EXPIRED or (found.state is RequestState.SPENT and found.uses_left > 0)


def _head(events: tuple[Event, ...]) -> tuple[int, str]:
    return (events[-1].version, events[-1].hash) if events else (0, GENESIS)


def _check_chain(request: str, events: tuple[Event, ...], head: tuple[int, str]) -> None:
    """Refuse events of which one does not follow from the one before, or that do not reach the recorded head.

    Raises:
        UnknownRequest: There are none, and none are recorded.
        ForgedRecord: An event was changed, put in or removed; the message says which.
    """
    prev = GENESIS
    for version, event in enumerate(events, 1):
        if not follows(event, version, prev):
            raise _broken(request, version)
        prev = event.hash
        # The ledger keeps the head of each stream apart. Others may write meanwhile, so events may go on beyond it.
        if version == head[0] and prev != head[1]:
            raise _broken(request, version)
    if len(events) < head[0]:
        raise _broken(request, len(events) + 1)
    if not events:
        raise UnknownRequest(f"there is no request `{request}`", hint="`indult requests` lists those that are open")


def _broken(request: str, version: int) -> ForgedRecord:
    return ForgedRecord(f"event {version} of request `{request}` is not what its chain says", hint=_VERIFY)
