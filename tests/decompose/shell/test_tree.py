from __future__ import annotations

import json
from typing import Any

import pytest

from indult import spawn
from indult.decompose.shell import tree
from indult.decompose.shell.shfmt import Unparsable, parse


def read(text: str) -> dict[str, Any]:
    """Parse and check a text."""
    found = parse(text)
    tree.check(found, text)
    return found


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a # b\\", "a comment ends in a backslash"),
        ("a; else b", "`else` stands where a command does"),
        ("f()! { a; }", "the body of a function is no compound command"),
        ("let (a*b)1", "the arithmetic of `let` stands without quotes"),
        ("a #\\\nb", "a comment ends in a backslash"),
        ("a ${x:-<(b)}", "a parameter expansion holds a process substitution"),
        ('a "${x:->(b)}"', "a parameter expansion holds a process substitution"),
        ('a "${x:-\'}"; b; echo "\'}"', "a parameter expansion within double quotes holds single quotes"),
        ("a <<E\n${x:-'$(b)'}\nE", "a parameter expansion within double quotes holds single quotes"),
        ("a `b \\`c\\``", "a backslash between backquotes can be read in two ways"),
        ("a @(b|c)", "it holds an extended pattern"),
        ("[[ a == @(b|$(c)) ]]", "a substitution stands where none is read"),
        ("f() a", "the body of a function is no compound command"),
        ("! time | a", "`time` stands alone"),
        ("a <<E\n\\\nE\nb\nE", "a here-document may end before it seems to"),
        ("a <<E\nx\\\nE\nb\nE", "a here-document may end before it seems to"),
        ("a <<-E\n\\\n\tE\nb\n\tE", "a here-document may end before it seems to"),
        ("a <<EF\nE\\\nF\nb\nEF", "a here-document may end before it seems to"),
        ("x=$(a <<E\nE(b)\nE\n)", "a here-document may end before it seems to"),
        ("x=$(a <<'E'\nE)\nb\nE\n)", "a here-document may end before it seems to"),
        ("a < {b}<<< c", "the word of a redirection may belong to the next one"),
        ("a > 2> b", "the word of a redirection may belong to the next one"),
        ("() (a)", "a function has no name"),
        ("in a", "`in` stands where a command does"),
        ("a 'b", "it is not valid bash"),
        ("a\x07", "it holds the control character U+0007"),
        ("a" * 16_001, "it takes 16001 bytes, at most 16000"),
        ("a \ud800", "it holds half a character"),
        ("(" * 200 + "a" + ")" * 200, "it is nested too deeply"),
    ],
)
def test_what_bash_may_read_in_another_way_is_not_read(text: str, why: str) -> None:
    """Every known difference between the parser and bash refuses the text, with the reason."""
    with pytest.raises(Unparsable) as caught:
        read(text)

    assert why == str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "a # b",
        "x=$(a <<E\nb\nE\n)",
        "a <<'E'\nE \nb\nE",
        "a <<E\nx \\\n y\nE",
        "a <<'E'\n\\\nx\nE",
        "[[ a == @(b|c) ]]",
        "a <<'E'\n`b\\`$(c\nE",
        "f() { a; }",
        "x=1 in",
        "a | " * 300 + "a",
    ],
)
def test_other_texts_are_read(text: str) -> None:
    """What only looks alike is read, and a long pipe is no deep one."""
    assert read(text)["Stmts"]


@pytest.mark.parametrize(
    "change",
    [
        lambda call: call.update(Type="NewClause"),
        lambda call: call.update(News=[{"Type": "Word"}]),
        lambda call: call.update(Args="x"),
        lambda call: call["Args"][0]["Parts"][0].update(Type="NewPiece"),
        lambda call: call["Args"][0]["Parts"][0].update(Value=3),
        lambda call: call.update(Args=[[call["Args"][0]]]),
    ],
)
def test_a_node_that_is_not_on_the_list_is_refused(change: Any) -> None:
    """A type, a field or a value that the list does not know refuses the whole text."""
    found = parse("a b")
    change(found["Stmts"][0]["Cmd"])

    with pytest.raises(Unparsable):
        tree.check(found, "a b")


@pytest.mark.parametrize(
    ("fault", "why"),
    [(spawn.TimedOut(), "takes over"), (PermissionError(13, "no"), "cannot be run"), (None, "not installed")],
)
def test_without_a_parser_nothing_is_read(fault: Exception | None, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A parser that is missing, cannot be run or takes too long refuses every text."""

    def run(*_: Any, **__: Any) -> None:
        raise fault or FileNotFoundError

    monkeypatch.setattr(spawn, "run", run)
    monkeypatch.setattr("shutil.which", lambda *_, **__: None)

    with pytest.raises(Unparsable, match=why):
        parse("a")


def test_the_tree_of_a_text_is_the_same_each_time() -> None:
    """Parsing is a function of the text."""
    assert json.dumps(parse("a $(b)")) == json.dumps(parse("a $(b)"))
