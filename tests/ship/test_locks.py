"""The lock of a repository."""

from __future__ import annotations

import fcntl
import os
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
