"""`indult request`: ask a person to open exactly one call."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from indult.cli.frame import db_option, emit, json_option, law_option, option, printable
from indult.cli.judging import CODES, FACTS, judgement_lines, read_action, read_facts
from indult.cli.law import policy_in_force
from indult.cli.showing import moment, paragraphs, standing_data
from indult.gate import Gate, Requests
from indult.judgements import Judgement, Verdict
from indult.ledger import open_ledger, utc_now
from indult.scopes import MAX_USES, Scope

if TYPE_CHECKING:
    from collections.abc import Iterator

    from indult.approvals import Standing

__all__ = ["command"]


@click.command(
    name="request",
    short_help="Ask a person to open exactly one call.",
    help="Ask a person to open exactly this call, a JSON object from ACTION or standard input (`-`), for one subject. "
    "Older requests of the subject for a call are closed by it. Ends with 4: it waits for a person.",
)
@click.argument("action", default="-")
@click.option("--subject", metavar="NAME", required=True, help="For whom it would be opened, and for nobody else.")
@click.option("--by", metavar="ACTOR", help="Who asks; by default the actor of the action.")
@click.option("--question", metavar="TEXT", help="What the person is asked, in one line.")
@click.option("--title", metavar="TEXT", help="What it is about, in a few words.")
@click.option("--change", metavar="TEXT", help="What would be done, in one line.")
@click.option("--uses", type=click.IntRange(1, MAX_USES), default=1, show_default=True, help="How often it may run.")
@click.option("--expires", metavar="TIME", help="Until when: 30m, 2h, 7d, or a time as RFC 3339; a must above one use.")
@option(FACTS)
@db_option
@law_option
@json_option
def command(
    *,
    action: str,
    subject: str,
    by: str | None,
    question: str | None,
    title: str | None,
    change: str | None,
    uses: int,
    expires: str | None,
    facts: str | None,
    db: str | None,
    policy: str | None,
    as_json: bool,
) -> int:
    """Open a request, unless the law gives the answer itself."""
    law = policy_in_force(policy, db)
    proposed = read_action(action)
    known = read_facts(law, facts)
    until = None if expires is None else moment(expires, utc_now())
    with open_ledger(db) as ledger:
        gate = Gate(law, ledger, subject)
        boundary = gate.boundary()
        judgement = boundary.judge(proposed, known)
        if judgement.verdict is not Verdict.ASK_USER or not judgement.enforced:
            return _no_request(judgement, as_json=as_json)
        scope = Scope.call(proposed, subject=subject, title=title, change=change)
        requests = Requests(ledger, law)
        standing = requests.open(
            replace(scope, max_uses=uses, expires_at=until),
            boundary=boundary,
            requested_by=proposed.actor if by is None else by,
            question=question,
            card={"reason": judgement.reason, **({"read": dict(judgement.read)} if judgement.read else {})},
            expires_at=until,
            action=proposed,
            facts=known,
            supersede=True,
        )
        if as_json:
            emit(standing_data(standing, law, paragraphs(boundary, standing, by="a person")))
        else:
            click.echo("\n".join(printable(line) for line in _lines(standing)))
    return CODES[Verdict.ASK_USER]


def _no_request(judgement: Judgement, *, as_json: bool) -> int:
    """Say why nobody has to be asked, or why nobody can be."""
    if as_json:
        emit(judgement.to_dict())
    else:
        click.echo("\n".join([*judgement_lines(judgement), _why(judgement)]))
    return CODES[judgement.verdict] if judgement.enforced else 0


def _why(judgement: Judgement) -> str:
    if not judgement.enforced:
        return "no request: this policy blocks nothing"
    if judgement.verdict is Verdict.APPROVE:
        return "no request: it may run as it is"
    return "no request: what is denied cannot be asked for"


def _lines(standing: Standing) -> Iterator[str]:
    request, scope = standing.request, standing.request.scope
    yield f"{request.id}  {standing.state}"
    for word in scope.words():
        yield f"  opens    {word}"
    yield f"  under    {', '.join(scope.rules)}"
    yield f"  digest   {request.digest}"
    yield f"  look     indult show {request.id}"
    yield f"  answer   indult approve {request.id}"
    yield f"           indult discuss {request.id} --note TEXT"
    yield f"           indult reject {request.id}"
