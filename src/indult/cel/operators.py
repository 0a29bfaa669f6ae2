"""Operators and functions as Python source, where there is something better than a call.

Each function here takes the compiler and a call and returns an expression, or `None` where the plain call is the best
there is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from indult.cel.emitter import type_name
from indult.cel.library import dispatch, overloads
from indult.cel.regex import matcher
from indult.cel.syntax import Call, ListNode, Literal, Node
from indult.cel.unify import resolve
from indult.cel.values import MAX_INT, MIN_INT
from indult.errors import EvaluationError

if TYPE_CHECKING:
    from indult.cel.compiler import Compiler

__all__ = ["OPERATORS", "plain_call"]

# Beyond it a double cannot tell an int from its neighbour.
_EXACT_FLOAT: Final = 2**53
_DIRECT: Final = frozenset({"int", "uint", "double", "string", "bytes", "bool", "null_type", "timestamp", "duration"})
_ORDERED: Final = _DIRECT - {"null_type"}
# A value of these types is one in any case; a null passes the checker for a time or a duration.
_SURE: Final = _DIRECT - {"timestamp", "duration"}
_SIGNS: Final = {"_<_": "<", "_<=_": "<=", "_>_": ">", "_>=_": ">=", "_+_": "+", "_-_": "-", "_*_": "*"}


def plain_call(out: Compiler, node: Call) -> str:
    """Call the one implementation that fits the known types, or let the values decide."""
    run: Callable[..., Any] = dispatch(node.function, node.member)
    constant = _constant(run, node)
    if constant is not None:
        return out.refer(constant)
    kinds = [resolve(arg.type) for arg in node.args]
    if all(kind.name in _SURE for kind in kinds):
        for one in overloads(node.function, node.member):
            if not one.generic and list(one.params) == kinds:
                run = one.run
    return f"{out.refer(run)}({', '.join(map(out.value, node.args))})"


def _constant(run: Callable[..., Any], node: Call) -> Any:
    """Return the value of a call of literals, such as `duration("1h")`, if it has one that nobody can change."""
    literals = [arg.value for arg in node.args if isinstance(arg, Literal)]
    if len(literals) != len(node.args):
        return None
    try:
        value = run(*literals)
    except EvaluationError:
        return None
    return None if type(value) in (list, dict) else value


def _both(out: Compiler, node: Call) -> str:
    return _chain(out, node.args, "and", "if {}:")


def _either(out: Compiler, node: Call) -> str:
    return _chain(out, node.args, "or", "if not {}:")


def _chain(out: Compiler, operands: list[Node], word: str, guard: str) -> str:
    """Join operands with Python's `and` or `or`; one that needs statements gets them behind a guard."""
    ready: list[str] = []
    for operand in operands:
        lines, text = out.apart(lambda operand=operand: out.truth(operand))  # type: ignore[misc]
        if not lines:
            ready.append(text)
            continue
        held = out.temporary()
        if ready:
            out.emit(f"{held} = {f' {word} '.join(ready)}")
        out.emit(guard.format(held) if ready else "if True:")
        out.lines += lines
        out.emit(f" {held} = {text}")
        ready = [held]
    return f"({f' {word} '.join(ready)})"


def _conditional(out: Compiler, node: Call) -> str:
    test = out.truth(node.args[0])
    lines, then = out.apart(lambda: out.value(node.args[1]))
    more, other = out.apart(lambda: out.value(node.args[2]))
    if not lines and not more:
        return f"({then} if {test} else {other})"
    held = out.temporary()
    out.emit(f"if {test}:")
    out.lines += lines
    out.emit(f" {held} = {then}")
    out.emit("else:")
    out.lines += more
    out.emit(f" {held} = {other}")
    return held


def _negation(out: Compiler, node: Call) -> str:
    return f"(not {out.truth(node.args[0])})"


def _equal(out: Compiler, node: Call) -> str:
    return _equality(out, node.args, "==", "is", "")


def _differ(out: Compiler, node: Call) -> str:
    return _equality(out, node.args, "!=", "is not", "not ")


def _equality(out: Compiler, args: list[Node], sign: str, same: str, negated: str) -> str:
    a, b = args
    if isinstance(a, Literal) and not isinstance(b, Literal):
        a, b = b, a
    left, right = out.value(a), out.value(b)
    kinds = (type_name(a), type_name(b))
    if isinstance(b, Literal) and type(b.value) in (bool, type(None)):
        return f"({left} {same} {right})"
    # A string or bytes equals nothing else, in Python as in CEL.
    if "string" in kinds or "bytes" in kinds or (kinds[0] == kinds[1] and kinds[0] in _DIRECT):
        return f"({left} {sign} {right})"
    # Neither does a number that no bool equals and no double rounds.
    if isinstance(b, Literal) and type(b.value) is int and 1 < abs(b.value) < _EXACT_FLOAT:
        return f"({left} {sign} {right})"
    return f"({negated}eq({left}, {right}))"


