"""What the tests of ships share: a repository under the preset, a fix of one dependency, a ledger, and a person."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from tests.ship.repos import Repo

from indult import Gate
from indult.approvals import Choice, HumanDecision, Standing, Via
from indult.gate import Requests
from indult.ledger import Ledger
from indult.ship.git import Repository
from indult.ship.report import Report, hand_back, signal_subject
from indult.ship.ship import Landed, Refused, Ship

LAW = "schema: 1\nextends: indult/repository@1\n"
PATCH = "patches/libdb@1.8.2.patch"
BASE: Mapping[str, str] = {
    "indult.yaml": LAW,
    "package.json": json.dumps(
        {"name": "demo", "scripts": {"test": "t"}, "dependencies": {"libdb": "1.8.2", "other": "1.0.0"}}
    ),
    "src/app.js": "one\n",
    "vendor/keep.js": "kept\n",
}
NAMED = {"dependency": "libdb", "version": "1.8.2", "paths": ["package.json", PATCH], "change": "reset the counter"}


def manifest(**changes: Any) -> str:
    """Return package.json with the patch of libdb in place, and with more changes at the top level."""
    data = json.loads(BASE["package.json"])
    return json.dumps({**data, "patchedDependencies": {"libdb@1.8.2": PATCH}, **changes})


@dataclass(kw_only=True)
class Yard:
    """A repository and a ledger, with what a test needs to fix, hand back, answer and ship."""

    folder: Path
    ledger: Ledger
    repo: Repo = field(init=False)
    _ids: Any = field(default_factory=lambda: count(1))
    name: str = ""

    @classmethod
    def make(cls, folder: Path, ledger: Ledger, *, law: str = LAW, fix: Mapping[str, str] | None = None) -> Yard:
        """Make a repository whose `main` has the law, and whose `fix` patches libdb, or does what `fix` says."""
        yard = cls(folder=folder, ledger=ledger)
        repo = Repo.make(folder / "repository")
        repo.commit({**BASE, "indult.yaml": law})
        repo.git("switch", "--quiet", "-c", "fix")
        repo.commit(dict(fix) if fix is not None else {"package.json": manifest(), PATCH: "patch\n"})
        # Nothing is checked out but a branch that no ship touches.
        repo.git("switch", "--quiet", "-c", "elsewhere", "main")
        return yard

    def __post_init__(self) -> None:
        """Find the repository."""
        self.repo = Repo(self.folder / "repository")

    def repository(self) -> Repository:
        """Open the repository as the gate does; the caller closes it."""
        return Repository.open(self.repo.folder)

    def ship(self, repository: Repository, *signals: str, **options: Any) -> Ship:
        """Return one attempt to land `fix` in `main`, for the signal `s1` unless others are named."""
        values: dict[str, Any] = {"branch": "fix", "into": "main", "by": "fixer", **options}
        subjects = [signal_subject(signal) for signal in signals or ("s1",)]
        return Ship(repository=repository, ledger=self.ledger, subjects=subjects, **values)

    def run(self, *signals: str, **options: Any) -> Landed | Refused:
        """Ship once."""
        with self.repository() as repository:
            return self.ship(repository, *signals, **options).run()

    def landed(self, *signals: str, **options: Any) -> Landed:
        """Ship once, and see that it landed."""
        came = self.run(*signals, **options)
        assert isinstance(came, Landed), came
        return came

    def refused(self, *signals: str, **options: Any) -> Refused:
        """Ship once, and see that it was refused and that `main` did not move."""
        before = self.repo.id("main")
        came = self.run(*signals, **options)
        assert isinstance(came, Refused), came
        assert before == self.repo.id("main")
        return came

    def gate(self, signal: str = "s1") -> Gate:
        """Return the gate of a signal under the law of `main`."""
        with self.repository() as repository:
            policy = self.ship(repository).policy(self.repo.id("main"))
        return Gate(policy, self.ledger, signal_subject(signal))

    def hand(self, signal: str = "s1", named: Mapping[str, Any] | None = NAMED) -> Standing:
        """Hand a signal back."""
        data = {"signal": signal, "by": "fixer", "relaxes_constraint": True, "dependency_exception": named}
        return hand_back(Report.from_dict(data), gate=self.gate(signal))

    def decide(self, found: Standing, choice: Choice = Choice.APPROVE, by: str = "ann", note: str = "") -> Standing:
        """Answer a request as it stands now."""
        requests = self.gate().requests
        now = requests.standing(found.request.id)
        decision = HumanDecision(
            id=f"d_{self.name}{next(self._ids):04}{found.request.id[-6:]}",
            request=found.request.id,
            choice=choice,
            digest=now.request.digest,
            seen=now.seen,
            by=by,
            via=Via.CLI,
            at="2026-08-20T12:00:00.000000Z",
            note=note,
        )
        return requests.decide(decision)

    def approved(self, signal: str = "s1", named: Mapping[str, Any] | None = NAMED) -> Standing:
        """Hand a signal back and approve what it names."""
        return self.decide(self.hand(signal, named))

    def requests(self) -> Requests:
        """Return the requests of the ledger under the law of `main`."""
        return self.gate().requests
