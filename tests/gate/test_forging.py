"""Ways to get an action through that nobody approved: each opens nothing and is refused by name.

The forger can write the ledger's file; what is called a right chain is one whose hashes and heads were computed anew.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.gate.desk import Clock, Desk, Person, pay, strict, strict_desk
from tests.gate.forger import edit, forged, forget_mark, listed, path_of, refused, tamper, write

from indult import Verdict
from indult.approvals import Choice, HumanDecision, RequestState, Standing, request_stream
from indult.canonical import canonical
from indult.errors import (
    BadSignature,
    ExpiredRequest,
    ForgedRecord,
    OvertakenDecision,
    ReplayedDecision,
    SelfMadeDecision,
    StaleDecision,
    SupersededRequest,
    UnentitledApprover,
)
from indult.gate import index
from indult.ledger import Draft
from indult.ledger.sqlite import SqliteLedger

ANN, AGENT = Person("ann"), Person("agent")


@pytest.fixture(name="desk")
def _desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    """Return a desk with a ledger in a file, under a policy whose only approver is ann."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    clock = Clock()
    with SqliteLedger(tmp_path / "ledger.db", clock=clock) as ledger:
        yield strict_desk(ANN, clock=clock, ledger=ledger)


def asked(desk: Desk, **options: Any) -> Standing:
    """Open a request for a payment."""
    return desk.ask(pay(), **options)


class TestEdits:
    """Rows of the database, changed."""

    def test_01_an_edited_decision(self, desk: Desk) -> None:
        """A rejection that was turned into an approval breaks the chain of its request."""
        found = desk.decide(asked(desk), Choice.REJECT)
        edit(desk, found.request.id, "decided", lambda data: data["decision"].update(choice="approve"), chained=False)
        listed(desk, found.request.id)

        assert f"event 2 of request `{found.request.id}` is not what its chain says" == forged(desk)

    def test_02_an_edited_decision_with_a_right_chain(self, desk: Desk) -> None:
        """With the chain mended, the signature is not over that answer."""
        found = desk.decide(asked(desk), Choice.REJECT)
        edit(desk, found.request.id, "decided", lambda data: data["decision"].update(choice="approve"), chained=True)
        listed(desk, found.request.id)

        assert "the signature is not that of `ann` over this decision" in refused(desk, found.request.id)
        assert f"request `{found.request.id}` is listed as live, and is open" == forged(desk)

    def test_03_an_edited_scope(self, desk: Desk) -> None:
        """A target that was added to an approved scope breaks the chain."""
        found = desk.decide(asked(desk))

        def change(data: dict[str, Any]) -> None:
            data["request"]["scope"]["targets"].append("write:src/other.py")

        edit(desk, found.request.id, "request_opened", change, chained=False)

        assert f"event 1 of request `{found.request.id}`" in forged(desk)

    def test_04_an_edited_scope_with_a_right_chain(self, desk: Desk) -> None:
        """With the chain mended, what was approved is not what stands there."""
        found = desk.decide(desk.ask(pay(2)))
        scope = asked(desk).request.scope

        def change(data: dict[str, Any]) -> None:
            data["request"]["scope"] = scope.to_dict()

        edit(desk, found.request.id, "request_opened", change, chained=True)

        assert "what was shown is not what stands here" in refused(desk, found.request.id)

    def test_05_more_uses_in_the_scope(self, desk: Desk) -> None:
        """A used up grant does not come back because its scope was given more uses."""
        found = desk.decide(asked(desk))
        assert Verdict.APPROVE is desk.gate.check(pay(), {}).verdict

        def change(data: dict[str, Any]) -> None:
            data["request"]["scope"].update(max_uses=100, expires_at=desk.clock.later(days=9))

        edit(desk, found.request.id, "request_opened", change, chained=True)
        listed(desk, found.request.id)

        assert "what was shown is not what stands here" in refused(desk, found.request.id)

    def test_06_a_time_without_end(self, desk: Desk) -> None:
        """An expiry that was moved out breaks the signature that is over it."""
        found = desk.decide(asked(desk), expires_at=desk.clock.later(hours=1))
        later = desk.clock.later(days=9)
        edit(desk, found.request.id, "decided", lambda data: data["decision"].update(expires_at=later), chained=True)
        desk.clock.move(hours=2)

        assert "the signature is not that of `ann`" in refused(desk, found.request.id)

    def test_07_a_cut_off_end(self, desk: Desk) -> None:
        """A reservation that was deleted leaves the recorded head of its stream behind."""
        found = desk.decide(asked(desk))
        desk.gate.check(pay(), {})
        tamper(desk, ("DELETE FROM events WHERE stream = ? AND version = 3", (request_stream(found.request.id),)))
        listed(desk, found.request.id)
        forget_mark(desk)

        assert f"event 3 of request `{found.request.id}`" in forged(desk)

    def test_08_a_cut_off_end_with_a_right_head(self, desk: Desk) -> None:
        """With the head set back too, the mark beside the ledger still names the reservation that is gone."""
        found = desk.decide(asked(desk))
        desk.gate.check(pay(), {})
        stream = request_stream(found.request.id)
        hashed = [event.hash for event in desk.ledger.events(stream)][1]
        tamper(
            desk,
            ("DELETE FROM events WHERE stream = ? AND version = 3", (stream,)),
            ("UPDATE heads SET version = 2, hash = ? WHERE stream = ?", (hashed, stream)),
        )
        listed(desk, found.request.id)

        assert "an older copy of it was put back" in forged(desk)

    def test_42_a_right_chain_to_another_head(self, desk: Desk) -> None:
        """A chain that was mended, and does not end at the recorded head, is not the chain that was written."""
        found = desk.decide(asked(desk))
        edit(desk, found.request.id, "request_opened", lambda data: data.update(more=1), chained=True, head=False)

        assert f"event 2 of request `{found.request.id}` is not what its chain says" == forged(desk)

    @pytest.mark.parametrize("text", ["", "{", "[]x", '{"a": \x01}'])
    def test_43_what_is_no_json(self, desk: Desk, text: str) -> None:
        """An event that cannot be read at all takes its request along, and is named; with the mark in place, that is too."""
        found = desk.decide(asked(desk))
        stream = request_stream(found.request.id)
        tamper(desk, ("UPDATE events SET data = ? WHERE stream = ? AND version = 2", (text, stream)))
        desk.ledger.append(Draft("other", "note", {}))

        assert "the approval that was marked last cannot be read" in forged(desk)
        forget_mark(desk)
        assert f"request `{found.request.id}` cannot be read: event 2 of stream `{stream}`" in forged(desk)


