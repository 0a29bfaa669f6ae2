from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from indult.errors import InputError
from indult.testing.branches import Branches, git

if TYPE_CHECKING:
    from pathlib import Path

BASE = {"a.txt": "a\n", "lib/b.txt": "b\n"}


def made(folder: Path, *changes: dict[str, Any]) -> Branches:
    """Return a repository with these changes on its branch."""
    return Branches(folder / "repository", BASE, changes)


def tree(branches: Branches, name: str = "fix") -> dict[str, str]:
    """Return the paths of a branch with mode and content, a link by its target and a submodule by its commit."""
    found = {}
    for line in git(branches.folder, "ls-tree", "-rz", name).decode().split("\0")[:-1]:
        (mode, kind, name), path = line.partition("\t")[0].split(), line.partition("\t")[2]
        content = name if kind == "commit" else git(branches.folder, "cat-file", "-p", name).decode()
        found[path] = f"{mode} {content}"
    return found


PLAIN = {"a.txt": "100644 a\n", "lib/b.txt": "100644 b\n"}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"op": "write", "path": "c", "content": "c"}, {**PLAIN, "c": "100644 c"}),
        ({"op": "write_b64", "path": "c", "content_b64": "Yw=="}, {**PLAIN, "c": "100644 c"}),
        ({"op": "delete", "path": "a.txt"}, {"lib/b.txt": "100644 b\n"}),
        ({"op": "rename", "from": "a.txt", "to": "c"}, {"c": "100644 a\n", "lib/b.txt": "100644 b\n"}),
        (
            {"op": "rename", "from": "a.txt", "to": "c", "content": "new"},
            {"c": "100644 new", "lib/b.txt": "100644 b\n"},
        ),
        ({"op": "symlink", "path": "c", "target": "../x"}, {**PLAIN, "c": "120000 ../x"}),
        ({"op": "chmod", "path": "a.txt", "mode": "100755"}, {**PLAIN, "a.txt": "100755 a\n"}),
        ({"op": "gitlink", "path": "c", "sha": "1" * 40}, {**PLAIN, "c": "160000 " + "1" * 40}),
        (
            {"op": "write_many", "prefix": "x/", "suffix": ".t", "count": 2, "content": "n"},
            {**PLAIN, "x/00000.t": "100644 n", "x/00001.t": "100644 n"},
        ),
        ({"op": "write", "path": 'ä "q"\t\n\\', "content": ""}, {**PLAIN, 'ä "q"\t\n\\': "100644 "}),
    ],
    ids=lambda value: value.get("op", ""),
)
def test_each_operation(tmp_path: Path, change: dict[str, Any], expected: dict[str, str]) -> None:
    """The branch holds what the operation says, and the target what it held before."""
    branches = made(tmp_path, change)

    assert expected == tree(branches)
    assert PLAIN == tree(branches, "main")


def test_commits_are_cut(tmp_path: Path) -> None:
    """Each cut is a commit of its own, and what follows the last one is one more."""
    write = {"op": "write", "path": "c"}
    branches = made(tmp_path, {**write, "content": "1"}, {"op": "commit"}, {**write, "content": "2"})

    assert ["100644 1", "100644 2"] == [tree(branches, name)["c"] for name in ("fix~1", "fix")]


def test_an_evil_merge(tmp_path: Path) -> None:
    """A merge commit can hold what neither of its parents does."""
    branches = made(
        tmp_path,
        {"op": "write", "path": "c", "content": "c"},
        {"op": "target_write", "path": "d", "content": "d"},
        {"op": "merge_target"},
        {"op": "write", "path": "e", "content": "e"},
        {"op": "amend_merge"},
    )

    assert {*PLAIN, "c", "d", "e"} == set(tree(branches))
    assert {*PLAIN, "d"} == set(tree(branches, "fix^2")) == set(tree(branches, "main"))
    assert {*PLAIN, "c"} == set(tree(branches, "fix^1"))


def test_more_commits(tmp_path: Path) -> None:
    """A commit can be put on top later, on the branch or on a new one."""
    branches = made(tmp_path, {"op": "write", "path": "c", "content": "c"})
    branches.add([{"op": "write", "path": "d", "content": "d"}], branch="other")
    branches.add([{"op": "delete", "path": "c"}])

    assert [{*PLAIN, "c", "d"}, {*PLAIN}] == [set(tree(branches, "other")), set(tree(branches))]


def test_both_sides_of_a_merge(tmp_path: Path) -> None:
    """A merge that would conflict is no case: nothing says how it was resolved."""
    write = {"path": "a.txt", "content": "other"}
    with pytest.raises(InputError, match=r"both sides of a merge change `a.txt`"):
        made(
            tmp_path,
            {"op": "write", "path": "a.txt", "content": "mine"},
            {"op": "target_write", **write},
            {"op": "merge_target"},
        )


def test_no_settings_of_a_person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the configuration of a person nor the variables of git reach the repository."""
    (tmp_path / "hostile").write_text("[core]\n\thooksPath = /nowhere\n", encoding="utf-8")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "hostile"))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    branches = made(tmp_path)

    assert b"" == git(branches.folder, "config", "--default", "", "--get", "core.hooksPath").strip()
    assert not (tmp_path / "elsewhere").exists()
