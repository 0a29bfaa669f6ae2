"""Hand-backs: whoever works on a signal says what stands in the way, and names exactly what would have to be opened.

A report is a question to a person. With a named exception {dependency, version, paths, change}, approving it opens
exactly that; without one, approving it opens nothing. The newest report of a signal takes the place of all before it.

Ledger: stream `signal:ID`, kind `handed_back {by, request, relaxes_constraint, evidence}`, in the transaction that opens
the request.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Self

from indult.approvals import Standing
from indult.boundary import Boundary
from indult.canonical import canonical, copy_json
from indult.errors import IneffectiveRequest, InputError, LedgerConflict, ScopeError
from indult.gate import Gate, Opening
from indult.ledger import Body, Draft, mask
from indult.scopes import Scope, check_line

__all__ = ["HANDOFF", "Named", "Report", "hand_back", "no_exception", "signal_of", "signal_subject"]

HANDOFF: Final = "handoff"
"""The kind of the requests that hand-backs open; the newest of a subject supersedes the others."""

DEPENDENCY: Final = "dependency"
"""The word of a rule's `exception` that lets a dependency be named."""

_SUBJECT: Final = "signal:"
_ATTEMPTS: Final = 1000
_KEYS: Final = frozenset({"signal", "by", "relaxes_constraint", "card", "dependency_exception", "evidence"})
# What stands beside a line of a card when it is shown: none of it may be written by whoever asks.
_LABELS: Final = frozenset(
    {"answer", "brief", "card", "closes", "digest", "expires", "look", "opens", "state", "under", "uses"}
)
_CARD_KEY: Final = re.compile(r"[a-z][a-z0-9_]{0,39}\Z")
_NAMED: Final = ("dependency", "version", "paths", "change")


def signal_subject(signal: str) -> str:
    """Return the subject of what is asked for a signal.

    Raises:
        ScopeError: The id of the signal is no plain line, or has the word in front that makes a subject of it.
    """
    check_line(signal, "signal")
    if signal.startswith(_SUBJECT):
        # It would be another signal than the one that is meant, and what is approved for that would not be found.
        rest = signal.removeprefix(_SUBJECT)
        raise ScopeError(
            f"the signal `{signal}` begins with `{_SUBJECT}`",
            hint=f"leave it out: `{rest}`" if rest else "leave it out",
        )
    return f"{_SUBJECT}{signal}"


