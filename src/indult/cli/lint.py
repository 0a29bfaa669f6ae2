"""`indult lint`: find where files of instructions say something else than the gate answers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click

from indult.cli.frame import emit, json_option, option, printable
from indult.cli.instructing import Place, boundary_of, place_of, trust_problem
from indult.cli.plain import DB
from indult.errors import UsageError
from indult.places import POLICY
from indult.setup.instructions import FILES, present, target_of, text_of
from indult.setup.lint import Finding, Judge, lint

__all__ = ["command"]

_FACTS: Final = {"session": "lint", "now": "1970-01-01T00:00:00Z"}
"""Facts of no moment in particular; what a rule says by them is not judged."""


@click.command(
    name="lint",
    short_help="Find instructions that say something else than the gate answers.",
    help="Read files of instructions for agents (AGENTS.md and its like, where none is named). Ends with 1 where a block of "
    "`indult brief --write` is not what the gate answers now, or where another sentence permits or forbids a command or "
    "path that the gate answers otherwise.",
)
@click.argument("files", metavar="[FILE]...", nargs=-1)
@option(DB)
@json_option
def command(*, files: tuple[str, ...], db: str | None, as_json: bool) -> int:
    """Print each finding with its file and line."""
    found = list(_findings(place_of(db), files))
    for finding in found:
        if as_json:
            emit(finding.to_dict())
            continue
        click.echo(printable(f"{finding.file}:{finding.line}: {finding.text}"))
        if finding.hint:
            click.echo(printable(f"    hint: {finding.hint}"))
    return 1 if found else 0


def _findings(place: Place, files: tuple[str, ...]) -> Iterator[Finding]:
    from indult.adapters.desk import decomposer

    root = place.root
    problem = trust_problem(place)
    if problem is not None:
        yield Finding(file=POLICY, line=1, text=problem, hint="indult trust")
    judge = Judge(
        plain=boundary_of(place),
        opened=boundary_of(place, f"tree:{os.fsencode(root).decode('utf-8', 'backslashreplace')}"),
        of=lambda subject: boundary_of(place, subject),
        decompose=decomposer(root),
        folder=lambda path: (Path(root) / path).is_dir(),
        root=root,
        facts={name: value for name, value in {**_FACTS, "repo": root}.items() if name in place.policy.context},
    )
    yield from lint(_texts(root, files), judge)


def _texts(root: str, files: tuple[str, ...]) -> dict[str, str]:
    """Return the texts of files by the names that they were given under; two names of one file count once."""
    named = {name: name for name in files} or {name: str(Path(root) / name) for name in present(root)}
    if not named:
        raise UsageError(f"there is none of {', '.join(FILES)} here", hint="indult brief --write AGENTS.md")
    seen: dict[Path, str] = {}
    for name, path in named.items():
        target = target_of(path, root)
        if not target.is_file():
            raise UsageError(f"there is no file `{name}`")
        seen.setdefault(target, name)
    return {name: text_of(target) for target, name in seen.items()}
