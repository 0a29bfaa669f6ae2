"""Tools to test with, shipped: fakes of the seams, a ledger in memory, policy cases, and the case runners.

The case runners are a command, `python -m indult.testing KIND FILE`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from indult.testing.cases import CaseResult, PolicyCase, load_cases, run_case
    from indult.testing.fakes import FixedClock, RecordingExecutor, ScriptedProposer, StaticVerifier
    from indult.testing.memory import MemoryLedger

__all__ = [
    "CaseResult",
    "FixedClock",
    "MemoryLedger",
    "PolicyCase",
    "RecordingExecutor",
    "ScriptedProposer",
    "StaticVerifier",
    "load_cases",
    "run_case",
]

_HOME = {
    **dict.fromkeys(("CaseResult", "PolicyCase", "load_cases", "run_case"), "cases"),
    **dict.fromkeys(("FixedClock", "RecordingExecutor", "ScriptedProposer", "StaticVerifier"), "fakes"),
    "MemoryLedger": "memory",
}


def __getattr__(name: str) -> Any:
    """Import a tool from its module when it is first used."""
    if name not in _HOME:
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
