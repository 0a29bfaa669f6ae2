"""`indult doctor`: the canaries under what `indult init` installs."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.conftest import Run


@pytest.fixture(name="root")
def _root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "shop"
    (root / ".git").mkdir(parents=True)
    monkeypatch.chdir(root)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}/usr/bin{os.pathsep}/bin")
    return root


def test_after_init(indult: Run, root: Path) -> None:
    """What is installed by default passes, and every check is a line of JSON."""
    assert 0 == indult("init", "--harness", "codex").exit_code

    ran = indult("doctor", "--json")

    assert 0 == ran.exit_code
    assert {"policy", "ledger", "trust", "program", "parser", "codex"} == {check["about"] for check in ran.json}
    assert "FAIL" not in {check["state"] for check in ran.json}


def test_before_init(indult: Run, root: Path) -> None:
    """Without a setup it ends with 1 and says what is missing."""
    ran = indult("doctor")

    assert 1 == ran.exit_code
    assert "FAIL  policy: there is no `indult.yaml` here\n      hint: indult init\n" in ran.stdout
    assert "FAIL  ledger: there is none at" in ran.stdout
    assert "      hint: indult init\n" in ran.stdout


def test_no_repository(indult: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Outside of a repository there is nothing to look at."""
    monkeypatch.chdir(tmp_path)

    assert "error: this is no repository\nhint: git init\n" == indult("doctor").stderr
