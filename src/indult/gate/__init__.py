"""The gate: it judges by a boundary, records what it judged, and keeps the requests that people answer.

`Gate` is what an edge uses; `Requests` is the second entrance to the ledger, for people.
"""

from __future__ import annotations

from indult.gate.gate import PREVIEW_BYTES, Gate, Settled, kept, preview
from indult.gate.records import Live
from indult.gate.requests import Opening, Requests

__all__ = ["PREVIEW_BYTES", "Gate", "Live", "Opening", "Requests", "Settled", "kept", "preview"]
