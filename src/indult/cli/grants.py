"""`indult grants`: what is open now."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from indult.cli.frame import db_option, emit, json_option, law_option, printable
from indult.cli.showing import grant_data, grant_line, reading, tell_damaged, tell_nothing
from indult.gate.requests import asked_stream

if TYPE_CHECKING:
    from indult.ledger import Ledger

__all__ = ["command"]


@click.command(
    name="grants",
    short_help="List what is open now.",
    help="List the grants that still open something: uses left, expiry, who approved, signed or unsigned.",
)
@click.option("--subject", metavar="NAME", help="Only the grants of this subject.")
@db_option
@law_option
@json_option
def command(*, subject: str | None, db: str | None, policy: str | None, as_json: bool) -> int | None:
    """Print one line per live grant, and one per record that opens nothing since it is damaged."""
    with reading(db, policy) as (ledger, requests, _):
        subjects = _subjects(ledger) if subject is None else [subject]
        looked = [requests.look(one) for one in subjects]
        damaged = [exc for one in subjects for exc in requests.forged(one)]
    for grant in (grant for look in looked for grant in look.grants):
        if as_json:
            emit(grant_data(grant))
        else:
            click.echo(grant_line(grant))
    for void in (standing for look in looked for standing in look.void):
        if as_json:
            emit({"void": void.request.id, "refused": list(void.refused)})
        else:
            why = "; ".join(void.refused) or f"it takes {void.wanted} approvals now"
            click.echo(printable(f"void: request `{void.request.id}` waits for an answer again: {why}"))
    tell_damaged(damaged, as_json=as_json)
    if not as_json and not damaged and not any(look.grants or look.void for look in looked):
        tell_nothing("no grant", subject)
    return 1 if damaged else None


def _subjects(ledger: Ledger) -> list[str]:
    """Return everybody for whom something was ever asked."""
    prefix = asked_stream("")
    return [stream.removeprefix(prefix) for stream, _ in ledger.streams(prefix)]
