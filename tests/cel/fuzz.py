"""Random expressions, run here and in `cel-expr-python`, the Python binding of the C++ implementation.

`scripts/fuzz-cel N` runs N pairs of an expression and values; the test suite runs a small seeded slice. Each pair goes
three ways: compiled, exact (the interpreter alone) and the oracle. Two errors agree whatever they say.
"""

from __future__ import annotations

import ctypes
import math
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest import mock

from cel_expr_python import cel as oracle
from tests.cel.generator import Generator, values

from indult.cel import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    UINT,
    CelType,
    Duration,
    Env,
    ListType,
    MapType,
    Timestamp,
    Type,
    UInt,
    check,
    formatting,
    functions,
    library,
    program,
    strings,
)
from indult.cel.facts import read_fact
from indult.cel.interpreter import Scope, evaluate
from indult.cel.program import reads_of
from indult.cel.values import keys_of
from indult.errors import ConditionError, EvaluationError

__all__ = ["compare", "main", "pairs"]

VARIABLES: dict[str, Type] = {
    "i": INT,
    "u": UINT,
    "d": DOUBLE,
    "s": STRING,
    "b": BOOL,
    "y": BYTES,
    "t": TIMESTAMP,
    "w": DURATION,
    "li": ListType(INT),
    "ls": ListType(STRING),
    "m": MapType(STRING, INT),
    "x": DYN,
    "args": MapType(STRING, DYN),
}
ENV = Env(VARIABLES)
_ORACLE_TYPES = {
    "int": oracle.Type.INT,
    "uint": oracle.Type.UINT,
    "double": oracle.Type.DOUBLE,
    "string": oracle.Type.STRING,
    "bool": oracle.Type.BOOL,
    "bytes": oracle.Type.BYTES,
    "timestamp": oracle.Type.TIMESTAMP,
    "duration": oracle.Type.DURATION,
    "dyn": oracle.Type.DYN,
}
_EXTENSIONS = """
extensions:
- name: strings
  version: 4
- name: two-var-comprehensions
- name: bindings
- name: encoders
"""


def _oracle_type(kind: Type) -> Any:
    if kind.name == "list":
        return oracle.Type.List(_oracle_type(kind.params[0]))
    if kind.name == "map":
        return oracle.Type.Map(*map(_oracle_type, kind.params))
    return _ORACLE_TYPES[kind.name]


ORACLE = oracle.NewEnv(
    config=oracle.NewEnvConfigFromYaml(_EXTENSIONS),
    variables={name: _oracle_type(kind) for name, kind in VARIABLES.items()},
)


