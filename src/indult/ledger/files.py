"""The file of a SQLite ledger: opened so that no one else can read it, and every failure told in one clear error.

Its path is a text: whoever judges an action has no time to import `pathlib`.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import stat
import time
from _thread import RLock
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from indult.errors import LedgerBusy, LedgerCorrupt, LedgerError, LedgerFull, LedgerNewer, LedgerReadOnly
from indult.ledger.migrations import APPLICATION_ID, MIGRATIONS, version

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["Guard", "connect", "ledger_error"]

_RESTORE: Final = "keep the file as it is, and restore a copy that verifies"


def connect(path: str, *, read_only: bool, create: bool, timeout: float) -> sqlite3.Connection:
    """Open the ledger at `path`, making file and folder if `create` and not `read_only`, and bring its tables up to date.

    Raises:
        LedgerError: Each failure as a class of its own, with what would help.
    """
    try:
        exists = _check_file(path)
        if not exists and (read_only or not create):
            raise LedgerError(f"there is no ledger at `{path}`", hint="it is made by the first command that writes one")
        if not exists:
            _make_file(path)
    except OSError as exc:
        raise _os_error(path, exc) from exc
    db = _open(path, read_only=read_only, timeout=timeout)
    try:
        _settle(db, path, read_only=read_only, timeout=timeout)
    except BaseException as exc:
        db.close()
        if isinstance(exc, sqlite3.Error):
            raise ledger_error(exc, path) from exc
        raise
    return db


def _check_file(path: str) -> bool:
    """Tell whether there is a file, refusing what is not a plain one."""
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return False
    if stat.S_ISREG(mode):
        return True
    kind = "a symbolic link" if stat.S_ISLNK(mode) else "a directory" if stat.S_ISDIR(mode) else "not a plain file"
    hint = "name the file that it leads to" if stat.S_ISLNK(mode) else "name a file"
    raise LedgerError(f"the ledger `{path}` is {kind}", hint=hint)


def _make_file(path: str) -> None:
    """Make the file for its owner only, and each folder that is missing on the way."""
    from pathlib import Path

    missing = [folder for folder in Path(path).parents if not folder.exists()]
    for folder in reversed(missing):
        folder.mkdir(mode=0o700, exist_ok=True)
    # SQLite gives its side files the mode of this one. NOFOLLOW: a link put there meanwhile is not written through.
    flags = os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0)
    os.close(os.open(path, flags, 0o600))


def _open(path: str, *, read_only: bool, timeout: float) -> sqlite3.Connection:
    mode = "ro" if read_only else "rw"
    if read_only and not os.access(os.path.dirname(path) or ".", os.W_OK) and not os.path.exists(f"{path}-wal"):  # noqa: PTH110, PTH120
        # Nobody can have written here since it was closed, and SQLite could not make the side files that it wants.
        mode = "ro&immutable=1"
    uri = f"file:{_quoted(os.path.abspath(path))}?mode={mode}"  # noqa: PTH100
    try:
        # One lock of the ledger's own keeps threads apart, statement caches of the connection included.
        return sqlite3.connect(uri, uri=True, timeout=timeout, isolation_level=None, check_same_thread=False)
    except sqlite3.Error as exc:
        raise ledger_error(exc, path) from exc


def _quoted(path: str) -> str:
    """Return a path as it stands in a URI: RFC 3986, each byte but letters, digits and `_.-~/` as its number."""
    return "".join(chr(byte) if byte in _PLAIN else f"%{byte:02X}" for byte in os.fsencode(path))


_PLAIN: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-~/")


def _settle(db: sqlite3.Connection, path: str, *, read_only: bool, timeout: float) -> None:
    # A file from elsewhere may hold a schema made to do harm, and damage is better found than read.
    db.execute("PRAGMA trusted_schema = OFF")
    db.execute("PRAGMA cell_size_check = ON")
    # In one transaction: between two reads another process may make the tables.
    db.execute("BEGIN")
    try:
        _check_version(db, path)
    finally:
        roll_back(db)
    if read_only:
        if version(db) == 0:
            raise LedgerError(
                f"the ledger `{path}` is empty", hint="it is filled by the first command that writes to it"
            )
        if version(db) < len(MIGRATIONS):
            raise LedgerReadOnly(f"the ledger `{path}` is of an older version", hint="open it once for writing")
        return
    # Of a new file only. A step touches about ten pages, and each goes to the disk whole: small ones make it quicker.
    db.execute("PRAGMA page_size = 2048")
    _use_wal(db, timeout)
    db.execute("PRAGMA synchronous = FULL")
    db.execute("PRAGMA fullfsync = ON")  # macOS keeps a plain fsync in the drive's cache
    db.execute("PRAGMA checkpoint_fullfsync = ON")
    # What is deleted is overwritten, so that a forgotten body is in no free page.
    db.execute("PRAGMA secure_delete = ON")
    # A commit writes about ten pages; every 400 of them go into the file at once.
    db.execute("PRAGMA wal_autocheckpoint = 4000")
    db.execute("PRAGMA journal_size_limit = 67108864")
    if version(db) < len(MIGRATIONS):
        _migrate(db, path)


def _check_version(db: sqlite3.Connection, path: str) -> None:
    application = db.execute("PRAGMA application_id").fetchone()[0]
    found = version(db)
    if application == APPLICATION_ID:
        if found > len(MIGRATIONS):
            raise LedgerNewer(
                f"the ledger `{path}` has version {found}, and this indult knows versions up to {len(MIGRATIONS)}",
                hint="upgrade indult; the ledger was left as it is",
            )
    elif application or found or db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        raise LedgerCorrupt(f"`{path}` is a database of something else, not a ledger", hint="name another file")


def _use_wal(db: sqlite3.Connection, timeout: float) -> None:
    # Two processes that make the same file at once: SQLite does not wait for this lock by itself.
    until = time.monotonic() + timeout
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as exc:
            if exc.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
        time.sleep(0.01)


def _migrate(db: sqlite3.Connection, path: str) -> None:
    db.execute("BEGIN IMMEDIATE")
    try:
        _check_version(db, path)  # another process may have been quicker
        for migration in MIGRATIONS[version(db) :]:
            migration(db)
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        db.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
        db.execute("COMMIT")
    except BaseException:
        roll_back(db)
        raise


def roll_back(db: sqlite3.Connection) -> None:
    """Leave a transaction that failed; SQLite may have left it by itself."""
    with suppress(sqlite3.Error):
        if db.in_transaction:
            db.execute("ROLLBACK")


class Guard:
    """Lets one thread at a time use a connection, and turns its errors into ours; a context manager."""

    __slots__ = ("_lock", "_path", "_process")

    def __init__(self, path: str) -> None:
        self._lock = RLock()
        self._path = path
        self._process = os.getpid()

    def __enter__(self) -> None:
        # SQLite's locks do not survive a fork: a child that wrote here could damage the file.
        if os.getpid() != self._process:
            raise LedgerError(
                f"the ledger `{self._path}` was opened by another process", hint="open it again after the fork"
            )
        self._lock.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()
        if isinstance(error, sqlite3.Error):
            raise ledger_error(error, self._path) from error


def ledger_error(error: sqlite3.Error, path: str) -> LedgerError:
    """Return the error that says what a failure of SQLite means for the ledger at `path`."""
    code = getattr(error, "sqlite_errorcode", 0)
    primary = code & 0xFF
    if primary in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
        return LedgerBusy(
            f"the ledger `{path}` is in use by another process", hint="try again, or look for a process that hangs"
        )
    if primary in {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM}:
        return LedgerReadOnly(
            f"the ledger `{path}` cannot be written", hint="check the mode of the file and its folder"
        )
    if primary == sqlite3.SQLITE_FULL or code in _WRITE_FAILED:
        return LedgerFull(
            f"there is no space left to write the ledger `{path}`: {error}",
            hint="make room on the disk, or raise the quota or file size limit; nothing that was kept is lost",
        )
    if primary == sqlite3.SQLITE_CANTOPEN:
        return LedgerError(
            f"the ledger `{path}` cannot be opened: {error}", hint="check the mode of the file and its folder"
        )
    if primary == sqlite3.SQLITE_NOTADB:
        return LedgerCorrupt(f"`{path}` is not a ledger", hint="name another file")
    if isinstance(error, sqlite3.DatabaseError) and primary in _DAMAGED:
        return LedgerCorrupt(f"the ledger `{path}` is damaged: {error}", hint=_RESTORE)
    if isinstance(error, sqlite3.ProgrammingError):
        return LedgerError(f"the ledger `{path}` cannot be used: {str(error).rstrip('.').lower()}")
    return LedgerError(f"the ledger `{path}` failed: {error}", hint="nothing of the failed write was kept")


_WRITE_FAILED = {
    sqlite3.SQLITE_IOERR_WRITE,
    sqlite3.SQLITE_IOERR_TRUNCATE,
    sqlite3.SQLITE_IOERR_SHMSIZE,
}
# ERROR is "no such table": somebody took the tables apart.
_DAMAGED = {
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_CONSTRAINT,
    sqlite3.SQLITE_ERROR,
    sqlite3.SQLITE_FORMAT,
    sqlite3.SQLITE_MISMATCH,
}


def _os_error(path: str, error: OSError) -> LedgerError:
    why = (error.strerror or str(error)).lower()
    if isinstance(error, PermissionError) or error.errno == errno.EROFS:
        return LedgerReadOnly(f"the ledger `{path}` cannot be made: {why}", hint="check the mode of the folder")
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return LedgerFull(f"there is no space left to make the ledger `{path}`: {why}", hint="make room on the disk")
    return LedgerError(f"the ledger `{path}` cannot be made: {why}", hint="name a file in a folder that you can write")
