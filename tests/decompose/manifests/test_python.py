from __future__ import annotations

import pytest

from indult.decompose.manifests import comparer

BASE = """\
[project]
name = "demo"
version = "0.1.0"
dependencies = [
  "httpkit==2.1.0",
  "yamlkit==6.0.0",
]

[project.optional-dependencies]
cli = ["rich==13.0.0"]

[dependency-groups]
dev = ["pytest==8.0.0", {include-group = "docs"}]
docs = []

[build-system]
requires = ["hatchling==1.25.0"]
build-backend = "hatchling.build"

[tool.poetry.dependencies]
python = ">=3.11"
dbkit = "1.8.2"
logkit = {version = "==1.0", extras = ["json"]}

[tool.poetry.group.test.dependencies]
testkit = [{version = "1.0", python = "<3.12"}, {version = "2.0", python = ">=3.12"}]
"""


def told(*edits: tuple[str, str], base: str = BASE) -> tuple[str, ...]:
    """What changed in a manifest in which texts were replaced."""
    compare = comparer("pyproject.toml")
    assert compare is not None
    new = base
    for old, text in edits:
        assert old in new
        new = new.replace(old, text)
    return compare("pyproject.toml", base.encode(), new.encode())


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        ("httpkit==2.1.0", "httpkit==2.1.1", "httpkit@2.1.1"),
        ("rich==13.0.0", "rich==13.0.1", "rich@13.0.1"),
        ("pytest==8.0.0", "PyTest==8.0.1", "pytest@8.0.1"),
        ("hatchling==1.25.0", "hatchling==1.26.0", "hatchling@1.26.0"),
        ('dbkit = "1.8.2"', 'DbKit = "1.8.3"', "dbkit@1.8.3"),
        ('version = "==1.0"', 'version = "==1.1"', "logkit@1.1"),
        ('version = "2.0"', 'version = "2.1"', "testkit@2.1"),
        ('"yamlkit==6.0.0",', "", "yamlkit@none"),
        ('dbkit = "1.8.2"', "", "dbkit@none"),
        ('dbkit = "1.8.2"', 'dbkit = "1.8.2"\nnewkit = "1.0"', "newkit@1.0"),
        ('"httpkit==2.1.0"', '"httpkit==2.1.0", "evil==1.0"', "evil@1.0"),
    ],
)
def test_entries(old: str, new: str, name: str) -> None:
    """In every list of requirements a version that moved, came or went is an entry."""
    assert told((old, new)) == (f"entry:pyproject.toml#{name}",)


def test_layout() -> None:
    """Comments, order and spelling are layout."""
    assert told(("httpkit==2.1.0", "HttpKit == 2.1.0"), ("[project]", "# all\n[project]")) == ()


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ('"1.8.2"', '"==1.8.2"', "dbkit: `dbkit = 1.8.2` became `dbkit = ==1.8.2`"),
        ('"1.8.2"', '"latest"', "dbkit: `dbkit = 1.8.2` became `dbkit = latest`"),
        ('"1.8.2"', '{version = "1.8.3"}', 'dbkit: `dbkit = 1.8.2` became `dbkit = {"version": "1.8.3"}`'),
        ('"1.8.2"', '{git = "x"}', 'dbkit: `dbkit = 1.8.2` became `dbkit = {"git": "x"}`'),
        ('"1.8.2"', '{version = "^1.8.3"}', 'dbkit: `dbkit = 1.8.2` became `dbkit = {"version": "^1.8.3"}`'),
        ('"1.8.2"', '"^1.8.3 ^2"', "dbkit: `dbkit = 1.8.2` became `dbkit = ^1.8.3 ^2`"),
        ('dbkit = "1.8.2"', 'dbkit = "1.8.2"\nDbKit = "1.8.3"', "dbkit: named more than once"),
    ],
)
def test_other_kinds_of_poetry(old: str, new: str, what: str) -> None:
    """In Poetry's own tables the kind of a requirement may not change either."""
    assert told((old, new)) == (f"change:pyproject.toml#{what}",)


