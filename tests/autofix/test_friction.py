"""What the ledger tells of that goes wrong."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from indult import Action, Budget, Critique, Evidence, Gate, Loop, loads_policy
from indult.autofix.friction import friction, gather
from indult.autofix.signals import Sighting, signals
from indult.ledger import Draft, open_ledger
from indult.testing.fakes import RecordingExecutor, ScriptedProposer
from indult.testing.memory import MemoryLedger

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from indult.ledger import Ledger

LAW = """
schema: 1
default: deny
rules:
  - {id: read, tool: read, effect: allow}
  - {id: send, tool: send, effect: deny, says: Nothing is sent.}
"""


@pytest.fixture(name="ledger", params=["memory", "sqlite"])
def _ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ledger]:
    """Open a ledger of either kind."""
    with MemoryLedger() if request.param == "memory" else open_ledger(tmp_path / "x.db") as ledger:
        yield ledger


class Grades:
    """Grades what it is shown with one number after the other."""

    def __init__(self, scores: Sequence[float]) -> None:
        self._scores = iter(scores)

    def review(self, evidence: Evidence) -> Critique:
        """Return the next grade."""
        return Critique(score=next(self._scores), reason="not good")


def refuse(ledger: Ledger, tool: str = "send", times: int = 3, subject: str = "session:1", to: str = "x") -> None:
    """Have an agent try the same a few times."""
    gate = Gate(loads_policy(LAW), ledger, subject)
    for _ in range(times):
        gate.check(Action(tool=tool, args={"to": to}, actor="agent"), {})


def play(ledger: Ledger, *scores: float, run: str = "r", idle: int = 0) -> None:
    """Play a run in which an actor is graded so, one turn each, and then does nothing for some turns."""
    loop = Loop(
        policy=loads_policy(LAW),
        ledger=ledger,
        task="t",
        actors=["max"],
        proposer=ScriptedProposer([Action(tool="read", args={"n": n}) for n in range(len(scores))]),
        executor=RecordingExecutor(),
        verifier=Grades(scores),
        budget=Budget(turns=len(scores) + idle),
        stall_patience=3,
    )
    asyncio.run(loop.run(run, world="park"))


def found(ledger: Ledger, after: int = 0, **values: Any) -> list[Sighting]:
    """Return the friction behind a position."""
    return list(friction(ledger, after, **values)[0])


def test_repeated_refusals(ledger: Ledger) -> None:
    """What is tried a third time though it was refused is friction, and so is each time after."""
    refuse(ledger, times=2)
    assert [] == found(ledger)
    refuse(ledger, times=2)
    third, fourth = found(ledger)
    assert ("denials", "session:1") == (third.kind, third.source)
    assert "`send` was tried again and again: denied by `send`: Nothing is sent." == third.summary
    assert third.fingerprint == fourth.fingerprint
    assert '"count":3' in third.detail


def test_one_rule_is_one_fault(ledger: Ledger) -> None:
    """Whoever meets a rule, and with whatever, it is the same friction; a tool that no rule covers is another."""
    refuse(ledger)
    refuse(ledger, subject="session:2", to="y")
    refuse(ledger, tool="fly")
    refuse(ledger, tool="dig")
    first, second, fly, dig = found(ledger)
    assert first.fingerprint == second.fingerprint
    assert 3 == len({first.fingerprint, fly.fingerprint, dig.fingerprint})
    assert fly.summary.startswith("`fly` was tried again and again: ")


def test_streaks_of_low_grades(ledger: Ledger) -> None:
    """Each three low grades in a row are friction; a good one in between makes the count begin again."""
    play(ledger, 0.1, 0.3, 0.4, 0.1, 0.2, run="a")
    assert [] == found(ledger)
    play(ledger, *[0.39] * 6, run="b")
    first, second = found(ledger)
    assert ("low_score", "run:b") == (first.kind, first.source)
    assert "max of park was graded under 0.4 3 times in a row: not good" == first.summary
    assert first.fingerprint == second.fingerprint


def test_the_numbers_can_be_set(ledger: Ledger) -> None:
    """What a low grade is, how many make a streak and how many refusals count are for the caller to say."""
    play(ledger, 0.5, 0.5, run="a")
    refuse(ledger, times=4)
    assert ["low_score", "denials"] == [one.kind for one in found(ledger, low=0.6, streak=2, repeated=4)]


def test_stalled_runs(ledger: Ledger) -> None:
    """A run that stalled is friction, one that ended otherwise is not."""
    play(ledger, 0.9, run="a", idle=1)
    play(ledger, 0.9, run="b", idle=9)
    (stalled,) = found(ledger)
    assert ("stalled", "run:b", "park") == (stalled.kind, stalled.source, stalled.key)
    assert stalled.summary.startswith("a run of park stalled: ")


@pytest.mark.parametrize("cut", range(0, 40, 3))
def test_can_be_read_in_parts(cut: int) -> None:
    """Wherever reading stopped and went on, the same is found, streaks that were under way too."""
    ledger = MemoryLedger()
    play(ledger, *[0.1] * 7, run="a")
    play(ledger, 0.1, 0.1, 0.9, 0.1, 0.1, 0.1, run="b")
    whole = found(ledger)
    part = MemoryLedger()
    for event in ledger.events():
        data = {name: value for name, value in event.data.items() if name != "bodies"}
        if event.position <= cut:
            part.append(Draft(event.stream, event.kind, data))
    head, position = friction(part, 0)
    assert whole == [*head, *found(ledger, position)]


def test_fixers_are_left_out(ledger: Ledger) -> None:
    """A fixer that is refused again and again makes no work for fixers."""
    refuse(ledger, subject="signal:s_0123456789ab", times=9)
    assert [] == found(ledger)


def test_events_of_others_do_no_harm(ledger: Ledger) -> None:
    """Events of other shapes under the same names are passed over."""
    shapes: list[dict[str, Any]] = [
        {},
        {"critique": {}},
        {"critique": {"score": None}},
        {"stop": {}},
        {"latest": {"x": {"y": {}}}},
    ]
    for data in shapes:
        for kind in ("judgement", "step", "close", "run_stopped"):
            ledger.append(Draft("other", kind, data))
    assert [] == found(ledger)


def test_is_gathered_once(ledger: Ledger) -> None:
    """What was made a signal of is not counted again, and what comes after is."""
    assert (0, 0, 0, ()) == gather(ledger)
    refuse(ledger)
    play(ledger, 0.1, 0.1, 0.1)
    assert 2 == gather(ledger).new
    assert (0, 0, 0, ()) == gather(ledger)
    refuse(ledger, times=1)
    assert (0, 1, 0) == gather(ledger)[:3]
    assert {"denials": 2, "low_score": 1} == {signal.kind: signal.count for signal in signals(ledger)}
    assert ledger.verify().ok


def test_looking_for_nothing_writes_nothing(ledger: Ledger) -> None:
    """A look that finds nothing leaves the ledger as it was."""
    play(ledger, 0.9)
    before = list(ledger.events())
    gather(ledger)
    assert before == list(ledger.events())


def test_many_gather_once(tmp_path: Path) -> None:
    """Several that look at the same time count each friction once."""
    path = tmp_path / "x.db"
    with open_ledger(path) as ledger:
        refuse(ledger, times=12)

    def work(_: int) -> None:
        with open_ledger(path, timeout=60) as ledger:
            gather(ledger)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    with open_ledger(path) as ledger:
        (signal,) = signals(ledger)
        assert 10 == signal.count


def test_an_event_of_another_shape_tells_of_nothing(ledger: Ledger) -> None:
    """Whoever writes events of the same kinds with other data keeps nobody from reading on."""
    ledger.append(Draft("run:x", "run_stopped", {"stop": "x"}), Draft("run:x", "step", {"critique": 3}))
    ledger.append(Draft("tree:x", "judgement", {"latest": {"denials:tree:x": {"k": {"count": "many"}}}}))

    assert (0, 0, 0) == gather(ledger)[:3]
