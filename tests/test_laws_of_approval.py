"""The laws of approvals as properties, each with a mutant that it kills; see `test_laws.py` for the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample
from tests.strategies import ACTIONS, FACTS, matching, policies

from indult import Action, Boundary, Critique, Effect, Policy, Verdict, prose
from indult.approvals import Choice, Grant, HumanDecision, Via
from indult.scopes import Scope

SUBJECT = "run:1"


def grant(scope: Scope, number: int = 1, **changes: Any) -> Grant:
    """Return a live grant of a scope, as an approval makes it."""
    decision = HumanDecision(
        id=f"d_{number:04}",
        request=f"r_{number:04}",
        choice=Choice.APPROVE,
        digest="sha256:" + "0" * 64,
        seen=0,
        by="ann",
        via=Via.CLI,
        at="2026-01-01T00:00:00.000000Z",
    )
    values = {"uses_left": scope.max_uses, "at": number, **changes}
    return Grant(id=decision.grant, request=decision.request, scope=scope, decision=decision, **values)


def scope_of(actions: list[Action], rules: list[str], subject: str = SUBJECT) -> Scope:
    """Return the scope of some calls under some rules."""
    shown = {target: text for action in actions for target, text in Scope.call(action, subject=subject).shown.items()}
    return Scope(
        subject=subject, title="these calls", targets=tuple(shown), change="do them", rules=tuple(rules), shown=shown
    )


@dataclass(frozen=True, kw_only=True)
class Case:
    """A law, facts, the calls that somebody wants opened, another call, and the rules that an approval names."""

    policy: Policy
    facts: dict[str, Any]
    wanted: list[Action]
    other: Action
    drop: int

    @property
    def baseline(self) -> Boundary:
        """The boundary without any grant."""
        return Boundary(policy=self.policy, subject=SUBJECT)

    def rules(self) -> list[str]:
        """The ask rules that ask about the wanted calls, the default among them; one may be left out."""
        found = {name for action in self.wanted for name in asking(self.policy, action, self.facts)}
        named = sorted(found)
        return named[: self.drop] + named[self.drop + 1 :] if self.drop < len(named) else named

    def opened(self, **changes: Any) -> Boundary:
        """The boundary with a live grant of the wanted calls."""
        scope = scope_of(self.wanted, self.rules())
        return replace(self.baseline, grants=(grant(scope, **changes),))


CASES = st.builds(
    Case,
    policy=policies(),
    facts=FACTS,
    wanted=st.lists(ACTIONS, min_size=1, max_size=3, unique_by=lambda action: action.digest),
    other=ACTIONS,
    drop=st.integers(0, 6),
)


def asking(policy: Policy, action: Action, facts: dict[str, Any]) -> list[str]:
    """Return the ask rules that decide about an action, none where a deny or an allow does; apart from the engine."""
    if matching(policy, Effect.DENY, action, facts):
        return []
    asks = matching(policy, Effect.ASK, action, facts)
    if asks or matching(policy, Effect.ALLOW, action, facts):
        return asks
    return ["default"] if policy.default is Effect.ASK else []


def law_1(case: Case) -> None:
    """Nothing without a grant: with none that is live and of this subject, brief and verdicts are the baseline's."""
    foreign = grant(scope_of(case.wanted, case.rules(), "run:2"))
    spent = grant(scope_of(case.wanted, case.rules()), uses_left=0)
    for dead in ((), (foreign,), (spent,), (foreign, spent)):
        boundary = replace(case.baseline, grants=dead)
        assert case.baseline.brief("task") == boundary.brief("task")
        for action in (*case.wanted, case.other):
            assert case.baseline.judge(action, case.facts) == boundary.judge(action, case.facts)


def law_2(case: Case) -> None:
    """A grant opens its scope and nothing else: an ask about a named call under named rules, and no other verdict."""
    opened, names = case.opened(), set(case.rules())
    wanted = {action.digest for action in case.wanted}
    for action in (*case.wanted, case.other):
        before, after = case.baseline.judge(action, case.facts), opened.judge(action, case.facts)
        asks = asking(case.policy, action, case.facts)
        if asks and action.digest in wanted and set(asks) <= names:
            assert (Verdict.ASK_USER, Verdict.APPROVE) == (before.verdict, after.verdict)
            assert (("g_0001",), (action.target(),)) == (after.grants, after.covered)
        else:
            assert before == after._replace(boundary=before.boundary)


