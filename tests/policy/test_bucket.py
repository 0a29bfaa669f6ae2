from __future__ import annotations

import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indult.policy import Bucket, Effect, Mode, Policy, Rule, loads_policy
from indult.policy.bucket import Recent
from indult.policy.patterns import target_pattern


def rule(id: str, effect: str = "allow", **fields: Any) -> Rule:
    """Return a rule with a sentence of its own."""
    return Rule(id=id, effect=Effect(effect), says=f"Mind {id}.", **fields)


def ids(bucket: Bucket) -> list[list[str]]:
    """Return the ids of a bucket: deny, ask, allow, observed."""
    return [[rule.id for rule in group] for group in (*bucket.rules, bucket.observed)]


def target() -> str:
    """Stand for the target of a call."""
    return "call:sha256:0"


def unwanted() -> str:
    """Stand for a target that nothing may ask for."""
    raise AssertionError("the target was computed")


def test_a_bucket_holds_the_rules_of_a_tool_by_effect() -> None:
    """A tool meets the rules whose pattern fits, by effect and in order of id, observed ones apart."""
    policy = Policy(
        rules=(
            rule("d2", "deny", tool="pay_*"),
            rule("d1", "deny"),
            rule("k", "ask", tool="*_all"),
            rule("a", tool="pay_all"),
            rule("x", tool="other"),
            rule("o2", "deny", mode=Mode.OBSERVE),
            rule("o1", "allow", mode=Mode.OBSERVE),
        )
    )

    assert [["d1", "d2"], ["k"], ["a"], ["o1", "o2"]] == ids(policy.bucket("pay_all"))
    assert [["d1"], [], ["x"], ["o1", "o2"]] == ids(policy.bucket("other"))
    assert [["d1"], [], [], ["o1", "o2"]] == ids(policy.bucket(""))


def test_a_policy_that_observes_has_the_same_buckets() -> None:
    """The mode of the policy leaves the verdicts as they are."""
    rules = (rule("a"), rule("d", "deny"))

    assert ids(Policy(rules=rules).bucket("x")) == ids(Policy(rules=rules, mode=Mode.OBSERVE).bucket("x"))


def test_tools_that_meet_the_same_rules_share_a_bucket() -> None:
    """Buckets are made per set of rules and not per name."""
    policy = Policy(rules=(rule("a", tool="x*"), rule("b", tool="y")))

    assert policy.bucket("x1") is policy.bucket("x2")
    assert policy.bucket("x1") is not policy.bucket("y")


def test_the_target_decides_where_a_rule_names_one() -> None:
    """A rule with a target is met by targets of its kind and glob only."""
    policy = Policy(
        rules=(rule("f", "deny", target="file:src/**"), rule("w", target="write:**"), rule("c", target="call:*"))
    )
    beside = Policy(rules=(*policy.rules, rule("p", "ask"), rule("q", "ask", tool="y")))

    assert [["f"], ["p"], ["w"], []] == ids(beside.bucket("x", "write:src/a"))
    assert [[], ["p"], [], []] == ids(beside.bucket("x", "nonsense"))

    assert [["f"], [], ["w"], []] == ids(policy.bucket("x", "write:src/a"))
    assert [["f"], [], [], []] == ids(policy.bucket("x", "read:src/a"))
    assert [[], [], ["w"], []] == ids(policy.bucket("x", lambda: "write:lib/a"))
    assert [[], [], ["c"], []] == ids(policy.bucket("x", target))
    assert [[], [], [], []] == ids(policy.bucket("x", "nonsense"))


def test_a_target_that_is_not_known_never_approves() -> None:
    """Without a target, rules that name one are met if they deny or ask, and not if they allow."""
    rules = tuple(rule(effect, effect, target="file:src/**") for effect in ("deny", "ask", "allow"))

    assert [["deny"], ["ask"], [], []] == ids(Policy(rules=rules).bucket("x"))


