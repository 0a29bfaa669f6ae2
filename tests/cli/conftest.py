from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
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
