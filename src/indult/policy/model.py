"""The policy as values: rules, a default and the declared context.

A policy is a set: the order of its rules has no meaning, so rules are kept in order of id and two files with the same
rules are the same policy with the same digest. `Policy.bucket` gives the rules that one tool can meet.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, Self

from indult.canonical import canonical, copy_json, digest_text
from indult.cel import check
from indult.errors import InputError, PolicyError
from indult.policy.bucket import Bucket, BucketCache
from indult.policy.context import environment
from indult.policy.patterns import target_pattern, tool_pattern

if TYPE_CHECKING:
    from indult.cel import Checked, Env
    from indult.policy.autofix import Autofix

__all__ = [
    "DEFAULT",
    "EXCEPTIONS",
    "SCHEMA",
    "TEMPLATE_FIELDS",
    "Effect",
    "Mode",
    "Policy",
    "Record",
    "Rule",
    "check_id",
    "check_template",
]

_ID: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,99}", re.ASCII).fullmatch

# In a merged policy, the name of the policy that a rule comes from stands before its id.
_ORIGIN: Final = re.compile(r"(?:changed|project|system|user)/", re.ASCII).match

_FIELD: Final = r"\{([^{}]*)\}"

TEMPLATE_FIELDS: Final = ("approver", "title", "change", "targets", "expires", "uses", "says")
"""What `says_opened` may name: the grant that opens, and the sentence that it opens."""

SCHEMA: Final = 1
"""The version of the policy file format, the value of its key `schema`."""

EXCEPTIONS: Final = ("dependency",)
"""The kinds of named exceptions that an ask may open by: a person opens one dependency by name, version and paths."""

DEFAULT: Final = "default"
"""The id of the rule that matches what no other rule does."""


class Effect(StrEnum):
    """What a rule says about the actions it matches; a deny beats an ask, and an ask beats an allow."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


class Mode(StrEnum):
    """Whether a rule or a whole policy blocks, or is only judged and logged."""

    ENFORCE = "enforce"
    OBSERVE = "observe"


