from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.decompose.shell.helpers import commands, parts
from tests.decompose.shell.sandbox import BASH
from tests.decompose.shell.test_bindings import fits, shown


@pytest.mark.parametrize(
    ("text", "glob"),
    [
        ("find src -name '*.py' -print0 | xargs -0 cat", "src/**/*.py"),
        ("find . -type f -print0 2>/dev/null | sort -z | xargs -0r -n 5 cat", "./**"),
        ("find . -name '*.py' -print0 | head -z -n5 | xargs --null cat", "./**/*.py"),
        ("git ls-files -z | xargs -0 cat", "./**"),
        ("git ls-files -z '*.py' | xargs -0 cat", "./**/*.py"),
        ("grep -rlZ x src/ | xargs -0 cat", "src/**"),
        ("rg -l0 x | xargs -0 cat", "./**"),
    ],
)
def test_names_that_end_with_a_zero_byte_are_those_of_the_search(text: str, glob: str) -> None:
    """`xargs -0` hands on what the search before it may find, and nothing else."""
    assert ["cat", {"glob": glob}] == commands(text)[-1]


def test_names_may_stand_in_the_midst_of_a_command() -> None:
    """What `-I` puts in the place of a whole word is one of the names, and within a word it is not known."""
    text = "find . -name '*.a' -print0 | xargs -0 -I{} cp {} b/{}"

    assert ["cp", {"glob": "./**/*.a"}, None] == commands(text)[-1]


@pytest.mark.parametrize(
    "text",
    [
        "find . -name '*.py' -print0 | xargs cat",
        "find . -name '*.py' | xargs -0 cat",
        "find . -print0 -exec echo /etc/passwd \\; | xargs -0 cat",
        "find . -printf '/etc/passwd\\0' -print0 | xargs -0 cat",
        "find . -print0 -files0-from a | xargs -0 cat",
        "find $X -print0 | xargs -0 cat",
        "find . -print0 2>&1 | xargs -0 cat",
        "find . -print0 |& xargs -0 cat",
        "find . -print0 < a | tr a / | xargs -0 cat",
        "find . -print0 | sort -z a | xargs -0 cat",
        "find . -print0 | sort | xargs -0 cat",
        "find . -print0 | head -z 5 | xargs -0 cat",
        "find . -print0 | sed -z s/a/b/ | xargs -0 cat",
        "find . -print0 | xargs -0 cat < a",
        "find . -print0 | xargs -0 -a a cat",
        "find . -print0 | xargs -0 -d x cat",
        "find . -print0 | xargs -n 0 cat",
        "{ find . -print0; echo a; } | xargs -0 cat",
        "find . -print0 | { xargs -0 cat; }",
        "X=a find . -print0 | xargs -0 cat",
        "echo a; find . | xargs -0 cat",
        "git ls-files -z :/a | xargs -0 cat",
        "git -C b ls-files -z | xargs -0 cat",
        "grep -rl x . | xargs -0 cat",
        "grep -rhZ x . | xargs -0 cat",
        "grep -lZ x a | xargs -0 cat",
        "find() { :; }; find . -print0 | xargs -0 cat",
    ],
)
def test_names_that_may_come_apart_are_not_known(text: str) -> None:
    """Without zero bytes a blank in a name makes two of it, and other programs may show anything."""
    found = [argv for argv in commands(text) if argv[0] == "cat"]

    assert [["cat", None]] == found


@pytest.mark.skipif(not all(map(shutil.which, ("find", "xargs", "sort"))), reason="find, xargs and sort are missing")
def test_what_xargs_really_hands_on_is_what_the_parts_say(tmp_path: Path) -> None:
    """In a folder with names of every sort, each word that a program gets is one that its part stands for."""
    program, log, work = tmp_path / "bin" / "show", tmp_path / "log", tmp_path / "work"
    program.parent.mkdir()
    program.write_text(f'#!{BASH} -p\nbuiltin printf "%s\\0" "$#" "$@" >> {log}\n')
    program.chmod(0o755)
    for name in ("a.t", "b c.t", "-n.t", "d\n.t", "e/.f.t", "e/'g'.t", "e/h/*.t", ".i.t"):
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).touch()
    ran = 0
    for search in ("find . -name '*.t' -print0", "find e -type f -print0", "find . -path './e/*' -print0"):
        for middle in ("", "| sort -z ", "| sort -zr | head -z -n3 "):
            for last in ("xargs -0 show", "xargs -0 -n 1 show x", "xargs -0 -I{} show {} y", "xargs -0r show -- "):
                text = f"{search} {middle}| {last}"
                log.write_bytes(b"")
                path = f"{program.parent}:{os.defpath}"
                subprocess.run([BASH, "--norc", "-c", text], cwd=work, env={"PATH": path}, timeout=10, check=True)
                found, unknown = shown(parts(text, cwd=str(work)))
                assert not unknown
                words = log.read_text().split("\0")[:-1]
                while words:
                    count = int(words[0])
                    argv, words = words[1 : 1 + count], words[1 + count :]
                    assert any(None not in one and fits(one, argv) for one in found), (text, argv, found)
                    ran += 1

    assert ran >= 50
