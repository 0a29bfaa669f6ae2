"""The lock of pnpm, `pnpm-lock.yaml`, in its versions 6 and 9.

A package's key may end in parentheses that say with which peers, and with which patch, it is installed. That follows
from what it needs, so that all keys of one name and version are read as one package; a change of what is resolved for a
need is an entry of the package that is needed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from indult.decompose.manifests import names
from indult.decompose.manifests.graph import Lock, Package, attribute, reached
from indult.decompose.manifests.names import change, entry, is_name, is_plain, mapping, shown, tarball, weaker
from indult.decompose.manifests.npm import fields, overrides, patched, wanted
from indult.decompose.manifests.reading import Unreadable, read_yaml, same

__all__ = ["targets"]

_VERSION: Final = re.compile(r"(6|9)\.[0-9]\Z")
# Of the package itself; those of its peers stand further behind.
_PATCH: Final = re.compile(r"[^(]*\(patch_hash=([^()]*)\)")
_HASH: Final = re.compile(r"[0-9a-z]{16,128}\Z")
_SECTIONS: Final = ("dependencies", "devDependencies", "optionalDependencies")
_EDGES: Final = ("dependencies", "optionalDependencies")
# Follow from what the package needs.
_DERIVED: Final = frozenset({*_EDGES, "transitivePeerDependencies", "patched"})

# What describes a version of a package, and changes with it.
_DESCRIBES: Final = frozenset(
    {"resolution", "engines", "cpu", "os", "libc", "deprecated", "hasBin"}
    | {"peerDependencies", "peerDependenciesMeta"}
)


@dataclass(slots=True)
class _Merged:
    """All keys of one name and version."""

    name: str
    version: str
    parts: set[str] = field(default_factory=set)
    records: list[dict[str, Any]] = field(default_factory=list)
    patches: set[str] = field(default_factory=set)
    needs: dict[str, set[str]] = field(default_factory=dict)


def targets(path: str, old: bytes | None, new: bytes) -> Iterator[str]:
    """Yield what differs between two contents of a `pnpm-lock.yaml`."""
    before = {} if old is None else mapping(read_yaml(old), "the lock")
    after = mapping(read_yaml(new), "the lock")
    for lock in (after, *([before] if old is not None else [])):
        if not _VERSION.match(str(lock.get("lockfileVersion"))):
            raise Unreadable("a version of locks that is not known")
    known = {"importers", "packages", "snapshots", "overrides", "patchedDependencies", *_SECTIONS}
    if str(after["lockfileVersion"]).startswith("6") and "snapshots" in after:
        raise Unreadable("a section that this version of locks does not have")
    yield from fields(path, before, after, known)
    yield from overrides(path, before.get("overrides", {}), after.get("overrides", {}), "overrides")
    yield from _patches(path, before.get("patchedDependencies", {}), after.get("patchedDependencies", {}))
    merged = _merge(before), _merge(after)
    yield from _importers(path, _projects(before), _projects(after), merged[1])
    for place in () if old is None else _projects(before).keys() ^ _projects(after).keys():
        yield names.field(path, "importers", place)
    locks = _lock(before, merged[0]), _lock(after, merged[1])
    yield from _needs(path, *merged, reached(*locks))
    yield from attribute(path, locks[0], locks[1], _own)


def _patches(path: str, old: Any, new: Any) -> Iterator[str]:
    """Yield the changed patches; each is a path and a hash, or the hash alone, as newer versions write it."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        yield names.field(path, "patchedDependencies")
        return
    for key in old.keys() & new.keys():
        if not same(old[key], new[key]):
            # Another hash alone follows from the content of the patch, which is a changed file itself.
            hashed = _path(old[key]) is not None and same(_path(old[key]), _path(new[key]))
            yield _patched(path, key, hashed=hashed or (_is_hash(old[key]) and _is_hash(new[key])))
    hashes = {key for key in new.keys() - old.keys() if _is_hash(new[key])}
    for key in hashes:
        yield _patched(path, key, hashed=True)
    # Those that only one side has, as the manifest has them.
    sides = (
        dict.fromkeys(old.keys() - new.keys()),
        {key: _path(new[key]) for key in new.keys() - old.keys() - hashes},
    )
    yield from patched(path, *sides, "patchedDependencies")


