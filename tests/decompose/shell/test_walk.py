from __future__ import annotations

import pytest
from tests.decompose.shell.helpers import asks, commands, files, named, parts, possible, touched


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a; b && c || d | e & f", ["a", "b", "c", "d", "e", "f"]),
        ("a\nb", ["a", "b"]),
        ("{ a; }; (b)", ["a", "b"]),
        ("if a; then b; elif c; then d; else e; fi", ["a", "b", "c", "d", "e"]),
        ("while a; do b; done; until c; do d; done", ["a", "b", "c", "d"]),
        ("for x in $(a); do b; done; for ((i=0;i<1;i++)); do c; done", ["a", "b", "c"]),
        ("case $(a) in x) b ;; *) c ;; esac", ["a", "b", "c"]),
        ("! a; time b; coproc c", ["a", "b", "c"]),
        ("x=$(a) b", ["a", "b"]),
        ("a ${x:-$(b)} ${y[$(c)]} `d` <(e)", ["b", "c", "d", "e", "a"]),
        ("a <<E\n$(b)\nE", ["b", "a"]),
        ("a <<'E'\n$(b)\nE", ["a"]),
        ("[[ -n $(a) ]] && ((1)) && b", ["a", "b"]),
        ("a > $(b)", ["b", "a"]),
    ],
)
def test_every_simple_command_that_can_run_is_found(text: str, found: list[str]) -> None:
    """Commands are found wherever they stand, and nothing that is text only."""
    assert found == [argv[0] for argv in commands(text)]


def test_a_text_that_runs_nothing_needs_a_rule_as_a_whole() -> None:
    """Where no part needs a rule, the text is a part of its own, so that nothing is approved by no rule."""
    (part,) = parts("x=1")

    assert not part.free
    assert {"argv": [], "text": "x=1"} == named(part)


@pytest.mark.parametrize(
    "text", ["a 'b", "if", "a )", "a\r\nb", "a\0b", "a" * 17_000, "a # \\", "x=${y:-<(z)}", "@(a|b)"]
)
def test_what_cannot_be_read_one_way_only_is_never_allowed(text: str) -> None:
    """A text that is no bash, too long, or could be read in two ways becomes a part that asks and has no known word."""
    (part,) = parts(text)

    assert [None] == named(part)["argv"]
    assert part.asks.startswith("a shell text cannot be read: ")


def test_the_folder_in_force_moves_with_cd() -> None:
    """Behind `cd A &&` only A is in force, behind `cd A;` both, in a subshell and a pipe nothing moves outside."""
    assert ["write:docs/f"] == files("cd docs && a > f")
    assert ["write:docs/f", "write:f"] == files("cd docs; a > f")
    assert ["write:f"] == files("(cd docs); a > f")
    assert ["write:f"] == files("cd docs | b; a > f")
    assert ["write:f"] == files("cd docs || a > f")
    assert ["write:docs/f"] == files("cd docs || exit 1; a > f")
    assert ["write:a/f", "write:b/f", "write:f"] == sorted(files("if x; then cd a; else cd b; fi; c > f"))
    assert ["write:f"] == files("cd docs && cd .. && a > f")
    assert ["write:/home/dev/f"] == files("cd && a > f")


def test_a_folder_that_is_not_known_makes_relative_paths_unknown() -> None:
    """Behind `cd "$X"`, an absolute path is known and a relative one may lie anywhere."""
    assert ["write:/tmp/f"] == files('cd "$X" && a > /tmp/f')
    assert ["which file is written is not known"] == asks('cd "$X" && a > f')
    assert "write:**/f" in possible('cd "$X" && a > f')
    assert "read:**/f" in possible("cd - && cat f")
    assert "read:**/f" in possible("while x; do cd up; cat f; done")


@pytest.mark.parametrize(
    ("text", "needed"),
    [
        ("f() { a; }; f", [["a"]]),
        ("f() { a; }; f b; f c", [["a"]]),
        ("f", [["f"]]),
        ("f; f() { a; }", [["f"], ["a"]]),
        ("f() { a; }; command f", [["f"], ["a"]]),
        ("f() { a; }; unset -f f; f", [["unset", "-f", "f"], ["f"], ["a"]]),
        ("x && f() { a; }; f", [["x"], ["f"], ["a"]]),
        ("(f() { a; }); f", [["f"], ["a"]]),
        ("f() { f; }; f", []),
        ("eval 'f() { a; }'; f", [["a"]]),
    ],
)
def test_a_call_of_a_function_needs_no_rule_but_its_body_does(text: str, needed: list[list[str]]) -> None:
    """Only a name that was certainly defined before, in the same shell, is a call; bodies count once and anywhere."""
    assert needed == commands(text)