class TestViews:
    """Views, which say where to look and nothing else."""

    def test_09_a_live_entry_of_an_open_request(self, desk: Desk) -> None:
        """A request that nobody decided on is not live because an index says so."""
        found = asked(desk)
        listed(desk, found.request.id)

        assert f"request `{found.request.id}` is listed as live, and is open" == forged(desk)

    def test_10_a_live_entry_of_a_used_up_grant(self, desk: Desk) -> None:
        """A used up grant is not live because an index says so, and cannot be reserved."""
        found = desk.decide(asked(desk))
        assert found.grant is not None
        desk.gate.check(pay(), {})
        listed(desk, found.request.id)

        assert f"request `{found.request.id}` is listed as live, and is spent" == forged(desk)
        with pytest.raises(ReplayedDecision, match="is used up"):
            desk.requests.reserve([found.grant.id], action=pay(), by="agent")

    def test_11_another_subjects_grant(self, desk: Desk) -> None:
        """A grant of one subject, listed for another, is named as what it is."""
        found = desk.decide(asked(desk))
        listed(desk, found.request.id, "run:2")
        other = Desk(policy=desk.policy, clock=desk.clock, ledger=desk.ledger, subject="run:2")

        assert f"an index lists request `{found.request.id}` under `run:2`; it is of `run:1`" == forged(other, "run:2")
        assert Verdict.ASK_USER is other.gate.check(pay(), {}).verdict

    def test_12_a_grant_that_leads_elsewhere(self, desk: Desk) -> None:
        """An index that leads from a grant to a request that never opened it is named."""
        right, wrong = desk.decide(asked(desk)), desk.decide(desk.ask(pay(2)))
        assert right.grant is not None
        tamper(
            desk,
            (
                "UPDATE latest SET value = ? WHERE scope = ? AND key = ?",
                (json.dumps({"request": wrong.request.id}), index.GRANTS, right.grant.id),
            ),
        )

        with pytest.raises(ForgedRecord, match=f"from grant `{right.grant.id}` to request `{wrong.request.id}`"):
            desk.requests.reserve([right.grant.id], action=pay(), by="agent")
        assert Verdict.APPROVE is desk.gate.check(pay(), {}).verdict
        with pytest.raises(ForgedRecord, match=f"from grant `{right.grant.id}`"):
            desk.requests.revoke(right.grant.id, by="bob")

    def test_13_an_entry_of_nothing(self, desk: Desk) -> None:
        """An index that names a request which does not exist is told of, as live and as open."""
        listed(desk, "r_none")
        tamper(desk, ("INSERT INTO latest (scope, key, value) VALUES (?, ?, ?)", (index.OPEN, "r_more", "{}")))

        assert "an index lists request `r_none`, which does not exist" in forged(desk)
        assert "`r_more`" in desk.requests.forged()[0].message


