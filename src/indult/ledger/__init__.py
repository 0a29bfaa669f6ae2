"""The ledger: an append-only log of hash-chained streams, with views that are a fold over it.

`open_ledger` opens one; `Draft` and `Body` are what is appended, `Event` is what is read.
"""

from __future__ import annotations

from indult.ledger.audit import Anchor, Damage, Fault, Verification
from indult.ledger.masking import mask, mask_text
from indult.ledger.opening import default_path, open_ledger
from indult.ledger.protocol import Ledger
from indult.ledger.streams import GENESIS, Body, Draft, Event, utc_now

__all__ = [
    "GENESIS",
    "Anchor",
    "Body",
    "Damage",
    "Draft",
    "Event",
    "Fault",
    "Ledger",
    "Verification",
    "default_path",
    "mask",
    "mask_text",
    "open_ledger",
    "utc_now",
]
