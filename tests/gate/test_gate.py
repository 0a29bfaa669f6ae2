from __future__ import annotations

import json
from typing import Any

import pytest

from indult import Action, Gate, Verdict, loads_policy
from indult.approvals import Choice, HumanDecision, Via
from indult.canonical import canonical
from indult.errors import InputError
from indult.gate import PREVIEW_BYTES
from indult.testing.memory import MemoryLedger

LAW = """
schema: 1
default: deny
context: {world: {cap: int}}
rules:
  - {id: cap, tool: move, effect: deny, when: args.n > world.cap, says: Stay low., downgrade: [{n: 1}]}
  - {id: move, tool: move, effect: allow}
  - {id: full, tool: full, effect: allow, record: full}
  - {id: spare, tool: spare, effect: allow, record: digest}
"""
FACTS = {"world": {"cap": 4}}


@pytest.fixture(name="gate")
def _gate() -> Gate:
    """Return a gate for one subject with an empty ledger."""
    return Gate(loads_policy(LAW), MemoryLedger(), "tree:here")


def kept(gate: Gate, part: str = "content") -> Any:
    """Return what the ledger kept of the only judgement."""
    (event,) = gate.ledger.events()
    text = gate.ledger.body(event.data[part]["body"]) if part in event.data else None
    return None if text is None else json.loads(text)


class TestReview:
    def test_leaves_no_trace(self, gate: Gate) -> None:
        """A review judges and writes nothing."""
        assert Verdict.DOWNGRADE is gate.review(Action(tool="move", args={"n": 9}), FACTS).verdict
        assert [] == list(gate.ledger.events())


class TestCheck:
    def test_records_the_judgement_in_the_stream_of_the_subject(self, gate: Gate) -> None:
        """A check is one event, with the verdict, the digest of the action and the boundary that judged."""
        action = Action(tool="move", args={"n": 9})
        judgement = gate.check(action, FACTS, briefed="sha256:read")
        (event,) = gate.ledger.events()

        assert ("tree:here", "judgement", "move") == (event.stream, event.kind, event.data["tool"])
        assert action.digest == event.data["action"]
        assert judgement.boundary == event.data["judgement"]["boundary"] == gate.boundary().digest
        assert "sha256:read" == event.data["judgement"]["briefed"]

    def test_a_denial_by_an_error_is_recorded_however_long_the_argument(self) -> None:
        """A condition that quotes a huge argument in its error is told in short, and the denial stands in the ledger."""
        when = "timestamp(args.t) > timestamp('2020-01-01T00:00:00Z')"
        law = (
            f'schema: 1\ndefault: deny\nrules:\n  - {{id: late, tool: when, effect: deny, says: No., when: "{when}"}}\n'
        )
        gate = Gate(loads_policy(law), MemoryLedger(), "tree:here")
        found = gate.check(Action(tool="when", args={"t": "2020-13-01T00:00:00." + "0" * 600_000 + "Z"}), {})

        assert (Verdict.DENY, ["judgement"]) == (found.verdict, [event.kind for event in gate.ledger.events()])
        assert max(map(len, found.errors)) <= len("late: ") + 300
        assert found.errors[0].endswith("…")

    def test_keeps_arguments_and_facts_beside_the_event(self, gate: Gate) -> None:
        """Arguments, the rung that may run and the facts are bodies, which can be forgotten without breaking a chain."""
        gate.check(Action(tool="move", args={"n": 9}), FACTS)

        assert {"args": {"n": 9}, "instead": {"n": 1}} == kept(gate)
        assert FACTS == kept(gate, "facts")

    def test_facts_are_those_of_the_moment(self, gate: Gate) -> None:
        """Facts that change between two checks are recorded as they were at each."""
        facts = {"world": {"cap": 4}}
        gate.check(Action(tool="move", args={"n": 1}), facts)
        facts["world"]["cap"] = 8
        gate.check(Action(tool="move", args={"n": 1}), facts)
        bodies = [gate.ledger.body(event.data["facts"]["body"]) for event in gate.ledger.events()]

        assert ['{"world":{"cap":4}}', '{"world":{"cap":8}}'] == bodies


LONG = {"text": "x" * 3000}


class TestRecord:
    def test_a_preview_is_cut_at_2_kb(self, gate: Gate) -> None:
        """By default the ledger keeps the beginning of long arguments and says how long they were."""
        gate.check(Action(tool="move", args={"n": 1, **LONG}), FACTS)
        found = kept(gate)

        assert {"bytes", "preview"} == found.keys()
        assert (PREVIEW_BYTES, len(canonical({"args": {"n": 1, **LONG}}))) == (
            len(found["preview"]),
            found["bytes"],
        )

    def test_full_keeps_everything(self, gate: Gate) -> None:
        """A rule may ask for all of the arguments."""
        gate.check(Action(tool="full", args=LONG), FACTS)

        assert {"args": LONG} == kept(gate)

    def test_digest_keeps_nothing(self, gate: Gate) -> None:
        """A rule may ask for the digest of the action alone."""
        gate.check(Action(tool="spare", args=LONG), FACTS)

        assert kept(gate) is None

    def test_secrets_are_masked_inside_their_string(self, gate: Gate) -> None:
        """What looks like a secret is not kept, and the JSON around it stays JSON."""
        gate.check(Action(tool="move", args={"n": 1, "cmd": 'curl -H "Authorization: Bearer abcdef0123456789"'}), FACTS)
        found = kept(gate)

        assert "abcdef0123456789" not in json.dumps(found)
        assert 1 == found["args"]["n"]


class TestSubject:
    @pytest.mark.parametrize("name", ["", "ledger", "request:r_1", "requests:s", "trust:x", "memory:mixer"])
    def test_is_no_stream_of_other_records(self, name: str) -> None:
        """A judgement is never written among requests, trust or the ledger's own events, where it could pass for one."""
        with pytest.raises(InputError, match="cannot be a subject"):
            Gate(loads_policy(LAW), MemoryLedger(), name)


class TestAnswer:
    def test_whoever_asked_reads_what_a_person_answered(self) -> None:
        """A rejection with its note is part of the reason the next time the same is tried, so nobody waits for ever."""
        law = loads_policy("schema: 1\ndefault: deny\nrules: [{id: send, tool: send, effect: ask, says: Ask first.}]")
        gate = Gate(law, MemoryLedger(), "session:1")
        action = Action(tool="send", args={"to": "x"})
        request = gate.check(action, {}).request
        assert request is not None
        asked = gate.requests.standing(request)
        gate.requests.decide(
            HumanDecision(
                id="d_1",
                request=request,
                choice=Choice.REJECT,
                digest=asked.request.digest,
                seen=0,
                by="ann",
                via=Via.CLI,
                at="2026-01-01T00:00:00.000000Z",
                note="wrong address",
            )
        )

        assert f"(request `{request}`: ann chose to reject: wrong address)" in gate.check(action, {}).reason
