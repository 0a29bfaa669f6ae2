"""Cargo.lock, versions 1 to 4: each changed package belongs to the one through which alone it is needed.

The older versions keep checksums in a table at the end and write out every dependency in full; both are read into the
same form. A package without a source is one of the project's own: what it needs is the lock's copy of its manifest.

Source: the description of the format in Cargo's `core/resolver/encode.rs`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from indult.decompose.manifests.cargo import NAME, fields
from indult.decompose.manifests.graph import Lock, Own, Package, attribute
from indult.decompose.manifests.names import shown
from indult.decompose.manifests.reading import Unreadable, read_toml, same, written

__all__ = ["targets"]

_VERSIONS: Final = frozenset({3, 4})
_VERSION: Final = re.compile(r"[0-9][0-9A-Za-z.+-]{0,199}\Z")
_NEED: Final = re.compile(r"(?P<name>[^ ]+)(?: (?P<version>[^ ]+)(?: \((?P<source>[^ ()]+)\))?)?\Z")
_CHECKSUM: Final = "checksum "
_REGISTRIES: Final = ("registry+", "sparse+")


class _Id(NamedTuple):
    """What one package of a lock is known by; of a git source without the commit, which `dependencies` leave out."""

    name: str
    version: str
    source: str


@dataclass(slots=True)
class _Crate:
    id: _Id
    needs: list[_Id]
    entry: dict[str, Any]

    @property
    def record(self) -> dict[str, Any]:
        """Return all that counts beside which versions it needs: those of the packages are entries of their own."""
        return {**self.entry, "dependencies": sorted(need.name for need in self.needs)}


@dataclass(slots=True)
class _File:
    crates: dict[_Id, _Crate] = field(default_factory=dict)
    rest: dict[str, Any] = field(default_factory=dict)

    def own(self) -> dict[str, _Crate]:
        """Return the project's own packages by name."""
        found = {crate.id.name: crate for crate in self.crates.values() if not crate.id.source}
        if len(found) != sum(not crate.source for crate in self.crates):
            raise Unreadable("two packages of one name without a source")
        return found


def targets(path: str, old: bytes | None, new: bytes) -> Iterator[str]:
    """Yield what changed between two versions of a Cargo.lock."""
    before = _File() if old is None else _read(read_toml(old))
    after = _read(read_toml(new))
    both = _twice(before) | _twice(after)
    yield from attribute(path, _lock(before, both), _lock(after, both), _check(before))
    yield from _own_packages(path, before, after)
    for crate in after.crates.values():
        if crate.id.source and crate.id in before.crates:
            yield from _moved(path, before.crates[crate.id], crate, after)
    yield from fields(path, before.rest, after.rest)


def _twice(file: _File) -> set[tuple[str, str]]:
    """Return the names and versions that stand there from more than one source."""
    times = Counter((one.name, one.version) for one in file.crates)
    return {one for one, count in times.items() if count > 1}


def _lock(file: _File, both: set[tuple[str, str]]) -> Lock:
    """Return the graph of what comes from elsewhere; the project's own packages are where it starts."""

    def key(one: _Id) -> str:
        return f"{one.name} {one.version}" + (f" ({one.source})" if (one.name, one.version) in both else "")

    def keys(crate: _Crate) -> tuple[str, ...]:
        return tuple(dict.fromkeys(key(need) for need in crate.needs if need.source))

    packages = {
        key(one): Package(
            key=key(one),
            name=one.name,
            version=one.version,
            source=crate.entry["source"],
            record=crate.record,
            needs=keys(crate),
        )
        for one, crate in file.crates.items()
        if one.source
    }
    return Lock(packages=packages, roots=tuple(need for crate in file.own().values() for need in keys(crate)))


def _check(before: _File) -> Own:
    """Return the check of a package's entry beside the one that it replaces."""
    sources = {crate.entry["source"] for crate in before.crates.values() if crate.id.source}

    def check(old: Package | None, new: Package) -> str | None:
        if old is None:
            known = new.source in sources if sources else new.source.startswith(_REGISTRIES)
            checked = "checksum" in new.record or not new.source.startswith(_REGISTRIES)
            return None if known and checked else "comes from another source" if checked else "no checksum"
        if old.source != new.source:
            return "comes from another source"
        free = {"version", "checksum", "dependencies"}
        changed = [
            key for key in {*old.record, *new.record} - free if not same(old.record.get(key), new.record.get(key))
        ]
        if "checksum" in old.record and "checksum" not in new.record:
            changed.append("checksum")
        return f"{', '.join(map(shown, sorted(changed)))} changed" if changed else None

    return check


def _own_packages(path: str, before: _File, after: _File) -> Iterator[str]:
    """Yield what changed in the project's own packages: what they need by the name of that, all else as a field."""
    then, now = before.own(), after.own()
    others = {one.name for file in (before, after) for one in file.crates if one.source}
    for name in dict.fromkeys([*then, *now]):
        one, other = then.get(name), now.get(name)
        if one is None or other is None or not same(one.entry, other.entry):
            yield from fields(path, {"package": {name: one and one.entry}}, {"package": {name: other and other.entry}})
            if (one is None or other is None) and name in others:
                yield f"change:{path}#{name}: comes from another source"
        yield from _needed(path, set(one.needs if one else ()), set(other.needs if other else ()), after)


