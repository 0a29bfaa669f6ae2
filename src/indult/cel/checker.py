"""Names and types of a parsed expression.

Types are gradual: what is declared is checked here, what is `dyn` (the arguments of a tool) is left to the evaluation.
The types found are also what the compiler relies on to leave checks out, so a type here is a promise about the value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from indult.cel.environment import ACTION_ROOTS, Checked, Env
from indult.cel.lexer import fault
from indult.cel.library import CONSTANTS, NAMES, overloads
from indult.cel.parser import MAX_DEPTH, parse
from indult.cel.regex import verify
from indult.cel.syntax import (
    Bind,
    Call,
    Fact,
    Failure,
    ListNode,
    Literal,
    Local,
    Macro,
    MapNode,
    Name,
    Node,
    Select,
)
from indult.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DYN,
    INT,
    NULL,
    STRING,
    TYPE,
    UINT,
    ListType,
    MapType,
    RecordType,
    Type,
    Var,
)
from indult.cel.unify import Unifier, frozen, resolve, show
from indult.cel.values import CelType, UInt, spelled
from indult.errors import ConditionError, EvaluationError

__all__ = ["check", "check_untyped"]

MAX_LOOPS: Final = 8
"""Deepest nesting of macros; each level multiplies the time that a condition may take."""

_LITERALS: Final[dict[type, Type]] = {
    int: INT, UInt: UINT, float: DOUBLE, str: STRING, bytes: BYTES, bool: BOOL, type(None): NULL, CelType: TYPE,
}  # fmt: skip


def check(source: str, env: Env, *, expect: Type | None = BOOL) -> Checked:
    """Parse `source` and check it against the names and types of `env`.

    `expect` is the type that the whole must have; `None` allows any.

    Raises:
        ConditionError: Syntax, an unknown name, a type that does not fit, a malformed literal pattern, or an
            expression too long or too deep, with line, column, the line itself and a hint.
    """
    return _run(source, env, expect, strict=True)


def check_untyped(source: str, env: Env) -> Checked:
    """Parse `source` without judging types or names: what does not fit becomes an error of the evaluation.

    This is CEL's "parse only" mode, in which a part of its conformance cases is written.
    """
    return _run(source, env, None, strict=False)


def _run(source: str, env: Env, expect: Type | None, *, strict: bool) -> Checked:
    try:
        return _Checker(source, env, strict=strict).whole(expect)
    except RecursionError:
        # The limits leave room for a hundred callers; this caller stands deeper in the stack than that.
        raise ConditionError("expression is nested too deep for the stack that is left") from None


class _Checker:
    """One pass over one tree; each method returns the node that replaces its argument."""

    def __init__(self, source: str, env: Env, *, strict: bool) -> None:
        self.source = source
        self.env = env
        self.strict = strict
        self.types = Unifier()
        self.scope: dict[str, tuple[int, Type]] = {}
        self.facts: list[Fact] = []
        self.slots = 0
        self.depth = 0
        self.loops = 0

    def whole(self, expect: Type | None) -> Checked:
        node = self.visit(parse(self.source))
        if expect is not None and not self.types.fits(expect, node.type):
            raise self.fault(_start(node), f"this gives `{show(node.type)}`, not `{expect}`")
        paths = frozenset(fact.path for fact in self.facts)
        return Checked(
            source=self.source,
            type=frozen(node.type),
            reads=frozenset(path for path in paths if path[0] not in ACTION_ROOTS),
            names=frozenset(path[0] for path in paths),
            node=node,
            env=self.env,
        )

    def fault(self, pos: int, message: str, hint: str | None = None) -> ConditionError:
        return fault(self.source, pos, message, hint)

    def visit(self, node: Node) -> Node:
        self.depth += 1
        if self.depth > MAX_DEPTH + 1:
            raise self.fault(node.pos, f"expression is nested over {MAX_DEPTH} deep")
        result = _VISIT[type(node)](self, node)
        self.depth -= 1
        return result

    def refuse(self, pos: int, message: str, hint: str | None = None) -> None:
        """Raise, or with untyped checking leave the matter to the evaluation."""
        if self.strict:
            raise self.fault(pos, message, hint)

    def literal(self, node: Literal) -> Node:
        node.type = _LITERALS[type(node.value)]
        return node

    def name(self, node: Name) -> Node:
        name = node.name
        local = self.scope.get(name)
        if local is not None:
            found = Local(node.pos, local[0])
            found.type = local[1]
            return found
        return self.variable(node.pos, name.removeprefix(".")) or self.unknown(node.pos, name)

    def variable(self, pos: int, name: str) -> Node | None:
        """Return the node for a declared variable or a type, if `name` is one."""
        kind = self.env.variables.get(name)
        if kind is not None:
            fact = Fact(pos, (name,))
            fact.type = kind
            self.facts.append(fact)
            return fact
        return self.literal(Literal(pos, CONSTANTS[name])) if name in CONSTANTS else None

    def unknown(self, pos: int, name: str) -> Node:
        known = [*self.scope, *self.env.variables]
        self.refuse(pos, f"unknown name `{name}`", _nearest(name, known, "names"))
        return Failure(pos, f"unknown name `{name}`")

    def select(self, node: Select) -> Node:
        if not node.test and (found := self.qualified(node)) is not None:
            return found
        operand = node.operand = self.visit(node.operand)
        if isinstance(operand, Fact) and isinstance(operand.type, RecordType):
            return self.record_field(operand, operand.type, node.field, node.pos, test=node.test)
        kind = resolve(operand.type)
        if kind.name == "map":
            node.type = kind.params[1]
        elif kind is not DYN and not isinstance(kind, Var):
            self.refuse(node.pos, f"a `{show(kind)}` has no field `{node.field}`")
        if node.test:
            node.type = BOOL
        return node

    def record_field(self, fact: Fact, record: RecordType, field: str, pos: int, *, test: bool = False) -> Node:
        kind = record.fields.get(field)
        if kind is None:
            name = ".".join((*fact.path, field))
            self.refuse(pos, f"unknown name `{name}`", _nearest(field, record.fields, f"names of {fact.path[-1]}"))
            return Failure(pos, f"unknown name `{name}`")
        # The fact in hand becomes the narrower one, so only that is read.
        fact.path = (*fact.path, field)
        fact.type = kind
        # A declared fact is always there: where it is not, reading it is an error before any condition runs.
        return self.literal(Literal(pos, True)) if test else fact

    def qualified(self, node: Select) -> Node | None:
        """Return the variable or type with a dotted name that a chain of fields spells, the longest first."""
        names = [node.field]
        root: Node = node.operand
        while isinstance(root, Select) and not root.test:
            names.append(root.field)
            root = root.operand
        if not isinstance(root, Name) or root.name in self.scope:
            return None
        names.append(root.name.removeprefix("."))
        dotted = ".".join(reversed(names))
        return self.variable(root.pos, dotted)

    def list(self, node: ListNode) -> Node:
        node.items = [self.visit(item) for item in node.items]
        node.type = ListType(self.common(item.type for item in node.items))
        return node

    def map(self, node: MapNode) -> Node:
        node.entries = [(self.visit(key), self.visit(value)) for key, value in node.entries]
        for key, _ in node.entries:
            kind = resolve(key.type)
            if kind.name not in ("int", "uint", "bool", "string", "dyn") and not isinstance(kind, Var):
                self.refuse(_start(key), f"`{show(kind)}` is not a key of a map", "keys are int, uint, bool or string")
        keys = self.common(key.type for key, _ in node.entries)
        node.type = MapType(keys, self.common(value.type for _, value in node.entries))
        return node

    def common(self, kinds: Iterable[Type]) -> Type:
        """Return the type of the elements of a literal: `dyn` where they differ."""
        found: Type | None = None
        for kind in kinds:
            found = kind if found is None else self.types.join(found, kind) or DYN
        return Var() if found is None else found

    def call(self, node: Call) -> Node:
        name = node.function
        if node.member and isinstance(node.args[0], Name) and node.args[0].name not in self.scope:
            spaced = f"{node.args[0].name}.{name}"
            if overloads(spaced, False):
                name = node.function = spaced
                node.member = False
                del node.args[0]
        candidates = overloads(name, node.member)
        if not candidates and name not in _SPECIAL:
            return self.unknown_function(node)
        node.args = [self.visit(arg) for arg in node.args]
        special = _SPECIAL.get(name)
        if special is not None and (found := special(self, node)) is not None:
            return found
        return self.overload(node, candidates)

    def overload(self, node: Call, candidates: tuple[Any, ...]) -> Node:
        kinds = [arg.type for arg in node.args]
        selected = self.types.select(node.function, node.member, kinds)
        if selected is not None:
            node.type = selected
        else:
            shown = ", ".join(map(show, kinds))
            self.refuse(node.pos, f"no overload of `{spelled(node.function)}` for ({shown})", _signatures(candidates))
        if node.function == "matches" and len(node.args) == 2:
            self.pattern(node.args[1])
        return node

    def unknown_function(self, node: Call) -> Node:
        name = node.function
        if overloads(name, not node.member):
            way = f"write {name}(value)" if node.member else f"write value.{name}(...)"
            self.refuse(node.pos, f"`{name}` is called the other way", way)
        self.refuse(node.pos, f"unknown function `{name}`", _nearest(name, (*NAMES, *_MACROS), "functions"))
        return Failure(node.pos, f"unknown function `{name}`")

    def pattern(self, node: Node) -> None:
        """Refuse a literal pattern that RE2 does not take."""
        if isinstance(node, Literal) and isinstance(node.value, str):
            try:
                verify(node.value)
            except EvaluationError as exc:
                self.refuse(node.pos, exc.message, "patterns follow RE2: no look-around, no back reference")

    def logic(self, node: Call) -> Node:
        for arg in node.args:
            self.must_be_bool(arg, f"`{spelled(node.function)}` needs bools")
        node.type = BOOL
        return node

    def must_be_bool(self, node: Node, message: str) -> None:
        if not self.types.fits(BOOL, node.type):
            self.refuse(_start(node), f"{message}: this is a `{show(node.type)}`")

    def conditional(self, node: Call) -> Node:
        test, then, other = node.args
        self.must_be_bool(test, "the condition of `?` must be a bool")
        kind = self.types.join(then.type, other.type)
        if kind is None:
            self.refuse(
                node.pos, f"`?:` gives a `{show(then.type)}` or a `{show(other.type)}`", "use dyn(value) on both"
            )
        node.type = kind or DYN
        return node

    def element(self, node: Call) -> Node | None:
        """Take `record["field"]` for `record.field`."""
        source, key = node.args
        if isinstance(source, Fact) and isinstance(source.type, RecordType) and isinstance(key, Literal):
            return self.record_field(source, source.type, str(key.value), key.pos)
        return None

    def plus(self, node: Call) -> Node | None:
        """Give the sum of two lists a type that holds the elements of both."""
        kinds = [resolve(arg.type) for arg in node.args]
        names = {kind.name for kind in kinds}
        joined: Type | None = ListType(DYN) if names == {"list", "dyn"} else None
        if names == {"list"}:
            joined = self.types.join(*kinds)
        if joined is None:
            return None
        node.type = joined
        return node

    def macro(self, node: Macro) -> Node:
        node.source = self.visit(node.source)
        self.loops += 1
        if self.loops > MAX_LOOPS:
            raise self.fault(node.pos, f"macros are nested over {MAX_LOOPS} deep")
        kind = resolve(node.source.type)
        outer = self.scope
        self.scope = dict(outer)
        node.slots = tuple(map(self.declare, node.names, self.elements(node, kind)))
        if node.test is not None:
            node.test = self.visit(node.test)
            self.must_be_bool(node.test, f"the test of `{node.kind}` must be a bool")
        node.body = self.visit(node.body)
        self.scope = outer
        self.loops -= 1
        node.type = self.macro_type(node, kind)
        return node

    def elements(self, node: Macro, kind: Type) -> tuple[Type, ...]:
        """Return the types of the variables of a macro over a `kind`."""
        two = len(node.names) == 2
        if kind.name == "list":
            return (INT, kind.params[0]) if two else (kind.params[0],)
        if kind.name == "map":
            return kind.params if two else kind.params[:1]
        if kind is not DYN and not isinstance(kind, Var):
            self.refuse(_start(node.source), f"`{node.kind}` needs a list or a map: this is a `{show(kind)}`")
        return (DYN, DYN) if two else (DYN,)

    def macro_type(self, node: Macro, kind: Type) -> Type:
        if node.kind == "filter" or node.kind in ("all", "exists", "exists_one"):
            self.must_be_bool(node.body, f"the test of `{node.kind}` must be a bool")
        if node.kind == "filter":
            return ListType(self.elements(node, kind)[0])
        if node.kind == "transformMap":
            return MapType(self.elements(node, kind)[0], node.body.type)
        return ListType(node.body.type) if node.kind in ("map", "transformList") else BOOL

    def declare(self, name: str, kind: Type) -> int:
        self.slots += 1
        self.scope[name] = (self.slots, kind)
        return self.slots

    def bind(self, node: Bind) -> Node:
        node.value = self.visit(node.value)
        outer = self.scope
        self.scope = dict(outer)
        node.slot = self.declare(node.name, node.value.type)
        node.body = self.visit(node.body)
        self.scope = outer
        node.type = node.body.type
        return node


_VISIT: Final[dict[type, Callable[[_Checker, Any], Node]]] = {
    Literal: _Checker.literal,
    Name: _Checker.name,
    Select: _Checker.select,
    Call: _Checker.call,
    ListNode: _Checker.list,
    MapNode: _Checker.map,
    Macro: _Checker.macro,
    Bind: _Checker.bind,
}
_SPECIAL: Final[dict[str, Callable[[_Checker, Call], Node | None]]] = {
    "_&&_": _Checker.logic,
    "_||_": _Checker.logic,
    "_?_:_": _Checker.conditional,
    "_[_]": _Checker.element,
    "_+_": _Checker.plus,
}
_MACROS: Final = ("has", "all", "exists", "exists_one", "existsOne", "map", "filter", "transformList", "transformMap")


def _start(node: Node) -> int:
    """Return where an expression begins; an operator's own position is in its middle."""
    while isinstance(node, Call | Select | Macro):
        inner = node.args[0] if isinstance(node, Call) and node.args else None
        inner = node.operand if isinstance(node, Select) else node.source if isinstance(node, Macro) else inner
        if inner is None or inner.pos > node.pos:
            break
        node = inner
    return node.pos


def _signatures(candidates: tuple[Any, ...]) -> str | None:
    shown = ["(" + ", ".join(_parameter(param) for param in one.params) + ")" for one in candidates]
    return f"it takes {' or '.join(shown[:6])}" if shown else None


def _parameter(kind: Type) -> str:
    if isinstance(kind, Var):
        return "any"
    return f"{kind.name}({', '.join(map(_parameter, kind.params))})" if kind.params else kind.name


def _nearest(name: str, known: Iterable[str], what: str) -> str | None:
    """Return a hint with the nearest known name, else all of them when they are few."""
    from difflib import get_close_matches

    names = list(dict.fromkeys(known))
    close = get_close_matches(name.removeprefix("."), names, n=1, cutoff=0.6)
    if close:
        return f"did you mean `{close[0]}`?"
    return f"known {what}: {', '.join(names)}" if 0 < len(names) <= 12 else None
