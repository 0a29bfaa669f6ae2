from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.decompose.manifests.asking import beside, damages, dumps, told

PATH = "package-lock.json"
HOST = "https://registry.example"


def package(name: str, version: str, **more: Any) -> dict[str, Any]:
    """The entry of one package from the registry."""
    file = name.rpartition("/")[2]
    return {
        "version": version,
        "resolved": f"{HOST}/{name}/-/{file}-{version}.tgz",
        "integrity": f"sha512-{name.upper()}{version}",
        **more,
    }


def nested(places: dict[str, Any]) -> dict[str, Any]:
    """The packages at places of depth one as version 1 writes them."""
    found = {}
    for place, record in places.items():
        if place.startswith("node_modules/"):
            kept = {key: record[key] for key in ("version", "resolved", "integrity", "dev") if key in record}
            needs = record.get("dependencies")
            found[place.removeprefix("node_modules/")] = {**kept, **({"requires": needs} if needs else {})}
    return found


PLACES: dict[str, Any] = {
    "": {
        "name": "demo",
        "version": "0.1.0",
        "license": "MIT",
        "dependencies": {"libdb": "1.8.2", "other": "1.0.0"},
        "devDependencies": {"tool": "2.0.0"},
    },
    "node_modules/libdb": package("libdb", "1.8.2", dependencies={"deep": "^1.0.0"}, engines={"node": ">=18"}),
    "node_modules/deep": package("deep", "1.0.0", license="MIT"),
    "node_modules/other": package("other", "1.0.0", dependencies={"shared": "^1.0.0"}),
    "node_modules/shared": package("shared", "1.0.0"),
    "node_modules/tool": package("tool", "2.0.0", dev=True, bin={"tool": "bin.js"}),
}


def write(places: dict[str, Any], version: int = 3, **more: Any) -> str:
    """A lock of npm in one of its versions."""
    lock = {"name": "demo", "version": "0.1.0", "lockfileVersion": version, "requires": True}
    if version > 1:
        lock["packages"] = places
    if version < 3:
        lock["dependencies"] = nested(places)
    return dumps({**lock, **more})


def upgraded() -> dict[str, Any]:
    """The places after an upgrade of `libdb` alone, as npm makes it."""
    places = copy.deepcopy(PLACES)
    places[""]["dependencies"]["libdb"] = "1.8.3"
    places["node_modules/libdb"] = package("libdb", "1.8.3", dependencies={"deep": "^1.0.0"}, engines={"node": ">=20"})
    return places


Change = Callable[[dict[str, Any]], object]


def after(change: Change, version: int = 3) -> list[str]:
    """What lies beside the upgrade of `libdb` when something else is changed with it."""
    places = upgraded()
    change(places)
    return beside(PATH, write(PLACES, version), write(places, version))


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("path", [PATH, "a/npm-shrinkwrap.json"])
def test_an_upgrade(path: str, version: int) -> None:
    """An upgrade of one package is an entry of it in every version of the format."""
    assert told(path, write(PLACES, version), write(upgraded(), version)) == (f"entry:{path}#libdb@1.8.3",)
    assert told(path, write(PLACES, version), json.dumps(json.loads(write(PLACES, version)))) == ()


@pytest.mark.parametrize("version", [1, 2, 3])
def test_what_comes_with_an_upgrade(version: int) -> None:
    """What only the upgraded package needs comes, moves and goes with it."""

    def more(places: dict[str, Any]) -> None:
        places["node_modules/libdb"]["dependencies"] = {"fresh": "^2.0.0"}
        places["node_modules/fresh"] = package("fresh", "2.1.0", dependencies={"under": "1"})
        places["node_modules/under"] = package("under", "1.0.0")
        del places["node_modules/deep"]

    assert after(more, version) == []


@pytest.mark.parametrize("version", [2, 3])
def test_what_an_upgrade_moves(version: int) -> None:
    """A package that only the upgraded one needs may have another version, if the lock tells who needs what."""
    assert after(lambda places: places.update({"node_modules/deep": package("deep", "1.1.0")}), version) == []


