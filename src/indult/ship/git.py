"""A repository as the ship gate sees it: objects by full id, two branches, and nothing that could make git lie.

Objects are read, merged and written through a bare git directory of ours in a temporary folder. It borrows the objects
of the real repository and nothing else: no configuration, no hooks, no attributes, no grafts, no replace refs, no
shallow file, no remotes. Refs are resolved and moved through a second one that borrows the refs and logs alone. The real
git directory is asked where things lie, and about its work trees (`indult.ship.worktree`).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Self

from indult.decompose.changes import Changed
from indult.errors import ShipError
from indult.ship import worktree
from indult.ship.complete import complete
from indult.ship.hints import LOCAL, meant
from indult.ship.history import History
from indult.ship.locks import held
from indult.ship.objects import FILE, LINK, MOST, PROGRAM, TREE, Entry, Objects
from indult.ship.process import Git, failed, told
from indult.ship.views import own_store, place, view

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["LOCK", "Repository"]

LOCK: Final = "indult.lock"
"""The file in the common git directory that whoever lands holds a lock on."""

_WHO: Final = b"indult <indult@localhost>"
"""The committer of a landing commit, and its author where the branch names none."""

# What git accepts as the name of a branch (git-check-ref-format), told without asking it.
_NO_BRANCH: Final = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|(^|/)\.|\.lock(/|\Z)|\.\Z|^/|/\Z|^@\Z|^\Z")
_PERSON: Final = re.compile(rb"[^<>\n\0]+ <[^<>\n\0]*> \d{1,12} [+-]\d{4}\Z")


class Repository:
    """One repository, opened with `Repository.open`; a context manager.

    `common` is the real path of its common git directory, the same for all work trees: the identity of the repository.
    `root` is its main work tree, or `common` where there is none.
    """

    def __init__(self, git: Git, common: str, root: str, algorithm: str) -> None:
        self.common = common
        self.root = root
        self._git = git
        store = os.path.join(common, "objects")
        self._reading = {"GIT_DIR": view(git.home, "objects", algorithm), "GIT_OBJECT_DIRECTORY": store}
        self._refs = {"GIT_DIR": view(git.home, "refs", algorithm, common), "GIT_OBJECT_DIRECTORY": store}
        git.shown |= {self._refs["GIT_DIR"]: common, self._reading["GIT_DIR"]: common}
        self._algorithm = algorithm
        self._objects = Objects(git, self._reading, algorithm=algorithm)
        self._own: Objects | None = None
        self._history = History(self._objects, self._listed, self._cut_off)
        self._shared: list[str] | None = None

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Self:
        """Open the repository that `path` lies in.

        Raises:
            ShipError: There is none, it cannot be read, or git is missing or too old.
        """
        home = tempfile.mkdtemp(prefix="indult-git-")
        try:
            git = Git(home)
            return cls(git, *place(git, os.fspath(path)))
        except BaseException:
            shutil.rmtree(home, ignore_errors=True)
            raise

    def close(self) -> None:
        """End what reads, and remove the temporary folder."""
        for objects in (self._objects, self._own):
            if objects is not None:
                objects.close()
        shutil.rmtree(self._git.home, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def check(self) -> None:
        """Refuse a repository that shows people other commits and files than it holds.

        Raises:
            ShipError: It has replace refs or grafts.
        """
        done = self._git.run("for-each-ref", "--count=1", "--format=%(refname)", "refs/replace/", more=self._refs)
        if done.returncode:
            raise failed(done, "list the refs")
        if done.stdout.strip():
            name = done.stdout.decode(errors="backslashreplace").strip()
            raise ShipError(f"the repository replaces objects: `{name}`", hint="git replace -d, for each of them")
        grafts = os.path.join(self.common, "info", "grafts")
        if os.path.lexists(grafts):
            raise ShipError(f"the repository has grafts: `{grafts}`", hint="remove the file")

    def head(self, branch: str) -> str:
        """Return the full id of the commit that a branch is at.

        Raises:
            ShipError: There is no such branch, or it is another name of another one.
        """
        found = self.tip(branch)
        if found is None:
            raise ShipError(f"there is no branch `{branch}`", hint=self._meant(branch))
        return found

    def tip(self, branch: str) -> str | None:
        """Return the full id of the commit that a branch is at, none if there is no such branch.

        Raises:
            ShipError: It is another name of another branch, or no name of a branch.
        """
        ref = _ref(branch)
        form = "%(refname)%00%(objectname)%00%(symref)"
        done = self._git.run("for-each-ref", f"--format={form}", ref, more=self._refs)
        if done.returncode:
            raise failed(done, f"look up the branch `{branch}`")
        for line in done.stdout.splitlines():
            name, oid, symref = line.split(b"\0")
            if name == ref.encode():
                if symref:
                    raise ShipError(
                        f"the branch `{branch}` is another name of `{symref.decode()}`", hint="name that one"
                    )
                return oid.decode()
        return None

    def _meant(self, branch: str) -> str | None:
        """Return which branch may have been meant by a name that is none, or how to make one of what it names."""
        done = self._git.run("for-each-ref", "--format=%(refname)", more=self._refs)
        return meant(branch, done.stdout.decode(errors="backslashreplace").splitlines())

    def checked_out(self) -> str | None:
        """Return the branch that the main work tree shows, none if it shows a commit of no branch."""
        done = self._git.inside(f"--git-dir={self.common}", "symbolic-ref", "--quiet", "HEAD", more={})
        name = done.stdout.decode(errors="backslashreplace").strip()
        return name.removeprefix("refs/heads/") if name.startswith("refs/heads/") else None

    def base(self, one: str, other: str) -> str | None:
        """Return a best common ancestor of two commits, none if their histories have nothing in common.

        Raises:
            ShipError: The history is cut off at it or before it is found.
        """
        done = self._git.run("merge-base", "--all", _full(one), _full(other), more=self._reading)
        # Some versions of git call it no ancestor when a commit is missing, and only say so beside it.
        if done.stderr or done.returncode not in {0, 1}:
            raise self._cut_off(done, "find where the branches part")
        return done.stdout.split()[0].decode() if done.returncode == 0 else None

    def contains(self, tip: str, commit: str) -> bool:
        """Tell whether a commit is in the history of another one, itself included.

        Raises:
            ShipError: The history is cut off before that is known.
        """
        return self._history.contains(_full(tip), _full(commit))

    def trailer(self, tip: str, key: str, value: str) -> str | None:
        """Return a commit in the history of `tip` with the trailer `key: value`, or with more words behind the value.

        Raises:
            ShipError: The history is cut off, so that nobody can tell.
        """
        return self._history.trailer(_full(tip), key, value)

    def claims(self, onto: str, head: str, key: str) -> list[str]:
        """Return the commits that `head` has and `onto` has not, whose message has a trailer of this key."""
        return self._history.claims(_full(head), _full(onto), key)

    def complete(self, onto: str, head: str, tree: str | None = None) -> None:
        """See that all that `head`, and the merged `tree`, lead to and `onto` does not is whole and in this repository.

        Raises:
            ShipError: An object is missing, borrowed from another repository, damaged, or none that git would write.
        """
        if self._own is None:
            store = {"GIT_OBJECT_DIRECTORY": own_store(self._git.home, os.path.join(self.common, "objects"))}
            self._own = Objects(self._git, {**self._reading, **store}, algorithm=self._algorithm)
        complete(self._history, self._objects, self._own, _full(onto), _full(head), tree)

    def below(self, tree: str) -> Callable[[str], Iterator[str]]:
        """Return what lists every path below a path of a tree, or of a commit's tree; names other than UTF-8 as `links`."""
        root = self._objects.tree_of(tree)
        return lambda path: self._below(root, path)

    def _below(self, root: str, path: str) -> Iterator[str]:
        name = os.fsencode(path)
        entry = self._entry(root, name)
        if entry is not None and entry.mode == TREE:
            yield from (_text(b"%s/%s" % (name, rest)) for rest, _ in self._objects.files(entry.oid))

    def _entry(self, root: str, path: bytes) -> Entry | None:
        """Return the entry at a path of a tree."""
        *folders, name = path.split(b"/")
        for folder in folders:
            entry = self._objects.entry(root, folder)
            if entry is None or entry.mode != TREE:
                return None
            root = entry.oid
        return self._objects.entry(root, name)

    def merged(self, target: str, head: str) -> tuple[str, tuple[str, ...]]:
        """Merge `head` into `target` and return the tree, and the paths that are in conflict.

        Attributes and configuration have no say: a file is merged as text or not at all.
        """
        base = self.base(target, head)
        if base in {target, head}:
            return self._objects.tree_of(head if base == target else target), ()
        words = ("merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", _full(target), _full(head))
        done = self._git.run(*self._writing(), *words, more=self._reading)
        tree, *names = done.stdout.split(b"\0")
        if done.returncode not in {0, 1} or not re.fullmatch(rb"[0-9a-f]{40,64}", tree):
            raise failed(done, "merge the branches")
        paths = {name.decode(errors="backslashreplace") for name in names if name}
        return tree.decode(), tuple(sorted(paths)) or (("",) if done.returncode else ())

    def diff(self, old_tree: str, new_tree: str) -> list[Changed]:
        """Return every path that differs between two trees, or the trees of two commits, sorted."""
        return self._objects.diff(self._objects.tree_of(old_tree), self._objects.tree_of(new_tree))

    def links(self, tree: str) -> dict[str, str]:
        """Return every symlink of a tree, or of a commit's tree, and what it holds; other than UTF-8 as `os.fsdecode`."""
        found = self._objects.links(self._objects.tree_of(tree))
        return {_text(path): _text(target) for path, target in found.items()}

    def read(self, ids: Iterable[str]) -> dict[str, bytes]:
        """Return the content of blobs by id; of one that is longer than `objects.MOST` bytes, so many.

        They are read in the given order, and no more of them when they come to `objects.MOST` bytes together.
        """
        found: dict[str, bytes] = {}
        size = 0
        for oid, kind, content in self._objects.each(dict.fromkeys(ids)):
            if kind != "blob":
                raise ShipError(f"`{oid}` is a {kind}, not a file")
            found[oid] = content
            size += len(content)
            if size >= MOST:
                break
        return found

    def file(self, tree: str, path: str) -> bytes | None:
        """Return the content of the file at `path` in a tree, or in a commit's tree; none if there is nothing.

        Raises:
            ShipError: Something else than an ordinary file is there.
        """
        entry = self._entry(self._objects.tree_of(tree), os.fsencode(path))
        if entry is None:
            return None
        if entry.mode not in {FILE, PROGRAM}:
            raise ShipError(f"`{path}` is no ordinary file in {tree}")
        return self._objects.kind(entry.oid, "blob")

    def commit(
        self, tree: str, parents: Sequence[str], message: str, *, author_of: str, when: int | None = None
    ) -> str:
        """Write a commit and return its id; the same arguments always make the same commit.

        `author_of` is the commit whose author it gets. `when` is in seconds since 1970, and by default as late as the
        latest parent.
        """
        headers = [self._objects.kind(_full(parent), "commit") for parent in parents]
        at = max((_seconds(header) for header in headers), default=0) if when is None else when
        author = _author(self._objects.kind(_full(author_of), "commit")) or b"%s %d +0000" % (_WHO, at)
        lines = [f"tree {self._objects.tree_of(tree)}", *(f"parent {parent}" for parent in parents)]
        head = "\n".join(lines).encode() + b"\nauthor %s\ncommitter %s %d +0000\n\n" % (author, _WHO, at)
        words = (*self._writing(), "hash-object", "-t", "commit", "-w", "--stdin")
        done = self._git.run(*words, more=self._reading, stdin=head + message.strip("\n").encode() + b"\n")
        if done.returncode:
            raise failed(done, "write the commit")
        return done.stdout.decode().strip()

    def move(self, target: str, new: str, old: str, verify: Mapping[str, str]) -> bool:
        """Move a branch from one commit to another, if it and the branches in `verify` are where they should be.

        It is one transaction: false, and nothing has moved, if any of them is elsewhere.

        Raises:
            ShipError: They are all where they should be, and git cannot move it.
        """
        expected = {**verify, target: old}
        steps = [f"verify {_ref(branch)}\0{_full(oid)}\0" for branch, oid in verify.items() if branch != target]
        steps.append(f"update {_ref(target)}\0{_full(new)}\0{_full(old)}\0")
        if any(self.tip(branch) != oid for branch, oid in expected.items()):
            return False
        name, _, rest = _WHO.decode().partition(" <")
        who = {"GIT_COMMITTER_NAME": name, "GIT_COMMITTER_EMAIL": rest.rstrip(">")}
        words = (*self._writing(), "update-ref", "-m", "indult: land", "--no-deref", "-z", "--stdin")
        done = self._git.run(*words, more={**self._refs, **who}, stdin="".join(steps).encode())
        if done.returncode == 0:
            return True
        if any(self.tip(branch) != oid for branch, oid in expected.items()):
            return False
        raise failed(done, f"move the branch `{target}`")

    def matching(self, pattern: str) -> list[str]:
        """Return the branches whose names match a pattern of git's."""
        done = self._git.run("for-each-ref", "--format=%(refname)", f"refs/heads/{pattern}", more=self._refs)
        if done.returncode:
            raise failed(done, "list the branches")
        names = done.stdout.decode(errors="backslashreplace").splitlines()
        return [name.removeprefix("refs/heads/") for name in names]

    def drop(self, branch: str, oid: str) -> bool:
        """Delete a branch that is at a commit; false, and it stays, if it is elsewhere or checked out."""
        if self.worktrees(branch):
            return False
        words = (*self._writing(), "update-ref", "--no-deref", "-z", "--stdin")
        step = f"delete {_ref(branch)}\0{_full(oid)}\0"
        return self._git.run(*words, more=self._refs, stdin=step.encode()).returncode == 0

    def export(self, tree: str, folder: str) -> None:
        """Write every file of a tree, or of a commit's tree, into an empty folder, as its bytes are.

        Raises:
            ShipError: A name in it cannot be written safely, or not at all.
        """
        worktree.export(self._objects, self._objects.tree_of(tree), folder)

    def worktrees(self, branch: str) -> list[str]:
        """Return the work trees that have a branch checked out."""
        return worktree.having(self._git, self.common, _ref(branch))

    def dirty(self, worktree_: str, paths: Iterable[str]) -> tuple[str, ...]:
        """Return those of the paths that are changed, staged or in the way in a work tree, sorted."""
        return worktree.dirty(self._git, self.common, worktree_, paths)

    def sync(self, worktree_: str, old: str, new: str) -> bool:
        """Bring a work tree that shows the commit `old` to `new`; false, and nothing is touched, where it must not be.

        That is where a file that would change is dirty or not in the repository, or a filter or hook is configured that
        would have to run.
        """
        wanted = [one.new for one in self.diff(old, new) if one.new_mode in {FILE, PROGRAM, LINK}]
        # Git would only notice on the way, with half of the files written.
        return self._objects.has(*wanted) and worktree.sync(self._git, self.common, worktree_, old, new)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the lock of this repository, so that one ship lands at a time; the kernel lets go if the process ends."""
        with held(os.path.join(self.common, LOCK)):
            yield

    def _writing(self) -> list[str]:
        """Return the options of a call that writes: what is written is for whom the repository is shared with."""
        if self._shared is None:
            words = ("config", "--get", "core.sharedRepository")
            done = self._git.inside(f"--git-dir={self.common}", *words, more={})
            value = done.stdout.decode(errors="replace").strip()
            self._shared = ["-c", f"core.sharedRepository={value}"] if value else []
        return self._shared

    def _listed(self, names: bytes) -> subprocess.CompletedProcess[bytes]:
        return self._git.run("rev-list", "--stdin", more=self._reading, stdin=names)

    def _cut_off(self, done: subprocess.CompletedProcess[bytes], what: str) -> ShipError:
        """Return the error of a walk through history that did not get to its end."""
        if os.path.exists(os.path.join(self.common, "shallow")):
            hint = "git fetch --unshallow"
            return ShipError(f"git cannot {what}: the history is cut off (shallow): {told(done)}", hint=hint)
        return failed(done, what)


def _ref(branch: str) -> str:
    if _NO_BRANCH.search(branch) or not branch.isprintable():
        raise ShipError(f"`{branch}` is no name of a branch", hint=LOCAL)
    return f"refs/heads/{branch}"


def _full(oid: str) -> str:
    """Return a full object id; anything else could be a name that git looks up, or an option."""
    if not re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", oid):
        raise ShipError(f"`{oid}` is no full object id")
    return oid


def _text(name: bytes) -> str:
    return name.decode(errors="surrogateescape")


def _author(commit: bytes) -> bytes | None:
    """Return the author of a commit, if it is one that git lets another commit have."""
    found = re.search(rb"^author ([^\n]*)$", commit.partition(b"\n\n")[0], re.MULTILINE)
    if found is None or not _PERSON.match(found[1]):
        return None
    return found[1].decode(errors="backslashreplace").encode()


def _seconds(commit: bytes) -> int:
    found = re.search(rb"^committer [^\n]*> (\d{1,12}) [+-]\d{4}$", commit.partition(b"\n\n")[0], re.MULTILINE)
    return int(found[1]) if found else 0
