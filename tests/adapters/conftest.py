from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from indult.adapters.claude_code import read
from indult.adapters.desk import Desk
from indult.adapters.hooks import Answer, decide

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LAW = """
schema: 1
default: deny
rules:
  - {id: reading, tool: Read, effect: allow}
  - {id: shell, tool: Run, effect: allow}
  - {id: pushing, tool: Run, effect: ask, when: "args.line.startsWith('push')", says: A push needs a person.}
  - {id: force, tool: Run, effect: deny, when: "args.line.contains('--force')", says: Never rewrite what others have.}
  - {id: wide, tool: Find, effect: deny, when: args.limit > 100, says: Find at most 100., downgrade: [{limit: 100}]}
  - {id: finding, tool: Find, effect: allow}
"""
"""Calls of `Run` and `Find` do not come apart, so these tests are about nothing but hooks."""


@dataclass(slots=True)
class Session:
    """A session of an agent in a repository: what its harness would tell, and what is answered."""

    root: Path
    name: str = "s-1"
    more: dict[str, Any] = field(default_factory=dict)

    def __call__(self, event: str, **fields: Any) -> Answer:
        """Tell of an event and return the answer."""
        data = {"session_id": self.name, "cwd": str(self.root), "hook_event_name": event, **self.more, **fields}
        with Desk.open(str(self.root)) as desk:
            return decide(read(json.dumps(data).encode()), desk)

    def pre(self, tool: str, /, *, call: str = "c-1", **args: Any) -> Answer:
        """Tell of a call that is about to run."""
        return self("PreToolUse", tool_name=tool, tool_input=args, tool_use_id=call)

    def post(self, tool: str, /, *, call: str = "c-1", **fields: Any) -> Answer:
        """Tell of a call that has ended."""
        return self("PostToolUse", tool_name=tool, tool_input={}, tool_use_id=call, **fields)


@pytest.fixture(name="root")
def _root(tmp_path: Path, data_home: Path) -> Path:
    """Make a repository with a policy."""
    root = tmp_path / "app"
    (root / ".git").mkdir(parents=True)
    (root / "indult.yaml").write_text(LAW, encoding="utf-8")
    return root


@pytest.fixture(name="session")
def _session(root: Path) -> Session:
    """Begin a session in the repository that has read the boundary."""
    session = Session(root)
    session("SessionStart", source="startup")
    return session


@pytest.fixture(name="desk")
def _desk(root: Path) -> Iterator[Desk]:
    """Open the desk of the repository, to look at what is recorded."""
    with Desk.open(str(root)) as desk:
        yield desk
