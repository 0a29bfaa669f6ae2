from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from tests.decompose.manifests.asking import beside, damages, dumps, told

from indult.decompose.manifests import names

PATH = "bun.lock"

# As bun writes it, with a comma after each last item.
TEXT = """{
  "lockfileVersion": 1,
  "workspaces": {
    "": {
      "name": "demo",
      "dependencies": {"libdb": "1.8.2", "other": "1.0.0", },
      "devDependencies": {"tool": "2.0.0", },
    },
  },
  "packages": {
    "libdb": ["libdb@1.8.2", "", {}, "sha512-LIBDB182"],
    "other": ["other@1.0.0", "", {}, "sha512-OTHER100"],
    "tool": ["tool@2.0.0", "", {}, "sha512-TOOL200"],
  }
}
"""

BASE: dict[str, Any] = {
    "lockfileVersion": 1,
    "configVersion": 1,
    "workspaces": {
        "": {
            "name": "demo",
            "dependencies": {"libdb": "1.8.2", "other": "1.0.0"},
            "devDependencies": {"@s/tool": "2.0.0"},
        },
        "packages/a": {"name": "a", "version": "0.1.0", "dependencies": {"libdb": "1.8.2"}},
    },
    "packages": {
        "@s/tool": ["@s/tool@2.0.0", "", {"bin": {"tool": "bin.js"}}, "sha512-TOOL200"],
        "a": ["a@workspace:packages/a"],
        "deep": ["deep@1.0.0", "", {}, "sha512-DEEP100"],
        "libdb": ["libdb@1.8.2", "", {"dependencies": {"deep": "^1.0.0"}}, "sha512-LIBDB182"],
        "other": ["other@1.0.0", "", {"dependencies": {"shared": "^1.0.0"}}, "sha512-OTHER100"],
        "shared": ["shared@1.0.0", "", {}, "sha512-SHARED100"],
    },
}


def upgraded() -> dict[str, Any]:
    """The lock after an upgrade of `libdb` alone."""
    lock = copy.deepcopy(BASE)
    lock["workspaces"][""]["dependencies"]["libdb"] = "1.8.3"
    lock["workspaces"]["packages/a"]["dependencies"]["libdb"] = "1.8.3"
    lock["packages"]["libdb"] = ["libdb@1.8.3", "", {"dependencies": {"deep": "^1.0.0"}}, "sha512-LIBDB183"]
    return lock


def after(change: Callable[[dict[str, Any]], object]) -> list[str]:
    """What lies beside the upgrade of `libdb` when something else is changed with it."""
    lock = upgraded()
    change(lock)
    return beside(PATH, dumps(BASE), dumps(lock))


def test_layout() -> None:
    """Blanks and commas at the end are layout."""
    assert told(PATH, TEXT, TEXT.replace(", }", "}").replace(",\n  }", "\n  }")) == ()
    assert told(PATH, TEXT, TEXT.replace("  ", "\t")) == ()


def test_a_new_patch() -> None:
    """A patch of one version is an entry of it, and the file of the patch is changed with it."""
    patch = '"patchedDependencies": {\n    "libdb@1.8.2": "patches/libdb@1.8.2.patch",\n  },\n  "packages"'
    assert told(PATH, TEXT, TEXT.replace('"packages"', patch)) == (
        "entry:bun.lock#libdb@1.8.2",
        "write:patches/libdb@1.8.2.patch",
    )


def test_an_upgrade() -> None:
    """An upgrade of one package is an entry of it, with whatever only it needs."""
    assert after(lambda lock: None) == []

    def more(lock: dict[str, Any]) -> None:
        lock["packages"]["libdb"][2] = {
            "dependencies": {"fresh": "2"},
            "peerDependencies": {"other": "1"},
            "os": "linux",
        }
        lock["packages"]["libdb/fresh"] = ["fresh@2.0.0", "", {}, "sha512-FRESH"]
        del lock["packages"]["deep"]

    assert after(more) == []