def test_any_of_several_targets_meets_a_rule() -> None:
    """A rule with a list of targets is met where one of them fits."""
    policy = Policy(rules=(rule("d", "deny", target=("whole:**/.env*", "link:**/data", "change:**")),))

    met = ["write:a/.env", "gitlink:.env", "link:data", "change:a#gitlink"]
    assert [[["d"], [], [], []]] * 4 == [ids(policy.bucket("ship", one)) for one in met]
    unmet = ["edit:.env", "read:.env", "write:data", "entry:a#b@1", ""]
    assert [[[], [], [], []]] * 5 == [ids(policy.bucket("ship", one)) for one in unmet]
    assert [True] * 4 + [False] * 5 == [policy.meets(policy.rule("d"), one) for one in (*met, *unmet)]


def test_a_bucket_tells_whether_anything_hangs_on_a_condition() -> None:
    """Only where no rule of a bucket has a condition, observed ones too, does everything in it get one answer."""
    policy = Policy(
        rules=(
            rule("a", tool="x"),
            rule("b", tool="y", when="args.n > 1"),
            rule("c", tool="z", when="true", mode=Mode.OBSERVE),
        )
    )

    assert [True, False, False, True] == [policy.bucket(tool).unconditional for tool in ("x", "y", "z", "none")]


@pytest.mark.parametrize(
    ("path", "guarded"),
    [
        ("package.json", False),
        ("PACKAGE.json", True),
        ("a/package.json ", True),
        ("a/pack\u200cage.json", True),
        ("cargo.toml", True),
        ("Cargo.toml", False),
        (".GitHub/workflows/ci.yml", True),
        (".github/CI.yml", False),
        ("vendor/PACKAGE.JSON", False),
        ("Observed/x", False),
        ("Free/x", False),
        ("Links/x", False),
        ("package.json.md", False),
    ],
)
def test_a_name_that_passes_for_a_guarded_one_is_told(path: str, guarded: bool) -> None:
    """What some disk takes for a name that a deny or an ask is about is told, unless the name meets that rule itself."""
    policy = Policy(
        rules=(
            rule("d", "deny", target=("write:**/.github/**", "link:links/**")),
            rule("k", "ask", target=("whole:**/package.json", "whole:**/Cargo.toml", "edit:vendor/**")),
            rule("o", "deny", target="file:observed/**", mode=Mode.OBSERVE),
            rule("z", target="file:free/**"),
        )
    )

    assert guarded == policy.guards(path)


def test_stars_that_an_invisible_character_parts_guard_as_two() -> None:
    """A pattern that folds to three stars in a row still guards, and breaks nothing."""
    policy = Policy(rules=(rule("d", "deny", target="write:a/*\u034f**"),))

    assert policy.guards("A/b")


def test_a_dynamic_word_of_a_command_never_approves() -> None:
    """A word of a command that is not known meets what denies or asks, not what allows."""
    rules = tuple(rule(effect, effect, target="command:git push") for effect in ("deny", "ask", "allow"))

    assert [["deny"], ["ask"], [], []] == ids(Policy(rules=rules).bucket("sh", 'command:["git",null]'))
    assert [["deny"], ["ask"], ["allow"], []] == ids(Policy(rules=rules).bucket("sh", 'command:["git","push"]'))


def test_a_target_is_computed_only_where_a_rule_asks() -> None:
    """A tool without rules that name a target does not pay for the digest of its calls."""
    policy = Policy(rules=(rule("a", tool="x", target="call:**"), rule("b", tool="y")))

    assert [[], [], ["b"], []] == ids(policy.bucket("y", unwanted))
    with pytest.raises(AssertionError):
        policy.bucket("x", unwanted)


