"""The ship gate: a branch is a list of changes, each judged like any other action, and it lands whole or not at all.

What is judged is what lands: the difference between the target as it is and the commit that would take its place. Law
and records come from the target branch and the ledger, never from the branch under judgement.
"""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from indult.actions import Action
from indult.boundary import Boundary, Fault
from indult.decompose.changes import parts
from indult.errors import ApprovalError, ForgedRecord, LedgerConflict, PolicyError, ScopeError, ShipError
from indult.gate import Gate, Requests
from indult.ids import new_id
from indult.judgements import Judgement, Verdict
from indult.ledger import Draft
from indult.policy import loads_policy
from indult.scopes import MAX_TARGETS, Scope
from indult.ship.checks import SECONDS, Failed, run_checks
from indult.ship.hints import commit_law
from indult.ship.intents import GRANT, LANDED, Intent, bring_along, landed, recover, reservations, started, undo
from indult.ship.report import HANDOFF, signal_of
from indult.ship.words import answered, in_short, refusal
from indult.trust import effective_policy, trusted

if TYPE_CHECKING:
    from indult.approvals import Grant, Standing
    from indult.decompose import Part
    from indult.ledger import Ledger
    from indult.policy import Policy
    from indult.ship.git import Repository

__all__ = ["DIGEST", "POLICY_FILE", "Judged", "Landed", "Refused", "Ship"]

POLICY_FILE: Final = "indult.yaml"
"""Where the policy lies in the tree of the target branch, unless the caller says otherwise."""

DIGEST: Final = "Indult-Digest"
"""The trailer of a landing commit that names the boundary which let it through."""

_ATTEMPTS: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A branch under judgement: the commits it was found at, what would land, and what the gate says of it.

    `head` is the tip of the branch and `onto` that of the target, `tree` what the target would hold. `parts` are the
    changes as the rules see them, `files` the paths that change, sorted. `empty` is true where the target has it all
    already.
    """

    head: str
    onto: str
    tree: str
    files: tuple[str, ...]
    parts: tuple[Part, ...]
    action: Action
    gate: Gate
    policy: Policy
    boundary: Boundary
    judgement: Judgement
    faults: tuple[Fault, ...] = ()
    empty: bool = False

    @property
    def allowed(self) -> bool:
        """Tell whether it may land: every part is allowed, or the policy only observes."""
        return self.judgement.permitted(self.action) is not None

    @property
    def exception(self) -> Scope | None:
        """Return the named exception in force for the subject, if there is one."""
        return next((grant.scope for grant in self.boundary.grants if _opens_changes(grant)), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Landed:
    """A branch that landed: the commit, the sorted paths that it changed, and the grants that it used up.

    `behind` are the work trees that have the target checked out and still show what it was before.
    """

    commit: str
    files: tuple[str, ...] = ()
    grants: tuple[str, ...] = ()
    behind: tuple[str, ...] = ()
    empty: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        shown = {
            "commit": self.commit,
            "files": list(self.files),
            "grants": list(self.grants),
            "behind": list(self.behind),
        }
        return {"result": "empty" if self.empty else "landed", **shown}


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A branch that did not land, and why: by the gate (`verdict` and `faults`), a check, or since something moved.

    `lines` say why, one reason each. `asked` says beside them what became of the last question to a person; what the
    gate says is the same to the letter until somebody approves (R67).
    """

    lines: tuple[str, ...]
    verdict: Verdict | None = None
    rules: tuple[str, ...] = ()
    faults: tuple[Fault, ...] = ()
    failed: Failed | None = None
    asked: str = field(default="", compare=False)

    @property
    def message(self) -> str:
        """Return why it did not land, on one line."""
        return "; ".join(self.lines)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        shown: dict[str, Any] = {"result": "refused", "message": self.message, "rules": list(self.rules)}
        if self.verdict is not None:
            shown["verdict"] = str(self.verdict)
        if self.asked:
            shown["asked"] = self.asked
        if self.failed is not None:
            shown["check"] = self.failed.to_dict()
        shown["faults"] = [
            {"target": f.target, "path": f.origin, "verdict": str(f.verdict), "rules": list(f.rules)}
            for f in self.faults
        ]
        return shown


