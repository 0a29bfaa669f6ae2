"""The part `autofix` of a policy: when a signal is taken up, how long a fix may take, and the rules of triage.

Rules of triage are a set, as the rules of a policy are: their order has no meaning, and they are kept in order of id.
Their conditions read `signal` and nothing else. Durations are whole seconds here and `30m` or `24h` as text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from indult.budget import Budget
from indult.canonical import copy_json
from indult.cel import Env, RecordType, check, parse_type, program
from indult.errors import ConfigurationError, EvaluationError, InputError, PolicyError
from indult.policy.model import check_id

if TYPE_CHECKING:
    from indult.cel import Checked

__all__ = [
    "CEILINGS",
    "LARGEST",
    "LONGEST",
    "SIGNAL",
    "Autofix",
    "Matches",
    "TriageRule",
    "TriageState",
    "duration_text",
    "parse_duration",
    "signal_environment",
]

SIGNAL: Final = {"kind": "string", "summary": "string", "source": "string", "count": "int", "turns": "int"}
"""What the condition of a triage rule may read of `signal`, with the type of each."""

CEILINGS: Final = ("engine_calls", "gate_evaluations", "tokens", "seconds", "cost")
"""The ceilings of `indult.budget.Budget` that a run of autofix has; its turns are `turns` of each signal."""

LARGEST: Final = 1_000_000
"""The largest number that a threshold, a priority or a count of turns can be."""

LONGEST: Final = 365 * 86_400
"""The longest duration, in seconds."""

_UNITS: Final = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
_DURATION: Final = re.compile(r"(0|[1-9][0-9]{0,8})([smhd])", re.ASCII).fullmatch
_WRITE: Final = "a whole number and its unit: `90s`, `30m`, `24h` or `7d`"


class TriageState(StrEnum):
    """What a rule of triage makes of a signal; `needs-human` beats `ignored`, and `ignored` beats `fix`."""

    NEEDS_HUMAN = "needs-human"
    IGNORED = "ignored"
    FIX = "fix"


@dataclass(frozen=True, slots=True, kw_only=True)
class TriageRule:
    """One rule of triage: a condition over `signal` (none means always) and what it makes of those it matches.

    `says` is the reason that a person reads. `priority` and `threshold` stand in the place of what holds otherwise.

    Raises:
        PolicyError: It decides nothing, or says what could never count.
    """

    id: str
    when: str | None = None
    state: TriageState | None = None
    priority: int | None = None
    threshold: int | None = None
    says: str | None = None

    def __post_init__(self) -> None:
        check_id(self.id)
        for name in ("when", "says"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                raise PolicyError(f"`{name}` of the triage rule `{self.id}` must be text, not `{value!r}`")
        if self.state is not None:
            object.__setattr__(self, "state", _state(self.state))
        if self.priority is not None:
            _check_whole("priority", self.priority, -LARGEST)
        if self.threshold is not None:
            _check_whole("threshold", self.threshold, 1)
        self._check_sense()

    def _check_sense(self) -> None:
        """Refuse what the rule says without effect: somebody who wrote it expects one."""
        if self.state is None and self.priority is None and self.threshold is None:
            raise PolicyError(
                f"the triage rule `{self.id}` decides nothing", hint="give it a `state`, a `priority` or a `threshold`"
            )
        if self.threshold is not None and self.state in {TriageState.NEEDS_HUMAN, TriageState.IGNORED}:
            raise PolicyError(
                f"the triage rule `{self.id}` has a `threshold`, but what it matches is never taken up",
                hint="its state holds at once; write `signal.count >= N` into its `when` to wait",
            )
        if self.says is not None and self.state is None:
            raise PolicyError(f"the triage rule `{self.id}` has `says` without a `state` that it could be a reason for")

    def to_dict(self) -> dict[str, Any]:
        """Return the rule as JSON, without the keys that it does not have."""
        data = {item.name: getattr(self, item.name) for item in fields(self)}
        if self.state is not None:
            data["state"] = self.state.value
        return {name: value for name, value in data.items() if value is not None}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return the rule that `to_dict` wrote.

        Raises:
            PolicyError: A key is unknown or missing, or a value is none that a rule of triage can have.
        """
        _check_known(data, {item.name for item in fields(cls)}, "a triage rule")
        try:
            return cls(**data)
        except TypeError as exc:
            raise PolicyError(f"not a triage rule: {exc}") from exc