def _patched(path: str, key: str, *, hashed: bool) -> str:
    name, _, version = key.rpartition("@")
    plain = hashed and is_name(name) and is_plain(version)
    return entry(path, name, version) if plain else names.field(path, "patchedDependencies", key)


def _is_hash(value: Any) -> bool:
    return isinstance(value, str) and _HASH.match(value) is not None


def _path(value: Any) -> Any:
    """Return the path of a patch that consists of a path and a hash."""
    whole = isinstance(value, dict) and value.keys() == {"hash", "path"} and _is_hash(value["hash"])
    return value["path"] if whole else None


def _projects(lock: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the projects by their folder; without workspaces, version 6 has the only one at the top."""
    found = {
        place: mapping(one, "an importer") for place, one in mapping(lock.get("importers", {}), "`importers`").items()
    }
    top = {key: lock[key] for key in _SECTIONS if key in lock}
    if top and found:
        raise Unreadable("projects at two places")
    return {".": top} if top else found


def _importers(path: str, old: Mapping[str, Any], new: Mapping[str, Any], packages: Mapping[str, Any]) -> Iterator[str]:
    """Yield what changed in the copies of the project's own manifests."""
    for place in old.keys() | new.keys():
        before, after = old.get(place, {}), new.get(place, {})
        yield from fields(path, before, after, set(_SECTIONS), "importers", place)
        for section in _SECTIONS:
            one, other = (mapping(side.get(section, {}), f"`{section}`") for side in (before, after))
            for name in one.keys() | other.keys():
                if name not in other:
                    yield entry(path, name, "none")
                elif name not in one or not same(_plain(one[name]), _plain(other[name])):
                    yield from _want(path, name, one.get(name), other[name], packages)


def _want(path: str, name: str, old: Any, new: Any, packages: Mapping[str, Any]) -> Iterator[str]:
    """Judge the changed entry of one package in a project: what is asked for, and what it is resolved to."""
    fresh = old is None
    if not all(
        isinstance(one, dict) and one.keys() == {"specifier", "version"} for one in (new, new if fresh else old)
    ):
        yield change(path, name, "is no specifier and version")
        return
    asked, found = new["specifier"], _base(new["version"])
    moved = fresh or not same(old["specifier"], asked)
    said = wanted(None if fresh else old["specifier"], asked, fresh=fresh) if moved else found
    if said is None:
        yield change(path, name, "no plain version and no range on one side")
    elif not is_plain(found) or not (fresh or is_plain(_base(old["version"]))):
        yield change(path, name, "is resolved to no plain version")
    elif (is_plain(asked) and asked != found) or f"{name}@{found}" not in packages:
        yield change(path, name, "is resolved to another version")
    else:
        yield entry(path, name, said)
        if not fresh and _base(old["version"]) != found:
            yield entry(path, name, found)


def _plain(want: Any) -> Any:
    """Return an entry of a project without the parentheses, which follow from what else changed."""
    if isinstance(want, dict) and isinstance(want.get("version"), str):
        return {**want, "version": _base(want["version"])}
    return want


def _base(value: Any) -> str:
    """Return what stands before the parentheses."""
    return value.partition("(")[0] if isinstance(value, str) else ""


def _key(name: str, value: Any) -> str:
    """Return the key of the package that a need is resolved to: a version of that name, or another package's key."""
    base = _base(value).removeprefix("/")
    return base if "@" in base[1:] else f"{name}@{base}"


def _merge(lock: Mapping[str, Any]) -> dict[str, _Merged]:
    """Return the packages by name and version, whatever they are installed with."""
    made: dict[str, _Merged] = {}
    for part in ("packages", "snapshots"):
        for key, record in mapping(lock.get(part, {}), f"`{part}`").items():
            base = _base(key).removeprefix("/")
            at = base.find("@", 1)
            name, version = (base[:at], base[at + 1 :]) if at > 0 else (base, "")
            one = made.setdefault(base, _Merged(name, version))
            _add(one, part, mapping(record, "a package"))
            if patch := _PATCH.match(key):
                one.patches.add(patch[1])
    return made


def _add(one: _Merged, part: str, record: dict[str, Any]) -> None:
    one.parts.add(part)
    rest = {key: value for key, value in record.items() if key not in _DERIVED}
    if part == "snapshots" and "resolution" in rest:
        raise Unreadable("a place that only some readers look at")
    if part == "packages" and not all(same(rest.get("resolution"), it.get("resolution")) for it in one.records[:1]):
        raise Unreadable("one package from two places")
    if rest and not any(same(rest, it) for it in one.records[:2]):
        one.records.append(rest)
    for section in _EDGES:
        for need, value in mapping(record.get(section, {}), f"`{section}`").items():
            one.needs.setdefault(need, set()).add(_key(need, value))


def _lock(lock: Mapping[str, Any], merged: Mapping[str, _Merged]) -> Lock:
    roots = (
        _key(name, want.get("version") if isinstance(want, dict) else want)
        for project in _projects(lock).values()
        for section in _SECTIONS
        for name, want in mapping(project.get(section, {}), f"`{section}`").items()
    )
    return Lock(packages={key: _package(key, one, merged) for key, one in merged.items()}, roots=tuple(roots))


def _package(key: str, one: _Merged, merged: Mapping[str, _Merged]) -> Package:
    needs = tuple(found for some in one.needs.values() for found in sorted(some))
    lacks = tuple(shown(need) for need in needs if need not in merged)
    record = {"parts": sorted(one.parts), "records": one.records}
    return Package(
        key=key, name=one.name, version=one.version, source=_source(one), record=record, needs=needs, lacks=lacks
    )


def _resolution(records: list[dict[str, Any]]) -> dict[str, Any]:
    found = records[0].get("resolution") if records else None
    return found if isinstance(found, dict) else {}


def _source(one: _Merged) -> str:
    """Return the kind of place that a package comes from: "" is the default registry."""
    found = _resolution(one.records)
    if not found.keys() <= {"integrity", "tarball"}:
        return f"elsewhere: {sorted(found.items(), key=str)}"
    return tarball(found["tarball"], one.name, one.version) or str(found["tarball"]) if "tarball" in found else ""


def _needs(path: str, old: Mapping[str, _Merged], new: Mapping[str, _Merged], apart: set[str]) -> Iterator[str]:
    """Yield the entries of whatever is resolved otherwise for a package that did not change itself.

    Only those `apart` from changed packages count: behind one, whatever moved is new and belongs to that one.
    """
    for key in old.keys() & new.keys():
        if old[key].patches != new[key].patches:
            yield entry(path, new[key].name, new[key].version)
        before, after = old[key].needs, new[key].needs
        for need in before.keys() | after.keys():
            if before.get(need) != after.get(need):
                found = _need(path, new[key], need, after.get(need, set()) - before.get(need, set()))
                yield from (one for one in found if key in apart or not one.startswith("entry:"))


def _need(path: str, package: _Merged, need: str, found: set[str]) -> Iterator[str]:
    """A need may move to another version, and never to another package; nor may it come, or go."""
    moved = {one.removeprefix(f"{need}@") for one in found}
    for version in moved:
        yield entry(path, need, version) if is_plain(version) else change(path, need, "is resolved to another package")
    if not moved:
        yield change(path, package.name, f"changed at version {package.version}")


def _own(old: Package | None, new: Package) -> str | None:
    """Say what is wrong with the entry of one package beside the one that it replaces."""
    if not is_name(new.name) or not is_plain(new.version):
        return "is no plain version"
    found = _resolution(new.record["records"])
    if not found.keys() <= {"integrity", "tarball"}:
        return "is of another kind"
    if "tarball" in found and tarball(found["tarball"], new.name, new.version) is None:
        return "resolved to something else than this version of it"
    if old is not None and old.source != new.source:
        return "resolved from another place"
    if old is not None and old.version == new.version and not same(old.record, new.record):
        return f"changed at version {new.version}"
    return weaker(None if old is None else _resolution(old.record["records"]), found) or _rest(old, new)


def _rest(old: Package | None, new: Package) -> str | None:
    was, now = (_fields(one) for one in (old, new))
    for key in sorted((was.keys() | now.keys()) - _DESCRIBES):
        if key == "requiresBuild" and was.get(key) is not True and now.get(key, False) is not False:
            return "runs a script when it is installed"
        if key in {"dev", "optional"} and old is None:
            continue
        if not same(was.get(key), now.get(key)):
            return f"differs in {shown(key)}"
    return None


def _fields(package: Package | None) -> dict[str, Any]:
    """Return what all records of one package say beside each other."""
    return {key: value for record in (package.record["records"] if package else []) for key, value in record.items()}
