"""Tokens to a tree, by precedence climbing; macros become nodes of their own."""

from __future__ import annotations

from typing import Final

from indult.cel.lexer import Token, fault, tokenize
from indult.cel.syntax import Bind, Call, ListNode, Literal, Macro, MapNode, Name, Node, Select
from indult.cel.values import MAX_INT, UInt
from indult.errors import ConditionError

__all__ = ["MAX_DEPTH", "RESERVED", "parse"]

MAX_DEPTH: Final = 64
"""Deepest nesting of an expression; deeper ones are refused, so no stage can run out of stack."""

RESERVED: Final = frozenset({
    "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop", "package",
    "namespace", "return", "var", "void", "while",
})  # fmt: skip
_CONSTANTS: Final = {"true": True, "false": False, "null": None}

# Relations bind looser than sums, sums looser than products; all of them to the left.
_BINARY: Final = {
    "==": (1, "_==_"), "!=": (1, "_!=_"), "<": (1, "_<_"), "<=": (1, "_<=_"), ">": (1, "_>_"), ">=": (1, "_>=_"),
    "in": (1, "@in"), "+": (2, "_+_"), "-": (2, "_-_"), "*": (3, "_*_"), "/": (3, "_/_"), "%": (3, "_%_"),
}  # fmt: skip

# Name of a macro -> number of arguments -> number of variables; the rest is an optional test and the body.
_MACROS: Final[dict[str, dict[int, int]]] = {
    "all": {2: 1, 3: 2},
    "exists": {2: 1, 3: 2},
    "exists_one": {2: 1, 3: 2},
    "existsOne": {2: 1, 3: 2},
    "filter": {2: 1},
    "map": {2: 1, 3: 1},
    "transformList": {3: 2, 4: 2},
    "transformMap": {3: 2, 4: 2},
}


def parse(source: str) -> Node:
    """Return the tree of `source`.

    Raises:
        ConditionError: The text is no expression, is too long or is nested too deep.
    """
    return _Parser(source).whole()


