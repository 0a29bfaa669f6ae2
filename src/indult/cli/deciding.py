"""What the verbs that decide share: who decides, what was shown, the signature, and what came of it."""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from indult.approvals import Choice, HumanDecision, RequestState, Standing, Via
from indult.boundary import Boundary
from indult.cli.answers import lead, waiting
from indult.cli.frame import db_option, emit, json_option, law_option, printable
from indult.cli.law import policy_in_force
from indult.cli.showing import NOTHING, grant_line, moment, paragraphs, standing_data, standing_lines, unsigned_note
from indult.errors import ApprovalError, BadSignature, UsageError
from indult.gate import Requests
from indult.gate.deciding import check_decision
from indult.ids import new_id
from indult.ledger import open_ledger, utc_now

if TYPE_CHECKING:
    from collections.abc import Callable

    from indult.policy import Policy
    from indult.scopes import Scope
    from indult.signatures import Signer

__all__ = ["ACTOR", "by_option", "check_actor", "decide", "deciding", "os_user"]

ACTOR: Final = "INDULT_ACTOR"
"""The variable that names who is at work, set for a fixer and all that it starts."""

by_option = click.option("--by", metavar="NAME", help="Who decides; by default the user of this system.")
"""The `--by` of every verb by which a person acts."""

_OPTIONS: Final = (
    click.argument("request", metavar="ID"),
    click.option("--digest", metavar="SHA256", help="The digest of the request as you were shown it."),
    click.option(
        "--seen",
        type=click.IntRange(min=0),
        help="The last answer you saw, as `indult show` gives it; with `--digest` 0, none, unless you say so.",
    ),
    by_option,
    click.option("--key-file", metavar="FILE", type=click.Path(path_type=Path), help="The private key to sign with."),
    click.option(
        "--passphrase-file", metavar="FILE", help="Where the passphrase of the key stands; `-` for the input."
    ),
    click.option("--agent", is_flag=True, help="Sign with the key that ssh-agent holds, and with no other."),
    db_option,
    law_option,
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


def check_actor() -> None:
    """Refuse to decide anything for whoever is at work; a courtesy, since a variable is easily unset.

    Raises:
        ApprovalError: The environment names an actor.
    """
    actor = os.environ.get(ACTOR)
    if actor:
        raise ApprovalError(
            f"`{actor}` is at work here ({ACTOR}), and who is at work does not decide",
            hint="a person decides elsewhere",
        )


def decide(
    choice: Choice,
    request: str,
    *,
    digest: str | None,
    seen: int | None,
    by: str | None,
    note: str,
    key_file: Path | None,
    passphrase_file: str | None,
    agent: bool,
    db: str | None,
    policy: str | None,
    as_json: bool,
    uses: int | None = None,
    expires: str | None = None,
) -> int | None:
    """Record one answer to one request, which is always named, and say what came of it; 1 if nothing was decided."""
    check_actor()
    law = policy_in_force(policy, db)
    keys = _Keys(file=key_file, passphrase=passphrase_file, agent=agent)
    keys.check(law)
    with open_ledger(db, create=False) as ledger:
        requests = Requests(ledger, law)
        shown = requests.standing(request)
        now = utc_now()
        decision = HumanDecision(
            id=new_id("d", time.time_ns() // 1_000_000, os.urandom(10)),
            request=shown.request.id,
            choice=choice,
            digest=shown.request.digest if digest is None else digest,
            seen=_seen(seen, digest, shown),
            by=os_user() if by is None else by,
            via=Via.CLI,
            at=now,
            uses=uses,
            expires_at=None if expires is None else moment(expires, now),
            note=note,
        )
        _foresee(decision, shown, law)
        asked = choice is Choice.APPROVE and digest is None
        if asked:
            if not _ask(requests, shown, law, decision.by, as_json=as_json):
                click.echo("\n".join(_undecided(shown.request.id)))
                return 1
            decision = replace(decision, at=utc_now())
        decision = keys.signed(decision, shown.request.scope, law)
        after = requests.decide(decision)
        if as_json:
            emit(standing_data(after, law, paragraphs(_boundary(requests, after, law), after, by=decision.by)))
        else:
            lines = [*_outcome(after, decision), *_next(requests, after, decision)]
            # Whoever was asked on the terminal has read what an unsigned answer is worth just now.
            click.echo("\n".join(map(printable, [*lines, *([] if asked else unsigned_note(law))])))
    return None


def _seen(given: int | None, digest: str | None, standing: Standing) -> int:
    """Return the version of the last decision that the decider saw.

    Whoever names a digest was shown the request elsewhere, nobody knows when: unless they say more, that was before
    anybody answered, and an answer since then is not overruled unseen.
    """
    if given is not None:
        return given
    return standing.seen if digest is None else 0


def _foresee(decision: HumanDecision, standing: Standing, policy: Policy) -> None:
    """Refuse a decision that cannot count before anybody reads a request or types a passphrase for it.

    Raises:
        ApprovalError: The class says why; that it is not signed yet is no reason.
    """
    with suppress(BadSignature):
        check_decision(decision, standing, policy, now=decision.at, verify=lambda key, payload, signature: True)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Keys:
    """Where the private key of whoever decides is, as the command line says."""

    file: Path | None
    passphrase: str | None
    agent: bool

    def check(self, policy: Policy) -> None:
        """Refuse options that contradict each other, or that would do nothing.

        Raises:
            UsageError: They do.
        """
        if self.agent and (self.file is not None or self.passphrase is not None):
            raise UsageError("`--agent` goes with neither `--key-file` nor `--passphrase-file`")
        if not policy.approvers and (self.agent or self.file is not None or self.passphrase is not None):
            raise UsageError(
                "nothing is signed under a policy that declares no approvers", hint="indult approver add NAME"
            )

    def signed(self, decision: HumanDecision, scope: Scope, policy: Policy) -> HumanDecision:
        """Return the decision with the signature of its approver, as it is where the policy declares none.

        Raises:
            ApprovalError: The private key is nowhere, or does not open.
        """
        line = policy.approvers.get(decision.by)
        if line is None:
            return decision
        from indult.keys import find_signer, read_passphrase
        from indult.signatures import parse_public_key
        from indult.sshagent import AgentSigner, agent_keys

        key = parse_public_key(line)
        if self.agent:
            if all(held.raw != key.raw for held in agent_keys()):
                raise ApprovalError(f"ssh-agent does not hold {key.fingerprint}", hint="ssh-add -c FILE")
            signer: Signer = AgentSigner(key)
        else:
            signer = find_signer(key, partial(read_passphrase, file=self.passphrase), key_file=self.file)
        return replace(decision, signature=signer.sign(decision.payload(scope)))


def _boundary(requests: Requests, standing: Standing, policy: Policy) -> Boundary:
    subject = standing.request.scope.subject
    return Boundary(policy=policy, subject=subject, grants=requests.live(subject))


def _ask(requests: Requests, standing: Standing, policy: Policy, by: str, *, as_json: bool) -> bool:
    """Show what would be opened and return whether it should be.

    Raises:
        UsageError: Nobody can be asked.
    """
    if as_json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            "without a terminal `approve` needs `--digest`",
            hint=f"read `indult show {standing.request.id}` and give the digest that it shows",
        )
    changes = paragraphs(_boundary(requests, standing, policy), standing, by=by)
    click.echo("\n".join(standing_lines(standing, policy, changes, utc_now())))
    if standing.grant is not None:
        click.echo(f"approved already: another approval takes the place of {standing.grant.id}")
    return click.confirm("Approve exactly this?")


def _undecided(request: str) -> list[str]:
    """Return what a person is told whose answer is no: that was none yet, and how to give one."""
    return [
        f"nothing was decided: {request} stays as it is",
        f"to refuse it: indult reject {request}",
        f"to answer with words: indult discuss {request} --note TEXT",
    ]


def _outcome(standing: Standing, decision: HumanDecision) -> list[str]:
    sign = "unsigned" if decision.signature is None else "signed"
    lines = [f"{_PAST[decision.choice]} {standing.request.id} by {decision.by} ({sign})"]
    if decision.choice is Choice.APPROVE and not standing.request.scope.targets:
        lines.append(f"opens {NOTHING}")
    elif standing.grant is not None:
        lines.append(f"grant {grant_line(standing.grant)}")
    elif decision.choice is Choice.APPROVE and standing.state is RequestState.OPEN:
        lines.append(f"{len(standing.approved_by)} of {standing.wanted} approvals: nothing is opened yet")
    return lines


def _next(requests: Requests, standing: Standing, decision: HumanDecision) -> list[str]:
    """Return what becomes of the signal that waited for this answer; nothing where more than it is needed for that."""
    heard = {
        Choice.APPROVE: standing.state is RequestState.APPROVED,
        Choice.DISCUSS: bool(decision.note.strip()),
        Choice.REJECT: True,
    }
    if not heard[decision.choice] or not waiting(requests, standing):
        return []
    return [f"next: {lead(standing, decision.choice)}"]


_PAST: Final = {Choice.APPROVE: "approved", Choice.DISCUSS: "discussed", Choice.REJECT: "rejected"}