class Matches(NamedTuple):
    """What the rules of triage say of one signal: those that match, and id and message of those that fail on it."""

    rules: tuple[TriageRule, ...]
    errors: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Autofix:
    """How signals are taken up and fixed: `cooldown` and `timeout` are seconds, `budget` is that of one run.

    A signal is taken up once it was seen `threshold` times, and left alone for `cooldown` after a fix of it ended. It
    gets `turns` calls of the fixer in a row at most, and `patience` of them without anything new.

    Raises:
        PolicyError: A number is out of range, or two rules have one id.
    """

    threshold: int = 1
    cooldown: int = 86_400
    turns: int = 3
    patience: int = 2
    timeout: int = 1_800
    budget: Budget = field(default_factory=Budget)
    triage: tuple[TriageRule, ...] = ()
    _cache: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("threshold", "turns", "patience"):
            _check_whole(name, getattr(self, name), 1)
        for name, least in (("cooldown", 0), ("timeout", 1)):
            _check_whole(name, getattr(self, name), least, LONGEST)
        _check_budget(self.budget)
        rules = tuple(sorted(self.triage, key=lambda rule: rule.id))
        twice = next((a.id for a, b in pairwise(rules) if a.id == b.id), None)
        if twice is not None:
            raise PolicyError(f"two triage rules have the id `{twice}`")
        object.__setattr__(self, "triage", rules)

    def matches(self, signal: Mapping[str, Any]) -> Matches:
        """Return which rules match a signal, given as the values that `SIGNAL` names.

        Raises:
            ConditionError: A condition does not parse, or reads what a signal does not have.
        """
        rules, errors = [], []
        for rule, holds in self._programs():
            try:
                if holds is None or holds({"signal": signal}) is True:
                    rules.append(rule)
            except EvaluationError as exc:
                errors.append((rule.id, exc.message))
        return Matches(tuple(rules), tuple(errors))

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form, rules in order of id, without the keys that have their default value."""
        default = Autofix()
        names = ("threshold", "cooldown", "turns", "patience", "timeout")
        data: dict[str, Any] = {
            name: getattr(self, name) for name in names if getattr(self, name) != getattr(default, name)
        }
        data |= {name: duration_text(data[name]) for name in ("cooldown", "timeout") if name in data}
        if self.budget != default.budget:
            data["budget"] = self.budget.to_dict()
        if self.triage:
            data["triage"] = [rule.to_dict() for rule in self.triage]
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return what `to_dict` wrote.

        Raises:
            PolicyError: A key is unknown, or a value is none that `autofix` can have.
        """
        _check_known(data, {item.name for item in fields(cls) if item.init}, "`autofix`")
        values = dict(data)
        for name in {"cooldown", "timeout"} & set(values):
            values[name] = parse_duration(values[name])
        try:
            if "budget" in values:
                values["budget"] = _budget(values["budget"])
            values["triage"] = tuple(TriageRule.from_dict(item) for item in values.get("triage", ()))
            return cls(**values)
        except TypeError as exc:
            raise PolicyError(f"not an `autofix`: {exc}") from exc

    def _programs(self) -> list[tuple[TriageRule, Callable[[Mapping[str, object]], object] | None]]:
        if "programs" not in self._cache:
            env = signal_environment()
            checked: list[Checked | None] = [
                None if rule.when is None else check(rule.when, env) for rule in self.triage
            ]
            self._cache["programs"] = [
                (rule, None if one is None else program(one)) for rule, one in zip(self.triage, checked, strict=True)
            ]
        found: list[tuple[TriageRule, Callable[[Mapping[str, object]], object] | None]] = self._cache["programs"]
        return found


def signal_environment() -> Env:
    """Return the types of what the conditions of triage rules may read."""
    return Env({"signal": RecordType({name: parse_type(kind) for name, kind in SIGNAL.items()})})


def parse_duration(text: object) -> int:
    """Return the seconds of a duration such as `30m`.

    Raises:
        PolicyError: It is no whole number with a unit, or longer than a year.
    """
    found = _DURATION(text) if isinstance(text, str) else None
    if found is None:
        raise PolicyError(f"`{text}` is no duration", hint=_WRITE)
    seconds = int(found[1]) * _UNITS[found[2]]
    if seconds > LONGEST:
        raise PolicyError(f"the duration `{text}` is too long", hint=f"at most `{duration_text(LONGEST)}`")
    return seconds


def duration_text(seconds: int) -> str:
    """Return the text of a duration in the largest unit of which it is a whole number."""
    if seconds == 0:
        return "0s"
    unit, size = next((unit, size) for unit, size in _UNITS.items() if seconds % size == 0)
    return f"{seconds // size}{unit}"


def _check_whole(name: str, value: object, least: int, most: int = LARGEST) -> None:
    if type(value) is not int or not least <= value <= most:
        raise PolicyError(f"`{name}` cannot be `{value}`", hint=f"a whole number from {least} to {most}")


def _budget(data: Mapping[str, Any]) -> Budget:
    try:
        return Budget.from_dict(data)
    except ConfigurationError as exc:
        raise PolicyError(exc.message, hint=exc.hint) from exc


def _check_budget(budget: Budget) -> None:
    if not isinstance(budget, Budget):
        raise PolicyError(f"`budget` of `autofix` must be ceilings, not `{budget!r}`")
    given = budget.to_dict()
    for name in given:
        if name not in CEILINGS:
            raise PolicyError(f"`budget` of `autofix` has no `{name}`", hint=f"one of {', '.join(CEILINGS)}")
    try:
        copy_json(given, name="budget")
    except InputError as exc:
        raise PolicyError(exc.message, hint=exc.hint) from exc


def _check_known(data: object, names: set[str], what: str) -> None:
    if not isinstance(data, Mapping):
        raise PolicyError(f"{what} must be a mapping, not `{type(data).__name__}`")
    for key in data:
        if key not in names:
            raise PolicyError(f"unknown key `{key}` in {what}", hint="one of " + ", ".join(sorted(names)))


def _state(value: str) -> TriageState:
    try:
        return TriageState(value)
    except ValueError:
        raise PolicyError(f"unknown state `{value}`", hint=f"one of {', '.join(TriageState)}") from None
