"""`pyproject.toml`: its lists of requirements hold entries, and everything else in it is a field."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from indult.decompose.manifests import ranges
from indult.decompose.manifests.pep508 import Entry, compare, freeze, normal, plain, read_all
from indult.decompose.manifests.reading import read_toml, written
from indult.decompose.manifests.tables import fields

__all__ = ["targets"]

Place = tuple[str, ...]
"""The keys that lead to a list of requirements."""

_LISTS: Final[tuple[Place, ...]] = (
    ("project", "dependencies"),
    ("build-system", "requires"),
    ("tool", "uv", "dev-dependencies"),
)
_GROUPS: Final[tuple[Place, ...]] = (
    ("project", "optional-dependencies"),
    ("dependency-groups",),
    ("tool", "pdm", "dev-dependencies"),
)
_POETRY: Final[tuple[Place, ...]] = (
    ("tool", "poetry", "dependencies"),
    ("tool", "poetry", "dev-dependencies"),
)
_POETRY_GROUPS: Final[Place] = ("tool", "poetry", "group")

# What a requirement of Poetry's may say besides, and still be one of a package in a registry.
_BESIDE: Final = frozenset(
    {"extras", "optional", "markers", "python", "platform", "allow-prereleases", "allows-prereleases", "source"}
)
# A number that may be any.
_WILD: Final = re.compile(r"(?:^|\.)[xX*](?:\.|$)")


def targets(path: str, old: bytes | None, new: bytes) -> Iterator[str]:
    """Yield what changed in a `pyproject.toml`."""
    before: dict[str, Any] = {} if old is None else read_toml(old)
    after = read_toml(new)
    was, now = _take(before), _take(after)
    for place in {**was, **now}:
        yield from compare(path, was.get(place, []), now.get(place, []))
    # What no list of requirements took is compared as it stands.
    yield from fields(path, before, after)


def _take(data: dict[str, Any]) -> dict[Place, list[Entry]]:
    """Take the requirements out of a file, by place; what is not of the form that it must have stays where it is."""
    taken: dict[Place, list[Entry]] = {}
    for place in _LISTS:
        held = _at(data, place[:-1])
        value = held.get(place[-1])
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            taken[place] = read_all(held.pop(place[-1]))
    for place in _GROUPS:
        held = _at(data, place)
        for group, value in held.items():
            if isinstance(value, list):
                taken[*place, group] = read_all([item for item in value if isinstance(item, str)])
                # The group itself stays, and with it what it includes.
                held[group] = [item for item in value if not isinstance(item, str)]
    groups = [(*_POETRY_GROUPS, group, "dependencies") for group in _at(data, _POETRY_GROUPS)]
    for place in (*_POETRY, *groups):
        taken[place] = _take_poetry(_at(data, place))
    return taken


def _at(data: dict[str, Any], place: Place) -> dict[str, Any]:
    """Return the table at `place`, and one that belongs to nothing where there is none."""
    for key in place:
        held = data.get(key)
        if not isinstance(held, dict):
            return {}
        data = held
    return data


def _take_poetry(held: dict[str, Any]) -> list[Entry]:
    taken: list[Entry] = []
    for name, value in list(held.items()):
        values = value if isinstance(value, list) else [value]
        if not normal(name) or normal(name) == "python" or not values:
            continue
        if all(isinstance(one, str | dict) for one in values):
            taken += [_poetry(name, one, of=type(value).__name__) for one in values]
            del held[name]
    return taken


def _poetry(name: str, value: Any, *, of: str) -> Entry:
    """Return one requirement in Poetry's own form, where a bare version means exactly that version.

    `of` is the type of what it stood in: itself, or a list of several for one name.
    """
    text = f"{name} = {written(value)}"
    rest = {} if isinstance(value, str) else {key: one for key, one in value.items() if key != "version"}
    version = value if isinstance(value, str) else value.get("version")
    kind: tuple[Any, ...] = (of, type(value).__name__, freeze(rest))
    base = ("poetry", *kind) if set(rest) <= _BESIDE else ()
    found = ranges.poetry(version)
    alone = of == "str"
    if isinstance(version, str) and not _WILD.search(version):
        operator = "==" if version.startswith("==") else ""
        exact = version.removeprefix(operator).strip()
        if plain(exact) and exact[0].isdigit():
            pinned = ("poetry", operator, *kind)
            return Entry(name=normal(name), pin=exact, kind=pinned, text=text, alone=alone, base=base)
    kind = ("poetry", freeze(version), *kind)
    base = base if found is not None else ()
    return Entry(
        name=normal(name), pin=None, kind=kind, text=text, alone=alone, range=found if base else None, base=base
    )
