"""What the tests of requests share: a policy that asks, a ledger with a clock that they move, and people who answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import count
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from indult import Action, Boundary, Gate, Policy, loads_policy
from indult.approvals import Choice, HumanDecision, Standing, Verify, Via
from indult.gate import Requests
from indult.gate.marks import Mark
from indult.ledger import Ledger
from indult.scopes import Scope
from indult.signatures import signature_text
from indult.testing.memory import MemoryLedger

SUBJECT = "run:1"

LAW = """
schema: 1
default: deny
rules:
  - {id: pay, tool: pay, effect: ask, says: Payments need approval.}
  - {id: large, tool: pay, effect: ask, when: args.n > 100, says: Large payments need approval too.}
  - {id: any, tool: any, effect: ask, approval: any, says: This needs anybody.}
  - {id: never, tool: wipe, effect: deny, says: Never wipe.}
  - {id: look, tool: look, effect: allow}
"""

STRICT = """
  - {id: twice, tool: launch, effect: ask, approvals: 2, says: A launch needs two people.}
  - {id: signed, tool: sign, effect: ask, approval: signed, says: This needs a signature.}
approvers:
"""
"""Rules that need approvers, whose lines follow."""

NOON = "2026-08-20T12:00:00.000000Z"


def pay(n: int = 1, actor: str = "agent") -> Action:
    """Return a call that the policy asks about."""
    return Action(tool="pay", args={"n": n}, actor=actor)


class Clock:
    """A clock that moves when a test says so."""

    def __init__(self, now: str = NOON) -> None:
        self.now = now

    def __call__(self) -> str:
        """Return the present."""
        return self.now

    def move(self, **by: float) -> str:
        """Go on, or back, and return the present."""
        then = datetime.fromisoformat(self.now) + timedelta(**by)
        self.now = then.isoformat(timespec="microseconds")[:26] + "Z"
        return self.now

    def later(self, **by: float) -> str:
        """Return a time from now on, without going there."""
        return Clock(self.now).move(**by)


@dataclass(kw_only=True)
class Desk:
    """One ledger under one policy, with what a test needs to ask, answer and use."""

    policy: Policy = field(default_factory=lambda: loads_policy(LAW))
    clock: Clock = field(default_factory=Clock)
    ledger: Ledger = None  # type: ignore[assignment] # made below, with the clock
    verify: Verify | None = None
    mark: Mark | None = None
    sign: Callable[[HumanDecision, Scope], HumanDecision] = lambda decision, scope: decision
    subject: str = SUBJECT
    name: str = ""

    def __post_init__(self) -> None:
        """Make what was not given."""
        self.ledger = self.ledger if self.ledger is not None else MemoryLedger(clock=self.clock)
        self._ids = count(1)
        self.requests = self.under(self.policy)
        self.gate = Gate(self.policy, self.ledger, self.subject, requests=self.requests)

    def under(self, policy: Policy) -> Requests:
        """Return the requests of the same ledger under another policy."""
        return Requests(
            self.ledger,
            policy,
            clock=self.clock,
            new_id=lambda: self.fresh("r"),
            verify=self.verify,
            mark=self.mark,
        )

    def fresh(self, prefix: str) -> str:
        """Return an id that was not used; desks in several processes have names."""
        return f"{prefix}_{self.name}{next(self._ids):04}"

    def boundary(self, subject: str | None = None) -> Boundary:
        """Return the boundary in force for a subject."""
        subject = subject or self.subject
        return Boundary(policy=self.policy, subject=subject, grants=self.requests.live(subject))

    def ask(self, action: Action | None = None, *, subject: str | None = None, **options: Any) -> Standing:
        """Open a request for one call, or for the scope that is given, with changes to the scope beside it."""
        subject = subject or self.subject
        action = action if action is not None else pay()
        given = options.pop("scope", None)
        scope = given or Scope.call(action, subject=subject)
        narrowed: dict[str, Any] = {
            name: options.pop(name) for name in ("max_uses", "change", "title") if name in options
        }
        until = options.pop("until", None)
        if until is not None:
            narrowed["expires_at"] = until
        values: dict[str, Any] = {
            "boundary": self.boundary(subject),
            "requested_by": action.actor,
            "action": action if given is None else None,
            "facts": {},
            **options,
        }
        return self.requests.open(replace(scope, **narrowed), **values)

    def answer(
        self, found: Standing, choice: Choice = Choice.APPROVE, by: str = "ann", **changes: Any
    ) -> HumanDecision:
        """Return the answer of a person who looked at a request as it stood then, signed if this desk signs."""
        values: dict[str, Any] = {
            "id": self.fresh("d"),
            "request": found.request.id,
            "choice": choice,
            "digest": found.request.digest,
            "seen": found.seen,
            "by": by,
            "via": Via.CLI,
            "at": self.clock.now,
            **changes,
        }
        return self.sign(HumanDecision(**values), found.request.scope)

    def decide(self, found: Standing, choice: Choice = Choice.APPROVE, by: str = "ann", **changes: Any) -> Standing:
        """Answer a request as it stands now."""
        now = self.requests.standing(found.request.id)
        return self.requests.decide(self.answer(now, choice, by, **changes))

    def approved(self, action: Action | None = None, **options: Any) -> Standing:
        """Open a request and approve it."""
        return self.decide(self.ask(action, **options))


class Person:
    """Somebody with a key."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.key = Ed25519PrivateKey.generate()

    @property
    def line(self) -> str:
        """Return the line of the public key, as OpenSSH writes it."""
        return self.key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()

    def sign(self, decision: HumanDecision, scope: Scope) -> HumanDecision:
        """Return the decision with this person's signature."""
        return replace(decision, signature=signature_text(self.key.sign(decision.payload(scope))))


def strict(*people: Person) -> Policy:
    """Return the policy whose approvers are these people: nobody else's answer counts, and none without a signature.

    One person has a deputy, since some of its rules take two.
    """
    declared = people if len(people) > 1 else (*people, Person("deputy"))
    return loads_policy(LAW + STRICT + "".join(f"  {person.name}: {person.line}\n" for person in declared))


def strict_desk(*people: Person, **options: Any) -> Desk:
    """Return a desk under that policy, whose decisions are signed by whom they are made by."""
    by_name = {person.name: person for person in people}

    def sign(decision: HumanDecision, scope: Scope) -> HumanDecision:
        person = by_name.get(decision.by)
        return decision if person is None else person.sign(decision, scope)

    return Desk(policy=strict(*people), sign=sign, **options)