def ours(given: dict[str, Any]) -> dict[str, Any]:
    """Return the same values as the CEL values of this engine."""
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    micro = timedelta(microseconds=1)
    return given | {
        "t": Timestamp((given["t"] - epoch) // micro * 1000),
        "w": Duration(given["w"] // micro * 1000),
    }


# What the two do differently on purpose, each with its reason in docs/reference/cel.md. While pairs are compared, the
# engine takes the oracle's side in these, so that the comparison of everything else is exact.


def _oracle_substring(text: str, start: int, end: int | None = None) -> str:
    if end is not None and start < end == len(text):
        raise EvaluationError("the oracle refuses an end right behind the last character")
    return strings.substring(text, start, end)


def _oracle_double_text(value: float) -> str:
    if math.isnan(value):
        return "-nan" if math.copysign(1, value) < 0 else "nan"
    return functions.double_text(value)


def _oracle_divide(a: float, b: float) -> float:
    # The processor's own quotient of two zeros has a sign.
    return -math.nan if a == b == 0 else functions.divide_double(a, b)


def _oracle_format(template: str, given: list[Any]) -> str:
    def six_digits(value: float) -> str:
        return f"{value:g}"

    with mock.patch.object(formatting, "double_text", six_digits):
        text = formatting.format_text(template, given)
    return re.sub(r"(?<!\d)0+(\d+-\d\d-\d\dT\d\d:)", r"\1", text)


_ORACLE_SIDE: dict[str, dict[Callable[..., Any], Callable[..., Any]]] = {
    "substring": {strings.substring: _oracle_substring},
    "string": {functions.double_text: _oracle_double_text},
    "_/_": {functions.divide_double: _oracle_divide},
    "format": {formatting.format_text: _oracle_format},
}


@contextmanager
def oracle_side() -> Iterator[None]:
    """Let the engine do what the oracle does where the two differ on purpose."""
    before = {name: library._TABLE[name] for name in _ORACLE_SIDE}
    for name, swaps in _ORACLE_SIDE.items():
        library._TABLE[name] = tuple((*row[:3], swaps.get(row[3], row[3])) for row in before[name])
    _forget()
    # It converts a bool to an int where the type shows at run time only, and refuses to where it is known.
    library._by_types("int", False)[bool,] = int
    yield
    library._TABLE.update(before)
    _forget()


def _as_listed(expected: Result, fast: Result, source: str) -> str | None:
    """Return which of the listed differences explains that two results differ."""
    text = str(fast)
    refused = fast[:2] == (*ERROR, "check")
    if "cel.@mapInsert" in str(expected):
        # The binding knows `transformMap` and does not bring the function that it needs.
        return "not in oracle"
    if refused and "malformed regular expression" in text:
        return "refused at load"
    if refused and ("`duration` for (int)" in text or "`int` for (duration)" in text):
        # The oracle lets these through its check and has nothing that runs them.
        return "refused at load"
    if "not an RFC 3339 timestamp" in text and expected[0] != "error":
        # The oracle takes months and years of one digit.
        return "loose timestamp"
    if "not UTF-8" in text and ".format(" in source and expected[0] != "error":
        # The oracle makes a string of bytes that are none.
        return "not UTF-8"
    if "ALREADY_EXISTS" in str(expected) and fast[0] != "error":
        # A key that stands twice ends the oracle's whole evaluation, where the language absorbs the error.
        return "not absorbed by oracle"
    if fast[0] == expected[0] == "list" and sorted(map(repr, fast[1])) == sorted(map(repr, expected[1])):
        return "order of a map"
    return "stricter types" if expected[:2] == (*ERROR, "check") and fast[0] != "error" else None


def _forget() -> None:
    for cached in (library.overloads, library._by_types, library.dispatch):
        cached.cache_clear()


ERROR = ("error",)
Result = tuple[Any, ...]


def normal(value: Any) -> Result:
    """Return a value of ours in a form that can be compared with the oracle's."""
    kind = type(value)
    if kind is list:
        return ("list", [normal(item) for item in value])
    if kind is dict:
        pairs = [(_key(key), normal(item)) for key, item in zip(keys_of(value), value.values(), strict=True)]
        return ("map", sorted(pairs, key=repr))
    if kind is Timestamp or kind is Duration:
        # The binding's own values stop at microseconds.
        return (kind.__name__.lower(), value.nanos // 1000)
    if kind is float:
        return ("double", "nan" if math.isnan(value) else repr(value))
    if kind is CelType:
        return ("type", value.name)
    if kind is UInt:
        return ("uint", int(value))
    return ({int: "int", str: "string", bool: "bool", bytes: "bytes", type(None): "null_type"}[kind], value)


def _key(key: Any) -> str:
    # The binding merges keys that Python holds equal, and loses whether a key is signed.
    return repr(int(key)) if isinstance(key, int) else repr(key)


_ORACLE_NAMES = {"TIMESTAMP": "google.protobuf.Timestamp", "DURATION": "google.protobuf.Duration", "NULL": "null_type"}


def oracle_normal(value: Any) -> Result:
    """Return a value of the oracle in the same form; an error it carries is an error of the whole."""
    name = value.type().name()
    plain = value.value()
    if name.startswith("LIST"):
        return ("list", [oracle_normal(item) for item in plain])
    if name.startswith("MAP"):
        return ("map", sorted(((_key(key), oracle_normal(item)) for key, item in plain.items()), key=repr))
    match name:
        case "ERROR" | "UNKNOWN":
            return (*ERROR, str(plain))
        case "NULL" | "null_type":
            return ("null_type", None)
        case "BYTES":
            return ("bytes", bytes(plain))
        case "DOUBLE":
            return ("double", "nan" if math.isnan(plain) else repr(plain))
        case "TIMESTAMP":
            return ("timestamp", (plain - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1))
        case "DURATION":
            return ("duration", plain // timedelta(microseconds=1))
        case "TYPE":
            word = plain.name() if hasattr(plain, "name") else str(plain)
            word = word.partition("<")[0]
            return ("type", _ORACLE_NAMES.get(word, word.lower()))
    return (name.lower(), plain)


def run_oracle(source: str) -> Callable[[dict[str, Any]], Result]:
    """Return the oracle's evaluation of an expression."""
    try:
        compiled = ORACLE.compile(source)
    except Exception as exc:
        refused: Result = (*ERROR, "check", str(exc))
        return lambda _: refused

    def run(given: dict[str, Any]) -> Result:
        try:
            return oracle_normal(compiled.eval(data=given))
        except Exception as exc:
            return (*ERROR, str(exc))

    return run


def run_ours(source: str) -> Callable[[dict[str, Any]], tuple[Result, Result]]:
    """Return our evaluation of an expression, compiled and exact."""
    try:
        checked = check(source, ENV, expect=None)
    except ConditionError as exc:
        refused: Result = (*ERROR, "check", exc.message)
        return lambda _: (refused, refused)
    compiled = program(checked)
    paths = reads_of(checked.node)

    def run(given: dict[str, Any]) -> tuple[Result, Result]:
        return _result(lambda: compiled(given)), _result(
            lambda: evaluate(checked.node, Scope({path: read_fact(ENV, path, given) for path in paths}))
        )

    return run


def _result(compute: Callable[[], Any]) -> Result:
    try:
        return normal(compute())
    except EvaluationError as exc:
        return (*ERROR, exc.message)


def same(a: Result, b: Result) -> bool:
    """Tell whether two results agree."""
    return (a[0] == b[0] == "error") or a == b


def pairs(seed: int, count: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield expressions with values, four sets of values for each expression."""
    rng = random.Random(seed)
    generator = Generator(rng)
    done = 0
    while done < count:
        source = generator.one()
        if len(source) > 1500:
            continue
        for _ in range(min(4, count - done)):
            yield source, values(rng)
            done += 1


def compare(seed: int, count: int, report: Callable[[str], object]) -> Counter[str]:
    """Run `count` pairs and return how many gave a value, an error or a disagreement; report each disagreement."""
    counts: Counter[str] = Counter()
    # The binding gives back references to None that it never took; Python before 3.12 ends when the count reaches zero.
    kept = [None] * (count * 20)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))
    with oracle_side():
        _compare(seed, count, report, counts)
    return counts


def _compare(seed: int, count: int, report: Callable[[str], object], counts: Counter[str]) -> None:
    last = ""
    for source, given in pairs(seed, count):
        if source != last:
            last, theirs, mine = source, run_oracle(source), run_ours(source)
            counts["expressions"] += 1
        expected = theirs(given)
        fast, exact = mine(ours(given))
        counts["pairs"] += 1
        counts["error" if expected[0] == "error" else "value"] += 1
        counts["refused by both"] += fast[:2] == expected[:2] == (*ERROR, "check")
        if not same(fast, exact):
            counts["internal"] += 1
            report(f"COMPILED {fast} EXACT {exact}\n    {source}\n    {given}")
        elif same(fast, expected):
            continue
        elif (listed := _as_listed(expected, fast, source)) is not None:
            counts[listed] += 1
        else:
            counts["disagree"] += 1
            report(f"ORACLE {expected} OURS {fast}\n    {source}\n    {given}")


def main(args: list[str]) -> int:
    """Run `[PAIRS [SEED]]`, print each disagreement and the counts; end with 1 when there was one."""
    count = int(args[0]) if args else 200_000
    seed = int(args[1]) if len(args) > 1 else 1
    counts = compare(seed, count, lambda text: sys.stderr.write(text + "\n"))
    lines = [f"{number:>9} {number / counts['pairs']:>8.3%}  {name}" for name, number in counts.most_common()]
    sys.stdout.write("\n".join(lines) + "\n")
    return int(counts["disagree"] + counts["internal"] > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
