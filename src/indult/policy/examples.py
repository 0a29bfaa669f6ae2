"""The examples of a rule, `match` and `no_match`: actions that loading judges by the rule's own compiled condition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from indult.actions import Action
from indult.cel import fuse
from indult.errors import IndultError, PolicyError
from indult.policy.keys import EXAMPLE_KEYS, nearest
from indult.policy.patterns import target_pattern, tool_pattern

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from indult.cel import Checked, Env
    from indult.policy.model import Rule
    from indult.policy.reader import Document, Node

__all__ = ["check_examples"]


def check_examples(
    document: Document, nodes: Mapping[str, tuple[Node, Node]], rule: Rule, checked: Checked | None, env: Env
) -> Iterator[PolicyError]:
    """Yield an error for each example that the rule does not treat as the file says.

    An example that the condition cannot judge fails too: the gate would count that as a match of a deny, but in an
    example it is a slip of the pen.
    """
    if not rule.match and not rule.no_match:
        return
    judge = _Judge(rule, checked, env)
    for key, examples in (("match", rule.match), ("no_match", rule.no_match)):
        for node, example in zip(nodes[key][1].value if examples else (), examples, strict=True):
            try:
                reason = judge.reason(example)
            except IndultError as exc:
                yield document.at(node, f"the example cannot be judged: {exc.message}", hint=exc.hint)
                continue
            if key == "match" and reason is not None:
                yield document.at(node, f"the rule `{rule.id}` does not match this example: {reason}")
            if key == "no_match" and reason is None:
                yield document.at(node, f"the rule `{rule.id}` matches this example, which stands under `no_match`")


class _Judge:
    """Judges examples of one rule, compiled once."""

    def __init__(self, rule: Rule, checked: Checked | None, env: Env) -> None:
        self.rule = rule
        self.decide = fuse([[checked]], env)
        self.known = (*EXAMPLE_KEYS, *(name for name in env.variables if name not in EXAMPLE_KEYS))

    def reason(self, example: Mapping[str, Any]) -> str | None:
        """Return why the rule does not match an example, or none where it does.

        Raises:
            IndultError: The example is none, or the condition fails on it.
        """
        for name in example:
            if name not in self.known:
                raise PolicyError(f"unknown key `{name}`", hint=nearest(name, self.known))
        rule = self.rule
        action = Action.from_dict(
            {
                # Any name that fits will do where the example gives none.
                "tool": example.get("tool", rule.tool.replace("*", "x")),
                "args": example.get("args", {}),
                "actor": example.get("actor", "agent"),
            }
        )
        if not tool_pattern(rule.tool)(action.tool):
            return f"its tool is not `{rule.tool}`"
        if rule.targets and not self._meets(example.get("target")):
            several = len(rule.targets) > 1
            return "its target is none of the rule's" if several else f"its target is not `{rule.target}`"
        facts = {name: value for name, value in example.items() if name not in EXAMPLE_KEYS}
        target = example.get("target")
        _, matched, errors = self.decide(
            action.tool, action.args, action.actor, lambda: target or f"call:{action.digest}", facts
        )
        if errors:
            raise PolicyError(errors[0][2])
        return None if matched else "its condition is false"

    def _meets(self, target: object) -> bool:
        if not isinstance(target, str):
            raise PolicyError("the rule has a `target`, so the example needs one", hint="target: KIND:NAME")
        kind, _, name = target.partition(":")
        patterns = map(target_pattern, self.rule.targets)
        return any(kind in kinds and matches(name, self.rule.effect != "allow") for kinds, matches in patterns)
