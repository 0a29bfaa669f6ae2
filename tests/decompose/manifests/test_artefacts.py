from __future__ import annotations

from typing import Any

import pytest

from indult.decompose.manifests.artefacts import hosts, wrong

HOST = "https://files.registry.example/packages"


def url(name: str, mark: str | None = "sha256:aa", host: str = HOST) -> dict[str, Any]:
    """A file that is fetched from an address."""
    return {"url": f"{host}/{name}"} | ({} if mark is None else {"hash": mark})


def file(name: str, mark: str | None = "sha256:aa") -> dict[str, Any]:
    """A file that the index finds."""
    return {"file": name} | ({} if mark is None else {"hash": mark})


@pytest.mark.parametrize(
    ("name", "version", "written"),
    [
        ("httpkit", "2.1.1", "httpkit-2.1.1.tar.gz"),
        ("httpkit", "2.1.1", "HttpKit-2.1.1.zip"),
        ("httpkit", "2.1.1", "httpkit-2.1.1-py3-none-any.whl"),
        ("httpkit", "2.1.1", "httpkit-2.1.1-1-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl"),
        ("httpkit", "2.1.1", "httpkit-2.1.1-py3.11.egg"),
        ("httpkit", "2.1.0", "httpkit-2.1.tar.gz"),
        ("http-kit", "2.1.1", "http_kit-2.1.1.tar.gz"),
        ("http-kit", "2.1.1", "http-kit-2.1.1.tar.gz"),
        ("http-kit", "2.1.1", "http.kit-2.1.1-py3-none-any.whl"),
        ("httpkit", "2.1.1+cu121", "httpkit-2.1.1%2Bcu121-py3-none-any.whl"),
        ("httpkit", "2.1.1+cu121", "httpkit-2.1.1+cu121-py3-none-any.whl"),
        ("httpkit", "2.1.1.post1", "httpkit-2.1.1-1.tar.gz"),
    ],
)
def test_files_of_a_version(name: str, version: str, written: str) -> None:
    """The usual spellings of a file's name are those of its package and version."""
    assert wrong(None, [url(written)], name, version) is None


@pytest.mark.parametrize(
    "written",
    [
        "httpkit-2.1.0.tar.gz",
        "httpkit-2.1.1.1.tar.gz",
        "evil-2.1.1.tar.gz",
        "httpkit-evil-2.1.1.tar.gz",
        "httpkit_evil-2.1.1-py3-none-any.whl",
        "httpkit-2.1.1.exe",
        "httpkit-2.1.1",
        "httpkit.whl",
        "2.1.1-httpkit.tar.gz",
        "httpkit-2.1.1.tar.gz%0A",
    ],
)
def test_files_of_something_else(written: str) -> None:
    """A file of another package or version is named."""
    assert (wrong(None, [url(written)], "httpkit", "2.1.1") or "").startswith("a file of another package or version")


@pytest.mark.parametrize(
    "place",
    [
        "https://files.registry.example/../httpkit-2.1.1.tar.gz",
        "https://files.registry.example/%2e%2e/httpkit-2.1.1.tar.gz",
        "https://files.registry.example/a%2Fhttpkit-2.1.1.tar.gz",
        "https://files.registry.example/get?x=/httpkit-2.1.1.tar.gz",
        "https://files.registry.example/evil.tar.gz#/httpkit-2.1.1.tar.gz",
        "https://files.registry.example@evil.example/httpkit-2.1.1.tar.gz",
        "https://files.registry.example\\@evil.example/httpkit-2.1.1.tar.gz",
        "file:///httpkit-2.1.1.tar.gz",
        "ftp://files.registry.example/httpkit-2.1.1.tar.gz",
        "//files.registry.example/httpkit-2.1.1.tar.gz",
        "httpkit-2.1.1.tar.gz",
        "https://files.registry.example/" + "a/" * 3000 + "httpkit-2.1.1.tar.gz",
    ],
)
def test_addresses(place: str) -> None:
    """An address that could lead somewhere else than its host and last part say is not read."""
    found = wrong(None, [{"url": place, "hash": "sha256:aa"}], "httpkit", "2.1.1") or ""
    assert found.startswith("an address that cannot be read")
    assert hosts([{"url": place}]) != hosts([url("httpkit-2.1.1.tar.gz")])


