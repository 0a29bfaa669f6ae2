from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from indult.errors import ConfigurationError
from indult.setup.undo import undo
from indult.setup.writing import Change, Journal, change_of, read_journal, write

if TYPE_CHECKING:
    from pathlib import Path


def make(tmp_path: Path) -> tuple[Path, Journal]:
    """Return an empty work tree and its journal."""
    root = tmp_path / "root"
    root.mkdir()
    return root, Journal(place=tmp_path / "kept" / "journal.json", root=str(root))


def again(journal: Journal) -> Journal:
    """Return the journal as another process reads it."""
    return read_journal(journal.place, journal.root)


def tree(root: Path) -> dict[str, tuple[int, bytes]]:
    """Return all files of a folder with modes and bytes, and its folders."""
    return {
        str(path.relative_to(root)): (path.stat().st_mode, b"" if path.is_dir() else path.read_bytes())
        for path in root.rglob("*")
    }


def test_undo_restores_everything(tmp_path: Path) -> None:
    """After undoing, files, modes and folders are what they were, byte for byte."""
    root, journal = make(tmp_path)
    (root / ".claude").mkdir()
    (root / ".claude" / "settings.json").write_bytes(b'{"a":1}\r\n\xef')
    (root / ".claude" / "settings.json").chmod(0o600)
    before = tree(root)

    write(
        journal,
        [
            change_of(str(root), name, b"new")
            for name in (".claude/settings.json", "indult.yaml", ".github/hooks/a.json")
        ],
    )
    assert b"new" == (root / ".github/hooks/a.json").read_bytes()
    done = undo(again(journal))

    assert before == tree(root)
    assert ["restored", "removed", "removed"] == [entry.done for entry in sorted(done, key=lambda one: one.path)]
    assert not journal.place.exists()


def test_twice_and_back(tmp_path: Path) -> None:
    """A second setup over the first does not lose what was there before the first."""
    root, journal = make(tmp_path)
    (root / "a").write_text("mine")
    write(journal, [change_of(str(root), "a", b"one")])
    write(again(journal), [change_of(str(root), "a", b"two")])

    undo(again(journal))

    assert "mine" == (root / "a").read_text()


def test_changed_since(tmp_path: Path) -> None:
    """A file that somebody changed since is kept, and so is what is known of it."""
    root, journal = make(tmp_path)
    write(journal, [change_of(str(root), "a", b"one"), change_of(str(root), "b", b"one")])
    (root / "a").write_text("theirs")

    done = undo(again(journal))

    assert [("a", "kept"), ("b", "removed")] == [(entry.path, entry.done) for entry in done]
    assert "theirs" == (root / "a").read_text()
    assert ["a"] == list(again(journal).files)


def test_change_of_somebody_is_what_undo_comes_back_to(tmp_path: Path) -> None:
    """What somebody wrote between two setups is theirs, and not lost by undoing the second."""
    root, journal = make(tmp_path)
    write(journal, [change_of(str(root), "a", b"one")])
    (root / "a").write_text("theirs")
    write(again(journal), [change_of(str(root), "a", b"two")])

    undo(again(journal))

    assert "theirs" == (root / "a").read_text()


def test_nothing_changes_on_a_dry_run(tmp_path: Path) -> None:
    """A dry run says what would be done and leaves all as it is."""
    root, journal = make(tmp_path)
    write(journal, [change_of(str(root), "a", b"one")])

    assert ["removed"] == [entry.done for entry in undo(again(journal), dry_run=True)]
    assert "one" == (root / "a").read_text()
    assert ["a"] == list(again(journal).files)


@pytest.mark.parametrize("place", [".claude", ".claude/settings.json"])
def test_links_are_not_followed(place: str, tmp_path: Path) -> None:
    """A link in the place of a file, or on the way to it, leads nowhere."""
    root, _ = make(tmp_path)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (root / place).parent.mkdir(exist_ok=True)
    (root / place).symlink_to(elsewhere if place == ".claude" else elsewhere / "x")

    with pytest.raises(ConfigurationError, match="is a symbolic link"):
        change_of(str(root), ".claude/settings.json", b"new")


def test_changed_while_it_is_written(tmp_path: Path) -> None:
    """A file that is not as it was when the change was made is not written over."""
    root, journal = make(tmp_path)
    (root / "a").write_text("now")

    with pytest.raises(ConfigurationError, match="was changed meanwhile"):
        write(journal, [Change(path="a", before=b"then", after=b"new")])
    assert "now" == (root / "a").read_text()


def test_killed_before_the_files(tmp_path: Path) -> None:
    """Where a setup was killed once the journal stood, undoing finds all as it was."""
    root, journal = make(tmp_path)
    (root / "a").write_text("mine")
    write(journal, [change_of(str(root), "a", b"one")])
    (root / "a").write_text("mine")

    assert ["restored"] == [entry.done for entry in undo(again(journal))]
    assert "mine" == (root / "a").read_text()


def test_private(tmp_path: Path) -> None:
    """The journal holds what was in files, so nobody else can read it."""
    _, journal = make(tmp_path)
    write(journal, [Change(path="a", before=None, after=b"one")])

    assert [0o600, 0o700] == [path.stat().st_mode & 0o777 for path in (journal.place, journal.place.parent)]


@pytest.mark.parametrize("text", ["", "[]", '{"schema": 2}', '{"schema": 1, "root": "/elsewhere"}'])
def test_journal_that_cannot_be_read(text: str, tmp_path: Path) -> None:
    """A journal that is damaged, or of another work tree, is an error, and undoes nothing."""
    _, journal = make(tmp_path)
    journal.place.parent.mkdir()
    journal.place.write_text(text)

    with pytest.raises(ConfigurationError, match="the journal"):
        again(journal)
