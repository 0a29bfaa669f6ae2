"""High-water marks: how far a ledger's approvals had come, kept apart from the ledger.

Someone who puts an older copy of a ledger back in its place takes back what was used, revoked or rejected since. The
copy verifies, for it was true once. So the place of the last event of an approval is also written to a small file in
the state folder (`$XDG_STATE_HOME/indult/`, else `~/.local/state/indult/`), and a ledger that does not hold that event
opens nothing.

What a mark cannot stop: whoever can write the ledger as the same user can write, or delete, the mark as well; a ledger
that is moved elsewhere begins without one; and an older copy is taken as it is on another machine. Landing therefore
also writes grants into the history that it lands in, and anchors (`indult log anchor`) can be kept where nobody who
writes the ledger can reach them.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from indult.errors import ForgedRecord, LedgerCorrupt
from indult.ledger import Event, Ledger

__all__ = ["Mark", "mark_of", "state_folder"]


def state_folder() -> Path:
    """Return where marks are kept: `indult` in the user's state folder."""
    home = os.environ.get("XDG_STATE_HOME", "")
    # The base directory specification has relative paths ignored.
    return (Path(home) if Path(home).is_absolute() else Path.home() / ".local" / "state") / "indult"


def mark_of(ledger: Ledger) -> Mark | None:
    """Return the mark of a ledger that is a file, whatever name leads to it; none for any other."""
    path = getattr(ledger, "path", None)
    if not isinstance(path, Path):
        return None
    name = sha256(os.fsencode(path.resolve())).hexdigest()[:32]
    return Mark(state_folder() / "marks" / f"{name}.json")


@dataclass(frozen=True, slots=True)
class Mark:
    """The high-water mark in the file at `path`."""

    path: Path

    def check(self, ledger: Ledger) -> None:
        """Refuse a ledger that does not hold the event that was marked last.

        Raises:
            ForgedRecord: An older copy was put back, or the mark cannot be read.
        """
        try:
            marked = self._read()
        except FileNotFoundError:
            return
        except (OSError, ValueError, TypeError, KeyError) as exc:
            raise ForgedRecord(f"the mark `{self.path}` cannot be read: {exc}", hint=_HINT) from exc
        position, hashed = marked
        try:
            event = next(ledger.events(after=position - 1, limit=1), None)
        except LedgerCorrupt as exc:
            raise ForgedRecord(f"the approval that was marked last cannot be read: {exc}", hint=_HINT) from exc
        if event is None or (event.position, event.hash) != (position, hashed):
            raise ForgedRecord(
                f"the ledger does not hold the approval at position {position} that it once held: an older copy of it"
                f" was put back (its mark is `{self.path}`)",
                hint=_HINT,
            )

    def advance(self, event: Event) -> None:
        """Mark an event, unless a later one is marked; where that cannot be written, the mark stays as it is."""
        with suppress(OSError), self._locked():
            try:
                if self._read()[0] >= event.position:
                    return
            except FileNotFoundError:
                pass
            except (ValueError, TypeError, KeyError):
                return  # `check` tells of it; to write over it would hide that
            new = self.path.with_suffix(f".{os.getpid()}")
            text = json.dumps({"schema": 1, "position": event.position, "hash": event.hash})
            handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with open(handle, "w", encoding="ascii") as file:
                file.write(text)
            new.replace(self.path)

    def _read(self) -> tuple[int, str]:
        data: Any = json.loads(self.path.read_text(encoding="ascii"))
        position, hashed = data["position"], data["hash"]
        if data["schema"] != 1 or type(position) is not int or type(hashed) is not str:
            raise ValueError("it is no mark")
        return position, hashed

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the lock of the folder: two writers must not set a mark back."""
        folder = self.path.parent
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)


_HINT = "bring the present ledger back; if the older one is meant, look at what was approved and delete the mark"
