from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from indult.cel import Env, check, program
from indult.cel.library import NAMES
from indult.cel.values import equals, type_of
from indult.errors import ConditionError, EvaluationError

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "cel.md"
ROW = re.compile(r"^\|(?:.*?[^\\]\|)* (?P<ticks>`+)(?P<example>.+?)(?P=ticks) \| (?:`(?P<gives>.+)`|error) \|$")


def rows() -> list[tuple[str, str | None]]:
    """Return the examples of the page with what they give, `None` for an error."""
    found: list[tuple[str, str | None]] = []
    shown = False
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if not line.startswith("|"):
            shown = False
        elif line.endswith("| example | gives |"):
            shown = True
        elif shown and not line.startswith("|---"):
            match = ROW.match(line)
            assert match is not None, line
            found.append((match["example"].replace("\\|", "|"), match["gives"]))
    return found


def value(source: str) -> Any:
    """Return what an expression gives."""
    return program(check(source, Env({}), expect=None))({})


@pytest.mark.parametrize(("example", "gives"), rows())
def test_example(example: str, gives: str | None) -> None:
    """An example of the reference gives what the page says."""
    if gives is None:
        with pytest.raises((ConditionError, EvaluationError)):
            value(example)
    else:
        expected, got = value(gives), value(example)

        assert equals(expected, got), got
        assert type_of(expected) == type_of(got)


def test_every_function_has_an_example() -> None:
    """The page lists each function of the library in a row of its own."""
    text = PAGE.read_text(encoding="utf-8")

    assert [] == [
        name for name in NAMES if not re.search(rf"^\| `{re.escape(name)}` \|.*{re.escape(name)}\(", text, re.MULTILINE)
    ]
