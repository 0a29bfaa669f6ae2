"""The lock of yarn, `yarn.lock`, of version 1 and of the later ones.

A block is headed by everything that it answers: `NAME@RANGE`, and more of them. Each of these is a package here, so
that one block that serves two names is an entry of both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import unquote

from indult.decompose.manifests import ranges
from indult.decompose.manifests.graph import Lock, Package, attribute
from indult.decompose.manifests.names import change, commands, entry, is_name, is_plain, mapping, shown, tarball, weaker
from indult.decompose.manifests.npm import SECTIONS, entries, fields
from indult.decompose.manifests.reading import Unreadable, decode, read_yaml, same
from indult.decompose.manifests.yarn_classic import read_classic

__all__ = ["targets"]

_LATER: Final = re.compile(r"^(?:__metadata|'__metadata'|\"__metadata\")\s*:", re.MULTILINE)
_CLASSIC: Final = re.compile(r"^# yarn lockfile v1\s*$", re.MULTILINE)
_SHA1: Final = re.compile(r"(.*)#[0-9a-z]{1,64}\Z", re.DOTALL)
_CHECKSUM: Final = re.compile(r"(?:[0-9a-z]{1,8}/)?[0-9a-f]{32,128}\Z")
# A patch that yarn brings with it.
_BUILTIN: Final = re.compile(
    r"patch:(?P<name>@?[^@]+)@(?:npm%3A)?(?P<range>[^#]*)#(?:optional!|~)builtin<compat/(?P<patch>[^>]+)>(?P<rest>.*)\Z"
)
# What asks a registry: no place, no alias, no other protocol.
_ASKS: Final = re.compile(r"[^:/@#%]*\Z")
_BY: Final = ("#optional!builtin", "#~builtin")
_ARCHIVE: Final = "::__archiveUrl="
_MAX_HEAD: Final = 20_000
# Values of all blocks, each as often as it has heads; a large lock has some hundred thousands.
_MAX_VALUES: Final = 2_000_000

# What describes a version of a package, and changes with it.
_DESCRIBES: Final = frozenset(
    {"version", "resolved", "integrity", "dependencies", "optionalDependencies", "resolution", "checksum", "bin"}
    | {"peerDependencies", "peerDependenciesMeta", "dependenciesMeta", "conditions"}
)
_NEEDS: Final = ("dependencies", "optionalDependencies")

_Blocks = dict[str, dict[str, Any]]
"""What each `NAME@RANGE` is answered with; one block may stand there more than once."""


def targets(path: str, old: bytes | None, new: bytes) -> Iterator[str]:
    """Yield what differs between two contents of a `yarn.lock`."""
    later = _is_later(new)
    if old is not None and _is_later(old) != later:
        yield change(path, "yarn.lock", "written by another generation of yarn")
        return
    read = _read_later if later else read_classic
    before, after = {} if old is None else read(old), read(new)
    _check_size(before)
    _check_size(after)
    # What no package is: the rules of the file, and copies of the project's own manifests.
    meta = before.pop("__metadata", {}), after.pop("__metadata", {})
    yield from fields(path, *meta, set(), "__metadata")
    yield from _manifests(path, before, after)
    if not later:
        yield from _ranges(path, before, after)
    own = _own_later if later else _own_classic
    stays = before.keys() & after.keys()
    yield from attribute(path, _lock(before, stays, later=later), _lock(after, stays, later=later), own)


def _check_size(blocks: _Blocks) -> None:
    """Refuse blocks that answer so much, and say so much, that looking at each answer would take too long."""
    sizes: dict[int, int] = {}
    left = _MAX_VALUES
    for block in blocks.values():
        left -= sizes.get(id(block)) or sizes.setdefault(id(block), _size(block))
        if left < 0:
            raise Unreadable("blocks larger than any project has")


def _size(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(_size, inner))


def _is_later(raw: bytes) -> bool:
    text = decode(raw)
    later = _LATER.search(text) is not None
    if later and _CLASSIC.search(text):
        raise Unreadable("written for two generations of yarn")
    return later


def _read_later(raw: bytes) -> _Blocks:
    """Read the format of later versions, YAML in which every scalar is a text."""
    blocks: _Blocks = {}
    for heads, block in mapping(read_yaml(raw, words=True), "the lock").items():
        if len(heads) > _MAX_HEAD:
            raise Unreadable("too long a head of a block")
        # Yarn needs no blank beside the comma.
        for head in _heads(heads):
            if head in blocks:
                raise Unreadable("one need with two answers")
            blocks[head] = mapping(block, "a block")
    return blocks


def _heads(heads: str) -> Iterator[str]:
    """Yield what a block answers: the parts between commas, of which blanks beside a comma are none."""
    parts = heads.split(",")
    for at, part in enumerate(parts):
        left = part if at == 0 else part.lstrip(" ")
        yield left if at == len(parts) - 1 else left.rstrip(" ")


def _name(head: str) -> str:
    """Return the name before the range; a head without one is no need of a package."""
    at = head.find("@", 1)
    if at < 0 or not is_name(head[:at]):
        raise Unreadable("a head of a block that names no package")
    return head[:at]


def _range(head: str) -> str:
    return head[len(_name(head)) + 1 :]


def _is_project(block: Mapping[str, Any]) -> bool:
    return "@workspace:" in str(block.get("resolution", ""))


def _manifests(path: str, old: _Blocks, new: _Blocks) -> Iterator[str]:
    """Yield what changed in the copies of the project's own manifests."""
    for head in sorted(old.keys() | new.keys()):
        before, after = old.get(head, {}), new.get(head, {})
        if not (_is_project(before) or _is_project(after)):
            continue
        yield from fields(path, before, after, set(SECTIONS), head)
        for section in SECTIONS:
            one, other = (mapping(side.get(section, {}), f"`{section}`") for side in (before, after))
            yield from entries(path, _stripped(one), _stripped(other))


