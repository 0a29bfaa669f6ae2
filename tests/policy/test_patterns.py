from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indult.errors import PolicyError
from indult.policy.patterns import FILE_KINDS, GROUPS, KINDS, command_pattern, glob, target_pattern, tool_pattern

CHARS = "ab/.\n*é"


@pytest.mark.parametrize(
    ("pattern", "name", "fits"),
    [
        ("shell", "shell", True),
        ("shell", "Shell", False),
        ("shell", "shell2", False),
        ("*", "", True),
        ("*", "a\nb", True),
        ("pay_*", "pay_", True),
        ("pay_*", "pay", False),
        ("*_read", "fs_read", True),
        ("*_read", "fs_reads", False),
        ("a*a", "a", False),
        ("a*a", "aa", True),
        ("mcp__*__get_*", "mcp__x__get_y", True),
        ("mcp__*__get_*", "mcp__get_y", False),
        ("a*b*b", "ab", False),
        ("a*b*b", "abb", True),
        ("*b*b*", "ba", False),
        ("*ab*ba*", "aba", False),
        ("**", "x", True),
        ("a.c", "abc", False),
        ("[ab]", "a", False),
        ("a?", "ab", False),
    ],
)
def test_a_star_in_a_tool_pattern_stands_for_any_text(pattern: str, name: str, fits: bool) -> None:
    """Only `*` is special in a tool pattern, and it stands for any characters or none."""
    assert fits == tool_pattern(pattern)(name)


@given(st.text("ab*", min_size=1, max_size=8), st.text("ab", max_size=10))
def test_tool_patterns_match_as_their_regular_expression(pattern: str, name: str) -> None:
    """A tool pattern matches what the regular expression of the same meaning does."""
    expression = "".join(".*" if char == "*" else char for char in pattern)

    assert bool(re.fullmatch(expression, name)) == tool_pattern(pattern)(name)


@pytest.mark.parametrize("pattern", ["", " a", "a\n", "a\tb", "a\u200bb", "a\u202eb", "x" * 1001])
def test_tool_patterns_that_mislead_are_refused(pattern: str) -> None:
    """An empty or overlong pattern, white space at an end and invisible characters are errors."""
    with pytest.raises(PolicyError):
        tool_pattern(pattern)


@pytest.mark.parametrize(
    ("pattern", "name", "fits"),
    [
        ("a/b", "a/b", True),
        ("a/b", "a/bc", False),
        ("*", "a", True),
        ("*", "a/b", False),
        ("*", "", True),
        ("**", "a/b", True),
        ("src/*", "src/a", True),
        ("src/*", "src/a/b", False),
        ("src/**", "src/a/b", True),
        ("src/**", "src", False),
        ("src/**", "srcx/a", False),
        ("**/.env", ".env", True),
        ("**/.env", "a/b/.env", True),
        ("**/.env", "a/x.env", False),
        ("**/.env*", ".env.local", True),
        ("**/.env*", "a/.env.local", True),
        ("**/.env*", ".env/x", False),
        ("a/**/b", "a/b", True),
        ("a/**/b", "a/x/y/b", True),
        ("a/**/b", "a/xb", False),
        ("a/**/**/b", "a/b", True),
        ("**/a/**", "x/a/y", True),
        ("a**b", "a/x/b", True),
        ("a**/b", "a/b", True),
        ("a**/b", "ab", False),
        ("*.py", "x.py", True),
        ("*.py", "d/x.py", False),
        ("/etc/**", "/etc/passwd", True),
        ("/etc/**", "etc/passwd", False),
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "src/.py", True),
        ("src/*.py", "src/a/b.py", False),
        ("src/*.py", "lib/src/a.py", False),
        ("**/s/a*.py", "s/a.py", True),
        ("**/s/a*.py", "x/s/ab.py", True),
        ("**/s/a*.py", "xs/ab.py", False),
        ("**/s/a*.py", "s/x/ab.py", False),
        ("**/ab*ba", "x/aba", False),
        ("**/a/b/**", "a/b/", True),
        ("**/a/b/**", "x/a/b/y/z", True),
        ("**/a/b/**", "xa/b/y", False),
        ("a?c", "abc", False),
        ("[a]", "a", False),
    ],
)
def test_a_glob_stops_at_slashes_unless_doubled(pattern: str, name: str, fits: bool) -> None:
    """`*` stops at `/`, `**` does not, both may be empty, and `**/` may stand for no folder at all."""
    assert fits == glob(pattern)(name)


