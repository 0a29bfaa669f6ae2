"""The checkout: git runs nothing of what a fixer left, waits for nothing, and fixes do not get into each other's way."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.autofix.bench import Bench, make
from tests.ship.repos import Repo

from indult.autofix.checkout import Checkout
from indult.errors import ShipError
from indult.ship.git import Repository


@pytest.fixture(name="bench")
def _bench(tmp_path: Path, data_home: Path) -> Bench:
    """Make a repository and a workspace."""
    return Bench.make(tmp_path, {"src/app.py": "one\n", "src/old.py": "old\n", "docs/a": "a\n"})


def tree(bench: Bench) -> Repo:
    """Return the work tree of the fix, to run the fixer's own git in."""
    return Repo(Path(bench.workspace.tree))


def entry(bench: Bench) -> Path:
    """Return where git keeps what it knows of the work tree."""
    return Path(tree(bench).git("rev-parse", "--absolute-git-dir"))


def committed(bench: Bench) -> list[str]:
    """Commit what the tree holds, and return what the branch changes."""
    bench.workspace.commit("Fix it")
    return bench.repo.git("diff", "--no-renames", "--name-status", "main", "indult/f_1").replace("\t", " ").splitlines()


def trap(repo: Repo, place: Path) -> None:
    """Have a repository run a filter for each of its files, which says so."""
    repo.write(".git/info/attributes", "* filter=trap\n")
    for key in ("clean", "smudge"):
        repo.git("config", f"filter.trap.{key}", f"touch {place}; cat")


def inner(folder: Path, place: Path) -> Repo:
    """Make a repository with a commit, a change since, and a trap."""
    repo = Repo.make(folder)
    repo.commit({"a.txt": "hi\n"})
    trap(repo, place)
    repo.write("a.txt", "HI\n")
    os.utime(folder / "a.txt", (1, 1))
    return repo


class TestRepositoriesInside:
    @pytest.mark.parametrize("known", [True, False])
    def test_they_run_nothing(self, bench: Bench, tmp_path: Path, known: bool) -> None:
        """A repository in the tree is not looked into, whether the branch has it already or not."""
        inner(tree(bench).folder / "sub", tmp_path / "trapped")
        if known:
            tree(bench).git("-c", "advice.addEmbeddedRepo=false", "add", "sub")
            tree(bench).git("commit", "--quiet", "-m", "mine")
        (tmp_path / "trapped").unlink(missing_ok=True)
        tree(bench).write(".gitignore", "!sub\n!/sub/\n")
        tree(bench).write("new", "new\n")

        assert ["A .gitignore", "A new", *(["A sub"] if known else [])] == committed(bench)
        assert not (tmp_path / "trapped").exists()

    def test_one_in_the_place_of_known_files(self, bench: Bench, tmp_path: Path) -> None:
        """Where the branch has files, they are files, whatever is beside them."""
        inner(tree(bench).folder / "src", tmp_path / "trapped")
        (tmp_path / "trapped").unlink(missing_ok=True)
        tree(bench).write("src/app.py", "two\n")

        assert ["M src/app.py", "A src/a.txt"] == sorted(committed(bench), reverse=True)
        assert not (tmp_path / "trapped").exists()

    def test_names_that_look_like_patterns(self, bench: Bench) -> None:
        """Only the repository itself is left out, whatever its name would mean as a pattern."""
        for name in ("[s]x", "*", "!x", "#x", "a b ", "n\nl", "\\"):
            Repo.make(tree(bench).folder / name).write("a", "a\n")
        tree(bench).write("sx/a", "a\n")
        tree(bench).write(" x", "x\n")

        assert ["A  x", "A sx/a"] == committed(bench)

    def test_a_submodule(self, tmp_path: Path, data_home: Path) -> None:
        """A submodule stays as the branch has it, unless its folder is gone."""
        other = Repo.make(tmp_path / "other")
        repo = Repo.make(tmp_path / "app")
        repo.write("a", "a\n")
        repo.git("update-index", "--add", "--cacheinfo", f"160000,{other.commit({'b': 'b'})},sub")
        repo.git("add", "a")
        repo.git("commit", "--quiet", "-m", "one")
        bench = Bench(repo, make(repo))

        tree(bench).write("sub/b", "b\n")
        assert [] == committed(bench)
        shutil.rmtree(tree(bench).folder / "sub")
        assert ["D sub"] == committed(bench)


