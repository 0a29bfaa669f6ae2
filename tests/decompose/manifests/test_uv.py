from __future__ import annotations

import pytest

from indult.decompose.manifests import comparer

REGISTRY = 'source = { registry = "https://registry.example/simple" }'


def package(name: str, version: str, *more: str, host: str = "https://files.registry.example") -> str:
    """One package of the registry, with its two files."""
    return "\n".join([
        "[[package]]",
        f'name = "{name}"',
        f'version = "{version}"',
        REGISTRY,
        *more,
        f'sdist = {{ url = "{host}/{name}-{version}.tar.gz", hash = "sha256:aa{name}", size = 10 }}',
        "wheels = [",
        f'    {{ url = "{host}/{name}-{version}-py3-none-any.whl", hash = "sha256:bb{name}", size = 9 }},',
        "]",
        "",
        "",
    ])  # fmt: skip


ROOT = """\
[[package]]
name = "demo"
version = "0.1.0"
source = { virtual = "." }
dependencies = [
    { name = "httpkit" },
    { name = "yamlkit", marker = "python_full_version < '3.14'" },
]

[package.optional-dependencies]
cli = [{ name = "rich" }]

[package.dev-dependencies]
dev = [{ name = "pytest" }]

[package.metadata]
requires-dist = [
    { name = "httpkit", specifier = "==2.1.0" },
    { name = "rich", marker = "extra == 'cli'", specifier = "==13.0.0" },
    { name = "yamlkit", marker = "python_full_version < '3.14'", specifier = ">=6" },
]
provides-extras = ["cli"]

[package.metadata.requires-dev]
dev = [{ name = "pytest", specifier = "==8.0.0" }]

"""
HEAD = 'version = 1\nrevision = 3\nrequires-python = ">=3.11"\n\n[manifest]\nmembers = ["demo"]\n\n'
HTTPKIT = package("httpkit", "2.1.0", 'dependencies = [{ name = "sockkit" }]')
OTHERS = "".join(
    package(name, version)
    for name, version in [("pytest", "8.0.0"), ("rich", "13.0.0"), ("sockkit", "1.0"), ("yamlkit", "6.0.0")]
)
BASE = HEAD + ROOT + HTTPKIT + OTHERS
UP = [("==2.1.0", "==2.1.1"), ('version = "2.1.0"', 'version = "2.1.1"'), ("httpkit-2.1.0", "httpkit-2.1.1")]


def both(old: str | None, new: str) -> tuple[str, ...]:
    """What changed between two locks."""
    compare = comparer("uv.lock")
    assert compare is not None
    found = compare("uv.lock", None if old is None else old.encode(), new.encode())
    return tuple(target.replace("uv.lock", "L", 1) for target in found)


def told(*edits: tuple[str, str], base: str = BASE) -> list[str]:
    """What changed in a lock in which texts were replaced."""
    new = base
    for old, text in edits:
        assert old in new, old
        new = new.replace(old, text)
    return list(both(base, new))


def test_a_version() -> None:
    """A version that moves is one entry: the package, what the manifest asks for, and what it led to."""
    assert told(*UP) == ["entry:L#httpkit@2.1.1"]


def test_layout() -> None:
    """The order of packages and keys is layout."""
    assert both(BASE, HEAD + OTHERS + ROOT + HTTPKIT) == ()


def test_what_came_through_it() -> None:
    """A package that came in through the moved one alone is part of its entry, and so is one that went."""
    new = BASE.replace('{ name = "sockkit" }', '{ name = "newkit" }') + package("newkit", "1.0")
    for old, text in UP:
        new = new.replace(old, text)
    assert both(BASE, new) == ("entry:L#httpkit@2.1.1",)
    gone = new.replace(package("sockkit", "1.0"), "")
    assert both(BASE, gone) == ("entry:L#httpkit@2.1.1",)


def test_what_came_beside_it() -> None:
    """A package that nothing needs, or that the project needs itself, is an entry of its own."""
    assert told(*UP, (HEAD, HEAD + package("evil", "1.0"))) == ["entry:L#evil@1.0", "entry:L#httpkit@2.1.1"]
    edits = [
        ('{ name = "httpkit" },', '{ name = "httpkit" },\n{ name = "evil" },'),
        (HEAD, HEAD + package("evil", "1")),
    ]
    assert told(*UP, *edits) == ["entry:L#evil@1", "entry:L#httpkit@2.1.1"]


