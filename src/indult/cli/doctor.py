"""`indult doctor`: prove that the setup of a repository works."""

from __future__ import annotations

import os

import click

from indult.cli.frame import emit, json_option, printable
from indult.cli.plain import DATABASE
from indult.errors import UsageError
from indult.places import repository, repository_ledger
from indult.setup.checks import State
from indult.setup.doctor import examine

__all__ = ["command"]


@click.command(
    name="doctor",
    short_help="Prove that the hooks of this repository block what they must.",
    help="Look at the setup of the repository that you stand in: policy, trust, ledger, hooks, versions of agents. Then "
    "run the installed hook commands with canary calls that have to be denied. Ends with 1 if anything fails. Nothing of "
    "the canaries is kept.",
)
@click.option(
    "--run", is_flag=True, help="Run hook commands, too, that `indult init` does not write; look at them first."
)
@json_option
def command(*, run: bool, as_json: bool) -> int:
    """Print each check as it is done."""
    root = repository(".")
    if root is None:
        raise UsageError("this is no repository", hint="git init")
    failed = False
    for check in examine(root, os.environ.get(DATABASE) or repository_ledger(root), run=run):
        failed = failed or check.state is State.FAIL
        if as_json:
            emit(check.to_dict())
            continue
        click.echo(printable(f"{check.state:<5} {check.about}: {check.text}"))
        if check.hint:
            click.echo(printable(f"      hint: {check.hint}"))
    return 1 if failed else 0
