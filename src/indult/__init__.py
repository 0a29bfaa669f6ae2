"""indult: AI agents act on their own under a declared law.

The names here are those of `docs/reference/api.md`. Each is imported from its module when it is first used, so that
`import indult` costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from indult.actions import Action
    from indult.boundary import Boundary, Brief
    from indult.budget import Budget, Meter
    from indult.critiques import Advice, Critique
    from indult.errors import IndultError
    from indult.gate import Gate
    from indult.judgements import Judgement, Verdict
    from indult.ledger import Draft, Event, Ledger, open_ledger
    from indult.loop import (
        Evidence,
        Executor,
        Loop,
        Outcome,
        Proposal,
        Proposer,
        Result,
        Status,
        Step,
        StopKind,
        StopReason,
        Usage,
        Verifier,
    )
    from indult.policy import Effect, Policy, Rule, load_policy, loads_policy

__all__ = [
    "Action",
    "Advice",
    "Boundary",
    "Brief",
    "Budget",
    "Critique",
    "Draft",
    "Effect",
    "Event",
    "Evidence",
    "Executor",
    "Gate",
    "IndultError",
    "Judgement",
    "Ledger",
    "Loop",
    "Meter",
    "Outcome",
    "Policy",
    "Proposal",
    "Proposer",
    "Result",
    "Rule",
    "Status",
    "Step",
    "StopKind",
    "StopReason",
    "Usage",
    "Verdict",
    "Verifier",
    "load_policy",
    "loads_policy",
    "open_ledger",
]

_HOMES = {
    "actions": ("Action",),
    "boundary": ("Boundary", "Brief"),
    "budget": ("Budget", "Meter"),
    "critiques": ("Advice", "Critique"),
    "errors": ("IndultError",),
    "gate": ("Gate",),
    "judgements": ("Judgement", "Verdict"),
    "ledger": ("Draft", "Event", "Ledger", "open_ledger"),
    "policy": ("Effect", "Policy", "Rule", "load_policy", "loads_policy"),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import a public name from its module; what has no other home is a name of the loop."""
    if name not in __all__:
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{_HOME.get(name, 'loop')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names before they are imported, too."""
    return sorted({*globals(), *__all__})