def test_what_came_from_elsewhere() -> None:
    """A package that was in no version before comes from a registry that others come from."""
    evil = package("evil", "1.0").replace("registry.example/simple", "evil.example/simple")
    assert told((HEAD, HEAD + evil)) == ["change:L#evil: comes from another source", "entry:L#evil@1.0"]


def test_what_came_through_it_from_elsewhere() -> None:
    """A package that came in through another must come from where that one does."""
    new = BASE.replace('{ name = "sockkit" }', '{ name = "newkit" }')
    for old, text in UP:
        new = new.replace(old, text)
    evil = package("newkit", "1.0")
    for other in (
        evil.replace("registry.example/simple", "evil.example/simple"),
        evil.replace("files.registry", "files.evil"),
    ):
        assert both(BASE, new + other) == ("change:L#newkit: comes from another source", "entry:L#httpkit@2.1.1")
    other = evil.replace(REGISTRY, 'source = { git = "https://registry.example/newkit#abc" }')
    assert both(BASE, new + other) == ("change:L#newkit: comes from no registry", "entry:L#httpkit@2.1.1")


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        (HTTPKIT[:120], HTTPKIT[:120].replace("registry.example/simple", "evil.example"), "comes from another source"),
        (
            "files.registry.example/httpkit-2.1.1.tar.gz",
            "files.evil.example/httpkit-2.1.1.tar.gz",
            "comes from another source",
        ),
        (
            "https://files.registry.example/httpkit-2.1.1.tar.gz",
            "http://files.registry.example/httpkit-2.1.1.tar.gz",
            "comes from another source",
        ),
        (
            "httpkit-2.1.1.tar.gz",
            "evil-2.1.1.tar.gz",
            "a file of another package or version, `evil-2.1.1.tar.gz`",
        ),
        (
            "httpkit-2.1.1.tar.gz",
            "httpkit-2.1.0.tar.gz",
            "a file of another package or version, `httpkit-2.1.0.tar.gz`",
        ),
        ('hash = "sha256:aahttpkit", ', "", "`httpkit-2.1.1.tar.gz` has no hash"),
        ("sha256:aahttpkit", "md5:aahttpkit", "`httpkit-2.1.1.tar.gz` has a weak hash"),
        (
            'dependencies = [{ name = "sockkit" }]',
            'dependencies = [{ name = "sockkit" }]\nalias = "evil"',
            "`alias` changed",
        ),
        (
            'dependencies = [{ name = "sockkit" }]',
            'dependencies = [{ name = "sockkit" }]\nresolution-markers = ["sys_platform == \'win32\'"]',
            "`resolution-markers` changed",
        ),
    ],
)
def test_more_than_a_version(old: str, new: str, what: str) -> None:
    """Whatever changes of the moved package beside its version is told."""
    edits = UP
    if old.startswith("[[package]]"):
        old, new = (text.replace("2.1.0", "2.1.1") for text in (old, new))
    assert told(*edits, (old, new)) == [f"change:L#httpkit: {what}", "entry:L#httpkit@2.1.1"]