def test_what_version_1_does_not_tell() -> None:
    """Where the manifest alone says what the project needs, a package that stays is nobody else's."""
    found = after(lambda places: places.update({"node_modules/deep": package("deep", "1.1.0")}), 1)
    assert found == ["entry:package-lock.json#deep@1.1.0"]


def test_a_second_copy() -> None:
    """A copy in the folder of the upgraded package is its own; one in the folder of another is not."""
    place = "node_modules/libdb/node_modules/shared"

    def copies(places: dict[str, Any]) -> None:
        places["node_modules/libdb"]["dependencies"] = {"deep": "^1.0.0", "shared": "^2.0.0"}
        places[place] = package("shared", "2.0.0")

    assert after(copies) == []
    found = after(lambda places: places.update({"node_modules/other/node_modules/shared": package("shared", "1.0.1")}))
    assert found == ["entry:package-lock.json#shared@1.0.1"]


DESCRIPTIONS: dict[str, Any] = {
    "license": "MIT",
    "funding": {"url": "https://fund.example"},
    "peerDependencies": {"other": "^1.0.0"},
    "peerDependenciesMeta": {"other": {"optional": True}},
    "optionalDependencies": {"shared": "^1.0.0"},
    "os": ["linux"],
    "cpu": ["x64"],
    "libc": ["glibc"],
    "bin": {"libdb": "bin.js"},
    "deprecated": "use another one",
    "engines": {"node": ">=22"},
}


@pytest.mark.parametrize("key", DESCRIPTIONS)
def test_what_describes_a_version(key: str) -> None:
    """What a package says of itself may change with its version."""
    assert after(lambda places: places["node_modules/libdb"].update({key: DESCRIPTIONS[key]})) == []


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize(
    ("key", "value", "what"),
    [
        ("name", "libdb-evil", "is another package: libdb-evil"),
        ("name", 1, "is another package: 1"),
        ("hasInstallScript", True, "runs a script when it is installed"),
        ("hasInstallScript", 1, "runs a script when it is installed"),
        ("link", True, "is of another kind: link"),
        ("inBundle", True, "is of another kind: inBundle"),
        ("hasShrinkwrap", True, "is of another kind: hasShrinkwrap"),
        ("extraneous", True, "differs in extraneous"),
        ("dev", True, "differs in dev"),
        ("optional", True, "differs in optional"),
        ("version", "1.8.3 ", "is no plain version"),
        ("version", "npm:libdb@1.8.3", "is no plain version"),
        ("version", None, "is no plain version"),
        ("version", ["1.8.3"], "is no plain version"),
        ("integrity", "", "has no integrity"),
        ("integrity", None, "has no integrity"),
        ("integrity", "sha1-AAAA", "has a weaker integrity"),
        ("integrity", "md5-AAAA", "has no integrity"),
        ("integrity", ["sha512-AAAA"], "has no integrity"),
    ],
)
def test_what_may_not_change_with_a_version(key: str, value: object, what: str, version: int) -> None:
    """Its name, its kind, its scripts at installation and its hash stay as they are."""
    assert f"change:package-lock.json#libdb: {what}" in after(
        lambda places: places["node_modules/libdb"].update({key: value}), version
    )


def test_a_lost_hash() -> None:
    """An entry that had a hash has one; one that had none needs none."""
    assert after(lambda places: places["node_modules/libdb"].pop("integrity")) == [
        "change:package-lock.json#libdb: has no integrity"
    ]
    old = copy.deepcopy(PLACES)
    new = upgraded()
    for places in (old, new):
        del places["node_modules/libdb"]["integrity"]
        del places["node_modules/libdb"]["resolved"]
    assert beside(PATH, write(old), write(new)) == []


