from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indult.characters import misleading
from indult.decompose.manifests import _MODULES, _guarded, comparer
from indult.scopes import dependency_path

Bytes = bytes | None

PACKAGE: Final = b"""{
  "name": "demo", "version": "0.1.0", "private": true, "workspaces": ["a/*"],
  "scripts": {"test": "node test.js", "postinstall": "node x.js"},
  "dependencies": {"libdb": "1.8.2", "other": "^1.0.0"},
  "overrides": {"libdb": "1.8.2", "other": {"deep": "1.0.0"}},
  "patchedDependencies": {"libdb@1.8.2": "patches/libdb@1.8.2.patch"}
}
"""
NPM_LOCK: Final = b"""{
  "name": "demo", "lockfileVersion": 3, "requires": true,
  "packages": {
    "": {"name": "demo", "dependencies": {"libdb": "1.8.2", "other": "^1.0.0"}},
    "node_modules/libdb": {"version": "1.8.2", "resolved": "https://registry.example/libdb/-/libdb-1.8.2.tgz",
      "integrity": "sha512-AAAA", "dependencies": {"deep": "^1.0.0"}},
    "node_modules/deep": {"version": "1.0.0", "resolved": "https://registry.example/deep/-/deep-1.0.0.tgz"},
    "node_modules/other": {"resolved": "a/other", "link": true},
    "a/other": {"name": "other", "version": "1.0.0", "devDependencies": {"deep": "*"}}
  }
}
"""
NPM_LOCK_1: Final = b"""{
  "name": "demo", "lockfileVersion": 1, "requires": true,
  "dependencies": {
    "libdb": {"version": "1.8.2", "resolved": "https://registry.example/libdb/-/libdb-1.8.2.tgz",
      "integrity": "sha512-AAAA", "requires": {"deep": "^1.0.0"},
      "dependencies": {"deep": {"version": "1.0.0", "resolved": "https://registry.example/deep/-/deep-1.0.0.tgz"}}},
    "other": {"version": "git+https://git.example/other#aa", "from": "other@git+https://git.example/other"}
  }
}
"""
TOML: Final = b"""version = 4

[project]
name = "demo"
dependencies = ["libdb==1.8.2", "other[extra]>=1.0; python_version < '4'"]

[dependencies]
libdb = "1.8.2"
other = { version = "1.0.0", features = ["std"], path = "../other" }

[target.'cfg(unix)'.dev-dependencies.deep]
version = "1.0.0"

[tool.uv.sources]
libdb = { git = "https://git.example/libdb" }

[tool.poetry.dependencies]
python = "^3.11"
libdb = "1.8.2"
"""
UV: Final = b"""version = 1
revision = 2
requires-python = ">=3.11"

[[package]]
name = "demo"
version = "0.1.0"
source = { virtual = "." }
dependencies = [{ name = "libdb" }, { name = "other", marker = "sys_platform == 'x'" }]

[package.metadata]
requires-dist = [{ name = "libdb", specifier = "==1.8.2" }, { name = "other" }]

[[package]]
name = "libdb"
version = "1.8.2"
source = { registry = "https://registry.example/simple" }
sdist = { url = "https://registry.example/libdb-1.8.2.tar.gz", hash = "sha256:aa", size = 1 }
wheels = [{ url = "https://registry.example/libdb-1.8.2-py3-none-any.whl", hash = "sha256:bb", size = 1 }]

[[package]]
name = "other"
version = "1.0.0"
source = { git = "https://git.example/other?rev=1#aa" }
dependencies = [{ name = "libdb" }]
"""
POETRY: Final = b"""[[package]]
name = "libdb"
version = "1.8.2"
optional = false
python-versions = ">=3.8"
files = [{ file = "libdb-1.8.2.tar.gz", hash = "sha256:aa" }]

[[package]]
name = "other"
version = "1.0.0"
optional = false
python-versions = "*"
files = []

[package.dependencies]
libdb = ">=1.0"

[package.source]
type = "git"
url = "https://git.example/other"
resolved_reference = "aa"

[metadata]
lock-version = "2.1"
python-versions = ">=3.11"
content-hash = "abc"
"""
PDM: Final = b"""[metadata]
groups = ["default"]
strategy = ["inherit_metadata"]
lock_version = "4.5.0"
content_hash = "sha256:abc"

[[package]]
name = "libdb"
version = "1.8.2"
groups = ["default"]
files = [{ file = "libdb-1.8.2.tar.gz", hash = "sha256:aa" }]

[[package]]
name = "other"
version = "1.0.0"
extras = ["more"]
groups = ["default"]
dependencies = ["libdb>=1.0"]
files = [{ url = "https://registry.example/other-1.0.0.tar.gz", hash = "sha256:aa" }]
"""
REQUIREMENTS: Final = b"""--index-url https://registry.example/simple
-r base.txt
libdb==1.8.2 --hash=sha256:aa \\
    --hash=sha256:bb
Other[extra] >= 1.0 ; python_version < "4"  # via libdb
-e ./local
deep @ https://host.example/deep-1.0.0.whl
"""
CARGO_LOCK: Final = b"""version = 3

[[package]]
name = "demo"
version = "0.1.0"
dependencies = ["libdb", "deep 1.0.0"]

[[package]]
name = "libdb"
version = "1.8.2"
source = "registry+https://registry.example/index"
checksum = "aa"
dependencies = ["deep 2.0.0 (registry+https://registry.example/index)"]

[[package]]
name = "deep"
version = "1.0.0"
source = "git+https://git.example/deep?rev=1#0a1b"

[[package]]
name = "deep"
version = "2.0.0"
source = "registry+https://registry.example/index"
checksum = "bb"
"""
PNPM: Final = b"""lockfileVersion: '9.0'
importers:
  .:
    dependencies:
      libdb: {specifier: 1.8.2, version: 1.8.2}
      other: {specifier: ^1.0.0, version: 1.0.0(libdb@1.8.2)}
packages:
  libdb@1.8.2:
    resolution: {integrity: sha512-AAAA, tarball: https://registry.example/libdb/-/libdb-1.8.2.tgz}
  other@1.0.0:
    resolution: {integrity: sha512-BBBB}
    engines: {node: '>=18'}
snapshots:
  libdb@1.8.2: {}
  other@1.0.0(libdb@1.8.2):
    dependencies:
      libdb: 1.8.2
"""
YARN: Final = b"""# yarn lockfile v1


libdb@1.8.2, libdb@^1.8.0:
  version "1.8.2"
  resolved "https://registry.example/libdb/-/libdb-1.8.2.tgz#aa"
  integrity sha512-AAAA
  dependencies:
    deep "^1.0.0"

"deep@^1.0.0":
  version "1.0.0"
"""
BERRY: Final = b"""__metadata:
  version: 8
  cacheKey: 10

"demo@workspace:.":
  version: 0.0.0-use.local
  resolution: "demo@workspace:."
  dependencies:
    libdb: "npm:1.8.2"
  languageName: unknown
  linkType: soft

"libdb@npm:1.8.2":
  version: 1.8.2
  resolution: "libdb@npm:1.8.2"
  checksum: 10/aa
  languageName: node
  linkType: hard
"""
BUN: Final = b"""{
  "lockfileVersion": 1,
  "workspaces": {"": {"name": "demo", "dependencies": {"libdb": "1.8.2", "other": "^1.0.0",},},},
  "overrides": {"deep": "1.0.0",},
  "patchedDependencies": {"libdb@1.8.2": "patches/libdb@1.8.2.patch",},
  "packages": {
    "libdb": ["libdb@1.8.2", "", {"dependencies": {"deep": "^1.0.0"}}, "sha512-AAAA"],
    "libdb/deep": ["deep@1.0.0", "", {}, "sha512-BBBB"],
    "other": ["other@git+https://git.example/other#aa", {}, "aa"],
  }
}
"""
SETUP: Final = b"""[metadata]
name = demo

[options]
install_requires =
    libdb==1.8.2
    other[extra]>=1.0
setup_requires = setuptools

[options.extras_require]
dev = deep==1.0.0
"""
GO_MOD: Final = b"""module example.com/demo

go 1.22

require (
\texample.com/libdb v1.8.2
\t"example.com/other" v1.0.0-20240102030405-788fd7840127 // indirect
)

replace example.com/other => ../other

retract [v0.1.0, v0.2.0] // broken
"""
GO_SUM: Final = b"""example.com/libdb v1.8.2 h1:AAAA=
example.com/libdb v1.8.2/go.mod h1:BBBB=
example.com/other v1.0.0/go.mod h1:CCCC=
"""
GO_WORK: Final = b"go 1.22\n\nuse (\n\t./a\n\t./b\n)\n\nreplace example.com/libdb v1.8.2 => ./libdb\n"

