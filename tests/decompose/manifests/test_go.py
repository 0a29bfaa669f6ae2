from __future__ import annotations

import pytest

from indult.decompose.manifests.go import targets
from indult.decompose.manifests.reading import Unreadable

WIRE, LOGZ = "github.com/acme/wire", "github.com/acme/logz"
MOD = f"""module example.com/demo

go 1.22

require (
\t{WIRE} v1.4.0
\t{LOGZ} v0.9.0 // indirect
)
"""


def changed(old: str | None, new: str, path: str = "go.mod") -> list[str]:
    """Return what changed, sorted."""
    return sorted(targets(path, None if old is None else old.encode(), new.encode()))


def with_wire(text: str) -> str:
    """Return the file with another requirement of wire."""
    return MOD.replace(f"{WIRE} v1.4.0", text)


class TestRequirements:
    @pytest.mark.parametrize(
        "version",
        ["v1.4.1", "v1.5.0", "v1.4.1-rc.1", "v1.4.1-0.20240102030405-788fd7840127", "v2.0.0+incompatible"],
    )
    def test_a_version_is_an_entry(self, version: str) -> None:
        """A requirement of another version is an entry of that module at it, whatever kind of version it is."""
        assert changed(MOD, with_wire(f"{WIRE} {version}")) == [f"entry:go.mod#{WIRE}@{version}"]

    def test_the_path_is_the_name(self) -> None:
        """The same module under its path of version 2 is another module."""
        new = with_wire(f"{WIRE}/v2 v2.0.0")

        assert changed(MOD, new) == [f"entry:go.mod#{WIRE}/v2@v2.0.0", f"entry:go.mod#{WIRE}@none"]

    def test_case_counts(self) -> None:
        """A path in other letters is another module."""
        assert changed(MOD, with_wire("github.com/Acme/wire v1.4.0")) == [
            "entry:go.mod#github.com/Acme/wire@v1.4.0",
            f"entry:go.mod#{WIRE}@none",
        ]

    @pytest.mark.parametrize(
        "new",
        [
            MOD.replace("require (", "require (\n\t// pinned"),
            MOD.replace("v1.4.0", "v1.4.0 // pinned, indirectly"),
            MOD.replace("// indirect", "//indirect"),
            MOD.replace("// indirect", "// indirect; by way of wire"),
            MOD.replace(WIRE, f'"{WIRE}"'),
            MOD.replace("\n", "\r\n"),
            MOD.replace("go 1.22\n\n", "") + "\ngo 1.22\n",
            f"module (\n\texample.com/demo\n)\ngo 1.22\nrequire {LOGZ} v0.9.0 // indirect\nrequire {WIRE} v1.4.0",
        ],
    )
    def test_layout_is_free(self, new: str) -> None:
        """Order, blocks, quotes, the end of lines and comments change nothing."""
        assert changed(MOD, new) == []

    @pytest.mark.parametrize("comment", ["", "// indirectly", "// indirect;", "// not indirect"])
    def test_indirect_is_part_of_a_requirement(self, comment: str) -> None:
        """A module that is needed directly now has a changed entry."""
        assert changed(MOD, MOD.replace("// indirect", comment)) == [f"entry:go.mod#{LOGZ}@v0.9.0"]

    def test_what_comes_along_is_its_own(self) -> None:
        """A requirement that came in with another one is an entry of its own."""
        new = with_wire(f"{WIRE} v1.4.1\n\tgithub.com/acme/bits v0.1.0 // indirect")

        assert changed(MOD, new) == ["entry:go.mod#github.com/acme/bits@v0.1.0", f"entry:go.mod#{WIRE}@v1.4.1"]

    def test_a_requirement_that_left_is_none(self) -> None:
        """A requirement that is gone is an entry without a version."""
        assert changed(MOD, MOD.replace(f"\t{WIRE} v1.4.0\n", "")) == [f"entry:go.mod#{WIRE}@none"]

    @pytest.mark.parametrize("version", ["latest", "v1.4", "1.4.1", "master", "v1.4.1+build", "v01.4.1", ">=v1.4.1"])
    def test_a_version_of_another_kind_is_a_change(self, version: str) -> None:
        """What the Go command would first have to look up is no version, before or after."""
        expected = [f"change:go.mod#{WIRE}: not from one plain version to another"]

        assert expected == changed(MOD, with_wire(f"{WIRE} {version}"))
        assert expected == changed(with_wire(f"{WIRE} {version}"), MOD)


