from __future__ import annotations

import io
import json
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import pytest
from hypothesis import settings

from indult.cli import main

if TYPE_CHECKING:
    from pathlib import Path

# The same examples in each run: a failure in CI is a failure at home. `--hypothesis-profile=search` looks further.
settings.register_profile("same", deadline=None, derandomize=True, database=None)
settings.register_profile("search", deadline=None, max_examples=2000)
settings.load_profile("same")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What a command line did."""

    exit_code: int
    stdout: str
    stderr: str

    @property
    def json(self) -> list[Any]:
        """The lines of standard output, read as JSON."""
        return [json.loads(line) for line in self.stdout.splitlines()]


class Run(Protocol):
    """Runs a command line in this process."""

    def __call__(self, *args: str, stdin: str | bytes = "") -> Ran: ...


@pytest.fixture(autouse=True)
def _clean_environment(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the files and settings of the person who runs the tests out of them."""
    monkeypatch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
    for name in (
        "INDULT_ACTOR",
        "INDULT_DB",
        "XDG_DATA_HOME",
        "XDG_STATE_HOME",
        "XDG_CONFIG_HOME",
        "NO_COLOR",
        "FORCE_COLOR",
        "COLUMNS",
    ):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(name="data_home")
def _data_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the test a data folder of its own, where default ledgers go."""
    folder = tmp_path / "data"
    monkeypatch.setenv("XDG_DATA_HOME", str(folder))
    return folder


@pytest.fixture(name="indult")
def _indult(capsys: pytest.CaptureFixture[str], data_home: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run `indult ARGS` in this process and return its exit code and output."""

    def run(*args: str, stdin: str | bytes = "") -> Ran:
        raw = stdin.encode() if isinstance(stdin, str) else stdin
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw), encoding="utf-8"))
        capsys.readouterr()
        code = main(list(args))
        out, err = capsys.readouterr()
        return Ran(exit_code=code, stdout=out, stderr=err)

    return run
