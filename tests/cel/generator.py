"""Random expressions of the language, of a wanted type, and values for the variables that they read."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

from indult.cel import UInt

__all__ = ["Generator", "values"]

# fmt: off
INTS = [
    "0", "1", "-1", "2", "3", "5", "7", "10", "42", "-3", "100", "9223372036854775807", "-9223372036854775808",
    "0x1F", "9007199254740993", "4611686018427387904", "3037000500",
]
UINTS = [
    "0u", "1u", "2u", "3u", "7u", "42u", "18446744073709551615u", "9223372036854775808u", "0xFFu",
]
DOUBLES = [
    "0.0", "1.0", "-1.0", "0.5", "2.5", "3.0", "1e3", "-2.25", "1e300", "1e-7", "123456789.125", "9007199254740992.0",
    "9223372036854775808.0", "-0.0", "0.1", "1e21", "double('NaN')", "(1.0/0.0)",
]
STRINGS = [
    "''", "'a'", "'b'", "'abc'", "'A'", "'ab'", "'foo'", "'foobar'", "'o'", "'x y'", "' pad '", "'1'", "'42'", "'-7'",
    "'1.5'", "'true'", "'é😀z'", "'a,b,c'", "','", "'k'", "'deploy'", "r'\\d'", '\'a\\nb\\t"q\\\\\'', "'Ünï'", "'aaa'",
    "'1e3'", "'%s'", "'2009-02-13T23:31:30Z'", "'1h'",
]
BYTES_ = [
    "b''", "b'a'", "b'abc'", "b'\\xff\\x00'", "b'\\303\\277'", "b'YWJj'",
]
BOOLS = [
    "true", "false",
]
TIMESTAMPS = [
    "timestamp('2009-02-13T23:31:30Z')", "timestamp('1970-01-01T00:00:00Z')", "timestamp('2024-02-29T12:00:00.5Z')",
    "timestamp('9999-12-31T23:59:59Z')", "timestamp('1000-01-01T00:00:00Z')", "timestamp('2023-12-31T23:59:59.999Z')",
    "timestamp('2016-03-01T00:30:00+02:00')", "timestamp(1234567890)",
]
DURATIONS = [
    "duration('0s')", "duration('1h')", "duration('-1.5s')", "duration('90m')", "duration('100ms')",
    "duration('1h2m3s')", "duration('9000000000s')", "duration('-3h')", "duration('10us')",
]
ZONES = [
    "'UTC'", "'America/New_York'", "'Asia/Tokyo'", "'+01:00'", "'-09:30'", "'Europe/London'", "'No/Where'", "'02:00'",
]
PATTERNS = [
    "'a'", "'^a'", "'b$'", "'a.c'", "'[a-c]+'", "'^foo.*bar$'", "'o{2}'", "'(a|b)c'", "'('", "'\\\\d+'", "'^$'",
    "'.'", "'^[^a]'", "'a?b'", "'^\\\\w+$'", "'(?i)ABC'", "'^.*\\\\.c$'", "'\\\\s'", "'x*'",
]
FORMATS = [
    "'%s'", "'%d'", "'%f'", "'%.2f'", "'%e'", "'%x'", "'%X'", "'%o'", "'%b'", "'%s-%s'", "'%%'", "'a%sb'", "'%.0f'",
    "'%q'", "'%'", "'%d %s'", "'%.3e'",
]
TYPE_WORDS = [
    "int", "uint", "double", "string", "bool", "bytes", "list", "map", "null_type", "type",
    "google.protobuf.Timestamp", "google.protobuf.Duration",
]
GETTERS = [
    "getFullYear", "getMonth", "getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear", "getHours", "getMinutes",
    "getSeconds", "getMilliseconds",
]
KINDS = [
    "int", "uint", "double", "string", "bool", "bytes", "timestamp", "duration", "list", "slist", "map", "dyn",
    "type", "null",
]
# fmt: on


class Generator:
    """Writes expressions of a wanted type; now and then of another one, or behind `dyn`."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.scope: list[tuple[str, str]] = []
        self.binds = True
        self.count = 0

    def one(self) -> str:
        """Write an expression of any type."""
        self.scope = []
        self.count = 0
        # After a macro with two variables that ended early, the oracle's `cel.bind` may give a value of the macro.
        self.binds = self.rng.random() < 0.5
        kind = self.rng.choice(["bool"] * 10 + KINDS)
        return self.make(kind, self.rng.choice([1, 2, 2, 3, 3, 4]))

    def make(self, kind: str, depth: int) -> str:
        """Write an expression of type `kind`, at most `depth` deep."""
        roll = self.rng.random()
        if roll < 0.015:
            kind = self.rng.choice(KINDS)
        elif roll < 0.07:
            other = kind if self.rng.random() < 0.6 else self.rng.choice(KINDS)
            return f"dyn({self.make(other, depth - 1)})"
        if self.scope and self.rng.random() < 0.35:
            fitting = [name for name, its in self.scope if its in (kind, "dyn")]
            if fitting:
                return self.rng.choice(fitting)
        if depth <= 0 or self.rng.random() < 0.1:
            return self.leaf(kind)
        if self.rng.random() < 0.12:
            return self.any_kind(kind, depth - 1)
        return str(getattr(self, f"make_{kind}")(depth - 1))

    def leaf(self, kind: str) -> str:
        """Write a literal or a variable."""
        choose = self.rng.choice
        if self.rng.random() < 0.35:
            named = {
                "int": "i",
                "uint": "u",
                "double": "d",
                "string": "s",
                "bool": "b",
                "bytes": "y",
                "timestamp": "t",
                "duration": "w",
                "list": "li",
                "slist": "ls",
                "map": "m",
                "dyn": "x",
            }
            if kind == "dyn" and self.rng.random() < 0.6:
                return choose(
                    ["args.n", "args.s", "args.l", "args.m", "args.f", "args.b", "args.none", "args.missing", "args"]
                )
            if kind in named:
                return named[kind]
        table = {
            "int": INTS,
            "uint": UINTS,
            "double": DOUBLES,
            "string": STRINGS,
            "bool": BOOLS,
            "bytes": BYTES_,
            "timestamp": TIMESTAMPS,
            "duration": DURATIONS,
            "type": TYPE_WORDS,
            "null": ["null"],
        }
        if kind in table:
            return choose(table[kind])
        if kind == "list":
            return choose(["[]", "[1, 2, 3]", "[0]", "[3, 1, 2, 1]", "[-1, 9223372036854775807]"])
        if kind == "slist":
            return choose(["[]", "['a', 'b']", "['foo', 'a', 'foobar', 'k', 'deploy', '']", "['x']"])
        if kind == "map":
            return choose(["{}", "{'a': 1, 'b': 2}", "{'k': 42}"])
        return f"dyn({self.leaf(choose(KINDS[:10]))})"

    def any_kind(self, kind: str, depth: int) -> str:
        """Write one of the forms that give a value of any type."""
        choose = self.rng.choice
        match choose(["ternary", "bind" if self.binds else "ternary", "index", "mapindex", "paren", "dot"]):
            case "ternary":
                return f"({self.make('bool', depth)} ? {self.make(kind, depth)} : {self.make(kind, depth)})"
            case "bind":
                other = choose(KINDS[:12])
                value = self.make(other, depth)
                name = self.declare([other])[0]
                body = self.make(kind, depth)
                self.scope.pop()
                return f"cel.bind({name}, {value}, {body})"
            case "index":
                at = choose(["0", "1", "i", "dyn(0u)", "dyn(1.0)", "2"])
                return f"[{self.make(kind, depth)}, {self.make(kind, depth)}][{at}]"
            case "mapindex":
                return f"{{'a': {self.make(kind, depth)}, 'b': {self.make(kind, depth)}}}[{choose(STRINGS[:4])}]"
            case "dot":
                return f"{{'a': {self.make(kind, depth)}}}.{choose(['a', 'a', 'a', 'z', '`a`'])}"
        return f"({self.make(kind, depth)})"

    def declare(self, kinds: list[str]) -> list[str]:
        """Name new variables of a macro."""
        names = []
        for kind in kinds:
            self.count += 1
            # Sometimes a name that hides another one.
            name = self.rng.choice([f"v{self.count}", f"v{self.count}", f"v{self.count}", "i", "s", "x"])
            if name in names:
                name = f"v{self.count}"
            names.append(name)
            self.scope.append((name, kind))
        return names

    def source(self, depth: int, *, ordered: bool) -> tuple[str, str, str]:
        """Return something to go through, with the types of its keys or positions and of its elements.

        The keys of a map come in no order that the language defines, so where it shows, no map has two.
        """
        roll = self.rng.random()
        if ordered and roll >= 0.65:
            return self.rng.choice(
                [
                    ("m", "string", "int"),
                    ("{'k': i}", "string", "int"),
                    ("args.m", "dyn", "dyn"),
                    ("args.l", "int", "dyn"),
                ]
            )
        if roll < 0.35:
            return self.make("list", depth), "int", "int"
        if roll < 0.65:
            return self.make("slist", depth), "int", "string"
        if roll < 0.8:
            return self.make("map", depth), "string", "int"
        if roll < 0.9:
            return f"[{self.make('dyn', depth)}, {self.make('int', depth)}, {self.make('string', depth)}]", "int", "dyn"
        return self.make("dyn", depth), "dyn", "dyn"

    def macro(self, kind: str, depth: int) -> str:
        """Write a macro that gives a bool or a list."""
        values, key, element = self.source(depth, ordered=kind != "bool")
        is_map = key == "string" and element == "int"
        two = self.rng.random() < 0.3 and not (kind == "bool" and self.binds)
        names = self.declare([key, element] if two else [key if is_map else element])
        if kind == "bool":
            name = self.rng.choice(["all", "exists", "existsOne" if two else "exists_one"])
            body = self.make("bool", depth)
        elif two:
            name = "transformList"
            body = (f"{self.make('bool', depth)}, " if self.rng.random() < 0.4 else "") + self.make(kind, depth)
        elif self.rng.random() < 0.4 and kind == element:
            name, body = "filter", self.make("bool", depth)
        else:
            name = "map"
            body = (f"{self.make('bool', depth)}, " if self.rng.random() < 0.3 else "") + self.make(kind, depth)
        del self.scope[-len(names) :]
        return f"{values}.{name}({', '.join(names)}, {body})"

    def make_bool(self, depth: int) -> str:
        """Write a bool."""
        choose, make = self.rng.choice, self.make
        kind = choose(KINDS[:8])
        match choose(
            [
                "and",
                "or",
                "not",
                "eq",
                "eq",
                "cmp",
                "cmp",
                "mixed",
                "in",
                "in",
                "has",
                "text",
                "text",
                "matches",
                "macro",
                "macro",
                "macro",
                "conv",
                "type",
                "chain",
            ]
        ):
            case "and" | "or" as which:
                sign = "&&" if which == "and" else "||"
                return "(" + f" {sign} ".join(make("bool", depth) for _ in range(choose([2, 2, 3]))) + ")"
            case "not":
                return f"!{make('bool', depth)}"
            case "eq":
                kind = choose(KINDS)
                return f"{make(kind, depth)} {choose(['==', '!='])} {make(kind, depth)}"
            case "cmp":
                return f"({make(kind, depth)} {choose(['<', '<=', '>', '>='])} {make(kind, depth)})"
            case "mixed":
                a, b = choose(["int", "uint", "double"]), choose(["int", "uint", "double"])
                return f"dyn({make(a, depth)}) {choose(['<', '<=', '>', '>=', '==', '!='])} {make(b, depth)}"
            case "in":
                return choose(
                    [
                        f"{make('int', depth)} in {make('list', depth)}",
                        f"{make('string', depth)} in {make('slist', depth)}",
                        f"{make('string', depth)} in {make('map', depth)}",
                        f"{make('dyn', depth)} in {make('dyn', depth)}",
                        f"dyn({make('double', depth)}) in {make('list', depth)}",
                        f"{make('dyn', depth)} in ['a', 'b', 'abc', 'foo', 'deploy', 'k']",
                    ]
                )
            case "has":
                return choose(
                    [
                        f"has(args.{choose(['n', 's', 'l', 'm', 'missing'])})",
                        f"has({make('map', depth)}.{choose(['a', 'k', 'zz'])})",
                        f"has(args.m.{choose(['a', 'zz'])})",
                        f"has({make('dyn', depth)}.a)",
                    ]
                )
            case "text":
                return (
                    f"{make('string', depth)}.{choose(['contains', 'startsWith', 'endsWith'])}({make('string', depth)})"
                )
            case "matches":
                pattern = choose(PATTERNS) if self.rng.random() < 0.9 else make("string", depth)
                text = make(choose(["string", "string", "dyn"]), depth)
                return choose([f"{text}.matches({pattern})", f"matches({text}, {pattern})"])
            case "conv":
                return f"bool({make(choose(['string', 'bool']), depth)})"
            case "type":
                return f"type({make(choose(KINDS), depth)}) {choose(['==', '!='])} {make('type', depth)}"
            case "chain":
                return f"{make('bool', depth)} == {make('bool', depth)}"
        return self.macro("bool", depth)

    def make_int(self, depth: int) -> str:
        """Write an int."""
        choose, make = self.rng.choice, self.make
        match choose(
            ["op", "op", "op", "neg", "size", "size", "conv", "index", "find", "time", "duration", "field", "ext"]
        ):
            case "op":
                return f"({make('int', depth)} {choose(['+', '-', '*', '/', '%'])} {make('int', depth)})"
            case "neg":
                return f"-{self.wrapped('int', depth)}"
            case "size":
                text = make(choose(["string", "bytes", "list", "slist", "map", "dyn"]), depth)
                return choose([f"size({text})", f"{text}.size()"])
            case "conv":
                kind = choose(["int", "uint", "double", "string", "timestamp"])
                return f"int({make(kind, depth)})"
            case "index":
                return f"{make('list', depth)}[{make('int', depth)}]"
            case "find":
                start = f", {make('int', depth)}" if self.rng.random() < 0.3 else ""
                return f"{make('string', depth)}.{choose(['indexOf', 'lastIndexOf'])}({make('string', depth)}{start})"
            case "time":
                zone = choose(["", "", choose(ZONES)])
                return f"{make('timestamp', depth)}.{choose(GETTERS)}({zone})"
            case "duration":
                return f"{make('duration', depth)}.{choose(GETTERS[6:])}()"
            case "field":
                return f"{make('map', depth)}.{choose(['a', 'b', 'k'])}"
        return f"{make('map', depth)}[{make('string', depth)}]"

    def wrapped(self, kind: str, depth: int) -> str:
        """Write an expression that may stand behind a minus sign."""
        text = self.make(kind, depth)
        return text if text[0] != "-" else f"({text})"

    def make_uint(self, depth: int) -> str:
        """Write an uint."""
        make, choose = self.make, self.rng.choice
        if self.rng.random() < 0.6:
            return f"({make('uint', depth)} {choose(['+', '-', '*', '/', '%'])} {make('uint', depth)})"
        return f"uint({make(choose(['int', 'uint', 'double', 'string']), depth)})"

    def make_double(self, depth: int) -> str:
        """Write a double."""
        make, choose = self.make, self.rng.choice
        roll = self.rng.random()
        if roll < 0.6:
            return f"({make('double', depth)} {choose(['+', '-', '*', '/'])} {make('double', depth)})"
        if roll < 0.7:
            return f"-{self.wrapped('double', depth)}"
        return f"double({make(choose(['int', 'uint', 'double', 'string']), depth)})"

    def make_string(self, depth: int) -> str:
        """Write a string."""
        make, choose = self.make, self.rng.choice
        text = make("string", depth)
        number = make("int", depth) if self.rng.random() < 0.3 else choose(["0", "1", "2", "3", "-1"])
        match choose(
            [
                "plus",
                "conv",
                "conv",
                "charAt",
                "case",
                "replace",
                "substring",
                "trim",
                "join",
                "format",
                "format",
                "quote",
                "reverse",
                "base64",
                "split",
            ]
        ):
            case "plus":
                return f"({text} + {make('string', depth)})"
            case "conv":
                kind = choose(["int", "uint", "double", "string", "bool", "bytes", "timestamp", "duration"])
                return f"string({make(kind, depth)})"
            case "charAt":
                return f"{text}.charAt({number})"
            case "case":
                return f"{text}.{choose(['lowerAscii', 'upperAscii'])}()"
            case "replace":
                limit = f", {number}" if self.rng.random() < 0.4 else ""
                return f"{text}.replace({make('string', depth)}, {make('string', depth)}{limit})"
            case "substring":
                end = f", {choose(['0', '1', '2', '4', number])}" if self.rng.random() < 0.5 else ""
                return f"{text}.substring({number}{end})"
            case "trim":
                return f"{text}.trim()"
            case "join":
                separator = make("string", depth) if self.rng.random() < 0.6 else ""
                return f"{make('slist', depth)}.join({separator})"
            case "format":
                values = ", ".join(make(choose(KINDS), depth) for _ in range(choose([1, 1, 1, 2])))
                return f"{choose(FORMATS)}.format([{values}])"
            case "quote":
                return f"strings.quote({text})"
            case "reverse":
                return f"{text}.reverse()"
            case "base64":
                return f"base64.encode({make('bytes', depth)})"
        return f"{text}.split({make('string', depth)})[{number}]"

    def make_bytes(self, depth: int) -> str:
        """Write a bytes."""
        make = self.make
        roll = self.rng.random()
        if roll < 0.4:
            return f"({make('bytes', depth)} + {make('bytes', depth)})"
        if roll < 0.8:
            return f"bytes({make(self.rng.choice(['string', 'bytes']), depth)})"
        return f"base64.decode({self.rng.choice([make('string', depth), chr(39) + 'YWJj' + chr(39), chr(39) + 'YQ' + chr(39)])})"

    def make_timestamp(self, depth: int) -> str:
        """Write a timestamp."""
        make, choose = self.make, self.rng.choice
        if self.rng.random() < 0.7:
            return choose(
                [
                    f"({make('timestamp', depth)} {choose('+-')} {make('duration', depth)})",
                    f"({make('duration', depth)} + {make('timestamp', depth)})",
                ]
            )
        return f"timestamp({make(choose(['timestamp', 'int', 'string']), depth)})"

    def make_duration(self, depth: int) -> str:
        """Write a duration."""
        make, choose = self.make, self.rng.choice
        if self.rng.random() < 0.8:
            return choose(
                [
                    f"({make('duration', depth)} {choose('+-')} {make('duration', depth)})",
                    f"({make('timestamp', depth)} - {make('timestamp', depth)})",
                ]
            )
        return f"duration({make(choose(['duration', 'string']), depth)})"

    def make_list(self, depth: int) -> str:
        """Write a list."""
        make, choose = self.make, self.rng.choice
        match choose(["items", "plus", "macro", "macro"]):
            case "items":
                return (
                    "[" + ", ".join(make("int", depth) for _ in range(choose([0, 1, 2, 3]))) + choose(["]", "]", "]"])
                )
            case "plus":
                return f"({make('list', depth)} + {make(choose(['list', 'list', 'dyn']), depth)})"
        return self.macro("int", depth)

    def make_slist(self, depth: int) -> str:
        """Write a slist."""
        make, choose = self.make, self.rng.choice
        match choose(["items", "plus", "macro", "split"]):
            case "items":
                return "[" + ", ".join(make("string", depth) for _ in range(choose([1, 2, 3]))) + "]"
            case "plus":
                return f"({make('slist', depth)} + {make('slist', depth)})"
            case "split":
                limit = f", {choose(['0', '1', '2', '3', '-1'])}" if self.rng.random() < 0.5 else ""
                return f"{make('string', depth)}.split({make('string', depth)}{limit})"
        return self.macro("string", depth)

    def make_map(self, depth: int) -> str:
        """Write a map."""
        make, choose = self.make, self.rng.choice
        if self.rng.random() < 0.5:
            keys = self.rng.sample(["'a'", "'b'", "'k'", "s", "'z' + s"], choose([0, 1, 2, 2]))
            return "{" + ", ".join(f"{key}: {make('int', depth)}" for key in keys) + "}"
        values, key, element = make("map", depth), "string", "int"
        names = self.declare([key, element])
        body = (f"{make('bool', depth)}, " if self.rng.random() < 0.4 else "") + make("int", depth)
        del self.scope[-2:]
        return f"{values}.transformMap({', '.join(names)}, {body})"

    def make_dyn(self, depth: int) -> str:
        """Write a dyn."""
        make, choose = self.make, self.rng.choice
        match choose(["args", "dyn", "dyn", "mixed", "mixedmap", "field", "index"]):
            case "args":
                return choose(
                    [
                        "args.n",
                        "args.s",
                        "args.l",
                        "args.m",
                        "args.f",
                        "args.b",
                        "args['n']",
                        "args[s]",
                        "args.l[0]",
                        "args.m.a",
                    ]
                )
            case "mixed":
                return f"[{make(choose(KINDS), depth)}, {make(choose(KINDS), depth)}]"
            case "mixedmap":
                keys = self.rng.sample(["5", "'a'", "true", "2u", "false", "'k'"], 2)
                return "{" + ", ".join(f"{key}: {make(choose(KINDS), depth)}" for key in keys) + "}"
            case "field":
                return f"{make('dyn', depth)}.{choose(['a', 'k', 'n'])}"
            case "index":
                return f"{make('dyn', depth)}[{make(choose(['int', 'string', 'bool', 'uint']), depth)}]"
        return f"dyn({make(choose(KINDS), depth)})"

    def make_type(self, depth: int) -> str:
        """Write a type."""
        return f"type({self.make(self.rng.choice(KINDS), depth)})"

    def make_null(self, _: int) -> str:
        """Write a null."""
        return "null"