class TestSteering:
    @pytest.mark.parametrize(
        ("line", "came", "left"),
        [
            (f"replace {LOGZ} => github.com/evil/logz v0.9.0", "replaced by github.com/evil/logz v0.9.0", "replaced"),
            (f"replace {LOGZ} v0.9.0 => ../logz", "v0.9.0 replaced by ../logz", "replaced"),
            (f"replace {LOGZ} => .\\logz", "replaced by .\\logz", "replaced"),
            (f"replace (\n{LOGZ} => C:/logz\n)", "replaced by C:/logz", "replaced"),
            (f"exclude {LOGZ} v0.9.1", "v0.9.1 excluded", "excluded"),
        ],
    )
    def test_what_sends_a_module_elsewhere_is_a_change(self, line: str, came: str, left: str) -> None:
        """A replacement or an exclusion names the module, and coming and going are told apart."""
        version = f"{came.partition(' ')[0]} " if came.startswith("v") else ""

        assert [f"change:go.mod#{LOGZ}: {came}"] == changed(MOD, f"{MOD}\n{line}\n")
        assert [f"change:go.mod#{LOGZ}: {version}no longer {left}"] == changed(f"{MOD}\n{line}\n", MOD)

    def test_another_replacement_is_a_change(self) -> None:
        """A module that is sent to another place than before is told with that place."""
        old, new = (f"{MOD}replace {WIRE} => github.com/fork/wire {version}\n" for version in ("v1.4.0", "v1.4.1"))

        assert changed(old, new) == [f"change:go.mod#{WIRE}: replaced by github.com/fork/wire v1.4.1"]


class TestFields:
    @pytest.mark.parametrize(
        ("line", "pointer"),
        [
            ("toolchain go1.99.0", "/toolchain"),
            ("godebug panicnil=1", "/godebug/panicnil"),
            ("godebug (\ndefault=go1.21\n)", "/godebug/default"),
            ("retract v1.0.0 // by mistake", "/retract/v1.0.0"),
            ("retract [v1.0.0, v1.9.9]", "/retract/[v1.0.0,v1.9.9]"),
            ("tool example.com/tools/cmd/gen", "/tool/example.com~1tools~1cmd~1gen"),
            ("ignore ./testdata", "/ignore/.~1testdata"),
        ],
    )
    def test_other_directives_are_fields(self, line: str, pointer: str) -> None:
        """A directive that came or went is the field that it stands for."""
        assert [f"field:go.mod#{pointer}"] == changed(MOD, f"{MOD}\n{line}\n")
        assert [f"field:go.mod#{pointer}"] == changed(f"{MOD}\n{line}\n", MOD)

    def test_values_count(self) -> None:
        """Another version of the language or another name of the module is that field."""
        new = MOD.replace("go 1.22", "go 1.23.0").replace("example.com/demo", "example.com/other")

        assert changed(MOD, new) == ["field:go.mod#/go", "field:go.mod#/module"]

    def test_a_new_file_is_all_that_it_says(self) -> None:
        """Beside nothing, each directive of a file is told."""
        assert changed(None, MOD) == [
            f"entry:go.mod#{LOGZ}@v0.9.0",
            f"entry:go.mod#{WIRE}@v1.4.0",
            "field:go.mod#/go",
            "field:go.mod#/module",
        ]


class TestWorkspaces:
    def test_each_folder_is_a_field(self) -> None:
        """A folder that joins a workspace is a field, a replacement in it a change."""
        old = "go 1.22\n\nuse ./a\n"
        new = f"go 1.22\n\nuse (\n\t./a\n\t./evil\n)\nreplace {WIRE} => ./evil\n"

        assert changed(old, new, "sub/go.work") == [
            f"change:sub/go.work#{WIRE}: replaced by ./evil",
            "field:sub/go.work#/use/.~1evil",
        ]

    def test_has_directives_of_its_own(self) -> None:
        """What only the other file may say is not read."""
        with pytest.raises(Unreadable):
            changed(None, MOD, "go.work")
        with pytest.raises(Unreadable):
            changed(None, "use ./a\n", "go.mod")


class TestRefusals:
    @pytest.mark.parametrize(
        "text",
        [
            f"require {WIRE} v1.4.0",
            f"require {WIRE} v1.5.0",
            "go 1.21",
            "module example.com/other",
            f"replace {WIRE} => ../a\nreplace {WIRE} => ../b",
            f"exclude {WIRE} v1.0.0\nexclude {WIRE} v1.0.0",
        ],
    )
    def test_what_stands_twice(self, text: str) -> None:
        """Of two lines about one thing, readers take one or the other."""
        with pytest.raises(Unreadable, match="twice"):
            changed(MOD, f"{MOD}\n{text}\n")

    @pytest.mark.parametrize(
        "text",
        [
            f"require {WIRE}/a",
            f"require {WIRE}/a v1 v2",
            "require a@b v1.0.0",
            "require a#b v1.0.0",
            "require /a v1.0.0",
            "require a//b v1.0.0",
            'require "a b" v1.0.0',
            "require ünder.example/a v1.0.0",
            "replace a => b",
            "replace a => ./b v1.0.0",
            "replace a v1 v2 => ./b",
            "replace a ./b",
            "replace => ./b",
            "retract",
            "retract v1 v2",
            "godebug panicnil",
            "godebug =1",
            "tool",
        ],
    )
    def test_what_is_no_directive(self, text: str) -> None:
        """A directive with other arguments than it takes is not read."""
        with pytest.raises(Unreadable):
            changed(MOD, f"{MOD}\n{text}\n")
