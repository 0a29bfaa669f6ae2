"""The second opinion on locks: who needs whom is searched anew, without the named dependency."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml
from tests.ship.naive_files import Compare, Odd, Own, patched, same, specs, strict_json

__all__ = ["LOCKS", "poetry_locks"]

SECTIONS = ("dependencies", "devDependencies", "optionalDependencies", "peerDependencies")


@dataclass(slots=True, kw_only=True)
class Entry:
    """One package of a lock."""

    name: str
    version: str
    record: Any
    needs: list[str]
    source: str
    files: list[str]
    sealed: bool


@dataclass(slots=True)
class Lock:
    """A lock: packages by key, the keys that the project needs, its copy of the manifest, and all the rest."""

    entries: dict[str, Entry] = field(default_factory=dict)
    roots: set[str] = field(default_factory=set)
    asked: set[str] = field(default_factory=set)
    copies: list[tuple[str, dict[str, str], str]] = field(default_factory=list)
    patched: dict[str, Any] = field(default_factory=dict)
    rest: Any = None

    def add(self, key: str, entry: Entry) -> None:
        """Take a package in, which nobody may name twice."""
        if key in self.entries:
            raise Odd(f"{key} twice")
        self.entries[key] = entry

    def name(self, key: str) -> str:
        """Return the name of a package, which is its key where it is not there."""
        return self.entries[key].name if key in self.entries else key

    def without(self, own: Own) -> set[str]:
        """Return what the project still reaches if the dependency is not there."""
        seen: set[str] = set()
        todo = [*self.roots]
        while todo:
            key = todo.pop()
            if key in self.entries and key not in seen and not own.named(self.entries[key].name):
                seen.add(key)
                todo += self.entries[key].needs
        return seen


def _host(url: str) -> str:
    return "/".join(url.split("/")[:3])


def _package_lock(text: str) -> Lock:
    doc = strict_json(text)
    packages = doc.pop("packages")
    root = packages.pop("")
    lock = Lock(rest=doc)
    for section in SECTIONS:
        lock.copies.append((section, root.pop(section, {}), ""))
        lock.roots |= {f"node_modules/{name}" for name in lock.copies[-1][1]}
    doc["root"] = root
    for place, record in packages.items():
        name = record.get("name") or place.removeprefix("node_modules/")
        needs = [f"node_modules/{need}" for need in record.get("dependencies", {})]
        url = record.get("resolved", "")
        entry = Entry(
            name=name, version=record.get("version", ""), record=record, needs=needs, source=_host(url), files=[url],
            sealed=bool(record.get("integrity")),
        )  # fmt: skip
        if place != f"node_modules/{name}":
            raise Odd(f"{place} is {name}")
        lock.add(place, entry)
    return lock


def _bun(text: str) -> Lock:
    doc = strict_json(re.sub(r",(\s*[}\]])", r"\1", text))
    packages = doc.pop("packages")
    lock = Lock(patched=doc.pop("patchedDependencies", {}), rest=doc)
    for where, space in doc["workspaces"].items():
        for section in SECTIONS:
            lock.copies.append((f"{where} {section}", space.pop(section, {}), ""))
            lock.roots |= set(lock.copies[-1][1])
    for key, record in packages.items():
        name, _, version = record[0].rpartition("@")
        if name != key or len(record) != 4:
            raise Odd(f"{key} is {record[0]}")
        source = _host(record[1])
        files = [record[1]] if record[1] else []
        needs = [*record[2].get("dependencies", {})]
        lock.add(
            key,
            Entry(
                name=name,
                version=version,
                record=record,
                needs=needs,
                source=source,
                files=files,
                sealed=bool(record[3]),
            ),
        )
    return lock


class _Loader(yaml.SafeLoader):
    """Plain YAML in which no key stands twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        found = super().construct_mapping(node, deep=True)
        if len(found) != len(node.value):
            raise Odd("a key twice")
        return found


