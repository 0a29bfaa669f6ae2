from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indult.budget import Budget
from indult.errors import ConditionError, PolicyError
from indult.policy import Policy, dumps_policy, find_errors, loads_policy
from indult.policy.autofix import (
    CEILINGS,
    LARGEST,
    LONGEST,
    Autofix,
    TriageRule,
    TriageState,
    duration_text,
    parse_duration,
)
from indult.policy.autofix_keys import AUTOFIX_KEYS

TEXT = """
schema: 1
fixer: [claude, -p]
autofix:
  threshold: 2
  cooldown: 12h
  turns: 5
  patience: 1
  timeout: 90s
  budget: {engine_calls: 20, seconds: 7200, tokens: 2000000, cost: 10.5}
  triage:
    - {id: flaky, when: 'signal.kind == "test" && signal.summary.contains("timeout")', state: needs-human, says: By hand.}
    - {id: payments, when: signal.source.startsWith("payments/"), priority: 10, threshold: 1}
    - {id: often, when: signal.count > 9 || signal.turns > 2, priority: -3}
rules: []
"""

SIGNAL = {"kind": "test", "summary": "a timeout", "source": "payments/t.py", "count": 10, "turns": 0}


def rule(ident: str = "a", **values: Any) -> TriageRule:
    """Return a rule of triage that ignores unless it is told otherwise."""
    return TriageRule(id=ident, **({"state": TriageState.IGNORED} | values))


class TestLoading:
    def test_all_keys(self) -> None:
        """Every key of the file arrives in the model, durations in seconds and rules in order of id."""
        policy = loads_policy(TEXT)

        assert ("claude", "-p") == policy.fixer
        assert policy.autofix is not None
        assert (
            Autofix(
                threshold=2,
                cooldown=43_200,
                turns=5,
                patience=1,
                timeout=90,
                budget=Budget(engine_calls=20, seconds=7200, tokens=2_000_000, cost=10.5),
                triage=policy.autofix.triage,
            )
            == policy.autofix
        )
        flaky, often, payments = policy.autofix.triage
        assert ("flaky", TriageState.NEEDS_HUMAN, "By hand.") == (flaky.id, flaky.state, flaky.says)
        assert ("often", None, -3, None) == (often.id, often.state, often.priority, often.threshold)
        assert ("payments", 10, 1) == (payments.id, payments.priority, payments.threshold)

    def test_defaults(self) -> None:
        """An empty `autofix` is all as it is by default, which is not the same as none."""
        policy = loads_policy("schema: 1\nautofix: {}\nrules: []")

        assert Autofix() == policy.autofix
        assert (1, 86_400, 3, 2, 1_800) == tuple(
            getattr(policy.autofix, name) for name in ("threshold", "cooldown", "turns", "patience", "timeout")
        )
        assert ((), None) == (Policy().fixer, Policy().autofix)
        assert policy.digest != Policy().digest

    def test_every_error_of_a_rule_is_found(self, tmp_path: Any) -> None:
        """One load tells all that is wrong below `autofix`, beside what is wrong with the rules."""
        file = tmp_path / "indult.yaml"
        file.write_text(
            "schema: 1\nautofix:\n  turns: 0\n  cooldown: soon\n  triage:\n    - {when: signal.x, state: fixed}\n"
            "rules:\n  - {id: a, effect: permit}\n",
            encoding="utf-8",
        )

        assert [(3, 10), (4, 13), (6, 7), (6, 21), (6, 31), (8, 21)] == [
            (exc.line, exc.column) for exc in find_errors(file)
        ]


SCALARS = st.sampled_from(
    [None, True, 0, 1, 5, -1, 2**53 - 1, 1.5, "", "1", "90s", "24h", "on", "fix", "ignored", "true", "signal.count > 1"]
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["id", "when", "cost"]), inner),
    max_leaves=4,
)
RULES = st.dictionaries(st.sampled_from(["id", "when", "state", "priority", "threshold", "says", "x"]), VALUES)
PARTS = st.dictionaries(st.sampled_from([*AUTOFIX_KEYS, "turn", "a b"]), VALUES) | st.fixed_dictionaries(
    {},
    optional={
        "threshold": SCALARS,
        "cooldown": SCALARS,
        "budget": st.dictionaries(st.sampled_from(CEILINGS), SCALARS) | VALUES,
        "triage": st.lists(RULES, max_size=3) | VALUES,
    },
)


@given(PARTS | VALUES)
def test_whatever_stands_there_is_read_or_refused_at_its_place(value: Any) -> None:
    """Any JSON below `autofix` gives a policy, or an error with line and column."""
    place = (1, 1)
    try:
        loads_policy(json.dumps({"schema": 1, "rules": [], "autofix": value}))
    except PolicyError as exc:
        place = (exc.line or 0, exc.column or 0)

    assert (1, 1) <= place


