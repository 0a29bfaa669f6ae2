"""`indult brief`: print what a proposer would be told."""

from __future__ import annotations

import click

from indult.boundary import Boundary
from indult.cli.frame import db_option, emit, json_option, law_option
from indult.cli.law import policy_in_force

__all__ = ["command"]


@click.command(name="brief", help="Print the boundary as the text that a proposer reads.")
@click.option("--task", default="", help="The task to put before it, in your own words.")
@click.option("--subject", metavar="NAME", help="Whose grants count; without one the text is that of the policy alone.")
@db_option
@law_option
@json_option
def command(*, task: str, subject: str | None, db: str | None, policy: str | None, as_json: bool) -> None:
    """Render the brief of a policy and of the live grants of a subject."""
    law = policy_in_force(policy, db)
    if subject is None:
        brief = Boundary(policy=law).brief(task)
    else:
        from indult.gate import Gate
        from indult.ledger import open_ledger

        with open_ledger(db) as ledger:
            brief = Gate(law, ledger, subject).boundary().brief(task)
    if as_json:
        emit({"text": brief.text, "digest": brief.digest})
    else:
        click.echo(brief.text, nl=False)
