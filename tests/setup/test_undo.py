from __future__ import annotations

from typing import TYPE_CHECKING

from indult.ledger import Draft, open_ledger
from indult.policy import loads_policy
from indult.setup.undo import undo
from indult.setup.writing import Journal
from indult.trust import record_trust

if TYPE_CHECKING:
    from pathlib import Path


def journal(tmp_path: Path) -> Journal:
    """Return the journal of a setup that made a ledger with a record of trust."""
    place = tmp_path / "kept" / "ledger.db"
    with open_ledger(str(place)) as ledger:
        record_trust(tmp_path / "indult.yaml", loads_policy("schema: 1\nrules: []\n"), ledger, by="ada")
    return Journal(place=tmp_path / "kept" / "journal.json", root=str(tmp_path), ledger=str(place))


def test_ledger_that_says_nothing_else(tmp_path: Path) -> None:
    """A ledger in which only trust was recorded goes with the policy that it is about."""
    made = journal(tmp_path)

    assert ["removed"] == [entry.done for entry in undo(made)]
    assert not (tmp_path / "kept").exists()


def test_ledger_with_a_history(tmp_path: Path) -> None:
    """What was judged and decided stays."""
    made = journal(tmp_path)
    assert made.ledger is not None
    with open_ledger(made.ledger) as ledger:
        ledger.append(Draft(stream="tree:/x", kind="judgement", data={}))

    assert [("kept", "it holds what was judged and decided")] == [(entry.done, entry.why) for entry in undo(made)]
    with open_ledger(made.ledger, read_only=True) as ledger:
        assert 2 == len(list(ledger.events()))


def test_ledger_that_was_there(tmp_path: Path) -> None:
    """A ledger that the setup did not make is none of its business."""
    made = journal(tmp_path)
    place, made.ledger = made.ledger, None

    assert [] == undo(made)
    with open_ledger(place, read_only=True) as ledger:
        assert 1 == len(list(ledger.events()))