# What each name usually holds; where there are two forms, both.
FILES: Final[dict[str, tuple[bytes, ...]]] = {
    "package.json": (PACKAGE,),
    "package-lock.json": (NPM_LOCK, NPM_LOCK_1),
    "npm-shrinkwrap.json": (NPM_LOCK, NPM_LOCK_1),
    "bun.lock": (BUN,),
    "pnpm-lock.yaml": (PNPM,),
    "yarn.lock": (YARN, BERRY),
    "pyproject.toml": (TOML,),
    "requirements.txt": (REQUIREMENTS,),
    "constraints-dev.txt": (REQUIREMENTS,),
    "setup.py": (b"from setuptools import setup\n\nsetup(install_requires=['libdb==1.8.2'])\n",),
    "setup.cfg": (SETUP,),
    "uv.lock": (UV,),
    "poetry.lock": (POETRY,),
    "pdm.lock": (PDM,),
    "Cargo.toml": (TOML,),
    "Cargo.lock": (CARGO_LOCK,),
    "go.mod": (GO_MOD,),
    "go.sum": (GO_SUM,),
    "go.work": (GO_WORK,),
}

# What separates, quotes, nests, repeats and hides in these formats.
PIECES: Final = (
    *(b"\n", b"\r", b"\r\n", b"\t", b" ", b"\0", b"#", b"//", b"/*", b";", b",", b":", b"=", b"@", b"*", b"-", b"~"),
    *(b'"', b"'", b"`", b"\\", b'"""', b"'''", b"{", b"}", b"[", b"]", b"[[", b"(", b")", b"<<: ", b"&a ", b"*a"),
    *(b"null", b"true", b"1", b"1.0", b"1e999", b"NaN", b"!!python/none ", b"---\n", b"? ", b"| ", b"__proto__"),
    *(b"\xff", b"\xc0\x80", b"\xef\xbb\xbf", "\u2028".encode(), "\u202e".encode(), "\u200b".encode(), "é".encode()),
    *(b'"a\\nb" = 1\n', b'"\\u202e": 1,', b'"\\ud800": 1,', b"libdb", b"1.8.3", b"none", b"link:", b"npm:a@1", b"git+"),
)
TARGET: Final = re.compile(r"(entry|script|lifecycle|field|change):(?P<path>[^#]*)#(?P<said>.+)\Z", re.DOTALL)


