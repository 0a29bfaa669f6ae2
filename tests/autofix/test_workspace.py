"""The workspace: a work tree of its own for each fix, whose commits hold what the fixer made and nothing of ours."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.autofix.bench import Bench, make
from tests.ship.repos import Repo

from indult.autofix.workspace import Workspace

HOOKS = ".claude/settings.json"


@pytest.fixture(name="bench")
def _bench(tmp_path: Path, data_home: Path) -> Bench:
    """Make a repository and a workspace."""
    return Bench.make(tmp_path)


def tree(bench: Bench) -> Repo:
    """Return the work tree of the fix, to run the fixer's own git in."""
    return Repo(Path(bench.workspace.tree))


class TestMake:
    def test_it_is_checked_out_outside_of_the_repository(self, bench: Bench, tmp_path: Path) -> None:
        """The branch begins at the given commit, its files are there, and nothing is in the person's tree."""
        assert "one\n" == (tree(bench).folder / "src/app.py").read_text()
        assert "indult/f_1" == tree(bench).git("branch", "--show-current")
        assert bench.repo.id("main") == bench.workspace.head() == bench.workspace.start
        assert Path(bench.workspace.place).is_relative_to(tmp_path / "data")
        assert "" == bench.repo.git("status", "--porcelain", "--ignored")

    def test_what_was_left_of_the_same_fix_is_replaced(self, bench: Bench) -> None:
        """A fix that is begun once more begins anew, with its branch."""
        tree(bench).commit({"src/app.py": "half\n"})

        made = make(bench.repo)

        assert bench.repo.id("main") == made.head()
        assert "one\n" == Path(made.tree, "src/app.py").read_text()


class TestCommit:
    def test_all_that_is_not_ignored(self, bench: Bench) -> None:
        """New, changed and deleted files are in the commit, and ignored ones are not."""
        work = tree(bench)
        work.write("src/app.py", "two\n")
        work.write("new.txt", "new\n")
        work.write("x.pyc", "no\n")

        made = bench.workspace.commit("Fix it\n\nWith a body.")

        assert made == bench.workspace.head() == bench.repo.id("indult/f_1")
        assert "A\tnew.txt\nM\tsrc/app.py" == bench.repo.git("diff", "--name-status", "main", "indult/f_1")
        assert "Fix it\n\nWith a body." == bench.repo.git("log", "-1", "--format=%B", "indult/f_1")
        assert "indult autofix <indult@localhost>" == bench.repo.git("log", "-1", "--format=%an <%ae>", "indult/f_1")
        assert "" == work.git("status", "--porcelain")

    def test_nothing_new_is_no_commit(self, bench: Bench) -> None:
        """A tree that is as its branch is makes no commit."""
        assert bench.workspace.commit("Nothing") is None
        assert bench.repo.id("main") == bench.workspace.head()

    def test_hooks_stay_out(self, bench: Bench) -> None:
        """Neither the fixer's own commit nor ours takes the hooks in."""
        bench.workspace.install_hooks(["claude-code"])
        assert Path(bench.workspace.tree, HOOKS).is_file()
        Path(bench.workspace.tree, "new.txt").write_text("new\n")

        came = bench.run(
            "import subprocess",
            "who = ['-c', 'user.name=A', '-c', 'user.email=a@example.com']",
            "subprocess.run(['git', 'add', '-A'], check=True)",
            "subprocess.run(['git', *who, 'commit', '-q', '-m', 'mine'], check=True)",
        )

        assert "done" == came.why, came
        assert "A\tnew.txt" == bench.repo.git("diff", "--name-status", "main", "indult/f_1")
        assert bench.workspace.commit("More") is None


class TestRemove:
    def test_all_is_gone(self, bench: Bench) -> None:
        """Folder, git's record of it and branch are gone, and removing once more changes nothing."""
        for _ in range(2):
            bench.workspace.remove(keep_branch=False)

            assert not Path(bench.workspace.place).exists()
            assert "main" == bench.repo.git("for-each-ref", "--format=%(refname:short)")
            assert 1 == len(bench.repo.git("worktree", "list").splitlines())

    def test_the_branch_can_be_kept(self, bench: Bench) -> None:
        """What the fixer committed stays where the branch is kept."""
        head = tree(bench).commit({"a": "a\n"})

        bench.workspace.remove(keep_branch=True)

        assert head == bench.repo.id("indult/f_1")

    def test_what_is_left_is_found(self, bench: Bench) -> None:
        """A later run finds what a killed one left, and removes it."""
        (found,) = Workspace.left(str(bench.repo.folder))

        assert ("f_1", "indult/f_1", bench.workspace.tree) == (found.fix, found.branch, found.tree)
        found.remove(keep_branch=False)
        assert [] == Workspace.left(str(bench.repo.folder))
