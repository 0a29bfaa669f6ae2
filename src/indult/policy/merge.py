"""Several policies as one: whatever any of them denies or asks about, the merged one does too.

An action is judged as if each policy judged it alone and the strictest verdict counted. Denies and asks of all stand
side by side. What a policy does not let through, because no allow of it matches, becomes a rule of its own, `NAME/default`:
without it, the allow of one policy would open what the default of another denies.

A user's or a system's policy therefore restricts and never widens, and the order of merging has no meaning.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from indult.errors import ApprovalError, ConditionError, PolicyError
from indult.policy.model import DEFAULT, Effect, Mode, Policy, Rule
from indult.policy.patterns import GROUPS
from indult.signatures import parse_public_key

__all__ = ["CHANGED", "PROJECT", "glob_regex", "merge"]

PROJECT: Final = "project"
"""What the policy that the others are merged into is called."""

CHANGED: Final = "changed"
"""What a file is called that differs from the version which a person trusted: its approvers do not count."""


@dataclass(frozen=True, slots=True)
class _Part:
    """One policy on its way into the merged one; `judges` is false for one that only observes."""

    name: str
    policy: Policy
    judges: bool

    def rules(self, effects: Iterable[Effect]) -> list[Rule]:
        """Return the enforced rules of these effects."""
        return [rule for rule in self.policy.rules if rule.effect in effects and rule.enforced]

    def renamed(self, rule: Rule) -> Rule:
        """Return a rule under the name of its policy; a rule of one that only observes observes too."""
        name = rule.id if self.name == PROJECT else f"{self.name}/{rule.id}"
        return replace(rule, id=name, mode=rule.mode if self.judges else Mode.OBSERVE)


def merge(policy: Policy, others: Mapping[str, Policy]) -> Policy:
    """Return the policy that is as strict as `policy` and each of `others`, which are found under a name each.

    Rules of the others have ids that begin with the name of their policy and `/`. Where policies declare approvers,
    only those count that all of these policies declare.

    Raises:
        PolicyError: A fact is declared in two ways, no approver is left, or what would be a condition is too long.
    """
    if not others:
        return policy
    given = [(PROJECT, policy), *sorted(others.items())]
    everyone = all(one.mode is Mode.OBSERVE for _, one in given)
    parts = [_Part(name, one, everyone or one.mode is Mode.ENFORCE) for name, one in given]
    approvers = _approvers(parts)
    rules = [_openable(rule, approvers) for rule in _rules(parts)]
    try:
        merged = Policy(
            rules=tuple(rules),
            default=next(part for part in parts if part.judges).policy.default,
            context=_context(parts),
            mode=Mode.OBSERVE if everyone else Mode.ENFORCE,
            approvers=approvers,
            checks=policy.checks,
            fixer=policy.fixer,
            autofix=policy.autofix,
        )
        # Checked here, so that what does not go together is told as such.
        _ = merged.conditions
    except ConditionError as exc:
        names = ", ".join(part.name for part in parts)
        raise PolicyError(f"the policies ({names}) do not go together: {exc.message}", hint=exc.hint) from exc
    return merged


def _rules(parts: Sequence[_Part]) -> Iterator[Rule]:
    """Yield the rules of the merged policy.

    One policy that judges lends its allows; which one makes no difference, since what the others do not let through is
    denied or asked about by their rests.
    """
    lender = next(part for part in parts if part.judges)
    shared: set[Rule] = set()
    if any(part.name == CHANGED for part in parts) and lender.name == PROJECT:
        # What stands in both versions of a file stands once.
        shared = {rule for part in parts if part.name == CHANGED and part.judges for rule in part.policy.rules}
        shared &= set(lender.policy.rules)
    asks = False
    for part in parts:
        for rule in part.policy.rules:
            if part.name == CHANGED and rule in shared:
                continue
            if part is lender or not part.judges or not rule.enforced or rule.effect is not Effect.ALLOW:
                asks |= part is not lender and part.judges and rule.enforced and rule.effect is Effect.ASK
                yield part.renamed(rule)
        if part is not lender and part.judges and not (part.name == CHANGED and _same_way_through(part, lender)):
            rest = _rest(part)
            if rest is not None:
                asks |= rest.effect is Effect.ASK
                yield rest
    # An ask of another policy matches where nothing of the lender's does, and would open what its default denies.
    if asks and lender.policy.default is Effect.DENY:
        rest = _rest(lender)
        if rest is not None:
            yield rest


def _same_way_through(one: _Part, other: _Part) -> bool:
    """Tell whether two versions of a policy let the same through, so that one rest stands for both."""
    through = (Effect.ALLOW, Effect.ASK)
    return one.policy.default is other.policy.default and one.rules(through) == other.rules(through)


def _rest(part: _Part) -> Rule | None:
    """Return the rule that stands for a policy's default: it matches what none of its allows and asks does."""
    through = part.rules((Effect.ALLOW, Effect.ASK))
    if any(rule.tool == "*" and rule.target is None and rule.when is None for rule in through):
        return None
    terms = [term for rule in through if (term := _term(rule)) is not None]
    allows = [_line(rule) for rule in through if rule.effect is Effect.ALLOW]
    asks = ["what it asks about"] * any(rule.effect is Effect.ASK for rule in through)
    listed = "; ".join(allows + asks)
    denies = part.policy.default is Effect.DENY
    verb = "lets nothing through" if denies else "asks about everything"
    return Rule(
        id=f"{part.name}/{DEFAULT}",
        effect=Effect.DENY if denies else Effect.ASK,
        when=f"!({_any(terms)})" if terms else None,
        says=f"The {part.name} policy {verb}{f' but: {listed}' if listed else ''}.",
    )