def _order(out: Compiler, node: Call) -> str:
    a, b = node.args
    sign = _SIGNS[node.function]
    left, right = out.value(a), out.value(b)
    kinds = (type_name(a), type_name(b))
    if kinds[0] == kinds[1] and kinds[0] in _ORDERED:
        dotted = ".nanos" if kinds[0] in ("timestamp", "duration") else ""
        return f"({left}{dotted} {sign} {right}{dotted})"
    slow = out.refer(dispatch(node.function, False))
    if kinds == ("dyn", "int") and _simple(right):
        held = out.temporary()
        return f"({held} {sign} {right} if type({held} := {left}) is int else {slow}({held}, {right}))"
    if kinds == ("int", "dyn") and _simple(left):
        held = out.temporary()
        return f"({left} {sign} {held} if type({held} := {right}) is int else {slow}({left}, {held}))"
    return f"{slow}({left}, {right})"


def _simple(text: str) -> bool:
    """Tell whether an expression may be written twice."""
    return text.isidentifier() or text.isdigit() or (text[:2] == "(-" and text[2:-1].isdigit())


def _arithmetic(out: Compiler, node: Call) -> str | None:
    kinds = [type_name(arg) for arg in node.args]
    sign = _SIGNS[node.function]
    if kinds == ["double"] * 2 or (sign == "+" and kinds in (["string"] * 2, ["bytes"] * 2)):
        return f"({out.value(node.args[0])} {sign} {out.value(node.args[1])})"
    if kinds != ["int", "int"]:
        return None
    held = out.temporary()
    total = f"{held} := {out.value(node.args[0])} {sign} {out.value(node.args[1])}"
    return f"({held} if {MIN_INT} <= ({total}) <= {MAX_INT} else fail())"


def _membership(out: Compiler, node: Call) -> str:
    item, source = node.args
    text = out.value(item)
    if isinstance(source, ListNode) and (found := _in_literal(out, item, text, source)) is not None:
        return found
    kind = resolve(source.type)
    inner = resolve(kind.params[0]).name if kind.params else ""
    values = out.value(source)
    # Texts equal only texts, so Python's own search of a list of texts is right whatever the item is.
    if kind.name == "list" and (inner == "string" or type_name(item) == "string" or inner == type_name(item) == "int"):
        return f"({text} in {values})"
    if kind.name == "map" and type_name(item) in ("string", "int"):
        return f"({text} in {values})"
    return f"has_in({text}, {values})"


def _in_literal(out: Compiler, item: Node, text: str, source: ListNode) -> str | None:
    found = [one.value for one in source.items if isinstance(one, Literal)]
    if len(found) != len(source.items) or not all(type(one) is str for one in found):
        return None
    if len(found) <= 4:
        return f"({text} in {tuple(found)!r})"
    held, choices = out.temporary(), out.refer(frozenset(found))
    if type_name(item) == "string":
        return f"({text} in {choices})"
    # Only what has a hash may be looked up, and what is no text is not in there.
    return f"({held} in {choices} if type({held} := {text}) is str else False)"


def _element(out: Compiler, node: Call) -> str:
    source, key = node.args
    values, wanted = out.value(source), out.value(key)
    literal = key.value if isinstance(key, Literal) else None
    if type(literal) is str or (type_name(source) == "map" and type_name(key) == "string"):
        return f"{values}[{wanted}]"
    if type_name(source) == "list" and type(literal) is int and literal >= 0:
        return f"{values}[{wanted}]"
    return f"index({values}, {wanted})"


def _size(out: Compiler, node: Call) -> str | None:
    known = len(node.args) == 1 and type_name(node.args[0]) in ("string", "bytes", "list", "map")
    return f"len({out.value(node.args[0])})" if known else None


def _starts(out: Compiler, node: Call) -> str | None:
    return _text_test(out, node, "{0}.startswith({1})")


def _ends(out: Compiler, node: Call) -> str | None:
    return _text_test(out, node, "{0}.endswith({1})")


def _holds(out: Compiler, node: Call) -> str | None:
    return _text_test(out, node, "({1} in {0})")


def _text_test(out: Compiler, node: Call, shape: str) -> str | None:
    """Write a test of two texts as Python's own, where the second is known to be one."""
    if len(node.args) != 2 or type_name(node.args[1]) != "string":
        return None
    text, part = out.value(node.args[0]), out.value(node.args[1])
    if type_name(node.args[0]) == "string":
        return shape.format(text, part)
    held = out.temporary()
    return f"({shape.format(held, part)} if type({held} := {text}) is str else fail())"


def _matches(out: Compiler, node: Call) -> str | None:
    pattern = node.args[-1]
    if len(node.args) != 2 or not isinstance(pattern, Literal) or type(pattern.value) is not str:
        return None
    try:
        search = out.refer(matcher(pattern.value))
    except EvaluationError:
        return None
    text = out.value(node.args[0])
    if type_name(node.args[0]) == "string":
        return f"({search}({text}) is not None)"
    held = out.temporary()
    return f"({search}({held}) is not None if type({held} := {text}) is str else fail())"


OPERATORS: Final[dict[str, Callable[[Compiler, Call], str | None]]] = {
    "_&&_": _both,
    "_||_": _either,
    "_?_:_": _conditional,
    "!_": _negation,
    "_==_": _equal,
    "_!=_": _differ,
    "_<_": _order,
    "_<=_": _order,
    "_>_": _order,
    "_>=_": _order,
    "_+_": _arithmetic,
    "_-_": _arithmetic,
    "_*_": _arithmetic,
    "@in": _membership,
    "_[_]": _element,
    "size": _size,
    "startsWith": _starts,
    "endsWith": _ends,
    "contains": _holds,
    "matches": _matches,
}
"""Operator or function -> what writes it."""
