"""`indult ship`: land a branch if the gate allows every change in it."""

from __future__ import annotations

from itertools import islice
from shlex import join
from typing import TYPE_CHECKING, Any, Final

import click

from indult.autofix.signals import SignalState, find, move
from indult.cli.deciding import check_actor
from indult.cli.edge import say
from indult.cli.frame import db_option, emit, json_option, option, printable
from indult.cli.judging import CODES, FACTS, read_facts
from indult.cli.showing import paragraphs, standing_data
from indult.errors import IndultError, RunError, UnknownSignal, UsageError
from indult.gate import Requests
from indult.judgements import Verdict
from indult.ledger import open_ledger
from indult.places import repository_ledger
from indult.scopes import check_line
from indult.ship.git import Repository
from indult.ship.report import signal_subject
from indult.ship.ship import POLICY_FILE, Judged, Landed, Refused, Ship

if TYPE_CHECKING:
    from collections.abc import Iterator

    from indult.approvals import Standing

__all__ = ["command"]

MOST_LISTED: Final = 50
"""How many files are listed as text; `--json` gives all."""


@click.command(
    name="ship",
    short_help="Land a branch if the gate allows every change in it.",
    help="Land BRANCH in the branch `--into` if the gate allows every change in it, or say what stands in the way. Law "
    "and records come from the target branch and the ledger, never from BRANCH. Ends with 2 if any change is denied, "
    "with 4 if all that stands in the way needs a person's approval, with 1 if a check fails or a branch moved.",
)
@click.argument("branch")
@click.option("--into", metavar="TARGET", required=True, help="The branch that it would land in.")
@click.option(
    "--signal",
    multiple=True,
    metavar="ID",
    help="The signal that it answers, which has landed with it; of several, the first with an approval counts.",
)
@click.option("--subject", metavar="NAME", help="Another subject whose approvals count; by default `branch:BRANCH`.")
@click.option("--by", metavar="ACTOR", default="agent", show_default=True, help="Who ships.")
@click.option(
    "--repository", metavar="PATH", default=".", show_default=True, help="The repository, or a work tree of it."
)
@click.option(
    "--policy-file", metavar="NAME", default=POLICY_FILE, show_default=True, help="Where the policy lies in TARGET."
)
@option(FACTS)
@click.option(
    "--dry-run", is_flag=True, help="Judge, and say what would happen; nothing lands and nothing is recorded."
)
@click.option(
    "--hold", metavar="TEXT", help="If all it needs is an approval, ask for exactly this commit, saying TEXT."
)
@db_option
@json_option
def command(
    *,
    branch: str,
    into: str,
    signal: tuple[str, ...],
    subject: str | None,
    by: str,
    repository: str,
    policy_file: str,
    facts: str | None,
    dry_run: bool,
    hold: str | None,
    db: str | None,
    as_json: bool,
) -> int:
    """Ship a branch, and say what came of it."""
    if dry_run and hold is not None:
        raise UsageError("`--hold` asks a person, and `--dry-run` records nothing", hint="one of them at a time")
    _check_hold(hold)
    subjects = [signal_subject(name) for name in signal] + ([] if subject is None else [subject])
    with Repository.open(repository) as opened, open_ledger(db or repository_ledger(opened.root)) as ledger:
        ship = Ship(
            repository=opened,
            ledger=ledger,
            branch=branch,
            into=into,
            subjects=subjects,
            by=by,
            policy_file=policy_file,
        )
        ship.facts = read_facts(ship.policy(opened.head(into)), facts)
        if dry_run:
            return _foresee(ship, as_json=as_json)
        if hold is not None:
            judged = ship.judge()
            if not judged.allowed and judged.judgement.verdict is Verdict.ASK_USER:
                return _held(ship, judged, hold, as_json=as_json)
        came = ship.run()
        code = _tell(ship, came, as_json=as_json, hold=hold is not None)
        if isinstance(came, Landed) and not came.empty:
            for name in dict.fromkeys(signal):
                _settle(ship, came, name, as_json=as_json)
        return code


def _check_hold(text: str | None) -> None:
    """Refuse a question that no person could be asked, before anything is judged.

    Raises:
        UsageError: It is empty.
        ScopeError: It is not one plain line.
    """
    if text is None:
        return
    if not text.strip():
        raise UsageError("`--hold` takes a line that tells a person why", hint='--hold "the two go together"')
    check_line(text, "text of `--hold`")


def _tell(ship: Ship, came: Landed | Refused, *, as_json: bool, hold: bool = False) -> int:
    """Say what came of a ship and return the exit code; `hold` tells that a person was to be asked."""
    if as_json:
        emit(came.to_dict())
    elif isinstance(came, Refused):
        lines = [*_refused_lines(came)]
        if hold and came.verdict is Verdict.DENY:
            lines.append("nobody was asked: what is denied cannot be held")
        say(*map(printable, lines))
    else:
        say(*map(printable, _landed_lines(ship, came)))
    return _code(came)