def test_rules_still_see_the_words_of_a_call() -> None:
    """The call of a function is a part that needs no rule."""
    assert [["f", ".env"]] == commands("f() { a; }; f .env", free=True)


def test_a_function_that_moves_the_folder_moves_it_where_it_is_called() -> None:
    """The body is walked with the folder of the call, and what follows goes on from where it ended."""
    assert "write:docs/f" in files("go() { cd docs; }; go && a > f")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a > f", ["write:f"]),
        ("a >> f 2> g &> h", ["write:f", "write:g", "write:h"]),
        ("a >| f <> g", ["write:f", "read:g", "write:g"]),
        ("a >& f", ["write:f"]),
        ("a 2>&1 >&2 <&3 >&-", []),
        ("a > /dev/null < /dev/null", []),
        ("a < f", ["read:f"]),
        ("{ a; } > f", ["write:f"]),
        ("> f", ["write:f"]),
        ("a > ../x/f", ["write:/x/f"]),
        ("a > {f,g}", ["write:**"]),
        ('a > "$F"', ["write:**"]),
        ("a > >(b)", []),
        ("a <<< f", []),
        ('a > "$PWD/f" > ~/g > "$HOME/h"', ["write:f", "write:/home/dev/g", "write:/home/dev/h"]),
    ],
)
def test_a_redirection_is_the_file_that_it_opens(text: str, found: list[str]) -> None:
    """Every way to write a file is `write:`, reading one is `read:`, and copies of descriptors are nothing."""
    assert found == files(text)


def test_reading_by_a_redirection_needs_no_rule_and_a_connection_asks() -> None:
    """`<` is free unless it opens a connection."""
    assert [True] == [part.free for part in parts("a < f") if part.target() == "read:f"]
    assert ["it opens a connection"] == asks("a < /dev/tcp/example.org/80")


def test_a_redirection_has_both_names_of_its_file() -> None:
    """The path as it reads and the path that its links lead to are parts of their own."""
    found = parts("a > out/f", fs={"symlinks": {"/repo/out": "/srv/x"}})

    assert ["write:out/f", "write:/srv/x/f"] == [part.target() for part in found if "write:" in part.target()]


@pytest.mark.parametrize(
    "text",
    [
        "PATH=/x",
        "PATH=/x a",
        "export LD_PRELOAD=x",
        "declare -x 'PATH=/x'",
        "read PATH <<< x",
        "printf -v PATH x",
        "for PATH in x; do a; done",
        ": ${PATH:=x}",
        "env GIT_SSH_COMMAND=x a",
        "((PATH=1))",
        "export $X",
        "exec {PATH}> f",
    ],
)
def test_setting_what_decides_which_code_runs_asks(text: str) -> None:
    """However such a variable is set, the line is an ask."""
    assert asks(text)


def test_other_assignments_stand_in_the_name_of_the_command() -> None:
    """A harmless variable asks nothing, and an approval of the command covers it with the same value only."""
    (part,) = parts("A=1 B=$x a")

    assert {"argv": ["a"], "cwd": "/repo", "env": {"A": "1", "B": None}} == named(part)
    assert "" == part.asks


@pytest.mark.parametrize("text", ["a 'x", "$(", "<<<"])
def test_texts_within_a_text_are_read_too(text: str) -> None:
    """A text for another shell that cannot be read asks, whatever stands around it."""
    assert [one for one in asks(f"a; bash -c {text!r}") if "cannot be read" in one]


def test_a_word_that_braces_make_names_no_program() -> None:
    """Braces in the word that says what runs ask, even if one can tell what they stand for."""
    assert [["rm", "-r", "out"]] == commands("{rm,-r,out}")
    assert asks("{rm,-r,out}")
    assert [["a", "b", "c"]] == commands("a {b,c}")
    assert "read:.env" in touched("cat .{env,x}")
