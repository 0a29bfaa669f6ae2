"""The example of autofix: its story, played by the real commands, and what was said and decided on the way."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "autofix"
NAMES = ("total", "store", "rates")


@pytest.fixture(name="story", scope="module")
def _story(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Play the story once."""
    spec = importlib.util.spec_from_file_location("autofix_play", EXAMPLE / "play.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module.play(tmp_path_factory.mktemp("autofix"))


def signal(story: Any, name: str) -> str:
    """Return the id of the signal of a test."""
    return str(next(row["id"] for row in story.signals if f"test_{name}" in row["summary"]))


def ends(story: Any, run: int) -> dict[str, dict[str, Any]]:
    """Return how each signal ended in a receipt, the last end of each, by the name of its test."""
    names = {signal(story, name): name for name in NAMES}
    return {names[end["signal"]]: end for end in story.runs[run]["signals"]}


def briefs(story: Any, name: str) -> list[str]:
    """Return what fixers of a signal read, in order."""
    from indult.ledger import open_ledger

    path = next((story.folder / ".local" / "share" / "indult").rglob("ledger.db"))
    with open_ledger(path) as ledger:
        events = [one for one in ledger.events(kinds={"turn_started"}) if one.data["signal"] == signal(story, name)]
        return [str(ledger.body(event.data["brief"]["body"])) for event in events]


class TestStory:
    """Three bugs: one lands, one lands after a person approved it, one is handed back."""

    def test_each_failure_is_one_signal(self, story: Any) -> None:
        """Four failing commands are three signals, one of them seen twice."""
        assert sorted(row["count"] for row in story.signals) == [1, 1, 2]

    def test_the_own_bug_lands_on_its_second_turn(self, story: Any) -> None:
        """The first repair fails the project's check, its words are in the next brief, and the second one lands."""
        end = ends(story, 0)["total"]
        assert (end["state"], end["turns"], end["landed"]["files"]) == ("landed", 2, ["shop/total.py"])
        first, second = briefs(story, "total")
        assert "Last critique" not in first
        assert "the check `plain` did not pass" in second

    def test_the_library_is_handed_back_first(self, story: Any) -> None:
        """The fixer names the patch and changes nothing; the card shows all that would open."""
        end = ends(story, 0)["store"]
        assert (end["state"], end["stop"]["kind"], end["turns"]) == ("needs-human", "awaiting_approval", 1)
        for word in ("libdb@1.8.2", "vendor/libdb/__init__.py", "count retries anew after a connection was idle"):
            assert word in story.shown

    def test_the_library_lands_after_the_approval(self, story: Any) -> None:
        """One approval, one more turn, and exactly the approved file has changed."""
        end = ends(story, 1)["store"]
        assert (end["state"], end["turns"]) == ("landed", 1)
        assert end["landed"]["files"] == ["vendor/libdb/__init__.py"]
        assert len(end["landed"]["grants"]) == 1

    def test_the_text_changed_with_the_approval(self, story: Any) -> None:
        """Before it the brief forbids to patch; after it that sentence is gone, and the exception stands there."""
        before, after = briefs(story, "store")
        forbidding = "do not patch it; hand the signal back"
        assert (forbidding in before, forbidding in after) == (True, False)
        assert ("Named exception" in before, "Named exception" in after) == (False, True)
        assert "`write:vendor/libdb/__init__.py`" in after

    def test_the_data_is_handed_back(self, story: Any) -> None:
        """A change that is denied comes back with its reason; the fixer hands back, and nothing of it lands."""
        end = ends(story, 0)["rates"]
        assert (end["state"], end["turns"]) == ("needs-human", 2)
        assert "may not change data/rates.json [repo.secrets]" in briefs(story, "rates")[1]
        assert '"DE": 91' in (story.folder / "shop" / "data" / "rates.json").read_text(encoding="utf-8")

    def test_the_verdicts_are_counted(self, story: Any) -> None:
        """The receipt tells what was refused by which rule, what landed, and what it took."""
        first, last = story.runs
        assert first["refusals"] == {"repo.secrets": 1}
        assert (first["landed"], first["waits"], first["metrics"]["engine_calls"]) == (1, 2, 5)
        assert (last["landed"], last["waits"], last["metrics"]["engine_calls"]) == (2, 1, 6)
        assert last["stop"]["kind"] == "awaiting_approval"

    def test_what_landed_is_repaired(self, story: Any) -> None:
        """Of the three tests those two pass whose repair landed."""
        assert story.passing == ["tests.test_total", "tests.test_store"]

    def test_nothing_is_left_behind(self, story: Any) -> None:
        """No branch, work tree or folder of a fix is there any more."""
        done = subprocess.run(
            ["git", "for-each-ref", "--format=%(refname:short)", "refs/heads"],
            cwd=story.folder / "shop",
            capture_output=True,
            encoding="utf-8",
            check=True,
        )
        assert done.stdout.split() == ["main"]
        assert [list(folder.iterdir()) for folder in story.folder.rglob("fixes")] == [[]]
