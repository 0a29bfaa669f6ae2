"""What the verbs that decide share: who decides, what was shown, the signature, and what came of it."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Any, Final

import click

from indult.approvals import Choice, HumanDecision, RequestState, Standing, Via
from indult.boundary import Boundary
from indult.cli.frame import db_option, emit, json_option, policy_option, printable
from indult.cli.showing import grant_line, moment, paragraphs, standing_data, standing_lines, unsigned_note
from indult.errors import ApprovalError, UsageError
from indult.gate import Requests
from indult.gate.deciding import gone
from indult.ids import new_id
from indult.ledger import open_ledger, utc_now
from indult.policy import load_policy

if TYPE_CHECKING:
    from collections.abc import Callable

    from indult.policy import Policy

__all__ = ["by_option", "decide", "deciding", "os_user"]

by_option = click.option("--by", metavar="NAME", help="Who decides; by default the user of this system.")
"""The `--by` of every verb by which a person acts."""

_OPTIONS: Final = (
    click.argument("request", metavar="ID"),
    click.option("--digest", metavar="SHA256", help="The digest of the request as you were shown it."),
    click.option("--seen", type=click.IntRange(min=0), help="The last decision you saw, as `indult show` gives it."),
    by_option,
    db_option,
    policy_option,
    json_option,
)


def deciding(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a verb the argument and the options of a decision."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def os_user() -> str:
    """Return the name of the user of this process; the environment has no say in it."""
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"uid-{os.getuid()}"


def decide(
    choice: Choice,
    request: str,
    *,
    digest: str | None,
    seen: int | None,
    by: str | None,
    note: str,
    db: str | None,
    policy: str,
    as_json: bool,
    uses: int | None = None,
    expires: str | None = None,
) -> None:
    """Record one answer to one request, which is always named, and say what came of it."""
    law = load_policy(policy)
    with open_ledger(db, create=False) as ledger:
        requests = Requests(ledger, law)
        shown = requests.standing(request)
        by = by or os_user()
        if choice is Choice.APPROVE and digest is None:
            _ask(requests, shown, law, by, as_json=as_json)
        decision = HumanDecision(
            id=new_id("d", time.time_ns() // 1_000_000, os.urandom(10)),
            request=shown.request.id,
            choice=choice,
            digest=digest or shown.request.digest,
            seen=shown.seen if seen is None else seen,
            by=by,
            via=Via.CLI,
            at=(now := utc_now()),
            uses=uses,
            expires_at=None if expires is None else moment(expires, now),
            note=note,
        )
        after = requests.decide(decision)
        if as_json:
            emit(standing_data(after, law, paragraphs(_boundary(requests, after, law), after, by=by)))
        else:
            click.echo("\n".join(_outcome(after, decision, law)))


def _boundary(requests: Requests, standing: Standing, policy: Policy) -> Boundary:
    subject = standing.request.scope.subject
    return Boundary(policy=policy, subject=subject, grants=requests.live(subject))


def _ask(requests: Requests, standing: Standing, policy: Policy, by: str, *, as_json: bool) -> None:
    """Show what would be opened and ask whether it should be.

    Raises:
        UsageError: Nobody can be asked.
        ApprovalError: The answer is no, or there is nothing left to answer.
    """
    if as_json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            "without a terminal `approve` needs `--digest`",
            hint=f"read `indult show {standing.request.id}` and give the digest that it shows",
        )
    if standing.state.closed:
        raise gone(standing.request.id, standing)
    changes = paragraphs(_boundary(requests, standing, policy), standing, by=by)
    click.echo("\n".join(standing_lines(standing, policy, changes, utc_now())))
    if not click.confirm("Approve exactly this?"):
        raise ApprovalError(f"nothing was decided: `{standing.request.id}` stays as it is")


def _outcome(standing: Standing, decision: HumanDecision, policy: Policy) -> list[str]:
    sign = "unsigned" if decision.signature is None else "signed"
    lines = [f"{_PAST[decision.choice]} {standing.request.id} by {decision.by} ({sign})"]
    if standing.grant is not None:
        lines.append(f"grant {grant_line(standing.grant)}")
    elif decision.choice is Choice.APPROVE and standing.state is RequestState.OPEN:
        lines.append(f"{len(standing.approved_by)} of {standing.wanted} approvals: nothing is opened yet")
    return [*(printable(line) for line in lines), *unsigned_note(policy)]


_PAST: Final = {Choice.APPROVE: "approved", Choice.DISCUSS: "discussed", Choice.REJECT: "rejected"}
