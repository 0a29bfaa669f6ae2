from __future__ import annotations

import pytest

from indult.decompose.manifests.cargo_lock import targets
from indult.decompose.manifests.reading import Unreadable

REGISTRY = "registry+https://registry.example/index"
OTHER = "registry+https://other.example/index"
GIT = "git+https://git.example/logx?rev=1#0a1b"


def crate(name: str, version: str, *needs: str, source: str = REGISTRY, more: str = "") -> str:
    """Return one package as versions 2 to 4 write it; without a source it is one of the project's own."""
    lines = [f'[[package]]\nname = "{name}"\nversion = "{version}"\n']
    if source:
        lines.append(f'source = "{source}"\n')
    if source.startswith("registry+") and "checksum" not in more:
        lines.append(f'checksum = "sum of {name} {version}"\n')
    if needs:
        lines.append(f"dependencies = [{', '.join(repr(need) for need in needs)}]\n")
    return "".join((*lines, more, "\n"))


def lock(*crates: str, version: int | None = 4) -> str:
    """Return a lock of some packages."""
    return ("" if version is None else f"version = {version}\n\n") + "".join(crates)


def changed(old: str | None, new: str) -> list[str]:
    """Return what changed, sorted and each once."""
    return sorted(set(targets("Cargo.lock", None if old is None else old.encode(), new.encode())))


DEMO = crate("demo", "0.1.0", "logx", "serdex", source="")
LOGX = crate("logx", "0.4.0")
OLD = lock(DEMO, LOGX, crate("serdex", "1.2.0"))


class TestVersions:
    @pytest.mark.parametrize("version", [None, 3, 4])
    def test_a_version_is_an_entry(self, version: int | None) -> None:
        """A package of another version is an entry of it, whatever the version of the format."""
        old, new = (lock(DEMO, LOGX, crate("serdex", one), version=version) for one in ("1.2.0", "1.2.1"))

        assert changed(old, new) == ["entry:Cargo.lock#serdex@1.2.1"]

    def test_the_first_version_keeps_checksums_apart(self) -> None:
        """In the format of version 1 a changed package is the same entry, and rewriting it all changes nothing else."""

        def first(version: str) -> str:
            needs = f'dependencies = ["logx 0.4.0 ({REGISTRY})", "serdex {version} ({REGISTRY})"]'
            packages = "".join(
                f'[[package]]\nname = "{name}"\nversion = "{one}"\nsource = "{REGISTRY}"\n'
                for name, one in (("logx", "0.4.0"), ("serdex", version))
            )
            sums = "".join(
                f'"checksum {name} {one} ({REGISTRY})" = "sum of {name} {one}"\n'
                for name, one in (("logx", "0.4.0"), ("serdex", version))
            )
            return f'[root]\nname = "demo"\nversion = "0.1.0"\n{needs}\n{packages}[metadata]\n{sums}'

        assert changed(first("1.2.0"), first("1.2.1")) == ["entry:Cargo.lock#serdex@1.2.1"]
        assert changed(first("1.2.0"), lock(DEMO, LOGX, crate("serdex", "1.2.0"), version=None)) == []
        assert changed(first("1.2.0"), OLD) == ["field:Cargo.lock#/version"]
        assert changed(first("1.2.0"), first("1.2.0").replace("sum of logx", "another of logx")) == [
            "change:Cargo.lock#logx: changed at version 0.4.0",
            "entry:Cargo.lock#logx@0.4.0",
        ]

    def test_what_goes_without_saying_may_be_said(self) -> None:
        """A need in its long form is the same need."""
        long = crate("demo", "0.1.0", f"serdex 1.2.0 ({REGISTRY})", "logx 0.4.0", source="")

        assert changed(OLD, lock(crate("serdex", "1.2.0"), long, LOGX)) == []

    def test_a_removed_package_is_none(self) -> None:
        """A package that nothing needs any more is an entry without a version."""
        assert changed(OLD, lock(crate("demo", "0.1.0", "logx", source=""), LOGX)) == ["entry:Cargo.lock#serdex@none"]


