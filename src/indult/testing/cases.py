"""Policies tested with data: an action and its facts in, the verdict that should come out.

A file is YAML or JSON: `cases`, a list of `{name, action, facts?, expect, rules?, instead?}`. `rules` are the ids of all
rules that should decide, `instead` the arguments of the rung that should run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from indult.actions import Action
from indult.boundary import Boundary
from indult.errors import InputError
from indult.gate import kept
from indult.judgements import Judgement, Verdict
from indult.ledger import Ledger
from indult.policy.context import check_declared
from indult.policy.reader import read

__all__ = ["CaseResult", "Change", "PolicyCase", "Replay", "load_cases", "replay", "run_case"]

_KEYS: Final = frozenset({"name", "action", "facts", "expect", "rules", "instead"})


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyCase:
    """One action with the verdict that a policy should give it."""

    name: str
    action: Action
    expect: Verdict
    facts: Mapping[str, Any] = field(default_factory=dict)
    rules: tuple[str, ...] | None = None
    instead: Mapping[str, Any] | None = None

    @classmethod
    def from_dict(cls, data: Any) -> PolicyCase:
        """Read one case.

        Raises:
            InputError: A key is missing, unknown or of another type, or the verdict is none.
        """
        if not isinstance(data, Mapping):
            raise InputError(f"a case is a `{type(data).__name__}`, not a mapping")
        unknown = sorted(set(data) - _KEYS)
        if unknown:
            raise InputError(f"a case has the unknown key `{unknown[0]}`", hint=f"keys: {', '.join(sorted(_KEYS))}")
        missing = sorted({"name", "action", "expect"} - set(data))
        if missing:
            raise InputError(f"a case has no `{missing[0]}`")
        if data["expect"] not in set(Verdict):
            raise InputError(f"`{data['expect']}` is no verdict", hint=f"verdicts: {', '.join(Verdict)}")
        facts, rules, instead = data.get("facts", {}), data.get("rules"), data.get("instead")
        for name, value, kind in (("facts", facts, dict), ("rules", rules, list), ("instead", instead, dict)):
            if value is not None and not isinstance(value, kind):
                raise InputError(f"`{name}` of a case is a `{type(value).__name__}`")
        return cls(
            name=str(data["name"]),
            action=Action.from_dict(data["action"]),
            expect=Verdict(data["expect"]),
            facts=facts,
            rules=None if rules is None else tuple(rules),
            instead=instead,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """What came of one case; `why` is empty where it passed."""

    name: str
    why: str
    judgement: Judgement

    @property
    def passed(self) -> bool:
        """Tell whether the policy gave what the case expects."""
        return not self.why

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        shown: dict[str, Any] = {"name": self.name, "passed": self.passed, "judgement": self.judgement.to_dict()}
        return shown if self.passed else {**shown, "why": self.why}


def load_cases(path: Path) -> list[PolicyCase]:
    """Read the cases of a file.

    Raises:
        PolicyError: The file is not strict YAML.
        InputError: It cannot be read, or holds something else than cases.
    """
    try:
        raw = path.read_bytes()
    except OSError as exc:
        raise InputError(f"cannot read `{path}`: {(exc.strerror or str(exc)).lower()}") from exc
    document = read(raw, source=str(path))
    data = document.json(document.root) if document.root is not None else None
    if (
        not isinstance(data, Mapping)
        or set(data) != {"cases"}
        or not isinstance(data["cases"], list)
        or not data["cases"]
    ):
        raise InputError(f"`{path}` has no list `cases`", hint="cases: [{name: ..., action: {...}, expect: DENY}]")
    cases = []
    for number, item in enumerate(data["cases"], 1):
        try:
            cases.append(PolicyCase.from_dict(item))
        except InputError as exc:
            raise InputError(f"`{path}`, case {number}: {exc.message}", hint=exc.hint) from exc
    return cases


def run_case(boundary: Boundary, case: PolicyCase) -> CaseResult:
    """Judge the action of a case and compare.

    Raises:
        FactError: The case gives a fact that the policy does not declare.
        PolicyError: It names a rule that the policy does not have.
    """
    check_declared(boundary.policy.context, case.facts)
    for name in case.rules or ():
        boundary.policy.rule(name)
    judgement = boundary.judge(case.action, case.facts)
    wrong = []
    if judgement.verdict is not case.expect:
        wrong.append(f"{judgement.verdict}, expected {case.expect}: {judgement.reason}")
    if case.rules is not None and sorted(case.rules) != sorted(judgement.rules):
        wrong.append(f"decided by {list(judgement.rules)}, expected {sorted(case.rules)}")
    args = judgement.instead.args if judgement.instead is not None else None
    if case.instead is not None and args != case.instead:
        wrong.append(f"instead {args}, expected {case.instead}")
    return CaseResult(name=case.name, why="; ".join(wrong), judgement=judgement)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One judgement of an old ledger that would come out another way."""

    position: int
    stream: str
    tool: str
    before: str
    after: str
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {name: getattr(self, name) for name in ("position", "stream", "tool", "before", "after", "reason")}


@dataclass(slots=True, kw_only=True)
class Replay:
    """What became of a replay: how many judgements were judged again, and how many could not be, by reason."""

    judged: int = 0
    changed: int = 0
    left_out: dict[str, int] = field(default_factory=dict)

    def run(self, boundary: Boundary, ledger: Ledger) -> Iterator[Change]:
        """Judge every recorded action again and yield what would change, counting on the way."""
        for event in ledger.events(kinds=("step", "intent", "judgement")):
            if "judgement" not in event.data:
                continue
            if event.data["judgement"].get("grants"):
                self._leave_out("opened by a grant")
                continue
            action, facts = _recorded(ledger, event.data)
            if isinstance(action, str):
                self._leave_out(action)
                continue
            self.judged += 1
            again = boundary.judge(action, facts)
            before = event.data["judgement"]["verdict"]
            if again.verdict == before:
                continue
            self.changed += 1
            yield Change(
                position=event.position,
                stream=event.stream,
                tool=action.tool,
                before=before,
                after=str(again.verdict),
                reason=again.reason,
            )

    def _leave_out(self, why: str) -> None:
        self.left_out[why] = self.left_out.get(why, 0) + 1


def replay(boundary: Boundary, ledger: Ledger) -> tuple[list[Change], Replay]:
    """Judge every recorded action again; return what would change and the counts."""
    counts = Replay()
    return list(counts.run(boundary, ledger)), counts


def _recorded(ledger: Ledger, data: Mapping[str, Any]) -> tuple[Action | str, dict[str, Any]]:
    """Return action and facts of a recorded judgement, or why they are not to be had."""
    content = kept(ledger, data)
    facts = kept(ledger, data, "facts")
    if content is None or facts is None:
        return "forgotten or never kept", {}
    if "args" not in content:
        return "kept as a preview only", {}
    action = Action(tool=data["tool"], args=content["args"], actor=data["actor"])
    return (action, facts) if action.digest == data["action"] else ("kept with secrets masked or another cwd", {})