def values(rng: random.Random) -> dict[str, Any]:
    """Return values for the variables; timestamps and durations as Python's own."""
    choose = rng.choice
    return {
        "i": choose([0, 1, -1, 2, 5, 42, 2**63 - 1, -(2**63), 2**53 + 1]),
        "u": UInt(choose([0, 1, 2, 7, 2**64 - 1])),
        "d": choose([0.0, 1.0, -2.5, 1e300, 3.0, 0.1]),
        "s": choose(["", "a", "abc", "foo", "k", "é😀", "deploy", "1"]),
        "b": choose([True, False]),
        "y": choose([b"", b"a", b"\xff"]),
        "t": datetime.fromtimestamp(choose([0, 1234567890, 951782400, 1709208000]), UTC),
        "w": timedelta(seconds=choose([0, 1, -90, 3600, 86400 * 365])),
        "li": choose([[], [1], [1, 2, 3], [0, 5, 42, -1]]),
        "ls": choose([[], ["a"], ["a", "foo", "k"], ["deploy", ""]]),
        "m": choose([{}, {"a": 1}, {"k": 42}]),
        "x": choose(
            [None, True, 0, 1, 2.0, "a", "foo", [], [1, "a"], {"a": 1}, {"k": [1]}, 2**53 + 1, -1.5, ["a", "b"]]
        ),
        "args": {
            "n": choose([0, 1, 7, -3]),
            "s": choose(["", "a", "foobar"]),
            "l": choose([[], [1, 2], ["a", "b"], [1, "a", None]]),
            "m": choose([{}, {"a": 1}, {"a": {"a": True}}]),
            "f": choose([0.5, 1.0, 2.0]),
            "b": choose([True, False]),
            "none": None,
        },
    }
