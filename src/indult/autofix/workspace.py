"""The workspace of a fix: a work tree of its own branch, and beside it the task, the output and what was used.

It lies beside the ledger, outside of every work tree of a person. The hook files that put the gate before the fixer's
own calls stand in the tree and in no commit: the fixer's git is told to leave them alone, and `Workspace.commit` does
without them whatever the fixer did.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from indult.autofix.checkout import Checkout, gone
from indult.autofix.survey import readable
from indult.canonical import parse_json
from indult.disk import Disk
from indult.errors import ConfigurationError, IndultError, ShipError
from indult.places import repository_ledger
from indult.setup.harnesses import ENTRIES, merged
from indult.setup.install import program_here
from indult.setup.writing import Change, change_of, digest, replace_file
from indult.ship.process import late

if TYPE_CHECKING:
    from indult.ship.git import Repository

__all__ = ["Workspace", "fixes_folder"]

_ABOUT: Final = "workspace.json"
_LARGEST: Final = 1_000_000

# Of whoever calls: what would lead the fixer's git, or its harness, elsewhere.
_LEADS: Final = re.compile(
    r"INDULT_.*|GIT_(DIR|WORK_TREE|INDEX_FILE|OBJECT_DIRECTORY|ALTERNATE_OBJECT_DIRECTORIES|COMMON_DIR|PREFIX|NAMESPACE|"
    r"GRAFT_FILE|SHALLOW_FILE|REPLACE_REF_BASE|INTERNAL_.*|CONFIG|CONFIG_PARAMETERS|IMPLICIT_WORK_TREE)|"
    r"CLAUDE_PROJECT_DIR|CLAUDECODE|CLAUDE_CODE_ENTRYPOINT|OLDPWD"
)


def fixes_folder(root: str) -> str:
    """Return the folder in which the workspaces of the repository at `root` lie, beside its ledger."""
    return str(Path(repository_ledger(root)).parent / "fixes")


class Workspace:
    """The work tree of one fix and what belongs to it, in the folder `place`; made with `Workspace.make`.

    `common` is the git directory of the repository, `start` the commit that the branch began at, `database` the
    repository's own ledger, and `hooks` are the hook files that were put into the tree, each with the digest of what it
    says.
    """

    def __init__(
        self,
        place: str,
        *,
        common: str,
        branch: str,
        start: str,
        database: str = "",
        hooks: dict[str, str] | None = None,
    ) -> None:
        self.place = place
        self.common = common
        self.branch = branch
        self.start = start
        self.database = database
        self.hooks = hooks or {}
        self.tree = str(Path(place) / "tree")
        self.task = str(Path(place) / "task.md")
        self.output = str(Path(place) / "output.log")
        self.usage = str(Path(place) / "usage.json")

    @classmethod
    def make(cls, repository: Repository, *, root: str, fix: str, branch: str, start: str, place: str) -> Self:
        """Make the workspace of a fix at `place`: the branch, new or at `start` already, checked out at that commit.

        What a killed run left of the same fix is removed first, with its branch. `root` is the repository's main work
        tree, and `place` must not lie in it.

        Raises:
            ShipError: There is a branch of that name that is elsewhere, or git cannot check it out.
        """
        real = Path(os.path.realpath(place))
        if real.is_relative_to(os.path.realpath(root)):
            raise ShipError(
                f"the work tree of `{fix}` would lie in `{root}`", hint="set XDG_DATA_HOME to a place outside"
            )
        if os.path.lexists(real):
            cls.at(str(real)).remove(keep_branch=False)
        if repository.tip(branch) not in {None, start}:
            hint = "delete it if nobody needs its commits, or choose another name"
            raise ShipError(f"there is a branch `{branch}` already", hint=hint)
        made = cls(str(real), common=repository.common, branch=branch, start=start, database=repository_ledger(root))
        try:
            real.mkdir(mode=0o700, parents=True)
            made._save()
            made._checkout().make(lambda folder: repository.export(start, folder))
        except OSError as exc:
            made.remove(keep_branch=False)
            raise ShipError(f"the workspace `{real}` cannot be made: {(exc.strerror or str(exc)).lower()}") from exc
        except IndultError:
            made.remove(keep_branch=False)
            raise
        return made

    @classmethod
    def at(cls, place: str) -> Self:
        """Return the workspace at `place`, or what is left of one: of no branch where nothing says which."""
        # Git names a work tree by its real path; in the place of the last folder there may be a link by now.
        place = str(Path(os.path.realpath(Path(place).parent)) / Path(place).name)
        try:
            data = parse_json(Disk(place).content(str(Path(place) / _ABOUT)) or b"", name="workspace")
            words = {name: str(data[name]) for name in ("common", "branch", "start", "database")}
            hooks = {str(path): str(found) for path, found in data["hooks"].items()}
        except (IndultError, KeyError, TypeError, AttributeError):
            return cls(place, common="", branch="", start="")
        return cls(place, hooks=hooks, **words)

    @classmethod
    def left(cls, root: str) -> list[Self]:
        """Return every workspace of a repository that is there: what killed runs left, and those of runs that go on."""
        folder = Path(fixes_folder(root))
        return [cls.at(str(one)) for one in sorted(folder.iterdir())] if folder.is_dir() else []

    @property
    def fix(self) -> str:
        """The name of the fix."""
        return Path(self.place).name

    def prepare(self, task: str) -> None:
        """Write the task of the next call of a fixer, and take away what the one before it printed and said it used.

        Raises:
            ShipError: The folder is gone, or cannot be written to.
        """
        for path in (self.output, self.usage):
            gone(Path(path))
        self._put(Path(self.task), task.encode(errors="replace"))

    def head(self) -> str:
        """Return the commit that the branch is at; the one where it began, if the branch is gone."""
        return self._checkout().head()

    def commit(self, message: str) -> str | None:
        """Commit all that the tree holds on top of the branch and return the id, none where nothing is new.

        Ignored files and our hook files stay out. Where the fixer went to another branch, what it made of the files is
        what counts.

        Raises:
            ShipError: Git cannot, for instance where the fixer took the repository apart.
        """
        self._exclude()
        return self._checkout().commit(message, self.hooks)

    def install_hooks(self, harnesses: Iterable[str]) -> None:
        """Put the hooks of these harnesses into the tree, as far as they are missing.

        Raises:
            ConfigurationError: A file that is there cannot be added to, or is behind a link.
        """
        changes = [_hooks(self.tree, name) for name in harnesses]
        for change in changes:
            if change.needed:
                # Known before it is there, so that it is never taken for the fixer's.
                self.hooks[change.path] = digest(change.after)
                self._save()
                target = Path(self.tree) / change.path
                target.parent.mkdir(parents=True, exist_ok=True)
                replace_file(target, change.after, mode=0o644)
        self._exclude()
        self._checkout().hide(self.hooks)

    def environment(self) -> dict[str, str]:
        """Return the environment of a fixer: that of whoever calls, without what would lead it elsewhere."""
        found = {name: value for name, value in os.environ.items() if not _LEADS.fullmatch(name)}
        given = found.get("GIT_CONFIG_COUNT", "")
        count = int(given) if given.isdecimal() else 0
        settings = (("core.excludesFile", str(self._exclude())), ("core.sparseCheckout", "false"))
        for number, (key, value) in enumerate(settings, count):
            found |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
        return found | {
            "GIT_CONFIG_COUNT": str(count + len(settings)),
            "INDULT_ACTOR": "fixer",
            # Named, so that a folder with a policy of its own below the tree has no ledger of its own.
            "INDULT_DB": self.database,
            "INDULT_TASK": self.task,
            "INDULT_USAGE": self.usage,
            "PWD": self.tree,
        }

    def remove(self, *, keep_branch: bool) -> None:
        """Remove the work tree with all that belongs to it, as far as it is there, and its branch unless that is kept.

        A branch that somebody has checked out elsewhere stays, and so does a work tree that somebody moved.

        Raises:
            ShipError: Something of it cannot be removed.
        """
        if self.common:
            self._checkout().remove(keep_branch=keep_branch)
        place = Path(self.place)
        # What says which branch it is goes last, so that a removal that was killed can be taken up again.
        if place.is_dir() and not place.is_symlink():
            for one in place.iterdir():
                if one.name != _ABOUT:
                    gone(one)
        gone(place)

    def _checkout(self) -> Checkout:
        place = Path(self.place)
        return Checkout(
            common=Path(self.common),
            tree=Path(self.tree),
            branch=self.branch,
            start=self.start,
            message=place / "message",
            excludes=place / "excludes",
        )

    def _save(self) -> None:
        data: dict[str, Any] = {
            name: getattr(self, name) for name in ("common", "branch", "start", "database", "hooks")
        }
        self._put(Path(self.place) / _ABOUT, (json.dumps({"schema": 1, **data}) + "\n").encode())

    def _exclude(self) -> Path:
        """Write what git has to ignore: our hook files, and what the person's own git ignores everywhere."""
        place = Path(self.place) / "excludes"
        lines = "".join(f"/{path}\n" for path in self.hooks)
        self._put(place, _ignored(self.common) + b"\n" + lines.encode())
        return place

    def _put(self, path: Path, content: bytes) -> None:
        """Put a file of ours in its place, whatever a fixer may have put there.

        Raises:
            ShipError: It cannot be written.
        """
        try:
            if path.is_dir():
                gone(path)
            replace_file(path, content, mode=0o600)
        except OSError as exc:
            raise ShipError(f"`{path}` cannot be written: {(exc.strerror or str(exc)).lower()}") from exc


