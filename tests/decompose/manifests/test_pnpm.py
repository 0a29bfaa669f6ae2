from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from tests.decompose.manifests.asking import beside, damages, told

PATH = "pnpm-lock.yaml"
HASH = "ab" * 26

# As version 9 writes it.
NINE = """lockfileVersion: '9.0'

settings:
  autoInstallPeers: true
  excludeLinksFromLockfile: false

importers:

  .:
    dependencies:
      libdb:
        specifier: 1.8.2
        version: 1.8.2
      other:
        specifier: ^1.0.0
        version: 1.0.0(libdb@1.8.2)
    devDependencies:
      '@s/tool':
        specifier: 2.0.0
        version: 2.0.0

packages:

  '@s/tool@2.0.0':
    resolution: {integrity: sha512-TOOL200}
    hasBin: true

  deep@1.0.0:
    resolution: {integrity: sha512-DEEP100}

  libdb@1.8.2:
    resolution: {integrity: sha512-LIBDB182}
    engines: {node: '>=18'}

  other@1.0.0:
    resolution: {integrity: sha512-OTHER100}
    peerDependencies:
      libdb: ^1.0.0

  shared@1.0.0:
    resolution: {integrity: sha512-SHARED100}

snapshots:

  '@s/tool@2.0.0': {}

  deep@1.0.0: {}

  libdb@1.8.2:
    dependencies:
      deep: 1.0.0

  other@1.0.0(libdb@1.8.2):
    dependencies:
      libdb: 1.8.2
      shared: 1.0.0

  shared@1.0.0: {}
"""
# As version 6 writes it for a single project.
SIX = """lockfileVersion: '6.0'

dependencies:
  libdb:
    specifier: 1.8.2
    version: 1.8.2
  other:
    specifier: ^1.0.0
    version: 1.0.0(libdb@1.8.2)

packages:

  /libdb@1.8.2:
    resolution: {integrity: sha512-LIBDB182}
    requiresBuild: false
    dev: false

  /other@1.0.0(libdb@1.8.2):
    resolution: {integrity: sha512-OTHER100}
    peerDependencies:
      libdb: ^1.0.0
    dependencies:
      libdb: 1.8.2
    dev: false
"""


def upgrade(text: str) -> str:
    """The lock after an upgrade of `libdb` alone."""
    return text.replace("1.8.2", "1.8.3").replace("LIBDB182", "LIBDB183")


BASE: dict[str, Any] = yaml.safe_load(NINE)
Change = Callable[[dict[str, Any]], object]


def after(change: Change) -> list[str]:
    """What lies beside the upgrade of `libdb` when something else is changed with it."""
    lock = copy.deepcopy(yaml.safe_load(upgrade(NINE)))
    change(lock)
    return beside(PATH, NINE, yaml.safe_dump(lock))


def test_layout() -> None:
    """Comments, order and the style of the text are layout."""
    assert told(PATH, NINE, yaml.safe_dump(BASE, default_flow_style=True)) == ()
    assert told(PATH, NINE, NINE.replace("packages:\n", "packages: # of the registry\n")) == ()


@pytest.mark.parametrize("text", [NINE, SIX])
def test_an_upgrade(text: str) -> None:
    """An upgrade is an entry of its package, also where another one has it as a peer."""
    assert told(PATH, text, upgrade(text)) == ("entry:pnpm-lock.yaml#libdb@1.8.3",)


def test_an_upgrade_below_a_range() -> None:
    """Where a range is asked for, what it is resolved to may move alone."""
    new = NINE.replace("1.0.0(", "1.0.1(").replace("other@1.0.0", "other@1.0.1")
    assert told(PATH, NINE, new) == ("entry:pnpm-lock.yaml#other@1.0.1",)


def test_what_comes_with_an_upgrade() -> None:
    """What only the upgraded package needs comes and goes with it."""

    def more(lock: dict[str, Any]) -> None:
        lock["snapshots"]["libdb@1.8.3"] = {"dependencies": {"fresh": "2.0.0", "under": "1.0.0"}}
        for name in ("fresh@2.0.0", "under@1.0.0"):
            lock["packages"][name] = {"resolution": {"integrity": "sha512-X"}, "engines": {"node": "*"}}
            lock["snapshots"][name] = {}
        for part in ("packages", "snapshots"):
            del lock[part]["deep@1.0.0"]

    assert after(more) == []


