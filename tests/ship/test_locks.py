"""The lock of a repository."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

import pytest

from indult.errors import ShipError
from indult.ship import locks


class TestHeld:
    """Holding it, and waiting for it."""

    def test_says_who(self, tmp_path: Path) -> None:
        """The file says which process holds the lock, whatever stood in it."""
        (tmp_path / "lock").write_text("1234567890 and more\n", "ascii")
        with locks.held(str(tmp_path / "lock")):
            assert f"{os.getpid()}\n" == (tmp_path / "lock").read_text("ascii")

    @pytest.mark.parametrize(("text", "who"), [("4242\n", "process 4242"), ("", "another process")])
    def test_gives_up(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, who: str) -> None:
        """Nobody waits without end, and who waited learns for whom."""
        monkeypatch.setattr(locks, "SECONDS", 0.0)
        (tmp_path / "lock").write_text(text, "ascii")
        with (tmp_path / "lock").open("rb") as other:
            fcntl.flock(other, fcntl.LOCK_EX)
            with pytest.raises(ShipError, match=f"locked by {who}") as caught, locks.held(str(tmp_path / "lock")):
                pass
        assert "ship again when it is done" in str(caught.value.hint)
        with locks.held(str(tmp_path / "lock")):
            pass

    def test_pipe(self, tmp_path: Path) -> None:
        """A pipe in place of the lock is refused at once."""
        os.mkfifo(tmp_path / "lock")
        with pytest.raises(ShipError, match="is no ordinary file"), locks.held(str(tmp_path / "lock")):
            pass


class TestHolder:
    """Looking at who holds it."""

    def test_says_who_has_it(self, tmp_path: Path) -> None:
        """The process that holds a lock is named, and nobody once it let go or there is no file."""
        path = str(tmp_path / "lock")
        assert locks.holder(path) is None
        assert not (tmp_path / "lock").exists()
        with locks.held(path):
            assert f"process {os.getpid()}" == locks.holder(path)
        assert locks.holder(path) is None

    def test_lets_go_at_once(self, tmp_path: Path) -> None:
        """Whoever looked does not keep anybody from it."""
        path = str(tmp_path / "lock")
        (tmp_path / "lock").touch()
        assert locks.holder(path) is None
        with locks.held(path, seconds=0):
            pass

    def test_a_look_is_no_hold(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Whoever waits for nobody still gets it from one that only looks, and has looked by the second try."""
        path = tmp_path / "lock"
        path.touch()
        with path.open("rb") as look:
            fcntl.flock(look, fcntl.LOCK_SH)
            monkeypatch.setattr(time, "sleep", lambda seconds: fcntl.flock(look, fcntl.LOCK_UN))
            with locks.held(str(path), seconds=0):
                assert f"{os.getpid()}\n" == path.read_text("ascii")

    def test_a_link(self, tmp_path: Path) -> None:
        """A link in place of the file is an error."""
        (tmp_path / "lock").symlink_to(tmp_path / "elsewhere")
        with pytest.raises(ShipError, match="the lock cannot be looked at"):
            locks.holder(str(tmp_path / "lock"))
