"""The task of a fixer: what was noticed, in the words of whoever noticed it, and how to end.

It says nothing of what is allowed: that is the boundary's to say, in the same brief and from the same records as the
gate's answer, so that the two cannot differ. What a signal holds may come from anywhere and is quoted.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from indult.characters import misleading

if TYPE_CHECKING:
    from indult.autofix.signals import Signal

__all__ = ["LONGEST", "task_text"]

LONGEST: Final = 8_000
"""How many characters of the evidence stand in a task; its end, where most programs say what went wrong."""


def task_text(signal: Signal, evidence: str = "", *, note: str = "") -> str:
    """Return the task of repairing what a signal tells of.

    `evidence` is what was kept of it, `note` what triage has to say to whoever works on it.
    """
    return "\n".join(_lines(signal, evidence, note)) + "\n"


def _lines(signal: Signal, evidence: str, note: str) -> Iterator[str]:
    yield f"Signal {signal.id}: {_plain(signal.summary)}"
    yield f"Kind {_plain(signal.kind)}, seen {signal.count} times, last at {signal.seen_at}."
    if signal.source:
        yield f"Source: {_plain(signal.source)}"
    if evidence.strip():
        yield "What was kept of it:"
        yield from (f"| {_plain(line)}" for line in _end(evidence).splitlines())
    yield "Find the cause in this work tree and repair it. Leave the repair in the files, or commit it on this branch."
    yield "When you have ended, the branch is shipped through the gate; nothing that you say or print lands it."
    yield "Where a limit of the boundary stands in the way, stop and hand back:"
    yield f"  indult report --signal {shlex.quote(signal.id)} --by fixer --title TEXT --question TEXT"
    yield "If one change of one dependency is what it needs, name it, so that a person can open exactly that:"
    yield (
        f"  indult report --signal {shlex.quote(signal.id)} --by fixer --relaxes-constraint --dependency NAME"
        " --version VERSION --path FILE --change TEXT"
    )
    if note:
        yield _plain(note)


def _end(text: str) -> str:
    return text if len(text) <= LONGEST else f"(the beginning is left out)\n{text[-LONGEST:]}"


def _plain(text: str) -> str:
    """Return text on one line in which nothing moves a cursor or turns a line around."""
    return "".join(char if char == "\t" or not misleading(char) else "?" for char in " ".join(text.splitlines()))
