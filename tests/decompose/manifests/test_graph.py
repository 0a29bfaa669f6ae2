from __future__ import annotations

import pytest

from indult.decompose.manifests.graph import Lock, Package, attribute


def package(
    name: str, version: str = "1.0.0", *needs: str, source: str = "r", key: str = "", record: int = 0
) -> Package:
    """A package whose key is its name, unless another is given."""
    return Package(key=key or name, name=name, version=version, source=source, record=record, needs=needs)


def lock(*packages: Package, roots: tuple[str, ...] = ("libdb", "other")) -> Lock:
    """A lock of these packages."""
    return Lock(packages={one.key: one for one in packages}, roots=roots)


def fine(old: Package | None, new: Package) -> str | None:
    """A check that finds nothing wrong."""
    return None


def told(old: Lock, new: Lock) -> list[str]:
    """All targets of a comparison in which each entry is fine in itself."""
    return sorted(set(attribute("L", old, new, fine)))


BASE = lock(package("libdb", "1.8.2"), package("other"))


def test_nothing_changed() -> None:
    """Two equal locks differ in nothing."""
    assert told(BASE, BASE) == []


def test_a_version() -> None:
    """A package of another version at its place is an entry of its own."""
    assert told(BASE, lock(package("libdb", "1.8.3"), package("other"))) == ["entry:L#libdb@1.8.3"]


def test_a_version_in_the_key() -> None:
    """Where the key holds the version, the old and the new entry are one change."""
    old = lock(package("libdb", "1.8.2", key="libdb@1.8.2"), roots=("libdb@1.8.2",))
    new = lock(package("libdb", "1.8.3", key="libdb@1.8.3"), roots=("libdb@1.8.3",))
    assert told(old, new) == ["entry:L#libdb@1.8.3"]


def test_a_record_at_the_same_version() -> None:
    """An entry that differs at an unchanged version is a change that nobody can ask for."""
    new = lock(package("libdb", "1.8.2"), package("other", record=1))
    assert told(BASE, new) == ["change:L#other: changed at version 1.0.0", "entry:L#other@1.0.0"]


def test_what_only_one_package_needs() -> None:
    """A package that came in through one other belongs to it, however far down."""
    new = lock(package("libdb", "1.8.3", "a"), package("a", "1.0.0", "b"), package("b", "2.0.0", "a"), package("other"))
    assert told(BASE, new) == ["entry:L#libdb@1.8.3"]
    assert told(new, BASE) == ["entry:L#libdb@1.8.2"]


def test_what_two_packages_need() -> None:
    """A package that an unchanged one needs as well belongs to itself."""
    old = lock(package("libdb", "1.8.2"), package("other", "1.0.0", "a"), package("a"))
    new = lock(package("libdb", "1.8.3", "a"), package("other", "1.0.0", "a"), package("a", "2.0.0"))
    assert told(old, new) == ["entry:L#a@2.0.0", "entry:L#libdb@1.8.3"]


def test_what_two_changed_packages_need() -> None:
    """Where the ways of two changed packages meet, what lies behind belongs to neither."""
    new = lock(package("libdb", "1.8.3", "a"), package("other", "2.0.0", "a"), package("a", "1.0.0", "b"), package("b"))
    assert told(BASE, new) == ["entry:L#a@1.0.0", "entry:L#b@1.0.0", "entry:L#libdb@1.8.3", "entry:L#other@2.0.0"]


def test_two_entries_of_one_package() -> None:
    """Two entries of one package and version, such as for two sets of peers, are one owner."""
    old = lock(package("libdb", "1.8.2", key="x"), package("libdb", "1.8.2", key="y"), roots=("x", "y"))
    new = lock(
        package("libdb", "1.8.3", "a", key="x"), package("libdb", "1.8.3", "a", key="y"), package("a"), roots=("x", "y")
    )
    assert told(old, new) == ["entry:L#libdb@1.8.3"]


def test_through_an_unchanged_package() -> None:
    """An unchanged package that a changed one needs alone hands the name on."""
    old = lock(package("libdb", "1.8.2", "a"), package("a", "1.0.0", "b"), package("b"), package("other"))
    new = lock(package("libdb", "1.8.3", "a"), package("a", "1.0.0", "b"), package("b", "2.0.0"), package("other"))
    assert told(old, new) == ["entry:L#libdb@1.8.3"]


