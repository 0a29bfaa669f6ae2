from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from indult.actions import Action
from indult.approvals import Choice, Grant, HumanDecision, Via
from indult.boundary import Boundary
from indult.decompose import Part
from indult.judgements import Judgement, Verdict
from indult.policy import Effect, Policy, Rule
from indult.scopes import Scope

ACTION = Action(tool="Bash", args={"command": "x"})
ORDER = [Verdict.APPROVE, Verdict.ASK_USER, Verdict.DENY]


def rule(effect: Effect, *targets: str, tool: str = "*") -> Rule:
    """Return a rule named after its effect."""
    says = None if effect is Effect.ALLOW else f"Mind {effect}."
    return Rule(id=f"the_{effect}", effect=effect, target=targets or None, tool=tool, says=says)


ALLOW = rule(Effect.ALLOW, "command:**", "write:**")


def part(target: str, **more: object) -> Part:
    """Return a part with this name."""
    return Part("Bash", lambda: target, **more)  # type: ignore[arg-type]


def judge(policy: Policy, *parts: Part, grants: tuple[Grant, ...] = ()) -> Judgement:
    """Judge an action that consists of these parts."""
    return Boundary(policy=policy, subject="s", grants=grants, decompose=lambda _: parts).judge(ACTION, {})


def grant(*targets: str, rules: tuple[str, ...]) -> Grant:
    """Return a grant of these targets under these rules."""
    scope = Scope(subject="s", title="t", targets=targets, change="c", rules=rules)
    decision = HumanDecision(
        id="d_1", request="r_1", choice=Choice.APPROVE, digest="", seen=0, by="ann", via=Via.CLI, at=""
    )
    return Grant(id="g_1", request="r_1", scope=scope, decision=decision, uses_left=1)


def test_a_rule_that_denies_another_name_denies_the_part() -> None:
    """Deny and ask rules meet the other names of a part, and the strictest of them counts."""
    one = part('command:["cat",".env"]', also=("read:.env", "read:a"))

    assert Verdict.APPROVE is judge(Policy(rules=(ALLOW,)), one).verdict
    assert Verdict.DENY is judge(Policy(rules=(ALLOW, rule(Effect.DENY, "file:**/.env"))), one).verdict
    assert ("the_ask",) == judge(Policy(rules=(ALLOW, rule(Effect.ASK, "read:a"))), one).rules


def test_a_rule_that_allows_another_name_allows_nothing() -> None:
    """An allow of another name, and the default that such a name meets, say nothing of the part."""
    policy = Policy(rules=(rule(Effect.ALLOW, "write:a"),), default=Effect.ASK)

    assert Verdict.ASK_USER is judge(policy, part('command:["x"]', also=("write:a",))).verdict
    assert Verdict.APPROVE is judge(policy, part("write:a", also=('command:["x"]',))).verdict


def test_a_grant_covers_a_part_by_its_target_alone() -> None:
    """What is approved is the target; an approval of another name opens nothing."""
    policy = Policy(rules=(ALLOW, rule(Effect.ASK, "read:a")))
    one = part("write:b", also=("read:a",))

    assert Verdict.ASK_USER is judge(policy, one, grants=(grant("read:a", rules=("the_ask",)),)).verdict
    assert Verdict.APPROVE is judge(policy, one, grants=(grant("write:b", rules=("the_ask",)),)).verdict


def test_what_may_be_denied_is_asked_and_nothing_opens_it() -> None:
    """A part that could turn out to be what a rule denies or asks about is an ask, whatever was approved."""
    one = part("write:b", maybe=("read:secrets/*",))
    denied = Policy(rules=(ALLOW, rule(Effect.DENY, "read:secrets/**")))
    asked = Policy(rules=(ALLOW, rule(Effect.ASK, "read:secrets/a.txt")))
    given = (grant("write:b", rules=("the_ask", "the_deny", "default")),)

    assert Verdict.ASK_USER is judge(denied, one, grants=given).verdict
    assert Verdict.ASK_USER is judge(asked, one, grants=given).verdict
    assert ("the_deny",) == judge(denied, one).rules
    assert Verdict.APPROVE is judge(Policy(rules=(ALLOW, rule(Effect.DENY, "read:other/**"))), one).verdict
    assert Verdict.APPROVE is judge(Policy(rules=(ALLOW, rule(Effect.DENY, "write:secrets/**"))), one).verdict


