"""`indult signal`: tell what goes wrong, and see what is known of it and what is made of it."""

from __future__ import annotations

import sys
from contextlib import ExitStack, suppress
from itertools import chain
from signal import SIGINT
from signal import signal as handle
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import click

from indult.autofix.friction import gather
from indult.autofix.junit import read_junit
from indult.autofix.logs import Ends, compiled, read_log
from indult.autofix.signals import Sighting, SignalState, find, ingest, signals
from indult.canonical import canonical
from indult.cli.frame import db_option, emit, json_option, printable
from indult.cli.showing import age
from indult.errors import UsageError
from indult.gate import index
from indult.ledger import open_ledger, utc_now

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from indult.autofix.signals import Ingested, Signal
    from indult.ledger import Event, Ledger

__all__ = ["command"]

HISTORY: Final = 200
"""How many of the newest events of a signal are shown, its sightings aside."""

SHOWN: Final = 160
"""Characters of an event's data that its line of text shows."""

_KIND: Final = "note"
_PIECE: Final = 65_536
_VIEWS: Final = frozenset({"bodies", "clear", "counts", "keep", "latest"})


@click.group(name="signal", help="Tell what goes wrong, and see what is known of it and what is made of it.")
def command() -> None:
    """Group the verbs of signals."""


@command.command(
    short_help="Tell of something that went wrong.",
    help="Tell of something that went wrong: SUMMARY in one line, or what a test report, a log or the ledger holds. "
    "Whatever is the same again is one signal, that counts how often it is seen.",
)
@click.argument("summary", required=False)
@click.option("--kind", metavar="WORD", help="What kind of thing it is; `note` by default, `log` of a log.")
@click.option("--source", metavar="TEXT", help="Where it was seen: a file, a command, a service.")
@click.option("--detail", metavar="TEXT", help="Evidence: text, `@FILE`, or `-` for standard input.")
@click.option("--key", metavar="TEXT", help="What makes it the same again; by default the summary.")
@click.option("--times", metavar="N", type=int, help="How often it was seen; 1 by default.")
@click.option("--junit", "reports", metavar="FILE", multiple=True, help="Each failed test of a JUnit report.")
@click.option(
    "--log", metavar="FILE", help="Each line of a log that matches; `-` for standard input, until its end or Ctrl-C."
)
@click.option("--pattern", metavar="REGEX", help="What is looked for in the log (RE2); its group `key` is the key.")
@click.option("--from-ledger", is_flag=True, help="Repeated denials, low grades in a row and stalled runs.")
@db_option
@json_option
def add(
    *,
    summary: str | None,
    kind: str | None,
    source: str | None,
    detail: str | None,
    key: str | None,
    times: int | None,
    reports: tuple[str, ...],
    log: str | None,
    pattern: str | None,
    from_ledger: bool,
    db: str | None,
    as_json: bool,
) -> None:
    """Make signals of what is given, and say what became of it."""
    given = {"--detail": detail, "--key": key, "--times": times}
    _check(given, summary=summary, kind=kind, source=source, log=log, pattern=pattern)
    if summary is None and not reports and log is None and not from_ledger:
        raise UsageError(
            "nothing to tell of", hint="SUMMARY, --junit FILE, --log FILE --pattern REGEX or --from-ledger"
        )
    with ExitStack() as stack:
        parts: list[Iterable[Sighting]] = []
        if summary is not None:
            told = {"source": source or "", "detail": _evidence(detail), "key": key or ""}
            parts.append([Sighting(kind=kind or _KIND, summary=summary, times=1 if times is None else times, **told)])
        # All reports are read to their end before anything of one counts.
        parts.extend([_checked(read_junit(_opened(name, stack), name=name)) for name in reports])
        if log is not None and pattern is not None:
            compiled(pattern)
            file = sys.stdin.buffer if log == "-" else _opened(log, stack)
            named = source or ("" if log == "-" else log)
            parts.append(_until_interrupted(read_log(file, pattern, source=named, kind=kind or "log")))
        with open_ledger(db) as ledger:
            found = [ingest(ledger, chain.from_iterable(parts))] if parts else []
            found += [gather(ledger)] if from_ledger else []
    _tell(found, as_json=as_json)


