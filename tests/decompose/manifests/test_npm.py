from __future__ import annotations

from typing import Any

import pytest
from tests.decompose.manifests.asking import beside, damages, dumps, told

from indult.errors import ScopeError
from indult.scopes import Scope

PATH = "package.json"
BASE: dict[str, Any] = {
    "name": "demo",
    "version": "0.1.0",
    "private": True,
    "scripts": {"test": "node test.js"},
    "dependencies": {"libdb": "1.8.2", "other": "1.0.0"},
    "devDependencies": {"tool": "2.0.0"},
}


def changed(**keys: Any) -> str:
    """The manifest with other values of these keys."""
    return dumps({**BASE, **keys})


def told_by(**keys: Any) -> tuple[str, ...]:
    """What the change of these keys tells."""
    return told(PATH, dumps(BASE), changed(**keys))


@pytest.mark.parametrize(
    "new", [dumps(BASE), str(BASE).replace("'", '"').replace("True", "true"), changed(overrides={})]
)
def test_layout(new: str) -> None:
    """Blanks, line ends and an empty section are layout, and so is the order of keys."""
    assert told(PATH, dumps(BASE), new) == ()
    assert told(PATH, dumps(BASE), dumps(dict(reversed(BASE.items())))) == ()
    assert told(PATH, dumps(BASE), dumps(BASE).replace("\n", "\r\n")) == ()


@pytest.mark.parametrize("section", ["dependencies", "devDependencies", "optionalDependencies", "peerDependencies"])
def test_entries(section: str) -> None:
    """In every section a changed, new or removed version is an entry of the package that it names."""
    old = dumps({section: {"libdb": "1.8.2", "gone": "1.0.0"}})
    new = dumps({section: {"libdb": "1.8.3", "@new/one": "2.0.0-rc.1+b"}})
    assert told(PATH, old, new) == (
        "entry:package.json#@new/one@2.0.0-rc.1+b",
        "entry:package.json#gone@none",
        "entry:package.json#libdb@1.8.3",
    )


@pytest.mark.parametrize(
    "value",
    [
        *(
            "",
            "latest",
            "next",
            "v1.8.3",
            " 1.8.3",
            "^1.8.3 ",
            "^  1.8.3",
            "^1.8.3 ||",
            "|| 1.8.3",
            "^v1",
            "^^1",
            "1.8.3,2",
        ),
        *(
            "1.8.3 ",
            "1 - 2 - 3",
            "^01.8.3",
            "01.8.3",
            "1.8.3.1",
            "1.8.3\n",
            "npm:libdb-evil@1.8.3",
            "npm:1.8.3",
        ),
        *("npm:libdb@1.8.3", "github:evil/libdb#v1.8.3", "evil/libdb", "git+https://evil.example/libdb.git#v1.8.3"),
        *("https://evil.example/libdb-1.8.3.tgz", "file:../libdb", "link:../libdb", "workspace:1.8.3", "catalog:"),
        *("patch:libdb@npm%3A1.8.3#./a.patch", 1.8, 1, None, True, ["1.8.3"], {"version": "1.8.3"}, "\uff11.8.3"),
    ],
)
def test_what_is_no_plain_version(value: object) -> None:
    """What is no version and no range is a change, in either direction and as a new entry; ranges were changes, too."""
    what = "change:package.json#libdb: "
    wrong = (f"{what}is no plain version and no range",)
    assert told_by(dependencies={"libdb": value, "other": "1.0.0"}) == wrong
    old = dumps({**BASE, "dependencies": {"libdb": value, "other": "1.0.0"}})
    assert told(PATH, old, changed(dependencies={"libdb": "1.8.3", "other": "1.0.0"})) == (
        f"{what}was no plain version and no range",
    )
    assert told(PATH, old, changed(dependencies={"libdb": "^1.8.3", "other": "1.0.0"}))[0].startswith(what)
    assert told_by(optionalDependencies={"libdb": value}) == wrong
    assert told(PATH, old, old) == ()


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        *(
            (one, one)
            for one in ("^1.8.3", "~1.8.3", ">=1.8.3", "<2", "*", "=1.8.3", "^1.8.3-rc.1", ">= 1.8.3 < 2", "1.*")
        ),
        *((one, one) for one in ("1.8.3 || 2.0.0", "1.8.2 - 1.8.3", "^1 || ^2", "^1||^2", "1.8.3 1.8.4")),
        *((one, f"{one} (a range)") for one in ("1.8.x", "1.8", "1", "x", "1.X")),
    ],
)
def test_ranges(value: str, shown: str) -> None:
    """To a range, from a range and as a new entry, the text is exact and none that a named exception could hold.

    All of these were changes, so that nobody could open what package managers write by themselves.
    """
    one, other = (dumps({"dependencies": {"libdb": it}}) for it in (value, "1.8.3"))
    assert told(PATH, other, one) == (f"entry:package.json#libdb@{shown}",)
    assert told(PATH, dumps({}), one) == (f"entry:package.json#libdb@{shown}",)
    assert told(PATH, one, other) == (f"entry:package.json#libdb@1.8.3 (was {value})",)
    assert told(PATH, dumps({"dependencies": {"libdb": "^9.0.0"}}), one) == (f"entry:package.json#libdb@{shown}",)
    for version in (shown, f"1.8.3 (was {value})"):
        with pytest.raises(ScopeError):
            Scope.dependency("libdb", version, [PATH], "take it", subject="run:1")


