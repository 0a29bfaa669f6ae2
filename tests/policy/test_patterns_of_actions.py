from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indult.policy import Effect, Policy, Rule
from indult.policy.patterns import command_pattern, glob, is_absolute, overlaps


def target(*argv: object, options: list[str] | None = None) -> str:
    """Return the name of a command target."""
    return json.dumps({"argv": argv} if options is None else {"argv": argv, "options": options})


@pytest.mark.parametrize(
    ("pattern", "name", "denies", "allows"),
    [
        ("git push", target("git", "push", "-f"), True, True),
        ("git push", target("git", "pushy"), False, False),
        ("git push", target("git"), False, False),
        ("git push", target("git", None), True, False),
        ("git push", target("git", None, "push"), True, False),
        ("git push --force", target("git", None), True, False),
        ("git push", target("git", "pull", None), False, False),
        ("git", target("git", None), True, True),
        ("git", target(None), True, False),
        ("cat .env", target("cat", {"glob": ".en?"}), True, False),
        ("cat a b", target("cat", {"glob": "*"}), True, False),
        ("cat a b c", target("cat", {"glob": "*"}, "c"), True, False),
        ("cat .env", target("cat", {"glob": "*.py"}), False, False),
        ("rm -rf", target("rm", {"glob": "*"}), False, False),
        ("rm -rf", target("rm", {"glob": "-r?"}), True, False),
        ('["a b", "c"]', target("a b", "c", "d"), True, True),
        ('["a b", "c"]', target("a", "b", "c"), False, False),
        ("[ -f", target("[", "-f", "x"), True, True),
        ("rm -rf", target("rm", "x", options=["-r", "-f"]), True, False),
        ("rm -rf", target("rm", "x", options=["-r"]), False, False),
        ("git push --force", target("git", "push", "origin", options=["--fo"]), True, False),
        ("git push --force", target("git", "push", options=["--force-with-lease"]), False, False),
        ("git push", target("git", "push", options=["-q"]), True, False),
        ("rm -rf", target("rm", None, options=[]), True, False),
    ],
)
def test_a_command_pattern_is_cautious_where_it_denies(pattern: str, name: str, denies: bool, allows: bool) -> None:
    """A deny counts what is not known, and options wherever they stand; an allow takes the words as they are."""
    matches = command_pattern(pattern)

    assert (denies, allows) == (matches(name, True), matches(name, False))


@pytest.mark.parametrize(
    ("pattern", "name", "meet"),
    [
        ("**/.env", ".env", True),
        ("**/.env", ".en?", True),
        ("**/.env", "a/*", True),
        ("**/.env", "*.py", False),
        ("/etc/**", "**/notes", True),
        ("/etc/passwd", "/etc/?asswd", True),
        ("src/*.py", "src/a/*", False),
        ("src/**/a.py", "src/a.??", True),
        ("a/b", "a?b", False),
        ("**/a", "b/**", True),
        ("data/**", "src/**", False),
        ("x" * 1000, "*" + "a" * 290, True),
    ],
)
def test_globs_overlap_where_a_name_can_be_both(pattern: str, name: str, meet: bool) -> None:
    """Two globs overlap if one text fits both; where telling would take too long, they do."""
    assert meet == overlaps(pattern, name)


@given(st.text("ab/*", max_size=7).filter(lambda text: "***" not in text), st.text("ab/", max_size=6))
def test_a_glob_overlaps_every_name_that_it_matches(pattern: str, name: str) -> None:
    """With a name without stars, overlapping is matching."""
    assert glob(pattern)(name) == overlaps(pattern, name)


@pytest.mark.parametrize(("path", "absolute"), [("/x", True), ("C:/x", True), ("x/y", False), ("**", False)])
def test_an_absolute_path_begins_at_a_root(path: str, absolute: bool) -> None:
    """A slash, or a drive and one, make a path absolute."""
    assert absolute == is_absolute(path)


def test_what_is_allowed_without_a_root_lies_below_the_root() -> None:
    """An allow of `**` covers the tree alone; a deny of `**/NAME` covers every place."""
    allow = Rule(id="a", effect=Effect.ALLOW, target="file:**")
    wide = Rule(id="b", effect=Effect.ALLOW, target="file:/tmp/**")
    deny = Rule(id="c", effect=Effect.DENY, target="file:**/.env", says="No.")
    policy = Policy(rules=(allow, wide, deny))

    def met(name: str) -> list[str]:
        return [rule.id for group in policy.bucket("Write", name).rules for rule in group]

    assert ["a"] == met("write:x/y")
    assert [] == met("write:/etc/hosts")
    assert ["b"] == met("write:/tmp/x")
    assert ["c", "a"] == met("write:x/.env")
    assert ["c"] == met("write:/home/x/.env")
    assert [False, True] == [policy.meets(one, "write:/home/x/.env") for one in (allow, deny)]


def test_rules_that_might_be_about_a_target_are_found_by_its_glob() -> None:
    """Deny and ask rules of the tool whose pattern overlaps are found, allow rules are not."""
    policy = Policy(
        rules=(
            Rule(id="a", effect=Effect.ALLOW, target="read:**"),
            Rule(id="b", effect=Effect.DENY, target=("write:x", "file:**/.env"), says="No."),
            Rule(id="c", effect=Effect.ASK, target="read:.env.local", says="No.", tool="Read"),
            Rule(id="d", effect=Effect.DENY, says="No.", tool="Other"),
        )
    )

    assert ["b"] == [rule.id for rule in policy.might("Bash", "read:.e*")]
    assert ["b", "c"] == [rule.id for rule in policy.might("Read", "read:.e*")]
    assert [] == policy.might("Bash", "read:*.py")
