from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indult.cel import CelType, Env, UInt, check, program
from indult.cel.functions import double_of_string, double_text
from indult.errors import ConditionError, EvaluationError

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


def value(source: str) -> Any:
    """Return what an expression gives."""
    return program(check(source, Env({}), expect=None))({})


def exactly(source: str, expected: object) -> None:
    """Compare what an expression gives, and its type."""
    got = value(source)

    assert expected == got
    assert type(expected) is type(got)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("9223372036854775806 + 1", 2**63 - 1),
        ("-7 / 2", -3),
        ("-7 % 2", -1),
        ("7 % -2", 1),
        ("7u / 2u", UInt(3)),
        ("7u % 2u", UInt(1)),
        ("5u - 5u", UInt(0)),
        ("1.0 / 0.0", float("inf")),
        ("-1.0 / 0.0", float("-inf")),
        ("1.0 / -0.0", float("-inf")),
        ("'a' + 'b'", "ab"),
        ("b'a' + b'b'", b"ab"),
        ("[1] + [2]", [1, 2]),
        ("-(1.5)", -1.5),
        ("1 == 1", True),
        ("dyn(1) == 1.0", True),
        ("dyn(1) == true", False),
        ("dyn(true) == 1", False),
        ("dyn(0) == false", False),
        ("dyn(false) != 0", True),
        ("[dyn(1)] == [true]", False),
        ("{'a': dyn(1)} == {'a': true}", False),
        ("dyn(1) in [true]", False),
        ("dyn(true) in [dyn(1), dyn('a')]", False),
        ("dyn(true) in {1: 2}", False),
        ("{true: 1, 1: 2}[true]", 1),
        ("{true: 1, 1: 2}[1]", 2),
        ("{true: 1, 1: 2}.map(k, k) == [true, 1]", True),
        ("{true: 1}.map(k, k)", [True]),
        ("{true: 1}.transformMap(k, v, v + 1)[true]", 2),
        ("dyn(9223372036854775807) == 9223372036854775808.0", True),
        ("dyn(9223372036854775807) < 9223372036854775808.0", False),
        ("double('nan') == double('nan')", False),
        ("dyn(double('nan')) < 1", False),
        ("[double('nan')] == [double('nan')]", False),
        ("'a' < 'b'", True),
        ("b'a' < b'b'", True),
        ("false < true", True),
        ("dyn(1u) < 2.5", True),
    ],
)
def test_operators(source: str, expected: object) -> None:
    """Operators follow the specification, in size, sign, rounding and the difference of bools and numbers."""
    exactly(source, expected)


@pytest.mark.parametrize(
    "source",
    [
        "9223372036854775807 + 1",
        "-9223372036854775808 - 1",
        "4611686018427387904 * 2",
        "-9223372036854775808 / -1",
        "-9223372036854775808 % -1",
        "-(-9223372036854775808)",
        "18446744073709551615u + 1u",
        "0u - 1u",
        "4294967296u * 4294967296u",
        "1 / 0",
        "1 % 0",
        "1u / 0u",
        "1u % 0u",
        "dyn(1) + 1u",
        "dyn(1) + 'a'",
        "dyn('a') < 1",
        "dyn([1]) < dyn([2])",
        "dyn(null) < null",
        "dyn(1) % dyn(1.0)",
        "!dyn(1)",
        "-dyn('a')",
        "dyn(1) ? 1 : 2",
        "dyn(1) && true",
        "[1][1]",
        "[1][-1]",
        "[1][dyn(0.5)]",
        "[1][dyn(true)]",
        "[1][dyn('a')]",
        "dyn('abc')[0]",
        "dyn(1)[0]",
        "{'a': 1}.b",
        "{'a': 1}['b']",
        "{1: 1}[dyn([])]",
        "{1: 1}[dyn(null)]",
        "{'a': 1, 'a': 2}",
        "{1: 1, dyn(1u): 2}",
        "{dyn(1.0): 1}",
        "{dyn(null): 1}",
        "dyn('a').b",
        "has(dyn('a').b)",
        "has({}.a.b)",
        "'a' in dyn('abc')",
        "dyn([]) in {'a': 1}",
        "dyn(1).exists(a, true)",
        "dyn('abc').map(a, a)",
    ],
)
def test_errors(source: str) -> None:
    """Where the specification has no value there is an error, never a value."""
    with pytest.raises(EvaluationError):
        value(source)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("false && 1 / 0 == 1", False),
        ("1 / 0 == 1 && false", False),
        ("true || 1 / 0 == 1", True),
        ("1 / 0 == 1 || true", True),
        ("1 / 0 == 1 || 2 / 0 == 1 || true", True),
        ("dyn(1) && false", False),
        ("dyn('a') || true", True),
        ("[1, 0].exists(a, 1 / a == 1)", True),
        ("[0, 1].exists(a, 1 / a == 1)", True),
        ("[0, 2].all(a, 1 / a == 1)", False),
        ("[dyn(1), false].all(a, a)", False),
        ("true ? 1 : 1 / 0", 1),
        ("cel.bind(a, 1 / 0, true)", True),
        ("cel.bind(a, 1 / 0, a == 1 || true)", True),
        ("has({'a': 1}.a) ? 1 : 2", 1),
    ],
)
def test_errors_that_do_not_matter(source: str, expected: object) -> None:
    """An error counts only where the answer depends on it."""
    exactly(source, expected)


