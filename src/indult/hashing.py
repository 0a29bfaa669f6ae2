"""SHA-256, from where it is soonest at hand.

`hashlib` loads OpenSSL, and that takes a process that judges one action longer than all of its hashing. Long texts are
left to it, since it hashes them several times as fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from hashlib import _Hash
    from hashlib import sha256 as _short
else:
    try:
        from _sha2 import sha256 as _short
    except ImportError:
        try:
            from _sha256 import sha256 as _short
        except ImportError:
            from hashlib import sha256 as _short

__all__ = ["sha256"]

LONG: Final = 65_536
"""From how many bytes on OpenSSL is worth its import."""


def sha256(data: bytes) -> _Hash:
    """Return the SHA-256 of some bytes, as `hashlib` does."""
    if len(data) < LONG:
        return _short(data)
    import hashlib

    return hashlib.sha256(data)
