from __future__ import annotations

import pytest

from indult.decompose.manifests.cargo import targets
from indult.errors import ScopeError
from indult.scopes import Scope

TOML = """[package]
name = "demo"
version = "0.1.0"
edition = "2021"

[features]
default = ["std"]

[dependencies]
serdex = "1.2.0"
logx = { version = "0.4.0", features = ["std"] }
"""


def changed(old: str | None, new: str) -> list[str]:
    """Return what changed, sorted."""
    return sorted(targets("Cargo.toml", None if old is None else old.encode(), new.encode()))


def serdex(old: str, new: str) -> list[str]:
    """Return what changed where only the entry of serdex did."""
    texts = [TOML.replace('"1.2.0"', value) for value in (old, new)]
    return changed(*texts)


class TestVersions:
    @pytest.mark.parametrize(
        ("old", "new", "version"),
        [
            ('"1.2.0"', '"1.2.1"', "1.2.1"),
            ('"1.2"', '"1.2.1"', "1.2.1"),
            ('"1"', '"2.0.0"', "2.0.0"),
            ('"=1.2.0"', '"=1.2.1"', "1.2.1"),
            ('"1.2.0"', '"1.3.0-rc.1+x86"', "1.3.0-rc.1+x86"),
            ('"1.2.0"', '{ version = "1.2.1" }', "1.2.1"),
            ('{ version = "1.2.0", features = ["a", "b"] }', '{ version = "1.2.1", features = ["a", "b"] }', "1.2.1"),
            (
                '{ version = "1.2.0", registry = "r", optional = true }',
                '{ version = "1.2.1", registry = "r", optional = true }',
                "1.2.1",
            ),
            ('{ version = "1.2.0", package = "serdex" }', '{ version = "1.2.1", package = "serdex" }', "1.2.1"),
        ],
    )
    def test_the_text_of_a_version_is_an_entry(self, old: str, new: str, version: str) -> None:
        """An entry of which only the version is another is one at that version, in the short form or the long one."""
        assert [f"entry:Cargo.toml#serdex@{version}"] == serdex(old, new)

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            ('{ version = "1.2.0", git = "x" }', '{ version = "^1.2.1", git = "x" }'),
            ('{ version = "1.2.0", path = "x" }', '{ version = "=1.2.1", path = "x" }'),
            ('{ version = "1.2.0", package = "x" }', '{ version = "^1.2.1", package = "x" }'),
            ("{ workspace = true }", '"^1.2.1"'),
            ('{ git = "https://git.example/s" }', '{ git = "https://git.example/s", version = "1.2.1" }'),
        ],
    )
    def test_another_kind_is_a_change(self, old: str, new: str) -> None:
        """A range beside a place or another package's name, and a version that comes or goes, is a change."""
        assert len(serdex(old, new)) == 1
        assert serdex(old, new)[0].startswith("change:Cargo.toml#serdex: ")

    @pytest.mark.parametrize("new", ['""', '"latest"', '"v1.2.1"', '"01.2.1"', '"1.2.1 "', '"^1.2,,2"', '"1 2"'])
    def test_no_version(self, new: str) -> None:
        """What Cargo takes for no requirement cannot be judged; a version in part is a range and no longer among it."""
        assert serdex('"1.2.0"', new) == ["change:Cargo.toml#serdex: no version and no range"]

    @pytest.mark.parametrize(
        ("old", "new", "shown"),
        [
            ("1.2.0", "^1.2.1", "^1.2.1"),
            ("1.2.0", "~1.2", "~1.2"),
            ("1.2.0", ">=1.2.1, <2", ">=1.2.1, <2"),
            ("1.2.0", "*", "*"),
            ("1.2.0", "1.3", "1.3 (a range)"),
            ("1.2.0", "2", "2 (a range)"),
            ("1.2.0", "=1.2.1", "=1.2.1 (was 1.2.0)"),
            ("=1.2.0", "1.2.1", "1.2.1 (was =1.2.0)"),
            ("^1.2.0", "1.2.1", "1.2.1 (was ^1.2.0)"),
            ("^1.2.0", "^1.2.1", "^1.2.1"),
            ("*", "1.2.1", "1.2.1 (was *)"),
        ],
    )
    def test_ranges(self, old: str, new: str, shown: str) -> None:
        """To a range or from one, the text is exact and none that a named exception could hold.

        These were changes, so that nobody could open what Cargo writes by itself.
        """
        assert serdex(f'"{old}"', f'"{new}"') == [f"entry:Cargo.toml#serdex@{shown}"]
        more = (f'{{ version = "{it}", features = ["a"], optional = true }}' for it in (old, new))
        assert serdex(*more) == [f"entry:Cargo.toml#serdex@{shown}"]
        with pytest.raises(ScopeError):
            Scope.dependency("serdex", shown, ["Cargo.toml"], "take it", subject="run:1")

    @pytest.mark.parametrize(
        ("new", "what"),
        [
            ('{ version = "1.2.1", features = ["std"] }', "features added"),
            ('{ version = "1.2.1", default-features = false }', "default-features added"),
            ('{ version = "1.2.1", optional = true, package = "evil" }', "optional added, package added"),
            ('{ version = "1.2.1", path = "src/serdex" }', "path added"),
            ('{ git = "https://git.example/s", tag = "v1.2.1" }', "git added, tag added"),
            ("{ workspace = true }", "workspace added"),
            ("1", "neither a version nor a table"),
            ('["1.2.1"]', "neither a version nor a table"),
        ],
    )
    def test_any_other_key_is_a_change(self, new: str, what: str) -> None:
        """Whatever else is new in an entry is named."""
        assert serdex('"1.2.0"', new) == [f"change:Cargo.toml#serdex: {what}"]

    def test_a_key_that_is_gone_or_another_is_a_change(self) -> None:
        """A key that left or has another value is named, and types count."""
        old = '{ version = "1.2.0", optional = true, features = ["a"], rev = "1" }'

        assert serdex(old, '{ version = "1.2.1", features = ["a", "b"], rev = 1 }') == [
            "change:Cargo.toml#serdex: optional removed, features changed, rev changed"
        ]

    def test_a_renamed_package_is_a_field(self) -> None:
        """A key that stands for a package of another name cannot be taken for that package's entry."""
        old, new = (f'{{ version = "{version}", package = "other" }}' for version in ("1.2.0", "1.2.1"))

        assert serdex(old, new) == ["field:Cargo.toml#/dependencies/serdex"]


