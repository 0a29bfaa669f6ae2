from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indult.cel import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    UINT,
    Checked,
    Duration,
    Env,
    ListType,
    MapType,
    RecordType,
    Timestamp,
    Type,
    UInt,
    check,
    fuse,
    program,
)
from indult.errors import ConditionError, EvaluationError

WORLD: dict[str, Type] = {
    "max": INT,
    "open": BOOL,
    "ids": ListType(STRING),
    "place": STRING,
    "rate": DOUBLE,
    "size": UINT,
    "until": TIMESTAMP,
    "pause": DURATION,
    "limits": MapType(STRING, INT),
    "any": DYN,
}
ENV = Env(
    {
        "tool": STRING,
        "args": MapType(STRING, DYN),
        "actor": STRING,
        "target": STRING,
        "world": RecordType(WORLD),
        "now": TIMESTAMP,
    }
)
GOOD: dict[str, Any] = {
    "max": 4,
    "open": True,
    "ids": ["p1"],
    "place": "bar",
    "rate": 1.5,
    "size": 3,
    "until": "2030-01-01T00:00:00Z",
    "pause": "5m",
    "limits": {"a": 1},
    "any": None,
}


def conditions(*sources: str | None) -> list[Checked | None]:
    """Return the checked conditions of a group."""
    return [None if source is None else check(source, ENV) for source in sources]


def decide(
    groups: list[list[Checked | None]],
    args: dict[str, Any] | None = None,
    facts: dict[str, Any] | None = None,
    target: Any = lambda: "tool:x",
) -> tuple[int, list[int], list[tuple[int, int, str]] | None]:
    """Fuse groups and decide once."""
    given_facts = {"world": GOOD, "now": "2024-01-01T00:00:00Z"} if facts is None else facts
    return fuse(groups, ENV)("x", args or {}, "agent", target, given_facts)