@pytest.mark.parametrize("key", ["engines", "os", "cpu", "libc", "deprecated", "hasBin", "peerDependencies"])
def test_what_describes_a_version(key: str) -> None:
    """What a package says of itself may change with its version."""
    assert after(lambda lock: lock["packages"]["libdb@1.8.3"].update({key: {"a": "b"}})) == []


@pytest.mark.parametrize(
    ("record", "what"),
    [
        (
            {"resolution": {"integrity": "sha512-X", "tarball": "https://evil.example/a.tgz"}},
            "resolved to something else",
        ),
        (
            {"resolution": {"integrity": "sha512-X", "tarball": "https://evil.example/libdb/-/libdb-1.8.3.tgz"}},
            "resolved from another place",
        ),
        (
            {"resolution": {"type": "git", "repo": "https://evil.example/libdb.git", "commit": "0123"}},
            "is of another kind",
        ),
        ({"resolution": {"type": "directory", "directory": "../libdb"}}, "is of another kind"),
        ({"resolution": {"integrity": "sha512-X", "path": "evil"}}, "is of another kind"),
        ({"resolution": {"integrity": "sha1-X"}}, "has a weaker integrity"),
        ({"resolution": {"integrity": 1}}, "has no integrity"),
        ({"resolution": {}}, "has no integrity"),
        ({"resolution": None}, "has no integrity"),
        ({}, "has no integrity"),
        ({"resolution": {"integrity": "sha512-X"}, "name": "evil"}, "differs in name"),
        ({"resolution": {"integrity": "sha512-X"}, "version": "9.9.9"}, "differs in version"),
        ({"resolution": {"integrity": "sha512-X"}, "id": "evil@1.0.0"}, "differs in id"),
        ({"resolution": {"integrity": "sha512-X"}, "requiresBuild": True}, "runs a script when it is installed"),
        ({"resolution": {"integrity": "sha512-X"}, "bundledDependencies": ["evil"]}, "differs in bundledDependencies"),
    ],
)
def test_what_may_not_change_with_a_version(record: dict[str, Any], what: str) -> None:
    """Its name, its kind, its place and its hash stay as they are."""
    (found,) = after(lambda lock: lock["packages"].update({"libdb@1.8.3": record}))
    assert found.startswith(f"change:pnpm-lock.yaml#libdb: {what}")


def test_another_registry() -> None:
    """A package with an address of its own stays there, and its address follows the version."""
    old = NINE.replace("sha512-LIBDB182", "sha512-X, tarball: https://registry.example/libdb/-/libdb-1.8.2.tgz")
    assert told(PATH, old, upgrade(old)) == ("entry:pnpm-lock.yaml#libdb@1.8.3",)
    assert beside(PATH, old, upgrade(NINE)) == ["change:pnpm-lock.yaml#libdb: resolved from another place"]


@pytest.mark.parametrize(
    "change",
    [
        lambda lock: lock["packages"]["shared@1.0.0"]["resolution"].update(integrity="sha512-EVIL"),
        lambda lock: lock["packages"]["shared@1.0.0"]["resolution"].update(
            tarball="https://evil.example/shared-1.0.0.tgz"
        ),
        lambda lock: lock["packages"]["shared@1.0.0"].update(hasBin=True),
        lambda lock: lock["snapshots"]["shared@1.0.0"].update(optional=True),
    ],
)
def test_another_package_at_the_same_version(change: Change) -> None:
    """An entry of another package that changes at its version is told with its name."""
    assert after(change) == [
        "change:pnpm-lock.yaml#shared: changed at version 1.0.0",
        "entry:pnpm-lock.yaml#shared@1.0.0",
    ]