def _check(
    given: Mapping[str, object],
    *,
    summary: str | None,
    kind: str | None,
    source: str | None,
    log: str | None,
    pattern: str | None,
) -> None:
    """Refuse options that would say nothing."""
    if summary is None:
        for name, value in given.items():
            if value is not None:
                raise UsageError(f"`{name}` goes with SUMMARY")
        if log is None and (kind is not None or source is not None):
            raise UsageError(f"`{'--kind' if kind is not None else '--source'}` goes with SUMMARY or `--log`")
    if (log is None) != (pattern is None):
        raise UsageError("`--log` and `--pattern` go together", hint="--log app.log --pattern ' ERROR .*'")


def _opened(name: str, stack: ExitStack) -> BinaryIO:
    try:
        return stack.enter_context(open(name, "rb"))
    except OSError as exc:
        raise UsageError(f"cannot read `{name}`: {(exc.strerror or str(exc)).lower()}") from exc


def _checked(sightings: Iterator[Sighting]) -> Iterator[Sighting]:
    """Return what a report tells of, once it was found to be one."""
    try:
        first = list(_first(sightings))
    except OSError as exc:
        raise UsageError(f"cannot read a report: {(exc.strerror or str(exc)).lower()}") from exc
    return chain(first, sightings)


def _first(sightings: Iterator[Sighting]) -> Iterator[Sighting]:
    for sighting in sightings:
        yield sighting
        return


def _until_interrupted(sightings: Iterator[Sighting]) -> Iterator[Sighting]:
    """Yield what a log tells of; Ctrl-C is a proper end of one that is followed, and what was read by then counts."""
    reading = stopped = False

    def stop(*_: object) -> None:
        nonlocal stopped
        stopped = True
        # What is being written is written to its end.
        if reading:
            raise KeyboardInterrupt

    before = handle(SIGINT, stop)
    try:
        with suppress(KeyboardInterrupt, StopIteration):
            while not stopped:
                reading = True
                sighting = next(sightings)
                reading = False
                yield sighting
    finally:
        handle(SIGINT, before)


def _evidence(given: str | None) -> str:
    """Return what `--detail` stands for; of a file of any length both ends."""
    if given is None or (given != "-" and not given.startswith("@")):
        return given or ""
    ends = Ends()
    with ExitStack() as stack:
        file = sys.stdin.buffer if given == "-" else _opened(given[1:], stack)
        while data := file.read(_PIECE):
            ends.add(data)
    return ends.text()


def _tell(found: list[Ingested], *, as_json: bool) -> None:
    ids = list(dict.fromkeys(name for one in found for name in one.ids))
    numbers = {name: sum(getattr(one, name) for one in found) for name in ("new", "again", "reopened")}
    if as_json:
        emit({**numbers, "ids": ids})
        return
    line = f"{numbers['new']} new, {numbers['again']} seen again, {numbers['reopened']} new again after a fix"
    click.echo(f"{ids[0]}: {line}" if len(ids) == 1 else line)


@command.command(name="list", help="List the signals, what matters most first and then what waits longest.")
@click.option(
    "--state",
    "states",
    metavar="STATE",
    multiple=True,
    type=click.Choice([state.value for state in SignalState]),
    help="Only signals in this state; may be given again.",
)
@db_option
@json_option
def list_signals(*, states: tuple[str, ...], db: str | None, as_json: bool) -> None:
    """Print one line per signal."""
    shown = 0
    with open_ledger(db, read_only=True) as ledger:
        now = utc_now()
        for signal in signals(ledger, *map(SignalState, states)):
            shown += 1
            if as_json:
                emit(signal.to_dict())
            else:
                click.echo(_line(signal, now))
    if not shown and not as_json:
        click.echo("no signal" if not states else f"no signal is {' or '.join(states)}")


