"""`indult brief`: print what a proposer would be told, or write it into the files that agents read."""

from __future__ import annotations

import click

from indult.boundary import Boundary
from indult.cli.frame import db_option, emit, json_option, law_option, printable
from indult.cli.law import policy_in_force
from indult.errors import ConfigurationError, UsageError

__all__ = ["command"]


@click.command(
    name="brief",
    short_help="Print the boundary as the text that a proposer reads, or write it into files.",
    help="Print the boundary as the text that a proposer reads. With `--write`, keep it as one marked block in each FILE "
    "(AGENTS.md, CLAUDE.md): what is written there is the policy file of the repository, and with `--subject` the grants "
    "of that subject; all else in the file stays as it is.",
)
@click.argument("files", metavar="[FILE]...", nargs=-1)
@click.option("--write", is_flag=True, help="Write the block into each FILE instead of printing it.")
@click.option("--task", default="", help="The task to put before it, in your own words.")
@click.option("--subject", metavar="NAME", help="Whose grants count; without one the text is that of the policy alone.")
@db_option
@law_option
@json_option
def command(
    *,
    files: tuple[str, ...],
    write: bool,
    task: str,
    subject: str | None,
    db: str | None,
    policy: str | None,
    as_json: bool,
) -> None:
    """Render the brief of a policy and of the live grants of a subject."""
    if write != bool(files):
        raise UsageError("`--write` and files go together", hint="indult brief --write AGENTS.md")
    if write:
        if task or policy is not None:
            raise UsageError(
                "`--write` states the policy file of the repository, so it takes no `--task` or `--policy`"
            )
        _write(files, subject, db, as_json=as_json)
        return
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


def _write(files: tuple[str, ...], subject: str | None, db: str | None, *, as_json: bool) -> None:
    from indult.cli.instructing import boundary_of, place_of, trust_problem
    from indult.setup.instructions import block_of, put_block, target_of

    place = place_of(db)
    problem = trust_problem(place)
    if problem is not None:
        raise ConfigurationError(f"nothing was written: {problem}", hint="indult trust")
    boundary = boundary_of(place, subject)
    block = block_of(boundary)
    # Two names may lead to one file, and a fault of the last file must not leave the first one changed.
    targets = {target_of(name, place.root): name for name in reversed(files)}
    done = put_block(targets, block)
    for name in dict.fromkeys(files):
        word = done.get(name, "unchanged")
        if as_json:
            emit({"file": name, "done": word, "digest": boundary.digest})
        else:
            click.echo(printable(f"{word} {name}"))