def _ranges(path: str, old: _Blocks, new: _Blocks) -> Iterator[str]:
    """Yield the new ranges that no package needs: in version 1 they are all that is left of the manifest's own."""
    needed = {need for block in new.values() for need in _find(new, block, _NEEDS)}
    for head in new.keys() - old.keys() - needed:
        asked = _range(head)
        if not is_plain(asked) and ranges.is_npm(asked):
            yield entry(path, _name(head), ranges.unnamed(asked))


def _stripped(section: Mapping[str, Any]) -> dict[str, Any]:
    """Return wanted versions without the word for the registry, which newer versions write before each."""
    return {name: value.removeprefix("npm:") if isinstance(value, str) else value for name, value in section.items()}


def _lock(blocks: _Blocks, stays: set[str], *, later: bool) -> Lock:
    """Return the graph; version 1 does not say what the project itself needs.

    There, whatever stays could be wanted by a manifest, and so could what no other package needs.
    """
    names = set(map(_name, blocks))
    packages = {head: _package(head, block, blocks, names) for head, block in blocks.items() if not _is_project(block)}
    if later:
        projects = [block for block in blocks.values() if _is_project(block)]
        return Lock(packages=packages, roots=tuple(found for one in projects for found in _find(blocks, one, SECTIONS)))
    needed = {need for one in packages.values() for need in one.needs}
    return Lock(packages=packages, roots=tuple(head for head in packages if head in stays or head not in needed))


def _package(head: str, block: dict[str, Any], blocks: _Blocks, names: set[str]) -> Package:
    version = block.get("version")
    version = version if isinstance(version, str) else ""
    name = _name(head)
    return Package(
        key=head,
        name=name,
        version=version,
        source=(_source_later if "resolution" in block else _source_classic)(name, version, block),
        record=block,
        needs=tuple(_find(blocks, block, _NEEDS)),
        # A rule of the manifest may answer a need with another range.
        lacks=tuple(shown(need) for need in block.get("dependencies", {}) if need not in names),
    )


def _find(blocks: _Blocks, block: Mapping[str, Any], keys: tuple[str, ...]) -> Iterator[str]:
    """Yield what answers the needs of a block; a patch that yarn brings with it answers beside the package."""
    for key in keys:
        for name, wanted in mapping(block.get(key, {}), f"`{key}`").items():
            plain = str(wanted).removeprefix("npm:")
            heads = [f"{name}@{wanted}", f"{name}@npm:{wanted}"]
            heads += [f"{name}@patch:{name}@{it}{plain}{by}<compat/{name}>" for it in ("npm%3A", "") for by in _BY]
            yield from (head for head in heads if head in blocks)


