"""The one idea: a boundary has two readers, a gate that reads data and a model that reads prose, and one source.

`Boundary` holds a policy and the live grants of one subject. `judge` and `brief` are its only two projections, and both
carry its digest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from indult.actions import Action
from indult.canonical import canonical, digest_text
from indult.decompose import Decompose, Part, decompose
from indult.judgements import ENGINE, Judgement, Verdict
from indult.policy import Bucket, Effect, Mode, Policy, Rule
from indult.policy.patterns import with_nothing_unknown
from indult.prose import render

if TYPE_CHECKING:
    from indult.approvals import Grant
    from indult.critiques import Critique
    from indult.scopes import Scope

__all__ = ["Boundary", "Brief", "Fault"]

_VERDICTS: Final = (Verdict.DENY, Verdict.ASK_USER, Verdict.APPROVE)
"""Verdict of each group of a bucket, strictest first."""

_ASKS: Final = 1
_ALLOWS: Final = 2
"""The groups of the rules that ask and that allow."""

_EFFECTS: Final = (Effect.DENY, Effect.ASK, Effect.ALLOW)
"""Effect of each group."""

_WORDS: Final = ("denied by", "needs approval under", "allowed by")
"""How the reason of each group begins."""

_ENFORCE: Final = Mode.ENFORCE

_MOST_ERROR: Final = 300
"""How much is told of one error: it may quote an argument, and a record that grows with it could not be kept."""

_MOST_ERRORS: Final = 100
"""How many errors are told of one action."""

_MOST_FOUND: Final = 3
"""How many of the files that a search must not read are named."""

_UNTOLD: Final = (
    "what it touches cannot be told beforehand: write the names out, without variables, substitutions or stars"
)
"""Why a part is asked about whose target names no file exactly, and what can be told; no approval is for such a part."""

_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


class Brief(NamedTuple):
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


class Fault(NamedTuple):
    """One part of an action that may not go ahead: its exact target, where it comes from, and the rules that stop it."""

    target: str
    origin: str
    verdict: Verdict
    rules: tuple[str, ...]


class _Ruling(NamedTuple):
    """What a set of rules comes to whenever it is the one that decides; made once per set and bucket."""

    group: int
    rules: tuple[Rule, ...]
    ids: tuple[str, ...]
    reason: str
    paths: tuple[tuple[str, tuple[str, ...]], ...]
    ladder: tuple[dict[str, Any], ...]
    why: str = ""
    """What is special about the part, behind the reason."""


_FREE: Final = _Ruling(_ALLOWS, (), (), "nothing in it needs a rule", (), ())
"""What holds for a part that needs no rule to allow it, where none denies or asks."""

_Answer = tuple[_Ruling, tuple[str, ...], bool, Mapping[str, Any], tuple[str, ...]]
"""What the rules say of one part: the ruling, all errors, whether one of them is of a rule that decided, the facts that
were read, and the observing rules that matched."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Boundary:
    """A policy and the live grants of one subject; grants of another subject are left out, whoever passes them."""

    policy: Policy
    subject: str = ""
    grants: tuple[Grant, ...] = ()
    decompose: Decompose = decompose
    _digest: str = field(default="", init=False, repr=False, compare=False)
    _text: str = field(default="", init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Keep the grants of this subject, in the order of their ids."""
        if self.grants:
            own = (grant for grant in self.grants if grant.scope.subject == self.subject and grant.uses_left > 0)
            object.__setattr__(self, "grants", tuple(sorted(own, key=lambda grant: grant.id)))

    @property
    def as_of(self) -> int:
        """Return the ledger position of the last decision that opened a live grant, 0 without any."""
        return max((grant.at for grant in self.grants), default=0)

    @property
    def opened(self) -> frozenset[str]:
        """Return the targets that live grants open."""
        return frozenset(target for grant in self.grants for target in grant.scope.targets)

    @property
    def digest(self) -> str:
        """Return `sha256:` over the resolved policy, the subject and the live grants, neither uses left nor the time."""
        if not self._digest:
            grants = [[grant.id, grant.scope.digest] for grant in self.grants]
            head = canonical({"as_of": self.as_of, "grants": grants})[:-1]
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
        used: list[tuple[str, tuple[str, ...]]] = []
        if parts:
            answer = _strictest(self._answers(parts, action, facts, used))
        else:
            answer = self._answer(action.tool, action.target, action, facts)
            if self.grants:
                answer = self._granted(answer, Part(action.tool, action.target), used)
        ruling, errors, failed, read, observed = answer
        if len(errors) > _MOST_ERRORS:
            errors = (*errors[:_MOST_ERRORS], f"and {len(errors) - _MOST_ERRORS} more")
        verdict, instead, evaluations = _VERDICTS[ruling.group], None, 1
        if ruling.ladder and not parts and not failed:
            instead, evaluations = self._ladder(action, facts, ruling.ladder)
            if instead is not None:
                verdict = Verdict.DOWNGRADE
        reason = ruling.reason if not errors else f"{ruling.reason} (in error: {'; '.join(errors)})"
        # In order of the fields: naming them would cost half as much again as the whole.
        return Judgement(
            verdict, ruling.ids, reason, read, *_relied(used, verdict), instead, errors, self._digest or self.digest, briefed,
            ENGINE, evaluations, self.policy.mode is _ENFORCE, observed,
        )  # fmt: skip

    def at_fault(self, action: Action, facts: Mapping[str, Any]) -> tuple[Fault, ...]:
        """Return every part of an action that is not allowed, in the order of the parts; none of an approved action."""
        parts = self.decompose(action) or (Part(action.tool, action.target),)
        answers = self._answers(parts, action, facts, [])
        return tuple(
            Fault(part.target(), part.origin, _VERDICTS[ruling.group], ruling.ids)
            for part, (ruling, *_) in zip(parts, answers, strict=True)
            if ruling.group != _ALLOWS
        )

    def brief(
        self,
        task: str = "",
        critique: Critique | None = None,
        *,
        actor: str = "agent",
        steer: str | None = None,
        guidance: str = "",
    ) -> Brief:
        """Render what a proposer may read: the caller's task apart, the boundary, the latest critique.

        `guidance` is what a person answered to the actor's last question, quoted like the task.
        """
        injected = critique.reason if critique is not None and not critique.void(self.opened) else ""
        blocks = []
        if task:
            blocks.append("Task:\n" + _quote(task))
        blocks.append(self.text())
        if injected:
            blocks.append("Last critique:\n" + _quote(injected))
        if guidance:
            blocks.append("A person answered:\n" + _quote(guidance))
        if steer is not None:
            blocks.append(f"Advised now: `{steer}` or gentler.")
        return Brief(
            text="\n\n".join(blocks) + "\n", digest=self.digest, actor=actor, task=task, injected=injected, steer=steer
        )

    def text(self) -> str:
        """Render the boundary alone: what is denied, what needs approval, what is allowed, and what else holds."""
        if not self._text:
            object.__setattr__(self, "_text", render(self.policy, self.grants))
        return self._text

    def opens(
        self, scope: Scope, action: Action | None = None, facts: Mapping[str, Any] | None = None
    ) -> tuple[Scope, list[str]]:
        """Return the scope with the ask rules that it would open, and why approving it would not open all of it.

        With no reasons it is effective: each of its targets is asked about, and by nothing but rules that an approval
        can open. Targets that are parts of `action` are judged with its arguments, and of a whole all parts that are
        not allowed anyway; of any other only the names are known, so a rule with a condition counts as matching.
        """
        found = self._rulings(action, facts or {}) if action is not None else {}
        asking: set[str] = set()
        reasons = []
        for target in scope.targets:
            for ruling in found.get(target) or [self._by_name(target)]:
                if ruling.group != _ASKS:
                    reasons.append(f"`{target}` is {ruling.reason}")
                asking.update(ruling.ids)
        opened = scope.under(asking)
        if not reasons and action is not None:
            judgement = replace(self, grants=(*self.grants, _trial(opened))).judge(action, facts or {})
            if judgement.verdict is not Verdict.APPROVE:
                reasons.append(judgement.reason)
        return opened, reasons

    def _rulings(self, action: Action, facts: Mapping[str, Any]) -> dict[str, list[_Ruling]]:
        """Return what the rules say of each part of an action, by target, and by the whole of what in it is not allowed."""
        parts = self.decompose(action) or (Part(action.tool, action.target),)
        found: dict[str, list[_Ruling]] = {}
        wholes: dict[str, dict[int, _Ruling]] = {}
        for part, (ruling, *_) in zip(parts, self._answers(parts, action, facts, None), strict=True):
            found.setdefault(part.target(), []).append(ruling)
            if part.within is not None and ruling.group != _ALLOWS:
                wholes.setdefault(part.within, {})[id(ruling)] = ruling
        return {**found, **{whole: list(rulings.values()) for whole, rulings in wholes.items()}}

    def _by_name(self, target: str) -> _Ruling:
        """Return what the rules say of a target of which only the name is known."""
        groups: tuple[list[Rule], list[Rule], list[Rule]] = ([], [], [])
        for rule in self.policy.rules:
            if rule.mode is Mode.ENFORCE and rule.target is not None and self.policy.meets(rule, target):
                groups[_EFFECTS.index(rule.effect)].append(rule)
        group = next((place for place, rules in enumerate(groups) if rules), len(groups))
        return self._decided(group, tuple(groups[group]) if group < len(groups) else (), {})

    def _answers(
        self,
        parts: tuple[Part, ...],
        action: Action,
        facts: Mapping[str, Any],
        used: list[tuple[str, tuple[str, ...]]] | None,
    ) -> list[_Answer]:
        """Return the answer to each part, with what live grants open unless `used` is none.

        Parts that meet the same rules get the same answer where no condition has a say in it, so it is asked for once:
        a branch may have thousands of them.
        """
        known: dict[int, _Answer] = {}
        answers = []
        for part in parts:
            if part.free:
                answer: _Answer = (_FREE, (), False, _NOTHING, ())
            else:
                bucket = self.policy.bucket(part.tool, part.target)
                found = known.get(id(bucket))
                answer = found or self._met(bucket, part.tool, part.target, action, facts)
                if bucket.unconditional:
                    known[id(bucket)] = answer
                if answer[0].group < _ASKS:
                    answer = self._sure(answer, part.target())
            if part.free or part.also:
                answer = self._also(answer, part, action, facts)
            if part.asks:
                answer = self._asked(answer, part.asks)
            if used is not None and self.grants:
                answer = self._granted(answer, part, used)
            if part.maybe:
                answer = self._unsure(answer, part)
            if part.finds is not None and answer[0].group == _ALLOWS:
                answer = self._come_upon(answer, part, part.finds(), action, facts)
            answers.append(answer)
        return answers

    def _also(self, answer: _Answer, part: Part, action: Action, facts: Mapping[str, Any]) -> _Answer:
        """Return the answer with what rules that deny or ask say of the other names of a part.

        Neither the default nor what allows another name says anything of this one.
        """
        answers = [answer]
        for name in (part.target(), *part.also) if part.free else part.also:
            found = self._answer(part.tool, lambda name=name: name, action, facts)  # type: ignore[misc]
            found = self._sure(found, name)
            if found[0].group < _ALLOWS and found[0].rules != (self.policy.default_rule,):
                answers.append(found)
        return _strictest(answers) if len(answers) > 1 else answer

    def _sure(self, answer: _Answer, name: str) -> _Answer:
        """Return the answer to a command with a denial that hangs on a word nobody knows turned into an ask."""
        kind, _, rest = name.partition(":")
        known = with_nothing_unknown(rest) if kind == "command" and answer[0].group < _ASKS else None
        if known is None:
            return answer
        sure = tuple(rule for rule in answer[0].rules if self.policy.meets(rule, f"command:{known}"))
        if sure:
            return (_ruling(0, sure, {}), *answer[1:])
        return (_ruling(_ASKS, answer[0].rules, {}, "a word of it is not known"), *answer[1:])

    def _asked(self, answer: _Answer, why: str) -> _Answer:
        """Return the answer to a part that needs approval whatever allows it."""
        if answer[0].group != _ALLOWS:
            return answer
        return (_ruling(_ASKS, (self.policy.default_rule,), {}, why), *answer[1:])

    def _unsure(self, answer: _Answer, part: Part) -> _Answer:
        """Return the answer to a part that could turn out to be what a rule denies or asks about."""
        rules = {rule.id: rule for name in part.maybe for rule in self.policy.might(part.tool, name)}
        if not rules or answer[0].group < _ASKS:
            return answer
        unsure = _ruling(_ASKS, tuple(rules.values()), {}, _UNTOLD)
        return _strictest([answer, (unsure, (), False, _NOTHING, ())])

    def _come_upon(
        self, answer: _Answer, part: Part, names: tuple[str, ...] | None, action: Action, facts: Mapping[str, Any]
    ) -> _Answer:
        """Return the answer to a part that reads all below a folder, where it comes upon what a rule denies to read."""
        if names is None:
            return (
                _ruling(_ASKS, (self.policy.default_rule,), {}, "it reads too many files to be looked at"),
                *answer[1:],
            )
        denied: dict[str, tuple[Rule, ...]] = {}
        for target in names:
            if not self.policy.bucket(part.tool, target).rules[0]:
                continue
            ruling = self._answer(part.tool, target.__str__, action, facts)[0]
            if ruling.group < _ASKS:
                denied[target] = ruling.rules
            if len(denied) >= _MOST_FOUND:
                break
        if not denied:
            return answer
        shown = ", ".join(f"`{_cut(target.partition(':')[2])}`" for target in denied)
        does = "read" if all(target.startswith("read:") for target in denied) else "change"
        why = f"it would {does} {shown}: leave such files out, or name the folders that are meant"
        rules = {rule.id: rule for found in denied.values() for rule in found}
        return _strictest([answer, (_ruling(_ASKS, tuple(rules.values()), {}, why), (), False, _NOTHING, ())])

    def _granted(self, answer: _Answer, part: Part, used: list[tuple[str, tuple[str, ...]]]) -> _Answer:
        """Return the answer with an ask turned into an approval where live grants cover the part under every rule.

        What was relied on is added to `used`: the target, and the ids of the grants.
        """
        ruling = answer[0]
        if ruling.group != _ASKS:
            return answer
        name = part.target()
        names = (name,) if part.within is None else (name, part.within)
        grants = [
            next((grant.id for grant in self.grants if any(grant.scope.covers(one, rule) for one in names)), None)
            for rule in ruling.ids
        ]
        relied = tuple(sorted({grant for grant in grants if grant is not None}))
        if None in grants:
            return answer
        used.append((name, relied))
        by = ", ".join(f"`{grant}`" for grant in relied)
        opened = ruling._replace(group=_ALLOWS, reason=f"opened by grant {by} under {_names(ruling.rules)}")
        return (opened, *answer[1:])

    def _answer(self, tool: str, target: Callable[[], str], action: Action, facts: Mapping[str, Any]) -> _Answer:
        """Ask every rule that can match one part."""
        return self._met(self.policy.bucket(tool, target), tool, target, action, facts)

    def _met(
        self, bucket: Bucket, tool: str, target: Callable[[], str], action: Action, facts: Mapping[str, Any]
    ) -> _Answer:
        """Ask the rules of a bucket."""
        group, matched, errors = bucket.decide(tool, action.args, action.actor, target, facts)
        key = (group, *matched)
        ruling = bucket.rulings.get(key)
        if ruling is None:
            rules = tuple(bucket.rules[group][index] for index in matched)
            ruling = self._decided(group, rules, bucket.reads)
            bucket.rulings.put(key, ruling)
        observed = _observe(bucket, tool, target, action, facts) if bucket.observed else ()
        if errors:
            from indult.critiques import fact

            found = {name: fact(facts, name) for name, _ in ruling.paths}
            failed = any(at == group for at, _, _ in errors)
            return ruling, _messages(bucket, errors), failed, found, observed
        read = {name: _at(facts, path) for name, path in ruling.paths} if ruling.paths else _NOTHING
        return ruling, (), False, read, observed

    def _decided(
        self, group: int, rules: tuple[Rule, ...], reads: Mapping[str, tuple[tuple[str, ...], ...]]
    ) -> _Ruling:
        """Return what these rules come to; where none matched, the default."""
        if group < len(_VERDICTS):
            return _ruling(group, rules, reads)
        return _ruling(0 if self.policy.default is Effect.DENY else _ASKS, (self.policy.default_rule,), {})

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


def _ruling(
    group: int, rules: tuple[Rule, ...], reads: Mapping[str, tuple[tuple[str, ...], ...]], why: str = ""
) -> _Ruling:
    said = " ".join(rule.says for rule in rules if rule.says and group < _ALLOWS)
    paths = {".".join(path): path for rule in rules for path in reads.get(rule.id, ())}
    ids = tuple(rule.id for rule in rules)
    reason = f"{_WORDS[group]} {_names(rules)}{f': {said}' if said else ''}{f' ({why})' if why else ''}"
    # A way down exists only where every deny offers one, and then the first by rule id is taken.
    ladder = min(rules, key=lambda rule: rule.id).downgrade if rules and all(rule.downgrade for rule in rules) else ()
    return _Ruling(group, rules, ids, reason, tuple(paths.items()), ladder, why)


def _strictest(answers: list[_Answer]) -> _Answer:
    """Merge the answers of several parts into that of the strictest ones."""
    answers = list({id(answer): answer for answer in answers}.values())
    group = min(ruling.group for ruling, *_ in answers)
    deciding = [answer for answer in answers if answer[0].group == group]
    rules = {rule.id: rule for ruling, *_ in deciding for rule in ruling.rules}
    why = "; ".join(dict.fromkeys(ruling.why for ruling, *_ in deciding if ruling.why))
    return (
        _ruling(group, tuple(rules[name] for name in sorted(rules)), {}, why),
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
    return tuple(f"{bucket.rules[group][index].id}: {_cut(text)}" for group, index, text in errors)


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_ERROR else text[: _MOST_ERROR - 1] + "…"


def _quote(text: str) -> str:
    return "\n".join(f"> {line}" if line else ">" for line in text.splitlines())


def _names(rules: tuple[Rule, ...]) -> str:
    return ", ".join(f"`{rule.id}`" for rule in rules)


def _relied(
    used: list[tuple[str, tuple[str, ...]]], verdict: Verdict
) -> tuple[tuple[str, ...], str | None, tuple[str, ...]]:
    """Return grants, request and covered targets of a judgement; only an approval relies on a grant."""
    if not used or verdict is not Verdict.APPROVE:
        return (), None, ()
    return tuple(sorted({grant for _, grants in used for grant in grants})), None, tuple(target for target, _ in used)


def _trial(scope: Scope) -> Grant:
    """Return the grant that approving `scope` would make, to see what it would open."""
    from indult.approvals import Choice, Grant, HumanDecision, Via

    request = "r_trial"
    decision = HumanDecision(
        id="d_trial", request=request, choice=Choice.APPROVE, digest="", seen=0, by="trial", via=Via.CLI, at=""
    )
    return Grant(id=decision.grant, request=request, scope=scope, decision=decision, uses_left=scope.max_uses)
