"""`indult brief`: print what a proposer would be told."""

from __future__ import annotations

import click

from indult.boundary import Boundary
from indult.cli.frame import emit, json_option, law_option
from indult.cli.law import policy_in_force

__all__ = ["command"]


@click.command(name="brief", help="Print the boundary as the text that a proposer reads.")
@click.option("--task", default="", help="The task to put before it, in your own words.")
@law_option
@json_option
def command(*, task: str, policy: str | None, as_json: bool) -> None:
    """Render the brief of a policy."""
    brief = Boundary(policy=policy_in_force(policy)).brief(task)
    if as_json:
        emit({"text": brief.text, "digest": brief.digest})
    else:
        click.echo(brief.text, nl=False)
