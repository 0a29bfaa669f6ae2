"""What is known at one place of a shell text: folders that may be in force, functions defined so far, and variables."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

__all__ = ["MOST_BASES", "Ends", "State", "both", "joined"]

MOST_BASES: Final = 8
"""How many folders may be in force before it counts as not known which one is."""


class State(NamedTuple):
    """The state of a shell; `lost` means that the folder in force may be any other too."""

    bases: tuple[str, ...]
    functions: Mapping[str, Any]
    lost: bool = False
    variables: Mapping[str, tuple[str, int]] = MappingProxyType({})
    """The values of variables that are known, each with the kind of its characters."""

    def at(self, bases: tuple[str, ...], *, lost: bool = False) -> State:
        """Return the state in other folders."""
        return self._replace(bases=bases, lost=lost)


class Ends(NamedTuple):
    """The state after a command that succeeded and after one that failed; none where it never ends so."""

    done: State | None
    failed: State | None

    def after(self, before: State) -> State:
        """Return the state in which what follows goes on; of what is never reached, the one before."""
        return joined(self.done, self.failed) or before


def both(state: State) -> Ends:
    """Return the ends of a command that leaves the state as it is."""
    return Ends(state, state)


def joined(one: State | None, other: State | None) -> State | None:
    """Return the state of which both may be true: a function or a value is known only where it is in both."""
    if one is None or other is None or one == other:
        return one or other
    functions = one.functions
    if other.functions is not functions:
        functions = {name: body for name, body in functions.items() if other.functions.get(name) is body}
    bases = tuple(dict.fromkeys((*one.bases, *other.bases)))
    variables = one.variables
    if other.variables is not variables:
        variables = {name: value for name, value in variables.items() if other.variables.get(name) == value}
    return State(bases[:MOST_BASES], functions, one.lost or other.lost or len(bases) > MOST_BASES, variables)
