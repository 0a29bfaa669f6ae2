"""Write `docs/reference/cli/` from the real command tree, or check that it is current (`--check`)."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from indult.cli.frame import Verbs, root

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = Path(__file__).parent.parent / "docs" / "reference" / "cli"


def pages() -> dict[str, str]:
    """Return file name -> text: one page per verb and `index.md` for all of them."""
    about = "\n".join(f"- [`indult {verb}`]({verb}.md): {line}" for verb, (_, line) in root.table.items())
    found = {"index.md": f"{_title('indult')}{_help(['indult'], root)}\n{about}\n" if about else _title("indult")}
    context = click.Context(root, info_name="indult")
    for verb in root.list_commands(context):
        command = root.get_command(context, verb)
        assert command is not None
        found[f"{verb}.md"] = _title(f"indult {verb}") + "\n".join(
            _help(path, part) for path, part in _walk(["indult", verb], command)
        )
    return found


def _title(name: str) -> str:
    return f"# `{name}`\n\n<!-- Written by scripts/docs from the command itself. -->\n\n"


def _walk(path: list[str], command: click.Command) -> Iterator[tuple[list[str], click.Command]]:
    yield path, command
    if isinstance(command, click.Group) and not isinstance(command, Verbs):
        for name in sorted(command.commands):
            yield from _walk([*path, name], command.commands[name])


def _help(path: list[str], command: click.Command) -> str:
    """Return the block that a reader would see, and that a test compares with what the command prints."""
    context: click.Context | None = None
    for depth, name in enumerate(path, 1):
        # A usage repeats the arguments of all its parents, and these have none.
        part = command if depth == len(path) else click.Group(name)
        context = click.Context(part, info_name=name, parent=context, terminal_width=100, max_content_width=100)
    assert context is not None
    heading = "" if len(path) <= 2 else f"## `{' '.join(path)}`\n\n"
    return f"{heading}```text\n{command.get_help(context)}\n```\n"


def main(args: list[str]) -> int:
    """Write the pages, or with `--check` tell which are not current."""
    wanted = pages()
    present = {file.name: file.read_text(encoding="utf-8") for file in FOLDER.glob("*.md")}
    if "--check" in args:
        stale = sorted(name for name in wanted.keys() | present if wanted.get(name) != present.get(name))
        if stale:
            print(f"error: not current: {', '.join(stale)}\nhint: run `make docs`", file=sys.stderr)
        return 1 if stale else 0
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in present.keys() - wanted.keys():
        (FOLDER / name).unlink()
    for name, text in wanted.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
