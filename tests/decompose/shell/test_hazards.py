from __future__ import annotations

import pytest
from tests.decompose.shell.helpers import asks

from indult.decompose.shell.scripts import awk_runs, sed_runs
from indult.decompose.shell.variables import sensitive


@pytest.mark.parametrize(
    "text",
    [
        "git -c core.pager=x log",
        "git -p log",
        "git --exec-path=/x log",
        "git --config-env=a=b log",
        "git $X log",
        "git rebase -x y",
        "git rebase --ex y",
        "git bisect run x",
        "git submodule foreach x",
        "git grep -Ox a",
        "git config alias.x '!y'",
        "git config --global core.fsmonitor x",
        "git clone -c a=b x",
        "rg --pre x y",
        "rg --pre=x y",
        "tar --checkpoint-action=exec=x -cf a b",
        "tar -I x -cf a b",
        "rsync -e x a b",
        "sort --compress-program=x a",
        "ssh -oProxyCommand=x h",
        "go test -exec x ./...",
        "rake test -e x",
        "rake test -ve x",
        "rake test --execute x",
        "rake test RUBYOPT=x",
        "rake test A='x -r y'",
        "bundle exec rake -e x",
        "sbt test 'eval 1'",
        "sbt test $x",
        "just test -c 'sh -c x'",
        "just test --shell x --shell-arg -c",
        "meson test --wrap 'sh -c x'",
        "ctest --build-and-test a b --test-command x",
        "cabal test --test-wrapper=x",
        "dotnet build -p:PreBuildEvent=x",
        "dotnet test --property:CustomBefore=x",
        "javac -J-javaagent:x a.java",
        "gcc -iplugindir=x a.c",
        "sbt test < x",
        "echo x | sbt test",
        "sbt test <<< x",
        "php -dx=y -l a.php",
        "apt-cache -o x show y",
        "g++ -fmodule-mapper=x a.cc",
        "gcc -Wl,-plugin,x a.c",
        "gcc -Wl,@x a.c",
        "git cherry-pick --strategy=x y",
        "git revert --strategy x y",
        "git stash push -a",
        "git stash --al",
        "hash -p x ls",
        "enable -f x y",
        "mapfile -C x a",
        "man -P x y",
        "awk 'BEGIN { system(\"id\") }'",
        "awk -f x",
        'awk "$x"',
        "sed 's/a/b/e'",
        "sed -n -e 1p -e 1e",
        "sed -f x",
        "sed w.env",
        'sed "$x" a',
        "test -v 'a[$(x)]'",
        "printf -v 'a[$(x)]' y",
        "unset 'a[$(x)]'",
        "alias x=y",
        "make --eval=x",
        "declare -n x=y",
        "x='a[$(y)]'; echo $((x))",
        "echo $(( $(x) ))",
        "read x; ((x))",
        "[[ $1 -eq 1 ]]",
        "echo ${x@P}",
        "[[ -v $x ]]",
        "set -k",
        "set +B",
        "set -o posix",
        "set -e $x",
        "shopt -s nullglob",
        "shopt -s lastpipe",
        "shopt -s $x",
        "compgen -W x",
        "jobs -x y",
        "getopts a 'x[$(y)]'",
        "bash -O nullglob -c x",
        "bash -k -c x",
    ],
)
def test_what_makes_a_program_run_code_asks(text: str) -> None:
    """Options, scripts and expressions that run what the line does not name need approval."""
    assert asks(text)


@pytest.mark.parametrize(
    "text",
    [
        "git log -p -2",
        "git commit -m x",
        "git --no-pager log",
        "git config user.name",
        "git rebase main",
        "rg -n x y",
        "tar -czf a b",
        "sort -k2,2 -n a",
        "awk '{print $1}' a",
        "awk -F: '/a|b/ { n += $2 } END { print n, \"a|b\" }' a",
        "awk '$3 > 5 && $1 ~ /x/ || $2 == 1' a",
        "sed -n '10,20p' a",
        "sed -e 's/a/b/g' -e '/x/d;$!N' a",
        "sed -E 's#a/(b)#\\1#' a",
        "for ((i=0; i<3; i++)); do x; done",
        "echo $((1+2)) $((i++))",
        "i=0; while [ $i -lt 3 ]; do i=$((i+1)); done",
        "[[ $# -gt 0 && $? -eq 0 ]]",
        "export A=1 B",
        "test -v x",
        "printf -v x y",
        "make test",
        "go test ./...",
        "rake test TEST=a_test.rb --trace -j4",
        "dotnet build -p:Configuration=Debug -c Debug",
        "just test",
        "ctest -V -j4",
        "meson test -C build",
        "bundle exec rake test",
        "bundle exec",
        "sbt test",
        "sbt compile test",
        "php -l a.php -d",
        "apt-cache show x",
        "gcc -Wl,-rpath,/usr/lib -O2 a.c",
        "git cherry-pick -s -X theirs x",
        "git revert --no-edit x",
        "git stash push -u",
        "set -euo pipefail",
        "set -- $x",
        "set +x",
        "shopt -s globstar",
        "shopt",
        "bash -euo pipefail -c x",
    ],
)
def test_ordinary_uses_of_the_same_programs_do_not(text: str) -> None:
    """What runs nothing else asks nothing."""
    assert [] == asks(text)