class TestEntries:
    @pytest.mark.parametrize(
        "section",
        [
            "dev-dependencies",
            "dev_dependencies",
            "build-dependencies",
            "build_dependencies",
            "target.'cfg(unix)'.dependencies",
            "target.x86_64-pc-windows-gnu.dev-dependencies",
        ],
    )
    def test_each_table_of_dependencies_counts(self, section: str) -> None:
        """A new entry in any table is an entry, in a table of its own or in a line; one that left has no version."""
        line, table = f'{TOML}[{section}]\nbits = "2.0.0"\n', f'{TOML}[{section}.bits]\nversion = "2.0.0"\n'

        assert ["entry:Cargo.toml#bits@2.0.0"] == changed(TOML, line)
        assert ["entry:Cargo.toml#bits@2.0.0"] == changed(TOML, table)
        assert changed(line, table) == []
        assert ["entry:Cargo.toml#bits@none"] == changed(line, TOML)

    def test_the_workspace_has_a_table_too(self) -> None:
        """What the members of a workspace take their versions from is an entry."""
        old = '[workspace]\nmembers = ["a"]\n[workspace.dependencies]\nserdex = "1.2.0"\n'

        assert changed(old, old.replace("1.2.0", "1.2.1")) == ["entry:Cargo.toml#serdex@1.2.1"]

    def test_a_new_entry_may_hold_a_version_only(self) -> None:
        """A new entry with anything beside its version is a change."""
        new = TOML + 'bits = { version = "2.0.0", git = "https://git.example/b" }\nmore = { workspace = true }\n'

        assert changed(TOML, new) == [
            "change:Cargo.toml#bits: new with git",
            "change:Cargo.toml#more: new with workspace",
        ]

    def test_a_new_entry_of_a_range(self) -> None:
        """A new entry may ask for a range, which was a change before, and must ask for something."""
        assert changed(TOML, TOML + 'bits = "2"\n') == ["entry:Cargo.toml#bits@2 (a range)"]
        assert changed(TOML, TOML + 'bits = ""\n') == ["change:Cargo.toml#bits: no version and no range"]
        assert changed(TOML, TOML + 'bits = "^2.0"\n') == ["entry:Cargo.toml#bits@^2.0"]

    def test_an_entry_that_moved_left_and_came(self) -> None:
        """From one table to another, an entry is gone and new."""
        new = TOML.replace('serdex = "1.2.0"\n', "") + '[dev-dependencies]\nserdex = "1.2.0"\n'

        assert changed(TOML, new) == ["entry:Cargo.toml#serdex@1.2.0", "entry:Cargo.toml#serdex@none"]

    def test_names_are_taken_as_written(self) -> None:
        """A name with another dash or letter is another name."""
        old, new = TOML + 'serde_x = "1.2.0"\n', TOML + 'serde-x = "1.2.0"\n'

        assert changed(old, new) == ["entry:Cargo.toml#serde-x@1.2.0", "entry:Cargo.toml#serde_x@none"]

    def test_a_key_that_is_no_name(self) -> None:
        """A key with other characters is shown with them spelled out."""
        new = TOML + '"serdex@1.2.1" = "1.2.1"\n"a\\nb\\u202e" = "1.0.0"\n'

        assert changed(TOML, new) == [
            "change:Cargo.toml#a\\u000ab\\u202e: no package name",
            "change:Cargo.toml#serdex@1.2.1: no package name",
        ]

    @pytest.mark.parametrize(
        "new",
        [
            TOML.replace('serdex = "1.2.0"', 'serdex = {version="1.2.0"} # pinned'),
            TOML.replace('serdex = "1.2.0"', "serdex.version = '1.2.0'"),
            TOML.replace("\n", "\r\n"),
            TOML.replace("edition", "# the year\nedition"),
            TOML.replace('serdex = "1.2.0"\n', "") + 'serdex = "1.2.0"\n',
            TOML + "[dev-dependencies]\n",
            TOML + "[target.'cfg(unix)'.dependencies]\n",
        ],
    )
    def test_layout_is_free(self, new: str) -> None:
        """Order, comments, quotes, the form of a table and an empty table of dependencies change nothing."""
        assert changed(TOML, new) == []


