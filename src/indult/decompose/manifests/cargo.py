"""Cargo.toml: dependencies are entries by their key, everything else is a field.

Cargo reads the bare `1.2.1` as the range from there on. It is the plain form all the same: what is written is what the
lock then holds at least, and `=1.2.1` stays `=`. Anything else that Cargo takes is a range, which no exception names.

Source: The Cargo Book, "The Manifest Format" and "Specifying Dependencies".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from indult.decompose.manifests import ranges
from indult.decompose.manifests.names import change, field, shown
from indult.decompose.manifests.reading import read_toml, same

__all__ = ["NAME", "fields", "targets"]

NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,200}\Z")
"""A package name that a registry takes."""

# The names with `_` are older and still read.
_SECTIONS: Final = (
    "dependencies",
    "dev-dependencies",
    "dev_dependencies",
    "build-dependencies",
    "build_dependencies",
)

_NUMBER: Final = r"(?:0|[1-9][0-9]{0,19})"
_LABEL: Final = r"[0-9A-Za-z.-]{1,100}"
_PLAIN: Final = re.compile(rf"=?{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-{_LABEL})?(?:\+{_LABEL})?\Z")
_SHORT: Final = re.compile(rf"{_NUMBER}(?:\.{_NUMBER})?\Z")

# What a requirement of a package in a registry may say besides.
_REQUIRED: Final = frozenset(
    {"version", "features", "default-features", "default_features", "optional", "registry", "public"}
)

# How deep a field is named: down to the package in `patch.REGISTRY.PACKAGE`.
_DEPTH: Final = {"patch": 3, "target": 3}
_USUAL_DEPTH: Final = 2
_ABSENT: Final = object()


def targets(path: str, old: bytes | None, new: bytes) -> Iterator[str]:
    """Yield what changed between two versions of a Cargo.toml."""
    before = {} if old is None else read_toml(old)
    after = read_toml(new)
    older, newer = _split(before), _split(after)
    for keys in dict.fromkeys([*older, *newer]):
        then, now = older.get(keys, {}), newer.get(keys, {})
        for key in dict.fromkeys([*then, *now]):
            one, other = _table(then.get(key)), _table(now.get(key))
            if not same(one, other):
                yield _entry(path, (*keys, key), one, other)
    yield from fields(path, before, after)


def fields(path: str, before: Mapping[str, Any], after: Mapping[str, Any], keys: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield the fields in which two tables differ, by the pointer of each."""
    for key in dict.fromkeys([*before, *after]):
        then, now = before.get(key, _ABSENT), after.get(key, _ABSENT)
        if same(then, now):
            continue
        here = (*keys, key)
        there = [value for value in (then, now) if value is not _ABSENT]
        # An empty table says something by being there, so it is no absent one.
        if len(here) < _DEPTH.get(here[0], _USUAL_DEPTH) and all(value and isinstance(value, dict) for value in there):
            yield from fields(path, before.get(key, {}), after.get(key, {}), here)
        else:
            yield field(path, *here)


def _split(manifest: dict[str, Any]) -> dict[tuple[str, ...], dict[str, Any]]:
    """Take the tables of dependencies out of a manifest and return them by where they stood."""
    found: dict[tuple[str, ...], dict[str, Any]] = {}
    workspace, platforms = manifest.get("workspace"), manifest.get("target")
    _take(found, manifest, (), _SECTIONS)
    if isinstance(workspace, dict):
        _take(found, workspace, ("workspace",), ("dependencies",))
    if isinstance(platforms, dict):
        for name, platform in list(platforms.items()):
            # A platform that only says what it needs is told by its entries.
            if isinstance(platform, dict) and _take(found, platform, ("target", name), _SECTIONS) and not platform:
                del platforms[name]
        if not platforms:
            del manifest["target"]
    return found


def _take(
    found: dict[tuple[str, ...], dict[str, Any]],
    table: dict[str, Any],
    keys: tuple[str, ...],
    sections: tuple[str, ...],
) -> bool:
    names = [name for name in sections if isinstance(table.get(name), dict)]
    for name in names:
        found[*keys, name] = table.pop(name)
    return bool(names)


def _table(value: Any) -> Any:
    """Return an entry in its long form; a text alone is its version."""
    return {"version": value} if isinstance(value, str) else value


def _entry(path: str, keys: tuple[str, ...], then: Any, now: Any) -> str:
    """Return the target of one changed entry."""
    name = keys[-1]
    if not NAME.match(name):
        return change(path, name, "no package name")
    if now is None:
        return f"entry:{path}#{name}@none"
    wrong = _wrong(then, now)
    if wrong:
        return change(path, name, wrong)
    if now.get("package", name) != name:
        # Its key is a name of this project's own, and the record of a dependency names the package.
        return field(path, *keys)
    return f"entry:{path}#{name}@{_said(then and then['version'], now['version'])}"


def _wrong(then: Any, now: Any) -> str:
    """Say what else than the text of its version is new or changed in an entry, or nothing."""
    if not isinstance(now, dict) or not isinstance(then, dict | None):
        return "neither a version nor a table"
    others = [key for key in dict.fromkeys([*(then or {}), *now]) if key != "version"]
    if then is None:
        return f"new with {_listed(others)}" if others else _version([now])
    words = [
        f"{_listed([key])} {'added' if key not in then else 'removed' if key not in now else 'changed'}"
        for key in others
        if not same(then.get(key), now.get(key))
    ]
    return ", ".join(words) or _version([then, now])


def _version(sides: list[dict[str, Any]]) -> str:
    """Say whether a side has no version, or asks for a range of what no registry has."""
    texts = [side.get("version") for side in sides]
    if not all(isinstance(text, str) and (_PLAIN.match(text) or ranges.is_cargo(text)) for text in texts):
        return "no version and no range"
    elsewhere = sorted({key for side in sides for key in side} - _REQUIRED)
    if len({_kind(str(text)) for text in texts}) == 1 and _PLAIN.match(str(texts[-1])):
        return ""
    return f"a range beside {_listed(elsewhere)}" if elsewhere else ""


def _said(then: str | None, now: str) -> str:
    """Return the version that an entry has now; with a range on either side, a text that no version has."""
    if not _PLAIN.match(now):
        return ranges.unnamed(now)
    return now.removeprefix("=") if then is None or _kind(then) == _kind(now) else ranges.was(now, then)


def _kind(version: str) -> str:
    if _PLAIN.match(version):
        return "exact" if version.startswith("=") else "bare"
    return "bare" if _SHORT.match(version) else "range"


def _listed(keys: list[str]) -> str:
    return ", ".join(map(shown, keys))