@pytest.mark.parametrize(
    "name", ["li bdb", "libdb\n", "../libdb", "a/b", "@a", "@a/b/c", "libdb@1.8.3", "", "l\u0456bdb", "x#y"]
)
def test_what_is_no_name(name: str) -> None:
    """A key that no package can have is a change, shown so that it cannot pass for another."""
    (found,) = told_by(optionalDependencies={name: "1.8.3"})
    assert found.startswith("change:package.json#")
    assert found.isprintable()


def test_names_are_compared_as_written() -> None:
    """A name that begins alike, or differs in case, is another package."""
    assert beside(PATH, dumps(BASE), changed(optionalDependencies={"libdb-extra": "1.8.3", "LibDB": "1.8.3"})) == [
        "entry:package.json#LibDB@1.8.3",
        "entry:package.json#libdb-extra@1.8.3",
    ]


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"overrides": {"libdb": "1.8.3"}}, "entry:package.json#libdb@1.8.3"),
        ({"overrides": {"libdb@^1.0.0": "1.8.3"}}, "entry:package.json#libdb@1.8.3"),
        ({"overrides": {"@a/b@1": "1.8.3"}}, "entry:package.json#@a/b@1.8.3"),
        ({"resolutions": {"libdb": "1.8.3"}}, "entry:package.json#libdb@1.8.3"),
        ({"pnpm": {"overrides": {"libdb": "1.8.3"}}}, "entry:package.json#libdb@1.8.3"),
        ({"overrides": {"other": "9.9.9"}}, "entry:package.json#other@9.9.9"),
        (
            {"pnpm": {"overrides": {"other": "npm:evil@1.0.0"}}},
            "change:package.json#other: is no plain version and no range",
        ),
        ({"overrides": {"libdb": "npm:evil@1.8.3"}}, "change:package.json#libdb: is no plain version and no range"),
        ({"overrides": {"libdb": "$libdb"}}, "change:package.json#libdb: is no plain version and no range"),
        ({"overrides": {"libdb": "^1.8.3"}}, "entry:package.json#libdb@^1.8.3"),
        ({"overrides": {"other": {"libdb": "1.8.3"}}}, "field:package.json#/overrides/other"),
        ({"overrides": {"libdb": {".": "1.8.3", "evil": "1.0.0"}}}, "field:package.json#/overrides/libdb"),
        ({"resolutions": {"**/libdb": "1.8.3"}}, "field:package.json#/resolutions/**~1libdb"),
        ({"resolutions": {"other/libdb": "1.8.3"}}, "field:package.json#/resolutions/other~1libdb"),
        ({"pnpm": {"overrides": {"other>libdb": "1.8.3"}}}, "field:package.json#/pnpm/overrides/other>libdb"),
        ({"pnpm": {"overrides": {"libdb@1>evil": "1.8.3"}}}, "field:package.json#/pnpm/overrides/libdb@1>evil"),
        ({"overrides": ["libdb"]}, "field:package.json#/overrides"),
        ({"pnpm": 1}, "field:package.json#/pnpm"),
    ],
)
def test_rules_for_the_whole_tree(keys: dict[str, Any], expected: str) -> None:
    """An override belongs to the package that its key names, if its key names one and its value a plain version."""
    assert told_by(**keys) == (expected,)