GOOD_RULES = st.lists(
    st.builds(
        TriageRule,
        id=st.sampled_from(["a", "B-2", "_c.d", "on", "true"]),
        when=st.none() | st.sampled_from(["signal.count > 1", "true", "signal.kind\n  != ': #'"]),
        state=st.sampled_from(TriageState),
        priority=st.none() | st.integers(-LARGEST, LARGEST),
        says=st.none() | st.sampled_from(["No.", "yes", "a: b", "two\nlines"]),
    )
    | st.builds(TriageRule, id=st.sampled_from(["e", "f"]), threshold=st.integers(1, LARGEST)),
    unique_by=lambda one: one.id,
    max_size=5,
)


@given(
    st.builds(
        Autofix,
        threshold=st.integers(1, LARGEST),
        cooldown=st.integers(0, LONGEST),
        timeout=st.integers(1, LONGEST),
        budget=st.builds(
            Budget,
            tokens=st.none() | st.integers(0, 2**53 - 1),
            cost=st.none() | st.floats(0, 1e300) | st.integers(0, 9),
        ),
        triage=GOOD_RULES.map(tuple),
    )
)
def test_whatever_can_be_survives_json_and_yaml(autofix: Autofix) -> None:
    """Each `autofix` is read back from its JSON and its YAML as the same one, and its rules can be matched."""
    policy = Policy(autofix=autofix)

    for again in (Policy.from_dict(policy.to_dict()), loads_policy(dumps_policy(policy))):
        assert policy.digest == again.digest
        assert policy.to_dict() == again.to_dict()
    assert () == autofix.matches(SIGNAL).errors


class TestDurations:
    @pytest.mark.parametrize(
        ("text", "seconds", "again"),
        [
            ("0s", 0, "0s"),
            ("0d", 0, "0s"),
            ("90s", 90, "90s"),
            ("60s", 60, "1m"),
            ("30m", 1_800, "30m"),
            ("24h", 86_400, "1d"),
            ("36h", 129_600, "36h"),
            ("7d", 604_800, "7d"),
            ("365d", LONGEST, "365d"),
        ],
    )
    def test_are_whole_numbers_with_a_unit(self, text: str, seconds: int, again: str) -> None:
        """A duration is seconds, minutes, hours or days, and is written in the largest of which it is a whole number."""
        assert seconds == parse_duration(text)
        assert again == duration_text(seconds)

    @pytest.mark.parametrize(
        "text",
        ["", "90", "1.5h", "1h30m", "-1s", "+1s", "01s", "1 h", "1H", "h", "\u0661s", "1s\n", "1w", 90, None, True],
    )
    def test_nothing_else_is_one(self, text: object) -> None:
        """A number without a unit, a fraction, and two units are refused rather than guessed."""
        with pytest.raises(PolicyError, match="is no duration"):
            parse_duration(text)

    @pytest.mark.parametrize("text", ["366d", "31536001s", "999999999d"])
    def test_none_is_longer_than_a_year(self, text: str) -> None:
        """A cooldown of ten thousand years is a slip of the pen."""
        with pytest.raises(PolicyError, match="too long"):
            parse_duration(text)

    @given(st.integers(0, LONGEST))
    def test_survive_their_text(self, seconds: int) -> None:
        """Whatever the number of seconds, its text is read back as that number."""
        assert seconds == parse_duration(duration_text(seconds))


