"""`indult requests`: list the questions that wait for a person, and follow what comes of them."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import click

from indult.approvals import HumanDecision
from indult.cli.frame import db_option, emit, json_option, law_option, printable
from indult.cli.showing import reading, request_line, row, tell_damaged, tell_nothing
from indult.errors import ForgedRecord, IndultError
from indult.ledger import utc_now

if TYPE_CHECKING:
    from indult.approvals import Standing
    from indult.gate import Requests
    from indult.ledger import Event, Ledger
    from indult.policy import Policy

__all__ = ["command"]

POLL: Final = 0.2
"""Seconds between two looks of `--watch`."""

_STREAM: Final = "request:"

_SAYS: Final = {
    "reserved": "is used",
    "returned": "is not used after all",
    "revoked": "is revoked",
    "superseded": "is superseded",
    "expired": "is over",
    "withdrawn": "is withdrawn",
}
"""Kind of an event -> what a line of `--watch` says of it; decisions say it themselves."""


@click.command(
    name="requests",
    short_help="List the questions that wait for a person.",
    help="List the open requests, oldest first: id, age, state, whether decisions on it are signed, subject and title.",
)
@click.option("--subject", metavar="NAME", help="Only the requests of this subject.")
@click.option("--all", "everything", is_flag=True, help="Those that are closed, too.")
@click.option("--watch", is_flag=True, help="Go on with new requests and answers, whoever writes them, until Ctrl-C.")
@db_option
@law_option
@json_option
def command(
    *, subject: str | None, everything: bool, watch: bool, db: str | None, policy: str | None, as_json: bool
) -> int | None:
    """Print one line per request."""
    damaged = 0
    with reading(db, policy, create=watch) as (ledger, requests, law):
        view = _View(requests=requests, policy=law, subject=subject, as_json=as_json)
        shown = 0
        after = _end(ledger)
        if everything:
            for stream, _ in ledger.streams(_STREAM):
                damaged += not view.list(stream.removeprefix(_STREAM))
                shown += 1
        else:
            for standing in requests.pending(subject):
                view.show(standing)
                shown += 1
            damaged = view.damaged(*requests.forged(subject))
        if not shown and not damaged and not watch and not as_json:
            tell_nothing("no request" if everything else "no open request", subject)
        if watch:
            _follow(ledger, view, after)
    return 1 if damaged else None


@dataclass(frozen=True, slots=True, kw_only=True)
class _View:
    """Shows requests of one subject, or of all, in one form."""

    requests: Requests
    policy: Policy
    subject: str | None
    as_json: bool

    def show(self, standing: Standing) -> None:
        """Print a request as it stands."""
        if self.subject not in {None, standing.request.scope.subject}:
            return
        if self.as_json:
            emit(row(standing, self.policy))
        else:
            click.echo(request_line(standing, self.policy, utc_now()))

    def list(self, name: str) -> bool:
        """Print the request of a name; false if its record is damaged."""
        try:
            standing = self.requests.standing(name)
        except ForgedRecord as exc:
            self.damaged(exc)
            return False
        self.show(standing)
        return True

    def tell(self, event: Event) -> None:
        """Print what has just happened to a request."""
        name = event.stream.removeprefix(_STREAM)
        try:
            standing = self.requests.standing(name)
            said = _said(event)
        except ForgedRecord as exc:
            self.damaged(exc)
            return
        if self.subject not in {None, standing.request.scope.subject}:
            return
        if self.as_json:
            emit({"event": event.kind, "at": event.at, **row(standing, self.policy)})
        elif event.kind == "request_opened":
            self.show(standing)
        else:
            click.echo(printable(f"{name}  {said}"))

    def damaged(self, *errors: IndultError) -> int:
        """Say which records open nothing since they are damaged, and return how many."""
        tell_damaged(errors, as_json=self.as_json)
        return len(errors)


def _said(event: Event) -> str:
    if event.kind == "withdrawn":
        return f"{_SAYS[event.kind]}: {event.data.get('why')}"
    if event.kind != "decided":
        return _SAYS.get(event.kind, event.kind)
    decision = HumanDecision.from_dict(event.data["decision"])
    sign = "unsigned" if decision.signature is None else "signed"
    return f"{decision.choice} by {decision.by} ({sign})" + (f": {decision.note}" if decision.note else "")


def _end(ledger: Ledger) -> int:
    """Return the position of the last event."""
    return next((event.position for event in ledger.events(limit=1, newest_first=True)), 0)


def _follow(ledger: Ledger, view: _View, after: int) -> None:
    """Show what any process asks or answers after a position, until Ctrl-C, which is a proper end."""
    seen = None
    try:
        while True:
            if seen != (now := ledger.data_version()):
                seen = now
                for event in ledger.events(after=after):
                    after = event.position
                    if event.stream.startswith(_STREAM):
                        view.tell(event)
            time.sleep(POLL)
    except KeyboardInterrupt:
        return