class TestGroups:
    def test_the_first_group_with_a_match_is_returned_with_all_its_matches(self) -> None:
        """Groups go in order; of the first that matches, every match is named."""
        groups = [conditions("args.n > 5", "args.n > 2", "args.n > 1"), conditions("args.n > 0"), conditions(None)]

        assert (0, [1, 2], None) == decide(groups, {"n": 3})
        assert (1, [0], None) == decide(groups, {"n": 1})
        assert (2, [0], None) == decide(groups, {"n": 0})

    @pytest.mark.parametrize("value", [True, False, "4", None, [], 4.0])
    def test_order_needs_a_number(self, value: object) -> None:
        """A bool is no number to compare with, a double is."""
        number, hits, errors = decide([conditions("args.n >= 4", "4 <= args.n"), []], {"n": value})

        assert (0, [0, 1]) == (number, hits)
        assert (0 if value == 4.0 else 2) == len(errors or ())

    @pytest.mark.parametrize(
        "source",
        [
            "args.n > world.max && args.l.exists(p, p in world.ids)",
            "(args.n == 1 ? args.l.all(a, a == 1 ? [1].exists(b, b == 2) : false) : true) || target == 'x'",
            "!(" * 30 + "args.l.map(a, a + 1) == [[1], [2]][0]" + ")" * 30,
            "(args.n == 1 && " * 30 + "true" + ")" * 30,
            "(args.n == 1 ? true : " * 30 + "args.l.exists(a, a == 1)" + ")" * 30,
            "[1].all(a, " * 8 + "args.n == 1" + ")" * 8,
            "cel.bind(a, args.n, cel.bind(b, a + 1, b > a)) && 'it''s \"\\n\" {0} %s' != args.n",
        ],
    )
    def test_conditions_are_compiled(self, source: str) -> None:
        """What the limits let through, Python takes; the exact way stays for errors."""
        fused = fuse([conditions(source.replace("it''s", "its")), []], ENV)

        assert fused.__name__ == "decide"

    def test_nothing_matched(self) -> None:
        """Where no group matches, the number is one past the last."""
        assert (3, [], None) == decide([conditions("args.n > 5"), [], conditions("args.n > 2")], {"n": 1})
        assert (0, [], None) == decide([])

    def test_a_condition_that_always_holds(self) -> None:
        """`None` matches wherever it stands among others."""
        assert (0, [0, 1, 2], None) == decide([conditions(None, "args.n == 1", None)], {"n": 1})
        assert (0, [0, 2], None) == decide([conditions(None, "args.n == 1", None)], {"n": 2})

    def test_an_error_counts_as_matched_before_the_last_group(self) -> None:
        """A condition of deny or ask that errs is taken to hold, and the error is told."""
        groups = [conditions("args.n > 5", "args.n < 2"), conditions(None)]

        assert (0, [0, 1], [(0, 0, "no such key: `n`"), (0, 1, "no such key: `n`")]) == decide(groups)

    def test_an_error_counts_as_not_matched_in_the_last_group(self) -> None:
        """A condition of allow that errs is taken not to hold."""
        groups = [conditions("false"), [], conditions("args.n > 5", "true")]

        assert (2, [1], [(2, 0, "no such key: `n`")]) == decide(groups)
        assert (3, [], [(2, 0, "no such key: `n`")]) == decide([[], [], conditions("args.n > 5")])

    @pytest.mark.parametrize("value", [1, "true", None, [], {}, 1.0])
    def test_a_condition_that_is_no_bool_is_an_error(self, value: object) -> None:
        """Only `true` matches; a truthy value of another type is an error."""
        number, hits, errors = decide([[], conditions("args.flag")], {"flag": value})

        assert (2, [], 1) == (number, hits, len(errors or ()))
        number, hits, errors = decide([conditions("args.flag"), []], {"flag": value})
        assert (0, [0], 1) == (number, hits, len(errors or ()))

    def test_an_error_that_does_not_matter_is_none(self) -> None:
        """What `||` absorbs is not reported."""
        assert (0, [0], None) == decide([conditions("args.n > 5 || true"), []])

    def test_the_roots(self) -> None:
        """Tool, arguments, actor and target can be read."""
        groups = [conditions("tool == 'x' && actor == 'agent' && target == 'tool:x' && args.n == 1"), []]

        assert (0, [0], None) == decide(groups, {"n": 1})


class TestTarget:
    def test_computed_once_and_only_when_read(self) -> None:
        """The target is asked for when a condition comes to read it, and once."""
        asked = []

        def target() -> str:
            asked.append(1)
            return "t"

        decide([conditions("args.n == 1"), []], {"n": 1}, target=target)
        decide([conditions("args.n == 1 && target == 't'"), []], {"n": 2}, target=target)
        assert asked == []
        decide([conditions("target == 't'", "target == 's'", "target != 'u'"), []], target=target)
        assert asked == [1]

    def test_a_target_that_cannot_be_computed(self) -> None:
        """An exception of the target is an error of the conditions that read it."""

        def target() -> str:
            raise RuntimeError("no digest")

        assert (0, [0], [(0, 0, "RuntimeError: no digest")]) == decide(
            [conditions("target == 't'", "args.n == 2"), []], {"n": 1}, target=target
        )


