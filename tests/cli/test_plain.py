from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indult.cli.check import VERB
from indult.cli.frame import command_of
from indult.cli.plain import plain

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Run

WORDS = [
    *(option.flag for option in VERB.options),
    "--help",
    "--",
    "-",
    "-x",
    "--facts={}",
    "{}",
    "@file",
    "",
    "--fact",
]


def by_click(args: list[str]) -> dict[str, Any] | None:
    """Return the values that click reads, `None` where it complains or shows help."""
    try:
        return dict(command_of(VERB).make_context("check", list(args)).params)
    except (click.ClickException, click.exceptions.Exit):
        return None


@given(st.lists(st.sampled_from(WORDS), max_size=6))
def test_plain_is_what_click_reads(args: list[str]) -> None:
    """Whatever is read without click is read as click reads it."""
    values = plain(VERB, args)

    assert values is None or by_click(args) == values


@pytest.mark.parametrize(
    "args",
    [
        [],
        ["-"],
        ["{}", "--json"],
        ["--policy", "p.yaml", "--facts", "{}", "--explain", "{}"],
        ["{}", "--subject", "session:1", "--db", "x.db"],
        ["--facts", "--json", "{}"],
    ],
)
def test_plain_forms(args: list[str]) -> None:
    """The forms that programs write need no click."""
    assert by_click(args) == plain(VERB, args) is not None


@pytest.mark.parametrize("args", [["--help"], ["--json=1"], ["--"], ["a", "b"], ["--policy"], ["--polic", "p"], ["-j"]])
def test_left_to_click(args: list[str]) -> None:
    """Help, mistakes and rare forms are left to click."""
    assert plain(VERB, args) is None


@pytest.mark.parametrize(
    "args",
    [
        ['{"tool": "x"}'],
        ['{"tool": "x"}', "--json", "--explain"],
        ['{"tool": "x"}', "--subject", "s", "--json"],
        ['{"tool": "x"}', "--db", "x.db"],
        ['{"tool": "x"}', "--subject", "ledger"],
        ["{"],
        ['{"tool": "x"}', "--facts", '{"a": 1}'],
    ],
)
def test_same_verb(indult: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, args: list[str]) -> None:
    """Read by click or without, the verb does the same."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "indult.yaml").write_text("schema: 1\ndefault: deny\nrules: []\n", encoding="utf-8")

    # The two dashes are left to click, and mean nothing where no word follows.
    assert indult("check", *args, "--") == indult("check", *args)