@pytest.mark.parametrize(
    ("one", "what"),
    [
        ("httpkit-2.1.1.tar.gz", "a file with unknown keys"),
        ({"file": "httpkit-2.1.1.tar.gz", "hash": "sha256:aa", "run": "evil"}, "a file with unknown keys"),
        ({"file": "httpkit-2.1.1.tar.gz", "url": "x", "hash": "sha256:aa"}, "a file without one place"),
        ({"hash": "sha256:aa"}, "a file without one place"),
        ({"file": 1, "hash": "sha256:aa"}, "a file without one place"),
        ({"file": "httpkit-2.1.1.tar.gz", "hash": 1}, "a hash that cannot be read"),
        ({"file": "httpkit-2.1.1.tar.gz", "hash": "aa"}, "a hash that cannot be read"),
        ({"file": "httpkit-2.1.1.tar.gz", "hash": "md5:aa"}, "`httpkit-2.1.1.tar.gz` has a weak hash"),
        ({"file": "httpkit-2.1.1.tar.gz"}, "`httpkit-2.1.1.tar.gz` has no hash"),
    ],
)
def test_forms(one: Any, what: str) -> None:
    """A file has one place and a good hash, and nothing that nobody knows."""
    assert wrong(None, [one], "httpkit", "2.1.1") == what


def test_what_was_there() -> None:
    """Hashes may be as good as they were, and no worse."""
    bare, weak, good = (file("httpkit-2.1.0.zip", mark) for mark in (None, "md5:aa", "sha256:aa"))
    after = [file("httpkit-2.1.1.zip", mark) for mark in (None, "md5:aa", "sha256:aa")]
    found = [[wrong([old], [new], "httpkit", "2.1.1") for new in after] for old in (bare, weak, good)]
    no, poor = "`httpkit-2.1.1.zip` has no hash", "`httpkit-2.1.1.zip` has a weak hash"
    assert found == [[None, poor, None], [no, None, None], [no, poor, None]]


def test_no_files() -> None:
    """Files that were there stay, and a new package has some."""
    assert wrong([file("httpkit-2.1.0.zip")], [], "httpkit", "2.1.1") == "no files"
    assert wrong(None, [], "httpkit", "2.1.1") == "no files"
    assert wrong([], [], "httpkit", "2.1.1") is None


def test_one_name_twice() -> None:
    """One file may be listed twice, two files of one name may not."""
    one, other = file("httpkit-2.1.1.zip"), file("httpkit-2.1.1.zip", "sha256:bb")
    assert wrong(None, [one, one], "httpkit", "2.1.1") is None
    assert wrong(None, [one, other], "httpkit", "2.1.1") == "two files of one name"


def test_hosts() -> None:
    """Hosts are told with scheme and port, each once, and what cannot be read is a host of its own."""
    assert hosts([url("a-1.zip"), url("b-1.zip"), {"file": "c"}]) == f"file {HOST}"
    assert (
        hosts([url("a-1.zip", host="HTTP://files.registry.example:80".lower())]) == "http://files.registry.example:80"
    )
    assert hosts(["x"]) == "'x'"


DIGEST = "0123456789abcdef" * 4


@pytest.mark.parametrize(
    ("folder", "found"),
    [
        ("", ""),
        ("/packages", "/packages"),
        (f"/packages/ab/cd/{DIGEST[:60]}", "/packages/{hash}"),
        (f"/root/+f/012/{DIGEST[:13]}", "/root/+f/{hash}"),
        (f"/p/11/files/{DIGEST}", "/p/11/files/{hash}"),
        (f"/p/11/{DIGEST}", "/p/11/{hash}"),
        ("/p/11/files/aa", "/p/11/files/aa"),
        (f"/p/{DIGEST}x", f"/p/{DIGEST}x"),
        (f"/p/{DIGEST}/x", f"/p/{DIGEST}/x"),
        ("/simple/http-kit/2.1.1", "/simple/{name}/{version}"),
        ("/simple/HTTP_Kit/2.1.1", "/simple/{name}/{version}"),
        ("/packages/source/h/http-kit", "/packages/source/{first}/{name}"),
        ("/packages/source/e/http-kit", "/packages/source/e/{name}"),
        ("/http-kit/evil", "/http-kit/evil"),
    ],
)
def test_folders(folder: str, found: str) -> None:
    """What a folder has of a digest, of the package's name and of its version is left open, all else counts."""
    host = "https://files.registry.example"
    assert hosts([url("http_kit-2.1.1.zip", host=host + folder)], "http-kit", "2.1.1") == host + found


def test_folders_of_files_beside_the_lock() -> None:
    """The folder of a file that is not fetched counts as it is."""
    assert hosts([{"path": "dist/a-1.zip"}]) == "path:dist"
    assert hosts([{"path": "a-1.zip"}]) == "path"
