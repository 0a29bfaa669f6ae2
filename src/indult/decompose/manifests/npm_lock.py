"""The locks of npm, `package-lock.json` and `npm-shrinkwrap.json`, in their versions 1, 2 and 3.

Versions 2 and 3 map places in the tree to packages; versions 1 and 2 nest packages in the one that has them in its
folder, which says the same. Both are read as places. Packages outside of `node_modules` are the project's own: what
stands there is the lock's copy of their manifests.
"""

from __future__ import annotations

import re
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
from indult.decompose.manifests.npm import SECTIONS, entries, fields, sections
from indult.decompose.manifests.reading import Unreadable, read_json, same, written

__all__ = ["targets"]

_MODULES: Final = "node_modules/"
_MAX_PLACE: Final = 1_000
_MAX_LEVELS: Final = 40
_SEGMENT: Final = re.compile(r"(?!\.{1,2}\Z)[^\s\\:]{1,200}\Z")

# What describes a version of a package, and changes with it.
_DESCRIBES: Final = frozenset(
    {
        *("version", "resolved", "integrity", "dependencies", "optionalDependencies", "peerDependencies"),
        *("peerDependenciesMeta", "requires", "engines", "os", "cpu", "libc", "bin", "license", "funding"),
        *("deprecated", "hasInstallScript"),
    }
)
# Follow from the place in the tree.
_PLACED: Final = frozenset({"dev", "optional", "devOptional", "peer"})
# A need of another package that is not always met.
_NEEDS: Final = ("dependencies", "optionalDependencies", "peerDependencies")

_Sides = tuple[dict[str, dict[str, Any]], dict[str, dict[str, Any]]]
"""The nested packages and the places of one lock."""


def targets(path: str, old: bytes | None, new: bytes) -> Iterator[str]:
    """Yield what differs between two contents of a lock of npm."""
    before = {} if old is None else mapping(read_json(old), "the lock")
    after = mapping(read_json(new), "the lock")
    if type(after.get("lockfileVersion")) is not int or after["lockfileVersion"] not in {1, 2, 3}:
        raise Unreadable("a version of locks that is not known")
    yield from fields(path, before, after, {"packages", "dependencies"})
    for key in ("packages", "dependencies"):
        if (key in before) != (key in after) and old is not None:
            yield field(path, key)
    old_places, new_places = _places(before), _places(after)
    if wrong := [place for place in new_places.keys() - old_places.keys() if not _fits(place)]:
        raise Unreadable(f"no place in the tree: `{shown(min(wrong))}`")
    yield from _manifests(path, old_places, new_places)
    for place in () if old is None else old_places.keys() ^ new_places.keys():
        if _MODULES not in place:
            yield field(path, "packages", place)
    yield from attribute(path, _lock(old_places, _roots(old_places)), _lock(new_places, _roots(new_places)), _own)
    yield from _compare_nested(path, (_nested(before), old_places), (_nested(after), new_places))


