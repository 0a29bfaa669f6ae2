"""Which functions and operators there are, for which types, and what runs them.

One table serves the checker (which overloads fit these types) and the evaluation of values whose type is only known
when they arrive (`dispatch` picks by the Python types). A row is: style, parameters, result, implementation; style `f`
is `size(x)`, `m` is `x.size()`, `b` both. `A` and `B` stand for any type. Signatures are read on first use, so that
importing the language stays cheap.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

from indult.cel import functions as fn
from indult.cel import strings, times
from indult.cel.formatting import format_text
from indult.cel.regex import matches
from indult.cel.times import Duration, Timestamp
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
    Type,
    Var,
)
from indult.cel.values import CelType, UInt, compare, contains, equals, index, no_overload, type_of

__all__ = ["CONSTANTS", "NAMES", "Overload", "compare_with", "dispatch", "overloads"]

Row = tuple[str, str, str, Callable[..., Any]]


class Overload:
    """One signature of a function; `run` is its implementation for exactly these types."""

    __slots__ = ("generic", "params", "result", "run")

    def __init__(self, params: tuple[Type, ...], result: Type, run: Callable[..., Any], *, generic: bool) -> None:
        self.params = params
        self.result = result
        self.run = run
        self.generic = generic


def compare_with(operator: str, a: Any, b: Any) -> bool:
    """Return `a operator b` for `_<_`, `_<=_`, `_>_` and `_>=_`; false where one of them is a NaN."""
    order = compare(operator, a, b)
    if order is None:
        return False
    if operator == "_<_":
        return order < 0
    if operator == "_<=_":
        return order <= 0
    return order > 0 if operator == "_>_" else order >= 0


def _differs(a: Any, b: Any) -> bool:
    return not equals(a, b)


def _concatenate(a: Any, b: Any) -> Any:
    return a + b


def _less(a: Any, b: Any) -> bool:
    return compare_with("_<_", a, b)


def _less_or_equal(a: Any, b: Any) -> bool:
    return compare_with("_<=_", a, b)


def _greater(a: Any, b: Any) -> bool:
    return compare_with("_>_", a, b)


def _greater_or_equal(a: Any, b: Any) -> bool:
    return compare_with("_>=_", a, b)


def _same(value: Any) -> Any:
    return value


def _ordered(run: Callable[..., Any]) -> tuple[Row, ...]:
    kinds = ("int", "uint", "double", "string", "bytes", "bool", "timestamp", "duration")
    return tuple(("f", f"{kind}, {kind}", "bool", run) for kind in kinds)


def _parts(name: str) -> tuple[Row, ...]:
    def of_timestamp(value: Timestamp, zone: str = "UTC") -> int:
        return times.timestamp_part(value, name, zone)

    def of_duration(value: Duration) -> int:
        return times.duration_part(value, name)

    rows: tuple[Row, ...] = (("m", "timestamp", "int", of_timestamp), ("m", "timestamp, string", "int", of_timestamp))
    if name in ("getHours", "getMinutes", "getSeconds", "getMilliseconds"):
        rows += (("m", "duration", "int", of_duration),)
    return rows


_TABLE: Final[dict[str, tuple[Row, ...]]] = {
    "_==_": (("f", "A, A", "bool", equals),),
    "_!=_": (("f", "A, A", "bool", _differs),),
    "_<_": _ordered(_less),
    "_<=_": _ordered(_less_or_equal),
    "_>_": _ordered(_greater),
    "_>=_": _ordered(_greater_or_equal),
    "_+_": (
        ("f", "int, int", "int", fn.add_int),
        ("f", "uint, uint", "uint", fn.add_uint),
        ("f", "double, double", "double", _concatenate),
        ("f", "string, string", "string", _concatenate),
        ("f", "bytes, bytes", "bytes", _concatenate),
        ("f", "list(A), list(A)", "list(A)", _concatenate),
        ("f", "timestamp, duration", "timestamp", times.add_times),
        ("f", "duration, timestamp", "timestamp", times.add_times),
        ("f", "duration, duration", "duration", times.add_times),
    ),
    "_-_": (
        ("f", "int, int", "int", fn.subtract_int),
        ("f", "uint, uint", "uint", fn.subtract_uint),
        ("f", "double, double", "double", lambda a, b: a - b),
        ("f", "timestamp, timestamp", "duration", times.subtract_times),
        ("f", "timestamp, duration", "timestamp", times.subtract_times),
        ("f", "duration, duration", "duration", times.subtract_times),
    ),
    "_*_": (
        ("f", "int, int", "int", fn.multiply_int),
        ("f", "uint, uint", "uint", fn.multiply_uint),
        ("f", "double, double", "double", lambda a, b: a * b),
    ),
    "_/_": (
        ("f", "int, int", "int", fn.divide_int),
        ("f", "uint, uint", "uint", fn.divide_uint),
        ("f", "double, double", "double", fn.divide_double),
    ),
    "_%_": (("f", "int, int", "int", fn.modulo_int), ("f", "uint, uint", "uint", fn.modulo_uint)),
    "-_": (("f", "int", "int", fn.negate_int), ("f", "double", "double", lambda a: -a)),
    "!_": (("f", "bool", "bool", lambda a: not a),),
    "@in": (("f", "A, list(A)", "bool", contains), ("f", "A, map(A, B)", "bool", contains)),
    "_[_]": (("f", "list(A), int", "A", index), ("f", "map(A, B), A", "B", index)),
    "size": (
        ("b", "string", "int", len),
        ("b", "bytes", "int", len),
        ("b", "list(A)", "int", len),
        ("b", "map(A, B)", "int", len),
    ),
    "contains": (("m", "string, string", "bool", str.__contains__),),
    "startsWith": (("m", "string, string", "bool", str.startswith),),
    "endsWith": (("m", "string, string", "bool", str.endswith),),
    "matches": (("b", "string, string", "bool", matches),),
    "type": (("f", "A", "type", type_of),),
    "dyn": (("f", "A", "dyn", _same),),
    "int": (
        ("f", "int", "int", _same),
        ("f", "uint", "int", fn.int_of_uint),
        ("f", "double", "int", fn.int_of_double),
        ("f", "string", "int", fn.int_of_string),
        ("f", "timestamp", "int", fn.int_of_timestamp),
    ),
    "uint": (
        ("f", "uint", "uint", _same),
        ("f", "int", "uint", fn.uint_of_int),
        ("f", "double", "uint", fn.uint_of_double),
        ("f", "string", "uint", fn.uint_of_string),
    ),
    "double": (
        ("f", "double", "double", _same),
        ("f", "int", "double", float),
        ("f", "uint", "double", float),
        ("f", "string", "double", fn.double_of_string),
    ),
    "string": (
        ("f", "string", "string", _same),
        ("f", "bool", "string", lambda value: "true" if value else "false"),
        ("f", "int", "string", str),
        ("f", "uint", "string", lambda value: str(int(value))),
        ("f", "double", "string", fn.double_text),
        ("f", "bytes", "string", fn.string_of_bytes),
        ("f", "timestamp", "string", str),
        ("f", "duration", "string", str),
    ),
    "bytes": (("f", "bytes", "bytes", _same), ("f", "string", "bytes", fn.bytes_of_string)),
    "bool": (("f", "bool", "bool", _same), ("f", "string", "bool", fn.bool_of_string)),
    "timestamp": (
        ("f", "timestamp", "timestamp", _same),
        ("f", "string", "timestamp", Timestamp.parse),
        ("f", "int", "timestamp", fn.timestamp_of_int),
    ),
    "duration": (("f", "duration", "duration", _same), ("f", "string", "duration", Duration.parse)),
    **{
        name: _parts(name)
        for name in (
            "getFullYear", "getMonth", "getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear",
            "getHours", "getMinutes", "getSeconds", "getMilliseconds",
        )
    },
    "charAt": (("m", "string, int", "string", strings.char_at),),
    "indexOf": (
        ("m", "string, string", "int", strings.index_of),
        ("m", "string, string, int", "int", strings.index_of),
    ),
    "lastIndexOf": (
        ("m", "string, string", "int", strings.last_index_of),
        ("m", "string, string, int", "int", strings.last_index_of),
    ),
    "lowerAscii": (("m", "string", "string", strings.lower_ascii),),
    "upperAscii": (("m", "string", "string", strings.upper_ascii),),
    "replace": (
        ("m", "string, string, string", "string", strings.replace),
        ("m", "string, string, string, int", "string", strings.replace),
    ),
    "split": (
        ("m", "string, string", "list(string)", strings.split),
        ("m", "string, string, int", "list(string)", strings.split),
    ),
    "substring": (
        ("m", "string, int", "string", strings.substring),
        ("m", "string, int, int", "string", strings.substring),
    ),
    "trim": (("m", "string", "string", strings.trim),),
    "join": (
        ("m", "list(string)", "string", strings.join),
        ("m", "list(string), string", "string", strings.join),
    ),
    "format": (("m", "string, list(dyn)", "string", format_text),),
    "reverse": (("m", "string", "string", strings.reverse),),
    "strings.quote": (("f", "string", "string", strings.quote),),
    "base64.encode": (("f", "bytes", "string", fn.encode_base64),),
    "base64.decode": (("f", "string", "bytes", fn.decode_base64),),
}  # fmt: skip

NAMES: Final = tuple(name for name in _TABLE if name[0].isalpha())
"""The functions that a person may write by name."""

CONSTANTS: Final[dict[str, CelType]] = {
    name: CelType(name)
    for name in (
        "int", "uint", "double", "string", "bytes", "bool", "list", "map", "null_type", "type",
        "google.protobuf.Timestamp", "google.protobuf.Duration",
    )
}  # fmt: skip
"""The types that an expression may name as values."""

_TYPES: Final[dict[str, Type]] = {
    "int": INT, "uint": UINT, "double": DOUBLE, "string": STRING, "bytes": BYTES, "bool": BOOL, "null_type": NULL,
    "timestamp": TIMESTAMP, "duration": DURATION, "type": TYPE, "dyn": DYN,
}  # fmt: skip
_PYTHON: Final[dict[str, type]] = {
    "int": int, "uint": UInt, "double": float, "string": str, "bytes": bytes, "bool": bool, "null_type": type(None),
    "timestamp": Timestamp, "duration": Duration, "type": CelType, "list": list, "map": dict,
}  # fmt: skip


@lru_cache(maxsize=256)
def overloads(name: str, member: bool) -> tuple[Overload, ...]:
    """Return the signatures of a function in the style asked for, none when there is no such function."""
    style = "mb" if member else "fb"
    return tuple(_read(row) for row in _TABLE.get(name, ()) if row[0] in style)


def _read(row: Row) -> Overload:
    variables = {"A": Var("A"), "B": Var("B")}
    params = tuple(_type(word, variables) for word in _split(row[1]))
    generic = any(char in "AB" for char in row[1])
    return Overload(params, _type(row[2], variables), row[3], generic=generic)


def _split(text: str) -> list[str]:
    """Split at the commas that stand in no parentheses."""
    parts, depth = [""], 0
    for char in text:
        depth += (char == "(") - (char == ")")
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return [part.strip() for part in parts]


def _type(word: str, variables: dict[str, Var]) -> Type:
    if word in variables:
        return variables[word]
    if word.startswith("list("):
        return ListType(_type(word[5:-1], variables))
    if word.startswith("map("):
        key, value = _split(word[4:-1])
        return MapType(_type(key, variables), _type(value, variables))
    return _TYPES[word]


# These judge their arguments themselves, whatever the types.
_ANY: Final[dict[str, Callable[..., Any]]] = {
    "_==_": equals, "_!=_": _differs, "_<_": _less, "_<=_": _less_or_equal, "_>_": _greater,
    "_>=_": _greater_or_equal, "@in": contains, "_[_]": index, "type": type_of, "dyn": _same,
}  # fmt: skip


@lru_cache(maxsize=256)
def _by_types(name: str, member: bool) -> dict[tuple[type, ...], Callable[..., Any]]:
    return {tuple(_PYTHON[param.name] for param in one.params): one.run for one in overloads(name, member)}


@lru_cache(maxsize=256)
def dispatch(name: str, member: bool) -> Callable[..., Any]:
    """Return a function that picks the overload by the values it is given."""
    if name in _ANY and not member:
        return _ANY[name]
    table = _by_types(name, member)

    def call(*args: Any) -> Any:
        run = table.get(tuple(map(type, args)))
        if run is None:
            no_overload(name, *args)
        return run(*args)

    return call