@pytest.mark.parametrize(
    ("entry", "what"),
    [
        (["libdb-evil@1.8.3", "", {}, "sha512-X"], "is another package: libdb-evil@1.8.3"),
        (["libdb@npm:evil@1.8.3", "", {}, "sha512-X"], "is of another kind than a plain version"),
        (["libdb@^1.8.3", "", {}, "sha512-X"], "is of another kind than a plain version"),
        (["libdb@github:evil/libdb#0123", {}, "evil-libdb-0123"], "is of another kind than a plain version"),
        (["libdb@git+https://evil.example/libdb.git#0123", {}, "0123"], "is of another kind than a plain version"),
        (["libdb@https://evil.example/libdb-1.8.3.tgz", {}, "sha512-X"], "is of another kind than a plain version"),
        (["libdb@file:src/libdb", {}], "is of another kind than a plain version"),
        (["libdb@link:src/libdb", {}], "is of another kind than a plain version"),
        (["libdb@workspace:src/libdb"], "is of another kind than a plain version"),
        (["libdb@1.8.3", {}, "sha512-X"], "is of another kind than a plain version"),
        (["libdb@1.8.3", "", {}, "sha512-X", "x"], "is of another kind than a plain version"),
        (
            ["libdb@1.8.3", "https://evil.example/libdb/-/libdb-1.8.3.tgz", {}, "sha512-X"],
            "resolved from another place",
        ),
        (["libdb@1.8.3", "https://evil.example/", {}, "sha512-X"], "resolved from another place"),
        (
            ["libdb@1.8.3", "https://evil.example/libdb/-/libdb-1.8.2.tgz", {}, "sha512-X"],
            "resolved to something else than this version of it",
        ),
        (["libdb@1.8.3", "", {}, ""], "has no integrity"),
        (["libdb@1.8.3", "", {}, "sha1-X"], "has a weaker integrity"),
        (["libdb@1.8.3", "", {"bundled": True}, "sha512-X"], "differs in bundled"),
        (["libdb@1.8.3", "", {"scripts": True}, "sha512-X"], "differs in scripts"),
    ],
)
def test_what_may_not_change_with_a_version(entry: list[Any], what: str) -> None:
    """Its name, its kind, its place and its hash stay as they are."""
    assert f"change:bun.lock#libdb: {what}" in after(lambda lock: lock["packages"].update(libdb=entry))


def test_another_registry() -> None:
    """A package of a registry with an address of its own stays there, and its address follows the version."""
    one, other = copy.deepcopy(BASE), upgraded()
    for lock, version in ((one, "1.8.2"), (other, "1.8.3")):
        lock["packages"]["libdb"][1] = f"https://registry.example/npm/libdb/-/libdb-{version}.tgz"
    assert beside(PATH, dumps(one), dumps(other)) == []
    other["packages"]["libdb"][1] = ""
    assert beside(PATH, dumps(one), dumps(other)) == ["change:bun.lock#libdb: resolved from another place"]


@pytest.mark.parametrize(
    "entry",
    [
        ["other@1.0.0", "", {"dependencies": {"shared": "^1.0.0"}}, "sha512-EVIL"],
        ["other@1.0.0", "https://evil.example/", {"dependencies": {"shared": "^1.0.0"}}, "sha512-OTHER100"],
        ["other@1.0.0", "", {}, "sha512-OTHER100"],
    ],
)
def test_another_package_at_the_same_version(entry: list[Any]) -> None:
    """An entry of another package that changes at its version is told with its name."""
    assert after(lambda lock: lock["packages"].update(other=entry)) == [
        "change:bun.lock#other: changed at version 1.0.0",
        "entry:bun.lock#other@1.0.0",
    ]


