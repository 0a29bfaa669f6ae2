from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from indult.policy.dispatch import CommandDispatch, Dispatch
from indult.policy.patterns import command_pattern, glob

GLOBS = st.lists(
    st.sampled_from(["a", "b", "ab", "/", ".", "*", "**", "/**/", "**/", "/a/", "#"]), min_size=1, max_size=6
).map("".join)


@given(
    st.lists(st.tuples(st.sampled_from([1, 2, 4]), GLOBS.filter(lambda text: "***" not in text)), max_size=6),
    st.text("ab/.#", max_size=10),
)
@example([(1, "**/.a*/**")], ".a/b")
@example([(1, "a**b/a/*")], "axb/a/b")
@example([(1, "**")], "")
def test_what_is_found_is_what_every_pattern_says_alone(globs: list[tuple[int, str]], name: str) -> None:
    """Filing patterns changes how fast they are found, and never which rules a name meets."""
    expected = 0
    for bit, text in globs:
        expected |= bit * glob(text)(name)

    assert expected == Dispatch(globs).meets(name)


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("src/main.py", "src/main.py"),
        ("**/package.json", "package.json"),
        ("**/package.json", "a/b/package.json"),
        ("**/.cargo/config.toml", "x/.cargo/config.toml"),
        ("**/vendor/**", "a/vendor/x/y"),
        ("src/**", "src/a"),
        ("**/requirements*.txt", "api/requirements-dev.txt"),
        ("**/.claude/settings*.json", ".claude/settings.local.json"),
        ("*.md", "README.md"),
        ("**/*.pem", "keys/a.pem"),
        ("/etc/**", "/etc/passwd"),
        ("**#libdb@1", "package.json#libdb@1"),
    ],
)
def test_a_pattern_of_every_form_is_found(pattern: str, name: str) -> None:
    """Whatever a pattern is filed under, a name that it matches leads to it, and one that it does not match finds none."""
    dispatch = Dispatch([(4, pattern), (2, "other/**")])

    assert (4, 0) == (dispatch.meets(name), dispatch.meets("else" + name.replace("/", "-")[:-1]))


COMMANDS = ["git push", "git", "ls", "**", "-x", '["git", "a b"]', "- x"]
WORDS = st.sampled_from(["git", "push", "ls", "-x", "-", "a b", None, ""])


@given(
    st.lists(st.tuples(st.sampled_from([1, 2, 4]), st.sampled_from(COMMANDS), st.booleans()), max_size=6),
    st.lists(WORDS, max_size=3),
    st.sampled_from([None, ["-x"], []]),
)
@example([(1, "git push", True)], [None, "push"], None)
@example([(1, "-x", True)], ["ls"], ["-x"])
def test_what_is_found_of_commands_is_what_every_pattern_says_alone(
    patterns: list[tuple[int, str, bool]], argv: list[str | None], options: list[str] | None
) -> None:
    """Filing command patterns under the word that names the program never changes which rules a command meets."""
    name = json.dumps({"argv": argv, "options": options})
    expected = 0
    matchers = []
    for bit, text, cautious in patterns:
        matches = command_pattern(text)
        expected |= bit * matches(name, cautious)
        matchers.append((bit, text, lambda name, matches=matches, cautious=cautious: matches(name, cautious)))

    assert expected == CommandDispatch(matchers).meets(name)
    assert CommandDispatch(matchers).meets("{") == sum(
        {bit for bit, text, cautious in patterns if cautious or text == "**"}
    )


def test_a_name_that_repeats_a_folder_is_tried_once() -> None:
    """A path of ten thousand times the same folder asks the pattern of this folder once."""
    asked: list[str] = []
    dispatch = Dispatch([(1, "**/a/*x")])

    def never(name: str) -> bool:
        asked.append(name)
        return False

    dispatch._folders["a"] = [(1, never)]

    assert 0 == dispatch.meets("a/" * 10_000 + "b")
    assert 1 == len(asked)
