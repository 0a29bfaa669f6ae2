"""Checking a ledger: what is found, what an anchor is, and the walk over the events that every store's `verify` makes."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, Protocol, Self

from indult.canonical import canonical
from indult.errors import InputError
from indult.ledger.streams import GENESIS, OWN_STREAM, check_at, content_hash, log_digest
from indult.ledger.views import NOTHING, Changes, changes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = ["BLIND", "Anchor", "Audit", "Damage", "Fault", "Verification"]

BLIND: Final = (
    "without an anchor kept elsewhere, a ledger that was rewritten as a whole, or cut off at its end with its views, "
    "cannot be told from a true one"
)
"""What `verify` cannot see when it is given no anchor."""

ANCHORED: Final = "anchored"
FORGOTTEN: Final = "forgotten"


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """What an `anchored` event fixed, to be kept outside the ledger.

    `digest` is the running digest of the log up to `position`; `prev` the hash of the anchor before; `version` and
    `hash` those of the event itself, which stands at `position + 1`.
    """

    at: str
    position: int
    digest: str
    prev: str
    version: int
    hash: str

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form, one line of an anchor file."""
        return {"schema": 1, **{name: getattr(self, name) for name in Anchor.__dataclass_fields__}}

    @classmethod
    def from_dict(cls, value: Any) -> Self:
        """Read the JSON form; InputError if it is none."""
        fields = {"at": str, "position": int, "digest": str, "prev": str, "version": int, "hash": str}
        if type(value) is not dict or value.get("schema") != 1:
            raise InputError("an anchor is an object with `schema: 1`")
        for name, kind in fields.items():
            if type(value.get(name)) is not kind:
                raise InputError(f"an anchor needs `{name}`, of type {kind.__name__}")
        return cls(**{name: value[name] for name in fields})


