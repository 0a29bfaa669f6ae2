from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indult.errors import InputError
from indult.ledger import Draft
from indult.ledger.sqlite import SqliteLedger
from indult.ledger.views import Changes, Views, changes
from indult.testing.memory import MemoryLedger

if TYPE_CHECKING:
    from indult.ledger import Ledger

SCOPES = ["s", "t", "run:1"]
NAMES = ["n", "bond:a", "bond:b:c", "bond", "\U0010ffff", "\ue000"]

_numbers = st.integers(-5, 5) | st.sampled_from([0.1, 0.5, -0.25, 1e-9, 1.0, 2**52, 1e15, -0.0])
_objects = st.dictionaries(
    st.sampled_from("ab"), st.integers(0, 2) | st.sampled_from([0.5, 1.0, None, "x"]), max_size=2
)


def _scoped(values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    inner = st.dictionaries(st.sampled_from(NAMES), values, min_size=1, max_size=3)
    return st.dictionaries(st.sampled_from(SCOPES), inner, max_size=2)


_data = st.fixed_dictionaries(
    {},
    optional={
        "counts": _scoped(_numbers),
        "latest": _scoped(_objects | st.none()),
        "keep": _scoped(_objects),
        "clear": st.lists(st.sampled_from(SCOPES), max_size=2),
        "n": st.integers(0, 9),
    },
)
_drafts = st.builds(Draft, st.sampled_from(["run:1", "run:2"]), st.sampled_from(["step", "close"]), _data)


def _all(ledger: Ledger) -> dict[str, Any]:
    """Return everything that the views of a ledger say, types of numbers included."""
    return {
        scope: {
            "counters": [(name, repr(value)) for name, value in ledger.counters(scope).items()],
            "bonds": [(name, repr(value)) for name, value in ledger.counters(scope, "bond:").items()],
            "each": [repr(ledger.counter(scope, name)) for name in NAMES],
            "top": [
                ledger.top(scope, prefix) for prefix in ("", "bond", "bond:", "bond:b", "bond:b:", "n", "\U0010ffff")
            ],
            "latest": [ledger.latest(scope, name) for name in NAMES],
            "recalled": list(ledger.recall(scope).items()),
            "kept": [ledger.remembered(scope, name) for name in NAMES],
        }
        for scope in SCOPES
    }


def _clock() -> str:
    return "2026-08-20T09:00:00.000000Z"


def _append(ledger: Ledger, drafts: list[Draft]) -> str:
    """Append drafts at once and return whether that was refused."""
    try:
        ledger.append(*drafts)
    except InputError as exc:
        return str(exc)
    return "kept"


@given(st.lists(st.lists(_drafts, max_size=3), max_size=6))
def test_table_equals_fold(batches: list[list[Draft]]) -> None:
    """Over any sequence of events, refused ones included, the tables say what the pure fold says, and refold to it."""
    memory = MemoryLedger(clock=_clock)
    with tempfile.TemporaryDirectory() as folder, SqliteLedger(Path(folder) / "ledger.db", clock=_clock) as ledger:
        ledger._db.execute("PRAGMA synchronous = OFF")  # a hundred ledgers that nobody will miss
        for batch in batches:
            assert _append(memory, batch) == _append(ledger, batch)
        assert list(memory.events()) == list(ledger.events())
        assert _all(memory) == _all(ledger)
        ledger.rebuild()
        assert _all(memory) == _all(ledger)
        assert ledger.verify() == memory.verify()
        assert ledger.verify().ok


def test_changes_in_order() -> None:
    """The reserved keys of an event are read as changes, objects as canonical text."""
    data = {
        "clear": ["t", "s"],
        "counts": {"s": {"n": 1, "m": 0.5}},
        "latest": {"s": {"k": {"b": 1, "a": 2}}},
        "keep": {"t": {"k": {}}},
        "other": {"counts": 1},
    }

    assert changes(data) == Changes(
        clear=("t", "s"),
        counts=(("s", "n", 1), ("s", "m", 0.5)),
        latest=(("s", "k", '{"a":2,"b":1}'),),
        keep=(("t", "k", "{}"),),
    )
    assert Changes() == changes({"other": 1})


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"counts": []}, "`counts` of an event must be an object of objects"),
        ({"counts": {"s": {"n": "1"}}}, 'the counter `n` of `s` cannot be changed by `"1"`'),
        ({"counts": {"s": {"n": 10**17}}}, "the counter `n` of `s` would pass"),
        ({"latest": {"s": {"k": 1}}}, "`latest` of `s` needs an object under `k`, not `1`"),
        ({"keep": {"s": {"k": None}}}, "`keep` of `s` needs an object under `k`, not `null`"),
        ({"clear": {}}, "`clear` of an event must be a list"),
        ({"clear": ["a\n"]}, "is no scope"),
        ({"counts": {"s": {"a\x00": 1}}}, "is no name in a view"),
    ],
)
def test_a_wrong_shape_is_refused(data: dict[str, Any], message: str) -> None:
    """A reserved key of another shape is refused, with the place in words."""
    with pytest.raises(InputError, match=message.replace("(", "\\(")):
        changes(data)


def test_fold_is_pure() -> None:
    """Two folds of the same changes are equal, and checking changes nothing."""
    one, other = Views(), Views()
    made = changes({"counts": {"s": {"n": 1}}, "keep": {"s": {"k": {"a": 1}}}})
    for views in (one, other):
        views.check([made, made])
        views.apply(made)

    assert one == other
    assert {"n": 1} == one.prefixed("s", "")
