"""The tree that the parser builds and the checker annotates.

Macros stay nodes of their own instead of being expanded to a fold: the compiler turns them into loops, and an error can
name the macro that a person wrote. `&&` and `||` hold all operands of a chain, so a long chain is not a deep tree.

The classes are spelled out because making eleven dataclasses takes longer than importing all the rest of the language.
"""

from __future__ import annotations

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


class Node:
    """Any part of an expression; `pos` is its offset in the source, `type` what the checker found."""

    __slots__ = ("pos", "type")

    def __init__(self, pos: int) -> None:
        self.pos = pos
        self.type: Type = DYN


class Literal(Node):
    """A value that stands in the source."""

    __slots__ = ("value",)

    def __init__(self, pos: int, value: Any) -> None:
        self.pos, self.type, self.value = pos, DYN, value


class Name(Node):
    """An identifier as written; the checker replaces it by `Local`, `Fact` or `Literal`."""

    __slots__ = ("name",)

    def __init__(self, pos: int, name: str) -> None:
        self.pos, self.type, self.name = pos, DYN, name


class Local(Node):
    """A variable of a macro or of `cel.bind`; `slot` is unique within the expression."""

    __slots__ = ("slot",)

    def __init__(self, pos: int, slot: int) -> None:
        self.pos, self.type, self.slot = pos, DYN, slot


class Fact(Node):
    """A declared variable, or a field of a declared record: `("world", "max_intensity")`."""

    __slots__ = ("path",)

    def __init__(self, pos: int, path: tuple[str, ...]) -> None:
        self.pos, self.type, self.path = pos, DYN, path


class Select(Node):
    """`operand.field`, or `has(operand.field)` when `test` is set."""

    __slots__ = ("field", "operand", "test")

    def __init__(self, pos: int, operand: Node, field: str, *, test: bool = False) -> None:
        self.pos, self.type, self.operand, self.field, self.test = pos, DYN, operand, field, test


class Call(Node):
    """A function or operator; with `member` the first argument is what stands before the dot."""

    __slots__ = ("args", "function", "member")

    def __init__(self, pos: int, function: str, args: list[Node], *, member: bool = False) -> None:
        self.pos, self.type, self.function, self.args, self.member = pos, DYN, function, args, member


class ListNode(Node):
    """`[a, b]`."""

    __slots__ = ("items",)

    def __init__(self, pos: int, items: list[Node]) -> None:
        self.pos, self.type, self.items = pos, DYN, items


class MapNode(Node):
    """`{k: v}`."""

    __slots__ = ("entries",)

    def __init__(self, pos: int, entries: list[tuple[Node, Node]]) -> None:
        self.pos, self.type, self.entries = pos, DYN, entries


class Macro(Node):
    """`source.kind(names, [test,] body)`; `slots` match `names`, filled in by the checker."""

    __slots__ = ("body", "kind", "names", "slots", "source", "test")

    def __init__(
        self, pos: int, kind: str, source: Node, names: tuple[str, ...], test: Node | None, body: Node
    ) -> None:
        self.pos, self.type, self.kind, self.source, self.names = pos, DYN, kind, source, names
        self.test, self.body = test, body
        self.slots: tuple[int, ...] = ()


class Bind(Node):
    """`cel.bind(name, value, body)`."""

    __slots__ = ("body", "name", "slot", "value")

    def __init__(self, pos: int, name: str, value: Node, body: Node) -> None:
        self.pos, self.type, self.name, self.value, self.body, self.slot = pos, DYN, name, value, body, -1


class Failure(Node):
    """A part that cannot be judged; only expressions checked without types hold one."""

    __slots__ = ("message",)

    def __init__(self, pos: int, message: str) -> None:
        self.pos, self.type, self.message = pos, DYN, message
