"""`indult brief`: the boundary as text, printed or kept in files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from indult.boundary import Boundary
from indult.policy import load_policy

if TYPE_CHECKING:
    from tests.conftest import Run


@pytest.fixture(name="root")
def _root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "shop"
    (root / ".git").mkdir(parents=True)
    (root / "indult.yaml").write_text("schema: 1\nrules: [{id: a, effect: deny, tool: rm, says: Delete nothing.}]\n")
    monkeypatch.chdir(root)
    return root


def test_printed(indult: Run, root: Path) -> None:
    """Without files the text is printed."""
    assert "- Delete nothing." in indult("brief").stdout


def test_written(indult: Run, root: Path) -> None:
    """With files the text is kept in each, once, with the digest of the boundary."""
    (root / "AGENTS.md").write_text("# Rules\n")

    ran = indult("brief", "--write", "AGENTS.md", "docs/CLAUDE.md", "--json")

    digest = Boundary(policy=load_policy(root / "indult.yaml")).digest
    assert [("AGENTS.md", "written", digest), ("docs/CLAUDE.md", "written", digest)] == [
        (row["file"], row["done"], row["digest"]) for row in ran.json
    ]
    assert (root / "AGENTS.md").read_text() == "# Rules\n\n" + (root / "docs" / "CLAUDE.md").read_text()
    assert "unchanged AGENTS.md\n" == indult("brief", "--write", "AGENTS.md").stdout


def test_for_a_subject(indult: Run, root: Path) -> None:
    """A block for a subject names it, and is held against its boundary."""
    assert 0 == indult("brief", "--write", "AGENTS.md", "--subject", "tree:/r").exit_code

    assert " subject=tree:/r -->" in (root / "AGENTS.md").read_text()
    assert 0 == indult("lint").exit_code


@pytest.mark.parametrize(
    "args",
    [
        ("--write",),
        ("AGENTS.md",),
        ("--write", "AGENTS.md", "--task", "x"),
        ("--write", "AGENTS.md", "--policy", "indult.yaml"),
        ("--write", "../AGENTS.md"),
        ("--write", "."),
    ],
)
def test_wrong_lines(args: tuple[str, ...], indult: Run, root: Path) -> None:
    """Options and files that do not go together are refused, and nothing is written."""
    assert 1 == indult("brief", *args).exit_code
    assert [".git", "indult.yaml"] == sorted(path.name for path in root.iterdir())
