from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indult.cel import DYN, INT, Env, ListType, check, program
from indult.cel.lexer import MAX_SOURCE, tokenize
from indult.cel.parser import MAX_DEPTH, parse
from indult.errors import ConditionError

ENV = Env({"i": INT, "x": DYN, "l": ListType(INT)})


def value(source: str) -> Any:
    """Return what an expression gives."""
    return program(check(source, ENV, expect=None))({"i": 1, "x": 2, "l": [1, 2, 3]})


def refusal(source: str) -> ConditionError:
    """Return the error with which an expression is refused."""
    with pytest.raises(ConditionError) as caught:
        check(source, ENV, expect=None)
    return caught.value


class TestPrecedence:
    @pytest.mark.parametrize(
        ("source", "expected"),
        [
            ("1 + 2 * 3", 7),
            ("(1 + 2) * 3", 9),
            ("7 - 2 - 1", 4),
            ("8 / 4 / 2", 1),
            ("-2 * 3", -6),
            ("- 2", -2),
            ("1 + 1 == 2 && 2 < 3", True),
            ("true || false && false", True),
            ("!false && true", True),
            ("!(false || true)", False),
            ("1 < 2 == true", True),
            ("2 in [1, 2] && !(3 in [1, 2])", True),
            ("false ? 1 : true ? 2 : 3", 2),
            ("true ? 1 : false ? 2 : 3", 1),
            ("-[1, 2][1]", -2),
            ("-1.0 + 1.0", 0.0),
            ("-{'a': 2}.a", -2),
            ("[1, 2,][1]", 2),
            ("{'a': 1,}.a", 1),
            ("1 +\n  2 // a comment\n + 3", 6),
        ],
    )
    def test_order(self, source: str, expected: object) -> None:
        """Operators bind as in the specification, to the left, and space and comments mean nothing."""
        assert expected == value(source)

    def test_pairs_of_signs_cancel(self) -> None:
        """An even number of signs is none, even where one of them alone would be an error."""
        assert value("--x") == 2
        assert value("!!x") == 2
        assert value("---x") == -2


class TestLiterals:
    @pytest.mark.parametrize(
        ("source", "expected"),
        [
            ("0x1F", 31),
            ("-0x10", -16),
            ("0xFFu", 255),
            ("7U", 7),
            ("1e3", 1000.0),
            (".5", 0.5),
            ("2.5e-1", 0.25),
            ("9223372036854775807", 2**63 - 1),
            ("-9223372036854775808", -(2**63)),
            ("18446744073709551615u", 2**64 - 1),
            ("'a\\tb\\x41\\u00e9\\U0001F431\\101\\?\\`'", "a\tbAé\U0001f431A?`"),
            ("r'\\d'", "\\d"),
            ('R"\\n\'"', "\\n'"),
            ("'''a\n'b''c'''", "a\n'b''c"),
            ('"""say "hi" now"""', 'say "hi" now'),
            ("b'\\xff\\303a'", b"\xff\xc3a"),
            ("b'é'", "é".encode()),
            ("br'\\x'", b"\\x"),
            ("null", None),
        ],
    )
    def test_value(self, source: str, expected: object) -> None:
        """A literal is the value that the specification gives it."""
        got = value(source)

        assert expected == got
        assert isinstance(got, type(expected))

    @given(st.text(st.characters(exclude_categories=["Cs"])))
    def test_any_text_survives_in_raw_and_escaped_form(self, text: str) -> None:
        """Text written with escapes for everything reads back as itself."""
        escaped = "".join(f"\\U{ord(char):08x}" for char in text)

        assert text == value(f"'{escaped}'")

    @pytest.mark.parametrize(
        ("source", "message"),
        [
            ("9223372036854775808", "does not fit 64 bits"),
            ("-9223372036854775809", "does not fit 64 bits"),
            ("18446744073709551616u", "does not fit 64 bits"),
            ("9" * 5000, "does not fit 64 bits"),
            ("1a", "malformed number `1a`"),
            ("'abc", "string does not end"),
            ("'a\nb'", "string does not end"),
            ("'\\q'", "unknown escape `\\q`"),
            ("'\\ud800'", "is not a character"),
            ("'\\U00110000'", "is not a character"),
            ("b'\\u00e9'", "is not known in bytes"),
            ("b'\\q'", "is not known"),
        ],
    )
    def test_malformed(self, source: str, message: str) -> None:
        """A literal that is none is refused when the expression is read."""
        assert message in refusal(source).message


