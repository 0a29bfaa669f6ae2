"""How long a decision takes, beside hand-written ifs and other engines that decide the same.

Workload A has 3 rules and an allow, B has 100 rules over 40 tools; both are 1,000 actions from
`tests/data/policy/gate_workloads.json`, and everything that is measured gives the right verdict for all of them. The
other engines are measured where they are installed: cel-expr-python always, cedarpy and google-antigravity on A. Cedar
has no third answer, so there the rule that asks is left out.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from measure import Report, in_turns

from indult import Action, Boundary
from indult.testing.runners.gate import policy_of

WORKLOADS = Path(__file__).parents[1] / "tests" / "data" / "policy" / "gate_workloads.json"
ROUNDS = 31

Decide = Callable[[str, dict[str, Any], dict[str, Any]], str]
WORDS = {"deny": "DENY", "ask": "ASK_USER", "allow": "APPROVE"}


def main() -> int:
    """Measure both workloads, print the ratios, and return 1 when a bar is missed."""
    report = Report("gate")
    for name, workload in json.loads(WORKLOADS.read_text(encoding="utf-8")).items():
        measure(name, workload, report)
    return report.close()


def measure(name: str, workload: dict[str, Any], report: Report) -> None:
    """Measure one workload."""
    most = {"A": (5, 15), "B": (1.2, 2)}[name]
    calls = [(one["tool"], one["args"], one["world"]) for one in workload["actions"]]
    ready = [(Action(tool=tool, args=args), {"world": world}) for tool, args, world in calls]
    # One context for all calls, as an edge supplies it: 1,000 contexts of their own would measure the cache of the CPU.
    unread = {f"unread_{number}": number for number in range(200)}
    padded = [(action, {**facts, "unread": unread}) for action, facts in ready]
    workload["context"]["unread"] = dict.fromkeys(unread, "int")
    boundary = Boundary(policy=policy_of(workload))
    policy = boundary.policy

    def decide(given: list[tuple[Action, dict[str, Any]]]) -> list[tuple[int, list[int]]]:
        return [
            policy.bucket(action.tool, None).decide(action.tool, action.args, action.actor, action.target, facts)[:2]
            for action, facts in given
        ]

    def judge(given: list[tuple[Action, dict[str, Any]]]) -> list[str]:
        return [boundary.judge(action, facts).verdict for action, facts in given]

    others: dict[str, Decide] = {"ifs": hand_written(workload), "cel-expr-python": cel_expr_python(workload)}
    functions: dict[str, Callable[[], Any]] = {
        "decide": lambda: decide(ready),
        "decide, 200 unread": lambda: decide(padded),
        "judge": lambda: judge(ready),
        "judge, 200 unread": lambda: judge(padded),
        **{other: (lambda call=call: [call(*one) for one in calls]) for other, call in others.items()},
    }
    for other in ("ifs", "cel-expr-python", "judge", "judge, 200 unread"):
        right(other, functions[other](), workload["expected"])
    right(
        "decide",
        [tuple(WORDS.values())[group] if group < 3 else WORDS[workload["default"]] for group, _ in decide(ready)],
        workload["expected"],
    )
    functions |= optional(name, workload, calls)
    times = in_turns(functions, rounds=ROUNDS)
    each = 1e6 / len(calls)
    print(f"workload {name}: " + ", ".join(f"{what} {time * each:.2f} us" for what, time in times.items()))
    report.ratio(f"{name}: decision / hand-written ifs", times["decide"] / times["ifs"], most=most[0])
    report.ratio(f"{name}: judge / hand-written ifs", times["judge"] / times["ifs"], most=most[1])
    report.ratio(f"{name}: cel-expr-python / decision", times["cel-expr-python"] / times["decide"], least=8)
    report.ratio(f"{name}: cel-expr-python / judge", times["cel-expr-python"] / times["judge"], least=1)
    report.ratio(
        f"{name}: decision with / without 200 unread keys", times["decide, 200 unread"] / times["decide"], most=1.1
    )
    report.ratio(f"{name}: judge with / without 200 unread keys", times["judge, 200 unread"] / times["judge"], most=1.1)
    for other in functions.keys() - others.keys() - {"decide", "judge", "decide, 200 unread", "judge, 200 unread"}:
        report.ratio(f"{name}: {other} / judge", times[other] / times["judge"])


def right(what: str, verdicts: list[str], expected: list[str]) -> None:
    """Stop when something that is to be compared does not decide the same."""
    wrong = sum(one != other for one, other in zip(verdicts, expected, strict=True))
    if wrong:
        sys.exit(f"error: {what} gives {wrong} wrong verdicts")


def hand_written(workload: dict[str, Any]) -> Decide:
    """Return what a person would write: one function with an if per rule, the strictest first."""
    lines = ["def decide(tool, args, world):"]
    found: dict[str, Any] = {}
    for effect, word in WORDS.items():
        for rule in workload["rules"]:
            if rule["effect"] == effect:
                lines += [f"    if {as_python(rule, found)}:", f"        return {word!r}"]
    lines.append(f"    return {WORDS[workload['default']]!r}")
    exec("\n".join(lines), found)
    decide: Decide = found["decide"]
    return decide


def as_python(rule: dict[str, Any], found: dict[str, Any]) -> str:
    """Return a rule as the Python that a person would write, its patterns and sets put into `found`."""
    text: str = rule["when"]
    if text == "args.participants.exists(p, p in world.blocked_ids)":
        text = "any(p in world['blocked_ids'] for p in args['participants'])"
    text = re.sub(r"has\(args\.(\w+)\)", r'"\1" in args', text)
    text = re.sub(r"args\.(\w+)\.startsWith\(", r'args["\1"].startswith(', text)
    for number, pattern in enumerate(re.findall(r'\.matches\(("(?:[^"\\]|\\.)*")\)', text)):
        name = f"re_{rule['id']}_{number}"
        found[name] = re.compile(json.loads(pattern)).search
        text = re.sub(r'args\.(\w+)\.matches\("(?:[^"\\]|\\.)*"\)', rf'{name}(args["\1"])', text, count=1)
    text = re.sub(r"\[(\"[^\[\]]*?)\]", lambda list_: "{" + list_[1] + "}", text) if '["' in text else text
    text = re.sub(r'(args|world)\{("\w+")\}', r"\1[\2]", text)
    text = re.sub(r"\b(args|world)\.(\w+)", r'\1["\2"]', text)
    text = text.replace("&&", "and").replace("!(", "not (").replace("true", "True")
    tool = rule["tool"]
    test = f"tool == {tool!r}"
    if tool == "*":
        return text
    if tool.endswith("*"):
        test = f"tool.startswith({tool[:-1]!r})"
    elif tool.startswith("*"):
        test = f"tool.endswith({tool[1:]!r})"
    return f"{test} and {text}"


def cel_expr_python(workload: dict[str, Any]) -> Decide:
    """Return the same decision with Google's CEL engine: conditions compiled once, rules indexed by tool."""
    from cel_expr_python import cel

    text = cel.Type.STRING
    environment = cel.NewEnv(
        variables={"args": cel.Type.Map(text, cel.Type.DYN), "world": cel.Type.Map(text, cel.Type.DYN)}
    )
    rules = [
        (effect, re.compile(re.escape(rule["tool"]).replace(r"\*", ".*") + r"\Z"), environment.compile(rule["when"]))
        for effect in WORDS
        for rule in workload["rules"]
        if rule["effect"] == effect
    ]
    by_tool: dict[str, list[tuple[str, Any]]] = {}

    def decide(tool: str, args: dict[str, Any], world: dict[str, Any]) -> str:
        if tool not in by_tool:
            by_tool[tool] = [(effect, condition) for effect, pattern, condition in rules if pattern.match(tool)]
        values = {"args": args, "world": world}
        for effect, condition in by_tool[tool]:
            if condition.eval(data=values).value():
                return WORDS[effect]
        return WORDS[workload["default"]]

    return decide


