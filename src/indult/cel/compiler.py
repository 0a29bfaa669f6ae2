"""A checked expression to Python source.

Expressions have no side effects and the interpreter decides whenever something raises, so compiled code may take any
short cut that gives the right value or raises: `&&` is Python's `and`, a missing key is a `KeyError`. What it must never
do is give a value where the exact evaluation gives another value or an error. Where the checker knows the types, the
code is Python's own operator; where it does not, the common type is tested in line and the rest is a call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from indult.cel.emitter import Emitter, type_name
from indult.cel.operators import OPERATORS, plain_call
from indult.cel.syntax import Bind, Call, Fact, Failure, ListNode, Literal, Local, Macro, MapNode, Node, Select
from indult.cel.unify import resolve

__all__ = ["Compiler"]

# Python refuses 200 nested parentheses; a value is put into a variable of its own long before.
_SPILL: Final = 10


class Compiler(Emitter):
    """Writes expressions; statements that one needs are emitted before it."""

    level = 0

    def value(self, node: Node) -> str:
        """Return an expression for `node`."""
        self.level += 1
        text = _VALUE[type(node)](self, node)
        self.level -= 1
        if self.level % _SPILL == _SPILL - 1 and not text.isidentifier():
            name = self.temporary()
            self.emit(f"{name} = {text}")
            return name
        return text

    def truth(self, node: Node) -> str:
        """Return an expression that is a bool or raises."""
        text = self.value(node)
        if type_name(node) == "bool":
            return text
        held = self.temporary()
        return f"(({held} := {text}) is True or ({held} is not False and fail()))"


def _literal(out: Compiler, node: Literal) -> str:
    value = node.value
    kind = type(value)
    if value is None or kind in (str, bytes, bool):
        return repr(value)
    if kind is int:
        return repr(value) if value >= 0 else f"({value})"
    return out.refer(value)


def _local(_: Compiler, node: Local) -> str:
    return f"v{node.slot}"


def _fact(out: Compiler, node: Fact) -> str:
    return out.names[node.path]


def _failure(_out: Compiler, _: Failure) -> str:
    return "fail()"


def _select(out: Compiler, node: Select) -> str:
    source = out.value(node.operand)
    if not node.test:
        # Among the values of CEL only a map takes a string subscript: all others raise.
        return f"{source}[{node.field!r}]"
    if type_name(node.operand) == "map":
        return f"({node.field!r} in {source})"
    held = out.temporary()
    return f"({node.field!r} in {held} if type({held} := {source}) is dict else fail())"


def _list(out: Compiler, node: ListNode) -> str:
    return f"[{', '.join(map(out.value, node.items))}]"


def _map(out: Compiler, node: MapNode) -> str:
    keys = [key.value for key, _ in node.entries if isinstance(key, Literal) and type(key.value) is str]
    pairs = [(out.value(key), out.value(value)) for key, value in node.entries]
    if len(set(keys)) == len(node.entries):
        return "{" + ", ".join(f"{key}: {value}" for key, value in pairs) + "}"
    return f"make_map([{', '.join(f'({key}, {value})' for key, value in pairs)}])"


def _bind(out: Compiler, node: Bind) -> str:
    out.emit(f"v{node.slot} = {out.value(node.value)}")
    return out.value(node.body)


def _call(out: Compiler, node: Call) -> str:
    special = OPERATORS.get(node.function)
    text = special(out, node) if special is not None else None
    return plain_call(out, node) if text is None else text


# Start value, statements of one round, value of the whole.
_LOOPS: Final[dict[str, tuple[str, tuple[str, ...], str]]] = {
    "exists": ("False", ("if {body}:", " {r} = True", " break"), "{r}"),
    "all": ("True", ("if not {body}:", " {r} = False", " break"), "{r}"),
    "exists_one": ("0", ("if {body}: {r} += 1",), "({r} == 1)"),
    "filter": ("[]", ("if {body}: {r}.append({item})",), "{r}"),
    "map": ("[]", ("{r}.append({body})",), "{r}"),
    "transformList": ("[]", ("{r}.append({body})",), "{r}"),
    "transformMap": ("{}", ("{r}[{key}] = {body}",), "{r}"),
}
_LOGICAL: Final = frozenset({"exists", "all", "exists_one", "filter"})


def _macro(out: Compiler, node: Macro) -> str:
    result = out.temporary()
    start, step, done = _LOOPS[node.kind]
    source = _source(out, node)
    out.emit(f"{result} = {start}")
    out.emit(f"for {', '.join(f'v{slot}' for slot in node.slots)} in {source}:")
    out.indent += 1
    if node.test is not None:
        out.emit(f"if not {out.truth(node.test)}: continue")
    body = out.truth(node.body) if node.kind in _LOGICAL else out.value(node.body)
    item = f"v{node.slots[0]}"
    key = item if _text_keys(node) else f"as_key({item})"
    for line in step:
        out.emit(line.format(r=result, body=body, item=item, key=key))
    out.indent -= 1
    return done.format(r=result)


def _text_keys(node: Macro) -> bool:
    kind = resolve(node.source.type)
    return kind.name == "map" and resolve(kind.params[0]).name == "string"


def _source(out: Compiler, node: Macro) -> str:
    """Return what the loop of a macro goes through."""
    text = out.value(node.source)
    name, two = type_name(node.source), len(node.slots) == 2
    if name == "list":
        return f"enumerate({text})" if two else text
    if _text_keys(node):
        return f"{text}.items()" if two else text
    if two:
        return f"pairs({text})"
    held = out.temporary()
    return f"({held} if type({held} := {text}) is list else rounds({held}))"


_VALUE: Final[dict[type, Callable[[Compiler, Any], str]]] = {
    Literal: _literal,
    Local: _local,
    Fact: _fact,
    Failure: _failure,
    Select: _select,
    Call: _call,
    ListNode: _list,
    MapNode: _map,
    Macro: _macro,
    Bind: _bind,
}
