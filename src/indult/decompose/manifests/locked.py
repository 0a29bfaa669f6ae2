"""What the locks of Python's package managers have in common: packages by name, version and source, with files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from indult.decompose.manifests.artefacts import hosts
from indult.decompose.manifests.graph import Lock, Package
from indult.decompose.manifests.pep508 import normal, plain
from indult.decompose.manifests.reading import Unreadable

__all__ = ["Found", "Read", "files", "identity", "linked", "names", "source", "unneeded"]

# Far above any real lock; what is hostile may name one package in many versions and need it as often.
_MOST_NEEDS: Final = 2_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """What was taken out of a lock: its packages, and those of them that are folders of the project, by name."""

    lock: Lock
    local: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One package as it was found: `wants` are the packages that it needs, by name and version (`""` for any)."""

    name: str
    version: str
    source: str
    record: Mapping[str, dict[str, Any]]
    wants: tuple[tuple[str, str], ...]


def identity(record: Mapping[str, Any]) -> tuple[str, str]:
    """Return the normalised name and the version of a package.

    Raises:
        Unreadable: One of them is missing, or is no name or no version.
    """
    name, version = record.get("name"), record.get("version")
    if not isinstance(name, str) or not normal(name):
        raise Unreadable("a package without a plain name")
    if not isinstance(version, str) or not plain(version):
        raise Unreadable(f"`{normal(name)}` has no plain version")
    return normal(name), version


def files(record: Mapping[str, dict[str, Any]]) -> list[Any]:
    """Return the files of a package, each as its lock has it."""
    found: list[Any] = []
    for one in record.values():
        for key in ("files", "wheels"):
            held = one.get(key, [])
            found += held if isinstance(held, list) else [held]
        found += [one["sdist"]] if "sdist" in one else []
    return found


def source(kind: str, place: str, record: Mapping[str, dict[str, Any]]) -> str:
    """Return where a package comes from: the kind of place, the place, and where its files are."""
    name, version = identity(next(iter(record.values())))
    return f"{kind} {place} {hosts(files(record), name, version)}"


def linked(found: list[Found]) -> dict[str, Package]:
    """Return packages by key, with the keys of what they need.

    Raises:
        Unreadable: One stands there twice, or too many need too many.
    """
    times = Counter((one.name, one.version) for one in found)
    keys = [_key(one, alone=times[one.name, one.version] == 1) for one in found]
    if len(set(keys)) != len(keys):
        raise Unreadable("one package twice")
    index: dict[tuple[str, str], list[str]] = {}
    for key, one in zip(keys, found, strict=True):
        for version in ("", one.version):
            index.setdefault((one.name, version), []).append(key)
    left = _MOST_NEEDS
    packages: dict[str, Package] = {}
    for key, one in zip(keys, found, strict=True):
        needs = dict.fromkeys(need for want in set(one.wants) for need in index.get(want, []))
        left -= sum(len(index.get(want, [])) for want in set(one.wants))
        if left < 0:
            raise Unreadable("too many needs")
        packages[key] = Package(
            key=key, name=one.name, version=one.version, source=one.source, record=one.record, needs=tuple(needs)
        )
    return packages


def unneeded(packages: Mapping[str, Package]) -> tuple[str, ...]:
    """Return the packages that no other needs: what the project asks for, where a lock does not say it."""
    needed = {need for one in packages.values() for need in one.needs if need != one.key}
    return tuple(key for key in packages if key not in needed)


def _key(one: Found, *, alone: bool) -> str:
    return f"{one.name}@{one.version}" if alone else f"{one.name}@{one.version} {one.source}"


def names(wanted: Iterable[Any]) -> tuple[tuple[str, str], ...]:
    """Return wants of any version for names as a lock spells them."""
    return tuple((normal(name), "") for name in wanted if isinstance(name, str) and normal(name))