@pytest.mark.parametrize(
    "url",
    [
        *(
            "libdb-evil/-/libdb-evil-1.8.3.tgz",
            "libdb/-/libdb-1.8.2.tgz",
            "libdb/-/libdb-1.8.3.tgz?x",
            "libdb/libdb-1.8.3.tgz",
        ),
        *(
            "libdb/-/libdb-1.8.3.tgz#x",
            "libdb/-/../../evil/-/libdb-1.8.3.tgz",
            "libdb/-/evil-1.8.3.tgz",
            "libdb-1.8.3.tgz",
        ),
        *("evil/-/evil-1.8.3.tgz#/libdb/-/libdb-1.8.3.tgz", "%6cibdb/-/libdb-1.8.3.tgz", "a b/libdb/-/libdb-1.8.3.tgz"),
        "..//libdb/-/libdb-1.8.3.tgz",
    ],
)
def test_an_address_of_something_else(url: str) -> None:
    """The address of an entry names the package and its version, and nothing around them."""
    assert after(lambda places: places["node_modules/libdb"].update(resolved=f"{HOST}/{url}")) == [
        "change:package-lock.json#libdb: resolved to something else than this version of it"
    ]


@pytest.mark.parametrize(
    "prefix",
    [
        *("https://evil.example", "http://registry.example", f"{HOST}:8443", f"{HOST}.evil.example", f"{HOST}/mirror"),
        *(
            "https://registry.example@evil.example",
            "git+ssh://git@evil.example",
            "file:",
            "HTTPS://registry.example",
            "",
        ),
    ],
)
def test_an_address_elsewhere(prefix: str) -> None:
    """The registry of an entry stays the same, to the letter."""
    (found,) = after(lambda places: places["node_modules/libdb"].update(resolved=f"{prefix}/libdb/-/libdb-1.8.3.tgz"))
    assert found.startswith("change:package-lock.json#libdb: resolved ")


def test_an_address_that_is_not_said() -> None:
    """An address that is left out, or comes up, is another one."""
    assert after(lambda places: places["node_modules/libdb"].pop("resolved")) == [
        "change:package-lock.json#libdb: resolved from another place"
    ]


@pytest.mark.parametrize("scope", ["@s/libdb", "@s%2flibdb", "@s%2Flibdb"])
def test_an_address_with_a_scope(scope: str) -> None:
    """Registries write the slash after a scope in more than one way."""
    old = {"": {"dependencies": {"@s/libdb": "1.8.2"}}, "node_modules/@s/libdb": package("@s/libdb", "1.8.2")}
    new = {"": {"dependencies": {"@s/libdb": "1.8.3"}}, "node_modules/@s/libdb": package("@s/libdb", "1.8.3")}
    new["node_modules/@s/libdb"]["resolved"] = f"{HOST}/{scope}/-/libdb-1.8.3.tgz"
    assert beside(PATH, write(old), write(new), "@s/libdb@1.8.3") == []


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("resolved", "https://evil.example/other/-/other-1.0.0.tgz"),
        ("resolved", f"{HOST}/malicious/-/malicious-1.0.0.tgz"),
        ("integrity", "sha512-EVIL"),
    ],
)
def test_another_package_at_the_same_version(key: str, value: str, version: int) -> None:
    """An entry of another package that changes at its version is told with its name."""
    assert after(lambda places: places["node_modules/other"].update({key: value}), version) == [
        "change:package-lock.json#other: changed at version 1.0.0",
        "entry:package-lock.json#other@1.0.0",
    ]


def test_other_keys_of_another_package() -> None:
    """Any key of an entry counts, and so does the type of its value."""
    for key, value in {"hasInstallScript": True, "name": "evil", "dev": 1, "link": True, "license": "GPL"}.items():
        found = after(lambda places, key=key, value=value: places["node_modules/tool"].update({key: value}))  # type: ignore[misc]
        assert "entry:package-lock.json#tool@2.0.0" in found


def test_another_package_that_comes_moves_or_goes() -> None:
    """Another package that the upgraded one does not bring is an entry of its own."""
    evil = {"node_modules/evil": package("evil", "1.0.0")}
    assert after(lambda places: places.update(evil)) == ["entry:package-lock.json#evil@1.0.0"]
    moved = {"node_modules/shared": package("shared", "1.0.1")}
    assert after(lambda places: places.update(moved)) == ["entry:package-lock.json#shared@1.0.1"]
    gone = after(lambda places: places.pop("node_modules/tool"))
    assert gone == ["entry:package-lock.json#tool@none"]


