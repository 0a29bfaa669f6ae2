from __future__ import annotations

import json
import os
import random
import re
import subprocess
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
from tests.decompose.shell.helpers import asks, commands, files, parts
from tests.decompose.shell.sandbox import BASH

from indult.decompose import Part

NONE = None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("X=src; cat $X/a", [["cat", "src/a"]]),
        ('X=src && cat "$X"', [["cat", "src"]]),
        ('X="a b"; cat "$X"', [["cat", "a b"]]),
        ('X=a; Y="$X/b"; cat "${Y}c"', [["cat", "a/bc"]]),
        ("export X=a; cat $X", [["export", "X=a"], ["cat", "a"]]),
        ("for f in a b; do cat $f; done", [["cat", "a"], ["cat", "b"]]),
        ("for f in {1..2}; do cat a$f; done", [["cat", "a1"], ["cat", "a2"]]),
        ('for f in src/*.py; do cat "$f"; done', [["cat", {"glob": "src/*.py"}]]),
        ('for f in *.py; do cat "$f.bak"; done', [["cat", {"glob": "*.py.bak"}]]),
        ("for f in a b; do for g in c d; do cat $f/$g; done; done",
         [["cat", "a/c"], ["cat", "a/d"], ["cat", "b/c"], ["cat", "b/d"]]),
        ("X=a; (cat $X)", [["cat", "a"]]),
        ("X=a; (X=b); cat $X", [["cat", "a"]]),
        ("X=a; if b; then X=a; fi; cat $X", [["b"], ["cat", "a"]]),
    ],
)  # fmt: skip
def test_values_that_the_text_gives_are_known(text: str, found: list[Any]) -> None:
    """A plain assignment and a loop over words say what a variable is, for each round of the loop."""
    assert found == commands(text)


@pytest.mark.parametrize(
    "text",
    [
        "cat $X; X=a",
        "X=a; if b; then X=c; fi; cat $X",
        "if b; then X=a; fi; cat $X",
        "b && X=a; cat $X",
        "X=a | b; cat $X",
        "X=a & cat $X",
        "(X=a); cat $X",
        "X=a; while b; do cat $X; X=c; done",
        "X=a; for i in 1 2; do cat $X; X=c; done",
        "X=a; read X; cat $X",
        "X=a; printf -v X %s c; cat $X",
        "X=a; printf -vX %s c; cat $X",
        "X=a; unset X; cat $X",
        "X=a; unset $Y; cat $X",
        "X=a; declare -u X; cat $X",
        "X=a; typeset -n Y=X; cat $X",
        "X=a; readonly X=c; cat $X",
        "X=a; getopts ab X; cat $X",
        "X=a; mapfile X; cat $X",
        "X=a; read -aX; cat $X",
        "X=a; ((X=1)); cat $X",
        "X=a; : $((X++)); cat $X",
        "X=a; : ${X:=c}; cat $X",
        "X=a; X+=c; cat $X",
        "X=a; X[0]=c; cat $X",
        "X=a; eval X=c; cat $X",
        "X=a; ev''al X=c; cat $X",
        "X=a; command eval X=c; cat $X",
        "X=a; . ./c; cat $X",
        "X=a; $Y X=c; cat $X",
        "X=a; f() { X=c; }; f; cat $X",
        "X=a; trap X=c DEBUG; cat $X",
        "X=a; trap 'X=c' DEBUG; cat $X",
        "X=$(b); cat $X",
        "X='a b'; cat $X",
        "X='*'; cat $X",
        "X=a; cat ${X%b}",
        "X=a; cat ${X:-b}",
        "X=a; cat ${!X}",
        "X=a; bash -c 'cat $X'",
        "X=a; select X in b; do cat $X; done",
        "X=a b; cat $X",
        "X=a; X=c b; cat $X",
        "UID=a; cat $UID",
        "RANDOM=a; cat $RANDOM",
        "for f in *.py; do cat $f; done",
        "for f in $(b); do cat $f; done",
        "for f in a b; do c; done; cat $f",
        "for f; do cat $f; done",
        "exec {X}< b; cat $X",
        "coproc X { b; }; cat $X",
        "timeout 5 cat $X",
        "X=a; xargs cat $X",
    ],
)
def test_values_that_may_be_others_are_not_known(text: str) -> None:
    """Where a variable may be set otherwise, or not at all, nothing is taken for its value."""
    found = [argv for argv in commands(text) if argv[0] == "cat"]

    assert found
    assert all(argv[1] is None or isinstance(argv[1], dict) for argv in found), found


@pytest.mark.parametrize(
    "text", ["X=ls; $X", "for c in ls id; do $c; done", "c=ls; env $c", "c=rm; find . -exec $c {} +"]
)
def test_a_variable_never_says_which_program_runs(text: str) -> None:
    """A program that stands in a variable is not known, whatever the variable is."""
    assert "which program runs is not known" in " ".join(asks(text)) or "is not known" in " ".join(asks(text))