class Damage(StrEnum):
    """What is wrong at a place of a ledger."""

    FILE = "file"  # the store itself finds its structure damaged
    SCHEMA = "schema"  # tables, indexes or triggers are not those of this version
    UNREADABLE = "unreadable"  # a field has no type or shape that an event can have
    POSITION = "position"  # positions do not count up one by one
    VERSION = "version"  # versions of a stream do not count up one by one
    PREV = "prev"  # an event does not name the hash of the one before it
    CONTENT = "content"  # an event does not give its hash
    LOG = "log"  # the running digest does not follow: the order between streams was changed
    ANCHOR = "anchor"  # what an anchor fixed is not so
    HEAD = "head"  # the recorded end of a stream is not its last event
    BODY = "body"  # a body is changed, gone without a trace, or belongs to no event
    VIEW = "view"  # a view is not the fold of the events


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One thing found wrong, and where."""

    damage: Damage
    message: str
    stream: str | None = None
    version: int | None = None
    position: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {name: getattr(self, name) for name in Fault.__dataclass_fields__}


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """What `verify` found.

    `faults` begins with the first broken event in order of position and holds at most `MOST` entries; `anchored` is the
    last position that an anchor given to `verify` fixes, None without one.
    """

    events: int
    streams: int
    bodies: int
    forgotten: int
    anchors: int
    anchored: int | None
    faults: tuple[Fault, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing was found wrong."""
        return not self.faults

    @property
    def blind(self) -> str | None:
        """What could not be seen, in words; None if an anchor covers every event."""
        if self.anchored is None:
            return BLIND
        # The anchor's own event follows the last position that it fixes, and is itself known by its hash.
        beyond = self.events - self.anchored - 1
        if beyond <= 0:
            return None
        events = "event" if beyond == 1 else f"{beyond} events"
        place = self.anchored + 1
        return (
            f"the {events} after position {place} stand in no anchor: a chain written anew from there would fit as well"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        named = {name: getattr(self, name) for name in Verification.__dataclass_fields__}
        return {**named, "ok": self.ok, "blind": self.blind, "faults": [fault.to_dict() for fault in self.faults]}


MOST: Final = 100


class Heads(Protocol):
    """Where the walk keeps the last version, position and hash of each stream; memory must not grow with events."""

    def get(self, stream: str) -> tuple[int, int, str] | None:
        """Return what was put for a stream."""
        ...

    def put(self, stream: str, head: tuple[int, int, str]) -> None:
        """Replace what is kept for a stream."""
        ...


@dataclass(slots=True, kw_only=True)
class Audit:
    """A walk over all events in order of position; `see` each, then add what the store itself compares.

    `body` tells of a digest the position of the event that it came with, or that says it was forgotten, and which.
    """

    heads: Heads
    body: Callable[[str], tuple[int, bool] | None]
    faults: list[Fault] = field(default_factory=list)
    events: int = 0
    position: int = 0
    log: str = GENESIS
    anchor: str = GENESIS
    anchors: int = 0

    def add(self, damage: Damage, message: str, at: tuple[Any, Any, Any] = (None, None, None)) -> None:
        """Record a fault; `at` is stream, version and position."""
        if len(self.faults) < MOST:
            stream, version, position = at
            self.faults.append(Fault(damage=damage, message=message, stream=stream, version=version, position=position))

    def see(self, row: tuple[Any, ...]) -> Changes:
        """Check one event, as (position, stream, version, kind, at, data, prev, hash, log); return its changes."""
        position, stream, version, kind, at, text, prev, hashed, log = row
        self.events += 1
        where = (stream, version, position)
        if [type(value) for value in row] != [int, str, int, str, str, str, str, str, str]:
            self.add(Damage.UNREADABLE, f"event at position {position} has a field of a wrong type", where)
            self.position = position
            return NOTHING
        self._follow(where, prev, hashed)
        if hashed != _hash(stream, version, kind, at, text, prev):
            self.add(Damage.CONTENT, f"{_place(where)} does not give its hash: a field of it was changed", where)
        if log != log_digest(self.log, hashed):
            self.add(
                Damage.LOG, f"{_place(where)} does not follow in the log: events were moved, removed or put in", where
            )
        data = self._data(text, where)
        if stream == OWN_STREAM and kind == ANCHORED:
            self._anchored(data, where, hashed)
        self.log = log
        return self._changes(data, where)

    def _follow(self, where: tuple[str, int, int], prev: str, hashed: str) -> None:
        stream, version, position = where
        if position != self.position + 1:
            missing = f"{self.position + 1} to {position - 1}" if position > self.position + 2 else str(position - 1)
            self.add(Damage.POSITION, f"no event at position {missing}, before {_place(where)}", where)
        before, _, hash_before = self.heads.get(stream) or (0, 0, GENESIS)
        if version != before + 1:
            self.add(Damage.VERSION, f"{_place(where)} follows version {before} of its stream", where)
        if prev != hash_before:
            self.add(Damage.PREV, f"{_place(where)} does not name the hash of the event before it", where)
        self.heads.put(stream, (version, position, hashed))
        self.position = position

    def _data(self, text: str, where: tuple[str, int, int]) -> dict[str, Any]:
        try:
            data = json.loads(text)
        except (ValueError, RecursionError):
            data = None
        if type(data) is dict:
            return data
        self.add(Damage.UNREADABLE, f"{_place(where)} has data that is no JSON object", where)
        return {}

    def _anchored(self, data: Mapping[str, Any], where: tuple[str, int, int], hashed: str) -> None:
        self.anchors += 1
        wanted = {"position": where[2] - 1, "digest": self.log, "prev": self.anchor}
        if {name: data.get(name) for name in wanted} != wanted:
            self.add(Damage.ANCHOR, f"the log before {_place(where)} is not what this anchor fixed", where)
        self.anchor = hashed

    def _changes(self, data: Mapping[str, Any], where: tuple[str, int, int]) -> Changes:
        try:
            made = changes(data)
            carried = data.get("bodies", [])
            for digest in carried:
                self._carried(digest, where)
        except (InputError, TypeError):
            self.add(Damage.UNREADABLE, f"{_place(where)} has a reserved key of a wrong shape", where)
            return NOTHING
        return made

    def _carried(self, digest: str, where: tuple[str, int, int]) -> None:
        found = self.body(digest)
        if found is None or (found[1] and found[0] <= where[2]):
            self.add(Damage.BODY, f"body `{digest}` of {_place(where)} is gone, and no event says why", where)

    def compare(self, anchors: Iterable[Anchor], event_hash: Callable[[int, int], str | None]) -> int | None:
        """Compare with anchors kept elsewhere and return the last position that they fix.

        `event_hash` returns the hash of the ledger's own event of a version at a position.
        """
        covered = None
        for anchor in anchors:
            covered = max(anchor.position, covered or 0)
            if event_hash(anchor.version, anchor.position + 1) != anchor.hash:
                self.add(
                    Damage.ANCHOR,
                    f"the anchor of {anchor.at} is not in this ledger: what it fixed up to position {anchor.position} was "
                    "changed or cut off",
                    (OWN_STREAM, anchor.version, anchor.position + 1),
                )
        return covered

    def result(self, *, streams: int, bodies: int, forgotten: int, anchored: int | None) -> Verification:
        """Return what was found, in the order in which it was."""
        return Verification(
            events=self.events,
            streams=streams,
            bodies=bodies,
            forgotten=forgotten,
            anchors=self.anchors,
            anchored=anchored,
            faults=tuple(self.faults),
        )


def _place(where: tuple[str, int, int]) -> str:
    stream, version, position = where
    return f"event {version} of stream `{stream}` at position {position}"


def _hash(stream: str, version: int, kind: str, at: str, text: str, prev: str) -> str | None:
    try:
        return content_hash(stream=stream, version=version, kind=kind, at=at, text=text, prev=prev)
    except InputError:
        return None


def anchor_data(position: int, log: str, before: str) -> dict[str, Any]:
    """Return the data of an `anchored` event after an event at `position` with the running digest `log`."""
    return {"position": position, "digest": log, "prev": before}


def read_anchors(text: str, name: str) -> list[Anchor]:
    """Read an anchor file: one anchor per line."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                anchor = Anchor.from_dict(json.loads(line))
                check_at(anchor.at)
            except (ValueError, RecursionError, InputError) as exc:
                raise InputError(f"`{name}` line {number} is no anchor: {exc}") from None
            found.append(anchor)
    return found


def anchor_line(anchor: Anchor) -> str:
    """Return the line of an anchor file."""
    return canonical(anchor.to_dict()) + "\n"
