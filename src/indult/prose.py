"""The text of a boundary: what a model reads, from the same policy and grants that the gate judges by.

Where a live grant opens something, the paragraph of its rule is replaced, never followed by a "but".
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from indult.policy import DEFAULT, Effect, Mode, Policy, Rule

if TYPE_CHECKING:
    from indult.approvals import Grant

__all__ = ["render", "says"]

_HEADINGS: Final = (
    (Effect.DENY, "Denied:"),
    (Effect.ASK, "Needs a person's approval first:"),
    (Effect.ALLOW, "Allowed:"),
)

_OPENED: Final = "Except for {title} ({targets} only), this holds: {says}"
"""How a rule reads while a grant opens part of it, unless it says so itself (design section 5)."""


_PLAIN: Final = re.compile(r"(?:one call(?: of)? )?[\w.:/@+-]+\Z")
_TICKS: Final = re.compile("`+")


def render(policy: Policy, grants: Sequence[Grant] = ()) -> str:
    """Return the boundary as text: what is denied, what needs approval, what is allowed, and what else holds."""
    blocks = []
    for effect, heading in _HEADINGS:
        rules = [rule for rule in policy.rules if rule.effect is effect and rule.mode is Mode.ENFORCE]
        if rules:
            blocks.append("\n".join([heading, *(f"- {says(rule, grants)}" for rule in rules)]))
    rest = "is denied" if policy.default is Effect.DENY else "needs a person's approval first"
    opening = _opening(DEFAULT, grants)
    if opening:
        blocks.append(_filled("Except for {title} ({targets} only), anything else {says}.", rest, opening))
    else:
        blocks.append(f"Anything else {rest}.")
    return "\n\n".join(blocks)


def says(rule: Rule, grants: Sequence[Grant] = ()) -> str:
    """Return how a rule reads: its `says`, or what replaces it while grants open part of it."""
    if rule.says is None:
        targets = " or ".join(f"`{target}`" for target in rule.targets)
        narrowed = f" on {targets}" if targets else ""
        return f"`{rule.tool}`{narrowed}{f' when `{rule.when}`' if rule.when else ''}."
    sentence = rule.says.strip()
    opening = _opening(rule.id, grants) if rule.effect is Effect.ASK else []
    return _filled(rule.says_opened or _OPENED, sentence, opening) if opening else sentence


def _opening(rule: str, grants: Sequence[Grant]) -> list[Grant]:
    return [grant for grant in grants if rule in grant.scope.rules]


def _filled(template: str, sentence: str, grants: Sequence[Grant]) -> str:
    """Fill a template once for all grants of a rule: a sentence each would forbid what the next one opens."""
    words = {
        "approver": _joined(_approver(grant) for grant in grants),
        "title": _joined(_title(grant.scope.title) for grant in grants),
        # The words of whoever asked, so they are quoted: nothing in them may read as a sentence of the law.
        "change": "; ".join(dict.fromkeys(json.dumps(grant.scope.change, ensure_ascii=False) for grant in grants)),
        "targets": ", ".join(dict.fromkeys(_code(word) for grant in grants for word in grant.scope.words())),
        "expires": _joined(grant.expires_at or "no expiry" for grant in grants),
        "uses": _joined(str(grant.uses or grant.scope.max_uses) for grant in grants),
        "says": sentence,
    }
    return template.strip().format_map(words)


def _joined(words: object) -> str:
    return " and ".join(dict.fromkeys(words))  # type: ignore[call-overload]


def _title(title: str) -> str:
    """Return a title as it may stand in a sentence: one that could be read as part of the sentence is quoted."""
    return title if _PLAIN.match(title) else json.dumps(title, ensure_ascii=False)


def _code(word: str) -> str:
    """Return a target in a code span that nothing inside it can end."""
    longest = max((len(run) for run in _TICKS.findall(word)), default=0)
    if not longest:
        return f"`{word}`"
    fence = "`" * (longest + 1)
    return f"{fence} {word} {fence}"


def _approver(grant: Grant) -> str:
    return grant.decision.by if grant.signed else f"{grant.decision.by} (unsigned)"
