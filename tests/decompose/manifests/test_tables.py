from __future__ import annotations

from typing import Any

import pytest

from indult.decompose.manifests.reading import Unreadable
from indult.decompose.manifests.tables import fields, table, tables


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, []),
        ({"a": 1}, {"a": 2}, ["field:P#/a"]),
        ({"a": 1}, {"a": True}, ["field:P#/a"]),
        ({"a": 1}, {"a": 1.0}, ["field:P#/a"]),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "c": 3}}, ["field:P#/a/c"]),
        ({"a": [1, 2]}, {"a": [2, 1]}, ["field:P#/a"]),
        ({"a": {"b": 1}}, {"a": 1}, ["field:P#/a"]),
        ({}, {"a": {}}, ["field:P#/a"]),
        ({"a": {}}, {}, ["field:P#/a"]),
        ({}, {"a": {"b": {"c/d": {"e~": {"f": {"g": 1}}}}}}, ["field:P#/a/b/c~1d/e~0"]),
        ({"a": {"b": 1}}, {}, ["field:P#/a/b"]),
    ],
)
def test_fields(old: dict[str, Any], new: dict[str, Any], expected: list[str]) -> None:
    """Each value that differs is one field, at the deepest table that has a name on both sides or stands near."""
    assert sorted(fields("P", old, new)) == expected


def test_table() -> None:
    """A table that is not there is empty, and what is none cannot be read."""
    assert table({"a": {"b": {"c": 1}}}, "a", "b") == {"c": 1}
    assert table({}, "a", "b") == {}
    with pytest.raises(Unreadable, match="`a` is no table"):
        table({"a": 1}, "a")


def test_tables() -> None:
    """A list of tables that is not there is empty, and what is none cannot be read."""
    assert tables({"a": [{"b": 1}]}, "a") == [{"b": 1}]
    assert tables({}, "a") == []
    for other in (1, [1], {"b": 1}):
        with pytest.raises(Unreadable, match="`a` is no list of tables"):
            tables({"a": other}, "a")