def law_4(case: Case) -> None:
    """Text and gate agree, in both directions and over the critique."""
    opened = case.opened()
    lines = opened.text().splitlines()
    names = set(case.rules())
    for action in case.wanted:
        if opened.judge(action, case.facts).grants:
            (words,) = Scope.call(action, subject=SUBJECT).words()
            asks = asking(case.policy, action, case.facts)
            for name in asks:
                assert any(line.lstrip("- ").startswith("Except for") and f"`{words}`" in line for line in lines)
                assert plain(case.policy, name) not in lines
            critique = Critique(score=0.1, reason="this call was over-reaching", asked=(action.target(),))
            assert "over-reaching" not in opened.brief("task", critique).text
            assert "over-reaching" in case.baseline.brief("task", critique).text
    for action in (*case.wanted, case.other):
        if opened.judge(action, case.facts).verdict is Verdict.ASK_USER:
            (words,) = Scope.call(action, subject=SUBJECT).words()
            for name in asking(case.policy, action, case.facts):
                # What is not opened is still forbidden: by the sentence as it was, or by one that excepts other calls.
                standing = plain(case.policy, name) in lines
                excepted = [line for line in lines if line.lstrip("- ").startswith("Except for") and name in names]
                assert standing or excepted or action.digest in {one.digest for one in case.wanted}
    for rule in case.policy.rules:
        if rule.effect is not Effect.ASK or rule.id not in names:
            assert prose.says(rule) in opened.text()


def plain(policy: Policy, rule: str) -> str:
    """Return the line of an ask rule as it reads while nothing is opened."""
    return "Anything else needs a person's approval first." if rule == "default" else f"- {policy.rule(rule).says}"


def law_10(case: Case) -> None:
    """Approvable means effective: a scope without a reason against it opens each of its calls, one with a reason not."""
    for action in case.wanted:
        scope, reasons = case.baseline.opens(Scope.call(action, subject=SUBJECT), action, case.facts)
        verdict = replace(case.baseline, grants=(grant(scope),)).judge(action, case.facts).verdict
        effective = verdict is Verdict.APPROVE and case.baseline.judge(action, case.facts).verdict is Verdict.ASK_USER
        assert effective == (not reasons)
        if effective:
            assert asking(case.policy, action, case.facts) == sorted(scope.rules)


LAWS: dict[str, tuple[Callable[[Any], None], st.SearchStrategy[Any]]] = {
    "1": (law_1, CASES),
    "2": (law_2, CASES),
    "4": (law_4, CASES),
    "10": (law_10, CASES),
}


class TestLaws:
    @pytest.mark.parametrize("number", LAWS)
    def test_holds(self, number: str) -> None:
        """The law holds for every policy, scope and call that is drawn."""
        law, examples = LAWS[number]
        settings(max_examples=400, suppress_health_check=list(HealthCheck), deadline=None)(given(examples)(law))()


def any_grant_will_do(patch: pytest.MonkeyPatch) -> None:
    """Break law 1: a grant counts for whoever passes it, used up or not."""

    def keep(self: Boundary) -> None:
        object.__setattr__(self, "grants", tuple(sorted(self.grants, key=lambda one: one.id)))

    patch.setattr(Boundary, "__post_init__", keep)


def a_rule_opened_is_open_for_all(patch: pytest.MonkeyPatch) -> None:
    """Break law 2: a grant opens its rules for every call."""
    patch.setattr(Scope, "covers", lambda self, target, rule: rule in self.rules)


def a_but_is_appended(patch: pytest.MonkeyPatch) -> None:
    """Break law 4: the sentence stays as it was, and the exception follows it."""
    says = prose.says

    def appended(rule: Any, grants: Any = ()) -> str:
        changed = says(rule, grants)
        return changed if changed == says(rule) else f"{says(rule)}\n- {changed}"

    patch.setattr(prose, "says", appended)


def everything_is_effective(patch: pytest.MonkeyPatch) -> None:
    """Break law 10: nobody looks whether an approval would open anything."""
    opens = Boundary.opens
    patch.setattr(Boundary, "opens", lambda self, *given: (opens(self, *given)[0], []))


MUTANTS: dict[str, list[Callable[[pytest.MonkeyPatch], None]]] = {
    "1": [any_grant_will_do],
    "2": [a_rule_opened_is_open_for_all],
    "4": [a_but_is_appended, lambda patch: patch.setattr(Critique, "void", lambda self, opened: False)],
    "10": [everything_is_effective],
}


class TestMutants:
    def test_every_law_has_a_mutant(self) -> None:
        """No law is tested by a property that nothing was shown to fail."""
        assert LAWS.keys() == MUTANTS.keys()

    @pytest.mark.parametrize(
        ("number", "place"), [(name, place) for name, all_ in MUTANTS.items() for place in range(len(all_))]
    )
    def test_is_killed_by_its_law(self, number: str, place: int, monkeypatch: pytest.MonkeyPatch) -> None:
        """With the code broken, the law's own property finds an example against it."""
        MUTANTS[number][place](monkeypatch)
        law, examples = LAWS[number]

        def fails(example: Any) -> bool:
            try:
                law(example)
            except AssertionError:
                return True
            return False

        quick = settings(
            max_examples=3000, phases=[Phase.generate], suppress_health_check=list(HealthCheck), deadline=None
        )
        try:
            find(examples, fails, settings=quick)
        except NoSuchExample:
            pytest.fail(f"law {number} did not notice its mutant")
