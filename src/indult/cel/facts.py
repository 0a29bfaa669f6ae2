"""Reading declared facts: present and of their declared type, or an error.

JSON has fewer types than CEL: a double may arrive as an integer, a uint as an int, a timestamp or a duration as text.
Those are converted; everything else must be exactly what was declared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from indult.cel.environment import Env
from indult.cel.times import Duration, Timestamp
from indult.cel.types import DYN, RecordType, Type
from indult.cel.values import MAX_INT, MAX_UINT, MIN_INT, CelType, UInt, as_key, type_of
from indult.errors import EvaluationError

__all__ = ["coerce", "read_fact", "type_at"]


def type_at(env: Env, path: tuple[str, ...]) -> Type:
    """Return the declared type of the fact at `path`."""
    kind = env.variables[path[0]]
    for name in path[1:]:
        assert isinstance(kind, RecordType)
        kind = kind.fields[name]
    return kind


def read_fact(env: Env, path: tuple[str, ...], variables: Mapping[str, Any]) -> Any:
    """Return the fact at `path`, checked against its declaration.

    Raises:
        EvaluationError: The fact is absent or not of its declared type.
    """
    values: Any = variables
    for depth, name in enumerate(path):
        if not isinstance(values, Mapping) or name not in values:
            raise EvaluationError(f"fact `{'.'.join(path[: depth + 1])}` is absent")
        values = values[name]
    return coerce(values, type_at(env, path), ".".join(path))


def coerce(value: Any, kind: Type, name: str) -> Any:
    """Return `value` as a value of the declared type `kind`; `name` stands for it in errors."""
    if kind is DYN:
        return value
    if isinstance(kind, RecordType):
        return _record(value, kind, name)
    convert = _CONVERT.get(kind.name)
    if convert is not None:
        return convert(value, kind, name)
    if type(value) is not _EXACT[kind.name]:
        raise _mismatch(value, kind, name)
    return value


def _mismatch(value: Any, kind: Type, name: str) -> EvaluationError:
    try:
        found = type_of(value).name
    except EvaluationError:
        found = type(value).__name__
    return EvaluationError(f"fact `{name}` is declared `{kind}` and is a `{found}`")


def _record(value: Any, kind: RecordType, name: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise EvaluationError(f"fact `{name}` is declared as a group and is a `{type(value).__name__}`")
    absent = next((field for field in kind.fields if field not in value), None)
    if absent is not None:
        raise EvaluationError(f"fact `{name}.{absent}` is absent")
    return {field: coerce(value[field], inner, f"{name}.{field}") for field, inner in kind.fields.items()}


def _int(value: Any, kind: Type, name: str) -> Any:
    if type(value) is not int or not MIN_INT <= value <= MAX_INT:
        raise _mismatch(value, kind, name)
    return value


def _uint(value: Any, kind: Type, name: str) -> Any:
    if type(value) not in (int, UInt) or not 0 <= value <= MAX_UINT:
        raise _mismatch(value, kind, name)
    return UInt(value)


def _double(value: Any, kind: Type, name: str) -> Any:
    # Canonical JSON writes 1.0 as 1, so an integer is what a recorded double looks like when it is read back.
    if type(value) is int and abs(value) <= 2**53:
        return float(value)
    if type(value) is not float or value - value != 0:
        raise _mismatch(value, kind, name)
    return value


def _time(value: Any, kind: Type, name: str) -> Any:
    wanted: type[Timestamp | Duration] = Timestamp if kind.name == "timestamp" else Duration
    if type(value) is wanted:
        return value
    if type(value) is not str:
        raise _mismatch(value, kind, name)
    try:
        return wanted.parse(value)
    except EvaluationError as exc:
        raise EvaluationError(f"fact `{name}`: {exc.message}") from exc


def _list(value: Any, kind: Type, name: str) -> Any:
    if type(value) is not list:
        raise _mismatch(value, kind, name)
    inner = kind.params[0]
    if inner is DYN:
        return value
    return [coerce(item, inner, f"{name}[{at}]") for at, item in enumerate(value)]


def _map(value: Any, kind: Type, name: str) -> Any:
    if type(value) is not dict:
        raise _mismatch(value, kind, name)
    key, inner = kind.params
    if key is DYN and inner is DYN:
        return value
    return {
        as_key(coerce(one, key, f"{name} key")): coerce(item, inner, f"{name}.{one}") for one, item in value.items()
    }


_CONVERT: Final[dict[str, Callable[[Any, Type, str], Any]]] = {
    "int": _int, "uint": _uint, "double": _double, "timestamp": _time, "duration": _time, "list": _list, "map": _map,
}  # fmt: skip
_EXACT: Final[dict[str, type]] = {
    "string": str, "bytes": bytes, "bool": bool, "null_type": type(None), "type": CelType,
}  # fmt: skip
