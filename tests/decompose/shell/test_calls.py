from __future__ import annotations

import pytest
from tests.decompose.shell.helpers import asks, commands, files, named, parts, possible, touched


@pytest.mark.parametrize(
    ("text", "inner"),
    [
        ("env -- A=1 x", ["x"]),
        ("env -u B A=1 x y", ["x", "y"]),
        ("env -S 'x y' z", ["x", "y", "z"]),
        ("env -i x", ["x"]),
        ("/usr/bin/env x", ["x"]),
        ("sudo -u dev -- x y", ["x", "y"]),
        ("sudo A=1 x", ["x"]),
        ("doas -u dev x", ["x"]),
        ("nohup x", ["x"]),
        ("timeout -k 5 --signal=9 30 x", ["x"]),
        ("nice -n 10 x", ["x"]),
        ("nice -10 x", ["x"]),
        ("stdbuf -oL x", ["x"]),
        ("setsid -w x", ["x"]),
        ("ionice -c3 x", ["x"]),
        ("command -p x", ["x"]),
        ("builtin x", ["x"]),
        ("exec -a y x", ["x"]),
        ("time x", ["x"]),
        ("\\time -f %e x", ["x"]),
        ("xargs -n 1 -P4 x -f", ["x", "-f", None]),
        ("xargs -I{} x {} y", ["x", None, "y"]),
        ("xargs", ["echo", None]),
        ("bash -lc 'x y'", ["x", "y"]),
        ("sh -c x", ["x"]),
        ("zsh -o errexit -c x", ["x"]),
        ("eval x 'y z'", ["x", "y", "z"]),
        ("trap 'x y' EXIT", ["x", "y"]),
        ("env nohup timeout 5 sh -c 'nice x'", ["x"]),
    ],
)
def test_a_wrapper_needs_no_rule_and_what_it_runs_does(text: str, inner: list[object]) -> None:
    """Of a wrapper, the command behind its own words is the part that has to be allowed."""
    assert [inner] == commands(text)
    assert commands(text, free=True)


@pytest.mark.parametrize(
    "text", ["env", "command -v x", "sudo -v", "xargs --help", "nice", "exec", "trap - EXIT", "trap '' INT", "./env x"]
)
def test_a_wrapper_that_runs_nothing_is_a_command_of_its_own(text: str) -> None:
    """Where there is nothing behind it, or where it is another program of that name, it needs a rule itself."""
    assert [text.replace("''", "").split()] == [[word for word in argv if word] for argv in commands(text)]


@pytest.mark.parametrize(
    "text",
    [
        "env --unknown x",
        "sudo -i x",
        "sudo -s",
        "timeout $T x",
        "nice $N x",
        "env $A x",
        "env -S 'x $y'",
        "bash --rcfile f -c x",
        "bash $O -c x",
        "bash -c",
        "watch x",
        "parallel rm ::: a",
        "time -o f x",
    ],
)
def test_what_a_wrapper_runs_must_be_known(text: str) -> None:
    """With options that are not known, or a program that is not read, the line asks; and rules see every tail of it."""
    if text != "time -o f x":
        assert asks(text)
    else:
        assert "cannot be read" in asks(text)[0]


def test_every_tail_of_what_cannot_be_told_may_be_denied() -> None:
    """A deny of what stands behind an unknown option still meets it."""
    (part,) = [one for one in parts("sudo --odd rm -r x") if not one.free]

    assert 'command:{"argv":["rm","-r","x"]}' in part.also


def test_a_wrapper_stands_in_the_name_of_what_it_runs() -> None:
    """An approval of the plain command is none of the wrapped one; variables and the folder are told too."""
    found = [named(part) for part in parts("sudo -u dev env -C docs A=1 x") if not part.free]

    assert [
        {
            "argv": ["x"],
            "cwd": "/repo/docs",
            "env": {"A": "1"},
            "via": [["sudo", "-u", "dev"], ["env", "-C", "docs", "A=1"]],
        }
    ] == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            "find . -name '*.c' -exec x {} \\;",
            [["find", ".", "-name", "*.c", "-exec", "x", "{}", ";"], ["x", {"glob": "./**/*.c"}]],
        ),
        ("find a b -exec x {} +", [["find", "a", "b", "-exec", "x", "{}", "+"], ["x", None]]),
        ("find a -execdir x y{} \\;", [["find", "a", "-execdir", "x", "y{}", ";"], ["x", None]]),
        ("find $A -exec x {} \\;", [["find", None, "-exec", "x", "{}", ";"], ["x", None]]),
        ("fd -x y", [["fd", "-x", "y"], ["y", None]]),
        ("fd a -X y {}", [["fd", "a", "-X", "y", "{}"], ["y", None]]),
    ],
)
def test_what_a_search_runs_needs_a_rule_beside_the_search(text: str, found: list[object]) -> None:
    """The tool and the inner command are both parts; what was found is a glob where one can tell."""
    assert found == commands(text)


