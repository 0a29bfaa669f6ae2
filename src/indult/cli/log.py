"""`indult log`: read the ledger, check it, fix it with anchors, and forget what must not be kept."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from indult.canonical import canonical
from indult.cli.frame import db_option, emit, json_option, printable
from indult.errors import ChainBroken, UsageError
from indult.ledger import open_ledger
from indult.ledger.audit import anchor_line, read_anchors

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from indult.ledger import Anchor, Event, Fault, Ledger, Verification

__all__ = ["command"]

POLL: Final = 0.2
"""Seconds between two looks of `--follow`."""

SHOWN: Final = 160
"""Characters of an event's data that its line of text shows."""


@click.group(
    name="log",
    invoke_without_command=True,
    help="List the newest events, oldest first; the other verbs check, anchor, rebuild and forget.",
)
@click.option("--stream", metavar="STREAM", help="Only events of this stream.")
@click.option("--kind", "kinds", metavar="KIND", multiple=True, help="Only events of this kind; may be given again.")
@click.option("--limit", type=click.IntRange(min=0), default=20, show_default=True, help="How many; 0 for all.")
@click.option("--follow", is_flag=True, help="Go on with what is written from now on, until Ctrl-C.")
@db_option
@json_option
@click.pass_context
def command(
    context: click.Context,
    *,
    stream: str | None,
    kinds: tuple[str, ...],
    limit: int,
    follow: bool,
    db: str | None,
    as_json: bool,
) -> None:
    """List events, unless a verb says otherwise."""
    # What stands before a verb is meant for it too.
    context.obj = {"db": db, "as_json": as_json}
    if context.invoked_subcommand is not None:
        return
    with open_ledger(db, read_only=True) as ledger:
        reached = 0
        for event in _newest(ledger, stream, kinds or None, limit):
            reached = event.position
            _show(event, as_json=as_json)
        if follow:
            _follow(ledger, stream, kinds or None, reached, as_json=as_json)


def _newest(ledger: Ledger, stream: str | None, kinds: tuple[str, ...] | None, limit: int) -> Iterator[Event]:
    """Iterate over the newest events, oldest first."""
    if limit == 0:
        return ledger.events(stream, kinds=kinds)
    newest = list(ledger.events(stream, kinds=kinds, limit=limit, newest_first=True))
    return iter(newest[::-1])


def _follow(ledger: Ledger, stream: str | None, kinds: tuple[str, ...] | None, after: int, *, as_json: bool) -> None:
    """Show what any process writes after a position, until Ctrl-C, which is a proper end."""
    # Read without the filters, so that the place reached moves on past what they leave out.
    seen = None
    try:
        while True:
            if seen != (now := ledger.data_version()):
                seen = now
                for event in ledger.events(after=after):
                    after = event.position
                    if stream in {None, event.stream} and (kinds is None or event.kind in kinds):
                        _show(event, as_json=as_json)
            time.sleep(POLL)
    except KeyboardInterrupt:
        return


def _show(event: Event, *, as_json: bool) -> None:
    if as_json:
        emit(event.to_dict())
        return
    text = _summary(event.data)
    shown = text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"
    click.echo(
        f"{event.position:>6}  {event.at}  {printable(event.stream)}/{event.version}  {printable(event.kind)}"
        f"  {printable(shown)}"
    )


def _summary(data: Mapping[str, Any]) -> str:
    """Return what a person looks for in an event: of a judgement the verdict, the tool and the reason, else the data."""
    judgement = data.get("judgement")
    if not isinstance(judgement, dict) or not {"verdict", "reason"} <= judgement.keys():
        return canonical(data)
    observed = "" if judgement.get("enforced", True) else " (observed only)"
    return f"{judgement['verdict']}{observed} {data.get('tool')}: {judgement['reason']}"


def _given(context: click.Context, db: str | None, as_json: bool) -> tuple[str | None, bool]:
    """Return ledger and form, given after the verb or before it."""
    before = context.obj or {}
    return db or before.get("db"), as_json or bool(before.get("as_json"))


@command.command(help="List the streams with the version of each.")
@click.option("--prefix", default="", metavar="TEXT", help="Only streams whose name begins so.")
@db_option
@json_option
@click.pass_context
def streams(context: click.Context, *, prefix: str, db: str | None, as_json: bool) -> None:
    """List the streams by name."""
    db, as_json = _given(context, db, as_json)
    with open_ledger(db, read_only=True) as ledger:
        for stream, version in ledger.streams(prefix):
            if as_json:
                emit({"stream": stream, "version": version})
            else:
                click.echo(f"{version:>6}  {printable(stream)}")