def test_another_package() -> None:
    """Another package that comes, moves or goes is an entry of its own."""
    fresh = ["evil@1.0.0", "", {}, "sha512-EVIL"]
    assert after(lambda lock: lock["packages"].update(evil=fresh)) == ["entry:bun.lock#evil@1.0.0"]
    moved = ["shared@1.0.1", "", {}, "sha512-SHARED101"]
    assert after(lambda lock: lock["packages"].update(shared=moved)) == ["entry:bun.lock#shared@1.0.1"]
    assert after(lambda lock: lock["packages"].update({"other/shared": moved})) == ["entry:bun.lock#shared@1.0.1"]
    assert after(lambda lock: lock["packages"].pop("@s/tool")) == ["entry:bun.lock#@s/tool@none"]
    own = after(lambda lock: lock["packages"].update({"a/libdb": ["libdb@1.8.4", "", {}, "sha512-X"]}))
    assert own == ["entry:bun.lock#libdb@1.8.4"]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (
            lambda lock: lock["workspaces"][""]["dependencies"].update(libdb="^1.8.3"),
            "entry:bun.lock#libdb@^1.8.3",
        ),
        (
            lambda lock: lock["workspaces"][""]["devDependencies"].update({"@s/tool": "2.0.1"}),
            "entry:bun.lock#@s/tool@2.0.1",
        ),
        (
            lambda lock: lock["workspaces"]["packages/a"].update(version="0.2.0"),
            "field:bun.lock#/workspaces/packages~1a/version",
        ),
        (
            lambda lock: lock["workspaces"].update({"b": {"dependencies": {"evil": "1.0.0"}}}),
            "entry:bun.lock#evil@1.0.0",
        ),
        (lambda lock: lock.update(overrides={"other": "9.9.9"}), "entry:bun.lock#other@9.9.9"),
        (
            lambda lock: lock.update(overrides={"libdb": "npm:evil@1.8.3"}),
            "change:bun.lock#libdb: is no plain version and no range",
        ),
        (lambda lock: lock.update(trustedDependencies=["other"]), "field:bun.lock#/trustedDependencies"),
        (lambda lock: lock.update(catalog={"libdb": "1.8.3"}), "field:bun.lock#/catalog"),
        (lambda lock: lock.update(configVersion=True), "field:bun.lock#/configVersion"),
        (
            lambda lock: lock.update(patchedDependencies={"libdb@1.8.3": "src/a.js"}),
            "change:bun.lock#libdb: its patch is no dependency file",
        ),
    ],
)
def test_the_rest_of_the_lock(change: Callable[[dict[str, Any]], object], expected: str) -> None:
    """Copies of manifests, rules and patches are held to the rules of the manifest, for ranges too; the rest are fields."""
    fields = ["field:bun.lock#/workspaces/b"] if expected.endswith("evil@1.0.0") else []
    assert after(change) == [expected, *fields]


def test_a_workspace_that_comes_or_goes() -> None:
    """A folder of the project is a field of its own, whatever it needs."""

    def come(lock: dict[str, Any]) -> None:
        lock["workspaces"]["b"] = {"dependencies": {"libdb": "1.8.3"}}

    assert after(come) == ["field:bun.lock#/workspaces/b"]
    lock = upgraded()
    del lock["workspaces"]["packages/a"]
    assert "field:bun.lock#/workspaces/packages~1a" in beside(PATH, dumps(BASE), dumps(lock))


def test_a_copy_for_the_project() -> None:
    """A package whose name the project has lies in the folder of the upgraded one, or is its own."""

    def copies(lock: dict[str, Any], folder: str) -> None:
        lock["packages"]["libdb"][2]["dependencies"]["shared"] = "*"
        lock["packages"][f"{folder}/shared"] = ["shared@6.6.6", "", {}, "sha512-SHARED666"]
        if folder == "a":
            lock["packages"]["a/libdb"] = lock["packages"]["libdb"]

    assert after(lambda lock: copies(lock, "libdb")) == []
    assert after(lambda lock: copies(lock, "a")) == ["entry:bun.lock#shared@6.6.6"]


