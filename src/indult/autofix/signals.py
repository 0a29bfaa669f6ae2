"""Signals: what goes wrong, once each, however often it is seen.

A sighting is friction that was seen; all sightings of one fault are one signal. Stream and subject of a signal are
`signal:ID`; in it stand `signal_seen {times, bodies}`, `signal_moved {before, state, reason}`, and what others write of
the signal.

| view | scope | key | holds |
|---|---|---|---|
| latest | `signals` | id | `kind`, `summary`, `fingerprint`, `source`, `first_at`: what does not change |
| latest | `signals:seen` | id | `seen_at`, and `detail`, the digest of the newest evidence |
| counter | `signals:count` | id | how often it was seen |
| latest | `signals:state` | id | `state`, `reason`, `priority`, `rule`, `turns`, `ended_at` |
| latest | `signals:in:STATE` | id | `priority`, `first_at`: the signals in a state |

What is seen and what is made of it stand apart, so a sighting during a fix never sets a state back.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from indult.autofix.fingerprints import MOST, fingerprint, one_line, signal_id
from indult.errors import InputError, LedgerConflict, UnknownSignal
from indult.ledger import Body, Draft, Ledger, mask_text, utc_now
from indult.ship.report import signal_subject

__all__ = [
    "MAX_DETAIL",
    "MAX_SUMMARY",
    "Ingested",
    "Sighting",
    "Signal",
    "SignalState",
    "Together",
    "find",
    "ingest",
    "move",
    "signals",
    "tally",
]

MAX_SUMMARY: Final = 200
"""Longest summary and source, in characters."""

MAX_DETAIL: Final = 20_000
"""How much evidence is kept of a sighting, in characters."""

MAX_REASON: Final = 400
"""Longest reason of a state, in characters."""

MAX_TIMES: Final = 1_000_000
"""How often a fault may have been seen in one sighting."""

REOPENED: Final = "seen again after it landed"
"""Why a signal is new that had landed."""

_BATCH: Final = 500
_BATCH_CHARACTERS: Final = 2_000_000
_ATTEMPTS: Final = 1000
_KIND: Final = re.compile(r"[a-z][a-z0-9_-]{0,39}\Z")
_ABOUT: Final = "signals"
_SEEN: Final = "signals:seen"
_COUNT: Final = "signals:count"
_STATE: Final = "signals:state"
_SEEN_KIND: Final = "signal_seen"
_RESERVED: Final = frozenset({"before", "bodies", "clear", "reason", "state"})
_KEPT: Final = ("priority", "rule", "turns", "ended_at")


class SignalState(StrEnum):
    """What is made of a signal."""

    NEW = "new"
    """Nothing yet."""
    FIX = "fix"
    """It is taken up, and waits for a fixer."""
    NEEDS_HUMAN = "needs-human"
    """It waits for a person."""
    IGNORED = "ignored"
    """It is only counted."""
    FIXING = "fixing"
    """A fixer is at work on it."""
    LANDED = "landed"
    """Its fix has landed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """Friction that was seen, once or `times` times.

    `kind` is a plain word, `source` says where it was seen, `detail` is evidence in any form, and `key` is what makes it
    the same again: by default the summary. Summary and source are made plain lines and cut, the detail is cut in its
    middle, and secrets in them are masked first.

    Raises:
        InputError: The kind is no plain word, the summary is empty, or `times` is no whole number from 1.
    """

    kind: str
    summary: str
    source: str = ""
    detail: str = ""
    key: str = ""
    times: int = 1

    def __post_init__(self) -> None:
        """Refuse what is no sighting, and keep of a long one what can be shown."""
        if not _KIND.match(self.kind):
            raise InputError(
                f"`{self.kind[:60]}` is no kind of a signal",
                hint="a word of small letters, such as `test` or `command`",
            )
        if type(self.times) is not int or not 1 <= self.times <= MAX_TIMES:
            raise InputError(f"a sighting has `{self.times}` times", hint=f"a whole number from 1 to {MAX_TIMES}")
        object.__setattr__(self, "key", (self.key or self.summary)[:MOST])
        object.__setattr__(self, "summary", _line(self.summary, MAX_SUMMARY))
        object.__setattr__(self, "source", _line(self.source, MAX_SUMMARY))
        object.__setattr__(self, "detail", _cut(self.detail))
        if not self.summary:
            raise InputError("a sighting has no summary", hint="one line that says what went wrong")

    @property
    def fingerprint(self) -> str:
        """Return the digest that all sightings of the same fault share."""
        return fingerprint(self.kind, self.key)


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """A fault and what is made of it.

    `version` is that of its stream when it was read, `turns` counts the calls of fixers so far, `ended_at` is when the
    last fix ended, and `detail` is the digest of the newest evidence.
    """

    id: str
    kind: str
    summary: str
    fingerprint: str
    source: str
    count: int
    state: SignalState
    first_at: str
    seen_at: str
    reason: str
    priority: int = 0
    rule: str | None = None
    turns: int = 0
    ended_at: str | None = None
    detail: str | None = None
    version: int = 0

    @property
    def subject(self) -> str:
        """Return the subject of what is asked for the signal, which is its stream too."""
        return signal_subject(self.id)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {**asdict(self), "state": self.state.value}


