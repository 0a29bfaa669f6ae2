from __future__ import annotations

import hashlib
import json
from collections import OrderedDict, defaultdict
from enum import IntEnum, StrEnum
from typing import Any

import pytest
import rfc8785
from hypothesis import example, given
from hypothesis import strategies as st

from indult.canonical import MAX_BYTES, MAX_DEPTH, MAX_INTEGER, canonical, copy_json, digest, digest_text, parse_json
from indult.errors import InputError

# Keys beyond U+D7FF are where sorting by code point and sorting by UTF-16 part ways.
texts = st.text(st.characters(exclude_categories=["Cs"])) | st.text(
    st.sampled_from("a\ue000\uffff\U00010000\U0010ffff")
)


def json_values(largest_float: float | None = None) -> st.SearchStrategy[Any]:
    """Return a strategy of JSON values whose floats are at most `largest_float` in size."""
    least = None if largest_float is None else -largest_float
    scalars = (
        st.none()
        | st.booleans()
        | st.integers(min_value=-MAX_INTEGER, max_value=MAX_INTEGER)
        | st.floats(min_value=least, max_value=largest_float, allow_nan=False, allow_infinity=False)
        | texts
    )
    return st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(texts, inner), max_leaves=20)


values = json_values()


def nested(depth: int) -> Any:
    """Return lists nested `depth` deep."""
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


class Word(StrEnum):
    """A word of a closed set."""

    ASK = "ask"


class Number(IntEnum):
    """A number of a closed set."""

    ONE = 1


class TestCanonical:
    """The canonical text of a value."""

    @given(values)
    @example({"\uffff": 1, "\U00010000": 2})
    @example({"\ud7ff": 1, "\ue000": 2, "a": 1e21})
    @example([1e16, 1e-7, -0.0, 5e-324, 1.7976931348623157e308, 4.0])
    @example({"a": '\x00\x1f\x7f\u2028"\\/'})
    def test_same_bytes_as_the_standard(self, value: Any) -> None:
        """Any JSON value gets the bytes that the reference implementation of RFC 8785 gives."""
        assert rfc8785.dumps(value) == canonical(value).encode()

    # Whole doubles beyond 2**53 are written as integers, and those are not exact everywhere.
    @given(json_values(float(MAX_INTEGER)))
    def test_text_reads_back(self, value: Any) -> None:
        """The text is JSON for a value with the same canonical text."""
        assert canonical(value) == canonical(json.loads(canonical(value)))

    @pytest.mark.parametrize(
        ("value", "expected"),
        [
            ({"b": 1, "a": [True, None]}, '{"a":[true,null],"b":1}'),
            ((1, 2), "[1,2]"),
            (1.0, "1"),
            ("\u20ac", '"\u20ac"'),
            ({}, "{}"),
        ],
    )
    def test_examples(self, value: Any, expected: str) -> None:
        """Keys are sorted, nothing is spaced, text stands as itself."""
        assert expected == canonical(value)

    @pytest.mark.parametrize(
        "value",
        [
            float("nan"),
            float("inf"),
            [float("-inf")],
            "\ud800",
            {"\udfff": 1},
            {"a": ["\ud83d"]},
            MAX_INTEGER + 1,
            -MAX_INTEGER - 1,
            [2**64],
            {1: "a"},
            {"a": {None: 1}},
            b"bytes",
            {1, 2},
            object(),
            nested(1000),
        ],
        ids=range(15),
    )
    def test_refusals(self, value: Any) -> None:
        """What has no canonical text is refused, never approximated."""
        with pytest.raises(InputError):
            canonical(value)


class TestDigest:
    """The digest of a value."""

    def test_known_answer(self) -> None:
        """It is the tagged SHA-256 of the canonical text in UTF-8."""
        expected = "sha256:" + hashlib.sha256('{"a":"\u00e9","b":1}'.encode()).hexdigest()

        assert expected == digest({"b": 1, "a": "\u00e9"})

    @given(values)
    def test_order_of_keys_has_no_part(self, value: Any) -> None:
        """Two spellings of one value have one digest."""
        assert digest(value) == digest(json.loads(json.dumps(value)))

    def test_text_with_a_lone_surrogate(self) -> None:
        """Text that UTF-8 cannot carry has no digest."""
        with pytest.raises(InputError, match="lone surrogate"):
            digest_text("a\ud800")


