"""`indult check`: judge one action, from JSON, and end with the verdict's exit code."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

from indult.boundary import Boundary
from indult.cli.edge import emit, printable, say
from indult.cli.judging import CODES, FACTS, judgement_lines, read_action, read_facts
from indult.cli.law import policy_in_force
from indult.cli.plain import DATABASE, DB, JSON, LAW, Option, Verb
from indult.errors import UsageError

if TYPE_CHECKING:
    from indult.actions import Action
    from indult.judgements import Judgement
    from indult.policy import Policy

__all__ = ["VERB", "run"]


def run(
    *,
    action: str,
    facts: str | None,
    explained: bool,
    subject: str | None,
    db: str | None,
    policy: str | None,
    as_json: bool,
) -> int:
    """Judge an action; without a subject nothing is recorded and no request opens."""
    if subject is None and db is not None:
        raise UsageError("`--db` goes with `--subject`", hint="without a subject nothing is recorded")
    law = policy_in_force(policy, db)
    proposed = read_action(action)
    known = read_facts(law, facts)
    if subject is None:
        boundary = Boundary(policy=law)
        judgement = boundary.judge(proposed, known)
    else:
        boundary, judgement = _recorded(law, subject, db, proposed, known)
    tried = _tried(boundary, proposed, known) if explained else None
    if as_json:
        emit({**judgement.to_dict(), **({"tried": tried} if tried is not None else {})})
    else:
        say(*judgement_lines(judgement), *_tried_lines(tried or []))
    return CODES[judgement.verdict] if judgement.enforced else 0


VERB: Final = Verb(
    name="check",
    short_help="Judge one action and end with the verdict's exit code.",
    help="Judge one action, a JSON object from ACTION or standard input (`-`). With `--subject`, record the judgement: "
    "an ask opens a request, and an approval uses one use of the grant that it relies on.",
    argument=("action", "-"),
    options=(
        FACTS,
        Option(
            "--explain", "explained", "List every rule that was tried, and why it did or did not match.", is_flag=True
        ),
        Option("--subject", "subject", "Whose grants count, and under whom the judgement is recorded.", metavar="NAME"),
        DB,
        LAW,
        JSON,
    ),
    run=run,
)


def __getattr__(name: str) -> Any:
    """Make the click command when it is asked for: a plain command line does without."""
    if name != "command":
        raise AttributeError(name)
    from indult.cli.frame import command_of

    return command_of(VERB)


def _recorded(
    policy: Policy, subject: str, db: str | None, action: Action, facts: dict[str, Any]
) -> tuple[Boundary, Judgement]:
    """Judge by the grants of a subject and record that; return the boundary too, for who wants to know why."""
    # Nothing of this is imported by a plain check, which has to be quick.
    from indult.gate import Gate
    from indult.ledger import open_ledger

    # `--db` is refused without a subject and the variable is not, so it is no default of the option.
    with open_ledger(os.environ.get(DATABASE) or None if db is None else db) as ledger:
        gate = Gate(policy, ledger, subject)
        boundary = gate.boundary()
        return boundary, gate.check(action, facts)


def _tried(boundary: Boundary, action: Action, facts: dict[str, Any]) -> list[dict[str, Any]]:
    from indult.explain import explain

    return [row.to_dict() for row in explain(boundary, action, facts)]


def _tried_lines(tried: list[dict[str, Any]]) -> list[str]:
    return [printable(f"  {row['effect']:<5} {row['rule']}: {row['why']}") for row in tried]