def _pnpm(text: str) -> Lock:
    if re.search(r"(^|[\s:])[&*!<]\S", text):
        raise Odd("an anchor")
    doc = yaml.load(text, _Loader)
    packages, snapshots = doc.pop("packages"), doc.pop("snapshots")
    lock = Lock(rest=doc)
    for key, patch in doc.pop("patchedDependencies", {}).items():
        lock.patched[key] = patch["path"] if {*patch} == {"hash", "path"} else patch
    for where, importer in doc["importers"].items():
        for section in SECTIONS:
            part = importer.pop(section, {})
            lock.roots |= {f"{name}@{value['version']}" for name, value in part.items()}
            for word in ("specifier", "version"):
                lock.copies.append(
                    (f"{where} {section} {word}", {name: value.pop(word) for name, value in part.items()}, "")
                )
            doc[f"{where} {section} rest"] = {name: value for name, value in part.items() if value}
    if {*packages} != {*snapshots}:
        raise Odd("packages and snapshots differ")
    for key, record in packages.items():
        name, _, version = key.rpartition("@")
        url = record["resolution"].get("tarball", "")
        needs = [f"{need}@{at}" for need, at in snapshots[key].get("dependencies", {}).items()]
        sealed = bool(record["resolution"].get("integrity"))
        both = {**record, "snapshot": {word: value for word, value in snapshots[key].items() if word != "dependencies"}}
        files = [url] if url else []
        lock.add(
            key,
            Entry(name=name, version=version, record=both, needs=needs, source=_host(url), files=files, sealed=sealed),
        )
    return lock


def _yarn(text: str) -> Lock:
    lock = Lock()
    blocks = re.split(r"\n\n+", re.sub(r"(?m)^#.*\n?", "", text).strip("\n"))
    wanted: dict[str, set[str]] = {}
    for block in filter(None, blocks):
        head, *lines = block.splitlines()
        heads = [one.strip('" ') for one in head.rstrip(":").split(",")]
        names = {one.rpartition("@")[0] for one in heads}
        if len(names) > 1:
            raise Odd(f"one block for {sorted(names)}")
        name = names.pop()
        fields: dict[str, str] = {}
        needs = []
        for line in lines:
            key, _, value = line.strip().partition(" ")
            if line.startswith("    "):
                needs.append(key.strip('"'))
            elif key != "dependencies:" and fields.setdefault(key, value) is not value:
                raise Odd(f"{key} twice")
        url = fields["resolved"].strip('"')
        wanted[name] = {one.rpartition("@")[2] for one in heads}
        lock.add(name, Entry(
            name=name, version=fields["version"].strip('"'), record=[fields, sorted(needs)], needs=needs,
            source=_host(url), files=[url.partition("#")[0]], sealed="integrity" in fields,
        ))  # fmt: skip
    # What nobody in the lock asks for in this way, the project does.
    lock.roots = {name for name, specs in wanted.items() if specs - {">=0.1.0"}}
    return lock


def _sort(record: dict[str, Any]) -> None:
    """Let the order of what a package needs mean nothing."""
    if isinstance(record.get("dependencies"), list):
        record["dependencies"].sort(key=json.dumps)


def _uv(text: str) -> Lock:
    doc = tomllib.loads(text)
    lock = Lock(rest=doc)
    for record in doc.pop("package"):
        _sort(record)
        needs = [one["name"] for one in record.get("dependencies", [])]
        if record["source"] in ({"virtual": "."}, {"editable": "."}):
            groups = record.pop("dev-dependencies", {})
            lock.roots = {*needs, *(one["name"] for group in groups.values() for one in group)}
            metadata = record.pop("metadata", {})
            lock.asked = {*lock.roots}
            record.pop("dependencies", None)
            both = {"dist": metadata.pop("requires-dist", []), **metadata.pop("requires-dev", {})}
            for where, part in both.items():
                lock.copies.append((where, {one["name"]: one["specifier"] for one in part}, "=="))
                if any({*one} != {"name", "specifier"} for one in part):
                    raise Odd("a requirement of another form")
            doc["root"], doc["metadata"] = record, metadata
            continue
        files = [record["sdist"]["url"], *(one["url"] for one in record.get("wheels", []))]
        sealed = all("hash" in one for one in (record["sdist"], *record.get("wheels", [])))
        lock.add(record["name"], Entry(
            name=record["name"], version=record["version"], record=record, needs=needs,
            source=f"{record['source']} {_host(files[0])}", files=files, sealed=sealed,
        ))  # fmt: skip
    return lock


def _poetry(text: str, asked: set[str]) -> Lock:
    doc = tomllib.loads(text)
    lock = Lock(roots=asked, rest=doc)
    doc["metadata"].pop("content-hash", None)
    for record in doc.pop("package"):
        _sort(record)
        files = [one["file"] for one in record["files"]]
        sealed = all("hash" in one for one in record["files"])
        lock.add(record["name"], Entry(
            name=record["name"], version=record["version"], record=record,
            needs=[*record.get("dependencies", {})], source=str(record.get("source")), files=files, sealed=sealed,
        ))  # fmt: skip
    return lock


