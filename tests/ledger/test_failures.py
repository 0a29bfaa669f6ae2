from __future__ import annotations

import os
import resource
import sqlite3
import stat
import subprocess
import sys
import tempfile
import threading
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from indult.errors import (
    InputError,
    LedgerBusy,
    LedgerCorrupt,
    LedgerError,
    LedgerFull,
    LedgerNewer,
    LedgerReadOnly,
)
from indult.ledger import Body, Draft
from indult.ledger.migrations import APPLICATION_ID
from indult.ledger.sqlite import SqliteLedger

if TYPE_CHECKING:
    from collections.abc import Iterator

STEP = Draft("run:1", "step", {"counts": {"s": {"n": 1}}})
BIG = Draft("run:1", "step", {"text": "x" * 900_000, "counts": {"s": {"n": 1}}})


def _unharmed(path: Path, events: int) -> None:
    """Assert that the ledger has that many events, verifies and can be written."""
    with SqliteLedger(path) as ledger:
        found = ledger.verify()
        assert ((), events) == (found.faults, found.events)
        assert ledger.counter("s", "n") == events
        ledger.append(STEP)


def _fails(kind: type[LedgerError], message: str, path: Path, *, read_only: bool = False) -> LedgerError:
    """Assert that the ledger cannot be opened, with this error and some hint."""
    with pytest.raises(kind, match=message) as caught:
        SqliteLedger(path, read_only=read_only)
    assert kind is type(caught.value)
    assert caught.value.hint
    return caught.value


def test_files_are_for_their_owner_only(tmp_path: Path) -> None:
    """The ledger, its side files and the folders made for it can be read by their owner only, whatever the umask."""
    path = tmp_path / "a" / "b" / "ledger.db"
    before = os.umask(0)
    try:
        with SqliteLedger(path) as ledger:
            ledger.append(STEP)
            modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    finally:
        os.umask(before)

    assert {"ledger.db": 0o600, "ledger.db-shm": 0o600, "ledger.db-wal": 0o600} == modes
    assert [0o700, 0o700] == [stat.S_IMODE(folder.stat().st_mode) for folder in (path.parent, path.parent.parent)]


def test_the_connection_is_durable_and_careful(path: Path) -> None:
    """Each commit reaches the disk, deleted content is overwritten, and the file's schema is not trusted."""
    with SqliteLedger(path) as ledger:
        wanted = {
            "journal_mode": "wal",
            "synchronous": 2,
            "secure_delete": 1,
            "trusted_schema": 0,
            "cell_size_check": 1,
        }
        found = {name: ledger._db.execute(f"PRAGMA {name}").fetchone()[0] for name in wanted}

    assert wanted == found


def test_a_folder_is_no_ledger(tmp_path: Path) -> None:
    """A folder in the place of the ledger is told of."""
    _fails(LedgerError, "is a directory", tmp_path)


def test_a_symlink_is_not_followed(tmp_path: Path, path: Path) -> None:
    """A symbolic link is refused, dangling or not, and nothing is made where it leads."""
    target = tmp_path / "target.db"
    path.symlink_to(target)

    _fails(LedgerError, "is a symbolic link", path)
    assert not target.exists()
    with SqliteLedger(target) as ledger:
        ledger.append(STEP)
    _fails(LedgerError, "is a symbolic link", path)


def test_a_pipe_is_no_ledger(path: Path) -> None:
    """A named pipe is refused and not waited for."""
    os.mkfifo(path)

    _fails(LedgerError, "not a plain file", path)


def test_a_file_on_the_way_is_told_of(tmp_path: Path) -> None:
    """A path that leads through a file is told of."""
    (tmp_path / "file").write_text("x")

    _fails(LedgerError, "cannot be made: .*director", tmp_path / "file" / "ledger.db")


def test_another_file_is_no_ledger(path: Path) -> None:
    """A file that is no database is left as it is."""
    path.write_bytes(b"precious notes " * 100)

    _fails(LedgerCorrupt, "is not a ledger", path)
    assert b"precious notes " * 100 == path.read_bytes()