def test_a_file_that_is_written_by_a_variable_is_named() -> None:
    """A redirection into a variable that is known is one into that file."""
    assert ["write:out/a"] == files('X=out; echo b > "$X/a"')


PIECES = (
    "X=a", "X=b", "Y=c", "X=$Y", 'Y="$X"d', "X='e f'", "X=*.t", "Y=$(echo q)", "X+=z", "read X <<< r", "unset X", "Y=",
    "printf -v X s", "export X=g", "declare X=h", ": ${X:=i}", "((X=3))", "X=j show", "eval 'X=k'", "ev''al 'Y=k'",
    "f() { X=l; }", "f", "trap 'X=m' DEBUG", "bash -c 'X=n; show $X'", "mapfile -t X <<< o", "X=1 Y=2", "X=$((1+1))",
    "show $X", 'show "$X"', 'show "$X/$Y"', "show $X$Y", 'show "${X}.t" -a', "show ${X:-p}", 'show "$Y"', "show $Y",
    "local X=s", "readonly Y=t", "true", "false", 'export "Y=u"', "let X=4", "set -- v w", 'show "$1"', "cd .", "Y=~",
)  # fmt: skip
FORMS = (
    "{0}; {1}", "{0}\n{1}", "{0} && {1}", "{0} || {1}", "{0} | {1}", "({0}); {1}", "{{ {0}; }}; {1}", "{0} & {1}",
    "if {0}; then {1}; else {2}; fi; {3}", "for X in a b; do {0}; {1}; done; {2}", "for X in *.t; do {0}; {1}; done",
    'for Y in "$X" c; do {0}; {1}; {2}; done; {3}', "case $X in a) {0};; *) {1};; esac; {2}", "! {0}; {1}",
    "i=0; while ((i++ < 2)); do {0}; {1}; {2}; done; {3}", "for Y in 1 2; do {0}; {1}; {2}; done; {3}", "show $({0}; {1}); {2}",
)  # fmt: skip


def scripts(number: int, seed: int) -> list[str]:
    """Return small texts that set and use two variables, the same ones for the same seed."""
    chance = random.Random(seed)

    def text(depth: int) -> str:
        """Return a text with texts of less depth in it."""
        form = chance.choice(FORMS)
        return form.format(
            *(text(depth - 1) if depth and chance.random() < 0.5 else chance.choice(PIECES) for _ in range(4))
        )

    return [text(2) for _ in range(number)]


def fits(words: list[Any], argv: list[str]) -> bool:
    """Tell whether the words of a part are those that a program was given; what is not known is any number of words."""
    if not words:
        return not argv
    first, rest = words[0], words[1:]
    if first is None:
        return any(fits(rest, argv[at:]) for at in range(len(argv) + 1))
    if isinstance(first, dict):
        pattern = re.sub(r"\*+", "*", first["glob"].replace("**/", "*"))
        return any(
            all(fnmatchcase(one, pattern) for one in argv[:at]) and fits(rest, argv[at:])
            for at in range(1, len(argv) + 1)
        )
    return bool(argv) and argv[0] == first and fits(rest, argv[1:])


def shown(found: tuple[Part, ...]) -> tuple[list[list[Any]], bool]:
    """Return the words of the program that is looked at, and whether something that runs is not known at all."""
    argvs = [json.loads(part.target()[8:])["argv"] for part in found if part.target().startswith("command:")]
    return [argv[1:] for argv in argvs if argv and argv[0] == "show"], any(argv[:1] == [None] for argv in argvs)


def test_what_bash_expands_is_what_the_parts_say(tmp_path: Path) -> None:
    """Whatever a program is given in real bash, its words are among those that the parts name."""
    program, log, work = tmp_path / "bin" / "show", tmp_path / "log", tmp_path / "work"
    for folder in (program.parent, work):
        folder.mkdir()
    program.write_text(f'#!{BASH} -p\nbuiltin printf "%s\\0" "$#" "$@" >> {log}\n')
    program.chmod(0o755)
    for name in ("a.t", "b.t"):
        (work / name).touch()
    environment = {"PATH": f"{program.parent}:{os.defpath}", "HOME": "/home/dev", "X": "outer"}
    told = 0
    for text in scripts(250, seed=2026):
        found, unknown = shown(parts(text, cwd=str(work)))
        if unknown:
            continue
        log.write_bytes(b"")
        subprocess.run(
            [BASH, "--norc", "-c", text], cwd=work, env=environment, capture_output=True, timeout=10, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        words = log.read_text().split("\0")[:-1]
        while words:
            count = int(words[0])
            argv, words = words[1 : 1 + count], words[1 + count :]
            assert any(fits(one, argv) for one in found), (text, argv, found)
            told += any(None not in one for one in found)

    assert told >= 100
