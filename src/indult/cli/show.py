"""`indult show`: a request or a grant in full."""

from __future__ import annotations

import click

from indult.boundary import Boundary
from indult.cli.answers import answer_lines, waiting
from indult.cli.deciding import by_option, os_user
from indult.cli.frame import db_option, emit, json_option, law_option
from indult.cli.showing import paragraphs, reading, standing_data, standing_lines
from indult.ledger import utc_now

__all__ = ["command"]


@click.command(
    name="show",
    short_help="Show a request or a grant in full, and what approving it changes.",
    help="Show the request or grant ID in full: what it opens, who asked, every decision, its digest, the paragraphs "
    "of the brief without and with it, and how to answer.",
)
@click.argument("name", metavar="ID")
@by_option
@db_option
@law_option
@json_option
def command(*, name: str, by: str | None, db: str | None, policy: str | None, as_json: bool) -> None:
    """Print all that a person has to see before answering."""
    with reading(db, policy) as (_, requests, law):
        standing = requests.grant(name) if name.startswith("g_") else requests.standing(name)
        subject = standing.request.scope.subject
        boundary = Boundary(policy=law, subject=subject, grants=requests.live(subject))
        changes = paragraphs(boundary, standing, by=os_user() if by is None else by)
        waits = waiting(requests, standing)
    if as_json:
        emit(standing_data(standing, law, changes))
    else:
        answers = answer_lines(standing, waits=waits)
        click.echo("\n".join([*standing_lines(standing, law, changes, utc_now()), *answers]))
