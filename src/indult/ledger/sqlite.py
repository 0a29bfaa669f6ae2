"""A ledger in one SQLite file: WAL, every commit on the disk before `append` returns, safe for several processes."""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Self

from indult.errors import InputError, LedgerBusy, LedgerCorrupt, LedgerReadOnly
from indult.ledger.files import Guard, connect, roll_back
from indult.ledger.migrations import FAMILY, RANKED
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
from indult.ledger.tables import Folder
from indult.ledger.views import Changes, changes

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
    from pathlib import Path
    from types import TracebackType

    from indult.ledger.audit import Anchor, Verification

__all__ = ["SqliteLedger"]

_COLUMNS: Final = "stream, version, position, kind, at, data, prev, hash"
_PAGE: Final = 256
_PAGE_CHARACTERS: Final = 1_000_000


class SqliteLedger:
    """A ledger in the SQLite file at `path`, which is made if it is absent, unless `create` is false.

    `clock` gives the time of each event; `timeout` is how many seconds a writer waits for another. The connection is
    shared by threads under a lock; another process opens a ledger of its own.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        clock: Callable[[], str] = utc_now,
        read_only: bool = False,
        create: bool = True,
        timeout: float = 5.0,
    ) -> None:
        self._path = os.fspath(path)
        self.read_only = read_only
        self._clock = clock
        self._db = connect(self._path, read_only=read_only, create=create, timeout=timeout)
        self._guard = Guard(self._path)
        self._folder = Folder("main")

    @property
    def path(self) -> Path:
        """Return the path of the file."""
        from pathlib import Path

        return Path(self._path)

    def append(self, *drafts: Draft, expect: Mapping[str, int] | None = None) -> tuple[Event, ...]:
        """Write drafts in one transaction; see `Ledger.append`."""
        check_drafts(drafts)
        # All that needs no lock is done before the transaction: other writers wait only for the statements.
        ready = [_ready(draft) for draft in drafts]
        with self._guard, self._transaction():
            check_expected(expect or {}, self._head)
            return self._write(ready)

    def _write(self, ready: list[_Ready]) -> tuple[Event, ...]:
        """Write events, bodies and views inside a transaction."""
        events = []
        _, log, before = self._log() if ready else (0, GENESIS, "")
        at = never_back(self._clock(), before)
        for draft, text, data, made in ready:
            version, prev = self._head(draft.stream)
            version += 1
            hashed = content_hash(stream=draft.stream, version=version, kind=draft.kind, at=at, text=text, prev=prev)
            log = log_digest(log, hashed)
            position = self._db.execute(
                "INSERT INTO events (stream, version, kind, at, data, prev, hash, log) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (draft.stream, version, draft.kind, at, text, prev, hashed, log),
            ).lastrowid
            assert position is not None  # an INSERT has one
            self._db.execute(
                "INSERT INTO heads (stream, version, position, hash) VALUES (?, ?, ?, ?) ON CONFLICT (stream) DO UPDATE"
                " SET version = excluded.version, position = excluded.position, hash = excluded.hash",
                (draft.stream, version, position, hashed),
            )
            for body in draft.bodies:
                self._db.execute(
                    "INSERT INTO bodies (digest, position, text) VALUES (?, ?, ?) ON CONFLICT (digest) DO UPDATE"
                    " SET position = excluded.position, text = excluded.text WHERE text IS NULL",
                    (body.digest, position, body.text),
                )
            self._folder.apply(self._db, made, position)
            events.append(
                Event(
                    stream=draft.stream,
                    version=version,
                    position=position,
                    kind=draft.kind,
                    at=at,
                    data=data,
                    prev=prev,
                    hash=hashed,
                )
            )
        return tuple(events)

    def _own(self, kind: str, data: dict[str, Any]) -> Event:
        return self._write([_ready(Draft(OWN_STREAM, kind, data))])[0]

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        if self.read_only:
            raise LedgerReadOnly(f"the ledger `{self._path}` was opened for reading only")
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            roll_back(self._db)
            raise

    def _head(self, stream: str) -> tuple[int, str]:
        row = self._db.execute("SELECT version, hash FROM heads WHERE stream = ?", (stream,)).fetchone()
        return (0, GENESIS) if row is None else (row[0], row[1])

    def _log(self) -> tuple[int, str, str]:
        """Return position, running digest and time of the last event."""
        row = self._db.execute("SELECT position, log, at FROM events ORDER BY position DESC LIMIT 1").fetchone()
        return (0, GENESIS, "") if row is None else (row[0], row[1], row[2])

    def head(self, stream: str) -> tuple[int, str]:
        """Return version and hash of a stream's last event."""
        with self._guard:
            return self._head(stream)

    def last(self, stream: str, kind: str | None = None) -> Event | None:
        """Return the last event of a stream, or the last of one kind."""
        query, values = ("", (stream,)) if kind is None else (" AND kind = ?", (stream, kind))
        with self._guard:
            row = self._db.execute(
                f"SELECT {_COLUMNS} FROM events WHERE stream = ?{query} ORDER BY version DESC LIMIT 1",  # noqa: S608 # no value
                values,
            ).fetchone()
        return None if row is None else self._event(row)

    def events(
        self,
        stream: str | None = None,
        *,
        after: int = 0,
        kinds: Collection[str] | None = None,
        limit: int | None = None,
        newest_first: bool = False,
    ) -> Iterator[Event]:
        """Iterate over events in pages; see `Ledger.events`."""
        if limit is not None and limit < 0:
            raise InputError(f"the limit `{limit}` is negative")
        return self._events(stream, after, None if kinds is None else tuple(kinds), limit, newest_first)

    def _events(
        self, stream: str | None, after: int, kinds: tuple[str, ...] | None, limit: int | None, newest_first: bool
    ) -> Iterator[Event]:
        column = "position" if stream is None else "version"
        with self._guard:
            last = self._log()[0] if stream is None else self._head(stream)[0]
        where = f"{column} > ? AND {column} <= ?" + ("" if stream is None else " AND stream = ?")
        if kinds is not None:
            where += f" AND kind IN ({', '.join('?' * len(kinds))})"
        order = "DESC" if newest_first else "ASC"
        query = f"SELECT {_COLUMNS} FROM events WHERE {where} ORDER BY {column} {order} LIMIT ?"  # noqa: S608 # no value
        more = (() if stream is None else (stream,)) + (kinds or ())
        left = limit
        while left is None or left > 0:
            page = self._page(query, (after, last, *more, _PAGE if left is None else min(left, _PAGE)))
            yield from map(self._event, page)
            if not page:
                return
            reached = page[-1][2 if stream is None else 1]
            after, last = (after, reached - 1) if newest_first else (reached, last)
            left = None if left is None else left - len(page)

    def _page(self, query: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        """Read one page with a read of its own, short in rows and in characters."""
        page: list[tuple[Any, ...]] = []
        size = 0
        with self._guard:
            cursor = self._db.execute(query, values)
            for row in cursor:
                page.append(row)
                size += len(row[5])
                if size > _PAGE_CHARACTERS:
                    break
            cursor.close()
        return page

    def _event(self, row: tuple[Any, ...]) -> Event:
        stream, version, position, kind, at, text, prev, hashed = row
        try:
            data = json.loads(text)
        except (TypeError, ValueError) as exc:
            raise LedgerCorrupt(
                f"event {version} of stream `{stream}` at position {position} cannot be read: {exc}",
                hint="run `indult log verify`",
            ) from exc
        return Event(
            stream=stream, version=version, position=position, kind=kind, at=at, data=data, prev=prev, hash=hashed
        )

    def streams(self, prefix: str = "") -> Iterator[tuple[str, int]]:
        """Iterate over streams and their versions, by name."""
        after = ""
        while True:
            with self._guard:
                rows = self._db.execute(
                    "SELECT stream, version FROM heads WHERE stream > ? AND stream >= ? ORDER BY stream LIMIT ?",
                    (after, prefix, _PAGE),
                ).fetchall()
            for stream, version in rows:
                if not stream.startswith(prefix):
                    return
                yield stream, version
            if not rows:
                return
            after = rows[-1][0]

    def body(self, digest: str) -> str | None:
        """Return the text of a body."""
        with self._guard:
            row = self._db.execute("SELECT text FROM bodies WHERE digest = ?", (digest,)).fetchone()
        return None if row is None else row[0]

    def forget(self, digest: str) -> bool:
        """Delete the text of a body for good; see `Ledger.forget`."""
        from indult.ledger.audit import FORGOTTEN

        with self._guard:
            with self._transaction():
                row = self._db.execute("SELECT text IS NULL FROM bodies WHERE digest = ?", (digest,)).fetchone()
                if row is None:
                    raise InputError(
                        f"the ledger has no body `{digest}`", hint="a digest is `sha256:` and 64 hex digits"
                    )
                known = not row[0]
                if known:
                    event = self._own(FORGOTTEN, {"body": digest})
                    self._db.execute(
                        "UPDATE bodies SET text = NULL, position = ? WHERE digest = ?", (event.position, digest)
                    )
            # The text is still in the write-ahead log until that is cut.
            busy = self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        if busy:
            raise LedgerBusy(
                f"body `{digest}` is forgotten, but another process still reads an old copy of it",
                hint="run the same command again when that process has ended",
            )
        return known

    def counter(self, scope: str, name: str) -> int | float:
        """Return a counter; 0 if nothing was counted."""
        with self._guard:
            row = self._db.execute("SELECT value FROM counters WHERE scope = ? AND name = ?", (scope, name)).fetchone()
        return 0 if row is None else row[0]

    def counters(self, scope: str, prefix: str = "") -> dict[str, int | float]:
        """Return the counters of a scope whose name begins with `prefix`, by name."""
        where, values = _prefixed(prefix)
        query = f"SELECT name, value FROM counters WHERE scope = ?{where} ORDER BY name"  # noqa: S608 # no value
        with self._guard:
            return dict(self._db.execute(query, (scope, *values)).fetchall())

    def top(self, scope: str, prefix: str = "") -> tuple[str, int | float] | None:
        """Return the largest counter whose name begins with `prefix`.

        Where `prefix` reaches to a colon, as in `bond:`, an index gives it at once; else all such counters are read.
        """
        where, values = _prefixed(prefix)
        ranked = ":" in prefix
        family, index = (f" AND {RANKED} AND {FAMILY} = ?", " INDEXED BY counters_top") if ranked else ("", "")
        query = (
            f"SELECT name, value FROM counters{index}"  # noqa: S608 # no value
            f" WHERE scope = ?{family}{where} ORDER BY value DESC, name LIMIT 1"
        )
        if ranked:
            values = (prefix[: prefix.index(":") + 1], *values)
        with self._guard:
            row: tuple[str, int | float] | None = self._db.execute(query, (scope, *values)).fetchone()
        return row

    def latest(self, scope: str, key: str) -> dict[str, Any] | None:
        """Return the object last remembered under a key."""
        with self._guard:
            row = self._db.execute("SELECT value FROM latest WHERE scope = ? AND key = ?", (scope, key)).fetchone()
        found: dict[str, Any] | None = None if row is None else json.loads(row[0])
        return found

    def recall(self, scope: str) -> dict[str, dict[str, Any]]:
        """Return the objects last remembered in a scope, by key."""
        with self._guard:
            rows = self._db.execute("SELECT key, value FROM latest WHERE scope = ? ORDER BY key", (scope,)).fetchall()
        return {key: json.loads(text) for key, text in rows}

    def remembered(self, scope: str, key: str) -> list[dict[str, Any]]:
        """Return all distinct objects kept under a key, in order of first occurrence."""
        with self._guard:
            rows = self._db.execute(
                "SELECT value FROM kept WHERE scope = ? AND key = ? ORDER BY position", (scope, key)
            ).fetchall()
        return [json.loads(text) for (text,) in rows]

    def anchor(self) -> Anchor:
        """Record an anchor and return what to keep elsewhere; see `Ledger.anchor`."""
        from indult.ledger.audit import ANCHORED, Anchor, anchor_data

        with self._guard, self._transaction():
            position, log, _ = self._log()
            before = self.last(OWN_STREAM, ANCHORED)
            event = self._own(ANCHORED, anchor_data(position, log, GENESIS if before is None else before.hash))
        return Anchor(**event.data, at=event.at, version=event.version, hash=event.hash)

    def verify(self, anchors: Iterable[Anchor] = ()) -> Verification:
        """Recompute everything from the events; see `Ledger.verify`."""
        from indult.ledger import checking

        with self._guard:
            return checking.verify(self._db, anchors)

    def rebuild(self) -> int:
        """Drop the views and fold them again from the events."""
        from indult.ledger import checking

        with self._guard, self._transaction():
            return checking.rebuild(self._db)

    def data_version(self) -> int:
        """Return a number that changes when another process or ledger has written."""
        with self._guard:
            found: int = self._db.execute("PRAGMA data_version").fetchone()[0]
        return found

    def close(self) -> None:
        """Close the file."""
        with self._guard:
            self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        self.close()


_Ready = tuple[Draft, str, dict[str, Any], Changes]


def _ready(draft: Draft) -> _Ready:
    """Return a draft with its canonical data, that data read back, and what it does to the views."""
    text = data_text(draft)
    # Read back instead of copied: what the writer gets is to the bit what a reader will get.
    data = json.loads(text)
    return draft, text, data, changes(data)


def _prefixed(prefix: str) -> tuple[str, tuple[str, ...]]:
    """Return the condition for names that begin with `prefix`, as a range that an index can serve."""
    end = prefix
    while end:
        last = ord(end[-1]) + 1
        if last <= 0x10FFFF:
            # Surrogates are no text; the next name after U+D7FF begins at U+E000.
            return " AND name >= ? AND name < ?", (prefix, end[:-1] + chr(0xE000 if last == 0xD800 else last))
        end = end[:-1]
    return (" AND name >= ?", (prefix,)) if prefix else ("", ())
