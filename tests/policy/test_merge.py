from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest
import re2  # type: ignore[import-untyped, unused-ignore]
from hypothesis import assume, event, given
from hypothesis import strategies as st
from tests.strategies import ACTIONS, CONTEXT, FACTS, rules

from indult import Action, Boundary, Effect, Judgement, Policy, Rule, Verdict, loads_policy
from indult.errors import PolicyError
from indult.policy import Mode
from indult.policy.autofix import Autofix
from indult.policy.merge import glob_regex, merge
from indult.policy.patterns import glob

ANN = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAINdamAGCsQq31Uv+08lkBzoO4XLz2qYjJa8CGmj3B1Ea"
BOB = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAID1AF8PoQ4laknK3Cqc00bfrybyYLM8uxJaMwM1V8Sr0"
NAMES = ("changed", "system", "user")

LEVELS = {Verdict.APPROVE: 0, Verdict.ASK_USER: 1, Verdict.DOWNGRADE: 2, Verdict.DENY: 2}
"""How strict a verdict is of the action as it was proposed."""


def level(judgement: Judgement) -> int:
    """Return how strict a judgement is; one that is only observed holds nothing up."""
    return LEVELS[judgement.verdict] if judgement.enforced else 0


def policy(*lines: str, **keys: str) -> Policy:
    """Return the policy of these rules, each as flow YAML."""
    head = "".join(f"{name}: {value}\n" for name, value in keys.items())
    return loads_policy(f"schema: 1\n{head}rules: [{', '.join(f'{{{line}}}' for line in lines)}]\n")


@st.composite
def varied(draw: st.DrawFn) -> Policy:
    """Draw a policy with patterns, targets and rules that only observe."""
    drawn = [
        replace(
            draw(rules()),
            id=f"r{place}",
            tool=draw(st.sampled_from(["*", "a", "b", "a*", "*b", "*a*", "b*b"])),
            target=draw(st.sampled_from([None, None, None, "call:**", ("call:sha256:0*", "call:**1"), "file:**"])),
            mode=draw(st.sampled_from([Mode.ENFORCE, Mode.ENFORCE, Mode.ENFORCE, Mode.OBSERVE])),
        )
        for place in range(draw(st.integers(0, 5)))
    ]
    return Policy(
        rules=tuple(drawn),
        default=draw(st.sampled_from([Effect.DENY, Effect.ASK])),
        context=CONTEXT,
        mode=draw(st.sampled_from([Mode.ENFORCE, Mode.ENFORCE, Mode.ENFORCE, Mode.OBSERVE])),
    )


OTHERS = st.dictionaries(st.sampled_from(NAMES), varied(), max_size=3)


@given(base=varied(), others=OTHERS, action=ACTIONS, facts=FACTS)
def test_never_more_permissive_than_any_part(
    base: Policy, others: dict[str, Policy], action: Action, facts: dict[str, Any]
) -> None:
    """The merged policy is at least as strict as each of its parts, and as strict as the strictest where none errs."""
    alone = [Boundary(policy=part).judge(action, facts) for part in (base, *others.values())]
    together = Boundary(policy=merge(base, others)).judge(action, facts)

    assert level(together) >= max(map(level, alone))
    if not any(judgement.errors for judgement in alone) and together.enforced:
        assert level(together) == max(map(level, alone))


def capped(part: Policy) -> Policy:
    """Return a policy with a cap that has a way down, and with an allow for everything."""
    cap = Rule(id="cap", effect=Effect.DENY, when="args.n > 3", says="Low.", downgrade=({"n": 3}, {"n": 1}))
    return replace(part, rules=(*part.rules, cap, Rule(id="all", effect=Effect.ALLOW)))


@given(base=varied().map(capped), others=st.dictionaries(st.sampled_from(NAMES), varied().map(capped)), facts=FACTS)
def test_what_runs_instead_suits_every_part(base: Policy, others: dict[str, Policy], facts: dict[str, Any]) -> None:
    """Where the merged policy offers a gentler action, each of its parts would let that action run."""
    together = Boundary(policy=merge(base, others)).judge(Action(tool="b", args={"n": 5}), facts)
    event(f"instead: {together.instead is not None}")
    if together.instead is not None:
        alone = [Boundary(policy=part).judge(together.instead, facts) for part in (base, *others.values())]

        assert {0} == {level(judgement) for judgement in alone}


