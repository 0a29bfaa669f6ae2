"""The files of a locked Python package: each must name that package and that version, and have a hash."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

from indult.decompose.manifests.pep508 import normal, shown
from indult.decompose.manifests.reading import Unreadable

__all__ = ["hosts", "wrong"]

# No query, no fragment and no user: what stands there could send the request somewhere else.
_URL: Final = re.compile(
    r"(https?://[A-Za-z0-9.-]+(?::[0-9]{1,5})?)/(?:[A-Za-z0-9._~!+,=@:%-]+/)*([A-Za-z0-9._~!+%-]+)\Z"
)
_LONGEST: Final = 4000
_FILE: Final = re.compile(r"[A-Za-z0-9._!+-]{1,300}\Z")
_HASH: Final = re.compile(r"([a-z0-9]+):[0-9A-Za-z]+\Z")
_ENDS: Final = (".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".zip")
_STRONG: Final = frozenset({"sha256", "sha384", "sha512"})
_PLACES: Final = ("url", "path", "file", "filename")
_BESIDE: Final = frozenset({"hash", "size", "upload-time", "zstd"})


class _File(NamedTuple):
    name: str
    host: str
    hash: str | None


def hosts(files: Sequence[Any]) -> str:
    """Return where files are fetched from, in a form that can be compared."""
    return " ".join(sorted({_host(one) for one in files}))


def wrong(old: Sequence[Any] | None, new: Sequence[Any], name: str, version: str) -> str | None:
    """Say what is wrong with the files of a package beside those that they replace (`None` if the package is new)."""
    try:
        before = [_file(one) for one in old or []]
        after = [_file(one) for one in new]
    except Unreadable as exc:
        return str(exc)
    if not after and (before or old is None):
        return "no files"
    if len({one.name for one in after}) != len(set(after)):
        return "two files of one name"
    bare = bool(before) and any(one.hash is None for one in before)
    usual = _STRONG | {_algorithm(one.hash) for one in before if one.hash}
    for one in after:
        if not _fits(one.name, name, version):
            return f"a file of another package or version, `{shown(one.name)}`"
        if one.hash is None and not bare:
            return f"`{shown(one.name)}` has no hash"
        if one.hash is not None and _algorithm(one.hash) not in usual:
            return f"`{shown(one.name)}` has a weak hash"
    return None


def _host(file: Any) -> str:
    try:
        return _file(file).host
    except Unreadable:
        # Equal to itself alone, so that nothing that cannot be read counts as the usual place.
        return repr(file)


def _file(value: Any) -> _File:
    """Read one file of a lock, which has one place and perhaps a hash."""
    if not isinstance(value, dict) or set(value) - _BESIDE - set(_PLACES):
        raise Unreadable("a file with unknown keys")
    places = [key for key in _PLACES if key in value]
    mark = value.get("hash")
    if len(places) != 1 or not isinstance(value[places[0]], str):
        raise Unreadable("a file without one place")
    if mark is not None and not (isinstance(mark, str) and _HASH.match(mark)):
        raise Unreadable("a hash that cannot be read")
    place = value[places[0]]
    if places[0] != "url":
        return _File(place.rpartition("/")[2] if places[0] == "path" else place, places[0], mark)
    found = _URL.match(place) if len(place) <= _LONGEST else None
    if not found or ".." in place or re.search("%(2e|2f|5c)", place, re.IGNORECASE):
        raise Unreadable(f"an address that cannot be read, `{shown(place)}`")
    return _File(unquote(found[2]), found[1].lower(), mark)


def _algorithm(mark: str) -> str:
    return mark.partition(":")[0]


def _fits(file: str, name: str, version: str) -> bool:
    """Tell whether a file's name is that of this version of this package."""
    if not _FILE.match(file):
        return False
    if file.endswith((".whl", ".egg")):
        parts = file.rpartition(".")[0].split("-")
        return len(parts) >= 2 and normal(parts[0]) == name and _equal(parts[1], version)
    stem = next((file.removesuffix(end) for end in _ENDS if file.endswith(end)), "")
    places = [place for place, char in enumerate(stem) if char == "-" and normal(stem[:place]) == name]
    return any(_equal(stem[place + 1 :], version) for place in places)


def _equal(written: str, version: str) -> bool:
    """Tell whether two texts are the same version; file names have their own spelling of some."""
    # Imported late: only a changed lock needs it.
    from packaging.version import InvalidVersion, Version

    if written == version:
        return True
    try:
        return Version(written) == Version(version)
    except InvalidVersion:
        return False
