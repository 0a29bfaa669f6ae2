"""Git repositories made from data: a target that is checked out, and a branch that forks from it and changes it.

Commits are written by `git fast-import`, so names that a file system would change or refuse arrive as they are.
"""

from __future__ import annotations

import base64
import os
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from indult.errors import InputError

__all__ = ["Branches", "git"]

_FILE: Final = "100644"
_LINK: Final = "120000"
_MODULE: Final = "160000"
_WHO: Final = "A Person <person@indult.example> 1750000000 +0000"

_Tree = dict[str, tuple[str, bytes]]
"""Path -> mode and content; of a submodule, the commit."""


def git(folder: Path, *words: str, given: bytes = b"") -> bytes:
    """Run git in a repository with no configuration but its own, and return what it printed.

    Raises:
        InputError: It failed; the message is its own.
    """
    command = ["git", "-C", str(folder), *words]
    done = subprocess.run(command, input=given, env=_environment(), capture_output=True, check=False)
    if done.returncode:
        raise InputError(f"git {words[0]}: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout


@dataclass(slots=True)
class _Commit:
    """A commit on its way: where it goes, the numbers of its parents, and all that it holds."""

    branch: str
    parents: tuple[int, ...]
    tree: _Tree


@dataclass(slots=True)
class Branches:
    """A repository in `folder` with a branch `target`, and a branch `branch` that forks from its first commit.

    `base` are the files of that commit, and `changes` what happens on the branch, in the operations of the ship cases
    (`docs/reference/testing.md`).

    Raises:
        InputError: An operation is none, or cannot be done here.
    """

    folder: Path
    base: Mapping[str, str]
    changes: Sequence[Mapping[str, Any]]
    target: str = "main"
    branch: str = "fix"
    _commits: list[_Commit] = field(default_factory=list, init=False)
    _work: _Tree = field(default_factory=dict, init=False)
    _merging: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        """Make the repository and both branches."""
        self.folder.mkdir(parents=True, exist_ok=True)
        git(self.folder, "init", "-q", f"--initial-branch={self.target}", ".")
        fork: _Tree = {path: (_FILE, _bytes(text)) for path, text in self.base.items()}
        self._commits = [_Commit(self.target, (), fork), _Commit(self.branch, (0,), dict(fork))]
        self._work = dict(fork)
        for change in self.changes:
            self._apply(change)
        self._cut()
        self._write(self._commits)
        git(self.folder, "reset", "-q", "--hard")

    def add(self, changes: Iterable[Mapping[str, Any]], *, branch: str | None = None) -> None:
        """Put one more commit with these changes on a branch; one that is not there forks from this one's tip."""
        self._work = dict(self._tip(self.branch).tree)
        for change in changes:
            self._apply(change)
        name = branch or self.branch
        tree = _Commit(name, (), self._work)
        self._write([tree], onto=f"refs/heads/{self.branch}^0")
        if name == self.branch:
            self._commits.append(_Commit(name, (self._at(name),), self._work))

    def _apply(self, change: Mapping[str, Any]) -> None:
        """Do one operation."""
        match change:
            case {"op": "write", "path": path, "content": content}:
                self._work[path] = (self._mode(path), _bytes(content))
            case {"op": "write_b64", "path": path, "content_b64": content}:
                self._work[path] = (self._mode(path), base64.b64decode(content))
            case {"op": "write_many", "prefix": prefix, "suffix": suffix, "count": count, "content": content}:
                for number in range(count):
                    self._work[f"{prefix}{number:05d}{suffix}"] = (_FILE, _bytes(content))
            case {"op": "delete", "path": path}:
                self._taken(path)
            case {"op": "rename", "from": old, "to": new, **rest}:
                mode, content = self._taken(old)
                self._work[new] = (mode, _bytes(rest["content"]) if "content" in rest else content)
            case {"op": "symlink", "path": path, "target": target}:
                self._work[path] = (_LINK, _bytes(target))
            case {"op": "chmod", "path": path, "mode": mode}:
                self._work[path] = (str(mode), self._taken(path)[1])
            case {"op": "gitlink", "path": path, "sha": commit}:
                self._work[path] = (_MODULE, commit.encode())
            case {"op": "commit"}:
                self._cut()
            case {"op": "target_write", "path": path, "content": content}:
                tip = self._tip(self.target)
                tree = {**tip.tree, path: (_FILE, _bytes(content))}
                self._commits.append(_Commit(self.target, (self._at(self.target),), tree))
            case {"op": "merge_target"}:
                self._merge()
            case {"op": "amend_merge"}:
                self._tip(self.branch).tree = dict(self._work)
            case _:
                raise InputError(f"`{change.get('op')}` is no operation of a ship case")

    def _merge(self) -> None:
        """Merge the target into the branch, file by file."""
        self._cut()
        fork, theirs = self._commits[0].tree, self._tip(self.target).tree
        for path in {*fork, *theirs}:
            if fork.get(path) == theirs.get(path):
                continue
            if self._work.get(path) not in {fork.get(path), theirs.get(path)}:
                raise InputError(f"both sides of a merge change `{path}`")
            if path in theirs:
                self._work[path] = theirs[path]
            else:
                del self._work[path]
        parents = (self._at(self.branch), self._at(self.target))
        self._commits.append(_Commit(self.branch, parents, dict(self._work)))

    def _cut(self) -> None:
        """Make a commit of what has changed on the branch since the last one."""
        if self._work != self._tip(self.branch).tree:
            self._commits.append(_Commit(self.branch, (self._at(self.branch),), dict(self._work)))

    def _mode(self, path: str) -> str:
        """Return the mode that a file keeps when it is written: a link becomes a file."""
        mode = self._work.get(path, (_FILE, b""))[0]
        return _FILE if mode in {_LINK, _MODULE} else mode

    def _taken(self, path: str) -> tuple[str, bytes]:
        if path not in self._work:
            raise InputError(f"there is no `{path}` on the branch")
        return self._work.pop(path)

    def _tip(self, branch: str) -> _Commit:
        return self._commits[self._at(branch)]

    def _at(self, branch: str) -> int:
        return next(at for at in reversed(range(len(self._commits))) if self._commits[at].branch == branch)

    def _write(self, commits: Sequence[_Commit], onto: str | None = None) -> None:
        """Write commits into the repository, in order; the first of them on top of `onto`."""
        stream: list[bytes] = []
        for number, commit in enumerate(commits):
            stream.append(f"commit refs/heads/{commit.branch}\nmark :{number + 1}\n".encode())
            stream.append(f"author {_WHO}\ncommitter {_WHO}\ndata 7\nchange\n\n".encode())
            parents = [f":{parent + 1}" for parent in commit.parents] if onto is None else [onto]
            for word, parent in zip(["from", *["merge"] * len(parents)], parents, strict=False):
                stream.append(f"{word} {parent}\n".encode())
            stream.append(b"deleteall\n")
            stream += [_entry(path, mode, content) for path, (mode, content) in commit.tree.items()]
        git(self.folder, "fast-import", "--quiet", "--force", "--date-format=raw", given=b"".join(stream))


def _entry(path: str, mode: str, content: bytes) -> bytes:
    quoted = b'"' + path.encode("utf-8", "surrogateescape").replace(b"\\", b"\\\\").replace(b'"', b'\\"') + b'"'
    quoted = quoted.replace(b"\n", b"\\n")
    if mode == _MODULE:
        return b"M 160000 " + content + b" " + quoted + b"\n"
    return (
        b"M " + mode.encode() + b" inline " + quoted + b"\ndata " + str(len(content)).encode() + b"\n" + content + b"\n"
    )


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _environment() -> dict[str, str]:
    """Return an environment in which git sees no configuration and no repository but the one that is named."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return {**kept, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_TERMINAL_PROMPT": "0"}
