from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest

from indult.decompose.manifests.reading import (
    Unreadable,
    pointer,
    read_json,
    read_loose_json,
    read_toml,
    read_yaml,
    same,
)

Reader = Callable[[bytes], Any]


@pytest.mark.parametrize(
    ("reader", "raw", "value"),
    [
        (read_json, b' {"a": [1, 1.5, true, null, "\\u00e9"]}\n', {"a": [1, 1.5, True, None, "\u00e9"]}),
        (read_loose_json, b'{"a": [1, 2, ], "b": {"c": ",]", },\n}', {"a": [1, 2], "b": {"c": ",]"}}),
        (read_loose_json, b'{"a\\",}": "\\\\",}', {'a",}': "\\"}),
        (read_toml, b'[a]\nb = "x..y"\nc = 1\n', {"a": {"b": "x..y", "c": 1}}),
        (read_yaml, b"a: 1.8.2\nb: {c: true, d: ~}\n.: [1, 1.5, '1']\n", None),
        (read_yaml, b"", None),
    ],
)
def test_what_can_be_read(reader: Reader, raw: bytes, value: Any) -> None:
    """Each format becomes typed values; a text that looks like syntax stays a text."""
    if raw.startswith(b"a: 1.8.2"):
        value = {"a": "1.8.2", "b": {"c": True, "d": None}, ".": [1, 1.5, "1"]}
    assert same(reader(raw), value)


def test_yaml_of_words() -> None:
    """For a tool that reads every scalar as a text, no plain word is ambiguous."""
    assert read_yaml(b"a: 8\nb: yes\nc: 012\nd: 1e3\n", words=True) == {"a": "8", "b": "yes", "c": "012", "d": "1e3"}


@pytest.mark.parametrize("reader", [read_json, read_loose_json, read_toml, read_yaml])
@pytest.mark.parametrize("raw", [b"\xef\xbb\xbf{}", "{}".encode("utf-16"), b"a\0", b'{"a": "\xff"}', b'a = "\xff"'])
def test_bytes_that_are_no_text(reader: Reader, raw: bytes) -> None:
    """A byte order mark, a zero byte and bytes that are not UTF-8 are refused by every reader."""
    with pytest.raises(Unreadable):
        reader(raw)


@pytest.mark.parametrize("reader", [read_json, read_loose_json])
@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b'{"a": 1, "a": 1}',
        b'{"other": 1, "oth\\u0065r": 1}',
        b'{"a": NaN}',
        b'{"a": -Infinity}',
        b'{"a": 1e999}',
        b'{"a": "\\ud800"}',
        b'{"\\udc00": 1}',
        b"{} {}",
        b"// c\n{}",
        b"/* c */{}",
        b"{a: 1}",
        b"{'a': 1}",
        b'{"a": 01}',
        b'{"a": "\t"}',
        b"[,]",
        b"{,}",
        b"[1,,2]",
        b"[1, ,]",
        b"[" * 200 + b"]" * 200,
        b"[" * 200_000,
        b'{"a": ' * 200_000,
        b'{"a": ' + b"9" * 5_000 + b"}",
    ],
)
def test_json_that_two_readers_could_read_two_ways(reader: Reader, raw: bytes) -> None:
    """What is not JSON to the letter is refused."""
    with pytest.raises(Unreadable):
        reader(raw)


def test_a_trailing_comma_is_refused_where_the_format_has_none() -> None:
    """Only a format that allows the comma after the last item gets it read."""
    with pytest.raises(Unreadable):
        read_json(b'{"a": 1,}')


@pytest.mark.parametrize(
    "raw",
    [
        b"a = 1\na = 1\n",
        b"[a]\n[a]\n",
        b"a = nan\n",
        b"a = inf\n",
        b"a = \n",
        b"a = " + b"[" * 5_000,
        b"a." * 500 + b"a = 1\n",
        b'"a".' * 500 + b"a = 1\n",
        b"'a' . " * 500 + b"a = 1\n",
    ],
)
def test_toml_that_is_refused(raw: bytes) -> None:
    """A key twice, a number that is not finite and a key of too many parts are refused."""
    with pytest.raises(Unreadable):
        read_toml(raw)


@pytest.mark.parametrize(
    "raw",
    [
        b"a: &x 1\n",
        b"a: &x 1\nb: *x\n",
        b"a: !!str 1\n",
        b"a: ! b\n",
        b"%YAML 1.1\n---\na: 1\n",
        b"a: 1\n---\nb: 1\n",
        b"a: 1\na: 1\n",
        b"a: 1\n'a': 1\n",
        b"<<: {a: 1}\n",
        b"[a]: 1\n",
        b"1: 1\n",
        b"~: 1\n",
        b"a: [\n",
        b"a:\n\t- b\n",
        "a: b\u0085c: d\n".encode(),
        "a: b\u2028c\n".encode(),
        b"[" * 200 + b"]" * 200,
        b"{a: " * 100_000,
        *(
            f"a: {word}\n".encode()
            for word in [
                "yes",
                "No",
                "ON",
                "y",
                "N",
                "TRUE",
                "Null",
                "012",
                "0o17",
                "0x1F",
                "0b1",
                "1_000",
                "1:30",
                "1e3",
                ".5",
                "1.",
                "+1",
                ".inf",
                "-.NaN",
                "2020-01-02",
                "=",
            ]
        ),
    ],
)
def test_yaml_that_is_refused(raw: bytes) -> None:
    """Anchors, aliases, tags, keys twice, merge keys and words of two meanings are refused."""
    with pytest.raises(Unreadable):
        read_yaml(raw)


@pytest.mark.parametrize("mark", ['"', '"""', "'", "'''"])
@pytest.mark.parametrize("inner", ['\\"', '\\"""', '""x', "''x", "\\", "\\x", "# ", "'\\\n"])
def test_texts_without_an_end(mark: str, inner: str) -> None:
    """A text that has no end, however often it could begin again, is refused at once."""
    for reader, raw in [(read_loose_json, '{"a":'), (read_toml, "a = ")]:
        with pytest.raises(Unreadable):
            reader(f"{raw}{mark}{inner * 100_000}".encode())


def test_keys_of_many_parts_beside_texts() -> None:
    """Dots count outside of texts only, wherever a text ends, and a comment hides no key of the next line."""
    dots = ".".join("a" * 200)
    for text in [
        f'"{dots}"',
        f'"""{dots}\n\\"{dots}"""',
        f'"""{dots}"""""',
        f"'''{dots}'''''",
        f"'{dots}'",
        f'"a" # {dots}',
    ]:
        read_toml(f"a = {text}\n".encode())
        for more in ("", " # \\", ' # "'):
            with pytest.raises(Unreadable, match="too many parts"):
                read_toml(f"a = {text}{more}\n{dots} = 1\n".encode())


def test_equal_with_types() -> None:
    """Equality to Python is not enough; the order of keys does not count, that of items does."""
    for one, other in [
        (True, 1),
        (1, 1.0),
        ("1", 1),
        (None, False),
        ([1], (1,)),
        ({"a": True}, {"a": 1}),
        ([1, 2], [2, 1]),
    ]:
        assert not same(one, other)
    assert same({"a": 1, "b": [True, None]}, {"b": [True, None], "a": 1})
    here = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)
    assert not same(here, here.astimezone(dt.timezone(dt.timedelta(hours=1))))


def test_pointers() -> None:
    """A pointer escapes what would end or change one of its parts."""
    assert pointer("a/b", "c~d", "") == "/a~1b/c~0d/"
