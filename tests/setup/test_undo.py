from __future__ import annotations

from typing import TYPE_CHECKING

from indult.ledger import Draft, open_ledger
from indult.policy import loads_policy
from indult.setup.harnesses import merged
from indult.setup.undo import undo
from indult.setup.writing import Journal, change_of, write
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


def test_hooks_in_a_file_that_was_changed(tmp_path: Path) -> None:
    """The hooks go from a file that somebody changed since, and the change stays."""
    file = tmp_path / ".claude" / "settings.json"
    file.parent.mkdir()
    file.write_text('{"a": 1}\n')
    made = Journal(place=tmp_path / "kept" / "journal.json", root=str(tmp_path))
    write(made, [change_of(str(tmp_path), ".claude/settings.json", merged("claude-code", '{"a": 1}\n').encode())])
    file.write_text(file.read_text().replace('{"a": 1', '{"a": 1, "mine": 2'))

    assert ["cleaned"] == [entry.done for entry in undo(made)]
    assert '{"a": 1, "mine": 2}\n' == file.read_text()
    assert not made.place.exists()


def test_file_that_is_no_json_any_more(tmp_path: Path) -> None:
    """A file that cannot be read is kept as it is."""
    made = Journal(place=tmp_path / "kept" / "journal.json", root=str(tmp_path))
    write(made, [change_of(str(tmp_path), ".codex/hooks.json", merged("codex", "").encode())])
    (tmp_path / ".codex" / "hooks.json").write_text("{} // mine")

    assert ["kept"] == [entry.done for entry in undo(made)]
    assert [".codex/hooks.json"] == list(made.files)


def test_ledger_that_was_there(tmp_path: Path) -> None:
    """A ledger that the setup did not make is none of its business."""
    made = journal(tmp_path)
    place, made.ledger = made.ledger, None

    assert [] == undo(made)
    with open_ledger(place, read_only=True) as ledger:
        assert 1 == len(list(ledger.events()))