def expression(pattern: str) -> str:
    """Return the regular expression of the same meaning as a glob."""
    found = ""
    while pattern:
        before = found == "" or found.endswith("/")
        if before and pattern.startswith("**/"):
            found, pattern = found + "(?:.*/)?", pattern[3:]
            while pattern.startswith("**/"):
                pattern = pattern[3:]
            # What follows begins a folder name as well.
            return found + (expression(pattern) if pattern else "")
        if pattern.startswith("**"):
            found, pattern = found + ".*", pattern[2:]
        elif pattern.startswith("*"):
            found, pattern = found + "[^/]*", pattern[1:]
        else:
            found, pattern = found + re.escape(pattern[0]), pattern[1:]
    return found


@given(
    st.lists(st.sampled_from(["a", "b", "/", ".", "*", "**", "/**/", "**/"]), min_size=1, max_size=8).map("".join),
    st.text("ab/.\n", max_size=12),
)
def test_globs_match_as_their_regular_expression(pattern: str, name: str) -> None:
    """A glob matches what the regular expression of the same meaning does."""
    if "***" in pattern:
        return

    assert bool(re.fullmatch(expression(pattern), name, re.DOTALL)) == glob(pattern)(name)


@pytest.mark.parametrize(
    ("matcher", "name"),
    [
        (tool_pattern("*a*a*a*a*a*a*a*a*b"), "a"),
        (tool_pattern("a*aaaaaaaaaaaaaaaab*c"), "a"),
        (glob("*a*a*a*a*a*a*a*a*b"), "a"),
        (glob("**a**a**a**a**a**a**b"), "a"),
        (glob("**/a/**/a/**/a/**/a/**/b"), "a/"),
        (glob("**/*/**/*/**/*/**/*/**/x"), "a/"),
        (glob("**/a/b/**"), "a/"),
        (glob("**/a/a*b"), "a/"),
    ],
)
def test_matching_does_not_backtrack(matcher: Callable[[str], bool], name: str) -> None:
    """A name of 20,000 parts ends in an answer, for patterns over which a backtracking matcher would never end."""
    assert not matcher(name * 20_000)


def test_a_file_target_stands_for_every_kind_of_path() -> None:
    """`file:` covers reading, writing, running, deleting and all other kinds whose name is a path."""
    kinds, matches = target_pattern("file:src/**")

    assert set(FILE_KINDS) == set(kinds)
    assert matches("src/a", False)
    assert not matches("lib/a", True)


def test_a_whole_target_stands_for_a_file_changed_as_one() -> None:
    """`whole:` covers what happens to a file as one: not reading or running it, nor the edit of a manifest."""
    kinds, matches = target_pattern("whole:src/**")

    assert set(FILE_KINDS) - {"read", "exec", "edit"} == set(kinds)
    assert matches("src/a", False)


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {*GROUPS, "command"}))
def test_every_other_kind_stands_for_itself(kind: str) -> None:
    """A target of any other kind matches names of that kind by its glob."""
    kinds, matches = target_pattern(f"{kind}:a*")

    assert {kind} == set(kinds)
    assert matches("ab", False)


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        "src",
        "flie:src",
        "File:src",
        "file:",
        "file: src",
        "file:/",
        "file:src/",
        "file:./src",
        "file:a//b",
        "file:a/../b",
        "file:~/x",
        "file:a\\b",
        "file:***",
        "entry:a/../b#x",
        "command:git *",
        "command:'git'",
        "command:git\\ x",
    ],
)
def test_targets_that_could_never_match_are_refused(pattern: str) -> None:
    """A target of unknown kind, or one that no normal name has, is an error rather than a rule without effect."""
    with pytest.raises(PolicyError):
        target_pattern(pattern)


def test_a_pointer_may_hold_what_a_path_may_not() -> None:
    """Only the path of a changed entry must be a normal one; what follows `#` is not a path."""
    _, matches = target_pattern("entry:package.json#@scope/../x@1")

    assert matches("package.json#@scope/../x@1", False)


@pytest.mark.parametrize(
    ("pattern", "argv", "fits", "cautious"),
    [
        ("git log", '["git","log","-1"]', True, True),
        ("git log", '["git","log"]', True, True),
        ("git log", '["git"]', False, False),
        ("git log", '["git","logs"]', False, False),
        ("git log", '["/usr/bin/git","log"]', False, False),
        ("git log", '["git",null]', False, True),
        ("git  log", '["git","log"]', True, True),
        ("git log", '{"argv":["git","log"],"cwd":"/x"}', True, True),
        ("git log", '{"argv":["rm"]}', False, False),
        ("git log", "git log", False, True),
        ("git log", "[" * 100_000, False, True),
        ("**", '["rm"]', True, True),
    ],
)
def test_a_command_matches_by_its_leading_words(pattern: str, argv: str, fits: bool, cautious: bool) -> None:
    """The words of a command pattern are whole leading words; what is not known counts for deny and ask only."""
    matches = command_pattern(pattern)

    assert (fits, cautious) == (matches(argv, False), matches(argv, True))
