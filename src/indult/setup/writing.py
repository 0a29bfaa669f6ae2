"""Writing the files of a setup so that all of it can be undone: what was there is kept before anything is changed.

What was there lies beside the ledger, outside of the work tree, in a journal of each work tree.
"""

from __future__ import annotations

import json
import os
import tempfile
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from indult.canonical import parse_json
from indult.errors import ConfigurationError, IndultError

__all__ = ["Change", "Journal", "change_of", "digest", "read_journal", "replace_file", "write"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A file of a repository, by its path from the root, as it is (none where there is none) and as it is to be."""

    path: str
    before: bytes | None
    after: bytes

    @property
    def needed(self) -> bool:
        """Tell whether anything changes."""
        return self.before != self.after


@dataclass(slots=True, kw_only=True)
class Journal:
    """What a setup found in a work tree: per path the bytes and the mode that were there and the digest it left behind.

    `folders` are those that it made, and `ledger` is the path of the ledger if that was made too.
    """

    place: Path
    root: str
    files: dict[str, dict[str, Any]] = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)
    ledger: str | None = None

    def left(self, path: str) -> str | None:
        """Return the digest of what the setup left at a path, none where it wrote nothing."""
        found = self.files.get(path)
        return None if found is None else str(found["after"])

    def save(self) -> None:
        """Write the journal where only this user can read it."""
        for folder in reversed([folder for folder in self.place.parents if not folder.exists()]):
            folder.mkdir(mode=0o700, exist_ok=True)
        data = {"schema": 1, "root": self.root, "files": self.files, "folders": self.folders, "ledger": self.ledger}
        replace_file(self.place, (json.dumps(data, indent=1) + "\n").encode(), mode=0o600)


def read_journal(place: Path, root: str) -> Journal:
    """Return the journal of a work tree, an empty one where there is none.

    Raises:
        ConfigurationError: It cannot be read, or is that of another work tree.
    """
    try:
        data = parse_json(place.read_bytes(), name="journal")
        assert data["schema"] == 1
        assert data["root"] == root
        files = {str(path): _entry(entry) for path, entry in data["files"].items()}
        return Journal(
            place=place, root=root, files=files, folders=[str(one) for one in data["folders"]], ledger=data["ledger"]
        )
    except FileNotFoundError:
        return Journal(place=place, root=root)
    except (OSError, IndultError, AssertionError, KeyError, TypeError, ValueError, AttributeError) as exc:
        raise ConfigurationError(f"the journal `{place}` cannot be read: {exc}", hint="nothing was changed") from exc


def change_of(root: str, path: str, after: bytes) -> Change:
    """Return the change that makes a file of a repository what it is to be.

    Raises:
        ConfigurationError: The file cannot be read, or a link is in its place or on the way to it.
    """
    return Change(path=path, before=_there(Path(root), path), after=after)


def write(journal: Journal, changes: Iterable[Change]) -> None:
    """Make changes, after the journal keeps what they replace; of a file that is as a setup left it, what was there first."""
    needed = [change for change in changes if change.needed]
    root = Path(journal.root)
    for change in needed:
        first = journal.files.get(change.path)
        # What somebody changed since is theirs, and what undoing has to come back to.
        ours = first is not None and change.before is not None and digest(change.before) == first["after"]
        kept = first if first is not None and ours else _first(root, change)
        journal.files[change.path] = {**kept, "after": digest(change.after)}
        missing = [folder for folder in Path(change.path).parents if not (root / folder).exists()]
        journal.folders += [str(folder) for folder in reversed(missing) if str(folder) not in journal.folders]
    if needed:
        journal.save()
    for change in needed:
        target = root / change.path
        target.parent.mkdir(parents=True, exist_ok=True)
        if _there(root, change.path) != change.before:
            raise ConfigurationError(f"`{change.path}` was changed meanwhile", hint="run it again")
        mode = journal.files[change.path]["mode"]
        replace_file(target, change.after, mode=0o644 if mode is None else mode)


def replace_file(path: Path, content: bytes, *, mode: int) -> None:
    """Put a file in its place at once: whoever looks sees the old one or the new one, never half of one."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, mode)  # noqa: PTH101
        os.replace(name, path)  # noqa: PTH105
    except BaseException:
        with suppress(OSError):
            os.unlink(name)  # noqa: PTH108
        raise


def _there(root: Path, path: str) -> bytes | None:
    """Return what a file holds; nothing behind a link is read or written, since it may lead anywhere."""
    target = root / path
    for place in (*reversed([root / one for one in Path(path).parents if str(one) != "."]), target):
        if place.is_symlink():
            raise ConfigurationError(
                f"`{place.relative_to(root)}` is a symbolic link", hint="put a file or folder there"
            )
    try:
        return target.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as exc:
        raise ConfigurationError(f"`{path}` cannot be read: {(exc.strerror or str(exc)).lower()}") from exc


def _first(root: Path, change: Change) -> dict[str, Any]:
    if change.before is None:
        return {"before": None, "mode": None}
    return {"before": b64encode(change.before).decode(), "mode": (root / change.path).stat().st_mode & 0o7777}


def _entry(entry: Mapping[str, Any]) -> dict[str, Any]:
    before, mode, after = entry["before"], entry["mode"], entry["after"]
    assert before is None or b64decode(before, validate=True) is not None
    assert mode is None or isinstance(mode, int)
    assert isinstance(after, str)
    return {"before": before, "mode": mode, "after": after}


def digest(content: bytes) -> str:
    """Return the digest of what a file holds, as the journal keeps it."""
    return "sha256:" + sha256(content).hexdigest()