@command.command(
    short_help="Recompute everything and name the first broken event.",
    help="Recompute everything from the events and name the first broken one; exit 1 if there is any.",
)
@click.option("--anchor", "anchors", metavar="FILE", type=click.Path(), help="Compare with anchors kept elsewhere.")
@db_option
@json_option
@click.pass_context
def verify(context: click.Context, *, anchors: str | None, db: str | None, as_json: bool) -> int:
    """Check the ledger, without changing it."""
    db, as_json = _given(context, db, as_json)
    kept = [] if anchors is None else _read_anchors(anchors)
    with open_ledger(db, read_only=True) as ledger:
        found = ledger.verify(kept)
    if as_json:
        emit(found.to_dict())
        return 0 if found.ok else 1
    click.echo("\n".join(_report(found, len(kept))))
    if not found.ok:
        raise ChainBroken(
            f"the ledger does not verify: {found.faults[0].message}",
            hint="keep the file as it is for whoever looks into it, and restore a copy that verifies",
        )
    return 0


def _read_anchors(name: str) -> list[Anchor]:
    try:
        found = read_anchors(Path(name).read_text(encoding="utf-8"), name)
    except (OSError, UnicodeDecodeError) as exc:
        raise UsageError(f"cannot read `{name}`: {getattr(exc, 'strerror', None) or exc}") from exc
    if not found:
        raise UsageError(f"there is no anchor in `{name}`", hint=f"write one with `indult log anchor --to {name}`")
    return found


def _report(found: Verification, kept: int) -> Iterator[str]:
    """Yield what a person reads of a verification."""
    yield f"{found.events} events in {found.streams} streams, {found.bodies} bodies, {found.anchors} anchors"
    if found.forgotten:
        yield f"{_counted(found.forgotten, 'body', 'bodies')} forgotten"
    for fault in found.faults:
        yield f"broken ({fault.damage}): {printable(fault.message)}{_where(fault)}"
    if found.ok:
        yield "every hash, position, body and view is what the events say"
    if kept and found.ok:
        yield f"{_counted(kept, 'anchor agrees', 'anchors agree')}, up to position {found.anchored}"
    if found.blind is not None:
        yield f"not seen: {found.blind}"


def _counted(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _where(fault: Fault) -> str:
    return "" if fault.position is None else f" [{printable(str(fault.stream))}/{fault.version} at {fault.position}]"


@command.command(
    short_help="Record an anchor and add it to a file.",
    help="Record an anchor and add it to a file, to be kept where the ledger's writers cannot change it.",
)
@click.option("--to", "target", metavar="FILE", required=True, type=click.Path(), help="The anchor file, added to.")
@db_option
@json_option
@click.pass_context
def anchor(context: click.Context, *, target: str, db: str | None, as_json: bool) -> None:
    """Fix the log as it stands."""
    db, as_json = _given(context, db, as_json)
    with open_ledger(db, create=False) as ledger:
        try:
            # Opened first: an anchor in the ledger that stands in no file would be of no use.
            with open(target, "a", encoding="utf-8", opener=_private) as file:
                made = ledger.anchor()
                file.write(anchor_line(made))
                file.flush()
                os.fsync(file.fileno())
        except OSError as exc:
            raise UsageError(f"cannot write `{target}`: {(exc.strerror or str(exc)).lower()}") from exc
    if as_json:
        emit(made.to_dict())
    else:
        click.echo(f"anchored {_counted(made.position, 'event', 'events')} in `{target}`: {made.hash}")


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


@command.command(
    short_help="Fold the views again from the events.",
    help="Drop the views (counters, latest, kept) and fold them again from the events.",
)
@db_option
@json_option
@click.pass_context
def rebuild(context: click.Context, *, db: str | None, as_json: bool) -> None:
    """Make the views anew."""
    db, as_json = _given(context, db, as_json)
    with open_ledger(db, create=False) as ledger:
        folded = ledger.rebuild()
    _tell({"folded": folded}, f"folded {_counted(folded, 'event', 'events')}", as_json=as_json)


@command.command(
    short_help="Delete the text of a body for good.",
    help="Delete the text of a body for good; the chain still verifies, and an event tells of it.",
)
@click.argument("digest")
@db_option
@json_option
@click.pass_context
def forget(context: click.Context, *, digest: str, db: str | None, as_json: bool) -> None:
    """Forget a body."""
    db, as_json = _given(context, db, as_json)
    with open_ledger(db, create=False) as ledger:
        now = ledger.forget(digest)
    _tell(
        {"digest": digest, "forgotten": True, "now": now},
        f"forgot {digest}" if now else f"{digest} was forgotten before",
        as_json=as_json,
    )


def _tell(value: dict[str, Any], text: str, *, as_json: bool) -> None:
    if as_json:
        emit(value)
    else:
        click.echo(text)