class TestParseJson:
    """Reading JSON that is readable one way only."""

    @given(values)
    def test_reads_what_json_reads(self, value: Any) -> None:
        """Any JSON text is read as the standard library reads it."""
        text = json.dumps(value)

        assert json.loads(text) == parse_json(text)
        assert json.loads(text) == parse_json(text.encode())

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("", "body is not JSON: line 1 column 1: "),
            ('{"a":\n1 x}', "body is not JSON: line 2 column 3: "),
            ("[1] 2", "body is not JSON: line 1 column 5: "),
            ('{"a":1,"a":1}', "body has the key `a` twice in one object"),
            ('[{"x":{"b":1,"c":2,"b":3}}]', "body has the key `b` twice in one object"),
            ('{"a":1,"\\u0061":2}', "body has the key `a` twice in one object"),
            ("NaN", "body is not JSON: `NaN` is not a JSON number"),
            ("[-Infinity]", "body is not JSON: `-Infinity` is not a JSON number"),
            ("1e400", "body holds `inf`, which is not a JSON number"),
            ('"\\ud800"', "body holds a lone surrogate, which UTF-8 cannot carry"),
            ('{"\\udc00":1}', "body holds a lone surrogate, which UTF-8 cannot carry"),
            ("9007199254740992", "body holds the integer `9007199254740992`, which not every reader keeps exactly"),
            ("-9007199254740992", "body holds the integer `-9007199254740992`, which not every reader keeps exactly"),
            ("[" * 101 + "]" * 101, "body is nested over 100 deep"),
            ("[" * 400_000, "body is nested over 100 deep"),
            ('{"a":' * 101 + "1" + "}" * 101, "body is nested over 100 deep"),
            ("9" * 5000, "body is not JSON: "),
            ("\ud800", "body is not UTF-8: byte 0"),
            (b'"\xff"', "body is not UTF-8: byte 1"),
            (b"\xef\xbb\xbf{}", "body is not JSON: "),
            (" " * (MAX_BYTES + 1), "body is too large: 1000001 bytes, at most 1000000"),
            ("\u20ac" * (MAX_BYTES // 3 + 1), "body is too large: 1000002 bytes, at most 1000000"),
        ],
        ids=range(22),
    )
    def test_refusals(self, text: str | bytes, message: str) -> None:
        """Each refusal names the input and what is wrong with it."""
        with pytest.raises(InputError) as caught:
            parse_json(text, name="body")

        assert caught.value.message.startswith(message)

    def test_limits_are_inclusive(self) -> None:
        """The largest and the deepest input that are allowed are read."""
        assert "a" * (MAX_BYTES - 2) == parse_json('"' + "a" * (MAX_BYTES - 2) + '"')
        assert [nested(MAX_DEPTH)] == [parse_json("[" * MAX_DEPTH + "1" + "]" * MAX_DEPTH)]
        assert MAX_INTEGER == parse_json(str(MAX_INTEGER))

    def test_integers_beyond_get_a_hint(self) -> None:
        """The refusal of a large integer says what to send instead."""
        with pytest.raises(InputError) as caught:
            parse_json("9007199254740993")

        assert "send integers beyond 2**53 - 1 as strings" == caught.value.hint


class TestCopyJson:
    """A copy that shares nothing."""

    @given(values)
    def test_equal(self, value: Any) -> None:
        """The copy has the canonical text of the original."""
        assert canonical(value) == canonical(copy_json(value))

    def test_shares_nothing(self) -> None:
        """A later change of the original does not reach the copy."""
        original: dict[str, Any] = {"a": [{"b": 1}]}
        copied = copy_json(original)
        original["a"][0]["b"] = 2
        original["a"].append(3)

        assert {"a": [{"b": 1}]} == copied

    @pytest.mark.parametrize(
        ("value", "expected"),
        [
            (Word.ASK, "ask"),
            (Number.ONE, 1),
            (OrderedDict(b=1), {"b": 1}),
            (defaultdict(int, a=1), {"a": 1}),
        ],
    )
    def test_subclasses_become_plain(self, value: Any, expected: Any) -> None:
        """Subclasses of JSON's types are reduced to them, so that no behaviour comes along."""
        copied = copy_json([value])

        assert [expected] == copied
        assert type(expected) is type(copied[0])

    @pytest.mark.parametrize(
        ("value", "message"),
        [
            ({1: 2}, "args has the key `1`, which is not a string"),
            ({"a": b""}, "args holds a `bytes`, which is not JSON"),
            ({"a": {2}}, "args holds a `set`, which is not JSON"),
            ([float("nan")], "args holds `nan`, which is not a JSON number"),
            (nested(MAX_DEPTH + 1), "args is nested over 100 deep"),
            ("\ud800", "args holds a lone surrogate, which UTF-8 cannot carry"),
        ],
        ids=range(6),
    )
    def test_refusals(self, value: Any, message: str) -> None:
        """What is not JSON is refused by name."""
        with pytest.raises(InputError) as caught:
            copy_json(value, name="args")

        assert message == caught.value.message

    def test_a_cycle_ends(self) -> None:
        """A value that holds itself is refused as too deep instead of copied for ever."""
        value: list[Any] = []
        value.append(value)

        with pytest.raises(InputError, match="nested over 100 deep"):
            copy_json(value)
        with pytest.raises(InputError, match="nested over 200 deep"):
            canonical(value)
