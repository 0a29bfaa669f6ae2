"""The example of a dependency patch: its story, played by the real commands, and what its text says when."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from indult import load_policy

EXAMPLE = Path(__file__).parent.parent / "examples" / "dependency_patch"

# Row of the table -> what stands in the text as long as nothing is approved, and what replaces it.
TABLE = {
    "R45": (
        None,
        (
            'Named exception — the one dependency patch Max (unsigned) approved: libdb@1.8.2, "reset the retry counter when'
            ' the protocol state returns to idle"; files (only these): `write:package.json`, `write:bun.lock`,'
            " `write:patches/libdb@1.8.2.patch`, `entry:package.json#libdb@1.8.2`, `entry:bun.lock#libdb@1.8.2`."
        ),
    ),
    "R46": (
        "Dependency changes include vendor/, node_modules/, bun.lock and package.json outside scripts.",
        "Except for the named exception above, dependency changes are forbidden",
    ),
    "R46 by the report path": (
        (
            "A reproduced dependency bug requiring a dependency patch follows this same report path;"
            " do not patch or upgrade it here."
        ),
        None,
    ),
    "R47": (
        "Name the one patch in the report, as `dependency_exception {dependency, version, paths, change}`",
        "What goes beyond it, be it another file, another dependency or another version, is handed back",
    ),
    "R48": (
        "An approval of a direction or an earlier commit does not remove the path restrictions enforced at ship",
        (
            "Beyond the named exception, an approval of a direction or an earlier commit does not remove the path"
            " restrictions enforced at ship"
        ),
    ),
    "R49": (
        "Boundaries: only this repo; no secrets, data/, indult.yaml or dependency changes;",
        "no secrets, data/, indult.yaml or dependency changes other than the named exception above",
    ),
}


@pytest.fixture(name="story", scope="module")
def _story(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Play the story once."""
    spec = importlib.util.spec_from_file_location("dependency_patch_play", EXAMPLE / "play.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module.play(tmp_path_factory.mktemp("story"))


class TestStory:
    def test_ends_as_it_should(self, story: Any) -> None:
        """Two ships need more than was approved and are refused, and the third one lands exactly that."""
        assert [4, 4, 0] == [ship.code for ship in story.ships]
        assert ["bun.lock", "package.json", "patches/libdb@1.8.2.patch"] == story.landed

    def test_first_ship(self, story: Any) -> None:
        """Another package moved besides: the refusal says which entries may change, and what is covered."""
        text = story.ships[0].text

        assert "may only change package.json scripts and the entries of libdb, not other@2.0.0 [repo.dep" in text
        assert "covers only package.json, bun.lock, patches/libdb@1.8.2.patch\n" in text

    def test_second_ship(self, story: Any) -> None:
        """Another file was added: the refusal names it, and what is covered."""
        text = story.ships[1].text

        assert "may not change vendor/other.js [repo.dependencies]\n" in text
        assert "covers only package.json, bun.lock, patches/libdb@1.8.2.patch\n" in text

    def test_third_ship(self, story: Any) -> None:
        """An added file that was taken away again is no obstacle, and the sorted files are told."""
        first, *rest = story.ships[2].text.splitlines()

        assert first.endswith(" in main: 3 files")
        assert ["  bun.lock", "  package.json", "  patches/libdb@1.8.2.patch"] == rest[:3]

    def test_the_card_shows_all_that_opens(self, story: Any) -> None:
        """The person saw dependency, version, change and every path, and what approving does."""
        assert (
            "  card       patch: libdb@1.8.2: reset the retry counter when the protocol state returns to idle (only"
            " package.json, bun.lock, patches/libdb@1.8.2.patch may change); all other dependency changes stay"
            " forbidden\n"
        ) in story.shown
        assert "  card       effect, approve: the next fix is allowed only this one dependency patch\n" in story.shown

    def test_nothing_of_the_evidence_is_shown_or_opened(self, story: Any) -> None:
        """The second exception, hidden in the evidence, stands in no text."""
        assert [] == [text for text in (*story.briefs.values(), story.shown) if "2.0.0" in text or "unshown" in text]

    def test_runs_as_a_script(self) -> None:
        """Whoever tries the example sees all of it, and 0 at the end."""
        done = subprocess.run(
            [sys.executable, str(EXAMPLE / "play.py")], capture_output=True, text=True, check=False, timeout=120
        )

        assert (0, "") == (done.returncode, done.stderr)
        assert "$ indult ship fix --into main --signal s1\nlanded " in done.stdout


class TestText:
    @pytest.mark.parametrize("cell", TABLE)
    @pytest.mark.parametrize(("when", "place"), [("before", 0), ("discussed", 0), ("approved", 1), ("landed", 0)])
    def test_each_cell_both_ways(self, story: Any, cell: str, when: str, place: int) -> None:
        """Of the two texts of a cell the one that holds stands in the brief, and the other one does not."""
        holds, void = TABLE[cell][place], TABLE[cell][1 - place]
        brief = story.briefs[when]

        assert holds is None or holds in brief
        assert void is None or void not in brief

    @pytest.mark.parametrize("phrase", ["do not patch or upgrade it here", "follows this same report path"])
    def test_nothing_contradicts_the_approval(self, story: Any, phrase: str) -> None:
        """With the exception no sentence forbids what was approved (R50, R51); without, the old one stands."""
        assert [True, True, False, True] == [phrase in brief for brief in story.briefs.values()]

    def test_discussing_changes_nothing(self, story: Any) -> None:
        """After words alone the text is byte for byte that of before, and names no exception (R38, R53)."""
        assert story.briefs["before"] == story.briefs["discussed"]
        assert "Named exception" not in story.briefs["discussed"]

    def test_a_used_approval_leaves_no_text(self, story: Any) -> None:
        """Once it has landed, the text is byte for byte that of before."""
        assert story.briefs["before"] == story.briefs["landed"]

    def test_the_paragraph_is_replaced(self, story: Any) -> None:
        """Only the one paragraph changes; every other line of the brief stays (R51)."""
        before, approved = (story.briefs[when].splitlines() for when in ("before", "approved"))
        changed = [(old, new) for old, new in zip(before, approved, strict=True) if old != new]

        assert 1 == len(changed)

    def test_without_a_grant_it_reads_as_the_law_says(self, story: Any) -> None:
        """The text without an exception is exactly the rule's sentence in the file (R53)."""
        rule = load_policy(EXAMPLE / "indult.yaml").rule("repo.dependencies")

        assert f"\n- {rule.says}\n" in story.briefs["before"]
