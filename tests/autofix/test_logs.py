"""Logs of any kind, and what is kept of long output."""

from __future__ import annotations

import io
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indult.autofix.logs import MAX_LINE, Ends, compiled, plain, read_log, telling
from indult.autofix.signals import Sighting
from indult.errors import InputError

LOG = b"""2026-03-01 10:00:00 INFO started
2026-03-01 10:00:07 ERROR payments: order 17 timed out after 30 s
2026-03-01 10:00:09 WARN slow
2026-03-01 10:01:07 ERROR payments: order 4 timed out after 31 s
2026-03-01 10:02:00 ERROR cart: empty
"""


def read(log: bytes, pattern: str = "ERROR .*") -> list[Sighting]:
    """Return the sightings of a log."""
    return list(read_log(io.BytesIO(log), pattern, source="app.log"))


def test_lines_that_match_are_sightings() -> None:
    """Each line that matches is seen; what the pattern matched makes it the same again."""
    first, second, third = read(LOG)
    assert ("log", "app.log", "ERROR payments: order 17 timed out after 30 s") == (first.kind, first.source, first.key)
    assert "2026-03-01 10:00:07 ERROR payments: order 17 timed out after 30 s" == first.summary == first.detail
    assert first.fingerprint == second.fingerprint != third.fingerprint


def test_a_group_can_name_what_counts() -> None:
    """What the group `key` holds makes two lines the same; where it holds nothing, the whole match does."""
    found = read(b"ERROR cart: a\nERROR cart: b\nERROR\n", r"ERROR( (?P<key>\w+):)?")
    assert ["cart", "cart", "ERROR"] == [one.key for one in found]


@pytest.mark.parametrize("pattern", ["(", "[z-a]", r"(a)\1", "a{5000}", "x" * 5000, "\ud800"])
def test_bad_patterns_are_refused(pattern: str, capfd: pytest.CaptureFixture[str]) -> None:
    """What is no pattern of RE2 is refused before a line is read, and only by us."""
    with pytest.raises(InputError, match="pattern"):
        compiled(pattern)
    assert ("", "") == capfd.readouterr()


def test_no_pattern_takes_long() -> None:
    """A pattern that backtracking would take for ever with takes as long as any other."""
    assert [] == read(b"a" * 60_000 + b"\n", r"(a|a)*(a+)+$b")


def test_binary_lines() -> None:
    """Bytes that are no text are replaced, and what stands between them is found."""
    (found,) = read(b"\xff\xfe\x00ERROR \x80x\n")
    assert "\ufffd\ufffd\\u0000ERROR \ufffdx" == found.summary
    noise = random.Random(2).randbytes(300_000)
    read(noise, "ERROR|a+")


def test_long_lines_are_read_in_part() -> None:
    """Of a line of megabytes the beginning is read, and the next line is the next."""
    log = b"ERROR first " + b"x" * 5_000_000 + b" ERROR within\nERROR second\n" + b"y" * MAX_LINE + b"\nERROR third"
    assert ["ERROR first", "ERROR second", "ERROR third"] == [one.key for one in read(log, r"ERROR \w+")]


def test_empty_matches() -> None:
    """A pattern that matches nothing in a line matches the line."""
    assert ["one", "an empty line"] == [one.key for one in read(b"one\n\n", "x*")]


def test_lines_are_given_as_they_come() -> None:
    """A line is given before the next one is read."""

    class Endless(io.RawIOBase):
        """A log without an end."""

        def readable(self) -> bool:
            return True

        def readline(self, size: int | None = -1, /) -> bytes:
            return b"ERROR again\n"

    found = read_log(Endless(), "ERROR", source="x")  # type: ignore[arg-type]
    assert [next(found).key for _ in range(5)] == ["ERROR"] * 5


@given(st.lists(st.binary(max_size=50)), st.integers(2, 60))
def test_keeps_both_ends(pieces: list[bytes], most: int) -> None:
    """Whatever pieces output comes in, its beginning and its end are kept and the rest is counted."""
    ends = Ends(most)
    for piece in pieces:
        ends.add(piece)
    whole = b"".join(pieces)
    half = most // 2
    if len(whole) <= 2 * half:
        expected = whole
    else:
        expected = whole[:half] + f"\n[{len(whole) - 2 * half} bytes are left out]\n".encode() + whole[-half:]
    assert expected.decode("utf-8", "replace") == ends.text()


def test_holds_no_more_than_it_keeps() -> None:
    """Output of any length takes the room of what is kept of it."""
    ends = Ends(1000)
    for _ in range(1000):
        ends.add(b"x" * 10_000)
    assert len(ends._head) + len(ends._tail) < 20_000
    assert 10_000_000 == ends.length


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("10%\r20%\r100%\ndone\r\n", "100%\ndone\n"),
        ("\x1b[", ""),
        ("a\x1bMb", "ab"),
    ],
)
def test_is_plain(text: str, expected: str) -> None:
    """Of what a terminal would do with output, its colours go and of a line that was drawn again the last stays."""
    assert expected == plain(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("one\ntwo\n\n", "two"),
        ("ok\nTypeError: no\n  at x\n", "TypeError: no"),
        ("FAILED a::b - x\n=== 1 failed in 0.1s ===\n", "FAILED a::b - x"),
        ("cat: x: No such file or directory\nmake: *** [all] Error 1\n", "make: *** [all] Error 1"),
    ],
)
def test_finds_the_telling_line(text: str, expected: str) -> None:
    """The last line that speaks of an error says best what went wrong, rules drawn by a tool aside."""
    assert expected == telling(text)