class TestInserts:
    """Decisions written straight into the database."""

    def test_14_without_a_chain(self, desk: Desk) -> None:
        """A decision as a bare row breaks the chain of its request."""
        found = asked(desk)
        answer = desk.answer(found)
        insert = (
            "INSERT INTO events (stream, version, kind, at, data, prev, hash, log)"
            " VALUES (?, 2, 'decided', ?, ?, 'x', 'y', 'z')"
        )
        text = canonical({"decision": answer.to_dict()})
        tamper(
            desk,
            (insert, (request_stream(found.request.id), desk.clock.now, text)),
            ("UPDATE heads SET version = 2, hash = 'y' WHERE stream = ?", (request_stream(found.request.id),)),
        )
        listed(desk, found.request.id)

        assert f"event 2 of request `{found.request.id}` is not what its chain says" in forged(desk)

    def test_15_with_a_right_chain_unsigned(self, desk: Desk) -> None:
        """A decision with a right chain and no signature opens nothing where approvers are declared."""
        found = asked(desk)
        answer = replace(desk.answer(found), signature=None)
        write(desk, found.request.id, "decided", {"decision": answer.to_dict()})
        listed(desk, found.request.id)

        assert f"{answer.id}: the decision of `ann` is not signed" == refused(desk, found.request.id)

    def test_16_with_a_right_chain_and_a_signature_of_another(self, desk: Desk) -> None:
        """A decision in ann's name that somebody else signed opens nothing."""
        found = asked(desk)
        answer = AGENT.sign(desk.answer(found), found.request.scope)
        write(desk, found.request.id, "decided", {"decision": answer.to_dict()})
        listed(desk, found.request.id)

        assert "the signature is not that of `ann`" in refused(desk, found.request.id)

    def test_17_a_replayed_decision(self, desk: Desk) -> None:
        """An approval that was taken back does not come back when its event is written again."""
        found = asked(desk)
        approval = desk.answer(found)
        desk.requests.decide(approval)
        desk.decide(found, Choice.REJECT)
        with pytest.raises(ReplayedDecision, match=f"decision `{approval.id}` was made before"):
            desk.requests.decide(approval)
        write(desk, found.request.id, "decided", {"decision": approval.to_dict()})
        listed(desk, found.request.id)

        assert f"{approval.id}: it did not see the decision before it" == refused(desk, found.request.id)

    def test_18_a_decision_of_another_request(self, desk: Desk) -> None:
        """A signed approval of one call does not open another, by the front door or the back."""
        cheap, dear = desk.ask(pay(2)), asked(desk)
        approval = desk.answer(cheap)
        moved = replace(approval, request=dear.request.id)
        with pytest.raises(StaleDecision):
            desk.requests.decide(moved)
        with pytest.raises(BadSignature):
            desk.requests.decide(replace(moved, digest=dear.request.digest))
        write(desk, dear.request.id, "decided", {"decision": approval.to_dict()})
        listed(desk, dear.request.id)

        assert "it answers another request" in refused(desk, dear.request.id)

    def test_19_a_stream_under_another_name(self, desk: Desk) -> None:
        """A used up request, copied with its approval to another stream, is not what that stream is named after."""
        found = desk.decide(asked(desk))
        desk.gate.check(pay(), {})
        for event in list(desk.ledger.events(request_stream(found.request.id)))[:2]:
            data = {name: value for name, value in event.data.items() if name != "latest"}
            write(desk, "r_copy", event.kind, data)
        listed(desk, "r_copy")

        assert f"the stream of request `r_copy` holds request `{found.request.id}`" == forged(desk)

    @pytest.mark.parametrize(
        "data",
        [
            {},
            {"decision": None},
            {"decision": {"schema": 2}},
            {"decision": {"schema": 1, "id": "d", "choice": "approve!"}},
        ],
    )
    def test_20_what_is_no_decision(self, desk: Desk, data: dict[str, Any]) -> None:
        """A decision that cannot be read takes its whole request along."""
        found = desk.decide(asked(desk))
        write(desk, found.request.id, "decided", data)

        assert f"request `{found.request.id}` cannot be read" in forged(desk)
        with pytest.raises(ForgedRecord, match="cannot be read"):
            desk.requests.standing(found.request.id)

    def test_21_more_uses_than_were_asked_for(self, desk: Desk) -> None:
        """An approver's own signature does not give more uses than the request offered."""
        found = asked(desk)
        write(desk, found.request.id, "decided", {"decision": desk.answer(found, uses=5).to_dict()})
        listed(desk, found.request.id)

        assert ["APPROVE", "ASK_USER"] == [desk.gate.check(pay(), {}).verdict for _ in range(2)]

    def test_22_a_request_that_was_opened_twice(self, desk: Desk) -> None:
        """A second first event changes nothing of what was shown."""
        found = desk.decide(desk.ask(pay(2)))
        other = replace(found.request, scope=asked(desk).request.scope)
        write(desk, found.request.id, "request_opened", {"request": other.to_dict()})

        assert Verdict.ASK_USER is desk.gate.review(pay(), {}).verdict
        assert found.request == desk.requests.standing(found.request.id).request