def _places(lock: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the packages by the place where they lie, as versions 2 and 3 have them."""
    found = mapping(lock.get("packages", {}), "`packages`")
    for place, record in found.items():
        if len(place) > _MAX_PLACE or place.count("/") > _MAX_LEVELS:
            raise Unreadable("a place too deep in the tree")
        mapping(record, "a package")
        if not isinstance(record, dict) or (_MODULES in place and not is_name(_name(place))):
            raise Unreadable("a package that is none")
    return found


def _fits(place: str) -> bool:
    """Tell whether a place is a folder of the project's own, or one that an installer makes, below or beside others."""
    own, *names = re.split(r"(?:^|/)node_modules/", place)
    inside = all(_SEGMENT.match(part) for part in own.split("/")) and "node_modules" not in own
    return (inside or (own == "" and place[:1] != "/")) and all(
        is_name(name) and name != "node_modules" for name in names
    )


def _name(place: str) -> str:
    return place.rpartition(_MODULES)[2]


def _manifests(path: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    """Yield what changed in the copies of the project's own manifests."""
    for place in old.keys() | new.keys():
        if _MODULES not in place:
            before, after = old.get(place, {}), new.get(place, {})
            yield from sections(path, before, after, "packages", place)
            yield from fields(path, before, after, set(SECTIONS), "packages", place)


def _roots(places: Mapping[str, Any]) -> tuple[str, ...]:
    own = [place for place in places if _MODULES not in place]
    return tuple(
        found for place in own for need in _wanted(places[place], SECTIONS) for found in _find(places, place, need)
    )


def _lock(places: Mapping[str, Any], roots: tuple[str, ...]) -> Lock:
    check_needs(places.values(), (*_NEEDS, "requires"))
    return Lock(
        packages={place: _package(places, place) for place in places if _MODULES in place},
        roots=roots,
    )


def _package(places: Mapping[str, Any], place: str) -> Package:
    record = places[place]
    name, version = _name(place), record.get("version")
    version = version if isinstance(version, str) else ""
    wanted = (*_NEEDS, "requires") if isinstance(record.get("requires"), dict) else _NEEDS
    needs = tuple(found for need in _wanted(record, wanted) for found in _find(places, place, need))
    source = _source(name, record)
    must = ("dependencies", "requires") if "requires" in wanted else ("dependencies",)
    lacks = tuple(shown(need) for need in _wanted(record, must) if not any(_find(places, place, need)))
    above = place[: -len(_MODULES + name)].removesuffix("/")
    return Package(
        key=place,
        name=name,
        version=version,
        source=source,
        record=record,
        needs=needs,
        lacks=lacks,
        within=above if _MODULES in above else "",
    )


def _source(name: str, record: Mapping[str, Any]) -> str:
    """Return the registry, or the whole address where it is none of a registry."""
    resolved = record.get("resolved", "")
    return tarball(resolved, name, str(record.get("version"))) or str(resolved)


def _wanted(record: Mapping[str, Any], keys: tuple[str, ...]) -> Iterator[str]:
    for key in keys:
        value = record.get(key)
        if isinstance(value, dict):
            yield from value


def _find(places: Mapping[str, Any], place: str, need: str) -> Iterator[str]:
    """Yield the nearest package of that name, going up from a place as node does."""
    while True:
        found = f"{place}/{_MODULES}{need}" if place else f"{_MODULES}{need}"
        if found in places:
            yield found
            return
        if not place:
            return
        place = place.rpartition("/")[0].removesuffix("/node_modules")
        place = "" if place == "node_modules" else place


def _own(old: Package | None, new: Package) -> str | None:
    """Say what is wrong with the entry of one package beside the one that it replaces."""
    was = None if old is None else old.record
    return _kind(new) or _address(old, new) or weaker(was, new.record) or commands(was, new.record) or _rest(old, new)


def _kind(new: Package) -> str | None:
    record = new.record
    if record.get("name", new.name) != new.name:
        return f"is another package: {shown(written(record['name']))}"
    for key in ("link", "inBundle", "bundled", "hasShrinkwrap", "from"):
        if key in record:
            return f"is of another kind: {key}"
    return None if is_plain(new.version) else "is no plain version"


def _address(old: Package | None, new: Package) -> str | None:
    resolved = new.record.get("resolved")
    if "resolved" in new.record and tarball(resolved, new.name, new.version) is None:
        return "resolved to something else than this version of it"
    if old is not None and old.source != new.source:
        return "resolved from another place"
    if old is not None and old.version == new.version:
        # The same version, moved in the tree.
        return None if same(old.record.get("integrity"), new.record.get("integrity")) else "has another integrity"
    return None


def _rest(old: Package | None, new: Package) -> str | None:
    was = {} if old is None else old.record
    if new.record.get("hasInstallScript", False) is not False and was.get("hasInstallScript") is not True:
        return "runs a script when it is installed"
    for key in sorted((was.keys() | new.record.keys()) - _DESCRIBES):
        if key in _PLACED and (old is None or old.key != new.key):
            continue
        if not same(was.get(key), new.record.get(key)):
            return f"differs in {shown(key)}"
    return None


def _nested(lock: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the packages of versions 1 and 2 by the place where they lie."""
    found: dict[str, dict[str, Any]] = {}
    waiting = [("", mapping(lock.get("dependencies", {}), "`dependencies`"))]
    while waiting:
        above, packages = waiting.pop()
        for name, record in packages.items():
            place = f"{above}/{_MODULES}{name}" if above else f"{_MODULES}{name}"
            if not is_name(name) or name == "node_modules" or len(place) > _MAX_PLACE or place.count("/") > _MAX_LEVELS:
                raise Unreadable("a package that is none, or too deep in the tree")
            inner = mapping(record, "a package").get("dependencies", {})
            waiting.append((place, mapping(inner, "`dependencies`")))
            found[place] = {key: value for key, value in record.items() if key != "dependencies"}
    return found


def _compare_nested(path: str, old: _Sides, new: _Sides) -> Iterator[str]:
    """Yield what changed among nested packages; version 1 does not say what the project itself needs.

    There, whatever stays could be wanted by the manifest, and so could what no other package needs; what is new cannot,
    unless the manifest changed and tells so itself.
    """
    before, after = old[0], new[0]
    for place in before.keys() & after.keys():
        if _is_folder(before[place]) and _is_folder(after[place]):
            # The copy of a manifest of the project's own.
            yield from entries(
                path, *(mapping(one[place].pop("requires", {}), "`requires`") for one in (before, after))
            )
    stays = before.keys() & after.keys()
    roots = [_roots_of(*one) if old[1] or new[1] else _unneeded(one[0], stays) for one in (old, new)]
    yield from attribute(path, _lock(before, roots[0]), _lock(after, roots[1]), _own)


def _is_folder(record: Mapping[str, Any]) -> bool:
    return str(record.get("version")).startswith("file:")


def _roots_of(nested: Mapping[str, Any], places: Mapping[str, Any]) -> tuple[str, ...]:
    own = [record for place, record in places.items() if _MODULES not in place]
    return tuple(found for record in own for need in _wanted(record, SECTIONS) for found in _find(nested, "", need))


def _unneeded(places: Mapping[str, Any], stays: set[str]) -> tuple[str, ...]:
    needed = {found for place in places for found in _package(places, place).needs}
    return tuple(place for place in places if place in stays or place not in needed)
