"""The types that the checker reasons with, and the words a policy writes for them.

Types are plain data: a policy's `context` becomes a tree of them, and the checker unifies them. `Var` is the checker's
own: a type not known yet, such as the element of `[]`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from indult.errors import ConditionError

__all__ = [
    "BOOL",
    "BYTES",
    "DOUBLE",
    "DURATION",
    "DYN",
    "INT",
    "NULL",
    "STRING",
    "TIMESTAMP",
    "TYPE",
    "UINT",
    "ListType",
    "MapType",
    "RecordType",
    "Type",
    "Var",
    "parse_type",
]


class Type:
    """A type of CEL; two types are equal when they read the same."""

    __slots__ = ("name", "params")

    def __init__(self, name: str, params: tuple[Type, ...] = ()) -> None:
        self.name = name
        self.params = params

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Type) and self.name == other.name and self.params == other.params

    def __hash__(self) -> int:
        return hash((self.name, self.params))

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.params))})" if self.params else self.name

    def __repr__(self) -> str:
        return f"<type {self}>"


class ListType(Type):
    """`list(T)`: a list whose every element is a `T`."""

    __slots__ = ()

    def __init__(self, elem: Type) -> None:
        super().__init__("list", (elem,))

    @property
    def elem(self) -> Type:
        """The type of each element."""
        return self.params[0]


class MapType(Type):
    """`map(K, V)`: a map from keys of type `K` to values of type `V`."""

    __slots__ = ()

    def __init__(self, key: Type, value: Type) -> None:
        super().__init__("map", (key, value))

    @property
    def key(self) -> Type:
        """The type of each key: int, uint, bool, string or dyn."""
        return self.params[0]

    @property
    def value(self) -> Type:
        """The type of each value."""
        return self.params[1]


class RecordType(Type):
    """A group of declared facts, read as `group.fact`; a name that it does not declare is an error at load."""

    __slots__ = ("fields",)

    def __init__(self, fields: Mapping[str, Type]) -> None:
        super().__init__("record", tuple(fields.values()))
        self.fields = dict(fields)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RecordType) and self.fields == other.fields

    __hash__ = Type.__hash__

    def __str__(self) -> str:
        return "{" + ", ".join(f"{name}: {kind}" for name, kind in self.fields.items()) + "}"


class Var(Type):
    """A type that is not known yet; the checker binds it when it meets a use."""

    __slots__ = ("bound",)

    def __init__(self, name: str = "_") -> None:
        super().__init__(name)
        self.bound: Type | None = None

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__


INT: Final = Type("int")
UINT: Final = Type("uint")
DOUBLE: Final = Type("double")
STRING: Final = Type("string")
BYTES: Final = Type("bytes")
BOOL: Final = Type("bool")
NULL: Final = Type("null_type")
TIMESTAMP: Final = Type("timestamp")
DURATION: Final = Type("duration")
TYPE: Final = Type("type")
DYN: Final = Type("dyn")

_WORDS: Final[dict[str, Type]] = {
    "int": INT,
    "uint": UINT,
    "double": DOUBLE,
    "string": STRING,
    "bytes": BYTES,
    "bool": BOOL,
    "null": NULL,
    "timestamp": TIMESTAMP,
    "duration": DURATION,
    "dyn": DYN,
    "list": ListType(DYN),
    "map": MapType(STRING, DYN),
}
_KEYS: Final = (INT, UINT, BOOL, STRING, DYN)
_HINT: Final = (
    "types are int, uint, double, string, bytes, bool, null, timestamp, duration, dyn, list(TYPE) and map(KEY, TYPE)"
)


def parse_type(text: str) -> Type:
    """Return the type that `text` names: `int`, `list(string)`, `map(string, dyn)`, ....

    Raises:
        ConditionError: `text` is no type; the hint lists what is.
    """
    found, rest = _read_type(text, text.strip(), 0)
    if rest:
        raise _refuse(text)
    return found


def _read_type(whole: str, text: str, depth: int) -> tuple[Type, str]:
    """Read one type off the front of `text`; return it and what follows."""
    end = next((at for at, char in enumerate(text) if not (char.isalnum() or char == "_")), len(text))
    word, rest = text[:end], text[end:].lstrip()
    if word not in ("list", "map") or not rest.startswith("("):
        if word not in _WORDS:
            raise _refuse(whole)
        return _WORDS[word], rest
    if depth > 8:
        raise _refuse(whole)
    first, rest = _read_type(whole, rest[1:].lstrip(), depth + 1)
    if word == "list":
        return ListType(first), _skip(whole, rest, ")")
    if first not in _KEYS:
        raise _refuse(whole)
    second, rest = _read_type(whole, _skip(whole, rest, ","), depth + 1)
    return MapType(first, second), _skip(whole, rest, ")")


def _skip(whole: str, text: str, char: str) -> str:
    if not text.startswith(char):
        raise _refuse(whole)
    return text[1:].lstrip()


def _refuse(text: str) -> ConditionError:
    return ConditionError(f"unknown type `{text}`", hint=_HINT)