def test_below_an_unchanged_root() -> None:
    """A package that an unchanged root leads to is the topmost one that changed."""
    old = lock(package("other", "1.0.0", "libdb"), package("libdb", "1.8.2"), roots=("other",))
    new = lock(package("other", "1.0.0", "libdb"), package("libdb", "1.8.3", "a"), package("a"), roots=("other",))
    assert told(old, new) == ["entry:L#libdb@1.8.3"]


def test_out_of_reach() -> None:
    """What nothing leads to belongs to itself."""
    assert told(BASE, lock(*BASE.packages.values(), package("evil"))) == ["entry:L#evil@1.0.0"]


def test_gone() -> None:
    """A package that left with its owner belongs to it; one that left alone has no version now."""
    old = lock(package("libdb", "1.8.2", "a"), package("a"), package("other"))
    assert told(old, lock(package("libdb", "1.8.3"), package("other"))) == ["entry:L#libdb@1.8.3"]
    assert told(old, lock(package("libdb", "1.8.2", "a"), package("a"))) == ["entry:L#other@none"]
    assert told(old, lock(package("other"))) == ["entry:L#libdb@none"]


def test_gone_for_one_that_was_there() -> None:
    """A second copy that left stands for the version that stays, if it is one."""
    two = lock(package("libdb", "1.8.2", key="x"), package("libdb", "1.8.3", key="y"), roots=("x", "y"))
    assert told(two, lock(package("libdb", "1.8.3", key="y"), roots=("y",))) == ["entry:L#libdb@1.8.3"]


def test_another_name_at_a_place() -> None:
    """A place that another package took is an entry of both."""
    new = lock(package("evil", "1.8.2", key="libdb"), package("other"))
    assert told(BASE, new) == ["entry:L#evil@1.8.2", "entry:L#libdb@none"]


def test_another_source() -> None:
    """What came in through another package comes from where that one does, or from where it came before."""
    new = lock(package("libdb", "1.8.3", "a"), package("a", source="elsewhere"), package("other"))
    assert told(BASE, new) == [
        "change:L#a: comes from another source",
        "entry:L#libdb@1.8.3",
    ]
    old = lock(package("libdb", "1.8.2", "a"), package("a", "0.9.0", source="elsewhere"), package("other"))
    assert told(old, new) == ["entry:L#libdb@1.8.3"]


def test_a_registry_that_the_lock_does_not_know() -> None:
    """A new name comes from where another package does, or from the format's own registry."""
    evil = package("evil", source="elsewhere")
    new = lock(*BASE.packages.values(), evil, roots=("libdb", "other", "evil"))
    unknown = "change:L#evil: comes from a registry that the lock does not know"
    assert told(BASE, new) == [unknown, "entry:L#evil@1.0.0"]
    assert sorted(attribute("L", BASE, new, fine, known={"elsewhere"})) == ["entry:L#evil@1.0.0"]
    two = lock(package("libdb", "1.8.2"), package("other", source="elsewhere"))
    assert told(two, lock(*two.packages.values(), evil)) == ["entry:L#evil@1.0.0"]
    under = lock(package("libdb", "1.8.3", "evil", source="elsewhere"), evil, package("other"))
    assert told(BASE, under) == [unknown, "entry:L#libdb@1.8.3"]


def test_a_lock_that_knows_no_registry() -> None:
    """Beside the first package stands where it comes from, so that its version alone does not open it."""
    new = lock(package("libdb", "1.8.2"))
    found = ["entry:L#libdb@1.8.2", "entry:L#libdb@1.8.2 (from r)"]
    assert told(lock(), new) == found
    assert sorted(attribute("L", lock(), new, fine, known={"r"})) == ["entry:L#libdb@1.8.2"]


def untold(*packages: Package, roots: tuple[str, ...] = ("libdb",)) -> Lock:
    """A lock that does not tell what the project needs."""
    return Lock(packages={one.key: one for one in packages}, roots=roots, told=False)