def test_what_is_brought_from_elsewhere() -> None:
    """What an upgrade brings comes from where the upgraded package does, with a hash and no script."""

    def bring(**keys: Any) -> list[str]:
        def change(places: dict[str, Any]) -> None:
            places["node_modules/libdb"]["dependencies"]["fresh"] = "*"
            places["node_modules/fresh"] = {**package("fresh", "2.0.0"), **keys}

        return after(change)

    what = "change:package-lock.json#fresh: "
    assert bring(resolved="https://evil.example/fresh/-/fresh-2.0.0.tgz") == [f"{what}comes from another source"]
    git = bring(resolved="git+ssh://git@evil.example/fresh.git#0123")
    assert git == [f"{what}resolved to something else than this version of it"]
    assert bring(hasInstallScript=True) == [f"{what}runs a script when it is installed"]
    assert bring(integrity=None) == [f"{what}has no integrity"]
    assert bring(inBundle=True) == [f"{what}is of another kind: inBundle"]
    assert bring(name="evil") == [f"{what}is another package: evil"]


def test_a_script_that_was_there() -> None:
    """A package that ran a script at installation may go on doing so."""
    old, new = copy.deepcopy(PLACES), upgraded()
    for places in (old, new):
        places["node_modules/libdb"]["hasInstallScript"] = True
    assert beside(PATH, write(old), write(new)) == []


def test_the_copy_of_the_manifest() -> None:
    """The lock's copy of the manifest is held to the rules of the manifest, under which a range is an entry."""
    copied: dict[str, Change] = {
        "entry:package-lock.json#libdb@^1.8.3": lambda one: one["dependencies"].update(libdb="^1.8.3"),
        "change:package-lock.json#libdb: is no plain version and no range": lambda one: one["dependencies"].update(
            libdb="npm:evil@^1.8.3"
        ),
        "entry:package-lock.json#other@none": lambda one: one["dependencies"].pop("other"),
        "entry:package-lock.json#tool@2.0.1": lambda one: one["devDependencies"].update(tool="2.0.1"),
        "entry:package-lock.json#evil@1.0.0": lambda one: one.update(optionalDependencies={"evil": "1.0.0"}),
        "field:package-lock.json#/packages//license": lambda one: one.update(license="GPL"),
        "field:package-lock.json#/packages//workspaces": lambda one: one.update(workspaces=["a"]),
        "field:package-lock.json#/packages//hasInstallScript": lambda one: one.update(hasInstallScript=True),
        "field:package-lock.json#/packages//dependencies": lambda one: one.update(dependencies=["libdb"]),
    }
    for expected, change in copied.items():
        assert expected in after(lambda places, change=change: change(places[""]))  # type: ignore[misc]


def test_workspaces() -> None:
    """A package of the project's own is a manifest, and its link stays as it is."""
    old = {
        **PLACES,
        "packages/a": {"name": "a", "version": "1.0.0", "dependencies": {"libdb": "1.8.2"}},
        "node_modules/a": {"resolved": "packages/a", "link": True},
    }
    new = {**old, **upgraded(), "packages/a": {"name": "a", "version": "1.0.0", "dependencies": {"libdb": "1.8.3"}}}
    assert beside(PATH, write(old), write(new)) == []
    linked = {**new, "node_modules/a": {"resolved": "../evil", "link": True}}
    assert beside(PATH, write(old), write(linked)) == [
        "change:package-lock.json#a: changed at version ",
        "entry:package-lock.json#a@",
    ]
    assert "change:package-lock.json#b: is of another kind: link" in beside(
        PATH, write(old), write({**new, "node_modules/b": {"resolved": "src/b", "link": True}})
    )
    added = {**new, "packages/b": {"dependencies": {"evil": "1.0.0"}}}
    assert beside(PATH, write(old), write(added)) == [
        "entry:package-lock.json#evil@1.0.0",
        "field:package-lock.json#/packages/packages~1b",
    ]
    gone = {place: one for place, one in new.items() if place != "packages/a"}
    assert "field:package-lock.json#/packages/packages~1a" in beside(PATH, write(old), write(gone))