class TestModel:
    def test_survives_json_and_yaml(self) -> None:
        """A policy read back from its JSON and from what is dumped is equal and has the same digest."""
        policy = loads_policy(TEXT)

        for again in (Policy.from_dict(policy.to_dict()), loads_policy(dumps_policy(policy))):
            assert policy == again
            assert policy.digest == again.digest

    def test_one_spelling_of_a_duration_is_as_good_as_another(self) -> None:
        """A day is 24 hours, also in the digest."""
        day, hours = (loads_policy(f"schema: 1\nrules: []\nautofix: {{timeout: {text}}}") for text in ("1d", "24h"))

        assert day.digest == hours.digest

    @given(st.permutations([rule("a"), rule("b", when="signal.count > 1"), rule("c", state=None, priority=2)]))
    def test_the_order_of_rules_has_no_meaning(self, rules: list[TriageRule]) -> None:
        """Every order of the same rules of triage is the same policy."""
        first = Policy(autofix=Autofix(triage=tuple(sorted(rules, key=lambda one: one.id))))

        assert first == Policy(autofix=Autofix(triage=tuple(rules)))
        assert first.digest == Policy(autofix=Autofix(triage=tuple(rules))).digest

    def test_every_key_changes_the_digest(self) -> None:
        """No number, ceiling or part of a rule can change behind the same digest."""
        law = loads_policy(TEXT)
        assert law.autofix is not None
        data = law.to_dict()
        autofix = data["autofix"]
        changed = [{**autofix, name: value} for name, value in autofix.items() if name != "triage"]
        variants = [
            law,
            replace(law, fixer=("claude",)),
            replace(law, autofix=None),
            *(
                replace(law, autofix=Autofix.from_dict({k: v for k, v in autofix.items() if k != name}))
                for name in autofix
            ),
            *(
                replace(law, autofix=Autofix.from_dict({**autofix, "budget": {**autofix["budget"], name: 7}}))
                for name in CEILINGS
            ),
            *(
                replace(law, autofix=Autofix.from_dict({**autofix, "triage": [{**autofix["triage"][0], name: value}]}))
                for name, value in (
                    ("id", "x"),
                    ("when", "true"),
                    ("state", "ignored"),
                    ("says", "No."),
                    ("priority", 1),
                )
            ),
        ]

        assert len(changed) == len(autofix) - 1
        assert len(variants) == len({one.digest for one in variants})

    @pytest.mark.parametrize(
        "values",
        [
            {"threshold": 0},
            {"threshold": True},
            {"turns": LARGEST + 1},
            {"patience": 1.0},
            {"cooldown": -1},
            {"cooldown": "24h"},
            {"timeout": 0},
            {"timeout": LONGEST + 1},
            {"budget": None},
            {"budget": Budget(turns=3)},
            {"budget": Budget(reviews=3)},
            {"budget": Budget(tokens=2**60)},
            {"triage": (rule(), rule(when="true"))},
        ],
    )
    def test_what_cannot_be_is_refused(self, values: dict[str, Any]) -> None:
        """An `autofix` that is built in code meets the same conditions as one from a file."""
        with pytest.raises(PolicyError):
            Autofix(**values)

    @pytest.mark.parametrize(
        "values",
        [
            {"ident": "a b"},
            {"state": "fixed"},
            {"state": None},
            {"state": None, "priority": 1, "says": "For nothing."},
            {"threshold": 2},
            {"state": "needs-human", "threshold": 2},
            {"state": "fix", "threshold": 0},
            {"priority": LARGEST + 1},
            {"priority": True},
            {"when": True},
            {"says": 1},
        ],
    )
    def test_a_rule_that_cannot_be_is_refused(self, values: dict[str, Any]) -> None:
        """A rule decides something, and what it says has an effect."""
        with pytest.raises(PolicyError):
            rule(**values)

    @pytest.mark.parametrize(
        "data",
        [
            [],
            {"turn": 3},
            {"cooldown": 90},
            {"budget": {"turns": 1}},
            {"budget": {"pages": 1}},
            {"budget": {"cost": -1}},
            {"budget": 3},
            {"triage": 3},
            {"triage": [3]},
            {"triage": [{"state": "fix"}]},
            {"triage": [{"id": "a", "state": "fix", "effect": "deny"}]},
        ],
    )
    def test_json_that_is_none_is_refused(self, data: Any) -> None:
        """Unknown keys and wrong values of a stored `autofix` are policy errors."""
        with pytest.raises(PolicyError):
            Policy.from_dict({"schema": 1, "autofix": data})

    @pytest.mark.parametrize("fixer", ["fix", [""], [1], {"a": "b"}, 3])
    def test_a_fixer_is_the_words_of_a_command(self, fixer: Any) -> None:
        """No text is taken apart into words, and no command begins with nothing."""
        with pytest.raises(PolicyError, match="the words of a command"):
            Policy(fixer=fixer)


class TestMatching:
    def test_rules_that_match(self) -> None:
        """A rule matches where its condition holds, and one without a condition always does."""
        law = Autofix(triage=(rule("a", when="signal.count > 10"), rule("b", when="signal.count == 10"), rule("c")))

        assert (["b", "c"], ()) == ([one.id for one in law.matches(SIGNAL).rules], law.matches(SIGNAL).errors)

    def test_a_condition_without_a_value_is_told(self) -> None:
        """A rule that fails on a signal neither matches nor is passed over."""
        law = Autofix(triage=(rule("a", when="int(signal.summary) > 3"), rule("b")))

        matches = law.matches(SIGNAL)

        assert ["b"] == [one.id for one in matches.rules]
        assert ["a"] == [name for name, _ in matches.errors]

    @pytest.mark.parametrize("when", ["signal.sumary == ''", "signal.count == '1'", "args.n > 1", "tool == ''", "1"])
    def test_conditions_are_typed(self, when: str) -> None:
        """A condition reads what a signal has and nothing of an action, also where the rule was built in code."""
        with pytest.raises(ConditionError):
            Autofix(triage=(rule(when=when),)).matches(SIGNAL)
        with pytest.raises(ConditionError):
            loads_policy(f'schema: 1\nrules: []\nautofix: {{triage: [{{id: a, state: fix, when: "{when}"}}]}}')

    def test_facts_of_the_policy_are_others(self) -> None:
        """A fact that is called `signal` stays that of the rules, and triage does not read the context."""
        loads_policy(
            "schema: 1\ncontext: {signal: int}\nrules: [{id: a, effect: allow, when: signal > 1}]\n"
            "autofix: {triage: [{id: t, when: signal.count > 1, state: fix}]}"
        )
        with pytest.raises(ConditionError, match="unknown name `n`"):
            loads_policy(
                "schema: 1\ncontext: {n: int}\nrules: []\nautofix: {triage: [{id: t, when: n > 1, state: fix}]}"
            )
