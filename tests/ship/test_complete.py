"""Before a branch lands, all that it leads to is there and in the repository itself."""

from __future__ import annotations

import shutil
import zlib
from pathlib import Path

import pytest
from tests.ship.repos import Repo

from indult.errors import ShipError
from indult.ship.git import Repository

NOTHING = "1" * 40


@pytest.fixture(name="repo")
def _repo(tmp_path: Path) -> Repo:
    return Repo.forked(tmp_path / "repo")


def complete(repo: Repo, head: str = "fix", *, onto: str = "main") -> None:
    """Look at a branch as a ship does before it lands."""
    with Repository.open(repo.folder) as opened:
        main, fix = repo.id(onto), repo.id(head)
        opened.complete(main, fix, opened.merged(main, fix)[0])


def place(repo: Repo, oid: str) -> Path:
    """Return where a loose object lies."""
    return repo.folder / ".git/objects" / oid[:2] / oid[2:]


def commit(repo: Repo, text: str) -> str:
    """Write a commit of exactly this text."""
    return repo.git("hash-object", "-t", "commit", "-w", "--stdin", "--literally", stdin=text)


class TestWhole:
    """Branches that are whole."""

    def test_honest(self, repo: Repo) -> None:
        """A branch that git made is complete, and so is one that is the target, or leads to it."""
        complete(repo)
        complete(repo, "main")
        complete(repo, "main~1")
        complete(repo, "main", onto="main~1")

    def test_packed(self, repo: Repo) -> None:
        """Objects in packs are in the repository."""
        repo.git("repack", "-adq")
        complete(repo)

    def test_submodule(self, repo: Repo) -> None:
        """The commit of a submodule lies elsewhere."""
        tree = repo.tree(("160000", b"m", NOTHING))
        repo.git("update-ref", "refs/heads/fix", repo.commit_tree(tree, repo.id("main")))
        complete(repo)

    def test_signed(self, repo: Repo) -> None:
        """A commit with more headers and without a message is one that git would write."""
        tree, main = repo.id("fix^{tree}"), repo.id("main")
        who = "A B <a@example.com> 1700000000 +0100"
        for rest in ("gpgsig -----BEGIN\n \n x\n -----END\nencoding latin-1\n\nx\n", "\n", "\n\nx"):
            made = commit(repo, f"tree {tree}\nparent {main}\nauthor {who}\ncommitter {who}\n{rest}")
            complete(repo, made)


class TestMissing:
    """Objects that are not there or not what they should be."""

    @pytest.mark.parametrize("name", ["fix", "fix~1", "fix^{tree}", "fix~1^{tree}", "fix~1:src", "fix~1:src/old.js"])
    def test_missing(self, repo: Repo, name: str) -> None:
        """Whichever object of the branch is missing, of its last commit or of one before, it is refused."""
        repo.git("switch", "--quiet", "fix")
        repo.commit({"src/old.js": "old\n"})
        (repo.folder / "src/old.js").unlink()
        repo.commit({"other": "x"})
        main, fix, oid = repo.id("main"), repo.id("fix"), repo.id(name)
        place(repo, oid).unlink()

        with Repository.open(repo.folder) as opened, pytest.raises(ShipError):
            opened.complete(main, fix)

    def test_missing_of_the_merge(self, repo: Repo) -> None:
        """What the merge made is looked at too."""
        with Repository.open(repo.folder) as opened:
            main, fix = repo.id("main"), repo.id("fix")
            tree = opened.merged(main, fix)[0]
            place(repo, tree).unlink()
            with pytest.raises(ShipError, match="lacks the object"):
                opened.complete(main, fix, tree)

    @pytest.mark.parametrize("name", ["fix:src/new.js", "fix~1:src/old.js"])
    def test_damaged(self, repo: Repo, name: str) -> None:
        """A file whose content is not that of its id is refused, however deep in the branch it lies."""
        repo.git("switch", "--quiet", "fix")
        repo.commit({"src/old.js": "old\n"})
        repo.commit({"src/old.js": "older\n"})
        oid = repo.id(name)
        place(repo, oid).chmod(0o644)
        place(repo, oid).write_bytes(zlib.compress(b"blob 1\0x"))

        with Repository.open(repo.folder) as opened, pytest.raises(ShipError, match=f"{oid} is damaged"):
            opened.complete(repo.id("main"), repo.id("fix"))

    def test_other_kind(self, repo: Repo) -> None:
        """An entry whose object is of another kind than its mode is refused, also where it is a folder elsewhere."""
        below = repo.tree(("100644", b"f", repo.blob("x")))
        for tree in (
            repo.tree(("100644", b"a", below)),
            repo.tree(("100644", b"a", below), ("40000", b"b", below)),
            repo.tree(("40000", b"a", repo.blob("x"))),
            repo.tree(("100644", b"a", repo.id("main"))),
        ):
            with Repository.open(repo.folder) as opened, pytest.raises(ShipError):
                opened.complete(repo.id("main"), repo.commit_tree(tree, repo.id("main")))

    def test_end_of_its_history(self, repo: Repo) -> None:
        """A branch does not end at a commit that the target does not have, whatever git makes of it."""
        first, old = repo.id("main~1"), repo.id("main")
        new = repo.commit({"x": "x"})
        tip = repo.commit({"y": "y"})
        stray = repo.commit_tree(repo.id("fix^{tree}"), first)
        head = repo.commit_tree(repo.id("fix^{tree}"), stray)
        raw = repo.git("cat-file", "commit", new).replace(old, stray).encode() + b"\n"
        place(repo, new).chmod(0o644)
        place(repo, new).write_bytes(zlib.compress(b"commit %d\0%s" % (len(raw), raw)))

        with Repository.open(repo.folder) as opened, pytest.raises(ShipError, match=f"{new} is damaged"):
            opened.complete(tip, head)


