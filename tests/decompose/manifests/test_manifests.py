from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.decompose.manifests.asking import told

from indult.decompose.manifests import _guarded, comparer


@pytest.mark.parametrize(
    "path",
    [
        *("package.json", "a/b/package.json", "package-lock.json", "npm-shrinkwrap.json", "bun.lock"),
        *("pnpm-lock.yaml", "yarn.lock"),
    ],
)
def test_manifests_and_locks_at_any_depth(path: str) -> None:
    """A manifest or lock is known by its name, wherever it stands."""
    assert comparer(path) is not None


@pytest.mark.parametrize(
    "path",
    [
        *("vendor/package.json", "a/node_modules/b/package.json", "patches/yarn.lock", "package.json.bak"),
        *("Package.json", "xpackage.json", "src/a.py", "yarn.lock/a", ""),
    ],
)
def test_what_is_not_taken_apart(path: str) -> None:
    """What is no manifest, and a manifest inside of somebody else's code, has no comparer."""
    assert comparer(path) is None


FAMILY = ("package.json", "package-lock.json", "npm-shrinkwrap.json", "bun.lock", "pnpm-lock.yaml", "yarn.lock")


@pytest.mark.parametrize("path", FAMILY)
@pytest.mark.parametrize(
    "raw",
    [
        *(
            b"\xff",
            b"\xef\xbb\xbf{}",
            b"{",
            b"[]",
            b"1",
            b"null",
            b'"a"',
            b"{}\0",
            "{}".encode("utf-16"),
            b"[" * 100_000,
        ),
        *(b'{"a":' * 50_000, b"<<<<<<< HEAD\n", b"- a\n- b\n", b'{"a": 1, "a": 1}', b'{"dependencies": {"a": NaN}}'),
    ],
)
def test_what_no_reader_of_the_family_takes(path: str, raw: bytes) -> None:
    """Bytes that are no such file, on either side, are one change that says so."""
    for old, new in [(raw, b"{}"), (b"{}", raw), (raw, raw), (None, raw)]:
        (found,) = told(path, old, new)
        assert found.startswith(f"change:{path}#not readable: ")


@pytest.mark.parametrize("path", FAMILY)
@pytest.mark.parametrize(
    "raw",
    [
        *(b'{"packages": [], "dependencies": 1}', b'{"packages": null}', b"", b"{}", b"a: &x {}\nb: *x\n"),
        *(
            b'{"lockfileVersion": 3, "packages": {"node_modules/a": 1}}',
            b'{"lockfileVersion": true}',
            b'{"scripts": 1}',
        ),
        b'{"lockfileVersion": 1, "packages": {"a": [["a@1"]]}, "workspaces": {"": {"dependencies": 1}}}',
        b'{"lockfileVersion": 1, "dependencies": {"a": {"version": [], "resolved": {}, "dependencies": {"b": {}}}}}',
        b"lockfileVersion: '9.0'\nimporters: {.: {dependencies: [a]}}\npackages: {a: 1}\n",
        b"lockfileVersion: '9.0'\nimporters: {.: {dependencies: {a: 1}}}\npackages: {a@1: {resolution: 1}}\n",
        b"__metadata: {version: 8}\na@npm:1: {resolution: [], version: {}, dependencies: []}\n",
        b"__metadata: 1\na@npm:1: {resolution: 1}\n",
    ],
)
def test_no_bytes_make_it_raise(path: str, raw: bytes) -> None:
    """Whatever the bytes are, on either side, the answer is made of targets."""
    for old, new in [(raw, b"{}"), (b"{}", raw), (raw, raw), (None, raw)]:
        kinds = {one.partition(":")[0] for one in told(path, old, new)}
        assert kinds <= {"change", "field", "entry"}


def test_too_large() -> None:
    """A file of more than 32 MB is not read."""
    assert told("package.json", None, b" " * 32_000_001) == ("change:package.json#not readable: over 32000000 bytes",)


def test_an_error_of_ours_is_a_change() -> None:
    """A mistake in a comparer never becomes an answer that opens something."""

    def broken(path: str, old: bytes | None, new: bytes) -> Iterator[str]:
        yield "entry:a#b@1"
        raise KeyError(path)

    assert _guarded(broken, "a", None, b"") == ("change:a#not readable: KeyError",)
