"""The branch of a fix and the work tree that has it checked out, as git knows them.

Git is called as `indult.ship.process` calls it, with the git directory named, so that nothing that a fixer puts in the
place of `.git` leads anywhere else. No hook and no filter of the repository runs.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from indult.autofix.survey import readable, survey
from indult.disk import Disk
from indult.errors import ShipError
from indult.setup.writing import digest, replace_file
from indult.ship.locks import held
from indult.ship.process import Git, failed

__all__ = ["Checkout", "gone"]

WHO: Final = ("indult autofix", "indult@localhost")
"""The author of a commit where the repository names nobody."""

# What git keeps of something that it has begun: the next call of a fixer begins anew.
_BEGUN: Final = (
    "AUTO_MERGE", "BISECT_LOG", "CHERRY_PICK_HEAD", "HEAD.lock", "MERGE_HEAD", "MERGE_MODE", "MERGE_MSG", "REBASE_HEAD",
    "REVERT_HEAD", "SQUASH_MSG", "index.lock", "rebase-apply", "rebase-merge", "sequencer",
)  # fmt: skip
_OFF: Final = ("core.sparseCheckout=false", "i18n.commitEncoding=UTF-8")

_INDEX: Final = "indult-index"
_MAKING: Final = "indult-new-"
_LEAVING: Final = "indult-old-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkout:
    """The work tree `tree` of the repository whose common git directory is `common`, for a branch.

    The branch began at the commit `start`. `message` is a file of ours for the message of a commit, and `excludes` one
    of patterns that are ignored. What the fixer did to the index of the tree does not count.
    """

    common: Path
    tree: Path
    branch: str
    start: str
    message: Path
    excludes: Path

    def make(self, export: Callable[[str], None]) -> None:
        """Make the branch, if there is none, and check it out; `export` writes the files of its commit into a folder.

        Raises:
            ShipError: Git cannot.
        """
        with _git() as git:
            here = {"GIT_DIR": str(self.common)}
            here |= _still(git, here)
            if self._tip(git) != self.start:
                # Only where there is none, even if somebody makes one just now.
                words = ("update-ref", "--no-deref", "-m", "indult: fix", self._ref, self.start, "0" * len(self.start))
                self._said(git, *words, more=here, what=f"check out the branch `{self.branch}`")
            export(str(self.tree))
            entry = self._entered(git, here)
            here = {"GIT_DIR": str(entry), "GIT_WORK_TREE": str(self.tree)}
            here |= _still(git, here)
            self._said(git, "read-tree", self.start, more=here, what="read the branch")
            # So that the fixer's git need not read every file once more; what it says of one is no matter here.
            self._call(git, "update-index", "-q", "--refresh", more=here)

    def head(self) -> str:
        """Return the commit that the branch is at, where it began if the branch is gone."""
        with _git() as git:
            return self._tip(git) or self.start

    def commit(self, message: str, hooks: Mapping[str, str]) -> str | None:
        """Commit all that the tree holds on top of the branch and return the id, none where nothing is new.

        `hooks` are paths that stay as they are in the branch, each with the digest of what was put there; a commit that
        has that nevertheless is put right.

        Raises:
            ShipError: Git cannot.
        """
        with _git() as git:
            entry = self._entry()
            here = {"GIT_DIR": str(entry), "GIT_WORK_TREE": str(self.tree)}
            self._put_right(entry)
            tip = self._tip(git)
            parent = tip or self.start
            merged = self._merged(git, here, entry, parent)
            self._begin_anew(entry)
            here |= _still(git, here)
            tree = self._written(git, here, parent, hooks)
            made = None
            if merged or tree != self._said(git, "rev-parse", f"{parent}^{{tree}}", more=here, what="read the commit"):
                made = self._made(git, here, (parent, *merged), tree, message)
            if (made or parent) != tip:
                words = ("update-ref", "--no-deref", "-m", "indult: fix", self._ref, made or parent)
                self._said(git, *words, tip or "0" * len(parent), more=here, what=f"move the branch `{self.branch}`")
            self._said(git, "symbolic-ref", "HEAD", self._ref, more=here, what="go back to the branch")
            gone(entry / "index")
            (entry / _INDEX).replace(entry / "index")
            self._hide(git, here, hooks)
            return made

    def hide(self, paths: Mapping[str, str]) -> None:
        """Have git leave those of the paths alone that are in its index.

        Raises:
            ShipError: Git cannot.
        """
        with _git() as git:
            entry = self._entry()
            self._put_right(entry)
            self._begin_anew(entry)
            here = {"GIT_DIR": str(entry), "GIT_WORK_TREE": str(self.tree)}
            self._hide(git, here | _still(git, here), paths)

    def remove(self, *, keep_branch: bool) -> None:
        """Remove the tree, what git keeps of it, and the branch unless that is kept or checked out elsewhere.

        Raises:
            ShipError: Something of it cannot be removed.
        """
        gone(self.tree)
        for name in (_MAKING, _LEAVING):
            gone(self.common / f"{name}{self._name}")
        elsewhere = _line(self.common / "HEAD") == f"ref: {self._ref}"
        for entry in self._entries():
            place = _place(entry)
            if place == self.tree or ((place is None or not place.exists()) and self._has_branch(entry)):
                self._take_away(entry)
            elif self._has_branch(entry):
                elsewhere = True
        if keep_branch or elsewhere or not self.branch or not self.common.is_dir():
            return
        with _git() as git:
            gone(self.common / f"{self._ref}.lock")
            if self._tip(git) is not None:
                words = ("update-ref", "--no-deref", "-d", self._ref)
                self._said(git, *words, more={"GIT_DIR": str(self.common)}, what=f"delete the branch `{self.branch}`")

    @property
    def _ref(self) -> str:
        return f"refs/heads/{self.branch}"

    def _tip(self, git: Git) -> str | None:
        """Return the commit that the branch is at, none if it is gone.

        Raises:
            ShipError: Git would wait for something that is in the place of a file of the repository.
        """
        readable(self.common)
        place = self.common / self._ref
        if not place.is_file() and not place.is_dir():
            gone(place)
        words = ("rev-parse", "--quiet", "--verify", f"{self._ref}^{{commit}}")
        done = self._call(git, *words, more={"GIT_DIR": str(self.common)})
        return done.stdout.decode().strip() if done.returncode == 0 else None

    def _written(self, git: Git, here: Mapping[str, str], parent: str, hooks: Mapping[str, str]) -> str:
        """Write all that the tree holds as a tree of git's, and return its id."""
        index = Path(here["GIT_DIR"]) / _INDEX
        gone(index)
        gone(index.with_name(f"{_INDEX}.lock"))
        more = {**here, "GIT_INDEX_FILE": str(index)}
        self._said(git, "read-tree", parent, more=more, what="read the branch")
        self._take_in(git, more)
        for path, ours in hooks.items():
            done = self._call(git, "cat-file", "blob", f"{parent}:{path}", more=more)
            mine = done.returncode == 0 and digest(done.stdout) == ours
            self._as_in(git, more, self.start if mine else parent, path)
        return self._said(git, "write-tree", more=more, what="write the tree")

    def _take_in(self, git: Git, more: Mapping[str, str]) -> None:
        """Bring the index to what the tree holds, other repositories in it left as the branch has them.

        `git add` would ask such a repository what is changed in it, by a git that runs what that one configures.
        """
        rows = (row.partition(b"\t") for row in self._listed(git, "--stage", more=more))
        found = survey(str(self.tree), {path: about[:6].decode() for about, _, path in rows})
        self._update(git, ("--force-remove",), found.gone, more)
        ignored = [f"--exclude={pattern}" for pattern in found.patterns()]
        new = self._listed(git, "--others", "--exclude-standard", *ignored, more=more)
        files = (path for path in new if not path.endswith(b"/"))
        self._update(git, ("--add", "--replace"), (*found.there, *files), more)

    def _listed(self, git: Git, *words: str, more: Mapping[str, str]) -> list[bytes]:
        done = self._call(git, "ls-files", "-z", *words, more=more)
        if done.returncode:
            raise failed(done, "list files")
        return [row for row in done.stdout.split(b"\0") if row]

    def _update(self, git: Git, words: Sequence[str], paths: Sequence[bytes], more: Mapping[str, str]) -> None:
        done = self._call(
            git, "update-index", *words, "-z", "--stdin", more=more, stdin=b"".join(path + b"\0" for path in paths)
        )
        if done.returncode:
            raise failed(done, "take in what was changed")

    def _as_in(self, git: Git, more: Mapping[str, str], commit: str, path: str) -> None:
        """Give the index what a commit has at a path."""
        found = self._said(git, "ls-tree", "-z", commit, "--", path, more=more, what="read the commit").rstrip("\0")
        mode, _, rest = found.partition(" ")
        words = ("--force-remove", "--", path)
        if found:
            words = ("--add", "--cacheinfo", f"{mode},{rest.split()[1]},{path}")
        self._said(git, "update-index", *words, more=more, what=f"leave `{path}` as it was")

    def _merged(self, git: Git, here: Mapping[str, str], entry: Path, parent: str) -> tuple[str, ...]:
        """Return the commits that a merge which was begun and not committed would bring in.

        What the files are is then how it was resolved; the gate judges what of that is new to the target.
        """
        told = (Disk(str(self.common)).content(str(entry / "MERGE_HEAD")) or b"").decode("ascii", "replace").split()
        named = [one for one in told[:8] if re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", one)]
        words = ("merge-base", "--is-ancestor")
        # 1 says that it is a commit, and none that the branch has already.
        return tuple(one for one in named if self._call(git, *words, one, parent, more=here).returncode == 1)

    def _made(self, git: Git, here: Mapping[str, str], parents: Sequence[str], tree: str, message: str) -> str:
        text = self.message
        gone(text)
        replace_file(text, (message.strip("\n") + "\n").encode(errors="replace"), mode=0o600)
        named = [word for parent in parents for word in ("-p", parent)]
        words = ("commit-tree", tree, *named, "-F", str(text))
        return self._said(git, *words, more={**here, **self._author(git, here)}, what="commit")

    def _author(self, git: Git, here: Mapping[str, str]) -> dict[str, str]:
        """Return who commits: the user that the repository itself names, or nobody in particular."""
        named = [self._call(git, "config", "--get", f"user.{key}", more=here).stdout for key in ("name", "email")]
        name, email = (value.decode(errors="replace").strip() for value in named)
        name, email = (name, email) if name and email else WHO
        return {
            f"GIT_{who}_{key}": value
            for who in ("AUTHOR", "COMMITTER")
            for key, value in (("NAME", name), ("EMAIL", email))
        }

    def _hide(self, git: Git, here: Mapping[str, str], paths: Mapping[str, str]) -> None:
        if not paths:
            return
        known = self._said(
            git, "ls-files", "-z", "--", *(f":(literal){path}" for path in paths), more=here, what="list files"
        )
        found = [path for path in known.split("\0") if path]
        if found:
            self._said(git, "update-index", "--skip-worktree", "--", *found, more=here, what="leave the hooks alone")

    def _begin_anew(self, entry: Path) -> None:
        """Take away what a git that was killed, or that waits for somebody, left of what it had begun."""
        for name in _BEGUN:
            gone(entry / name)
        gone(self.common / f"{self._ref}.lock")

    def _entered(self, git: Git, here: Mapping[str, str]) -> Path:
        """Have git know the tree, and return where it keeps that.

        It is there at once and whole: others look through all work trees at any time, and fail at half of one.
        """
        if (self.common / "reftable").is_dir():
            return self._added(git, here)
        made = self.common / f"{_MAKING}{self._name}"
        gone(made)
        made.mkdir(mode=0o700)
        for name, said in (("HEAD", f"ref: {self._ref}"), ("commondir", "../.."), ("gitdir", f"{self.tree}/.git")):
            (made / name).write_bytes(os.fsencode(f"{said}\n"))
        (self.common / "worktrees").mkdir(exist_ok=True)
        for number in range(100):
            entry = self.common / "worktrees" / f"{self._name}{number or ''}"
            (self.tree / ".git").write_bytes(os.fsencode(f"gitdir: {entry}\n"))
            try:
                made.rename(entry)
            except OSError as exc:
                # That of another tree is never empty, and stays.
                if exc.errno not in {errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR}:
                    raise
            else:
                return entry
        raise ShipError(f"there are too many work trees of the name `{self._name}`")

    def _added(self, git: Git, here: Mapping[str, str]) -> Path:
        """Have git make what it keeps of a tree, beside the tree first, where refs are kept in a way of its own."""
        beside = self.tree.with_name("beside")
        with held(str(self.common / "indult-fixes.lock"), busy="another fix begins there"):
            words = ("worktree", "add", "--quiet", "--no-checkout", "--force", str(beside), self.branch)
            self._said(git, *words, more=here, what=f"check out the branch `{self.branch}`")
            (beside / ".git").rename(self.tree / ".git")
            entry = next(one for one in self._entries() if _place(one) == beside)
            replace_file(entry / "gitdir", os.fsencode(f"{self.tree}/.git\n"), mode=0o600)
        gone(beside)
        return entry

    def _take_away(self, entry: Path) -> None:
        """Have git know a tree no more, at once."""
        aside = self.common / f"{_LEAVING}{self._name}"
        gone(aside)
        try:
            entry.rename(aside)
        except OSError as exc:
            raise ShipError(f"`{entry}` cannot be removed: {(exc.strerror or str(exc)).lower()}") from exc
        gone(aside)

    def _put_right(self, entry: Path) -> None:
        """See that git reads ordinary files, and of this repository and branch, whatever a fixer made of them."""
        for one in [*entry.iterdir(), *(entry / "logs").glob("*")]:
            if one.is_symlink() or not (one.is_file() or one.is_dir()):
                gone(one)
        said = {"commondir": "../.."} | ({} if (self.common / "reftable").is_dir() else {"HEAD": f"ref: {self._ref}"})
        for name, text in said.items():
            if _line(entry / name) != text:
                gone(entry / name)
                replace_file(entry / name, os.fsencode(f"{text}\n"), mode=0o600)

    @property
    def _name(self) -> str:
        return self.tree.parent.name

    def _entry(self) -> Path:
        """Return where git keeps what it knows of the tree.

        Raises:
            ShipError: It knows nothing of it any more.
        """
        found = next((entry for entry in self._entries() if _place(entry) == self.tree), None)
        if found is None or not self.tree.is_dir():
            raise ShipError(f"`{self.tree}` is no work tree of `{self.common}` any more")
        return found

    def _entries(self) -> list[Path]:
        with suppress(FileNotFoundError, NotADirectoryError):
            return sorted(one for one in (self.common / "worktrees").iterdir() if one.is_dir() and not one.is_symlink())
        return []

    def _has_branch(self, entry: Path) -> bool:
        return bool(self.branch) and _line(entry / "HEAD") == f"ref: {self._ref}"

    def _said(self, git: Git, *words: str, more: Mapping[str, str], what: str) -> str:
        done = self._call(git, *words, more=more)
        if done.returncode:
            raise failed(done, what)
        return os.fsdecode(done.stdout).strip()

    def _call(
        self, git: Git, *words: str, more: Mapping[str, str], stdin: bytes = b""
    ) -> subprocess.CompletedProcess[bytes]:
        settings = [word for setting in (*_OFF, f"core.excludesFile={self.excludes}") for word in ("-c", setting)]
        return git.inside(*settings, *words, more=more, cwd=more.get("GIT_WORK_TREE", str(self.common)), stdin=stdin)


def gone(path: Path) -> None:
    """Remove what is at a path, with all below it, if anything is; a link is removed and not followed.

    Raises:
        ShipError: It cannot be removed.
    """
    try:
        if path.is_dir() and not path.is_symlink():
            try:
                shutil.rmtree(path)
            except OSError:
                # Caches of some tools are folders that nobody may write to; others are still being written.
                _open(path)
                shutil.rmtree(path)
        else:
            path.unlink()
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as exc:
        raise ShipError(f"`{path}` cannot be removed: {(exc.strerror or str(exc)).lower()}") from exc


def _open(path: Path) -> None:
    path.chmod(stat.S_IRWXU)
    for folder, folders, _ in os.walk(path):
        for name in folders:
            place = Path(folder) / name
            if not place.is_symlink():
                with suppress(OSError):
                    place.chmod(stat.S_IRWXU)


def _still(git: Git, here: Mapping[str, str]) -> dict[str, str]:
    """Return the environment that makes every filter and every hook that is configured do nothing."""
    done = git.inside("config", "-z", "--name-only", "--list", more=here)
    if done.returncode:
        raise failed(done, "read the configuration")
    names = {
        tuple(part for part in (name.partition(".")[0], name.partition(".")[2].rpartition(".")[0]))
        for name in done.stdout.decode(errors="surrogateescape").split("\0")
        if name.startswith(("filter.", "hook."))
    }
    off = {"filter": {"clean": "", "smudge": "", "process": "", "required": "false"}, "hook": {"enabled": "false"}}
    settings = [(f"{kind}.{name}.{key}", value) for kind, name in sorted(names) for key, value in off[kind].items()]
    found = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (key, value) in enumerate(settings):
        found |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return found


def _place(entry: Path) -> Path | None:
    """Return the work tree that git's folder of one says it is of, none where it does not say."""
    told = _line(entry / "gitdir")
    return (entry / told).parent if told else None


def _line(path: Path) -> str:
    return os.fsdecode((Disk(str(path.parent)).content(str(path)) or b"")[:10_000]).strip()


@contextmanager
def _git() -> Iterator[Git]:
    with tempfile.TemporaryDirectory(prefix="indult-git-") as home:
        yield Git(home)
