from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.gate.desk import SUBJECT, Desk, pay

from indult import Verdict
from indult.errors import ForgedRecord
from indult.gate.marks import Mark, mark_of, state_folder
from indult.ledger import Draft, Event
from indult.ledger.sqlite import SqliteLedger
from indult.testing.memory import MemoryLedger


@pytest.fixture(name="mark")
def _mark(tmp_path: Path) -> Mark:
    """Return a mark that was never made."""
    return Mark(tmp_path / "marks" / "one.json")


@pytest.fixture(name="ledger")
def _ledger() -> MemoryLedger:
    """Return a ledger with three events."""
    ledger = MemoryLedger()
    ledger.append(*(Draft("request:r", "decided", {"n": n}) for n in range(3)))
    return ledger


def events(ledger: MemoryLedger) -> list[Event]:
    """Return all events."""
    return list(ledger.events())


class TestMark:
    def test_a_new_ledger_has_none(self, mark: Mark, ledger: MemoryLedger) -> None:
        """Where nothing was marked, nothing is missed."""
        mark.check(ledger)

        assert not mark.path.exists()

    def test_it_only_advances(self, mark: Mark, ledger: MemoryLedger) -> None:
        """A slower writer does not set the mark back."""
        for place in (1, 2, 0):
            mark.advance(events(ledger)[place])

        kept = json.loads(mark.path.read_text())
        assert {"schema": 1, "position": 3, "hash": events(ledger)[2].hash} == kept
        mark.check(ledger)

    def test_it_is_private(self, mark: Mark, ledger: MemoryLedger) -> None:
        """Folder and file are of the user alone, and no other file stays."""
        mark.advance(events(ledger)[0])

        assert (0o700, 0o600) == (mark.path.parent.stat().st_mode & 0o777, mark.path.stat().st_mode & 0o777)
        assert [mark.path] == list(mark.path.parent.iterdir())

    def test_a_shorter_ledger_is_refused(self, mark: Mark, ledger: MemoryLedger) -> None:
        """A ledger that does not reach the mark is an older one, and the hint names what to do."""
        mark.advance(events(ledger)[2])
        del ledger.rows[2]
        with pytest.raises(ForgedRecord, match="position 3 that it once held") as caught:
            mark.check(ledger)

        assert str(mark.path) in caught.value.message
        assert "delete the mark" in str(caught.value.hint)

    def test_another_event_in_its_place_is_refused(self, mark: Mark, ledger: MemoryLedger) -> None:
        """A ledger that went another way since is refused too."""
        mark.advance(events(ledger)[2])
        del ledger.rows[2]
        ledger._streams["request:r"].pop()
        ledger.append(Draft("request:r", "decided", {"n": "other"}))

        with pytest.raises(ForgedRecord):
            mark.check(ledger)

    @pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"schema": 2, "position": 1, "hash": "x"}', '{"schema":1}'])
    def test_an_unreadable_mark_is_refused_and_stays(self, mark: Mark, ledger: MemoryLedger, text: str) -> None:
        """A mark that cannot be read is told of, and not written over."""
        mark.path.parent.mkdir()
        mark.path.write_text(text)
        mark.advance(events(ledger)[0])

        assert text == mark.path.read_text()
        with pytest.raises(ForgedRecord, match="cannot be read"):
            mark.check(ledger)

    def test_a_folder_that_cannot_be_written(self, tmp_path: Path, ledger: MemoryLedger) -> None:
        """Where no mark can be kept, what was recorded stays recorded, and nothing is missed later."""
        (tmp_path / "file").write_text("")
        mark = Mark(tmp_path / "file" / "marks" / "one.json")
        mark.advance(events(ledger)[0])

        with pytest.raises(ForgedRecord, match="cannot be read"):
            mark.check(ledger)


class TestWhere:
    def test_each_file_has_its_own(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The mark of a ledger is in the state folder and follows the real path of its file, not its name."""
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
        (tmp_path / "real").mkdir()
        (tmp_path / "link").symlink_to(tmp_path / "real")
        marks = []
        for name in ("real/a.db", "link/a.db", "real/b.db"):
            with SqliteLedger(tmp_path / name) as ledger:
                marks.append(mark_of(ledger))

        assert marks[0] == marks[1] != marks[2]
        assert marks[0] is not None
        assert tmp_path / "state" / "indult" / "marks" == marks[0].path.parent
        assert mark_of(MemoryLedger()) is None

    @pytest.mark.parametrize("home", ["", "relative/path"])
    def test_the_default_is_in_the_home(self, home: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without an absolute `XDG_STATE_HOME` the state folder is `~/.local/state/indult`."""
        monkeypatch.setenv("XDG_STATE_HOME", home)

        assert Path(os.environ["HOME"]) / ".local" / "state" / "indult" == state_folder()


class TestRequests:
    def test_what_people_and_the_gate_do_is_marked(self, tmp_path: Path) -> None:
        """Each change of a request advances the mark: asking, answering, using, returning, revoking."""
        with SqliteLedger(tmp_path / "ledger.db") as ledger:
            desk = Desk(ledger=ledger, mark=Mark(tmp_path / "mark.json"))
            seen = []

            def marked(step: Callable[[], Any]) -> Any:
                result = step()
                *_, last = (event for event in ledger.events() if event.stream.startswith("request:"))
                assert last.position == json.loads((tmp_path / "mark.json").read_text())["position"]
                seen.append(last.kind)
                return result

            found = marked(desk.ask)
            found = marked(lambda: desk.decide(found))
            marked(lambda: desk.gate.check(pay(), {}))
            (reservation,) = desk.requests.standing(found.request.id).reservations
            marked(lambda: desk.requests.not_started(reservation, "why"))
            marked(lambda: desk.requests.revoke(found.grant.id, by="bob"))
            marked(lambda: desk.gate.check(pay(), {}))

        assert ["request_opened", "decided", "reserved", "returned", "revoked", "request_opened"] == seen

    def test_without_a_live_grant_a_bad_mark_hinders_nothing(self, tmp_path: Path) -> None:
        """A mark that does not fit takes approvals away, and no more: what needs none is judged as ever."""
        (tmp_path / "mark.json").write_text("")
        desk = Desk(mark=Mark(tmp_path / "mark.json"))

        assert Verdict.ASK_USER is desk.gate.check(pay(), {}).verdict
        assert () == desk.requests.live(SUBJECT)
        with pytest.raises(ForgedRecord):
            desk.decide(desk.requests.pending()[0])
