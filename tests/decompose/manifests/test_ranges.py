from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indult.decompose.manifests.ranges import is_cargo, is_npm, poetry, python, unnamed, was
from indult.errors import ScopeError
from indult.scopes import Scope


def named(version: str) -> bool:
    """Tell whether a named exception can hold a version."""
    try:
        Scope.dependency("libdb", version, ["package.json"], "take it", subject="run:1")
    except ScopeError:
        return False
    return True


@pytest.mark.parametrize("sign", ["^", "~", ">", "<", "=", "*", "|", ",", " "])
def test_no_exception_names_an_operator(sign: str) -> None:
    """Each character that a range may be told by is refused in the version of an exception, wherever it stands."""
    assert named("1.2.3")
    assert not any(map(named, (f"{sign}1.2.3", f"1{sign}2.3", f"1.2.3{sign}", sign)))


@given(st.text("0123456789.xX*^~<>=!|, -+abc", min_size=1, max_size=12))
def test_no_exception_names_a_range(text: str) -> None:
    """Whatever is taken for a range in any ecosystem is told by a text that no exception can hold."""
    found = [text if is_npm(text) or is_cargo(text) else None, poetry(text), python(text.split(","))]
    assert not any(named(unnamed(one)) or named(was("1.2.3", one)) for one in found if one is not None)


@given(st.text("0123456789.xX*^~<>=!|, -+abc\n", max_size=12))
def test_a_range_of_npm_reads_as_it_is(text: str) -> None:
    """A range that is shown as written is one line, without padding, and begins with what is compared."""
    if is_npm(text) or is_cargo(text):
        assert text == text.strip()
        assert "  " not in text
        assert "\n" not in text


def test_python_is_sorted() -> None:
    """Specifiers read the same in any order and with any blanks; none of them is any version."""
    assert python(["<3", ">= 2.31"]) == python([">=2.31 ", "<3"]) == "<3,>=2.31"
    assert python([]) == python([""]) == "*"
    assert python(["latest"]) is None
    assert python([">=${X}"]) is None


def test_poetry_has_no_blanks() -> None:
    """Constraints of Poetry keep their order and lose their blanks; what only blanks part is not read."""
    assert poetry(">= 1.0, <2 || ^3") == ">=1.0,<2||^3"
    assert poetry(">=1 <2") is None
    assert poetry("") is None
    assert poetry(1) is None


def test_long_texts() -> None:
    """A text that no person would read is no range."""
    assert not is_npm("1 " * 200 + "1")
    assert not is_cargo(",".join(["1"] * 200))
    assert poetry(",".join(["1"] * 200)) is None
