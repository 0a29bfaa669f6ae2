"""The one idea: a boundary has two readers, a gate that reads data and a model that reads prose, and one source.

`Boundary` holds a policy and the live grants of one subject. `judge` and `brief` are its only two projections, and both
carry its digest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from indult.actions import Action
from indult.canonical import canonical, digest_text
from indult.critiques import Critique, fact
from indult.decompose import Decompose, Part, decompose
from indult.judgements import ENGINE, Judgement, Verdict
from indult.policy import Bucket, Effect, Mode, Policy, Rule
from indult.policy.patterns import tool_pattern

__all__ = ["Boundary", "Brief", "Tried"]

_VERDICTS: Final = (Verdict.DENY, Verdict.ASK_USER, Verdict.APPROVE)
"""Verdict of each group of a bucket, strictest first."""

_ALLOWS: Final = 2
"""The group of the rules that allow."""

_WORDS: Final = ("denied by", "needs approval under", "allowed by")
"""How the reason of each group begins."""

_ENFORCE: Final = Mode.ENFORCE

_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief:
    """What a proposer is told: one text, and the digest of the boundary that it states.

    The other fields are the parts of that text for makers that do not read prose: `actor` whose turn it is, `task`,
    `injected` (the reason of the actor's latest critique) and `steer` (the boldest rung that is still advised).
    """

    text: str
    digest: str
    actor: str = "agent"
    task: str = ""
    injected: str = ""
    steer: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """One rule held against one action: whether it matched, and why."""

    rule: str
    effect: Effect
    matched: bool
    why: str

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"rule": self.rule, "effect": str(self.effect), "matched": self.matched, "why": self.why}


@dataclass(frozen=True, slots=True)
class _Ruling:
    """What a set of rules comes to whenever it is the one that decides; made once per set and bucket."""

    group: int
    rules: tuple[Rule, ...]
    ids: tuple[str, ...]
    reason: str
    paths: tuple[tuple[str, tuple[str, ...]], ...]
    ladder: tuple[dict[str, Any], ...]


_Answer = tuple[_Ruling, tuple[str, ...], bool, Mapping[str, Any], tuple[str, ...]]
"""What the rules say of one part: the ruling, all errors, whether one of them is of a rule that decided, the facts that
were read, and the observing rules that matched."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Boundary:
    """A policy and the live grants of one subject.

    `grants` is empty until approvals exist; `as_of` is the ledger position of the last approval that was folded in.
    """

    policy: Policy
    subject: str = ""
    grants: tuple[Any, ...] = ()
    as_of: int = 0
    decompose: Decompose = decompose
    _digest: str = field(default="", init=False, repr=False, compare=False)
    _text: str = field(default="", init=False, repr=False, compare=False)

    @property
    def digest(self) -> str:
        """Return `sha256:` over the resolved policy, the subject and the live grants."""
        if not self._digest:
            head = canonical({"as_of": self.as_of, "grants": []})[:-1]
            tail = canonical({"schema": 1, "subject": self.subject})[1:]
            text = f'{head},"policy":{self.policy.canonical_text},{tail}'
            object.__setattr__(self, "_digest", digest_text(text))
        return self._digest

    def judge(self, action: Action, facts: Mapping[str, Any], *, briefed: str | None = None) -> Judgement:
        """Judge one action; nothing is recorded and nothing opens.

        Deny beats ask beats allow, and the strictest part decides. A condition in error counts as matched for deny and
        ask and as not matched for allow, so whatever goes wrong is never an approval.
        """
        parts = self.decompose(action)
        if parts:
            answer = _strictest([self._answer(part.tool, part.target, action, facts) for part in parts])
        else:
            answer = self._answer(action.tool, action.target, action, facts)
        ruling, errors, failed, read, observed = answer
        verdict, instead, evaluations = _VERDICTS[ruling.group], None, 1
        if ruling.ladder and not parts and not failed:
            instead, evaluations = self._ladder(action, facts, ruling.ladder)
            if instead is not None:
                verdict = Verdict.DOWNGRADE
        reason = ruling.reason if not errors else f"{ruling.reason} (in error: {'; '.join(errors)})"
        # In order of the fields: naming them would cost half as much again as the whole.
        return Judgement(
            verdict, ruling.ids, reason, read, None, None, (), instead, errors, self._digest or self.digest, briefed,
            ENGINE, evaluations, self.policy.mode is _ENFORCE, observed,
        )  # fmt: skip

    def brief(
        self,
        task: str = "",
        critique: Critique | None = None,
        *,
        actor: str = "agent",
        steer: str | None = None,
    ) -> Brief:
        """Render what a proposer may read: the caller's task apart, the boundary, and the latest critique."""
        injected = critique.reason if critique is not None else ""
        blocks = []
        if task:
            blocks.append("Task:\n" + _quote(task))
        blocks.append(self.text())
        if injected:
            blocks.append("Last critique:\n" + _quote(injected))
        if steer is not None:
            blocks.append(f"Advised now: `{steer}` or gentler.")
        return Brief(
            text="\n\n".join(blocks) + "\n", digest=self.digest, actor=actor, task=task, injected=injected, steer=steer
        )

    def text(self) -> str:
        """Render the boundary alone: what is denied, what needs approval, what is allowed, and what else holds."""
        if not self._text:
            object.__setattr__(self, "_text", self._render())
        return self._text

    def _render(self) -> str:
        headings = (
            (Effect.DENY, "Denied:"),
            (Effect.ASK, "Needs a person's approval first:"),
            (Effect.ALLOW, "Allowed:"),
        )
        blocks = []
        for effect, heading in headings:
            rules = sorted(self._told(effect), key=lambda rule: rule.id)
            if rules:
                blocks.append("\n".join([heading, *(f"- {_says(rule)}" for rule in rules)]))
        rest = "is denied" if self.policy.default is Effect.DENY else "needs a person's approval first"
        blocks.append(f"Anything else {rest}.")
        return "\n\n".join(blocks)

    def explain(self, action: Action, facts: Mapping[str, Any]) -> list[Tried]:
        """Return what every rule of the policy says of an action, and why; for people, not for the judging path."""
        parts = self.decompose(action) or (Part(action.tool, action.target),)
        return [self._try(rule, part, action, facts) for part in parts for rule in self.policy.rules]

    def _try(self, rule: Rule, part: Part, action: Action, facts: Mapping[str, Any]) -> Tried:
        mode = "" if rule.mode is Mode.ENFORCE else " (observing only)"
        if not tool_pattern(rule.tool)(part.tool):
            return Tried(
                rule=rule.id, effect=rule.effect, matched=False, why=f"`{part.tool}` is not `{rule.tool}`{mode}"
            )
        bucket = self.policy.bucket(part.tool, part.target)
        if all(rule is not other for group in (*bucket.rules, bucket.observed) for other in group):
            return Tried(rule=rule.id, effect=rule.effect, matched=False, why=f"target is not `{rule.target}`{mode}")
        if rule.when is None:
            return Tried(rule=rule.id, effect=rule.effect, matched=True, why=f"matches every `{rule.tool}`{mode}")
        return self._try_condition(rule, part, action, facts, mode)

    def _try_condition(self, rule: Rule, part: Part, action: Action, facts: Mapping[str, Any], mode: str) -> Tried:
        from indult.cel import fuse

        one = fuse([[self.policy.conditions[rule.id]], []], self.policy.env)
        group, _, errors = one(part.tool, action.args, action.actor, part.target, facts)
        if errors:
            counted = rule.effect is not Effect.ALLOW
            why = f"`{rule.when}` is in error: {errors[0][2]}; that counts as {'' if counted else 'not '}matched{mode}"
            return Tried(rule=rule.id, effect=rule.effect, matched=counted, why=why)
        why = f"`{rule.when}` is {'true' if group == 0 else 'false'}{mode}"
        return Tried(rule=rule.id, effect=rule.effect, matched=group == 0, why=why)

    def _told(self, effect: Effect) -> list[Rule]:
        return [rule for rule in self.policy.rules if rule.effect is effect and rule.mode is Mode.ENFORCE]

    def _answer(self, tool: str, target: Callable[[], str], action: Action, facts: Mapping[str, Any]) -> _Answer:
        """Ask every rule that can match one part."""
        bucket = self.policy.bucket(tool, target)
        group, matched, errors = bucket.decide(tool, action.args, action.actor, target, facts)
        key = (group, *matched)
        ruling = bucket.rulings.get(key)
        if ruling is None:
            ruling = self._ruling(bucket, group, matched)
            bucket.rulings.put(key, ruling)
        observed = _observe(bucket, tool, target, action, facts) if bucket.observed else ()
        if errors:
            found = {name: fact(facts, name) for name, _ in ruling.paths}
            failed = any(at == group for at, _, _ in errors)
            return ruling, _messages(bucket, errors), failed, found, observed
        read = {name: _at(facts, path) for name, path in ruling.paths} if ruling.paths else _NOTHING
        return ruling, (), False, read, observed

    def _ruling(self, bucket: Bucket, group: int, matched: list[int]) -> _Ruling:
        """Return what these rules come to; where none matched, the default."""
        if group == len(_VERDICTS):
            by_default = 0 if self.policy.default is Effect.DENY else 1
            return _ruling(by_default, (self.policy.default_rule,), {})
        return _ruling(group, tuple(bucket.rules[group][index] for index in matched), bucket.reads)

    def _ladder(
        self, action: Action, facts: Mapping[str, Any], ladder: tuple[dict[str, Any], ...]
    ) -> tuple[Action | None, int]:
        """Try the rungs of a denied action; return the first that is approved, and how often rules were evaluated.

        Rungs are judged without grants and their own ladders are not followed.
        """
        evaluations = 1
        for rung in ladder:
            lowered = action.with_args(rung)
            evaluations += 1
            ruling, *_ = self._answer(lowered.tool, lowered.target, lowered, facts)
            if not self.decompose(lowered) and ruling.group == _ALLOWS:
                return lowered, evaluations
        return None, evaluations


def _ruling(group: int, rules: tuple[Rule, ...], reads: Mapping[str, tuple[tuple[str, ...], ...]]) -> _Ruling:
    names = ", ".join(f"`{rule.id}`" for rule in rules)
    said = " ".join(rule.says for rule in rules if rule.says and group < _ALLOWS)
    paths = {".".join(path): path for rule in rules for path in reads.get(rule.id, ())}
    ids = tuple(rule.id for rule in rules)
    reason = f"{_WORDS[group]} {names}{f': {said}' if said else ''}"
    # A way down exists only where every deny offers one, and then the first by rule id is taken.
    ladder = min(rules, key=lambda rule: rule.id).downgrade if all(rule.downgrade for rule in rules) else ()
    return _Ruling(group, rules, ids, reason, tuple(paths.items()), ladder)


def _strictest(answers: list[_Answer]) -> _Answer:
    """Merge the answers of several parts into that of the strictest ones."""
    group = min(ruling.group for ruling, *_ in answers)
    deciding = [answer for answer in answers if answer[0].group == group]
    rules = {rule.id: rule for ruling, *_ in deciding for rule in ruling.rules}
    return (
        _ruling(group, tuple(rules[name] for name in sorted(rules)), {}),
        tuple(dict.fromkeys(text for _, errors, *_ in answers for text in errors)),
        any(failed for _, _, failed, *_ in deciding),
        {path: value for *_, read, _ in deciding for path, value in read.items()},
        tuple(dict.fromkeys(name for *_, observed in answers for name in observed)),
    )


def _observe(
    bucket: Bucket, tool: str, target: Callable[[], str], action: Action, facts: Mapping[str, Any]
) -> tuple[str, ...]:
    """Return the ids of the observing rules that match; they decide nothing."""
    matched, _ = bucket.decide_observed(tool, action.args, action.actor, target, facts)
    return tuple(rule.id for rule in matched)


def _at(facts: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    """Return a fact that a condition has just read."""
    value: Any = facts
    for name in path:
        value = value[name]
    return value


def _messages(bucket: Bucket, errors: list[tuple[int, int, str]]) -> tuple[str, ...]:
    return tuple(f"{bucket.rules[group][index].id}: {text}" for group, index, text in errors)


def _says(rule: Rule) -> str:
    if rule.says is not None:
        return rule.says.strip()
    narrowed = f" on `{rule.target}`" if rule.target else ""
    return f"`{rule.tool}`{narrowed}{f' when `{rule.when}`' if rule.when else ''}."


def _quote(text: str) -> str:
    return "\n".join(f"> {line}" if line else ">" for line in text.splitlines())
