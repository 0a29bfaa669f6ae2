"""What a branch may do besides an honest change of its dependency: edits that need nobody, and edits that nobody approved."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st
from tests.ship.layouts import KINDS, PYTHON, Package, Project, Style, normal
from tests.ship.text_edits import TEXT, Change

if TYPE_CHECKING:
    from tests.ship.naive import Opened
    from tests.ship.worlds import World

__all__ = ["DISHONEST", "HARMLESS", "Draft", "Edit"]

LOCKED = frozenset(KINDS) - {"requirements"}
CLOSED = LOCKED - {"go"}
NPM = frozenset({"package-lock", "bun", "pnpm", "yarn"})
EVERY = frozenset(KINDS)


@dataclass(slots=True, kw_only=True)
class Draft:
    """A branch that is being made: first its project, then the texts of manifest and lock, then its tree."""

    world: World
    project: Project
    opened: Opened
    style: Style
    texts: dict[str, Any] = field(default_factory=dict)
    tree: dict[str, tuple[str, bytes]] = field(default_factory=dict)

    @property
    def own(self) -> str:
        """The name of the dependency that the exception names, as the project spells it."""
        known = {**self.world.project.packages, **self.project.packages}
        name = self.opened.name
        spelled = {normal(one): one for one in known} if self.world.kind in PYTHON else {}
        return spelled.get(normal(name), name)

    @property
    def asked(self) -> dict[str, str]:
        """What the project needs itself."""
        return {**self.project.direct, **self.project.dev}

    def others(self, *, still: bool = False) -> list[str]:
        """Return the other packages, and with `still` only those that are as they were."""
        was, now = self.world.project.packages, self.project.packages
        return [name for name in now if name != self.own and (not still or was.get(name) == now[name])]

    def independent(self) -> list[str]:
        """Return the other packages that are as they were and that are needed without the dependency, too."""
        packages, seen, todo = self.project.packages, set(), [name for name in self.asked if name != self.own]
        while todo:
            name = todo.pop()
            if name not in seen and name != self.own and name in packages:
                seen.add(name)
                todo += packages[name].needs
        return [name for name in self.others(still=True) if name in seen]


@dataclass(frozen=True, slots=True)
class Edit:
    """One edit: `apply` changes a draft and returns the path where it did, none where it does not fit."""

    name: str
    stage: str
    kinds: frozenset[str]
    apply: Callable[[st.DrawFn, Draft], str | None]


def _at(draft: Draft, version: str) -> str:
    """Return how a manifest asks for exactly this version."""
    return ("==" if draft.world.kind in PYTHON else "") + version


def _put(draft: Draft, name: str, **changes: Any) -> None:
    packages = draft.project.packages
    draft.project = replace(draft.project, packages={**packages, name: replace(packages[name], **changes)})


def _ask(draft: Draft, name: str, version: str) -> None:
    """Let the manifest ask for a version of a package, where it asked for it before, or newly."""
    project, spec = draft.project, _at(draft, version)
    if name in project.dev:
        draft.project = replace(project, dev={**project.dev, name: spec})
    else:
        draft.project = replace(project, direct={**project.direct, name: spec})


def _one(draw: st.DrawFn, names: list[str]) -> str | None:
    return draw(st.sampled_from(sorted(names))) if names else None


def _beyond(draft: Draft) -> str:
    return "v7.0.1" if draft.world.kind == "go" else "7.0.1"


def _another_version(draw: st.DrawFn, draft: Draft) -> str | None:
    name = _one(draw, [name for name in draft.others() if name in draft.asked])
    if name is None:
        return None
    _put(draft, name, version=_beyond(draft), seal="new")
    _ask(draft, name, _beyond(draft))
    return draft.world.manifest


def _another_in_lock(draw: st.DrawFn, draft: Draft) -> str | None:
    name = _one(draw, draft.independent())
    if name is None:
        return None
    _put(draft, name, version=_beyond(draft), seal="new")
    return draft.world.lock


def _another_sum(draw: st.DrawFn, draft: Draft) -> str | None:
    name = _one(draw, draft.others(still=True))
    if name is None:
        return None
    _put(draft, name, seal="evil")
    return draft.world.lock


def _another_host(draw: st.DrawFn, draft: Draft) -> str | None:
    name = _one(draw, draft.others(still=True))
    if name is None:
        return None
    _put(draft, name, host="evil.example")
    return draft.world.lock


def _own_host(draw: st.DrawFn, draft: Draft) -> str | None:
    if draft.own not in draft.project.packages:
        return None
    _put(draft, draft.own, host="evil.example")
    return draft.world.lock


def _own_beyond(draw: st.DrawFn, draft: Draft) -> str | None:
    if draft.own not in draft.project.packages:
        return None
    _put(draft, draft.own, version=_beyond(draft), seal="new")
    if draft.own not in draft.asked:
        return draft.world.lock
    _ask(draft, draft.own, _beyond(draft))
    return draft.world.manifest


def _own_lock_beyond(draw: st.DrawFn, draft: Draft) -> str | None:
    if draft.own not in draft.project.packages:
        return None
    _put(draft, draft.own, version=_beyond(draft), seal="new")
    return draft.world.lock


def _one_more(draw: st.DrawFn, draft: Draft) -> str | None:
    name = draw(st.sampled_from((f"{draft.own}-extra", "evil", draft.own.capitalize())))
    if draft.world.kind in PYTHON and normal(name) == normal(draft.own):
        return None
    if name in draft.project.packages:
        return None
    version = draft.opened.version if draft.opened.version != "none" else "1.0.0"
    draft.project = replace(draft.project, packages={**draft.project.packages, name: Package(version=version)})
    _ask(draft, name, version)
    return draft.world.manifest


def _one_less(draw: st.DrawFn, draft: Draft) -> str | None:
    name = _one(draw, [name for name in draft.others(still=True) if name in draft.asked])
    if name is None:
        return None
    project = draft.project
    keep = any(name in package.needs for package in project.packages.values())
    draft.project = replace(
        project,
        direct={one: spec for one, spec in project.direct.items() if one != name},
        dev={one: spec for one, spec in project.dev.items() if one != name},
        packages={one: found for one, found in project.packages.items() if keep or one != name},
    )
    return draft.world.manifest


def _missing(draw: st.DrawFn, draft: Draft) -> str | None:
    packages = draft.project.packages
    needed = {need for package in packages.values() for need in package.needs}
    name = _one(draw, [name for name in draft.independent() if name not in needed])
    if name is None or draft.world.kind == "pnpm":
        return None
    draft.project = replace(draft.project, packages={one: packages[one] for one in packages if one != name})
    return draft.world.lock


def _stray(draw: st.DrawFn, draft: Draft) -> str | None:
    version = "v1.0.0" if draft.world.kind == "go" else "1.0.0"
    draft.project = replace(draft.project, packages={**draft.project.packages, "evil": Package(version=version)})
    return draft.world.lock


def _another_need(draw: st.DrawFn, draft: Draft) -> str | None:
    name = _one(draw, draft.independent())
    if name is None or _stray(draw, draft) is None:
        return None
    _put(draft, name, needs=(*draft.project.packages[name].needs, "evil"))
    return draft.world.lock


def _private_host(draw: st.DrawFn, draft: Draft) -> str | None:
    fresh = [name for name in draft.project.packages if name not in draft.world.project.packages and name != draft.own]
    name = _one(draw, [name for name in fresh if name not in draft.asked and not name.endswith(("evil", "-extra"))])
    if name is None:
        return None
    _put(draft, name, host="evil.example")
    return draft.world.lock


HOSTED = CLOSED
PROJECT = (
    Edit("another version", "project", EVERY, _another_version),
    Edit("another package in the lock", "project", LOCKED, _another_in_lock),
    Edit("another sum", "project", EVERY, _another_sum),
    Edit("another host", "project", HOSTED, _another_host),
    Edit("own package from elsewhere", "project", HOSTED, _own_host),
    Edit("own version beyond", "project", EVERY, _own_beyond),
    Edit("own version beyond in the lock", "project", LOCKED, _own_lock_beyond),
    Edit("one more", "project", EVERY, _one_more),
    Edit("one less", "project", EVERY, _one_less),
    # Poetry's lock alone does not say that the project still asks for what nothing in the lock needs any more.
    Edit("another missing in the lock", "project", LOCKED - {"poetry"}, _missing),
    Edit("a stray package", "project", LOCKED, _stray),
    Edit("a need of another", "project", CLOSED, _another_need),
    Edit("a private package from elsewhere", "project", HOSTED, _private_host),
)


def _text_edit(file: str, label: str, change: Change) -> Edit:
    def apply(draw: st.DrawFn, draft: Draft) -> str | None:
        text = draft.texts.get(file)
        package = draft.project.packages.get(draft.own)
        if not isinstance(text, str) or package is None:
            return None
        changed = change(text, draft.own, package.version)
        if changed == text:
            return None
        draft.texts[file] = changed
        return draft.world.folder + file

    found = {
        "package.json": NPM,
        "pyproject.toml": frozenset({"uv", "poetry"}),
        "requirements.txt": frozenset({"requirements"}),
    }
    of = {
        "package-lock.json": "package-lock",
        "bun.lock": "bun",
        "pnpm-lock.yaml": "pnpm",
        "yarn.lock": "yarn",
        "uv.lock": "uv",
    }
    of |= {"poetry.lock": "poetry", "Cargo.toml": "cargo", "Cargo.lock": "cargo", "go.mod": "go", "go.sum": "go"}
    return Edit(f"{file}: {label}", "text", found.get(file) or frozenset({of[file]}), apply)


TEXTS = tuple(_text_edit(file, label, change) for file, changes in TEXT.items() for label, change in changes.items())

Put = tuple[str, str, bytes]


def _write(path: str, content: bytes = b"evil\n", mode: str = "100644") -> Callable[[st.DrawFn, Draft], str | None]:
    def apply(draw: st.DrawFn, draft: Draft) -> str | None:
        if draft.tree.get(path) == (mode, content) or any(one.startswith(path + "/") for one in draft.tree):
            return None
        draft.tree[path] = (mode, content)
        return path

    return apply


def _delete(path: str) -> Callable[[st.DrawFn, Draft], str | None]:
    return lambda draw, draft: path if draft.tree.pop(path, None) else None


def _move(old: str, new: str, *, at: str = "") -> Callable[[st.DrawFn, Draft], str | None]:
    def apply(draw: st.DrawFn, draft: Draft) -> str | None:
        if old not in draft.tree:
            return None
        draft.tree[new] = draft.tree.pop(old)
        return at or old

    return apply


def _mode(path: str, mode: str) -> Callable[[st.DrawFn, Draft], str | None]:
    def apply(draw: st.DrawFn, draft: Draft) -> str | None:
        if path not in draft.tree or draft.tree[path][0] == mode:
            return None
        draft.tree[path] = (mode, draft.tree[path][1])
        return path

    return apply


def _of(
    file: str, do: Callable[[str], Callable[[st.DrawFn, Draft], str | None]]
) -> Callable[[st.DrawFn, Draft], str | None]:
    """Do something with the manifest or the lock, wherever that is."""

    def apply(draw: st.DrawFn, draft: Draft) -> str | None:
        path = draft.world.manifest if file == "manifest" else draft.world.lock
        return do(path)(draw, draft) if path in draft.tree else None

    return apply


def _link(path: str, target: str) -> Callable[[st.DrawFn, Draft], str | None]:
    return _write(path, target.encode(), "120000")


def _module(path: str) -> Callable[[st.DrawFn, Draft], str | None]:
    return _write(path, b"1" * 40, "160000")


def _pair(draw: st.DrawFn, draft: Draft) -> str | None:
    return _link("docs/one", "two")(draw, draft) and _link("docs/two", "one")(draw, draft)


BAD_TREE: dict[str, Callable[[st.DrawFn, Draft], str | None]] = {
    "link through foreign": _link("docs/v", "../vendor/../docs/guide.md"),
    **{f"write {path}": _write(path) for path in (
        "vendor/evil.js", "vendor/keep.js", "lib/vendor/a/b.c", "patches/evil.patch", "node_modules/evil/index.js",
        ".github/workflows/ci.yml", "docs/.gitattributes", ".gitmodules", "indult.yaml", ".env.local", "app/.env",
        "data/rows.csv", "src/data/x.json", ".npmrc", "lib/.npmrc", ".cargo/config.toml", "crates/x/build.rs",
        "pnpm-workspace.yaml", "bunfig.toml", "uv.toml", ".yarnrc.yml", ".pnpmfile.cjs", "lib/x/package.json",
        "lib/x/bun.lock", "requirements-dev.txt", "lib/constraints.txt", "sub/pyproject.toml", "sub/setup.py", "sub/setup.cfg",
        "go.work", "sub/Cargo.toml", "vendor/x/package.json", "vendor/caf\u00e9.js", "vendor/a\tb.js", "Vendor/a.js",
        "Package.json", "lib/CARGO.TOML", ".GitHub/workflows/x.yml", "Data/x", ".ENV", "Requirements.txt",
        "pac\u212aage.json", "\u017fetup.py", "pack\u200bage.json", "src/a\u202eb.js", "src/a\u00adb.js", "src\\vendor.js",
        "lib/own/a.js", "lib/own/new/b.js", "package.json.", "lib/go.mod ", "vendor./x.js", "src/package.json::$DATA",
        "tools/template.json", "src/line\nbreak.js",
    )},
    "delete foreign": _delete("vendor/keep.js"),
    "delete workflow": _delete(".github/workflows/ci.yml"),
    "delete settings": _delete(".npmrc"),
    "mode of foreign": _mode("vendor/keep.js", "100755"),
    "foreign moved out": _move("vendor/keep.js", "src/keep.js"),
    "moved into foreign": _move("src/run.sh", "vendor/run.sh", at="vendor/run.sh"),
    "delete manifest": _of("manifest", _delete),
    "delete lock": _of("lock", _delete),
    "move manifest": _of("manifest", lambda path: _move(path, "docs/moved.txt")),
    "mode of manifest": _of("manifest", lambda path: _mode(path, "100755")),
    "mode of lock": _of("lock", lambda path: _mode(path, "100755")),
    "manifest as link": _of("manifest", lambda path: _link(path, "../" * path.count("/") + "docs/guide.md")),
    "lock as submodule": _of("lock", _module),
    "link to manifest": _of("manifest", lambda path: _link("docs/m.txt", f"../{path}")),
    "link to lock": _of("lock", lambda path: _link("docs/m.txt", f"./../{path}")),
    "link to foreign": _link("docs/v", "../vendor"),
    "link to nothing there yet": _link("docs/v", "../src/../vendor/new.js"),
    "delete behind a link": _delete("lib/own/a.js"),
    "link to foreign, slashes": _link("docs/v", "..//vendor/./"),
    "link with backslashes": _link("docs/v", "..\\vendor"),
    "link to a folded name": _link("docs/v", "../Vendor"),
    "link turned": _link("docs/latest", "../vendor/keep.js"),
    "link turned to a folder": _link("docs/latest", "../data"),
    "link to the whole": _link("docs/v", ".."),
    "link through a link": _link("docs/v", "../third/vendor/a.js"),
    "file in place of a manifest's link": _write("tools/package.json"),
    "delete a manifest's link": _delete("tools/package.json"),
    "link to link": _link("docs/v", "../tools/package.json"),
    "link to control": _link("src/ci", "../.github"),
    "link out": _link("docs/v", "../../etc/passwd"),
    "link up and back": _link("docs/v", "../../x/docs/guide.md"),
    "absolute link": _link("docs/v", "/etc/passwd"),
    "links around": _pair,
    "link as folder": _link("node_modules", "src"),
    "link to secrets": _link("docs/v", "../.env"),
    "submodule": _module("third/mod"),
    "submodule in foreign": _module("vendor/mod"),
}  # fmt: skip
GOOD_TREE: dict[str, Callable[[st.DrawFn, Draft], str | None]] = {
    **{f"write {path}": _write(path, b"good\n") for path in (
        "src/app.js", "src/new/deep/file.py", "src/vendor.py", "docs/requirements.md", "docs/gr\u00fcn.md", "database/x.sql",
        "src/data.py", "README", "docs/indult.yaml.md", "lib/package.json.bak", "src/environment.py", "docs/with space.md",
    )},
    "binary": _write("src/logo.png", bytes(range(256))),
    "empty": _write("src/empty", b""),
    "delete": _delete("src/app.js"),
    "delete link": _delete("docs/latest"),
    "rename": _move("docs/guide.md", "docs/manual.md"),
    "rename and change": _move("src/run.sh", "src/go.sh"),
    "mode": _mode("src/run.sh", "100644"),
    "executable": _mode("src/app.js", "100755"),
    "link": _link("docs/newest", "guide.md"),
    "link to a folder": _link("docs/src", "../src"),
    "link moved": _link("docs/latest", "../src/app.js"),
}  # fmt: skip


def _scripts(scripts: Mapping[str, str]) -> Callable[[st.DrawFn, Draft], str | None]:
    def apply(draw: st.DrawFn, draft: Draft) -> str | None:
        draft.project = replace(draft.project, scripts=scripts)
        return draft.world.manifest

    return apply


DISHONEST = (
    *PROJECT,
    *TEXTS,
    *(Edit(name, "tree", EVERY, apply) for name, apply in BAD_TREE.items()),
)
HARMLESS = (
    Edit("script changed", "project", NPM, _scripts({"test": "node --test"})),
    Edit("script added", "project", NPM, _scripts({"test": "node test.js", "build": "make"})),
    Edit("scripts removed", "project", NPM, _scripts({})),
    *(Edit(name, "tree", EVERY, apply) for name, apply in GOOD_TREE.items()),
)
