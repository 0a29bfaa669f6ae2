from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indult.characters import fold, misleading


@pytest.mark.parametrize(
    ("path", "folded"),
    [
        ("src/Main.PY", "src/main.py"),
        ("A\u030a/\u00c5", "\u00e5/\u00e5"),
        ("\u03b1\u0345\u0301", "\u03ac\u03b9"),
        ("stra\u00dfe", "strasse"),
        ("\u212aey", "key"),
        (".gi\u200dt/config", ".git/config"),
        ("e\u200d\u0301", "\u00e9"),
        (".Git. /config", ".git/config"),
        ("a/b. . ", "a/b"),
        ("a./b", "a/b"),
        ("a/...", "a/"),
        (" a .b", " a .b"),
        ("a\tb", "ab"),
        ("", ""),
    ],
)
def test_names_that_some_disk_takes_for_one_fold_alike(path: str, folded: str) -> None:
    """Case, composition, what cannot be seen, and dots and spaces at the end of a name make no difference."""
    assert folded == fold(path)


@given(st.text(st.one_of(st.characters(), st.sampled_from("./ A\u0301\u0345\u0130\u03a3\u200d\ufb03\u1fb3"))))
def test_what_is_folded_stays(path: str) -> None:
    """Folding twice is folding once, and what is left can be seen."""
    folded = fold(path)

    assert folded == fold(folded)
    assert not any(misleading(char) for char in folded)


@given(st.text(st.characters(max_codepoint=0x7E, min_codepoint=0x20)))
def test_plain_names_fold_by_the_same_rules(path: str) -> None:
    """The short way for plain names comes to what the long one does."""
    assert fold(path) == fold(path + "\u200d")
