"""`indult report`: hand a signal back to a person, naming exactly what would have to be opened."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import click

from indult.canonical import parse_json
from indult.cli.frame import db_option, emit, json_option, law_option, printable, read_input
from indult.cli.judging import CODES
from indult.cli.law import policy_in_force
from indult.cli.showing import UNNAMED, card_lines, paragraphs, standing_data
from indult.errors import InputError, ScopeError, UsageError
from indult.gate import Gate
from indult.judgements import Verdict
from indult.ledger import open_ledger
from indult.ship.report import Report, hand_back, no_exception, signal_subject

if TYPE_CHECKING:
    from collections.abc import Iterator

    from indult.approvals import Standing

__all__ = ["command"]

_NAMED: Final = ("dependency", "version", "path")
"""The options that name an exception; with one of them, `--change` is that of the exception."""

_OPTIONS: Final = {
    "dependency": "--dependency NAME",
    "version": "--version VERSION",
    "paths": "--path PATH",
    "change": "--change TEXT",
}
"""A key of an exception -> the option that gives it."""

_HELP: Final = "`@FILE` for a file, `-` for standard input, or options: see `indult report --help`"


@click.command(
    name="report",
    short_help="Hand a signal back to a person, naming what would have to be opened.",
    help="Hand a signal back to a person: REPORT is a JSON object (`@FILE`, or `-` for standard input), or given by "
    "options. With a named exception, approving it opens exactly that one dependency change; without one, approving "
    "opens nothing. Older hand-backs of the signal are closed by it. Ends with 4: it waits for a person.",
)
@click.argument("report", required=False)
@click.option("--signal", metavar="ID", help="The signal that is handed back.")
@click.option("--by", metavar="ACTOR", help="Who hands it back; by default `agent`.")
@click.option(
    "--relaxes-constraint", is_flag=True, help="A limit would have to be relaxed; a must with a named exception."
)
@click.option("--title", metavar="TEXT", help="What it is about, in a few words.")
@click.option("--question", metavar="TEXT", help="What the person is asked, in one line.")
@click.option("--dependency", metavar="NAME", help="The named exception: its one dependency.")
@click.option(
    "--version", metavar="VERSION", help="The named exception: the version that it would have; `none` removes."
)
@click.option("--path", multiple=True, metavar="PATH", help="The named exception: a file that may change; repeat it.")
@click.option("--change", metavar="TEXT", help="What would be done, in one line.")
@click.option("--evidence", metavar="JSON", help="What was found, as JSON or as @FILE; kept, and opens nothing.")
@db_option
@law_option
@json_option
def command(*, report: str | None, db: str | None, policy: str | None, as_json: bool, **given: Any) -> int:
    """Open a request for what is handed back."""
    found = Report.from_dict(_read(report, {name: value for name, value in given.items() if value}))
    subject = signal_subject(found.signal)
    law = policy_in_force(policy, db)
    with open_ledger(db) as ledger:
        gate = Gate(law, ledger, subject)
        standing = hand_back(found, gate=gate)
        if as_json:
            emit(standing_data(standing, law, paragraphs(gate.boundary(), standing, by="a person")))
        else:
            click.echo("\n".join(printable(line) for line in _lines(standing)))
    return CODES[Verdict.ASK_USER]


def _read(report: str | None, given: Mapping[str, Any]) -> Any:
    """Return the JSON form of a report, from its text or from the options.

    Raises:
        UsageError: Both are there, which could be read in two ways.
        InputError: The text is no JSON.
    """
    if report is not None and given:
        name = next(iter(given)).replace("_", "-")
        raise UsageError(f"`--{name}` goes with no REPORT", hint="all in the JSON, or all in options")
    return _parsed(report) if not given else _from_options(given)


def _parsed(report: str | None) -> Any:
    """Read the JSON of a report, from standard input where none is given."""
    if report is None and sys.stdin.isatty():
        # Nobody types JSON into a command that says nothing.
        raise UsageError("a report is neither given nor piped", hint=_HELP)
    try:
        return parse_json(read_input("-" if report is None else report), name="report")
    except InputError as exc:
        if report is None or report[:1] in {"-", "@", "{"}:
            raise
        raise InputError(
            exc.message, hint=_HELP.replace("FILE", report, 1) if report.endswith(".json") else _HELP
        ) from exc


def _from_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON form of what the options say.

    Raises:
        InputError: One of them is missing; the hint names it.
        ScopeError: They name an exception, and do not say that a limit would be relaxed.
    """
    if "signal" not in given:
        raise InputError("a report has no `signal`", hint="--signal ID")
    named = {name: given[name] for name in _NAMED if name in given}
    card = {name: given[name] for name in ("title", "question") if name in given}
    data = {name: given[name] for name in ("signal", "relaxes_constraint") if name in given}
    data["by"] = given.get("by", "agent")
    if named:
        data["dependency_exception"] = _exception(given)
    elif "change" in given:
        card["change"] = given["change"]
    if "evidence" in given:
        data["evidence"] = parse_json(read_input(given["evidence"]), name="evidence")
    return {**data, "card": card}


def _exception(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON form of the exception that the options name."""
    exception = {name: given[name] for name in ("dependency", "version", "change") if name in given}
    if "path" in given:
        exception["paths"] = list(given["path"])
    missing = [option for name, option in _OPTIONS.items() if name not in exception]
    if missing:
        raise no_exception(exception, hint=" ".join(missing))
    if "relaxes_constraint" not in given:
        raise ScopeError(
            "`dependency_exception` goes with relaxes_constraint: only a person can open anything",
            hint="--relaxes-constraint",
        )
    return exception


def _lines(standing: Standing) -> Iterator[str]:
    request, scope = standing.request, standing.request.scope
    yield f"{request.id}  {standing.state}"
    for line in card_lines(request.card):
        yield f"  card     {line}"
    for word in scope.words():
        yield f"  opens    {word}"
    if scope.rules:
        yield f"  under    {', '.join(scope.rules)}"
    if not scope.targets:
        yield f"  opens    {UNNAMED}"
    if request.supersedes is not None:
        yield f"  closes   {request.supersedes}"
    yield f"  digest   {request.digest}"
    yield f"  look     indult show {request.id}"
    yield f"  answer   indult approve {request.id}"
    yield f"           indult discuss {request.id} --note TEXT"
    yield f"           indult reject {request.id}"