class TestOwners:
    def test_what_only_one_package_brings_belongs_to_it(self) -> None:
        """Packages that came or went with one package are its entry."""
        old = lock(DEMO, LOGX, crate("serdex", "1.2.0", "itoa"), crate("itoa", "0.4.0"))
        new = lock(DEMO, LOGX, crate("serdex", "1.2.1", "ryu"), crate("ryu", "1.0.0", "core"), crate("core", "1.0.0"))

        assert changed(old, new) == ["entry:Cargo.lock#serdex@1.2.1"]

    def test_what_another_needs_too_is_its_own(self) -> None:
        """A package that two lead to is an entry of its own."""
        old = lock(DEMO, crate("logx", "0.4.0", "itoa"), crate("serdex", "1.2.0", "itoa"), crate("itoa", "0.4.0"))
        new = old.replace("1.2.0", "1.2.1").replace('"itoa"\nversion = "0.4.0"', '"itoa"\nversion = "0.4.1"')

        assert changed(old, new) == ["entry:Cargo.lock#itoa@0.4.1", "entry:Cargo.lock#serdex@1.2.1"]

    def test_a_second_version_names_both(self) -> None:
        """Where a second version makes others name the first one, those have not changed."""
        old = lock(DEMO, crate("logx", "0.4.0", "itoa"), crate("serdex", "1.2.0"), crate("itoa", "0.4.0"))
        new = lock(
            DEMO,
            crate("logx", "0.4.0", "itoa 0.4.0"),
            crate("serdex", "1.2.1", "itoa 1.0.0"),
            crate("itoa", "0.4.0"),
            crate("itoa", "1.0.0"),
        )

        assert changed(old, new) == ["entry:Cargo.lock#serdex@1.2.1"]

    def test_a_package_deep_down(self) -> None:
        """A package that the project does not need itself moves alone, though others name its version."""
        texts = [
            lock(
                DEMO,
                crate("logx", "0.4.0", f"itoa {version}"),
                crate("serdex", "1.2.0", "itoa 1.0.0"),
                crate("itoa", version),
                crate("itoa", "1.0.0"),
            )
            for version in ("0.4.0", "0.4.1")
        ]

        assert changed(*texts) == ["entry:Cargo.lock#itoa@0.4.1"]

    def test_a_package_that_needs_another_version_of_what_is_there(self) -> None:
        """Who is led from one version to another, while both are there, has changed."""
        old, new = (
            lock(
                DEMO,
                crate("logx", "0.4.0", f"itoa {version}"),
                crate("serdex", "1.2.0", "itoa 1.0.0", "keep"),
                crate("keep", "1.0.0", "itoa 0.4.0"),
                crate("itoa", "0.4.0"),
                crate("itoa", "1.0.0"),
            )
            for version in ("0.4.0", "1.0.0")
        )

        assert changed(old, new) == [
            "change:Cargo.lock#logx: needs another itoa than before",
            "entry:Cargo.lock#logx@0.4.0",
        ]

    def test_a_package_that_needs_more(self) -> None:
        """A package that needs something else at its version has changed."""
        new = OLD.replace(LOGX, crate("logx", "0.4.0", "serdex"))

        assert changed(OLD, new) == [
            "change:Cargo.lock#logx: changed at version 0.4.0",
            "entry:Cargo.lock#logx@0.4.0",
        ]

    def test_what_nothing_needs_is_its_own(self) -> None:
        """A package that no way leads to is an entry of its own."""
        assert changed(OLD, OLD + crate("evil", "1.0.0")) == ["entry:Cargo.lock#evil@1.0.0"]


