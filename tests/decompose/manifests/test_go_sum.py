from __future__ import annotations

import pytest

from indult.decompose.manifests.go_sum import targets
from indult.decompose.manifests.reading import Unreadable

WIRE, LOGZ = "github.com/acme/wire", "github.com/acme/logz"


def sums(*versions: tuple[str, str], module: str = WIRE) -> str:
    """Return the lines of some versions with their hashes."""
    return "".join(f"{module} {version} h1:{check}=\n" for version, check in versions)


def full(version: str, module: str = WIRE) -> str:
    """Return both lines of one version."""
    return sums((version, "AAAA"), (f"{version}/go.mod", "BBBB"), module=module)


OTHER = full("v0.9.0", LOGZ)
OLD = OTHER + full("v1.4.0")


def changed(old: str | None, new: str) -> list[str]:
    """Return what changed, sorted."""
    return sorted(targets("go.sum", None if old is None else old.encode(), new.encode()))


class TestEntries:
    def test_lines_that_came_and_went_are_one_entry(self) -> None:
        """The lines of the old version and of the new one are an entry of the module at the new one."""
        assert changed(OLD, OTHER + full("v1.4.1")) == [f"entry:go.sum#{WIRE}@v1.4.1"]

    def test_the_old_version_may_stay_in_part(self) -> None:
        """Where another module still names the old version, the hash of its go.mod stays."""
        new = OTHER + sums(("v1.4.0/go.mod", "BBBB")) + full("v1.4.1")

        assert changed(OLD, new) == [f"entry:go.sum#{WIRE}@v1.4.1"]

    def test_each_version_that_came_is_an_entry(self) -> None:
        """A second version beside the first is an entry too."""
        assert changed(OLD, OTHER + full("v1.4.1") + full("v1.5.0")) == [
            f"entry:go.sum#{WIRE}@v1.4.1",
            f"entry:go.sum#{WIRE}@v1.5.0",
        ]

    def test_lines_of_another_module_are_its_own(self) -> None:
        """A module of which a line came or went is an entry of its own, if only its go.mod."""
        new = OLD + sums(("v0.9.1/go.mod", "CCCC"), module=LOGZ)

        assert changed(OLD, new) == [f"entry:go.sum#{LOGZ}@v0.9.1"]

    def test_a_version_that_is_built_now(self) -> None:
        """A version of which only the go.mod was known is an entry when the module's own hash comes."""
        assert changed(OTHER + sums(("v1.4.0/go.mod", "BBBB")), OLD) == [f"entry:go.sum#{WIRE}@v1.4.0"]

    def test_what_left_is_none(self) -> None:
        """A module of which no line is left has no version."""
        assert changed(OLD, OTHER) == [f"entry:go.sum#{WIRE}@none"]

    def test_what_is_left_after_tidying(self) -> None:
        """Where the lines of an older version only went, the version that is left is named."""
        assert changed(OLD + full("v1.4.1"), OTHER + full("v1.4.1")) == [f"entry:go.sum#{WIRE}@v1.4.1"]

    def test_more_than_one_version_is_left(self) -> None:
        """Where two versions are left, none of them is the one."""
        new = OLD + full("v1.4.1")

        assert changed(new + full("v1.3.0"), new) == [f"entry:go.sum#{WIRE}@none"]

    @pytest.mark.parametrize(
        "new",
        [
            full("v1.4.0") + OTHER,
            OLD.replace("\n", "\r\n"),
            OLD.replace("\n", "\n\n"),
            OLD + OTHER,
            OLD.removesuffix("\n"),
        ],
    )
    def test_layout_is_free(self, new: str) -> None:
        """Order, blank lines, the end of lines and a line twice change nothing."""
        assert changed(OLD, new) == []

    def test_a_new_file_is_all_of_its_modules(self) -> None:
        """Beside nothing, each module is an entry."""
        assert changed(None, OLD) == [f"entry:go.sum#{LOGZ}@v0.9.0", f"entry:go.sum#{WIRE}@v1.4.0"]


class TestChanges:
    @pytest.mark.parametrize("version", ["v1.4.0", "v1.4.0/go.mod"])
    def test_another_hash_of_the_same_version(self, version: str) -> None:
        """What was downloaded once must be what is downloaded now."""
        new = OTHER + full("v1.4.0").replace(f"{version} h1:", f"{version} h1:X")

        assert changed(OLD, new) == [f"change:go.sum#{WIRE}: hash of {version} changed"]

    def test_another_hash_beside_a_new_version(self) -> None:
        """A new version does not hide that the hash of the old one is another."""
        new = OTHER + sums(("v1.4.0/go.mod", "XXXX")) + full("v1.4.1")

        assert changed(OLD, new) == [
            f"change:go.sum#{WIRE}: hash of v1.4.0/go.mod changed",
            f"entry:go.sum#{WIRE}@v1.4.1",
        ]

    def test_a_module_that_nothing_checks_any_more(self) -> None:
        """The hash of a module must be there again at its new version."""
        assert changed(OLD, OTHER + sums(("v1.4.1/go.mod", "CCCC"))) == [
            f"change:go.sum#{WIRE}: no hash of the module any more",
            f"entry:go.sum#{WIRE}@v1.4.1",
        ]

    def test_a_go_mod_that_nothing_checks_any_more(self) -> None:
        """The hash of a go.mod goes with the module's own only."""
        assert changed(OLD, OTHER + sums(("v1.4.0", "AAAA"))) == [
            f"change:go.sum#{WIRE}: no hash of the go.mod of v1.4.0 any more",
            f"entry:go.sum#{WIRE}@v1.4.0",
        ]


class TestRefusals:
    @pytest.mark.parametrize(
        "line",
        [
            f"{WIRE} v1.4.9",
            f"{WIRE} v1.4.9 h1:AAAA= more",
            f"{WIRE}  v1.4.9 h1:AAAA=",
            f"{WIRE}\tv1.4.9\th1:AAAA=",
            f" {WIRE} v1.4.9 h1:AAAA=",
            f"{WIRE} latest h1:AAAA=",
            f"{WIRE} v1.4.9/other h1:AAAA=",
            f"{WIRE} v1.4.9 h2:AAAA=",
            f"{WIRE} v1.4.9 AAAA",
            "a#b v1.4.9 h1:AAAA=",
            "// a comment",
            f"{WIRE} v1.4.9 h1:AAAA=\r{LOGZ} v1.4.9 h1:AAAA=",
            f"{WIRE} v1.4.0 h1:CCCC=",
        ],
    )
    def test_a_line_that_can_be_read_otherwise(self, line: str) -> None:
        """A line of another form, of another hash or with a second hash of one version is not read."""
        with pytest.raises(Unreadable):
            changed(OLD, f"{OLD}{line}\n")