@st.composite
def mutated(draw: st.DrawFn, original: bytes) -> bytes:
    """Draw a file that was cut, repeated, moved about and put pieces into."""
    raw = original
    for _ in range(draw(st.integers(0, 4))):
        start, end = sorted(draw(st.tuples(*[st.integers(0, len(raw))] * 2)))
        part, piece = raw[start:end], draw(st.sampled_from(PIECES))
        instead = [
            b"",
            part + part,
            part[::-1],
            part.replace(b"libdb", b"other"),
            part.replace(b"1.8.2", b"1.8.3"),
            piece,
            piece + part,
        ]
        raw = raw[:start] + draw(st.sampled_from(instead)) + raw[end:]
    return raw


def sides(name: str) -> st.SearchStrategy[bytes]:
    """Return what may stand on one side of a comparison."""
    return st.binary(max_size=40) | st.one_of([mutated(raw) for raw in FILES[name]]) | st.sampled_from(FILES[name])


def check(path: str, old: Bytes, new: bytes) -> tuple[str, ...]:
    """Compare, and check that each target can be judged and read: an exact name, once, in order."""
    compare = comparer(path)
    assert compare is not None
    found = compare(path, old, new)

    assert found == tuple(sorted(set(found)))
    for target in found:
        if target.startswith("write:"):
            # A patch that an entry of the manifest names.
            assert dependency_path(target.removeprefix("write:"))
            continue
        parts = TARGET.match(target)
        assert parts is not None
        assert path == parts["path"]
        assert not any(map(misleading, parts["said"]))
        if target.startswith("entry:"):
            # A place that only leads to another one has no version, and no scope can name that.
            assert parts["said"].rpartition("@")[0]
    return found


