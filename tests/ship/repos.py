"""Repositories for tests, made with the git of this machine."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

WHO = {
    "GIT_AUTHOR_NAME": "Author",
    "GIT_AUTHOR_EMAIL": "author@example.com",
    "GIT_AUTHOR_DATE": "1700000000 +0100",
    "GIT_COMMITTER_NAME": "Committer",
    "GIT_COMMITTER_EMAIL": "committer@example.com",
    "GIT_COMMITTER_DATE": "1700000000 +0100",
    "GIT_CONFIG_NOSYSTEM": "1",
}


class Repo:
    """A repository with a work tree in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def make(cls, folder: Path, *options: str) -> Repo:
        """Make an empty repository with the branch `main`."""
        folder.mkdir(parents=True, exist_ok=True)
        repo = cls(folder)
        repo.git("init", "--quiet", "--initial-branch=main", *options)
        return repo

    @classmethod
    def forked(cls, folder: Path, *options: str) -> Repo:
        """Make one in which `fix` changed `src/app.js`, added `src/new.js` and `main` went on with `README`."""
        repo = cls.make(folder, *options)
        repo.commit({"src/app.js": "one\n", "README": "one\n", "vendor/keep.js": "kept\n"})
        repo.git("switch", "--quiet", "-c", "fix")
        repo.commit({"src/app.js": "two\n", "src/new.js": "new\n"})
        repo.git("switch", "--quiet", "main")
        repo.commit({"README": "two\n"})
        return repo

    def git(self, *words: str, stdin: bytes | str = b"", check: bool = True) -> str:
        """Run git in the work tree and return what it printed."""
        given = stdin.encode() if isinstance(stdin, str) else stdin
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | WHO
        done = subprocess.run(
            ["git", *words], cwd=self.folder, env=environment, input=given, capture_output=True, check=False
        )
        assert done.returncode == 0 or not check, done.stderr.decode(errors="replace")
        return done.stdout.decode(errors="surrogateescape").strip()

    def write(self, path: str, text: str | bytes) -> Path:
        """Write a file of the work tree."""
        place = self.folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode() if isinstance(text, str) else text)
        return place

    def commit(self, files: dict[str, str], message: str = "change") -> str:
        """Write files, commit all there is, and return the id."""
        for path, text in files.items():
            self.write(path, text)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "-m", message)
        return self.id("HEAD")

    def id(self, name: str) -> str:
        """Return the full id of what git calls by this name."""
        return self.git("rev-parse", "--verify", name)

    def blob(self, text: str | bytes) -> str:
        """Write a blob and return its id."""
        return self.git("hash-object", "-w", "--stdin", stdin=text)

    def tree(self, *entries: tuple[str, bytes, str], strict: bool = False) -> str:
        """Write a tree of exactly these entries (mode, name, id), in this order, and return its id."""
        raw = b"".join(b"%s %s\0%s" % (mode.encode(), name, bytes.fromhex(oid)) for mode, name, oid in entries)
        words = ("hash-object", "-t", "tree", "-w", "--stdin")
        return self.git(*words, *(() if strict else ("--literally",)), stdin=raw)

    def commit_tree(self, tree: str, *parents: str) -> str:
        """Write a commit of a tree and return its id."""
        return self.git("commit-tree", tree, "-m", "made", *(word for parent in parents for word in ("-p", parent)))
