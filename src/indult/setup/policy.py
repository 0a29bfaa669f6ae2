"""The policy that a repository begins with: presets, the command of its tests, and what was found there, in comments."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from indult.errors import IndultError
from indult.policy import loads_policy
from indult.setup.detect import Found

__all__ = ["PRESETS", "policy_text", "rule_text"]

PRESETS: Final = ("indult/repository@1", "indult/commands@1")
"""What the policy of a repository extends."""

_HEAD: Final = """\
# What coding agents may do in this repository. indult judges each of their calls by this file before it runs.
# What a change to it opens counts once you have trusted it: indult trust
schema: 1

# The presets bring rules for files and commands; all of them: indult policy show --resolved
# - repository: free to change but for what controls the repository (.github/, this file, hooks of agents), secrets
#   (.env*, data/), and dependencies, which ask.
# - commands: free to look, build and test; no history rewritten, nothing published, no decision in your name; installs
#   ask.
extends: [{presets}]

# What no rule speaks of asks: it opens a request that you answer with `indult approve` or `indult reject`.
default: ask

"""

_TESTS: Final = """\
  # A test runs code of this repository as you, and an agent may write that code. Take the rule out to be asked.
"""

_MORE: Final = """\

# A rule of your own has this shape; deny beats ask, and ask beats allow, whatever the order:
#
#   - id: migrations
#     target: file:migrations/**
#     effect: ask
#     says: Ask before you change a migration.
"""

_MOST_NAMES: Final = 12


def policy_text(found: Found, imported: Iterable[tuple[str, Mapping[str, Any]]] = ()) -> str:
    """Return the text of the policy for a repository; `imported` are more rules, each with a comment.

    Raises:
        PolicyError: The text would be no policy, because this version lacks what it needs.
    """
    rules = list(_rules(found, imported))
    facts = "".join(f"# {line}\n" for line in _facts(found))
    body = "rules:\n" + "\n".join(rules) if rules else "rules: []\n"
    text = _HEAD.format(presets=", ".join(PRESETS)) + facts + body + _MORE
    loads_policy(text, source="indult.yaml")
    return text


def rule_text(rule: Mapping[str, Any], comment: str = "") -> str:
    """Return a rule as it stands in the list of a policy file, below the lines of a comment."""
    lines = [f"  # {line}" for line in comment.splitlines()]
    for place, (key, value) in enumerate(rule.items()):
        lines.append(f"  {'- ' if place == 0 else '  '}{key}: {_value(key, value)}")
    return "\n".join(lines) + "\n"


def refused(rule: Mapping[str, Any]) -> str | None:
    """Return why no policy can have a rule, none where one can."""
    try:
        loads_policy(f"schema: 1\nrules:\n{rule_text(rule)}")
    except IndultError as exc:
        return exc.message
    return None


def _rules(found: Found, imported: Iterable[tuple[str, Mapping[str, Any]]]) -> Iterator[str]:
    if found.tests:
        rule = {
            "id": "tests",
            "effect": "allow",
            "target": [f"command:{command}" for command in found.tests],
            "says": f"Run the tests with {_either(found.tests)}.",
        }
        yield _TESTS + rule_text(rule)
    yield from (rule_text(rule, comment) for comment, rule in imported)


def _facts(found: Found) -> Iterator[str]:
    if found.languages:
        yield f"Languages: {_some(found.languages)}."
    if found.manifests:
        yield f"Manifests and lock files, whose entries ask: {_some(found.manifests)}."
    if not found.tests:
        yield "No command that runs the tests was found; a rule that allows one names it: target: command:make test"


def _some(names: Sequence[str]) -> str:
    # A name may be made of anything, even of line breaks that would end the comment.
    shown = [name for name in names if name.isprintable()][:_MOST_NAMES]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def _either(commands: Sequence[str]) -> str:
    shown = [f"`{command}`" for command in commands]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}"


def _value(key: str, value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(_value(key, one) for one in value) + "]"
    return str(value) if key in {"id", "effect"} else json.dumps(value, ensure_ascii=False)
