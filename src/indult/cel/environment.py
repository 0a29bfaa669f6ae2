"""What an expression may name, and what the checker hands on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from indult.cel.syntax import Node
from indult.cel.types import Type

__all__ = ["ACTION_ROOTS", "Checked", "Env"]

ACTION_ROOTS = frozenset({"tool", "args", "actor", "target"})
"""Variables that come with the action itself; every other variable is a declared fact."""


class Env:
    """The variables that expressions may read, each with its type; a `RecordType` is a group of declared facts."""

    __slots__ = ("variables",)

    def __init__(self, variables: Mapping[str, Type]) -> None:
        self.variables = dict(variables)

    def __repr__(self) -> str:
        return f"Env({', '.join(f'{name}: {kind}' for name, kind in self.variables.items())})"


class Checked(NamedTuple):
    """An expression that parses and fits its types.

    `reads` are the declared facts it reads, as paths: `("world", "max_intensity")`. `names` are the roots it uses,
    those of the action included.
    """

    source: str
    type: Type
    reads: frozenset[tuple[str, ...]]
    names: frozenset[str]
    node: Node
    env: Env