@pytest.mark.parametrize(
    ("needs", "expected"),
    [
        ({"libdb": "1.8.3", "shared": "evil@1.0.0"}, "change:pnpm-lock.yaml#shared: is resolved to another package"),
        ({"libdb": "1.8.3", "shared": "link:../evil"}, "change:pnpm-lock.yaml#shared: is resolved to another package"),
        ({"libdb": "1.8.3", "shared": "9.9.9"}, "entry:pnpm-lock.yaml#shared@9.9.9"),
        ({"libdb": "1.8.3", "shared": "1.0.0", "deep": "1.0.0"}, "entry:pnpm-lock.yaml#deep@1.0.0"),
        ({"libdb": "1.8.3"}, "change:pnpm-lock.yaml#other: changed at version 1.0.0"),
        (
            {"libdb": "libdb-evil@1.8.3", "shared": "1.0.0"},
            "change:pnpm-lock.yaml#libdb: is resolved to another package",
        ),
    ],
)
def test_what_another_package_needs(needs: dict[str, str], expected: str) -> None:
    """A need of another package may follow the upgraded one; any other change of it is told."""
    assert expected in after(lambda lock: lock["snapshots"]["other@1.0.0(libdb@1.8.3)"].update(dependencies=needs))


@pytest.mark.parametrize(
    ("entry", "what"),
    [
        ({"specifier": "^1.8.3", "version": "evil@1.8.3"}, "is resolved to no plain version"),
        ({"specifier": "^1.8.3", "version": "1.8.9"}, "is resolved to another version"),
        ({"specifier": "npm:evil@1.8.3", "version": "evil@1.8.3"}, "no plain version and no range on one side"),
        ({"specifier": "1.8.3", "version": "evil@1.8.3"}, "is resolved to no plain version"),
        ({"specifier": "1.8.3", "version": "link:../libdb"}, "is resolved to no plain version"),
        ({"specifier": "1.8.3", "version": "1.8.2"}, "is resolved to another version"),
        ({"specifier": "1.8.4", "version": "1.8.4"}, "is resolved to another version"),
        ({"specifier": "1.8.3", "version": "1.8.3", "name": "evil"}, "is no specifier and version"),
        ({"specifier": "1.8.3"}, "is no specifier and version"),
        ("1.8.3", "is no specifier and version"),
        (None, "is no specifier and version"),
    ],
)
def test_the_copy_of_the_manifest(entry: object, what: str) -> None:
    """What the project asks for is held to the rules of the manifest, and is resolved to just that."""
    found = after(lambda lock: lock["importers"]["."]["dependencies"].update(libdb=entry))
    assert f"change:pnpm-lock.yaml#libdb: {what}" in found


def test_a_range_that_became_a_version() -> None:
    """In the project's own copy a range that comes or goes is an entry at its text, as in the manifest.

    It was a change, so that nobody could open what package managers write by themselves.
    """
    old = NINE.replace("specifier: 1.8.2", "specifier: ^1.8.2")
    assert beside(PATH, old, upgrade(NINE)) == ["entry:pnpm-lock.yaml#libdb@1.8.3 (was ^1.8.2)"]
    assert beside(PATH, NINE, upgrade(NINE).replace("specifier: 1.8.3", "specifier: ^1.8.3")) == [
        "entry:pnpm-lock.yaml#libdb@^1.8.3"
    ]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda lock: lock["importers"]["."].pop("devDependencies"), "entry:pnpm-lock.yaml#@s/tool@none"),
        (
            lambda lock: lock["importers"].update(a={"publishDirectory": "x"}),
            "field:pnpm-lock.yaml#/importers/a/publishDirectory",
        ),
        (lambda lock: lock["settings"].update(autoInstallPeers=False), "field:pnpm-lock.yaml#/settings"),
        (lambda lock: lock.update(overrides={"other": "9.9.9"}), "entry:pnpm-lock.yaml#other@9.9.9"),
        (lambda lock: lock.update(overrides={"other>libdb": "1.8.3"}), "field:pnpm-lock.yaml#/overrides/other>libdb"),
        (lambda lock: lock.update(pnpmfileChecksum="x"), "field:pnpm-lock.yaml#/pnpmfileChecksum"),
        (lambda lock: lock.update(packageExtensionsChecksum="x"), "field:pnpm-lock.yaml#/packageExtensionsChecksum"),
        (lambda lock: lock.update(catalogs={}), "field:pnpm-lock.yaml#/catalogs"),
        (
            lambda lock: lock.update(lockfileVersion="6.0"),
            "change:pnpm-lock.yaml#not readable: a section that this version of locks does not have",
        ),
        (
            lambda lock: lock.update(lockfileVersion="5.4"),
            "change:pnpm-lock.yaml#not readable: a version of locks that is not known",
        ),
        (lambda lock: lock.update(dependencies={}), "change:pnpm-lock.yaml#not readable: projects at two places"),
        (
            lambda lock: lock["snapshots"]["libdb@1.8.3"].update(resolution={"tarball": "https://evil.example/a.tgz"}),
            "change:pnpm-lock.yaml#not readable: a place that only some readers look at",
        ),
        (
            lambda lock: lock["packages"].update(
                {"libdb@1.8.3(a@1.0.0)": {"resolution": {"integrity": "sha512-EVIL"}}}
            ),
            "change:pnpm-lock.yaml#not readable: one package from two places",
        ),
    ],
)
def test_the_rest_of_the_lock(change: Change, expected: str) -> None:
    """Every other key is a field, and what versions of pnpm read differently cannot be read."""
    assert expected in after(change)