def _line(signal: Signal, now: str) -> str:
    when = age(signal.seen_at, max(now, signal.seen_at))
    return (
        f"{signal.id}  {signal.state:<11}  {signal.count:>4}x  {when:>4}  {printable(signal.kind):<9}"
        f"  {printable(signal.summary)}"
    )


@command.command(help="Show all that is known of one signal: what is made of it and why, evidence, history, requests.")
@click.argument("name", metavar="ID")
@db_option
@json_option
def show(*, name: str, db: str | None, as_json: bool) -> None:
    """Print a signal in full."""
    with open_ledger(db, read_only=True) as ledger:
        signal = find(ledger, name)
        evidence = None if signal.detail is None else ledger.body(signal.detail)
        history, judged = _history(ledger, signal)
        requests = _requests(ledger, signal)
    if as_json:
        rows = [{"at": event.at, "kind": event.kind, **_data(event)} for event in history]
        emit({**signal.to_dict(), "evidence": evidence, "history": rows, "judged": judged, "requests": requests})
        return
    click.echo("\n".join(_shown(signal)))
    for request, state in requests.items():
        click.echo(f"request     {printable(request)} ({state}): indult show {printable(request)}")
    for event in history:
        click.echo(f"{event.at}  {_told(event)}")
    if judged:
        click.echo(f"{judged} calls of its fixers were judged: indult log --stream {signal.subject} --kind judgement")
    if signal.detail is not None:
        lines = ["(forgotten)"] if evidence is None else evidence.split("\n")
        click.echo("evidence, as it was given:")
        # Set in, so that no line of it can pass for one of ours.
        click.echo("\n".join(f"  | {printable(line)}" for line in lines))


def _shown(signal: Signal) -> Iterator[str]:
    """Yield the lines of what is known of a signal itself."""
    yield f"signal      {signal.id}"
    yield f"summary     {printable(signal.summary)}"
    yield f"kind        {printable(signal.kind)}"
    if signal.source:
        yield f"source      {printable(signal.source)}"
    yield f"state       {signal.state}: {printable(signal.reason)}"
    yield f"seen        {signal.count} times, first {signal.first_at}, last {signal.seen_at}"
    if signal.priority or signal.rule:
        yield f"priority    {signal.priority}{f' by {printable(signal.rule)}' if signal.rule else ''}"
    if signal.turns or signal.ended_at:
        yield f"fixers      {signal.turns} calls{f', the last fix ended {signal.ended_at}' if signal.ended_at else ''}"
    yield f"fingerprint {signal.fingerprint}"


def _history(ledger: Ledger, signal: Signal) -> tuple[list[Event], int]:
    """Return the newest events of a signal, oldest first, and how many judgements there are; sightings are counted."""
    newest: list[Event] = []
    judged = 0
    for event in ledger.events(signal.subject, newest_first=True):
        if event.kind == "judgement":
            judged += 1
        elif event.kind != "signal_seen" and len(newest) < HISTORY:
            newest.append(event)
    return newest[::-1], judged


def _requests(ledger: Ledger, signal: Signal) -> dict[str, str]:
    """Return the requests that hand-backs of a signal opened, and those that wait: id -> `open` or `closed`."""
    opened = ledger.recall(index.opened(signal.subject))
    handed = [str(event.data["request"]) for event in ledger.events(signal.subject, kinds={"handed_back"})]
    return {name: "open" if name in opened else "closed" for name in dict.fromkeys([*handed, *opened])}


def _data(event: Event) -> dict[str, Any]:
    return {name: value for name, value in event.data.items() if name not in _VIEWS}


def _told(event: Event) -> str:
    """Return an event in one line: of a move what it was from, to and why."""
    data = _data(event)
    if {"before", "state", "reason"} <= data.keys():
        return printable(f"{event.kind}  {data['before']} -> {data['state']}: {data['reason']}")
    text = canonical(data)
    return printable(f"{event.kind}  {text if len(text) <= SHOWN else f'{text[: SHOWN - 1]}…'}")
