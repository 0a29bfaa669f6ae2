"""What every ledger must do, as tests: subclass `LedgerSuite` in a test module and give it a fixture `ledger`.

```python
class TestMine(LedgerSuite):
    @pytest.fixture
    def ledger(self):
        with MyLedger() as ledger:
            yield ledger
```
"""

# ruff: noqa: SIM300 # as in all tests, assertions read `expected == actual`

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from indult.canonical import canonical, digest
from indult.errors import InputError, LedgerConflict
from indult.ledger.streams import GENESIS, Body, Draft, Event

if TYPE_CHECKING:
    from indult.ledger.protocol import Ledger

__all__ = ["LedgerSuite"]


def _draft(stream: str = "run:1", kind: str = "step", /, **data: Any) -> Draft:
    return Draft(stream, kind, data)


class LedgerSuite:
    """The conformance tests of the protocol `Ledger`."""

    def test_append_gives_versions_and_positions(self, ledger: Ledger) -> None:
        """Versions count within a stream and positions over all of them, each from 1."""
        ledger.append(_draft("a"))
        ledger.append(_draft("b"), _draft("a"))

        assert [("a", 1, 1), ("b", 1, 2), ("a", 2, 3)] == [
            (event.stream, event.version, event.position) for event in ledger.events()
        ]

    def test_append_returns_what_is_read(self, ledger: Ledger) -> None:
        """The events that `append` returns equal those that are read later, numbers included."""
        written = ledger.append(_draft(number=1.0, small=0.5, text="ü\u2028\x00", nested=[{"a": None}, True]))

        read = tuple(ledger.events())
        assert written == read
        assert (int, float) == (type(read[0].data["number"]), type(read[0].data["small"]))

    def test_append_keeps_no_reference(self, ledger: Ledger) -> None:
        """What the writer does with its data afterwards changes nothing."""
        data: dict[str, Any] = {"list": [1]}
        (event,) = ledger.append(Draft("a", "step", data))
        data["list"].append(2)

        assert {"list": [1]} == event.data == next(ledger.events()).data

    def test_events_are_chained(self, ledger: Ledger) -> None:
        """Each hash is that of the canonical event without its position, and names the one before it."""
        events = ledger.append(_draft("a", n=1), _draft("b"), _draft("a", n=0.5))

        assert [GENESIS, GENESIS, events[0].hash] == [event.prev for event in events]
        for event in events:
            fields = event.to_dict()
            assert fields.pop("hash") == digest({name: fields[name] for name in fields if name != "position"})

    def test_head_is_the_last_event(self, ledger: Ledger) -> None:
        """The head of a stream is version and hash of its last event."""
        events = ledger.append(_draft("a"), _draft("a"), _draft("b"))

        assert (2, events[1].hash) == ledger.head("a")
        assert (0, GENESIS) == ledger.head("none")

    def test_last_by_kind(self, ledger: Ledger) -> None:
        """The last event of a stream is found with and without a kind."""
        ledger.append(_draft("a", "x"), _draft("a", "y"), _draft("a", "x"), _draft("b", "z"), _draft("a", "w"))

        found = [ledger.last("a"), ledger.last("a", "x"), ledger.last("a", "z"), ledger.last("none")]
        assert [5, 3, None, None] == [event and event.position for event in found]

    def test_events_selects(self, ledger: Ledger) -> None:
        """Events are selected by stream, place, kind and number, in either direction."""
        ledger.append(*(_draft("ab"[n % 2], "xyz"[n % 3], n=n) for n in range(12)))

        def numbers(*args: Any, **options: Any) -> list[int]:
            return [event.data["n"] for event in ledger.events(*args, **options)]

        assert list(range(12)) == numbers()
        assert [10, 11] == numbers(after=10)
        assert [9, 11] == numbers("b", after=4)
        assert [0, 1, 3, 4] == numbers(kinds=["x", "y"], limit=4)
        assert [] == numbers(kinds=[])
        assert [] == numbers(limit=0)
        assert [11, 10, 9] == numbers(newest_first=True, limit=3)
        assert [8, 2] == numbers("a", kinds={"z"}, newest_first=True)
        assert [11, 10] == numbers(after=10, newest_first=True)
        with pytest.raises(InputError, match="negative"):
            ledger.events(limit=-1)

    def test_events_ends_where_it_began(self, ledger: Ledger) -> None:
        """What is appended while events are read is not part of that reading."""
        ledger.append(*(_draft(n=n) for n in range(600)))

        for event in ledger.events():
            ledger.append(_draft("other", n=event.position))

        assert 1200 == sum(1 for _ in ledger.events())

    def test_streams(self, ledger: Ledger) -> None:
        """Streams are listed by name with their versions, all or those with a prefix."""
        ledger.append(_draft("run:2"), _draft("run:1"), _draft("signal:1"), _draft("run:2"))

        assert [("run:1", 1), ("run:2", 2), ("signal:1", 1)] == list(ledger.streams())
        assert [("run:1", 1), ("run:2", 2)] == list(ledger.streams("run:"))

    def test_expect_refuses_a_stream_that_moved(self, ledger: Ledger) -> None:
        """A write that expects another version is refused whole; other streams may be expected too."""
        ledger.append(_draft("a"), expect={"a": 0, "b": 0})

        for expect in ({"a": 0}, {"a": 1, "b": 1}):
            with pytest.raises(LedgerConflict, match="version"):
                ledger.append(_draft("a", counts={"s": {"n": 1}}), _draft("b"), expect=expect)

        assert (1, 0, 0) == (ledger.head("a")[0], ledger.head("b")[0], ledger.counter("s", "n"))
        assert () == ledger.append(expect={"a": 1})

    def test_a_refused_draft_writes_nothing(self, ledger: Ledger) -> None:
        """A draft that cannot be kept takes the drafts and bodies beside it along."""
        body = Body("beside")
        bad: dict[str, Any]
        for bad in (
            {"x": object()},
            {"x": float("nan")},
            {"bodies": []},
            {"counts": {"s": {"n": "1"}}},
            {"counts": {"s": {"n": True}}},
            {"counts": {"s": 1}},
            {"counts": {"s": {"n": 2**53}}},
            {"counts": {"s": {"n": 2**53 - 1, "m": 1}}, "latest": {"s": {"k": "text"}}},
            {"keep": {"s": {"k": []}}},
            {"clear": "s"},
            {"clear": [1]},
            {"latest": {"": {"k": {}}}},
            {"x": "y" * 1_100_000},
        ):
            with pytest.raises(InputError):
                ledger.append(Draft("a", "step", {"counts": {"s": {"m": 1}}}, (body,)), Draft("a", "step", bad))
        for stream, kind in (("", "k"), ("a\n", "k"), ("a", ""), ("ledger", "anchored"), ("a" * 1025, "k")):
            with pytest.raises(InputError):
                ledger.append(Draft(stream, kind, {}))

        assert ([], 0, None) == (list(ledger.events()), ledger.counter("s", "m"), ledger.body(body.digest))

    def test_a_counter_stays_exact(self, ledger: Ledger) -> None:
        """A counter that would pass 2**53 - 1 is refused, also by several drafts together."""
        ledger.append(_draft(counts={"s": {"n": 2**53 - 2}}))

        with pytest.raises(InputError, match="`n` of `s`"):
            ledger.append(_draft(counts={"s": {"n": 1}}), _draft(counts={"s": {"n": 1}}))
        ledger.append(_draft(clear=["s"], counts={"s": {"n": 2**53 - 1}}))

        assert 2**53 - 1 == ledger.counter("s", "n")

    def test_counters(self, ledger: Ledger) -> None:
        """Deltas are added up, integers staying integers; names are selected by prefix."""
        ledger.append(_draft(counts={"s": {"bond:b": 1, "bond:a": 2, "bonus": 0.25, "turns": 3}, "t": {"turns": 9}}))
        ledger.append(_draft(counts={"s": {"bond:b": -4, "bonus": 0.25, "\U0010ffff": 1, "\ud7ff": 1, "\ue000x": 1}}))

        assert {"bond:a": 2, "bond:b": -3, "bonus": 0.5} == ledger.counters("s", "bon")
        assert {"bond:a": 2, "bond:b": -3} == ledger.counters("s", "bond:")
        assert ["bond:a", "bond:b", "bonus", "turns", "\ud7ff", "\ue000x", "\U0010ffff"] == list(ledger.counters("s"))
        assert {"\U0010ffff": 1} == ledger.counters("s", "\U0010ffff")
        assert {"\ud7ff": 1} == ledger.counters("s", "\ud7ff")
        ledger.append(_draft(counts={"u": {"a\U0010ffffb": 1, "a\U0010ffff": 2, "a": 3, "b": 4}}))
        assert {"a\U0010ffffb": 1, "a\U0010ffff": 2} == ledger.counters("u", "a\U0010ffff")
        assert (3, int, 0) == (
            ledger.counter("s", "turns"),
            type(ledger.counter("s", "turns")),
            ledger.counter("s", "none"),
        )

    def test_top(self, ledger: Ledger) -> None:
        """The largest counter with a prefix is found, the first by name among equals."""
        ledger.append(_draft(counts={"s": {"bond:b": 2, "bond:c": 2, "bond:a": 1.5, "turns": 30}}))

        assert ("bond:b", 2) == ledger.top("s", "bond:")
        assert ("turns", 30) == ledger.top("s")
        assert None is ledger.top("s", "x")
        ledger.append(_draft(counts={"s": {"bond:b": -1, "bond:a": 1}}))
        assert ("bond:a", 2.5) == ledger.top("s", "bond:")
        ledger.append(_draft(counts={"s": {"bond:a:x": 1, "bond:a:y": 2, ":z": 7, "bonds": 8}}))
        assert [("bond:a:y", 2), (":z", 7), ("bonds", 8), None] == [
            ledger.top("s", prefix) for prefix in ("bond:a:", ":", "bond", "bond:a:z")
        ]

    def test_latest_and_kept(self, ledger: Ledger) -> None:
        """`latest` keeps the last object under a key, `keep` all distinct ones in order of first occurrence."""
        for value in ({"n": 2}, {"n": 1, "m": 0.5}, {"m": 0.5, "n": 1.0}, {"n": 2}):
            ledger.append(_draft(latest={"s": {"k": value}}, keep={"s": {"k": value}}))

        assert {"n": 2} == ledger.latest("s", "k")
        assert [{"n": 2}, {"n": 1, "m": 0.5}] == ledger.remembered("s", "k")
        assert (None, []) == (ledger.latest("s", "x"), ledger.remembered("x", "k"))

    def test_recall(self, ledger: Ledger) -> None:
        """The last objects of a scope are listed by key, and null removes one; a second null does no harm."""
        ledger.append(_draft(latest={"s": {"b": {"n": 1}, "a": {"n": 2}, "c": {}}, "t": {"a": {}}}))
        ledger.append(_draft(latest={"s": {"c": None, "none": None}, "u": {"none": None}}))

        assert [("a", {"n": 2}), ("b", {"n": 1})] == list(ledger.recall("s").items())
        assert (None, {}, {}) == (ledger.latest("s", "c"), ledger.recall("u"), ledger.recall("none"))
        ledger.append(_draft(latest={"s": {"c": None}}), _draft(latest={"s": {"c": {"n": 3}}}))
        assert {"n": 3} == ledger.latest("s", "c")
        ledger.append(_draft(latest={"s": {"a": None}}), _draft(clear=["t"], latest={"t": {"b": {}}}))
        assert ({"b": {"n": 1}, "c": {"n": 3}}, {"b": {}}) == (ledger.recall("s"), ledger.recall("t"))
        assert ledger.verify().ok
        ledger.rebuild()
        assert ({"b": {"n": 1}, "c": {"n": 3}}, {"b": {}}) == (ledger.recall("s"), ledger.recall("t"))

    def test_clear_comes_first(self, ledger: Ledger) -> None:
        """`clear` forgets a scope in all views before the same event adds to it, and no other scope."""
        for scope in ("s", "t"):
            ledger.append(
                _draft(counts={scope: {"n": 1}}, latest={scope: {"k": {"a": 1}}}, keep={scope: {"k": {"a": 1}}})
            )
        ledger.append(_draft(clear=["s", "u"], counts={"s": {"m": 5}}, keep={"s": {"k": {"b": 1}}}))

        assert ({"m": 5}, None, [{"b": 1}]) == (
            ledger.counters("s"),
            ledger.latest("s", "k"),
            ledger.remembered("s", "k"),
        )
        assert ({"n": 1}, {"a": 1}) == (ledger.counters("t"), ledger.latest("t", "k"))

    def test_rebuild_gives_the_same_views(self, ledger: Ledger) -> None:
        """Views folded again from the events equal those that were kept along."""
        for n in range(30):
            ledger.append(
                _draft(
                    counts={"s": {f"c{n % 4}": n * 0.1, "n": 1}},
                    latest={"s": {f"k{n % 3}": {"n": n}}},
                    keep={"s": {"k": {"n": n % 7}}},
                    clear=["s"] if n == 11 else [],
                )
            )
        before = _views(ledger)

        assert 30 == ledger.rebuild()
        assert before == _views(ledger)
        assert ledger.verify().ok

    def test_bodies(self, ledger: Ledger) -> None:
        """A body is kept under its digest, once, and its digest stands in the event."""
        body = Body("text \x00 ü")
        events = ledger.append(
            Draft("a", "step", {"text": {"body": body.digest}}, (body, body)), Draft("a", "step", {}, (body,))
        )

        assert "text \x00 ü" == ledger.body(body.digest)
        assert [[body.digest], [body.digest]] == [event.data["bodies"] for event in events]
        assert (1, 0) == (ledger.verify().bodies, ledger.verify().forgotten)

    def test_forget(self, ledger: Ledger) -> None:
        """A forgotten body is gone, the ledger says so in an event, and the chain still verifies."""
        body, other = Body("to be forgotten"), Body("to stay")
        ledger.append(Draft("a", "step", {}, (body, other)))

        assert [True, False] == [ledger.forget(body.digest), ledger.forget(body.digest)]
        assert (None, "to stay") == (ledger.body(body.digest), ledger.body(other.digest))
        last = ledger.last("ledger", "forgotten")
        assert last is not None
        assert {"body": body.digest} == last.data
        found = ledger.verify()
        assert (True, 1, 1) == (found.ok, found.bodies, found.forgotten)

    def test_forget_what_never_was(self, ledger: Ledger) -> None:
        """To forget a body that no event carries is an error and writes nothing."""
        with pytest.raises(InputError, match="no body"):
            ledger.forget(GENESIS)

        assert [] == list(ledger.events())

    def test_a_forgotten_body_can_come_again(self, ledger: Ledger) -> None:
        """A body that a later event carries again is kept again, and can be forgotten again."""
        body = Body("again")
        ledger.append(Draft("a", "step", {}, (body,)))
        ledger.forget(body.digest)
        ledger.append(Draft("a", "step", {}, (body,)))

        assert "again" == ledger.body(body.digest)
        assert ledger.verify().ok
        assert ledger.forget(body.digest)
        assert ledger.verify().ok

    def test_secrets_are_masked(self, ledger: Ledger) -> None:
        """What looks like a secret is kept nowhere: not in events, views or bodies."""
        secret = "ghp_" + "a1B2" * 9
        body = Body(f"token is {secret}")
        ledger.append(
            Draft(
                "a",
                "step",
                {
                    "x": secret,
                    "password": "hunter2",
                    "latest": {"s": {"k": {"v": secret}}},
                    "counts": {secret: {"n": 1}},
                },
                (body,),
            )
        )

        shown = canonical([event.to_dict() for event in ledger.events()]) + canonical(_views(ledger))
        assert "token is [masked:github-token]" == ledger.body(body.digest)
        assert secret not in shown
        assert "hunter2" not in shown
        assert {"v": "[masked:github-token]"} == ledger.latest("s", "k")
        assert ledger.verify().ok

    def test_anchors_chain(self, ledger: Ledger) -> None:
        """Each anchor names the one before it and fixes all that stands before its own event."""
        first = ledger.anchor()
        ledger.append(_draft("a"), _draft("b"))
        second = ledger.anchor()

        assert (0, GENESIS, GENESIS) == (first.position, first.digest, first.prev)
        assert (3, first.hash) == (second.position, second.prev)
        assert ledger.head("ledger") == (second.version, second.hash)
        assert type(second).from_dict(second.to_dict()) == second

    def test_verify_with_anchors(self, ledger: Ledger) -> None:
        """A ledger verifies against its own anchors and says which events they do not cover."""
        ledger.append(_draft("a"))
        anchors = [ledger.anchor()]
        whole = ledger.verify(anchors)
        ledger.append(_draft("a"))
        more = ledger.verify(anchors)

        assert (True, 1, None) == (whole.ok, whole.anchored, whole.blind)
        assert more.ok
        assert more.blind is not None
        assert "the event after position 2" in more.blind
        assert "whole" in (ledger.verify().blind or "")

    def test_verify_finds_a_foreign_anchor(self, ledger: Ledger) -> None:
        """An anchor of another ledger, or of events that are gone, is found missing."""
        ledger.append(_draft("a"))
        anchor = ledger.anchor()
        fields = anchor.to_dict()
        for name, value in (("hash", GENESIS), ("position", 7), ("version", 2)):
            found = ledger.verify([type(anchor).from_dict({**fields, name: value})])
            assert ["anchor"] == [str(fault.damage) for fault in found.faults]

    def test_an_event_survives_its_json(self, ledger: Ledger) -> None:
        """The JSON form of an event gives the event again."""
        (event,) = ledger.append(_draft(n=[1, "x"]))

        assert event == Event.from_dict(event.to_dict())
        with pytest.raises(InputError, match="`hash`"):
            Event.from_dict({**event.to_dict(), "hash": 1})


def _views(ledger: Ledger) -> dict[str, Any]:
    """Return what the views say of the scopes and keys that the suite uses."""
    return {
        scope: [
            ledger.counters(scope),
            {key: ledger.latest(scope, key) for key in ("k", "k0", "k1", "k2")},
            ledger.remembered(scope, "k"),
            ledger.top(scope, "c"),
        ]
        for scope in ("s", "t")
    }