class _Parser:
    """One pass over the tokens of one expression."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.tokens = tokenize(source)
        self.at = 0
        self.kind = self.tokens[0][0]
        self.depth = 0

    def whole(self) -> Node:
        node = self.expression()
        if self.kind != "end":
            raise self.unexpected()
        return node

    def next(self) -> Token:
        token = self.tokens[self.at]
        self.at += 1
        self.kind = self.tokens[self.at][0] if token[0] != "end" else "end"
        return token

    def take(self, kind: str) -> Token:
        if self.kind != kind:
            raise self.unexpected(kind)
        return self.next()

    def fault(self, pos: int, message: str, hint: str | None = None) -> ConditionError:
        return fault(self.source, pos, message, hint)

    def unexpected(self, wanted: str | None = None) -> ConditionError:
        kind, value, pos = self.tokens[self.at]
        tail = f": expected `{wanted}`" if wanted else ""
        if kind == "end":
            return self.fault(pos, f"unexpected end of expression{tail}")
        if kind == "name" and value in ("and", "or", "not"):
            return self.fault(pos, f"unexpected `{value}`", f"write `{ {'and': '&&', 'or': '||', 'not': '!'}[value] }`")
        shown = self.source[pos : self.tokens[self.at + 1][2]].strip()[:40]
        return self.fault(pos, f"unexpected `{shown}`{tail}")

    def enter(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.fault(self.tokens[self.at][2], f"expression is nested over {MAX_DEPTH} deep")

    def expression(self) -> Node:
        self.enter()
        node = self.either()
        if self.kind == "?":
            pos = self.next()[2]
            then = self.either()
            self.take(":")
            node = Call(pos, "_?_:_", [node, then, self.expression()])
        self.depth -= 1
        return node

    def either(self) -> Node:
        node = self.both()
        if self.kind != "||":
            return node
        pos, operands = self.tokens[self.at][2], [node]
        while self.kind == "||":
            self.next()
            operands.append(self.both())
        return Call(pos, "_||_", operands)

    def both(self) -> Node:
        node = self.binary(1)
        if self.kind != "&&":
            return node
        pos, operands = self.tokens[self.at][2], [node]
        while self.kind == "&&":
            self.next()
            operands.append(self.binary(1))
        return Call(pos, "_&&_", operands)

    def operator(self) -> tuple[int, str] | None:
        if self.kind == "name":
            return _BINARY["in"] if self.tokens[self.at][1] == "in" else None
        return _BINARY.get(self.kind)

    def binary(self, least: int) -> Node:
        node = self.unary()
        while (found := self.operator()) is not None and found[0] >= least:
            pos = self.next()[2]
            node = Call(pos, found[1], [node, self.binary(found[0] + 1)])
        return node

    def unary(self) -> Node:
        kind = self.kind
        if kind not in ("-", "!"):
            return self.member(self.primary())
        pos, signs = self.tokens[self.at][2], 0
        while self.kind == kind:
            self.next()
            signs += 1
        # The specification's grammar takes a minus right before a number as its sign.
        if kind == "-" and self.kind in ("int", "double") and signs == 1:
            return self.member(Literal(pos, -self.next()[1]))
        node = self.member(self.primary())
        # Two signs cancel without a look at the operand, as in the specification's own parsers.
        return node if signs % 2 == 0 else Call(pos, "-_" if kind == "-" else "!_", [node])

    def member(self, node: Node) -> Node:
        while True:
            if self.kind == ".":
                self.next()
                self.refuse_optional()
                node = self.field(node)
            elif self.kind == "[":
                pos = self.next()[2]
                self.refuse_optional()
                node = Call(pos, "_[_]", [node, self.expression()])
                self.take("]")
            elif self.kind == "{" and isinstance(node, Name | Select):
                raise self.fault(node.pos, "messages are not part of this language", "write a map: {'field': value}")
            else:
                return node

    def field(self, node: Node) -> Node:
        if self.kind == "quoted":
            _, name, pos = self.next()
            return Select(pos, node, name)
        _, name, pos = self.take("name")
        if name in _CONSTANTS or name == "in":
            raise self.fault(pos, f"`{name}` is not a field name", f"write it in backticks: `.`{name}``")
        if self.kind != "(":
            return Select(pos, node, name)
        return self.method(node, name, pos)

    def method(self, node: Node, name: str, pos: int) -> Node:
        args = self.arguments()
        if name == "bind" and isinstance(node, Name) and node.name == "cel" and len(args) == 3:
            return Bind(pos, self.variable(args[0], name), args[1], args[2])
        variables = _MACROS.get(name, {}).get(len(args))
        if variables is None:
            return Call(pos, name, [node, *args], member=True)
        names = tuple(self.variable(arg, name) for arg in args[:variables])
        if len(set(names)) != len(names):
            raise self.fault(args[1].pos, f"`{name}` needs two different variables")
        test = args[variables] if len(args) - variables == 2 else None
        return Macro(pos, "exists_one" if name == "existsOne" else name, node, names, test, args[-1])

    def variable(self, node: Node, macro: str) -> str:
        if isinstance(node, Name) and not node.name.startswith("."):
            return node.name
        raise self.fault(node.pos, f"`{macro}` needs a variable name here")

    def arguments(self) -> list[Node]:
        self.take("(")
        args: list[Node] = []
        while self.kind != ")":
            args.append(self.expression())
            if self.kind != ")":
                self.take(",")
                if self.kind == ")":
                    raise self.unexpected()
        self.next()
        return args

    def primary(self) -> Node:
        kind = self.kind
        if kind == "name":
            return self.name("")
        if kind in ("string", "bytes", "double", "uint", "int"):
            return self.literal()
        if kind == "(":
            self.next()
            node = self.expression()
            self.take(")")
            return node
        if kind == "[":
            return self.list()
        if kind == "{":
            return self.map()
        if kind == ".":
            self.next()
            return self.name(".")
        raise self.unexpected()

    def literal(self) -> Node:
        kind, value, pos = self.next()
        if kind == "int" and value > MAX_INT:
            raise self.fault(pos, f"number `{value}` does not fit 64 bits")
        return Literal(pos, UInt(value) if kind == "uint" else value)

    def name(self, lead: str) -> Node:
        _, name, pos = self.take("name")
        if name in _CONSTANTS and not lead:
            return Literal(pos, _CONSTANTS[name])
        if name in RESERVED:
            raise self.fault(pos, f"`{name}` is a reserved word")
        if name in _CONSTANTS or name == "in":
            self.at -= 1
            raise self.unexpected()
        if self.kind != "(":
            return Name(pos, lead + name)
        args = self.arguments()
        if name == "has" and len(args) == 1:
            return self.has(args[0], pos)
        return Call(pos, name, args)

    def has(self, node: Node, pos: int) -> Node:
        if isinstance(node, Select) and not node.test:
            return Select(node.pos, node.operand, node.field, test=True)
        raise self.fault(pos, "`has` needs a field", "write has(value.field)")

    def refuse_optional(self) -> None:
        if self.kind == "?":
            raise self.fault(
                self.tokens[self.at][2], "optional values are not part of this language", "test with has(value.field)"
            )

    def list(self) -> Node:
        pos = self.next()[2]
        items: list[Node] = []
        while self.kind != "]":
            self.refuse_optional()
            items.append(self.expression())
            if self.kind != "]":
                self.take(",")
        self.next()
        return ListNode(pos, items)

    def map(self) -> Node:
        pos = self.next()[2]
        entries: list[tuple[Node, Node]] = []
        while self.kind != "}":
            self.refuse_optional()
            key = self.expression()
            self.take(":")
            entries.append((key, self.expression()))
            if self.kind != "}":
                self.take(",")
        self.next()
        return MapNode(pos, entries)