class Record(StrEnum):
    """What the ledger keeps of the arguments of an action that a rule decided."""

    FULL = "full"
    PREVIEW = "preview"
    DIGEST = "digest"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One declarative line of a policy.

    `tool` and `target` are patterns (`indult.policy.patterns`); of several for `target`, any may match. `when` is a CEL condition (none means always), `says` is
    the sentence that the model reads. `downgrade` is a ladder of changes to the arguments, `match` and `no_match` are
    example actions that loading checks.

    Raises:
        PolicyError: A deny or an ask without `says`, a pattern that is none, a ladder on a rule that does not deny, what
            an approval takes or says on one that does not ask.
    """

    id: str
    effect: Effect
    tool: str = "*"
    target: str | tuple[str, ...] | None = None
    when: str | None = None
    says: str | None = None
    says_opened: str | None = None
    downgrade: tuple[dict[str, Any], ...] = ()
    exception: str | None = None
    approvals: int = 1
    approval: str | None = None
    mode: Mode = Mode.ENFORCE
    record: Record = Record.PREVIEW
    match: tuple[dict[str, Any], ...] = ()
    no_match: tuple[dict[str, Any], ...] = ()

    def __post_init__(self) -> None:
        _check_words(self)
        _member(self, "effect", Effect)
        _member(self, "mode", Mode)
        _member(self, "record", Record)
        tool_pattern(self.tool)
        object.__setattr__(self, "target", _target(self))
        if self.effect is not Effect.ALLOW and not (self.says and self.says.strip()):
            raise PolicyError(
                f"rule `{self.id}` has no `says`",
                hint="say in one sentence what the agent must not do, or must ask for",
            )
        if self.downgrade and self.effect is not Effect.DENY:
            raise PolicyError(f"rule `{self.id}` has a `downgrade` but does not deny")
        if type(self.approvals) is not int or self.approvals < 1:
            raise PolicyError(f"rule `{self.id}` asks for `{self.approvals}` approvals", hint="a number from 1 on")
        if self.effect is not Effect.ASK and (
            self.approvals > 1 or self.approval or self.says_opened or self.exception
        ):
            raise PolicyError(f"rule `{self.id}` says what opens it but does not ask")
        for name in ("downgrade", "match", "no_match"):
            _check_mappings(self, name)

    def __hash__(self) -> int:
        return hash((self.id, self.effect, self.tool, self.target, self.when, self.says))

    @property
    def targets(self) -> tuple[str, ...]:
        """Return the patterns of the rule's `target`, none where it has none."""
        return (self.target,) if isinstance(self.target, str) else self.target or ()

    @property
    def enforced(self) -> bool:
        """Tell whether the rule counts for the verdict; one in mode `observe` is only logged."""
        return self.mode is Mode.ENFORCE

    def to_dict(self) -> dict[str, Any]:
        """Return the rule as JSON, without the keys that have their default value."""
        data: dict[str, Any] = {"id": self.id, "effect": self.effect.value}
        for name, default in _RULE_DEFAULTS.items():
            value = getattr(self, name)
            if value != default:
                data[name] = copy_json(list(value) if isinstance(value, tuple) else value, name=name)
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return the rule that `to_dict` wrote.

        Raises:
            PolicyError: A key is unknown or missing, or a value is none that a rule can have.
        """
        _known(data, {"id", "effect", *_RULE_DEFAULTS}, "rule")
        try:
            return cls(**data)
        except TypeError as exc:
            raise PolicyError(f"not a rule: {exc}") from exc


_RULE_DEFAULTS: Final = {item.name: item.default for item in fields(Rule) if item.name not in ("id", "effect")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """A set of rules, what holds where none matches, and the facts that conditions may read.

    `context` maps a name to the text of a type, or to one more level of such names. `mode: observe` leaves the verdicts
    as they are; the edges then do not block. `checks` and `fixer` are commands as lists of words, and `autofix` says which
    signals are taken up.

    Raises:
        PolicyError: Two rules with one id, a default that allows, or a context that is none.
    """

    rules: tuple[Rule, ...] = ()
    default: Effect = Effect.DENY
    context: dict[str, Any] = field(default_factory=dict)
    mode: Mode = Mode.ENFORCE
    approvers: dict[str, str] = field(default_factory=dict)
    checks: Any = None
    fixer: tuple[str, ...] = ()
    autofix: Autofix | None = None
    _cache: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _member(self, "default", Effect)
        _member(self, "mode", Mode)
        if self.default is Effect.ALLOW:
            raise PolicyError("the default cannot be `allow`", hint="`deny` or `ask`")
        object.__setattr__(self, "rules", tuple(sorted(self.rules, key=lambda rule: rule.id)))
        for name in ("context", "approvers", "checks"):
            object.__setattr__(self, name, _copied(getattr(self, name), name))
        object.__setattr__(self, "fixer", _words(self.fixer))
        object.__setattr__(self, "autofix", _autofix(self.autofix))
        by_id = {rule.id: rule for rule in self.rules}
        if len(by_id) != len(self.rules):
            twice = next(a.id for a, b in zip(self.rules, self.rules[1:], strict=False) if a.id == b.id)
            raise PolicyError(f"two rules have the id `{twice}`")
        if DEFAULT in by_id:
            raise PolicyError(f"the id `{DEFAULT}` is taken", hint="it stands for the key `default` of the policy")
        for rule in self.rules:
            if rule.approval == "signed" and not self.approvers:
                # Without approvers nobody checks signatures, and an unsigned approval would open it.
                raise PolicyError(f"the rule `{rule.id}` takes signed approvals, and no `approvers` are declared")
        self._cache.update(rules=by_id, buckets=BucketCache(self))

    def __hash__(self) -> int:
        return hash(self.rules)

    @property
    def digest(self) -> str:
        """Return `sha256:` and the hash of the canonical JSON of the policy."""
        value: str = self._cached("digest", lambda: digest_text(self.canonical_text))
        return value

    @property
    def canonical_text(self) -> str:
        """Return the canonical JSON of the policy, the same for every order of rules."""
        value: str = self._cached("text", lambda: canonical(self.to_dict()))
        return value

    @property
    def env(self) -> Env:
        """Return the types of all names that conditions may read.

        Raises:
            PolicyError: The context declares a type that does not exist or a name that is taken.
        """
        value: Env = self._cached("env", lambda: environment(self.context))
        return value

    @property
    def conditions(self) -> dict[str, Checked | None]:
        """Return the checked condition of each rule by id, none where the rule always holds.

        Raises:
            ConditionError: A condition does not parse or does not fit the context.
        """
        value: dict[str, Checked | None] = self._cached("conditions", self._check)
        return value

    def condition(self, rule: Rule) -> Checked | None:
        """Return the checked condition of one rule, whatever the others are like.

        Raises:
            ConditionError: It does not parse or does not fit the context.
        """
        known: dict[str, Checked | None] = self._cache.get("conditions") or self._cached("checked", dict)
        if rule.id not in known:
            known[rule.id] = None if rule.when is None else check(rule.when, self.env)
        return known[rule.id]

    def remember(self, env: Env, conditions: dict[str, Checked | None]) -> Self:
        """Take over the environment and the conditions that a loader has checked already, and return the policy."""
        self._cache.update(env=env, conditions=conditions)
        return self

    @property
    def default_rule(self) -> Rule:
        """Return the rule that stands for the key `default`."""
        says = (
            "Everything else is forbidden." if self.default is Effect.DENY else "Everything else needs approval first."
        )
        value: Rule = self._cached("default", lambda: Rule(id=DEFAULT, effect=self.default, says=says))
        return value

    def rule(self, id: str) -> Rule:
        """Return the rule with this id; `default` is one.

        Raises:
            PolicyError: There is none.
        """
        if id == DEFAULT:
            return self.default_rule
        rules: dict[str, Rule] = self._cache["rules"]
        try:
            return rules[id]
        except KeyError:
            raise PolicyError(f"no rule has the id `{id}`") from None

    def bucket(self, tool: str, target: str | Callable[[], str] | None = None) -> Bucket:
        """Return the rules that this tool and target can meet, compiled on first use.

        `target` is `kind:name`, or a function that returns it, which is called only if a rule for this tool has a
        `target`. Without one, such a rule is met if it denies or asks, and is not if it allows.
        """
        cache: BucketCache = self._cache["buckets"]
        return cache.get(tool, target)

    def meets(self, rule: Rule, target: str | None) -> bool:
        """Tell whether a rule of this policy can match a target; one that is not known meets what denies or asks."""
        cache: BucketCache = self._cache["buckets"]
        return cache.meets(rule, target)

    def might(self, tool: str, target: str) -> list[Rule]:
        """Return the rules that deny or ask and could be about a target of which only `kind:GLOB` is known."""
        cache: BucketCache = self._cache["buckets"]
        return cache.might(tool, target)

    def guards(self, path: str) -> bool:
        """Tell whether some disk could take a path for one that a deny or an ask is about, though by its text it is not.

        Path and patterns are compared as `indult.characters.fold` leaves them, for a file that is written. Rules are
        taken whatever their tool and condition, since a name that passes for another one is nobody's honest wish.
        """
        cache: BucketCache = self._cache["buckets"]
        return cache.guards(path)

    def to_dict(self) -> dict[str, Any]:
        """Return the resolved policy as JSON, rules in order of id, without the keys that have their default value."""
        data: dict[str, Any] = {"schema": SCHEMA, "default": self.default.value}
        for name in ("context", "approvers", "checks"):
            value = getattr(self, name)
            if value is not None and value != {}:
                data[name] = copy_json(value, name=name)
        if self.fixer:
            data["fixer"] = list(self.fixer)
        if self.autofix is not None:
            data["autofix"] = self.autofix.to_dict()
        if self.mode is not Mode.ENFORCE:
            data["mode"] = self.mode.value
        data["rules"] = [rule.to_dict() for rule in self.rules]
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return the policy that `to_dict` wrote.

        Raises:
            PolicyError: Another schema, a key that is unknown, or a value that a policy cannot have.
        """
        names = {item.name for item in fields(cls) if item.init}
        _known(data, {"schema", *names}, "policy")
        if data.get("schema") != SCHEMA:
            raise PolicyError(f"unknown policy schema `{data.get('schema')}`", hint=f"this version reads {SCHEMA}")
        values = {name: value for name, value in data.items() if name != "schema"}
        try:
            rules = tuple(Rule.from_dict(item) for item in values.pop("rules", ()))
            return cls(rules=rules, **values)
        except (TypeError, AttributeError) as exc:
            raise PolicyError(f"not a policy: {exc}") from exc

    def _check(self) -> dict[str, Checked | None]:
        env = self.env
        return {rule.id: None if rule.when is None else check(rule.when, env) for rule in self.rules}

    def _cached(self, name: str, make: Callable[[], Any]) -> Any:
        if name not in self._cache:
            self._cache[name] = make()
        return self._cache[name]