def _source_classic(name: str, version: str, block: Mapping[str, Any]) -> str:
    resolved = str(block.get("resolved", ""))
    found = _SHA1.match(resolved)
    return tarball(found[1] if found else resolved, name, version) or resolved


def _own_classic(old: Package | None, new: Package) -> str | None:
    """Say what is wrong with a block of version 1 beside the one that it replaces."""
    if (wrong := _version(new)) is not None:
        return wrong
    if "resolved" in new.record and new.source == new.record["resolved"]:
        return "resolved to something else than this version of it"
    if old is not None and old.source != new.source:
        return "resolved from another place"
    return _same(old, new) or _hashed(old, new) or _rest(old, new)


def _hashed(old: Package | None, new: Package) -> str | None:
    """Say whether a block lost its hash; old ones have none but the one at the end of the address."""
    was = None if old is None else old.record
    if was is not None and not {"integrity"} & (was.keys() | new.record.keys()):
        return "has no integrity" if _ends_hashed(was) and not _ends_hashed(new.record) else None
    return weaker(was, new.record)


def _ends_hashed(block: Mapping[str, Any]) -> bool:
    return _SHA1.match(str(block.get("resolved", ""))) is not None


def _version(new: Package) -> str | None:
    asked = _range(new.key)
    if "resolution" in new.record:
        builtin = _BUILTIN.match(asked)
        asked = builtin["range"] if builtin and builtin["name"] == builtin["patch"] == new.name else asked
        asked = asked.removeprefix("npm:")
    if not is_plain(new.version):
        return "is no plain version"
    if not _ASKS.match(asked):
        return f"is of another kind: {shown(asked)}"
    return "is answered with another version" if is_plain(asked) and asked != new.version else None


def _same(old: Package | None, new: Package) -> str | None:
    if old is None or old.version != new.version or same(old.record, new.record):
        return None
    return f"changed at version {new.version}"


def _rest(old: Package | None, new: Package) -> str | None:
    was = {} if old is None else old.record
    for key in sorted((was.keys() | new.record.keys()) - _DESCRIBES):
        if old is None and (key, new.record[key]) in {("languageName", "node"), ("linkType", "hard")}:
            continue
        if not same(was.get(key), new.record.get(key)):
            return f"differs in {shown(key)}"
    return None


def _source_later(name: str, version: str, block: Mapping[str, Any]) -> str:
    """Return the kind of place: "" is the registry, or the whole resolution where it is none that is known."""
    resolution = str(block["resolution"])
    plain, _, archive = resolution.partition(_ARCHIVE)
    if plain == f"{name}@npm:{version}":
        return "" if plain == resolution else tarball(unquote(archive), name, version) or resolution
    builtin = _BUILTIN.match(resolution.removeprefix(f"{name}@"))
    if builtin and (builtin["name"], builtin["patch"], builtin["range"]) == (name, name, version):
        bound = builtin["rest"].removeprefix(f"::version={version}&hash=")
        return "" if bound.isalnum() else resolution
    return resolution


def _own_later(old: Package | None, new: Package) -> str | None:
    """Say what is wrong with a block of a later version beside the one that it replaces."""
    if (wrong := _version(new)) is not None:
        return wrong
    if "resolution" not in new.record or new.source == new.record["resolution"]:
        return "resolved to something else than this version of it"
    if old is not None and old.source != new.source:
        return "resolved from another place"
    was = None if old is None else old.record
    return _same(old, new) or _checksum(old, new) or commands(was, new.record) or _rest(old, new)


def _checksum(old: Package | None, new: Package) -> str | None:
    """Say whether a block has no checksum; only what replaces one without may have none.

    What is installed on some systems only is left without by yarn wherever it was never fetched.
    """
    value = new.record.get("checksum")
    if value is None:
        return None if old is not None and "checksum" not in old.record else "has no checksum"
    return None if _CHECKSUM.match(value) else "has no checksum that can be read"
