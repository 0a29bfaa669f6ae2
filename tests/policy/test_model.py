from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indult.errors import ConditionError, PolicyError
from indult.policy import DEFAULT, Effect, Mode, Policy, Record, Rule
from indult.policy.autofix import Autofix, TriageRule, TriageState

FULL = Rule(
    id="a.b-1",
    effect=Effect.DENY,
    tool="pay_*",
    target=("write:y", "file:x/**"),
    when="args.n > 1",
    says="No.",
    downgrade=({"n": 1}, {"n": [0]}),
    mode=Mode.OBSERVE,
    record=Record.FULL,
    match=({"args": {"n": 2}, "target": "file:x/y"},),
    no_match=({"args": {"n": 0}, "target": "file:x/y"},),
)

ASK = Rule(
    id="ask",
    effect=Effect.ASK,
    says="Ask.",
    says_opened="Except {title}: {says}",
    exception="dependency",
    approvals=2,
    approval="signed",
)


def allow(**changes: Any) -> Rule:
    """Return a rule that allows, with some fields changed."""
    return Rule(**{"id": "a", "effect": Effect.ALLOW, **changes})


@pytest.mark.parametrize("rule", [FULL, ASK, allow(), allow(effect="ask", says="Ask.")])
def test_a_rule_survives_json(rule: Rule) -> None:
    """A rule read back from its JSON is equal, and keys with their default value are left out."""
    data = rule.to_dict()

    assert rule == Rule.from_dict(data)
    assert hash(rule) == hash(Rule.from_dict(data))
    assert {"id": "a", "effect": "allow"} == allow().to_dict()


@pytest.mark.parametrize(
    "changes",
    [
        {"id": ""},
        {"id": "1a"},
        {"id": "a b"},
        {"id": "x" * 101},
        {"id": "a\n"},
        {"id": 5},
        {"effect": "permit"},
        {"effect": "deny"},
        {"effect": "ask", "says": " "},
        {"mode": "off"},
        {"record": "all"},
        {"tool": ""},
        {"tool": None},
        {"tool": 5},
        {"target": "src"},
        {"target": ()},
        {"target": 5},
        {"target": ["file:a", 5]},
        {"target": ("file:a", "flie:a")},
        {"when": True},
        {"says": ["x"]},
        {"says_opened": "{who}"},
        {"says_opened": "{title"},
        {"says_opened": "{title.__class__}"},
        {"downgrade": ({"a": 1},)},
        {"approvals": 0},
        {"approvals": True},
        {"approvals": 2},
        {"approval": "any"},
        {"says_opened": "But {title}."},
        {"exception": "dependency"},
        {"effect": "ask", "says": "Ask.", "exception": "dependencies"},
        {"effect": "ask", "says": "Ask.", "approval": "maybe"},
        {"match": {"tool": "x"}},
        {"match": [5]},
        {"match": [{"args": {1: 2}}]},
    ],
)
def test_a_rule_that_cannot_be_is_refused(changes: dict[str, Any]) -> None:
    """A rule built in code meets the same conditions as one from a file."""
    with pytest.raises(PolicyError):
        allow(**changes)


def test_signatures_that_nobody_could_give_are_refused() -> None:
    """Without approvers nobody checks signatures, so a rule that takes only signed approvals would take any."""
    with pytest.raises(PolicyError, match="takes signed approvals"):
        Policy(rules=(ASK,))


@pytest.mark.parametrize("data", [{}, {"id": "a"}, {"id": "a", "effect": "allow", "wen": "x"}, [], "a"])
def test_json_that_is_no_rule_is_refused(data: Any) -> None:
    """Missing and unknown keys of a stored rule are policy errors."""
    with pytest.raises(PolicyError):
        Rule.from_dict(data)


def test_a_rule_keeps_copies() -> None:
    """What a caller does to a ladder later does not change the rule."""
    rung = {"n": [1]}
    rule = allow(effect="deny", says="No.", downgrade=(rung,))
    rung["n"].append(2)

    assert ({"n": [1]},) == rule.downgrade


POLICY = Policy(
    rules=(FULL, ASK, allow(id="z"), allow(id="c", when="world.n > 1 && limit > 2")),
    default=Effect.ASK,
    context={"world": {"n": "int"}, "limit": "int"},
    mode=Mode.OBSERVE,
    approvers={"ann": "key"},
    checks=["make"],
    fixer=("fix", "-p"),
    autofix=Autofix(cooldown=90, triage=(TriageRule(id="n", state=TriageState.IGNORED),)),
)


@pytest.mark.parametrize("policy", [POLICY, Policy(), Policy(rules=(allow(),))])
def test_a_policy_survives_json(policy: Policy) -> None:
    """A policy read back from its JSON is equal and has the same digest."""
    again = Policy.from_dict(policy.to_dict())

    assert policy == again
    assert hash(policy) == hash(again)
    assert policy.digest == again.digest
    assert policy.canonical_text == again.canonical_text


