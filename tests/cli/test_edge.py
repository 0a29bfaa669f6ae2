from __future__ import annotations

import io
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from indult.canonical import MAX_BYTES
from indult.cli.edge import printable, read_input, say
from indult.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path


def test_say(capsys: pytest.CaptureFixture[str]) -> None:
    """Text for a person is one line each."""
    say("DENY", "denied by `cap`")

    assert ("DENY\ndenied by `cap`\n", "") == tuple(capsys.readouterr())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("gr\u00fcn \U0001f600\ttab", "gr\u00fcn \U0001f600\ttab"),
        ("a\x00\x7f\x9b", "a\\x00\\x7f\\x9b"),
        ("\u200b\u2066\ufeff", "\\u200b\\u2066\\ufeff"),
        ("\U000e0041", "\\U000e0041"),
        ("\udcff", "\\udcff"),
    ],
)
def test_printable(text: str, expected: str) -> None:
    """Letters stay, what cannot be seen is spelled out."""
    assert expected == printable(text)


def test_output_is_utf8() -> None:
    """The locale has no say in the encoding of JSON Lines."""
    script = "import sys\nfrom indult.cli.edge import _speak_utf8, emit\n_speak_utf8()\nemit({'a': '\u00f6\\udcff'})"
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        check=False,
        timeout=60,
        env={"PYTHONIOENCODING": "latin-1", "PYTHONPATH": os.pathsep.join(sys.path)},
    )

    assert ('{"a": "\u00f6\\udcff"}\n'.encode(), b"") == (done.stdout, done.stderr)


class TestReadInput:
    """What an argument stands for."""

    def test_itself(self) -> None:
        """Text is itself, even where it is not UTF-8."""
        assert "{\u00e9}".encode() == read_input("{\u00e9}")
        assert b"\xff" == read_input("\udcff")

    def test_file(self, tmp_path: Path) -> None:
        """`@FILE` is the content of a file."""
        (tmp_path / "action.json").write_bytes(b"{}\n")

        assert b"{}\n" == read_input(f"@{tmp_path / 'action.json'}")

    def test_standard_input(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """`-` is standard input."""
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xff")))

        assert b"\xff" == read_input("-")

    def test_not_more_than_allowed(self, tmp_path: Path) -> None:
        """One byte more than allowed is read, so that what is too large is refused without being held."""
        (tmp_path / "large").write_bytes(b" " * (MAX_BYTES + 100))

        assert MAX_BYTES + 1 == len(read_input(f"@{tmp_path / 'large'}"))

    @pytest.mark.parametrize(("name", "cause"), [("none", "no such file or directory"), ("", "is a directory")])
    def test_unreadable(self, tmp_path: Path, name: str, cause: str) -> None:
        """A file that cannot be read is named, with the cause."""
        with pytest.raises(UsageError) as caught:
            read_input(f"@{tmp_path / name}")

        assert f"cannot read `{tmp_path / name}`: {cause}" == caught.value.message


def test_a_character_that_shows_nothing_is_spelled_out() -> None:
    """Fillers and selectors, which count as printable and are not seen, are escaped like other invisible characters."""
    assert "max\\u3164" == printable("max\u3164").lower()
    assert "größe" == printable("größe")