def _hooks(tree: str, harness: str) -> Change:
    """Return the change that puts the hooks of a harness into its file."""
    file = ENTRIES[harness].file
    there = change_of(tree, file, b"").before
    try:
        text = (there or b"").decode("utf-8")
    except UnicodeDecodeError as exc:
        raise ConfigurationError(f"`{file}` cannot be added to: it is not UTF-8") from exc
    return Change(
        path=file, before=there, after=merged(harness, text, program=program_here(tree), exists=shutil.which).encode()
    )


def _ignored(common: str) -> bytes:
    """Return the patterns that the person's own git ignores in every repository.

    Raises:
        ShipError: Git does not answer, or would not.
    """
    base = os.environ.get("XDG_CONFIG_HOME") or str(Path("~/.config").expanduser())
    path = Path(base) / "git" / "ignore"
    program = shutil.which("git")
    if program is not None:
        environment = {name: value for name, value in os.environ.items() if not _LEADS.fullmatch(name)}
        command = [program, "config", "--type=path", "--get", "core.excludesFile"]
        readable(Path(common))
        try:
            done = subprocess.run(
                command, env={**environment, "GIT_DIR": common}, capture_output=True, check=False, timeout=60
            )
        except subprocess.TimeoutExpired as exc:
            raise late(60) from exc
        path = Path(os.fsdecode(done.stdout).strip()) if done.stdout.strip() else path
    return (Disk(common).content(str(path)) or b"")[:_LARGEST]