class Ingested(NamedTuple):
    """What became of sightings, in signals: those not known before, those only counted, those that had landed."""

    new: int
    again: int
    reopened: int
    ids: tuple[str, ...]


class Together(NamedTuple):
    """A draft that is written in one transaction with all sightings, if its stream still has a version."""

    draft: Draft
    version: int


@dataclass(slots=True)
class _Heap:
    """The sightings of one fault in a batch: the first one, the newest evidence, and how many they are."""

    first: Sighting
    fingerprint: str
    detail: str
    times: int


class _Batch(NamedTuple):
    """What a batch writes, which versions it rests on, and what became of each signal."""

    drafts: list[Draft]
    expect: dict[str, int]
    became: dict[str, str]


def ingest(
    ledger: Ledger,
    sightings: Iterable[Sighting],
    *,
    clock: Callable[[], str] = utc_now,
    together: Together | None = None,
) -> Ingested:
    """Make signals of sightings, and count those that are known; a landed one is new again.

    Sightings are read as they come and written in batches, each in one transaction; with `together` all in one.

    Raises:
        LedgerConflict: The stream of `together` moved; nothing was written.
    """
    became: dict[str, str] = {}
    for heaps in _heaps(sightings, whole=together is not None):
        for name, what in _write(ledger, heaps, clock, together).items():
            became.setdefault(name, what)
    numbers = {word: sum(what == word for what in became.values()) for word in ("new", "again", "reopened")}
    return Ingested(**numbers, ids=tuple(became))


def signals(ledger: Ledger, *states: SignalState) -> Iterator[Signal]:
    """Iterate over the signals in these states, or over all: highest priority first, then oldest first."""
    wanted = states or tuple(SignalState)
    listed = {name: entry for state in wanted for name, entry in ledger.recall(_index(state)).items()}
    ranked = sorted((-int(entry["priority"]), str(entry["first_at"]), name) for name, entry in listed.items())
    for _, _, name in ranked:
        found = _read(ledger, name)
        # Read one by one, while others may write.
        if found is not None and found.state in wanted:
            yield found


def tally(ledger: Ledger) -> dict[SignalState, int]:
    """Return how many signals are in each state, without reading one of them."""
    return {state: len(ledger.recall(_index(state))) for state in SignalState}


def find(ledger: Ledger, id: str) -> Signal:
    """Return a signal by its id.

    Raises:
        UnknownSignal: There is none.
    """
    found = _read(ledger, id)
    if found is None:
        raise UnknownSignal(f"there is no signal `{one_line(id, 60)}`", hint=_hint(ledger, id))
    return found


