"""What is the same about two sightings."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indult.autofix.fingerprints import MOST, fingerprint, normalised, one_line, signal_id
from indult.scopes import check_line

SAME = [
    ("a number", "timeout after 30 tries", "timeout after 7 tries"),
    ("a signed number", "balance is -5", "balance is 17"),
    ("a float", "0.1 + 0.2 = 0.30000000000000004", "1.25 + 3e-7 = 2"),
    ("a duration", "took '1.5s'", "took '120 ms'"),
    ("a size", "out of memory: 512MB", "out of memory: 3 GiB"),
    ("an address of memory", "<Cart object at 0x7f3a2b1c>", "<Cart object at 0x55d0>"),
    ("a commit", "at 3f2a9bc4", "at 1234567"),
    ("a whole commit", "at " + "ab" * 20, "at " + "0" * 40),
    ("a UUID", "order 123e4567-e89b-12d3-a456-426614174000", "order ffffffff-ffff-4fff-8fff-ffffffffffff"),
    ("a time", "2026-11-30T16:21:00.123456Z failed", "2025-01-02 03:04:05 failed"),
    ("a time of a log", "Nov 30 16:21:03 host failed", "Dec 1 04:00:59 host failed"),
    ("a date of a header", "expired Mon, 30 Nov 2026 16:21:03 GMT", "expired Tue, 1 Dec 2026 00:00:00 GMT"),
    ("a time of day", "at 4:05 PM", "at 11:59 AM"),
    ("an address", "refused: 10.0.0.1:5432", "refused: 192.168.7.33:80"),
    ("an IPv6 address", "refused: 2001:db8::8a2e", "refused: fe80::1:22"),
    ("a place in a file", "cart.py:10:5: error", "cart.py:112:15: error"),
    ("a temporary folder", "cannot read /tmp/pytest-of-me/pytest-3/x0", "cannot read /tmp/tmpab_x9"),
    ("a file in one", "in /tmp/build-17/out.json: bad", "in /var/folders/q1/x_/T/tmpz/out.json: bad"),
    ("a thread", "Thread-12 died", "Thread-3 died"),
    ("a process", "worker pid 9912 died", "worker pid 7 died"),
    ("an id with a word before it", "req_20391 failed", "req_1203944 failed"),
    ("white space", "a\tb\n  c", "a b c"),
    ("colours", "\x1b[31mE\x1b[0m assert", "E assert"),
    ("composition", "caf\u00e9", "cafe\u0301"),
]

OTHER = [
    ("a name with a digit", "test_parse_v1", "test_parse_v2"),
    ("a code of a compiler", "TS2322: not assignable", "TS2345: not assignable"),
    ("a vulnerability", "CVE-2024-1234", "CVE-2023-9999"),
    ("a file of a temporary folder", "in /tmp/a/one.json", "in /tmp/a/two.json"),
    ("a month that is none", "Marker 5 missing", "Decode 5 missing"),
    ("a word", "cart is empty", "cart is full"),
    ("a case", "not found", "Not found"),
]


@pytest.mark.parametrize(("one", "other"), [pair[1:] for pair in SAME], ids=[pair[0] for pair in SAME])
def test_agrees(one: str, other: str) -> None:
    """What differs from one run to the next makes no other fault."""
    assert normalised(one) == normalised(other)
    assert fingerprint("test", one) == fingerprint("test", other)


@pytest.mark.parametrize(("one", "other"), [pair[1:] for pair in OTHER], ids=[pair[0] for pair in OTHER])
def test_differs(one: str, other: str) -> None:
    """What belongs to a name makes another fault."""
    assert fingerprint("test", one) != fingerprint("test", other)


def test_counts_the_kind() -> None:
    """One text is two faults under two kinds, and the kind cannot be moved into the text."""
    assert fingerprint("test", "x") != fingerprint("log", "x")
    assert fingerprint("a", "b x") != fingerprint("a b", "x")


def test_names_the_signal_after_it() -> None:
    """The id of a signal is the beginning of its fingerprint."""
    found = fingerprint("test", "x")
    assert re.fullmatch(r"sha256:[0-9a-f]{64}", found)
    assert f"s_{found[7:19]}" == signal_id(found)


WORDS = st.lists(st.text("ghijklnoprtvwxyz", min_size=4, max_size=12), min_size=1, max_size=6)
NUMBERS = st.one_of(st.integers(0, 10**12).map(str), st.floats(0, 1e6).map(lambda value: f"{value:.3f}"))
VARYING = st.one_of(
    NUMBERS,
    st.uuids().map(str),
    st.datetimes().map(lambda value: value.strftime("%Y-%m-%dT%H:%M:%SZ").zfill(20)),
    st.ip_addresses(v=4).map(str),
    st.binary(min_size=4, max_size=32).map(lambda value: "0x" + value.hex()),
    st.binary(min_size=20, max_size=32).map(bytes.hex),
)


@given(words=WORDS, ones=st.lists(VARYING, min_size=6, max_size=6), others=st.lists(VARYING, min_size=6, max_size=6))
def test_any_two_runs_of_one_fault_agree(words: list[str], ones: list[str], others: list[str]) -> None:
    """Whatever stands between the words of a message, the words alone count."""
    first, second = (
        " ".join(f"{word} {value}" for word, value in zip(words, values, strict=False)) for values in (ones, others)
    )
    assert normalised(first) == normalised(second)


@given(one=WORDS, other=WORDS)
def test_any_two_faults_differ(one: list[str], other: list[str]) -> None:
    """Messages of other words have other fingerprints."""
    assert (one == other) == (fingerprint("test", " ".join(one)) == fingerprint("test", " ".join(other)))


@given(st.text(st.characters(), max_size=200))
def test_takes_any_text(text: str) -> None:
    """No text is refused, and its spaces never count."""
    assert fingerprint("test", text) == fingerprint("test", f"  {text}\n")


@pytest.mark.parametrize(
    "text", ["1" * 10**6, "a:" * 10**6, "/tmp/" * 10**6, "0x" * 10**6, "1:" * 10**6, "1," * 10**6, "-" * 10**6]
)
def test_reads_no_more_than_the_beginning(text: str) -> None:
    """Of a text of megabytes the first characters count, so that none takes long, whatever it is made of."""
    assert fingerprint("log", text[:MOST]) == fingerprint("log", text)


@given(st.text(st.characters(), max_size=300))
def test_one_line_is_one(text: str) -> None:
    """Any text becomes a line that a person can be shown, or nothing."""
    line = one_line(text, 100)
    assert len(line) <= 100
    if line:
        check_line(line, "summary")


def test_one_line_hides_nothing() -> None:
    """What could turn a line around is spelled out, and what is cut off is told."""
    assert "a \\u202eb c" == one_line("a\n\u202eb  \x1b[1mc", 50)
    assert "aaaa…" == one_line("a" * 50, 5)