def _cargo_lock(text: str) -> Lock:
    doc = tomllib.loads(text)
    lock = Lock(rest=doc)
    for record in doc.pop("package"):
        _sort(record)
        if "source" not in record and record["name"] == "demo":
            lock.roots = lock.asked = set(record.pop("dependencies", []))
            doc["root"] = record
            continue
        lock.add(record["name"], Entry(
            name=record["name"], version=record["version"], record=record, needs=record.get("dependencies", []),
            source=str(record.get("source")), files=[], sealed="checksum" in record,
        ))  # fmt: skip
    return lock


def _lock(read: Callable[[str], Lock]) -> Callable[[str, str, Own], Iterator[str]]:
    return lambda old, new, own: _locks(read(old), read(new), own)


def _locks(old: Lock, new: Lock, own: Own) -> Iterator[str]:
    if not same(old.rest, new.rest):
        yield "something beside the packages"
    was, now = ({key: part for key, part, _ in lock.copies} for lock in (old, new))
    sign = next((sign for *_, sign in old.copies), "")
    for key in sorted({*was, *now}):
        yield from specs(was.get(key), now.get(key), own, sign)
    yield from (f"{name} is asked for or not" for name in sorted(old.asked ^ new.asked) if not own.named(name))
    yield from patched(old.patched, new.patched, own)
    here = [entry.version for entry in new.entries.values() if own.named(entry.name)]
    reached = old.without(own), new.without(own)
    moved = False
    for key in sorted({*old.entries, *new.entries}):
        before, after = old.entries.get(key), new.entries.get(key)
        if before and after and before.version == after.version:
            apart = key in reached[0] | reached[1] or not own.name
            if not same(before.record, after.record) or not _led(before, after, old, new, own if apart else None):
                yield f"{key} changed at one version"
            continue
        moved = True
        for entry, still in ((before, reached[0]), (after, reached[1])):
            if (
                entry
                and not own.named(entry.name)
                and (key in still or not own.name or key not in _reached(old if entry is before else new))
            ):
                yield f"{key} is not there for {own.name} alone"
        if after:
            yield from _placed(after, old, new, own)
    if moved and here not in ([own.version], [] if own.version == "none" else [own.version]):
        yield f"{own.name} is at {here}"


def _led(before: Entry, after: Entry, old: Lock, new: Lock, own: Own | None) -> bool:
    """Tell whether a package needs what it did, some of it at another version: only the own, or all where that is none."""
    names = [sorted(lock.name(key) for key in entry.needs) for entry, lock in ((before, old), (after, new))]
    moved = {*before.needs} ^ {*after.needs}
    free = all(own is None or own.named((new if key in new.entries else old).name(key)) for key in moved)
    return names[0] == names[1] and free


def _reached(lock: Lock) -> set[str]:
    return lock.without(Own("", "", (), python=False))


def _placed(entry: Entry, old: Lock, new: Lock, own: Own) -> Iterator[str]:
    """Check where a new package comes from."""
    like = [one for lock in (old, new) for one in lock.entries.values() if own.named(one.name)]
    if any(one.source != entry.source for one in like):
        yield f"{entry.name} comes from another place"
    stems = {entry.name.rpartition("/")[2], entry.name.replace("-", "_")}
    for file in entry.files:
        last = file.rpartition("/")[2]
        if not any(
            re.fullmatch(re.escape(f"{stem}-{entry.version}") + r"(\.tgz|\.tar\.gz|-[\w-]+\.whl)", last)
            for stem in stems
        ):
            yield f"{file} is not {entry.name}"
    if like and like[0].sealed and not entry.sealed:
        yield f"{entry.name} has no sum"
    if own.named(entry.name) and like and _shape(like[0].record) != _shape(entry.record):
        yield f"{entry.name} has other keys"


def _shape(record: Any) -> Any:
    if isinstance(record, list):
        return [
            sorted(part) if isinstance(part, dict) and part and "dependencies" not in part else "" for part in record
        ]
    return sorted({*record} - {"dependencies"})


def poetry_locks(old: str, new: str, own: Own, asked: set[str]) -> Iterator[str]:
    """Compare two locks of Poetry, given what the project asks for itself."""
    yield from _locks(_poetry(old, asked), _poetry(new, asked), own)


LOCKS: dict[str, Compare] = {
    "package-lock.json": _lock(_package_lock),
    "bun.lock": _lock(_bun),
    "pnpm-lock.yaml": _lock(_pnpm),
    "yarn.lock": _lock(_yarn),
    "uv.lock": _lock(_uv),
    "Cargo.lock": _lock(_cargo_lock),
}