class TestPeople:
    """Who decides."""

    def test_23_a_revoked_approver(self, desk: Desk) -> None:
        """Once the policy lists the key no more, what was approved with it opens nothing."""
        found = desk.decide(asked(desk))
        later = Desk(policy=strict(Person("bob")), clock=desk.clock, ledger=desk.ledger)

        assert f"{found.decisions[0].id}: `ann` is no approver" == refused(later, found.request.id)
        with pytest.raises(UnentitledApprover, match="`ann` is no approver"):
            later.requests.decide(desk.answer(desk.ask(pay(2))))

    def test_24_a_changed_key(self, desk: Desk) -> None:
        """The same name with another key is another approver."""
        found = desk.decide(asked(desk))
        later = Desk(policy=strict(Person("ann")), clock=desk.clock, ledger=desk.ledger)

        assert "the signature is not that of `ann`" in refused(later, found.request.id)

    def test_25_the_requester_approves(self, desk: Desk) -> None:
        """Whoever asked cannot answer, with a good signature neither, by the front door or the back."""
        found = desk.ask(pay(actor="ann"))
        with pytest.raises(SelfMadeDecision, match="`ann` asked for this"):
            desk.decide(found)
        write(desk, found.request.id, "decided", {"decision": desk.answer(found).to_dict()})
        listed(desk, found.request.id)

        assert "whoever asked cannot answer" in refused(desk, found.request.id)

    def test_26_the_requesters_key(self, desk: Desk) -> None:
        """An answer in an approver's name, signed with the requester's key, is refused."""
        found = asked(desk)
        with pytest.raises(BadSignature, match="not that of `ann`"):
            desk.requests.decide(AGENT.sign(desk.answer(found), found.request.scope))

    def test_27_a_name_that_nobody_declared(self, desk: Desk) -> None:
        """A well signed answer by somebody who is no approver is refused."""
        found = asked(desk)
        with pytest.raises(UnentitledApprover, match="`eve` is no approver"):
            desk.requests.decide(Person("eve").sign(desk.answer(found, by="eve"), found.request.scope))

    @pytest.mark.parametrize("signature", [None, "", "ed25519:", "ed25519:AAAA", "ssh:x", "ed25519:" + "A" * 86 + "=="])
    def test_28_a_missing_or_bad_signature(self, desk: Desk, signature: str | None) -> None:
        """Without a good signature a decision is refused where approvers are declared."""
        found = asked(desk)
        with pytest.raises(BadSignature):
            desk.requests.decide(replace(desk.answer(found), signature=signature))

    @pytest.mark.parametrize(
        "changes",
        [
            {"note": "another word"},
            {"uses": 1},
            {"seen": 1},
            {"at": "2026-08-20T12:00:00.000001Z"},
            {"id": "d_other"},
        ],
    )
    def test_29_what_was_signed_and_then_changed(self, desk: Desk, changes: dict[str, Any]) -> None:
        """Nothing that counts in a decision can be changed after it was signed."""
        found = asked(desk)
        with pytest.raises(BadSignature, match="not that of `ann`"):
            desk.requests.decide(replace(desk.answer(found), **changes))


