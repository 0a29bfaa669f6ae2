from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from indult.boundary import Boundary
from indult.errors import ConfigurationError, UsageError
from indult.policy import loads_policy
from indult.setup.instructions import block_of, found_block, present, put_block, target_of, text_of, with_block

if TYPE_CHECKING:
    from pathlib import Path

POLICY = "schema: 1\nrules: [{id: a, effect: deny, tool: rm, says: Delete nothing.}]\n"
BLOCK = block_of(Boundary(policy=loads_policy(POLICY)))


def test_block_states_the_boundary() -> None:
    """The block holds the text of the boundary and its digest."""
    boundary = Boundary(policy=loads_policy(POLICY))

    assert boundary.text() in BLOCK
    assert BLOCK.startswith(f"<!-- indult:begin {boundary.digest} -->\n")


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("", f"{BLOCK}\n"),
        ("# Rules\n", f"# Rules\n\n{BLOCK}\n"),
        ("# Rules", f"# Rules\n\n{BLOCK}\n"),
        ("a\r\nb\r\n", "a\r\nb\r\n\r\n" + f"{BLOCK}\n".replace("\n", "\r\n")),
        (f"a\n<!-- indult:begin sha256:{64 * '0'} -->\nold\n<!-- indult:end -->\nz", f"a\n{BLOCK}\nz"),
    ],
)
def test_with_block(text: str, after: str) -> None:
    """The block goes to the end or in place of its own, and nothing else changes."""
    assert after == with_block(text, BLOCK, source="f")
    assert after == with_block(after, BLOCK, source="f")


@pytest.mark.parametrize(
    "text",
    [
        "<!-- indult:begin sha256:1 -->\n<!-- indult:end -->",
        f"<!-- indult:begin sha256:{64 * '0'} -->\n",
        "<!-- indult:end -->",
        f"<!-- indult:end -->\n<!-- indult:begin sha256:{64 * '0'} -->",
        f"{BLOCK}\n{BLOCK}",
    ],
)
def test_marks_that_are_no_block(text: str) -> None:
    """Marks that do not make one block are refused: what is between them cannot be told from what is not."""
    with pytest.raises(ConfigurationError, match="marks of indult that are no block"):
        found_block(text, source="f")


def test_found_block() -> None:
    """A block is found with its lines, digest and subject."""
    boundary = Boundary(policy=loads_policy(POLICY), subject="tree:/r")
    found = found_block(f"a\n\n{block_of(boundary)}\nz\n", source="f")

    assert found is not None
    assert (3, boundary.digest, "tree:/r") == (found.first, found.digest, found.subject)
    assert "a\n\n" + "\n" * block_of(boundary).count("\n") + "\nz\n" == found.blanked(f"a\n\n{block_of(boundary)}\nz\n")
    assert found_block("nothing", source="f") is None


def test_sentence_with_a_mark() -> None:
    """A policy whose sentence would end the block is refused."""
    policy = loads_policy("schema: 1\nrules: [{id: a, effect: deny, says: '<!-- indult:end -->'}]\n")

    with pytest.raises(ConfigurationError, match="marks the block"):
        block_of(Boundary(policy=policy))


@pytest.mark.parametrize("subject", ["a b", "x-->y", "<x>"])
def test_subject_that_would_end_the_mark(subject: str) -> None:
    """A subject that could end the comment cannot stand in it."""
    with pytest.raises(UsageError, match="cannot stand in the mark"):
        block_of(Boundary(policy=loads_policy(POLICY), subject=subject))


def test_two_names_of_one_file(tmp_path: Path) -> None:
    """A file with two names is written once, through the link, which stays one."""
    (tmp_path / "CLAUDE.md").symlink_to("AGENTS.md")
    target = target_of(str(tmp_path / "CLAUDE.md"), str(tmp_path))

    assert {"CLAUDE.md": "written"} == put_block({target: "CLAUDE.md"}, BLOCK)
    assert (tmp_path / "CLAUDE.md").is_symlink()
    assert f"{BLOCK}\n" == text_of(tmp_path / "AGENTS.md")
    assert {"CLAUDE.md": "unchanged"} == put_block({target: "CLAUDE.md"}, BLOCK)


def test_all_or_none(tmp_path: Path) -> None:
    """Where one of the files cannot take the block, none is changed."""
    good, bad = tmp_path / "a.md", tmp_path / "b.md"
    bad.write_text("<!-- indult:end -->")

    with pytest.raises(ConfigurationError):
        put_block({good: "a.md", bad: "b.md"}, BLOCK)
    assert not good.exists()


def test_outside(tmp_path: Path) -> None:
    """A name that leads out of the repository, by a link too, is refused."""
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "x.md").symlink_to(tmp_path / "y.md")

    with pytest.raises(UsageError, match="leads out of the repository"):
        target_of(str(tmp_path / "r" / "x.md"), str(tmp_path / "r"))


def test_present(tmp_path: Path) -> None:
    """Of the files that agents look for, those that are there are found."""
    (tmp_path / "CLAUDE.md").write_text("")

    assert ("CLAUDE.md",) == present(str(tmp_path))
