"""The fixer: a command that is given a task and works in a work tree, kept by a process that ends all it started.

The fixer gets the task on standard input and in the file `INDULT_TASK`. It is no part of this process: what it printed,
how it ended and what it says it used is all that is known of it.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from indult.autofix.usage import Usage, read_usage
from indult.keeping.kept import MARK, Kept, Process, end_left, run_kept
from indult.ledger import mask_text

if TYPE_CHECKING:
    from indult.autofix.workspace import Workspace

__all__ = ["MARK", "Ended", "Process", "end_left", "run_fixer"]

_SHOWN: Final = 4000
_TAIL: Final = 256 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a call of a fixer ended.

    `why` is done, failed, timed_out, stopped, not_started, or vanished where its keeper was killed and not all that it
    left was surely ended; `code` is none where there is none, and a signal's number,
    negated, where one ended it. `output` is the end of what was printed, secrets masked. `left` counts processes that
    could not be ended, such as those of another user.
    """

    code: int | None
    why: str
    seconds: float
    output: str
    usage: Usage = field(default_factory=Usage)
    left: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        found = {name: getattr(self, name) for name in ("code", "why", "seconds", "output")}
        return {**found, "usage": self.usage.to_dict()} | ({"left": self.left} if self.left else {})


def run_fixer(
    words: Sequence[str],
    *,
    workspace: Workspace,
    task: str,
    environment: Mapping[str, str],
    seconds: float,
    stop: Callable[[], bool],
    started: Callable[[Process], None],
) -> Ended:
    """Run a fixer to its end, which comes after `seconds` at the latest, or when `stop` says so, and return how it was.

    `environment` is added to `workspace.environment()`. `started` is told which processes to look for, should this one
    be killed (`end_left`).

    Raises:
        RunError: The keeper itself cannot be started.
        ShipError: The folder of the workspace cannot be written to.
    """
    workspace.prepare(task)
    kept = run_kept(
        words,
        cwd=workspace.tree,
        environment={**workspace.environment(), **environment, MARK: secrets.token_hex(12)},
        task=workspace.task,
        output=workspace.output,
        seconds=seconds,
        stop=stop,
        started=started,
    )
    return _ended(kept, workspace)


def _ended(kept: Kept, workspace: Workspace) -> Ended:
    output = kept.said.strip() if kept.said else _tail(workspace.output)
    return Ended(
        code=kept.code,
        why="failed" if kept.why == "done" and kept.code != 0 else kept.why,
        seconds=kept.seconds,
        output=mask_text(output)[-_SHOWN:],
        usage=Usage() if kept.said else read_usage(workspace.usage, output),
        left=kept.left,
    )


def _tail(path: str) -> str:
    """Return the end of a file as text."""
    try:
        # Whatever a fixer put in the place of the file, nobody waits for it.
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _TAIL))
            return file.read(_TAIL).decode(errors="replace")
    except OSError:
        return ""