class TestSources:
    @pytest.mark.parametrize("source", [OTHER, GIT, "sparse+https://registry.example/index"])
    def test_another_source_of_the_same_version(self, source: str) -> None:
        """A package that comes from elsewhere at its version has changed."""
        new = OLD.replace(LOGX, crate("logx", "0.4.0", source=source))

        assert changed(OLD, new) == [
            "change:Cargo.lock#logx: changed at version 0.4.0",
            "entry:Cargo.lock#logx@0.4.0",
        ]

    @pytest.mark.parametrize("source", [OTHER, GIT])
    def test_another_source_of_the_new_version(self, source: str) -> None:
        """A new version comes from where the old one did."""
        new = OLD.replace(crate("serdex", "1.2.0"), crate("serdex", "1.2.1", source=source))

        assert changed(OLD, new) == [
            "change:Cargo.lock#serdex: comes from another source",
            "entry:Cargo.lock#serdex@1.2.1",
        ]

    def test_another_commit_is_another_source(self) -> None:
        """A package of a repository has changed when its commit did, with its version or without."""
        old = lock(DEMO, crate("logx", "0.4.0", source=GIT), crate("serdex", "1.2.0"))

        assert changed(old, old.replace("#0a1b", "#ffff")) == [
            "change:Cargo.lock#logx: changed at version 0.4.0",
            "entry:Cargo.lock#logx@0.4.0",
        ]
        assert changed(old, old.replace("0.4.0", "0.4.1").replace("#0a1b", "#ffff")) == [
            "change:Cargo.lock#logx: comes from another source",
            "entry:Cargo.lock#logx@0.4.1",
        ]

    def test_what_comes_along_comes_from_the_same_place(self) -> None:
        """A package that another brings along comes from the source of that one."""
        new = lock(DEMO, LOGX, crate("serdex", "1.2.1", "itoa"), crate("itoa", "1.0.0", source=GIT))

        assert changed(OLD, new) == [
            "change:Cargo.lock#itoa: comes from another source",
            "entry:Cargo.lock#serdex@1.2.1",
        ]

    def test_the_same_version_from_a_second_source(self) -> None:
        """Two packages of one name and version are told apart by their source."""
        new = lock(
            DEMO.replace("'logx'", f"'logx 0.4.0 ({REGISTRY})'"),
            LOGX,
            crate("serdex", "1.2.1", f"logx 0.4.0 ({GIT.partition('#')[0]})"),
            crate("logx", "0.4.0", source=GIT),
        )

        assert changed(OLD, new) == [
            "change:Cargo.lock#logx: comes from another source",
            "entry:Cargo.lock#serdex@1.2.1",
        ]

    def test_a_new_package_comes_from_a_known_place(self) -> None:
        """What the project needs anew comes from where something came from before, with a checksum."""
        demo = crate("demo", "0.1.0", "bits", "logx", "serdex", source="")
        fine, elsewhere, unchecked = (
            lock(demo, crate("bits", "2.0.0", source=source, more=more), LOGX, crate("serdex", "1.2.0"))
            for source, more in ((REGISTRY, ""), (OTHER, ""), (REGISTRY, "# no checksum\n"))
        )

        assert changed(OLD, fine) == ["entry:Cargo.lock#bits@2.0.0"]
        assert changed(OLD, elsewhere) == [
            "change:Cargo.lock#bits: comes from another source",
            "entry:Cargo.lock#bits@2.0.0",
        ]
        assert changed(OLD, unchecked) == ["change:Cargo.lock#bits: no checksum", "entry:Cargo.lock#bits@2.0.0"]

    @pytest.mark.parametrize(
        ("more", "what"),
        [
            ("# no checksum\n", "checksum changed"),
            (f'replace = "serdex 1.2.1 ({OTHER})"\n', "replace changed"),
            ("links = 1\n", "links changed"),
        ],
    )
    def test_the_entry_keeps_its_form(self, more: str, what: str) -> None:
        """A new version has a checksum if the old one had, and no other keys."""
        new = OLD.replace(crate("serdex", "1.2.0"), crate("serdex", "1.2.1", more=more))

        assert changed(OLD, new) == [f"change:Cargo.lock#serdex: {what}", "entry:Cargo.lock#serdex@1.2.1"]

    def test_another_checksum_of_the_same_version(self) -> None:
        """What was downloaded once must be what is downloaded now."""
        assert changed(OLD, OLD.replace("sum of logx", "another of logx")) == [
            "change:Cargo.lock#logx: changed at version 0.4.0",
            "entry:Cargo.lock#logx@0.4.0",
        ]


