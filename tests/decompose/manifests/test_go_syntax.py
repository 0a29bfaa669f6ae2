from __future__ import annotations

import pytest

from indult.decompose.manifests.go_syntax import Line, lines
from indult.decompose.manifests.reading import Unreadable

ALONE = frozenset({"go", "toolchain"})
BLOCKS = frozenset({"require", "replace", "retract"})


def read(text: str) -> list[Line]:
    """Return the directives of a file."""
    return list(lines(text, alone=ALONE, blocks=BLOCKS))


class TestLines:
    def test_a_block_is_its_lines(self) -> None:
        """A directive in a block reads as on a line of its own."""
        alone = read("require a.example/b v1.0.0\nrequire a.example/c v1.1.0\n")

        assert alone == read("require (\n\ta.example/b v1.0.0\n\n\ta.example/c v1.1.0\n)\n")
        assert alone == [
            Line("require", ("a.example/b", "v1.0.0"), ""),
            Line("require", ("a.example/c", "v1.1.0"), ""),
        ]

    @pytest.mark.parametrize(
        "text",
        [
            "go 1.22",
            "  go\t1.22  \n",
            "go 1.22\r\n",
            "// go 1.21\ngo 1.22\n",
            "\n\ngo 1.22\n\n",
            "require()\ngo 1.22\n",
            "require ( )\ngo 1.22\n",
            "require (\n)\ngo 1.22\n",
            "require ( // none\n// at all\n) // end\ngo 1.22\n",
        ],
    )
    def test_layout_is_nothing(self, text: str) -> None:
        """Blanks, empty blocks, whole lines of comment and the end of a line in Windows' way leave nothing."""
        assert read(text) == [Line("go", ("1.22",), "")]

    @pytest.mark.parametrize(
        ("text", "comment"),
        [
            ("go 1.22 // indirect", " indirect"),
            ("go 1.22//indirect", "indirect"),
            ('go 1.22 // a // b "c` (', ' a // b "c` ('),
            ("go 1.22 //", ""),
        ],
    )
    def test_a_comment_starts_anywhere(self, text: str, comment: str) -> None:
        """Two slashes start a comment, within a word too."""
        assert read(text) == [Line("go", ("1.22",), comment)]

    def test_quotes_are_no_part_of_a_text(self) -> None:
        """A text in quotes is what stands between them, slashes and blanks among it."""
        assert read('replace "a.example/b" => "../a b//c"') == [Line("replace", ("a.example/b", "=>", "../a b//c"), "")]

    def test_an_interval_has_its_marks(self) -> None:
        """Brackets and commas are words of their own."""
        assert read("retract [v1.0.0,v1.9.9]") == [Line("retract", ("[", "v1.0.0", ",", "v1.9.9", "]"), "")]

    @pytest.mark.parametrize(
        "text",
        [
            "require `a.example/b` v1.0.0",
            'require "a.example/\\x62" v1.0.0',
            'require "a.example/b v1.0.0',
            'require "a.example/b"v1.0.0',
            'require a"b" v1.0.0',
            "require a'b v1.0.0",
            "require a/* b */ v1.0.0",
            "/* go 1.22 */",
            "unknown a.example/b",
            '"require" a.example/b v1.0.0',
            "( a",
            ")",
            "require (",
            "require (\na.example/b v1.0.0\n",
            "require a.example/b (\n)",
            "require (\na.example/b v1.0.0)\n",
            "require (\n) go 1.22\n",
            "require (\nrequire (\n)\n)\n",
            "go (\n1.22\n)",
            "go ()",
            "require { a }",
            "go 1.22\rtoolchain go1.99",
            "go 1.22 // old\rtoolchain go1.99",
            "go 1.22\x0btoolchain",
            "go 1.22\u2028toolchain go1.99",
            "go 1.2\u200b2",
            "go 1.2\u202e2",
        ],
    )
    def test_refuses_what_go_refuses_or_may_read_otherwise(self, text: str) -> None:
        """Escapes, back quotes, comments in C's way, stray marks and characters that cannot be seen are not read."""
        with pytest.raises(Unreadable):
            read(text)
