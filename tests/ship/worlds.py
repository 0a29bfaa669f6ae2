"""Small random repositories in each ecosystem, exceptions that a person might approve, and branches of all kinds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product
from typing import TypeVar

from hypothesis import strategies as st
from tests.ship.edits import DISHONEST, HARMLESS, Draft, Edit
from tests.ship.layouts import KINDS, LOCKS, MANIFESTS, PYTHON, Package, Project, Style, render
from tests.ship.naive import Opened

T = TypeVar("T")

__all__ = ["Branch", "World", "branches", "worlds"]

POLICY = b"schema: 1\nextends: indult/repository@1\n"

NAMES = {
    "npm": ("libdb", "left", "@acme/wire", "tiny-set", "other", "zeta"),
    "python": ("httpkit", "yaml-kit", "Rich.Text", "tool_kit", "other", "zeta"),
    "cargo": ("serdex", "logx", "mini-vec", "tok_io", "other", "zeta"),
    "go": ("github.com/acme/wire", "github.com/acme/logz", "example.org/tiny", "example.org/x/tools", "acme.example/z"),
}
FRESH = {"npm": ("fresh", "@acme/new"), "python": ("fresh", "new-kit"), "cargo": ("fresh", "new_kit"), "go": ()}
VERSIONS = ("1.0.0", "1.2.3", "2.0.0", "0.9.1", "10.4.0")
CLOSED = frozenset({"package-lock", "bun", "pnpm", "yarn", "uv", "poetry", "cargo"})
"""The kinds whose lock says which package needs which."""

FILES: dict[str, tuple[str, bytes]] = {
    "indult.yaml": ("100644", POLICY),
    "src/app.js": ("100644", b"require('libdb').open();\n"),
    "src/run.sh": ("100755", b"#!/bin/sh\n"),
    "docs/guide.md": ("100644", b"# Guide\n"),
    "docs/latest": ("120000", b"guide.md"),
    "tools/package.json": ("120000", b"template.json"),
    "tools/template.json": ("100644", b"{}\n"),
    "third/vendor": ("120000", b"../lib/own"),
    "lib/own/a.js": ("100644", b"own\n"),
    "vendor/keep.js": ("100644", b"module.exports = 1;\n"),
    "data/rows.csv": ("100644", b"1\n"),
    ".github/workflows/ci.yml": ("100644", b"on: push\n"),
    ".npmrc": ("100644", b"fund=false\n"),
}

BOTH = st.booleans()
STAGES = ("project", "text", "tree")
STYLES = st.sampled_from(
    [Style(indent=a, turned=b, comments=c) for a, b, c in product((2, 4, 0), (False, True), (False, True))]
)


def family(kind: str) -> str:
    """Return the ecosystem of a kind."""
    return kind if kind in {"cargo", "go"} else "python" if kind in PYTHON else "npm"


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """A repository, and the dependency that somebody may want to change in it."""

    kind: str
    folder: str
    project: Project
    style: Style
    name: str

    @property
    def manifest(self) -> str:
        """The path of its manifest."""
        return self.folder + MANIFESTS[self.kind]

    @property
    def lock(self) -> str:
        """The path of its lock; of a kind without one, that of its manifest."""
        return self.folder + LOCKS.get(self.kind, MANIFESTS[self.kind])

    @property
    def tree(self) -> dict[str, tuple[str, bytes]]:
        """The files of the target before anything lands."""
        return {**FILES, **written(self, self.project, self.style)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """A branch of a world: what its tree is, what a person was asked to open, and what was done to it.

    `at` are the paths of its dishonest edits, by what was done there.
    """

    world: World
    tree: dict[str, tuple[str, bytes]]
    opened: Opened
    done: tuple[str, ...] = ()
    at: dict[str, str] = field(default_factory=dict)


def written(world: World, project: Project, style: Style) -> dict[str, tuple[str, bytes]]:
    """Return the manifest and the lock of a project as files."""
    texts = render(world.kind, project, style)
    return {world.folder + name: ("100644", text.encode()) for name, text in texts.items()}


@st.composite
def worlds(draw: st.DrawFn, kinds: tuple[str, ...] = KINDS) -> World:
    """Return a repository of one of the kinds, whose named dependency is one that it needs itself."""
    kind = draw(one_of(kinds))
    every = NAMES[family(kind)]
    turn, size = draw(one_of(tuple(product(range(len(every)), (3, 4, 5)))))
    names = [*every[turn:], *every[:turn]][:size]
    chosen = draw(one_of(VERSIONS)), draw(one_of(VERSIONS))
    versions = {name: _version(kind, chosen[at % 2]) for at, name in enumerate(names)}
    pairs = [(one, other) for at, one in enumerate(names) for other in names[at + 1 :]] if kind in CLOSED else []
    edges = _subset(draw, pairs)
    needs = {name: tuple(other for one, other in edges if one == name) for name in names}
    packages = {name: Package(version=versions[name], needs=needs[name]) for name in names}
    needed = {need for part in needs.values() for need in part}
    tops = [name for name in names if name not in needed]
    own = {*tops, names[0], names[1], *_subset(draw, names)} if kind in CLOSED else {*names}
    dev = {*_subset(draw, sorted(own))} if kind != "requirements" else set()
    # A head of yarn's is the text of a need, so moving what others need, too, is a change of what they ask for.
    able = [name for name in names if name in own and not (kind == "yarn" and name in needed)]
    name = draw(one_of(tuple(able)))
    loose = {*_subset(draw, [one for one in names if one != name])} if kind != "requirements" else set()
    specs = {one: _spec(kind, versions[one], loose=one in loose) for one in names if one in own}
    return World(
        kind=kind,
        folder=draw(one_of(("", "", "packages/a/"))),
        project=Project(
            direct={one: spec for one, spec in specs.items() if one not in dev},
            dev={one: spec for one, spec in specs.items() if one in dev},
            packages=packages,
        ),
        style=draw(STYLES),
        name=name,
    )


def _subset(draw: st.DrawFn, values: Iterable[T]) -> tuple[T, ...]:
    """Return about a third of the values; one draw for all of them is much quicker than one for each."""
    known = tuple(values)
    mask = draw(_masks(len(known))) if known else 0
    return tuple(value for at, value in enumerate(known) if mask // 3**at % 3 == 1)


@cache
def _masks(size: int) -> st.SearchStrategy[int]:
    return st.integers(0, 3**size - 1)


@cache
def one_of(values: tuple[T, ...]) -> st.SearchStrategy[T]:
    """Return the strategy of one of these; made once, since that takes longer than a draw."""
    return st.sampled_from(values)


def _version(kind: str, version: str) -> str:
    return f"v{version}" if kind == "go" else version


def _spec(kind: str, version: str, *, loose: bool) -> str:
    """Return how a manifest asks for a version."""
    sign, range_ = {"npm": ("", "^"), "python": ("==", ">=")}.get(family(kind), ("", ""))
    return f"{range_ if loose else sign}{version}"


def alone(project: Project, name: str) -> set[str]:
    """Return what a project needs only through one dependency."""
    return {*project.packages} - {name} - _reached(project, name)


def _reached(project: Project, without: str | None = None) -> set[str]:
    todo = [*project.direct, *project.dev]
    seen: set[str] = set()
    while todo:
        name = todo.pop()
        if name != without and name not in seen:
            seen.add(name)
            todo += project.packages[name].needs
    return seen


@st.composite
def upgrades(draw: st.DrawFn, world: World) -> tuple[Project, Opened]:
    """Return the project after an honest change of the named dependency, and the exception that says so."""
    kind, project, name = world.kind, world.project, world.name
    needed = any(name in package.needs for package in project.packages.values())
    how, turned = draw(one_of(tuple(product(("upgrade", "upgrade", "upgrade", "remove", "patch", "deep"), (0, 1)))))
    paths = tuple(dict.fromkeys((world.lock, world.manifest) if turned else (world.manifest, world.lock)))
    if how == "remove" and not needed and len({**project.direct, **project.dev}) > 1:
        return _removed(project, name), Opened(name, "none", paths)
    if how == "patch" and kind in {"bun", "pnpm"}:
        version = project.packages[name].version
        path = f"{world.folder}patches/{name.replace('/', '+')}@{version}.patch"
        patched = {f"{name}@{version}": path.removeprefix(world.folder)}
        return replace(project, patched=patched), Opened(name, version, (*paths, path))
    deep = sorted({*project.packages} - {*project.direct, *project.dev})
    if how == "deep" and deep and kind in CLOSED - {"yarn"}:
        name, paths = draw(one_of(tuple(deep))), (world.lock,)
    others = tuple(v for v in VERSIONS if _version(kind, v) != project.packages[name].version)
    version = _version(kind, draw(one_of(others)))
    after = draw(_moved(world, name, version))
    spelled = name.upper().replace("-", "_") if kind in PYTHON and draw(one_of((0, 0, 0, 1))) else name
    return after, Opened(spelled, version, paths)


def _removed(project: Project, name: str) -> Project:
    left = replace(
        project,
        direct={one: spec for one, spec in project.direct.items() if one != name},
        dev={one: spec for one, spec in project.dev.items() if one != name},
    )
    reached = _reached(left)
    return replace(left, packages={one: found for one, found in project.packages.items() if one in reached})


@st.composite
def _moved(draw: st.DrawFn, world: World, name: str, version: str) -> Project:
    """Return the project with the dependency at another version, with other needs where locks say so."""
    project, kind = world.project, world.kind
    sign = "==" if kind in PYTHON else ""
    plain = replace(
        project,
        direct={one: sign + version if one == name else spec for one, spec in project.direct.items()},
        dev={one: sign + version if one == name else spec for one, spec in project.dev.items()},
        packages={**project.packages, name: replace(project.packages[name], version=version, seal="new")},
    )
    if kind not in CLOSED:
        return plain
    free = [one for one in project.packages if one != name and name not in _below(project, one)]
    fresh = FRESH[family(kind)][: draw(one_of((0, 1, 2)))]
    needs = tuple(dict.fromkeys((*_subset(draw, project.packages[name].needs), *_subset(draw, free), *fresh[:1])))
    packages = {**plain.packages, name: replace(plain.packages[name], needs=needs)}
    for at, one in enumerate(fresh):
        packages[one] = Package(version=VERSIONS[at], needs=fresh[at + 1 :])
    # The locks of Poetry and yarn do not say what the project needs itself, so a known package is nobody's alone there.
    for one in _subset(draw, sorted(alone(project, name))) if kind not in {"poetry", "yarn"} else ():
        packages[one] = replace(packages[one], version="3.0.0", seal="new")
    after = replace(plain, packages=packages)
    reached = _reached(after)
    after = replace(after, packages={one: found for one, found in packages.items() if one in reached})
    return after if _settled(kind, project, after, name) else plain


def _below(project: Project, name: str) -> set[str]:
    return _reached(replace(project, direct={name: ""}, dev={})) - {name}


def _settled(kind: str, old: Project, new: Project, name: str) -> bool:
    """Tell whether the lock writes nothing else of other packages that stay as they are."""
    behind = alone(old, name) & alone(new, name)

    def noted(project: Project, one: str) -> object:
        if kind == "yarn":
            return any(one in package.needs for package in project.packages.values())
        if kind == "pnpm" and one not in behind:
            return [project.packages[need].version for need in project.packages[one].needs if need != name]
        return None

    stay = [one for one in old.packages if one in new.packages and one != name]
    stay = [one for one in stay if old.packages[one].version == new.packages[one].version]
    return all(noted(old, one) == noted(new, one) for one in stay)


@st.composite
def branches(
    draw: st.DrawFn,
    *,
    kinds: tuple[str, ...] = KINDS,
    honest: bool | None = None,
    only: Edit | None = None,
    harmless: tuple[int, int] = (0, 0),
    dishonest: tuple[int, int] = (0, 0),
) -> Branch:
    """Return a branch with the honest change of its exception or not, and some edits of each kind."""
    world = draw(worlds(tuple(sorted(only.kinds)) if only else kinds))
    after, opened = draw(upgrades(world))
    upgraded = draw(BOTH) if honest is None else honest
    found = Draft(world=world, project=after if upgraded else world.project, opened=opened, style=world.style)
    if harmless[1] and draw(BOTH):
        found.style = draw(STYLES)
    drawn = (
        ([only] if only else _some(draw, DISHONEST, dishonest, world.kind)),
        _some(draw, HARMLESS, harmless, world.kind),
    )
    at: dict[str, str] = {}
    done: list[str] = ["upgrade"] * upgraded
    for stage in STAGES:
        if stage == "text":
            found.texts = render(world.kind, found.project, found.style)
        if stage == "tree":
            found.tree = {**FILES, **{world.folder + name: ("100644", _bytes(t)) for name, t in found.texts.items()}}
            if upgraded:
                found.tree |= {path: ("100644", b"@@\n") for path in opened.paths if "patches/" in path}
        for edits, bad in zip(drawn, (True, False), strict=True):
            for edit in edits:
                path = edit.apply(draw, found) if edit.stage == stage else None
                if path is not None:
                    done.append(edit.name)
                    at |= {edit.name: path} if bad else {}
    return Branch(world=world, tree=found.tree, opened=opened, done=tuple(done), at=at)


def _bytes(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode()


def _some(draw: st.DrawFn, edits: tuple[Edit, ...], count: tuple[int, int], kind: str) -> list[Edit]:
    return draw(_lists(edits, *count, kind)) if count[1] else []


@cache
def _lists(edits: tuple[Edit, ...], least: int, most: int, kind: str) -> st.SearchStrategy[list[Edit]]:
    """Return some edits that this kind of repository can have, of each stage alike."""
    stages = [[one for one in edits if one.stage == stage and kind in one.kinds] for stage in STAGES]
    each = st.one_of([st.sampled_from(stage) for stage in stages if stage])
    return st.lists(each, min_size=least, max_size=most, unique_by=lambda edit: edit.name)
