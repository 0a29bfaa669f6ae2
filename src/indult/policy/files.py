"""The text of a policy file, before anybody makes a policy of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from indult.canonical import MAX_BYTES
from indult.errors import PolicyError
from indult.hashing import sha256

if TYPE_CHECKING:
    import os

__all__ = ["policy_text", "text_digest"]


def policy_text(path: str | os.PathLike[str]) -> bytes:
    """Return what a policy file says, up to one byte more than one may have.

    Raises:
        PolicyError: There is none, or it cannot be read.
    """
    try:
        with open(path, "rb") as file:  # importing pathlib would slow every start
            # One byte more than allowed tells that it is too large, whatever kind of file this is.
            return file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise PolicyError("there is no such policy file", hint="name one with --policy", source=str(path)) from None
    except (OSError, ValueError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) and exc.strerror else str(exc)
        raise PolicyError(f"the policy file cannot be read: {reason.lower()}", source=str(path)) from exc


def text_digest(raw: bytes) -> str:
    """Return `sha256:` and the hash of what a policy file says, byte for byte."""
    return "sha256:" + sha256(raw).hexdigest()
