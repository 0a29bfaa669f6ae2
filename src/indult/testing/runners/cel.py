"""The `cel` case runner: conformance expressions through the real checker and the compiled code.

A row is checked with types first. Part of the specification's cases is written for evaluation without a type check and
does not say so; a row that the check refuses is therefore run again unchecked, and what comes of that is reported.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from indult.cel import (
    BOOL,
    BYTES,
    DOUBLE,
    DYN,
    INT,
    NULL,
    STRING,
    UINT,
    Checked,
    Duration,
    Env,
    ListType,
    MapType,
    Timestamp,
    Type,
    UInt,
    check,
    program,
)
from indult.cel.checker import check_untyped
from indult.cel.values import CelType, keys_of, make_map
from indult.errors import ConditionError, EvaluationError, InputError

__all__ = ["run"]

# Numbers of the primitive types in the specification's own type declarations.
_PRIMITIVES = {1: BOOL, 2: INT, 3: UINT, 4: DOUBLE, 5: STRING, 6: BYTES}


def run(path: str | Path) -> Iterator[dict[str, Any]]:
    """Yield `{"file", "section", "name", "got"}` for each row of a JSON Lines file; `got` is a value or an error."""
    with Path(path).open(encoding="utf-8") as lines:
        for line in lines:
            if line.strip():
                row = json.loads(line)
                yield {"file": row["file"], "section": row["section"], "name": row["name"], "got": judge(row)}


def judge(row: dict[str, Any]) -> list[Any]:
    """Return `["value", V]` or `["error", message]` for one row."""
    env = Env({name: _type(kind) for name, kind in row["env"]})
    variables = {name: decode(value) for name, value in row["bindings"].items()}
    try:
        return ["value", encode(program(_check(row["expr"], env))(variables))]
    except (ConditionError, EvaluationError) as exc:
        return ["error", exc.message]


def _check(source: str, env: Env) -> Checked:
    try:
        return check(source, env, expect=None)
    except ConditionError:
        return check_untyped(source, env)


def _type(kind: list[Any]) -> Type:
    match kind:
        case ["prim", number]:
            return _PRIMITIVES[number]
        case ["list", inner]:
            return ListType(_type(inner))
        case ["map", key, inner]:
            return MapType(_type(key), _type(inner))
        case ["null"]:
            return NULL
        case ["dyn"]:
            return DYN
    raise InputError(f"unknown type in the case: `{json.dumps(kind)}`")


def decode(value: list[Any]) -> Any:
    """Return the CEL value of its encoding in a case."""
    match value:
        case ["int", text]:
            return int(text)
        case ["uint", text]:
            return UInt(text)
        case ["double", text]:
            return float(text)
        case ["bytes", text]:
            return bytes.fromhex(text)
        case ["string" | "bool", plain]:
            return plain
        case ["null"]:
            return None
        case ["list", items]:
            return [decode(item) for item in items]
        case ["map", pairs]:
            return make_map([(decode(key), decode(item)) for key, item in pairs])
        case ["type", name]:
            return CelType(name)
    raise InputError(f"unknown value in the case: `{json.dumps(value)}`")


def encode(value: Any) -> list[Any]:
    """Return the encoding of a CEL value as the cases write it."""
    match value:
        case None:
            return ["null"]
        case bool():
            return ["bool", value]
        case UInt():
            return ["uint", str(int(value))]
        case int():
            return ["int", str(value)]
        case float():
            return ["double", repr(value)]
        case str():
            return ["string", value]
        case bytes():
            return ["bytes", value.hex()]
        case list():
            return ["list", [encode(item) for item in value]]
        case dict():
            pairs = zip(keys_of(value), value.values(), strict=True)
            return ["map", sorted(([encode(key), encode(item)] for key, item in pairs), key=repr)]
        case CelType():
            return ["type", value.name]
        case Timestamp():
            return ["timestamp", str(value)]
        case Duration():
            return ["duration", str(value)]
    raise InputError(f"no encoding for a `{type(value).__name__}`")
