from __future__ import annotations

import pytest
import re2
from hypothesis import given
from hypothesis import strategies as st

from indult.cel.regex import MAX_PATTERN, matcher, matches, to_python, verify
from indult.errors import EvaluationError

ATOMS = [
    "a",
    "b",
    "/",
    r"\.",
    ".",
    r"\d",
    r"\w",
    r"\D",
    r"\W",
    "[a-c]",
    "[^a]",
    "[^/]",
    r"[\d_]",
    r"[\w.]",
    "é",
    " ",
    "-",
    "😀",
    "\n",
]
PATTERNS = st.builds(
    lambda start, parts, end: start + "".join(atom + times for atom, times in parts) + end,
    st.sampled_from(["", "^"]),
    st.lists(st.tuples(st.sampled_from(ATOMS), st.sampled_from(["", "", "", "*", "+", "?"])), max_size=6),
    st.sampled_from(["", "$"]),
)
TEXTS = st.text(alphabet="abc/._1é😀 \n\v\r-٣", max_size=12)


@given(PATTERNS, TEXTS)
def test_what_runs_on_the_standard_library_means_the_same_in_re2(pattern: str, text: str) -> None:
    """Whichever engine runs a pattern, the answer is RE2's."""
    options = re2.Options()
    options.log_errors = False
    expected = re2.compile(pattern, options).search(text) is not None

    assert expected == matches(text, pattern)


@pytest.mark.parametrize(
    "pattern",
    [r"^/opt/app/.*\.log$", "abc", "^[a-z]+$", r"^\w+@", "^a?b?c*$", "colou?r", "", "^", "$", "^[^/]+/x"],
)
def test_quick(pattern: str) -> None:
    """The patterns that policies are made of need no RE2."""
    verify(pattern)

    assert to_python(pattern) is not None


@pytest.mark.parametrize(
    "pattern",
    [
        "a*",
        "^a*b*",
        "(a+)+",
        "^(a|b)",
        "a|b",
        "a{2}",
        "^a*?",
        "^a**",
        "a?b?c?d?e?f?",
        r"\bword",
        r"\s",
        "(?i)a",
        "[[:alpha:]]",
        r"\pL",
    ],
)
def test_left_to_re2(pattern: str) -> None:
    """A pattern that might backtrack, or that the two read differently, goes to RE2."""
    assert to_python(pattern) is None


@pytest.mark.parametrize("pattern", ["(", "[z-a]", "a**", "(?=a)", r"\1", "a{1001}", "*", "a" * (MAX_PATTERN + 1)])
def test_malformed(pattern: str) -> None:
    """What RE2 does not take is an error."""
    with pytest.raises(EvaluationError):
        matcher(pattern)
    with pytest.raises(EvaluationError):
        verify(pattern)


@pytest.mark.parametrize("pattern", ["^(a+)+$", "^(a|aa)*$", "^a*$", "^[^b]*b$", "a?b?c?d?x"])
def test_linear_time(pattern: str) -> None:
    """A text made to make backtracking explode costs no more than its length."""
    text = "a" * 50_000 + "!"

    # With backtracking the first two would outlast anyone who waits for this test.
    assert matches(text, pattern) is False


def test_the_end_is_the_very_end() -> None:
    """`$` does not match before a line break, and `.` does not match one."""
    assert matches("a\n", "^a$") is False
    assert matches("a\nb", "^a.b$") is False