def test_what_moves_behind_an_upgrade() -> None:
    """A package that only the upgraded one leads to may get another version of what it needs, of the same name."""
    old = NINE.replace("  deep@1.0.0: {}", "  deep@1.0.0:\n    dependencies:\n      under: 1.0.0\n\n  under@1.0.0: {}")
    old = old.replace("packages:\n", "packages:\n\n  under@1.0.0:\n    resolution: {integrity: sha512-UNDER}\n", 1)
    new = upgrade(old).replace("under: 1.0.0", "under: 1.0.1").replace("under@1.0.0", "under@1.0.1")
    assert told(PATH, old, new) == ("entry:pnpm-lock.yaml#libdb@1.8.3",)
    alone = new.replace("1.8.3", "1.8.2").replace("LIBDB183", "LIBDB182")
    assert told(PATH, old, alone) == ("entry:pnpm-lock.yaml#under@1.0.1",)
    aliased = new.replace("under: 1.0.1", "under: shared@1.0.0")
    assert "change:pnpm-lock.yaml#under: is resolved to another package" in told(PATH, old, aliased)


def test_another_package() -> None:
    """Another package that comes or goes is an entry of its own."""
    evil = {"resolution": {"integrity": "sha512-X"}}
    assert after(lambda lock: lock["packages"].update({"evil@1.0.0": evil})) == ["entry:pnpm-lock.yaml#evil@1.0.0"]
    assert "entry:pnpm-lock.yaml#shared@none" in after(
        lambda lock: [lock[part].pop("shared@1.0.0") for part in ("packages", "snapshots")]
    )


def patched(text: str, value: str) -> str:
    """The lock with a patch of `libdb`, and all that follows from it in the keys."""
    new = text.replace("version: 1.8.2\n", f"version: 1.8.2(patch_hash={HASH})\n")
    new = new.replace("  libdb@1.8.2:\n    dependencies", f"  libdb@1.8.2(patch_hash={HASH}):\n    dependencies")
    new = new.replace("(libdb@1.8.2)", f"(libdb@1.8.2(patch_hash={HASH}))").replace(
        "libdb: 1.8.2\n", f"libdb: 1.8.2(patch_hash={HASH})\n"
    )
    return new.replace("importers:", f"patchedDependencies:\n  libdb@1.8.2: {value}\n\nimporters:")


def test_a_new_patch() -> None:
    """A patch is an entry of its version, however the keys follow from it."""
    both = patched(NINE, f"{{hash: {HASH}, path: patches/libdb@1.8.2.patch}}")
    assert told(PATH, NINE, both) == ("entry:pnpm-lock.yaml#libdb@1.8.2", "write:patches/libdb@1.8.2.patch")
    assert told(PATH, NINE, patched(NINE, HASH)) == ("entry:pnpm-lock.yaml#libdb@1.8.2",)
    other = "cd" * 26
    assert told(PATH, both, both.replace(HASH, other)) == ("entry:pnpm-lock.yaml#libdb@1.8.2",)
    assert told(PATH, both, NINE) == ("entry:pnpm-lock.yaml#libdb@1.8.2", "entry:pnpm-lock.yaml#libdb@none")


@pytest.mark.parametrize(
    "value", [f"{{hash: {HASH}, path: src/a.js}}", "{hash: x, path: patches/a}", "{path: patches/a}", "[a]", "x", "~"]
)
def test_a_patch_that_is_none(value: str) -> None:
    """A patch that lies elsewhere, or has no hash, is a change."""
    found = beside(PATH, NINE, patched(NINE, value), "libdb@1.8.2")
    assert "change:pnpm-lock.yaml#libdb: its patch is no dependency file" in found