class TestOwnPackages:
    def test_what_the_project_needs_is_its_manifest(self) -> None:
        """Something that was there and is now needed by the project itself, or no longer, is an entry of that name."""
        old = lock(DEMO, LOGX, crate("serdex", "1.2.0", "itoa"), crate("itoa", "1.0.0"))
        new = old.replace(DEMO, crate("demo", "0.1.0", "itoa", "logx", "serdex", source=""))

        assert changed(old, new) == ["entry:Cargo.lock#itoa@1.0.0"]
        assert changed(new, old) == ["entry:Cargo.lock#itoa@none"]

    def test_a_need_that_moves_to_what_is_there(self) -> None:
        """The project that now needs a version which was there has an entry at that version."""
        old, new = (
            lock(
                crate("demo", "0.1.0", f"itoa {version}", "serdex", source=""),
                crate("serdex", "1.2.0", "itoa 0.4.0", "itoa 1.0.0"),
                crate("itoa", "0.4.0"),
                crate("itoa", "1.0.0"),
            )
            for version in ("0.4.0", "1.0.0")
        )

        assert changed(old, new) == ["entry:Cargo.lock#itoa@1.0.0"]

    def test_its_version_is_a_field(self) -> None:
        """The project's own version, and a package of its own that came or went, are fields."""
        assert changed(OLD, OLD.replace("0.1.0", "0.2.0")) == ["field:Cargo.lock#/package/demo"]
        assert changed(OLD, OLD + crate("helper", "0.1.0", "logx", source="")) == [
            "entry:Cargo.lock#logx@0.4.0",
            "field:Cargo.lock#/package/helper",
        ]

    @pytest.mark.parametrize("version", ["1.2.0", "1.2.1"])
    def test_a_package_that_becomes_the_projects_own(self, version: str) -> None:
        """A package that loses its source, or gets one, comes from elsewhere."""
        new = OLD.replace(crate("serdex", "1.2.0"), crate("serdex", version, source=""))

        for parts in (changed(OLD, new), changed(new, OLD)):
            assert "field:Cargo.lock#/package/serdex" in parts
            assert "change:Cargo.lock#serdex: comes from another source" in parts

    def test_the_rest_is_fields(self) -> None:
        """The version of the format, unused patches and notes are fields."""
        new = OLD.replace("version = 4", "version = 3") + '[[patch.unused]]\nname = "logx"\nversion = "0.4.1"\n'

        assert changed(OLD, new + '[metadata]\nnote = "x"\n[other]\na = 1\n') == [
            "field:Cargo.lock#/metadata/note",
            "field:Cargo.lock#/other/a",
            "field:Cargo.lock#/patch/unused",
            "field:Cargo.lock#/version",
        ]

    def test_a_new_lock_is_all_of_its_packages(self) -> None:
        """Beside nothing, each package that the project needs is an entry, and another one with where it comes from."""
        index = "registry+https://registry.example/index"
        assert changed(None, OLD) == [
            "entry:Cargo.lock#logx@0.4.0",
            f"entry:Cargo.lock#logx@0.4.0 (from {index})",
            "entry:Cargo.lock#serdex@1.2.0",
            f"entry:Cargo.lock#serdex@1.2.0 (from {index})",
            "field:Cargo.lock#/package/demo",
            "field:Cargo.lock#/version",
        ]


class TestRefusals:
    @pytest.mark.parametrize(
        "text",
        [
            OLD + LOGX,
            OLD + crate("demo", "0.2.0", source=""),
            OLD.replace("'serdex'", "'unknown'"),
            OLD.replace("'serdex'", "'serdex 1.2.1'"),
            OLD.replace("'serdex'", f"'serdex 1.2.0 ({OTHER})'"),
            OLD.replace("'serdex'", "'serdex  1.2.0'"),
            OLD.replace("'serdex'", "1"),
            OLD + crate("logx", "0.5.0"),
            OLD.replace("version = 4", "version = 5"),
            OLD.replace("version = 4", 'version = "4"'),
            OLD.replace("version = 4", "version = true"),
            OLD.replace("version = 4", "version = 2"),
            OLD.replace('name = "logx"', "name = 1"),
            OLD.replace('name = "logx"', 'name = "logx@0.4.0"'),
            OLD.replace('"0.4.0"', '"0.4.0#x"'),
            OLD.replace('"0.4.0"', '"none"'),
            OLD.replace(f'source = "{REGISTRY}"', 'source = ""'),
            OLD.replace(f'source = "{REGISTRY}"', "source = 1"),
            OLD.replace('"sum of logx 0.4.0"', "1"),
            OLD.replace('"sum of logx 0.4.0"', '""'),
            OLD + f'[metadata]\n"checksum logx 0.4.0 ({REGISTRY})" = "x"\n',
            OLD.replace("checksum", "no") + f'[metadata]\n"checksum logx 0.9.0 ({REGISTRY})" = "x"\n',
            OLD.replace("dependencies = [", "dependencies = 1 #"),
            "version = 4\npackage = 1\n",
            "version = 4\npackage = [1]\n",
            "version = 4\nroot = 1\n",
        ],
    )
    def test_what_can_be_read_otherwise(self, text: str) -> None:
        """Packages that stand twice, needs that cannot be told and forms of another version are not read."""
        with pytest.raises(Unreadable):
            changed(OLD, text)
        with pytest.raises(Unreadable):
            changed(text, OLD)

    def test_the_first_package_comes_from_somewhere(self) -> None:
        """Where the lock has packages of the project alone, no version opens one without where it comes from."""
        empty = lock(crate("demo", "0.1.0", source=""))
        new = lock(crate("demo", "0.1.0", "serdex", source=""), crate("serdex", "1.2.0"))
        assert f"entry:Cargo.lock#serdex@1.2.0 (from {REGISTRY})" in changed(empty, new)
