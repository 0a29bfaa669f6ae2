"""What differs between two tables, each difference as one field; and tables read as what they have to be."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from indult.decompose.manifests.reading import Unreadable, pointer, same

__all__ = ["MISSING", "fields", "table", "tables"]

MISSING: Final = object()
"""Stands for the value of a key that is not there."""

# A table that came or went is named by what it holds down to here, so that a redirected package is named itself.
_NAMED: Final = 4


def fields(path: str, old: Any, new: Any, *at: str) -> Iterator[str]:
    """Yield a `field:` target for each value that differs, at the deepest table that both sides have."""
    sides = (old, new)
    if all(isinstance(side, dict) for side in sides) or (
        len(at) < _NAMED and any(side is MISSING for side in sides) and any(isinstance(s, dict) and s for s in sides)
    ):
        one, other = ({} if side is MISSING else side for side in sides)
        for key in {**one, **other}:
            yield from fields(path, one.get(key, MISSING), other.get(key, MISSING), *at, key)
    elif not same(old, new):
        yield f"field:{path}#{pointer(*at)}"


def table(data: dict[str, Any], *keys: str) -> dict[str, Any]:
    """Return the table that `keys` lead to, an empty one where nothing is there.

    Raises:
        Unreadable: Something else than a table is.
    """
    for key in keys:
        data = data.get(key, {})
        if not isinstance(data, dict):
            raise Unreadable(f"`{key}` is no table")
    return data


def tables(data: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """Return the list of tables at `key`, an empty one where nothing is there.

    Raises:
        Unreadable: Something else than a list of tables is.
    """
    held = data.get(key, [])
    if not isinstance(held, list) or not all(isinstance(one, dict) for one in held):
        raise Unreadable(f"`{key}` is no list of tables")
    return held
