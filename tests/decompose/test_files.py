from __future__ import annotations

import json
from typing import Any

import pytest

from indult.actions import Action
from indult.decompose import Part, decompose_with
from indult.testing.runners.shell import Disk


class Contents(Disk):
    """A disk with one manifest on it."""

    def content(self, path: str) -> bytes | None:
        """Return the manifest."""
        return MANIFEST if path == "/repo/package.json" else None


MANIFEST = json.dumps({"name": "x", "dependencies": {"libdb": "1.0.0"}}).encode()


def parts(tool: str, fs: dict[str, Any] | None = None, cwd: str = "/repo", **args: Any) -> tuple[Part, ...]:
    """Return the parts of a call."""
    return decompose_with(Contents(fs or {}), "/repo", "/home/dev")(Action(tool=tool, args=args, cwd=cwd))


def targets(tool: str, **more: Any) -> list[str]:
    """Return the targets of a call."""
    return [part.target() for part in parts(tool, **more)]


@pytest.mark.parametrize(
    ("tool", "args", "found"),
    [
        ("Read", {"file_path": "a"}, ["read:a"]),
        ("read_file", {"path": "./a"}, ["read:a"]),
        ("Write", {"file_path": "/repo/a", "content": "x"}, ["write:a"]),
        ("Edit", {"file_path": "~/a", "old_string": "x", "new_string": "y"}, ["write:/home/dev/a"]),
        ("MultiEdit", {"file_path": "../a", "edits": []}, ["write:/a"]),
        ("NotebookEdit", {"notebook_path": "a.ipynb"}, ["write:a.ipynb"]),
        ("LS", {"path": "/repo"}, ["read:."]),
        ("LS", {}, ["read:."]),
    ],
)
def test_a_file_tool_touches_its_file(tool: str, args: dict[str, Any], found: list[str]) -> None:
    """Reading and writing tools are the file that they name."""
    assert found == targets(tool, **args)


def test_a_relative_path_starts_from_the_folder_of_the_call() -> None:
    """The folder of the call is that of the action."""
    assert ["read:docs/a"] == targets("Read", cwd="/repo/docs", file_path="a")


def test_a_file_has_both_of_its_names() -> None:
    """The name as it reads and the one that links lead to are parts of their own, so that an allow needs both."""
    assert ["write:out/a", "write:/srv/a"] == targets(
        "Write", fs={"symlinks": {"/repo/out": "/srv"}}, file_path="out/a"
    )


@pytest.mark.parametrize(
    "args", [{}, {"file_path": 3}, {"file_path": ""}, {"file_path": "a\0b"}, {"file_path": "loop"}]
)
def test_a_file_that_is_not_known_may_be_any(args: dict[str, Any]) -> None:
    """Without a path that leads somewhere, the part asks and could be every file."""
    (part,) = parts("Write", fs={"symlinks": {"/repo/loop": "loop"}}, **args)

    assert ("write:**", ("write:**",)) == (part.target(), part.maybe)
    assert part.asks


@pytest.mark.parametrize("around", [" {}", "{} ", "{}\n", "\ufeff{}", "\t\u00a0{}\u200b", "{}\r"])
@pytest.mark.parametrize(
    ("tool", "key", "kind"),
    [
        ("Read", "file_path", "read"),
        ("view", "path", "read"),
        ("Write", "file_path", "write"),
        ("Edit", "file_path", "write"),
        ("create", "path", "write"),
        ("NotebookEdit", "notebook_path", "write"),
        ("Grep", "path", "read"),
        ("Glob", "path", "read"),
    ],
)
def test_a_path_is_judged_with_and_without_the_white_space_around_it(
    tool: str, key: str, kind: str, around: str
) -> None:
    """Some tools trim a path before they use it, and others do not."""
    path = around.format(".env")

    assert [f"{kind}:{path}", f"{kind}:.env"] == list(dict.fromkeys(targets(tool, **{key: path})))


def test_a_glob_and_a_patch_are_trimmed_too() -> None:
    """A pattern of names and a heading of a patch may have white space at their ends."""
    patch = "*** Begin Patch\n*** Update File: .env \n*** End Patch"

    assert "read:.env" in {glob for part in parts("Grep", pattern="x", glob=" .env\n") for glob in part.maybe}
    assert {"write:.env", "write:.env "} == set(targets("apply_patch", input=patch))


def test_a_path_of_white_space_alone_may_be_any() -> None:
    """What is left of it when it is trimmed names nothing."""
    (part,) = parts("Write", file_path=" ", content="x")

    assert part.asks


def test_a_manifest_comes_apart_where_its_new_content_is_known() -> None:
    """Writing or editing a manifest is what changes in it; an edit that cannot be told is the file as one."""
    new = MANIFEST.replace(b"1.0.0", b"1.0.1").decode()
    whole = targets("Write", file_path="package.json", content=new)

    assert ["edit:package.json", "entry:package.json#libdb@1.0.1"] == whole
    assert whole == targets("Edit", file_path="/repo/package.json", old_string="1.0.0", new_string="1.0.1")
    assert whole == targets(
        "MultiEdit", file_path="package.json", edits=[{"old_string": "1.0.0", "new_string": "1.0.1"}]
    )
    assert ["write:package.json"] == targets("Edit", file_path="package.json", old_string="none", new_string="x")
    assert ["write:package.json"] == targets("Edit", file_path="package.json", old_string='"', new_string="x")
    assert "write:sub/package.json" in targets("Write", file_path="sub/package.json", content=new)
    assert ["write:/x/package.json"] == targets("Write", file_path="/x/package.json", content=new)


