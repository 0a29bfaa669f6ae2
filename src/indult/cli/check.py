"""`indult check`: judge one action, from JSON, and end with the verdict's exit code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from indult.boundary import Boundary
from indult.cli.frame import db_option, emit, json_option, policy_option, printable
from indult.cli.judging import CODES, check_subject, facts_option, judgement_lines, read_action, read_facts
from indult.cli.law import policy_in_force
from indult.errors import UsageError
from indult.explain import explain

if TYPE_CHECKING:
    from indult.actions import Action
    from indult.judgements import Judgement
    from indult.policy import Policy

__all__ = ["command"]


@click.command(
    name="check",
    short_help="Judge one action and end with the verdict's exit code.",
    help="Judge one action, a JSON object from ACTION or standard input (`-`). With `--subject`, record the judgement: "
    "an ask opens a request, and an approval uses one use of the grant that it relies on.",
)
@click.argument("action", default="-")
@facts_option
@click.option(
    "--explain", "explained", is_flag=True, help="List every rule that was tried, and why it did or did not match."
)
@click.option(
    "--subject",
    metavar="NAME",
    callback=check_subject,
    help="Whose grants count, and under whom the judgement is recorded.",
)
@db_option
@policy_option
@json_option
@click.pass_context
def command(
    context: click.Context,
    *,
    action: str,
    facts: str | None,
    explained: bool,
    subject: str | None,
    db: str | None,
    policy: str,
    as_json: bool,
) -> int:
    """Judge an action; without a subject nothing is recorded and no request opens."""
    if subject is None and context.get_parameter_source("db") is ParameterSource.COMMANDLINE:
        raise UsageError("`--db` goes with `--subject`", hint="without a subject nothing is recorded")
    law = policy_in_force(policy, db)
    proposed = read_action(action)
    known = read_facts(law, facts)
    if subject is None:
        boundary = Boundary(policy=law)
        judgement = boundary.judge(proposed, known)
    else:
        boundary, judgement = _recorded(law, subject, db, proposed, known)
    tried = [row.to_dict() for row in explain(boundary, proposed, known)] if explained else None
    if as_json:
        emit({**judgement.to_dict(), **({"tried": tried} if tried is not None else {})})
    else:
        click.echo("\n".join([*judgement_lines(judgement), *_tried_lines(tried or [])]))
    return CODES[judgement.verdict] if judgement.enforced else 0


def _recorded(
    policy: Policy, subject: str, db: str | None, action: Action, facts: dict[str, Any]
) -> tuple[Boundary, Judgement]:
    """Judge by the grants of a subject and record that; return the boundary too, for who wants to know why."""
    # Nothing of this is imported by a plain check, which has to be quick.
    from indult.gate import Gate
    from indult.ledger import open_ledger

    with open_ledger(db) as ledger:
        gate = Gate(policy, ledger, subject)
        boundary = gate.boundary()
        return boundary, gate.check(action, facts)


def _tried_lines(tried: list[dict[str, Any]]) -> list[str]:
    return [printable(f"  {row['effect']:<5} {row['rule']}: {row['why']}") for row in tried]
