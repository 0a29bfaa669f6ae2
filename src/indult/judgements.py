"""The gate's whole answer to one action, as a value."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from indult.actions import Action

__all__ = ["ENGINE", "Judgement", "Verdict"]

ENGINE: Final = "indult/1"
"""Version of the judging semantics; it changes whenever the same ledger and inputs may give another verdict."""


class Verdict(StrEnum):
    """The four answers of the gate.

    They map to the Singapore Model Governance Framework for Agentic AI: ALLOW, CONSTRAIN, REQUIRE_HUMAN and DENY.
    """

    APPROVE = "APPROVE"
    DOWNGRADE = "DOWNGRADE"
    ASK_USER = "ASK_USER"
    DENY = "DENY"


_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


class Judgement(NamedTuple):
    """The gate's whole answer to one action.

    It is a named tuple and no dataclass like the other values, since one is made for every call and a frozen dataclass
    of this size takes longer than all the rest of a judgement.

    `rules` are the ids of the rules that decided, `read` the declared facts they read (dotted path to value), `errors`
    what went wrong while judging, as `rule: message`. `instead` is the action that may run in place of a downgraded
    one. `boundary` is the digest of the boundary that judged and `briefed` of the one that the proposer had read.
    `grants` are the ids of the grants that an approval relies on and `covered` the targets that they opened; `request` is
    the question that was put to a person. `evaluations` counts how often the rules were evaluated: once
    for the action and once for each rung. `enforced` is false under `mode: observe`: the verdict stands, and nothing
    blocks on it. `observed` are the ids of matching rules that are themselves on `mode: observe` and decided nothing.
    """

    verdict: Verdict
    rules: tuple[str, ...]
    reason: str
    read: Mapping[str, Any] = _NOTHING
    grants: tuple[str, ...] = ()
    request: str | None = None
    covered: tuple[str, ...] = ()
    instead: Action | None = None
    errors: tuple[str, ...] = ()
    boundary: str = ""
    briefed: str | None = None
    engine: str = ENGINE
    evaluations: int = 1
    enforced: bool = True
    observed: tuple[str, ...] = ()

    def permitted(self, action: Action) -> Action | None:
        """Return what may run: the action, the rung in its place, or `None`."""
        if self.verdict is Verdict.APPROVE or not self.enforced:
            return action
        return self.instead if self.verdict is Verdict.DOWNGRADE else None

    @property
    def pushed_back(self) -> bool:
        """Tell whether the action, as proposed, was not let through."""
        return self.verdict is not Verdict.APPROVE

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form; empty parts are left out."""
        shown: dict[str, Any] = {
            "verdict": str(self.verdict),
            "rules": list(self.rules),
            "reason": self.reason,
            "read": dict(self.read),
            "boundary": self.boundary,
            "engine": self.engine,
            "evaluations": self.evaluations,
        }
        if self.instead is not None:
            shown["instead"] = self.instead.to_dict()
        for name in ("request", "briefed"):
            if getattr(self, name) is not None:
                shown[name] = getattr(self, name)
        for name in ("grants", "covered", "errors", "observed"):
            if getattr(self, name):
                shown[name] = list(getattr(self, name))
        if not self.enforced:
            shown["enforced"] = False
        return shown

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Judgement:
        """Read what `to_dict` wrote."""
        values = dict(data)
        values["verdict"] = Verdict(values["verdict"])
        if "instead" in values:
            values["instead"] = Action.from_dict(values["instead"])
        values["read"] = dict(values.get("read", ()))
        for name in ("rules", "grants", "covered", "errors", "observed"):
            if name in values:
                values[name] = tuple(values[name])
        return cls(**values)