@given(base=varied(), others=OTHERS, action=ACTIONS, data=st.data())
def test_facts_that_are_missing_open_nothing(
    base: Policy, others: dict[str, Policy], action: Action, data: st.DataObject
) -> None:
    """With facts missing or of another type, too, the merged policy is at least as strict as each part."""
    facts: dict[str, Any] = data.draw(
        st.sampled_from([{}, {"world": {}}, {"world": {"cap": "x", "open": True}}, {"world": 3}])
    )
    alone = [Boundary(policy=part).judge(action, facts) for part in (base, *others.values())]

    assert level(Boundary(policy=merge(base, others)).judge(action, facts)) >= max(map(level, alone))


@given(base=varied(), others=OTHERS)
def test_free_of_order(base: Policy, others: dict[str, Policy]) -> None:
    """In whatever order the others are given, the merged policy is the same one."""
    merged = {merge(base, dict(order)).digest for order in itertools.permutations(others.items())}

    assert 1 == len(merged)


@given(base=varied(), others=OTHERS)
def test_a_merged_policy_is_a_policy(base: Policy, others: dict[str, Policy]) -> None:
    """What was merged survives JSON, as every policy does."""
    merged = merge(base, others)

    assert merged == Policy.from_dict(merged.to_dict())


@given(part=varied(), action=ACTIONS, facts=FACTS)
def test_with_itself(part: Policy, action: Action, facts: dict[str, Any]) -> None:
    """A file that changed back is held against itself, which changes no verdict and adds no rule."""
    assert part.rules == merge(part, {"changed": part}).rules
    assert level(Boundary(policy=part).judge(action, facts)) == level(
        Boundary(policy=merge(part, {"changed": part})).judge(action, facts)
    )


def test_without_others() -> None:
    """Alone, a policy stays the very same one."""
    alone = policy("id: a, effect: allow")

    assert alone is merge(alone, {})