@pytest.mark.parametrize("text", ['eval "$x"', 'bash -c "$x"', 'trap "$x" EXIT', "$x", "`a` b", 'bash -c "$(a)"'])
def test_a_text_or_a_program_that_is_not_known_asks(text: str) -> None:
    """What runs must be known."""
    assert asks(text)


def test_a_shell_that_is_given_a_text_runs_its_commands() -> None:
    """A here-document that is taken as it is, given to a shell, is walked too."""
    assert [["bash"], ["x", "y"]] == commands("bash <<'E'\nx y\nE")
    assert [["bash"], ["x"]] == commands("bash <<-'E'\n\tx\n\tE")


def test_files_of_the_tree_that_are_executed_stand_in_the_name_with_their_digest() -> None:
    """A changed script is a changed target, and a rule may deny to execute it."""
    from indult.decompose.paths import Places
    from indult.decompose.shell import shell_parts
    from indult.testing.runners.shell import Disk

    class WithScripts(Disk):
        def digest(self, path: str) -> str | None:
            return "sha256:ab" if path.endswith(".sh") else None

    places = Places(WithScripts({}), "/repo", None)
    (run,) = shell_parts("./x.sh", tool="Bash", cwd="/repo", places=places)
    (by,) = shell_parts("bash bin/y.sh a", tool="Bash", cwd="/repo", places=places)

    assert {"x.sh": "sha256:ab"} == named(run)["files"]
    assert {"bin/y.sh": "sha256:ab"} == named(by)["files"]
    assert "exec:x.sh" in run.also
    assert "exec:bin/y.sh" in by.also


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("cat .env", ["read:.env"]),
        ("cat ./a/../.env", ["read:.env"]),
        ("x --file=.env", ["read:.env", "write:.env"]),
        ("x -f.env", ["read:.env", "write:.env"]),
        ("curl -d @.env y", ["read:.env"]),
        ("git show HEAD:.env", ["read:.env"]),
        ("dd of=.env", ["write:.env"]),
        ("rm .env", ["delete:.env"]),
        ("chmod 600 .env", ["mode:.env"]),
        ("touch .env", ["write:.env"]),
        ("cp a .env", ["write:.env"]),
        ("cp /x/.env d", ["write:d/.env", "read:/x/.env"]),
        ("mv .env a", ["delete:.env", "read:.env"]),
        ("ln -s .env a", ["link:.env", "write:.env", "link:a"]),
        ("git -C d add .env", ["read:.env", "read:d/.env"]),
        ("curl file:///etc/shadow", ["read:/etc/shadow"]),
        ("cat ~/.ssh/id", ["read:/home/dev/.ssh/id"]),
    ],
)
def test_the_paths_among_the_words_are_other_names(text: str, names: list[str]) -> None:
    """Words that may name a file are names that deny and ask rules see, with what the program does to it."""
    assert set(names) <= set(touched(text))


def test_readers_do_not_write() -> None:
    """Of a program that only reads, no word is a file that is written."""
    for text in ("cat a", "grep x a", "git diff a", "head -n 1 a", "sort a"):
        assert [] == [name for name in touched(text) if not name.startswith("read:")], text
    assert "write:b" in touched("sort -o b a")
    assert "write:a" in touched("sed -i s/a/b/ a")


@pytest.mark.parametrize(
    ("text", "glob"),
    [
        ("cat *.py", "read:*.py"),
        ("cat a/[b]/c", "read:a/?/c"),
        ("cat ../*", "read:/*"),
        ('cat "$x"', "read:**"),
        ("rm -r a", "delete:a/**"),
        ("mv a b", "delete:a/**"),
        ("rm -r .", "delete:**"),
        ("tar xf a", "write:**"),
        ("cat */../a", "read:**"),
    ],
)
def test_what_may_be_touched_is_told_as_a_glob(text: str, glob: str) -> None:
    """Globs, words that are not known, and folders taken as a whole may be any file that the glob is of."""
    assert glob in possible(text)