def test_another_database_is_no_ledger(path: Path) -> None:
    """A database of something else is refused and not added to."""
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE precious (x)")
    before = path.read_bytes()

    _fails(LedgerCorrupt, "database of something else", path)
    _fails(LedgerCorrupt, "database of something else", path, read_only=True)
    assert before == path.read_bytes()


def test_a_newer_ledger_is_left_alone(path: Path) -> None:
    """A ledger of a newer version is refused, for reading too, and left as it is."""
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        db.execute("PRAGMA user_version = 99")
    before = path.read_bytes()

    _fails(LedgerNewer, "has version 99, and this indult knows versions up to", path)
    _fails(LedgerNewer, "has version 99", path, read_only=True)
    assert before == path.read_bytes()


def test_an_empty_file_becomes_a_ledger(path: Path) -> None:
    """A file without content is made a ledger by a writer, and told of by a reader."""
    path.touch()

    _fails(LedgerError, "is empty", path, read_only=True)
    _unharmed(path, 0)


def test_a_reader_makes_no_file(path: Path) -> None:
    """Opening for reading makes nothing."""
    _fails(LedgerError, "there is no ledger", path, read_only=True)
    assert [] == list(path.parent.iterdir())


def test_a_reader_cannot_write(path: Path) -> None:
    """A ledger opened for reading refuses each kind of write."""
    _unharmed(path, 0)
    with SqliteLedger(path, read_only=True) as ledger:
        for write in (lambda: ledger.append(STEP), ledger.anchor, ledger.rebuild, lambda: ledger.forget("x")):
            with pytest.raises(LedgerReadOnly, match="opened for reading only"):
                write()

    _unharmed(path, 1)


def test_a_damaged_page_is_told_of(path: Path) -> None:
    """Damage of the file is told of as such, by a write and by verify, and not written over."""
    with SqliteLedger(path) as ledger:
        ledger.append(*(STEP for _ in range(300)))
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xa5" * (len(content) - 4096)
    path.write_bytes(content)

    with SqliteLedger(path) as ledger:
        with pytest.raises(LedgerCorrupt, match="is damaged") as caught:
            ledger.append(STEP)
        with pytest.raises(LedgerCorrupt, match="is damaged"):
            ledger.verify()
    assert "restore" in (caught.value.hint or "")


def test_missing_tables_are_told_of(path: Path) -> None:
    """A ledger whose tables were dropped is told of as damaged."""
    _unharmed(path, 0)
    with closing(sqlite3.connect(path)) as db:
        db.execute("DROP TABLE heads")

    with SqliteLedger(path) as ledger, pytest.raises(LedgerCorrupt, match="no such table"):
        ledger.append(STEP)


def test_an_unreadable_event_is_told_of(path: Path) -> None:
    """An event whose data is no JSON is named when it is read."""
    with SqliteLedger(path) as ledger:
        ledger.append(STEP)
        ledger._db.execute("DROP TRIGGER events_no_update")
        ledger._db.execute("UPDATE events SET data = '{'")
        with pytest.raises(LedgerCorrupt, match="event 1 of stream `run:1` at position 1 cannot be read"):
            list(ledger.events())
        with pytest.raises(LedgerCorrupt, match="position 1 cannot be read"):
            ledger.rebuild()


def test_a_locked_ledger_is_busy(path: Path) -> None:
    """A writer waits for another one for as long as it was told to, and then says so; readers never wait."""
    _unharmed(path, 0)
    with closing(sqlite3.connect(path, isolation_level=None)) as other, SqliteLedger(path, timeout=0.05) as ledger:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerBusy, match="in use by another process") as caught:
            ledger.append(STEP)
        assert caught.value.hint
        assert 1 == ledger.head("run:1")[0]
        assert 1 == len(list(ledger.events()))
        other.execute("ROLLBACK")

    _unharmed(path, 1)


