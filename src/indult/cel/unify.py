"""Which types fit which: the small unification that the checker rests on.

`dyn` fits everything, in both directions: what only the value can tell is left to the evaluation. A `Var` takes the
first type it meets; the trail allows an overload that did not fit to be forgotten again.
"""

from __future__ import annotations

from functools import lru_cache

from indult.cel.library import Overload, overloads
from indult.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    TYPE,
    UINT,
    ListType,
    MapType,
    RecordType,
    Type,
    Var,
)

__all__ = ["Unifier", "frozen", "resolve", "show"]

_NULLABLE = (TIMESTAMP, DURATION)
_SCALARS = {kind.name: kind for kind in (INT, UINT, DOUBLE, STRING, BYTES, BOOL, NULL, TIMESTAMP, DURATION, TYPE, DYN)}
_WHOLE_RECORD = MapType(STRING, DYN)


def resolve(kind: Type) -> Type:
    """Return what a type stands for now: a bound variable's type, a record as the map it is."""
    while isinstance(kind, Var):
        if kind.bound is None:
            return kind
        kind = kind.bound
    return _WHOLE_RECORD if isinstance(kind, RecordType) else kind


def show(kind: Type) -> str:
    """Return a type as a person would write it."""
    kind = resolve(kind)
    if isinstance(kind, Var):
        return "dyn"
    return f"{kind.name}({', '.join(map(show, kind.params))})" if kind.params else kind.name


class Unifier:
    """Unification with undo, for one expression."""

    __slots__ = ("trail",)

    def __init__(self) -> None:
        self.trail: list[Var] = []

    def undo(self, mark: int) -> None:
        """Forget what was bound since the trail had length `mark`."""
        while len(self.trail) > mark:
            self.trail.pop().bound = None

    def fits(self, a: Type, b: Type) -> bool:
        """Tell whether two types can be one, binding variables on the way; `undo` after a failure is the caller's."""
        a, b = resolve(a), resolve(b)
        if a is b:
            return True
        if isinstance(a, Var):
            return self._bind(a, b)
        if isinstance(b, Var):
            return self._bind(b, a)
        if a is DYN or b is DYN:
            return True
        if a.name != b.name:
            return (a is NULL and b in _NULLABLE) or (b is NULL and a in _NULLABLE)
        return all(map(self.fits, a.params, b.params))

    def _bind(self, variable: Var, kind: Type) -> bool:
        if _occurs(variable, kind):
            return False
        variable.bound = kind
        self.trail.append(variable)
        return True

    def join(self, a: Type, b: Type) -> Type | None:
        """Return the most exact type that holds both, `None` where only an error would."""
        mark = len(self.trail)
        if not self.fits(a, b):
            self.undo(mark)
            return None
        return _general(a, b)

    def select(self, name: str, member: bool, args: list[Type]) -> Type | None:
        """Return the result type for these arguments, `None` when no overload fits them."""
        kinds = tuple(resolve(arg).name for arg in args)
        if all(kind in _SCALARS for kind in kinds):
            return _select_scalars(name, member, kinds)
        return self.select_from(overloads(name, member), args)

    def select_from(self, candidates: tuple[Overload, ...], args: list[Type]) -> Type | None:
        """Do the work of `select`, without the memory."""
        fitting: list[tuple[Overload, Type]] = []
        for one in candidates:
            if len(one.params) != len(args):
                continue
            mark = len(self.trail)
            result = self._apply(one, args)
            if result is not None:
                fitting.append((one, frozen(result)))
            self.undo(mark)
        if len(fitting) == 1:
            return self._apply(fitting[0][0], args)
        if not fitting:
            return None
        first = fitting[0][1]
        return first if all(result == first for _, result in fitting) else DYN

    def _apply(self, one: Overload, args: list[Type]) -> Type | None:
        """Return the result of an overload for these arguments, `None` when they do not fit."""
        if not one.generic:
            return one.result if all(map(self.fits, one.params, args)) else None
        params, result, made = _fresh(one)
        if not all(map(self.fits, params, args)):
            return None
        # A variable that no argument has bound stands for part of a `dyn`: nothing is known of it, then or later.
        for variable in made:
            if variable.bound is None:
                self._bind(variable, DYN)
        return result


@lru_cache(maxsize=2048)
def _select_scalars(name: str, member: bool, kinds: tuple[str, ...]) -> Type | None:
    """Select once for arguments without parameters; most calls of most policies are among a few dozen."""
    return Unifier().select_from(overloads(name, member), [_SCALARS[kind] for kind in kinds])


def _general(a: Type, b: Type) -> Type:
    a, b = resolve(a), resolve(b)
    if a is DYN or b is DYN:
        return DYN
    if isinstance(a, Var) or isinstance(b, Var) or not a.params:
        return b if isinstance(a, Var) or a is NULL else a
    params = tuple(map(_general, a.params, b.params))
    return ListType(*params) if a.name == "list" else MapType(*params)


def _occurs(variable: Var, kind: Type) -> bool:
    kind = resolve(kind)
    return kind is variable or any(_occurs(variable, param) for param in kind.params)


def frozen(kind: Type) -> Type:
    """Return a type as it stands now, to outlive an undo."""
    kind = resolve(kind)
    if isinstance(kind, Var) or not kind.params:
        return kind
    return Type(kind.name, tuple(map(frozen, kind.params)))


def _fresh(one: Overload) -> tuple[tuple[Type, ...], Type, list[Var]]:
    """Return a signature with variables of its own."""
    made: dict[Type, Var] = {}

    def copy(kind: Type) -> Type:
        if isinstance(kind, Var):
            return made.setdefault(kind, Var(kind.name))
        return Type(kind.name, tuple(map(copy, kind.params))) if kind.params else kind

    return tuple(map(copy, one.params)), copy(one.result), list(made.values())
