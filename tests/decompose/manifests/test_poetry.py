from __future__ import annotations

import pytest

from indult.decompose.manifests import comparer


def package(name: str, version: str, *more: str, groups: str = '["main"]') -> str:
    """One package as Poetry 2 writes it."""
    return "\n".join([
        "[[package]]",
        f'name = "{name}"',
        f'version = "{version}"',
        f'description = "the {name} of {version}"',
        "optional = false",
        'python-versions = ">=3.9"',
        f"groups = {groups}",
        "files = [",
        f'    {{file = "{name}-{version}-py3-none-any.whl", hash = "sha256:aa{name}"}},',
        f'    {{file = "{name}-{version}.tar.gz", hash = "sha256:bb{name}"}},',
        "]",
        *more,
        "",
        "",
    ])  # fmt: skip


HTTPKIT = package("httpkit", "2.1.0", '[package.dependencies]\nSockKit = {version = ">=1", markers = "x"}')
APPKIT = package("appkit", "1.0", '[package.dependencies]\nhttpkit = "*"\nyamlkit = "*"')
TAIL = """\
[extras]
cli = ["yamlkit"]

[metadata]
lock-version = "2.1"
python-versions = ">=3.11"
content-hash = "c210"
"""
BASE = APPKIT + HTTPKIT + package("sockkit", "1.0") + package("yamlkit", "6.0.0") + TAIL
UP = [('version = "2.1.0"', 'version = "2.1.1"'), ("-2.1.0", "-2.1.1"), ("of 2.1.0", "of 2.1.1"), ("c210", "c211")]


def told(*edits: tuple[str, str], base: str = BASE) -> list[str]:
    """What changed in a lock in which texts were replaced."""
    compare = comparer("poetry.lock")
    assert compare is not None
    new = base
    for old, text in edits:
        assert old in new, old
        new = new.replace(old, text)
    found = compare("poetry.lock", base.encode(), new.encode())
    return [target.replace("poetry.lock", "L", 1) for target in found]


def test_a_version() -> None:
    """A version that moves is one entry, and the digest of the manifest may follow it."""
    assert told(*UP) == ["entry:L#httpkit@2.1.1"]


def test_layout() -> None:
    """The spelling of a name and the comment of the generator are layout."""
    assert told(('name = "httpkit"', 'name = "HttpKit"'), ("[extras]", "# generated\n[extras]")) == []
    assert told(*UP, ('name = "httpkit"', 'name = "HttpKit"')) == ["entry:L#httpkit@2.1.1"]


def test_what_came_through_it() -> None:
    """A new package that came in through the moved one alone is part of its entry; one that went may be anybody's."""
    swapped = [("SockKit =", "newkit ="), ('name = "sockkit"', 'name = "newkit"'), ("sockkit-", "newkit-")]
    assert told(*UP, *swapped) == ["entry:L#httpkit@2.1.1", "entry:L#sockkit@none"]
    assert told(*UP, ("[extras]", package("evil", "1.0") + "[extras]")) == [
        "entry:L#evil@1.0",
        "entry:L#httpkit@2.1.1",
    ]


def test_what_the_project_may_need_itself() -> None:
    """The lock does not tell what the project asks for, so that every name that it had stays its own."""
    moved = package("sockkit", "6.6.6")
    assert told(*UP, (package("sockkit", "1.0"), moved)) == ["entry:L#httpkit@2.1.1", "entry:L#sockkit@6.6.6"]
    assert told(*UP, ("[extras]", moved + "[extras]")) == ["entry:L#httpkit@2.1.1", "entry:L#sockkit@6.6.6"]
    deeper = package("sockkit", "6.6.6", '[package.dependencies]\nnewkit = "*"')
    found = told(*UP, (package("sockkit", "1.0"), deeper + package("newkit", "1.0")))
    assert found == ["entry:L#httpkit@2.1.1", "entry:L#sockkit@6.6.6"]


def test_a_registry_of_its_own() -> None:
    """The first package comes from the usual index, or it is told from where."""
    fresh = package("evil", "1.0")
    assert told(("[extras]", fresh + "[extras]"), base=TAIL) == ["entry:L#evil@1.0"]
    named = package("evil", "1.0", '[package.source]\ntype = "legacy"\nurl = "x"')
    found = told(("[extras]", named + "[extras]"), base=TAIL)
    assert [one.partition(" (from ")[0] for one in found] == ["entry:L#evil@1.0", "entry:L#evil@1.0"]
    assert len(set(found)) == 2


