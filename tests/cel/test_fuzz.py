from __future__ import annotations

import re

import pytest

pytest.importorskip("cel_expr_python", reason="the oracle has no wheel for this Python")

from tests.cel.fuzz import compare, pairs

from indult.cel import library


def test_a_slice_agrees_with_the_oracle() -> None:
    """Seeded random expressions give what the C++ implementation gives, compiled and exact alike."""
    found: list[str] = []
    counts = compare(20_240_229, 3_000, found.append)

    assert [] == found
    assert counts["stricter types"] <= counts["pairs"] // 500
    assert counts["not in oracle"] <= counts["pairs"] // 12
    assert counts["value"] >= counts["pairs"] * 0.4
    assert counts["error"] >= counts["pairs"] * 0.1


def test_every_operator_and_function_is_tried() -> None:
    """The generator leaves out nothing that the library has."""
    text = "\n".join({source for source, _ in pairs(1, 20_000)})
    operators = [
        "&&",
        "||",
        "?",
        "==",
        "!=",
        "<",
        "<=",
        ">",
        ">=",
        " in ",
        "+",
        "-",
        "*",
        "/",
        "%",
        "!",
        "[",
        "cel.bind(",
    ]
    macros = ["has(", *(f".{name}(" for name in ("all", "exists", "exists_one", "existsOne", "map", "filter"))]
    macros += [".transformList(", ".transformMap("]

    assert [] == [name for name in library.NAMES if not re.search(rf"\b{re.escape(name)}\(", text)]
    assert [] == [name for name in (*operators, *macros) if name not in text]
