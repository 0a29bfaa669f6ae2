"""The keys of a policy file: what each may hold, and which of them this version cannot act on yet."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Any, Final

from indult.errors import ApprovalError, PolicyError
from indult.policy.model import DEFAULT, EXCEPTIONS, SCHEMA, Effect, Mode, Record, check_id, check_template
from indult.policy.patterns import target_pattern, tool_pattern
from indult.policy.reader import Document, Node
from indult.policy.scalars import misleading

__all__ = [
    "EXAMPLE_KEYS",
    "ONLY",
    "POLICY_KEYS",
    "RULE_KEYS",
    "SENTENCES",
    "UNAVAILABLE",
    "Convert",
    "ident",
    "nearest",
    "source",
    "text",
    "unavailable",
    "word",
]

Convert = Callable[[Document, Node], Any]
"""Turns the node of a value into the value of the model.

Raises:
    PolicyError: With a place, or without one, which then is that of the node.
"""

UNAVAILABLE: Final[dict[str, frozenset[str]]] = {
    "policy": frozenset(),
    "rule": frozenset({"limit"}),
    "target": frozenset({"tool"}),
}
"""Keys and kinds of targets that are part of the format, and that this version refuses: nothing would enforce them."""


_LONGEST_NAME: Final = 100
_CHECK: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,99}", re.ASCII).fullmatch


def unavailable(key: str) -> PolicyError:
    """Return the refusal of a key or a kind of target that comes with a later version."""
    return PolicyError(
        f"`{key}` is not available in this version of indult", hint="leave it out: nothing would enforce it"
    )


def nearest(word: str, words: Iterable[str]) -> str:
    """Return the hint that names the word that may have been meant, or else all there are."""
    from difflib import get_close_matches

    known = list(words)
    near = get_close_matches(word, known, n=1)
    return f"did you mean `{near[0]}`?" if near else "one of " + ", ".join(f"`{name}`" for name in known)


def text(document: Document, node: Node) -> str:
    """Return a text that can be shown: no control or bidirectional characters, not even by way of an escape."""
    value = document.text(node).strip()
    if not value:
        raise PolicyError("nothing stands here, but a text must")
    found = misleading(value)
    if found:
        raise PolicyError(f"the text holds the character U+{ord(found[0]):04X}, which is invisible or misleading")
    return value


def source(document: Document, node: Node) -> str:
    """Return a condition as it is written: `true` and `1` are conditions too, quotes or not."""
    if not node.is_scalar:
        raise document.at(
            node,
            f"expected a condition, not a {node.kind}",
            hint="put a condition that begins with `[` or `{` in quotes, or write it below `when: |`",
        )
    if not node.value.strip():
        raise PolicyError("nothing stands here, but a condition must", hint="without `when`, the rule always holds")
    value: str = node.value
    return value.rstrip()


def word(words: type[StrEnum]) -> Convert:
    """Return the converter for a closed set of words."""

    def convert(document: Document, node: Node) -> Any:
        # `off` and `true` are no words of ours, but saying that they need quotes would lead nowhere.
        found = node.value if node.is_scalar else document.text(node)
        if found not in list(words):
            raise PolicyError(f"unknown word `{found}`", hint=nearest(found, words))
        return words(found)

    return convert


def _default(document: Document, node: Node) -> Effect:
    found = word(Effect)(document, node)
    if found is Effect.ALLOW:
        raise PolicyError("the default cannot be `allow`", hint="`deny` or `ask`; allow tools by rules")
    return Effect(found)


def _schema(document: Document, node: Node) -> int:
    value = document.json(node)
    if type(value) is not int or value != SCHEMA:
        raise PolicyError(f"unknown schema `{value}`", hint=f"this version of indult reads `schema: {SCHEMA}`")
    return value


def ident(document: Document, node: Node) -> str:
    """Return the id of a rule."""
    value = document.text(node)
    check_id(value)
    return value


def _id(document: Document, node: Node) -> str:
    value = ident(document, node)
    if value == DEFAULT:
        raise PolicyError(f"the id `{DEFAULT}` is taken", hint="it stands for the key `default` of the policy")
    return value


def _tool(document: Document, node: Node) -> str:
    value = document.text(node)
    tool_pattern(value)
    return value


def _target(document: Document, node: Node) -> str | tuple[str, ...]:
    if not node.is_list:
        return _pattern(document, node)
    if not node.value:
        raise PolicyError("the list of targets is empty", hint="leave the key out to match every target")
    found: dict[str, Node] = {}
    for item in node.value:
        try:
            pattern = _pattern(document, item)
        except PolicyError as exc:
            raise exc if exc.source is not None else document.place(exc, item.line, item.column) from None
        if pattern in found:
            raise document.at(item, f"the target `{pattern}` stands twice")
        found[pattern] = item
    return tuple(found)


def _pattern(document: Document, node: Node) -> str:
    value = document.text(node)
    target_pattern(value)
    kind = value.partition(":")[0]
    if kind in UNAVAILABLE["target"]:
        raise unavailable(f"target: {kind}:")
    return value


def _exception(document: Document, node: Node) -> str:
    value = document.text(node)
    if value not in EXCEPTIONS:
        raise PolicyError(f"unknown word `{value}`", hint=" or ".join(f"`{word}`" for word in EXCEPTIONS))
    return value


def _checks(document: Document, node: Node) -> dict[str, list[str]]:
    """Return what runs before a change lands: a name and the words of one command each."""
    found = {}
    for name, key, value in document.pairs(node):
        if not _CHECK(name):
            hint = "up to 100 letters, digits, `_`, `-` and `.`, with a letter or `_` first"
            raise document.at(key, f"a check cannot have the name `{name}`", hint=hint)
        found[name] = _command(document, value)
    if not found:
        raise PolicyError("no check is named", hint="leave `checks` out, and nothing is run")
    return found


def _command(document: Document, node: Node) -> list[str]:
    if not node.is_list or not node.value:
        raise document.at(node, "expected the words of a command as a list", hint="for instance `[make, test]`")
    words = [document.text(item, "a word of a command") for item in node.value]
    if not words[0]:
        raise document.at(node.value[0], "the first word of a command is empty", hint="the program to run")
    for item, found in zip(node.value, words, strict=True):
        if misleading(found):
            raise document.at(item, "a word of a command holds a character that is invisible or misleading")
    return words


def _template(document: Document, node: Node) -> str:
    value = text(document, node)
    check_template(value)
    return value


def _mappings(what: str) -> Convert:
    def convert(document: Document, node: Node) -> tuple[dict[str, Any], ...]:
        if not node.is_list:
            raise document.at(node, f"expected a list of {what}", hint="begin each with `- `")
        if not node.value:
            raise document.at(node, f"the list of {what} is empty", hint="leave the key out")
        for item in node.value:
            if not item.is_map or not item.value:
                raise document.at(item, f"expected a mapping with at least one key: one of the {what}")
        return tuple(document.json(item) for item in node.value)

    return convert


def _approvals(document: Document, node: Node) -> int:
    value = document.json(node)
    if type(value) is not int or value < 1:
        raise PolicyError(f"`{value}` is no number of approvals", hint="a whole number from 1 on")
    return value


def _approval(document: Document, node: Node) -> str:
    value = document.text(node)
    if value not in ("signed", "any"):
        raise PolicyError(f"unknown word `{value}`", hint="`signed` or `any`")
    return value


def _approvers(document: Document, node: Node) -> dict[str, str]:
    from indult.signatures import parse_public_key

    found: dict[str, str] = {}
    holders: dict[str, str] = {}
    for name, key, value in document.pairs(node):
        if not name or not name.isprintable() or name != name.strip() or len(name) > _LONGEST_NAME:
            raise document.at(key, f"an approver cannot have the name `{name}`")
        line = document.text(value)
        try:
            text = parse_public_key(line).text
        except ApprovalError as exc:
            raise document.at(value, f"the key of `{name}`: {exc.message}", hint=exc.hint) from None
        # One person with two names would be two approvals.
        if holders.setdefault(text, name) != name:
            raise document.at(value, f"`{name}` has the key of `{holders[text]}`", hint="one key, one approver")
        found[name] = line
    if not found:
        raise PolicyError("no approver is named", hint="leave `approvers` out, and decisions are taken unsigned")
    return found


RULE_KEYS: Final[dict[str, Convert]] = {
    "id": _id,
    "effect": word(Effect),
    "tool": _tool,
    "target": _target,
    "when": source,
    "says": text,
    "says_opened": _template,
    "downgrade": _mappings("changes to the arguments"),
    "exception": _exception,
    "approvals": _approvals,
    "approval": _approval,
    "mode": word(Mode),
    "record": word(Record),
    "match": _mappings("examples"),
    "no_match": _mappings("examples"),
}
"""Key of a rule -> its converter, in the order in which a rule is best written."""

POLICY_KEYS: Final[dict[str, Convert]] = {
    "schema": _schema,
    "default": _default,
    "mode": word(Mode),
    "approvers": _approvers,
    "checks": _checks,
    "fixer": _command,
}
"""Key of the file -> its converter; `autofix`, `extends`, `context` and `rules` are read by the loader itself."""

ONLY: Final = {
    "downgrade": Effect.DENY,
    "says_opened": Effect.ASK,
    "exception": Effect.ASK,
    "approvals": Effect.ASK,
    "approval": Effect.ASK,
}
"""Key of a rule -> the one effect that it belongs to."""

SENTENCES: Final = ("says", "says_opened")
"""The keys of a rule that a file may set anew for one that a preset brings."""

EXAMPLE_KEYS: Final = ("tool", "args", "actor", "target")
"""What an example may hold besides the facts of the declared context."""
