from __future__ import annotations

import re
import tracemalloc
from pathlib import Path
from typing import NamedTuple

import pytest

from indult.errors import PolicyError
from indult.policy import find_errors, loads_policy

CASES = Path(__file__).parent.parent / "data" / "policy" / "errors.txt"


class Case(NamedTuple):
    """A policy text and the errors that it must give, as `(place and message, hint)`."""

    text: str
    errors: list[tuple[str, str | None]]


def cases() -> dict[str, Case]:
    """Return the cases of the data file by name."""
    found = {}
    for block in re.split(r"(?m)^== ", CASES.read_text(encoding="utf-8"))[1:]:
        name, _, rest = block.partition("\n")
        text, _, wanted = rest.partition("\n--\n")
        errors: list[tuple[str, str | None]] = []
        for line in wanted.splitlines():
            if line.startswith("hint: "):
                errors[-1] = (errors[-1][0], line.removeprefix("hint: "))
            else:
                errors.append((line, None))
        found[name] = Case(text + "\n", errors)
    return found


@pytest.mark.parametrize("name", cases())
def test_every_error_is_found_at_its_place(name: str, tmp_path: Path) -> None:
    """Every error of a file is reported with line, column, message and hint, in the order of the file."""
    case = cases()[name]
    file = tmp_path / "indult.yaml"
    file.write_text(case.text, encoding="utf-8")

    errors = find_errors(file)

    assert len(case.errors) == len(errors), [str(exc) for exc in errors]
    for (wanted, hint), exc in zip(case.errors, errors, strict=True):
        shown = f"{exc.line}:{exc.column}: {exc.message}"
        if wanted.endswith("..."):
            assert wanted[:-3] == shown[: len(wanted) - 3]
        else:
            assert (wanted, hint) == (shown, exc.hint)
        assert str(file) == exc.source


@pytest.mark.parametrize("name", cases())
def test_loading_raises_the_first_error(name: str) -> None:
    """Loading a text that is in error raises the first of its errors."""
    case = cases()[name]

    with pytest.raises(PolicyError) as caught:
        loads_policy(case.text, source="p.yaml")

    wanted = case.errors[0][0].removesuffix("...")
    assert str(caught.value).startswith(f"p.yaml:{wanted}")


def test_the_offending_line_is_shown_with_a_caret() -> None:
    """An error shows the line it is about, a caret below the column, and the hint."""
    with pytest.raises(PolicyError) as caught:
        loads_policy("schema: 1\nrulez: []\nrules: []\n", source="p.yaml")

    assert [
        "p.yaml:2:1: unknown key `rulez` in a policy",
        "    rulez: []",
        "    ^",
        "hint: did you mean `rules`?",
    ] == caught.value.lines()


def test_a_condition_cut_off_by_a_comma_is_explained() -> None:
    """A condition that a comma between braces cuts off gets the hint to use quotes, one below its key does not."""
    flow = "schema: 1\nrules: [{id: a, effect: allow, when: args.p.exists(x, x > 1)}]"
    block = "schema: 1\nrules:\n- id: a\n  effect: allow\n  when: args.p.exists(x, x >)"
    hint = "between { and }, a condition with a comma needs quotes"

    for text, expected in ((flow, True), (block, False)):
        with pytest.raises(PolicyError) as caught:
            loads_policy(text)
        assert expected == (hint == caught.value.hint)


def test_a_line_of_great_length_is_not_repeated(tmp_path: Path) -> None:
    """An error shows the start of a long line at most, and no line where the place is beyond that start."""
    file = tmp_path / "indult.yaml"
    file.write_text("{schema: 1, rules: [" + "{id: a, effect: allow}, " * 50 + "]}", encoding="utf-8")

    first, *_, last = find_errors(file)

    assert 200 == len(first.excerpt or "")
    assert last.excerpt is None


def test_a_file_that_does_not_exist_is_named(tmp_path: Path) -> None:
    """A missing file, a folder and a name that no system takes are policy errors with the name."""
    missing = tmp_path / "nope.yaml"

    assert [f"{missing}: there is no such policy file"] == [str(exc) for exc in find_errors(missing)]
    assert [str(tmp_path)] == [exc.source for exc in find_errors(tmp_path)]
    assert ["a\0b"] == [exc.source for exc in find_errors("a\0b")]


def test_a_file_over_a_megabyte_is_refused(tmp_path: Path) -> None:
    """A file of more than 1 MB is refused without being parsed."""
    file = tmp_path / "indult.yaml"
    file.write_bytes(b"#" * 1_000_001)

    assert [f"{file}: the policy is too large: more than 1000000 bytes"] == [str(exc) for exc in find_errors(file)]


def test_a_file_that_never_ends_is_not_read_to_its_end(tmp_path: Path) -> None:
    """No more than the allowed size is read, whatever the path leads to."""
    file = tmp_path / "indult.yaml"
    with file.open("wb") as sparse:
        sparse.truncate(50_000_000)

    tracemalloc.start()
    try:
        find_errors(file)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 5_000_000


@pytest.mark.parametrize(
    ("raw", "place"),
    [
        (b"schema: 1\nrules: []\n# caf\xe9", "p:3:6: the policy is not UTF-8: byte 0xe9"),
        ("schema: 1\nrules: []\n".encode("utf-16"), "p:1:1: the policy is not UTF-8: byte 0xff"),
        (b"schema: 1\n# \x00", "p:2:3: the character U+0000 is invisible or changes how the line reads"),
        ("# \u202eschema: 1", "p:1:3: the character U+202E is invisible or changes how the line reads"),
        ("schema: 1\n\ud800", "p:2:1: the character U+D800 is invisible or changes how the line reads"),
        ("schema: 1\n \ufeffrules: []", "p:2:2: the character U+FEFF is invisible or changes how the line reads"),
        ("- " * 101 + "x", "p:1:201: nested over 100 deep"),
    ],
)
def test_bytes_that_are_no_policy_are_refused(raw: str | bytes, place: str) -> None:
    """Wrong encodings, misleading characters and endless nesting are errors at their place."""
    with pytest.raises(PolicyError) as caught:
        loads_policy(raw, source="p")

    assert place == str(caught.value)


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? "])
def test_endless_nesting_never_reaches_the_stack(opening: str) -> None:
    """A megabyte of nothing but nesting is an error about its depth."""
    with pytest.raises(PolicyError, match="nest"):
        loads_policy(opening * (900_000 // len(opening)))