def test_a_registry_that_the_lock_does_not_know() -> None:
    """A package whose name is new comes from the default registry, or from where another one does."""

    def fresh(lock: dict[str, Any], registry: str) -> None:
        lock["packages"]["libdb"][2]["dependencies"]["fresh"] = "*"
        lock["packages"]["fresh"] = ["fresh@1.0.0", registry, {}, "sha512-FRESH100"]

    assert after(lambda lock: fresh(lock, "")) == []
    old, new = copy.deepcopy(BASE), upgraded()
    new["workspaces"][""]["dependencies"]["evil"] = "1.8.3"
    new["packages"]["evil"] = ["evil@1.8.3", "https://evil.example/", {}, "sha512-EVIL"]
    unknown = "change:bun.lock#evil: comes from a registry that the lock does not know"
    assert beside(PATH, dumps(old), dumps(new), "evil@1.8.3") == [unknown, "entry:bun.lock#libdb@1.8.3"]
    for lock in (old, new):
        lock["packages"]["other"][1] = "https://evil.example/"
    assert beside(PATH, dumps(old), dumps(new), "evil@1.8.3") == ["entry:bun.lock#libdb@1.8.3"]


@pytest.mark.parametrize("found", [{"libdb": "../x.js"}, {"a/b": "x.js"}, "/x.js", {"libdb": ["x.js"]}])
def test_commands(found: Any) -> None:
    """The commands of the upgraded package lie inside of it."""
    (told_of,) = after(lambda lock: lock["packages"]["libdb"][2].update(bin=found))
    assert told_of.startswith("change:bun.lock#libdb: brings a command outside of it: ")
    assert after(lambda lock: lock["packages"]["libdb"][2].update(bin={"libdb": "./bin/x.js"})) == []


@pytest.mark.parametrize(
    "keys",
    [
        *(
            {"lockfileVersion": 3},
            {"lockfileVersion": True},
            {"lockfileVersion": "1"},
            {"packages": []},
            {"packages": None},
        ),
        *({"workspaces": []}, {"packages": {"a": []}}, {"packages": {"a": "a@1.0.0"}}, {"packages": {"a": [1]}}),
        *({"packages": {"": ["a@1.0.0"]}}, {"packages": {"a/../b": ["b@1.0.0"]}}, {"packages": {"a//b": ["b@1.0.0"]}}),
        *({"packages": {"@a": ["b@1.0.0"]}}, {"packages": {"a/" * 40 + "b": ["b@1.0.0"]}}),
    ],
)
def test_what_is_no_lock(keys: dict[str, Any]) -> None:
    """A version that is not known, or a package that is none, cannot be read."""
    (found,) = after(lambda lock: lock.update(keys))
    assert found.startswith("change:bun.lock#not readable: ")


@pytest.mark.parametrize(
    "line",
    ['"libdb": ["libdb@1.8.2", "", {}, "sha512-EVIL"],', "// a comment", "/* a comment */", '"a": [,],', ","],
)
def test_what_two_tools_could_read_two_ways(line: str) -> None:
    """A package twice, a comment and a comma without a value are refused."""
    new = TEXT.replace('"packages": {\n', f'"packages": {{\n    {line}\n')
    (found,) = told(PATH, TEXT, new)
    assert found.startswith("change:bun.lock#not readable: ")


def test_needs_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """More needs than any project has are refused rather than looked up."""
    monkeypatch.setattr(names, "_MAX_NEEDS", 1)
    assert after(lambda lock: None) == ["change:bun.lock#not readable: more needs than any project has"]


def test_no_damage_of_another_package_goes_unseen() -> None:
    """Whatever outside of the upgraded package's own entries is lost, changed or added, it is told."""
    for place, lock in damages(upgraded()):
        if "libdb" not in str(place):
            assert beside(PATH, dumps(BASE), dumps(lock)), place
