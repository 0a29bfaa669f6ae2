"""How a small project is written down in each ecosystem: its manifest and its lock, in several layouts."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

__all__ = ["KINDS", "LOCKS", "MANIFESTS", "NEEDED", "PYTHON", "Package", "Project", "Style", "normal", "render"]

MANIFESTS = {
    "package-lock": "package.json",
    "bun": "package.json",
    "pnpm": "package.json",
    "yarn": "package.json",
    "uv": "pyproject.toml",
    "poetry": "pyproject.toml",
    "requirements": "requirements.txt",
    "cargo": "Cargo.toml",
    "go": "go.mod",
}
LOCKS = {
    "package-lock": "package-lock.json",
    "bun": "bun.lock",
    "pnpm": "pnpm-lock.yaml",
    "yarn": "yarn.lock",
    "uv": "uv.lock",
    "poetry": "poetry.lock",
    "cargo": "Cargo.lock",
    "go": "go.sum",
}
KINDS = tuple(MANIFESTS)
PYTHON = frozenset({"uv", "poetry", "requirements"})
NEEDED = ">=0.1.0"
"""The range in which packages need each other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """One package of a lock: its version, the names that it needs, where it comes from, and what is in it."""

    version: str
    needs: tuple[str, ...] = ()
    host: str = "registry.example"
    seal: str = "a"


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """What a project needs itself, with the text of the version, and all packages of its lock."""

    direct: Mapping[str, str]
    dev: Mapping[str, str]
    packages: Mapping[str, Package]
    patched: Mapping[str, str] = field(default_factory=dict)
    scripts: Mapping[str, str] = field(default_factory=lambda: {"test": "node test.js"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """What may differ between two ways to write the same."""

    indent: int = 2
    turned: bool = False
    comments: bool = False

    def sort(self, values: Iterable[str]) -> list[str]:
        """Return the names in the order of this style."""
        return sorted(values, reverse=self.turned)


def normal(name: str) -> str:
    """Return a name of Python as locks write it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def render(kind: str, project: Project, style: Style) -> dict[str, str]:
    """Return the manifest, and the lock if this kind has one."""
    manifest = _WRITERS[MANIFESTS[kind]](project, style)
    if kind not in LOCKS:
        return {MANIFESTS[kind]: manifest}
    return {MANIFESTS[kind]: manifest, LOCKS[kind]: _WRITERS[LOCKS[kind]](project, style)}


def _sum(name: str, package: Package) -> str:
    return sha256(f"{name} {package.version} {package.seal}".encode()).hexdigest()


def _json(value: Any, style: Style) -> str:
    return json.dumps(value, indent=style.indent or None, ensure_ascii=False) + "\n"


def _sections(project: Project, style: Style) -> dict[str, dict[str, str]]:
    found = {"dependencies": project.direct, "devDependencies": project.dev}
    return {name: {key: part[key] for key in style.sort(part)} for name, part in found.items() if part}


def _needs(package: Package, style: Style) -> dict[str, Any]:
    return {"dependencies": dict.fromkeys(style.sort(package.needs), NEEDED)} if package.needs else {}


def _package_json(project: Project, style: Style) -> str:
    head = {"name": "demo", "version": "0.1.0", "private": True, "scripts": dict(project.scripts)}
    tail = {**_sections(project, style), **({"patchedDependencies": dict(project.patched)} if project.patched else {})}
    return _json({**tail, **head} if style.turned else {**head, **tail}, style)


def _tarball(name: str, package: Package) -> str:
    return f"https://npm.{package.host}/{name}/-/{name.rpartition('/')[2]}-{package.version}.tgz"


def _package_lock(project: Project, style: Style) -> str:
    packages: dict[str, Any] = {"": {"name": "demo", "version": "0.1.0", **_sections(project, style)}}
    for name in style.sort(project.packages):
        package = project.packages[name]
        packages[f"node_modules/{name}"] = {
            "version": package.version,
            "resolved": _tarball(name, package),
            "integrity": f"sha512-{_sum(name, package)}",
            **_needs(package, style),
        }
    head = {"name": "demo", "version": "0.1.0", "lockfileVersion": 3, "requires": True}
    return _json({**head, "packages": packages}, style)


def _bun(project: Project, style: Style) -> str:
    packages = {}
    for name in style.sort(project.packages):
        package = project.packages[name]
        place = "" if package.host == "registry.example" else _tarball(name, package)
        packages[name] = [
            f"{name}@{package.version}",
            place,
            _needs(package, style),
            f"sha512-{_sum(name, package)}",
        ]
    patched = {"patchedDependencies": dict(project.patched)} if project.patched else {}
    spaces = {"": {"name": "demo", **_sections(project, style)}}
    text = _json({"lockfileVersion": 1, "workspaces": spaces, **patched, "packages": packages}, style)
    return re.sub(r'(?<=[\]}"\w])\n(\s*[}\]])', r",\n\1", text) if style.comments else text


def _quoted(text: str) -> str:
    return f"'{text}'" if text.startswith("@") else text


def _pnpm(project: Project, style: Style) -> str:
    lines = ["lockfileVersion: '9.0'", "", "settings:", "  autoInstallPeers: true", ""]
    if project.patched:
        lines.append("patchedDependencies:")
        for key, path in project.patched.items():
            lines += [f"  {_quoted(key)}:", f"    hash: {sha256(path.encode()).hexdigest()}", f"    path: {path}"]
        lines.append("")
    lines += ["importers:", "", "  .:"]
    for section, part in _sections(project, style).items():
        lines.append(f"    {section}:")
        for name, spec in part.items():
            lines += [f"      {_quoted(name)}:", f"        specifier: '{spec}'"]
            lines.append(f"        version: {project.packages[name].version}")
    keys = {name: f"{name}@{package.version}" for name, package in project.packages.items()}
    lines += ["", "packages:", ""]
    for name in style.sort(keys):
        package = project.packages[name]
        tarball = "" if package.host == "registry.example" else f", tarball: {_tarball(name, package)}"
        lines += [f"  {_quoted(keys[name])}:", f"    resolution: {{integrity: sha512-{_sum(name, package)}{tarball}}}"]
        lines += [""] if style.indent else []
    lines += ["snapshots:", ""]
    for name in style.sort(keys):
        needs = style.sort(project.packages[name].needs)
        lines.append(f"  {_quoted(keys[name])}:" + ("" if needs else " {}"))
        lines += ["    dependencies:"] if needs else []
        lines += [f"      {_quoted(need)}: {project.packages[need].version}" for need in needs]
    return "\n".join(["# made by hand"] * style.comments + lines) + "\n"


def _yarn(project: Project, style: Style) -> str:
    lines = ["# yarn lockfile v1", "", ""]
    lines += ["# made by hand"] * style.comments
    for name in style.sort(project.packages):
        package = project.packages[name]
        specs = {part[name] for part in (project.direct, project.dev) if name in part}
        specs |= {NEEDED for other in project.packages.values() if name in other.needs}
        heads = [f"{name}@{spec}" for spec in style.sort(specs or {package.version})]
        lines.append(", ".join(f'"{head}"' if set(head[:1]) & {"@"} or ">" in head else head for head in heads) + ":")
        lines.append(f'  version "{package.version}"')
        lines.append(f'  resolved "{_tarball(name, package)}#{_sum(name, package)[:40]}"')
        lines.append(f"  integrity sha512-{_sum(name, package)}")
        lines += ["  dependencies:"] if package.needs else []
        lines += [
            f'    {f"{chr(34)}{need}{chr(34)}" if need.startswith("@") else need} "{NEEDED}"'
            for need in style.sort(package.needs)
        ]
        lines.append("")
    return "\n".join(lines)


def _pyproject(project: Project, style: Style) -> str:
    def listed(part: Mapping[str, str]) -> list[str]:
        return [f'  "{name}{part[name]}",' for name in style.sort(part)]

    note = ["# made by hand"] * style.comments
    lines = ["[project]", 'name = "demo"', 'version = "0.1.0"', *note, "dependencies = ["]
    lines += [*listed(project.direct), "]", ""]
    lines += ["[dependency-groups]", "dev = [", *listed(project.dev), "]", ""]
    lines += ["[build-system]", 'requires = ["hatchling==1.25.0"]', 'build-backend = "hatchling.build"']
    return "\n".join(lines) + "\n"


def _uv(project: Project, style: Style) -> str:
    lines = ["version = 1", "revision = 2", 'requires-python = ">=3.11"', ""]
    lines += ["[[package]]", 'name = "demo"', 'version = "0.1.0"', 'source = { virtual = "." }', "dependencies = ["]
    lines += [f'    {{ name = "{normal(name)}" }},' for name in style.sort(project.direct)]
    lines += ["]", ""]
    if project.dev:
        lines += ["[package.dev-dependencies]", "dev = ["]
        lines += [f'    {{ name = "{normal(name)}" }},' for name in style.sort(project.dev)] + ["]", ""]
    lines += ["[package.metadata]", "requires-dist = ["]
    lines += [_required(name, project.direct) for name in style.sort(project.direct)] + ["]", ""]
    lines += ["[package.metadata.requires-dev]", "dev = ["]
    lines += [_required(name, project.dev) for name in style.sort(project.dev)] + ["]", ""]
    for name in style.sort(project.packages):
        package, key = project.packages[name], normal(name)
        file = f"https://files.{package.host}/packages/{key.replace('-', '_')}-{package.version}"
        lines += ["# made by hand"] * style.comments
        lines += ["[[package]]", f'name = "{key}"', f'version = "{package.version}"']
        lines.append(f'source = {{ registry = "https://py.{package.host}/simple" }}')
        if package.needs:
            needs = ", ".join(f'{{ name = "{normal(need)}" }}' for need in sorted(package.needs))
            lines.append(f"dependencies = [{needs}]")
        lines.append(f'sdist = {{ url = "{file}.tar.gz", hash = "sha256:{_sum(name, package)}", size = 12 }}')
        lines.append(f'wheels = [{{ url = "{file}-py3-none-any.whl", hash = "sha256:{_sum(key, package)[::-1]}" }}]')
        lines.append("")
    return "\n".join(lines)


def _required(name: str, part: Mapping[str, str]) -> str:
    return f'    {{ name = "{normal(name)}", specifier = "{part[name]}" }},'


def _poetry(project: Project, style: Style) -> str:
    lines = ["# made by hand"] * style.comments
    for name in style.sort(project.packages):
        package, key = project.packages[name], normal(name)
        lines += ["[[package]]", f'name = "{key}"', f'version = "{package.version}"', 'description = ""']
        lines += ["optional = false", 'python-versions = ">=3.11"']
        file = f"{key.replace('-', '_')}-{package.version}.tar.gz"
        lines.append(f'files = [{{file = "{file}", hash = "sha256:{_sum(name, package)}"}}]')
        lines.append("")
        if package.needs:
            lines += ["[package.dependencies]", *(f'{normal(need)} = "{NEEDED}"' for need in style.sort(package.needs))]
            lines.append("")
        if package.host != "registry.example":
            lines += ["[package.source]", 'type = "legacy"', f'url = "https://{package.host}/simple"']
            lines += ['reference = "own"', ""]
    made = sha256(repr((dict(project.direct), dict(project.dev))).encode()).hexdigest()
    lines += ["[metadata]", 'lock-version = "2.1"', 'python-versions = ">=3.11"', f'content-hash = "{made}"']
    return "\n".join(lines) + "\n"


def _requirements(project: Project, style: Style) -> str:
    lines = ["# made by hand", ""] * style.comments
    for name in style.sort({**project.direct, **project.dev}):
        spec = {**project.direct, **project.dev}[name]
        seal = _sum(name, project.packages[name])
        if style.indent:
            lines += [f"{name}{spec} \\", f"{' ' * style.indent}--hash=sha256:{seal}"]
        else:
            lines.append(f"{name}{spec} --hash=sha256:{seal}")
    return "\n".join(lines) + "\n"


def _cargo_toml(project: Project, style: Style) -> str:
    lines = ["[package]", 'name = "demo"', 'version = "0.1.0"', 'edition = "2021"', ""]
    for section, part in (("dependencies", project.direct), ("dev-dependencies", project.dev)):
        lines += ["# made by hand"] * style.comments + [f"[{section}]"]
        lines += [f'{name} = "{part[name]}"' for name in style.sort(part)] + [""]
    return "\n".join(lines)


def _cargo_lock(project: Project, style: Style) -> str:
    roots = ", ".join(f'"{name}"' for name in style.sort({**project.direct, **project.dev}))
    lines = ["# made by hand"] * style.comments + ["version = 4", ""]
    lines += ["[[package]]", 'name = "demo"', 'version = "0.1.0"', f"dependencies = [{roots}]", ""]
    for name in style.sort(project.packages):
        package = project.packages[name]
        lines += ["[[package]]", f'name = "{name}"', f'version = "{package.version}"']
        lines += [f'source = "registry+https://{package.host}/index"', f'checksum = "{_sum(name, package)}"']
        needs = ", ".join(f'"{need}"' for need in style.sort(package.needs))
        lines += [f"dependencies = [{needs}]"] if needs else []
        lines.append("")
    return "\n".join(lines)


def _go_mod(project: Project, style: Style) -> str:
    lines = ["module example.com/demo", "", "go 1.22", ""] + ["// made by hand"] * style.comments
    both = {name: f"{name} {spec}" for name, spec in project.direct.items()}
    both |= {name: f"{name} {spec} // indirect" for name, spec in project.dev.items()}
    if style.indent:
        lines += ["require (", *(f"\t{both[name]}" for name in style.sort(both)), ")"]
    else:
        lines += [f"require {both[name]}" for name in style.sort(both)]
    return "\n".join(lines) + "\n"


def _go_sum(project: Project, style: Style) -> str:
    lines = []
    for name in style.sort(project.packages):
        package = project.packages[name]
        lines += [f"{name} {package.version} h1:{_sum(name, package)[:43]}="]
        lines += [f"{name} {package.version}/go.mod h1:{_sum(name, package)[::-1][:43]}="]
    return "\n".join(lines) + "\n"


_WRITERS: dict[str, Callable[[Project, Style], str]] = {
    "package.json": _package_json,
    "package-lock.json": _package_lock,
    "bun.lock": _bun,
    "pnpm-lock.yaml": _pnpm,
    "yarn.lock": _yarn,
    "pyproject.toml": _pyproject,
    "uv.lock": _uv,
    "poetry.lock": _poetry,
    "requirements.txt": _requirements,
    "Cargo.toml": _cargo_toml,
    "Cargo.lock": _cargo_lock,
    "go.mod": _go_mod,
    "go.sum": _go_sum,
}
