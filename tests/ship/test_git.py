from __future__ import annotations

import fcntl
import multiprocessing
import os
import shutil
import signal
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from tests.ship.repos import Repo

from indult.decompose.changes import Changed
from indult.errors import ShipError
from indult.ship.git import LOCK, Repository
from indult.ship.objects import MOST

NOTHING = "0" * 40


@pytest.fixture(name="repo")
def _repo(tmp_path: Path) -> Repo:
    return Repo.forked(tmp_path / "repo")


class TestOpen:
    """What is opened, and what is not."""

    def test_identity(self, repo: Repo, tmp_path: Path) -> None:
        """All work trees of a repository, and every folder in them, lead to the same identity and main work tree."""
        repo.git("worktree", "add", "--quiet", str(tmp_path / "other"), "fix")
        (tmp_path / "link").symlink_to(repo.folder)
        expected = (str(repo.folder / ".git"), str(repo.folder))

        for place in (repo.folder, repo.folder / "src", repo.folder / ".git", tmp_path / "other", tmp_path / "link"):
            with Repository.open(place) as opened:
                assert expected == (opened.common, opened.root)

    def test_bare(self, repo: Repo, tmp_path: Path) -> None:
        """A bare repository is its own root."""
        repo.git("clone", "--quiet", "--bare", ".", str(tmp_path / "bare.git"))

        with Repository.open(tmp_path / "bare.git") as opened:
            assert (str(tmp_path / "bare.git"),) * 2 == (opened.common, opened.root)
            assert repo.id("fix") == opened.head("fix")

    @pytest.mark.parametrize("name", ["", "missing"])
    def test_none(self, tmp_path: Path, name: str) -> None:
        """A folder without a repository, and no folder at all, are errors that name it."""
        with pytest.raises(ShipError, match=str(tmp_path / name)):
            Repository.open(tmp_path / name)

    def test_no_git(self, repo: Repo, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        """Without git on the PATH the error says what to install."""
        monkeypatch.setenv("PATH", str(tmp_path))

        with pytest.raises(ShipError, match="there is no git") as caught:
            Repository.open(repo.folder)
        assert caught.value.hint == "install git 2.38 or newer"

    @pytest.mark.parametrize(
        ("says", "why"), [("git version 2.37.9", "git is of version 2.37"), ("hello", "does not say which version")]
    )
    def test_old_git(self, repo: Repo, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, says: str, why: str) -> None:
        """A git that is too old, or does not say how old it is, is refused."""
        fake = tmp_path / "bin" / "git"
        fake.parent.mkdir()
        fake.write_text(f"#!/bin/sh\necho '{says}'\n", encoding="ascii")
        fake.chmod(0o755)
        monkeypatch.setenv("PATH", str(fake.parent))

        with pytest.raises(ShipError, match=why):
            Repository.open(repo.folder)

    def test_nothing_is_left(self, repo: Repo, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        """Closing removes the temporary folder, and so does an open that fails."""
        place = tmp_path / "tmp"
        place.mkdir()
        monkeypatch.setattr("tempfile.tempdir", str(place))
        with Repository.open(repo.folder) as opened:
            opened.diff(opened.head("main"), opened.head("fix"))
            assert list(place.iterdir())
        with pytest.raises(ShipError):
            Repository.open(tmp_path)

        assert [] == list(place.iterdir())


class TestBranches:
    """Branches by name."""

    def test_head(self, repo: Repo) -> None:
        """A branch is looked up by its whole name."""
        with Repository.open(repo.folder) as opened:
            assert repo.id("fix") == opened.head("fix")
            assert opened.tip("fi") is None
            with pytest.raises(ShipError, match="there is no branch `fixes`"):
                opened.head("fixes")

    def test_says_what_may_have_been_meant(self, repo: Repo) -> None:
        """A name that is no branch is told what it is, or what it is near to, whether refs are packed or not."""
        repo.git("update-ref", "refs/remotes/origin/late/fix", "main")
        repo.git("pack-refs", "--all", "--prune")
        with Repository.open(repo.folder) as opened, pytest.raises(ShipError) as caught:
            opened.head("origin/late/fix")

        assert "local branches only: git branch late/fix origin/late/fix" == caught.value.hint

    def test_packed(self, repo: Repo) -> None:
        """A packed ref is found, whether it was packed before or after the repository was opened."""
        expected = repo.id("fix")
        with Repository.open(repo.folder) as opened:
            repo.git("pack-refs", "--all", "--prune")
            assert expected == opened.head("fix")
        with Repository.open(repo.folder) as opened:
            assert expected == opened.head("fix")

    @pytest.mark.parametrize(
        "name",
        ["", "a..b", "a b", "a~1", "fix^", "@{-1}", "@", "*", "f?x", "a//b", "/a", "a/", ".a", "a/.b", "a.lock", "a\n"],
    )
    def test_no_name(self, repo: Repo, name: str) -> None:
        """A text that git would not take as the name of a branch is never looked up as something else."""
        with Repository.open(repo.folder) as opened, pytest.raises(ShipError, match="is no name of a branch"):
            opened.tip(name)

    def test_folder_of_branches(self, repo: Repo) -> None:
        """The first part of a branch's name is not a branch."""
        repo.git("branch", "topic/one", "fix")

        with Repository.open(repo.folder) as opened:
            assert opened.tip("topic") is None

    def test_other_name(self, repo: Repo) -> None:
        """A branch that is another name of another one is refused: moving it would move that one."""
        repo.git("symbolic-ref", "refs/heads/alias", "refs/heads/main")

        with (
            Repository.open(repo.folder) as opened,
            pytest.raises(ShipError, match="another name of `refs/heads/main`"),
        ):
            opened.head("alias")

    def test_dash_and_tag(self, repo: Repo) -> None:
        """A branch that begins with a dash, or has the name of a tag, is that branch."""
        repo.git("update-ref", "refs/heads/-q", "fix")
        repo.git("tag", "main", "fix")

        with Repository.open(repo.folder) as opened:
            assert repo.id("fix") == opened.head("-q")
            assert repo.id("refs/heads/main") == opened.head("main")
            assert opened.move("-q", opened.head("main"), opened.head("-q"), {})
        assert repo.id("refs/heads/-q") == repo.id("refs/heads/main")


class TestHistory:
    """Where branches part, and what is in a history."""

    def test_base(self, repo: Repo) -> None:
        """The base is the commit from which both branches come."""
        with Repository.open(repo.folder) as opened:
            assert repo.id("main~1") == opened.base(repo.id("main"), repo.id("fix"))

    def test_no_base(self, repo: Repo) -> None:
        """Histories with nothing in common have no base."""
        lone = repo.commit_tree(repo.id("main^{tree}"))

        with Repository.open(repo.folder) as opened:
            assert opened.base(repo.id("main"), lone) is None

    def test_contains(self, repo: Repo) -> None:
        """A history holds its tip and what came before, not what came beside, and nothing that is not there."""
        with Repository.open(repo.folder) as opened:
            tip, fix = repo.id("main"), repo.id("fix")
            found = [opened.contains(tip, commit) for commit in (tip, repo.id("main~1"), fix, NOTHING)]

        assert [True, True, False, False] == found

    @pytest.mark.parametrize("name", ["main", "HEAD", "--all", "fix~1", ""])
    def test_full_ids_only(self, repo: Repo, name: str) -> None:
        """Whatever is no full id is refused before git could look it up."""
        with Repository.open(repo.folder) as opened:
            for call in (opened.base, opened.contains, opened.merged, opened.diff):
                with pytest.raises(ShipError, match="is no full object id"):
                    call(name, repo.id("main"))

    @pytest.mark.parametrize(
        ("message", "found"),
        [
            ("Land\n\nIndult-Grant: g_1\n", True),
            ("Land\n\nOther: x\nindult-grant:  g_1 77\nLast: y\n", True),
            ("Land\n\nIndult-Grant: g_12\n", False),
            ("Land\n\nIndult-Grant: g_1\n\nsaid in passing\n", False),
            ("Land\n\nOther-Grant: g_1\n", False),
        ],
    )
    def test_trailer(self, repo: Repo, message: str, found: bool) -> None:
        """A trailer counts in the last paragraph of a message, its key in any case, its first word whole."""
        commit = repo.commit({"a": "a"}, message)
        tip = repo.commit({"b": "b"})

        with Repository.open(repo.folder) as opened:
            assert (commit if found else None) == opened.trailer(tip, "Indult-Grant", "g_1")


class TestMerged:
    """The tree that landing would make."""

    def test_clean(self, repo: Repo) -> None:
        """Both sides' changes are in the tree, and nothing of the work tree or the refs moves."""
        before = repo.git("status", "--porcelain"), repo.git("for-each-ref")
        with Repository.open(repo.folder) as opened:
            tree, conflicts = opened.merged(repo.id("main"), repo.id("fix"))
            content = [
                opened.file(tree, path) for path in ("src/app.js", "src/new.js", "README", "none", "src/app.js/x")
            ]

        assert () == conflicts
        assert [b"two\n", b"new\n", b"two\n", None, None] == content
        assert before == (repo.git("status", "--porcelain"), repo.git("for-each-ref"))

    def test_conflict(self, repo: Repo) -> None:
        """A path that both changed is named."""
        tip = repo.commit({"src/app.js": "three\n"})

        with Repository.open(repo.folder) as opened:
            assert ("src/app.js",) == opened.merged(tip, repo.id("fix"))[1]

    def test_straight(self, repo: Repo) -> None:
        """Where the target has not moved on, what lands is the branch's own tree; and the other way round."""
        with Repository.open(repo.folder) as opened:
            one, two = repo.id("main~1"), repo.id("main")

            assert (repo.id("main^{tree}"), ()) == opened.merged(one, two)
            assert (repo.id("main^{tree}"), ()) == opened.merged(two, one)


class TestTrees:
    """Trees: differences, links, files."""

    def test_diff(self, repo: Repo) -> None:
        """Every changed path is told with both modes and ids, renames as two, trees as what is in them."""
        repo.git("mv", "vendor/keep.js", "vendor/moved.js")
        (repo.folder / "src/app.js").chmod(0o755)
        (repo.folder / "README").unlink()
        (repo.folder / "README").mkdir()
        tip = repo.commit({"README/inside": "in\n"})
        one, two, kept, inside = (repo.blob(text) for text in ("one\n", "two\n", "kept\n", "in\n"))

        with Repository.open(repo.folder) as opened:
            found = opened.diff(repo.id("main~1"), tip)

        assert [
            Changed(b"README", "100644", "000000", two, NOTHING),
            Changed(b"README/inside", "000000", "100644", NOTHING, inside),
            Changed(b"src/app.js", "100644", "100755", one, one),
            Changed(b"vendor/keep.js", "100644", "000000", kept, NOTHING),
            Changed(b"vendor/moved.js", "000000", "100644", NOTHING, kept),
        ] == found

    def test_as_git_does(self, repo: Repo) -> None:
        """The difference is what `git diff-tree` tells of the same trees."""
        one, two = repo.id("main^{tree}"), repo.id("fix^{tree}")
        fields = repo.git("diff-tree", "-r", "--raw", "-z", "--no-renames", one, two).split("\0")
        expected = [
            Changed(path.encode(), old_mode[1:], new_mode, old, new)
            for row, path in zip(fields[::2], fields[1::2], strict=False)
            for old_mode, new_mode, old, new, _ in [row.split()]
        ]

        with Repository.open(repo.folder) as opened:
            assert expected == opened.diff(one, two)

    def test_links(self, repo: Repo) -> None:
        """Every symlink of a tree is told with what it holds, whatever bytes those are."""
        repo.write("deep/er/x", "")
        (repo.folder / "deep/er/link").symlink_to("../../src/app.js")
        os.symlink(b"\xff", os.fsencode(repo.folder / "odd"))  # noqa: PTH211 - no text says this name
        tip = repo.commit({})

        with Repository.open(repo.folder) as opened:
            assert {"deep/er/link": "../../src/app.js", "odd": "\udcff"} == opened.links(tip)
            with pytest.raises(ShipError, match="`odd` is no ordinary file"):
                opened.file(tip, "odd")

    def test_read(self, repo: Repo) -> None:
        """Blobs are read by id, each once; a tree is no file, and what is not there is missing."""
        ids = [repo.blob(f"{number}\n") for number in range(300)]

        with Repository.open(repo.folder) as opened:
            assert {oid: f"{number}\n".encode() for number, oid in enumerate(ids)} == opened.read(ids * 2)
            with pytest.raises(ShipError, match="is a tree, not a file"):
                opened.read([ids[0], repo.id("main^{tree}")])
            with pytest.raises(ShipError, match="lacks the object"):
                opened.read([ids[0], NOTHING, ids[1]])
            assert {ids[1]: b"1\n"} == opened.read([ids[1]])

    def test_too_long(self, repo: Repo) -> None:
        """Of a blob that is too long only the beginning is kept, alone, and the next is read right after it."""
        long, short = repo.blob(b"x" * (MOST + 5)), repo.blob(b"short")

        with Repository.open(repo.folder) as opened:
            found = opened.read([long, short])
            again = opened.read([short])

        assert ({long: b"x" * MOST}, {short: b"short"}) == (found, again)


class TestLand:
    """Writing the commit and moving the branch."""

    def test_commit(self, repo: Repo) -> None:
        """The same arguments make the same commit, with the author of the branch and both parents."""
        target, head = repo.id("main"), repo.id("fix")
        with Repository.open(repo.folder) as opened:
            tree = opened.merged(target, head)[0]
            made = [opened.commit(tree, (target, head), "Land fix\n\nKey: value", author_of=head) for _ in range(2)]
            later = opened.commit(tree, (target, head), "Land fix\n\nKey: value", author_of=head, when=1800000000)

        assert made[0] == made[1] != later
        assert [
            f"tree {tree}",
            f"parent {target}",
            f"parent {head}",
            "author Author <author@example.com> 1700000000 +0100",
            "committer indult <indult@localhost> 1700000000 +0000",
            "",
            "Land fix",
            "",
            "Key: value",
        ] == repo.git("cat-file", "commit", made[0]).split("\n")

    def test_author_that_git_refuses(self, repo: Repo) -> None:
        """A branch whose author git would not write again lands with ours."""
        raw = f"tree {repo.id('fix^{tree}')}\nparent {repo.id('main')}\nauthor nobody\ncommitter a <b> 5 +0000\n\nx\n"
        head = repo.git("hash-object", "-t", "commit", "-w", "--literally", "--stdin", stdin=raw)

        with Repository.open(repo.folder) as opened:
            made = opened.commit(head, (repo.id("main"), head), "Land", author_of=head)

        assert "indult indult@localhost" == repo.git("log", "-1", "--format=%an %ae", made)

    def test_move(self, repo: Repo) -> None:
        """A branch moves when it and the other branch are where they should be, and the reflog says who did it."""
        old, new = repo.id("main"), repo.id("fix")

        with Repository.open(repo.folder) as opened:
            assert opened.move("main", new, old, {"fix": new})
        assert (new, "indult: land") == (repo.id("main"), repo.git("log", "-g", "-1", "--format=%gs", "main"))

    @pytest.mark.parametrize("moved", ["main", "fix"])
    def test_moved_meanwhile(self, repo: Repo, moved: str) -> None:
        """Nothing moves if either branch is elsewhere."""
        old, new = repo.id("main"), repo.id("fix")
        repo.git("update-ref", f"refs/heads/{moved}", "main~1")
        before = repo.git("for-each-ref")

        with Repository.open(repo.folder) as opened:
            assert not opened.move("main", new, old, {"fix": new})
            assert not opened.move("gone", new, old, {"fix": new})
            assert not opened.move("main", new, old, {"gone": new})
        assert before == repo.git("for-each-ref")

    @pytest.mark.parametrize("moved", ["main", "fix"])
    def test_moved_in_between(self, repo: Repo, monkeypatch: pytest.MonkeyPatch, moved: str) -> None:
        """The transaction itself compares: a look at the branches beforehand is not what it relies on."""
        old, new = repo.id("main"), repo.id("fix")
        expected = {"main": old, "fix": new}
        repo.git("update-ref", f"refs/heads/{moved}", "main~1")
        before = repo.git("for-each-ref")
        with Repository.open(repo.folder) as opened:
            real, looks = opened.tip, iter(["fix", "main"])
            monkeypatch.setattr(opened, "tip", lambda branch: expected.get(next(looks, "")) or real(branch))
            assert not opened.move("main", new, old, {"fix": new})
            assert next(looks, None) is None

        assert before == repo.git("for-each-ref")

    def test_locked_ref(self, repo: Repo) -> None:
        """A branch that git cannot move is an error, not a branch that moved."""
        (repo.folder / ".git/refs/heads/main.lock").touch()

        with Repository.open(repo.folder) as opened, pytest.raises(ShipError, match=r"main\.lock"):
            opened.move("main", repo.id("fix"), repo.id("main"), {})

    def test_only_commits(self, repo: Repo) -> None:
        """A branch never moves to something that is no commit."""
        with Repository.open(repo.folder) as opened, pytest.raises(ShipError, match="cannot move the branch `main`"):
            opened.move("main", repo.id("fix^{tree}"), repo.id("main"), {})


def _hold(folder: str, ready: Connection) -> None:
    with Repository.open(folder) as opened, opened.lock():
        ready.send(True)
        signal.pause()


class TestLock:
    """One ship at a time."""

    def test_lock(self, repo: Repo, tmp_path: Path) -> None:
        """Nobody else gets the lock while a process holds it, from whichever work tree, and a kill lets go of it."""
        repo.git("worktree", "add", "--quiet", str(tmp_path / "other"), "fix")
        context = multiprocessing.get_context("spawn")
        mine, theirs = context.Pipe()
        holder = context.Process(target=_hold, args=(str(tmp_path / "other"), theirs))
        holder.start()
        assert mine.recv()

        with (repo.folder / ".git" / LOCK).open("rb") as file, pytest.raises(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        holder.kill()
        holder.join()
        with Repository.open(repo.folder) as opened, opened.lock():
            pass

    def test_no_link(self, repo: Repo, tmp_path: Path) -> None:
        """A link in place of the lock is not followed."""
        (repo.folder / ".git" / LOCK).symlink_to(tmp_path / "elsewhere")

        with Repository.open(repo.folder) as opened, pytest.raises(ShipError, match="cannot be locked"), opened.lock():
            pass
        assert not (tmp_path / "elsewhere").exists()


class TestExport:
    """A fresh checkout."""

    def test_export(self, repo: Repo, tmp_path: Path) -> None:
        """Files, programs, links and submodules are written as they are."""
        repo.write("bin/run", "#!/bin/sh\n").chmod(0o755)
        (repo.folder / "link").symlink_to("src/app.js")
        repo.write("copy", "one\n")
        repo.git("add", "--all")
        repo.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},module")
        repo.git("commit", "--quiet", "-m", "more")
        out = tmp_path / "out"

        with Repository.open(repo.folder) as opened:
            opened.export(repo.id("HEAD"), str(out))

        found = sorted(str(path.relative_to(out)) for path in out.rglob("*"))
        expected = [
            "README",
            "bin",
            "bin/run",
            "copy",
            "link",
            "module",
            "src",
            "src/app.js",
            "vendor",
            "vendor/keep.js",
        ]
        assert expected == found
        assert ("one\n", "one\n") == ((out / "copy").read_text("ascii"), (out / "link").read_text("ascii"))
        assert "src/app.js" == str((out / "link").readlink())
        assert (True, False) == (os.access(out / "bin/run", os.X_OK), bool((out / "copy").stat().st_mode & 0o111))

    def test_not_empty(self, repo: Repo, tmp_path: Path) -> None:
        """A folder that holds something is left alone."""
        (tmp_path / "out").mkdir()
        (tmp_path / "out/README").write_text("mine", "ascii")

        with Repository.open(repo.folder) as opened, pytest.raises(ShipError, match="is not empty"):
            opened.export(repo.id("main"), str(tmp_path / "out"))
        assert "mine" == (tmp_path / "out/README").read_text("ascii")


class TestWorkTrees:
    """Work trees that have the target checked out."""

    def test_having(self, repo: Repo, tmp_path: Path) -> None:
        """A branch is found in the main work tree and in linked ones, not in one that is gone."""
        repo.git("worktree", "add", "--quiet", str(tmp_path / "other"), "fix")
        with Repository.open(repo.folder) as opened:
            found = [opened.worktrees(branch) for branch in ("main", "fix", "none")]
            shutil.rmtree(tmp_path / "other")
            gone = opened.worktrees("fix")

        assert [[str(repo.folder)], [str(tmp_path / "other")], [], []] == [*found, gone]

    def test_sync(self, repo: Repo) -> None:
        """After the branch moved, files and index are those of the new commit, and other changes are kept."""
        old = repo.id("main")
        repo.write("vendor/keep.js", "changed\n")
        repo.write("untracked", "mine\n")
        with Repository.open(repo.folder) as opened:
            tree = opened.merged(old, repo.id("fix"))[0]
            new = opened.commit(tree, (old, repo.id("fix")), "Land", author_of=old)
            assert () == opened.dirty(str(repo.folder), ["src/app.js", "src/new.js"])
            assert opened.move("main", new, old, {})
            assert opened.sync(str(repo.folder), old, new)

        assert ["M vendor/keep.js", "?? untracked"] == repo.git("status", "--porcelain").split("\n")
        assert "two\n" == (repo.folder / "src/app.js").read_text("ascii")

    @pytest.mark.parametrize(
        ("path", "text", "staged"),
        [("src/app.js", "mine\n", False), ("src/app.js", "mine\n", True), ("src/new.js", "mine\n", False)],
    )
    def test_dirty(self, repo: Repo, path: str, text: str, staged: bool) -> None:
        """What is changed, staged or in the way at a path that lands is named, and the work tree is left alone."""
        old, new = repo.id("main~1"), repo.id("fix")
        repo.git("reset", "--quiet", "--hard", old)
        repo.write(path, text)
        if staged:
            repo.git("add", path)
        before = repo.git("status", "--porcelain")

        with Repository.open(repo.folder) as opened:
            assert (path,) == opened.dirty(str(repo.folder), ["README", "src/app.js", "src/new.js"])
            assert not opened.sync(str(repo.folder), old, new)
        assert (text, before) == ((repo.folder / path).read_text("ascii"), repo.git("status", "--porcelain"))

    def test_in_the_way(self, repo: Repo) -> None:
        """A file where a folder has to be, and an ignored file, are in the way too."""
        repo.write(".git/info/exclude", "ignored/\nlib\n")
        repo.write("lib", "mine\n")
        repo.write("ignored/x", "mine\n")

        with Repository.open(repo.folder) as opened:
            assert ("ignored/x", "lib/a") == opened.dirty(str(repo.folder), ["lib/a", "ignored/x", "ignored/y"])

    def test_not_its_own(self, repo: Repo, tmp_path: Path) -> None:
        """A work tree of another repository is neither looked at nor touched."""
        other = Repo.forked(tmp_path / "another")

        with Repository.open(repo.folder) as opened:
            assert not opened.sync(str(other.folder), repo.id("main"), repo.id("fix"))
            with pytest.raises(ShipError, match="is no work tree of"):
                opened.dirty(str(other.folder), ["README"])