def move(
    ledger: Ledger,
    signal: Signal | str,
    state: SignalState,
    *,
    reason: str,
    kind: str = "signal_moved",
    expect_state: SignalState | None = None,
    more: Mapping[str, Any] = MappingProxyType({}),
    drafts: Sequence[Draft] = (),
    expect: Mapping[str, int] = MappingProxyType({}),
    bodies: Sequence[Body] = (),
) -> Signal:
    """Put a signal into a state, in one transaction with `drafts`, and return it as it is then.

    `more` joins the data of the event; its `priority`, `rule`, `turns` and `ended_at` become those of the signal, and
    its `latest`, `keep` and `counts` feed the views. Sightings that come in meanwhile do no harm. Whatever else was
    written since a given `Signal` was read is a conflict; an id stands for the signal as it is now.

    Raises:
        LedgerConflict: The stream moved, the signal is in another state than `expect_state`, or a stream of `expect`
            moved; nothing was written.
        UnknownSignal: There is no such signal.
        InputError: `more` uses a key that is written here, or the reason is empty.
    """
    taken = sorted(_RESERVED & more.keys())
    if taken:
        raise InputError(f"a move of a signal cannot be given the key `{taken[0]}`")
    given = find(ledger, signal) if isinstance(signal, str) else signal
    for _ in range(_ATTEMPTS):
        now = find(ledger, given.id)
        _check(ledger, given, now, expect_state)
        moved = _moved(now, state, reason, more)
        mine = Draft(now.subject, kind, _move_data(now, moved, more), tuple(bodies))
        try:
            events = ledger.append(*drafts, mine, expect={**expect, now.subject: now.version})
        except LedgerConflict:
            if ledger.head(now.subject)[0] == now.version:
                raise  # another stream than the signal's
            continue
        return replace(moved, version=events[-1].version)
    raise LedgerConflict(f"signal `{given.id}` is seen too often to be moved")


def _heaps(sightings: Iterable[Sighting], *, whole: bool) -> Iterator[dict[str, _Heap]]:
    """Yield the sightings by fingerprint, a bounded number at a time."""
    heaps: dict[str, _Heap] = {}
    number = held = 0
    for sighting in sightings:
        key = sighting.fingerprint
        heap = heaps.get(key)
        if heap is None:
            heap = heaps[key] = _Heap(sighting, key, sighting.detail, sighting.times)
        else:
            heap.detail = sighting.detail or heap.detail
            heap.times += sighting.times
        number, held = number + 1, held + len(sighting.detail) + len(sighting.key)
        if not whole and (number >= _BATCH or held >= _BATCH_CHARACTERS):
            yield heaps
            heaps, number, held = {}, 0, 0
    if heaps or whole:
        yield heaps


def _write(
    ledger: Ledger, heaps: Mapping[str, _Heap], clock: Callable[[], str], together: Together | None
) -> dict[str, str]:
    """Write a batch, again from the start where another writer was quicker, and return what became of each signal."""
    drafts = () if together is None else (together.draft,)
    expect = {} if together is None else {together.draft.stream: together.version}
    for _ in range(_ATTEMPTS):
        batch = _batch(ledger, heaps.values(), clock())
        try:
            ledger.append(*batch.drafts, *drafts, expect=batch.expect | expect)
        except LedgerConflict:
            if together is not None and ledger.head(together.draft.stream)[0] != together.version:
                raise
            continue
        return batch.became
    raise LedgerConflict("signals are seen too often to be counted")


def _batch(ledger: Ledger, heaps: Iterable[_Heap], at: str) -> _Batch:
    batch = _Batch([], {}, {})
    for heap in heaps:
        name = signal_id(heap.fingerprint)
        version, _ = ledger.head(signal_subject(name))
        known = ledger.latest(_STATE, name)
        draft, became = _seen(ledger, name, heap, known, at)
        batch.drafts.append(draft)
        batch.expect[draft.stream] = version
        batch.became[name] = became
    return batch


def _seen(ledger: Ledger, name: str, heap: _Heap, known: Mapping[str, Any] | None, at: str) -> tuple[Draft, str]:
    """Return the record of one fault's sightings, and what became of its signal."""
    body = Body(heap.detail) if heap.detail else None
    before = {} if known is None else ledger.latest(_SEEN, name) or {}
    detail = before.get("detail") if body is None else body.digest
    seen = {"seen_at": max(at, str(before.get("seen_at", ""))), "detail": detail}
    latest: dict[str, dict[str, Any]] = {_SEEN: {name: seen}}
    became = "again"
    if known is None:
        became = "new"
        about = {"kind": heap.first.kind, "summary": heap.first.summary, "source": heap.first.source}
        about |= {"fingerprint": heap.fingerprint, "first_at": at}
        latest |= {_ABOUT: {name: about}}
        latest |= _state_views(name, None, _state(SignalState.NEW, "not looked at yet"), at)
    elif known["state"] == SignalState.LANDED:
        became = "reopened"
        about = ledger.latest(_ABOUT, name) or {}
        state = {**known, "state": SignalState.NEW.value, "reason": REOPENED}
        latest |= _state_views(name, SignalState.LANDED, state, str(about["first_at"]))
    data = {"times": heap.times, "counts": {_COUNT: {name: heap.times}}, "latest": latest}
    return Draft(signal_subject(name), _SEEN_KIND, data, () if body is None else (body,)), became