def test_each_manifest_is_tried() -> None:
    """No manifest is left out here."""
    assert {*_MODULES, "requirements.txt", "constraints-dev.txt"} == set(FILES)


@pytest.mark.parametrize("name", FILES)
def test_what_files_hold_is_read(name: str) -> None:
    """The files that the others are made of can be read, so that more is tried than refusals."""
    assert [()] * len(FILES[name]) == [check(name, raw, raw) for raw in FILES[name]]


@pytest.mark.parametrize("name", FILES)
@settings(max_examples=25, deadline=None)
@given(data=st.data(), folder=st.sampled_from(["", "packages/a/"]))
def test_any_bytes_have_an_answer(name: str, folder: str, data: st.DataObject) -> None:
    """Whatever stands on either side, a comparison ends in exact targets."""
    old = data.draw(st.none() | sides(name), "old")
    new = data.draw(sides(name), "new")

    check(folder + name, old, new)


@pytest.mark.parametrize("name", FILES)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_equal_bytes_are_no_change(name: str, data: st.DataObject) -> None:
    """Of two equal files nothing is told, unless nobody can read them."""
    raw = data.draw(sides(name), "raw")

    found = check(name, raw, raw)

    assert found == () or [f"change:{name}#not readable"] == [target.partition(": ")[0] for target in found]


@pytest.mark.parametrize("name", FILES)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_what_nobody_can_read_opens_nothing(name: str, data: st.DataObject) -> None:
    """A side that cannot be read is one change, whatever stands on the other."""
    raw = data.draw(sides(name), "raw")
    other = data.draw(sides(name), "other")
    refused = check(name, raw, raw)

    for old, new in ((raw, other), (other, raw)):
        if refused:
            (found,) = check(name, old, new)
            assert found.startswith(f"change:{name}#")


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("#a\n@1.0.0", "#a\\u000a@1.0.0"),
        ("#/a\u202eb", "#/a\\u202eb"),
        ("#/a\u200bb", "#/a\\u200bb"),
        ("#" + "a" * 1_000, "#" + "a" * 99 + "..."),
    ],
)
def test_what_a_person_cannot_read_is_a_change(said: str, shown: str) -> None:
    """A comparer that lets a misleading or endless name through does not get it into a target."""

    def careless(path: str, old: Bytes, new: bytes) -> Iterator[str]:
        yield f"entry:{path}{said}"

    assert (f"change:go.mod#cannot be shown: {shown}",) == _guarded(careless, "go.mod", None, b"")


REPEATED: Final[tuple[Callable[[int], bytes], ...]] = (
    lambda count: b"[" * count,
    lambda count: b'{"a":' * count,
    lambda count: b"a." * count + b"b = 1\n",
    lambda count: b"[a]\n" * count,
    lambda count: b"".join(b"[a%d.b]\nc = 1\n" % number for number in range(count // 10)),
    lambda count: b'"' * count,
    lambda count: b"\\" * count,
    lambda count: b"(\n" * count,
    lambda count: b"require a.example/b v1.0.0\n" * count,
    lambda count: b" " * count + b"x",
    lambda count: b"a" * count,
    lambda count: b"- " * count,
    lambda count: b"a: &a {}\n" + b"b: *a\n" * count,
    lambda count: b"libdb==1.8.2 \\\n" * count,
    lambda count: b",".join([b'"a":1'] * count).join([b"{", b"}"]),
)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("shape", range(len(REPEATED)))
def test_much_of_the_same_ends(name: str, shape: int) -> None:
    """A long file of one repeated piece has an answer, and not by way of a crash."""
    raw = REPEATED[shape](4_000)

    for old, new in ((None, raw), (FILES[name][0], raw), (raw, FILES[name][0])):
        found = check(name, old, new)
        assert not any(re.search(r"not readable: [A-Z]\w+(Error|Exception)\Z", target) for target in found)