@pytest.mark.parametrize("folder", ["src", "packages/a"])
def test_a_copy_for_the_project(folder: str) -> None:
    """A package whose name the project has is its own where the project's code would find it."""
    old = {**PLACES, "packages/a": {"dependencies": {"libdb": "1.8.2"}}}
    new = {**old, **upgraded(), "packages/a": {"dependencies": {"libdb": "1.8.3"}}}
    new[folder] = {"dependencies": {"libdb": "1.8.3"}}
    new[f"{folder}/node_modules/libdb"] = package("libdb", "1.8.3", dependencies={"other": "*"})
    own = ["field:package-lock.json#/packages/src"] if folder == "src" else []
    new[f"{folder}/node_modules/other"] = package("other", "6.6.6")
    assert beside(PATH, write(old), write(new)) == ["entry:package-lock.json#other@6.6.6", *own]
    new[f"{folder}/node_modules/libdb/node_modules/other"] = new.pop(f"{folder}/node_modules/other")
    assert beside(PATH, write(old), write(new)) == own


def test_a_registry_that_the_lock_does_not_know() -> None:
    """A package whose name is new comes from where another one of the lock does."""
    places = {place: one for place, one in PLACES.items() if place != "node_modules/libdb"}
    places[""] = {**PLACES[""], "dependencies": {"other": "1.0.0"}}
    new = upgraded()
    assert beside(PATH, write(places), write(new)) == []
    new["node_modules/libdb"]["resolved"] = new["node_modules/libdb"]["resolved"].replace(HOST, "https://evil.example")
    assert beside(PATH, write(places), write(new)) == [
        "change:package-lock.json#libdb: comes from a registry that the lock does not know"
    ]


@pytest.mark.parametrize(
    "found",
    [
        *({"libdb": place} for place in ("../x.js", "a/../../x.js", "/x.js", "C:/x.js", "a\\x.js", "", 1)),
        *({name: "x.js"} for name in ("../x", "a/b", "..", "")),
        *(["x.js"], "../x.js"),
    ],
)
def test_commands(found: Any) -> None:
    """The commands of a package are plain names for files inside of it, unless they were others before."""
    (told_of,) = after(lambda places: places["node_modules/libdb"].update(bin=found))
    assert told_of.startswith("change:package-lock.json#libdb: brings a command outside of it: ")
    one, other = copy.deepcopy(PLACES), upgraded()
    for places in (one, other):
        places["node_modules/libdb"]["bin"] = found
    assert beside(PATH, write(one), write(other)) == []
    for fine in ({"libdb": "./bin/x.js", "lib-db.2": "a/..b/x y.js"}, "x.js"):
        assert after(lambda places, fine=fine: places["node_modules/libdb"].update(bin=fine)) == []  # type: ignore[misc]


@pytest.mark.parametrize(
    "place",
    [
        *("../out/node_modules/libdb", "node_modules/../../out/node_modules/libdb", "./node_modules/libdb"),
        *("/node_modules/libdb", "/out/node_modules/libdb", "C:/out/node_modules/libdb", "a\\b/node_modules/libdb"),
        *("a b/node_modules/libdb", "a//node_modules/libdb", "a/./node_modules/libdb", "xnode_modules/libdb"),
        *(
            "node_modules/libdb/",
            "node_modules/libdb/x/node_modules/libdb",
            "node_modules",
            "a/node_modules",
            "..",
            "a/",
        ),
        *("node_modules/node_modules/libdb", "node_modules/libdb/../deep"),
    ],
)
def test_places_out_of_the_tree(place: str) -> None:
    """A place is a folder of the project's own or one that an installer makes, and nothing that leads elsewhere."""
    (found,) = after(lambda places: places.update({place: package("libdb", "1.8.3")}))
    assert found.startswith("change:package-lock.json#not readable: ")


def test_a_workspace_in_the_nested_form() -> None:
    """Version 2 repeats what a package of the project's own needs beside its folder."""
    needs = {"version": "file:packages/a", "requires": {"libdb": "1.8.2"}}
    one = json.loads(write(PLACES, 2))
    other = json.loads(write(upgraded(), 2))
    one["dependencies"]["a"] = needs
    other["dependencies"]["a"] = {**needs, "requires": {"libdb": "1.8.3"}}
    assert beside(PATH, dumps(one), dumps(other)) == []
    other["dependencies"]["a"]["version"] = "file:packages/evil"
    assert beside(PATH, dumps(one), dumps(other)) != []


