"""The graph of a lock: which package each changed entry belongs to.

A changed package belongs to the one through which alone it is needed. The walk starts at what the project needs itself
and goes on through unchanged packages; each changed package that it meets belongs to itself and carries its name on to
whatever only it leads to. Where two names meet, the package belongs to itself again. That is the topmost changed
package on every way from the roots, found in one pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from indult.decompose.manifests.names import shown
from indult.decompose.manifests.reading import same

__all__ = ["Lock", "Own", "Package", "attribute", "reached"]

# So many older entries of one name are looked at; a lock that has more of them is the target branch's own.
_MAX_CANDIDATES: Final = 20
# A lock that does not say where a package comes from leaves it to the settings, which are files of their own.
_USUAL: Final = frozenset({""})


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """One package of a lock.

    `key` is where it stands in the file, `source` what kind of place it comes from (registry, host; "" if the file
    does not say), `record` the whole of its entry, `needs` the keys of what it needs and `lacks` the names of what it
    needs and the lock does not have. `within` is the key of the package in whose folder it lies, where that decides who
    finds it: "" is the project's own, None says that it does not matter.
    """

    key: str
    name: str
    version: str
    source: str
    record: Any
    needs: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    within: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """All packages of a lock by key, and the keys of those that the project itself needs.

    Where a lock does not tell (`told`) what the project needs, `roots` are no more than what no package needs.
    """

    packages: Mapping[str, Package]
    roots: tuple[str, ...] = ()
    told: bool = True


Own = Callable[[Package | None, Package], str | None]
"""Says what is wrong with an entry beside the one that it replaces (`None` if there was none), or nothing."""


class _Owner(NamedTuple):
    name: str
    version: str
    source: str


class _Older(NamedTuple):
    """The packages of the old lock as new ones are compared with them: by name and version, gone, and by name."""

    same: Mapping[tuple[str, str], Sequence[Package]]
    gone: Mapping[str, Sequence[Package]]
    all: Mapping[str, Sequence[Package]]


def attribute(path: str, old: Lock, new: Lock, own: Own, *, known: AbstractSet[str] = _USUAL) -> Iterator[str]:
    """Yield the targets of all that differs between two locks.

    `own` checks the entry of one package that is new or has another version; it is asked for each of them. `known` are
    the sources that a package may come from though the old lock has none from there: the format's own registry.
    """
    old, new = _rooted(old, new)
    replaced = {key for key, one in new.packages.items() if _differs(old.packages.get(key), one)}
    gone = {key for key, one in old.packages.items() if _differs(new.packages.get(key), one)}
    for key, package in new.packages.items():
        if key not in replaced and not same(old.packages[key].record, package.record):
            yield f"entry:{path}#{package.name}@{package.version}"
            yield f"change:{path}#{package.name}: changed at version {package.version}"
    sources = known | {one.source for one in old.packages.values()}
    yield from _came(path, old, new, replaced, gone, own, sources)
    yield from _went(path, old, new, replaced, gone)


def _rooted(old: Lock, new: Lock) -> tuple[Lock, Lock]:
    """Return both locks with what the project may need itself: where that is not told, all that was there before."""
    if new.told:
        return old, new
    names = {one.name for one in old.packages.values()}
    stays = tuple(key for key, one in new.packages.items() if one.name in names)
    return replace(old, roots=tuple(old.packages)), replace(new, roots=new.roots + stays)


def reached(old: Lock, new: Lock) -> set[str]:
    """Return the keys that a way of unchanged packages alone leads to, in either lock."""
    replaced = {key for key, one in new.packages.items() if _differs(old.packages.get(key), one)}
    gone = {key for key, one in old.packages.items() if _differs(new.packages.get(key), one)}
    return _frontier(old, gone)[1] | _frontier(new, replaced)[1]


def _differs(one: Package | None, other: Package) -> bool:
    return one is None or (one.name, one.version) != (other.name, other.version)


def _came(
    path: str, old: Lock, new: Lock, replaced: set[str], gone: set[str], own: Own, sources: AbstractSet[str]
) -> Iterator[str]:
    owners = _placed(old, new, replaced, gone)
    older = _older(old, gone)
    for key in replaced:
        package = new.packages[key]
        owner = owners[key]
        yield f"entry:{path}#{owner.name}@{owner.version}"
        before = _before(package, old.packages.get(key), older)
        wrong = {own(one, package) for one in before} if before else {own(None, package)}
        wrong -= {None}
        wrong |= {f"needs {need}, which the lock does not have" for need in package.lacks[:1]}
        if not wrong and package.source not in {owner.source, *(one.source for one in before)}:
            wrong = {"comes from another source"}
        if not wrong and not before and package.source not in sources:
            if old.packages:
                wrong = {"comes from a registry that the lock does not know"}
            else:
                # No version reads like this, so that no approval of one opens it.
                yield f"entry:{path}#{package.name}@{package.version} (from {shown(package.source)})"
        for what in wrong:
            yield f"change:{path}#{package.name}: {what}"


def _went(path: str, old: Lock, new: Lock, replaced: set[str], gone: set[str]) -> Iterator[str]:
    owners = _own_at_last(_owners(old, gone), old, gone)
    versions: dict[str, tuple[set[str], set[str]]] = {}
    for key, package in new.packages.items():
        fresh, kept = versions.setdefault(package.name, (set(), set()))
        (fresh if key in replaced else kept).add(package.version)
    for key in gone:
        name = owners[key].name
        fresh, kept = versions.get(name, (set(), set()))
        now = fresh or kept
        yield f"entry:{path}#{name}@{min(now) if fresh or len(now) == 1 else 'none'}"


def _older(old: Lock, gone: set[str]) -> _Older:
    same: dict[tuple[str, str], list[Package]] = {}
    left: dict[str, list[Package]] = {}
    every: dict[str, list[Package]] = {}
    for one in old.packages.values():
        same.setdefault((one.name, one.version), []).append(one)
        every.setdefault(one.name, []).append(one)
        if one.key in gone:
            left.setdefault(one.name, []).append(one)
    return _Older(same, left, every)


def _before(package: Package, there: Package | None, older: _Older) -> list[Package]:
    """Return what a new entry replaces: the same version elsewhere and its place, else what left, else the others."""
    nearest = [one for one in (there,) if one is not None and one.name == package.name]
    nearest += older.same.get((package.name, package.version), [])[:_MAX_CANDIDATES]
    found = nearest or older.gone.get(package.name) or older.all.get(package.name, [])
    return list(found[:_MAX_CANDIDATES])


def _placed(old: Lock, new: Lock, replaced: set[str], gone: set[str]) -> dict[str, _Owner]:
    """Return the owner of each new package; one that others could find as well belongs to itself.

    Whoever looks for a package finds the nearest folder that has one of that name. What lies in the folder of its owner,
    or of what belongs to that, hides nothing from anybody else. Elsewhere it may stand only for what was its owner's.
    """
    seen = _owners(new, replaced)
    owners = _own_at_last(seen, new, replaced)
    if not any(one.within is not None for one in new.packages.values()):
        return owners
    theirs = _theirs(old, gone)
    for key in replaced:
        package = new.packages[key]
        name, above = owners[key].name, seen.get(package.within or "")
        if name == package.name or package.within is None or (above is not None and above == owners[key]):
            continue
        if theirs.get(package.name.lower(), name) != name:
            owners[key] = _itself(package)
    return owners


def _theirs(old: Lock, gone: set[str]) -> dict[str, str | None]:
    """Return for each name (case does not tell folders apart everywhere) whose package it was, None: not one's alone."""
    seen = _owners(old, gone)
    found: dict[str, str | None] = {}
    for key, one in old.packages.items():
        owner = seen.get(key)
        theirs = None if owner is None else owner.name
        name = one.name.lower()
        found[name] = theirs if found.get(name, theirs) == theirs else None
    return found


def _owners(lock: Lock, changed: set[str]) -> dict[str, _Owner | None]:
    """Return the owner of each package that a changed one leads to, None where it is more than one."""
    first, plain = _frontier(lock, changed)
    seen: dict[str, _Owner | None] = {key: _itself(lock.packages[key]) for key in first}
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
    return seen


def _own_at_last(seen: Mapping[str, _Owner | None], lock: Lock, changed: set[str]) -> dict[str, _Owner]:
    """Return the owner of each changed package; what more than one or nothing leads to owns itself."""
    return {key: seen.get(key) or _itself(lock.packages[key]) for key in changed}


def _itself(one: Package) -> _Owner:
    return _Owner(one.name, one.version, one.source)


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
