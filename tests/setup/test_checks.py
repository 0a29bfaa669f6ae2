from __future__ import annotations

import pytest

from indult.setup.checks import Check, State, fail, note, ok


@pytest.mark.parametrize(
    ("check", "state"),
    [(ok("a", "t"), State.OK), (note("a", "t", "h"), State.NOTE), (fail("a", "t", "h"), State.FAIL)],
)
def test_forms(check: Check, state: State) -> None:
    """A check says what it is about, how it ended, and what helps where it did not end well."""
    hint = "" if state is State.OK else "h"

    assert {"about": "a", "state": state.value, "text": "t", "hint": hint} == check.to_dict()
