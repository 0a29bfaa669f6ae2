from __future__ import annotations

from pathlib import Path

import pytest

from indult.decompose.paths import Places
from indult.decompose.searches import Filter, finder
from indult.disk import Disk


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a repository with hidden, ignored and linked files in it."""
    for name in (".env", "a.py", "b.md", ".git/HEAD", ".git/objects/00/x", "src/.env.local", "src/a.py", "out/c.py"):
        path = tmp_path / "repo" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    return tmp_path / "repo"


def found(root: Path, start: str = ".", **filtered: bool | tuple[str, ...]) -> list[str]:
    """Return what a search below a folder of the repository comes upon, without what git keeps for itself."""
    places = Places(Disk(str(root)), str(root), None)
    names = finder(places, [(places.join(str(root), start), Filter(**filtered))])()  # type: ignore[arg-type]
    assert names is not None
    return sorted(name.removeprefix("read:") for name in names if name != "read:.git/HEAD")


@pytest.mark.parametrize(
    ("start", "filtered", "names"),
    [
        (".", {}, [".env", "a.py", "b.md", "out/c.py", "src/.env.local", "src/a.py"]),
        ("src", {}, ["src/.env.local", "src/a.py"]),
        ("a.py", {}, []),
        ("none", {}, []),
        (".", {"hidden": False}, ["a.py", "b.md", "out/c.py", "src/a.py"]),
        (".", {"only": ("*.PY",)}, ["a.py", "out/c.py", "src/a.py"]),
        (".", {"without": (".env*",), "folders": ("out",)}, ["a.py", "b.md", "src/a.py"]),
    ],
)
def test_a_search_comes_upon_what_lies_there(
    tree: Path, start: str, filtered: dict[str, bool | tuple[str, ...]], names: list[str]
) -> None:
    """All files below the folder are found, but for those that are left out by their names."""
    assert names == found(tree, start, **filtered)


def test_a_link_is_found_with_what_it_leads_to(tree: Path) -> None:
    """Whoever follows it reads a file that may lie elsewhere, or what is in a folder."""
    (tree / "src" / "x").symlink_to("../.env")
    (tree / "src" / "y").symlink_to(tree.parent / "keys")

    names = found(tree, "src")

    assert {".env", "src/x", str(tree.parent / "keys"), f"{tree.parent}/keys/-"} <= set(names)


@pytest.mark.parametrize(
    ("lines", "left_out"),
    [
        (".env", {".env"}),
        (".env*\n!.env.local", {".env"}),
        ("/.env", {".env"}),
        ("out/", {"out/c.py"}),
        ("src/*.py", {"src/a.py"}),
        ("**/a.py", {"a.py", "src/a.py"}),
        ("src/**", {"src/.env.local", "src/a.py"}),
        ("# a\n\n*.md  ", {"b.md"}),
        ("out\n!out/c.py", {"out/c.py"}),
        ("[.]env", set()),
        ("*\n!\\a", set()),
    ],
)
def test_what_a_repository_ignores_is_left_out(tree: Path, lines: str, left_out: set[str]) -> None:
    """Of searches that respect them, the last line that is about a file decides; what cannot be read leaves nothing out."""
    (tree / ".gitignore").write_text(lines)
    every = {".env", "a.py", "b.md", "out/c.py", "src/.env.local", "src/a.py", ".gitignore"}

    assert sorted(every - left_out) == found(tree, ignored=False)


def test_a_folder_has_lines_of_its_own(tree: Path) -> None:
    """They hold below it, over those of the folders above, and also where a search starts there."""
    (tree / ".gitignore").write_text(".env*")
    (tree / "src" / ".gitignore").write_text("!.env.local\n/a.py")

    assert ["a.py", "b.md", "out/c.py"] == [
        name for name in found(tree, ignored=False) if not name.startswith((".", "src"))
    ]
    assert ["src/.env.local", "src/.gitignore"] == found(tree, "src", ignored=False)


def test_nothing_is_ignored_without_a_repository_or_against_stronger_lines(tree: Path) -> None:
    """Searches look into such files in a repository alone, and into others that may take all in again."""
    (tree / ".gitignore").write_text(".env")
    assert ".env" not in found(tree, ignored=False)

    (tree / ".ignore").write_text("!.env")
    assert ".env" in found(tree, ignored=False)

    (tree / ".ignore").unlink()
    (tree / ".git").rename(tree / "git")
    assert ".env" in found(tree, ignored=False)


def test_a_tree_that_is_too_large_is_not_looked_at_in_part(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is said of files that were not seen."""
    places = Places(Disk(str(tree)), str(tree), None)
    monkeypatch.setattr("indult.decompose.searches.MOST", 5)

    assert finder(places, [(str(tree), Filter())])() is None


def test_a_circle_of_links_ends(tree: Path) -> None:
    """Links to folders are not entered."""
    (tree / "src" / "up").symlink_to("..")

    assert "src/up" in found(tree)
