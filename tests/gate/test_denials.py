"""How often the same was refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from indult import Action, Gate, Verdict, loads_policy
from indult.boundary import Fault
from indult.gate.denials import REPEATED, denials, spelled
from indult.ledger import open_ledger

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from indult.ledger import Ledger

LAW = """
schema: 1
default: deny
context: {level: int}
rules:
  - {id: high, tool: move, effect: deny, when: level > 3, says: Not up there.}
  - {id: move, tool: move, effect: allow}
  - {id: send, tool: send, effect: ask, says: Ask first.}
"""


@pytest.fixture(name="ledger")
def _ledger(tmp_path: Path) -> Iterator[Ledger]:
    """Open a ledger."""
    with open_ledger(tmp_path / "x.db") as ledger:
        yield ledger


@pytest.fixture(name="gate")
def _gate(ledger: Ledger) -> Gate:
    """Make a gate."""
    return Gate(loads_policy(LAW), ledger, "session:1")


def times(gate: Gate, action: Action, level: int = 5) -> int:
    """Judge an action and return how often it has been refused by then."""
    gate.check(action, {"level": level}, session="s-1")
    return gate.repeated


def test_counts_the_same(gate: Gate) -> None:
    """Who proposes, and under which name, does not count; what is proposed does."""
    assert [1, 2, 3] == [times(gate, Action(tool="move", actor=who, call_id=who)) for who in ("a", "b", "c")]
    assert 1 == times(gate, Action(tool="move", args={"to": "x"}))


def test_counts_by_the_facts_that_were_read(gate: Gate) -> None:
    """When a fact that decided is another one, the count begins anew."""
    assert [1, 1, 2] == [times(gate, Action(tool="move"), level) for level in (5, 6, 5)]


def test_what_was_not_refused_is_not_counted(gate: Gate, ledger: Ledger) -> None:
    """An approval, and a question that waits for its answer, are no refusals."""
    assert [0, 0] == [times(gate, Action(tool="move"), 1), times(gate, Action(tool="send"))]
    assert {} == ledger.counters(denials("session:1"))


def test_is_kept_for_a_report_from_the_third_on(gate: Gate, ledger: Ledger) -> None:
    """What was refused repeatedly is kept with whose it was and which rules refused it."""
    for number in range(1, REPEATED + 2):
        times(gate, Action(tool="move"))
        assert (number >= REPEATED) == bool(ledger.recall(denials("session:1")))

    (entry,) = ledger.recall(denials("session:1")).values()
    assert (REPEATED + 1, "s-1", "agent", ["high"]) == tuple(
        entry[name] for name in ("count", "session", "actor", "rules")
    )


def test_follows_from_the_events(gate: Gate, ledger: Ledger) -> None:
    """The views are what the events say: rebuilding them changes nothing."""
    for _ in range(REPEATED):
        times(gate, Action(tool="move"))
    before = (ledger.counters(denials("session:1")), ledger.recall(denials("session:1")))

    ledger.rebuild()

    assert before == (ledger.counters(denials("session:1")), ledger.recall(denials("session:1")))
    assert ledger.verify().faults == ()


def test_an_observing_policy_refuses_nothing(ledger: Ledger) -> None:
    """Under `mode: observe` nothing is refused, and nothing counted."""
    gate = Gate(loads_policy(f"{LAW}mode: observe\n"), ledger, "session:1")

    assert Verdict.DENY == gate.check(Action(tool="move"), {"level": 5}).verdict
    assert 0 == gate.repeated


@pytest.mark.parametrize(
    ("target", "text"),
    [
        ('command:{"argv":["git","push","--force"],"cwd":"/r"}', "git push --force"),
        ('command:{"argv":["pip","install","a b",null],"cwd":"/r"}', 'pip install "a b" …'),
        ('command:{"argv":["echo","\\u202ex",""]}', 'echo "\\u202ex" ""'),
        ('command:{"argv":[null],"text":"if then"}', "if then"),
        ("command:ls -l", "ls -l"),
        ("command:[1]", "[1]"),
        ("write:a/\u202eb", "write:a/\\u202eb"),
        ("call:sha256:00", "send_mail"),
        ("read:" + "x" * 200, "read:" + "x" * 114 + "…"),
    ],
)
def test_spelled(target: str, text: str) -> None:
    """What was refused is told in a few words in which nothing is hidden."""
    assert text == spelled(Fault(target, "", Verdict.DENY, ("a",)), "send_mail")
