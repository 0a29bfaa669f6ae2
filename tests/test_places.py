from __future__ import annotations

import os
from pathlib import Path

import pytest

from indult.places import config_folder, data_folder, default_ledger, repository, repository_ledger


@pytest.mark.parametrize("value", [None, "", "relative/path", "~/config"])
def test_defaults(value: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a variable, or with a relative path in it, folders are below the home folder."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
        if value is not None:
            monkeypatch.setenv(name, value)

    assert str(tmp_path / ".config" / "indult") == config_folder()
    assert str(tmp_path / ".local" / "share" / "indult") == data_folder()


def test_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """The variables of the base directory specification say where they are."""
    monkeypatch.setenv("XDG_CONFIG_HOME", "/a")
    monkeypatch.setenv("XDG_DATA_HOME", "/b")

    assert ("/a/indult", "/b/indult") == (config_folder(), data_folder())


def repository_at(place: Path, *names: str) -> str:
    """Make what git makes of a repository, with or without a work tree, and return its real path."""
    for name in names:
        (place / name).mkdir(parents=True)
    return os.path.realpath(place)


def test_the_repository_of_a_folder(tmp_path: Path) -> None:
    """It is the nearest folder above that git knows, or that holds a policy; a bare one is one too."""
    root = repository_at(tmp_path / "one", ".git", "src/deep")
    bare = repository_at(tmp_path / "two.git", "objects", "refs", "HEAD")
    (tmp_path / "three").mkdir()
    (tmp_path / "three" / "indult.yaml").touch()

    assert root == repository(f"{root}/src/deep")
    assert bare == repository(f"{bare}/refs")
    assert os.path.realpath(tmp_path / "three") == repository(str(tmp_path / "three"))
    assert repository(str(tmp_path)) not in {root, bare}


def test_work_trees_share_a_ledger_and_repositories_do_not(tmp_path: Path) -> None:
    """Linked work trees are one repository; another clone is another, whatever its signals are called."""
    root = repository_at(tmp_path / "one", ".git/worktrees/linked")
    other = repository_at(tmp_path / "two", ".git")
    linked = repository_at(tmp_path / "linked")
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / ".git").write_text(f"gitdir: {root}/.git/worktrees/linked\n")
    (tmp_path / "one/.git/worktrees/linked/commondir").write_text("../..\n")

    assert repository_ledger(root) == repository_ledger(linked)
    assert repository_ledger(root) != repository_ledger(other)


def test_the_default_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where none is named it is that of the repository one stands in, in the user's data folder, or the user's own."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    root = repository_at(tmp_path / "one", ".git", "src")
    monkeypatch.chdir(tmp_path / "one" / "src")
    own = default_ledger()
    monkeypatch.chdir(tmp_path)

    assert repository_ledger(root) == own
    assert own.startswith(str(tmp_path / "data/indult/repositories/"))
    assert str(tmp_path / "data/indult/ledger.db") == default_ledger()
