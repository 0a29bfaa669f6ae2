"""Undoing a setup: each file as it was before, byte for byte; of one that somebody changed since, the hooks go.

Hooks that stayed would block every call, since the policy that they require is gone.
"""

from __future__ import annotations

import os
from base64 import b64decode
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from indult.errors import IndultError
from indult.setup.harnesses import ENTRIES, parted
from indult.setup.writing import Journal, digest, replace_file

__all__ = ["Undone", "undo"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Undone:
    """What was done with one thing that the setup had made: `restored`, `removed`, `cleaned`, or `kept`, and why."""

    path: str
    done: str
    why: str = ""

    def to_dict(self) -> dict[str, str]:
        """Return the JSON form."""
        return {"path": self.path, "done": self.done, "why": self.why}


def undo(journal: Journal, *, dry_run: bool = False) -> list[Undone]:
    """Restore what was there; a file that is not as the setup left it is kept, and so stays in the journal."""
    done = [_file(journal, path, dry_run=dry_run) for path in sorted(journal.files)]
    done += _ledger(journal, dry_run=dry_run)
    if dry_run:
        return done
    _folders(journal)
    kept = {entry.path for entry in done if entry.done == "kept"}
    journal.files = {path: entry for path, entry in journal.files.items() if path in kept}
    if journal.files:
        journal.save()
    else:
        journal.place.unlink(missing_ok=True)
        # A folder with nothing in it was made for what is gone now.
        with suppress(OSError):
            journal.place.parent.rmdir()
    return done


def _file(journal: Journal, path: str, *, dry_run: bool) -> Undone:
    entry, target = journal.files[path], Path(journal.root) / path
    before = None if entry["before"] is None else b64decode(entry["before"])
    now = None if target.is_symlink() or not target.is_file() else target.read_bytes()
    if now == before and not target.is_symlink():
        return Undone(path=path, done="restored", why="it is as it was before")
    if now is None or digest(now) != entry["after"]:
        return _changed(target, path, now, dry_run=dry_run)
    if before is None:
        if not dry_run:
            target.unlink()
        return Undone(path=path, done="removed")
    if not dry_run:
        replace_file(target, before, mode=entry["mode"])
    return Undone(path=path, done="restored")


def _changed(target: Path, path: str, now: bytes | None, *, dry_run: bool) -> Undone:
    """Take the hooks out of a file that somebody changed since."""
    kept = Undone(path=path, done="kept", why="it was changed since")
    harness = next((name for name, entries in ENTRIES.items() if entries.file == path), None)
    if harness is None or now is None:
        return kept
    try:
        text = now.decode("utf-8")
        left = parted(harness, text)
    except (IndultError, UnicodeDecodeError):
        return kept
    if left != text and not dry_run:
        replace_file(target, left.encode(), mode=target.stat().st_mode & 0o7777)
    return Undone(path=path, done="cleaned", why="it was changed since, so all but the hooks of indult stays")


def _folders(journal: Journal) -> None:
    for folder in sorted(journal.folders, key=len, reverse=True):
        with suppress(OSError):
            (Path(journal.root) / folder).rmdir()
    journal.folders = [folder for folder in journal.folders if (Path(journal.root) / folder).is_dir()]


def _ledger(journal: Journal, *, dry_run: bool) -> Iterator[Undone]:
    """Yield what becomes of the ledger: one that holds no more than records of trust says nothing that is not gone too."""
    if journal.ledger is None or not Path(journal.ledger).exists():
        return
    if not _only_trust(journal.ledger):
        yield Undone(path=journal.ledger, done="kept", why="it holds what was judged and decided")
        return
    yield Undone(path=journal.ledger, done="removed")
    if not dry_run:
        for end in ("", "-wal", "-shm"):
            with suppress(FileNotFoundError):
                os.unlink(journal.ledger + end)  # noqa: PTH108
        journal.ledger = None


def _only_trust(ledger: str) -> bool:
    from indult.ledger import open_ledger

    try:
        with open_ledger(ledger, read_only=True) as opened:
            return all(name.startswith("trust:") for name, _ in opened.streams())
    except IndultError:
        return False