@pytest.mark.parametrize(
    ("tool", "args", "maybe"),
    [
        ("Glob", {"pattern": "**/*.py"}, ["read:***"]),
        ("Glob", {"pattern": "*.py", "path": "src"}, ["read:src/***"]),
        ("Grep", {"pattern": "x", "glob": "*.md", "path": "/etc"}, ["read:/etc/***"]),
        ("Grep", {"pattern": "x"}, ["read:***"]),
        ("Grep", {"pattern": "x", "glob": "**/*"}, ["read:**/*"]),
        ("Grep", {"pattern": "x", "glob": "!a"}, ["read:***"]),
        ("Grep", {"pattern": "x", "glob": ".env*"}, ["read:.env*", "read:**/.env*"]),
        ("Grep", {"pattern": "x", "glob": "src/*.{ts,tsx}"}, ["read:src/***"]),
        ("Grep", {"pattern": "x", "path": "/"}, ["read:/**"]),
        ("Glob", {"pattern": "/etc/p*"}, ["read:/etc/p*"]),
        ("Glob", {"pattern": "../*"}, ["read:**"]),
        ("Glob", {"pattern": "{a,b}"}, ["read:a", "read:**/a", "read:b", "read:**/b"]),
    ],
)
def test_a_search_starts_from_a_folder_and_may_find_what_its_glob_does(
    tool: str, args: dict[str, Any], maybe: list[str]
) -> None:
    """The folder has to be allowed, and what may be found is told as globs."""
    found = [glob for part in parts(tool, **args) for glob in part.maybe]

    assert maybe == found


def test_a_patch_touches_the_files_that_it_names() -> None:
    """Added, updated, moved and deleted files are told; what is no patch may write anything."""
    patch = (
        "*** Begin Patch\n*** Add File: a\n+x\n*** Update File: b\n*** Move to: c\n@@\n-x\n+y\n*** Delete File: d\n"
        "*** End Patch"
    )

    assert ["write:a", "write:b", "delete:b", "write:c", "delete:d"] == targets("apply_patch", input=patch)
    assert ["write:**"] == targets("apply_patch", input="*** Begin Patch\n")
    assert ["write:**"] == targets("apply_patch")


def test_every_path_and_every_patch_of_a_call_counts() -> None:
    """Which of them a tool takes is not known."""
    one, other = (f"*** Begin Patch\n {head} File: {name}\n*** End Patch" for head, name in HEADS)

    assert ["write:a", "write:b"] == targets("NotebookEdit", file_path="a", notebook_path="b")
    assert ["read:a", "read:b"] == targets("Read", file_path="a", path="b")
    assert ["write:a", "delete:b"] == targets("apply_patch", input=one, patch=other)
    assert ["write:a", "write:**"] == targets("apply_patch", input=one, command=["apply_patch", other])


HEADS = (("*** Update", "a"), ("*** Delete", "b"))


def test_a_shell_line_comes_apart_as_text_and_as_words() -> None:
    """What is neither is a command that no rule allows."""
    assert ['command:{"argv":["ls","a b"],"cwd":"/repo"}'] == targets("shell", command=["ls", "a b"])
    assert [None] == json.loads(targets("shell", command=3)[0][8:])["argv"]


def test_a_shell_line_runs_in_each_folder_that_the_call_names() -> None:
    """Which of them a tool goes to is not known."""
    assert ['command:{"argv":["ls"],"cwd":"/repo"}', 'command:{"argv":["ls"],"cwd":"/repo/d"}'] == targets(
        "shell", command="ls", workdir="d"
    )
    assert ['command:{"argv":["ls"],"cwd":"/repo"}'] == targets("shell", command="ls", workdir="/repo")
    assert [None] == json.loads(targets("shell", command="ls", workdir=["d"])[0][8:])["argv"]


def test_a_command_of_any_other_tool_is_a_part_beside_the_call_itself() -> None:
    """What a tool does with its command, and with what else it is given, is not known."""
    call, line = parts("mcp__x__delete_repo", command="ls x")

    assert call.target().startswith("call:sha256:")
    assert 'command:{"argv":["ls","x"],"cwd":"/repo"}' == line.target()


def test_any_other_call_is_its_own_only_part() -> None:
    """A tool of a server has no parts."""
    assert () == parts("mcp__notes__search", query="x")


def test_what_goes_wrong_is_never_allowed() -> None:
    """An error while a call is taken apart becomes a part that asks."""

    class Broken(Disk):
        def link(self, path: str) -> str | None:
            raise OSError(path)

    (part,) = decompose_with(Broken({}), "/repo", None)(Action(tool="Read", args={"file_path": "a"}))

    assert "it cannot be taken apart: OSError" == part.asks
