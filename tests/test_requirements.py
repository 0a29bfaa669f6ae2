"""The page of requirements has a row for each, and names tests and cases that exist."""

from __future__ import annotations

import ast
import json
import re
from functools import cache
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parent.parent
PAGE = (REPOSITORY / "docs" / "reference" / "requirements.md").read_text(encoding="utf-8")
IDS = [*(f"R{number}" for number in range(1, 77)), *(f"G{number}" for number in range(1, 18))]

ROW = re.compile(r"^\| ([RG]\d+) \|(.*)\|(.*)\|$", re.MULTILINE)
ROWS = [(name, said.strip(), held.strip()) for name, said, held in ROW.findall(PAGE)]
TEST = re.compile(r"`(tests/[\w/.]+)::([\w:]+)`")
REASON = re.compile(r"(stricter|wider) by G\d+( and G\d+)*: |no behaviour: \w+ \w+")
WITHOUT_TEST = {"R18", "R29", "R76"}


@cache
def names_in(file: str) -> frozenset[str]:
    """Return the names of the tests in a file, those of a class behind its name."""
    path = REPOSITORY / file
    if not path.is_file():
        return frozenset()
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        inner = [node] if isinstance(node, ast.FunctionDef) else []
        prefix = ""
        if isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            inner, prefix = [one for one in node.body if isinstance(one, ast.FunctionDef)], f"{node.name}::"
        found |= {prefix + one.name for one in inner if one.name.startswith("test_")}
    return frozenset(found)


def cases() -> set[str]:
    """Return the ids of the cases of ships."""
    lines = (REPOSITORY / "tests" / "data" / "ship" / "ship.jsonl").read_text(encoding="utf-8").splitlines()
    return {str(json.loads(line)["id"]) for line in lines}


def test_each_requirement_has_one_row() -> None:
    """R1 to R76 and G1 to G17 stand on the page once each, in their order."""
    assert IDS == [name for name, _, _ in ROWS]


def test_no_row_escapes() -> None:
    """A line of a table that is neither a head nor a row of a requirement would be read by nobody here."""
    others = [line for line in PAGE.splitlines() if line.startswith("|") and not ROW.match(line)]

    assert {"| | requirement | held by |", "| | decision | held by |", "|---|---|---|"} == set(others)


@pytest.mark.parametrize(("name", "said", "held"), ROWS, ids=[name for name, _, _ in ROWS])
def test_each_row_says_what_holds_it(name: str, said: str, held: str) -> None:
    """A row has words and a test, or a reason why there is none; only comments and directions have none."""
    assert len(said.split()) >= 3
    assert (name in WITHOUT_TEST) == (TEST.search(held) is None) == held.startswith("no behaviour: ")
    assert TEST.match(held) or REASON.match(held)


def test_each_test_exists() -> None:
    """Every name on the page, in a row or elsewhere, is that of a test or of a file of tests."""
    assert [] == [f"{file}::{name}" for file, name in TEST.findall(PAGE) if name not in names_in(file)]
    assert [] == [name for name in re.findall(r"`(tests/[^`:]+)`", PAGE) if not (REPOSITORY / name).is_file()]
    assert PAGE.count("`tests/") == len(TEST.findall(PAGE)) + len(re.findall(r"`tests/[^`:]+`", PAGE))


def test_each_case_exists() -> None:
    """Every number of a case on the page is that of a case, and stands behind the test that runs it."""
    named = re.findall(r"ship-\d+", PAGE)
    behind = re.findall(r"test_cases\.py::test_lands_or_is_refused` \(((?:`ship-\d+`(?:, )?)+)\)", PAGE)

    assert set() == set(named) - cases()
    # One more stands in the introduction, as an example.
    assert len(named) == 1 + sum(group.count("ship-") for group in behind)
