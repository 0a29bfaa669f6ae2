"""Policy files: `indult.yaml` becomes a `Policy`, or errors with file, line, column, the offending line and a hint."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from indult.budget import Budget
from indult.cel import check
from indult.errors import ConditionError, PolicyError
from indult.policy import keys
from indult.policy.context import check_name, environment, fact_type
from indult.policy.examples import check_examples
from indult.policy.files import policy_text
from indult.policy.model import Effect, Policy, Rule
from indult.policy.reader import Document, Node, read

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from indult.cel import Checked, Env
    from indult.policy.autofix import Autofix, TriageRule

__all__ = ["Loaded", "find_errors", "load_policy", "loads_policy", "read_policy"]

Keys = dict[str, tuple[Node, Node]]
"""Key node and value node by the name of the key."""

_LOADED_KEYS: Final = ("autofix", "extends", "words", "context", "rules")
_BEGIN: Final = "begin each rule with `- id: NAME`"
_MISSING: Final = {
    "id": "give it a name that logs and approvals can cite: `id: NAME`",
    "effect": "`effect: allow`, `effect: ask` or `effect: deny`",
    "says": "say in one sentence what the agent must not do, or must ask for: `says: TEXT`",
}


class Loaded(NamedTuple):
    """A policy with what its file says itself: the presets that it extends and the ids of its own rules."""

    policy: Policy
    extends: tuple[str, ...]
    own: frozenset[str]


def load_policy(path: str | Path) -> Policy:
    """Return the policy of a file.

    Raises:
        PolicyError: The file cannot be read, or is not a policy; with several errors, the first one.
    """
    return read_policy(path).policy


def loads_policy(text: str | bytes, *, source: str = "policy") -> Policy:
    """Return the policy that a text is; `source` stands for the file in errors.

    Raises:
        PolicyError: The text is not a policy; with several errors, the first one.
    """
    return _loaded(text, source).policy


def read_policy(path: str | Path) -> Loaded:
    """Return the policy of a file together with what the file says itself.

    Raises:
        PolicyError: As for `load_policy`.
    """
    return _loaded(policy_text(path), str(path))


def find_errors(path: str | Path) -> list[PolicyError]:
    """Return every error of a policy file, in the order in which they stand there."""
    try:
        loader = _Loader(policy_text(path), str(path))
    except PolicyError as exc:
        return [exc]
    loader.load()
    return loader.sorted_errors()


def _loaded(raw: str | bytes, source: str) -> Loaded:
    loader = _Loader(raw, source)
    loaded = loader.load()
    if loaded is None:
        raise loader.sorted_errors()[0]
    return loaded


def _an(effect: Effect) -> str:
    return f"an {effect}" if effect[0] in "ao" else f"a {effect}"


class _Entry:
    """A rule that was read and where it stands; `rule` is none where a key of it is in error."""

    __slots__ = ("document", "id", "keys", "node", "rule")

    def __init__(self, document: Document, node: Node, found: Keys, ident: str | None, rule: Rule | None) -> None:
        self.document = document
        self.node = node
        self.keys = found
        self.id = ident
        self.rule = rule


class _Loader:
    """One load: reads all there is and collects errors, so that a person sees every one of them at once."""

    def __init__(self, raw: str | bytes, source: str) -> None:
        self.document = read(raw, source=source)
        self.errors: list[PolicyError] = []
        self.context: dict[str, Any] = {}
        self.entries: list[_Entry] = []
        self.context_is_whole = True

    def sorted_errors(self) -> list[PolicyError]:
        """Return the errors in the order of their places, those of the file itself first."""
        own = self.document.source
        return sorted(self.errors, key=lambda exc: (exc.source != own, exc.line or 0, exc.column or 0))

    def load(self) -> Loaded | None:
        """Return the policy, or none where there are errors."""
        document, root = self.document, self.document.root
        if root is None or not root.is_map:
            message = "the policy is empty" if root is None else "a policy is a mapping of keys and values"
            hint = "begin with `schema: 1`, `default: deny` and `rules:`"
            self.errors.append(document.error(root.line if root else 1, root.column if root else 1, message, hint=hint))
            return None
        found = self._keys(document, root, "policy", (*keys.POLICY_KEYS, *_LOADED_KEYS))
        values = self._values(document, found, keys.POLICY_KEYS)
        if "schema" not in found:
            self.errors.append(document.at(root, "the policy has no `schema`", hint="begin with `schema: 1`"))
        if "rules" not in found and "extends" not in found:
            self.errors.append(document.at(root, "the policy has no `rules`", hint="write `rules: []` to have none"))
        if "autofix" in found:
            values["autofix"] = self._read_autofix(document, found["autofix"][1])
        self._read_body(document, found)
        extends = self._extend(found["extends"][1]) if "extends" in found else ()
        self._check_ids(found.get("extends"))
        if "words" in found:
            self._reword(found["words"][1])
        if "approvers" not in found or "approvers" in values:
            self._check_approvers(len(values.get("approvers", ())))
        env, conditions = self._check_conditions()
        if self.errors or env is None:
            return None
        del values["schema"]
        policy = Policy(rules=tuple(entry.rule for entry in self.entries if entry.rule), context=self.context, **values)
        own = frozenset(entry.rule.id for entry in self.entries if entry.rule and entry.document is document)
        return Loaded(policy=policy.remember(env, conditions), extends=extends, own=own)

    def _read_body(self, document: Document, found: Keys) -> None:
        if "context" in found:
            self._read_context(document, found["context"][1])
        if "rules" in found:
            self._read_rules(document, found["rules"][1])

    def _pairs(self, document: Document, node: Node) -> Keys:
        """Return key node and value node by name; a key that is no text or stands twice is an error and left out."""
        found: Keys = {}
        for key, value in node.value:
            try:
                name = document.key(key)
            except PolicyError as exc:
                self.errors.append(exc)
                continue
            if name in found:
                self.errors.append(document.twice(key, name, found[name][0]))
            else:
                found[name] = (key, value)
        return found

    def _keys(self, document: Document, node: Node, what: str, known: Iterable[str]) -> Keys:
        """Return the pairs with a key that may stand there; every other one is an error."""
        found = self._pairs(document, node)
        refused = keys.UNAVAILABLE.get(what, frozenset())
        for name in [name for name in found if name in refused or name not in known]:
            key, _ = found.pop(name)
            if name in refused:
                self._add(document, key, keys.unavailable(name))
            else:
                hint = keys.nearest(name, known)
                where = what if what.startswith("`") else f"a {what}"
                self.errors.append(document.at(key, f"unknown key `{name}` in {where}", hint=hint))
        return found

    def _values(self, document: Document, found: Keys, converters: dict[str, keys.Convert]) -> dict[str, Any]:
        """Return the values of all keys that have a converter and no error."""
        values = {}
        for name, (_, node) in found.items():
            if name in converters:
                try:
                    values[name] = converters[name](document, node)
                except PolicyError as exc:
                    self._add(document, node, exc)
        return values

    def _add(self, document: Document, node: Node, exc: PolicyError) -> None:
        self.errors.append(exc if exc.source is not None else document.place(exc, node.line, node.column))

    def _read_context(self, document: Document, node: Node) -> None:
        before = len(self.errors)
        if node.is_map:
            for name, (key, value) in self._pairs(document, node).items():
                declared = self._declared(document, name, key, value)
                if self.context.setdefault(name, declared) != declared:
                    self.errors.append(document.at(key, f"the fact `{name}` is declared in another way elsewhere"))
        else:
            hint = "write `context: {NAME: TYPE}`"
            self.errors.append(document.at(node, f"expected names and types, not a {node.kind}", hint=hint))
        self.context_is_whole &= before == len(self.errors)

    def _declared(self, document: Document, name: str, key: Node, node: Node, *, field: bool = False) -> Any:
        """Return the text of a type, or one level of names and such texts; errors leave none."""
        try:
            check_name(name, field=field)
            if not node.is_map:
                return self._type(document, node)
            if field:
                raise document.at(node, "facts are grouped one level deep only", hint="use `map(string, dyn)`")
            if not node.value:
                raise document.at(node, "the group of facts is empty")
        except PolicyError as exc:
            self._add(document, key, exc)
            return None
        pairs = self._pairs(document, node)
        return {inner: self._declared(document, inner, at, value, field=True) for inner, (at, value) in pairs.items()}

    def _type(self, document: Document, node: Node) -> str:
        if node.is_list:
            raise document.at(node, "expected the name of a type, not a list", hint="for instance `list(string)`")
        try:
            declared = document.text(node)
            fact_type(declared)
        except PolicyError as exc:
            if node.value.count("(") > node.value.count(")"):
                exc = PolicyError(
                    exc.message, hint='between { and }, a type with a comma needs quotes: "map(string, int)"'
                )
            raise document.place(exc, node.line, node.column) from None
        return declared

    def _read_rules(self, document: Document, node: Node) -> None:
        if not node.is_list:
            self.errors.append(document.at(node, f"expected a list of rules, not a {node.kind}", hint=_BEGIN))
            return
        for item in node.value:
            if item.is_map:
                self.entries.append(self._rule(document, item))
            else:
                self.errors.append(document.at(item, f"expected a rule, not a {item.kind}", hint=_BEGIN))

    def _rule(self, document: Document, node: Node) -> _Entry:
        before = len(self.errors)
        found = self._keys(document, node, "rule", keys.RULE_KEYS)
        values = self._values(document, found, keys.RULE_KEYS)
        for name in ("id", "effect"):
            if name not in found:
                self.errors.append(document.at(node, f"the rule has no `{name}`", hint=_MISSING[name]))
        ident, effect = values.get("id"), values.get("effect")
        if effect in (Effect.ASK, Effect.DENY) and "says" not in found:
            self.errors.append(document.at(node, f"the rule `{ident}` has no `says`", hint=_MISSING["says"]))
        for name, only in keys.ONLY.items():
            if name in found and effect not in (only, None):
                which = f"only {_an(only)} has `{name}`, not {_an(effect)}"
                self.errors.append(document.at(found[name][0], which))
        rule = None
        if len(self.errors) == before:
            try:
                rule = Rule(**values)
            except PolicyError as exc:
                self._add(document, node, exc)
        return _Entry(document, node, found, ident, rule)

    def _read_autofix(self, document: Document, node: Node) -> Autofix | None:
        """Read `autofix` with its budget and its rules of triage, or none where a key of it is in error."""
        from indult.policy.autofix import Autofix
        from indult.policy.autofix_keys import AUTOFIX_KEYS

        if not node.is_map:
            hint = "write `autofix: {threshold: 2}`, or `autofix: {}` to take all as it is by default"
            self.errors.append(
                document.at(node, f"expected a mapping of keys and values, not a {node.kind}", hint=hint)
            )
            return None
        before = len(self.errors)
        found = self._keys(document, node, "`autofix`", (*AUTOFIX_KEYS, "budget", "triage"))
        values = self._values(document, found, AUTOFIX_KEYS)
        if "budget" in found:
            values["budget"] = self._budget(document, found["budget"][1])
        if "triage" in found:
            values["triage"] = self._triage(document, found["triage"][1])
        return Autofix(**values) if len(self.errors) == before else None

    def _budget(self, document: Document, node: Node) -> Budget | None:
        from indult.policy.autofix_keys import BUDGET_KEYS

        if not node.is_map or not node.value:
            known = ", ".join(f"`{name}`" for name in BUDGET_KEYS)
            self.errors.append(document.at(node, "expected at least one ceiling of a run", hint=f"one of {known}"))
            return None
        found = self._keys(document, node, "budget", BUDGET_KEYS)
        return Budget(**self._values(document, found, BUDGET_KEYS))

    def _triage(self, document: Document, node: Node) -> tuple[TriageRule, ...]:
        """Return the rules of triage that have no error; a second one with the same id is one."""
        if not node.is_list or not node.value:
            wrong = "the list of triage rules is empty" if node.is_list else f"expected triage rules, not a {node.kind}"
            hint = "leave `triage` out" if node.is_list else _BEGIN
            self.errors.append(document.at(node, wrong, hint=hint))
            return ()
        first: dict[str, Node] = {}
        rules = [self._triage_rule(document, item, first) for item in node.value]
        return tuple(rule for rule in rules if rule is not None)

    def _triage_rule(self, document: Document, node: Node, first: dict[str, Node]) -> TriageRule | None:
        from indult.policy.autofix import TriageRule, signal_environment
        from indult.policy.autofix_keys import TRIAGE_KEYS

        if not node.is_map:
            self.errors.append(document.at(node, f"expected a triage rule, not a {node.kind}", hint=_BEGIN))
            return None
        before = len(self.errors)
        found = self._keys(document, node, "triage rule", TRIAGE_KEYS)
        values = self._values(document, found, TRIAGE_KEYS)
        if "id" not in found:
            self.errors.append(document.at(node, "the triage rule has no `id`", hint=_MISSING["id"]))
        elif "id" in values and first.setdefault(values["id"], node) is not node:
            message = f"two triage rules have the id `{values['id']}`"
            hint = f"the first begins on line {first[values['id']].line}"
            self.errors.append(document.at(found["id"][1], message, hint=hint))
        self._condition(document, found, signal_environment())
        try:
            return TriageRule(**values) if len(self.errors) == before else None
        except PolicyError as exc:
            self._add(document, node, exc)
            return None

    def _extend(self, node: Node) -> tuple[str, ...]:
        """Read the presets that the file extends, as if their rules and facts stood in it."""
        from indult.policy import presets

        names: list[str] = []
        for item in node.value if node.is_list else [node]:
            try:
                name = self.document.text(item, "the name of a preset")
                preset = presets.preset(name)
            except PolicyError as exc:
                self._add(self.document, item, exc)
                continue
            if name in names:
                self.errors.append(self.document.at(item, f"the preset `{name}` is named twice"))
            elif preset.root is not None:
                names.append(name)
                self._read_body(preset, self._keys(preset, preset.root, "policy", ("schema", "context", "rules")))
        return tuple(names)

    def _reword(self, node: Node) -> None:
        """Give rules of the presets the sentences that the file has for them; what they do stays as it is."""
        if not node.is_map:
            hint = "write `words: {RULE: {says: TEXT}}`"
            self.errors.append(self.document.at(node, f"expected rules of a preset, not a {node.kind}", hint=hint))
            return
        entries = {entry.id: entry for entry in self.entries}
        for name, (key, value) in self._pairs(self.document, node).items():
            entry = entries.get(name)
            if entry is None:
                known = [one.id for one in self.entries if one.id and one.document is not self.document]
                hint = keys.nearest(name, known) if known else "`extends` names the presets"
                self.errors.append(self.document.at(key, f"no preset brings a rule `{name}`", hint=hint))
            elif entry.document is self.document:
                hint = "write its sentences there"
                self.errors.append(self.document.at(key, f"the rule `{name}` stands in this file", hint=hint))
            elif entry.rule is not None:
                entry.rule = replace(entry.rule, **self._sentences(value, entry.rule.effect))

    def _sentences(self, node: Node, effect: Effect) -> dict[str, Any]:
        """Return the sentences that stand for one rule of a preset."""
        if not node.is_map or not node.value:
            known = " and ".join(f"`{name}`" for name in keys.SENTENCES)
            self.errors.append(self.document.at(node, "expected at least one sentence of the rule", hint=known))
            return {}
        found = self._keys(self.document, node, "rule", keys.SENTENCES)
        for name in [name for name in found if keys.ONLY.get(name, effect) is not effect]:
            key, _ = found.pop(name)
            self.errors.append(self.document.at(key, f"only {_an(keys.ONLY[name])} has `{name}`, not {_an(effect)}"))
        return self._values(self.document, found, keys.RULE_KEYS)

    def _check_ids(self, extends: tuple[Node, Node] | None) -> None:
        """Refuse a second rule with the same id: with the order of rules meaningless, neither could win."""
        first: dict[str, _Entry] = {}
        for entry in self.entries:
            other = first.setdefault(entry.id, entry) if entry.id else entry
            if other is entry:
                continue
            if other.document is entry.document:
                message, hint = f"two rules have the id `{entry.id}`", f"the first begins on line {other.node.line}"
                self.errors.append(entry.document.at(entry.keys["id"][1], message, hint=hint))
            elif other.document is self.document:
                message = f"the preset `{entry.document.source}` has a rule with the id `{entry.id}` already"
                self.errors.append(other.document.at(other.keys["id"][1], message, hint="choose another id"))
            elif extends is not None:
                message = f"`{other.document.source}` and `{entry.document.source}` both have a rule `{entry.id}`"
                self.errors.append(self.document.at(extends[1], message))

    def _check_approvers(self, declared: int) -> None:
        """Refuse a rule that nobody could open, because it takes signatures or more approvers than the file declares."""
        for entry in self.entries:
            rule = entry.rule
            if rule is None:
                continue
            if rule.approval == "signed" and not declared:
                message = f"the rule `{rule.id}` takes signed approvals, and no `approvers` are declared"
                hint = "declare whose signature counts: `approvers: {NAME: ssh-ed25519 ...}`"
                self.errors.append(entry.document.at(entry.keys["approval"][1], message, hint=hint))
            elif rule.approvals > max(declared, 1):
                message = f"the rule `{rule.id}` takes {rule.approvals} approvals, and `approvers` declares {declared}"
                self.errors.append(entry.document.at(entry.keys["approvals"][1], message))

    def _check_conditions(self) -> tuple[Env | None, dict[str, Checked | None]]:
        """Check every condition against the declared context, then every example against its rule."""
        if not self.context_is_whole:
            return None, {}
        env = environment(self.context)
        conditions: dict[str, Checked | None] = {}
        for entry in self.entries:
            checked = self._condition(entry.document, entry.keys, env)
            if entry.rule is None:
                continue
            conditions[entry.rule.id] = checked
            if checked is not None or entry.rule.when is None:
                self.errors += check_examples(entry.document, entry.keys, entry.rule, checked, env)
        return env, conditions

    def _condition(self, document: Document, found: Keys, env: Env) -> Checked | None:
        if "when" not in found:
            return None
        node = found["when"][1]
        if not node.is_scalar or not node.value.strip():
            return None
        try:
            return check(node.value, env)
        except ConditionError as exc:
            placed = document.within(exc, node)
            if node.plain and node.value.count("(") > node.value.count(")"):
                placed.hint = "between { and }, a condition with a comma needs quotes"
            self.errors.append(placed)
            return None