def test_a_bucket_decides_by_its_groups() -> None:
    """The fused function tells the strictest group with a match, and what in it matched."""
    policy = Policy(
        rules=(rule("d", "deny", when="args.n > 2"), rule("k", "ask", when="args.n > 1"), rule("a", when="args.n > 0"))
    )
    bucket = policy.bucket("x")

    assert [0, 1, 2, 3] == [bucket.decide("x", {"n": n}, "agent", target, {})[0] for n in (3, 2, 1, 0)]
    assert (0, [0]) == bucket.decide("x", {}, "agent", target, {})[:2]
    assert bucket.decide is bucket.decide


def test_observed_rules_are_told_apart() -> None:
    """Every observed rule that matches is given; one in error counts as in the verdict: deny and ask match."""
    observed = Mode.OBSERVE
    policy = Policy(
        rules=(
            rule("c", "deny", when="args.n > 2", mode=observed),
            rule("b", "ask", when="args.n > 1", mode=observed),
            rule("a", when="args.n > 0", mode=observed),
            rule("d", mode=observed),
            rule("e"),
        )
    )
    bucket = policy.bucket("x")

    matched, errors = bucket.decide_observed("x", {"n": 2}, "agent", target, {})
    assert (["a", "b", "d"], []) == ([rule.id for rule in matched], errors)
    matched, errors = bucket.decide_observed("x", {}, "agent", target, {})
    assert ["b", "c", "d"] == [rule.id for rule in matched]
    assert ["a", "b", "c"] == sorted(rule.id for rule, _ in errors)
    assert bucket.decide_observed is bucket.decide_observed


def test_a_bucket_knows_what_its_rules_read() -> None:
    """The declared facts that a rule reads are known without judging, in order."""
    policy = Policy(
        rules=(rule("a", when="world.n > size(names) && world.b"), rule("b")),
        context={"world": {"n": "int", "b": "bool"}, "names": "list(string)"},
    )

    assert {"a": (("names",), ("world", "b"), ("world", "n")), "b": ()} == policy.bucket("x").reads


def test_a_bucket_has_no_other_attributes() -> None:
    """Compiling on first use does not swallow a slip in a name."""
    with pytest.raises(AttributeError):
        Policy().bucket("x").decided  # noqa: B018 # the slip is the test


def test_names_that_agents_choose_do_not_fill_memory() -> None:
    """Thousands of tool names and targets, long ones among them, leave a bounded memory."""
    policy = Policy(rules=(rule("a", tool="x*"), rule("b", "ask", tool="*y", target="file:**"), rule("c", tool="*1*")))
    for number in range(2_000):
        policy.bucket(f"tool{number}", target)
    tracemalloc.start()
    try:
        for number in range(5_000):
            policy.bucket(f"tool{number}", target)
            policy.bucket(f"{number}y", f"write:{number}")
        for number in range(50):
            policy.bucket(str(number) + "x" * 100_000, target)
        grown, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert grown < 500_000


@given(st.lists(st.integers(0, 12), max_size=60))
def test_what_was_asked_for_lately_is_remembered(keys: list[int]) -> None:
    """The last distinct keys up to the size are always there, and there are never more than twice as many."""
    recent: Recent[int, str] = Recent(4)
    for at, key in enumerate(keys):
        if recent.get(key) is None:
            recent.put(key, str(key))
        last = list(dict.fromkeys(reversed(keys[: at + 1])))[:4]
        assert [str(one) for one in last] == [recent.get(one) for one in last]
        assert len(recent) <= 8


def test_a_pattern_is_understood_once() -> None:
    """The largest policy that is shipped has more patterns than a small memory holds, and each is understood once."""
    policy = loads_policy("schema: 1\nextends: indult/commands@1\n")
    known = {one for rule in policy.rules for one in rule.targets}
    target_pattern.cache_clear()
    for name in ('command:["ls"]', "read:a.py", "write:/etc/x"):
        policy.bucket("Bash", name)
        policy.guards("a.py")

    assert len(known) > 1024
    assert target_pattern.cache_info().misses <= len(known)