def check_id(value: object) -> None:
    """Refuse what cannot be the id of a rule.

    Raises:
        PolicyError: It is empty, too long or holds other characters than a word does.
    """
    if not isinstance(value, str) or not _ID(value):
        raise PolicyError(
            f"a rule cannot have the id `{value}`",
            hint="up to 100 letters, digits, `_`, `-` and `.`, with a letter or `_` first",
        )


def check_template(text: str) -> None:
    """Refuse a `says_opened` with a field that it cannot have, or with a brace that belongs to none.

    Raises:
        PolicyError: The field is unknown, or a brace stands alone.
    """
    for name in re.findall(_FIELD, text):
        if name not in TEMPLATE_FIELDS:
            known = ", ".join(f"{{{field}}}" for field in TEMPLATE_FIELDS)
            raise PolicyError(f"unknown field `{{{name}}}`", hint=f"one of {known}")
    if set(re.sub(_FIELD, "", text)) & {"{", "}"}:
        raise PolicyError("a brace without its partner in the template", hint="braces stand around fields only")


def _check_words(rule: Rule) -> None:
    check_id(rule.id[len(origin[0]) :] if isinstance(rule.id, str) and (origin := _ORIGIN(rule.id)) else rule.id)
    for name in ("tool", "when", "says", "says_opened", "exception", "approval"):
        value = getattr(rule, name)
        if not isinstance(value, str) and (value is not None or name == "tool"):
            raise PolicyError(f"`{name}` of rule `{rule.id}` must be text, not `{value!r}`")
    if rule.says_opened is not None:
        check_template(rule.says_opened)
    if rule.exception is not None and rule.exception not in EXCEPTIONS:
        known = ", ".join(EXCEPTIONS)
        raise PolicyError(f"rule `{rule.id}` names the unknown exception `{rule.exception}`", hint=f"one of {known}")
    if rule.approval not in {None, "any", "signed"}:
        raise PolicyError(f"rule `{rule.id}` takes `{rule.approval}` approvals", hint="`signed` or `any`")