def test_a_search_that_comes_upon_what_is_denied_asks_and_nothing_opens_it() -> None:
    """Files that lie where a part looks are held against the rules that deny alone, and too many of them are none known."""
    denied = Policy(rules=(ALLOW, rule(Effect.DENY, "read:**/.env")))
    asked = Policy(rules=(ALLOW, rule(Effect.ASK, "read:**/.env")))
    one = part("write:b", finds=lambda: ("read:a.py", "read:b/.env"))
    given = (grant("write:b", rules=("the_deny", "default")),)

    found = judge(denied, one, grants=given)

    assert (Verdict.ASK_USER, ("the_deny",)) == (found.verdict, found.rules)
    assert "(it would read `b/.env`: leave such files out" in found.reason
    assert Verdict.APPROVE is judge(asked, one).verdict
    assert Verdict.APPROVE is judge(denied, part("write:b", finds=lambda: ("read:a.py",))).verdict
    assert Verdict.ASK_USER is judge(denied, part("write:b", finds=lambda: None), grants=given).verdict


def test_no_disk_is_looked_at_where_the_answer_is_known() -> None:
    """What is asked about or denied anyway is so whatever lies there."""
    looked: list[str] = []
    one = part("write:b", asks="it sets PATH", finds=lambda: looked.append("x"))

    assert Verdict.ASK_USER is judge(Policy(rules=(ALLOW,)), one).verdict
    assert [] == looked


def test_a_part_that_asks_needs_approval_whatever_allows_it() -> None:
    """A reason to ask turns an approval into an ask with that reason, which an approval of the exact part opens."""
    policy = Policy(rules=(rule(Effect.ALLOW),))
    one = part("write:b", asks="it sets PATH")

    assert Verdict.ASK_USER is judge(policy, one).verdict
    assert "(it sets PATH)" in judge(policy, one).reason
    assert "(it sets PATH)" in judge(policy, one, part("write:c", asks="it sets PATH")).reason
    assert Verdict.APPROVE is judge(policy, one, grants=(grant("write:b", rules=("default",)),)).verdict
    assert Verdict.DENY is judge(Policy(rules=(rule(Effect.DENY),)), one).verdict


def test_a_free_part_needs_no_rule_but_may_be_denied() -> None:
    """Nothing has to allow a free part, and deny and ask rules hold for it."""
    free = part('command:["sudo"]', free=True)
    run = part('command:["ls"]')
    allow = rule(Effect.ALLOW, "command:ls")

    assert Verdict.APPROVE is judge(Policy(rules=(allow,)), free, run).verdict
    assert Verdict.DENY is judge(Policy(rules=(allow, rule(Effect.DENY, "command:sudo"))), free, run).verdict
    assert Verdict.ASK_USER is judge(Policy(rules=(allow, rule(Effect.ASK, "command:sudo"))), free, run).verdict


NAMES = st.sampled_from(["read:a", "write:a", "write:/x/a", 'command:["a"]', 'command:["a",null]', "exec:b/c"])
GLOBS = st.sampled_from(["read:*", "write:**", "write:/x/*", "exec:b/?"])
RULES = st.lists(
    st.builds(
        rule,
        st.sampled_from(list(Effect)),
        st.sampled_from(["file:**", "read:a", "write:/x/**", "command:a", "command:a b", "exec:b/*", "command:**"]),
    ),
    max_size=3,
    unique_by=lambda one: one.id,
)


@given(
    RULES,
    st.sampled_from([Effect.ASK, Effect.DENY]),
    NAMES,
    st.lists(NAMES, max_size=3),
    st.lists(GLOBS, max_size=2),
    st.sampled_from(["", "why"]),
)
def test_what_is_added_to_a_part_only_makes_it_stricter(
    rules: list[Rule], default: Effect, name: str, also: list[str], maybe: list[str], asks: str
) -> None:
    """Other names, possible names and reasons to ask never turn a verdict into a milder one."""
    policy = Policy(rules=tuple(rules), default=default)
    plain = part(name)
    before = judge(policy, plain).verdict

    for richer in (
        plain._replace(also=tuple(also)),
        plain._replace(maybe=tuple(maybe)),
        plain._replace(asks=asks),
        plain._replace(also=tuple(also), maybe=tuple(maybe), asks=asks),
    ):
        assert ORDER.index(judge(policy, richer).verdict) >= ORDER.index(before)
