from __future__ import annotations

import pytest

from indult.cel import (
    BOOL,
    DOUBLE,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    UINT,
    Env,
    ListType,
    MapType,
    RecordType,
    check,
    parse_type,
)
from indult.errors import ConditionError

ENV = Env(
    {
        "tool": STRING,
        "args": MapType(STRING, DYN),
        "actor": STRING,
        "target": STRING,
        "world": RecordType({"max": INT, "open": BOOL, "ids": ListType(STRING), "limits": MapType(STRING, INT)}),
        "now": TIMESTAMP,
    }
)


def refusal(source: str) -> ConditionError:
    """Return the error with which an expression is refused."""
    with pytest.raises(ConditionError) as caught:
        check(source, ENV)
    return caught.value


class TestReads:
    @pytest.mark.parametrize(
        ("source", "reads", "names"),
        [
            ("args.n > world.max", {("world", "max")}, {"args", "world"}),
            ("args.n > 1 || tool == 'a' || actor == 'b' || target == 'c'", set(), {"args", "tool", "actor", "target"}),
            ("world['max'] > 1", {("world", "max")}, {"world"}),
            ("has(world.max)", {("world", "max")}, {"world"}),
            ("size(world) > 1", {("world",)}, {"world"}),
            ("world[tool] == 1", {("world",)}, {"world", "tool"}),
            ("world.open && false && now > now", {("world", "open"), ("now",)}, {"world", "now"}),
            ("['a'].exists(world, world == 'a')", set(), set()),
            ("['a'].exists(p, p in world.ids)", {("world", "ids")}, {"world"}),
        ],
    )
    def test_paths(self, source: str, reads: set[tuple[str, ...]], names: set[str]) -> None:
        """`reads` are the declared facts that an expression mentions, `names` all roots that it uses."""
        checked = check(source, ENV)

        assert (reads, names) == (set(checked.reads), set(checked.names))


class TestTypes:
    @pytest.mark.parametrize(
        ("source", "expected"),
        [
            ("1", "int"),
            ("1u + 2u", "uint"),
            ("[1, 2]", "list(int)"),
            ("[1, 'a']", "list(dyn)"),
            ("{'a': [1.0]}", "map(string, list(double))"),
            ("args.n", "dyn"),
            ("args.n + 1", "int"),
            ("args.n + args.m", "dyn"),
            ("args.l[0u]", "dyn"),
            ("args.l[0]", "dyn"),
            ("true ? 1 : args.n", "dyn"),
            ("[1] + args.l", "list(dyn)"),
            ("([1] + [args.n])[0]", "dyn"),
            ("[].map(a, a + 1)", "list(int)"),
            ("['a'].map(a, size(a))", "list(int)"),
            ("world.ids.filter(a, a != '')", "list(string)"),
            ("{'a': 1}.transformMap(k, v, k)", "map(string, string)"),
            ("now - now", "duration"),
            ("world.ids[0]", "string"),
            ("type(1)", "type"),
        ],
    )
    def test_result(self, source: str, expected: str) -> None:
        """The checker finds the type of the whole, `dyn` where only the value can tell."""
        assert expected == str(check(source, ENV, expect=None).type)

    @pytest.mark.parametrize(
        ("source", "message", "hint"),
        [
            ("args.n + 1", "this gives `int`, not `bool`", None),
            ("'a' + 1 == 'a'", "no overload of `+` for (string, int)", "it takes (int, int)"),
            ("world.max == 'a'", "no overload of `==` for (int, string)", "it takes (any, any)"),
            ("world.max < 1.0", "no overload of `<` for (int, double)", None),
            ("1 in ['a']", "no overload of `in` for (int, list(string))", None),
            ("world.max && true", "`&&` needs bools: this is a `int`", None),
            ("!world.max", "no overload of `!` for (int)", None),
            ("(1 ? true : false)", "the condition of `?` must be a bool: this is a `int`", None),
            ("(true ? 1 : 'a') == 1", "`?:` gives a `int` or a `string`", "use dyn(value) on both"),
            ("world.max.exists(a, true)", "`exists` needs a list or a map: this is a `int`", None),
            ("world.ids.all(a, a)", "the test of `all` must be a bool: this is a `string`", None),
            ("now.foo == 1", "a `timestamp` has no field `foo`", None),
            ("{1.5: 1} == {}", "`double` is not a key of a map", "keys are int, uint, bool or string"),
            ("args.a.matches('(')", "malformed regular expression `(`: missing ): (", "patterns follow RE2"),
            ("args.a.matches('(?=a)')", "malformed regular expression", "patterns follow RE2"),
        ],
    )
    def test_refused(self, source: str, message: str, hint: str | None) -> None:
        """What cannot be right whatever the arguments are is refused when the policy is loaded."""
        error = refusal(source)

        assert error.message.startswith(message)
        assert hint is None or (error.hint or "").startswith(hint)
        assert error.line == 1

    def test_any_type_may_be_wanted(self) -> None:
        """`expect` is the type that the whole must have."""
        assert DOUBLE == check("1.0", ENV, expect=DOUBLE).type
        assert UINT == check("1u", ENV, expect=None).type
        assert DYN == check("args.flag", ENV).type