def _target(rule: Rule) -> str | tuple[str, ...] | None:
    """Return the `target` of a rule: nothing, one pattern, or several in the order of their text, which has no meaning."""
    target: Any = rule.target
    if target is None:
        return None
    patterns = [target] if isinstance(target, str) else target
    if not isinstance(patterns, (list, tuple)) or not all(isinstance(one, str) for one in patterns) or not patterns:
        raise PolicyError(f"`target` of rule `{rule.id}` must be a text or a list of texts, not `{target!r}`")
    for pattern in patterns:
        target_pattern(pattern)
    several = tuple(sorted(set(patterns)))
    return several if len(several) > 1 else several[0]


def _words(words: Any) -> tuple[str, ...]:
    """Return the words of a command, or none."""
    fits = isinstance(words, (list, tuple)) and all(isinstance(word, str) for word in words)
    if not fits or (words and not words[0]):
        raise PolicyError(
            f"`fixer` must be the words of a command, not `{words!r}`", hint="for instance `[claude, -p]`"
        )
    found: tuple[str, ...] = tuple(_copied(list(words), "fixer"))
    return found


def _autofix(value: Any) -> Autofix | None:
    """Return the value of `autofix`; what few policies have is imported only where one has it."""
    if value is None:
        return None
    from indult.policy.autofix import Autofix

    return value if isinstance(value, Autofix) else Autofix.from_dict(value)


def _check_mappings(rule: Rule, name: str) -> None:
    items = getattr(rule, name)
    if not isinstance(items, (list, tuple)) or not all(isinstance(item, dict) for item in items):
        raise PolicyError(f"`{name}` of rule `{rule.id}` must be a list of mappings")
    object.__setattr__(rule, name, tuple(_copied(item, name) for item in items))


def _member(owner: object, name: str, words: type[StrEnum]) -> None:
    """Turn a word into a member of its closed set, so that values read from JSON compare by identity."""
    value = getattr(owner, name)
    try:
        object.__setattr__(owner, name, words(value))
    except ValueError:
        known = ", ".join(words)
        raise PolicyError(f"unknown {name} `{value}`", hint=f"one of {known}") from None


def _known(data: Mapping[str, Any], names: set[str], what: str) -> None:
    if not isinstance(data, Mapping):
        raise PolicyError(f"a {what} must be a mapping, not `{type(data).__name__}`")
    for key in data:
        if key not in names:
            raise PolicyError(f"unknown key `{key}` in a {what}", hint="one of " + ", ".join(sorted(names)))


def _copied(value: Any, name: str) -> Any:
    try:
        return copy_json(value, name=name)
    except InputError as exc:
        raise PolicyError(exc.message, hint=exc.hint) from exc