@dataclass(slots=True, kw_only=True)
class Ship:
    """One attempt to land `branch` in the branch `into`, for one signal or several.

    `subjects` are asked in their order for a live grant, and only the first that has one counts (R72): what was opened
    for several is not added up. `requests` makes those of a ledger under a policy, for a caller with a clock of its own.
    `about` is a line for the message of the landing commit. A check may take `check_seconds`, and is ended when `stopped`
    says so.
    """

    repository: Repository
    ledger: Ledger
    branch: str
    into: str
    subjects: Sequence[str] = ()
    by: str = "agent"
    facts: Mapping[str, Any] = field(default_factory=dict)
    policy_file: str = POLICY_FILE
    requests: Callable[[Ledger, Policy], Requests] = Requests
    about: str = ""
    check_seconds: Callable[[], float] = lambda: SECONDS
    stopped: Callable[[], bool] = lambda: False

    def run(self) -> Landed | Refused:
        """Judge the branch, run the project's checks on what would land, judge again, and land it.

        Raises:
            IndultError: Git, the ledger or the policy is not what it must be; the class says which.
        """
        return self.finish(self.judge())

    def finish(self, judged: Judged) -> Landed | Refused:
        """Carry on from a judgement: refuse the branch, or run the project's checks, judge again, and land it.

        Raises:
            IndultError: As for `run`.
        """
        if judged.empty:
            return Landed(commit=judged.onto, empty=True)
        if not judged.allowed:
            return self.refuse(judged)
        self.ready(judged)
        failed = self.check(judged)
        if failed is not None:
            why = f"the check `{failed.name}` did not pass: {failed.why}"
            return self._refused(judged, Refused(lines=(why,), failed=failed))
        return self.land(judged)

    def judge(self, *, recover: bool = True) -> Judged:
        """Judge every change that the branch would bring to the target; nothing moves.

        What an earlier ship left open is closed first, unless `recover` is false: then nothing is recorded.

        Raises:
            ShipError: Git cannot be trusted or used here, a branch is missing, or it does not merge.
            PolicyError: The target has no policy, or one that is none.
        """
        repository = self.repository
        repository.check()
        head, onto = repository.head(self.branch), repository.head(self.into)
        if repository.base(onto, head) is None:
            raise ShipError(f"`{self.branch}` and `{self.into}` have no history in common")
        policy = self.policy(onto)
        if recover:
            self._recover(policy)
        gate = self._gate(policy)
        action = Action(
            tool="ship",
            args={"branch": self.branch, "into": self.into, "commit": head, "onto": onto},
            actor=self.by,
            cwd=repository.common,
        )
        if repository.contains(onto, head):
            return self._judged(gate, policy, action, head=head, onto=onto, tree=onto, empty=True)
        tree, conflicts = repository.merged(onto, head)
        if conflicts:
            names = ", ".join(f"`{path}`" for path in conflicts)
            hint = f"merge `{self.into}` into `{self.branch}` and resolve it there"
            raise ShipError(f"`{self.branch}` does not merge into `{self.into}`: {names}", hint=hint)
        return self._judged(gate, policy, action, head=head, onto=onto, tree=tree)

    def policy(self, commit: str) -> Policy:
        """Return the law in force at a commit of the target: its policy, what a person trusts of it, and what is merged in.

        Raises:
            PolicyError: There is none, or it is not a policy.
        """
        found = self.own_policy(commit)
        return effective_policy(self._policy_place(), self.ledger, found=found)

    def ready(self, judged: Judged) -> None:
        """See that nothing outside of the branch would keep it from landing.

        Raises:
            ShipError: The target is checked out with changes in what would land, the policy names checks and is not the
                one that a person trusts, or a commit of the branch passes for one that used a grant.
        """
        for worktree in self.repository.worktrees(self.into):
            dirty = self.repository.dirty(worktree, judged.files)
            if dirty:
                names = ", ".join(f"`{path}`" for path in dirty)
                raise ShipError(
                    f"`{self.into}` is checked out in `{worktree}` with changes in what would land: {names}",
                    hint="commit, stash or move them, and ship again",
                )
        for commit in self.repository.claims(judged.onto, judged.head, GRANT):
            # Once it had landed, the grant that it names would be taken for used.
            if self.ledger.latest(LANDED, commit) is None:
                raise ShipError(
                    f"the commit {commit} of `{self.branch}` says that it used a grant, and no ship made it",
                    hint=f"leave the trailer `{GRANT}` out of its message",
                )
        own = self.own_policy(judged.onto)
        if own.checks:
            self.check_trust(own, "checks")

    def check_trust(self, own: Policy, what: str) -> None:
        """See that a person trusts a policy of the target as it is, since `what` it names would run as a program.

        Raises:
            ShipError: Nobody does.
        """
        record = trusted(self._policy_place(), self.ledger)
        if record is None or record.digest != own.digest:
            raise ShipError(
                f"`{self.policy_file}` of `{self.into}` names {what}, and nobody trusts it as it is",
                hint="look at it and run `indult trust` in the work tree of the target",
            )

    def check(self, judged: Judged) -> Failed | None:
        """Run the checks of the target's policy on a fresh checkout of what would land, and return the first failure.

        Raises:
            ShipError: One of them cannot be started.
        """
        checks = self.own_policy(judged.onto).checks
        if not checks:
            return None
        return run_checks(checks, self.repository, judged.tree, seconds=self.check_seconds(), stopped=self.stopped)

    def land(self, judged: Judged) -> Landed | Refused:
        """Judge once more, and let the target be what was judged, if neither branch nor target has moved since.

        Whatever ends it between its two records, nothing lands twice and nothing by half; see `indult.ship.intents`.
        """
        repository = self.repository
        with repository.lock():
            self.ready(judged)
            repository.complete(judged.onto, judged.head, judged.tree)
            found = self._begin(judged)
            if isinstance(found, Refused):
                return found
            intent, judged = found
            subject, requests = judged.gate.subject, judged.gate.requests
            try:
                moved = repository.move(self.into, intent.commit, intent.onto, {self.branch: intent.head})
            except ShipError:
                # Git could not say: whether it landed is looked up at once, so that nothing is left open.
                recover(repository, self.into, requests=requests, ledger=self.ledger)
                raise
            if not moved:
                why = f"`{self.branch}` or `{self.into}` moved after it was judged"
                undo(intent, subject, why, requests=requests, ledger=self.ledger)
                return self._refused(judged, Refused(lines=(why,)))
            behind = bring_along(repository, intent)
            self.ledger.append(landed(intent, subject))
        return Landed(commit=intent.commit, files=judged.files, grants=judged.judgement.grants, behind=behind)

    def refuse(self, judged: Judged) -> Refused:
        """Record that the gate refused a branch, and say why; no request opens."""
        return self._refused(judged, self.refusal(judged))

    def refusal(self, judged: Judged) -> Refused:
        """Return why the gate refuses a branch: every fault, what is open, and what became of the last question."""
        waits = judged.exception is None and judged.judgement.verdict is Verdict.ASK_USER
        return Refused(
            lines=refusal(judged.faults, judged.policy, judged.exception, signal=_signal(self.subjects)),
            verdict=judged.judgement.verdict,
            rules=judged.judgement.rules,
            faults=judged.faults,
            asked=_asked(judged.gate) if waits else "",
        )

    def hold(self, judged: Judged, *, change: str, question: str | None = None) -> Standing:
        """Ask a person to open exactly the commit that was judged, whatever in it needs approval (R42).

        Raises:
            IneffectiveRequest: Something in it is denied, or nothing in it needs approval.
            ScopeError: A line that would be shown is none, or more asks than a person can be asked to read.
        """
        gate = judged.gate
        listed = [fault.target for fault in judged.faults]
        scope = Scope.commit(judged.head, subject=gate.subject, change=change, holds=in_short(listed))
        if len(listed) > MAX_TARGETS:
            raise ScopeError(
                f"{len(listed)} changes need approval, more than a person can be asked to read",
                hint=f"at most {MAX_TARGETS}",
            )
        return gate.requests.open(
            scope,
            boundary=judged.boundary,
            requested_by=self.by,
            kind=HANDOFF,
            question=question,
            card={
                "branch": self.branch,
                "into": self.into,
                "asked": listed,
                # The commit and not the branch: that can have moved when a person looks.
                "look": shlex.join(["git", "diff", f"{self.into}...{judged.head}"]),
            },
            action=judged.action,
            facts=self.facts,
            supersede=True,
        )

    def _judged(
        self, gate: Gate, policy: Policy, action: Action, *, head: str, onto: str, tree: str, empty: bool = False
    ) -> Judged:
        changed = () if empty else self.repository.diff(onto, tree)
        found = parts(
            changed,
            read=self.repository.read,
            links=self.repository.links(tree) if changed else {},
            below=self.repository.below(tree),
            guards=policy.guards,
            within=f"commit:{head}",
        )
        boundary, judgement, faults = self._verdict(gate, action, found)
        return Judged(
            head=head,
            onto=onto,
            tree=tree,
            files=tuple(sorted({one.path.decode(errors="backslashreplace") for one in changed})),
            parts=found,
            action=action,
            gate=gate,
            policy=policy,
            boundary=boundary,
            judgement=judgement,
            faults=faults,
            empty=not changed,
        )

    def _verdict(
        self, gate: Gate, action: Action, found: tuple[Part, ...]
    ) -> tuple[Boundary, Judgement, tuple[Fault, ...]]:
        """Judge an action that comes apart into these parts, by the boundary that is in force now."""
        boundary = self._held_to_what_was_asked(gate, action, replace(gate.boundary(), decompose=lambda _: found))
        judgement = boundary.judge(action, self.facts)
        faults = () if judgement.verdict is Verdict.APPROVE else boundary.at_fault(action, self.facts)
        return boundary, judgement, faults

    def _held_to_what_was_asked(self, gate: Gate, action: Action, boundary: Boundary) -> Boundary:
        """Return the boundary without grants of a commit that would open more by now than the person was shown.

        Where the target went on, the same commit can bring it something else, such as what it has taken back since.
        """
        for grant in boundary.grants:
            if not any(target.startswith("commit:") for target in grant.scope.targets):
                continue
            without = replace(boundary, grants=tuple(one for one in boundary.grants if one is not grant))
            asked = gate.requests.standing(grant.request).request.card.get("asked", ())
            if not {fault.target for fault in without.at_fault(action, self.facts)} <= set(asked):
                boundary = without
        return boundary

    def _begin(self, judged: Judged) -> tuple[Intent, Judged] | Refused:
        """Write the first of the two records, by the boundary that is in force now."""
        for attempt in range(_ATTEMPTS):
            boundary, judgement, faults = self._verdict(judged.gate, judged.action, judged.parts)
            judged = replace(judged, boundary=boundary, judgement=judgement, faults=faults)
            if not judged.allowed:
                return self.refuse(judged)
            used = self._used(judged)
            if used is not None:
                return self._refused(judged, used)
            try:
                return self._started(judged), judged
            except (ApprovalError, LedgerConflict):
                # Somebody used or took back what this relies on: judged again, that is no approval.
                if attempt == _ATTEMPTS - 1:
                    raise
        raise AssertionError("unreachable")

    def _started(self, judged: Judged) -> Intent:
        gate, judgement = judged.gate, judged.judgement
        settled = gate.settle(judged.action, self.facts, judgement)
        intent = Intent(
            ship=new_id("s", time.time_ns() // 1_000_000, os.urandom(10)),
            repository=self.repository.common,
            branch=self.branch,
            into=self.into,
            head=judged.head,
            onto=judged.onto,
            commit=self.repository.commit(
                judged.tree,
                (judged.onto, judged.head),
                self._message(judged),
                author_of=judged.head,
                when=int(time.time()),
            ),
            reservations=reservations(settled.drafts),
        )
        fields, bodies = gate.record(judged.action, self.facts, judgement, {"files": list(judged.files)})
        recorded = Draft(stream=gate.subject, kind="judgement", data=fields, bodies=bodies)
        events = self.ledger.append(*settled.drafts, recorded, started(intent, gate.subject), expect=settled.expect)
        gate.appended(settled, events)
        return intent

    def _used(self, judged: Judged) -> Refused | None:
        """Refuse a grant that the target's history says was used: an old copy of a ledger revives nothing."""
        for name in judged.judgement.grants:
            commit = self.repository.trailer(judged.onto, GRANT, name)
            if commit is not None:
                return Refused(lines=(f"grant `{name}` was used already, by commit {commit} of `{self.into}`",))
        return None

    def _message(self, judged: Judged) -> str:
        relied: list[Grant] = [g for g in judged.boundary.grants if g.id in judged.judgement.grants]
        trailers = [f"{GRANT}: {grant.id} {grant.at}" for grant in relied]
        return "\n".join(
            [
                f"Land {self.branch} in {self.into}",
                "",
                *([self.about, ""] if self.about else []),
                *trailers,
                f"{DIGEST}: {judged.judgement.boundary}",
                "",
            ]
        )

    def _refused(self, judged: Judged, refused: Refused) -> Refused:
        """Record a refusal together with the judgement that it follows from."""
        gate = judged.gate
        fields, bodies = gate.record(
            judged.action, self.facts, judged.judgement, {"files": list(judged.files), "refused": refused.to_dict()}
        )
        data = {"branch": self.branch, "into": self.into, "head": judged.head, "onto": judged.onto}
        self.ledger.append(
            Draft(stream=gate.subject, kind="judgement", data=fields, bodies=bodies),
            Draft(stream=gate.subject, kind="ship_refused", data={**data, "rules": list(refused.rules)}),
        )
        return refused

    def _gate(self, policy: Policy) -> Gate:
        """Return the gate of the first subject with a live grant for what a branch can hold, else that of the first."""
        requests = self.requests(self.ledger, policy)
        subjects = self.subjects or (f"branch:{self.branch}",)
        gates = [Gate(policy, self.ledger, subject, requests=requests) for subject in subjects]
        return next((gate for gate in gates if any(map(_opens_changes, gate.boundary().grants))), gates[0])

    def _recover(self, policy: Policy) -> None:
        """Close what an earlier ship left open; while another one is landing, there is nothing to close yet."""
        with self.repository.lock():
            recover(self.repository, self.into, requests=self.requests(self.ledger, policy), ledger=self.ledger)

    def own_policy(self, commit: str) -> Policy:
        """Return the policy that lies in a commit of the target, and nothing that is merged into it.

        Raises:
            PolicyError: There is none, or it is not a policy.
            ShipError: It is another file than the target's law, and nobody trusts it.
        """
        text = self.repository.file(commit, self.policy_file)
        if text is None:
            place = self._policy_place()
            raise PolicyError(
                f"`{self.into}` has no policy: there is no `{self.policy_file}` in it",
                hint=commit_law(self.into, self.policy_file, place=place if os.path.lexists(place) else None),
            )
        found = loads_policy(text, source=f"{self.into}:{self.policy_file}")
        if self.policy_file != POLICY_FILE and self.repository.file(commit, POLICY_FILE) is not None:
            # Any file could be a law that lets everything through, and whoever ships may be who wrote it.
            record = trusted(self._policy_place(), self.ledger)
            if record is None or record.digest != found.digest:
                raise ShipError(
                    f"`{self.into}` has a law of its own in `{POLICY_FILE}`, and nobody trusts `{self.policy_file}` as it is",
                    hint=f"leave the option out, or run `indult trust {self.policy_file}`",
                )
        return found

    def _policy_place(self) -> str:
        """Return the file of which a person trusts a version: the policy in the main work tree, there or not."""
        return os.path.join(self.repository.root, self.policy_file)  # noqa: PTH118


def _asked(gate: Gate) -> str:
    """Return what became of the last question of a subject; records that were changed answer nothing, and say so."""
    try:
        return answered(gate.requests.last(gate.subject), gate.subject)
    except ForgedRecord as exc:
        return exc.message


def _signal(subjects: Sequence[str]) -> str:
    """Return the id of the one signal among subjects; where there is none, or more, the word that stands for one."""
    signals = {signal for signal in map(signal_of, subjects) if signal is not None}
    return signals.pop() if len(signals) == 1 else "ID"


def _opens_changes(grant: Grant) -> bool:
    """Tell whether a grant opens anything that a branch can hold; one for a call, for instance, does not."""
    return any(target.partition(":")[0] not in {"call", "command", "tool"} for target in grant.scope.targets)