class TestFields:
    @pytest.mark.parametrize(
        ("text", "pointers"),
        [
            ('[patch.crates-io]\nlogx = { path = "src/logx" }\n', ["/patch/crates-io/logx"]),
            ('[patch."https://git.example/r"]\nlogx = { path = "l" }\n', ["/patch/https:~1~1git.example~1r/logx"]),
            ('[replace]\n"logx:0.4.0" = { path = "src/logx" }\n', ["/replace/logx:0.4.0"]),
            ('[lib]\nproc-macro = true\npath = "src/m.rs"\n', ["/lib/path", "/lib/proc-macro"]),
            ('[[bin]]\nname = "a"\npath = "a.rs"\n', ["/bin"]),
            ("[profile.release]\nlto = true\n", ["/profile/release"]),
            ('[workspace]\nmembers = ["a"]\n', ["/workspace/members"]),
            ("[workspace]\n", ["/workspace"]),
            ("[patch]\n", ["/patch"]),
            ('[lints.rust]\nunsafe_code = "forbid"\n', ["/lints/rust"]),
            ("[target.'cfg(unix)']\nlinker = 'x'\n", ["/target/cfg(unix)/linker"]),
            ("[badges]\na = 1\n", ["/badges/a"]),
        ],
    )
    def test_other_tables_are_fields(self, text: str, pointers: list[str]) -> None:
        """A table that came or went is told by what is in it."""
        expected = [f"field:Cargo.toml#{pointer}" for pointer in pointers]

        assert expected == changed(TOML, TOML + text)
        assert expected == changed(TOML + text, TOML)

    @pytest.mark.parametrize(
        ("old", "new", "pointer"),
        [
            ('edition = "2021"', 'edition = "2021"\nbuild = "src/b.rs"', "/package/build"),
            ('edition = "2021"', 'edition = "2021"\nlinks = "z"', "/package/links"),
            ('edition = "2021"', 'edition = "2021"\nbuild = false', "/package/build"),
            ('version = "0.1.0"', 'version = "0.2.0"', "/package/version"),
            ('default = ["std"]', 'default = ["std", "serdex/unsafe"]', "/features/default"),
            ('default = ["std"]', "", "/features"),
            ("[package]", "dev-dependencies = 1\n[package]", "/dev-dependencies"),
            ("[package]", "target = 1\n[package]", "/target"),
        ],
    )
    def test_a_value_is_a_field(self, old: str, new: str, pointer: str) -> None:
        """A key that is new, gone or has another value is the field that it leads to."""
        assert [f"field:Cargo.toml#{pointer}"] == changed(TOML, TOML.replace(old, new, 1))

    def test_types_count(self) -> None:
        """A number is no truth and no other number."""
        texts = [f"[profile.dev]\nopt-level = {value}\n" for value in ("1", "true", "1.0", '"1"')]

        assert [[one == other] for one in texts for other in texts] == [
            [changed(one, other) == []] for one in texts for other in texts
        ]

    def test_a_new_file_is_all_that_it_says(self) -> None:
        """Beside nothing, each entry and each field is told."""
        assert changed(None, TOML) == [
            "change:Cargo.toml#logx: new with features",
            "entry:Cargo.toml#serdex@1.2.0",
            "field:Cargo.toml#/features/default",
            "field:Cargo.toml#/package/edition",
            "field:Cargo.toml#/package/name",
            "field:Cargo.toml#/package/version",
        ]
