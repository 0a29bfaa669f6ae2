"""What CEL values are in Python, and the operators that must not be Python's.

int is `int`, uint `UInt`, double `float`, string `str`, bytes `bytes`, bool `bool`, null `None`, list `list`, map `dict`.
Python's `==` differs from CEL's in two ways that matter: `True == 1`, and an int beyond 2**53 is compared with a float
exactly where CEL rounds it first. Everything here takes values of any type and raises `EvaluationError` where CEL has
no overload.
"""

from __future__ import annotations

from typing import Any, Final, NoReturn

from indult.cel.times import Duration, Timestamp
from indult.errors import EvaluationError

__all__ = [
    "FALSE_KEY",
    "MAX_INT",
    "MAX_UINT",
    "MIN_INT",
    "TRUE_KEY",
    "CelType",
    "UInt",
    "as_key",
    "compare",
    "contains",
    "equals",
    "has_field",
    "index",
    "keys_of",
    "make_map",
    "no_overload",
    "select",
    "spelled",
    "type_of",
]

MIN_INT: Final = -(2**63)
MAX_INT: Final = 2**63 - 1
MAX_UINT: Final = 2**64 - 1


class UInt(int):
    """An unsigned 64 bit integer; equal to the int and the double of the same size."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"{int(self)}u"


class CelType:
    """A type as a value: what `type(1)` and the bare word `int` give."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CelType) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return self.name


class _BoolKey:
    """A bool as a map key: Python's dict would take `True` and `1` for the same key."""

    __slots__ = ("value",)

    def __init__(self, value: bool) -> None:
        self.value = value

    def __repr__(self) -> str:
        return "true" if self.value else "false"


TRUE_KEY: Final = _BoolKey(True)
FALSE_KEY: Final = _BoolKey(False)

TYPES: Final[dict[type, CelType]] = {
    int: CelType("int"),
    UInt: CelType("uint"),
    float: CelType("double"),
    str: CelType("string"),
    bytes: CelType("bytes"),
    bool: CelType("bool"),
    type(None): CelType("null_type"),
    list: CelType("list"),
    dict: CelType("map"),
    CelType: CelType("type"),
    Timestamp: CelType("google.protobuf.Timestamp"),
    Duration: CelType("google.protobuf.Duration"),
}

_NUMBERS: Final = frozenset({int, UInt, float})
_ORDERED: Final = frozenset({int, UInt, float, str, bytes, bool, Timestamp, Duration})


def type_of(value: Any) -> CelType:
    """Return the CEL type of `value`."""
    found = TYPES.get(type(value))
    if found is None:
        raise EvaluationError(f"a `{type(value).__name__}` is not a CEL value")
    return found


def spelled(function: str) -> str:
    """Return an operator as it is written, a function as its name."""
    if function == "@in":
        return "in"
    return function if function[0].isalpha() else function.replace("_", "")


def no_overload(what: str, *args: Any) -> NoReturn:
    """Raise the error for `what` applied to values of these types."""
    kinds = ", ".join(TYPES[type(arg)].name if type(arg) in TYPES else type(arg).__name__ for arg in args)
    raise EvaluationError(f"no such overload: `{spelled(what)}` for ({kinds})")


def equals(a: Any, b: Any) -> bool:
    """Tell whether two values are equal: numbers by size, lists and maps by content, unlike types never."""
    kind, other = type(a), type(b)
    if kind is other:
        if kind is list:
            return len(a) == len(b) and all(map(equals, a, b))
        if kind is dict:
            return len(a) == len(b) and all(key in b and equals(value, b[key]) for key, value in a.items())
        return bool(a == b)
    if kind in _NUMBERS and other in _NUMBERS:
        if kind is float or other is float:
            return float(a) == float(b)
        return bool(a == b)
    return False


def compare(what: str, a: Any, b: Any) -> int | None:
    """Return -1, 0 or 1 as `a` is below, at or above `b`, `None` where a NaN is one of them."""
    kind, other = type(a), type(b)
    if kind is not other:
        if kind not in _NUMBERS or other not in _NUMBERS:
            no_overload(what, a, b)
        if kind is float or other is float:
            a, b = float(a), float(b)
    elif kind not in _ORDERED:
        no_overload(what, a, b)
    return -1 if a < b else 1 if a > b else 0 if a == b else None


def as_key(key: Any) -> Any:
    """Return what stands for `key` in the Python dict of a map; anything that is no key raises."""
    kind = type(key)
    if kind is bool:
        return TRUE_KEY if key else FALSE_KEY
    if kind is str or kind is int or kind is UInt or kind is float:
        return key
    raise EvaluationError(f"`{type_of(key).name}` is not a key of a map")


def keys_of(values: dict[Any, Any]) -> list[Any]:
    """Return the keys of a map as CEL values."""
    return [key.value if type(key) is _BoolKey else key for key in values]


def make_map(pairs: list[tuple[Any, Any]]) -> dict[Any, Any]:
    """Return the map of `pairs`; a key of no key type and a key that stands twice raise."""
    made: dict[Any, Any] = {}
    for key, value in pairs:
        if type(key) is float:
            raise EvaluationError("`double` is not a key of a map")
        made[as_key(key)] = value
    if len(made) != len(pairs):
        raise EvaluationError("a map holds one key twice")
    return made


def index(values: Any, key: Any) -> Any:
    """Return `values[key]` of a list or map."""
    kind = type(values)
    if kind is dict:
        found = as_key(key)
        if found in values:
            return values[found]
        raise EvaluationError(f"no such key: `{str(key)[:64]}`")
    if kind is not list:
        no_overload("_[_]", values, key)
    position = type(key)
    if position is float and key == key // 1:
        key = int(key)
    elif position is not int and position is not UInt:
        no_overload("_[_]", values, key)
    if 0 <= key < len(values):
        return values[key]
    raise EvaluationError(f"index `{key}` is outside a list of {len(values)}")


def select(values: Any, field: str) -> Any:
    """Return `values.field` of a map."""
    if type(values) is not dict:
        raise EvaluationError(f"a `{type_of(values).name}` has no field `{field}`")
    if field in values:
        return values[field]
    raise EvaluationError(f"no such key: `{field}`")


def has_field(values: Any, field: str) -> bool:
    """Tell whether a map has a field: `has(values.field)`."""
    if type(values) is not dict:
        raise EvaluationError(f"a `{type_of(values).name}` has no field `{field}`")
    return field in values


def contains(item: Any, values: Any) -> bool:
    """Tell whether `item` is an element of a list or a key of a map."""
    kind = type(values)
    if kind is list:
        return any(equals(item, other) for other in values)
    if kind is dict:
        return as_key(item) in values
    no_overload("@in", item, values)