def _line(rule: Rule) -> str:
    if rule.says is not None:
        return " ".join(rule.says.split()).rstrip(".")
    targets = " or ".join(f"`{target}`" for target in rule.targets)
    narrowed = f" on {targets}" if targets else ""
    condition = " ".join(rule.when.split()) if rule.when else ""
    return f"`{rule.tool}`{narrowed}{f' when `{condition}`' if condition else ''}"


def _any(terms: Sequence[str]) -> str:
    """Return a condition that holds if one of the terms does, nested no deeper than it must be."""
    if len(terms) == 1:
        return terms[0]
    half = len(terms) // 2
    return f"({_any(terms[:half])} || {_any(terms[half:])})"


def _term(rule: Rule) -> str | None:
    """Return a condition that holds where a rule matches; none where conditions cannot say so, which is stricter."""
    found = [_tool_term(rule.tool)]
    if rule.target is not None:
        patterns = [pattern for target in rule.targets if (pattern := _target_regex(target)) is not None]
        if not patterns:
            return None
        found.append(f"target.matches({_text(_whole('|'.join(patterns)))})")
    if rule.when is not None:
        # A comment may end it, so the bracket is closed on a line of its own.
        found.append(f"({rule.when}\n)")
    return "(" + " && ".join(term for term in found if term) + ")" if any(found) else "true"


def _tool_term(pattern: str) -> str:
    head, *middle, tail = pattern.split("*") if "*" in pattern else (pattern, pattern)
    if "*" not in pattern:
        return f"tool == {_text(pattern)}"
    if any(middle):
        return f"tool.matches({_text(_whole('.*'.join(map(_literal, pattern.split('*')))))})"
    terms = [f"tool.startsWith({_text(head)})"] * bool(head) + [f"tool.endsWith({_text(tail)})"] * bool(tail)
    if head and tail:
        terms.append(f"size(tool) >= {len(head) + len(tail)}")
    return " && ".join(terms)


def _target_regex(target: str) -> str | None:
    """Return the expression that matches the targets, kind and all, that a rule's `target` does.

    Commands are compared word by word, which no expression does.
    """
    kind, _, rest = target.partition(":")
    if kind == "command" and rest != "**":
        return None
    kinds = "|".join(GROUPS.get(kind, (kind,)))
    return f"(?:{kinds}):{glob_regex(rest)}"


def glob_regex(text: str) -> str:
    """Return the expression that matches what the glob of a `target` does."""
    while "**/**/" in text:
        text = text.replace("**/**/", "**/")
    found, at = "", 0
    while at < len(text):
        if text.startswith("**/", at) and (at == 0 or text[at - 1] == "/"):
            found, at = f"{found}(?:.*/)?", at + 3
        elif text.startswith("**", at):
            found, at = f"{found}.*", at + 2
        elif text[at] == "*":
            found, at = f"{found}[^/]*", at + 1
        else:
            found, at = found + _literal(text[at]), at + 1
    return found


def _whole(pattern: str) -> str:
    return rf"(?s)\A(?:{pattern})\z"


def _literal(text: str) -> str:
    return re.sub(r"[^\w/]", lambda found: "\\" + found[0] if found[0].isascii() else found[0], text)


def _text(text: str) -> str:
    """Return a string literal; patterns hold printable characters only."""
    return json.dumps(text, ensure_ascii=False)


def _context(parts: Sequence[_Part]) -> dict[str, Any]:
    """Return the facts of all policies together.

    Raises:
        PolicyError: Two declare one fact in different ways.
    """
    whole = {
        path[0]
        for part in parts
        for one in part.policy.conditions.values()
        if one
        for path in one.reads
        if len(path) == 1
    }
    merged: dict[str, Any] = {}
    for part in parts:
        for name, declared in part.policy.context.items():
            other = merged.setdefault(name, declared)
            if other == declared:
                continue
            # A group may have more fields here than there, unless a condition looks at the group as a whole.
            grows = isinstance(other, dict) and isinstance(declared, dict) and name not in whole
            if not grows or any(other.get(field, kind) != kind for field, kind in declared.items()):
                raise PolicyError(
                    f"the {part.name} policy declares the fact `{name}` in another way than the others",
                    hint="after a change to the policy file: indult trust FILE" if part.name == CHANGED else None,
                )
            merged[name] = {**other, **declared}
    return merged


def _approvers(parts: Sequence[_Part]) -> dict[str, str]:
    """Return the approvers that every policy which declares some declares, under the same name and key.

    Raises:
        PolicyError: Policies declare approvers and have none in common.
    """
    declaring = [part for part in parts if part.policy.approvers and part.name != CHANGED]
    if not declaring:
        return {}
    common = set.intersection(
        *({(name, _key(line)) for name, line in one.policy.approvers.items()} for one in declaring)
    )
    if not common:
        names = ", ".join(part.name for part in declaring)
        raise PolicyError(f"no approver is declared by each of the policies: {names}")
    first = declaring[0].policy.approvers
    return {name: first[name] for name, _ in sorted(common)}


def _key(line: str) -> str:
    """Return the key of a line without its comment."""
    try:
        return parse_public_key(line).text
    except ApprovalError:
        return line


def _openable(rule: Rule, approvers: Mapping[str, str]) -> Rule:
    """Return an ask that its approvers can open as it is, and any other as a deny: nobody could open it."""
    if rule.effect is not Effect.ASK:
        return rule
    if (rule.approval == "signed" and not approvers) or (approvers and rule.approvals > len(approvers)):
        return replace(rule, effect=Effect.DENY, approval=None, approvals=1, says_opened=None, exception=None)
    return rule
