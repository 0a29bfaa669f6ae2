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
    r"(https?://[A-Za-z0-9.-]+(?::[0-9]{1,5})?)((?:/[A-Za-z0-9._~!+,=@:%-]+)*)/([A-Za-z0-9._~!+%-]+)\Z"
)
# A folder that is named by what lies in it: by a digest, the first signs of which may be folders above it.
_DIGEST: Final = re.compile(r"[0-9a-f]+\Z")
_DIGITS: Final = frozenset({16, 32, 40, 48, 56, 64, 96, 128})
_SHARDS: Final = (0, 1, 2)
_LONGEST_SHARD: Final = 4
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
    folder: str
    hash: str | None


def hosts(files: Sequence[Any], name: str = "", version: str = "") -> str:
    """Return the hosts and folders that the files of a package are fetched from, in a form that can be compared.

    What of a folder goes with the package, its version or the content of a file is left open.
    """
    return " ".join(sorted({_host(one, name, version) for one in files}))


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


def _host(file: Any, name: str, version: str) -> str:
    try:
        found = _file(file)
    except Unreadable:
        # Equal to itself alone, so that nothing that cannot be read counts as the usual place.
        return repr(file)
    return found.host + _open(found.folder, name, version)


def _open(folder: str, name: str, version: str) -> str:
    """Return a folder with words, which no address can hold, for those parts that differ with what lies there."""
    parts = folder.split("/")
    for count in _SHARDS:
        digest = parts[-1 - count :]
        short = all(len(part) <= _LONGEST_SHARD for part in digest[:-1])
        if short and len("".join(digest)) in _DIGITS and all(map(_DIGEST.match, digest)):
            parts[-1 - count :] = ["{hash}"]
            break
    for place in range(len(parts) - 1, 0, -1):
        if parts[place] == version:
            parts[place] = "{version}"
        elif name and normal(parts[place]) == name:
            parts[place] = "{name}"
            if parts[place - 1] == name[0]:
                parts[place - 1] = "{first}"
        elif parts[place] not in {"{hash}", "{first}"}:
            break
    return "/".join(parts)


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
        folder, slash, last = place.rpartition("/") if places[0] == "path" else ("", "", place)
        return _File(last, places[0], f":{folder}" if slash else "", mark)
    found = _URL.match(place) if len(place) <= _LONGEST else None
    if not found or ".." in place or re.search("%(2e|2f|5c)", place, re.IGNORECASE):
        raise Unreadable(f"an address that cannot be read, `{shown(place)}`")
    return _File(unquote(found[3]), found[1].lower(), found[2], mark)


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
