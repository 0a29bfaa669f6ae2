from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.conftest import Ran, Run

LAW = """
schema: 1
default: deny
rules:
  - {id: send, tool: send, effect: ask, says: Sending needs a person.}
  - {id: all, tool: send, effect: ask, when: args.to == 'all', says: Mail to all needs a person.}
  - {id: rm, tool: rm, effect: deny, says: Nothing is deleted.}
  - {id: cap, tool: move, effect: deny, when: args.n > 1, says: Stay low., downgrade: [{n: 1}]}
  - {id: move, tool: move, effect: allow}
  - {id: read, tool: read, effect: allow}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Office:
    """A folder with a policy, in which agents ask and people answer; the subject is `s`."""

    folder: Path
    indult: Run

    def __call__(self, *args: str, stdin: str = "") -> Ran:
        return self.indult(*args, stdin=stdin)

    def ask(self, *args: str, to: str = "max", actor: str = "agent", subject: str = "s") -> dict[str, Any]:
        """Ask for one call of `send` and return the request as JSON."""
        action = json.dumps({"tool": "send", "args": {"to": to}, "actor": actor})
        (row,) = self.indult("request", action, "--subject", subject, "--json", *args).json
        return dict(row)

    def show(self, name: str) -> dict[str, Any]:
        """Return what `show` says of a request or grant."""
        (row,) = self.indult("show", name, "--json").json
        return dict(row)

    def approve(self, row: dict[str, Any], *args: str) -> Ran:
        """Approve a request as it was shown."""
        return self.indult("approve", row["id"], "--digest", row["digest"], *args)


@pytest.fixture(name="office")
def _office(indult: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Office:
    """Make a folder with a policy, be in it, and keep its ledger there."""
    (tmp_path / "indult.yaml").write_text(LAW, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("INDULT_DB", str(tmp_path / "ledger.db"))
    return Office(folder=tmp_path, indult=indult)


COMMAND = f"import sys; sys.path[:0] = {[entry for entry in sys.path if entry]!r}; from indult.cli import main; sys.exit(main())"


class Terminal:
    """A command that runs on a terminal of its own."""

    def __init__(self, *args: str) -> None:
        self.side, inner = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-c", COMMAND, *args], stdin=inner, stdout=inner, stderr=inner, start_new_session=True
        )
        os.close(inner)
        self.shown = ""

    def until(self, end: str) -> str:
        """Read until `end` is shown and return all that was shown so far."""
        while end not in self.shown and self._read():
            pass
        assert end in self.shown
        return self.shown

    def answer(self, text: str) -> None:
        """Type a line."""
        os.write(self.side, text.encode() + b"\n")

    def end(self) -> int:
        """Read to the end and return the exit code."""
        while self._read():
            pass
        return self.process.wait(20)

    def close(self) -> None:
        """Stop what still runs."""
        self.process.kill()
        self.process.wait()
        os.close(self.side)

    def _read(self) -> bool:
        assert select.select([self.side], [], [], 20)[0], f"nothing more was shown after: {self.shown}"
        data = b""
        # A terminal whose other side is closed ends with an error, not with an end of file.
        with suppress(OSError):
            data = os.read(self.side, 65536)
        self.shown += data.decode().replace("\r\n", "\n")
        return bool(data)


@pytest.fixture(name="terminal")
def _terminal() -> Iterator[Callable[..., Terminal]]:
    """Start commands on terminals, and stop those that still run."""
    started: list[Terminal] = []

    def start(*args: str) -> Terminal:
        started.append(Terminal(*args))
        return started[-1]

    yield start
    for one in started:
        one.close()
