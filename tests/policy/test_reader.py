from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from indult.errors import PolicyError
from indult.policy.reader import Document, Node, read
from indult.policy.scalars import misleading, positions


def value(text: str) -> Any:
    """Return the JSON value of a YAML text."""
    document = read(text, source="p")
    assert document.root is not None
    return document.json(document.root)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a", "a"),
        ("true", True),
        ("False", False),
        ("~", None),
        ("NULL", None),
        ("0", 0),
        ("-12", -12),
        ("1.50", 1.5),
        ("1e3", 1000.0),
        ("'no'", "no"),
        ('"0o17"', "0o17"),
        ("y", "y"),
        ("1.2.3", "1.2.3"),
        ("1:x", "1:x"),
        ("=", "="),
        ("[a, 'on', 1]", ["a", "on", 1]),
        ("{a: {b: []}}", {"a": {"b": []}}),
        ("? a\n: b", {"a": "b"}),
        ("a:\tb", {"a": "b"}),
        ("\ufeffa: 1", {"a": 1}),
        ("a: 1\r\nb: 2\r\n", {"a": 1, "b": 2}),
        ("a: |\n  x\n\n  y\n", {"a": "x\n\ny\n"}),
        ("--- a\n...\n", "a"),
    ],
)
def test_values_are_what_json_has(text: str, expected: object) -> None:
    """Scalars without quotes are truth values, null, JSON numbers or the text that stands there."""
    found = value(text)

    assert expected == found
    assert type(expected) is type(found)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "yes",
            "No",
            "ON",
            "off",
            "017",
            "0o17",
            "0x1F",
            "+1",
            ".5",
            "5.",
            "01.5",
            "1_000",
            "0b11",
            "1:30",
            "1:30:59.5",
        ),
        *("2026-01-31", "2026-01-31T10:00:00Z", "2026-01-31 10:00:00", ".inf", "-.INF", ".nan", ""),
    ],
)
def test_what_readers_disagree_about_is_refused(text: str) -> None:
    """A scalar that YAML 1.1 and 1.2 read in two ways is an error, with quotes it is a text."""
    with pytest.raises(PolicyError):
        value(f"[x, a: {text}]")

    assert ["x", {"a": text}] == value(f"[x, a: '{text}']")


@given(
    st.one_of(st.from_regex(r"[-+.0-9_:xoeEtTZ]{1,8}", fullmatch=True), st.sampled_from(["yes", "nO", "Off", "True"]))
)
def test_no_scalar_is_read_in_a_way_that_yaml_1_1_contradicts(text: str) -> None:
    """What is accepted without quotes is what a YAML 1.1 reader takes it for, but for exponents, which are JSON's."""
    try:
        found = value(f"a: {text}")["a"]
        other = yaml.safe_load(f"a: {text}")["a"]
    except (PolicyError, yaml.YAMLError, TypeError, ValueError):
        return
    if isinstance(found, float) and isinstance(other, str):
        other = json.loads(other)

    assert (found, type(found)) == (other, type(other))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5).filter(lambda t: t != "<<"), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@given(json_values)
def test_json_is_read_as_it_is(data: Any) -> None:
    """A JSON text is a YAML text with the same value, but for characters that hide something."""
    text = json.dumps(data, ensure_ascii=False)
    if not misleading(text):
        assert data == value(text)


STYLES = {
    "plain": "when: {}\nx: 1",
    "single": "when: '{}'\nx: 1",
    "double": 'when: "{}"\nx: 1',
    "flow": "{{when: '{}', x: 1}}",
    "literal": "when: |\n  {}\nx: 1",
    "folded": "when: >-  # a comment\n\n    {}\n\nx: 1",
}


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("breaks", [False, True])
def test_a_place_inside_a_scalar_is_a_place_in_the_file(style: str, breaks: bool) -> None:
    """Every character of a value that is no white space is found where it stands, in every style of scalar."""
    words = ["tool", "==", "ab", "&&", "nope"]
    indent = "\n    " if style == "folded" else "\n  "
    text = STYLES[style].format((indent if breaks else "  ").join(words))
    document = read(text, source="p")
    scalar = _first(document, "when")

    for word in words:
        line, column = positions(scalar, document.lines, scalar.value.index(word))
        assert document.lines[line - 1][column - 1 :].startswith(word)


def test_escapes_count_as_what_they_stand_for() -> None:
    """A doubled quote and an escape are one character of the value, an escaped line break is none."""
    document = read("{a: 'x''y z', b: \"\\x41\\u0042\\U00000043 d\\\n  \\ \\te\"}", source="p")

    single, double = _first(document, "a"), _first(document, "b")
    assert "x'y z" == single.value
    assert (1, 11) == positions(single, document.lines, single.value.index("z"))
    assert "ABC d \te" == double.value
    assert (1, 23) == positions(double, document.lines, double.value.index("B"))
    assert (2, 7) == positions(double, document.lines, double.value.index("e"))


def test_the_end_of_a_scalar_is_behind_its_last_character() -> None:
    """An error at the end of a condition points behind its last character, not at a later line."""
    document = read("a: |\n  tool ==\n\nb: 1", source="p")
    scalar = _first(document, "a")

    assert (2, 10) == positions(scalar, document.lines, len(scalar.value))


def test_white_space_stands_behind_the_character_before_it() -> None:
    """The place of a space or of a folded line break is right behind what stands before it."""
    document = read("a: x\n  y z", source="p")
    scalar = _first(document, "a")

    assert "x y z" == scalar.value
    assert [(1, 4), (1, 5), (2, 3), (2, 4), (2, 5)] == [positions(scalar, document.lines, at) for at in range(5)]


@given(
    st.text(
        st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\u2028\u2029"), min_size=1, max_size=30
    ).filter(str.strip),
    st.sampled_from(["double", "single"]),
)
def test_places_are_exact_for_any_text(text: str, style: str) -> None:
    """Whatever a quoted text holds, each of its characters that is no white space is found at its own place."""
    quoted = json.dumps(text, ensure_ascii=False) if style == "double" else "'" + text.replace("'", "''") + "'"
    if misleading(text):
        return
    document = read(f"- {quoted}", source="p")
    assert document.root is not None
    scalar = document.root.value[0]

    for at, char in enumerate(scalar.value):
        if not char.isspace() and char not in "\\\"'":
            line, column = positions(scalar, document.lines, at)
            assert char == document.lines[line - 1][column - 1]


@given(st.text(max_size=60), st.binary(max_size=60))
def test_reading_never_fails_in_another_way(text: str, raw: bytes) -> None:
    """Any text and any bytes are read or are a policy error."""
    for source in (text, raw, b"a: " + raw, "a: {" + text + "}"):
        try:
            document = read(source, source="p")
            if document.root is not None:
                document.json(document.root)
        except PolicyError:
            pass


def test_the_parser_without_its_c_part_reads_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where PyYAML came without its C part, values and places are the same."""
    text = "a: [1, 'b']\nc: |\n  d\n"
    fast = read(text, source="p")
    monkeypatch.delattr(yaml, "CSafeLoader")
    slow = read(text, source="p")

    assert fast.root is not None
    assert slow.root is not None
    assert fast.json(fast.root) == slow.json(slow.root)
    assert _places(fast.root) == _places(slow.root)


def _places(node: Node) -> list[tuple[int, int]]:
    inner = [part for pair in node.value for part in pair] if node.is_map else node.value if node.is_list else []
    return [(node.line, node.column), *(place for part in inner for place in _places(part))]


def _first(document: Document, name: str) -> Node:
    assert document.root is not None
    return next(value for key, _, value in document.pairs(document.root) if key == name)