def test_what_opens_nothing_may_have_unknown_words() -> None:
    """`echo "$x"` touches no file, whatever the variable holds."""
    assert [] == possible('echo "$x"; [ -n "$y" ]; printf %s "$z"')


def test_other_spellings_of_a_command_are_other_names() -> None:
    """Rules that deny see the base name, a command without the options before its subcommand, and folded letters."""

    def also(text: str, **fs: object) -> tuple[str, ...]:
        return parts(text, fs=fs)[0].also

    assert 'command:{"argv":["rm","x"]}' in also("/bin/rm x")
    assert 'command:{"argv":["git","push"]}' in also("git -C d --no-pager push")
    assert 'command:{"argv":["git","push"],"options":["-C"]}' not in also("git push")
    assert 'command:{"argv":["source","x"]}' in also(". x")
    assert 'command:{"argv":["pip","install"]}' in also("PIP install", case_insensitive=True)
    assert any('"options":["-uo","-u","-o","--out"]' in name for name in also("sort -uo a --out=b"))
    assert any('"options":["-delete"]' in name for name in also("find . -delete"))


def test_files_that_a_wrapper_reads_are_read() -> None:
    """`xargs -a FILE` reads the file."""
    assert ["read:.env"] == files("xargs -a .env x")


@pytest.mark.parametrize(
    "text",
    [
        "trap 'cd a' DEBUG; x > b",
        "trap 'cd a' ERR EXIT; x > b",
        "f() { cd a; }; trap f DEBUG; x > b",
        "trap f DEBUG; f() { cd a; }; x > b",
        "trap 'unset -f x' DEBUG; x > b",
    ],
)
def test_a_trap_that_changes_the_shell_makes_unknown_what_follows(text: str) -> None:
    """It may run between any two commands, and with it the functions that it calls, also those of later."""
    assert "write:**" in files(text)
    assert "write:b" not in files(text)


@pytest.mark.parametrize("text", ["trap 'cd a' EXIT; x > b", "trap 'x y' DEBUG; x > b", "trap - DEBUG; x > b"])
def test_a_trap_that_leaves_the_shell_as_it_is_or_runs_last_hides_nothing(text: str) -> None:
    """What follows is judged by its own names."""
    assert ["write:b"] == files(text)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("python3.12 -m x a", '{"argv":["python3","-m","x","a"]}'),
        ("b/python3.12 -Imx a", '{"argv":["python","-m","x","a"]}'),
        ("python -W ignore -m x.__main__ a", '{"argv":["python","-m","x","a"]}'),
        ("python3 -u b/x a", '{"argv":["x","a"]}'),
        ("sh b/x a", '{"argv":["x","a"]}'),
        ("pip3.12 a", '{"argv":["pip3","a"]}'),
    ],
)
def test_what_an_interpreter_runs_is_another_name_of_the_command(text: str, name: str) -> None:
    """Versions, options that stand together, modules below a package and the folder of a script hide nothing."""
    (part,) = parts(text)

    assert f"command:{name}" in part.also


@pytest.mark.parametrize("text", ["python -c x -m y", 'python "$X" -m y', "python", "python -X"])
def test_an_interpreter_without_a_module_or_script_runs_none(text: str) -> None:
    """What stands behind a text or an unknown word is no module."""
    assert not any('"-m","y"]' in name and '"-c"' not in name and "null" not in name for name in parts(text)[0].also)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("python -m venv --cle a", "delete:a"),
        ("pytest --basetemp a", "delete:a"),
        ("uv run pytest --basetemp=a", "delete:a"),
        ("pytest -qc a.ini", "exec:a.ini"),
        ("pytest --config-f=a.ini", "exec:a.ini"),
        ("pytest -c=a.ini", "exec:a.ini"),
        ("gzip -r a", "delete:a"),
        ("gunzip a_z", "write:a"),
        ("git diff-tree --outp=a", "write:a"),
        ("git show --output a", "write:a"),
    ],
)
def test_options_that_delete_or_write_name_what_they_touch(text: str, name: str) -> None:
    """A program that only looks by its name touches what an option says."""
    assert name in touched(text)
