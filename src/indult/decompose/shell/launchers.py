"""Programs that run another one which is installed: `python -m TOOL`, `uv run TOOL` and the like."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from indult.decompose.shell.words import Word

__all__ = ["launched"]

_VERBS: Final[dict[str, frozenset[str]]] = {
    **dict.fromkeys(("uv", "poetry", "pdm", "pipenv", "rye", "hatch", "pipx", "coverage"), frozenset({"run"})),
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), frozenset({"exec", "x", "dlx"})),
    "bundle": frozenset({"exec"}),
}
"""Launcher -> the verbs behind which the other program stands."""

_AT_ONCE: Final = frozenset({"npx", "uvx", "bunx"})
"""Launchers that need no verb."""

_MODULE: Final = re.compile(r"-[bBdEhiIOPqsSuvVx]*m(.*)", re.DOTALL)
_MOST: Final = 12


def launched(argv: list[Word]) -> Iterator[list[Word]]:
    """Yield the commands that a launcher may run; several where it is not known which options take a value."""
    name = (argv[0].text or "").rpartition("/")[2].rstrip("0123456789.")
    python = name in {"python", "pypy"}
    at = 1 if python or name in _AT_ONCE else _behind_verb(argv, _VERBS.get(name, frozenset()))
    for place in range(at, min(len(argv), at + _MOST)):
        text = argv[place].text
        if text is None:
            return
        if (module := _MODULE.fullmatch(text)) is not None and (python or name in {"uv", "coverage"}):
            rest = argv[place + 1 :]
            named = [Word(module[1]), *rest] if module[1] else rest
            if named and named[0].text is not None:
                yield [Word(named[0].text.removesuffix(".__main__").removeprefix("_")), *named[1:]]
            return
        if text.startswith("-"):
            continue
        if python:
            # A script is no program of its own.
            return
        yield argv[place:]
        if not (argv[place - 1].text or "").startswith("-") or "=" in (argv[place - 1].text or ""):
            return


def _behind_verb(argv: list[Word], verbs: frozenset[str]) -> int:
    return next((at + 1 for at, word in enumerate(argv) if at and word.text in verbs), len(argv))
