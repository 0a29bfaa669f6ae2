"""History is what the commits say, whatever git says of it."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest
from tests.ship.repos import Repo

from indult.errors import ShipError
from indult.ship.git import Repository


@pytest.fixture(name="repo")
def _repo(tmp_path: Path) -> Repo:
    return Repo.forked(tmp_path / "repo")


def rewrite(repo: Repo, oid: str, old: str, new: str) -> None:
    """Write a commit over without a change of its id."""
    content = repo.git("cat-file", "commit", oid) + "\n"
    assert old in content
    raw = content.replace(old, new).encode()
    place = repo.folder / ".git/objects" / oid[:2] / oid[2:]
    place.chmod(0o644)
    place.write_bytes(zlib.compress(b"commit %d\0%s" % (len(raw), raw)))


class TestRewritten:
    """Commits that were written over where they lie."""

    def test_trailer(self, repo: Repo) -> None:
        """A trailer that is written over is an error, not a trailer that is not there."""
        landed = repo.commit({"a": "a"}, "Land\n\nKey: value")
        tip = repo.commit({"b": "b"})
        rewrite(repo, landed, "Key: value", "Key: other")

        with Repository.open(repo.folder) as opened, pytest.raises(ShipError, match=f"{landed} is damaged"):
            opened.trailer(tip, "Key", "value")

    def test_hidden(self, repo: Repo) -> None:
        """A commit is not hidden by another parent in one that comes after it."""
        first, landed = repo.id("main~1"), repo.commit({"a": "a"})
        middle = repo.commit({"b": "b"})
        tip = repo.commit({"c": "c"})
        rewrite(repo, middle, f"parent {landed}", f"parent {first}")

        with Repository.open(repo.folder) as opened:
            with pytest.raises(ShipError, match=f"{middle} is damaged"):
                opened.contains(tip, landed)
            with pytest.raises(ShipError, match=f"{middle} is damaged"):
                opened.trailer(tip, "Key", "value")

    def test_made_up(self, repo: Repo) -> None:
        """A commit is not brought into a history by another parent either."""
        tip, fix = repo.commit({"b": "b"}), repo.id("fix")
        rewrite(repo, tip, f"parent {repo.id('main~1')}", f"parent {fix}")

        with Repository.open(repo.folder) as opened, pytest.raises(ShipError, match=f"{tip} is damaged"):
            opened.contains(tip, fix)

    def test_taken_away(self, repo: Repo) -> None:
        """A commit that is gone is in a history or not, which the history can no longer tell: an error."""
        landed = repo.commit({"a": "a"})
        tip = repo.commit({"b": "b"})
        (repo.folder / ".git/objects" / landed[:2] / landed[2:]).unlink()

        with Repository.open(repo.folder) as opened, pytest.raises(ShipError):
            opened.contains(tip, landed)


class TestContains:
    """What is in a history."""

    def test_like_git(self, repo: Repo) -> None:
        """For every two commits of a history with merges across, the answer is that of git."""
        tree = repo.id("main^{tree}")
        made = [repo.commit_tree(tree)]
        for number, parents in enumerate([(0,), (0,), (1, 2), (2, 1), (3,), (4,), (5, 4), (6, 1), (0,), (9, 7)], 1):
            text = repo.git("commit-tree", tree, "-m", str(number), *(w for p in parents for w in ("-p", made[p])))
            made.append(text)
        with Repository.open(repo.folder) as opened:
            for tip in made:
                inside = set(repo.git("rev-list", tip).split())
                assert [one in inside for one in made] == [opened.contains(tip, one) for one in made]

    def test_merged_often(self, repo: Repo) -> None:
        """A branch that took in the target again and again is complete, with one end of its history for each time."""
        for number in range(8):
            repo.git("switch", "--quiet", "main")
            repo.commit({f"main{number}": "x"})
            repo.git("switch", "--quiet", "fix")
            repo.git("merge", "--quiet", "-m", "take in", "main")
        repo.git("switch", "--quiet", "main")
        repo.commit({"last": "x"})

        with Repository.open(repo.folder) as opened:
            opened.complete(repo.id("main"), repo.id("fix"))
