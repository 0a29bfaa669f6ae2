from __future__ import annotations

import os
import re
import subprocess
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


class TestRepository:
    @pytest.mark.parametrize("mark", [".git", "indult.yaml"])
    def test_is_the_nearest_folder_above(self, tmp_path: Path, mark: str) -> None:
        """The repository of a folder is the nearest one above it with a git directory or a policy."""
        inner = tmp_path / "outer" / "inner"
        (inner / "deep" / "er").mkdir(parents=True)
        for folder in (tmp_path / "outer", inner):
            (folder / mark).touch()

        assert str(inner) == repository(str(inner / "deep" / "er"))
        assert str(inner) == repository(str(inner))
        assert str(tmp_path / "outer") == repository(str(tmp_path / "outer"))

    def test_a_link_leads_to_where_it_leads(self, tmp_path: Path) -> None:
        """A folder that is reached through a link belongs to where it really is."""
        (tmp_path / "one" / ".git").mkdir(parents=True)
        (tmp_path / "two" / "sub").mkdir(parents=True)
        (tmp_path / "one" / "link").symlink_to(tmp_path / "two" / "sub")
        (tmp_path / "two" / ".git").touch()

        assert str(tmp_path / "two") == repository(str(tmp_path / "one" / "link"))

    def test_a_folder_that_is_gone(self, tmp_path: Path) -> None:
        """A folder that was deleted still lies where it lay."""
        (tmp_path / ".git").touch()

        assert str(tmp_path) == repository(str(tmp_path / "gone" / "too"))


class TestRepositoryLedger:
    def test_is_outside_the_work_tree(self, tmp_path: Path, data_home: Path) -> None:
        """It lies in the folder of data, under a name that is made of where the repository is."""
        for name in ("one", "two"):
            (tmp_path / name / ".git").mkdir(parents=True)

        one, two = (repository_ledger(str(tmp_path / name)) for name in ("one", "two"))

        assert one != two
        assert re.fullmatch(rf"{re.escape(str(data_home))}/indult/repositories/[0-9a-f]{{16}}/ledger\.db", one)

    def test_work_trees_of_one_repository_share_it(self, tmp_path: Path, data_home: Path) -> None:
        """A second work tree has the ledger of the first; so has a link to either."""
        main = tmp_path / "main"
        subprocess.run(["git", "init", "-q", str(main)], check=True)
        commit = ["git", "-C", str(main), "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q"]
        subprocess.run([*commit, "--allow-empty", "-m", "Begin"], check=True)
        subprocess.run(["git", "-C", str(main), "worktree", "add", "-q", str(tmp_path / "other")], check=True)
        (tmp_path / "link").symlink_to(tmp_path / "other")

        assert 1 == len({repository_ledger(str(tmp_path / name)) for name in ("main", "other", "link")})

    def test_without_git(self, tmp_path: Path, data_home: Path) -> None:
        """A folder with a policy and no git has a ledger by its own name."""
        assert repository_ledger(str(tmp_path)) != repository_ledger(str(tmp_path.parent))

    @pytest.mark.parametrize("text", ["gitdir: /absent\n", "", "gitdir:", "\0", "gitdir: ../other/.git/HEAD"])
    def test_a_work_tree_that_leads_nowhere(self, tmp_path: Path, text: str) -> None:
        """Where the git directory of a work tree cannot be found, nobody guesses at its ledger."""
        (tmp_path / "app").mkdir()
        (tmp_path / "app" / ".git").write_text(text, encoding="utf-8")

        with pytest.raises((OSError, ValueError)):
            repository_ledger(str(tmp_path / "app"))


class TestDefaultLedger:
    def test_in_a_folder_that_is_gone(self, tmp_path: Path, data_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where nobody can say in which folder one stands, it is the user's own."""
        folder = tmp_path / "gone"
        folder.mkdir()
        monkeypatch.chdir(folder)
        folder.rmdir()

        assert str(data_home / "indult" / "ledger.db") == default_ledger()