@pytest.mark.parametrize("at", ["", "pnpm"])
def test_a_new_patch(at: str) -> None:
    """A patch of one version is an entry of it, and the file of the patch is changed with it."""
    value = {"patchedDependencies": {"libdb@1.8.2": "patches/libdb@1.8.2.patch"}}
    keys = {at: value} if at else value
    assert told_by(**keys) == ("entry:package.json#libdb@1.8.2", "write:patches/libdb@1.8.2.patch")


def test_a_patch_beside_a_nested_manifest() -> None:
    """The path of a patch is relative to its manifest."""
    new = dumps({"patchedDependencies": {"@a/b@1.0.0": "./patches/b.patch"}})
    assert told("packages/a/package.json", "{}", new) == (
        "entry:packages/a/package.json#@a/b@1.0.0",
        "write:packages/a/patches/b.patch",
    )


@pytest.mark.parametrize(
    "file",
    [
        *("src/evil.js", "/etc/passwd", "../patches/a.patch", "patches/../src/a.js", "patches//a", "patches\\a", ""),
        *(
            "patches/*.patch",
            "https://evil.example/a.patch",
            1,
            None,
            {"path": "patches/a.patch"},
            "patches/a\u200b.patch",
        ),
    ],
)
def test_a_patch_that_is_no_dependency_file(file: object) -> None:
    """A patch outside of the folders for such files is a change."""
    assert told_by(patchedDependencies={"libdb@1.8.2": file}) == (
        "change:package.json#libdb: its patch is no dependency file",
    )


def test_patches_that_change() -> None:
    """A patch moves on with its version; one that points elsewhere, or has no plain version, is a change."""

    def of(*old: str, new: dict[str, str]) -> tuple[str, ...]:
        before = {key: f"patches/{key}.patch" for key in old}
        return told(PATH, changed(patchedDependencies=before), changed(patchedDependencies=new))

    moved = of("libdb@1.8.2", new={"libdb@1.8.3": "patches/b.patch"})
    assert moved == ("entry:package.json#libdb@1.8.3", "write:patches/b.patch")
    assert of("libdb@1.8.2", new={}) == ("entry:package.json#libdb@none",)
    elsewhere = of("libdb@1.8.2", new={"libdb@1.8.2": "patches/b.patch"})
    assert elsewhere == ("change:package.json#libdb: its patch stands elsewhere",)
    for key in ("libdb", "libdb@^1.8.2", "libdb@", "@1.8.2", "a b@1.8.2"):
        assert of(new={key: "patches/b.patch"}) == (f"field:package.json#/patchedDependencies/{key}",)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"private": 1}, "/private"),
        ({"private": False}, "/private"),
        ({"workspaces": ["packages/*"]}, "/workspaces"),
        ({"bundleDependencies": ["other"]}, "/bundleDependencies"),
        ({"trustedDependencies": ["other"]}, "/trustedDependencies"),
        ({"pnpm": {"onlyBuiltDependencies": ["other"]}}, "/pnpm/onlyBuiltDependencies"),
        ({"packageManager": "pnpm@9.0.0"}, "/packageManager"),
        ({"peerDependenciesMeta": {"libdb": {"optional": True}}}, "/peerDependenciesMeta"),
        ({"__proto__": {"dependencies": {"evil": "1"}}}, "/__proto__"),
        ({"a/b~c": 1}, "/a~1b~0c"),
        ({"dependencies": ["libdb"]}, "/dependencies"),
        ({"optionalDependencies": None}, "/optionalDependencies"),
        ({"Dependencies": {"libdb": "1.8.3"}}, "/Dependencies"),
    ],
)
def test_fields(keys: dict[str, Any], expected: str) -> None:
    """Every other key is a field, compared with its type."""
    assert told_by(**keys) == (f"field:package.json#{expected}",)


def test_a_key_that_cannot_be_shown() -> None:
    """A key with a character that hides is a change."""
    assert told_by(**{"a\u202e": 1}) == ("change:package.json#a\\u202e: a key that cannot be shown",)


