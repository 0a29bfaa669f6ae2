from __future__ import annotations

import shlex

import pytest
from tests.decompose.shell.helpers import asks, commands


@pytest.mark.parametrize(
    "text",
    [
        "echo $'\\'; evil #'",
        'echo $"x"',
        "((evil))",
        "[[ a ]]",
        "cat <(a)",
        "coproc a",
        "time a",
        "a &> f",
        "a <<< b",
        "a |& b",
        "x=(a)",
        "x+=a",
        "a {b,c}",
        "echo ${x/a/b}",
        "echo ${x:1}",
        "echo ${!x}",
        "echo ${x[0]}",
        "function f { a; }",
        "declare x=a",
        "for ((;;)); do a; done",
        "for x in a; { b; }",
        "case a in a) ;& esac",
        "echo ${x^}",
    ],
)
def test_a_text_for_another_shell_holds_what_all_shells_read_alike(text: str) -> None:
    """What only bash knows may be code to another shell, and asks there; bash itself takes it."""
    assert [one for one in asks(f"sh -c {shlex.quote(text)}") if "may read it in another way" in one]
    assert not [one for one in asks(f"bash -c {shlex.quote(text)}") if "may read it in another way" in one]


def test_what_all_shells_read_alike_is_walked() -> None:
    """Lists, loops, functions, expansions and here-documents of the standard are fine in every shell."""
    text = 'f() { a "$1"; }; for x in b c; do f "${x:-$(d)}" > g 2>&1; done; export y=1; [ -n "$y" ] && e <<E\n$x\nE'

    assert [] == asks(f"dash -c {shlex.quote(text)}")
    assert ["d", "a", "export", "[", "e"] == [argv[0] for argv in commands(f"dash -c {shlex.quote(text)}")]
