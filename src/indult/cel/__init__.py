"""The condition language of policies: CEL without protobuf messages, checked at load and compiled to Python.

`check` an expression against an `Env`, then run it alone with `program` or `fuse` the conditions of a policy into one
function. `docs/reference/cel.md` lists the language.
"""

from __future__ import annotations

from indult.cel.checker import check
from indult.cel.environment import ACTION_ROOTS, Checked, Env
from indult.cel.program import Decide, fuse, program
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
    RecordType,
    Type,
    parse_type,
)
from indult.cel.values import CelType, UInt

__all__ = [
    "ACTION_ROOTS",
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
    "CelType",
    "Checked",
    "Decide",
    "Duration",
    "Env",
    "ListType",
    "MapType",
    "RecordType",
    "Timestamp",
    "Type",
    "UInt",
    "check",
    "fuse",
    "parse_type",
    "program",
]
