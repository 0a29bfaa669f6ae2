"""Names for records: a prefix and 26 characters that sort by time, as a ULID does."""

from __future__ import annotations

from typing import Final

__all__ = ["new_id"]

_ALPHABET: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def new_id(prefix: str, millis: int, entropy: bytes) -> str:
    """Return `prefix_` and the ULID of a time in milliseconds and ten random bytes.

    Time and randomness come in as data; whoever calls this from the edge brings them.
    """
    number = (millis << 80) | int.from_bytes(entropy[:10], "big")
    return f"{prefix}_" + "".join(_ALPHABET[(number >> shift) & 31] for shift in range(125, -1, -5))
