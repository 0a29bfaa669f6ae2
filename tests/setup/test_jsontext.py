from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indult.errors import ConfigurationError
from indult.setup.jsontext import append, parse, put, swap, take

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("", '{\n  "hooks": {\n    "Stop": [\n      1\n    ]\n  }\n}\n'),
        ("{}", '{\n  "hooks": {\n    "Stop": [\n      1\n    ]\n  }\n}'),
        ('{"a": 1}', '{"a": 1, "hooks": {"Stop": [1]}}'),
        ('{"hooks":{"Stop":[0]}}', '{"hooks":{"Stop":[0, 1]}}'),
        ('{\n\t"hooks": {\n\t\t"Stop": [\n\t\t\t0\n\t\t]\n\t},\n\t"b": 1e5\n}\n', '{\n\t"hooks": {\n\t\t"Stop": [\n\t\t\t0,\n\t\t\t1\n\t\t]\n\t},\n\t"b": 1e5\n}\n'),
        ('{\r\n  "a": 1\r\n}\r\n', '{\r\n  "a": 1,\r\n  "hooks": {\r\n    "Stop": [\r\n      1\r\n    ]\r\n  }\r\n}\r\n'),
        ('{"hooks": {"Stop": []}, "é": "\\u00e9"}', '{"hooks": {"Stop": [\n  1\n]}, "é": "\\u00e9"}'),
    ],
)  # fmt: skip
def test_append(text: str, after: str) -> None:
    """An element is added in the layout of the file, and not a byte of the rest changes."""
    assert after == append(text, ("hooks", "Stop"), 1, source="f")


@given(
    before=st.dictionaries(st.text(max_size=3), JSON, max_size=4),
    indent=st.sampled_from([None, 1, 2, 4, "\t"]),
    value=JSON,
)
def test_nothing_is_lost(before: dict[str, object], indent: int | str | None, value: object) -> None:
    """What comes out is what was there, in its order, with the one element more."""
    text = json.dumps(before, indent=indent)
    expected = json.loads(text)
    hooks = expected.setdefault("h", {})
    if not isinstance(hooks, dict) or not isinstance(hooks.setdefault("S", []), list):
        with pytest.raises(ConfigurationError):
            append(text, ("h", "S"), value, source="f")
        return
    hooks["S"].append(value)

    found = json.loads(append(text, ("h", "S"), value, source="f"))

    assert json.dumps(expected) == json.dumps(found)


@pytest.mark.parametrize(
    ("text", "path", "after"),
    [
        ('{"a": 1, "b": 2}', ("a",), '{"b": 2}'),
        ('{"a": 1, "b": 2}', ("b",), '{"a": 1}'),
        ('{\n "a": 1,\n "b": [1, 2 , 3]\n}', ("b", 1), '{\n "a": 1,\n "b": [1 , 3]\n}'),
        ('{"a": {"b": [1]}, "c": 2}', ("a", "b", 0), '{"c": 2}'),
        ('{"a": [{"b": 1}]}', ("a", 0, "b"), "{}"),
    ],
)
def test_take(text: str, path: tuple[str | int, ...], after: str) -> None:
    """What is taken out goes with its comma, and with what would be left empty around it."""
    assert after == take(text, path, source="f")


@given(
    before=st.dictionaries(st.text(max_size=3), JSON, max_size=4),
    indent=st.sampled_from([None, 1, 4, "\t"]),
    value=JSON,
)
def test_there_and_back(before: dict[str, object], indent: int | str | None, value: object) -> None:
    """What was added can be taken out again, byte for byte where other things stand beside it."""
    before.pop("h", None)
    text = json.dumps(before, indent=indent)

    there = append(text, ("h", "S"), value, source="f")

    assert before == json.loads(take(there, ("h", "S", 0), source="f"))
    assert not before or text == take(there, ("h", "S", 0), source="f")


@pytest.mark.parametrize("text", ["[]", "1", "{", '{"a": 1, "a": 2}', "{} // why", '\ufeff{"a": 1}', "[" * 100_000])
def test_what_is_no_plain_object(text: str) -> None:
    """A file that other readers may read in another way is refused, and names itself."""
    with pytest.raises(ConfigurationError, match=r"`f\.json` cannot be added to"):
        parse(text, source="f.json")


def test_something_else_on_the_way() -> None:
    """What stands where a list has to be is not replaced."""
    with pytest.raises(ConfigurationError, match=r"`hooks\.Stop` is no list"):
        append('{"hooks": {"Stop": "x"}}', ("hooks", "Stop"), 1, source="f")


def test_put() -> None:
    """A key is added behind those that are there."""
    assert '{"a": 1, "version": 1}' == put('{"a": 1}', "version", 1, source="f")


def test_swap() -> None:
    """A string value is replaced wherever it stands; keys, other values and the layout stay."""
    text = '{"a": "x",\n "x" :[ "x", {"b": "\\u0078", "c": "xx"}, 1 ]}'

    assert '{"a": "é",\n "x" :[ "é", {"b": "é", "c": "xx"}, 1 ]}' == swap(text, "x", "é", source="f")
    assert "{}" == swap("{}", "x", "y", source="f")
    assert "" == swap("", "x", "y", source="f")
