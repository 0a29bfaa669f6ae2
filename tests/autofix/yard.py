"""What the tests of circles share: a repository with a law and a fixer, signals, a run in this process, and a person."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from tests.ship.repos import Repo

from indult.approvals import Choice, HumanDecision, Standing, Via
from indult.autofix.receipt import Receipt
from indult.autofix.run import Autofix
from indult.autofix.setting import Progress
from indult.autofix.signals import Sighting, Signal, find, ingest
from indult.gate import Requests
from indult.ledger import Ledger, open_ledger, utc_now
from indult.places import repository_ledger
from indult.policy import Policy, loads_policy
from indult.trust import record_trust

LAW = """\
schema: 1
extends: indult/repository@1
fixer: [{python}, {fixer}]
autofix:
  turns: {turns}
  patience: {patience}
  timeout: {timeout}
"""

FILES: Mapping[str, str] = {
    "src/app.py": "VALUE = 1\n",
    "vendor/libdb/core.py": "STEP = 1\n",
    "data/rates.json": "{}\n",
    "package.json": '{"name": "demo", "dependencies": {"libdb": "1.8.2"}}\n',
}

HEAD = """\
import json, os, subprocess, sys
from pathlib import Path
task = sys.stdin.read()
signal = os.environ["INDULT_SIGNAL"]
here = Path.cwd()
def indult(*words, **options):
    return subprocess.run([sys.executable, "-m", "indult", *words], capture_output=True, encoding="utf-8", **options)
def report(*more):
    return indult("report", "--signal", signal, "--by", "fixer", *more)
PATCH = ["--relaxes-constraint", "--dependency", "libdb", "--version", "1.8.2", "--path", "vendor/libdb/core.py",
         "--change", "make the step two"]
def git(*words):
    subprocess.run(["git", *words], check=True, capture_output=True)
"""
"""What every fixer of a test begins with."""


@dataclass(kw_only=True)
class Yard:
    """A repository, its ledger, a fixer written in Python, and what happened."""

    folder: Path
    repo: Repo
    policy: Policy
    told: list[Progress] = field(default_factory=list)
    _ids: Iterator[int] = field(default_factory=lambda: count(1))

    @classmethod
    def make(
        cls,
        folder: Path,
        fixer: str,
        *,
        more: str = "",
        files: Mapping[str, str] | None = None,
        turns: int = 3,
        patience: int = 2,
        timeout: str = "60s",
        trusted: bool = True,
    ) -> Yard:
        """Make a repository whose `main` has the law, a fixer and files, and trust its law."""
        script = folder / "fixer.py"
        script.parent.mkdir(parents=True, exist_ok=True)
        script.write_text(HEAD + fixer, encoding="utf-8")
        law = LAW.format(python=sys.executable, fixer=script, turns=turns, patience=patience, timeout=timeout) + more
        repo = Repo.make(folder / "repository")
        repo.commit({**FILES, **(files or {}), "indult.yaml": law})
        yard = cls(folder=folder, repo=repo, policy=loads_policy(law.encode()))
        if trusted:
            with yard.ledger() as ledger:
                record_trust(repo.folder / "indult.yaml", yard.policy, ledger, by="ann")
        return yard

    @contextmanager
    def ledger(self) -> Iterator[Ledger]:
        """Open the ledger of the repository."""
        with open_ledger(repository_ledger(str(self.repo.folder))) as ledger:
            yield ledger

    def signal(self, summary: str = "the value is wrong", **fields: Any) -> str:
        """Notice something, and return the id of its signal."""
        with self.ledger() as ledger:
            return ingest(ledger, [Sighting(kind="test", summary=summary, **fields)]).ids[0]

    def run(self, *only: str, resume: bool = False, **options: Any) -> Receipt:
        """Run autofix, or go on with its last run."""
        with self.ledger() as ledger:
            autofix = Autofix(
                root=str(self.repo.folder), ledger=ledger, into="main", only=only, tell=self.told.append, **options
            )
            return autofix.resume() if resume else autofix.run()

    def find(self, signal: str) -> Signal:
        """Return a signal as it is now."""
        with self.ledger() as ledger:
            return find(ledger, signal)

    def briefs(self, signal: str) -> list[str]:
        """Return what fixers of a signal read, in order."""
        with self.ledger() as ledger:
            events = [event for event in ledger.events(kinds={"turn_started"}) if event.data["signal"] == signal]
            return [str(ledger.body(event.data["brief"]["body"])) for event in events]

    def turns(self, signal: str) -> list[dict[str, Any]]:
        """Return what came of each turn of a signal, in order."""
        with self.ledger() as ledger:
            return [event.data for event in ledger.events(kinds={"turn_ended"}) if event.data["signal"] == signal]

    def last(self, signal: str) -> Standing:
        """Return how the last question about a signal stands."""
        with self.ledger() as ledger:
            found = Requests(ledger, self.policy).last(f"signal:{signal}")
            assert found is not None
            return found

    def decide(self, signal: str, choice: Choice = Choice.APPROVE, *, by: str = "ann", note: str = "") -> Standing:
        """Answer the last question about a signal."""
        with self.ledger() as ledger:
            requests = Requests(ledger, self.policy)
            now = requests.last(f"signal:{signal}")
            assert now is not None
            decision = HumanDecision(
                id=f"d_{next(self._ids):026}",
                request=now.request.id,
                choice=choice,
                digest=now.request.digest,
                seen=now.seen,
                by=by,
                via=Via.CLI,
                at=utc_now(),
                note=note,
            )
            return requests.decide(decision)

    def tree(self, branch: str = "main") -> list[str]:
        """Return the files of a branch."""
        return self.repo.git("ls-tree", "-r", "--name-only", branch).splitlines()

    def content(self, path: str, branch: str = "main") -> str:
        """Return a file of a branch."""
        return self.repo.git("show", f"{branch}:{path}")

    def branches(self) -> list[str]:
        """Return the branches that are there besides `main`."""
        found = self.repo.git("for-each-ref", "--format=%(refname:short)", "refs/heads").splitlines()
        return [name for name in found if name != "main"]

    def leftovers(self) -> list[Path]:
        """Return what is left of fixes: folders, and work trees that git knows of."""
        folder = Path(repository_ledger(str(self.repo.folder))).with_name("fixes")
        known = self.repo.git("worktree", "list", "--porcelain").split("\n\n")
        left = list(folder.iterdir()) if folder.is_dir() else []
        return left + [Path(block.split()[1]) for block in known[1:] if block.strip()]


def ends(receipt: Receipt) -> list[tuple[str, str]]:
    """Return how each circle of a run ended: the state of its signal and the kind of its stop."""
    return [(end["state"], end["stop"]["kind"]) for end in receipt.ends]


def lines(words: Sequence[str]) -> str:
    """Return the lines of a fixer."""
    return "\n".join(words) + "\n"
