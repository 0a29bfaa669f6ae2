from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("cel_expr_python", reason="the oracle has no wheel for this Python")

from fuzz import Generator, compare, pairs

from indult.cel import library


def test_a_slice_agrees_with_the_oracle() -> None:
    """Seeded random expressions give what the C++ implementation gives, compiled and exact alike."""
    found: list[str] = []
    counts = compare(20_240_229, 3_000, found.append)

    assert [] == [text for text in found if not text.startswith("STRICTER")]
    assert counts["stricter types"] <= counts["pairs"] // 200
    assert counts["value"] >= counts["pairs"] * 0.4
    assert counts["error"] >= counts["pairs"] * 0.1


def test_every_operator_and_function_is_tried() -> None:
    """The generator leaves out nothing that the library has."""
    text = "\n".join({source for source, _ in pairs(1, 20_000)})
    operators = ["&&", "||", "?", "==", "!=", "<", "<=", ">", ">=", " in ", "+", "-", "*", "/", "%", "!", "[", "cel.bind("]
    macros = ["has(", *(f".{name}(" for name in ("all", "exists", "exists_one", "existsOne", "map", "filter"))]
    macros += [".transformList(", ".transformMap("]

    assert [] == [name for name in library.NAMES if not re.search(rf"\b{re.escape(name)}\(", text)]
    assert [] == [name for name in (*operators, *macros) if name not in text]
    assert Generator.__doc__ is not None


def test_the_reference_lists_every_function() -> None:
    """`docs/reference/cel.md` names each function of the library."""
    page = (Path(__file__).parents[2] / "docs" / "reference" / "cel.md").read_text(encoding="utf-8")

    assert [] == [name for name in library.NAMES if f"`{name}`" not in page]
