"""The keys of `autofix` and of its rules of triage: what each may hold in a policy file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from indult.budget import Budget
from indult.errors import ConfigurationError, PolicyError
from indult.policy.autofix import CEILINGS, LARGEST, TriageState, parse_duration
from indult.policy.keys import ident, source, text, word

if TYPE_CHECKING:
    from indult.policy.keys import Convert
    from indult.policy.reader import Document, Node

__all__ = ["AUTOFIX_KEYS", "BUDGET_KEYS", "TRIAGE_KEYS"]


def _whole(what: str, least: int) -> Convert:
    """Return the converter for a whole number."""

    def convert(document: Document, node: Node) -> int:
        value = document.json(node) if node.is_scalar else node.kind
        if type(value) is not int or not least <= value <= LARGEST:
            raise PolicyError(f"`{value}` is no {what}", hint=f"a whole number from {least} to {LARGEST}")
        return value

    return convert


def _duration(least: int) -> Convert:
    """Return the converter for a duration; `90` and `1:30` are none, quotes or not."""

    def convert(document: Document, node: Node) -> int:
        seconds = parse_duration(node.value if node.is_scalar else node.kind)
        if seconds < least:
            raise document.at(node, f"the duration `{node.value}` is too short", hint=f"at least `{least}s`")
        return seconds

    return convert


def _ceiling(name: str) -> Convert:
    """Return the converter for one ceiling of the budget."""

    def convert(document: Document, node: Node) -> Any:
        value = document.json(node) if node.is_scalar else node.kind
        try:
            Budget.from_dict({name: value})
        except ConfigurationError as exc:
            hint = exc.message.partition(" must be ")[2]
            raise PolicyError(f"`{value}` is no ceiling for `{name}`", hint=hint) from None
        if value is None:
            raise PolicyError(f"`null` is no ceiling for `{name}`", hint="leave it out to have none")
        return value

    return convert


AUTOFIX_KEYS: Final[dict[str, Convert]] = {
    "threshold": _whole("number of times that a signal is seen", 1),
    "cooldown": _duration(0),
    "turns": _whole("number of turns", 1),
    "patience": _whole("number of turns", 1),
    "timeout": _duration(1),
}
"""Key of `autofix` -> its converter; `budget` and `triage` are read by the loader itself."""

BUDGET_KEYS: Final[dict[str, Convert]] = {name: _ceiling(name) for name in CEILINGS}
"""Ceiling of a run -> its converter."""

TRIAGE_KEYS: Final[dict[str, Convert]] = {
    "id": ident,
    "when": source,
    "state": word(TriageState),
    "priority": _whole("priority", -LARGEST),
    "threshold": _whole("number of times that a signal is seen", 1),
    "says": text,
}
"""Key of a rule of triage -> its converter, in the order in which one is best written."""