def test_folders_and_files_change_places(bench: Bench) -> None:
    """A folder in the place of a file, a file and a link in that of a folder, are what the commit has."""
    work = tree(bench).folder
    (work / "src/app.py").unlink()
    tree(bench).write("src/app.py/deep", "deep\n")
    shutil.rmtree(work / "docs")
    tree(bench).write("docs", "file\n")
    assert ["A docs", "A src/app.py/deep", "D docs/a", "D src/app.py"] == sorted(committed(bench))

    shutil.rmtree(work / "src")
    (work / "src").symlink_to("docs")

    assert ["A docs", "A src", "D docs/a", "D src/app.py", "D src/old.py"] == sorted(committed(bench))


def test_a_filter_for_branches_of_fixes(bench: Bench, tmp_path: Path) -> None:
    """What the configuration adds for the branch of a fix runs nothing either, when the next one begins."""
    trap(bench.repo, tmp_path / "trapped")
    (bench.repo.folder / ".git/config").rename(bench.repo.folder / ".git/more")
    bench.repo.write(
        ".git/config", '[core]\nrepositoryformatversion = 0\n[includeIf "onbranch:indult/**"]\npath = more\n'
    )

    second = Bench(bench.repo, make(bench.repo, fix="f_2"))
    tree(bench).git("switch", "--quiet", "--detach")
    (tmp_path / "trapped").unlink(missing_ok=True)
    for one in (bench, second):
        Path(one.workspace.tree, "new").write_text("new\n")
        assert one.workspace.commit("Fix it") is not None

    assert not (tmp_path / "trapped").exists()


