from __future__ import annotations

import pytest
from tests.decompose.shell.helpers import asks, commands, parts, possible, touched

from indult.decompose.shell.scripts import awk_runs


def reads(text: str) -> set[str]:
    """Return the names and globs that the commands of a text may read."""
    return {name for part in parts(text) for name in (*part.also, *part.maybe) if name.startswith("read:")}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("find src -exec cat {} +", {"read:src", "read:src/-"}),
        ("find src -type f -name '*.py' -exec wc -l {} \\;", {"read:src", "read:src/-", "read:src/.py"}),
        ("find src -iname '.ENV*' -exec cat {} +", {"read:src", "read:src/-", "read:src/.env*"}),
        ("find . -name '*env' -exec cat {} +", {"read:env", "read:.env"}),
        ("find src \\( -name a -o -name b \\) -exec cat {} +", {"read:src/a", "read:src/b"}),
        ("find src ! -name a -exec cat {} +", {"read:src", "read:src/-"}),
        ("find src -path src/x -prune -o -exec cat {} +", {"read:src", "read:src/-"}),
        ("find src -path '*/x' -exec cat {} +", {"read:src/**"}),
        ("find src -regex x -exec cat {} +", {"read:src/**"}),
        ("find -L src -exec cat {} +", {"read:src/**"}),
        ("find / -exec cat {} +", {"read:/**"}),
        ("find /home -name a -exec cat {} +", {"read:/home/**"}),
        ('find "$x" -exec cat {} +', {"read:**"}),
        ("find src -exec cat x{} +", {"read:**"}),
        ("grep -r x src", {"read:src", "read:src/-"}),
        ("grep -r x ~", {"read:/home/dev/**"}),
        ("rg x data", {"read:data/-"}),
        ("tar czf a.tgz src", {"read:src", "read:src/-"}),
        ("grep -r x --include=.e* src", {"read:.e*"}),
    ],
)
def test_a_search_reads_what_lies_below_its_start(text: str, found: set[str]) -> None:
    """A search meets rules about its folder, about names that it picks out, and about all where it goes through home."""
    assert found <= reads(text)


@pytest.mark.parametrize(
    "text",
    [
        "find src -exec cat {} +",
        "find src -name '*.py' -exec grep x {} +",
        "find src -not -path '*/node_modules/*' -exec cat {} +",
        "grep -r x src --include=*.py",
        "cat <(sort a)",
        "awk '/x/ {print $1/2}' a",
        "ls $x",
        "echo $x | cut -c1",
        "split a",
        "gunzip -c a.gz",
        "tar tf a.tgz",
    ],
)
def test_a_search_may_not_be_about_anything_at_all(text: str) -> None:
    """What only reads below a folder, or shows names, is not taken for reading and writing everywhere."""
    assert not {"read:**", "read:src/**", "write:**"} & set(possible(text))
    assert not any(name.startswith("write:") for name in touched(text))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("tar czf a.tgz src", "write:a.tgz"),
        ("tar --create --file=a.tgz src", "write:a.tgz"),
        ("tar cf a.tar --remove-files src", "write:src"),
        ("xxd -r a b", "write:b"),
        ("split a b", "write:b"),
        ("uniq a b", "write:b"),
        ("gunzip a.yaml.gz", "write:a.yaml"),
        ("xz -d a.xz", "write:a"),
        ("curl -o a https://host.example/b", "write:a"),
        ("curl -O https://host.example/b", "write:https:/host.example/b"),
    ],
)
def test_what_such_a_program_writes_is_named(text: str, name: str) -> None:
    """The one operand that is written is found among those that are read."""
    assert name in touched(text)


@pytest.mark.parametrize(
    "text",
    [
        "echo x > a.sh && sh a.sh",
        "sh a.sh; echo x > a.sh",
        "cat > src/a.py <<'E' && cd src && python3 a.py\nx\nE",
        "cp x a && ./a",
        "tee a.sh < x; bash -e a.sh",
        "sed -i s/a/b/ a.sh; . ./a.sh",
    ],
)
def test_a_line_that_runs_what_it_writes_asks(text: str) -> None:
    """Nobody has seen such a file, so neither a rule nor its digest can speak for it."""
    assert ["it runs what the line itself writes"] == asks(text)


@pytest.mark.parametrize("text", ["chmod +x a.sh && ./a.sh", "gcc -o a a.c && ./a", "sh a.sh > b", "python3 a.py a.py"])
def test_a_line_that_runs_what_is_there_does_not(text: str) -> None:
    """What is only made executable, compiled or given to itself is as well known as it was before."""
    assert [] == asks(text)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("a \"$(cat <<'E'\nx $y `z`\n\n\nE\n)\"", "x $y `z`"),
        ("a \"$(cat <<-'E'\n\tx\n\tE\n)\"", "x"),
        ('a "$(cat <<E\nx\nE\n)"', None),
        ("a \"$(cat b <<'E'\nx\nE\n)\"", None),
        ("a \"$(cat <<'E' | b\nx\nE\n)\"", None),
        ("a \"$(tac <<'E'\nx\nE\n)\"", None),
        ("a $(cat <<'E'\nx\nE\n)", None),
        ("cat() { b; }; a \"$(cat <<'E'\nx\nE\n)\"", None),
        ("if b; then cat() { b; }; fi; a \"$(cat <<'E'\nx\nE\n)\"", None),
        ("source b; a \"$(cat <<'E'\nx\nE\n)\"", None),
    ],
)
def test_the_text_that_cat_shows_is_known(text: str, word: str | None) -> None:
    """A here-document that is taken as it stands is the word, as long as `cat` is sure to be `cat`."""
    assert [["a", word]] == [argv for argv in commands(text) if argv[0] == "a"]


@pytest.mark.parametrize("text", [":(){ :|:& };:", "f() { f; }; f", "f() { g; }; g() { f; }; g"])
def test_a_function_that_calls_itself_asks(text: str) -> None:
    """It may never end, and takes the machine with it."""
    assert "a function calls itself" in asks(text)


@pytest.mark.parametrize(
    ("program", "runs"),
    [
        ('{total += $1} END {printf "%.2f", total/NR}', False),
        ('{print (a+b)/2 "x"; x++ /2; print $1/"2"; y = z[1]/"3"}', False),
        ('$1 ~ /a"b/ {gsub(/"/, "")}', False),
        ('{ if ($1) /"/; system("x") } #"', True),
        ('{ while ($1) /"/; system("x") } #"', True),
        ('{ print /"/; system("x") } #"', True),
        ('{ a = length /"/; system("x") } #"', True),
        ('/[/]"/ { system("x") } #"', True),
    ],
)
def test_a_slash_divides_only_behind_a_value(program: str, runs: bool) -> None:
    """What stands between quotes or slashes hides nothing that runs, and a division is no beginning of anything."""
    assert runs == bool(awk_runs(program))
