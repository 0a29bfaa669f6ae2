"""Events, the streams they belong to, and the hash that chains each to the one before it in its stream.

The hash of an event is the SHA-256 of the canonical JSON of its `at`, `data`, `kind`, `prev`, `stream` and `version`;
`prev` is the hash of the event before it in the stream, `GENESIS` for the first. The position, which counts the events
of all streams, is not in it: a running digest over the hashes of all events fixes the positions, and anchors keep that.
"""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from indult.canonical import MAX_BYTES, canonical, digest_text, parse_json
from indult.errors import InputError, LedgerConflict
from indult.hashing import sha256
from indult.ledger.masking import mask, mask_text, suspicious

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["GENESIS", "OWN_STREAM", "Body", "Draft", "Event", "content_hash", "log_digest", "utc_now"]

GENESIS: Final = "sha256:" + "0" * 64
"""What stands before the first event of each stream."""

OWN_STREAM: Final = "ledger"
"""The stream of the ledger's own events: `anchored` and `forgotten`."""

_COUNT = re.compile(r'"tokens":[0-9]{1,16}(?=[,}])')

_AT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", re.ASCII)

# For strings the standard library gives the bytes of RFC 8785.
_quote = json.JSONEncoder(ensure_ascii=False).encode

# The set of names is open, but a name must survive every store and every terminal.
_UNFIT = re.compile(r"[\x00-\x1f\x7f]")


def utc_now() -> str:
    """Return the time in UTC as the ledger writes it: RFC 3339 with microseconds and `Z`."""
    seconds, rest = divmod(time.time_ns(), 1_000_000_000)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{rest // 1000:06d}Z"


@dataclass(frozen=True, slots=True)
class Body:
    """A text kept beside the events, under its digest, so that it can be forgotten while the chain still verifies.

    Secrets in it are masked before the digest is taken; those of JSON inside its strings and not across them.
    """

    text: str
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        masked = _masked(self.text) if suspicious(self.text) else self.text
        object.__setattr__(self, "text", masked)
        object.__setattr__(self, "digest", digest_text(masked))


def _masked(text: str) -> str:
    """Return `text` without secrets, as JSON where it is JSON: no argument can hide those that follow it."""
    try:
        value = parse_json(text, name="body") if text[:1] in {"{", "["} else None
    except InputError:
        value = None
    if value is None:
        return mask_text(text)
    masked = mask(value)
    return text if masked == value else canonical(masked)


class Draft(NamedTuple):
    """An event to be: what its writer knows of it.

    `data` may hold the reserved keys `counts`, `latest`, `keep` and `clear`, which feed the views. The digests of
    `bodies` are added to it as `bodies`.
    """

    stream: str
    kind: str
    data: dict[str, Any]
    bodies: tuple[Body, ...] = ()


class Event(NamedTuple):
    """An event of a stream, as it was written.

    `version` counts from 1 within the stream, `position` from 1 over all of them; `at` is the writer's time.
    """

    stream: str
    version: int
    position: int
    kind: str
    at: str
    data: dict[str, Any]
    prev: str
    hash: str

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return self._asdict()

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> Self:
        """Read the JSON form; InputError if a field is absent or of another type."""
        for name, kind in _FIELDS.items():
            if type(value.get(name)) is not kind:
                raise InputError(f"an event needs `{name}`, of type {kind.__name__}")
        return cls(**{name: value[name] for name in _FIELDS})


_FIELDS: Final[dict[str, type]] = {
    "stream": str,
    "version": int,
    "position": int,
    "kind": str,
    "at": str,
    "data": dict,
    "prev": str,
    "hash": str,
}


def data_text(draft: Draft) -> str:
    """Return the canonical data of `draft` as it will be kept: secrets masked, bodies named.

    Raises:
        InputError: The data is not JSON, too large, or uses the key `bodies`.
    """
    data = draft.data
    if "bodies" in data:
        raise InputError("the data of an event has the reserved key `bodies`", hint="give bodies to the draft")
    if draft.bodies:
        data = {**data, "bodies": sorted({body.digest for body in draft.bodies})}
    text = canonical(data)
    # Looking for a few words in the whole text is far cheaper than walking it, and mostly there is nothing to mask.
    # A count of tokens is a number under a telling name; every step of a loop has one, and no secret is a number.
    found = suspicious(_COUNT.sub("", text))
    if found and (masked := mask(data, found)) != data:
        text = canonical(masked)
    if len(text) > MAX_BYTES:
        raise InputError(
            f"the data of an event of stream `{draft.stream}` is too large: {len(text)} characters, at most {MAX_BYTES}",
            hint="put long texts into bodies",
        )
    return text


def content_hash(*, stream: str, version: int, kind: str, at: str, text: str, prev: str) -> str:
    """Return the hash of an event whose canonical data is `text`."""
    # The canonical JSON of the whole, put together around the data so that the data is written once.
    return digest_text(
        f'{{"at":{_quote(at)},"data":{text},"kind":{_quote(kind)},"prev":{_quote(prev)}'
        f',"stream":{_quote(stream)},"version":{version}}}'
    )


def log_digest(before: str, hashed: str) -> str:
    """Return the running digest over all events up to one with the hash `hashed`, `GENESIS` standing before the first."""
    return "sha256:" + sha256(f"{before}\n{hashed}".encode()).hexdigest()


def check_name(name: str, what: str) -> None:
    """Refuse a name of a stream, kind, scope, counter or key that not every store keeps."""
    if type(name) is not str or not 0 < len(name) <= 1024 or (not name.isprintable() and _UNFIT.search(name)):
        raise InputError(f"`{name!r}` is no {what}", hint="use 1 to 1024 characters, none of them a control character")


def check_drafts(drafts: tuple[Draft, ...]) -> None:
    """Refuse drafts whose stream or kind is no name, or that write into the ledger's own stream."""
    for draft in drafts:
        check_name(draft.stream, "stream")
        check_name(draft.kind, "kind of event")
        if draft.stream == OWN_STREAM:
            raise InputError(f"the stream `{OWN_STREAM}` is written by the ledger itself")


def check_at(at: str) -> str:
    """Return `at`, a clock's answer, if the ledger can keep it."""
    if type(at) is not str or not _AT.fullmatch(at):
        raise InputError(f"`{at}` is no time of a ledger", hint="write UTC as 2026-08-20T09:00:00.000000Z")
    return at


def never_back(at: str, before: str) -> str:
    """Return the time of an event: the clock's answer, but never before the event that stands last.

    So a clock that is set back makes nothing young again that has an end.
    """
    return max(check_at(at), before)


def follows(event: Event, version: int, prev: str) -> bool:
    """Tell whether an event is `version` of its stream after the hash `prev`, and has the hash that its content gives."""
    if (event.version, event.prev) != (version, prev):
        return False
    try:
        text = canonical(event.data)
    except InputError:
        return False  # no JSON that a ledger writes
    return event.hash == content_hash(
        stream=event.stream, version=event.version, kind=event.kind, at=event.at, text=text, prev=event.prev
    )


def check_expected(expect: Mapping[str, int], head: Callable[[str], tuple[int, str]]) -> None:
    """Refuse to write where a stream moved on since the writer read it.

    Raises:
        LedgerConflict: A stream has another version than `expect` says.
    """
    for stream, version in expect.items():
        found = head(stream)[0]
        if found != version:
            raise LedgerConflict(
                f"stream `{stream}` has version {found}, not {version}: another writer was quicker",
                hint="read what was written meanwhile and decide again",
            )
