from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from indult.testing.runners.cel import decode, encode, run

FOLDER = Path(os.environ.get("INDULT_CASES", Path(__file__).parents[3] / "shared" / "cases"))
CASES = FOLDER / "cel_conformance.jsonl"

# Each with its reason in docs/reference/cel.md.
MISSES = {("parse", "bytes_literals", "triple_double_quoted_unescaped_punctuation")}


def comparable(value: list[Any]) -> Any:
    """Return an encoded value with the pairs of maps in one order and doubles in one form."""
    match value:
        case ["map", pairs]:
            return ["map", sorted(([comparable(key), comparable(item)] for key, item in pairs), key=repr)]
        case ["list", items]:
            return ["list", list(map(comparable, items))]
        case ["double", text]:
            return ["double", repr(float(text))]
    return value


@pytest.mark.skipif(not CASES.is_file(), reason="the cases of the CEL specification are not here; set INDULT_CASES")
def test_specification() -> None:
    """The cases of the specification give its results; those of optional values are refused or right."""
    wrong, values_for_errors, optional = set(), [], 0
    rows = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]
    for row, line in zip(rows, run(CASES), strict=True):
        expected, got = row["expect"], line["got"]
        key = (row["file"], row["section"], row["name"])
        right = expected[0] == got[0] and (expected[0] == "error" or comparable(expected[1]) == comparable(got[1]))
        if expected[0] == "error" and got[0] == "value":
            values_for_errors.append(key)
        if row["section"] == "optionals":
            optional += 1
            assert right or got[0] == "error", key
        elif not right:
            wrong.add(key)

    assert [] == values_for_errors
    assert MISSES == wrong
    assert (955, 38) == (len(rows), optional)


@pytest.mark.parametrize(
    "value",
    [
        ["int", "-5"],
        ["uint", "5"],
        ["double", "1.5"],
        ["string", "s"],
        ["bytes", "00ff"],
        ["bool", True],
        ["null"],
        ["list", [["int", "1"], ["list", []]]],
        ["map", [[["bool", True], ["int", "1"]], [["int", "1"], ["null"]]]],
        ["type", "int"],
    ],
)
def test_encoding(value: list[Any]) -> None:
    """A value of a case reads and writes as itself."""
    assert comparable(value) == comparable(encode(decode(value)))


def test_lines(tmp_path: Path) -> None:
    """The runner gives one line per row: a value, or an error with its message."""
    base = {"file": "f", "section": "s", "bindings": {"x": ["int", "1"]}, "env": [["x", ["prim", 2]]]}
    rows = [
        {**base, "name": "value", "expr": "x + 1"},
        {**base, "name": "error", "expr": "x / 0"},
        {**base, "name": "untyped", "expr": "1.0 == 1"},
        {**base, "name": "syntax", "expr": "x +"},
    ]
    path = tmp_path / "cases.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")

    assert [
        ["value", ["int", "2"]],
        ["error", "division by zero"],
        ["value", ["bool", True]],
        ["error", "unexpected end of expression"],
    ] == [line["got"] for line in run(path)]
