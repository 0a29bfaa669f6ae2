"""Buckets: the rules that one tool and target can meet, compiled into one function on first use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from indult.cel import fuse
from indult.policy.patterns import target_pattern, tool_pattern

if TYPE_CHECKING:
    from indult.cel import Checked, Decide
    from indult.policy.model import Policy, Rule

__all__ = ["Bucket", "BucketCache", "Recent"]

K = TypeVar("K")
V = TypeVar("V")

_SIZE: Final = 512
_LONGEST: Final = 200

Observe = Callable[
    [str, "dict[str, Any]", str, Callable[[], str], Mapping[str, object]],
    "tuple[list[Rule], list[tuple[Rule, str]]]",
]
"""Takes what a `Decide` takes; gives the observed rules that match and, of those in error, the message."""


class Bucket:
    """The rules that an action can meet, by effect, and the functions that tell which of them it meets.

    `rules` holds the enforced deny, ask and allow rules, each in order of id; `observed` those of mode `observe`.
    `reads` maps a rule id to the declared facts that its condition reads, in order. `decide` is the fused function over
    the three groups of `rules`; `decide_observed` gives every observed rule that matches, where as in `decide` a
    condition in error counts as a match of deny and ask and not of allow. Both are compiled when first used.
    `unconditional` tells that none of the rules has a condition, so that whatever meets the bucket gets one answer.
    `rulings` is for whoever judges, to keep what a set of matching rules comes to.
    """

    __slots__ = (
        "_conditions",
        "_policy",
        "decide",
        "decide_observed",
        "observed",
        "reads",
        "rules",
        "rulings",
        "unconditional",
    )

    rules: tuple[tuple[Rule, ...], tuple[Rule, ...], tuple[Rule, ...]]
    observed: tuple[Rule, ...]
    reads: dict[str, tuple[tuple[str, ...], ...]]
    unconditional: bool
    decide: Decide
    decide_observed: Observe
    rulings: Recent[tuple[int, ...], Any]

    def __init__(self, policy: Policy, rules: tuple[Rule, ...]) -> None:
        self._policy = policy
        self.rulings = Recent(_SIZE)
        self._conditions: dict[str, Checked | None] = {rule.id: policy.conditions[rule.id] for rule in rules}
        deny, ask, allow = (
            tuple(rule for rule in rules if rule.enforced and rule.effect == effect)
            for effect in ("deny", "ask", "allow")
        )
        self.unconditional = all(checked is None for checked in self._conditions.values())
        self.rules = (deny, ask, allow)
        self.observed = tuple(rule for rule in rules if not rule.enforced)
        self.reads = {
            name: () if checked is None else tuple(sorted(checked.reads)) for name, checked in self._conditions.items()
        }

    def __getattr__(self, name: str) -> Any:
        """Compile on first use: Python comes here only while the slot is empty."""
        if name == "decide":
            value: Any = self._fuse(self.rules)
        elif name == "decide_observed":
            value = self._observe()
        else:
            raise AttributeError(name)
        setattr(self, name, value)
        return value

    def _fuse(self, groups: tuple[tuple[Rule, ...], ...]) -> Decide:
        return fuse([[self._conditions[rule.id] for rule in group] for group in groups], self._policy.env)

    def _observe(self) -> Observe:
        observed = self.observed
        decide = self._fuse((observed,))

        def decide_observed(
            tool: str, args: dict[str, Any], actor: str, target: Callable[[], str], facts: Mapping[str, object]
        ) -> tuple[list[Rule], list[tuple[Rule, str]]]:
            _, matched, errors = decide(tool, args, actor, target, facts)
            failed = [(observed[at], message) for _, at, message in errors or ()]
            # All observed rules are one, the last, group, in which an error is no match: put right here.
            found = [observed[at] for at in matched] + [rule for rule, _ in failed if rule.effect != "allow"]
            return sorted(found, key=lambda rule: rule.id), failed

        return decide_observed


class Recent(Generic[K, V]):
    """A bounded memory of what was asked for lately: two generations of at most `size` entries.

    A hit in the young one costs one look-up and no book-keeping. When it is full it becomes the old one, and the old one
    is dropped. Threads may lose an entry to each other, never get a wrong one.
    """

    __slots__ = ("_old", "_size", "_young")

    def __init__(self, size: int) -> None:
        self._size = size
        self._young: dict[K, V] = {}
        self._old: dict[K, V] = {}

    def get(self, key: K) -> V | None:
        """Return what was put under the key, or none."""
        value = self._young.get(key)
        if value is None:
            value = self._old.get(key)
            if value is not None:
                self.put(key, value)
        return value

    def put(self, key: K, value: V) -> None:
        """Remember a value, at the price of the entries not asked for the longest."""
        if len(self._young) >= self._size:
            self._old, self._young = self._young, {}
        self._young[key] = value

    def __len__(self) -> int:
        return len(self._young) + len(self._old)


class BucketCache:
    """The buckets of one policy, found by tool name and target.

    Tool names come from agents, so nothing here grows with them: names are remembered up to a number and a length, and
    buckets are shared by all names that meet the same rules.
    """

    __slots__ = ("_buckets", "_patterns", "_policy", "_targets", "_tools")

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._tools: Recent[str, Bucket | tuple[Rule, ...]] = Recent(_SIZE)
        self._buckets: Recent[tuple[str, ...], Bucket] = Recent(_SIZE)
        self._patterns = [(tool_pattern(rule.tool), rule) for rule in policy.rules]
        self._targets = {
            rule.id: [target_pattern(one) for one in rule.targets] for rule in policy.rules if rule.targets
        }

    def get(self, tool: str, target: str | Callable[[], str] | None) -> Bucket:
        """Return the bucket of a tool and target; see `Policy.bucket`."""
        found = self._tools.get(tool)
        if found is None:
            found = self._find(tool)
            if len(tool) <= _LONGEST:
                self._tools.put(tool, found)
        if isinstance(found, Bucket):
            return found
        name = target() if callable(target) else target
        return self._bucket(tuple(rule for rule in found if self.meets(rule, name)))

    def _find(self, tool: str) -> Bucket | tuple[Rule, ...]:
        """Return the one bucket of a tool, or its rules where the target has a say."""
        rules = tuple(rule for matches, rule in self._patterns if matches(tool))
        return rules if any(rule.target is not None for rule in rules) else self._bucket(rules)

    def _bucket(self, rules: tuple[Rule, ...]) -> Bucket:
        key = tuple(rule.id for rule in rules)
        bucket = self._buckets.get(key)
        if bucket is None:
            bucket = Bucket(self._policy, rules)
            self._buckets.put(key, bucket)
        return bucket

    def meets(self, rule: Rule, target: str | None) -> bool:
        """Tell whether a target can meet a rule; one that is not known meets what denies or asks."""
        if rule.target is None:
            return True
        cautious = rule.effect != "allow"
        if target is None:
            return cautious
        kind, _, name = target.partition(":")
        return any(kind in kinds and matches(name, cautious) for kinds, matches in self._targets[rule.id])
