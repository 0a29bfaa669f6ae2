"""What an exception of one package covers, for the tests of comparers."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

from indult.decompose.manifests import comparer
from indult.decompose.manifests.reading import same


def told(path: str, old: str | bytes | None, new: str | bytes) -> tuple[str, ...]:
    """All targets of a change of one file."""
    compare = comparer(path)
    assert compare is not None
    raw = [one.encode() if isinstance(one, str) else one for one in (old, new)]
    assert raw[1] is not None
    return compare(path, raw[0], raw[1])


def beside(path: str, old: str | bytes | None, new: str | bytes, owner: str = "libdb@1.8.3") -> list[str]:
    """The targets that are neither entries of the owner nor scripts that anyone may change."""
    found = told(path, old, new)
    return [one for one in found if one != f"entry:{path}#{owner}" and not one.startswith("script:")]


def dumps(value: Any) -> str:
    """JSON as tools write it."""
    return json.dumps(value, indent=2) + "\n"


def damages(value: Any, *at: Any) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Each place in a document with a copy in which just that is lost, of another type or value, or has more in it."""
    if isinstance(value, dict | list):
        keys = list(value) if isinstance(value, dict) else range(len(value))
        for key in keys:
            for place, damaged in damages(value[key], *at, key):
                copied = copy.copy(value)
                copied[key] = damaged
                yield place, copied
            fewer = copy.copy(value)
            del fewer[key]
            yield (*at, key), fewer
        yield (*at, "new"), ({**value, "new": "1.0.0"} if isinstance(value, dict) else [*value, "new"])
    for other in (None, True, 1, 1.0, "9.9.9", [value], {"a": value}):
        if not same(other, value):
            yield at, other
