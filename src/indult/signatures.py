"""Ed25519 signatures: public keys as OpenSSH writes them, fingerprints, and whether a signature is good.

A signature is text, `ed25519:` and base64; a public key is the line of a `.pub` file. Whatever is malformed is not
good: nothing here raises an error of the library that does the arithmetic, which is imported when a signature is first
checked and comes with the extra `sign`.
"""

from __future__ import annotations

from binascii import Error, a2b_base64, b2a_base64
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Final, Protocol

from indult.errors import ApprovalError, MissingExtra

__all__ = ["PREFIX", "PublicKey", "Signer", "missing_extra", "parse_public_key", "signature_text", "verify"]

PREFIX: Final = "ed25519:"
"""How the text of a signature begins."""

_KIND: Final = "ssh-ed25519"

# RFC 8709, section 4: two strings, each after its length, the name of the kind and the 32 bytes of the key.
_HEAD: Final = b"\0\0\0\x0bssh-ed25519\0\0\0\x20"

# The field and the curve of RFC 8032, section 5.1.
_P: Final = 2**255 - 19
_D: Final = -121665 * pow(121666, -1, _P) % _P

# The ordinates of the eight points of small order: under such a key one signature is good for every message.
_ORDER_8: Final = 0x7A03AC9277FDC74EC6CC392CFA53202A0F67100D760B3CBA4FD84D3D706A17C7
_WEAK: Final = frozenset({0, 1, _P - 1, _ORDER_8, _P - _ORDER_8})


@dataclass(frozen=True, slots=True)
class PublicKey:
    """An Ed25519 public key: its 32 bytes, and the comment that stood behind it."""

    raw: bytes
    comment: str = ""

    @property
    def blob(self) -> bytes:
        """Return the key as the SSH protocols carry it."""
        return _HEAD + self.raw

    @property
    def text(self) -> str:
        """Return `ssh-ed25519 BASE64`, without the comment: one key, one text."""
        return f"{_KIND} {_base64(self.blob)}"

    @property
    def fingerprint(self) -> str:
        """Return `SHA256:` and base64, as `ssh-keygen -l` shows it."""
        return "SHA256:" + _base64(sha256(self.blob).digest()).rstrip("=")


class Signer(Protocol):
    """Whoever holds a private key and signs with it."""

    @property
    def public_key(self) -> PublicKey:
        """Return the key that the signatures can be checked with."""
        ...

    def sign(self, payload: bytes) -> str:
        """Return the text of the signature over exactly these bytes.

        Raises:
            ApprovalError: The key is locked, gone, or its holder refused.
        """
        ...


@lru_cache(maxsize=256)
def parse_public_key(line: str) -> PublicKey:
    """Return the key of a line `ssh-ed25519 BASE64 [COMMENT]`.

    Raises:
        ApprovalError: It is no such line, or the key is one under which forging is easy.
    """
    kind, _, rest = line.strip().partition(" ")
    data, _, comment = rest.strip().partition(" ")
    blob = _bytes(data)
    if kind != _KIND or blob is None or len(blob) != len(_HEAD) + 32 or not blob.startswith(_HEAD):
        raise ApprovalError(
            "not an OpenSSH Ed25519 public key",
            hint="one line that begins with `ssh-ed25519 AAAA`, from a file that ends with `.pub`",
        )
    key = PublicKey(blob[len(_HEAD) :], comment.strip())
    if not _sound(key.raw):
        raise ApprovalError("not a sound Ed25519 public key: no private key belongs to it", hint="make a new one")
    return key


def verify(public_key: str, payload: bytes, signature: str) -> bool:
    """Tell whether `signature` is that of the holder of `public_key` over `payload`; what is malformed is not.

    Raises:
        MissingExtra: The library that checks signatures is not installed.
    """
    # Both come out of files and ledgers, so an annotation promises nothing.
    if not isinstance(public_key, str) or not isinstance(signature, str):
        return False
    try:
        raw = parse_public_key(public_key).raw
    except ApprovalError:
        return False
    encoded = signature.removeprefix(PREFIX)
    wanted = _bytes(encoded)
    if encoded == signature or wanted is None or len(wanted) != 64:
        return False
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    except ImportError as exc:
        raise missing_extra() from exc
    try:
        Ed25519PublicKey.from_public_bytes(raw).verify(wanted, payload)
    except (InvalidSignature, ValueError):
        return False
    return True


def signature_text(raw: bytes) -> str:
    """Return the text of the 64 bytes of a signature."""
    return PREFIX + _base64(raw)


def missing_extra() -> MissingExtra:
    """Return the error that says how signatures come into an installation."""
    return MissingExtra("signatures need the extra `sign`", hint="pip install 'indult[sign]'")


def _base64(raw: bytes) -> str:
    return b2a_base64(raw, newline=False).decode()


def _bytes(text: str) -> bytes | None:
    """Return what base64 stands for; none where another text stands for the same, so that each value has one."""
    try:
        raw = a2b_base64(text, strict_mode=True)
    except (Error, ValueError):
        return None
    return raw if _base64(raw) == text else None


def _sound(raw: bytes) -> bool:
    """Tell whether 32 bytes name a point of the curve, in its one encoding, and one of large order."""
    y = int.from_bytes(raw, "little") & (2**255 - 1)
    if y >= _P or y in _WEAK:
        return False
    square = (y * y - 1) * pow(_D * y * y + 1, -1, _P) % _P
    return pow(square, (_P - 1) // 2, _P) == 1