def test_a_ledger_locked_while_opened_is_busy(path: Path) -> None:
    """An exclusive lock on the file is told of when it is opened."""
    _unharmed(path, 0)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(LedgerBusy, match="in use"):
            SqliteLedger(path, timeout=0.05)


def test_a_full_database_is_told_of(path: Path) -> None:
    """When there is no more room, the write fails whole, reading goes on, and writing too once there is room."""
    _unharmed(path, 0)
    with SqliteLedger(path) as ledger:
        pages = ledger._db.execute("PRAGMA page_count").fetchone()[0]
        ledger._db.execute(f"PRAGMA max_page_count = {pages + 5}")
        with pytest.raises(LedgerFull, match="no space left") as caught:
            ledger.append(STEP, BIG)
        assert caught.value.hint
        assert (1, 1) == (ledger.counter("s", "n"), len(list(ledger.events())))
        ledger.append(STEP)

    _unharmed(path, 2)


@contextmanager
def _file_size(limit: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_file_size_limit_is_told_of(path: Path) -> None:
    """When the system refuses to let the file grow, the write fails whole and the ledger goes on afterwards."""
    _unharmed(path, 0)
    with SqliteLedger(path) as ledger:
        with _file_size(300_000), pytest.raises(LedgerFull, match="no space left"):
            ledger.append(STEP, BIG)
        assert 1 == ledger.counter("s", "n")
        ledger.append(STEP)

    _unharmed(path, 2)


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="mounting a small disk needs root on Linux")
def test_a_full_disk_is_told_of(tmp_path: Path) -> None:
    """On a disk that is really full, the write fails whole, opening too, and the ledger goes on when there is room."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("this root cannot mount")
    try:
        path = disk / "ledger.db"
        _unharmed(path, 0)
        with SqliteLedger(path) as ledger:
            with pytest.raises(LedgerFull, match="no space left"):
                ledger.append(STEP, BIG, BIG)
            assert 1 == ledger.counter("s", "n")
        (disk / "filler").write_bytes(b"x" * (_free(disk) // 4096 * 4096))
        with pytest.raises(LedgerFull, match="no space left"):
            SqliteLedger(disk / "new.db")
        (disk / "filler").unlink()
        _unharmed(path, 1)
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def _free(disk: Path) -> int:
    found = os.statvfs(disk)
    return found.f_bavail * found.f_bsize


SCRIPT = """
import os, sys
sys.path[:0] = {path!r}
from indult.errors import LedgerError
# What is imported late otherwise: the other user may not be able to read the installation.
import pathlib, indult.ledger.checking
from indult.ledger import Draft
from indult.ledger.sqlite import SqliteLedger
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
try:
    with SqliteLedger({ledger!r}, read_only={read_only}) as ledger:
        print(ledger.verify().events)
        ledger.append(Draft("run:1", "step", {{}}))
except LedgerError as exc:
    print(type(exc).__name__, exc, exc.hint, sep="|")