@pytest.mark.parametrize(
    ("old", "new", "entry"),
    [
        ('"1.8.2"', '"^1.8.3"', "dbkit@^1.8.3"),
        ('"1.8.2"', '"*"', "dbkit@*"),
        ('"1.8.2"', '">= 1.8, <2"', "dbkit@>=1.8,<2"),
        ('"1.8.2"', '"^1 || ^2"', "dbkit@^1||^2"),
        ('"1.8.2"', '"1.8.x"', "dbkit@1.8.x (a range)"),
        ('dbkit = "1.8.2"', 'dbkit = "1.8.2"\nnewkit = "^1.0"', "newkit@^1.0"),
        ('version = "==1.0", extras', 'version = "~1.0", extras', "logkit@~1.0"),
    ],
)
def test_ranges_of_poetry(old: str, new: str, entry: str) -> None:
    """In Poetry's own tables a range is an entry at its text, which no named exception can hold.

    These were changes, so that nobody could open what Poetry writes by itself.
    """
    assert told((old, new)) == (f"entry:pyproject.toml#{entry}",)


def test_a_place_beside_a_range_of_poetry() -> None:
    """A range says little where the package comes from somewhere else."""
    there = 'dbkit = {version = "1.8.2", git = "x"}'
    old, new = (('dbkit = "1.8.2"', there.replace("1.8.2", it)) for it in ("1.8.2", "^1.8.2"))
    compare = comparer("pyproject.toml")
    assert compare is not None
    (found,) = compare("pyproject.toml", BASE.replace(*old).encode(), BASE.replace(*new).encode())
    assert found.startswith("change:pyproject.toml#dbkit: ")


def test_extras_of_poetry() -> None:
    """An extra that is added along with a version makes another kind."""
    (found,) = told(('version = "==1.0", extras = ["json"]', 'version = "==1.1", extras = ["json", "xml"]'))
    assert found.startswith("change:pyproject.toml#logkit: ")


@pytest.mark.parametrize(
    ("old", "new", "pointers"),
    [
        ('version = "0.1.0"', 'dynamic = ["version", "dependencies"]', ["/project/dynamic", "/project/version"]),
        ("[build-system]", '[tool.uv.sources]\nyamlkit = {git = "x"}\n[build-system]', ["/tool/uv/sources/yamlkit"]),
        ("[build-system]", '[[tool.uv.index]]\nurl = "x"\n[build-system]', ["/tool/uv/index"]),
        (
            "[build-system]",
            '[tool.uv]\nconstraint-dependencies = ["yamlkit<6"]\n[build-system]',
            ["/tool/uv/constraint-dependencies"],
        ),
        ("hatchling.build", "evil", ["/build-system/build-backend"]),
        ('python = ">=3.11"', 'python = "*"', ["/tool/poetry/dependencies/python"]),
        ('include-group = "docs"', 'include-group = "evil"', ["/dependency-groups/dev"]),
        ("docs = []", "docs = []\nmore = []", ["/dependency-groups/more"]),
        ('cli = ["rich==13.0.0"]', 'cli = ["rich==13.0.0"]\nmore = []', ["/project/optional-dependencies/more"]),
        (BASE[BASE.index("[tool.poetry.g") :], "", ["/tool/poetry/group/test"]),
    ],
)
def test_fields(old: str, new: str, pointers: list[str]) -> None:
    """Whatever is no requirement is a field, a redirected package under its own name."""
    found = told((old, new))
    assert [target for target in found if not target.startswith("entry:")] == [
        f"field:pyproject.toml#{pointer}" for pointer in pointers
    ]


def test_lists_of_another_form() -> None:
    """A list that is none is a field, and the requirements that it held are gone."""
    found = told(('["hatchling==1.25.0"]', '"hatchling==1.25.0"'))
    assert found == ("entry:pyproject.toml#hatchling@none", "field:pyproject.toml#/build-system/requires")


def test_a_new_manifest() -> None:
    """Of a new manifest, everything in it is a change."""
    compare = comparer("pyproject.toml")
    assert compare is not None
    new = b'[project]\nname = "demo"\ndependencies = ["httpkit==2.1.1", "evil"]\n'
    assert compare("pyproject.toml", None, new) == (
        "entry:pyproject.toml#evil@*",
        "entry:pyproject.toml#httpkit@2.1.1",
        "field:pyproject.toml#/project/name",
    )


@pytest.mark.parametrize(
    "raw",
    [
        b"\xef\xbb\xbf" + BASE.encode(),
        BASE.encode() + b"\xff",
        BASE.encode() + b"[project]\n",
        BASE.encode() + b"x = nan\n",
        b"a = " + b"[" * 5000,
        b"{}",
    ],
)
def test_what_cannot_be_read(raw: bytes) -> None:
    """What two readers could read two ways is not read, on either side."""
    compare = comparer("pyproject.toml")
    assert compare is not None
    for old, new in ((raw, BASE.encode()), (BASE.encode(), raw)):
        (found,) = compare("pyproject.toml", old, new)
        assert found.startswith("change:pyproject.toml#not readable: ")
