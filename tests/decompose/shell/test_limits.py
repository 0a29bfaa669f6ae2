from __future__ import annotations

import pytest
from tests.decompose.shell.helpers import asks, commands, parts

from indult.decompose.paths import Places
from indult.decompose.shell import shell_parts, walk
from indult.decompose.shell.parts import Parts
from indult.decompose.shell.state import MOST_BASES, State
from indult.testing.runners.shell import Disk


def doubled(depth: int, body: str) -> str:
    """Return functions of which each calls the one before twice."""
    chain = [f"f{at}() {{ f{at - 1}; f{at - 1}; }}" for at in range(1, depth)]
    return "; ".join([f"f0() {{ {body}; }}", *chain, f"f{depth - 1}"])


def test_a_function_is_walked_once_for_each_state_that_it_is_called_in() -> None:
    """Functions that double their calls cost no more than their text."""
    assert [["a"]] == commands(doubled(30, "a"))


def test_a_function_that_moves_each_time_is_walked_up_to_a_limit() -> None:
    """Where every call leads to another folder, they are soon too many to be told apart."""
    steps = walk.Walk(Places(Disk({}), "/repo", None), Parts("Bash", Places(Disk({}), "/repo", None)))
    steps.text(doubled(14, "cd a"), State(("/repo",), {}))

    assert len(steps.parts.found) < 1_000


def test_folders_that_may_be_in_force_are_not_counted_without_end() -> None:
    """Above a few, it counts as not known which one is."""
    ends = walk.Walk(Places(Disk({}), "/repo", None), Parts("Bash", Places(Disk({}), "/repo", None))).text(
        "; ".join(f"cd d{at}" for at in range(6)), State(("/repo",), {})
    )
    state = ends.after(State((), {}))

    assert MOST_BASES == len(state.bases)
    assert state.lost


@pytest.mark.parametrize("text", ["a {1..9}{1..9}{1..9} " * 20, "eval a;" * 20])
def test_what_is_too_much_asks(text: str) -> None:
    """Too many words or texts are not looked through to the end."""
    assert [one for one in asks(text) if "cannot be read" in one]


def test_many_globs_are_told_as_one() -> None:
    """A line with hundreds of globs may touch anything, which is quickly told."""
    found = [glob for part in parts("; ".join(f"cat a{at}*" for at in range(400))) for glob in part.maybe]

    assert "read:a1*" in found
    assert "read:**" in found
    assert "read:a399*" not in found


def test_every_text_has_parts() -> None:
    """Even an empty one is a part that needs a rule."""
    places = Places(Disk({}), "/repo", None)

    assert [False] == [part.free for part in shell_parts("", tool="Bash", cwd="/repo", places=places)]