def test_a_lock_that_does_not_tell_its_roots() -> None:
    """There, a name that was in the lock before is its own, and what is new belongs to what needs it alone."""
    old = untold(package("libdb", "1.8.2", "a"), package("a", "1.0.0", "b"), package("b"))
    new = untold(
        package("libdb", "1.8.3", "a", "c"),
        package("a", "2.0.0", "d"),
        package("c", "1.0.0", "e"),
        package("d"),
        package("e"),
    )
    assert told(old, new) == [
        "entry:L#a@2.0.0",
        "entry:L#b@none",
        "entry:L#libdb@1.8.3",
    ]
    beside = package("a", "6.6.6", key="a@6.6.6")
    new = untold(package("libdb", "1.8.3", "a@6.6.6"), package("a", "1.0.0", "b"), package("b"), beside)
    assert told(old, new) == ["entry:L#a@6.6.6", "entry:L#libdb@1.8.3"]
    froms = [f"entry:L#{name}@1.0.0 (from r)" for name in "ab"]
    assert told(untold(roots=()), old) == [*froms, "entry:L#libdb@1.8.2", "entry:L#libdb@1.8.2 (from r)"]


def placed(key: str, version: str, *needs: str, within: str = "") -> Package:
    """A package in a folder, found there by whoever looks for the last part of its key."""
    name = key.rpartition("/")[2]
    return Package(key=key, name=name, version=version, source="r", record=0, needs=needs, within=within)


FOLDERS = lock(placed("libdb", "1.8.2", "deep"), placed("deep", "1.0.0"), placed("other", "1.0.0"))


@pytest.mark.parametrize("name", ["other", "OTHER"])
@pytest.mark.parametrize(
    ("within", "mine"),
    [("", False), ("libdb", True), ("fresh", True), ("deep", True), ("other", False), ("nobody", False)],
)
def test_a_folder_of_the_owner(name: str, within: str, mine: bool) -> None:
    """A package whose name the project has belongs to another one only in the folder of that one's own."""
    new = lock(
        placed("libdb", "1.8.3", f"x/{name}", "fresh", "deep"),
        placed("fresh", "1.0.0"),
        placed(f"x/{name}", "6.6.6", within=within),
        placed("deep", "1.0.0"),
        placed("other", "1.0.0"),
    )
    assert told(FOLDERS, new) == sorted(["entry:L#libdb@1.8.3", *([] if mine else [f"entry:L#{name}@6.6.6"])])


def test_a_folder_of_the_project() -> None:
    """There lies with another package what is new to the lock, or was with that package all along."""
    new = lock(
        placed("libdb", "1.8.3", "deep", "x/deep"),
        placed("deep", "1.1.0"),
        placed("x/deep", "2.0.0"),
        placed("other", "1.0.0"),
    )
    assert told(FOLDERS, new) == ["entry:L#libdb@1.8.3"]


def test_each_entry_is_checked_beside_the_one_it_replaces() -> None:
    """The check sees the entry at the same place, else one of the same name."""
    seen: list[tuple[str, str, str]] = []

    def own(old: Package | None, new: Package) -> str | None:
        seen.append((new.name, old.version if old else "", new.version))
        return "is odd" if new.name == "a" else None

    new = lock(package("libdb", "1.8.3", "a"), package("a"), package("other"))
    found = sorted(set(attribute("L", BASE, new, own)))
    assert sorted(seen) == [("a", "", "1.0.0"), ("libdb", "1.8.2", "1.8.3")]
    assert found == ["change:L#a: is odd", "entry:L#libdb@1.8.3"]


def test_needs_that_do_not_exist() -> None:
    """A need or a root that names no package leads nowhere."""
    new = lock(package("libdb", "1.8.3", "nobody"), package("other"), roots=("libdb", "other", "nothing"))
    assert told(BASE, new) == ["entry:L#libdb@1.8.3"]


def test_needs_that_the_lock_lacks() -> None:
    """A changed package that needs what the lock does not have leaves that to the next installation."""
    one = Package(key="libdb", name="libdb", version="1.8.3", source="r", record=0, lacks=("a", "b"))
    found = ["change:L#libdb: needs a, which the lock does not have", "entry:L#libdb@1.8.3"]
    assert told(BASE, lock(one, package("other"))) == found


def test_a_long_chain_and_a_dense_graph() -> None:
    """A chain far deeper than the stack and a graph full of ways are walked in one pass."""
    chain = [package(f"p{i}", "1.0.0", f"p{i + 1}") for i in range(50_000)]
    assert told(BASE, lock(package("libdb", "1.8.3", "p0"), *chain, package("other"))) == ["entry:L#libdb@1.8.3"]
    names = [f"q{i}" for i in range(400)]
    dense = [package(name, "1.0.0", *names) for name in names]
    assert told(BASE, lock(package("libdb", "1.8.3", *names), *dense, package("other"))) == ["entry:L#libdb@1.8.3"]
