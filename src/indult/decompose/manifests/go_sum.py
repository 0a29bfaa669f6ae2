"""go.sum: lines of hashes, each of which belongs to the module that it names.

The lines that came and went with a version of a module are one entry of it. A hash that changed at its version, or
that is gone without another version in its place, is a change.

Source: The Go Modules Reference, "go.sum files".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from indult.decompose.manifests.go import VERSION, module_path
from indult.decompose.manifests.reading import Unreadable, decode

__all__ = ["targets"]

_HASH: Final = re.compile(r"h1:[A-Za-z0-9+/]{1,100}={0,2}\Z")
_MOD: Final = "/go.mod"

# By module: the hash of each version, and under `VERSION/go.mod` that of its go.mod.
_Hashes = Mapping[str, Mapping[str, str]]


def targets(path: str, old: bytes | None, new: bytes) -> Iterator[str]:
    """Yield what changed between two versions of a go.sum."""
    before: _Hashes = {} if old is None else _read(old)
    after = _read(new)
    for module in dict.fromkeys([*before, *after]):
        then, now = before.get(module, {}), after.get(module, {})
        if then != now:
            yield from _module(path, module, then, now)


def _module(path: str, module: str, then: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    for version in then.keys() & now.keys():
        if then[version] != now[version]:
            yield f"change:{path}#{module}: hash of {version} changed"
    came = {_plain(version) for version in now.keys() - then.keys()}
    # A version that keeps its hash while the one of its go.mod came or went was there before and still is.
    for version in came or ({_left(now)} if then.keys() - now.keys() else set()):
        yield f"entry:{path}#{module}@{version}"
    for what in _lost(then, now):
        yield f"change:{path}#{module}: {what}"


def _lost(then: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    """Say which checks are gone though what they checked is still there."""
    for version in now:
        if not version.endswith(_MOD) and version + _MOD in then and version + _MOD not in now:
            yield f"no hash of the go.mod of {version} any more"
    built = [version for version in now if not version.endswith(_MOD)]
    if now and not built and any(not version.endswith(_MOD) and version not in now for version in then):
        yield "no hash of the module any more"


def _left(now: Mapping[str, str]) -> str:
    """Return the version that is left where lines only went: the only one of which more than the go.mod is known."""
    built = [version for version in now if not version.endswith(_MOD)]
    return built[0] if len(built) == 1 else "none"


def _plain(version: str) -> str:
    return version.removesuffix(_MOD)


def _read(raw: bytes) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for number, line in enumerate(decode(raw).split("\n"), 1):
        if not line.strip(" \t\r"):
            continue
        words = line.removesuffix("\r").split(" ")
        if len(words) != 3 or not VERSION.match(_plain(words[1])):
            raise Unreadable(f"not MODULE VERSION HASH at line {number}")
        module, version, check = module_path(words[0]), *words[1:]
        if not _HASH.match(check):
            raise Unreadable(f"a hash of another kind at line {number}")
        if found.setdefault(module, {}).setdefault(version, check) != check:
            # The Go command stops at the first that does not fit, so the order would count.
            raise Unreadable(f"two hashes of {module} {version}")
    return found