def optional(name: str, workload: dict[str, Any], calls: list[Any]) -> dict[str, Callable[[], Any]]:
    """Return the engines that are installed and can say workload A."""
    if name != "A":
        return {}
    found: dict[str, Callable[[], Any]] = {}
    try:
        found["cedarpy"] = cedar(workload, calls)
    except ImportError:
        print("cedarpy is not installed: not measured")
    try:
        found["google-antigravity"] = antigravity(workload, calls)
    except ImportError:
        print("google-antigravity is not installed: not measured")
    return found


def cedar(workload: dict[str, Any], calls: list[Any]) -> Callable[[], Any]:
    """Return workload A in Cedar, without the rule that asks."""
    import cedarpy

    policies = cedarpy.PolicySet.from_str(
        "permit(principal, action, resource);"
        "forbid(principal, action, resource) when { context.args.intensity > context.world.max_intensity };"
        "forbid(principal, action, resource) when { context.args.participants.containsAny(context.world.blocked_ids) };"
    )
    entities = cedarpy.Entities.from_json_str("[]")
    named = {"principal": 'A::"a"', "action": 'Action::"social_action"', "resource": 'R::"r"'}
    requests = [{**named, "context": {"args": args, "world": world}} for _, args, world in calls]

    def decide() -> list[bool]:
        return [cedarpy.is_authorized(request, policies, entities).allowed for request in requests]

    denied = [verdict == "DENY" for verdict in workload["expected"]]
    right("cedarpy", [str(not allowed) for allowed in decide()], [str(one) for one in denied])
    return decide


def antigravity(workload: dict[str, Any], calls: list[Any]) -> Callable[[], Any]:
    """Return workload A in google-antigravity's policies; its predicates see arguments only, so facts go in there."""
    from google.antigravity import types
    from google.antigravity.hooks import hooks, policy

    async def refuse(*_: Any) -> bool:
        return False

    tool = "social_action"
    hook = policy.enforce(
        [
            policy.deny(tool, when=lambda args: args["intensity"] > args["world"]["max_intensity"]),
            policy.deny(tool, when=lambda args: any(p in args["world"]["blocked_ids"] for p in args["participants"])),
            policy.ask_user(
                tool, when=lambda args: args["world"]["require_consent"] and args["intensity"] >= 3, handler=refuse
            ),
            policy.allow(tool),
        ]
    )
    given = [types.ToolCall(name=name, args={**args, "world": world}) for name, args, world in calls]

    async def all_of_them() -> list[bool]:
        context = hooks.HookContext()
        return [(await hook.run(context, call)).allow for call in given]

    def decide() -> list[bool]:
        return asyncio.run(all_of_them())

    approved = [str(verdict == "APPROVE") for verdict in workload["expected"]]
    right("google-antigravity", [str(allowed) for allowed in decide()], approved)
    return decide


if __name__ == "__main__":
    sys.exit(main())
