"""`indult revoke`: take a grant back."""

from __future__ import annotations

import click

from indult.cli.deciding import by_option, check_actor, os_user
from indult.cli.frame import db_option, emit, json_option, law_option, printable
from indult.cli.law import policy_in_force
from indult.cli.showing import row
from indult.gate import Requests
from indult.ledger import open_ledger

__all__ = ["command"]


@click.command(
    name="revoke",
    short_help="Take a grant back.",
    help="Take the grant GRANT back: what it opened is closed again for every use that is left.",
)
@click.argument("grant")
@click.option("--note", default="", help="Why; it stays in the ledger.")
@by_option
@db_option
@law_option
@json_option
def command(*, grant: str, note: str, by: str | None, db: str | None, policy: str | None, as_json: bool) -> None:
    """Revoke a grant."""
    check_actor()
    law = policy_in_force(policy, db)
    with open_ledger(db, create=False) as ledger:
        standing = Requests(ledger, law).revoke(grant, by=os_user() if by is None else by, note=note)
    if as_json:
        emit(row(standing, law))
    else:
        click.echo(printable(f"revoked {grant} of request {standing.request.id}: it opens nothing any more"))
