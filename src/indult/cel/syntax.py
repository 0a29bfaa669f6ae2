"""The tree that the parser builds and the checker annotates.

Macros stay nodes of their own instead of being expanded to a fold: the compiler turns them into loops, and an error can
name the macro that a person wrote. `&&` and `||` hold all operands of a chain, so a long chain is not a deep tree.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from indult.cel.types import DYN, Type

__all__ = [
    "Bind",
    "Call",
    "Fact",
    "Failure",
    "ListNode",
    "Literal",
    "Local",
    "Macro",
    "MapNode",
    "Name",
    "Node",
    "Select",
]


@dataclass(slots=True, eq=False)
class Node:
    """Any part of an expression; `pos` is its offset in the source, `type` what the checker found."""

    pos: int
    type: Type = field(default=DYN, init=False)


@dataclass(slots=True, eq=False)
class Literal(Node):
    """A value that stands in the source."""

    value: Any


@dataclass(slots=True, eq=False)
class Name(Node):
    """An identifier as written; the checker replaces it by `Local`, `Fact` or `Literal`."""

    name: str


@dataclass(slots=True, eq=False)
class Local(Node):
    """A variable of a macro or of `cel.bind`; `slot` is unique within the expression."""

    name: str
    slot: int


@dataclass(slots=True, eq=False)
class Fact(Node):
    """A declared variable, or a field of a declared record: `("world", "max_intensity")`."""

    path: tuple[str, ...]


@dataclass(slots=True, eq=False)
class Select(Node):
    """`operand.field`, or `has(operand.field)` when `test` is set."""

    operand: Node
    field: str
    test: bool = False


@dataclass(slots=True, eq=False)
class Call(Node):
    """A function or operator; with `member` the first argument is what stands before the dot."""

    function: str
    args: list[Node]
    member: bool = False


@dataclass(slots=True, eq=False)
class ListNode(Node):
    """`[a, b]`."""

    items: list[Node]


@dataclass(slots=True, eq=False)
class MapNode(Node):
    """`{k: v}`."""

    entries: list[tuple[Node, Node]]


@dataclass(slots=True, eq=False)
class Macro(Node):
    """`source.kind(names, [test,] body)`; `slots` match `names`, filled in by the checker."""

    kind: str
    source: Node
    names: tuple[str, ...]
    test: Node | None
    body: Node
    slots: tuple[int, ...] = ()


@dataclass(slots=True, eq=False)
class Bind(Node):
    """`cel.bind(name, value, body)`."""

    name: str
    value: Node
    body: Node
    slot: int = -1


@dataclass(slots=True, eq=False)
class Failure(Node):
    """A part that cannot be judged; only expressions checked without types hold one."""

    message: str