def signal_of(subject: str) -> str | None:
    """Return the id of the signal that a subject stands for; none for any other subject."""
    return subject.removeprefix(_SUBJECT) if subject.startswith(_SUBJECT) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A named exception: one dependency at one version, the files that may change, and the change in one line."""

    dependency: str
    version: str
    paths: tuple[str, ...]
    change: str

    def scope(self, subject: str) -> Scope:
        """Return the scope of exactly this.

        Raises:
            ScopeError: It names no exact dependency files, or says something that could be read as more.
        """
        return Scope.dependency(self.dependency, self.version, self.paths, self.change, subject=subject)

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """Read the JSON form; all four keys are required, and there are no others.

        Raises:
            InputError: It has another shape.
        """
        if not isinstance(data, Mapping) or set(data) != set(_NAMED):
            raise no_exception(data)
        paths = data["paths"]
        if not isinstance(paths, (list, tuple)) or not all(isinstance(path, str) for path in paths):
            raise InputError("`paths` of `dependency_exception` is not a list of texts", hint="one exact file each")
        words = {name: data[name] for name in _NAMED if name != "paths"}
        for name, word in words.items():
            if not isinstance(word, str):
                raise InputError(f"`{name}` of `dependency_exception` is not text")
        return cls(paths=tuple(paths), **words)


def no_exception(data: object, *, hint: str = "all four, no more") -> InputError:
    """Return the error of an exception that has not exactly the four keys, which says what is missing or too much."""
    given = set(data) if isinstance(data, Mapping) else set()
    missing = [f"`{name}`" for name in _NAMED if name not in given]
    unknown = [f"`{name}`" for name in sorted(map(str, given - set(_NAMED)))]
    wrong = f"{', '.join(missing)} missing" if missing else f"{', '.join(unknown)} unknown"
    return InputError(f"`dependency_exception` is not {{dependency, version, paths, change}}: {wrong}", hint=hint)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What is handed back for a signal: by whom, what a person should read, and what has to be opened, if anything.

    `card` is free but for `title`, `question` and `change`, each one plain line, and but for `patch` and `effect`, which
    only a named exception has. `evidence` is free, and an exception in it counts for nothing.
    """

    signal: str
    by: str
    relaxes_constraint: bool = False
    card: Mapping[str, Any] = field(default_factory=dict)
    exception: Named | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse an exception that is not part of a question to a person, and drop one that nobody would be shown."""
        if self.exception is not None and not self.relaxes_constraint:
            raise ScopeError(
                "`dependency_exception` goes with relaxes_constraint: only a person can open anything",
                hint='"relaxes_constraint": true',
            )
        for key in self.card:
            if not _CARD_KEY.match(key) or key in _LABELS:
                raise InputError(
                    f"a card cannot have the key `{key}`: it could pass for a line of the gate's",
                    hint="small letters, digits and `_`, such as `why`, `question` or `title`",
                )
        kept = {key: value for key, value in self.evidence.items() if not _names_exception(key)}
        object.__setattr__(self, "evidence", kept)

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """Read the JSON form; `signal` and `by` are required.

        Raises:
            InputError: It is no object, lacks a key, has one that a report does not have, or a value of a wrong type.
            ScopeError: It names an exception without `relaxes_constraint`.
        """
        if not isinstance(data, Mapping):
            raise InputError(
                f"a report is a `{type(data).__name__}`, not an object", hint='try {"signal": ID, "by": ACTOR}'
            )
        unknown = sorted(set(data) - _KEYS)
        if unknown:
            raise InputError(f"a report has the unknown key `{unknown[0]}`", hint=f"keys: {', '.join(sorted(_KEYS))}")
        values = {**copy_json(dict(data), name="report")}
        for name in ("signal", "by"):
            if not isinstance(values.get(name), str):
                raise InputError(f"a report has no `{name}`", hint="it must be text")
        if type(values.get("relaxes_constraint", False)) is not bool:
            raise InputError("`relaxes_constraint` of a report is neither true nor false")
        for name in ("card", "evidence"):
            if not isinstance(values.get(name, {}), dict):
                raise InputError(f"`{name}` of a report is not an object")
        named = values.pop("dependency_exception", None)
        return cls(exception=None if named is None else Named.from_dict(named), **values)


def hand_back(report: Report, *, gate: Gate) -> Standing:
    """Put a report to a person, and return how its request stands.

    `gate` is that of the signal (`signal_subject`). Every earlier request of the signal that still stands is superseded,
    an approved one too, unless it is open and says exactly the same.

    Raises:
        ScopeError: The exception names no exact dependency files, or a line that is shown is none.
        IneffectiveRequest: Approving it would not open all that it names, or a rule takes no named exception.
        InputError: The gate is that of another subject.
    """
    subject = signal_subject(report.signal)
    if gate.subject != subject:
        raise InputError(f"the gate is that of `{gate.subject}`, and the report is about `{subject}`")
    boundary = gate.boundary()
    scope = _scope(report, subject)
    _check_rules(boundary, scope)
    requests, ledger = gate.requests, gate.ledger
    for attempt in range(_ATTEMPTS):
        opening = requests.opening(
            scope,
            boundary=boundary,
            requested_by=report.by,
            kind=HANDOFF,
            question=_text(report.card, "question"),
            card=_card(report, scope),
            supersede=True,
        )
        try:
            events = ledger.append(*opening.drafts, _handed_back(report, opening, subject), expect=opening.expect)
        except LedgerConflict:
            if attempt == _ATTEMPTS - 1:
                raise
            continue
        requests.note(events)
        requests.sweep(subject)
        return requests.standing(opening.request)
    raise AssertionError("unreachable")


def _handed_back(report: Report, opening: Opening, subject: str) -> Draft:
    """Return the record of the hand-back; the evidence goes to a body, which can be forgotten."""
    evidence = Body(canonical(mask(dict(report.evidence))))
    data = {
        "by": report.by,
        "request": opening.request,
        "relaxes_constraint": report.relaxes_constraint,
        "evidence": {"body": evidence.digest},
    }
    return Draft(stream=subject, kind="handed_back", data=data, bodies=(evidence,))


def _scope(report: Report, subject: str) -> Scope:
    """Return what approving a report would open."""
    if report.exception is not None:
        return report.exception.scope(subject)
    title = _text(report.card, "title") or f"signal {report.signal}"
    change = _text(report.card, "change") or "nothing is named, so approving opens nothing"
    return Scope.nothing(subject=subject, title=title, change=change)


def _card(report: Report, scope: Scope) -> dict[str, Any]:
    """Return what a person is shown besides the scope: with an exception, its one line and what approving it does."""
    own = {name: value for name, value in report.card.items() if _plain(name) not in {"patch", "effect"}}
    if report.exception is None:
        return own
    named = report.exception
    only = ", ".join(named.paths)
    return {
        **own,
        "patch": f"{scope.title}: {named.change} (only {only} may change); all other dependency changes stay forbidden",
        "effect": {"approve": "the next fix is allowed only this one dependency patch"},
    }


def _check_rules(boundary: Boundary, scope: Scope) -> None:
    """Refuse to name an exception from a rule that takes none (R75: other limits have no named exception)."""
    opened, _ = boundary.opens(scope)
    for name in opened.rules:
        rule = boundary.policy.rule(name)
        if rule.effect == "ask" and rule.exception != DEPENDENCY:
            raise IneffectiveRequest(
                f"the rule `{name}` takes no named exception: {rule.says}", hint="hand back without one, and say why"
            )


def _text(card: Mapping[str, Any], name: str) -> str | None:
    """Return a line of a card that is more than decoration."""
    value = card.get(name)
    if value is None:
        return None
    check_line(value, name)
    return str(value)


def _names_exception(key: str) -> bool:
    """Tell whether a key of the evidence is one under which a named exception would be looked for."""
    return _plain(key) == "dependencyexception"


def _plain(key: str) -> str:
    """Return a key without what a reader would overlook in it."""
    return "".join(char for char in key.casefold() if char.isalnum())
