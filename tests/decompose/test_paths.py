from __future__ import annotations

from typing import Any

import pytest

from indult.decompose.paths import Places
from indult.testing.runners.shell import Disk


def places(root: str = "/repo", home: str | None = "/home/dev", **fs: Any) -> Places:
    """Return the places of a disk."""
    return Places(Disk(fs), root, home)


@pytest.mark.parametrize(
    ("base", "text", "names"),
    [
        ("/repo", "a/b", ("a/b",)),
        ("/repo", "./a//b/../c/", ("a/c",)),
        ("/repo/x", "../a", ("a",)),
        ("/repo", ".", (".",)),
        ("/repo", "..", ("/",)),
        ("/repo", "../../..", ("/",)),
        ("/repo", "/repo/a", ("a",)),
        ("/repo", "/repository/a", ("/repository/a",)),
        ("/x", "a", ("/x/a",)),
        ("/repo", "a" * 5000, ()),
    ],
)
def test_a_path_is_named_from_the_root_inside_it(base: str, text: str, names: tuple[str, ...]) -> None:
    """Inside the root a name is relative, outside absolute; the root itself is `.`."""
    assert names == places().names(base, text)


def test_a_path_has_the_name_that_its_links_lead_to_too() -> None:
    """Links are followed where they stand, `..` behind one as the system takes it, and links within their targets."""
    disk = places(symlinks={"/repo/a": "b/c", "/repo/b": "/srv/b", "/srv/b/c/up": "../d", "/repo/self": "self"})

    assert ("a/x", "/srv/b/c/x") == disk.names("/repo", "a/x")
    assert ("y", "/srv/b/y") == disk.names("/repo", "a/../y")
    assert ("a/up", "/srv/b/d") == disk.names("/repo", "a/up")
    assert ("b", "/srv/b") == disk.names("/repo", "b")
    assert None is disk.names("/repo", "self/x")
    assert "/srv/b" == disk.followed("/repo", "a/..")


def test_a_root_behind_a_link_is_one_root() -> None:
    """Below both names of the root, paths are named alike."""
    disk = places(symlinks={"/repo": "/data/repo"})

    assert ("a",) == disk.names("/repo", "a")
    assert ("a",) == disk.names("/", "data/repo/a")


def test_where_case_does_not_matter_there_is_one_spelling() -> None:
    """Names are in the disk's own spelling, and a folded one can be asked for."""
    disk = places(case_insensitive=True)

    assert ("docs/a.md",) == disk.names("/repo", "DOCS/A.md")
    assert ("docs/a.md",) == disk.names("/repo", "/REPO/Docs/a.md")
    assert (".env",) == disk.folded([".ENV"])
    assert () == places().folded([".ENV"])


def test_windows_has_drives_backslashes_and_short_names() -> None:
    """All spellings of a path on Windows are one name."""
    disk = places(
        "C:/srv/p",
        "C:/Users/dev",
        platform="windows",
        case_insensitive=True,
        short_names={"C:/PROGRA~1": "C:/Program Files"},
    )

    assert ("a/b",) == disk.names("C:/srv/p", "a\\b")
    assert ("a",) == disk.names("C:/srv/p", "C:\\srv\\p\\a")
    assert ("c:/users/x",) == disk.names("C:/srv/p", "/c/users/x")
    assert ("c:/srv/q",) == disk.names("C:/srv/p", "..\\q")
    assert "c:/program files/x" in (disk.names("C:/srv/p", "C:\\PROGRA~1\\x") or ())


@pytest.mark.parametrize(
    ("home", "text", "names"),
    [
        ("/srv/x", "/srv/x/.npmrc", ("/srv/x/.npmrc", "/home/~/.npmrc")),
        ("/srv/x", "/srv/x", ("/srv/x", "/home/~")),
        ("/srv/x", "/srv/x/notes.txt", ("/srv/x/notes.txt",)),
        ("/srv/x", "/srv/xy/.npmrc", ("/srv/xy/.npmrc",)),
        ("/", "/.npmrc", ("/.npmrc", "/home/~/.npmrc")),
        ("/", "/tmp/.x", ("/tmp/.x",)),
        ("/repo/x", "/repo/x/.npmrc", ("x/.npmrc",)),
        ("/root", "/root/.npmrc", ("/root/.npmrc",)),
        ("/home/dev", "/home/dev/.npmrc", ("/home/dev/.npmrc",)),
    ],
)
def test_what_is_hidden_in_a_home_elsewhere_is_named_as_in_any_home(
    home: str, text: str, names: tuple[str, ...]
) -> None:
    """Rules name the folders in which homes lie on most machines, and hold for one that lies elsewhere."""
    assert names == places(home=home).names("/repo", text)
