"""What the verbs that judge one action share: its facts, its exit code, and the judgement as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from indult.actions import Action
from indult.canonical import canonical, parse_json
from indult.cli.edge import printable, read_input
from indult.cli.plain import Option
from indult.errors import FactError
from indult.judgements import Judgement, Verdict
from indult.policy.context import check_declared

if TYPE_CHECKING:
    from indult.policy import Policy

__all__ = ["CODES", "FACTS", "judgement_lines", "read_action", "read_facts"]

CODES: Final = {Verdict.APPROVE: 0, Verdict.DENY: 2, Verdict.ASK_USER: 4, Verdict.DOWNGRADE: 5}
"""What each verdict ends a command with."""

FACTS: Final = Option("--facts", "facts", "The declared facts, as JSON or as @FILE.", metavar="JSON")
"""The `--facts` of every verb that judges."""


def read_action(given: str) -> Action:
    """Read an action from an argument, a file or standard input."""
    return Action.from_dict(parse_json(read_input(given), name="action"))


def read_facts(policy: Policy, given: str | None) -> dict[str, Any]:
    """Read the facts and refuse what the policy does not declare, or declares and does not get.

    Raises:
        FactError: A declared fact is missing, or a given one is not declared.
    """
    facts: Any = parse_json(read_input(given), name="facts") if given is not None else {}
    if not isinstance(facts, Mapping):
        raise FactError(f"facts are a `{type(facts).__name__}`, not an object", hint="try --facts '{\"NAME\": VALUE}'")
    for name in policy.context:
        if name not in facts:
            raise FactError(f"the policy declares the fact `{name}`, which is not given", hint="give it with --facts")
    check_declared(policy.context, facts)
    return dict(facts)


def judgement_lines(judgement: Judgement) -> list[str]:
    """Return what a person reads of a judgement."""
    seen = "" if judgement.enforced else " (observed only: this policy blocks nothing)"
    lines = [f"{judgement.verdict}{seen}", judgement.reason]
    if judgement.instead is not None:
        lines.append(f"instead: {_shown(judgement.instead)}")
    if judgement.read:
        lines.append("read: " + ", ".join(f"{path} = {value!r}" for path, value in judgement.read.items()))
    if judgement.grants:
        lines.append("grant: " + ", ".join(judgement.grants))
    if judgement.request is not None:
        lines.append(f"request: {judgement.request}")
    if judgement.observed:
        lines.append("observing rules that matched: " + ", ".join(judgement.observed))
    if any(rule.startswith("changed/") for rule in judgement.rules):
        lines.append("the policy file is not the version that a person trusts: `indult trust --show`")
    return [printable(line) for line in lines]


def _shown(action: Action) -> str:
    return canonical({"tool": action.tool, "args": action.args})
