"""The ledger: an append-only log of hash-chained streams, with views that are a fold over it.

`open_ledger` opens one; `Draft` and `Body` are what is appended, `Event` is what is read. Each name is imported from its
module when it is first used: what checks a ledger is not needed to write to one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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

_HOMES = {
    "audit": ("Anchor", "Damage", "Fault", "Verification"),
    "masking": ("mask", "mask_text"),
    "opening": ("default_path", "open_ledger"),
    "protocol": ("Ledger",),
    "streams": ("GENESIS", "Body", "Draft", "Event", "utc_now"),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import a public name from its module."""
    if name not in _HOME:
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names before they are imported, too."""
    return sorted({*globals(), *__all__})
