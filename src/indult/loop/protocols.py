"""The seams of the loop: who proposes, who performs, who grades, and the values that pass between them."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, Protocol

from indult.actions import Action
from indult.boundary import Brief
from indult.canonical import MAX_INTEGER, copy_json
from indult.critiques import Critique
from indult.errors import InputError
from indult.judgements import Judgement
from indult.ledger.streams import check_name

__all__ = ["Evidence", "Executor", "Outcome", "Proposal", "Proposer", "Status", "Usage", "Verifier"]

_COUNTS: Final = 1_000
"""How many counters one step may change, all of which are kept in its event."""

_NAME: Final = 200
"""The longest name of a counter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What one call of a maker cost: tokens, and money in the caller's currency.

    Raises:
        InputError: Either is negative, beyond 2**53 - 1 or no number, so that no budget could be held against it.
    """

    tokens: int = 0
    cost: float = 0

    def __post_init__(self) -> None:
        """Refuse what no budget could be held against."""
        if type(self.tokens) is not int or not 0 <= self.tokens <= MAX_INTEGER:
            raise InputError("usage has bad `tokens`: they must be a whole number from 0 to 2**53 - 1")
        if type(self.cost) not in {int, float} or not 0 <= self.cost <= MAX_INTEGER:
            raise InputError("usage has a bad `cost`: it must be a number from 0 to 2**53 - 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What a maker returns: an action, or `None` when it has nothing to propose.

    `rationale` is for people who read the log; neither the gate nor the verifier sees it.
    """

    action: Action | None
    rationale: str = ""
    usage: Usage = field(default_factory=Usage)


class Status(StrEnum):
    """How an action ended in the world."""

    DONE = "done"
    FAILED = "failed"
    NOT_RUN = "not_run"
    """The gate did not let it run."""
    NOT_STARTED = "not_started"
    """It was let through and is known not to have begun."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What happened in the world, measured by the world.

    `before` and `after` measure the goal, where more is nearer; `fit` is how well the action suits its target, from 0
    to 1. `counts` are changes of the world's own counters, kept in the same transaction as the step.

    Raises:
        InputError: A measure or a change of a counter is not a finite number, or beyond 2**53 - 1 as an integer.
    """

    status: Status
    result: Any = None
    before: float | None = None
    after: float | None = None
    fit: float | None = None
    counts: Mapping[str, int | float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse measures that compare with nothing, and what no ledger could keep after the effect."""
        if not isinstance(self.status, Status):
            raise InputError(f"outcome has `status` of type `{type(self.status).__name__}`: it must be a status")
        for name in ("before", "after", "fit"):
            value = getattr(self, name)
            if value is not None and not _finite(value):
                shown = value if isinstance(value, bool | float) else type(value).__name__
                raise InputError(f"outcome has `{name}` = `{shown}`: it must be a finite number")
        object.__setattr__(self, "counts", _counts(self.counts))

    @property
    def advanced(self) -> bool:
        """Tell whether it was done and the goal came nearer; without measures, whether it was done."""
        if self.status is not Status.DONE:
            return False
        return self.before is None or self.after is None or self.after > self.before

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form without `result` and `counts`, which the ledger keeps in their own places."""
        shown: dict[str, Any] = {"status": str(self.status)}
        for name in ("before", "after", "fit"):
            if getattr(self, name) is not None:
                shown[name] = getattr(self, name)
        return shown


def _finite(value: object) -> bool:
    """Tell whether a value is a number that every reader keeps."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return -MAX_INTEGER <= value <= MAX_INTEGER if isinstance(value, int) else value - value == 0


def _counts(counts: object) -> dict[str, int | float]:
    """Return a copy of the changes of counters, if each is a name and a number."""
    if not isinstance(counts, Mapping):
        raise InputError(f"outcome has `counts` of type `{type(counts).__name__}`: it must be an object")
    copied = dict(counts)
    if len(copied) > _COUNTS:
        raise InputError(f"outcome changes {len(copied)} counters, at most {_COUNTS} in one step")
    for name, change in copied.items():
        check_name(name, "name of a counter")
        if len(name) > _NAME:
            raise InputError(f"outcome has a counter with a name of {len(name)} characters, at most {_NAME}")
        if not _finite(change) or abs(change) > MAX_INTEGER:
            raise InputError(f"outcome changes the counter `{ascii(name)[1:-1]}` by no finite number up to 2**53 - 1")
    return dict(copy_json(copied, name="counts"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """All that a verifier may see; it has no field for what the maker thought of its own work."""

    action: Action
    judgement: Judgement
    outcome: Outcome


class Proposer(Protocol):
    """The maker: it reads a brief and nothing else.

    A maker with state of its own, a random generator for instance, also has `skip(calls: int)`, which puts it where it
    was after so many calls, so that a resumed run goes on as an undisturbed one.
    """

    def propose(self, brief: Brief) -> Proposal | Awaitable[Proposal]:
        """Return a proposal, at once or awaited."""


class Executor(Protocol):
    """What performs an action that may run.

    An executor whose only effect is `Outcome.counts` says so with `effect = "ledger"`; any other is taken to reach
    outside, and its steps are recorded as an intent before and a close after. An executor with `measure(action)` is asked
    for an outcome also where the gate let nothing run, so that a grader knows what the action would have met.
    """

    def execute(self, action: Action) -> Outcome | Awaitable[Outcome]:
        """Perform `action` and return what the world measured."""


class Verifier(Protocol):
    """The grader: it sees evidence, may steer, and never approves."""

    def review(self, evidence: Evidence) -> Critique | Awaitable[Critique]:
        """Return a grade of what happened."""
