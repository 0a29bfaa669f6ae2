"""Checked expressions to callables: one alone (`program`) or several groups fused into one function (`fuse`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from indult.cel.compiler import Compiler
from indult.cel.environment import ACTION_ROOTS, Checked, Env
from indult.cel.facts import coerce, read_fact, type_at
from indult.cel.interpreter import Scope, evaluate
from indult.cel.syntax import Bind, Call, Fact, ListNode, Macro, MapNode, Node, Select
from indult.cel.types import Type
from indult.cel.values import MAX_INT, MIN_INT, no_overload
from indult.errors import EvaluationError

__all__ = ["Decide", "fuse", "program"]

# Code too deep for the stack that is left, or for Python's own parser; the exact way needs less.
_REFUSED = (RecursionError, MemoryError, SyntaxError)

Errors = list[tuple[int, int, str]] | None
Decide = Callable[[str, dict[str, Any], str, Callable[[], str], Mapping[str, object]], tuple[int, list[int], Errors]]
"""`decide(tool, args, actor, target, facts)` -> the first group that matched, the indices that matched, the errors."""


def program(checked: Checked) -> Callable[[Mapping[str, object]], object]:
    """Return a function from variables to the value of one expression.

    The function raises `EvaluationError` when a variable is absent or of another type, and when the expression has no
    value.
    """
    paths = sorted(reads_of(checked.node) | checked.reads)
    fast = _compiled(checked.node, paths)

    def run(variables: Mapping[str, object]) -> object:
        values = [read_fact(checked.env, path, variables) for path in paths]
        try:
            if fast is not None:
                return fast(*values)
        except Exception:  # noqa: S110  # what it means is decided below
            pass
        return _exact(checked.node, dict(zip(paths, values, strict=True)))

    return run


def _compiled(node: Node, paths: list[tuple[str, ...]]) -> Callable[..., Any] | None:
    names = {path: f"f{at}" for at, path in enumerate(paths)}
    compiler = Compiler(names)
    try:
        compiler.emit(f"return {compiler.value(node)}")
        return compiler.build(f"def run({', '.join(names.values())}):", "run")
    except _REFUSED:
        return None


def _exact(node: Node, facts: Mapping[tuple[str, ...], Any]) -> Any:
    try:
        return evaluate(node, Scope(facts))
    except EvaluationError:
        raise
    except RecursionError as exc:
        raise EvaluationError("values are nested too deep") from exc
    except Exception as exc:
        raise EvaluationError(f"{type(exc).__name__}: {exc}") from exc


def reads_of(node: Node) -> set[tuple[str, ...]]:
    """Return the variables and facts that a tree still reads."""
    if isinstance(node, Fact):
        return {node.path}
    found: set[tuple[str, ...]] = set()
    for child in _children(node):
        found |= reads_of(child)
    return found


def _children(node: Node) -> Iterable[Node]:
    match node:
        case Call():
            return node.args
        case Select():
            return (node.operand,)
        case ListNode():
            return node.items
        case MapNode():
            return [part for entry in node.entries for part in entry]
        case Macro():
            return [part for part in (node.source, node.test, node.body) if part is not None]
        case Bind():
            return (node.value, node.body)
    return ()


def fuse(groups: Sequence[Sequence[Checked | None]], env: Env) -> Decide:
    """Return one function that evaluates groups of conditions in order and stops at the first group with a match.

    In practice the groups are deny, ask and allow; `None` stands for a condition that always holds. All conditions of
    a group are evaluated. One that errs counts as matched, in the last group as not matched; so does one whose
    declared facts are absent or not of their type, even where `&&` would not have come to read them.
    """
    return _Fusion([tuple(group) for group in groups], env).function()


class _Values(dict[tuple[str, ...], Any]):
    """The variables of one exact evaluation; the target is computed when it is read."""

    def __init__(self, target: Callable[[], str]) -> None:
        super().__init__()
        self.target = target

    def __missing__(self, path: tuple[str, ...]) -> Any:
        self[path] = self.target()
        return self[path]


class _Fusion:
    """The generated function and the exact way that it falls back to."""

    def __init__(self, groups: list[tuple[Checked | None, ...]], env: Env) -> None:
        self.groups = groups
        self.env = env
        used = {one for group in groups for one in group if one is not None}
        self.reads = {one: reads_of(one.node) | one.reads for one in used}
        self.paths = sorted({path for paths in self.reads.values() for path in paths})
        names = {path: f"f{at}" for at, path in enumerate(self.paths)}
        names |= {(root,): root for root in ACTION_ROOTS}
        # The target costs a digest, so it is asked for only when a condition comes to read it.
        names[("target",)] = "(held if held is not None else (held := target()))"
        self.names = names
        self.compiler = Compiler(names)

    def function(self) -> Decide:
        """Return the generated function, or the exact way itself where Python cannot take the code."""
        try:
            return self.generated()
        except _REFUSED:
            return self.slow

    def generated(self) -> Decide:
        out = self.compiler
        self.read_facts()
        out.emit("errors = None")
        if ("target",) in self.paths:
            out.emit("held = None")
        for at, group in enumerate(self.groups):
            if group:
                self.group(at, group)
        out.emit(f"return {len(self.groups)}, [], errors")
        out.objects |= {"slow": self.slow, "redo": self.redo, "coerce": coerce}
        return out.build("def decide(tool, args, actor, target, facts):", "decide")

    def read_facts(self) -> None:
        """Read and check each declared fact once; whatever is wrong sends the decision the exact way."""
        declared = [path for path in self.paths if path[0] not in ACTION_ROOTS]
        if not declared:
            return
        out = self.compiler
        out.emit("try:")
        out.indent += 1
        held: dict[tuple[str, ...], str] = {(): "facts"}
        for path in declared:
            for depth in range(1, len(path)):
                if path[:depth] not in held:
                    held[path[:depth]] = f"g{len(held)}"
                    out.emit(f"{held[path[:depth]]} = {held[path[: depth - 1]]}[{path[depth - 1]!r}]")
            name = self.names[path]
            out.emit(f"{name} = {held[path[:-1]]}[{path[-1]!r}]")
            self.check_fact(name, type_at(self.env, path), path)
        out.indent -= 1
        out.emit("except Exception:")
        out.emit(" return slow(tool, args, actor, target, facts)")

    def check_fact(self, name: str, kind: Type, path: tuple[str, ...]) -> None:
        out = self.compiler
        exact = {"string": "str", "bool": "bool"}
        inner = kind.params[0].name if kind.name == "list" else ""
        if kind.name == "dyn":
            return
        if kind.name in exact:
            out.emit(f"if type({name}) is not {exact[kind.name]}: fail()")
        elif kind.name == "int":
            out.emit(f"if type({name}) is not int or not {MIN_INT} <= {name} <= {MAX_INT}: fail()")
        elif inner in exact:
            out.emit(f"if type({name}) is not list: fail()")
            out.emit(f"for one in {name}:")
            out.emit(f" if type(one) is not {exact[inner]}: fail()")
        else:
            out.emit(f"{name} = coerce({name}, {out.refer(kind)}, {'.'.join(path)!r})")

    def group(self, at: int, group: tuple[Checked | None, ...]) -> None:
        out = self.compiler
        if all(one is None for one in group):
            out.emit(f"return {at}, {list(range(len(group)))!r}, errors")
            return
        if len(group) == 1 and group[0] is not None:
            self.only(at, group[0])
            return
        out.emit("hits = None")
        for number, one in enumerate(group):
            if one is None:
                self.hit(number)
            else:
                self.condition(at, number, one)
        out.emit(f"if hits is not None: return {at}, hits, errors")

    def only(self, at: int, one: Checked) -> None:
        """Write a group of one condition."""
        out = self.compiler
        out.emit("try:")
        out.indent += 1
        out.emit(f"if {out.truth(one.node)}: return {at}, [0], errors")
        out.indent -= 1
        out.emit("except Exception:")
        out.emit(f" hits, errors = redo({at}, 0, None, errors, tool, args, actor, target, facts)")
        out.emit(f" if hits is not None: return {at}, hits, errors")

    def hit(self, number: int) -> None:
        out = self.compiler
        if number == 0:
            out.emit("hits = [0]")
        else:
            out.emit(f"if hits is None: hits = [{number}]")
            out.emit(f"else: hits.append({number})")

    def condition(self, at: int, number: int, one: Checked) -> None:
        out = self.compiler
        out.emit("try:")
        out.indent += 1
        out.emit(f"if {out.truth(one.node)}:")
        out.indent += 1
        self.hit(number)
        out.indent -= 2
        out.emit("except Exception:")
        out.emit(f" hits, errors = redo({at}, {number}, hits, errors, tool, args, actor, target, facts)")

    def redo(
        self,
        at: int,
        number: int,
        hits: list[int] | None,
        errors: Errors,
        tool: str,
        args: dict[str, Any],
        actor: str,
        target: Callable[[], str],
        facts: Mapping[str, object],
    ) -> tuple[list[int] | None, Errors]:
        """Evaluate one condition exactly and add what came of it."""
        one = self.groups[at][number]
        matched = True
        if one is not None:
            try:
                matched = self.exactly(one, tool, args, actor, target, facts)
            except Exception as exc:
                message = str(exc) if isinstance(exc, EvaluationError) else f"{type(exc).__name__}: {exc}"
                errors = [*(errors or ()), (at, number, message)]
                matched = at < len(self.groups) - 1
        return ([*(hits or ()), number] if matched else hits), errors

    def exactly(
        self,
        one: Checked,
        tool: str,
        args: dict[str, Any],
        actor: str,
        target: Callable[[], str],
        facts: Mapping[str, object],
    ) -> bool:
        values = _Values(target)
        values |= {("tool",): tool, ("args",): args, ("actor",): actor}
        for path in self.reads[one]:
            if path[0] not in ACTION_ROOTS:
                values[path] = read_fact(self.env, path, facts)
        value = _exact(one.node, values)
        if type(value) is not bool:
            no_overload("condition", value)
        return value

    def slow(
        self,
        tool: str,
        args: dict[str, Any],
        actor: str,
        target: Callable[[], str],
        facts: Mapping[str, object],
    ) -> tuple[int, list[int], Errors]:
        """Decide with every condition evaluated exactly, so that a bad fact touches only the rules that read it."""
        errors: Errors = None
        for at, group in enumerate(self.groups):
            hits: list[int] | None = None
            for number in range(len(group)):
                hits, errors = self.redo(at, number, hits, errors, tool, args, actor, target, facts)
            if hits is not None:
                return at, hits, errors
        return len(self.groups), [], errors
