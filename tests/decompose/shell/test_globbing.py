from __future__ import annotations

from typing import Any

import pytest
from tests.decompose.shell.helpers import parts

FS: dict[str, Any] = {
    "files": ["/repo/a.json", "/repo/.b.json", "/repo/src/c.json", "/repo/.github/d.json", "/srv/e.json"],
    "symlinks": {"/repo/f.json": "/srv/e.json"},
}


def named(text: str) -> set[str]:
    """Return the files that the first command of a text may touch by their names, without what has a star."""
    return {name for name in parts(text, fs=FS)[0].also if not name.startswith("command:") and "*" not in name}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("cat *.json", {"read:a.json", "read:f.json", "read:/srv/e.json"}),
        ("cat .*.json", {"read:.b.json"}),
        ("cat */*.json", {"read:src/c.json"}),
        ("cat .g*/d.json", {"read:.github/d.json"}),
        ("cat /srv/[!a].json", {"read:/srv/e.json"}),
        ("rm *.json", {"delete:a.json", "delete:f.json", "delete:/srv/e.json"}),
        ("cat *.yaml", set()),
    ],
)
def test_a_glob_names_the_files_that_it_finds(text: str, names: set[str]) -> None:
    """What lies there has its own names, with those that links lead to, and what is hidden stays so."""
    assert names == named(text)


def test_of_too_many_files_the_glob_alone_counts() -> None:
    """A folder that is full of files is not looked at one by one."""
    many = {"files": [f"/repo/{at}.json" for at in range(300)]}

    assert not [name for name in parts("cat *.json", fs=many)[0].also if "json" in name and name.startswith("read:")]