def _settle(ship: Ship, came: Landed, name: str, *, as_json: bool) -> None:
    """Write that a signal is repaired which the branch answered, and take back what is asked for it; tell what fails.

    The branch has landed and that was said, so nothing here changes how the command ends. A signal that a fixer is at
    work on is left to its run, and whoever is at work says of no signal that it is repaired.
    """
    try:
        signal = find(ship.ledger, name)
    except UnknownSignal:
        return  # a name that only approvals know
    try:
        check_actor()
        if signal.state is SignalState.FIXING:
            raise RunError("a fixer is at work on it")
        if signal.state is not SignalState.LANDED:
            reason = f"landed {came.commit} in {ship.into}"
            move(
                ship.ledger,
                signal,
                SignalState.LANDED,
                reason=reason,
                expect_state=signal.state,
                more={"by": ship.by},
            )
        requests = Requests(ship.ledger, ship.policy(ship.repository.head(ship.into)))
        withdrawn = requests.withdraw(signal.subject, why=f"its repair landed as {came.commit}")
    except IndultError as exc:
        shown: dict[str, Any] = {"signal": name, "state": str(signal.state), "error": exc.message}
        line = f"the signal {name} stays {signal.state}: {exc.message}"
    else:
        shown = {"signal": name, "state": str(SignalState.LANDED), "withdrawn": withdrawn}
        questions = "1 question" if withdrawn == 1 else f"{withdrawn} questions"
        line = f"the signal {name} is landed" + (f", {questions} withdrawn" if withdrawn else "")
    if as_json:
        emit(shown)
    else:
        say(printable(line))


def _code(came: Landed | Refused) -> int:
    """Return 0 for what landed, the verdict's code for what the gate refused, and 1 for any other refusal."""
    if isinstance(came, Landed):
        return 0
    return 1 if came.verdict is None else CODES[came.verdict]


def _foresee(ship: Ship, *, as_json: bool) -> int:
    """Say what would come of a ship now; the checks are named and not run."""
    judged = ship.judge(recover=False)
    if judged.empty:
        return _tell(ship, Landed(commit=judged.onto, empty=True), as_json=as_json)
    if not judged.allowed:
        return _tell(ship, ship.refusal(judged), as_json=as_json)
    ship.ready(judged)
    ship.repository.complete(judged.onto, judged.head, judged.tree)
    checks = sorted(judged.policy.checks or ())
    if as_json:
        files, grants = list(judged.files), list(judged.judgement.grants)
        emit({"result": "would land", "head": judged.head, "files": files, "grants": grants, "checks": checks})
    else:
        lines = [f"would land {judged.head} in {ship.into}: {_files(judged.files)}", *_listed(judged.files)]
        lines += [f"would use {grant}" for grant in judged.judgement.grants]
        lines += [f"would run the check {name} first" for name in checks]
        say(*map(printable, lines))
    return 0


def _held(ship: Ship, judged: Judged, text: str, *, as_json: bool) -> int:
    """Refuse a branch, and ask a person for exactly its commit."""
    refused = ship.refuse(judged)
    standing = ship.hold(judged, change=text)
    if as_json:
        boundary = judged.gate.boundary()
        shown: dict[str, Any] = standing_data(standing, judged.policy, paragraphs(boundary, standing, by="a person"))
        emit({**refused.to_dict(), "held": shown})
    else:
        say(*map(printable, [*_refused_lines(refused, held=standing)]))
    return CODES[Verdict.ASK_USER]


def _landed_lines(ship: Ship, came: Landed) -> Iterator[str]:
    if came.empty:
        yield f"nothing to land: {ship.into} has all of {ship.branch}"
        return
    yield f"landed {came.commit} in {ship.into}: {_files(came.files)}"
    yield from _listed(came.files)
    for grant in came.grants:
        yield f"used {grant}"
    for worktree in came.behind:
        yield f"not brought up to date, since changes or filters are in the way: {worktree}"


def _refused_lines(came: Refused, held: Standing | None = None) -> Iterator[str]:
    yield "refused"
    yield from (f"  {line}" for line in came.lines)
    if came.failed is not None:
        yield f"  $ {join(came.failed.command)}"
        yield from (f"  | {line}" for line in came.failed.output.splitlines())
    if held is not None:
        yield f"{held.request.id} asks for exactly this commit: indult show {held.request.id}"
        return
    if came.asked:
        yield came.asked
    if came.verdict is Verdict.ASK_USER:
        yield "to ask a person for exactly this commit: --hold TEXT"


def _files(files: tuple[str, ...]) -> str:
    return "1 file" if len(files) == 1 else f"{len(files)} files"


def _listed(files: tuple[str, ...]) -> Iterator[str]:
    yield from (f"  {name}" for name in islice(files, MOST_LISTED))
    if len(files) > MOST_LISTED:
        yield f"  and {len(files) - MOST_LISTED} more"
