"""Buckets: the rules that one tool and target can meet, compiled into one function on first use."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from indult.cel import fuse
from indult.characters import fold
from indult.policy.dispatch import CommandDispatch, Dispatch
from indult.policy.patterns import FILE_KINDS, KINDS, Matcher, is_absolute, overlaps, target_pattern, tool_pattern

if TYPE_CHECKING:
    from indult.cel import Checked, Decide
    from indult.policy.model import Policy, Rule

__all__ = ["Bucket", "BucketCache", "Recent"]

K = TypeVar("K")
V = TypeVar("V")

_SIZE: Final = 512
_LONGEST: Final = 200

_WRITES: Final = ("write", "edit")
"""The kinds of an ordinary file that gets new content."""

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
        self._conditions: dict[str, Checked | None] = {rule.id: policy.condition(rule) for rule in rules}
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

    __slots__ = (
        "_buckets",
        "_cautious",
        "_guard",
        "_kinds",
        "_mights",
        "_plain",
        "_policy",
        "_targets",
        "_tool_patterns",
        "_tools",
    )

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._tools: Recent[str, Bucket | int] = Recent(_SIZE)
        self._buckets: Recent[int, Bucket] = Recent(_SIZE)
        self._kinds: dict[tuple[str, bool], Dispatch | CommandDispatch] = {}
        self._guard: Dispatch | None = None
        self._mights: Recent[str, list[tuple[Rule, Matcher]]] = Recent(_SIZE)
        self._tool_patterns = [tool_pattern(rule.tool) for rule in policy.rules]
        # Sets of rules are sums of bits, one for each place in `policy.rules`.
        self._plain = _bits(rule.target is None for rule in policy.rules)
        self._cautious = _bits(rule.target is not None and rule.effect != "allow" for rule in policy.rules)
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
        return self._bucket(found & (self._plain | self._met(target() if callable(target) else target)))

    def _find(self, tool: str) -> Bucket | int:
        """Return the one bucket of a tool, or its rules where the target has a say."""
        rules = _bits(matches(tool) for matches in self._tool_patterns)
        return self._bucket(rules) if rules == rules & self._plain else rules

    def _bucket(self, rules: int) -> Bucket:
        bucket = self._buckets.get(rules)
        if bucket is None:
            bucket = Bucket(self._policy, tuple(rule for at, rule in enumerate(self._policy.rules) if rules >> at & 1))
            self._buckets.put(rules, bucket)
        return bucket

    def _met(self, target: str | None) -> int:
        """Return the rules with a target that this one can meet."""
        if target is None:
            return self._cautious
        kind, _, name = target.partition(":")
        outside = kind in FILE_KINDS and is_absolute(name)
        dispatch = self._kinds.get((kind, outside))
        if dispatch is None:
            if kind not in KINDS:
                return 0
            dispatch = self._kinds[kind, outside] = self._dispatch(kind, outside=outside)
        return dispatch.meets(name)

    def _dispatch(self, kind: str, *, outside: bool) -> Dispatch | CommandDispatch:
        """Return the patterns of all rules for one kind; `outside`, for files that do not lie below the root."""
        if kind == "command":
            patterns = self._patterns(kind)
            return CommandDispatch((bit, one.partition(":")[2], _cautious(rule, one)) for bit, rule, one in patterns)
        globs = [(bit, rule, one.partition(":")[2]) for bit, rule, one in self._patterns(kind)]
        # What is allowed by a pattern without a root lies below the root.
        return Dispatch((bit, one) for bit, rule, one in globs if not (outside and _allows_inside(rule, one)))

    def might(self, tool: str, target: str) -> list[Rule]:
        """Return the rules that deny or ask and that could be about a name that a glob stands for."""
        found = self._mights.get(target)
        if found is None:
            found = self._might(target)
            if len(target) <= _LONGEST:
                self._mights.put(target, found)
        return [rule for rule, matches in found if matches(tool)]

    def _might(self, target: str) -> list[tuple[Rule, Matcher]]:
        kind, _, name = target.partition(":")
        return [
            (rule, matches)
            for at, (rule, matches) in enumerate(zip(self._policy.rules, self._tool_patterns, strict=True))
            if self._cautious >> at & 1 and rule.enforced and self._overlaps(rule, kind, name)
        ]

    def _overlaps(self, rule: Rule, kind: str, name: str) -> bool:
        patterns = zip(rule.targets, self._targets[rule.id], strict=True)
        return any(kind in kinds and overlaps(one.partition(":")[2], name) for one, (kinds, _) in patterns)

    def _patterns(self, *kinds: str) -> Iterator[tuple[int, Rule, str]]:
        """Yield the patterns that are about one of these kinds, each with the bit of its rule."""
        for at, rule in enumerate(self._policy.rules):
            for pattern in rule.targets:
                if not target_pattern(pattern)[0].isdisjoint(kinds):
                    yield 1 << at, rule, pattern

    def guards(self, path: str) -> bool:
        """Tell whether a path could be taken for another one that a rule guards; see `Policy.guards`."""
        if self._guard is None:
            self._guard = Dispatch(
                (bit, _folded(pattern.partition(":")[2]))
                for bit, rule, pattern in self._patterns(*_WRITES)
                if rule.enforced and rule.effect != "allow"
            )
        met = self._guard.meets(fold(path))
        for kind in _WRITES:
            met = met and met & ~self._met(f"{kind}:{path}")
        return met != 0

    def meets(self, rule: Rule, target: str | None) -> bool:
        """Tell whether a target can meet a rule; one that is not known meets what denies or asks."""
        if rule.target is None:
            return True
        cautious = rule.effect != "allow"
        if target is None:
            return cautious
        kind, _, name = target.partition(":")
        return any(kind in kinds and matches(name, cautious) for kinds, matches in self._targets[rule.id])


def _bits(chosen: Iterable[bool]) -> int:
    return sum(1 << at for at, yes in enumerate(chosen) if yes)


def _cautious(rule: Rule, pattern: str) -> Matcher:
    """Return the matcher of a pattern that counts what is not known as the effect of its rule demands."""
    _, matches = target_pattern(pattern)
    cautious = rule.effect != "allow"
    return lambda name: matches(name, cautious)


def _allows_inside(rule: Rule, glob: str) -> bool:
    return rule.effect == "allow" and not is_absolute(glob)


def _folded(glob: str) -> str:
    """Return a glob as it is for names that are folded; stars that come together by it stop at nothing."""
    return re.sub(r"\*{3,}", "**", fold(glob))