class TestTime:
    """When somebody decides, and when what was decided is used."""

    def test_30_a_scope_edited_after_it_was_shown(self, desk: Desk) -> None:
        """A person who saw one scope cannot approve another, even if the edit mended the chain."""
        found = asked(desk)
        answer: HumanDecision = desk.answer(found)

        def change(data: dict[str, Any]) -> None:
            data["request"]["scope"]["targets"].append("write:src/other.py")

        edit(desk, found.request.id, "request_opened", change, chained=True)

        with pytest.raises(StaleDecision, match="the decision is on"):
            desk.requests.decide(answer)

    def test_31_a_stale_digest(self, desk: Desk) -> None:
        """A decision has to name what stands there, not what once stood somewhere."""
        found, other = asked(desk), desk.ask(pay(2))
        with pytest.raises(StaleDecision, match=f"`{other.request.digest}`"):
            desk.decide(found, digest=other.request.digest)

    def test_32_a_superseded_request(self, desk: Desk) -> None:
        """What a newer request replaced cannot be approved, by the front door or the back."""
        found = asked(desk)
        answer = desk.answer(found)
        newer = asked(desk, change="something else", supersede=True)
        with pytest.raises(SupersededRequest, match=newer.request.id):
            desk.requests.decide(answer)
        write(desk, found.request.id, "decided", {"decision": answer.to_dict()})
        listed(desk, found.request.id)

        assert "is listed as live, and is superseded" in forged(desk)

    def test_33_an_expired_request(self, desk: Desk) -> None:
        """A request whose time is over cannot be approved."""
        found = asked(desk, expires_at=desk.clock.later(hours=1))
        desk.clock.move(hours=1)
        with pytest.raises(ExpiredRequest, match="is over"):
            desk.decide(found)

    def test_34_an_expired_grant(self, desk: Desk) -> None:
        """A grant whose time is over cannot be used, nor reserved behind the gate's back."""
        found = desk.decide(asked(desk, until=desk.clock.later(hours=1)))
        assert found.grant is not None
        desk.clock.move(hours=1)

        assert Verdict.ASK_USER is desk.gate.check(pay(), {}).verdict
        with pytest.raises(ExpiredRequest, match="is over"):
            desk.requests.reserve([found.grant.id], action=pay(), by="agent")

    def test_35_a_clock_set_back(self, desk: Desk) -> None:
        """A grant that was over once stays over, whatever the clock says afterwards."""
        found = desk.decide(asked(desk, until=desk.clock.later(hours=1)))
        desk.clock.move(hours=1)
        desk.ask(pay(2))
        desk.clock.move(days=-9)

        assert RequestState.EXPIRED is desk.requests.standing(found.request.id).state
        assert "" == forged(desk)
        with pytest.raises(ExpiredRequest):
            desk.decide(found)

    def test_36_a_tie_of_times(self, desk: Desk) -> None:
        """Where all happens at one instant, the order of the stream counts: the approval before a rejection is gone."""
        found = asked(desk)
        first, second = desk.answer(found), desk.answer(found, Choice.REJECT)
        desk.requests.decide(first)
        with pytest.raises(OvertakenDecision):
            desk.requests.decide(second)
        rejected = desk.decide(found, Choice.REJECT)

        assert {desk.clock.now} == {event.at for event in desk.ledger.events(request_stream(found.request.id))}
        assert "" == refused(desk, rejected.request.id)

    def test_37_a_decision_before_its_request(self, desk: Desk) -> None:
        """A stream that begins with a decision is no request."""
        answer = desk.answer(asked(desk), request="r_early")
        write(desk, "r_early", "decided", {"decision": answer.to_dict()})
        listed(desk, "r_early")

        assert "does not begin with a request" in forged(desk)

    def test_38_a_restored_older_ledger(self, desk: Desk, tmp_path: Path) -> None:
        """An older copy of the ledger, put back to have a used up grant again, opens nothing and takes no decision."""
        found = desk.decide(asked(desk))
        with closing(sqlite3.connect(path_of(desk))) as db:
            db.execute("VACUUM INTO ?", (str(tmp_path / "copy.db"),))
        assert Verdict.APPROVE is desk.gate.check(pay(), {}).verdict
        desk.ledger.close()
        for name in ("ledger.db-wal", "ledger.db-shm"):
            (tmp_path / name).unlink(missing_ok=True)
        shutil.copyfile(tmp_path / "copy.db", path_of(desk))

        with SqliteLedger(path_of(desk), clock=desk.clock) as ledger:
            restored = strict_desk(ANN, clock=desk.clock, ledger=ledger)
            assert RequestState.APPROVED is restored.requests.standing(found.request.id).state
            assert "an older copy of it was put back" in forged(restored)
            with pytest.raises(ForgedRecord, match="an older copy of it was put back"):
                restored.decide(found, Choice.REJECT)