class TestRests:
    """What a policy does not let through."""

    def test_allow_of_another_opens_nothing(self) -> None:
        """An allow of a user, or of a changed file, does not open what the project's policy denies by default."""
        base = policy("id: read, tool: read, effect: allow")
        merged = merge(base, {"user": policy("id: all, effect: allow")})

        assert Verdict.DENY is Boundary(policy=merged).judge(Action(tool="write", args={}), {}).verdict
        assert base.rules == merged.rules

    def test_default_of_another_denies(self) -> None:
        """What a user's policy does not let through is denied, and the text says what it does let through."""
        base = policy("id: all, effect: allow")
        user = policy(
            "id: read, tool: read, effect: allow",
            "id: pay, tool: 'pay_*', effect: allow, when: 'args.n < 3', says: Small payments.",
            "id: mail, tool: mail, effect: ask, says: Mail is asked about.",
        )
        (rule,) = [rule for rule in merge(base, {"user": user}).rules if rule.id == "user/default"]

        assert Effect.DENY is rule.effect
        assert "The user policy lets nothing through but: Small payments; `read`; what it asks about." == rule.says

    def test_nothing_through(self) -> None:
        """A policy without an allow denies everything, in so many words."""
        merged = merge(policy("id: all, effect: allow"), {"system": policy("id: no, effect: deny, says: No.")})

        assert "The system policy lets nothing through." == merged.rule("system/default").says

    def test_default_that_asks(self) -> None:
        """A default that asks becomes a rule that asks, so that a person can open what it matches."""
        base = policy("id: all, effect: allow")
        merged = merge(base, {"user": policy("id: read, tool: read, effect: allow", default="ask")})
        judgement = Boundary(policy=merged).judge(Action(tool="write", args={}), {})

        assert (Verdict.ASK_USER, ("user/default",)) == (judgement.verdict, judgement.rules)
        assert "The user policy asks about everything but: `read`." == merged.rule("user/default").says

    def test_ask_of_another_opens_nothing(self) -> None:
        """An ask of a user's policy does not turn what the project denies by default into a question."""
        base = policy("id: read, tool: read, effect: allow")
        user = policy("id: write, tool: write, effect: ask, says: Ask.", "id: all, effect: allow")
        judgement = Boundary(policy=merge(base, {"user": user})).judge(Action(tool="write", args={}), {})

        assert (Verdict.DENY, ("project/default",)) == (judgement.verdict, judgement.rules)

    def test_comment_at_the_end(self) -> None:
        """A condition that ends in a comment stays a condition of its own."""
        base = policy("id: all, effect: allow")
        user = loads_policy("schema: 1\nrules:\n  - id: a\n    effect: allow\n    when: |\n      args.n < 3 // few\n")
        boundary = Boundary(policy=merge(base, {"user": user}))

        assert [Verdict.APPROVE, Verdict.DENY] == [
            boundary.judge(Action(tool="a", args={"n": n}), {}).verdict for n in (2, 3)
        ]

    @pytest.mark.parametrize(
        ("pattern", "tool", "matches"),
        [
            ("a*a", "aa", True),
            ("a*a", "a", False),
            ("ab*ba", "aba", False),
            ("a*b*c", "a-b-c", True),
            ("a*b*c", "a\u2028bc", True),
            ("a*b*c", "acb", False),
            ("*.x", "..x", True),
            ("*.x", "-y", False),
            ("a.*b*", "a.b", True),
            ("a.*b*", "aab", False),
            ("**", "", True),
        ],
    )
    def test_tools_as_conditions(self, pattern: str, tool: str, matches: bool) -> None:
        """The condition that stands for the pattern of a tool holds where the pattern matches."""
        merged = merge(policy("id: all, effect: allow"), {"user": policy(f"id: a, effect: allow, tool: '{pattern}'")})
        judgement = Boundary(policy=merged).judge(Action(tool=tool or "any", args={}), {})

        assert (Verdict.APPROVE if matches else Verdict.DENY) is judgement.verdict

    def test_many_rules(self) -> None:
        """A policy of a hundred allows is merged and still tells them apart."""
        base = policy("id: all, effect: allow")
        user = policy(*(f"id: r{n}, tool: t{n}, effect: allow, when: 'args.n > {n}'" for n in range(100)))
        boundary = Boundary(policy=merge(base, {"user": user}))

        assert Verdict.APPROVE is boundary.judge(Action(tool="t99", args={"n": 100}), {}).verdict
        assert Verdict.DENY is boundary.judge(Action(tool="t99", args={"n": 99}), {}).verdict

    def test_too_many_rules(self) -> None:
        """A policy that is too long for one condition is refused as such; nothing holds by halves."""
        condition = " && ".join(["args.n > 1"] * 60)
        user = policy(*(f"id: r{n}, effect: allow, when: '{condition}'" for n in range(60)))
        with pytest.raises(
            PolicyError, match=r"the policies \(project, user\) do not go together: expression is too long"
        ):
            merge(policy("id: all, effect: allow"), {"user": user})


