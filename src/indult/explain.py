"""Why each rule of a policy did or did not match an action: for people, not for the judging path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from indult.actions import Action
from indult.boundary import Boundary
from indult.decompose import Part
from indult.policy import Effect, Mode, Rule
from indult.policy.patterns import tool_pattern

__all__ = ["Tried", "explain"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """One rule held against one part of an action: whether it matched, and why."""

    rule: str
    effect: Effect
    matched: bool
    why: str

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"rule": self.rule, "effect": str(self.effect), "matched": self.matched, "why": self.why}


def explain(boundary: Boundary, action: Action, facts: Mapping[str, Any]) -> list[Tried]:
    """Return what every rule says of every part of an action, grants aside."""
    parts = boundary.decompose(action) or (Part(action.tool, action.target),)
    return [_try(boundary, rule, part, action, facts) for part in parts for rule in boundary.policy.rules]


def _try(boundary: Boundary, rule: Rule, part: Part, action: Action, facts: Mapping[str, Any]) -> Tried:
    if not tool_pattern(rule.tool)(part.tool):
        matched, why = False, f"`{part.tool}` is not `{rule.tool}`"
    elif rule.target is not None and not boundary.policy.meets(rule, part.target()):
        several = len(rule.targets) > 1
        matched, why = False, f"`{part.target()}` is {'none of the targets' if several else f'not `{rule.target}`'}"
    elif rule.when is None:
        matched, why = True, f"matches every `{rule.tool}`"
    else:
        matched, why = _condition(boundary, rule, part, action, facts)
    observing = "" if rule.mode is Mode.ENFORCE else " (observing only)"
    return Tried(rule=rule.id, effect=rule.effect, matched=matched, why=why + observing)


def _condition(
    boundary: Boundary, rule: Rule, part: Part, action: Action, facts: Mapping[str, Any]
) -> tuple[bool, str]:
    from indult.cel import fuse

    # A second, empty group makes the first one of those in which an error counts.
    one = fuse([[boundary.policy.conditions[rule.id]], []], boundary.policy.env)
    group, _, errors = one(part.tool, action.args, action.actor, part.target, facts)
    if not errors:
        return group == 0, f"`{rule.when}` is {'true' if group == 0 else 'false'}"
    counts = rule.effect is not Effect.ALLOW
    return counts, f"`{rule.when}` is in error: {errors[0][2]}; that counts as {'' if counts else 'not '}matched"
