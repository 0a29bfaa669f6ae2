"""The exact evaluation of a checked expression, one node at a time.

It is the reference: `&&`, `||`, `all` and `exists` absorb errors here as the specification says. Compiled code takes
the short way and comes here only when something raised, so this decides between a value and an error and words the
error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final

from indult.cel.library import dispatch
from indult.cel.syntax import Bind, Call, Fact, Failure, ListNode, Literal, Local, Macro, MapNode, Node, Select
from indult.cel.values import as_key, has_field, keys_of, make_map, no_overload, select
from indult.errors import EvaluationError

__all__ = ["Scope", "evaluate"]


class Scope:
    """Values during one evaluation: facts by path, variables of macros by slot."""

    __slots__ = ("facts", "locals")

    def __init__(self, facts: Mapping[tuple[str, ...], Any]) -> None:
        self.facts = facts
        self.locals: dict[int, Any] = {}


class _Deferred:
    """The error that stands for the value of a `cel.bind`."""

    __slots__ = ("error",)

    def __init__(self, error: Exception) -> None:
        self.error = error


def evaluate(node: Node, scope: Scope) -> Any:
    """Return the value of `node`.

    Raises:
        EvaluationError: The expression has no value.
    """
    return _EVALUATE[type(node)](node, scope)


def _literal(node: Literal, _: Scope) -> Any:
    return node.value


def _local(node: Local, scope: Scope) -> Any:
    value = scope.locals[node.slot]
    if type(value) is _Deferred:
        raise value.error
    return value


def _fact(node: Fact, scope: Scope) -> Any:
    return scope.facts[node.path]


def _failure(node: Failure, _: Scope) -> Any:
    raise EvaluationError(node.message)


def _select(node: Select, scope: Scope) -> Any:
    values = evaluate(node.operand, scope)
    return has_field(values, node.field) if node.test else select(values, node.field)


def _call(node: Call, scope: Scope) -> Any:
    function = node.function
    if function in ("_&&_", "_||_"):
        operands = (partial(evaluate, arg, scope) for arg in node.args)
        return _absorb(function, operands, stop=function == "_||_")
    if function == "_?_:_":
        test = evaluate(node.args[0], scope)
        if type(test) is not bool:
            no_overload("_?_:_", test)
        return evaluate(node.args[1 if test else 2], scope)
    return dispatch(function, node.member)(*[evaluate(arg, scope) for arg in node.args])


def _absorb(what: str, operands: Iterator[Callable[[], Any]], *, stop: bool) -> bool:
    """Return `stop` if any operand is it, whatever errors the others raise; else the first error, else `not stop`."""
    failed: Exception | None = None
    for operand in operands:
        try:
            value = operand()
            if type(value) is not bool:
                no_overload(what, value)
            if value is stop:
                return stop
        except Exception as exc:
            failed = failed or exc
    if failed is not None:
        raise failed
    return not stop


def _list(node: ListNode, scope: Scope) -> Any:
    return [evaluate(item, scope) for item in node.items]


def _map(node: MapNode, scope: Scope) -> Any:
    return make_map([(evaluate(key, scope), evaluate(value, scope)) for key, value in node.entries])


def _bind(node: Bind, scope: Scope) -> Any:
    # An error of the value counts only where the body comes to read it.
    try:
        scope.locals[node.slot] = evaluate(node.value, scope)
    except Exception as exc:
        scope.locals[node.slot] = _Deferred(exc)
    return evaluate(node.body, scope)


def _items(node: Macro, scope: Scope) -> Iterator[None]:
    """Put the variables of each round of a macro in place."""
    values = evaluate(node.source, scope)
    kind, slots = type(values), node.slots
    if kind is not list and kind is not dict:
        no_overload(node.kind, values)
    keys = keys_of(values) if kind is dict else range(len(values)) if len(slots) == 2 else values
    rounds = zip(keys, values.values() if kind is dict else values, strict=True)
    for first, second in rounds:
        scope.locals[slots[0]] = first
        if len(slots) == 2:
            scope.locals[slots[1]] = second
        yield


def _truth(node: Node | None, scope: Scope, what: str) -> bool:
    if node is None:
        return True
    value = evaluate(node, scope)
    if type(value) is not bool:
        no_overload(what, value)
    return value


def _macro(node: Macro, scope: Scope) -> Any:
    kind = node.kind
    rounds = _items(node, scope)
    if kind in ("all", "exists"):
        return _absorb(kind, (partial(evaluate, node.body, scope) for _ in rounds), stop=kind == "exists")
    if kind == "exists_one":
        return sum(_truth(node.body, scope, kind) for _ in rounds) == 1
    first = node.slots[0]
    if kind == "filter":
        return [scope.locals[first] for _ in rounds if _truth(node.body, scope, kind)]
    kept = (scope.locals[first] for _ in rounds if _truth(node.test, scope, kind))
    if kind == "transformMap":
        return {as_key(key): evaluate(node.body, scope) for key in kept}
    return [evaluate(node.body, scope) for _ in kept]


_EVALUATE: Final[dict[type, Callable[[Any, Scope], Any]]] = {
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
