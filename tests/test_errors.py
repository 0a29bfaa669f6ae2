from __future__ import annotations

import re

import pytest

from indult import errors
from indult.errors import ConditionError, IndultError, PolicyError

LINE = re.compile(r"^(?P<lead> +)(?P<name>[A-Z]\w+) +exit (?P<code>\d)", re.MULTILINE)


def drawn() -> dict[str, tuple[str | None, int]]:
    """Read the tree in the module's docstring: name -> parent and exit code."""
    path: list[str] = []
    found: dict[str, tuple[str | None, int]] = {}
    for line in LINE.finditer(errors.__doc__ or ""):
        depth = len(line["lead"]) // 4 - 1
        path[depth:] = [line["name"]]
        found[line["name"]] = (path[depth - 1] if depth else None, int(line["code"]))
    return found


def real() -> dict[str, tuple[str | None, int]]:
    """Read the same from the classes."""
    classes = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, IndultError)]
    return {cls.__name__: (None if cls is IndultError else cls.__bases__[0].__name__, cls.exit_code) for cls in classes}


def test_tree() -> None:
    """The tree drawn in the docstring is the tree of the classes, exit codes included."""
    assert real() == drawn()


def test_all() -> None:
    """Every error class is public."""
    assert sorted(real()) == sorted(errors.__all__)


def test_every_class_says_what_happened() -> None:
    """Each class has a docstring of one full sentence."""
    assert [] == [name for name in errors.__all__ if not (getattr(errors, name).__doc__ or "").rstrip().endswith(".")]


class TestLines:
    """What a person reads of an error."""

    def test_message_alone(self) -> None:
        """Without a hint there is one line."""
        assert ["no such run: `r_1`"] == IndultError("no such run: `r_1`").lines()

    def test_hint_on_its_own_line(self) -> None:
        """A hint stands apart from the message."""
        assert ["no such run", "hint: see `indult run`"] == IndultError("no such run", hint="see `indult run`").lines()

    @pytest.mark.parametrize(
        ("place", "expected"),
        [
            ({}, "unknown key"),
            ({"source": "indult.yaml"}, "indult.yaml: unknown key"),
            ({"source": "indult.yaml", "line": 3}, "indult.yaml:3: unknown key"),
            ({"source": "indult.yaml", "line": 3, "column": 7}, "indult.yaml:3:7: unknown key"),
        ],
    )
    def test_place_in_front(self, place: dict[str, str | int], expected: str) -> None:
        """What is known of the place stands before the message, in the form that editors jump to."""
        error = PolicyError("unknown key", **place)  # type: ignore[arg-type]

        assert [expected] == error.lines()
        assert expected == str(error)

    def test_caret_under_the_column(self) -> None:
        """The offending line is shown with a caret under the column that the error names."""
        error = PolicyError("unknown key", hint="did you mean `tool`?", line=2, column=5, excerpt="    tol: x")

        assert ["2:5: unknown key", "        tol: x", "        ^", "hint: did you mean `tool`?"] == error.lines()

    def test_caret_after_tabs(self) -> None:
        """Tabs before the column are kept, so that the caret lines up in any terminal."""
        assert "    \t ^" == ConditionError("bad", column=3, excerpt="\t x").lines()[-1]
