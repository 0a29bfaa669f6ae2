"""A ledger in memory: events in a list, views as the pure fold; what every other ledger must equal."""

from __future__ import annotations

import json
from dataclasses import dataclass
from threading import RLock
from typing import TYPE_CHECKING, Any, Self

from indult.canonical import digest_text
from indult.errors import InputError
from indult.ledger.audit import ANCHORED, FORGOTTEN, Anchor, Audit, Damage, anchor_data
from indult.ledger.streams import (
    GENESIS,
    OWN_STREAM,
    Draft,
    Event,
    check_drafts,
    check_expected,
    content_hash,
    data_text,
    log_digest,
    never_back,
    utc_now,
)
from indult.ledger.views import Views, changes

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
    from types import TracebackType

    from indult.ledger.audit import Verification

__all__ = ["MemoryLedger"]


@dataclass(slots=True)
class _Kept:
    """A body: its text, None once forgotten, and the position of the event that it came with or that forgot it."""

    position: int
    text: str | None


class MemoryLedger:
    """A `Ledger` for tests, gone when the process ends.

    `rows` may be changed by a test that wants to see `verify` find it: (position, stream, version, kind, at, data text,
    prev, hash, running digest) per event.
    """

    def __init__(self, *, clock: Callable[[], str] = utc_now) -> None:
        self.rows: list[tuple[Any, ...]] = []
        self.views = Views()
        self._clock = clock
        self._streams: dict[str, list[int]] = {}  # stream -> places in `rows`
        self._bodies: dict[str, _Kept] = {}
        self._lock = RLock()

    def append(self, *drafts: Draft, expect: Mapping[str, int] | None = None) -> tuple[Event, ...]:
        """Write drafts at once; see `Ledger.append`."""
        check_drafts(drafts)
        return self._append(drafts, expect or {})

    def _append(self, drafts: tuple[Draft, ...], expect: Mapping[str, int]) -> tuple[Event, ...]:
        texts = [data_text(draft) for draft in drafts]
        made = [changes(json.loads(text)) for text in texts]
        with self._lock:
            check_expected(expect, self.head)
            self.views.check(made)
            at = never_back(self._clock(), self.rows[-1][4] if self.rows else "") if drafts else ""
            events = [self._write(draft, text, at) for draft, text in zip(drafts, texts, strict=True)]
            for change in made:
                self.views.apply(change)
        return tuple(events)

    def _write(self, draft: Draft, text: str, at: str) -> Event:
        version, prev = self.head(draft.stream)
        version += 1
        hashed = content_hash(stream=draft.stream, version=version, kind=draft.kind, at=at, text=text, prev=prev)
        position = len(self.rows) + 1
        log = log_digest(self.rows[-1][8] if self.rows else GENESIS, hashed)
        self._streams.setdefault(draft.stream, []).append(len(self.rows))
        self.rows.append((position, draft.stream, version, draft.kind, at, text, prev, hashed, log))
        for body in draft.bodies:
            if body.digest not in self._bodies or self._bodies[body.digest].text is None:
                self._bodies[body.digest] = _Kept(position, body.text)
        return _event(self.rows[-1])

    def events(
        self,
        stream: str | None = None,
        *,
        after: int = 0,
        kinds: Collection[str] | None = None,
        limit: int | None = None,
        newest_first: bool = False,
    ) -> Iterator[Event]:
        """Iterate over events; see `Ledger.events`."""
        if limit is not None and limit < 0:
            raise InputError(f"the limit `{limit}` is negative")
        places = range(len(self.rows)) if stream is None else list(self._streams.get(stream, []))
        places = places[max(after, 0) :]
        return self._events(places[::-1] if newest_first else places, None if kinds is None else set(kinds), limit)

    def _events(self, places: Iterable[int], kinds: set[str] | None, limit: int | None) -> Iterator[Event]:
        left = limit
        for place in places:
            if left == 0:
                return
            if kinds is None or self.rows[place][3] in kinds:
                left = None if left is None else left - 1
                yield _event(self.rows[place])

    def last(self, stream: str, kind: str | None = None) -> Event | None:
        """Return the last event of a stream, or the last of one kind."""
        kinds = None if kind is None else {kind}
        return next(self.events(stream, kinds=kinds, newest_first=True), None)

    def head(self, stream: str) -> tuple[int, str]:
        """Return version and hash of a stream's last event."""
        places = self._streams.get(stream)
        return (self.rows[places[-1]][2], self.rows[places[-1]][7]) if places else (0, GENESIS)

    def streams(self, prefix: str = "") -> Iterator[tuple[str, int]]:
        """Iterate over streams and their versions, by name."""
        return iter([(name, len(places)) for name, places in sorted(self._streams.items()) if name.startswith(prefix)])

    def body(self, digest: str) -> str | None:
        """Return the text of a body."""
        kept = self._bodies.get(digest)
        return None if kept is None else kept.text

    def forget(self, digest: str) -> bool:
        """Delete the text of a body; see `Ledger.forget`."""
        with self._lock:
            kept = self._bodies.get(digest)
            if kept is None:
                raise InputError(f"the ledger has no body `{digest}`", hint="a digest is `sha256:` and 64 hex digits")
            if kept.text is None:
                return False
            (event,) = self._append((Draft(OWN_STREAM, FORGOTTEN, {"body": digest}),), {})
            self._bodies[digest] = _Kept(event.position, None)
            return True

    def counter(self, scope: str, name: str) -> int | float:
        """Return a counter; 0 if nothing was counted."""
        return self.views.counters.get(scope, {}).get(name, 0)

    def counters(self, scope: str, prefix: str = "") -> dict[str, int | float]:
        """Return the counters of a scope whose name begins with `prefix`, by name."""
        return self.views.prefixed(scope, prefix)

    def top(self, scope: str, prefix: str = "") -> tuple[str, int | float] | None:
        """Return the largest counter whose name begins with `prefix`."""
        return self.views.top(scope, prefix)

    def latest(self, scope: str, key: str) -> dict[str, Any] | None:
        """Return the object last remembered under a key."""
        text = self.views.latest.get(scope, {}).get(key)
        found: dict[str, Any] | None = None if text is None else json.loads(text)
        return found

    def recall(self, scope: str) -> dict[str, dict[str, Any]]:
        """Return the objects last remembered in a scope, by key."""
        return self.views.recall(scope)

    def remembered(self, scope: str, key: str) -> list[dict[str, Any]]:
        """Return all distinct objects kept under a key, in order of first occurrence."""
        return self.views.remembered(scope, key)

    def anchor(self) -> Anchor:
        """Record an anchor and return what to keep elsewhere; see `Ledger.anchor`."""
        with self._lock:
            position, log = (len(self.rows), self.rows[-1][8]) if self.rows else (0, GENESIS)
            before = self.last(OWN_STREAM, ANCHORED)
            data = anchor_data(position, log, GENESIS if before is None else before.hash)
            (event,) = self._append((Draft(OWN_STREAM, ANCHORED, data),), {})
        return Anchor(**event.data, at=event.at, version=event.version, hash=event.hash)

    def verify(self, anchors: Iterable[Anchor] = ()) -> Verification:
        """Recompute everything from the events; see `Ledger.verify`."""
        heads: dict[str, tuple[int, int, str]] = {}
        audit = Audit(heads=_Heads(heads), body=self._carried)
        folded = Views()
        for row in self.rows:
            folded.apply(audit.see(row))
        if folded != self.views:
            audit.add(Damage.VIEW, "the views are not the fold of the events")
        for digest, kept in self._bodies.items():
            if kept.text is not None and digest_text(kept.text) != digest:
                audit.add(Damage.BODY, f"body `{digest}` does not give its digest: its text was changed")
        forgotten = sum(kept.text is None for kept in self._bodies.values())
        covered = audit.compare(anchors, self._own_hash)
        return audit.result(
            streams=len(heads), bodies=len(self._bodies) - forgotten, forgotten=forgotten, anchored=covered
        )

    def _carried(self, digest: str) -> tuple[int, bool] | None:
        kept = self._bodies.get(digest)
        return None if kept is None else (kept.position, kept.text is None)

    def _own_hash(self, version: int, position: int) -> str | None:
        row = self.rows[position - 1] if 0 < position <= len(self.rows) else None
        return row[7] if row is not None and row[:3] == (position, OWN_STREAM, version) else None

    def rebuild(self) -> int:
        """Fold the views again from the events."""
        with self._lock:
            self.views = Views()
            for row in self.rows:
                self.views.apply(changes(json.loads(row[5])))
            return len(self.rows)

    def data_version(self) -> int:
        """Return a number that never changes: no other process can write here."""
        return 1

    def close(self) -> None:
        """Do nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        self.close()


class _Heads:
    """The heads that the walk recomputes, in a dict."""

    def __init__(self, heads: dict[str, tuple[int, int, str]]) -> None:
        self._heads = heads

    def get(self, stream: str) -> tuple[int, int, str] | None:
        return self._heads.get(stream)

    def put(self, stream: str, head: tuple[int, int, str]) -> None:
        self._heads[stream] = head


def _event(row: tuple[Any, ...]) -> Event:
    position, stream, version, kind, at, text, prev, hashed, _ = row
    return Event(
        stream=stream,
        version=version,
        position=position,
        kind=kind,
        at=at,
        data=json.loads(text),
        prev=prev,
        hash=hashed,
    )