def _state(state: SignalState, reason: str) -> dict[str, Any]:
    """Return the state of a signal that nobody worked on."""
    return {"state": state.value, "reason": reason, "priority": 0, "rule": None, "turns": 0, "ended_at": None}


def _state_views(
    name: str, before: SignalState | None, state: Mapping[str, Any], first_at: str
) -> dict[str, dict[str, Any]]:
    """Return what the views say of the state of a signal: in one state, and in no other."""
    views: dict[str, dict[str, Any]] = {_STATE: {name: dict(state)}}
    if before is not None and before != state["state"]:
        views[_index(before)] = {name: None}
    views[_index(state["state"])] = {name: {"priority": state["priority"], "first_at": first_at}}
    return views


def _index(state: str) -> str:
    return f"signals:in:{state}"


def _read(ledger: Ledger, id: str) -> Signal | None:
    """Return a signal as the views have it, with a version that it cannot be older than."""
    if not re.fullmatch(r"s_[0-9a-f]{12}", id):
        return None
    version, _ = ledger.head(signal_subject(id))
    about, state, seen = (ledger.latest(scope, id) for scope in (_ABOUT, _STATE, _SEEN))
    if about is None or state is None or seen is None:
        return None
    fields = {**about, **seen, **state, "state": SignalState(state["state"])}
    return Signal(id=id, count=int(ledger.counter(_COUNT, id)), version=version, **fields)


def _check(ledger: Ledger, given: Signal, now: Signal, expect_state: SignalState | None) -> None:
    """Refuse to move a signal of which more was written than sightings, or that is in another state than expected."""
    others = (event for event in ledger.events(given.subject, after=given.version) if event.kind != _SEEN_KIND)
    other = next(others, None)
    if other is not None and other.version <= now.version:
        raise LedgerConflict(
            f"signal `{given.id}` moved meanwhile: `{other.kind}`", hint="read it again and decide again"
        )
    if expect_state is not None and now.state is not expect_state:
        raise LedgerConflict(f"signal `{given.id}` is in the state `{now.state}`, not `{expect_state}`")


def _moved(now: Signal, state: SignalState, reason: str, more: Mapping[str, Any]) -> Signal:
    line = _line(reason, MAX_REASON)
    if not line:
        raise InputError("a state of a signal has no reason")
    return replace(now, state=state, reason=line, **{name: more[name] for name in _KEPT if name in more})


def _move_data(now: Signal, moved: Signal, more: Mapping[str, Any]) -> dict[str, Any]:
    state = {"state": moved.state.value, "reason": moved.reason, **{name: getattr(moved, name) for name in _KEPT}}
    views = _state_views(now.id, now.state, state, now.first_at)
    data = {**more, "before": now.state.value, "state": moved.state.value, "reason": moved.reason}
    return {**data, "latest": {**more.get("latest", {}), **views}}


def _line(text: str, most: int) -> str:
    # Masked before it is cut: half a secret is not known as one.
    return one_line(mask_text(text[: most * 8]), most)


def _cut(text: str) -> str:
    """Return evidence with secrets masked, and without its middle where it is long: errors stand at either end."""
    if len(text) > 2 * MAX_DETAIL:
        # Masked before it is cut, and of a text of any length no more is masked than can be shown.
        text = text[:MAX_DETAIL] + text[-MAX_DETAIL:]
    text = mask_text(text.encode("utf-8", "replace").decode())
    half = MAX_DETAIL // 2 - 20
    return text if len(text) <= MAX_DETAIL else f"{text[:half]}\n[…]\n{text[-half:]}"


def _hint(ledger: Ledger, id: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(id, ledger.recall(_ABOUT), n=1)
    return f"did you mean `{near[0]}`?" if near else "`indult signal list` lists them"
