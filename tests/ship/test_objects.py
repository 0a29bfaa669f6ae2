"""Trees and files that are larger than anybody could look at, and a git that does not answer."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import pytest
from tests.ship.repos import Repo

from indult.errors import ShipError
from indult.ship import objects, process
from indult.ship.git import Repository


@pytest.fixture(name="repo")
def _repo(tmp_path: Path) -> Repo:
    return Repo.forked(tmp_path / "repo")


def bomb(repo: Repo, depth: int, *, mode: str = "100644") -> str:
    """Return a tree of ten times the same tree, so many times, with ten files at the end."""
    tree = repo.tree(*((mode, b"f%d" % number, repo.blob("x")) for number in range(10)))
    for _ in range(depth):
        tree = repo.tree(*(("40000", b"d%d" % number, tree) for number in range(10)))
    return tree


class TestTooLarge:
    """Trees that stand for paths without end."""

    def test_paths(self, repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A few trees that stand for a thousand million paths are refused wherever they would be listed."""
        monkeypatch.setattr(objects, "_MOST_PATHS", 50_000)
        tree, empty = bomb(repo, 8), repo.tree()
        with Repository.open(repo.folder) as opened:
            for call in (
                lambda: opened.diff(empty, tree),
                lambda: opened.diff(tree, empty),
                lambda: opened.links(tree),
                lambda: opened.export(tree, str(tmp_path / "out")),
            ):
                with pytest.raises(ShipError, match="holds more than 50,000 paths"):
                    call()

    def test_each_tree_once(self, repo: Repo) -> None:
        """Whether it is all there is seen nevertheless: each tree is looked into once."""
        head = repo.commit_tree(bomb(repo, 8), repo.id("main"))
        with Repository.open(repo.folder) as opened:
            opened.complete(repo.id("main"), head)

    def test_changed(self, repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
        """Too many changed paths are refused."""
        monkeypatch.setattr(objects, "_MOST_CHANGED", 99)
        with Repository.open(repo.folder) as opened, pytest.raises(ShipError, match="more than 99 paths change"):
            opened.diff(repo.tree(), bomb(repo, 1))

    def test_text(self, repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
        """Paths that are too long together are refused, be they ever so few."""
        monkeypatch.setattr(objects, "_MOST_TEXT", 10_000)
        tree = repo.tree(("100644", b"f", repo.blob("x")))
        for _ in range(20):
            tree = repo.tree(("40000", b"n" * 100, tree))
        with Repository.open(repo.folder) as opened, pytest.raises(ShipError, match="longer than 10,000 bytes"):
            opened.links(tree)

    def test_at_once(self, repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
        """Trees that are too long together are not taken apart."""
        monkeypatch.setattr(objects, "_MOST_AT_ONCE", 100)
        with Repository.open(repo.folder) as opened, pytest.raises(ShipError, match="longer than 100 bytes"):
            opened.diff(repo.tree(), bomb(repo, 0))


class TestLongFiles:
    """Files that do not fit into memory."""

    def test_export(self, repo: Repo, tmp_path: Path) -> None:
        """A long file is written as it is read, not held as a whole."""
        size = 60 * 1024 * 1024
        with (repo.folder / "long").open("wb") as file:
            file.truncate(size)
        repo.git("-c", "core.bigFileThreshold=1m", "add", "long")
        tree = repo.git("write-tree")
        with Repository.open(repo.folder) as opened:
            tracemalloc.start()
            opened.export(tree, str(tmp_path / "out"))
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()

        assert size == (tmp_path / "out/long").stat().st_size
        assert peak < size / 4

    def test_long_link(self, repo: Repo, tmp_path: Path) -> None:
        """A link of which nobody could follow the target is not written."""
        tree = repo.tree(("120000", b"l", repo.blob(b"x" * 9_000_000)))
        with Repository.open(repo.folder) as opened, pytest.raises(ShipError, match="longer than any system follows"):
            opened.export(tree, str(tmp_path / "out"))


class TestNoAnswer:
    """Pipes in place of git's files: whoever opens one to read waits for ever."""

    @pytest.mark.parametrize("name", ["HEAD", "config", "packed-refs", "shallow", "objects/info/alternates"])
    def test_files(self, repo: Repo, name: str) -> None:
        """Such a file of the repository is refused before git opens it."""
        place = repo.folder / ".git" / name
        place.unlink(missing_ok=True)
        os.mkfifo(place)
        with pytest.raises(ShipError, match=f"{name}` is no ordinary file"):
            Repository.open(repo.folder)

    def test_ref(self, repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
        """A branch that cannot be read is not waited for without end."""
        os.mkfifo(repo.folder / ".git/refs/heads/pipe")
        with Repository.open(repo.folder) as opened:
            monkeypatch.setattr(process, "SECONDS", 0.2)
            with pytest.raises(ShipError, match=r"does not answer within 0\.2 s"):
                opened.head("pipe")

    def test_object(self, repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
        """An object that cannot be read is not waited for without end, and the next one is read right."""
        blob, other = repo.id("fix:src/new.js"), repo.id("main:README")
        place = repo.folder / ".git/objects" / blob[:2] / blob[2:]
        place.unlink()
        os.mkfifo(place)
        with Repository.open(repo.folder) as opened:
            monkeypatch.setattr(objects, "SECONDS", 0.2)
            with pytest.raises(ShipError, match=r"does not answer within 0\.2 s"):
                opened.read([blob, other])
            monkeypatch.setattr(objects, "SECONDS", 60)
            assert {other: b"two\n"} == opened.read([other])


def test_names_the_repository(repo: Repo) -> None:
    """What git says of a place of ours is said of the repository's own."""
    main, fix = repo.id("main"), repo.id("fix")
    (repo.folder / ".git/refs/heads/main.lock").touch()
    with Repository.open(repo.folder) as opened, pytest.raises(ShipError, match="cannot move") as caught:
        opened.move("main", fix, main, {})

    assert str(repo.folder / ".git/refs/heads/main.lock") in str(caught.value)
    assert "indult-git-" not in str(caught.value)