def test_the_hash_of_another_package() -> None:
    """The hash of a package whose version stayed may not change."""
    assert told(*UP, ("sha256:bbyamlkit", "sha256:evil")) == [
        "change:L#yamlkit: changed at version 6.0.0",
        "entry:L#httpkit@2.1.1",
        "entry:L#yamlkit@6.0.0",
    ]


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        (
            "[package.dependencies]\nSockKit",
            '[package.source]\ntype = "git"\nurl = "x"\n[package.dependencies]\nSockKit',
            "comes from another source",
        ),
        (
            "[package.dependencies]\nSockKit",
            '[package.source]\ntype = "legacy"\nurl = "x"\n[package.dependencies]\nSockKit',
            "comes from another source",
        ),
        ("[package.dependencies]\nSockKit", "develop = true\n[package.dependencies]\nSockKit", "`develop` changed"),
        (
            'file = "httpkit-2.1.1.tar.gz"',
            'file = "evil-2.1.1.tar.gz"',
            "a file of another package or version, `evil-2.1.1.tar.gz`",
        ),
        (
            'file = "httpkit-2.1.1.tar.gz"',
            'url = "https://evil.example/httpkit-2.1.1.tar.gz"',
            "comes from another source",
        ),
        (', hash = "sha256:bbhttpkit"', "", "`httpkit-2.1.1.tar.gz` has no hash"),
    ],
)
def test_more_than_a_version(old: str, new: str, what: str) -> None:
    """Whatever changes of the moved package beside its version is told."""
    assert told(*UP, (old, new)) == [f"change:L#httpkit: {what}", "entry:L#httpkit@2.1.1"]


@pytest.mark.parametrize("kind", ["git", "url", "file", "directory"])
def test_no_registry(kind: str) -> None:
    """A package that was in no version before comes from a registry."""
    evil = package("evil", "1.0", f'[package.source]\ntype = "{kind}"\nurl = "x"')
    found = ["change:L#evil: comes from no registry", "entry:L#evil@1.0"]
    assert told(("[extras]", evil + "[extras]")) == found
    assert told(("[extras]", evil + "[extras]"), base=TAIL) == found


@pytest.mark.parametrize(
    ("old", "new", "pointer"),
    [
        ('lock-version = "2.1"', 'lock-version = "2.0"', "/metadata/lock-version"),
        ('python-versions = ">=3.11"', 'python-versions = ">=3"', "/metadata/python-versions"),
        ('cli = ["yamlkit"]', 'cli = ["evil"]', "/extras/cli"),
        ("[extras]", "[evil]\nx = 1\n[extras]", "/evil/x"),
    ],
)
def test_header(old: str, new: str, pointer: str) -> None:
    """All of the header but the digest are fields."""
    assert told(*UP, (old, new)) == ["entry:L#httpkit@2.1.1", f"field:L#{pointer}"]


OLDER = """\
[[package]]
name = "HttpKit"
version = "2.1.0"
category = "main"
optional = false

[[package]]
name = "yamlkit"
version = "6.0.0"
category = "main"
optional = false

[metadata]
lock-version = "1.1"
content-hash = "c210"

[metadata.files]
httpkit = [{file = "httpkit-2.1.0.tar.gz", hash = "sha256:aa"}]
yamlkit = [{file = "yamlkit-6.0.0.tar.gz", hash = "sha256:bb"}]
gonekit = []
"""


def test_files_in_the_header() -> None:
    """Older locks keep the files in the header, where each belongs to its package."""
    up = [('"2.1.0"', '"2.1.1"'), ("httpkit-2.1.0", "httpkit-2.1.1")]
    assert told(*up, base=OLDER) == ["entry:L#httpkit@2.1.1"]
    assert told(*up, ("sha256:bb", "sha256:evil"), base=OLDER) == [
        "change:L#yamlkit: changed at version 6.0.0",
        "entry:L#httpkit@2.1.1",
        "entry:L#yamlkit@6.0.0",
    ]
    assert told(*up, ("yamlkit-6.0.0.tar.gz", "evil.tar.gz"), base=OLDER)[0].startswith("change:L#yamlkit: ")
    assert told(("gonekit = []", "gonekit = [1]"), base=OLDER) == ["field:L#/metadata/files/gonekit"]
    assert told(('"main"', '"dev"'), *up, base=OLDER)[0] == "change:L#httpkit: `category` changed"


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('lock-version = "2.1"', 'lock-version = "3.0"', "a lock of another version"),
        ('lock-version = "2.1"', "lock-version = 2", "a lock of another version"),
        ('name = "httpkit"', "name = 1", "a package without a plain name"),
        (HTTPKIT, HTTPKIT + HTTPKIT, "one package twice"),
        ("[package.dependencies]\nhttpkit", "dependencies = 1\n[package.other]\nhttpkit", "`dependencies` is no table"),
    ],
)
def test_what_cannot_be_read(old: str, new: str, reason: str) -> None:
    """A lock of another form is not read."""
    assert told((old, new)) == [f"change:L#not readable: {reason}"]
