"""What a fixer says it used: a file, or a last line, and nothing where that cannot be believed."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from indult.autofix.usage import Usage, read_usage

PRINTED: dict[str, Any] = {
    "type": "result",
    "total_cost_usd": 0.25,
    "usage": {
        "input_tokens": 3,
        "cache_creation_input_tokens": 20,
        "cache_read_input_tokens": 100,
        "output_tokens": 7,
        "service_tier": "standard",
    },
}


class TestFile:
    @pytest.mark.parametrize(
        ("text", "usage"),
        [
            ('{"tokens": 12, "cost": 0.5}', Usage(tokens=12, cost=0.5)),
            ('{"cost": 2}', Usage(cost=2.0)),
            ("{}", Usage()),
            ('{"tokens": -1}', Usage(notes=("`tokens` is no whole number from 0",))),
            ('{"tokens": true, "cost": 1}', Usage(cost=1.0, notes=("`tokens` is no whole number from 0",))),
            ('{"tokens": 1.5, "cost": "much"}', Usage(notes=("`tokens` is no whole number from 0", "`cost` is no number from 0"))),
            ('{"tokens": 1, "cost": NaN}', Usage(tokens=1, notes=("`cost` is no number from 0",))),
            ('{"tokens": 1, "cost": 1e999}', Usage(tokens=1, notes=("`cost` is no number from 0",))),
            ('{"tokens": 1%s}' % ("0" * 5000), Usage(notes=("the usage file is no JSON object",))),
            ("[" * 60_000, Usage(notes=("the usage file is no JSON object",))),
            ("[1]", Usage(notes=("the usage file is no JSON object",))),
            ("", Usage(notes=("the usage file is no JSON object",))),
            (" " * 70_000, Usage(notes=("the usage file cannot be read: it is longer than 65536 bytes",))),
        ],
    )  # fmt: skip
    def test_what_it_says(self, tmp_path: Path, text: str, usage: Usage) -> None:
        """Numbers from 0 count, and all else is a note."""
        path = tmp_path / "usage.json"
        path.write_text(text)

        assert usage == read_usage(str(path), json.dumps(PRINTED))

    def test_something_else_in_its_place(self, tmp_path: Path) -> None:
        """A pipe, a folder or a link in the place of the file is a note, and nobody waits for it."""
        os.mkfifo(tmp_path / "pipe")
        (tmp_path / "link").symlink_to("/etc/passwd")

        for name in ("pipe", "link", "."):
            found = read_usage(str(tmp_path / name), "")

            assert (None, None) == (found.tokens, found.cost)
            assert found.notes[0].startswith("the usage file cannot be read: ")


class TestPrinted:
    def read(self, tmp_path: Path, output: str) -> Usage:
        """Read usage where there is no file."""
        return read_usage(str(tmp_path / "none"), output)

    def test_the_last_line_of_claude(self, tmp_path: Path) -> None:
        """All tokens that went in and out are added, and the cost is taken."""
        assert Usage(tokens=130, cost=0.25) == self.read(tmp_path, f"warning\n{json.dumps(PRINTED)}\n\n")

    @pytest.mark.parametrize(
        "output",
        [
            "",
            "all done\n",
            '{"result": 1}\n',
            f"{json.dumps(PRINTED)}\nand more\n",
            json.dumps(PRINTED, indent=1),
            "[1]",
        ],
    )
    def test_anything_else_says_nothing(self, tmp_path: Path, output: str) -> None:
        """Without such a last line nothing is known, and that is no fault."""
        assert Usage() == self.read(tmp_path, output)

    @pytest.mark.parametrize("tokens", [-1, "3", True, 1.5, 10**30, [1]])
    def test_numbers_that_are_none(self, tmp_path: Path, tokens: object) -> None:
        """A count that is none is a note, and the cost still counts."""
        found = self.read(tmp_path, json.dumps({"total_cost_usd": 1, "usage": {"output_tokens": tokens}}))

        assert Usage(cost=1.0, notes=("`tokens` is no whole number from 0",)) == found

    @pytest.mark.parametrize("told", [None, 3, "x", [], {}])
    def test_usage_that_is_none(self, tmp_path: Path, told: object) -> None:
        """Where nothing is said of tokens, none are counted."""
        assert Usage(cost=1.0) == self.read(tmp_path, json.dumps({"total_cost_usd": 1, "usage": told}))


def test_the_json_form_leaves_out_what_is_not_known() -> None:
    """A record holds what was said and no more."""
    assert {} == Usage().to_dict()
    assert {"tokens": 0, "notes": ["x"]} == Usage(tokens=0, notes=("x",)).to_dict()