def test_another_package_at_its_version() -> None:
    """A package that changed while its version stayed is told twice, so that no approval of its version opens it."""
    assert told(*UP, ("sha256:aayamlkit", "sha256:evil")) == [
        "change:L#yamlkit: changed at version 6.0.0",
        "entry:L#httpkit@2.1.1",
        "entry:L#yamlkit@6.0.0",
    ]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            '"httpkit", specifier = "==2.1.0"',
            '"httpkit", specifier = ">=2.1.0"',
            ["entry:L#httpkit@>=2.1.0"],
        ),
        ('"httpkit", specifier = "==2.1.0"', '"httpkit"', ["entry:L#httpkit@*"]),
        (
            '"httpkit", specifier = "==2.1.0"',
            '"httpkit", git = "x"',
            [
                'change:L#httpkit: `{"name": "httpkit", "specifier": "==2.1.0"}` became `{"name": "httpkit", "git": "x"}`'
            ],
        ),
        ('"pytest", specifier = "==8.0.0"', '"pytest", specifier = "==8.0.1"', ["entry:L#pytest@8.0.1"]),
        ('"rich", marker = "extra', '"rich", index = "x", marker = "extra', ["change:L#rich: "]),
        ('specifier = ">=6" }', 'specifier = ">=6" },\n{ name = "evil", specifier = "==1.0" }', ["entry:L#evil@1.0"]),
        ('{ name = "httpkit" },', '{ name = "httpkit", extra = ["x"] },', ["change:L#httpkit: "]),
        ('{ name = "httpkit" },', "", ["entry:L#httpkit@none"]),
        ("dependencies = [\n", 'dependencies = [\n{ name = "rich", marker = "x" },\n', ["change:L#rich: added as "]),
        (
            "requires-dist = [\n",
            'requires-dist = [\n{ name = "sockkit", marker = "x", specifier = "==1.0" },\n',
            ["change:L#sockkit: added as "],
        ),
        ('{ name = "httpkit" },', '{ name = "gone" },', ["change:L#gone: added as ", "entry:L#httpkit@none"]),
        ('version = "0.1.0"', 'version = "0.2.0"', ["field:L#/package/demo/version"]),
        (
            'virtual = "."',
            'editable = "."',
            ["field:L#/package/demo/source/editable", "field:L#/package/demo/source/v"],
        ),
        ('provides-extras = ["cli"]', "", ["field:L#/package/demo/metadata/provides-extras"]),
        ('dev = [{ name = "pytest" }]', "dev = []", ["entry:L#pytest@none"]),
        (
            'cli = [{ name = "rich" }]',
            'web = [{ name = "rich" }]',
            ["entry:L#rich@13.0.0", "entry:L#rich@none", "field:L#/package/demo/optional-dependencies/cli", "field:L#"],
        ),
        ('requires-python = ">=3.11"', 'requires-python = ">=3"', ["field:L#/requires-python"]),
        ("revision = 3", "revision = 4", ["field:L#/revision"]),
        ('members = ["demo"]', 'members = ["demo", "evil"]', ["field:L#/manifest/members"]),
        (
            'members = ["demo"]',
            'members = ["demo"]\noverrides = [{ name = "yamlkit", specifier = "==1" }]',
            ["field:L#/manifest/overrides"],
        ),
        ("[manifest]", '[options]\nexclude-newer = "x"\n[manifest]', ["field:L#/options/exclude-newer"]),
    ],
)
def test_the_project(old: str, new: str, expected: list[str]) -> None:
    """What the lock copies from the manifest is compared like the manifest, and the rest of it are fields."""
    found = told((old, new))
    assert len(found) == len(expected)
    assert all(target.startswith(start) for target, start in zip(found, expected, strict=True))


def test_requirements_of_the_header() -> None:
    """A lock without a project has its requirements in the header, with the same rules."""
    head = HEAD.replace(
        '["demo"]', '[]\nrequirements = [{ name = "httpkit", specifier = "==2.1.0" }]\n[manifest.dependency-groups]\n'
        'dev = [{ name = "pytest", specifier = "==8.0.0" }]'
    )  # fmt: skip
    base = head + HTTPKIT + OTHERS
    assert told(*UP, base=base) == ["entry:L#httpkit@2.1.1"]
    through = [('{ name = "sockkit" }', '{ name = "newkit" }'), (OTHERS, OTHERS + package("newkit", "1.0"))]
    assert told(*UP, *through, base=base) == ["entry:L#httpkit@2.1.1"]
    assert told(('pytest", specifier = "==8.0.0"', 'pytest", specifier = "==8.0.1"'), base=base) == [
        "entry:L#pytest@8.0.1"
    ]


def test_a_package_that_goes_while_it_is_needed() -> None:
    """A package that the project still needs does not go by itself."""
    assert told((package("yamlkit", "6.0.0"), "")) == [
        "change:L#yamlkit: no plain version on one side",
        "entry:L#yamlkit@none",
    ]


