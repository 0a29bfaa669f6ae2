"""The manifest of the npm family, `package.json`, and the parts of it that locks repeat.

An entry belongs to the package that its key names. Only the text of a version may change in one. A range is an entry
too, at a text that no exception can name; whatever else a value could say (an alias, a tag, a place) is a change.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from indult.characters import misleading
from indult.decompose.manifests import ranges
from indult.decompose.manifests.names import change, entry, field, is_name, is_plain, mapping
from indult.decompose.manifests.reading import read_json, same
from indult.scopes import dependency_path

__all__ = ["SECTIONS", "entries", "fields", "overrides", "patched", "sections", "targets", "wanted"]

SECTIONS: Final = ("dependencies", "devDependencies", "optionalDependencies", "peerDependencies")
"""Keys of a manifest whose objects map a package's name to what is wanted of it."""

# What package managers run without being asked for it by name, when they install, pack or publish.
_LIFECYCLE: Final = re.compile(
    r"(?:(?:pre|post)?(?:install|uninstall|prepare|pack|shrinkwrap|publish|version)"
    r"|prepublish.*|dependencies|pnpm:devPreinstall)\Z",
    re.DOTALL,
)
# Readers take the first key that fits, so that the order counts.
_ORDERED: Final = frozenset({"exports", "imports", "typesVersions", "publishConfig"})
_SELECTOR: Final = re.compile(r"(@?[^@>]+)(?:@([0-9A-Za-z.^~*<=|+ -]*))?\Z")


def targets(path: str, old: bytes | None, new: bytes) -> Iterator[str]:
    """Yield what differs between two contents of a `package.json`."""
    before = {} if old is None else mapping(read_json(old), "the manifest")
    after = mapping(read_json(new), "the manifest")
    yield from _scripts(path, before.get("scripts", {}), after.get("scripts", {}))
    yield from sections(path, before, after)
    yield from _rules(path, before, after)
    yield from _pnpm(path, before.get("pnpm", {}), after.get("pnpm", {}))
    known = {"scripts", "pnpm", "overrides", "resolutions", "patchedDependencies", *SECTIONS}
    yield from fields(path, before, after, known)
    for key in _ORDERED & before.keys() & after.keys():
        if json.dumps(before[key]) != json.dumps(after[key]):
            yield field(path, key)


def sections(path: str, old: Mapping[str, Any], new: Mapping[str, Any], *at: str) -> Iterator[str]:
    """Yield the changed entries of the sections that map names to versions."""
    for section in SECTIONS:
        before, after = old.get(section, {}), new.get(section, {})
        if isinstance(before, dict) and isinstance(after, dict):
            yield from entries(path, before, after)
        elif not same(before, after):
            yield field(path, *at, section)


def entries(path: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    """Yield each changed entry of one section as one of the package that its key names."""
    for name in old.keys() | new.keys():
        if name not in new:
            yield entry(path, name, "none")
        elif name not in old or not same(old[name], new[name]):
            yield _entry(path, name, old.get(name), new[name], fresh=name not in old)


def _entry(path: str, name: str, old: Any, new: Any, *, fresh: bool) -> str:
    version = wanted(old, new, fresh=fresh)
    if version is None:
        readable = is_plain(new) or ranges.is_npm(new)
        return change(path, name, f"{'was' if readable else 'is'} no plain version and no range")
    return entry(path, name, version)


def wanted(old: Any, new: Any, *, fresh: bool) -> str | None:
    """Return the version or range that is wanted now, `None` where one side is neither of them.

    Only a version that is new, or that takes the place of another one, is the text of a version.
    """
    if not (is_plain(new) or ranges.is_npm(new)) or not (fresh or is_plain(old) or ranges.is_npm(old)):
        return None
    if not is_plain(new):
        return ranges.unnamed(str(new))
    return str(new) if fresh or is_plain(old) else ranges.was(str(new), str(old))


def overrides(path: str, old: Any, new: Any, *at: str) -> Iterator[str]:
    """Yield the changed entries of a section that replaces versions wherever they are needed.

    A key that names more than one package, or a place in the tree, belongs to nobody.
    """
    if not isinstance(old, dict) or not isinstance(new, dict):
        if not same(old, new):
            yield field(path, *at)
        return
    for key in old.keys() | new.keys():
        if key in old and key in new and same(old[key], new[key]):
            continue
        found = _SELECTOR.match(key)
        if found is None or not is_name(found[1]) or isinstance(new.get(key), dict):
            yield field(path, *at, key)
        elif key not in new:
            yield entry(path, found[1], "none")
        else:
            yield _entry(path, found[1], old.get(key), new[key], fresh=key not in old)


def patched(path: str, old: Any, new: Any, *at: str) -> Iterator[str]:
    """Yield the changed entries of a section that maps NAME@VERSION to a patch, and the patches that they bring in."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        if not same(old, new):
            yield field(path, *at)
        return
    now = {key.rpartition("@")[0]: key.rpartition("@")[2] for key in sorted(new.keys() - old.keys())}
    for key in old.keys() | new.keys():
        name, _, version = key.rpartition("@")
        if key in old and key in new and same(old[key], new[key]):
            continue
        if not is_name(name) or not is_plain(version):
            yield field(path, *at, key)
        elif key not in new:
            yield entry(path, name, now.get(name, "none"))
        elif key in old:
            yield change(path, name, "its patch stands elsewhere")
        else:
            yield from _patch(path, name, version, new[key])


def _patch(path: str, name: str, version: str, value: Any) -> Iterator[str]:
    """Yield the entry and the file of a new patch, which must be a dependency file of the repository."""
    folder = path.rpartition("/")[0]
    file = value.removeprefix("./") if isinstance(value, str) else ""
    full = f"{folder}/{file}" if folder and file else file
    if dependency_path(file) and dependency_path(full):
        yield entry(path, name, version)
        yield f"write:{full}"
    else:
        yield change(path, name, "its patch is no dependency file")


def fields(path: str, old: Mapping[str, Any], new: Mapping[str, Any], known: set[str], *at: str) -> Iterator[str]:
    """Yield each changed key that is not among those `known` to be looked at elsewhere."""
    for key in (old.keys() | new.keys()) - known:
        if key not in old or key not in new or not same(old[key], new[key]):
            yield field(path, *at, key)


def _rules(path: str, old: Mapping[str, Any], new: Mapping[str, Any], *at: str) -> Iterator[str]:
    """Yield what changed in the rules for the whole tree, which stand at the top or below the key of one tool."""
    for key in ("overrides", "resolutions"):
        yield from overrides(path, old.get(key, {}), new.get(key, {}), *at, key)
    key = "patchedDependencies"
    yield from patched(path, old.get(key, {}), new.get(key, {}), *at, key)


def _pnpm(path: str, old: Any, new: Any) -> Iterator[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        yield from _rules(path, old, new, "pnpm")
        yield from fields(path, old, new, {"overrides", "resolutions", "patchedDependencies"}, "pnpm")
    elif not same(old, new):
        yield field(path, "pnpm")


def _scripts(path: str, old: Any, new: Any) -> Iterator[str]:
    if same(old, new):
        return
    if not _texts(old) or not _texts(new):
        yield change(path, "scripts", "not an object of texts")
        return
    for name in old.keys() | new.keys():
        if old.get(name) == new.get(name):
            continue
        if any(map(misleading, name)):
            yield change(path, name, "a script that cannot be shown")
        else:
            yield f"{'lifecycle' if _LIFECYCLE.match(name) else 'script'}:{path}#{name}"


def _texts(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(one, str) for one in value.values())