class TestNames:
    @pytest.mark.parametrize(
        ("source", "message", "hint"),
        [
            ("wrld.max > 1", "unknown name `wrld`", "did you mean `world`?"),
            ("world.mx > 1", "unknown name `world.mx`", "did you mean `max`?"),
            ("world.zzzz > 1", "unknown name `world.zzzz`", "known names of world: max, open, ids, limits"),
            ("has(world.foo)", "unknown name `world.foo`", "known names of world: max, open, ids, limits"),
            ("tool.startWith('a')", "unknown function `startWith`", "did you mean `startsWith`?"),
            ("args.l.exist(a, a == 1)", "unknown function `exist`", "did you mean `exists`?"),
            ("startsWith(tool, 'a')", "`startsWith` is called the other way", "write value.startsWith(...)"),
            ("'1'.int() == 1", "`int` is called the other way", "write int(value)"),
            ("dyn == 1", "unknown name `dyn`", None),
        ],
    )
    def test_unknown(self, source: str, message: str, hint: str | None) -> None:
        """An unknown name is refused with the nearest one that is known."""
        error = refusal(source)

        assert message == error.message
        assert hint is None or hint == error.hint

    def test_the_longest_declared_name_wins(self) -> None:
        """A variable whose own name has dots is found before fields of a shorter one."""
        env = Env({"a.b": MapType(STRING, STRING), "a.b.c": STRING})

        assert {("a.b.c",)} == check("a.b.c == 'x'", env).reads
        assert {("a.b",)} == check("a.b.d == 'x'", env).reads

    def test_a_variable_of_a_macro_hides_a_fact(self) -> None:
        """Inside a macro its variable stands before everything declared; a leading dot names the declared one."""
        assert check("[1].all(world, world == 1)", ENV).reads == frozenset()
        assert check("[1].all(now, .now > timestamp(now))", ENV).reads == {("now",)}


class TestTypeWords:
    @pytest.mark.parametrize(
        "text",
        [
            "int",
            "list(string)",
            "map(string, dyn)",
            "list(map(int, list(bool)))",
            "timestamp",
            "duration",
            "dyn",
            "uint",
        ],
    )
    def test_round_trip(self, text: str) -> None:
        """A type reads as it was written."""
        assert text == str(parse_type(text))

    def test_bare_containers(self) -> None:
        """`list` and `map` alone hold anything; JSON maps have string keys."""
        assert ("list(dyn)", "map(string, dyn)") == (str(parse_type("list")), str(parse_type(" map ")))

    @pytest.mark.parametrize(
        "text", ["", "integer", "list(", "list(int", "list()", "map(int)", "map(double, int)", "int int", "list(int))"]
    )
    def test_refused(self, text: str) -> None:
        """Anything else is refused with the list of what works."""
        with pytest.raises(ConditionError) as caught:
            parse_type(text)

        assert f"unknown type `{text}`" == caught.value.message
        assert "list(TYPE)" in (caught.value.hint or "")
