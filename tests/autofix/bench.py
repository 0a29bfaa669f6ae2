"""A place where fixers are tried: a repository, a workspace of it, and scripts that stand in for a coding agent."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.ship.repos import Repo

from indult.autofix.fixer import Ended, Process, run_fixer
from indult.autofix.workspace import Workspace, fixes_folder
from indult.keeping.processes import seen
from indult.ship.git import Repository

__all__ = ["Bench", "ended", "running", "until"]


@dataclass(slots=True)
class Bench:
    """A repository and the workspace of the fix `f_1` in it, on the branch `indult/f_1`."""

    repo: Repo
    workspace: Workspace
    started: list[Process] = field(default_factory=list)

    @classmethod
    def make(cls, folder: Path, files: dict[str, str] | None = None) -> Bench:
        """Make a repository with these files, and the workspace."""
        repo = Repo.make(folder / "app")
        repo.commit(files or {"src/app.py": "one\n", ".gitignore": "*.pyc\n"})
        return cls(repo, make(repo))

    def run(
        self, *lines: str, seconds: float = 60, stop: Callable[[], bool] = lambda: False, task: str = "Fix it.\n"
    ) -> Ended:
        """Run a fixer that is a Python script of these lines."""
        return self.words(sys.executable, "-c", "\n".join(lines), seconds=seconds, stop=stop, task=task)

    def words(
        self, *words: str, seconds: float = 60, stop: Callable[[], bool] = lambda: False, task: str = "Fix it.\n"
    ) -> Ended:
        """Run a fixer that is a command."""
        return run_fixer(
            words,
            workspace=self.workspace,
            task=task,
            environment={"INDULT_SIGNAL": "s_1"},
            seconds=seconds,
            stop=stop,
            started=self.started.append,
        )


def make(repo: Repo, *, fix: str = "f_1", start: str | None = None) -> Workspace:
    """Make the workspace of a fix of a repository."""
    root = str(repo.folder)
    with Repository.open(root) as repository:
        return Workspace.make(
            repository,
            root=root,
            fix=fix,
            branch=f"indult/{fix}",
            start=start or repo.id("main"),
            place=str(Path(fixes_folder(root)) / fix),
        )


def until(found: Callable[[], object], *, seconds: float = 30) -> None:
    """Wait until something is so."""
    latest = time.monotonic() + seconds
    while not found():
        assert time.monotonic() < latest, "it did not come"
        time.sleep(0.02)


def running(word: str) -> set[int]:
    """Return the processes that have a word on their command line."""
    found = set()
    for pid in seen():
        with suppress(OSError):
            if os.fsencode(word) in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.add(pid)
    return found


def ended(word: str) -> None:
    """See that every process with a word on its command line comes to its end."""
    until(lambda: not running(word))