class TestChanged:
    """A file beside the version of it that is trusted."""

    TRUSTED = policy(
        "id: read, tool: read, effect: allow",
        "id: send, tool: send, effect: ask, says: Ask.",
        "id: rm, tool: rm, effect: deny, says: No.",
    )

    def verdicts(self, changed: Policy, *tools: str) -> list[Verdict]:
        """Return what is judged of calls of some tools."""
        boundary = Boundary(policy=merge(self.TRUSTED, {"changed": changed}))
        return [boundary.judge(Action(tool=tool, args={}), {}).verdict for tool in tools]

    def test_denies_of_both(self) -> None:
        """A deny that was added holds at once, and one that was removed holds still."""
        changed = policy("id: all, effect: allow", "id: read, tool: read, effect: deny, says: No.")

        assert [Verdict.DENY, Verdict.DENY] == self.verdicts(changed, "read", "rm")

    def test_asks_of_both(self) -> None:
        """An ask that was added holds at once, and one that became an allow is still asked about."""
        changed = policy("id: all, effect: allow", "id: read, tool: read, effect: ask, says: Ask.")

        assert [Verdict.ASK_USER, Verdict.ASK_USER] == self.verdicts(changed, "read", "send")

    def test_allows_of_the_trusted_one(self) -> None:
        """An allow that was added opens nothing, and one that was taken out is gone."""
        assert [Verdict.DENY] == self.verdicts(policy("id: all, effect: allow"), "write")
        assert [Verdict.DENY] == self.verdicts(policy("id: send, tool: send, effect: allow"), "read")

    def test_default_that_denies(self) -> None:
        """A default that became stricter holds at once, and one that became laxer does not."""
        lax = replace(self.TRUSTED, default=Effect.ASK)
        write = Action(tool="write", args={})

        for trusted, changed in ((lax, self.TRUSTED), (self.TRUSTED, lax)):
            merged = merge(trusted, {"changed": changed})
            assert Verdict.DENY is Boundary(policy=merged).judge(write, {}).verdict

    def test_modes(self) -> None:
        """A file that says `observe` now does not end what is enforced."""
        changed = replace(self.TRUSTED, mode=Mode.OBSERVE)
        merged = merge(self.TRUSTED, {"changed": changed})

        assert Mode.ENFORCE is merged.mode
        assert level(Boundary(policy=merged).judge(Action(tool="rm", args={}), {})) == 2

    def test_same_rules_once(self) -> None:
        """Rules that stand in both versions stand once; what is new has the name of the changed file before it."""
        changed = Policy(rules=(*self.TRUSTED.rules, Rule(id="new", effect=Effect.DENY, says="No.")))
        merged = merge(self.TRUSTED, {"changed": changed})

        assert ["changed/new", "read", "rm", "send"] == [rule.id for rule in merged.rules]

    def test_commands_of_the_trusted_one(self) -> None:
        """Checks, fixer and autofix are those of the trusted version."""
        trusted = replace(self.TRUSTED, checks=["make test"], fixer=("fix",), autofix=Autofix(turns=2))
        changed = replace(trusted, checks=["curl evil"], fixer=("evil",), autofix=Autofix(turns=9))
        merged = merge(trusted, {"changed": changed})

        assert (trusted.checks, trusted.fixer, trusted.autofix) == (merged.checks, merged.fixer, merged.autofix)
        alone = merge(self.TRUSTED, {"user": changed})
        assert (None, (), None) == (alone.checks, alone.fixer, alone.autofix)


class TestApprovers:
    """Whose decisions count under several policies."""

    def test_of_the_trusted_one(self) -> None:
        """Approvers that a changed file adds, takes out or replaces do not matter."""
        trusted = policy("id: a, effect: allow", approvers=f"{{ann: {ANN}}}")
        for line in ("{}", f"{{ann: {BOB}}}", f"{{ann: {ANN}, bob: {BOB}}}"):
            changed = replace(trusted, approvers={}) if line == "{}" else policy(approvers=line)

            assert {"ann": ANN} == merge(trusted, {"changed": changed}).approvers

    def test_of_a_changed_file_where_none_were(self) -> None:
        """A file that declares approvers for the first time waits for trust; what takes signatures stays shut till then."""
        trusted = policy("id: send, effect: ask, says: Ask.")
        changed = policy("id: send, effect: ask, says: Ask., approval: signed", approvers=f"{{eve: {BOB}}}")
        merged = merge(trusted, {"changed": changed})

        assert {} == merged.approvers
        assert Effect.DENY is merged.rule("changed/send").effect

    def test_in_common(self) -> None:
        """Where several policies declare approvers, those count that stand in all of them under one name and key."""
        project = policy("id: a, effect: allow", approvers=f"{{ann: {ANN} ann@example.org, bob: {BOB}}}")
        user = policy("id: a, effect: allow", approvers=f"{{ann: {ANN} other comment}}")

        assert {"ann": f"{ANN} ann@example.org"} == merge(project, {"user": user}).approvers
        assert {"ann": f"{ANN} other comment"} == merge(replace(project, approvers={}), {"user": user}).approvers

    @pytest.mark.parametrize("line", [f"{{bob: {BOB}}}", f"{{ann: {BOB}}}", f"{{bob: {ANN}}}"])
    def test_none_in_common(self, line: str) -> None:
        """Where nobody counts for all policies, the merge is refused: no approvers would mean unsigned decisions."""
        project = policy("id: a, effect: allow", approvers=f"{{ann: {ANN}}}")
        with pytest.raises(PolicyError, match="no approver is declared by each of the policies: project, user"):
            merge(project, {"user": policy("id: a, effect: allow", approvers=line)})

    def test_too_few(self) -> None:
        """A rule that takes more approvals than there are approvers left denies: nobody could open it."""
        project = policy(
            "id: a, effect: ask, says: Ask., approvals: 2, says_opened: But this.",
            approvers=f"{{ann: {ANN}, bob: {BOB}}}",
        )
        user = policy("id: a, effect: allow", approvers=f"{{ann: {ANN}}}")

        assert Effect.DENY is merge(project, {"user": user}).rule("a").effect


