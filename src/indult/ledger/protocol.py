"""What every ledger can do, whatever it is kept in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, Self

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from types import TracebackType

    from indult.ledger.audit import Anchor, Verification
    from indult.ledger.streams import Draft, Event

__all__ = ["Ledger"]


class Ledger(Protocol):
    """An append-only log of events in hash-chained streams, with views that are a fold over it.

    Every method raises a `LedgerError` where the store fails; a write that raises left nothing behind. One ledger may
    be used by several threads; another process opens its own.
    """

    def append(self, *drafts: Draft, expect: Mapping[str, int] | None = None) -> tuple[Event, ...]:
        """Write the drafts, their bodies and their effect on the views in one transaction and return the events.

        Raises:
            LedgerConflict: A stream of `expect` has another version than it says; nothing was written.
            InputError: A draft has no canonical JSON, or a reserved key of another shape than the views read.
        """
        ...

    def events(
        self,
        stream: str | None = None,
        *,
        after: int = 0,
        kinds: Collection[str] | None = None,
        limit: int | None = None,
        newest_first: bool = False,
    ) -> Iterator[Event]:
        """Iterate over the events that stand when the iteration begins, in order.

        `after` is a version when a stream is given, a position otherwise. Events are read in pages: memory stays flat,
        and a writer waits for no reader.
        """
        ...

    def last(self, stream: str, kind: str | None = None) -> Event | None:
        """Return the last event of a stream, or the last of one kind."""
        ...

    def head(self, stream: str) -> tuple[int, str]:
        """Return version and hash of the last event of a stream; `(0, GENESIS)` if it has none."""
        ...

    def streams(self, prefix: str = "") -> Iterator[tuple[str, int]]:
        """Iterate over the streams whose name begins with `prefix` and their versions, by name."""
        ...

    def body(self, digest: str) -> str | None:
        """Return the text of a body; None if it was forgotten or never kept."""
        ...

    def forget(self, digest: str) -> bool:
        """Delete the text of a body for good and record that; False if it was forgotten before.

        Raises:
            InputError: No event carries such a body.
        """
        ...

    def counter(self, scope: str, name: str) -> int | float:
        """Return a counter; 0 if nothing was counted."""
        ...

    def counters(self, scope: str, prefix: str = "") -> dict[str, int | float]:
        """Return the counters of a scope whose name begins with `prefix`, by name."""
        ...

    def top(self, scope: str, prefix: str = "") -> tuple[str, int | float] | None:
        """Return the largest counter whose name begins with `prefix`, the first by name among equals."""
        ...

    def latest(self, scope: str, key: str) -> dict[str, Any] | None:
        """Return the object last remembered under a key."""
        ...

    def recall(self, scope: str) -> dict[str, dict[str, Any]]:
        """Return the objects last remembered in a scope, by key."""
        ...

    def remembered(self, scope: str, key: str) -> list[dict[str, Any]]:
        """Return all distinct objects kept under a key, in order of first occurrence."""
        ...

    def anchor(self) -> Anchor:
        """Record the heads of all streams as an event of the stream `ledger` and return what to keep elsewhere."""
        ...

    def verify(self, anchors: Iterable[Anchor] = ()) -> Verification:
        """Recompute everything from the events; with `anchors` kept elsewhere, compare the ledger with them."""
        ...

    def rebuild(self) -> int:
        """Drop the views, fold them again from the events and return how many events were folded."""
        ...

    def data_version(self) -> int:
        """Return a number that changes when another process or ledger has written."""
        ...

    def close(self) -> None:
        """Release the store; closing twice does no harm."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...
