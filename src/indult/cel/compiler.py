"""A checked expression to Python source.

Expressions have no side effects and the interpreter decides whenever something raises, so compiled code may take any
short cut that gives the right value or raises: `&&` is Python's `and`, a missing key is a `KeyError`. What it must never
do is give a value where the exact evaluation gives another value or an error. Where the checker knows the types, the
code is Python's own operator; where it does not, the common type is tested in line and the rest is a call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NoReturn

from indult.cel.library import dispatch, overloads
from indult.cel.regex import matcher
from indult.cel.syntax import Bind, Call, Fact, Failure, ListNode, Literal, Local, Macro, MapNode, Node, Select
from indult.cel.types import DYN, Type, Var
from indult.cel.unify import resolve
from indult.cel.values import MAX_INT, MIN_INT, as_key, contains, equals, index, keys_of, make_map
from indult.errors import EvaluationError

__all__ = ["Compiler"]

# Python refuses 200 nested parentheses; a value is put into a variable of its own long before.
_SPILL: Final = 10
_EXACT_FLOAT: Final = 2**53
_DIRECT: Final = frozenset({"int", "uint", "double", "string", "bytes", "bool", "null_type", "timestamp", "duration"})
_OPERATORS: Final = {"_<_": "<", "_<=_": "<=", "_>_": ">", "_>=_": ">="}
_ARITHMETIC: Final = {"_+_": "+", "_-_": "-", "_*_": "*"}


def _fail(*_: object) -> NoReturn:
    """Leave compiled code; the interpreter finds the right words."""
    raise EvaluationError("no such overload")


def _rounds(values: Any) -> list[Any]:
    """Return what a macro with one variable goes through."""
    if type(values) is list:
        return values
    return keys_of(values) if type(values) is dict else _fail()


def _pairs(values: Any) -> Any:
    """Return what a macro with two variables goes through."""
    if type(values) is list:
        return enumerate(values)
    return zip(keys_of(values), values.values(), strict=True) if type(values) is dict else _fail()


class Compiler:
    """Collects the statements of one function and the objects that they refer to."""

    def __init__(self, names: Mapping[tuple[str, ...], str]) -> None:
        self.names = names
        self.lines: list[str] = []
        self.indent = 1
        self.level = 0
        self.temporaries = 0
        self.objects: dict[str, Any] = {
            "eq": equals, "has_in": contains, "index": index, "fail": _fail, "rounds": _rounds, "pairs": _pairs,
            "as_key": as_key, "make_map": make_map,
        }  # fmt: skip

    def emit(self, line: str) -> None:
        """Add one statement to the block at hand."""
        self.lines.append(" " * self.indent + line)

    def temporary(self) -> str:
        """Return the name of a new variable."""
        self.temporaries += 1
        return f"t{self.temporaries}"

    def refer(self, value: Any) -> str:
        """Return a name that stands for `value` in the generated code."""
        name = f"k{len(self.objects)}"
        self.objects[name] = value
        return name

    def apart(self, make: Callable[[], str]) -> tuple[list[str], str]:
        """Return the statements that `make` emits, one level deeper and not yet placed, with the expression."""
        outer, self.lines = self.lines, []
        self.indent += 1
        text = make()
        self.indent -= 1
        inner, self.lines = self.lines, outer
        return inner, text

    def place(self, lines: list[str]) -> None:
        """Add statements made by `apart` to the block at hand."""
        self.lines += lines

    def value(self, node: Node) -> str:
        """Return an expression for `node`; statements that it needs are emitted before."""
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
        if _name(node) == "bool":
            return text
        held = self.temporary()
        return f"(({held} := {text}) is True or ({held} is not False and fail()))"

    def literal(self, node: Literal) -> str:
        value = node.value
        kind = type(value)
        if value is None or kind in (str, bytes, bool):
            return repr(value)
        if kind is int:
            return repr(value) if value >= 0 else f"({value})"
        return self.refer(value)

    def local(self, node: Local) -> str:
        return f"v{node.slot}"

    def fact(self, node: Fact) -> str:
        return self.names[node.path]

    def failure(self, _: Failure) -> str:
        return "fail()"

    def select(self, node: Select) -> str:
        source = self.value(node.operand)
        if not node.test:
            # Among the values of CEL only a map takes a string subscript: all others raise.
            return f"{source}[{node.field!r}]"
        if _name(node.operand) == "map":
            return f"({node.field!r} in {source})"
        held = self.temporary()
        return f"({node.field!r} in {held} if type({held} := {source}) is dict else fail())"

    def list(self, node: ListNode) -> str:
        return f"[{', '.join(map(self.value, node.items))}]"

    def map(self, node: MapNode) -> str:
        keys = [key.value for key, _ in node.entries if isinstance(key, Literal) and type(key.value) is str]
        plain = len(set(keys)) == len(node.entries)
        pairs = [(self.value(key), self.value(value)) for key, value in node.entries]
        if plain:
            return "{" + ", ".join(f"{key}: {value}" for key, value in pairs) + "}"
        return f"make_map([{', '.join(f'({key}, {value})' for key, value in pairs)}])"

    def bind(self, node: Bind) -> str:
        self.emit(f"v{node.slot} = {self.value(node.value)}")
        return self.value(node.body)

    def call(self, node: Call) -> str:
        special = _CALLS.get(node.function)
        if special is not None and (text := special(self, node)) is not None:
            return text
        return self.plain_call(node)

    def plain_call(self, node: Call) -> str:
        """Call the one implementation that fits the known types, or let the values decide."""
        run: Callable[..., Any] = dispatch(node.function, node.member)
        kinds = [resolve(arg.type) for arg in node.args]
        if all(kind.name in _DIRECT for kind in kinds):
            for one in overloads(node.function, node.member):
                if not one.generic and list(one.params) == kinds:
                    run = one.run
        return f"{self.refer(run)}({', '.join(map(self.value, node.args))})"

    def both(self, node: Call) -> str:
        return self.chain(node.args, "and", "if {}:")

    def either(self, node: Call) -> str:
        return self.chain(node.args, "or", "if not {}:")

    def chain(self, operands: list[Node], word: str, guard: str) -> str:
        """Join operands with Python's `and` or `or`; one that needs statements gets them behind a guard."""
        ready: list[str] = []
        for operand in operands:
            lines, text = self.apart(lambda operand=operand: self.truth(operand))  # type: ignore[misc]
            if lines:
                held = self.temporary()
                if ready:
                    self.emit(f"{held} = {f' {word} '.join(ready)}")
                    self.emit(guard.format(held))
                else:
                    self.emit("if True:")
                self.place(lines)
                self.emit(f" {held} = {text}")
                ready = [held]
            else:
                ready.append(text)
        return f"({f' {word} '.join(ready)})"

    def conditional(self, node: Call) -> str:
        test = self.truth(node.args[0])
        lines, then = self.apart(lambda: self.value(node.args[1]))
        more, other = self.apart(lambda: self.value(node.args[2]))
        if not lines and not more:
            return f"({then} if {test} else {other})"
        held = self.temporary()
        self.emit(f"if {test}:")
        self.place(lines)
        self.emit(f" {held} = {then}")
        self.emit("else:")
        self.place(more)
        self.emit(f" {held} = {other}")
        return held

    def negation(self, node: Call) -> str:
        return f"(not {self.truth(node.args[0])})"

    def equal(self, node: Call) -> str:
        return self.equality(node.args[0], node.args[1], "==", "is", "")

    def differ(self, node: Call) -> str:
        return self.equality(node.args[0], node.args[1], "!=", "is not", "not ")

    def equality(self, a: Node, b: Node, operator: str, same: str, negated: str) -> str:
        if isinstance(a, Literal) and not isinstance(b, Literal):
            a, b = b, a
        left, right = self.value(a), self.value(b)
        kinds = (_name(a), _name(b))
        if isinstance(b, Literal) and type(b.value) in (bool, type(None)):
            return f"({left} {same} {right})"
        # A string or bytes equals nothing else, in Python as in CEL.
        if "string" in kinds or "bytes" in kinds or (kinds[0] == kinds[1] and kinds[0] in _DIRECT):
            return f"({left} {operator} {right})"
        # Neither does a number that no bool equals and no double rounds.
        if isinstance(b, Literal) and type(b.value) is int and 1 < abs(b.value) < _EXACT_FLOAT:
            return f"({left} {operator} {right})"
        return f"({negated}eq({left}, {right}))"

    def order(self, node: Call) -> str:
        a, b = node.args
        operator = _OPERATORS[node.function]
        left, right = self.value(a), self.value(b)
        kinds = (_name(a), _name(b))
        if kinds[0] == kinds[1] and kinds[0] in _DIRECT - {"null_type"}:
            dotted = ".nanos" if kinds[0] in ("timestamp", "duration") else ""
            return f"({left}{dotted} {operator} {right}{dotted})"
        slow = self.refer(dispatch(node.function, False))
        if kinds == ("dyn", "int") and _simple(right):
            held = self.temporary()
            return f"({held} {operator} {right} if type({held} := {left}) is int else {slow}({held}, {right}))"
        if kinds == ("int", "dyn") and _simple(left):
            held = self.temporary()
            return f"({left} {operator} {held} if type({held} := {right}) is int else {slow}({left}, {held}))"
        return f"{slow}({left}, {right})"

    def arithmetic(self, node: Call) -> str | None:
        kinds = [_name(arg) for arg in node.args]
        operator = _ARITHMETIC[node.function]
        if kinds == ["double", "double"] or (operator == "+" and kinds in (["string"] * 2, ["bytes"] * 2)):
            return f"({self.value(node.args[0])} {operator} {self.value(node.args[1])})"
        if kinds != ["int", "int"]:
            return None
        held = self.temporary()
        total = f"{held} := {self.value(node.args[0])} {operator} {self.value(node.args[1])}"
        return f"({held} if {MIN_INT} <= ({total}) <= {MAX_INT} else fail())"

    def membership(self, node: Call) -> str:
        item, source = node.args
        text = self.value(item)
        if isinstance(source, ListNode) and (found := self.in_literal(item, text, source)) is not None:
            return found
        kind = resolve(source.type)
        inner = resolve(kind.params[0]).name if kind.params else ""
        values = self.value(source)
        # Texts equal only texts, so Python's own search of a list of texts is right whatever the item is.
        if kind.name == "list" and (inner == "string" or _name(item) == "string" or inner == _name(item) == "int"):
            return f"({text} in {values})"
        if kind.name == "map" and _name(item) in ("string", "int"):
            return f"({text} in {values})"
        return f"has_in({text}, {values})"

    def in_literal(self, item: Node, text: str, source: ListNode) -> str | None:
        found = [one.value for one in source.items if isinstance(one, Literal)]
        if len(found) != len(source.items) or not all(type(one) is str for one in found):
            return None
        if len(found) <= 4:
            return f"({text} in {tuple(found)!r})"
        held, choices = self.temporary(), self.refer(frozenset(found))
        if _name(item) == "string":
            return f"({text} in {choices})"
        return f"({held} in {choices} if type({held} := {text}) is str else False)"

    def element(self, node: Call) -> str:
        source, key = node.args
        values, wanted = self.value(source), self.value(key)
        if isinstance(key, Literal) and type(key.value) is str:
            return f"{values}[{wanted}]"
        if _name(source) == "list" and isinstance(key, Literal) and type(key.value) is int and key.value >= 0:
            return f"{values}[{wanted}]"
        if _name(source) == "map" and _name(key) == "string":
            return f"{values}[{wanted}]"
        return f"index({values}, {wanted})"

    def size(self, node: Call) -> str | None:
        known = len(node.args) == 1 and _name(node.args[0]) in ("string", "bytes", "list", "map")
        return f"len({self.value(node.args[0])})" if known else None

    def starts(self, node: Call) -> str | None:
        return self.text_test(node, "{0}.startswith({1})")

    def ends(self, node: Call) -> str | None:
        return self.text_test(node, "{0}.endswith({1})")

    def holds(self, node: Call) -> str | None:
        return self.text_test(node, "({1} in {0})")

    def text_test(self, node: Call, shape: str) -> str | None:
        """Write a test of two texts as Python's own, where the second is known to be one."""
        if len(node.args) != 2 or _name(node.args[1]) != "string":
            return None
        text, part = self.value(node.args[0]), self.value(node.args[1])
        if _name(node.args[0]) == "string":
            return shape.format(text, part)
        held = self.temporary()
        return f"({shape.format(held, part)} if type({held} := {text}) is str else fail())"

    def matching(self, node: Call) -> str | None:
        pattern = node.args[-1]
        if len(node.args) != 2 or not isinstance(pattern, Literal) or type(pattern.value) is not str:
            return None
        try:
            search = self.refer(matcher(pattern.value))
        except EvaluationError:
            return None
        text = self.value(node.args[0])
        if _name(node.args[0]) == "string":
            return f"({search}({text}) is not None)"
        held = self.temporary()
        return f"({search}({held}) is not None if type({held} := {text}) is str else fail())"

    def macro(self, node: Macro) -> str:
        result = self.temporary()
        start, step, done = _LOOPS[node.kind]
        source = self.source(node)
        self.emit(f"{result} = {start}")
        self.emit(f"for {', '.join(f'v{slot}' for slot in node.slots)} in {source}:")
        self.indent += 1
        if node.test is not None:
            self.emit(f"if not {self.truth(node.test)}: continue")
        logical = node.kind in ("all", "exists", "exists_one", "filter")
        body = self.truth(node.body) if logical else self.value(node.body)
        key = f"v{node.slots[0]}"
        for line in step:
            self.emit(line.format(r=result, body=body, item=key, key=key if self.text_keys(node) else f"as_key({key})"))
        self.indent -= 1
        return done.format(r=result)

    def text_keys(self, node: Macro) -> bool:
        kind = resolve(node.source.type)
        return kind.name == "map" and resolve(kind.params[0]).name == "string"

    def source(self, node: Macro) -> str:
        text = self.value(node.source)
        name, two = _name(node.source), len(node.slots) == 2
        if name == "list":
            return f"enumerate({text})" if two else text
        if self.text_keys(node):
            return f"{text}.items()" if two else text
        return f"pairs({text})" if two else f"rounds({text})"


