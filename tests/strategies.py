"""Random policies, actions and facts, with what each condition comes to written down apart from the engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from indult import Action, Effect, Policy, Rule

# What each condition comes to, written down apart from the engine: true, false, or an error.
CONDITIONS: dict[str | None, Callable[[dict[str, Any], dict[str, Any]], bool]] = {
    None: lambda args, facts: True,
    "args.n > 3": lambda args, facts: number(args["n"]) > 3,
    "args.n <= world.cap": lambda args, facts: number(args["n"]) <= facts["world"]["cap"],
    "args.n > world.cap": lambda args, facts: number(args["n"]) > facts["world"]["cap"],
    'args.who == "eve"': lambda args, facts: bool(args["who"] == "eve"),
    "args.who in world.blocked": lambda args, facts: args["who"] in facts["world"]["blocked"],
    'has(args.who) && args.who.startsWith("e")': lambda args, facts: (
        "who" in args and text(args["who"]).startswith("e")
    ),
    "10 / args.n > 2": lambda args, facts: quotient(10, number(args["n"])) > 2,
    "world.open": lambda args, facts: bool(facts["world"]["open"]),
    'actor == "agent"': lambda args, facts: True,
}
CONTEXT = {"world": {"cap": "int", "open": "bool", "blocked": "list(string)"}}


def number(value: Any) -> int:
    """Return a value that compares with numbers."""
    if type(value) is not int:
        raise TypeError(value)
    return value


def text(value: Any) -> str:
    """Return a value that has text methods."""
    if type(value) is not str:
        raise TypeError(value)
    return value


def quotient(one: int, other: int) -> int:
    """Divide as CEL does, towards zero."""
    return int(one / other)


def said(rule: Rule, action: Action, facts: dict[str, Any]) -> str:
    """Return `match`, `no match` or `error`, by the table above."""
    if rule.tool not in {"*", action.tool}:
        return "no match"
    try:
        return "match" if CONDITIONS[rule.when](action.args, facts) else "no match"
    except (KeyError, TypeError, ZeroDivisionError):
        return "error"


def matching(policy: Policy, effect: Effect, action: Action, facts: dict[str, Any]) -> list[str]:
    """Return the ids of the rules of one effect that count as matched."""
    counts = {"match"} if effect is Effect.ALLOW else {"match", "error"}
    return sorted(rule.id for rule in policy.rules if rule.effect is effect and said(rule, action, facts) in counts)


EFFECTS = st.sampled_from(Effect)


@st.composite
def rules(draw: st.DrawFn, effects: st.SearchStrategy[Effect] = EFFECTS) -> Rule:
    """Draw one rule; its id is replaced by its place in the policy."""
    effect = draw(effects)
    rung = st.fixed_dictionaries({"n": st.integers(-1, 6)})
    return Rule(
        id="x",
        effect=effect,
        tool=draw(st.sampled_from(["*", "a", "b"])),
        when=draw(st.sampled_from(sorted(CONDITIONS, key=str))),
        says="Keep to this.",
        downgrade=tuple(draw(st.lists(rung, max_size=3))) if effect is Effect.DENY else (),
    )


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    """Draw a policy of up to six rules."""
    drawn = draw(st.lists(rules(), max_size=6))
    named = tuple(replace(rule, id=f"r{place}", says=f"Keep to rule {place}.") for place, rule in enumerate(drawn))
    return Policy(rules=named, default=draw(st.sampled_from([Effect.DENY, Effect.ASK])), context=CONTEXT)


ACTIONS = st.builds(
    Action,
    tool=st.sampled_from(["a", "b", "c"]),
    args=st.fixed_dictionaries(
        {},
        optional={
            "n": st.one_of(st.integers(-2, 9), st.sampled_from(["3", None, True])),
            "who": st.one_of(st.sampled_from(["eve", "ann", "emil"]), st.just(3)),
            "verdict": st.just("APPROVE"),
        },
    ),
)
FACTS = st.builds(
    lambda cap, is_open, blocked: {"world": {"cap": cap, "open": is_open, "blocked": blocked}},
    st.integers(0, 8),
    st.booleans(),
    st.lists(st.sampled_from(["eve", "ann"]), max_size=2),
)
