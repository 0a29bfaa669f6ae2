"""`uv.lock`: packages with their needs as tables, among them the folders of the project itself.

A folder of the project has a copy of its manifest's requirements, and a list of the packages that they led to. Both
hold entries by the same rules as the manifest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from indult.decompose.manifests.graph import Lock, Package
from indult.decompose.manifests.locked import Found, Read, identity, linked, source
from indult.decompose.manifests.pep508 import Entry, compare, freeze, normal, plain, specified
from indult.decompose.manifests.reading import Unreadable, same, written
from indult.decompose.manifests.tables import fields, table, tables

__all__ = ["FREE", "FRESH", "beside", "read"]

FREE: Final = frozenset({"version", "sdist", "wheels", "dependencies", "optional-dependencies"})
"""The keys of a package that go with its version."""

FRESH: Final = frozenset({"name", "source", "resolution-markers"})
"""The further keys that a package which was not there before may have."""

Lists = dict[tuple[str, ...], list[Entry]]
"""The lists of entries of one folder of the project, by place."""

_LOCAL: Final = frozenset({"virtual", "editable", "directory"})
_GROUPS: Final = ("optional-dependencies", "dev-dependencies")
_PROJECT: Final = "manifest"
_BESIDE: Final = frozenset({"marker", "extras", "extra", "index"})


def read(data: dict[str, Any]) -> Read:
    """Take the packages out of the data of a lock, and the requirements that its header may hold.

    Raises:
        Unreadable: It is a lock of another version, or something in it has another form.
    """
    if data and not same(data.get("version"), 1):
        raise Unreadable("a lock of another version")
    records = tables(data, "package")
    data.pop("package", None)
    own = [record for record in records if _LOCAL & set(table(record, "source"))]
    packages = linked([_found(record) for record in records if not _LOCAL & set(table(record, "source"))])
    versions = _versions(packages)
    local: dict[str, Any] = {}
    for record in own:
        name = normal(str(record.get("name")))
        if not name or name in local:
            raise Unreadable("a folder of the project without a name of its own")
        local[name] = (_lists(record, versions), record)
    header = table(data, _PROJECT)
    lists: Lists = {("requirements",): [_requirement(one) for one in _popped(header, "requirements")]}
    for group, held in table(header, "dependency-groups").items():
        lists["dependency-groups", group] = [_requirement(one) for one in _tables(held)]
        header["dependency-groups"][group] = []
    asked = {entry.name for found, _ in [*local.values(), (lists, None)] for held in found.values() for entry in held}
    roots = tuple(key for key, one in packages.items() if one.name in asked)
    # The empty name stands for the header, since no package has it.
    return Read(lock=Lock(packages=packages, roots=roots), local={**local, "": (lists, {})})


def beside(path: str, old: Read, new: Read) -> Iterator[str]:
    """Yield what changed in the folders of the project and in the requirements of the header."""
    for name in {**old.local, **new.local}:
        if name not in old.local or name not in new.local:
            record = (new.local if name in new.local else old.local)[name][1]
            version = record.get("version") if name in new.local else None
            yield f"entry:{path}#{name}@{version if plain(version) else 'none'}"
            yield f"change:{path}#{name}: a folder of the project {'came' if name in new.local else 'went'}"
            continue
        (was, before), (now, after) = old.local[name], new.local[name]
        for place in {**was, **now}:
            yield from compare(path, was.get(place, []), now.get(place, []))
        yield from fields(path, before, after, "package", name)


def _found(record: dict[str, Any]) -> Found:
    name, version = identity(record)
    held = {"": {**record, "name": name}}
    place = table(record, "source")
    kind = "registry" if set(place) <= {"registry"} else "other"
    wants = [_want(one) for one in _tables(record.get("dependencies", []))]
    for key in _GROUPS:
        wants += [_want(one) for group in table(record, key).values() for one in _tables(group)]
    index = place.get("registry")
    shape = repr(index) if kind == "registry" and isinstance(index, str) else repr(freeze(place))
    return Found(name=name, version=version, source=source(kind, shape, held), record=held, wants=tuple(wants))


def _want(need: dict[str, Any]) -> tuple[str, str]:
    name, version = need.get("name"), need.get("version", "")
    if not isinstance(name, str) or not isinstance(version, str):
        raise Unreadable("a need without a name")
    return normal(name), version


def _versions(packages: Mapping[str, Package]) -> dict[str, str]:
    """Return the version of each package that has one only."""
    found: dict[str, set[str]] = {}
    for one in packages.values():
        found.setdefault(one.name, set()).add(one.version)
    return {name: min(held) for name, held in found.items() if len(held) == 1}


def _lists(record: dict[str, Any], versions: Mapping[str, str]) -> Lists:
    """Take the entries out of a folder of the project; the names of its groups stay."""
    lists: Lists = {("dependencies",): [_need(one, versions) for one in _popped(record, "dependencies")]}
    for key in _GROUPS:
        for group, held in table(record, key).items():
            lists[key, group] = [_need(one, versions) for one in _tables(held)]
            record[key][group] = []
    metadata = table(record, "metadata")
    lists["requires-dist",] = [_requirement(one) for one in _popped(metadata, "requires-dist")]
    for group, held in table(metadata, "requires-dev").items():
        lists["requires-dev", group] = [_requirement(one) for one in _tables(held)]
        metadata["requires-dev"][group] = []
    return lists


def _popped(data: dict[str, Any], key: str) -> list[dict[str, Any]]:
    return _tables(data.pop(key, []))


def _tables(held: Any) -> list[dict[str, Any]]:
    return tables({"needs": held}, "needs")


def _need(need: dict[str, Any], versions: Mapping[str, str]) -> Entry:
    """Return what a folder of the project needs, with the version that the lock has of it."""
    name, version = _want(need)
    rest = {key: value for key, value in need.items() if key not in {"name", "version"}}
    now = version or versions.get(name)
    pin = now if plain(now) else None
    return Entry(name=name, pin=pin, kind=("need", freeze(rest)), text=written(need), alone=set(need) == {"name"})


def _requirement(need: dict[str, Any]) -> Entry:
    """Return what the manifest asks for, as the lock has copied it."""
    name, specifier = need.get("name"), need.get("specifier", "")
    if not isinstance(name, str) or not isinstance(specifier, str):
        raise Unreadable("a requirement without a name")
    rest = {key: value for key, value in need.items() if key not in {"name", "specifier"}}
    found = specified(name, specifier, (freeze(rest),), text=written(need), alone=not rest)
    # Where a need is met elsewhere than in a registry, its range says little.
    return found if set(rest) <= _BESIDE or found.range is None else replace(found, range=None, base=())
