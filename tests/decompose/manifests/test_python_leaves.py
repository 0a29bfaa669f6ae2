"""Each value of a Python manifest or lock, changed on its own."""

from __future__ import annotations

import copy
import json
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest
from tests.decompose.manifests import test_pdm, test_poetry, test_python, test_uv

from indult.decompose.manifests import comparer

FILES = {
    "pyproject.toml": test_python.BASE,
    "uv.lock": test_uv.BASE,
    "poetry.lock": test_poetry.BASE,
    "pdm.lock": test_pdm.BASE,
}

# A digest of the manifest, which is compared itself.
FREE = {"poetry.lock": "content-hash", "pdm.lock": "content_hash"}


def written(value: Any) -> str:
    """A value as TOML has it, on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {written(held)}" for key, held in value.items()) + "}"
    return "[" + ", ".join(map(written, value)) + "]" if isinstance(value, list) else json.dumps(value)


def dumped(data: dict[str, Any]) -> bytes:
    """A file as TOML has it, one line for each key."""
    return "".join(f"{json.dumps(key)} = {written(value)}\n" for key, value in data.items()).encode()


def places(value: Any, *at: Any) -> Iterator[tuple[Any, ...]]:
    """The keys that lead to each value, tables and lists themselves among them."""
    if at:
        yield at
    for key, held in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(held, *at, key)


def variants(data: dict[str, Any], place: tuple[Any, ...]) -> Iterator[dict[str, Any]]:
    """The same file with the value at one place changed, of another type, taken away or with a neighbour."""
    *path, last = place
    for change in ("text", "type", "gone", "more"):
        new = copy.deepcopy(data)
        held: Any = new
        for key in path:
            held = held[key]
        value = held[last]
        if change == "text":
            held[last] = f"{value}x" if isinstance(value, str) else 7
        elif change == "type":
            held[last] = [value]
        elif change == "gone":
            del held[last]
        elif isinstance(value, dict):
            value["evil"] = "x"
        elif isinstance(value, list):
            value.append("evil")
        else:
            continue
        if new != data:
            yield new


@pytest.mark.parametrize("path", FILES)
def test_nothing_changes_unseen(path: str) -> None:
    """Whatever value changes, goes, gets a neighbour or another type, something is told, and nothing without a name."""
    compare = comparer(path)
    assert compare is not None
    data = tomllib.loads(FILES[path])
    old = dumped(data)
    assert compare(path, old, old) == ()
    unseen = set()
    for place in places(data):
        for new in variants(data, place):
            found = compare(path, old, dumped(new))
            assert not any("None" in target for target in found if target.startswith("entry:"))
            if not found:
                unseen.add(place[-1])
    assert unseen == ({FREE[path]} if path in FREE else set())
