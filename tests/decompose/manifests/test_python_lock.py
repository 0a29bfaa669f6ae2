from __future__ import annotations

import pytest

from indult.decompose.manifests import comparer

PACKAGE = """\
[[package]]
name = "httpkit"
version = "2.1.0"
{}

"""
LOCKS = {
    "uv.lock": "version = 1\n"
    + PACKAGE.format('sdist = { url = "https://files.registry.example/httpkit-2.1.0.zip", hash = "sha256:aa" }'),
    "sub/poetry.lock": PACKAGE.format('files = [{file = "httpkit-2.1.0.zip", hash = "sha256:aa"}]'),
    "pdm.lock": PACKAGE.format('files = [{file = "httpkit-2.1.0.zip", hash = "sha256:aa"}]'),
}


def told(path: str, old: bytes | None, new: bytes) -> tuple[str, ...]:
    """What changed between two contents of a lock."""
    compare = comparer(path)
    assert compare is not None
    return compare(path, old, new)


@pytest.mark.parametrize("path", LOCKS)
def test_three_kinds(path: str) -> None:
    """The name of a lock says which form it has, in any folder."""
    old, new = LOCKS[path], LOCKS[path].replace("2.1.0", "2.1.1")
    assert told(path, old.encode(), new.encode()) == (f"entry:{path}#httpkit@2.1.1",)
    assert told(path, old.encode(), b"version = 1\n" if path == "uv.lock" else b"") == (f"entry:{path}#httpkit@none",)


@pytest.mark.parametrize("path", LOCKS)
def test_new_packages(path: str) -> None:
    """A package that was in no version before comes from the registry that the others come from."""
    old, other = LOCKS[path], PACKAGE.replace("httpkit", "newkit")
    good = LOCKS[path].partition("{}")[0][LOCKS[path].index("[[") :].replace("httpkit", "newkit")
    assert told(path, old.encode(), (old + good).encode()) == (f"entry:{path}#newkit@2.1.0",)
    bare = told(path, old.encode(), (old + other.format("")).encode())
    assert bare[0].startswith(f"change:{path}#newkit: ")
    more = told(path, old.encode(), (old + good.replace("version", 'evil = "x"\nversion')).encode())
    assert more == (f"change:{path}#newkit: has `evil`", f"entry:{path}#newkit@2.1.0")


@pytest.mark.parametrize("path", LOCKS)
@pytest.mark.parametrize(
    "raw",
    [
        b"\xef\xbb\xbf",
        b"\xff",
        b"a = 1\na = 2\n",
        b"package = 1\n",
        b"[[package]]\n",
        b"x = nan\n",
        b"a = " + b"[" * 9999,
    ],
)
def test_what_cannot_be_read(path: str, raw: bytes) -> None:
    """What is no lock, or could be read two ways, is not read."""
    for old, new in ((LOCKS[path].encode(), raw), (raw, LOCKS[path].encode())):
        (found,) = told(path, old, new)
        assert found.startswith(f"change:{path}#not readable: ")
