"""The graph of a lock: which package each changed entry belongs to.

A changed package belongs to the one through which alone it is needed. The walk starts at what the project needs itself
and goes on through unchanged packages; each changed package that it meets belongs to itself and carries its name on to
whatever only it leads to. Where two names meet, the package belongs to itself again. That is the topmost changed
package on every way from the roots, found in one pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from indult.decompose.manifests.reading import same

__all__ = ["Lock", "Own", "Package", "attribute", "reached"]

# So many older entries of one name are looked at; a lock that has more of them is the target branch's own.
_MAX_CANDIDATES: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """One package of a lock.

    `key` is where it stands in the file, `source` what kind of place it comes from (registry, host; "" if the file
    does not say), `record` the whole of its entry, `needs` the keys of what it needs and `lacks` the names of what it needs and the lock does not have.
    """

    key: str
    name: str
    version: str
    source: str
    record: Any
    needs: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """All packages of a lock by key, and the keys of those that the project itself needs."""

    packages: Mapping[str, Package]
    roots: tuple[str, ...] = ()


Own = Callable[[Package | None, Package], str | None]
"""Says what is wrong with an entry beside the one that it replaces (`None` if there was none), or nothing."""


class _Owner(NamedTuple):
    name: str
    version: str
    source: str


def attribute(path: str, old: Lock, new: Lock, own: Own) -> Iterator[str]:
    """Yield the targets of all that differs between two locks.

    `own` checks the entry of one package that is new or has another version; it is asked for each of them.
    """
    replaced = {key for key, one in new.packages.items() if _differs(old.packages.get(key), one)}
    gone = {key for key, one in old.packages.items() if _differs(new.packages.get(key), one)}
    for key, package in new.packages.items():
        if key not in replaced and not same(old.packages[key].record, package.record):
            yield f"entry:{path}#{package.name}@{package.version}"
            yield f"change:{path}#{package.name}: changed at version {package.version}"
    yield from _came(path, old, new, replaced, gone, own)
    yield from _went(path, old, new, replaced, gone)


def reached(old: Lock, new: Lock) -> set[str]:
    """Return the keys that a way of unchanged packages alone leads to, in either lock."""
    replaced = {key for key, one in new.packages.items() if _differs(old.packages.get(key), one)}
    gone = {key for key, one in old.packages.items() if _differs(new.packages.get(key), one)}
    return _frontier(old, gone)[1] | _frontier(new, replaced)[1]


def _differs(one: Package | None, other: Package) -> bool:
    return one is None or (one.name, one.version) != (other.name, other.version)


def _came(path: str, old: Lock, new: Lock, replaced: set[str], gone: set[str], own: Own) -> Iterator[str]:
    owners = _owners(new, replaced)
    older = _by_name(old)
    for key in replaced:
        package = new.packages[key]
        owner = owners[key]
        yield f"entry:{path}#{owner.name}@{owner.version}"
        before = _before(package, old.packages.get(key), older.get(package.name, []), gone)
        wrong = {own(one, package) for one in before} if before else {own(None, package)}
        wrong -= {None}
        wrong |= {f"needs {need}, which the lock does not have" for need in package.lacks[:1]}
        if not wrong and package.source not in {owner.source, *(one.source for one in before)}:
            wrong = {"comes from another source"}
        for what in wrong:
            yield f"change:{path}#{package.name}: {what}"


def _went(path: str, old: Lock, new: Lock, replaced: set[str], gone: set[str]) -> Iterator[str]:
    owners = _owners(old, gone)
    versions: dict[str, tuple[set[str], set[str]]] = {}
    for key, package in new.packages.items():
        fresh, kept = versions.setdefault(package.name, (set(), set()))
        (fresh if key in replaced else kept).add(package.version)
    for key in gone:
        name = owners[key].name
        fresh, kept = versions.get(name, (set(), set()))
        now = fresh or kept
        yield f"entry:{path}#{name}@{min(now) if fresh or len(now) == 1 else 'none'}"


def _by_name(lock: Lock) -> dict[str, list[Package]]:
    found: dict[str, list[Package]] = {}
    for package in lock.packages.values():
        found.setdefault(package.name, []).append(package)
    return found


def _before(package: Package, there: Package | None, older: Sequence[Package], gone: set[str]) -> list[Package]:
    """Return what a new entry replaces: the same version elsewhere and its place, else what left, else the others."""
    nearest = [one for one in (there,) if one is not None and one.name == package.name]
    nearest += [one for one in older if one.version == package.version]
    found = nearest or [one for one in older if one.key in gone] or list(older)
    return found[:_MAX_CANDIDATES]


def _owners(lock: Lock, changed: set[str]) -> dict[str, _Owner]:
    """Return the owner of each changed package; what nothing leads to owns itself."""
    first, plain = _frontier(lock, changed)
    own = {key: _Owner(one.name, one.version, one.source) for key, one in lock.packages.items() if key in changed}
    seen: dict[str, _Owner | None] = {key: own[key] for key in first}
    waiting = list(first)
    while waiting:
        key = waiting.pop()
        for need in lock.packages[key].needs:
            if need not in lock.packages or need in plain or need in first:
                continue
            # None: more than one name leads here, and on to all that it needs.
            meets = seen[key] if seen.get(need, seen[key]) == seen[key] else None
            if need not in seen or seen[need] != meets:
                seen[need] = meets
                waiting.append(need)
    return {key: seen.get(key) or own[key] for key in changed}


def _frontier(lock: Lock, changed: set[str]) -> tuple[set[str], set[str]]:
    """Return the changed packages that a way of unchanged ones leads to, and the unchanged ones on such ways."""
    first: set[str] = set()
    plain: set[str] = set()
    waiting = list(lock.roots)
    while waiting:
        key = waiting.pop()
        if key not in lock.packages or key in first or key in plain:
            continue
        if key in changed:
            first.add(key)
        else:
            plain.add(key)
            waiting.extend(lock.packages[key].needs)
    return first, plain