def _name(node: Node) -> str:
    """Return the name of the type of a node, `dyn` where it is not known."""
    kind: Type = resolve(node.type)
    return DYN.name if isinstance(kind, Var) else kind.name


def _simple(text: str) -> bool:
    """Tell whether an expression may be written twice."""
    return text.isidentifier() or text.isdigit() or (text[:2] == "(-" and text[2:-1].isdigit())


# Start value, statements of one round, value of the whole.
_LOOPS: Final[dict[str, tuple[str, tuple[str, ...], str]]] = {
    "exists": ("False", ("if {body}:", " {r} = True", " break"), "{r}"),
    "all": ("True", ("if not {body}:", " {r} = False", " break"), "{r}"),
    "exists_one": ("0", ("if {body}: {r} += 1",), "({r} == 1)"),
    "filter": ("[]", ("if {body}: {r}.append({item})",), "{r}"),
    "map": ("[]", ("{r}.append({body})",), "{r}"),
    "transformList": ("[]", ("{r}.append({body})",), "{r}"),
    "transformMap": ("{{}}", ("{r}[{key}] = {body}",), "{r}"),
}
_VALUE: Final[dict[type, Callable[[Compiler, Any], str]]] = {
    Literal: Compiler.literal,
    Local: Compiler.local,
    Fact: Compiler.fact,
    Failure: Compiler.failure,
    Select: Compiler.select,
    Call: Compiler.call,
    ListNode: Compiler.list,
    MapNode: Compiler.map,
    Macro: Compiler.macro,
    Bind: Compiler.bind,
}
_CALLS: Final[dict[str, Callable[[Compiler, Call], str | None]]] = {
    "_&&_": Compiler.both,
    "_||_": Compiler.either,
    "_?_:_": Compiler.conditional,
    "!_": Compiler.negation,
    "_==_": Compiler.equal,
    "_!=_": Compiler.differ,
    "_<_": Compiler.order,
    "_<=_": Compiler.order,
    "_>_": Compiler.order,
    "_>=_": Compiler.order,
    "_+_": Compiler.arithmetic,
    "_-_": Compiler.arithmetic,
    "_*_": Compiler.arithmetic,
    "@in": Compiler.membership,
    "_[_]": Compiler.element,
    "size": Compiler.size,
    "startsWith": Compiler.starts,
    "endsWith": Compiler.ends,
    "contains": Compiler.holds,
    "matches": Compiler.matching,
}
