"""Sightings become signals, once each."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indult.autofix import signals as module
from indult.autofix.fingerprints import signal_id
from indult.autofix.signals import (
    MAX_DETAIL,
    Sighting,
    Signal,
    SignalState,
    Together,
    find,
    ingest,
    move,
    signals,
    tally,
)
from indult.errors import InputError, LedgerConflict, UnknownSignal
from indult.ledger import Body, Draft, open_ledger
from indult.scopes import check_line
from indult.testing.memory import MemoryLedger

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from indult.ledger import Ledger


class Clock:
    """A clock that goes on by a second each time it is read."""

    def __init__(self) -> None:
        self.seconds = 0

    def __call__(self) -> str:
        self.seconds += 1
        return f"2026-03-01T00:{self.seconds // 60:02d}:{self.seconds % 60:02d}.000000Z"


def seen(summary: str = "assert 1 == 2", **values: Any) -> Sighting:
    """Return a sighting of a failed test."""
    return Sighting(kind="test", summary=summary, **values)


def one(ledger: Ledger, summary: str = "assert 1 == 2", **values: Any) -> Signal:
    """Ingest one sighting and return its signal."""
    (name,) = ingest(ledger, [seen(summary, **values)]).ids
    return find(ledger, name)


@pytest.fixture(name="ledger", params=["memory", "sqlite"])
def _ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ledger]:
    """Open a ledger of either kind."""
    with MemoryLedger() if request.param == "memory" else open_ledger(tmp_path / "x.db") as ledger:
        yield ledger


def test_is_made_once(ledger: Ledger) -> None:
    """Sightings of one fault are one signal, that counts them and keeps the newest evidence."""
    first = ingest(ledger, [seen("took 3 s", detail="one"), seen("took 4 s", detail="two", times=3)], clock=Clock())
    again = ingest(ledger, [seen("took 99 s", source="b.py")], clock=Clock())
    assert (1, 0, 0) == first[:3]
    assert (0, 1, 0) == again[:3]
    assert first.ids == again.ids
    signal = find(ledger, first.ids[0])
    assert ("took 3 s", "", 5, SignalState.NEW) == (signal.summary, signal.source, signal.count, signal.state)
    assert "two" == ledger.body(str(signal.detail))
    assert [signal] == list(signals(ledger))


def test_counts_what_became_of_them(ledger: Ledger) -> None:
    """What is told of a batch is how many signals are new, only counted, and new again."""
    one(ledger, "a")
    move(ledger, one(ledger, "b"), SignalState.LANDED, reason="landed")
    found = ingest(ledger, [seen("a"), seen("b"), seen("c"), seen("c"), seen("b")])
    assert (1, 1, 1, 3) == (found.new, found.again, found.reopened, len(found.ids))


def test_a_landed_one_is_new_again(ledger: Ledger) -> None:
    """A fault that is seen after its fix landed waits again, and what was spent on it is not forgotten."""
    more = {"turns": 2, "ended_at": "2026-03-01T00:00:00.000000Z", "priority": 5, "rule": "payments"}
    move(ledger, one(ledger), SignalState.LANDED, reason="landed", more=more)
    signal = one(ledger)
    assert (SignalState.NEW, "seen again after it landed") == (signal.state, signal.reason)
    assert more == {name: getattr(signal, name) for name in more}
    assert [] == list(signals(ledger, SignalState.LANDED))
    assert [signal] == list(signals(ledger, SignalState.NEW))


@pytest.mark.parametrize("state", [state for state in SignalState if state is not SignalState.LANDED])
def test_others_are_only_counted(ledger: Ledger, state: SignalState) -> None:
    """A sighting sets no state back that somebody gave a signal."""
    moved = move(ledger, one(ledger), state, reason="because")
    again = one(ledger)
    assert (state, "because", 2) == (again.state, again.reason, again.count)
    assert moved.seen_at <= again.seen_at


def test_moves(ledger: Ledger) -> None:
    """A move records what was, what is and why, and what else is to be known, in one transaction with other drafts."""
    signal = one(ledger)
    moved = move(
        ledger,
        signal,
        SignalState.FIX,
        reason="a rule\nsays so",
        kind="triaged",
        more={"priority": 7, "rule": "payments", "rules": ["payments"], "latest": {"other": {"k": {"v": 1}}}},
        drafts=[Draft("elsewhere", "note", {})],
        bodies=[Body("output")],
    )
    assert find(ledger, signal.id) == moved
    assert (SignalState.FIX, "a rule says so", 7, "payments") == (moved.state, moved.reason, moved.priority, moved.rule)
    event = ledger.last(signal.subject)
    assert event is not None
    assert ("triaged", "new", "fix", ["payments"]) == (
        event.kind,
        event.data["before"],
        event.data["state"],
        event.data["rules"],
    )
    assert {"v": 1} == ledger.latest("other", "k")
    assert (1, True) == (ledger.head("elsewhere")[0], ledger.body(event.data["bodies"][0]) == "output")
    assert ledger.verify().ok


def test_keeps_what_a_move_does_not_name(ledger: Ledger) -> None:
    """What is known of the work on a signal stays until a move says otherwise."""
    move(ledger, one(ledger).id, SignalState.FIX, reason="a", more={"priority": 7, "turns": 1})
    moved = move(ledger, one(ledger).id, SignalState.FIXING, reason="b", more={"turns": 2, "rule": "r"})
    assert (7, 2, "r") == (moved.priority, moved.turns, moved.rule)
    assert moved == find(ledger, moved.id)


def test_a_sighting_does_not_stop_a_move(ledger: Ledger) -> None:
    """Whoever read a signal can move it though it was seen again."""
    signal = one(ledger)
    one(ledger)
    assert 2 == move(ledger, signal, SignalState.FIX, reason="r").count


def test_another_move_does(ledger: Ledger) -> None:
    """Whoever read a signal that somebody moved since cannot move it, and nothing is written."""
    signal = one(ledger)
    move(ledger, signal, SignalState.IGNORED, reason="r")
    with pytest.raises(LedgerConflict, match="moved meanwhile: `signal_moved`"):
        move(ledger, signal, SignalState.FIX, reason="r", drafts=[Draft("elsewhere", "note", {})])
    assert 0 == ledger.head("elsewhere")[0]
    assert SignalState.IGNORED is find(ledger, signal.id).state


def test_another_state_does(ledger: Ledger) -> None:
    """A move can name the state that it is made from."""
    signal = one(ledger)
    with pytest.raises(LedgerConflict, match="in the state `new`, not `fix`"):
        move(ledger, signal.id, SignalState.FIXING, reason="r", expect_state=SignalState.FIX)
    move(ledger, signal.id, SignalState.FIX, reason="r", expect_state=SignalState.NEW)


def test_another_stream_does(ledger: Ledger) -> None:
    """Drafts for other streams are written only if those are where their writer read them."""
    signal = one(ledger)
    ledger.append(Draft("elsewhere", "note", {}))
    with pytest.raises(LedgerConflict, match="`elsewhere` has version 1"):
        move(ledger, signal, SignalState.FIX, reason="r", expect={"elsewhere": 0})
    assert SignalState.NEW is find(ledger, signal.id).state


@pytest.mark.parametrize("key", ["before", "state", "reason", "clear", "bodies"])
def test_a_move_writes_its_own_keys(key: str) -> None:
    """What a move records of the states cannot be given by its caller."""
    ledger = MemoryLedger()
    with pytest.raises(InputError, match=f"the key `{key}`"):
        move(ledger, one(ledger), SignalState.FIX, reason="r", more={key: "x"})


def test_a_move_needs_a_reason() -> None:
    """No signal is in a state for no reason."""
    ledger = MemoryLedger()
    with pytest.raises(InputError, match="no reason"):
        move(ledger, one(ledger), SignalState.FIX, reason=" \n")


def test_are_listed_by_priority_then_age(ledger: Ledger) -> None:
    """What matters most comes first, and what waits longest of that."""
    clock = Clock()
    for name in ("a", "b", "c", "d"):
        ingest(ledger, [seen(name)], clock=clock)
    listed = {signal.summary: signal for signal in signals(ledger)}
    assert ["a", "b", "c", "d"] == list(listed)
    move(ledger, listed["c"], SignalState.FIX, reason="r", more={"priority": 9})
    move(ledger, listed["b"], SignalState.FIX, reason="r")
    move(ledger, listed["a"], SignalState.IGNORED, reason="r")
    assert ["c", "b"] == [signal.summary for signal in signals(ledger, SignalState.FIX)]
    for state, count in tally(ledger).items():
        assert count == len(list(signals(ledger, state))), state
    assert ["c", "b", "d"] == [signal.summary for signal in signals(ledger, SignalState.FIX, SignalState.NEW)]


def test_can_be_moved_while_listed(ledger: Ledger) -> None:
    """Whoever goes through the signals may move each, and meets none twice."""
    ingest(ledger, [seen(name) for name in "abc"])
    for signal in signals(ledger, SignalState.NEW, SignalState.FIX):
        move(ledger, signal, SignalState.FIX, reason="r", expect_state=SignalState.NEW)
    assert 3 == len(list(signals(ledger, SignalState.FIX)))


def test_unknown_ones(ledger: Ledger) -> None:
    """Who misses a signal by a letter is told which one may have been meant."""
    signal = one(ledger)
    near = signal.id[:-1] + ("0" if signal.id[-1] != "0" else "1")
    with pytest.raises(UnknownSignal, match=f"there is no signal `{near}`") as caught:
        find(ledger, near)
    assert f"did you mean `{signal.id}`?" == caught.value.hint
    with pytest.raises(UnknownSignal) as caught:
        find(ledger, "\u202e\n" * 900)
    assert "`indult signal list` lists them" == caught.value.hint


def test_what_is_shown_is_plain() -> None:
    """Nothing that is seen of a sighting moves a cursor, turns a line around or makes another line of it."""
    sighting = seen("\x1b[31mE\x1b[0m  line\nstate: landed \u202e", source="a\tb")
    assert "E line state: landed \\u202e" == sighting.summary
    assert "a b" == sighting.source
    check_line(sighting.summary, "summary")


def test_long_ones_are_cut() -> None:
    """A summary keeps its beginning, evidence its beginning and its end; the key counts beyond the summary."""
    sighting = seen("x y " * 1000, detail="begin" + "-" * 10**6 + "end")
    assert (200, "…") == (len(sighting.summary), sighting.summary[-1])
    assert len(sighting.detail) <= MAX_DETAIL
    assert sighting.detail.startswith("begin")
    assert sighting.detail.endswith("end")
    assert seen("x " * 300 + "a").fingerprint != seen("x " * 300 + "b").fingerprint


def test_secrets_are_masked_before_the_cut() -> None:
    """A secret that a cut would halve is known as one and kept nowhere."""
    token = "ghp_" + "a1B2" * 9
    for lead in range(160, 200):
        assert "ghp_a1B" not in seen("x" * lead + " " + token).summary
    for lead in range(9_950, 10_000):
        assert "a1B2a1" not in seen(detail="x" * lead + " " + token + " " + "y" * 30_000).detail


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"kind": "Two words"}, "is no kind of a signal"),
        ({"kind": "a\n"}, "is no kind of a signal"),
        ({"summary": " \n\t"}, "no summary"),
        ({"times": 0}, "`0` times"),
        ({"times": True}, "`True` times"),
        ({"times": 10**7}, "`10000000` times"),
    ],
)
def test_what_is_no_sighting(values: dict[str, Any], message: str) -> None:
    """A sighting without a kind, a summary or a number is refused."""
    with pytest.raises(InputError, match=message):
        Sighting(**{"kind": "test", "summary": "x", **values})


def test_any_text_can_be_ingested(ledger: Ledger) -> None:
    """What no ledger could keep in a text is spelled out."""
    signal = one(ledger, "a\ud800b\0c", detail="\ud800\0", source="\udcff")
    assert "a\\ud800b\\u0000c" == signal.summary
    assert ledger.body(str(signal.detail)) is not None
    assert ledger.verify().ok


def test_together_is_all_or_nothing(ledger: Ledger) -> None:
    """Sightings of any number and a draft are written at once, and only where the stream of the draft stands."""
    many = [seen(f"word{chr(97 + n % 26)} {chr(97 + n // 26)}x") for n in range(600)]
    mark = Together(Draft("place", "read", {}), 0)
    found = ingest(ledger, iter(many), together=mark)
    assert (600, 1) == (found.new, ledger.head("place")[0])
    with pytest.raises(LedgerConflict, match="`place`"):
        ingest(ledger, [seen("late")], together=mark)
    assert 600 == len(list(signals(ledger)))


NAMES = ("alpha", "beta", "gamma")
ACTS = st.one_of(
    st.builds(
        lambda name, times, detail: seen(name, times=times, detail=detail),
        *map(st.sampled_from, (NAMES, (1, 2, 7), ("", "x", "y"))),
    ),
    st.tuples(st.sampled_from(NAMES), st.sampled_from(list(SignalState))),
)


@given(acts=st.lists(ACTS, max_size=25), batch=st.integers(1, 5))
def test_ingest_is_the_naive_fold(acts: list[Any], batch: int) -> None:
    """However sightings are put into batches, what stands in the end is what counting one by one gives."""
    ledger = MemoryLedger()
    naive: dict[str, dict[str, Any]] = {}
    waiting: list[Sighting] = []

    def write() -> None:
        for start in range(0, len(waiting), batch):
            ingest(ledger, waiting[start : start + batch])
        waiting.clear()

    for act in acts:
        if isinstance(act, Sighting):
            waiting.append(act)
            known = naive.setdefault(act.summary, {"count": 0, "state": SignalState.NEW, "detail": None})
            known["count"] += act.times
            known["detail"] = act.detail or known["detail"]
            known["state"] = SignalState.NEW if known["state"] is SignalState.LANDED else known["state"]
        elif act[0] in naive:
            write()
            move(ledger, signal_id(seen(act[0]).fingerprint), act[1], reason="r")
            naive[act[0]]["state"] = act[1]
    write()
    found = {
        signal.summary: {
            "count": signal.count,
            "state": signal.state,
            "detail": signal.detail and ledger.body(signal.detail),
        }
        for signal in signals(ledger)
    }
    assert naive == found
    for state in SignalState:
        names = {name for name, known in naive.items() if known["state"] is state}
        assert names == {signal.summary for signal in signals(ledger, state)}
    assert ledger.verify().ok


def test_batches_are_written_on_the_way(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sightings that come without end are in the ledger while they still come."""
    monkeypatch.setattr(module, "_BATCH", 10)
    held: list[int] = []

    def coming() -> Iterator[Sighting]:
        for number in range(100):
            held.append(number - sum(int(count) for count in ledger.counters("signals:count").values()))
            yield seen("the same")

    ingest(ledger, coming())
    assert 10 == max(held) + 1
    assert {100} == set(ledger.counters("signals:count").values())


@pytest.mark.parametrize("act", ["ingest", "move"])
def test_writers_lose_nothing(tmp_path: Path, act: str) -> None:
    """Several writers of one signal wait for each other: every sighting counts, and of equal moves one is made."""
    path = tmp_path / "x.db"
    with open_ledger(path) as ledger:
        signal = one(ledger)

    def work(_: int) -> int:
        with open_ledger(path, timeout=60) as ledger:
            if act == "ingest":
                return sum(len(ingest(ledger, [seen(), seen(f"a {chr(97 + n)}x")]).ids) for n in range(10))
            one(ledger)
            try:
                move(ledger, signal, SignalState.FIX, reason="r")
            except LedgerConflict:
                return 0
            return 1

    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(work, range(4)))
    with open_ledger(path) as ledger:
        if act == "ingest":
            assert 41 == find(ledger, signal.id).count
            assert {4} == {found.count for found in signals(ledger) if found.id != signal.id}
        else:
            assert 1 == sum(done)
            assert 5 == find(ledger, signal.id).count
        assert ledger.verify().ok