@pytest.mark.parametrize(
    "script",
    [
        "s/a/b/w x",
        "1!e",
        "/a/e x",
        "r .env",
        "W x",
        "s/[/]/x/",
        "z;q;k",
        "s/a",
        "y/a/b",
        "\\aXaw x",
        "{p;w x\n}",
        "s|a|b|ge",
    ],
)
def test_a_script_of_sed_that_names_files_or_programs_is_found(script: str) -> None:
    """Commands and flags that write, read or run are found; a script that cannot be read is one of them."""
    assert sed_runs(script)


@pytest.mark.parametrize(
    "script",
    [
        "p",
        "1d",
        "$!N",
        "/a/,/b/{s/x/y/;p}",
        "\\,a,d",
        "y/ab/cd/",
        "a\\\ntext e w",
        "1i\\ x",
        ":a;N;ba",
        "# e\np",
        "10q",
        "0~3d",
        "/a/I,+2p",
    ],
)
def test_a_harmless_script_of_sed_is_read(script: str) -> None:
    """Addresses, texts and labels are read as what they are."""
    assert "" == sed_runs(script)


@pytest.mark.parametrize(
    "program",
    [
        '{ print | "x" }',
        '{ "x" | getline }',
        '{ print > "f" }',
        '{ print $1 >> "f" }',
        '/"/ { system("id") } /"/',
        "{ @f() }",
        '@load "x"',
        '{ # " \n system("x") # "\n}',
    ],
)
def test_a_program_of_awk_that_runs_or_writes_is_found(program: str) -> None:
    """Pipes, `system`, `getline` and redirections are found, whatever strings and expressions stand around them."""
    assert awk_runs(program)


def test_names_that_decide_which_code_runs_are_known() -> None:
    """Search paths, preloads, pagers, editors and start-up files are; ordinary names are not; what is no name is."""
    for name in (
        "PATH",
        "LD_PRELOAD",
        "GIT_DIR",
        "PAGER",
        "MANPAGER",
        "VISUAL",
        "BASH_ENV",
        "NODE_OPTIONS",
        "a[0]",
        "HOME",
    ):
        assert sensitive(name), name
    for name in ("CI", "NODE_ENV", "GOOS", "LANG", "x", "FORCE_COLOR", "DEBUG"):
        assert not sensitive(name), name


@pytest.mark.parametrize(
    "text",
    [
        "sed -l 5p 'w F' x",
        "sed -l5 'w F' x",
        "sed --line 5 'w F' x",
        "sed '-new F' x",
        "sed --expr='w F' x",
        "sed --exp 'w F' x",
        "sed -i '' 'w F' x",
        "sed -n ':a w F' x",
        "sed s/a/b/ \"$f\" -e 'w F'",
        "sed -- 'w F'",
        "sed --fi=x y",
        "sed --unknown x",
        "sed -Z x",
        "sed -e",
        "awk '{print $1,\n$2 > \"F\"}' x",
        "awk '{print a &&\nb > \"F\"}' x",
        "awk 'BEGIN { ARGV[1] = \"F\" }'",
        "awk '{ for (k in FUNCTAB) print k }'",
        "make --eva=x",
        "make -E x",
        "make -kE x",
        "make -p",
        "make --print-data",
        "make 'X=$(shell x)'",
        "make 'X!=x'",
        "make 'X=a#b'",
        "make .SHELLFLAGS=x",
        "make CC=./x",
        "git blame --output=x a",
        "git format-patch --output-d x",
        "git cherry --outp x",
        "pytest -p x",
        "pytest -qpx",
        "python -m pytest -o cache_dir=x",
        "uv run pytest --override-ini=cache_dir=x",
        "coverage run -m pytest --over cache_dir=x",
        "PYTEST_ADDOPTS=x pytest",
    ],
)
def test_a_spelling_that_hides_what_runs_or_is_written_asks(text: str) -> None:
    """Shortened options, values that stand alone and lines that go on are read as the program reads them."""
    assert asks(text)


@pytest.mark.parametrize(
    "text",
    [
        "sed -i.bak -E s/a/b/ x",
        "sed -i '' s/a/b/ x",
        "sed -n -l 5 1p - x",
        "sed --quiet --in-place=.b 1p x",
        "sed -e ':a' -e 'N;ba' x",
        "awk '{print}\n$1 > 5 {print $2}' x",
        "make -j4 -C sub CC=clang V=1 all",
        "make -Wp --keep-going",
        "pytest -p no:cacheprovider -o addopts= -o log_cli=true -rp",
        "git log --oneline",
        "git commit --only a -m '--output of x'",
    ],
)
def test_what_only_looks_like_such_a_spelling_does_not_ask(text: str) -> None:
    """The options that are common in everyday work do what they say."""
    assert [] == asks(text)