@pytest.mark.parametrize(
    "source",
    [
        "true && 1 / 0 == 1",
        "1 / 0 == 1 && true",
        "false || 1 / 0 == 1",
        "[1, 0].all(a, 1 / a == 1)",
        "[1].exists(a, dyn([1])[0u])",
        "[0].exists(a, 1 / a == 1)",
        "[1, 0].exists_one(a, 1 / a == 1)",
        "[1, 0].map(a, 1 / a)",
        "[1, 0].filter(a, 1 / a == 1)",
        "[dyn(1)].filter(a, a)",
        "[dyn(1)].exists_one(a, a)",
        "[1].map(a, dyn(1), a)",
        "{'a': 0}.transformMap(k, v, 1 / v)",
        "cel.bind(a, 1 / 0, a == 1)",
        "1 / 0 == 1 ? 1 : 2",
    ],
)
def test_errors_that_do_matter(source: str) -> None:
    """An error on which the answer depends is an error of the whole."""
    with pytest.raises(EvaluationError):
        value(source)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("[1, 2, 3].all(a, a > 0)", True),
        ("[].all(a, false)", True),
        ("[].exists(a, true)", False),
        ("[1, 2, 2].exists_one(a, a == 2)", False),
        ("[1, 2].exists_one(a, a == 2)", True),
        ("[1, 2].existsOne(i, a, a == 2 && i == 1)", True),
        ("[1, 2, 3].filter(a, a != 2)", [1, 3]),
        ("[1, 2, 3].map(a, a * a)", [1, 4, 9]),
        ("[1, 2, 3].map(a, a != 2, a * a)", [1, 9]),
        ("{'k': 1}.map(k, k + '!')", ["k!"]),
        ("{'k': 1}.exists(k, v, k == 'k' && v == 1)", True),
        ("{'k': 1}.all(k, v, v == 2)", False),
        ("['a', 'b'].transformList(i, a, a + string(i))", ["a0", "b1"]),
        ("['a', 'b'].transformList(i, a, i > 0, a)", ["b"]),
        ("{'k': 1}.transformList(k, v, k)", ["k"]),
        ("{'k': 1, 'l': 2}.transformMap(k, v, v > 1, k + k)", {"l": "ll"}),
        ("['a'].transformMap(i, v, v)[0]", "a"),
        ("[1, 2].exists(a, [2, 3].exists(b, a == b))", True),
        ("[1].exists(a, [2].exists(a, a == 2))", True),
        ("cel.bind(a, 2, [1, 2, 3].filter(b, b > a))", [3]),
        ("cel.bind(a, [1, 2].exists(b, b == 2), a ? 'y' : 'n')", "y"),
        ("[[1], [2, 3]].map(a, a.map(b, b + size(a)))", [[2], [4, 5]]),
    ],
)
def test_macros(source: str, expected: object) -> None:
    """Macros go through lists and the keys of maps, with one variable or two, within one another."""
    exactly(source, expected)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("int(1.9)", 1),
        ("int(-1.9)", -1),
        ("int(7u)", 7),
        ("int('-12')", -12),
        ("int(timestamp('1970-01-01T00:01:00Z'))", 60),
        ("uint(3.9)", UInt(3)),
        ("uint('12')", UInt(12)),
        ("double(2)", 2.0),
        ("double('1e3')", 1000.0),
        ("string(1.0)", "1"),
        ("string(1e6)", "1e+06"),
        ("string(123456.75)", "123456.75"),
        ("string(0.0001)", "0.0001"),
        ("string(0.00001)", "1e-05"),
        ("string(-0.0)", "-0"),
        ("string(12u)", "12"),
        ("string(true)", "true"),
        ("string(b'abc')", "abc"),
        ("bytes('é')", b"\xc3\xa9"),
        ("bool('True')", True),
        ("bool('0')", False),
        ("type(1)", CelType("int")),
        ("type(type(1)) == type", True),
        ("type(dyn(null)) == null_type", True),
        ("type(timestamp(0)) == google.protobuf.Timestamp", True),
        ("type([]) == list && type({}) == map", True),
        ("dyn(1)", 1),
        ("size('é😀')", 2),
        ("b'abc'.size()", 3),
        ("size({'a': 1}) + [1].size()", 2),
        ("'abc'.contains('b')", True),
        ("'abc'.startsWith('ab')", True),
        ("'abc'.endsWith('bc')", True),
        ("dyn('abc').contains(dyn('b'))", True),
        ("'abc'.charAt(1)", "b"),
        ("'abc'.charAt(3)", ""),
        ("'abcb'.indexOf('b')", 1),
        ("'abcb'.indexOf('b', 2)", 3),
        ("'abcb'.indexOf('z')", -1),
        ("'abcb'.lastIndexOf('b')", 3),
        ("'abcb'.lastIndexOf('b', 2)", 1),
        ("'ÀB'.lowerAscii()", "Àb"),
        ("'éa'.upperAscii()", "éA"),
        ("'aaa'.replace('a', 'b')", "bbb"),
        ("'aaa'.replace('a', 'b', 2)", "bba"),
        ("'aaa'.replace('a', 'b', 0)", "aaa"),
        ("'ab'.replace('', '-')", "-a-b-"),
        ("'a,b,c'.split(',')", ["a", "b", "c"]),
        ("'a,b,c'.split(',', 2)", ["a", "b,c"]),
        ("'a,b,c'.split(',', 1)", ["a,b,c"]),
        ("'a,b,c'.split(',', 0)", []),
        ("'abc'.split('')", ["a", "b", "c"]),
        ("'abc'.split('', 2)", ["a", "bc"]),
        ("''.split('')", [""]),
        ("'abc'.substring(1)", "bc"),
        ("'abc'.substring(0, 3)", "abc"),
        ("' \\u00a0a '.trim()", "a"),
        ("'\\u001ca'.trim()", "\x1ca"),
        ("['a', 'b'].join()", "ab"),
        ("['a', 'b'].join('-')", "a-b"),
        ("'abc'.reverse()", "cba"),
        ("strings.quote('a\"\\n\\\\')", '"a\\"\\n\\\\"'),
        ("base64.encode(b'a')", "YQ=="),
        ("base64.decode('YQ')", b"a"),
        ("base64.decode('Y Q = =')", b"a"),
        ("'%s is %d'.format(['a', 1])", "a is 1"),
        ("'%s'.format([{'b': [1, null], 'a': true}])", "{a: true, b: [1, null]}"),
        ("'%.2f|%e|%x|%X|%o|%b|%%'.format([1.005, 2.0, 255, 'ab', 8, true])", "1.00|2.000000e+00|ff|6162|10|1|%"),
        ("'%f %d'.format(['NaN', 1.5])", "NaN 1.500000"),
        ("'%s'.format([timestamp('2024-02-29T12:00:00.5Z')])", "2024-02-29T12:00:00.5Z"),
        ("'%s %s'.format([duration('1.5s'), type(1)])", "1.500s int"),
        ("'aXb'.matches('X')", True),
        ("matches('aXb', '^X')", False),
    ],
)
def test_library(source: str, expected: object) -> None:
    """Every function gives what the specification or its extension says."""
    exactly(source, expected)


