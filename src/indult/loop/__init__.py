"""The self-correcting loop and the seams it offers."""

from __future__ import annotations

from indult.loop.loop import Loop, Result
from indult.loop.protocols import Evidence, Executor, Outcome, Proposal, Proposer, Status, Usage, Verifier
from indult.loop.run import run_stream
from indult.loop.step import Cursor, Step
from indult.loop.stop import StopKind, StopReason

__all__ = [
    "Cursor",
    "Evidence",
    "Executor",
    "Loop",
    "Outcome",
    "Proposal",
    "Proposer",
    "Result",
    "Status",
    "Step",
    "StopKind",
    "StopReason",
    "Usage",
    "Verifier",
    "run_stream",
]