def test_two_disks(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ledger and the repository may lie on two disks: nothing is moved from one to the other."""

    def apart(move: Callable[..., None]) -> Callable[..., None]:
        def moved(old: str, new: str) -> None:
            if (bench.repo.folder in Path(old).parents) != (bench.repo.folder in Path(new).parents):
                raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), str(old), None, str(new))
            move(old, new)

        return moved

    for name in ("rename", "replace"):
        monkeypatch.setattr(os, name, apart(getattr(os, name)))
    bench.workspace = make(bench.repo)
    tree(bench).write("new", "new\n")

    assert ["A new"] == committed(bench)
    bench.workspace.remove(keep_branch=False)
    assert not os.path.lexists(bench.workspace.place)


class TestPranks:
    @pytest.mark.parametrize("name", ["HEAD", "commondir", "index", "ORIG_HEAD", "MERGE_HEAD", "logs/HEAD"])
    @pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: path.symlink_to("/etc/passwd")])
    def test_in_what_git_keeps_of_the_tree(self, bench: Bench, name: str, make: Callable[[Path], None]) -> None:
        """Whatever is in the place of a file that git keeps of the tree, nobody waits for it, and the commit is made."""
        place = entry(bench) / name
        place.parent.mkdir(exist_ok=True)
        place.unlink(missing_ok=True)
        make(place)
        tree_ = Path(bench.workspace.tree)
        (tree_ / "new").write_text("new\n")

        assert ["A new"] == committed(bench)
        assert "On branch indult/f_1\nnothing to commit, working tree clean" == tree(bench).git("status")

    def test_another_repository(self, bench: Bench, tmp_path: Path) -> None:
        """A tree that was led to another repository is committed to its own."""
        other = Repo.make(tmp_path / "other")
        head = other.commit({"a": "a\n"})
        (entry(bench) / "commondir").write_text(f"{other.folder}/.git\n")
        Path(bench.workspace.tree, "new").write_text("new\n")

        assert ["A new"] == committed(bench)
        assert head == other.id("main")

    @pytest.mark.parametrize("name", [".gitignore", "docs/.gitattributes"])
    def test_a_pipe_that_git_would_read(self, bench: Bench, name: str) -> None:
        """A pipe in the place of a file that tells git what to do is an error with its name."""
        os.mkfifo(tree(bench).folder / name)

        with pytest.raises(ShipError, match=f"`{name}` is no ordinary file"):
            bench.workspace.commit("Fix it")

    @pytest.mark.parametrize("name", ["info/exclude", "info/attributes", "packed-refs", "config"])
    def test_a_pipe_in_the_repository(self, bench: Bench, name: str) -> None:
        """So is one in the repository, which is not ours to put right."""
        place = bench.repo.folder / ".git" / name
        place.parent.mkdir(exist_ok=True)
        place.unlink(missing_ok=True)
        os.mkfifo(place)

        with pytest.raises(ShipError, match="is no ordinary file"):
            bench.workspace.commit("Fix it")

    def test_a_pipe_in_the_place_of_the_branch(self, bench: Bench) -> None:
        """A branch that was replaced by a pipe begins anew."""
        place = bench.repo.folder / ".git/refs/heads/indult/f_1"
        place.unlink()
        os.mkfifo(place)
        tree(bench).write("new", "new\n")

        assert ["A new"] == committed(bench)

    def test_a_pipe_in_the_place_of_a_file(self, bench: Bench) -> None:
        """A file that a pipe took the place of is gone, and a new pipe is nothing."""
        (tree(bench).folder / "src/old.py").unlink()
        for name in ("src/old.py", "pipe"):
            os.mkfifo(tree(bench).folder / name)

        assert ["D src/old.py"] == committed(bench)


class TestSeveral:
    def test_many_at_once(self, bench: Bench) -> None:
        """Fixes begin and end at the same time, and whoever lists the work trees sees each whole or not at all."""

        def one(number: int) -> int:
            workspace = make(bench.repo, fix=f"g_{number}")
            Path(workspace.tree, "new").write_text(f"{number}\n")
            made = workspace.commit("Fix it")
            bench.repo.git("worktree", "list")
            with Repository.open(bench.repo.folder) as repository:
                found = len(repository.worktrees(f"indult/g_{number}"))
            workspace.remove(keep_branch=False)
            return found if made else 0

        with ThreadPoolExecutor(8) as pool:
            assert [1] * 24 == list(pool.map(one, range(24)))
        assert 2 == len(bench.repo.git("worktree", "list").splitlines())

    def test_a_work_tree_of_the_same_name(self, bench: Bench, tmp_path: Path) -> None:
        """Somebody's work tree in a folder of the same name stays theirs."""
        bench.repo.git("worktree", "add", "--quiet", "--detach", str(tmp_path / "f_2"))

        second = Bench(bench.repo, make(bench.repo, fix="f_2"))
        Path(second.workspace.tree, "new").write_text("new\n")
        assert second.workspace.commit("Fix it") == bench.repo.id("indult/f_2")
        second.workspace.remove(keep_branch=False)

        assert bench.repo.id("main") == Repo(tmp_path / "f_2").id("HEAD")

    def test_refs_that_git_keeps_in_a_way_of_its_own(self, bench: Bench, tmp_path: Path) -> None:
        """Where only git knows how to make what it keeps of a tree, it does, and nothing is checked out by it."""
        (bench.repo.folder / ".git/reftable").mkdir()
        place = tmp_path / "place" / "f_2"
        place.mkdir(parents=True)
        (place / "excludes").write_text("")
        checkout = Checkout(
            common=bench.repo.folder / ".git", tree=place / "tree", branch="indult/f_2", start=bench.repo.id("main"),
            message=place / "message", excludes=place / "excludes",
        )  # fmt: skip

        def export(folder: str) -> None:
            Path(folder).mkdir()
            Path(folder, "new").write_text("new\n")

        checkout.make(export)
        made = checkout.commit("Fix it", {})

        assert made == bench.repo.id("indult/f_2")
        assert "A\tnew" in bench.repo.git("diff", "--name-status", "main", "indult/f_2")
        checkout.remove(keep_branch=False)
        assert 2 == len(bench.repo.git("worktree", "list").splitlines())