class TestFacts:
    @pytest.mark.parametrize(
        ("source", "expected"),
        [
            ("world.max == 4 && world.open && world.place == 'bar'", True),
            ("'p1' in world.ids && size(world.ids) == 1", True),
            ("world.rate * 2.0 == 3.0", True),
            ("world.size + 1u == 4u", True),
            ("world.until > now && world.pause < duration('1h')", True),
            ("world.limits.a == 1 && 'a' in world.limits && world.limits['a'] == 1", True),
            ("world.any == null", True),
            ("has(world.max) && has(world.limits.a) && !has(world.limits.b)", True),
            ("size(world) == 10 && world['pla' + 'ce'] == 'bar'", True),
            ("world.exists(name, value, name == 'max' && value == 4)", True),
        ],
    )
    def test_read(self, source: str, expected: bool) -> None:
        """Facts of every declared type can be read, texts of times included."""
        assert (0 if expected else 1, [0] if expected else [], None) == decide([conditions(source)])

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("max", True),
            ("max", 1.0),
            ("max", "1"),
            ("max", 2**63),
            ("max", None),
            ("open", 1),
            ("open", "true"),
            ("ids", ["a", 1]),
            ("ids", "a"),
            ("ids", ("a",)),
            ("ids", {"a": 1}),
            ("place", b"bar"),
            ("rate", float("nan")),
            ("rate", float("inf")),
            ("rate", True),
            ("rate", "1.5"),
            ("size", -1),
            ("size", 2**64),
            ("size", True),
            ("until", "yesterday"),
            ("until", 0),
            ("pause", "5 minutes"),
            ("pause", 5),
            ("limits", {"a": "1"}),
            ("limits", {"a": True}),
            ("limits", {1: 1}),
            ("limits", ["a"]),
        ],
    )
    def test_a_fact_of_another_type_is_an_error_of_the_rules_that_read_it(self, name: str, value: object) -> None:
        """A fact that is not what it was declared errs in the rules that read it, and in no other."""
        facts = {"world": GOOD | {name: value}, "now": "2024-01-01T00:00:00Z"}
        groups = [conditions(f"false && world.{name} == world.{name}", "args.n == 1"), conditions(None)]

        number, hits, errors = decide(groups, {"n": 1}, facts)
        assert (0, [0, 1]) == (number, hits)
        assert [(0, 0)] == [(group, index) for group, index, _ in errors or ()]
        assert f"fact `world.{name}" in (errors or [(0, 0, "")])[0][2]

    @pytest.mark.parametrize(
        "facts",
        [
            {},
            {"world": {}},
            {"world": None},
            {"world": "max"},
            {"world": [1]},
            {"world": {"open": True}},
            {"max": 4},
        ],
    )
    def test_an_absent_fact_is_an_error_even_behind_a_guard(self, facts: dict[str, Any]) -> None:
        """A declared fact is read before any condition, so `false && ...` does not hide that it is absent."""
        number, hits, errors = decide([conditions("false && world.max > 1"), conditions(None)], facts=facts)

        assert (0, [0], 1) == (number, hits, len(errors or ()))
        number, hits, errors = decide([[], conditions("true || world.max > 1")], facts=facts)
        assert (2, [], 1) == (number, hits, len(errors or ()))
        number, hits, errors = decide([conditions("has(world.max)"), []], facts=facts)
        assert (0, [0], 1) == (number, hits, len(errors or ()))

    def test_what_no_rule_reads_does_not_matter(self) -> None:
        """Facts that are not declared, or not read, may be anything."""
        facts = {"world": {"max": 4, "open": object(), "extra": object()}, "more": object()}

        assert (0, [0], None) == decide([conditions("world.max == 4")], facts=facts)

    def test_a_double_may_come_as_an_integer(self) -> None:
        """Canonical JSON writes 2.0 as 2; it is still the double that was declared."""
        facts = {"world": GOOD | {"rate": 2}}

        assert (0, [0], None) == decide([conditions("type(world.rate) == double && world.rate == 2.0")], facts=facts)

    def test_facts_are_not_changed(self) -> None:
        """Reading facts leaves them as they are."""
        facts = {"world": {**GOOD, "ids": ["a"], "limits": {"a": 1}}, "now": "2024-01-01T00:00:00Z"}
        before = repr(facts)
        decide(
            [conditions("world.ids.map(a, a) == [] || size(world) == 0 || world.pause == duration('1s')")], facts=facts
        )

        assert before == repr(facts)


