"""`indult signal`: tell what goes wrong, and see what is known of it and what is made of it."""

from __future__ import annotations

import sys
from contextlib import ExitStack, suppress
from itertools import chain
from signal import SIGINT
from signal import signal as handle
from typing import TYPE_CHECKING, BinaryIO, Final

import click

from indult.autofix.friction import gather
from indult.autofix.junit import read_junit
from indult.autofix.logs import Ends, compiled, read_log
from indult.autofix.signals import Sighting, SignalState, find, ingest, move, signals, tally
from indult.cli.deciding import by_option, check_actor, os_user
from indult.cli.frame import db_option, emit, json_option, printable
from indult.cli.history import data_of, history, told
from indult.cli.law import policy_in_force
from indult.cli.showing import age
from indult.errors import RunError, UsageError
from indult.gate import Requests, index
from indult.gate.requests import asked_stream
from indult.ledger import open_ledger, utc_now

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from indult.autofix.signals import Ingested, Signal
    from indult.ledger import Ledger

__all__ = ["command"]

_KIND: Final = "note"
_PIECE: Final = 65_536
_QUIET: Final = (SignalState.LANDED, SignalState.IGNORED)
"""States of which nothing is to be done; they are listed where they are asked for."""

_HEADING: Final = f"{'ID':<14}  {'STATE':<11}  {'SEEN':>5}  {'LAST':>4}  {'KIND':<9}  SUMMARY"


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


@command.command(
    name="list",
    help="List the signals, what matters most first and then what waits longest. Those that landed or are ignored are "
    "only counted, unless they are asked for.",
)
@click.option(
    "--state",
    "states",
    metavar="STATE",
    multiple=True,
    type=click.Choice([state.value for state in SignalState]),
    help="Only signals in this state; may be given again.",
)
@click.option("--all", "everything", is_flag=True, help="Those that landed or are ignored, too.")
@db_option
@json_option
def list_signals(*, states: tuple[str, ...], everything: bool, db: str | None, as_json: bool) -> None:
    """Print one line per signal."""
    if states and everything:
        raise UsageError("`--state` picks signals, and `--all` takes all", hint="one of them at a time")
    picked = tuple(map(SignalState, states)) or tuple(SignalState)
    quiet = () if states or everything else _QUIET
    shown = 0
    with open_ledger(db, read_only=True) as ledger:
        now = utc_now()
        for signal in signals(ledger, *(state for state in picked if state not in quiet)):
            if not shown and not as_json and sys.stdout.isatty():
                click.echo(_HEADING)
            shown += 1
            if as_json:
                emit(signal.to_dict())
            else:
                click.echo(_line(signal, now))
        left = {state: count for state, count in tally(ledger).items() if count and state in quiet}
    if as_json:
        return
    if not shown:
        click.echo(f"no signal is {' or '.join(states)}" if states else "no signal")
    if left:
        # Beside the list: whoever reads it line by line gets signals only.
        counted = " and ".join(f"{left[state]} {state}" for state in quiet if state in left)
        click.echo(f"not shown: {counted} (--all)", err=True)


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
        events, judged = history(ledger, signal)
        requests = _requests(ledger, signal)
    if as_json:
        rows = [{"at": event.at, "kind": event.kind, **data_of(event)} for event in events]
        emit({**signal.to_dict(), "evidence": evidence, "history": rows, "judged": judged, "requests": requests})
        return
    click.echo("\n".join(_shown(signal)))
    for request, state in requests.items():
        click.echo(f"request     {printable(request)} ({state}): indult show {printable(request)}")
    if signal.turns or signal.state is SignalState.FIXING:
        click.echo(f"turns       indult autofix show {signal.id}")
    if signal.state is SignalState.NEEDS_HUMAN and "open" not in requests.values():
        click.echo(f"your word   indult signal move {signal.id} --state fix|ignored|landed --reason TEXT")
    for event in events:
        click.echo(f"{event.at}  {told(event)}")
    if judged:
        told_of = "1 judgement" if judged == 1 else f"{judged} judgements"
        click.echo(
            f"{told_of} of its fixers' calls and branches: indult log --stream {signal.subject} --kind judgement"
        )
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
    if signal.count == 1:
        yield f"seen        once, {signal.seen_at}"
    else:
        yield f"seen        {signal.count} times, first {signal.first_at}, last {signal.seen_at}"
    if signal.priority or signal.rule:
        yield f"priority    {signal.priority}{f' by {printable(signal.rule)}' if signal.rule else ''}"
    if signal.turns or signal.ended_at:
        calls = "1 call" if signal.turns == 1 else f"{signal.turns} calls"
        yield f"fixers      {calls}{f', the last fix ended {signal.ended_at}' if signal.ended_at else ''}"
    yield f"fingerprint {signal.fingerprint}"


def _requests(ledger: Ledger, signal: Signal) -> dict[str, str]:
    """Return the requests that hand-backs of a signal opened, and those that wait: id -> `open` or `closed`."""
    opened = ledger.recall(index.opened(signal.subject))
    handed = [str(event.data["request"]) for event in ledger.events(signal.subject, kinds={"handed_back"})]
    return {name: "open" if name in opened else "closed" for name in dict.fromkeys([*handed, *opened])}


@command.command(
    name="move",
    short_help="Say what is to become of a signal.",
    help="Say what is to become of a signal, whatever was made of it: `fix` takes it up again, `needs-human` leaves it to "
    "a person, `ignored` only counts it, `landed` says that it is repaired, and `new` lets triage decide. What is asked "
    "for one that is `ignored` or `landed` is withdrawn. While a fixer is at work on it, nothing is moved.",
    epilog='For instance: indult signal move s_0123456789ab --state fix --reason "the mirror is up again"',
)
@click.argument("name", metavar="ID")
@click.option(
    "--state",
    metavar="STATE",
    required=True,
    type=click.Choice([state.value for state in SignalState if state is not SignalState.FIXING]),
    help="What becomes of it.",
)
@click.option("--reason", metavar="TEXT", required=True, help="Why; it is told wherever the signal is shown.")
@by_option
@db_option
@json_option
def move_signal(*, name: str, state: str, reason: str, by: str | None, db: str | None, as_json: bool) -> None:
    """Move a signal as a person decided."""
    check_actor()
    if not reason.strip():
        raise UsageError("`--reason` is empty", hint='--reason "the mirror is up again"')
    with open_ledger(db, create=False) as ledger:
        before = find(ledger, name)
        if before.state is SignalState.FIXING:
            raise RunError(
                f"a fixer is at work on the signal `{name}`",
                hint="see `indult autofix status`; `indult autofix stop` ends it, and `resume` clears up what was killed",
            )
        quiet = SignalState(state) in _QUIET
        # Read first: a law that cannot be read keeps nothing half done.
        law = policy_in_force(None, db) if quiet and ledger.last(asked_stream(before.subject)) is not None else None
        who = os_user() if by is None else by
        moved = move(ledger, before, SignalState(state), reason=reason, more={"by": who}, expect_state=before.state)
        withdrawn = 0
        if law is not None:
            withdrawn = Requests(ledger, law).withdraw(before.subject, why=f"a person moved the signal to {state}")
    if as_json:
        emit({**moved.to_dict(), "before": before.state.value, "by": who, "withdrawn": withdrawn})
        return
    click.echo(printable(f"{moved.id}  {before.state} -> {moved.state}: {moved.reason}"))
    if moved.state is SignalState.FIX:
        click.echo("the next `indult autofix run` takes it up")
    if withdrawn:
        click.echo("1 question withdrawn" if withdrawn == 1 else f"{withdrawn} questions withdrawn")