def test_one_half_of_version_2() -> None:
    """Both halves of version 2 are compared: a tool may read either."""
    lock = json.loads(write(upgraded(), 2))
    for half, place in [("packages", "node_modules/other"), ("dependencies", "other")]:
        changed = copy.deepcopy(lock)
        changed[half][place]["integrity"] = "sha512-EVIL"
        assert beside(PATH, write(PLACES, 2), dumps(changed)) == [
            "change:package-lock.json#other: changed at version 1.0.0",
            "entry:package-lock.json#other@1.0.0",
        ]
        dropped = {key: value for key, value in lock.items() if key != half}
        assert f"field:package-lock.json#/{half}" in beside(PATH, write(PLACES, 2), dumps(dropped))


def test_nested_packages_of_version_1() -> None:
    """A package in the folder of another one is compared as deep as it lies."""
    inner = {"shared": package("shared", "0.9.0")}
    one, other = json.loads(write(PLACES, 1)), json.loads(write(upgraded(), 1))
    for lock in (one, other):
        lock["dependencies"]["other"]["dependencies"] = copy.deepcopy(inner)
    assert beside(PATH, dumps(one), dumps(other)) == []
    other["dependencies"]["other"]["dependencies"]["shared"]["integrity"] = "sha512-EVIL"
    assert "entry:package-lock.json#shared@0.9.0" in beside(PATH, dumps(one), dumps(other))


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"name": "evil"}, "field:package-lock.json#/name"),
        ({"requires": 1}, "field:package-lock.json#/requires"),
        ({"lockfileVersion": 2}, "field:package-lock.json#/lockfileVersion"),
        ({"overrides": {}}, "field:package-lock.json#/overrides"),
        ({"lockfileVersion": 4}, "change:package-lock.json#not readable: a version of locks that is not known"),
        ({"lockfileVersion": "3"}, "change:package-lock.json#not readable: a version of locks that is not known"),
        ({"lockfileVersion": 3.0}, "change:package-lock.json#not readable: a version of locks that is not known"),
        ({"packages": []}, "change:package-lock.json#not readable: `packages` is no object"),
    ],
)
def test_the_file_as_a_whole(keys: dict[str, Any], expected: str) -> None:
    """Every other key of the lock is a field, and a version that is not known cannot be read."""
    assert beside(PATH, write(PLACES), write(upgraded(), 3, **keys)) == [expected]


@pytest.mark.parametrize(
    "place",
    [
        "node_modules/",
        "node_modules/..",
        "node_modules/a b",
        "node_modules/@a",
        "node_modules/a" * 80,
        "a/" * 600,
        "node_modules/l\u0456b",
    ],
)
def test_places_that_are_none(place: str) -> None:
    """A place that no package can have, or that lies too deep, makes the lock unreadable."""
    (found,) = after(lambda places: places.update({place: package("a", "1.0.0")}))
    assert found.startswith(("change:package-lock.json#not readable: ", "field:"))


def test_a_new_lock() -> None:
    """A new lock tells all that it holds."""
    found = told(PATH, None, write(PLACES))
    entries = [f"entry:package-lock.json#{name}" for name in ("libdb@1.8.2", "other@1.0.0", "tool@2.0.0")]
    froms = [f"entry:package-lock.json#{name} (from {HOST})" for name in ("deep@1.0.0", "shared@1.0.0")]
    assert {one for one in found if one.startswith("entry:")} == {
        *entries,
        *froms,
        *(f"{one} (from {HOST})" for one in entries),
    }
    assert "field:package-lock.json#/lockfileVersion" in found


def test_no_damage_of_another_package_goes_unseen() -> None:
    """Whatever outside of the upgraded package's own entries is lost, changed or added, it is told."""
    for place, lock in damages(json.loads(write(upgraded(), 3))):
        if "libdb" not in str(place):
            assert beside(PATH, write(PLACES), dumps(lock)), place
