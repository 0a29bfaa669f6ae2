"""Several processes at once: what was approved is used as often as it was approved, and one of two answers counts."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.gate.desk import Desk, pay

from indult.approvals import Choice
from indult.ledger.sqlite import SqliteLedger

GRANTS = 1000
PROCESSES = 8
BATCH = 50

# Commits need not reach the disk: what a power cut leaves is tested elsewhere.
HEAD = """
import json, os, sys
sys.path[:0] = {path!r}
from indult.ledger.sqlite import SqliteLedger
from tests.gate.desk import Desk, pay
ledger = SqliteLedger(sys.argv[1], timeout=60)
ledger._db.execute("PRAGMA synchronous = OFF")
"""

SPENDER = """
law = Desk(ledger=ledger).policy
print("ready", flush=True)
for line in sys.stdin:
    subjects = json.loads(line)
    gates = [Desk(ledger=ledger, policy=law, subject=subject, name=f"{os.getpid()}-{subject}-").gate for subject in subjects]
    print(json.dumps([gate.subject for gate in gates if gate.check(pay(), {}).grants]), flush=True)
"""

DECIDER = """
from indult.approvals import HumanDecision
from indult.errors import OvertakenDecision
desk = Desk(ledger=ledger)
print("ready", flush=True)
for line in sys.stdin:
    try:
        desk.requests.decide(HumanDecision.from_dict(json.loads(line)))
        print('"recorded"', flush=True)
    except OvertakenDecision:
        print('"overtaken"', flush=True)
"""


class Child:
    """A Python process that answers one line of JSON with another."""

    def __init__(self, script: str, *args: str) -> None:
        head = HEAD.format(path=[str(Path(__file__).parents[2]), *(entry for entry in sys.path if entry)])
        self.process = subprocess.Popen(
            [sys.executable, "-c", head + script, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert "ready\n" == self._line()

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def tell(self, value: object) -> None:
        """Give the child a line."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(value) + "\n")
        self.process.stdin.flush()

    def heard(self) -> Any:
        """Wait for its answer."""
        return json.loads(self._line())

    def end(self) -> int:
        """Let the child end and return its exit code."""
        self.process.communicate()
        return self.process.returncode


def test_single_use_grants_are_used_once(tmp_path: Path) -> None:
    """A thousand single-use grants, each fought over by eight processes, are used a thousand times."""
    path = tmp_path / "ledger.db"
    subjects = [f"run:{n}" for n in range(GRANTS)]
    with SqliteLedger(path, timeout=60) as ledger:
        ledger._db.execute("PRAGMA synchronous = OFF")
        desk = Desk(ledger=ledger)
        for subject in subjects:
            desk.decide(desk.ask(subject=subject))
    children = [Child(SPENDER, str(path)) for _ in range(PROCESSES)]
    opened: list[str] = []
    for start in range(0, GRANTS, BATCH):
        for child in children:
            child.tell(subjects[start : start + BATCH])
        opened += [subject for child in children for subject in child.heard()]

    assert [0] * PROCESSES == [child.end() for child in children]
    assert sorted(subjects) == sorted(opened)
    with SqliteLedger(path) as ledger:
        used = [event.data["grant"] for event in ledger.events(kinds=["reserved"])]
        assert (GRANTS, GRANTS) == (len(used), len(set(used)))
        judged = [event.data["judgement"]["verdict"] for event in ledger.events(kinds=["judgement"])]
        assert (GRANTS, (PROCESSES - 1) * GRANTS) == (judged.count("APPROVE"), judged.count("ASK_USER"))
        assert () == ledger.verify().faults


def test_of_two_answers_one_is_recorded(tmp_path: Path) -> None:
    """Of decisions on the same seen position, by processes at once, one is recorded and the others are overtaken."""
    path = tmp_path / "ledger.db"
    with SqliteLedger(path, timeout=60) as ledger:
        desk = Desk(ledger=ledger)
        children = [Child(DECIDER, str(path)) for _ in range(4)]
        choices = (Choice.APPROVE, Choice.REJECT, Choice.APPROVE, Choice.DISCUSS)
        for n in range(25):
            found = desk.ask(pay(n))
            answers = [desk.answer(found, choice, by=f"person {place}") for place, choice in enumerate(choices)]
            for child, answer in zip(children, answers, strict=True):
                child.tell(answer.to_dict())
            heard = [child.heard() for child in children]

            assert ["overtaken"] * 3 + ["recorded"] == sorted(heard)
            now = desk.requests.standing(found.request.id)
            assert (answers[heard.index("recorded")],) == now.decisions
        assert [0] * 4 == [child.end() for child in children]


def test_processes_that_ask_at_once_open_one_request(tmp_path: Path) -> None:
    """Whoever meets the same ask at once names the same request."""
    path = tmp_path / "ledger.db"
    with SqliteLedger(path, timeout=60) as ledger:
        subjects = [f"run:{n}" for n in range(10)]
        children = [Child(SPENDER, str(path)) for _ in range(4)]
        for child in children:
            child.tell(subjects)
        assert [[]] * 4 == [child.heard() for child in children]
        assert [0] * 4 == [child.end() for child in children]

        assert sorted(subjects) == sorted(one.request.scope.subject for one in Desk(ledger=ledger).requests.pending())
        named = {event.data["judgement"]["request"] for event in ledger.events(kinds=["judgement"])}
        assert len(subjects) == len(named)
