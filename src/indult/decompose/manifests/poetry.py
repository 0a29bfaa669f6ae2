"""`poetry.lock`: packages with their needs in tables; older ones keep all files in the header."""

from __future__ import annotations

from typing import Any, Final

from indult.decompose.manifests.graph import Lock
from indult.decompose.manifests.locked import Found, Read, identity, linked, names, source, unneeded
from indult.decompose.manifests.pep508 import freeze, normal
from indult.decompose.manifests.reading import Unreadable
from indult.decompose.manifests.tables import table, tables

__all__ = ["FREE", "FRESH", "read"]

FREE: Final = frozenset({"version", "description", "python-versions", "files", "dependencies", "extras"})
"""The keys of a package that go with its version."""

FRESH: Final = frozenset({"name", "optional", "groups", "markers", "category", "source"})
"""The further keys that a package which was not there before may have."""


def read(data: dict[str, Any]) -> Read:
    """Take the packages out of the data of a lock.

    Raises:
        Unreadable: It is a lock of another version, or something in it has another form.
    """
    metadata = table(data, "metadata")
    form = metadata.get("lock-version", "2.0")
    if not isinstance(form, str) or not form.startswith(("1.", "2.")):
        raise Unreadable("a lock of another version")
    if isinstance(metadata.get("content-hash"), str):
        # A digest of the manifest, which is compared itself.
        metadata["content-hash"] = ""
    apart = table(metadata, "files")
    records = tables(data, "package")
    data.pop("package", None)
    found = [_found(record, apart) for record in records]
    for spelled in {_spelled(record, apart) for record in records}:
        if spelled is not None:
            del apart[spelled]
    packages = linked(found)
    return Read(lock=Lock(packages=packages, roots=unneeded(packages), told=False))


def _found(record: dict[str, Any], apart: dict[str, Any]) -> Found:
    name, version = identity(record)
    spelled = _spelled(record, apart)
    # How a name is spelled is layout.
    held = {"": {**record, "name": name} | ({} if spelled is None else {"files": apart[spelled]})}
    place = table(record, "source")
    kind = "registry" if place.get("type", "legacy") == "legacy" else "other"
    wants = names(table(record, "dependencies"))
    shape = repr(freeze(place))
    return Found(name=name, version=version, source=source(kind, shape, held), record=held, wants=wants)


def _spelled(record: dict[str, Any], apart: dict[str, Any]) -> str | None:
    """Return the name that a package's files stand under in the header, `None` if they stand in the package."""
    if "files" in record:
        return None
    return next((name for name in (record["name"], normal(record["name"])) if name in apart), None)