def _needed(path: str, then: set[_Id], now: set[_Id], after: _File) -> Iterator[str]:
    """Yield the entries of what an own package needs anew or no longer, beside packages that came or went."""
    named = {one.name for one in now}
    for one in now - then:
        yield f"entry:{path}#{one.name}@{one.version}"
    for one in then - now:
        if one in after.crates and one.name not in named:
            yield f"entry:{path}#{one.name}@none"


def _moved(path: str, one: _Crate, other: _Crate, after: _File) -> Iterator[str]:
    """Yield a package that now needs another version of something though the one that it needed is still there."""
    left = {need for need in set(one.needs) - set(other.needs) if need in after.crates}
    if left:
        yield f"entry:{path}#{other.id.name}@{other.id.version}"
        yield f"change:{path}#{other.id.name}: needs another {min(left).name} than before"


def _read(data: dict[str, Any]) -> _File:
    """Read a lock of any version into one form."""
    version = data.get("version")
    if version is not None and (type(version) is not int or version not in _VERSIONS):
        raise Unreadable("an unknown version of the format")
    entries = _entries(data)
    _checksums(data, entries)
    index: dict[str, dict[str, dict[str, _Id]]] = {}
    for one in entries:
        index.setdefault(one.name, {}).setdefault(one.version, {})[one.source] = one
    file = _File(rest=data)
    for one, entry in entries.items():
        needs = entry.pop("dependencies", [])
        if not isinstance(needs, list):
            raise Unreadable("dependencies that are no list")
        file.crates[one] = _Crate(one, [_find(index, need) for need in needs], entry)
    return file


def _entries(data: dict[str, Any]) -> dict[_Id, dict[str, Any]]:
    """Take the packages out of a lock; in version 1 the project's own may stand apart as `root`."""
    listed = data.pop("package", [])
    entries = [data.pop("root"), *listed] if "root" in data and isinstance(listed, list) else listed
    if not isinstance(entries, list):
        raise Unreadable("packages that are no list")
    found: dict[_Id, dict[str, Any]] = {}
    for entry in entries:
        one = _id(entry)
        if one in found:
            raise Unreadable(f"{one.name} {one.version} stands twice")
        found[one] = entry
    return found


def _id(entry: Any) -> _Id:
    if not isinstance(entry, dict):
        raise Unreadable("a package that is no table")
    name, version, source = (entry.get(key, "") for key in ("name", "version", "source"))
    if not (isinstance(name, str) and NAME.match(name) and isinstance(version, str) and _VERSION.match(version)):
        raise Unreadable("a package without a name and a version")
    if not isinstance(source, str) or ("source" in entry and not source):
        raise Unreadable(f"{name} {version} has a source that is no text")
    if "checksum" in entry and not (isinstance(entry["checksum"], str) and entry["checksum"]):
        raise Unreadable(f"{name} {version} has a checksum that is no text")
    return _Id(name, version, source.partition("#")[0])


def _checksums(data: dict[str, Any], entries: Mapping[_Id, dict[str, Any]]) -> None:
    """Move the checksums of version 1 to their packages."""
    metadata = data.get("metadata")
    if not isinstance(metadata, dict):
        return
    named = [key for key in metadata if key.startswith(_CHECKSUM)]
    if named and any("checksum" in entry for entry in entries.values()):
        # Cargo then drops them all, and nothing would be checked.
        raise Unreadable("checksums in two places")
    for key in named:
        found = _NEED.match(key.removeprefix(_CHECKSUM))
        one = _Id(found["name"], found["version"] or "", (found["source"] or "").partition("#")[0]) if found else None
        value = metadata[key]
        if one is None or one not in entries or not isinstance(value, str) or not value:
            raise Unreadable("a checksum of no package")
        if value != "<none>":
            entries[one]["checksum"] = value
        del metadata[key]
    if not metadata:
        del data["metadata"]


def _find(index: Mapping[str, Mapping[str, Mapping[str, _Id]]], need: Any) -> _Id:
    """Return the package that a line of `dependencies` means; it leaves out what goes without saying."""
    found = _NEED.match(need) if isinstance(need, str) else None
    versions = index.get(found["name"], {}) if found else {}
    if found and found["version"] is None and len(versions) == 1:
        (sources,) = versions.values()
    else:
        sources = versions.get(found["version"] or "", {}) if found else {}
    if found and found["source"] is not None:
        one = sources.get(found["source"].partition("#")[0])
    else:
        one = sources.get("") or (next(iter(sources.values())) if len(sources) == 1 else None)
    if one is None:
        raise Unreadable(f"`{shown(written(need))}` is needed and cannot be told")
    return one
