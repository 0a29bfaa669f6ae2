"""The workspace: a work tree of its own for each fix, whose commits hold what the fixer made and nothing of ours."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from tests.autofix.bench import Bench, make
from tests.ship.repos import Repo

from indult.autofix.workspace import Workspace, fixes_folder
from indult.errors import ConfigurationError, ShipError
from indult.setup.harnesses import ENTRIES, installed
from indult.ship.git import Repository

HOOKS = ".claude/settings.json"
COMMITS = (
    "import subprocess",
    "who = ['-c', 'user.name=A', '-c', 'user.email=a@example.com']",
    "subprocess.run(['git', 'add', '-A'], check=True)",
    "subprocess.run(['git', *who, 'commit', '-q', '-m', 'mine'], check=True)",
)
"""A fixer that commits all there is."""


@pytest.fixture(name="bench")
def _bench(tmp_path: Path, data_home: Path) -> Bench:
    """Make a repository and a workspace."""
    return Bench.make(tmp_path)


def tree(bench: Bench) -> Repo:
    """Return the work tree of the fix, to run the fixer's own git in."""
    return Repo(Path(bench.workspace.tree))


def changed(bench: Bench) -> str:
    """Return what the branch of the fix changes."""
    return bench.repo.git("diff", "--name-status", "main", "indult/f_1")


def entry(bench: Bench) -> Path:
    """Return where git keeps what it knows of the work tree."""
    return Path(tree(bench).git("rev-parse", "--absolute-git-dir"))


def clean(bench: Bench) -> None:
    """See that nothing of the workspace is left, in git or on the disk."""
    assert not os.path.lexists(bench.workspace.place)
    assert "main" == bench.repo.git("for-each-ref", "--format=%(refname:short)")
    assert 1 == len(bench.repo.git("worktree", "list").splitlines())


