"""`pdm.lock`: packages with their needs as requirements; one that is asked for with extras stands there once for each."""

from __future__ import annotations

import re
from typing import Any, Final

from indult.decompose.manifests.graph import Lock
from indult.decompose.manifests.locked import Found, Read, identity, linked, names, source, unneeded
from indult.decompose.manifests.pep508 import freeze
from indult.decompose.manifests.reading import Unreadable
from indult.decompose.manifests.tables import table, tables

__all__ = ["FREE", "FRESH", "read"]

FREE: Final = frozenset({"version", "summary", "requires_python", "files", "dependencies"})
"""The keys of a package that go with its version."""

FRESH: Final = frozenset({"name", "groups", "marker", "extras"})
"""The further keys that a package which was not there before may have."""

_NAME: Final = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)")
# Each of these says that a package comes from somewhere else than the index.
_PLACES: Final = ("git", "hg", "svn", "bzr", "ref", "revision", "url", "path", "editable", "subdirectory")


def read(data: dict[str, Any]) -> Read:
    """Take the packages out of the data of a lock.

    Raises:
        Unreadable: It is a lock of another version, or something in it has another form.
    """
    metadata = table(data, "metadata")
    form = metadata.get("lock_version", "4")
    if not isinstance(form, str) or not re.match(r"[34](\.|\Z)", form):
        raise Unreadable("a lock of another version")
    if isinstance(metadata.get("content_hash"), str):
        # A digest of the manifest, which is compared itself.
        metadata["content_hash"] = ""
    apart = table(metadata, "files")
    records = tables(data, "package")
    data.pop("package", None)
    packages = linked(_merged(records, apart))
    return Read(lock=Lock(packages=packages, roots=unneeded(packages), told=False))


def _merged(records: list[dict[str, Any]], apart: dict[str, Any]) -> list[Found]:
    """Return one package for all entries of one name, version and place, whatever extras each is for."""
    groups: dict[tuple[str, str, str], dict[str, dict[str, Any]]] = {}
    used: set[str] = set()
    for record in records:
        name, version = identity(record)
        place = repr(freeze({key: record[key] for key in _PLACES if key in record}))
        extras = record.get("extras", [])
        if not isinstance(extras, list) or not all(isinstance(one, str) for one in extras):
            raise Unreadable("extras that are no list of names")
        held = groups.setdefault((name, version, place), {})
        if repr(sorted(extras)) in held:
            raise Unreadable("one package twice")
        spelled = f"{record['name']} {version}"
        more = {"files": apart[spelled]} if "files" not in record and spelled in apart else {}
        used |= {spelled} if more else set()
        held[repr(sorted(extras))] = {**record, **more, "name": name}
    for spelled in used:
        del apart[spelled]
    return [_found(*key, held) for key, held in groups.items()]


def _found(name: str, version: str, place: str, held: dict[str, dict[str, Any]]) -> Found:
    needs = [need for one in held.values() for need in one.get("dependencies", [])]
    found = [match[1] for match in (_NAME.match(need) for need in needs if isinstance(need, str)) if match]
    kind = "registry" if place == repr(freeze({})) else "other"
    return Found(name=name, version=version, source=source(kind, place, held), record=held, wants=names(found))