def test_a_patch_in_a_key_alone() -> None:
    """A patch that only the key of another package names is told with it."""
    new = upgrade(NINE).replace("  shared@1.0.0: {}", f"  shared@1.0.0(patch_hash={HASH}): {{}}")
    assert beside(PATH, NINE, new) == ["entry:pnpm-lock.yaml#shared@1.0.0"]


@pytest.mark.parametrize(
    "line",
    [
        "  other@1.0.0: &x\n    a: 1\n",
        "  a@1.0.0: *x\n",
        "  a@1.0.0: !!map {}\n",
        "  <<: {}\n",
        "  libdb@1.8.2: {}\n",
        "  a: yes\n",
    ],
)
def test_what_two_tools_could_read_two_ways(line: str) -> None:
    """Anchors, aliases, tags, merge keys, keys twice and words of two meanings are refused."""
    (found,) = told(PATH, NINE, NINE.replace("packages:\n\n", f"packages:\n\n{line}\n"))
    assert found.startswith("change:pnpm-lock.yaml#not readable: ")


def test_a_second_document() -> None:
    """A lock is one document."""
    assert told(PATH, NINE, f"{NINE}---\n{NINE}")[0].startswith("change:pnpm-lock.yaml#not readable: ")


@pytest.mark.parametrize(
    "value", ["requiresBuild: true", "dev: true", "optional: true", "prepare: true", "patched: 1\n    id: a"]
)
def test_what_version_6_says_of_a_package(value: str) -> None:
    """What version 6 says of building and of the place in the tree stays as it is."""
    new = upgrade(SIX).replace("    requiresBuild: false\n    dev: false\n", f"    {value}\n", 1)
    (found,) = beside(PATH, SIX, new)
    assert found.startswith("change:pnpm-lock.yaml#libdb: ")


def test_a_place_that_is_no_registry_in_version_6() -> None:
    """A key of version 6 that is no name and version belongs to nobody."""
    new = upgrade(SIX) + "\n  github.com/evil/libdb/0123:\n    resolution: {tarball: https://evil.example/a.tgz}\n"
    assert "change:pnpm-lock.yaml#github.com/evil/libdb/0123: is no plain version" in beside(PATH, SIX, new)


def test_no_damage_of_another_package_goes_unseen() -> None:
    """Whatever outside of the upgraded package's own entries is lost, changed or added, it is told."""
    for place, lock in damages(yaml.safe_load(upgrade(NINE))):
        if "libdb" not in str(place):
            assert beside(PATH, NINE, yaml.safe_dump(lock)), place


def test_a_project_that_comes_or_goes() -> None:
    """A folder of the project is a field of its own, whatever it needs."""
    found = after(
        lambda lock: lock["importers"].update(a={"dependencies": copy.deepcopy(lock["importers"]["."]["dependencies"])})
    )
    assert "field:pnpm-lock.yaml#/importers/a" in found
    old, new = NINE, NINE.replace("  .:\n", "  b:\n")
    assert {"field:pnpm-lock.yaml#/importers/.", "field:pnpm-lock.yaml#/importers/b"} <= set(told(PATH, old, new))


def test_a_registry_that_the_lock_does_not_know() -> None:
    """A package whose name is new comes from the default registry, or from where another one does."""

    def evil(lock: dict[str, Any], host: str) -> None:
        lock["importers"]["."]["dependencies"]["evil"] = {"specifier": "1.8.3", "version": "1.8.3"}
        where = {"tarball": f"{host}/evil/-/evil-1.8.3.tgz"} if host else {}
        lock["packages"]["evil@1.8.3"] = {"resolution": {"integrity": "sha512-EVIL", **where}}
        lock["snapshots"]["evil@1.8.3"] = {}

    entry = "entry:pnpm-lock.yaml#evil@1.8.3"
    assert after(lambda lock: evil(lock, "")) == [entry]
    assert after(lambda lock: evil(lock, "https://evil.example")) == [
        "change:pnpm-lock.yaml#evil: comes from a registry that the lock does not know",
        entry,
    ]