class TestUses:
    """How often what was approved is used."""

    def test_39_more_uses_than_approved(self, desk: Desk) -> None:
        """Two who both saw the last use reserve it once: the ledger takes the first, and the second is judged again."""
        found = desk.decide(asked(desk))
        assert found.grant is not None
        one = desk.requests.reserve([found.grant.id], action=pay(), by="agent")
        assert Verdict.APPROVE is desk.gate.check(pay(), {}).verdict

        with pytest.raises(Exception, match="another writer was quicker"):
            desk.ledger.append(*one[0], expect=one[1])
        assert "" == forged(desk)
        with pytest.raises(ReplayedDecision, match="is used up"):
            desk.requests.reserve([found.grant.id], action=pay(), by="agent")

    def test_40_a_use_that_is_returned_twice(self, desk: Desk) -> None:
        """A use comes back once, by the front door or the back."""
        found = desk.decide(asked(desk, max_uses=2, until=desk.clock.later(days=1)))
        for _ in range(2):
            desk.gate.check(pay(), {})
        first = next(iter(desk.requests.standing(found.request.id).reservations))
        desk.requests.not_started(first, "it never began")
        with pytest.raises(ReplayedDecision, match=f"reservation `{first}` was returned before"):
            desk.requests.not_started(first, "again")
        write(desk, found.request.id, "returned", {"reservation": first, "why": "again"})

        assert ["APPROVE", "ASK_USER"] == [desk.gate.check(pay(), {}).verdict for _ in range(2)]

    def test_41_a_use_that_never_was_returned(self, desk: Desk) -> None:
        """What was never reserved gives nothing back."""
        found = desk.decide(asked(desk))
        desk.gate.check(pay(), {})
        write(desk, found.request.id, "returned", {"reservation": "r_none.3", "why": "why"})
        listed(desk, found.request.id)

        assert "is listed as live, and is spent" in forged(desk)
