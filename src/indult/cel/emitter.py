"""Lines of Python under construction: blocks, temporary variables, and the objects that the code refers to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from indult.cel.syntax import Node
from indult.cel.types import DYN, Var
from indult.cel.unify import resolve
from indult.cel.values import as_key, contains, equals, index, keys_of, make_map
from indult.errors import EvaluationError

__all__ = ["Emitter", "type_name"]


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


_OBJECTS: Mapping[str, Any] = {
    "eq": equals, "has_in": contains, "index": index, "fail": _fail, "rounds": _rounds, "pairs": _pairs,
    "as_key": as_key, "make_map": make_map,
}  # fmt: skip


def type_name(node: Node) -> str:
    """Return the name of the type of a node, `dyn` where it is not known."""
    kind = resolve(node.type)
    return DYN.name if isinstance(kind, Var) else kind.name


class Emitter:
    """The body of one function; `names` are the variables that hold the facts, by path."""

    def __init__(self, names: Mapping[tuple[str, ...], str]) -> None:
        self.names = names
        self.lines: list[str] = []
        self.indent = 1
        self.temporaries = 0
        self.objects: dict[str, Any] = dict(_OBJECTS)

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

    def build(self, head: str, name: str) -> Callable[..., Any]:
        """Return the function `name` whose first line is `head`."""
        code = compile("\n".join([head, *self.lines]), "<condition>", "exec")
        exec(code, self.objects)  # noqa: S102  # our own code: texts of a policy enter it only as `repr`
        return self.objects[name]  # type: ignore[no-any-return]