"""


def _as_nobody(ledger: Path, *, read_only: bool) -> list[str]:
    """Verify and write the ledger as a user who owns nothing, and return what that prints."""
    script = SCRIPT.format(path=[entry for entry in sys.path if entry], ledger=str(ledger), read_only=read_only)
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return ran.stdout.splitlines()


@pytest.fixture(name="shown")
def _shown() -> Iterator[Path]:
    """Make a ledger with one event in a folder that other users can reach, which those of pytest are not."""
    with tempfile.TemporaryDirectory() as name:
        if not all(parent.stat().st_mode & 0o001 for parent in Path(name).resolve().parents):
            pytest.skip("the folder for temporary files is closed to other users")
        path = Path(name) / "ledger.db"
        _unharmed(path, 0)
        yield path


@pytest.mark.skipif(os.geteuid() != 0, reason="becoming another user needs root")
def test_a_ledger_of_another_user_is_told_of(shown: Path) -> None:
    """A file that this user may not read, or a folder that it may not write, gives one clear error."""
    shown.parent.chmod(0o755)
    assert ["LedgerError"] == [line.split("|")[0] for line in _as_nobody(shown, read_only=True)]
    for target in (shown.parent / "new.db", shown.parent / "x" / "new.db"):
        line = _as_nobody(target, read_only=False)[0]
        assert line.startswith("LedgerReadOnly|the ledger")
        assert line.endswith("permission denied|check the mode of the folder")


@pytest.mark.skipif(os.geteuid() != 0, reason="becoming another user needs root")
def test_a_write_protected_ledger_can_be_read(shown: Path) -> None:
    """A ledger that this user may only read is verified in a folder that it cannot write, and refuses to be written."""
    shown.chmod(0o644)
    shown.parent.chmod(0o755)

    assert ["1", "LedgerReadOnly"] == [line.split("|")[0] for line in _as_nobody(shown, read_only=True)]
    assert ["LedgerReadOnly"] == [line.split("|")[0] for line in _as_nobody(shown, read_only=False)]
    _unharmed(shown, 1)


def test_a_closed_ledger_says_so(path: Path) -> None:
    """A ledger that was closed refuses to be used, and closing again does no harm."""
    ledger = SqliteLedger(path)
    ledger.close()
    ledger.close()

    with pytest.raises(LedgerError, match="closed"):
        ledger.append(STEP)
    with pytest.raises(LedgerError, match="closed"):
        ledger.head("a")


def test_a_failing_clock_writes_nothing(path: Path) -> None:
    """An exception in the middle of a write leaves nothing behind and no lock."""

    def clock() -> str:
        raise KeyboardInterrupt

    with SqliteLedger(path, clock=clock) as ledger, pytest.raises(KeyboardInterrupt):
        ledger.append(STEP)

    _unharmed(path, 0)


def test_threads_share_one_ledger(path: Path) -> None:
    """Several threads may write and read one ledger; no event is lost or torn."""
    with SqliteLedger(path) as ledger:

        def work(name: str) -> None:
            for _ in range(50):
                ledger.append(Draft(name, "step", {"counts": {"s": {"n": 1}}}))
                assert ledger.last(name)
                assert list(ledger.events(limit=3))

        threads = [threading.Thread(target=work, args=(f"run:{n}",)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    _unharmed(path, 200)


def test_forgotten_text_is_in_no_file(path: Path) -> None:
    """Nothing of a forgotten body is left in any byte of the ledger's files, whatever was written around it."""
    bodies = [Body(f"<{n}>" + f"private-{n:03}-" * (1 + n % 40) * (1 + 30 * (n % 7 == 0))) for n in range(120)]
    with SqliteLedger(path) as ledger:
        for body in bodies:
            ledger.append(Draft("run:1", "step", {}, (body,)))
        for n in [*range(0, 120, 3), *range(119, 0, -2)]:
            ledger.forget(bodies[n].digest)
            content = b"".join(file.read_bytes() for file in path.parent.iterdir())
            assert b"private-%03d-" % n not in content
        kept = [n for n, body in enumerate(bodies) if ledger.body(body.digest) is not None]
        assert [n for n in range(120) if n % 3 and n % 2 == 0] == kept
        assert ledger.verify().ok


def test_forget_says_when_a_copy_is_left(path: Path) -> None:
    """While another process still reads an old state, forgetting says so; done again later it ends the last copy."""
    body = Body("private text")
    with SqliteLedger(path, timeout=0.05) as ledger, closing(sqlite3.connect(path, isolation_level=None)) as reader:
        ledger.append(Draft("run:1", "step", {}, (body,)))
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM bodies").fetchone()
        with pytest.raises(LedgerBusy, match="is forgotten, but another process still reads"):
            ledger.forget(body.digest)
        assert ledger.body(body.digest) is None
        reader.execute("ROLLBACK")
        assert not ledger.forget(body.digest)

        assert b"private text" not in b"".join(file.read_bytes() for file in path.parent.iterdir())
        with pytest.raises(InputError, match="no body"):
            ledger.forget("sha256:0")
