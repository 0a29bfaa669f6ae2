from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from indult.decompose.paths import Places
from indult.decompose.shell import shell_parts
from indult.disk import Disk


def why(text: str, root: Path) -> list[str]:
    """Return why parts of a line that is run in a folder need approval whatever allows them."""
    places = Places(Disk(str(root)), str(root), str(root / "home"))
    return [part.asks for part in shell_parts(text, tool="Bash", cwd=str(root), places=places) if part.asks]


def found(text: str, root: Path) -> set[str]:
    """Return what the searches of a line touch."""
    places = Places(Disk(str(root)), str(root), str(root / "home"))
    parts = shell_parts(text, tool="Bash", cwd=str(root), places=places)
    return {name for part in parts if part.finds for name in part.finds() or ()}


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """Return a work tree with a source, an ignored file of secrets, and a repository without a work tree in a folder."""
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    subprocess.run(["git", "init", "-q", "--bare", str(tmp_path / "src" / "bare")], check=True)
    (tmp_path / "src" / "a.py").write_text("a = 1\n", encoding="utf-8")
    (tmp_path / "main").write_text("", encoding="utf-8")
    (tmp_path / ".env").write_text("A=1\n", encoding="utf-8")
    (tmp_path / ".gitignore").write_text(".env\n", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    "text",
    [
        "git reset HEAD~1",
        "git reset other",
        "git reset --mixed other",
        "git reset -q main~1",
        "git reset 0123abc",
        "git reset main --",
        "git reset $x",
        "git --no-pager reset other",
        "git -C src reset other",
    ],
)
def test_a_reset_to_another_commit_asks(text: str, work: Path) -> None:
    """To leave commits behind takes work off the branch, which no other command does without asking."""
    assert ["`git reset` moves the branch to another commit"] == why(text, work)


@pytest.mark.parametrize(
    "text",
    [
        "git reset",
        "git reset HEAD",
        "git reset @",
        "git reset -q HEAD -- src/a.py",
        "git reset -- other",
        "git reset src/a.py",
        "git reset src",
        "git reset main",
        "git reset src/*.py",
        "git log other",
    ],
)
def test_a_reset_of_files_does_not(text: str, work: Path) -> None:
    """A word that is a file on this disk takes that file out of the index, and leaves the branch where it is."""
    assert [] == why(text, work)


@pytest.mark.parametrize(
    "text",
    [
        "git -C src/bare status",
        "cd src/bare && git status",
        "cd src/bare/objects && git log",
        "git -C src/bare/refs log",
    ],
)
def test_a_folder_that_is_a_repository_by_itself_asks(text: str, work: Path) -> None:
    """Its settings are ordinary files of the work tree, and git runs the programs that they name."""
    assert any("repository of its own" in one for one in why(text, work))


@pytest.mark.parametrize("text", ["git status", "git -C src status", "cd src && git log"])
def test_the_work_tree_itself_is_no_such_folder(text: str, work: Path) -> None:
    """Where git comes upon the work tree first, it reads the settings that nobody may change."""
    assert [] == why(text, work)


def test_a_repository_that_the_line_itself_makes_asks(work: Path) -> None:
    """A head that was not there before the line was judged counts as well as one that was."""
    made = "mkdir -p src/n/objects src/n/refs && echo 'ref: refs/heads/a' > src/n/HEAD"

    assert ["it runs what the line itself writes"] == why(f"{made} && git -C src/n status", work)
    assert ["it runs what the line itself writes"] == why(f"{made} && cd src/n/refs && git status", work)


@pytest.mark.parametrize(
    "text",
    [
        "git add -f .",
        "git add -A -f",
        "git add -fA",
        "git add --forc -- .",
        "git add -f '*env'",
        "git add -f .e*",
        "git -C src add -f ..",
        "git diff --no-index src .",
        "git diff --no-index -- . /dev/null",
        "git diff ../x .",
    ],
)
def test_what_git_reads_although_it_is_ignored_is_looked_for(text: str, work: Path) -> None:
    """Whoever adds or compares a whole folder by force reads the secrets that lie in it."""
    assert "read:.env" in found(text, work)


@pytest.mark.parametrize(
    "text",
    ["git add .", "git add -A", "git add -f src", "git diff --no-index src/a.py main", "git diff main src", "git diff"],
)
def test_what_git_reads_otherwise_is_not(text: str, work: Path) -> None:
    """What is ignored is neither added nor compared, and a folder without secrets holds none."""
    assert "read:.env" not in found(text, work)
