"""What one edit can do to the text of a manifest or a lock that nobody approved, file by file."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from tests.ship.layouts import normal

__all__ = ["TEXT", "Change"]

Change = Callable[[str, str, str], "str | bytes"]
"""Changes the text of a file, given the name of the own package and its version; the same text where it does not fit."""


def _doc(change: Callable[[Any, str, str], object]) -> Change:
    """Return a change of a JSON text by its value."""

    def changed(text: str, own: str, version: str) -> str:
        try:
            doc = json.loads(text)
        except ValueError:
            return text
        before = json.dumps(doc)
        change(doc, own, version)
        return text if json.dumps(doc) == before else json.dumps(doc, indent=2, ensure_ascii=False) + "\n"

    return changed


def _own(value: str) -> Change:
    """Return a change of the own entry in package.json."""

    def change(doc: Any, own: str, version: str) -> None:
        for section in ("dependencies", "devDependencies"):
            if own in doc.get(section, {}):
                doc[section][own] = value.format(own=own, version=version)

    return _doc(change)


def _set(*path: str, value: Any) -> Change:
    """Return a change that puts a value at a place in a JSON text; the own name stands for `OWN`."""

    def change(doc: Any, own: str, version: str) -> None:
        for key in path[:-1]:
            key = key.replace("OWN", own)
            if not isinstance(doc, dict):
                return
            doc = doc.setdefault(key, {})
        doc[path[-1].replace("OWN", own)] = value

    return _doc(change)


def _locked(change: Callable[[dict[str, Any], str], object]) -> Change:
    """Return a change of the own entry in package-lock.json."""

    def changed(doc: Any, own: str, version: str) -> None:
        entry = doc["packages"].get(f"node_modules/{own}")
        if entry is not None:
            change(entry, version)

    return _doc(changed)


def _add(text: str) -> Change:
    return lambda before, own, version: before + text.format(own=own, version=version)


def _sub(pattern: str, by: str) -> Change:
    """Return a change by a pattern in which OWN, NORM and VERSION stand for the package."""

    def change(text: str, own: str, version: str) -> str:
        words = {"OWN": own, "NORM": normal(own), "VERSION": version}
        found, put = pattern, by
        for word, value in words.items():
            found, put = found.replace(word, re.escape(value)), put.replace(word, value)
        return re.sub(found, lambda match: match.expand(put), text, count=1)

    return change


def _marked(text: str, own: str, version: str) -> bytes:
    return b"\xef\xbb\xbf" + text.encode()


def _broken(text: str, own: str, version: str) -> bytes:
    return text.encode().replace(b"demo", b"de\xffmo", 1)


SPOILT: Mapping[str, Change] = {"byte order mark": _marked, "bad encoding": _broken}
JSON_SPOILT: Mapping[str, Change] = {
    **SPOILT,
    "key twice": _sub(r"\{", r'{"name": "demo",'),
    "escaped key twice": _sub(r"\{", r'{"n\\u0061me": "demo",'),
    "comment": _sub(r"\{", "{ // libdb\n"),
    "two documents": _add("{{}}\n"),
    "not a number": _sub(r"\{", r'{"extra": NaN,'),
}
TEXT: dict[str, Mapping[str, Change]] = {
    "package.json": {
        **JSON_SPOILT,
        "alias": _own("npm:evil@{version}"),
        "git": _own("git+https://git.example/{own}.git#v{version}"),
        "tarball": _own("https://registry.example/{own}.tgz"),
        "range": _own("^{version}"),
        "x range": _own("{version} || 9.x"),
        "workspace": _own("workspace:*"),
        "local": _own("file:../own"),
        "lifecycle": _set("scripts", "postinstall", value="node evil.js"),
        "prepare": _set("scripts", "prepare", value="node evil.js"),
        "scripts are none": _set("scripts", "x", value={"a": "b"}),
        "override of another": _set("overrides", "else", value="1.0.0"),
        "nested override": _set("overrides", "else", value={"OWN": "1.0.0"}),
        "resolution": _set("resolutions", "else", value="1.0.0"),
        "pnpm override": _set("pnpm", "overrides", "else", value="1.0.0"),
        "section that is none": _set("peerDependencies", value=["else"]),
        "scripts that are a list": _set("scripts", value=["a"]),
        "optional": _set("optionalDependencies", "else", value="1.0.0"),
        "bundled": _set("bundleDependencies", value=["else"]),
        "workspaces": _set("workspaces", value=["packages/*"]),
        "trusted": _set("trustedDependencies", value=["else"]),
        "number for a bool": _set("private", value=1),
        "patch of another version": _set("patchedDependencies", "OWN@0.0.9", value="patches/x.patch"),
        "name": _set("name", value="other"),
    },
    "package-lock.json": {
        **JSON_SPOILT,
        "alias": _locked(lambda entry, version: entry.update(name="evil")),
        "another file": _locked(
            lambda entry, version: entry.update(
                resolved=f"https://npm.registry.example/evil/-/evil-{version}.tgz", integrity="sha512-evil"
            )
        ),
        "no integrity": _locked(lambda entry, version: entry.pop("integrity")),
        "link": _locked(lambda entry, version: entry.update(link=True)),
        "install script": _locked(lambda entry, version: entry.update(hasInstallScript=True)),
        "root copy": _set("packages", "", "dependencies", "else", value="1.0.0"),
        "lock version": _set("lockfileVersion", value=2),
    },
    "bun.lock": {
        **{name: change for name, change in JSON_SPOILT.items() if name != "comment"},
        "alias": _sub('"OWN@VERSION"', '"evil@VERSION"'),
        "another file": _sub(r'("OWN@VERSION",\s*)""', r'\1"https://evil.example/own.tgz"'),
        "trusted": _sub(r'"packages":', '"trustedDependencies": ["else"], "packages":'),
        "overrides": _sub(r'"packages":', '"overrides": {"else": "1.0.0"}, "packages":'),
    },
    "pnpm-lock.yaml": {
        **SPOILT,
        "bad encoding": lambda text, own, version: text.encode().replace(b"settings", b"sett\xffings", 1),
        "key twice": _add("lockfileVersion: '9.0'\n"),
        "anchor": _sub("settings:", "settings: &a"),
        "tag": _sub("autoInstallPeers: true", "autoInstallPeers: !!str true"),
        "two documents": _add("---\n{{}}\n"),
        "tarball": _sub(
            r"('?OWN@VERSION'?:\n    resolution: \{integrity: \w+-)\w+", r"\1evil, tarball: https://evil.example/x.tgz"
        ),
        "overrides": _sub("importers:", "overrides:\n  else: 1.0.0\n\nimporters:"),
    },
    "yarn.lock": {
        "byte order mark": _marked,
        "another head": _sub(r'("?OWN@[^:]*):\n', r"\1, else@9.9.9:\n"),
        "another file": _sub(
            r'(resolved ")[^"]*/OWN/-/[^"]*"', r'\1https://yarn.registry.example/evil/-/evil-VERSION.tgz#12"'
        ),
        "field twice": _sub(r'(  version "[^"]*"\n)', r"\1\1"),
        "another field": _sub(r"(/OWN/-/[^\n]*\n)", r"\1  languageName node\n"),
    },
    "pyproject.toml": {
        **SPOILT,
        "url": _sub('"OWN==VERSION"', '"OWN @ https://evil.example/own.tar.gz"'),
        "extra": _sub('"OWN==VERSION"', '"OWN[cli]==VERSION"'),
        "marker": _sub('"OWN==VERSION"', "\"OWN==VERSION; python_version > '3'\""),
        "range": _sub('"OWN==VERSION"', '"OWN>=VERSION"'),
        "any": _sub('"OWN==VERSION"', '"OWN==VERSION.*"'),
        "source": _add('\n[tool.uv.sources]\n"{own}" = {{ path = "../x" }}\n'),
        "source of another": _add('\n[tool.uv.sources]\nelse = {{ git = "https://git.example/x" }}\n'),
        "index": _add('\n[[tool.uv.index]]\nurl = "https://evil.example/simple"\ndefault = true\n'),
        "override": _add('\n[tool.uv]\noverride-dependencies = ["else==1.0.0"]\n'),
        "build": _sub('"hatchling==1.25.0"', '"hatchling==1.25.1"'),
        "backend": _sub("hatchling.build", "evil.build"),
        "dynamic": _sub('version = "0.1.0"', 'dynamic = ["version"]'),
        "key twice": _sub('name = "demo"', 'name = "demo"\nname = "demo"'),
        "another group": _add('\n[project.optional-dependencies]\nx = ["else==1.0.0"]\n'),
    },
    "uv.lock": {
        **SPOILT,
        "git": _sub(
            r'(name = "NORM"\nversion = "VERSION"\nsource = )[^\n]*', r'\1{ git = "https://git.example/x?rev=1#1" }'
        ),
        "another file": _sub(
            r'(name = "NORM"\n.*\n.*\n(?:dependencies.*\n)?sdist = \{ url = ")[^"]*',
            r"\1https://files.registry.example/packages/evil-VERSION.tar.gz",
        ),
        "no hash": _sub(
            r'(name = "NORM"\n.*\n.*\n(?:dependencies.*\n)?sdist = \{ url = "[^"]*"), hash = "[^"]*"', r"\1"
        ),
        "options": _sub("version = 1\n", 'version = 1\n[options]\nexclude-newer = "2020-01-01T00:00:00Z"\n'),
        "package twice": _add('\n[[package]]\nname = "demo"\nversion = "0.1.0"\nsource = {{ virtual = "." }}\n'),
        "key twice": _sub("version = 1\n", "version = 1\nversion = 1\n"),
    },
    "poetry.lock": {
        "byte order mark": _marked,
        "another file": _sub(r'(name = "NORM"\n(?:[^\[\n].*\n)*files = \[\{file = ")[^"]*', r"\1evil-VERSION.tar.gz"),
        "no hash": _sub(r'(name = "NORM"\n(?:[^\[\n].*\n)*files = \[\{file = "[^"]*"), hash = "[^"]*"', r"\1"),
        "metadata": _sub('python-versions = ">=3.11"\ncontent', 'python-versions = ">=3.12"\ncontent'),
        "key twice": _sub('lock-version = "2.1"', 'lock-version = "2.1"\nlock-version = "2.1"'),
    },
    "requirements.txt": {
        "byte order mark": _marked,
        "bad encoding": lambda text, own, version: text.encode() + b"# \xff\n",
        "index": _add("--index-url https://evil.example/simple\n"),
        "extra index": _add("--extra-index-url=https://evil.example/simple\n"),
        "included": _add("-r else.txt\n"),
        "editable": _add("-e .\n"),
        "another": _add("else==1.0.0\n"),
        "url": _sub("OWN==VERSION", "OWN @ https://evil.example/own.tar.gz"),
        "extra": _sub("OWN==VERSION", "OWN[cli]==VERSION"),
        "marker": _sub(r"OWN==VERSION( )", r"OWN==VERSION ; python_version > '3'\1"),
        "range": _sub("OWN==VERSION", "OWN>=VERSION"),
        "own twice": _add("{own}=={version}\n"),
        "hash left out": _sub(r"(OWN==VERSION)( \\\n *| )--hash=sha256:\w+", r"\1"),
    },
    "Cargo.toml": {
        **SPOILT,
        "features": _sub('OWN = "VERSION"', 'OWN = { version = "VERSION", features = ["x"] }'),
        "git": _sub('OWN = "VERSION"', 'OWN = { git = "https://git.example/x", version = "VERSION" }'),
        "renamed": _sub('OWN = "VERSION"', 'OWN = { package = "evil", version = "VERSION" }'),
        "range": _sub('OWN = "VERSION"', 'OWN = ">=VERSION"'),
        "exact": _sub('OWN = "VERSION"', 'OWN = "=VERSION"'),
        "patch": _add('\n[patch.crates-io]\nelse = {{ path = "x" }}\n'),
        "own patch": _add('\n[patch.crates-io]\n{own} = {{ git = "https://git.example/x" }}\n'),
        "build": _add('\n[build-dependencies]\nelse = "1.0.0"\n'),
        "edition": _sub("2021", "2024"),
        "key twice": _sub('name = "demo"', 'name = "demo"\nname = "demo"'),
        "build script": _sub('name = "demo"', 'name = "demo"\nbuild = "src/x.rs"'),
    },
    "Cargo.lock": {
        **SPOILT,
        "git": _sub(r'(name = "OWN"\nversion = "VERSION"\nsource = )[^\n]*', r'\1"git+https://git.example/x#1"'),
        "no checksum": _sub(r'(name = "OWN"\n.*\n.*\n)checksum.*\n', r"\1"),
        "package twice": _add('\n[[package]]\nname = "demo"\nversion = "0.1.0"\n'),
        "version": _sub("version = 4", "version = 3"),
    },
    "go.mod": {
        "byte order mark": _marked,
        "bad encoding": lambda text, own, version: text.encode() + b"// \xff\n",
        "replace": _add("replace {own} => example.com/evil v1.0.0\n"),
        "replace of another": _add("replace (\n\texample.com/else => ../x\n)\n"),
        "exclude": _add("exclude example.com/else v1.0.0\n"),
        "toolchain": _add("toolchain go1.99.0\n"),
        "go": _sub("go 1.22", "go 1.23"),
        "module": _sub("module example.com/demo", "module example.com/else"),
        "own twice": _add("require {own} v1.9.9\n"),
        "another": _add("require example.com/else v1.0.0\n"),
    },
    "go.sum": {
        "byte order mark": _marked,
        "another": _add("example.com/else v1.0.0 h1:abc=\n"),
        "own beyond": _add("{own} v9.9.9 h1:abc=\n"),
        "sum twice": _add("{own} {version} h1:evil=\n"),
        "not a sum": _add("{own}\n"),
    },
}