class TestRefusals:
    @pytest.mark.parametrize(
        ("source", "message", "column", "hint"),
        [
            ("i = 1", "unexpected character `=`", 3, "equality is `==`"),
            ("i == 1 and true", "unexpected `and`", 8, "write `&&`"),
            ("i +", "unexpected end of expression", 4, None),
            ("(i", "unexpected end of expression: expected `)`", 3, None),
            ("i i", "unexpected `i`", 3, None),
            ("for", "`for` is a reserved word", 1, None),
            ("x.true", "`true` is not a field name", 3, "write it in backticks: `.`true``"),
            ("x.?a", "optional values are not part of this language", 3, "test with has(value.field)"),
            ("x[?0]", "optional values are not part of this language", 3, "test with has(value.field)"),
            ("[?x]", "optional values are not part of this language", 2, "test with has(value.field)"),
            ("Foo{a: 1}", "messages are not part of this language", 1, "write a map: {'field': value}"),
            ("has(i)", "`has` needs a field", 1, "write has(value.field)"),
            ("l.all(1, true)", "`all` needs a variable name here", 7, None),
            ("l.all(a.b, true)", "`all` needs a variable name here", 9, None),
            ("l.exists(a, a, true)", "`exists` needs two different variables", 13, None),
            ("size(i,)", "unexpected `)`", 8, None),
        ],
    )
    def test_position_and_hint(self, source: str, message: str, column: int, hint: str | None) -> None:
        """A refusal names what is wrong and where, and says what to write instead where that is known."""
        error = refusal(source)

        assert (message, 1, column, source, hint) == (
            error.message,
            error.line,
            error.column,
            error.excerpt,
            error.hint,
        )

    def test_line_of_a_long_expression(self) -> None:
        """Line, column and excerpt are those of the line at fault."""
        error = refusal("i == 1 &&\n  i == $ &&\n  i == 3")

        assert (2, 8, "  i == $ &&") == (error.line, error.column, error.excerpt)

    def test_reserved_words_are_fields_and_methods(self) -> None:
        """A word that no variable may have is a fine name for a field."""
        assert value("{'for': 1}.for + {'in-valid': 1}.`in-valid`") == 2

    @pytest.mark.parametrize(
        "source",
        [
            "(" * 100 + "i" + ")" * 100,
            "[" * 5000 + "]" * 5000,
            "-(" * 100 + "i" + ")" * 100,
            "x" + ".a" * 200,
            "+".join(["i"] * 200),
            "i == 1 ? 1 : " * 100,
            "x" + "[0]" * 3000,
            "{1:" * 500,
            "x.all(a, " * 200,
        ],
    )
    def test_too_deep(self, source: str) -> None:
        """An expression nested deeper than the limit is refused, not left to run out of stack."""
        assert f"nested over {MAX_DEPTH} deep" in refusal(source).message

    def test_macros_too_deep(self) -> None:
        """Loops within loops are limited more tightly: each level multiplies the time."""
        assert "macros are nested over 8 deep" == refusal("l.all(a, " * 9 + "true" + ")" * 9).message

    def test_too_long(self) -> None:
        """An expression over the limit is refused before it is read."""
        assert f"at most {MAX_SOURCE}" in refusal("'" + "a" * MAX_SOURCE + "'").message

    def test_callers_deep_in_the_stack(self) -> None:
        """Where little stack is left, an expression is refused by a condition error too."""

        def deep(levels: int) -> ConditionError:
            return refusal("(" * 60 + "i" + ")" * 60) if levels == 0 else deep(levels - 1)

        with pytest.raises((ConditionError, RecursionError)):
            raise deep(700)

    def test_long_chains_are_not_deep(self) -> None:
        """Chains of `&&` and `||` may be as long as an expression may be."""
        assert value(" && ".join(["i == 1"] * 2000)) is True
        assert value(" || ".join(["i == 2"] * 2000)) is False

    def test_the_depth_that_is_let_through_compiles(self) -> None:
        """Whatever passes the limit also runs."""
        assert value("(" * (MAX_DEPTH - 1) + "i" + ")" * (MAX_DEPTH - 1)) == 1
        assert value("!(" * 60 + "x == 2" + ")" * 60) is True

    @given(st.text(alphabet="ix1.5'\"()[]{}<>=!&|?:,+-*/%\\ \nabrue`", max_size=60))
    def test_any_text_is_read_or_refused(self, text: str) -> None:
        """Whatever the text, reading it ends in a tree or in a condition error with a position."""
        error: ConditionError | None = None
        try:
            parse(text)
        except ConditionError as exc:
            error = exc

        assert error is None or (error.line is not None and error.excerpt is not None)

    @given(st.lists(st.sampled_from(["i", "1", "'a'", "+", "&&", "(", ")", ".", "in", "!", "[", "]"]), max_size=12))
    def test_tokens_come_back(self, words: list[str]) -> None:
        """Tokens carry the offset at which their text stands."""
        source = " ".join(words)

        assert words == [re.split(r"\s", source[pos:])[0] for kind, _, pos in tokenize(source) if kind != "end"]
