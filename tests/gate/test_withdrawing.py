"""Requests whose matter is over: closed with a reason, by nobody's answer, and for good."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.gate.desk import NOON, SUBJECT, Clock, Desk, Person, pay, strict, strict_desk
from tests.gate.forger import edit, forged, listed, tamper, write

from indult import Verdict
from indult.approvals import Choice, RequestState, request_stream, standing
from indult.errors import ForgedRecord, ScopeError, WithdrawnRequest
from indult.gate import index
from indult.gate.records import Next
from indult.ledger import Draft
from indult.ledger.sqlite import SqliteLedger
from indult.scopes import Scope


@pytest.fixture(name="desk")
def _desk() -> Desk:
    """Return a desk with an empty ledger."""
    return Desk()


@pytest.fixture(name="office")
def _office(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    """Return a desk with a ledger in a file, under a policy whose only approver is ann."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    clock = Clock()
    with SqliteLedger(tmp_path / "ledger.db", clock=clock) as ledger:
        yield strict_desk(Person("ann"), clock=clock, ledger=ledger)


class TestWithdraw:
    def test_what_is_open_is_closed(self, desk: Desk) -> None:
        """Each open request of the subject is closed with the reason, once, and no list or index names it any more."""
        asked = [desk.ask(pay(n)) for n in (1, 2)]
        desk.decide(asked[1], Choice.DISCUSS, note="which one?")

        assert [2, 0] == [desk.requests.withdraw(SUBJECT, why="it landed") for _ in range(2)]
        found = [desk.requests.standing(one.request.id) for one in asked]
        assert [(RequestState.WITHDRAWN, "it landed")] * 2 == [(one.state, one.withdrawn) for one in found]
        assert "which one?" == found[1].guidance
        assert [] == desk.requests.pending()
        assert {} == desk.ledger.recall(index.opened(SUBJECT)) == desk.ledger.recall(index.OPEN)

    def test_nothing_else_is(self, desk: Desk) -> None:
        """A live grant, a rejection, another kind and another subject stay as they are."""
        granted = desk.approved(pay(1))
        rejected = desk.decide(desk.ask(pay(2)), Choice.REJECT)
        kind = desk.ask(pay(3), kind="other")
        subject = desk.ask(pay(4), subject="run:2")

        assert 0 == desk.requests.withdraw(SUBJECT, why="it landed", kind="call")
        states = [desk.requests.standing(one.request.id).state for one in (granted, rejected, kind, subject)]
        assert [RequestState.APPROVED, RequestState.REJECTED, RequestState.OPEN, RequestState.OPEN] == states
        assert Verdict.APPROVE is desk.gate.check(pay(1), {}).verdict
        assert 1 == desk.requests.withdraw(SUBJECT, why="it landed", kind="other")

    def test_an_approval_that_names_nothing_is_closed(self, desk: Desk) -> None:
        """What is approved and opens nothing is closed too: no index knows of it, and it would be heard as an answer."""
        scope = Scope.nothing(subject=SUBJECT, title="the limit", change="nothing")
        found = desk.approved(scope=scope, kind="handoff")
        assert RequestState.APPROVED is found.state

        assert 1 == desk.requests.withdraw(SUBJECT, why="it landed")
        assert RequestState.WITHDRAWN is desk.requests.standing(found.request.id).state

    def test_what_another_policy_made_open_is_closed(self, desk: Desk) -> None:
        """An approval that lost its force waits again, so it is closed, and opens nothing under the policy of old."""
        found = desk.approved(max_uses=2, until=desk.clock.later(hours=1))
        desk.gate.check(pay(), {})
        later = desk.under(strict(Person("ann")))
        assert RequestState.OPEN is later.standing(found.request.id).state

        assert 1 == later.withdraw(SUBJECT, why="it landed")
        (reservation,) = desk.requests.standing(found.request.id).reservations
        after = desk.requests.not_started(reservation, "the tool is gone")
        assert (RequestState.WITHDRAWN, None) == (after.state, after.grant)
        assert Verdict.ASK_USER is desk.gate.check(pay(), {}).verdict

    def test_the_same_can_be_asked_again(self, desk: Desk) -> None:
        """What was withdrawn is no answer: the next ask is a new request."""
        first = desk.ask()
        desk.requests.withdraw(SUBJECT, why="it landed")
        second = desk.ask(supersede=True)

        assert first.request.id != second.request.id
        assert (RequestState.OPEN, None) == (second.state, second.request.supersedes)

    def test_an_answer_that_was_quicker_counts(self, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where a person answers while it is withdrawn, the request is read anew, and what they opened stays open."""
        found = desk.ask()
        append = desk.ledger.append

        def late(*drafts: Draft, **named: object) -> object:
            monkeypatch.setattr(desk.ledger, "append", append)
            desk.decide(found)
            return append(*drafts, **named)  # type: ignore[arg-type] # as it was called

        monkeypatch.setattr(desk.ledger, "append", late)

        assert 0 == desk.requests.withdraw(SUBJECT, why="it landed")
        assert Verdict.APPROVE is desk.gate.check(pay(), {}).verdict

    def test_an_answer_that_was_slower_does_not(self, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where it is withdrawn while a person answers, the answer is refused, and nothing is open."""
        found = desk.ask()
        append = desk.ledger.append

        def late(*drafts: Draft, **named: object) -> object:
            monkeypatch.setattr(desk.ledger, "append", append)
            assert 1 == desk.requests.withdraw(SUBJECT, why="it landed")
            return append(*drafts, **named)  # type: ignore[arg-type] # as it was called

        monkeypatch.setattr(desk.ledger, "append", late)

        with pytest.raises(WithdrawnRequest, match="it landed"):
            desk.decide(found)
        assert Verdict.ASK_USER is desk.gate.check(pay(), {}).verdict

    def test_a_list_that_leads_astray_closes_nothing(self, desk: Desk) -> None:
        """A request of another subject is not closed, whoever wrote it into the list of this one, nor is what is none."""
        other = desk.ask(subject="run:2")
        for data in ({"request": other.request.id}, {"request": "r_none"}, {}):
            desk.ledger.append(Draft(f"requests:{SUBJECT}", "asked", data))

        assert 0 == desk.requests.withdraw(SUBJECT, why="it landed")
        assert RequestState.OPEN is desk.requests.standing(other.request.id).state

    @pytest.mark.parametrize("why", ["", "one line\nand another", "x" * 501])
    def test_the_reason_is_one_plain_line(self, desk: Desk, why: str) -> None:
        """A reason that could not be shown in a line closes nothing."""
        found = desk.ask()

        with pytest.raises(ScopeError, match="reason"):
            desk.requests.withdraw(SUBJECT, why=why)
        assert RequestState.OPEN is desk.requests.standing(found.request.id).state

    @pytest.mark.parametrize("choice", Choice)
    def test_no_answer_is_taken(self, desk: Desk, choice: Choice) -> None:
        """No decision on a withdrawn request is taken, and the error says why it was withdrawn."""
        found = desk.ask()
        desk.requests.withdraw(SUBJECT, why="signal s_1 landed in main")

        with pytest.raises(
            WithdrawnRequest, match=f"^`{found.request.id}` was withdrawn: signal s_1 landed in main$"
        ) as caught:
            desk.decide(found, choice)
        assert "it needs no answer any more" == caught.value.hint
        assert () == desk.requests.standing(found.request.id).decisions


class TestFold:
    @pytest.mark.parametrize("kinds", [("decided",), ("reserved", "returned"), ("revoked",), ("decided", "expired")])
    def test_nothing_that_follows_opens_it(self, desk: Desk, kinds: tuple[str, ...]) -> None:
        """Whatever stands behind a withdrawal, the request is over and there is no grant."""
        found = desk.ask()
        data: dict[str, Any] = {
            "decided": {"decision": desk.answer(found).to_dict()},
            "reserved": {"reservation": "r.3", "grant": "g"},
            "returned": {"reservation": "r.3"},
        }
        opened = next(desk.ledger.events(request_stream(found.request.id)))
        tail = [("withdrawn", {"why": "it landed"}), *((kind, data.get(kind, {})) for kind in kinds)]
        events: list[Any] = [opened, *(Next(kind, at, at + 1, told) for at, (kind, told) in enumerate(tail, 2))]
        after = standing(events, desk.policy, now=NOON, verify=lambda *given: False)

        assert (True, None, "it landed") == (after.state.closed, after.grant, after.withdrawn)

    @pytest.mark.parametrize("earlier", ["decided", "revoked", "superseded", "expired"])
    def test_it_ends_what_stands_before_it(self, desk: Desk, earlier: str) -> None:
        """A withdrawal in the stream of a request that was approved, or over, opens nothing of it anew."""
        found = desk.ask()
        data: dict[str, Any] = {"decided": {"decision": desk.answer(found).to_dict()}, "superseded": {"by": "r_2"}}
        opened = next(desk.ledger.events(request_stream(found.request.id)))
        events: list[Any] = [
            opened,
            Next(earlier, 2, 3, data.get(earlier, {})),
            Next("withdrawn", 3, 4, {"why": "it landed"}),
        ]
        after = standing(events, desk.policy, now=NOON, verify=lambda *given: False)

        assert (RequestState.WITHDRAWN, None) == (after.state, after.grant)


class TestForging:
    def test_a_withdrawn_request(self, office: Desk) -> None:
        """What was withdrawn cannot be approved, by the front door or the back."""
        found = office.ask()
        answer = office.answer(found)
        office.requests.withdraw(SUBJECT, why="it landed")
        with pytest.raises(WithdrawnRequest, match="it landed"):
            office.requests.decide(answer)
        write(office, found.request.id, "decided", {"decision": answer.to_dict()})
        listed(office, found.request.id)

        assert "is listed as live, and is withdrawn" in forged(office)

    def test_a_withdrawal_that_was_taken_out(self, office: Desk) -> None:
        """A request whose withdrawal was removed, or turned into something else, is damaged and takes no answer."""
        found = office.ask()
        answer = office.answer(found)
        office.requests.withdraw(SUBJECT, why="it landed")
        edit(office, found.request.id, "withdrawn", lambda data: data.update(why="other"), chained=False)
        with pytest.raises(ForgedRecord, match="event 2 of request"):
            office.requests.decide(answer)
        tamper(office, ("DELETE FROM events WHERE kind = 'withdrawn'", ()))

        with pytest.raises(ForgedRecord, match="event 2 of request"):
            office.requests.decide(answer)

    def test_an_older_copy_from_before_a_withdrawal(self, office: Desk) -> None:
        """Where a copy of the ledger from before a withdrawal is put back, nobody can answer in it."""
        found = office.ask()
        answer = office.answer(found)
        office.requests.withdraw(SUBJECT, why="it landed")
        stream = request_stream(found.request.id)
        first = "(SELECT hash FROM events WHERE stream = heads.stream AND version = 1)"
        tamper(
            office,
            ("DELETE FROM events WHERE kind = 'withdrawn'", ()),
            (f"UPDATE heads SET version = 1, hash = {first} WHERE stream = ?", (stream,)),
        )

        with pytest.raises(ForgedRecord, match="an older copy of it was put back"):
            office.requests.decide(answer)

    def test_a_made_up_withdrawal(self, office: Desk) -> None:
        """A withdrawal in another stream than that of the request closes nothing, and opens nothing."""
        found, other = office.ask(), office.ask(pay(2))
        for stream in (SUBJECT, f"requests:{SUBJECT}", request_stream(other.request.id)):
            office.ledger.append(Draft(stream, "withdrawn", {"why": "it landed", "request": found.request.id}))

        assert RequestState.OPEN is office.requests.standing(found.request.id).state
        assert "" == forged(office)
        office.decide(found)
        assert Verdict.APPROVE is office.gate.check(pay(), {}).verdict

    def test_a_withdrawal_outside_of_the_chain(self, office: Desk) -> None:
        """A withdrawal that was put between the events of a request breaks its chain: it takes no answer at all."""
        found = office.ask()
        answer = office.answer(found)
        write(office, found.request.id, "note", {})
        tamper(office, ("UPDATE events SET kind = 'withdrawn', data = ? WHERE kind = 'note'", ('{"why":"it landed"}',)))

        with pytest.raises(ForgedRecord, match="event 2 of request"):
            office.requests.standing(found.request.id)
        with pytest.raises(ForgedRecord, match="event 2 of request"):
            office.requests.decide(answer)

    def test_a_withdrawal_without_a_reason(self, office: Desk) -> None:
        """A withdrawal that says nothing is no event of a request, even in a right chain: the record is damaged."""
        found = office.decide(office.ask())
        write(office, found.request.id, "withdrawn", {})

        assert "cannot be read" in forged(office)
