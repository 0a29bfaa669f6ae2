"""`indult check`: judge one action, from JSON, and end with the verdict's exit code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import click

from indult.actions import Action
from indult.boundary import Boundary
from indult.canonical import canonical, parse_json
from indult.cli.frame import emit, json_option, policy_option, read_input
from indult.errors import FactError
from indult.explain import explain
from indult.judgements import Judgement, Verdict
from indult.policy import Policy, load_policy

__all__ = ["command"]

_CODES: Final = {Verdict.APPROVE: 0, Verdict.DENY: 2, Verdict.ASK_USER: 4, Verdict.DOWNGRADE: 5}


@click.command(name="check", help="Judge one action, a JSON object from ACTION or standard input (`-`).")
@click.argument("action", default="-")
@click.option("--facts", metavar="JSON", help="The declared facts, as JSON or as @FILE.")
@click.option("--explain", "explained", is_flag=True, help="List every rule that was tried, and why it did or did not match.")
@policy_option
@json_option
def command(*, action: str, facts: str | None, explained: bool, policy: str, as_json: bool) -> int:
    """Judge an action without recording anything; no request opens."""
    law = load_policy(policy)
    proposed = Action.from_dict(parse_json(read_input(action), name="action"))
    known = _facts(law, facts)
    boundary = Boundary(policy=law)
    judgement = boundary.judge(proposed, known)
    tried = [row.to_dict() for row in explain(boundary, proposed, known)] if explained else None
    if as_json:
        emit({**judgement.to_dict(), **({"tried": tried} if tried is not None else {})})
    else:
        click.echo("\n".join([*_lines(judgement), *_tried_lines(tried or [])]))
    return _CODES[judgement.verdict] if judgement.enforced else 0


def _facts(policy: Policy, text: str | None) -> dict[str, Any]:
    """Read the facts and refuse what the policy does not declare, or declares and does not get.

    Raises:
        FactError: A declared fact is missing, or a given one is not declared.
    """
    given: Any = parse_json(read_input(text), name="facts") if text is not None else {}
    if not isinstance(given, Mapping):
        raise FactError(f"facts are a `{type(given).__name__}`, not an object", hint="try --facts '{\"NAME\": VALUE}'")
    for name in policy.context:
        if name not in given:
            raise FactError(f"the policy declares the fact `{name}`, which is not given", hint="give it with --facts")
    for name in given:
        if name not in policy.context:
            raise FactError(
                f"the policy declares no fact `{name}`", hint=f"facts: {', '.join(policy.context) or 'none'}"
            )
    return dict(given)


def _lines(judgement: Judgement) -> list[str]:
    seen = "" if judgement.enforced else " (observed only: this policy blocks nothing)"
    lines = [f"{judgement.verdict}{seen}", judgement.reason]
    if judgement.instead is not None:
        lines.append(f"instead: {_shown(judgement.instead)}")
    if judgement.read:
        lines.append("read: " + ", ".join(f"{path} = {value!r}" for path, value in judgement.read.items()))
    if judgement.observed:
        lines.append("observing rules that matched: " + ", ".join(judgement.observed))
    return lines


def _shown(action: Action) -> str:
    return canonical({"tool": action.tool, "args": action.args})


def _tried_lines(tried: list[dict[str, Any]]) -> list[str]:
    return [f"  {row['effect']:<5} {row['rule']}: {row['why']}" for row in tried]
