"""Whatever a branch does, what lands is within what a person opened, judged once more by other code than the gate's."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from hashlib import sha1
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, seed, settings
from tests.gate.desk import NOON
from tests.ship.edits import DISHONEST, Edit
from tests.ship.naive import Opened, Tree, faults
from tests.ship.worlds import POLICY, Branch, branches
from tests.test_laws_of_approval import grant

from indult import Action, Boundary, Gate, Policy, Verdict, loads_policy
from indult.approvals import Choice, HumanDecision, Via
from indult.decompose import Part
from indult.decompose.changes import Changed, parts
from indult.gate import Requests
from indult.scopes import Scope
from indult.ship.git import Repository
from indult.ship.report import Named, Report, hand_back
from indult.ship.ship import Judged, Landed, Refused, Ship
from indult.testing.memory import MemoryLedger

SUBJECT = "signal:s"
LATER = {
    ".github/workflows/later.yml": ("100644", b"on: push\n"),
    "lib/later/package.json": ("100644", b"{}\n"),
    "later.txt": ("100644", b"later\n"),
}
"""What the target gained since the branches were forked."""
WHO = b"Ann <ann@example.com> 1700000000 +0000"

# A branch takes some milliseconds to make up, and one that lands through git takes some hundred.
MANY = settings(max_examples=250, suppress_health_check=list(HealthCheck))
FEW = settings(max_examples=40, suppress_health_check=list(HealthCheck))


@cache
def law() -> Policy:
    """Return the policy that every target of these tests has."""
    return loads_policy(POLICY.decode())


def taken_apart(before: Tree, after: Tree) -> tuple[Part, ...]:
    """Return the parts of the difference between two trees."""
    store: dict[str, bytes] = {}

    def side(found: tuple[str, bytes] | None) -> tuple[str, str]:
        if found is None or found[0] == "160000":
            return ("000000", "0" * 40) if found is None else (found[0], found[1].decode())
        name = sha1(found[1]).hexdigest()
        store[name] = found[1]
        return found[0], name

    changed = []
    for path in sorted({*before, *after}, key=str.encode):
        (old_mode, old), (new_mode, new) = side(before.get(path)), side(after.get(path))
        if (old_mode, old) != (new_mode, new):
            changed.append(Changed(path.encode(), old_mode, new_mode, old, new))
    links = {path: content.decode() for path, (mode, content) in after.items() if mode == "120000"}
    return parts(changed, read=lambda ids: {one: store[one] for one in ids}, links=links, guards=law().guards)


def at_fault(before: Tree, after: Tree, opened: Opened | None) -> set[str]:
    """Return the changed paths that the boundary refuses, with a live grant of what is opened."""
    found = taken_apart(before, after)
    boundary = Boundary(policy=law(), subject=SUBJECT, decompose=lambda _: found)
    if opened is not None:
        scope = Scope.dependency(*opened, "do it", subject=SUBJECT)
        named, reasons = boundary.opens(scope)
        assert [] == reasons
        boundary = replace(boundary, grants=(grant(named),))
    action = Action(tool="ship", args={})
    refused = {fault.origin for fault in boundary.at_fault(action, {})} if found else set()
    assert (refused == set()) == (not found or boundary.judge(action, {}).verdict is Verdict.APPROVE)
    return refused


def overlooked(branch: Branch, opened: Opened | None, refused: set[str]) -> dict[str, list[str]]:
    """Return what the second opinion finds and the gate does not, by path.

    Poetry's lock does not say what the project asks for itself, so a lock may go unnamed where its manifest is refused.
    """
    found = faults(branch.world.tree, branch.tree, opened)
    if branch.world.kind == "poetry" and branch.world.manifest in refused:
        found = [fault for fault in found if fault.path != branch.world.lock]
    return {path: [why for at, why in found if at == path] for path, _ in found if path not in refused}


class TestWithoutGit:
    """The parts of many branches, judged by the boundary."""

    @MANY
    @given(branches(harmless=(0, 3), dishonest=(0, 3)))
    def test_second_opinion(self, branch: Branch) -> None:
        """Every path that the second opinion finds at fault is refused, with an exception in force and without."""
        for opened in (branch.opened, None):
            assert {} == overlooked(branch, opened, at_fault(branch.world.tree, branch.tree, opened))

    @MANY
    @given(branches(honest=False, harmless=(1, 5)))
    def test_harmless(self, branch: Branch) -> None:
        """What no rule protects may change without any grant, and so may how a manifest or a lock is laid out."""
        assert set() == at_fault(branch.world.tree, branch.tree, None)

    @MANY
    @given(branches(honest=True, harmless=(0, 2)))
    def test_honest(self, branch: Branch) -> None:
        """An honest change of the named dependency is covered by its exception, whatever harmless comes with it."""
        assert set() == at_fault(branch.world.tree, branch.tree, branch.opened)

    @MANY
    @given(branches(honest=True))
    def test_honest_without_a_grant(self, branch: Branch) -> None:
        """An honest change that nobody approved is refused in each file of it."""
        changed = {path for path in branch.tree if branch.tree[path] != branch.world.tree.get(path)}
        assert changed == at_fault(branch.world.tree, branch.tree, None)

    @MANY
    @given(branches(honest=True))
    def test_file_that_is_not_named(self, branch: Branch) -> None:
        """Of an honest change, a file that the exception does not name is refused, and so is who names it."""
        changed = {path for path in branch.tree if branch.tree[path] != branch.world.tree.get(path)}
        for path in branch.opened.paths if len(branch.opened.paths) > 1 else ():
            less = branch.opened._replace(paths=tuple(one for one in branch.opened.paths if one != path))
            found = at_fault(branch.world.tree, branch.tree, less)
            assert {path} & changed <= found
            assert found <= {path} or path not in {branch.world.manifest, branch.world.lock}

    def test_dishonest(self) -> None:
        """Each dishonest edit is refused at its path, beside an honest change or alone."""
        assert [] == [edit.name for number, edit in enumerate(DISHONEST) if not refused(edit, number)]


def refused(edit: Edit, number: int) -> bool:
    """Try an edit, for longer if it seldom fits, and tell whether it was ever done; wherever it was, it is refused."""
    return tried(edit, number, 6) or tried(edit, number, 100)


def tried(edit: Edit, number: int, most: int) -> bool:
    """Try an edit in so many branches; the seed is another one for each edit, and so are the worlds."""
    found: list[str] = []

    @seed(number)
    @settings(MANY, max_examples=most)
    @given(branches(only=edit))
    def once(branch: Branch) -> None:
        assert {*branch.at.values()} <= at_fault(branch.world.tree, branch.tree, branch.opened)
        found.extend(branch.at)

    once()
    return found != []


@dataclass
class Forge:
    """One repository for many worlds, each with a target and a branch of its own."""

    folder: Path
    repository: Repository
    numbers: Iterator[int] = field(default_factory=count)

    def git(self, *words: str, stdin: bytes = b"") -> bytes:
        """Run git on the repository and return what it printed."""
        return subprocess.run(["git", *words], cwd=self.folder, input=stdin, capture_output=True, check=True).stdout

    def make(self, branch: Branch) -> tuple[str, str]:
        """Write the two commits of a branch, and return the names of the branch and its target."""
        number = next(self.numbers)
        into, head = f"main-{number}", f"fix-{number}"
        stream = b"".join(
            [
                b"commit refs/heads/%s\ncommitter %s\ndata 4\nbase\n" % (into.encode(), WHO),
                *(_file(path, *found) for path, found in branch.world.tree.items()),
                b"\ncommit refs/heads/%s\ncommitter %s\ndata 3\nfix\n" % (head.encode(), WHO),
                b"from refs/heads/%s\ndeleteall\n" % into.encode(),
                *(_file(path, *found) for path, found in branch.tree.items()),
                # The target goes on, also where the branch may not.
                b"\ncommit refs/heads/%s\ncommitter %s\ndata 5\nlater\n" % (into.encode(), WHO),
                *(_file(path, *found) for path, found in LATER.items()),
                b"\n",
            ]
        )
        self.git("fast-import", "--quiet", stdin=stream)
        return head, into

    def tree(self, name: str) -> dict[str, tuple[str, bytes]]:
        """Return the files that a commit holds, as git shows them."""
        found = {}
        for line in self.git("ls-tree", "-r", "-z", "--full-tree", name).split(b"\0")[:-1]:
            head, _, path = line.partition(b"\t")
            mode, _, oid = head.decode().split()
            found[path.decode()] = (mode, oid)
        ids = [oid for mode, oid in found.values() if mode != "160000"]
        out = self.git("cat-file", "--batch", "--buffer", stdin="".join(f"{oid}\n" for oid in ids).encode())
        store: dict[str, bytes] = {}
        for oid in ids:
            head, _, out = out.partition(b"\n")
            size = int(head.split()[2])
            store[oid], out = out[:size], out[size + 1 :]
        return {path: (mode, store.get(oid, oid.encode())) for path, (mode, oid) in found.items()}

    def refs(self) -> bytes:
        """Return every ref with its id."""
        return self.git("for-each-ref")


def _file(path: str, mode: str, content: bytes) -> bytes:
    name = b'"%s"' % "".join(
        chr(byte) if byte > 0x22 and byte not in b"\\" else f"\\{byte:03o}" for byte in path.encode()
    ).encode("latin-1")
    if mode == "160000":
        return b"M 160000 %s %s\n" % (content, name)
    return b"M %s inline %s\ndata %d\n%s\n" % (mode.encode(), name, len(content), content)


@pytest.fixture(name="forge")
def _forge(tmp_path: Path) -> Iterator[Forge]:
    """Make the repository; what the examples share is nothing but its objects."""
    subprocess.run(["git", "init", "--quiet", "--bare", str(tmp_path)], check=True)
    with Repository.open(tmp_path) as repository:
        yield Forge(tmp_path, repository)


@dataclass
class Shipped:
    """A branch that somebody tried to land: the requests of its ledger, and what became of it."""

    requests: Requests
    judged: Judged
    result: Landed | Refused
    into: str

    @property
    def said(self) -> str:
        """What the refusal says, but for what the exception covers."""
        assert isinstance(self.result, Refused)
        return self.result.message.partition("; the named exception ")[0]


def ship(forge: Forge, branch: Branch, *, approved: bool) -> Shipped:
    """Hand back the exception of a branch, approve it or not, and try to land the branch."""
    head, into = forge.make(branch)
    ledger = MemoryLedger(clock=lambda: NOON)
    requests = Requests(ledger, law(), clock=lambda: NOON)
    if approved:
        approve(branch.opened, Gate(law(), ledger, SUBJECT, requests=requests))
    made = Ship(
        repository=forge.repository, ledger=ledger, branch=head, into=into, subjects=(SUBJECT,),
        requests=lambda ledger, policy: Requests(ledger, policy, clock=lambda: NOON),
    )  # fmt: skip
    judged = made.judge()
    before, uses = forge.refs(), [grant.uses_left for grant in requests.live(SUBJECT)]
    result = made.land(judged) if judged.allowed else made.refuse(judged)
    if isinstance(result, Refused):
        assert before == forge.refs()
        assert uses == [grant.uses_left for grant in requests.live(SUBJECT)]
    return Shipped(requests, judged, result, into)


def approve(opened: Opened, gate: Gate) -> None:
    """Let somebody ask for an exception, and somebody else approve what they are shown."""
    exception = Named(dependency=opened.name, version=opened.version, paths=opened.paths, change="do it")
    found = hand_back(Report(signal="s", by="agent", relaxes_constraint=True, exception=exception), gate=gate)
    shown = gate.requests.standing(found.request.id)
    decision = HumanDecision(
        id="d_1", request=shown.request.id, choice=Choice.APPROVE, digest=shown.request.digest, seen=shown.seen,
        by="ann", via=Via.CLI, at=NOON,
    )  # fmt: skip
    gate.requests.decide(decision)


class TestThroughGit:
    """The same branches in a repository, through hand-back, approval, judgement and landing."""

    @FEW
    @given(branch=branches(harmless=(0, 3), dishonest=(0, 1)))
    def test_what_lands(self, forge: Forge, branch: Branch) -> None:
        """What lands is within the scope, by the trees that git shows; of what is refused nothing moves."""
        before = branch.world.tree
        done = ship(forge, branch, approved=True)
        if isinstance(done.result, Landed):
            after = forge.tree(done.into)
            assert {**branch.tree, **LATER} == after
            assert [] == faults({**before, **LATER}, after, branch.opened)
        else:
            assert {**before, **LATER} == forge.tree(done.into)

    @FEW
    @given(branch=branches(honest=False, harmless=(1, 5)))
    def test_harmless(self, forge: Forge, branch: Branch) -> None:
        """A branch with nothing but harmless edits lands, and no grant is asked for."""
        done = ship(forge, branch, approved=False)
        assert isinstance(done.result, Landed), done.said
        assert ((), {**branch.tree, **LATER}) == (done.result.grants, forge.tree(done.into))

    @FEW
    @given(branch=branches(honest=True, harmless=(0, 2)))
    def test_honest(self, forge: Forge, branch: Branch) -> None:
        """An honest change lands under its approved exception, which is then used up."""
        done = ship(forge, branch, approved=True)
        assert isinstance(done.result, Landed), done.said
        assert (1, ()) == (len(done.result.grants), done.requests.live(SUBJECT))
        assert sorted(done.result.files) == [
            path for path in sorted({*branch.tree, *branch.world.tree})
            if branch.tree.get(path) != branch.world.tree.get(path)
        ]  # fmt: skip

    @settings(FEW, max_examples=80)
    @given(branch=branches(dishonest=(1, 1)))
    def test_dishonest(self, forge: Forge, branch: Branch) -> None:
        """A dishonest edit keeps its branch from landing, and the refusal names where it is."""
        done = ship(forge, branch, approved=True)
        for path in branch.at.values():
            assert isinstance(done.result, Refused)
            assert shown(path) in done.said


def shown(path: str) -> str:
    """Return a path as far as it can be shown."""
    end = next((at for at, char in enumerate(path) if not char.isprintable()), len(path))
    return path[:end]
