"""The gate: it judges by a boundary, records what it judged, and keeps the requests that people answer.

`Gate` is what an edge uses; `Requests` is the second entrance to the ledger, for people, and imported when it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from indult.gate.gate import PREVIEW_BYTES, Gate, Settled, kept, preview

if TYPE_CHECKING:
    from indult.gate.records import Live
    from indult.gate.requests import Opening, Requests

__all__ = ["PREVIEW_BYTES", "Gate", "Live", "Opening", "Requests", "Settled", "kept", "preview"]


def __getattr__(name: str) -> Any:
    """Import what people need and most actions do not."""
    if name not in {"Live", "Opening", "Requests"}:
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{'records' if name == 'Live' else 'requests'}"), name)
    globals()[name] = value
    return value
