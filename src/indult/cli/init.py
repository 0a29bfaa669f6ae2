"""`indult init`: set indult up in a repository, and undo that."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click

from indult.cli.deciding import os_user
from indult.cli.frame import emit, json_option, printable
from indult.cli.plain import DATABASE
from indult.errors import UsageError
from indult.ledger import open_ledger
from indult.places import POLICY, repository
from indult.policy import loads_policy
from indult.setup.harnesses import ENTRIES
from indult.setup.importing import SOURCES
from indult.setup.install import Plan, journal_place, ledger_of, plan
from indult.setup.undo import undo
from indult.setup.writing import Change, Journal, digest, read_journal, write
from indult.trust import record_trust, trusted

__all__ = ["command"]

_WAITING: Final = 4
"""The exit code where a policy that was there already waits for a person to trust it."""


@click.command(
    name="init",
    short_help="Set indult up in this repository: policy, hooks, ledger, trust.",
    help="Set indult up in the repository that you stand in. A policy is written where there is none, the hooks of the "
    "agents that are used here are added to their files, the ledger is made outside of the work tree, and the policy that "
    "was written is recorded as trusted. A second run changes nothing.",
)
@click.option(
    "--harness",
    "harnesses",
    multiple=True,
    type=click.Choice(list(ENTRIES)),
    help="An agent to write hooks for, instead of those that are found; may be given more than once.",
)
@click.option(
    "--import", "source", type=click.Choice(list(SOURCES)), help="Translate the permissions of this agent into rules."
)
@click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
@click.option("--undo", "undoing", is_flag=True, help="Restore exactly what was there before.")
@json_option
def command(*, harnesses: tuple[str, ...], source: str | None, dry_run: bool, undoing: bool, as_json: bool) -> int:
    """Plan, write, trust; or restore."""
    root = repository(".")
    if root is None:
        raise UsageError("this is no repository", hint="git init")
    ledger = ledger_of(root, os.environ.get(DATABASE) or None)
    journal = read_journal(journal_place(root), root)
    if undoing:
        if harnesses or source:
            raise UsageError("`--undo` takes back all of it, so it goes with no other option but `--dry-run`")
        return _undo(journal, dry_run=dry_run, as_json=as_json)
    found = plan(root, harnesses=harnesses, source=source)
    if dry_run:
        _show(found, as_json=as_json)
        return 0
    _write(journal, found, ledger)
    waiting = _trust(journal, ledger)
    _tell(found, ledger, waiting, as_json=as_json)
    return _WAITING if waiting else 0


def _write(journal: Journal, found: Plan, ledger: str) -> None:
    """Write the files, and make the ledger."""
    if "://" not in ledger and not os.path.lexists(ledger):
        journal.ledger = ledger
    write(journal, found.changes)
    with open_ledger(ledger):
        pass
    if journal.ledger is not None:
        journal.save()


def _trust(journal: Journal, ledger: str) -> str:
    """Record trust in the policy that a setup wrote; return what holds where a person has to look at it first."""
    path = os.path.join(journal.root, POLICY)  # noqa: PTH118
    # Read once: what is trusted is what was compared.
    content = Path(path).read_bytes()
    policy = loads_policy(content, source=POLICY)
    with open_ledger(ledger) as opened:
        record = trusted(path, opened)
        if record is not None and record.digest == policy.digest:
            return ""
        # A file that stood there before, or that somebody wrote after a person trusted another one, is nobody's wish yet.
        if record is not None:
            return "is not the version that is trusted, and until it is the stricter of both holds"
        if journal.left(POLICY) != digest(content):
            return "was there already, and until you trust it all holds that it says, and any change to it"
        record_trust(path, policy, opened, by=os_user())
    return ""


def _tell(found: Plan, ledger: str, waiting: str, *, as_json: bool) -> None:
    rows = [{"path": change.path, "done": _done(change)} for change in found.changes]
    if as_json:
        emit(
            {
                **found.found.to_dict(),
                "harnesses": found.harnesses,
                "files": rows,
                "ledger": ledger,
                "trusted": not waiting,
                "imported": [line.to_dict() for line in found.imported.lines],
                "notes": found.notes,
            }
        )
        return
    click.echo("\n".join(printable(line) for line in _lines(found, rows, ledger, waiting)))


def _lines(found: Plan, rows: list[dict[str, str]], ledger: str, waiting: str) -> Iterator[str]:
    yield f"repository  {found.found.root}"
    for name in ("languages", "tests"):
        values: tuple[str, ...] = getattr(found.found, name)
        if values:
            yield f"{name:<11} {', '.join(values)}"
    for row in rows:
        yield f"{row['done']:<11} {row['path']}"
    yield f"ledger      {ledger}"
    yield from (f"import      {line.text}" for line in found.imported.lines)
    if found.by_hand:
        yield f"{POLICY} is there already; these rules can be added to it by hand:"
        yield from found.by_hand.splitlines()
    yield from (f"note        {note}" for note in found.notes)
    if not waiting:
        yield f"trusted     {POLICY}"
        yield "next        indult doctor; indult brief --write AGENTS.md"
    else:
        yield f"not trusted {POLICY} {waiting}; look at it: indult trust"


def _show(found: Plan, *, as_json: bool) -> None:
    for change in found.changes:
        if as_json:
            emit({"path": change.path, "done": f"would be {_done(change)}", "diff": "".join(_diff(change))})
        else:
            click.echo(f"{change.path}: would be {_done(change)}")
            click.echo("".join(printable(line.rstrip("\n")) + "\n" for line in _diff(change)), nl=False)
    for line in found.imported.lines:
        if as_json:
            emit(line.to_dict())
        else:
            click.echo(printable(line.text))
    for note in found.notes:
        if as_json:
            emit({"note": note})
        else:
            click.echo(printable(f"note: {note}"))
    if not as_json and not found.imported.lines and not any(change.needed for change in found.changes):
        click.echo("nothing to do: all that would be written is there already")


def _diff(change: Change) -> Iterator[str]:
    before = (change.before or b"").decode(errors="replace").splitlines(keepends=True)
    after = change.after.decode(errors="replace").splitlines(keepends=True)
    yield from difflib.unified_diff(before, after, f"a/{change.path}", f"b/{change.path}")


def _done(change: Change) -> str:
    if not change.needed:
        return "unchanged"
    return "written" if change.before is None else "added to"


def _undo(journal: Journal, *, dry_run: bool, as_json: bool) -> int:
    if not journal.files and journal.ledger is None:
        raise UsageError("there is nothing to undo", hint="`indult init` was not run in this work tree")
    done = undo(journal, dry_run=dry_run)
    for entry in done:
        if as_json:
            emit(entry.to_dict())
        else:
            would = "would be " if dry_run else ""
            click.echo(printable(f"{would}{entry.done} {entry.path}{f' ({entry.why})' if entry.why else ''}"))
    return 1 if any(entry.done == "kept" and entry.path in journal.files for entry in done) else 0
