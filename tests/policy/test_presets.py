from __future__ import annotations

import pytest

from indult.errors import PolicyError
from indult.policy import loads_policy
from indult.policy.presets import names, preset


@pytest.mark.parametrize("name", names())
def test_every_preset_loads_and_shows_what_it_means(name: str) -> None:
    """A shipped preset loads by itself, and each of its rules has a sentence and examples of both kinds."""
    policy = loads_policy(f"schema: 1\nextends: {name}")

    assert policy.rules
    for rule in policy.rules:
        assert rule.says
        assert rule.match
        assert rule.no_match
        assert name.startswith(f"indult/{rule.id.partition('.')[0]}")


def test_presets_are_named_with_their_version() -> None:
    """The presets of this version, by the names that `extends` takes."""
    assert ["indult/readonly-tools@1", "indult/repository@1"] == names()


@pytest.mark.parametrize(
    "name", ["", "indult", "indult/x", "indult/readonly-tools", "indult/../x@1", "other/x@1", "indult/x@0"]
)
def test_an_unknown_preset_lists_those_there_are(name: str) -> None:
    """A name that is no preset is an error that names all presets, and never becomes a path."""
    with pytest.raises(PolicyError) as caught:
        preset(name)

    assert "there are `indult/readonly-tools@1`, `indult/repository@1`" == caught.value.hint


@pytest.mark.parametrize(
    ("tool", "allowed"),
    [
        ("get_weather", True),
        ("view_file", True),
        ("mcp__github__search_code", True),
        ("forget_all", False),
        ("get", False),
        ("getter", False),
        ("read_and_write_file", False),
        ("mcp__x__read_or_create", False),
        ("mcp__list_things__delete_things", False),
        ("get__mcp__get_x", False),
        ("GET_x", False),
    ],
)
def test_read_only_tools_are_told_by_their_first_word(tool: str, allowed: bool) -> None:
    """A tool is read-only if the first word of its own name is a verb of looking and no second verb follows."""
    bucket = loads_policy("schema: 1\nextends: indult/readonly-tools@1").bucket(tool)

    assert (2 if allowed else 3) == bucket.decide(tool, {}, "agent", lambda: "call:x", {})[0]
