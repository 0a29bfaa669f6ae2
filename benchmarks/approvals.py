"""How long finding and folding the live grants of one subject takes, as the approvals of that subject pile up.

One subject has ten live grants, another has one; all are signed. Around them a ledger grows to a million events of
approvals (`--events N` for another number), all of requests of these two that are dead: used up or rejected. Measured is
`Requests.live` in one process over time, which reads and compares every event that it relies on, and in a process that
begins, which verifies each chain and signature for the first time.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from measure import Report, in_turns

from indult import Action, Boundary, Policy, loads_policy
from indult.approvals import ApprovalRequest, Choice, HumanDecision, Standing, Via, request_stream
from indult.gate import Requests, index
from indult.gate.requests import asked_stream
from indult.ids import new_id
from indult.ledger import Draft, Ledger, open_ledger, utc_now
from indult.scopes import Scope
from indult.signatures import signature_text

LIVE = {"run:many": 10, "run:one": 1}
"""The subjects, and how many live grants each has."""

BATCH = 200
ROUNDS = 200
FAR = "2099-01-01T00:00:00.000000Z"

LAW = """
schema: 1
default: deny
rules:
  - {{id: pay, tool: pay, effect: ask, says: Payments need approval.}}
  - {{id: look, tool: look, effect: allow}}
approvers:
  ann: {key}
"""


def main() -> int:
    """Measure, print the figures, and return 1 when a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000, help="events of approvals in the large ledger")
    options = parser.parse_args()
    report = Report("approvals")
    with TemporaryDirectory(dir=Path(__file__).parent) as folder:
        measure(Path(folder), report, options.events)
    return report.close()


def measure(folder: Path, report: Report, events: int) -> None:
    """Fold the same live grants in a small and in a large ledger, in turns."""
    key = Ed25519PrivateKey.generate()
    line = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()
    policy = loads_policy(LAW.format(key=line))
    with open_ledger(folder / "small.db") as small, open_ledger(folder / "large.db") as large:
        for ledger in (small, large):
            people(ledger, policy, key)
        few = sum(1 for _ in small.events())
        start = perf_counter()
        fill(large, policy, events)
        print(f"{events:,} events of approvals, filled in {perf_counter() - start:.0f} s")
        for subject, live in LIVE.items():
            for fresh in (False, True):
                functions = {
                    name: folding(ledger, policy, subject, fresh=fresh)
                    for name, ledger in (("small", small), ("large", large))
                }
                times = in_turns(functions, rounds=ROUNDS)
                what = f"{live} live, {'a process that begins' if fresh else 'again and again'}"
                print(
                    f"{what}: {times['small'] * 1e3:.2f} ms at {few} events, {times['large'] * 1e3:.2f} at {events:,}"
                )
                # Ten signatures checked for the first time take what the library takes; that is shown, and has no bar.
                report.ratio(
                    f"ms at {events:,} events, {what}", times["large"] * 1e3, most=None if fresh and live > 1 else 2
                )
                report.ratio(
                    f"time at {events:,} events / at {few}, {what}", times["large"] / times["small"], most=1.25
                )


def people(ledger: Ledger, policy: Policy, key: Ed25519PrivateKey) -> None:
    """Open and approve what stays live, through the front door."""
    requests = Requests(ledger, policy)
    for subject, live in LIVE.items():
        for n in range(live):
            found = ask(requests, policy, subject, n)
            decision = answer(found.request)
            payload = decision.payload(found.request.scope)
            requests.decide(replace(decision, signature=signature_text(key.sign(payload))))


def ask(requests: Requests, policy: Policy, subject: str, n: int) -> Standing:
    """Open the request for one payment."""
    action = Action(tool="pay", args={"n": n, "to": "somebody", "for": "something that takes a line to say"})
    scope = replace(Scope.call(action, subject=subject), max_uses=100, expires_at=FAR)
    boundary = Boundary(policy=policy, subject=subject)
    return requests.open(scope, boundary=boundary, requested_by="agent", action=action, facts={})


def answer(request: ApprovalRequest) -> HumanDecision:
    """Return ann's approval of a request that nobody answered yet."""
    return HumanDecision(
        id=request.id.replace("r_", "d_"),
        request=request.id,
        choice=Choice.APPROVE,
        digest=request.digest,
        seen=0,
        by="ann",
        via=Via.CLI,
        at=utc_now(),
    )


def fill(ledger: Ledger, policy: Policy, events: int) -> None:
    """Grow a ledger with dead requests of the same subject: the events of real ones, told again under other names.

    What each life leaves in the views is what its real events would leave: nothing in the indexes of what is live or
    open, one line in those of what was asked and granted.
    """
    lives = drafts(ledger, policy)
    while ledger.append(*(next(lives) for _ in range(BATCH)))[-1].position < events:
        pass


def drafts(ledger: Ledger, policy: Policy) -> Iterator[Draft]:
    """Yield the events of one dead request after another."""
    templates = [ask(Requests(ledger, policy), policy, subject, 99).request for subject in LIVE]
    for number in count(1):
        template = templates[number % len(templates)]
        request = replace(template, id=new_id("r", number, number.to_bytes(10, "big")))
        subject, stream = request.scope.subject, request_stream(request.id)
        decision = answer(request)
        gone = {scope: {request.id: None} for scope in (index.live(subject), index.opened(subject), index.OPEN)}
        here = {
            index.live(subject): {request.id: {"version": 2, "expires_at": FAR}},
            index.GRANTS: {decision.grant: {"request": request.id}},
        }
        was_asked = {index.asked(subject): {f"sha256:{number:064x}": {"request": request.id}}}
        yield Draft(asked_stream(subject), "asked", {"request": request.id})
        yield Draft(stream, "request_opened", {"request": request.to_dict(), "latest": was_asked})
        if number % 3:
            used = {"reservation": f"{request.id}.3", "grant": decision.grant, "action": "sha256:x", "by": "agent"}
            yield Draft(stream, "decided", {"decision": decision.to_dict(), "latest": here})
            yield Draft(stream, "reserved", {**used, "latest": gone})
        else:
            rejected = replace(decision, choice=Choice.REJECT)
            yield Draft(stream, "decided", {"decision": rejected.to_dict(), "latest": gone})


def folding(ledger: Ledger, policy: Policy, subject: str, *, fresh: bool) -> Callable[[], None]:
    """Return what finds and folds the live grants, with nothing known from before if `fresh`."""
    kept = Requests(ledger, policy)

    def fold() -> None:
        requests = Requests(ledger, policy) if fresh else kept
        assert len(requests.live(subject)) == LIVE[subject]

    return fold


if __name__ == "__main__":
    sys.exit(main())