class TestMake:
    def test_it_is_checked_out_outside_of_the_repository(self, bench: Bench, tmp_path: Path) -> None:
        """The branch begins at the given commit, its files are there, and nothing is in the person's tree."""
        assert "one\n" == (tree(bench).folder / "src/app.py").read_text()
        assert "indult/f_1" == tree(bench).git("branch", "--show-current")
        assert bench.repo.id("main") == bench.workspace.head() == bench.workspace.start
        assert Path(bench.workspace.place).is_relative_to(tmp_path / "data")
        assert 0o700 == Path(bench.workspace.place).stat().st_mode & 0o777
        assert "" == bench.repo.git("status", "--porcelain", "--ignored")

    def test_it_begins_where_it_is_told(self, bench: Bench) -> None:
        """A fix can begin at any commit, whatever the person has checked out."""
        first = bench.repo.id("main")
        bench.repo.commit({"src/app.py": "later\n"})

        made = make(bench.repo, fix="f_2", start=first)

        assert ("one\n", first) == (Path(made.tree, "src/app.py").read_text(), made.head())

    def test_what_was_left_of_the_same_fix_is_replaced(self, bench: Bench) -> None:
        """A fix that is begun once more begins anew, with its branch."""
        tree(bench).commit({"src/app.py": "half\n"})

        made = make(bench.repo)

        assert bench.repo.id("main") == made.head()
        assert "one\n" == Path(made.tree, "src/app.py").read_text()

    def test_a_branch_of_somebody_else_stays(self, bench: Bench) -> None:
        """A branch that is elsewhere is not taken for a left-over, and nothing is left of the attempt."""
        bench.repo.git("branch", "indult/f_2")
        head = bench.repo.commit({"a": "a\n"})
        bench.repo.git("branch", "--force", "indult/f_2")
        bench.repo.git("reset", "--quiet", "--hard", "HEAD~")

        with pytest.raises(ShipError, match="there is a branch `indult/f_2` already"):
            make(bench.repo, fix="f_2")

        assert head == bench.repo.id("indult/f_2")
        assert ["f_1"] == [one.fix for one in Workspace.left(str(bench.repo.folder))]

    def test_a_branch_that_was_kept_can_be_taken_up(self, bench: Bench) -> None:
        """A kept branch is a place to begin again."""
        head = tree(bench).commit({"a": "a\n"})
        bench.workspace.remove(keep_branch=True)

        assert head == make(bench.repo, start=head).head()

    def test_a_commit_that_is_none(self, bench: Bench) -> None:
        """Where nothing can be checked out, nothing is left of the attempt."""
        with pytest.raises(ShipError, match="git cannot check out the branch `indult/f_2`"):
            make(bench.repo, fix="f_2", start="1" * 40)

        assert ["f_1"] == [one.fix for one in Workspace.left(str(bench.repo.folder))]

    def test_never_in_the_persons_tree(self, bench: Bench) -> None:
        """A place below the repository is refused."""
        with Repository.open(bench.repo.folder) as repository, pytest.raises(ShipError, match="would lie in"):
            Workspace.make(
                repository,
                root=str(bench.repo.folder),
                fix="f_2",
                branch="f_2",
                start=bench.repo.id("main"),
                place=str(bench.repo.folder / "fixes"),
            )

    def test_no_hook_and_no_filter_runs(self, tmp_path: Path, data_home: Path) -> None:
        """What the repository has git run at a check-out, or when files are added, does not run."""
        repo = Repo.make(tmp_path / "app")
        trap = f"touch {tmp_path}/trapped; cat"
        repo.commit({"a": "a\n", ".gitattributes": "*.txt filter=trap\n", "b.txt": "b\n"})
        for name in ("post-checkout", "reference-transaction", "post-index-change", "pre-commit", "post-commit"):
            repo.write(f".git/hooks/{name}", f"#!/bin/sh\n{trap}\n").chmod(0o755)
        for key in ("clean", "smudge"):
            repo.git("config", f"filter.trap.{key}", trap)
        repo.git("config", "filter.trap.required", "true")
        repo.git("config", "core.fsmonitor", trap)
        (tmp_path / "trapped").unlink(missing_ok=True)

        bench = Bench(repo, make(repo))
        tree(bench).write("c.txt", "c\n")
        assert bench.workspace.commit("Fix it") is not None
        bench.workspace.install_hooks(["codex"])
        bench.workspace.remove(keep_branch=False)

        assert not (tmp_path / "trapped").exists()

    def test_a_sparse_person(self, tmp_path: Path, data_home: Path) -> None:
        """Where a person has only some folders checked out, the fix has all, and no commit deletes the rest."""
        repo = Repo.make(tmp_path / "app")
        repo.commit({"a/one": "1\n", "b/two": "2\n"})
        repo.git("sparse-checkout", "set", "a")
        bench = Bench(repo, make(repo))
        assert Path(bench.workspace.tree, "b/two").is_file()
        assert "done" == bench.run("open('a/three', 'w')", *COMMITS).why

        bench.workspace.commit("More")

        assert "A\ta/three" == changed(bench)

    def test_ids_of_the_other_kind(self, tmp_path: Path, data_home: Path) -> None:
        """A repository with long ids is one like any other."""
        repo = Repo.make(tmp_path / "app", "--object-format=sha256")
        repo.commit({"a": "a\n"})
        bench = Bench(repo, make(repo))
        tree(bench).write("b", "b\n")

        assert 64 == len(bench.workspace.commit("Fix it") or "")
        bench.workspace.remove(keep_branch=False)
        clean(bench)

    def test_a_repository_without_a_work_tree(self, tmp_path: Path, data_home: Path) -> None:
        """A bare repository can have fixes, too."""
        Repo.make(tmp_path / "app").commit({"a": "a\n"})
        Repo(tmp_path).git("clone", "--quiet", "--bare", "app", "bare")
        bench = Bench(Repo(tmp_path / "bare"), make(Repo(tmp_path / "bare")))
        tree(bench).write("b", "b\n")

        assert bench.workspace.commit("Fix it") == bench.repo.id("indult/f_1")