def test_a_package_that_becomes_a_folder() -> None:
    """A package that turns into a folder of the project, or the other way, is told as such."""
    folder = '[[package]]\nname = "yamlkit"\nversion = "6.0.0"\nsource = { editable = "evil" }\n\n'
    new = BASE.replace(package("yamlkit", "6.0.0"), folder)
    assert "change:L#yamlkit: a folder of the project came" in both(BASE, new)
    assert "change:L#yamlkit: a folder of the project went" in both(new, BASE)


def test_one_version_from_two_places() -> None:
    """One version of a package may come from two registries, which are told apart."""
    other = package("yamlkit", "6.0.0").replace("registry.example/simple", "other.example/simple")
    assert both(BASE + other, BASE + other) == ()
    assert "entry:L#httpkit@2.1.1" in told(*UP, base=BASE + other)
    assert both(BASE, BASE + other) != ()
    assert both(BASE, BASE + package("yamlkit", "6.0.0")) == ("change:L#not readable: one package twice",)


def test_two_versions() -> None:
    """Where a package is there in two versions, one of them may move."""
    base = HEAD + ROOT + HTTPKIT + OTHERS + package("httpkit", "1.0")
    assert told(("httpkit-1.0", "httpkit-1.1"), ('version = "1.0"\n' + REGISTRY, 'version = "1.1"\n' + REGISTRY),
                ("sockkit-1.0", "sockkit-1.1"), base=base) == [
        "entry:L#httpkit@1.1",
        "entry:L#sockkit@1.1",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("version = 1\n", "version = 2\n", "a lock of another version"),
        ("version = 1\n", "version = true\n", "a lock of another version"),
        ("version = 1\n", "", "a lock of another version"),
        ('name = "httpkit"\nversion', 'name = "httpkit@2.1.1#"\nversion', "a package without a plain name"),
        ('name = "httpkit"\nversion = "2.1.0"', 'name = "httpkit"', "`httpkit` has no plain version"),
        ('version = "2.1.0"', 'version = "2.1.0@x"', "`httpkit` has no plain version"),
        ('[{ name = "sockkit" }]', '["sockkit"]', "`needs` is no list of tables"),
        ('[{ name = "sockkit" }]', "[{ }]", "a need without a name"),
        ('name = "demo"', 'name = ""', "a folder of the project without a name of its own"),
        (ROOT, ROOT + ROOT, "a folder of the project without a name of its own"),
        (REGISTRY, 'source = "x"', "`source` is no table"),
    ],
)
def test_what_cannot_be_read(old: str, new: str, reason: str) -> None:
    """A lock of another form is not read, on either side."""
    assert told((old, new)) == [f"change:L#not readable: {reason}"]
    assert both(BASE.replace(old, new), BASE) == (f"change:L#not readable: {reason}",)


def test_another_folder_of_the_host() -> None:
    """The files of a version lie beside those of the one before; what names a content is left open."""
    shared = "https://files.registry.example/"
    for one, other, told_apart in [
        ("p/11/files/", "p/666/files/", True),
        ("p/11/files/" + "a" * 64 + "/", "p/11/files/" + "b" * 64 + "/", False),
        ("p/11/files/" + "a" * 64 + "/", "p/666/files/" + "a" * 64 + "/", True),
        ("p/ab/cd/" + "a" * 60 + "/", "p/12/34/" + "b" * 60 + "/", False),
    ]:
        base = BASE.replace(shared + "httpkit", shared + one + "httpkit")
        new = base.replace(shared + one, shared + other).replace("2.1.0", "2.1.1")
        found = both(base, new)
        assert base != BASE
        assert ("change:L#httpkit: comes from another source" in found) == told_apart, (one, found)


def test_a_new_lock() -> None:
    """Of a new lock every package is an entry, and the header are fields."""
    found = both(None, 'version = 1\nrequires-python = ">=3.11"\n\n' + package("httpkit", "2.1.1"))
    known = "'https://registry.example/simple' https://files.registry.example"
    assert found == (
        "entry:L#httpkit@2.1.1",
        f"entry:L#httpkit@2.1.1 (from registry {known})",
        "field:L#/requires-python",
        "field:L#/version",
    )
