"""A second opinion on what a landing changed, as plain as can be and without a line of the code that it checks.

It reads only what the worlds of `worlds.py` can hold, and takes two whole trees instead of a list of changes.
"""

from __future__ import annotations

import posixpath
import re
import tomllib
import unicodedata
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import yaml
from tests.ship.naive_files import COMPARED, Odd, Own, pep503, plain_text, requirement
from tests.ship.naive_locks import LOCKS, poetry_locks

__all__ = ["Opened", "Tree", "faults"]

Tree = Mapping[str, tuple[str, bytes]]
"""Path -> mode and content; of a link the content is its target, of a submodule it is a commit."""

FILES = {"100644", "100755"}
MANIFESTS = {
    "package.json",
    "bun.lock",
    "package-lock.json",
    "npm-shrinkwrap.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "uv.lock",
    "poetry.lock",
    "pdm.lock",
    "Cargo.toml",
    "Cargo.lock",
    "go.mod",
    "go.sum",
    "go.work",
}
SETTINGS = {".npmrc", ".yarnrc.yml", ".pnpmfile.cjs", "pnpm-workspace.yaml", "bunfig.toml", "uv.toml"}
CONTROL = {".gitattributes", ".gitmodules", "indult.yaml"}
FOREIGN = {"vendor", "node_modules", "patches"}


class Opened(NamedTuple):
    """What a named exception says: the dependency, its version, and the exact files."""

    name: str
    version: str
    paths: tuple[str, ...]


class Fault(NamedTuple):
    """A path that changed beyond what is opened, and why that is so."""

    path: str
    why: str


def faults(before: Tree, after: Tree, opened: Opened | None) -> list[Fault]:
    """Return every path that differs between two trees and is not covered, none where all is in order."""
    changed = [path for path in sorted({*before, *after}) if before.get(path) != after.get(path)]
    return [Fault(path, why) for path in changed for why in _whys(path, before, after, opened)]


def _whys(path: str, before: Tree, after: Tree, opened: Opened | None) -> Iterator[str]:
    old, new = before.get(path), after.get(path)
    if _kind(_folded(path), fold=True) and not _kind(path):
        yield "looks like a protected name"
    if _folded(path) != _folded(path, hidden=True) or not path.isprintable() or "\\" in path:
        yield "a name with hidden characters"
    if "160000" in {side[0] for side in (old, new) if side}:
        yield "a submodule"
    if new and new[0] == "120000":
        yield from _link(path, after)
    for alias in _aliases(path, after):
        if _kind(alias):
            yield f"also known as {alias}"
    yield from _protected(path, before, after, opened)


def _protected(path: str, before: Tree, after: Tree, opened: Opened | None) -> Iterator[str]:
    old, new, kind = before.get(path), after.get(path), _kind(path)
    if not kind:
        return
    listed = opened is not None and path in opened.paths
    if kind == "manifest" and old and new and old[0] == new[0] and old[0] in FILES:
        try:
            asked = {name for tree in (before, after) for name in _asked(path, tree)}
            yield from _compared(path, old[1], new[1], opened if listed else None, asked)
        except (Odd, ValueError, yaml.YAMLError) as exc:
            yield f"does not read one way only: {exc}"
    elif kind == "never" or not listed:
        yield f"protected ({kind})"
    elif new is None or new[0] not in FILES or (old is not None and old[0] != new[0]):
        yield "only the content of a file may change"
    elif kind == "manifest":
        yield "a new manifest"


def _kind(path: str, *, fold: bool = False) -> str:
    """Return the class of a protected path: `never`, `foreign` (a whole file of others), or `manifest`."""

    def among(name: str, names: set[str]) -> bool:
        return name in ({one.lower() for one in names} if fold else names)

    *folders, name = path.split("/")
    every = [*folders, name]
    if among(name, CONTROL | SETTINGS) or {".github", ".git", "data"} & {*folders, name} - ({"data"} - {*folders}):
        return "never"
    if any(part.startswith(".env") for part in every) or path.endswith(".cargo/config.toml"):
        return "never"
    if FOREIGN & {*every} or name == "build.rs":
        return "foreign"
    if among(name, MANIFESTS) or re.fullmatch(r"(requirements|constraints).*\.txt", name):
        return "manifest"
    return ""


def _folded(path: str, *, hidden: bool = False) -> str:
    kept = [char for char in path if hidden or unicodedata.category(char) != "Cf"]
    text = unicodedata.normalize("NFC", unicodedata.normalize("NFC", "".join(kept)).casefold())
    return re.sub(r"[. ]+(?=/|$)", "", text)


def _walk(path: str, tree: Tree) -> tuple[list[str], bool]:
    """Return the paths that a link leads to or through, and whether it leads anywhere in the tree."""
    seen: list[str] = []
    at: list[str] = []
    todo = path.split("/")
    links = 0
    while todo:
        step = todo.pop(0)
        if step == ".." and not at:
            return seen, False
        at = at[:-1] if step == ".." else at if step in {"", "."} else [*at, step]
        here = "/".join(at)
        seen.append(here)
        mode, content = tree.get(here, ("", b""))
        if mode == "120000":
            links += 1
            if links > 20 or content.startswith(b"/") or b"\\" in content:
                return seen, False
            at, todo = at[:-1], [*content.decode().split("/"), *todo]
    return [*seen, "/".join(at)], True


def _link(path: str, after: Tree) -> Iterator[str]:
    seen, ends = _walk(path, after)
    if not ends:
        yield "a link out of the tree"
    first = seen.index(path)
    if any(_kind(step) or _kind(f"{step}/") or _kind(_folded(step), fold=True) for step in seen[first + 1 :]):
        yield f"a link to {seen}"


def _aliases(path: str, after: Tree) -> Iterator[str]:
    """Yield the names under which links of the tree reach a path, too."""
    for link, (mode, _) in after.items():
        if mode == "120000" and link != path:
            (*_, end), ends = _walk(link, after)
            if ends and (path == end or path.startswith(end + "/")):
                yield link + path[len(end) :]


def _asked(path: str, tree: Tree) -> set[str]:
    """Return what the project beside Poetry's lock needs itself, which that lock does not say."""
    folder, _, name = path.rpartition("/")
    beside = tree.get(posixpath.join(folder, "pyproject.toml")) if name == "poetry.lock" else None
    if beside is None:
        return set()
    try:
        doc = tomllib.loads(plain_text(beside[1]))
    except (Odd, ValueError):
        return set()
    lists = [doc["project"].get("dependencies", []), *doc.get("dependency-groups", {}).values()]
    return {pep503(requirement(line)) for lines in lists for line in lines}


def _compared(path: str, old: bytes, new: bytes, opened: Opened | None, asked: set[str]) -> Iterator[str]:
    name = path.rpartition("/")[2]
    folder = path.removesuffix(name)
    if name.startswith(("requirements", "constraints")):
        name = "requirements.txt"
    python = name in {"pyproject.toml", "requirements.txt", "uv.lock", "poetry.lock"}
    own = Own("", "", (), python)
    if opened:
        own = Own(opened.name, opened.version, tuple(one.removeprefix(folder) for one in opened.paths), python)
    compare = {**COMPARED, **LOCKS}.get(name)
    if name == "poetry.lock":
        yield from poetry_locks(plain_text(old), plain_text(new), own, asked)
    elif compare is None:
        yield "cannot be read"
    else:
        yield from compare(plain_text(old), plain_text(new), own)
