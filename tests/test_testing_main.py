from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from indult.errors import InputError
from indult.testing import __main__ as runner
from indult.testing import runners

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ECHO = """
from indult.errors import InputError

def run(path):
    for line in path.read_text().splitlines():
        if line == "bad":
            raise InputError("line is not a case", hint="see the format")
        yield {"line": line}
"""


@pytest.fixture(name="cases")
def _cases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Add a kind of cases, `echo_cases`, and return a file of them."""
    (tmp_path / "echo_cases.py").write_text(ECHO)
    monkeypatch.setattr(runners, "__path__", [*runners.__path__, str(tmp_path)])
    file = tmp_path / "cases.txt"
    file.write_text("one\nzw\u00f6lf\n", encoding="utf-8")
    yield file
    sys.modules.pop("indult.testing.runners.echo_cases", None)


def test_kinds_are_the_modules(cases: Path) -> None:
    """A module in `indult.testing.runners` is a kind, without any other registration."""
    assert "echo_cases" in runner.kinds()


def test_one_line_per_case(cases: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each result is one line of JSON, and 0 says that all cases ran."""
    assert 0 == runner.main(["echo_cases", str(cases)])
    assert '{"line": "one"}\n{"line": "zw\u00f6lf"}\n' == capsys.readouterr().out


def test_a_case_that_cannot_run(cases: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What was printed before a bad case stays, and the exit code says that not all ran."""
    cases.write_text("one\nbad\ntwo\n")

    code = runner.main(["echo_cases", str(cases)])

    assert (1, ('{"line": "one"}\n', "error: line is not a case\nhint: see the format\n")) == (
        code,
        tuple(capsys.readouterr()),
    )


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], "error: expected a kind and a file, got 0 arguments\nhint: usage: python -m indult.testing KIND FILE\n"),
        (["nonsense", "x"], "error: no such kind of cases: `nonsense`\nhint: kinds: "),
        (["../cli", "x"], "error: no such kind of cases: `../cli`\nhint: kinds: "),
        (["echo_cases", "/nowhere"], "error: no such file: `/nowhere`\n"),
    ],
)
def test_usage(cases: Path, capsys: pytest.CaptureFixture[str], args: list[str], message: str) -> None:
    """What is missing is named, with what would work."""
    assert 1 == runner.main(args)
    assert capsys.readouterr().err.startswith(message)


def test_results_are_lazy(cases: Path) -> None:
    """Results come one by one, so a large file needs no memory of its size."""
    cases.write_text("one\nbad\n")
    found: Iterator[Any] = runner.results("echo_cases", cases)

    assert {"line": "one"} == next(found)
    with pytest.raises(InputError):
        next(found)


def test_process() -> None:
    """`python -m indult.testing --help` lists the kinds."""
    done = subprocess.run(
        [sys.executable, "-m", "indult.testing", "--help"], capture_output=True, text=True, check=True, timeout=60
    )

    assert f"usage: python -m indult.testing KIND FILE\nkinds: {', '.join(runner.kinds())}\n" == done.stdout
