from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path

import pytest

from indult import disk
from indult.disk import Disk


def test_a_link_is_told_by_its_text(tmp_path: Path) -> None:
    """Of a symbolic link the text is told, of anything else nothing."""
    (tmp_path / "link").symlink_to("../there")
    (tmp_path / "file").write_text("x")
    found = Disk(str(tmp_path))

    assert "../there" == found.link(f"{tmp_path}/link")
    assert None is found.link(f"{tmp_path}/file")
    assert None is found.link(f"{tmp_path}/none")
    assert None is found.link("a\0b")


def test_only_ordinary_files_are_looked_into(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file is read up to a limit; a folder, a pipe and what is not there are not."""
    (tmp_path / "file").write_bytes(b"abc")
    os.mkfifo(tmp_path / "pipe")
    found = Disk(str(tmp_path))

    assert b"abc" == found.content(f"{tmp_path}/file")
    assert "sha256:" + sha256(b"abc").hexdigest() == found.digest(f"{tmp_path}/file")
    assert [None] * 4 == [found.content(f"{tmp_path}{name}") for name in ("", "/pipe", "/none", "/\0")]
    assert None is found.digest(f"{tmp_path}/pipe")
    monkeypatch.setattr(disk, "MAX_BYTES", 2)
    assert None is found.content(f"{tmp_path}/file")


def test_what_is_in_a_folder_is_told_with_what_it_is(tmp_path: Path) -> None:
    """Links are not followed, and of what is no folder or cannot be read there is nothing to tell."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").write_text("x")
    (tmp_path / "c").symlink_to("a")
    os.mkfifo(tmp_path / "d")
    found = Disk(str(tmp_path))

    assert [("a", "folder"), ("b", "file"), ("c", "link"), ("d", "file")] == sorted(found.entries(str(tmp_path)))
    assert [[]] * 3 == [found.entries(f"{tmp_path}{name}") for name in ("/b", "/none", "/\0")]


def test_folders_are_told_from_files(tmp_path: Path) -> None:
    """A folder is one, a file and nothing are none."""
    (tmp_path / "file").write_text("x")
    found = Disk(str(tmp_path))

    assert [True, False, False] == [found.folder(f"{tmp_path}{name}") for name in ("", "/file", "/none")]


def test_where_case_does_not_matter_a_path_is_spelled_as_it_is_listed(tmp_path: Path) -> None:
    """Existing names take the spelling of their folder; what does not exist stays as it is."""
    (tmp_path / "Docs").mkdir()
    (tmp_path / "Docs" / "Read.Me").write_text("x")
    found = Disk(str(tmp_path))
    exact = found.spelled(f"{tmp_path}/docs/read.me")
    found.folds = True

    assert f"{tmp_path}/Docs/Read.Me" == found.spelled(f"{tmp_path}/docs/read.me")
    assert f"{tmp_path}/Docs/new" == found.spelled(f"{tmp_path}/DOCS/new")
    assert exact in {f"{tmp_path}/docs/read.me", f"{tmp_path}/Docs/Read.Me"}
    assert "/" == found.spelled("/")


def test_whether_case_matters_is_tried_with_the_root(tmp_path: Path) -> None:
    """A root that is found under its name in other letters lies where case does not matter."""
    root = tmp_path / "root"
    root.mkdir()
    assert (tmp_path / "ROOT").exists() == Disk(str(root)).folds
    (tmp_path / "ROOT").symlink_to(root)
    assert Disk(str(root)).folds