class TestCommit:
    def test_all_that_is_not_ignored(self, bench: Bench) -> None:
        """New, changed and deleted files are in the commit, and ignored ones are not."""
        work = tree(bench)
        work.write("src/app.py", "two\n")
        work.write("new.txt", "new\n")
        work.write("x.pyc", "no\n")
        (work.folder / ".gitignore").rename(work.folder / "sub.gitignore")
        work.write("y/.gitignore", "*\n")

        made = bench.workspace.commit("Fix it\n\nWith a body.")

        assert made == bench.workspace.head() == bench.repo.id("indult/f_1")
        assert ["D .gitignore", "A new.txt", "M src/app.py", "A sub.gitignore", "A x.pyc"] == [
            line.replace("\t", " ")
            for line in bench.repo.git("diff", "--no-renames", "--name-status", "main", made or "").splitlines()
        ]
        assert "Fix it\n\nWith a body." == bench.repo.git("log", "-1", "--format=%B", "indult/f_1")
        assert "indult autofix <indult@localhost>" == bench.repo.git("log", "-1", "--format=%an <%ae>", "indult/f_1")
        assert "" == work.git("status", "--porcelain")

    def test_what_a_person_ignores_everywhere(
        self, bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The patterns of the person's own git hold for our commit and for the fixer's."""
        (tmp_path / "mine").write_text("*.orig\n")
        (tmp_path / "gitconfig").write_text(f"[core]\n\texcludesFile = {tmp_path}/mine\n")
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))

        assert "done" == bench.run("open('a.orig', 'w')", "open('a', 'w')", *COMMITS).why
        tree(bench).write("b.orig", "b\n")

        assert bench.workspace.commit("More") is None
        assert "A\ta" == changed(bench)

    def test_the_user_of_the_repository(self, bench: Bench) -> None:
        """Where the repository itself names a user, the commit is theirs."""
        bench.repo.git("config", "user.name", "Team")
        bench.repo.git("config", "user.email", "team@example.com")
        tree(bench).write("a", "a\n")

        made = bench.workspace.commit("Fix it")

        assert "Team <team@example.com> Team" == bench.repo.git("log", "-1", "--format=%an <%ae> %cn", made or "")

    def test_nothing_new_is_no_commit(self, bench: Bench) -> None:
        """A tree that is as its branch is makes no commit."""
        assert bench.workspace.commit("Nothing") is None
        assert bench.repo.id("main") == bench.workspace.head()

    def test_on_top_of_what_the_fixer_committed(self, bench: Bench) -> None:
        """The fixer's own commits stay, and what it left lying about comes on top."""
        mine = tree(bench).commit({"a": "a\n"})
        tree(bench).write("b", "b\n")

        made = bench.workspace.commit("Rest")

        assert mine == bench.repo.id(f"{made}^")
        assert "A\ta\nA\tb" == changed(bench)

    def test_a_fixer_that_went_elsewhere(self, bench: Bench) -> None:
        """Where the fixer works on another branch, or on none, its files come to ours, and the tree is back on it."""
        for away in (("switch", "--quiet", "-c", "other"), ("switch", "--quiet", "--detach")):
            tree(bench).git(*away)
            tree(bench).commit({"-".join(away): "a\n"})

            made = bench.workspace.commit("Fix it")

            assert made == bench.workspace.head()
            assert "indult/f_1" == tree(bench).git("branch", "--show-current")
            assert "" == tree(bench).git("status", "--porcelain")

    def test_a_fixer_that_deleted_the_branch(self, bench: Bench) -> None:
        """A branch that is gone begins anew where it began."""
        tree(bench).git("switch", "--quiet", "--detach")
        tree(bench).git("branch", "--quiet", "-D", "indult/f_1")
        assert bench.workspace.start == bench.workspace.head()
        tree(bench).write("a", "a\n")

        made = bench.workspace.commit("Fix it")

        assert (made, bench.workspace.start) == (bench.repo.id("indult/f_1"), bench.repo.id("indult/f_1^"))

    @pytest.mark.parametrize("new", [True, False])
    def test_a_fixer_that_was_killed_half_way(self, bench: Bench, new: bool) -> None:
        """Locks, a merge and a rebase that were begun are nothing that the next call finds."""
        place = entry(bench)
        for path in (place / "index.lock", place / "HEAD.lock", bench.repo.folder / ".git/refs/heads/indult/f_1.lock"):
            path.write_text("")
        (place / "MERGE_HEAD").write_text(bench.workspace.start + "\n")
        (place / "rebase-merge").mkdir()
        (place / "index").write_bytes(b"no index")
        if new:
            tree(bench).write("a", "a\n")

        assert new == (bench.workspace.commit("Fix it") is not None)
        assert "On branch indult/f_1\nnothing to commit, working tree clean" == tree(bench).git("status")

    def test_a_merge_that_was_begun(self, bench: Bench) -> None:
        """What a fixer was merging is a parent of the commit, so that the branch merges from then on."""
        other = bench.repo.commit({"other": "one\n"})
        tree(bench).git("merge", "--quiet", "--no-commit", "--no-ff", other)

        made = bench.workspace.commit("Fix it")

        assert made is not None
        assert [bench.workspace.start, other] == tree(bench).git("rev-parse", f"{made}^1", f"{made}^2").split()

    def test_a_fixer_that_hid_its_changes(self, bench: Bench) -> None:
        """What the fixer told its git to overlook is in the commit."""
        work = tree(bench)
        work.git("update-index", "--assume-unchanged", "src/app.py")
        work.git("update-index", "--skip-worktree", ".gitignore")
        work.write("src/app.py", "two\n")
        work.write(".gitignore", "")

        bench.workspace.commit("Fix it")

        assert "M\t.gitignore\nM\tsrc/app.py" == changed(bench)

    def test_a_fixer_that_made_a_repository_of_its_own(self, bench: Bench) -> None:
        """What is put in the place of `.git` is not asked for anything."""
        work = tree(bench)
        (work.folder / ".git").unlink()
        work.git("init", "--quiet")
        work.git("config", "core.fsmonitor", f"touch {work.folder}/trapped")
        work.write("a", "a\n")

        made = bench.workspace.commit("Fix it")

        assert made == bench.repo.id("indult/f_1")
        assert "A\ta" == changed(bench)

    def test_a_tree_that_git_knows_no_more(self, bench: Bench) -> None:
        """Where git's record of the tree is gone, that is an error and no commit to somewhere else."""
        shutil.rmtree(entry(bench))

        with pytest.raises(ShipError, match="is no work tree of"):
            bench.workspace.commit("Fix it")


class TestHooks:
    @pytest.mark.parametrize("harness", ENTRIES)
    def test_they_stay_out(self, bench: Bench, harness: str) -> None:
        """Neither the fixer's own commit nor ours takes the hooks in."""
        bench.workspace.install_hooks([harness])
        path = Path(bench.workspace.tree, ENTRIES[harness].file)
        assert {*ENTRIES[harness].gates} <= {*installed(harness, path.read_text())}
        Path(bench.workspace.tree, "new.txt").write_text("new\n")

        came = bench.run(*COMMITS)

        assert "done" == came.why, came
        assert "A\tnew.txt" == changed(bench)
        assert bench.workspace.commit("More") is None
        assert path.is_file()

    def test_settings_that_are_there(self, tmp_path: Path, data_home: Path) -> None:
        """Settings of the repository with hooks of its own keep them, have ours, and are committed as they were."""
        own = {
            "hooks": {"PreToolUse": [{"matcher": "*", "hooks": [{"type": "command", "command": "./own"}]}]},
            "model": "m",
        }
        bench = Bench.make(tmp_path, {HOOKS: json.dumps(own, indent=2), "a": "a\n"})
        bench.workspace.install_hooks(["claude-code"])
        path = Path(bench.workspace.tree, HOOKS)
        found = json.loads(path.read_text())
        assert ("m", "./own") == (found["model"], found["hooks"]["PreToolUse"][0]["hooks"][0]["command"])
        assert "PreToolUse" in installed("claude-code", path.read_text())
        assert "" == tree(bench).git("status", "--porcelain")

        assert "done" == bench.run("open('a', 'w').write('b')", *COMMITS).why
        tree(bench).write("c", "c\n")
        bench.workspace.commit("More")

        assert "M\ta\nA\tc" == changed(bench)
        assert "PreToolUse" in installed("claude-code", path.read_text())

    def test_settings_with_our_hooks_already(self, tmp_path: Path, data_home: Path) -> None:
        """Where the repository has them, nothing is added, and nothing is hidden."""
        bench = Bench.make(tmp_path)
        bench.workspace.install_hooks(["codex"])
        text = Path(bench.workspace.tree, ".codex/hooks.json").read_text()
        second = Bench.make(tmp_path / "second", {".codex/hooks.json": text})

        second.workspace.install_hooks(["codex"])

        assert {} == second.workspace.hooks
        assert "H .codex/hooks.json" == tree(second).git("ls-files", "-t", ".codex")

    def test_a_repository_that_wants_its_settings_back(self, tmp_path: Path, data_home: Path) -> None:
        """Where .gitignore says that they are to be committed, the fixer's commit has them and ours takes them out."""
        bench = Bench.make(tmp_path, {".gitignore": ".claude/*\n!.claude/settings.json\n"})
        bench.workspace.install_hooks(["claude-code"])
        assert "done" == bench.run(*COMMITS).why
        assert f"A\t{HOOKS}" == changed(bench)

        assert bench.workspace.commit("Without") is not None

        assert "" == changed(bench)
        assert Path(bench.workspace.tree, HOOKS).is_file()

    def test_forced_in(self, tmp_path: Path, data_home: Path) -> None:
        """A commit that forces our version of a tracked file in is put right as well."""
        bench = Bench.make(tmp_path, {HOOKS: '{"model": "m"}\n'})
        bench.workspace.install_hooks(["claude-code"])
        tree(bench).git("update-index", "--no-skip-worktree", HOOKS)
        assert "done" == bench.run(*COMMITS).why
        assert f"M\t{HOOKS}" == changed(bench)

        bench.workspace.commit("Without")

        assert "" == changed(bench)

    def test_twice_is_once(self, bench: Bench) -> None:
        """A second time changes nothing, and a later process knows which files are ours."""
        bench.workspace.install_hooks(["claude-code", "codex", "copilot"])
        before = {name: Path(bench.workspace.tree, name).read_bytes() for name in bench.workspace.hooks}

        again = Workspace.at(bench.workspace.place)
        again.install_hooks(["claude-code", "codex", "copilot"])

        assert 3 == len(before)
        assert before == {name: Path(again.tree, name).read_bytes() for name in again.hooks}

    @pytest.mark.parametrize("text", ["{", '{"hooks": 3}', "\xff"])
    def test_settings_that_nobody_can_add_to(self, tmp_path: Path, data_home: Path, text: str) -> None:
        """Settings that cannot be read are an error, since the fixer would be without a gate."""
        bench = Bench.make(tmp_path)
        tree(bench).write(HOOKS, text.encode("latin-1"))

        with pytest.raises(ConfigurationError):
            bench.workspace.install_hooks(["claude-code"])

    def test_settings_behind_a_link(self, bench: Bench, tmp_path: Path) -> None:
        """Nothing is written through a link that the repository, or the fixer, has put there."""
        (tmp_path / "elsewhere").mkdir()
        (tree(bench).folder / ".claude").symlink_to(tmp_path / "elsewhere")

        with pytest.raises(ConfigurationError, match="symbolic link"):
            bench.workspace.install_hooks(["claude-code"])

        assert [] == list((tmp_path / "elsewhere").iterdir())


class TestRemove:
    def test_all_is_gone(self, bench: Bench) -> None:
        """Folder, git's record of it and branch are gone, and removing once more changes nothing."""
        for _ in range(2):
            bench.workspace.remove(keep_branch=False)
            clean(bench)

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

    @pytest.mark.parametrize(
        "half", ["tree", ".git", "entry", "gitdir", "HEAD", "locked", "pruned", "branch", "ref.lock"]
    )
    def test_what_is_half_gone(self, bench: Bench, half: str) -> None:
        """Whatever of it is gone already, or locked, the rest goes, too."""
        place = entry(bench)
        match half:
            case "tree":
                shutil.rmtree(bench.workspace.tree)
            case ".git":
                Path(bench.workspace.tree, ".git").unlink()
            case "entry":
                shutil.rmtree(place)
            case "gitdir" | "HEAD":
                (place / half).unlink()
            case "locked":
                bench.repo.git("worktree", "lock", bench.workspace.tree)
            case "pruned":
                shutil.rmtree(bench.workspace.tree)
                bench.repo.git("worktree", "prune", "--expire=now")
            case "branch":
                bench.repo.git("update-ref", "-d", "refs/heads/indult/f_1")
            case _:
                (bench.repo.folder / ".git/refs/heads/indult/f_1.lock").write_text("")

        (found,) = Workspace.left(str(bench.repo.folder))
        found.remove(keep_branch=False)

        clean(bench)

    def test_one_that_was_moved(self, bench: Bench, tmp_path: Path) -> None:
        """A work tree that somebody moved away is theirs, and its branch is still there for it."""
        tree(bench).git("worktree", "move", bench.workspace.tree, str(tmp_path / "mine"))

        bench.workspace.remove(keep_branch=False)

        assert not os.path.lexists(bench.workspace.place)
        assert "indult/f_1" == Repo(tmp_path / "mine").git("branch", "--show-current")
        assert bench.workspace.start == bench.repo.id("indult/f_1")

    def test_a_branch_that_a_person_looks_at(self, bench: Bench) -> None:
        """A branch that is checked out elsewhere stays."""
        bench.repo.git("checkout", "--quiet", "--ignore-other-worktrees", "indult/f_1")

        bench.workspace.remove(keep_branch=False)

        assert bench.workspace.start == bench.repo.id("HEAD")
        assert not os.path.lexists(bench.workspace.place)

    def test_only_its_own(self, bench: Bench) -> None:
        """Other fixes, and other work trees, are left alone."""
        other = make(bench.repo, fix="f_2")

        bench.workspace.remove(keep_branch=False)

        assert bench.repo.id("main") == other.head() == Repo(Path(other.tree)).id("HEAD")
        assert ["f_2"] == [one.fix for one in Workspace.left(str(bench.repo.folder))]

    def test_a_record_that_is_gone(self, bench: Bench) -> None:
        """Of a folder that says nothing of itself, the folder goes."""
        folder = Path(fixes_folder(str(bench.repo.folder)))
        (folder / "f_0").mkdir()
        (folder / "f_9").mkdir()
        (folder / "f_9" / "workspace.json").write_text('{"half')
        (folder / "file").write_text("")

        for one in Workspace.left(str(bench.repo.folder)):
            one.remove(keep_branch=False)

        assert [] == list(folder.iterdir())
        clean(bench)

    def test_files_that_nobody_may_delete(self, bench: Bench) -> None:
        """Folders without the right to write go, too."""
        inner = Path(bench.workspace.tree, "cache", "deep")
        inner.mkdir(parents=True)
        (inner / "file").write_text("x")
        inner.chmod(0o500)
        inner.parent.chmod(0o500)

        bench.workspace.remove(keep_branch=False)

        clean(bench)

    def test_links_are_not_followed(self, bench: Bench, tmp_path: Path) -> None:
        """What a link in the tree, or in its place, leads to is left alone."""
        (tmp_path / "mine").mkdir()
        (tmp_path / "mine" / "file").write_text("x")
        Path(bench.workspace.tree, "link").symlink_to(tmp_path / "mine")
        bench.workspace.remove(keep_branch=False)
        bench.workspace = make(bench.repo)
        shutil.rmtree(bench.workspace.tree)
        Path(bench.workspace.tree).symlink_to(tmp_path / "mine")

        bench.workspace.remove(keep_branch=False)

        clean(bench)
        assert (tmp_path / "mine" / "file").is_file()

    def test_a_repository_that_is_gone(self, bench: Bench) -> None:
        """Where the repository itself is gone, the folder still goes."""
        shutil.rmtree(bench.repo.folder)

        bench.workspace.remove(keep_branch=False)

        assert not os.path.lexists(bench.workspace.place)