class TestContext:
    """The facts of several policies."""

    def test_together(self) -> None:
        """Facts of all policies are facts of the merged one, and groups have the fields of all."""
        one = policy("id: a, effect: allow, when: world.n > 1", context="{world: {n: int}, day: string}")
        two = policy("id: a, effect: allow, when: world.m > 1", context="{world: {m: int}, hour: int}")

        assert {"world": {"n": "int", "m": "int"}, "day": "string", "hour": "int"} == merge(one, {"user": two}).context

    @pytest.mark.parametrize("other", ["{day: int}", "{day: {n: int}}", "{world: {n: string}}", "{world: int}"])
    def test_two_ways(self, other: str) -> None:
        """A fact that two policies declare in different ways is an error."""
        one = policy("id: a, effect: allow", context="{world: {n: int}, day: string}")
        with pytest.raises(PolicyError, match="in another way"):
            merge(one, {"user": policy("id: a, effect: allow", context=other)})

    def test_group_as_a_whole(self) -> None:
        """A group that a condition looks at as a whole cannot get more fields: the condition would mean something else."""
        one = policy("id: a, effect: deny, says: No., when: size(world) == 1", context="{world: {n: int}}")
        with pytest.raises(PolicyError, match="in another way") as caught:
            merge(one, {"changed": policy("id: a, effect: allow", context="{world: {n: int, m: int}}")})

        assert "after a change to the policy file: indult trust FILE" == caught.value.hint


GLOBS = st.lists(
    st.sampled_from(["*", "**", "**/", "/", "a", "b", ".", "a/", "\u00e9", "("]), min_size=1, max_size=6
).map("".join)
PATHS = st.text(st.sampled_from("ab/.\u00e9(\n"), max_size=8)


@given(text=GLOBS, name=PATHS)
def test_globs_as_expressions(text: str, name: str) -> None:
    """The expression of a glob matches the names that the glob does."""
    assume("***" not in text)

    assert glob(text)(name) == bool(re2.fullmatch(f"(?s){glob_regex(text)}", name))


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("file:src/**", "write:src/a/b"),
        ("file:src/**", "read:src"),
        ("file:**/x", "call:x"),
        ("read:*", "write:a"),
        ("whole:**/x", "gitlink:a/x"),
        ("whole:**/x", "edit:a/x"),
        ("edit:**/x", "edit:a/x"),
        (("change:**", "whole:**/x"), "delete:x"),
        (("change:**", "whole:**/x"), "delete:x/y"),
        (("command:git", "write:x"), "write:x"),
        (("file:a", "file:b"), "write:ab"),
        ("entry:**#left-pad@*", "entry:web/package.json#left-pad@1.0"),
        ("command:**", 'command:["git"]'),
        ("call:**", "call:sha256:00"),
    ],
)
def test_targets_as_conditions(target: str | tuple[str, ...], name: str) -> None:
    """The condition that stands for a target, or for several, holds where one of them matches."""
    user = Policy(rules=(Rule(id="a", effect=Effect.ALLOW, target=target),))
    wanted = user.meets(user.rule("a"), name)
    merged = merge(Policy(rules=(Rule(id="all", effect=Effect.ALLOW),)), {"user": user})
    decide = merged.bucket("t", name).decide

    assert (1 if wanted else 0) == min(1, decide("t", {}, "agent", lambda: name, {})[0])


def test_commands_are_not_conditions() -> None:
    """What no condition can say is left out of what a policy lets through, which is the stricter reading."""
    user = Policy(rules=(Rule(id="a", effect=Effect.ALLOW, target="command:git log"),))
    merged = merge(Policy(rules=(Rule(id="all", effect=Effect.ALLOW),)), {"user": user})

    assert merged.rule("user/default").when is None
