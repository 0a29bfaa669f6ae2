"""`uv.lock`, `poetry.lock` and `pdm.lock`: packages with their files, and a header that steers all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from indult.decompose.manifests import pdm, poetry, uv
from indult.decompose.manifests.artefacts import wrong
from indult.decompose.manifests.graph import Own, Package, attribute
from indult.decompose.manifests.locked import Read, files
from indult.decompose.manifests.pep508 import freeze
from indult.decompose.manifests.reading import read_toml, same
from indult.decompose.manifests.tables import MISSING, fields

__all__ = ["targets"]


class _Form(NamedTuple):
    """One kind of lock: how to take the packages out of its data, and the keys of one that go with its version.

    `fresh` are the further keys that a package which was not there before may have.
    """

    read: Callable[[dict[str, Any]], Read]
    free: frozenset[str]
    fresh: frozenset[str]
    beside: Callable[[str, Read, Read], Iterator[str]]


_FORMS: Final[Mapping[str, _Form]] = {
    "uv.lock": _Form(uv.read, uv.FREE, uv.FRESH, uv.beside),
    "poetry.lock": _Form(poetry.read, poetry.FREE, poetry.FRESH, lambda path, old, new: iter(())),
    "pdm.lock": _Form(pdm.read, pdm.FREE, pdm.FRESH, lambda path, old, new: iter(())),
}


# Where a lock names no index and files by their names alone, the settings tell where they are.
_USUAL: Final = frozenset({f"registry {freeze({})!r} file"})


def targets(path: str, old: bytes | None, new: bytes) -> Iterator[str]:
    """Yield what changed in a lock of uv, Poetry or PDM."""
    form = _FORMS[path.rpartition("/")[2]]
    before: dict[str, Any] = {} if old is None else read_toml(old)
    after = read_toml(new)
    was, now = form.read(before), form.read(after)
    yield from attribute(path, was.lock, now.lock, _own(form, was), known=_USUAL)
    yield from form.beside(path, was, now)
    # What is left is the header.
    yield from fields(path, before, after)


def _own(form: _Form, was: Read) -> Own:
    """Return the check of one package's entry beside the one that it replaces."""
    known = {one.source for one in was.lock.packages.values()}

    def own(old: Package | None, new: Package) -> str | None:
        if old is None:
            return _new(form, known, new) or wrong(None, files(new.record), new.name, new.version)
        if old.source != new.source:
            return "comes from another source"
        return _kept(form, old, new) or wrong(files(old.record), files(new.record), new.name, new.version)

    return own


def _new(form: _Form, known: set[str], new: Package) -> str | None:
    """Say what is wrong with a package that was not there in any version."""
    if not new.source.startswith("registry"):
        return "comes from no registry"
    if known and new.source not in known:
        return "comes from another source"
    more = {key for one in new.record.values() for key in one} - form.free - form.fresh
    return f"has `{min(more)}`" if more else None


def _kept(form: _Form, old: Package, new: Package) -> str | None:
    """Say what of a package changed beside its version and what goes with that."""
    if old.record.keys() != new.record.keys():
        return "extras changed"
    for extras, one in new.record.items():
        before = old.record[extras]
        for key in sorted({*before, *one} - form.free):
            if not same(before.get(key, MISSING), one.get(key, MISSING)):
                return f"`{key}` changed"
    return None
