"""The lock of bun, `bun.lock`: JSON in which a comma may follow the last item.

`packages` maps a chain of names (which package lies in whose folder) to a list: what it is, where it comes from, what
describes it, and its hash. `workspaces` are copies of the project's own manifests.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from indult.decompose.manifests.graph import Lock, Package, attribute
from indult.decompose.manifests.names import (
    check_needs,
    commands,
    field,
    is_name,
    is_plain,
    mapping,
    shown,
    tarball,
    weaker,
)
from indult.decompose.manifests.npm import SECTIONS, fields, overrides, patched, sections
from indult.decompose.manifests.reading import Unreadable, read_loose_json, same

__all__ = ["targets"]

_MAX_KEY: Final = 1_000
_MAX_LEVELS: Final = 30
_NEEDS: Final = ("dependencies", "optionalDependencies", "peerDependencies")

# What describes a version of a package, and changes with it.
_DESCRIBES: Final = frozenset({*_NEEDS, "optionalPeers", "os", "cpu", "libc", "bin", "binDir"})


def targets(path: str, old: bytes | None, new: bytes) -> Iterator[str]:
    """Yield what differs between two contents of a `bun.lock`."""
    before = {} if old is None else mapping(read_loose_json(old), "the lock")
    after = mapping(read_loose_json(new), "the lock")
    if type(after.get("lockfileVersion")) is not int or after["lockfileVersion"] not in {0, 1, 2}:
        raise Unreadable("a version of locks that is not known")
    yield from fields(path, before, after, {"workspaces", "packages", "overrides", "patchedDependencies"})
    yield from overrides(path, before.get("overrides", {}), after.get("overrides", {}), "overrides")
    key = "patchedDependencies"
    yield from patched(path, before.get(key, {}), after.get(key, {}), key)
    yield from _manifests(path, _workspaces(before), _workspaces(after))
    for place in () if old is None else _workspaces(before).keys() ^ _workspaces(after).keys():
        yield field(path, "workspaces", place)
    yield from attribute(path, _lock(before), _lock(after), _own)


def _workspaces(lock: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    found = mapping(lock.get("workspaces", {}), "`workspaces`")
    return {place: mapping(one, "a workspace") for place, one in found.items()}


def _manifests(path: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    """Yield what changed in the copies of the project's own manifests."""
    for place in old.keys() | new.keys():
        before, after = old.get(place, {}), new.get(place, {})
        yield from sections(path, before, after, "workspaces", place)
        yield from fields(path, before, after, set(SECTIONS), "workspaces", place)


def _lock(lock: Mapping[str, Any]) -> Lock:
    chains = {key: _chain(key) for key in mapping(lock.get("packages", {}), "`packages`")}
    check_needs((_about(one) for one in lock.get("packages", {}).values() if isinstance(one, list) and one), _NEEDS)
    packages = {key: _package(key, chain, lock["packages"]) for key, chain in chains.items()}
    roots = (
        found
        for one in _workspaces(lock).values()
        for need in _wanted(one, SECTIONS)
        for found in _find(packages, _chain(str(one["name"])) if is_name(one.get("name")) else (), need)
    )
    return Lock(packages=packages, roots=tuple(roots))


def _chain(key: str) -> tuple[str, ...]:
    """Return the names that a key leads through; a scope and a name are one."""
    names: list[str] = []
    for part in key.split("/", _MAX_LEVELS):
        if names and names[-1].startswith("@") and "/" not in names[-1]:
            names[-1] += f"/{part}"
        else:
            names.append(part)
    if len(key) > _MAX_KEY or not all(map(is_name, names)):
        raise Unreadable("a package that is none, or too deep in the tree")
    return tuple(names)


def _package(key: str, chain: tuple[str, ...], packages: Mapping[str, Any]) -> Package:
    record = packages[key]
    if not isinstance(record, list) or not record or not isinstance(record[0], str):
        raise Unreadable("a package that is no list")
    version = record[0][1:].partition("@")[2]
    needs = (found for need in _wanted(_about(record), _NEEDS) for found in _find(packages, chain, need))
    return Package(
        key=key,
        name=chain[-1],
        version=version,
        source=_source(record, chain[-1], version),
        record=record,
        needs=tuple(needs),
        lacks=tuple(
            shown(need) for need in _wanted(_about(record), _NEEDS[:1]) if not any(_find(packages, chain, need))
        ),
        within="/".join(chain[:-1]),
    )


def _about(record: list[Any]) -> dict[str, Any]:
    return record[2] if _from_registry(record) else next((one for one in record[1:] if isinstance(one, dict)), {})


def _from_registry(record: list[Any]) -> bool:
    kinds = [type(one) for one in record]
    return kinds == [str, str, dict, str]


def _source(record: list[Any], name: str, version: str) -> str:
    """Return the registry ("" is the default one), or the kind of whatever comes from elsewhere."""
    if not _from_registry(record):
        return f"elsewhere: {version}"
    return tarball(record[1], name, version) or str(record[1])


def _wanted(record: Mapping[str, Any], keys: tuple[str, ...]) -> Iterator[str]:
    for key in keys:
        value = record.get(key)
        if isinstance(value, dict):
            yield from value


def _find(packages: Mapping[str, Any], chain: tuple[str, ...], need: str) -> Iterator[str]:
    """Yield the nearest package of that name, going up from the end of a chain."""
    for length in range(len(chain), -1, -1):
        found = "/".join((*chain[:length], need))
        if found in packages:
            yield found
            return


def _own(old: Package | None, new: Package) -> str | None:
    """Say what is wrong with the entry of one package beside the one that it replaces."""
    if (wrong := _kind(new) or _place(old, new)) is not None:
        return wrong
    return commands(None if old is None else _about(old.record), _about(new.record)) or _rest(old, new)


def _kind(new: Package) -> str | None:
    if new.record[0] != f"{new.name}@{new.version}":
        return f"is another package: {shown(new.record[0])}"
    return None if is_plain(new.version) and _from_registry(new.record) else "is of another kind than a plain version"


def _place(old: Package | None, new: Package) -> str | None:
    if new.record[1].endswith(".tgz") and tarball(new.record[1], new.name, new.version) is None:
        return "resolved to something else than this version of it"
    if old is not None and old.source != new.source:
        return "resolved from another place"
    if old is not None and old.version == new.version and not same(old.record[3:], new.record[3:]):
        return "has another integrity"
    return weaker(_hash(old), {"integrity": new.record[3]})


def _hash(old: Package | None) -> dict[str, Any] | None:
    return {"integrity": old.record[3]} if old is not None and len(old.record) > 3 else None


def _rest(old: Package | None, new: Package) -> str | None:
    was = {} if old is None else _about(old.record)
    for key in sorted((was.keys() | new.record[2].keys()) - _DESCRIBES):
        if not same(was.get(key), new.record[2].get(key)):
            return f"differs in {shown(key)}"
    return None
