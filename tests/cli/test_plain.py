from __future__ import annotations

import gc
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indult.boundary import Boundary
from indult.cli.check import VERB
from indult.cli.frame import command_of
from indult.cli.plain import plain

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Run

LAW = "schema: 1\ndefault: deny\nrules: []\n"

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
    (tmp_path / "indult.yaml").write_text(LAW, encoding="utf-8")

    # The two dashes are left to click, and mean nothing where no word follows.
    assert indult("check", *args, "--") == indult("check", *args)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(28, "no space left on device"), RecursionError("deep")])
def test_same_ends(indult: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """Read by click or without, the verb ends the same way when it is stopped or fails."""

    def judge(*_: object) -> None:
        raise error

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Boundary, "judge", judge)
    monkeypatch.setattr("indult.cli.edge._give_up", lambda _: None)
    monkeypatch.setattr("indult.cli.edge._write_log", lambda _: tmp_path / "log")
    (tmp_path / "indult.yaml").write_text(LAW, encoding="utf-8")

    assert indult("check", '{"tool": "x"}', "--") == indult("check", '{"tool": "x"}')


@pytest.mark.parametrize("rare", [[], ["--"]], ids=["plain", "click"])
def test_reader_gone(tmp_path: Path, rare: list[str]) -> None:
    """When nobody reads the verdict, the command ends quietly and not with 0."""
    (tmp_path / "indult.yaml").write_text(LAW, encoding="utf-8")
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "indult", "check", '{"tool": "x"}', *rare],
        cwd=tmp_path,
        stdout=writing,
        stderr=subprocess.PIPE,
        check=False,
        timeout=60,
    )
    os.close(writing)

    assert (1, b"") == (done.returncode, done.stderr)


def test_leaves_the_collector_alone(indult: Run) -> None:
    """A command line that is run inside another program changes nothing about its garbage collection."""
    before = gc.get_threshold(), gc.get_freeze_count()

    indult("check", "{")

    assert before == (gc.get_threshold(), gc.get_freeze_count())
