from __future__ import annotations

import pytest

from indult.decompose.manifests import comparer


def package(name: str, version: str, *more: str, files: str = "") -> str:
    """One package as PDM writes it."""
    return "\n".join([
        "[[package]]",
        f'name = "{name}"',
        f'version = "{version}"',
        'requires_python = ">=3.9"',
        f'summary = "the {name} of {version}"',
        'groups = ["default"]',
        *more,
        "files = [",
        f'    {{file = "{name}-{version}.tar.gz", hash = "sha256:aa{files or name}"}},',
        "]",
        "",
        "",
    ])  # fmt: skip


HEAD = """\
[metadata]
groups = ["default"]
strategy = ["inherit_metadata"]
lock_version = "4.5.0"
content_hash = "sha256:c210"

[[metadata.targets]]
requires_python = ">=3.11"

"""
HTTPKIT = package("httpkit", "2.1.0", 'dependencies = ["SockKit>=1; python_version < \\"4\\""]')
SOCKS = package("httpkit", "2.1.0", 'extras = ["socks"]', 'dependencies = ["httpkit==2.1.0", "proxykit"]')
BASE = HEAD + HTTPKIT + SOCKS + package("proxykit", "1.0") + package("sockkit", "1.0") + package("yamlkit", "6.0.0")
UP = [("2.1.0", "2.1.1"), ("c210", "c211")]


def told(*edits: tuple[str, str], base: str = BASE) -> list[str]:
    """What changed in a lock in which texts were replaced."""
    compare = comparer("pdm.lock")
    assert compare is not None
    new = base
    for old, text in edits:
        assert old in new, old
        new = new.replace(old, text)
    found = compare("pdm.lock", base.encode(), new.encode())
    return [target.replace("pdm.lock", "L", 1) for target in found]


def test_a_version() -> None:
    """A version that moves is one entry, with all the extras that the package is locked with."""
    assert told(*UP) == ["entry:L#httpkit@2.1.1"]


def test_what_came_through_it() -> None:
    """A new package that came in through the moved one alone is part of its entry; one that went may be anybody's."""
    swapped = [("SockKit>=1", "newkit>=1"), ('name = "sockkit"', 'name = "newkit"'), ("sockkit-", "newkit-")]
    assert told(*UP, *swapped) == ["entry:L#httpkit@2.1.1", "entry:L#sockkit@none"]
    moved = package("sockkit", "6.6.6")
    for edit in [(package("sockkit", "1.0"), moved), (package("sockkit", "1.0"), package("sockkit", "1.0") + moved)]:
        assert told(*UP, edit) == ["entry:L#httpkit@2.1.1", "entry:L#sockkit@6.6.6"]
    assert told(*UP, ('[[package]]\nname = "yamlkit"', package("evil", "1") + '[[package]]\nname = "yamlkit"')) == [
        "entry:L#evil@1",
        "entry:L#httpkit@2.1.1",
    ]


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ('extras = ["socks"]', 'extras = ["http2"]', "extras changed"),
        ('groups = ["default"]\ndependencies', 'groups = ["default", "dev"]\ndependencies', "`groups` changed"),
        ('dependencies = ["Sock', 'marker = "x"\ndependencies = ["Sock', "`marker` changed"),
        ('dependencies = ["Sock', 'git = "https://evil.example/x"\ndependencies = ["Sock', "comes from another source"),
        ('file = "httpkit-2.1.1', 'url = "https://evil.example/httpkit-2.1.1', "comes from another source"),
        ("httpkit-2.1.1.tar", "evil-2.1.1.tar", "a file of another package or version, `evil-2.1.1.tar.gz`"),
    ],
)
def test_more_than_a_version(old: str, new: str, what: str) -> None:
    """Whatever changes of the moved package beside its version is told."""
    assert f"change:L#httpkit: {what}" in told(*UP, (old, new))


def test_the_hash_of_another_package() -> None:
    """The hash of a package whose version stayed may not change."""
    assert told(*UP, ("sha256:aayamlkit", "sha256:evil")) == [
        "change:L#yamlkit: changed at version 6.0.0",
        "entry:L#httpkit@2.1.1",
        "entry:L#yamlkit@6.0.0",
    ]


@pytest.mark.parametrize(
    ("old", "new", "pointer"),
    [
        ('strategy = ["inherit_metadata"]', "strategy = []", "/metadata/strategy"),
        ('lock_version = "4.5.0"', 'lock_version = "4.4"', "/metadata/lock_version"),
        ('requires_python = ">=3.11"', 'requires_python = ">=3"', "/metadata/targets"),
    ],
)
def test_header(old: str, new: str, pointer: str) -> None:
    """All of the header but the digest are fields."""
    assert told(*UP, (old, new)) == ["entry:L#httpkit@2.1.1", f"field:L#{pointer}"]


OLDER = """\
[[package]]
name = "httpkit"
version = "2.1.0"

[[package]]
name = "httpkit"
version = "2.1.0"
extras = ["socks"]

[metadata]
lock_version = "4.1"
content_hash = "sha256:c210"

[metadata.files]
"httpkit 2.1.0" = [{file = "httpkit-2.1.0.tar.gz", hash = "sha256:aa"}]
"gonekit 1.0" = []
"""


def test_files_in_the_header() -> None:
    """Older locks keep the files in the header, where each belongs to its package."""
    assert told(*UP, base=OLDER) == ["entry:L#httpkit@2.1.1"]
    assert told(("sha256:aa", "sha256:evil"), base=OLDER) == [
        "change:L#httpkit: changed at version 2.1.0",
        "entry:L#httpkit@2.1.0",
    ]
    assert told(("[]", "[1]"), base=OLDER) == ["field:L#/metadata/files/gonekit 1.0"]


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('lock_version = "4.5.0"', 'lock_version = "5.0"', "a lock of another version"),
        ('lock_version = "4.5.0"', "lock_version = 4", "a lock of another version"),
        (SOCKS, SOCKS + SOCKS, "one package twice"),
        ('extras = ["socks"]', 'extras = "socks"', "extras that are no list of names"),
        ('name = "yamlkit"', 'name = "yaml kit"', "a package without a plain name"),
    ],
)
def test_what_cannot_be_read(old: str, new: str, reason: str) -> None:
    """A lock of another form is not read."""
    assert told((old, new)) == [f"change:L#not readable: {reason}"]