class TestOdd:
    """What git would not write."""

    @pytest.mark.parametrize("mode", ["100664", "100600", "040000"])
    def test_old_modes(self, repo: Repo, mode: str) -> None:
        """A mode of old versions of git does not land, although nothing else changes."""
        below = repo.tree(("100644", b"f", repo.blob("x")))
        tree = repo.tree((mode, b"a", below if mode == "040000" else repo.blob("x")))
        head = repo.commit_tree(tree, repo.id("main"))

        with Repository.open(repo.folder) as opened:
            with pytest.raises(ShipError, match="a mode that git writes no longer"):
                opened.complete(repo.id("main"), head)
            # The target may have it.
            opened.complete(head, repo.commit_tree(tree, head))

    @pytest.mark.parametrize("name", [b".git", b".GIT", b"..", b".", b".g\xe2\x80\x8cit"])
    def test_names(self, repo: Repo, name: bytes) -> None:
        """A tree with a repository in it, or with a way out of it, does not land in any commit."""
        tree = repo.tree(("100644", name, repo.blob("x")))
        middle = repo.commit_tree(tree, repo.id("main"))
        head = repo.commit_tree(repo.id("fix^{tree}"), middle)

        with Repository.open(repo.folder) as opened, pytest.raises(ShipError, match="holds an entry"):
            opened.complete(repo.id("main"), head)

    @pytest.mark.parametrize(
        "rest",
        [
            "author A <a> 1 +0000\n\nx\n",
            "committer A <a> 1 +0000\nauthor A <a> 1 +0000\n\nx\n",
            "author A 1 +0000\ncommitter A <a> 1 +0000\n\nx\n",
            "author A <a> 1 +0000\ncommitter A <a> x +0000\n\nx\n",
            "author A <a> 1 +0000\ncommitter A <a> 1 +0000\n\nx\0y\n",
            "author A <a> 1 +0000\ncommitter A <a> 1 +0000\nx",
        ],
    )
    def test_commits(self, repo: Repo, rest: str) -> None:
        """A commit that does not say who made it when, in this order, does not land."""
        made = commit(repo, f"tree {repo.id('fix^{tree}')}\nparent {repo.id('main')}\n{rest}")

        with Repository.open(repo.folder) as opened, pytest.raises(ShipError, match="none that git would write"):
            opened.complete(repo.id("main"), made)


class TestBorrowed:
    """Objects of other repositories."""

    def borrowing(self, repo: Repo, folder: Path) -> Repo:
        """Return a clone that borrows from the repository, with a branch of its own."""
        repo.git("clone", "--quiet", "--shared", ".", str(folder))
        found = Repo(folder)
        found.git("switch", "--quiet", "-c", "fix")
        return found

    def test_new_ones(self, repo: Repo, tmp_path: Path) -> None:
        """A branch does not land while its objects lie in a folder that others can take away."""
        clone = self.borrowing(repo, tmp_path / "clone")
        head = clone.commit({"b": "b\n"})
        (repo.folder / ".git/objects/info/alternates").write_text(f"{clone.folder}/.git/objects\n", "utf-8")
        with Repository.open(repo.folder) as opened, pytest.raises(ShipError, match="borrows from") as caught:
            opened.complete(repo.id("main"), head)
        assert "git repack -a -d" in str(caught.value.hint)

        repo.git("update-ref", "refs/heads/kept", head)
        repo.git("repack", "-a", "-d", "-q")
        (repo.folder / ".git/objects/info/alternates").unlink()
        shutil.rmtree(clone.folder)
        complete(repo, head)

    def test_of_the_target(self, repo: Repo, tmp_path: Path) -> None:
        """What the target itself borrows may be borrowed: a branch that renames files adds nothing."""
        clone = self.borrowing(repo, tmp_path / "clone")
        clone.git("mv", "src", "moved")
        clone.commit({"new": "new of the clone\n"})
        clone.git("mv", "README", "docs")
        clone.commit({})

        complete(clone)
