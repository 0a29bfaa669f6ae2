from __future__ import annotations

import random
import subprocess

import pytest
from tests.decompose.shell.helpers import commands
from tests.decompose.shell.sandbox import BASH, valid


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a 'b c' \"d e\" f\\ g", ["a", "b c", "d e", "f g"]),
        ("a '' \"\"", ["a", "", ""]),
        ("a r''m r\"m\" r\\m", ["a", "rm", "rm", "rm"]),
        ("a b\\\nc", ["a", "bc"]),
        ('a "b\\\nc\\d\\$\\\\"', ["a", "bc\\d$\\"]),
        ("a $'\\x72\\155\\t\\'\\u00e9\\cA'", ["a", "rm\t'é\x01"]),
        ("a $'x\\0y'z", ["a", "xz"]),
        ("a $'\\xff'", ["a", None]),
        ('a $HOME ${HOME} "$PWD"/x', ["a", "/home/dev", "/home/dev", "/repo/x"]),
        ("a ~ ~/x x=~/y '~' \\~ b~", ["a", "/home/dev", "/home/dev/x", "x=/home/dev/y", "~", "~", "b~"]),
        ("a ~+/x ~-/x ~root/x", ["a", "/repo/x", None, None]),
        ("a --x=~/y", ["a", "--x=~/y"]),
        ('a $x "$x" $(b) `c` ${x:-y} $1', ["a", None, None, None, None, None, None]),
        ("a x$?y $$ ${#x}", ["a", {"glob": "x*y"}, {"glob": "*"}, {"glob": "*"}]),
        ("a *.py [ab]c d? '*' \\*", ["a", {"glob": "*.py"}, {"glob": "?c"}, {"glob": "d?"}, "*", "*"]),
        ("a [ ] [x", ["a", "[", "]", "[x"]),
        ("a {b,c}d {1..3} {x}", ["a", "bd", "cd", "1", "2", "3", "{x}"]),
        ("a <(b)", ["a", {"glob": "/dev/fd/??"}]),
        ("a #b", ["a"]),
        ("a b#c", ["a", "b#c"]),
    ],
)
def test_a_word_is_what_the_program_gets(text: str, words: list[object]) -> None:
    """Quotes and escapes are removed, what is known is put in, and what is not known is null or a glob."""
    assert words == next(argv for argv in commands(text) if argv[0] == "a")


def test_words_are_those_of_bash() -> None:
    """What a word comes to is what real bash makes of it, over random words of quotes, escapes, braces and tildes."""
    chance = random.Random(7)
    pieces = ["a", "b", "/", "'", '"', "\\", "{", "}", ",", "..", "1", "3", "~", "=", "$'", "\\n", " ", "-", ":", "c"]
    compared = 0
    for _ in range(400):
        word = "".join(chance.choice(pieces) for _ in range(chance.randint(1, 9)))
        text = f"a {word}"
        if " -" in text or not valid(text):
            continue
        found = commands(text)
        if len(found) != 1 or not all(isinstance(one, str) for one in found[0]):
            continue
        script = f"a() {{ printf '%s\\0' a \"$@\"; }}\nHOME=/home/dev PWD=/repo\n{text}"
        ran = subprocess.run([BASH, "-c", script], capture_output=True, check=False, cwd="/")
        assert ran.stdout.decode().split("\0")[:-1] == found[0], text
        compared += 1

    assert compared > 100


@pytest.mark.parametrize("text", ["a {1..5000}", "a {1..99}{1..99}", "a " + "{a,b}" * 20])
def test_braces_that_stand_for_too_much_are_not_read(text: str) -> None:
    """The number of words that braces stand for is bounded."""
    assert [[None]] == commands(text)


@pytest.mark.parametrize(
    "text",
    [
        "a {a,b}{c,d}",
        "a x{a,{b,c}}y",
        "a {a,b",
        "a a,b}",
        "a {a}",
        "a {{a,b}}",
        "a {,a}",
        "a {a,}b",
        "a {01..10..3}",
        "a {c..a}",
        "a {5..1..2}",
        "a {-1..1}",
        "a {a,'b,c'}",
        "a {a\\,b,c}",
        "a {1..a}",
        "a {}",
        "a {a..c..2}",
        "a {1..3..0}",
        "a {x{1..2},y}",
    ],
)
def test_braces_are_expanded_as_bash_does(text: str) -> None:
    """Lists, ranges and what only looks like them come to the words that real bash gives."""
    ran = subprocess.run([BASH, "-c", f"a() {{ printf '%s\\0' a \"$@\"; }}\n{text}"], capture_output=True, check=True)

    assert [ran.stdout.decode().split("\0")[:-1]] == commands(text)