def test_the_digest_is_that_of_the_canonical_json() -> None:
    """The digest of the empty policy is a fixed value, so no release changes digests unawares."""
    assert '{"default":"deny","rules":[],"schema":1}' == Policy().canonical_text
    assert "sha256:d2a271d686fbe8f94f69a3bada48e4d4b2e07e2eb6d74d9592f6aaf3fd9a24c5" == Policy().digest


@given(st.permutations([allow(id="b"), allow(id="a"), FULL, allow(id="c.d")]))
def test_the_order_of_rules_has_no_meaning(rules: list[Rule]) -> None:
    """Every order of the same rules is the same policy."""
    first = Policy(rules=tuple(sorted(rules, key=lambda rule: rule.id)))

    assert first == Policy(rules=tuple(rules))
    assert first.digest == Policy(rules=tuple(rules)).digest


def test_every_field_of_a_rule_changes_the_digest() -> None:
    """No part of a rule can change behind the same digest."""
    base = FULL.to_dict()
    digests = {Policy(rules=(FULL,)).digest}
    changed = [
        {**base, "id": "x"},
        {**base, "effect": "ask", "downgrade": []},
        *(
            {name: value for name, value in base.items() if name != left}
            for left in base
            if left not in ("id", "effect", "says")
        ),
        {**base, "says": "Never."},
    ]
    digests |= {Policy(rules=(Rule.from_dict(data),)).digest for data in changed}

    assert len(changed) + 1 == len(digests)


@pytest.mark.parametrize(
    "changes",
    [
        {"default": "allow"},
        {"default": "no"},
        {"mode": "off"},
        {"rules": (allow(), allow())},
        {"rules": (allow(id=DEFAULT),)},
        {"context": {"n": float("nan")}},
    ],
)
def test_a_policy_that_cannot_be_is_refused(changes: dict[str, Any]) -> None:
    """A policy built in code meets the same conditions as one from a file."""
    with pytest.raises(PolicyError):
        Policy(**changes)


@pytest.mark.parametrize(
    "data", [{}, {"schema": 2}, {"schema": 1, "rulez": []}, {"schema": 1, "rules": 5}, {"schema": 1, "rules": [5]}, 5]
)
def test_json_that_is_no_policy_is_refused(data: Any) -> None:
    """Another schema and unknown keys of a stored policy are policy errors."""
    with pytest.raises(PolicyError):
        Policy.from_dict(data)


def test_rules_are_found_by_id() -> None:
    """A rule is found by its id, the default stands under `default`, and anything else is an error."""
    assert FULL is POLICY.rule("a.b-1")
    assert Effect.ASK is POLICY.rule(DEFAULT).effect
    assert Effect.DENY is Policy().rule(DEFAULT).effect
    assert all(policy.rule(DEFAULT).says for policy in (POLICY, Policy()))
    with pytest.raises(PolicyError, match="no rule has the id `x`"):
        POLICY.rule("x")


@pytest.mark.parametrize(
    ("context", "message"),
    [
        ({"tool": "int"}, "`tool` is taken"),
        ({"int": "int"}, "`int` is taken"),
        ({"in": "int"}, "`in` cannot be"),
        ({"a b": "int"}, "`a b` cannot be"),
        ({"a": "nope"}, "nope"),
        ({"a": 5}, "`5`"),
        ({"a": {"b": {"c": "int"}}}, "type"),
        ({"a": {"in": "int"}}, "`in` cannot be"),
    ],
)
def test_a_context_that_cannot_be_declared_is_refused(context: dict[str, Any], message: str) -> None:
    """A name that is taken and a type that does not exist are errors when conditions are first checked."""
    with pytest.raises(PolicyError, match=message):
        Policy(rules=(allow(),), context=context).env  # noqa: B018 # the property does the work


def test_conditions_are_checked_against_the_context() -> None:
    """Every rule has its checked condition, with the facts that it reads; a bad one is an error."""
    conditions = POLICY.conditions

    assert {"a.b-1", "ask", "c", "z"} == set(conditions)
    assert conditions["z"] is None
    assert conditions["c"] is not None
    assert {("world", "n"), ("limit",)} == set(conditions["c"].reads)
    with pytest.raises(ConditionError):
        Policy(rules=(allow(when="nope"),)).bucket("x")


def test_words_are_closed_sets() -> None:
    """The words of effects, modes and records are fixed."""
    assert ["allow", "ask", "deny"] == list(Effect)
    assert ["enforce", "observe"] == list(Mode)
    assert ["full", "preview", "digest"] == list(Record)
    assert all(a != b for a, b in itertools.combinations([*Effect, *Mode, *Record], 2))
