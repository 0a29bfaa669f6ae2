from __future__ import annotations

import pytest
from tests.gate.desk import SUBJECT, Desk, pay

from indult import Verdict
from indult.approvals import Choice, RequestState


@pytest.fixture(name="desk")
def _desk() -> Desk:
    """Return a desk with an empty ledger."""
    return Desk()


def test_the_circle_closes(desk: Desk) -> None:
    """An ask opens a request; approved, the very next proposal may run, once, and the text says so meanwhile."""
    asked = desk.gate.check(pay(), {})
    assert (Verdict.ASK_USER, "r_0001") == (asked.verdict, asked.request)
    (found,) = desk.requests.pending(SUBJECT)
    before = desk.gate.boundary().text()
    desk.decide(found)

    assert found.request.scope.words()[0] in desk.gate.boundary().text()
    approved = desk.gate.check(pay(), {})
    assert (Verdict.APPROVE, 1) == (approved.verdict, len(approved.grants))
    assert RequestState.SPENT is desk.requests.standing("r_0001").state
    assert before == desk.gate.boundary().text()
    again = desk.gate.check(pay(), {})
    assert (Verdict.ASK_USER, "r_0003") == (again.verdict, again.request)


def test_a_review_leaves_no_trace(desk: Desk) -> None:
    """A review opens no request and uses no grant."""
    desk.approved(pay(1))
    before = list(desk.ledger.events())

    assert Verdict.APPROVE is desk.gate.review(pay(1), {}).verdict
    assert Verdict.ASK_USER is desk.gate.review(pay(2), {}).verdict
    assert before == list(desk.ledger.events())


def test_an_open_request_is_asked_once(desk: Desk) -> None:
    """A second proposal of the same call names the request that is open already."""
    first, second = desk.gate.check(pay(), {}), desk.gate.check(pay(), {})

    assert first.request == second.request
    assert 1 == len(desk.requests.pending())


def test_what_was_rejected_is_not_asked_again(desk: Desk) -> None:
    """A rejected request is named again under the same policy, and no other opens."""
    first = desk.gate.check(pay(), {})
    desk.decide(desk.requests.standing(str(first.request)), Choice.REJECT, note="not on a Friday")

    assert first.request == desk.gate.check(pay(), {}).request
    assert [] == desk.requests.pending()
    assert "not on a Friday" == desk.requests.standing(str(first.request)).guidance