@pytest.mark.parametrize(
    "source",
    [
        "int(9.3e18)",
        "int(-9223372036854775808.0)",
        "int(double('nan'))",
        "int('1.5')",
        "int('0x10')",
        "int('9223372036854775808')",
        "int('')",
        "int('\\u0661')",
        "int(18446744073709551615u)",
        "uint(-1)",
        "uint(-0.5)",
        "uint(1.9e19)",
        "uint('-1')",
        "double('abc')",
        "double('1_0')",
        "double('')",
        "bool('yes')",
        "bool('tRue')",
        "bool('F')",
        "string(b'\\xff')",
        "'abc'.charAt(4)",
        "'abc'.charAt(-1)",
        "'abc'.indexOf('a', 4)",
        "'abc'.indexOf('a', -1)",
        "'abc'.lastIndexOf('a', 4)",
        "'abc'.substring(4)",
        "'abc'.substring(2, 1)",
        "'abc'.substring(0, 4)",
        "[dyn(1)].join()",
        "base64.decode('a')",
        "base64.decode('é')",
        "base64.decode('YQ=')",
        "'%d'.format(['a'])",
        "'%s'.format([])",
        "'%'.format([1])",
        "'%5d'.format([1])",
        "'%z'.format([1])",
        "'%.1001f'.format([1.0])",
        "'%x'.format([1.5])",
        "'%s'.format([b'\\xff'])",
        "dyn('a').matches('(')  || '('.matches(dyn('('))",
        "dyn(1).startsWith('a')",
        "dyn(1).matches('a')",
        "size(dyn(1))",
    ],
)
def test_library_errors(source: str) -> None:
    """A function given what it cannot take is an error, when it is checked or when it runs."""
    with pytest.raises((EvaluationError, ConditionError)):
        value(source)


@given(st.floats(allow_nan=False))
def test_the_text_of_a_double_reads_back(number: float) -> None:
    """`double(string(x))` is `x`."""
    assert number == double_of_string(double_text(number))


@given(TEXT, TEXT)
def test_split_and_join_undo_each_other(text: str, separator: str) -> None:
    """Joining the parts of a text with what separated them gives the text."""
    env = Env({"s": check("''", Env({}), expect=None).type, "p": check("''", Env({}), expect=None).type})
    both = program(check("s.split(p).join(p) == s && s.reverse().reverse() == s", env))

    # An empty separator splits into characters, which stand on their own.
    assert both({"s": text, "p": separator}) is True


@given(st.binary(max_size=40))
def test_base64_undoes_itself(data: bytes) -> None:
    """Decoding what was encoded gives the bytes."""
    escaped = "".join(f"\\x{byte:02x}" for byte in data)

    assert data == value(f"base64.decode(base64.encode(b'{escaped}'))")