def test_an_order_that_counts() -> None:
    """The conditions of an export are read in their order."""
    one, other = {"import": "./a.mjs", "default": "./a.js"}, {"default": "./a.js", "import": "./a.mjs"}
    assert told(PATH, changed(exports=one), changed(exports=other)) == ("field:package.json#/exports",)
    sides = (changed(publishConfig={"access": "public", "exports": it}) for it in (one, other))
    assert told(PATH, *sides) == ("field:package.json#/publishConfig",)


@pytest.mark.parametrize(
    "name",
    [
        *(
            "preinstall",
            "install",
            "postinstall",
            "prepare",
            "preprepare",
            "postprepare",
            "prepublish",
            "prepublishOnly",
        ),
        *("prepack", "postpack", "preuninstall", "uninstall", "postuninstall", "dependencies", "pnpm:devPreinstall"),
        *("preshrinkwrap", "shrinkwrap", "postshrinkwrap", "publish", "postpublish"),
        *("preversion", "version", "postversion"),
    ],
)
def test_lifecycle_scripts(name: str) -> None:
    """A script that runs by itself when packages are installed or packed is named apart, also when it goes."""
    new = changed(scripts={"test": "node test.js", name: "node x.js"})
    assert told(PATH, dumps(BASE), new) == (f"lifecycle:package.json#{name}",)
    assert told(PATH, new, dumps(BASE)) == (f"lifecycle:package.json#{name}",)


def test_scripts() -> None:
    """Every other script is named as such; scripts that are no texts are a change."""
    found = told_by(scripts={"lint": "eslint .", "preinstallation": "x", "Postinstall": "x"})
    assert found == tuple(f"script:package.json#{name}" for name in ("Postinstall", "lint", "preinstallation", "test"))
    for scripts in (["a"], {"test": ["a"]}, {"test": 1}, None, "a"):
        assert told_by(scripts=scripts) == ("change:package.json#scripts: not an object of texts",)
    hidden = told_by(scripts={"test": "node test.js", "postinstall\u200b": "x"})
    assert hidden == ("change:package.json#postinstall\\u200b: a script that cannot be shown",)


def test_a_new_manifest() -> None:
    """A new manifest tells all that it holds."""
    new = dumps({"name": "a", "dependencies": {"evil": "1.0.0"}, "scripts": {"postinstall": "x"}})
    assert told("packages/a/package.json", None, new) == (
        "entry:packages/a/package.json#evil@1.0.0",
        "field:packages/a/package.json#/name",
        "lifecycle:packages/a/package.json#postinstall",
    )


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('"other": "9.9.9", "other": "1.0.0"', "a key twice in one object"),
        ('"oth\\u0065r": "9.9.9", "other": "1.0.0"', "a key twice in one object"),
        ('// note\n"other": "1.0.0"', "not JSON at line 11"),
        ('"other": "1.0.0",', "not JSON at line 11"),
        ('"other": "\\ud800"', "half of a surrogate pair"),
    ],
)
def test_what_two_tools_could_read_two_ways(line: str, why: str) -> None:
    """Keys twice, comments and commas at the end are refused on either side."""
    old = dumps(BASE)
    new = old.replace('"other": "1.0.0"', line)
    assert told(PATH, old, new)[0].startswith(f"change:package.json#not readable: {why[:8]}")
    assert told(PATH, new, old)[0].startswith("change:package.json#not readable: ")


def test_every_fault_is_told() -> None:
    """All that is wrong is named, each with its package."""
    new = changed(dependencies={"libdb": "2.0.0"}, devDependencies={"tool": "2.0.1"}, workspaces=[])
    assert beside(PATH, dumps(BASE), new) == [
        "entry:package.json#libdb@2.0.0",
        "entry:package.json#other@none",
        "entry:package.json#tool@2.0.1",
        "field:package.json#/workspaces",
    ]


def test_no_damage_of_another_package_goes_unseen() -> None:
    """Whatever outside of the upgraded package's own entries is lost, changed or added, it is told."""
    for place, lock in damages(BASE):
        if "libdb" not in str(place) and place[:1] != ("scripts",):
            assert beside(PATH, dumps(BASE), dumps(lock)), place