class TestNoEscape:
    def test_values_nested_beyond_the_stack(self) -> None:
        """Values too deep to compare are an error of the condition."""
        a: list[Any] = []
        b: list[Any] = []
        for _ in range(5000):
            a, b = [a], [b]

        number, hits, errors = decide([conditions("args.a == args.b"), []], {"a": a, "b": b})
        assert (0, [0], 1) == (number, hits, len(errors or ()))

    def test_values_of_no_type_of_the_language(self) -> None:
        """An object that is no CEL value is an error where it is looked at."""
        number, hits, errors = decide([conditions("args.a + 1 == 2"), []], {"a": object()})

        assert (0, [0], 1) == (number, hits, len(errors or ()))

    @given(
        st.sampled_from(
            [True, False, 0, 1, 2, 1.0, -1, "", "a", None, [], {}, [1], [True], {"a": True}, {"a": 1, "b": 1.0}]
        )
        | st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abn"), inner, max_size=3),
            max_leaves=8,
        )
    )
    def test_no_argument_makes_a_decision_raise(self, value: Any) -> None:
        """Whatever an argument is, a decision is made, and the compiled condition agrees with the exact one."""
        sources = (
            "args.v > 1", "args.v == 1", "args.v in ['a', 'b']", "args.v in [1, 2.0, true]", "args.v.a == args.v.b",
            "args.v.exists(a, a == 1)", "args.v.all(k, v, v != k)", "size(args.v) > 1", "args.v.startsWith('a')",
            "args.v.matches('^a')", "args.v[0] == 1", "has(args.v.a) && args.v.a", "args.v ? true : false",
            "args.v + args.v == args.v", "args.v.map(a, a + 1) == [1]", "type(args.v) == int && args.v * 2 < 9",
            "!args.v || args.v == null", "1 in args.v", "args.v == [1] || args.v == {'a': 1} || args.v == 'a'",
        )  # fmt: skip
        group = conditions(*sources)
        fused = fuse([group, []], ENV)
        _, hits, errors = fused("x", {"v": value}, "agent", lambda: "t", {})
        exact = fused.__globals__["slow"]("x", {"v": value}, "agent", lambda: "t", {})

        assert exact[1] == hits
        assert exact[2] == errors


class TestProgram:
    @pytest.mark.parametrize(
        "call", ["duration({})", "timestamp({})", "string({})", "{}.getHours()", "{} + {}", "{} < {}"]
    )
    @pytest.mark.parametrize("kind", ["duration('1s')", "timestamp(0)"])
    def test_a_null_among_times_is_none_of_them(self, call: str, kind: str) -> None:
        """A null passes the checker beside a time, and no function may take it for one: it is an error there."""
        text = call.format(*[f"{{'a': null, 'b': {kind}}}['a']"] * 2)
        with pytest.raises((ConditionError, EvaluationError)):
            program(check(text, Env({}), expect=None))({})

    @pytest.mark.parametrize(
        ("kind", "given", "expected"),
        [
            (INT, 1, 1),
            (UINT, 1, UInt(1)),
            (DOUBLE, 1, 1.0),
            (STRING, "a", "a"),
            (BYTES, b"a", b"a"),
            (BOOL, True, True),
            (NULL, None, None),
            (TIMESTAMP, "1970-01-01T00:00:00Z", Timestamp(0)),
            (TIMESTAMP, Timestamp(5), Timestamp(5)),
            (DURATION, "1us", Duration(1000)),
            (ListType(UINT), [1], [UInt(1)]),
            (MapType(STRING, DOUBLE), {"a": 1}, {"a": 1.0}),
            (DYN, [1, "a"], [1, "a"]),
        ],
    )
    def test_variables(self, kind: Type, given: object, expected: object) -> None:
        """A variable is read as its declared type."""
        got = program(check("x", Env({"x": kind}), expect=None))({"x": given})

        assert expected == got
        assert type(expected) is type(got)

    def test_absent(self) -> None:
        """A variable that is not given is an error, wherever it stands."""
        with pytest.raises(EvaluationError, match="fact `x` is absent"):
            program(check("true || x", Env({"x": BOOL})))({})

    def test_deep_callers(self) -> None:
        """With little stack left, a program is made and run, or refused with an error of this language."""
        checked = check("(" * 50 + "1" + ")" * 50 + " == x", Env({"x": INT}))

        def deep(levels: int) -> object:
            return program(checked)({"x": 1}) if levels == 0 else deep(levels - 1)

        assert deep(300) is True
