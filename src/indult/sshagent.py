"""The `ssh-agent`: a client of its protocol, as far as it lists Ed25519 keys and signs with them.

The private key never leaves the agent, which may ask its owner before each signature (`ssh-add -c`). What is signed
here begins with `{`, so no signature of ours is one that logs in anywhere, and none made for a login counts here.
"""

from __future__ import annotations

import os
import socket
import struct
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from indult.errors import ApprovalError
from indult.signatures import PublicKey, parse_public_key, signature_text, verify

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["AgentSigner", "agent_keys"]

# Numbers of messages in draft-ietf-sshm-ssh-agent, section 6.
_IDENTITIES, _IDENTITIES_ANSWER, _SIGN, _SIGNATURE = 11, 12, 13, 14

_MOST: Final = 256 * 1024
"""Longest message in bytes, as in OpenSSH."""

_QUICK: Final = 10.0
_PATIENT: Final = 120.0
"""How long in seconds an agent may take to sign: it may ask its owner first, or wait for a touch."""


class AgentSigner:
    """A signer whose private key is held by an `ssh-agent`, which may ask its owner each time."""

    def __init__(self, key: PublicKey, address: str | None = None) -> None:
        self._key = key
        self._address = _agent_address(address)

    @property
    def public_key(self) -> PublicKey:
        """Return the key that the signatures can be checked with."""
        return self._key

    def sign(self, payload: bytes) -> str:
        """Return the text of the signature over these bytes.

        Raises:
            ApprovalError: The agent is gone, does not hold the key any more, refused, or signed something else.
        """
        message = bytes([_SIGN]) + _string(self._key.blob) + _string(payload) + struct.pack(">I", 0)
        kind, body = _ask(self._address, message, _PATIENT)
        if kind != _SIGNATURE:
            raise ApprovalError(
                f"ssh-agent did not sign with {self._key.fingerprint}", hint="ssh-add -c FILE, and say yes"
            )
        try:
            (blob,) = _strings(body)
            name, raw = _strings(blob)
        except ValueError:
            name, raw = b"", b""
        text = signature_text(raw)
        if name != b"ssh-ed25519" or not verify(self._key.text, payload, text):
            raise ApprovalError("ssh-agent signed something else, or with another key")
        return text


def agent_keys(address: str | None = None) -> list[PublicKey]:
    """Return the Ed25519 keys that the `ssh-agent` at `address` holds, `SSH_AUTH_SOCK` by default.

    Raises:
        ApprovalError: There is no agent, or it does not answer.
    """
    where = _agent_address(address)
    kind, body = _ask(where, bytes([_IDENTITIES]), _QUICK)
    if kind != _IDENTITIES_ANSWER or len(body) < 4:
        raise ApprovalError(f"ssh-agent at `{where}` lists no keys")
    try:
        parts = list(_strings(body[4:]))
    except ValueError:
        raise ApprovalError(f"ssh-agent at `{where}` does not speak its protocol") from None
    found = []
    for blob, comment in zip(parts[::2], parts[1::2], strict=False):
        key = _agent_key(blob, comment)
        if key is not None:
            found.append(key)
    return found


def _agent_key(blob: bytes, comment: bytes) -> PublicKey | None:
    """Return the key of an identity, none where it is of another kind."""
    from base64 import b64encode

    with suppress(ApprovalError):
        key = parse_public_key(f"ssh-ed25519 {b64encode(blob).decode()}")
        return PublicKey(key.raw, comment.decode("utf-8", "replace").strip())
    return None


def _agent_address(address: str | None) -> str:
    found = address or os.environ.get("SSH_AUTH_SOCK")
    if not found:
        raise ApprovalError(
            "there is no ssh-agent: SSH_AUTH_SOCK is not set", hint="eval $(ssh-agent); ssh-add -c FILE"
        )
    return found


def _ask(address: str, message: bytes, seconds: float) -> tuple[int, bytes]:
    """Send one message to an agent and return kind and body of the answer."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as channel:
            channel.settimeout(seconds)
            channel.connect(address)
            channel.sendall(struct.pack(">I", len(message)) + message)
            (size,) = struct.unpack(">I", _receive(channel, 4))
            if not 0 < size <= _MOST:
                raise ApprovalError(f"ssh-agent at `{address}` does not speak its protocol")
            answer = _receive(channel, size)
    except (OSError, ValueError) as exc:
        why = (
            "it did not answer in time"
            if isinstance(exc, TimeoutError)
            else (getattr(exc, "strerror", None) or str(exc))
        )
        raise ApprovalError(f"ssh-agent at `{address}` cannot be reached: {why.lower()}") from exc
    return answer[0], answer[1:]


def _receive(channel: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = channel.recv(size - len(data))
        if not part:
            raise ConnectionError("it hung up")
        data += part
    return data


def _string(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data


def _strings(data: bytes) -> Iterator[bytes]:
    """Yield the strings that a message is made of; ValueError where it is cut short."""
    while data:
        if len(data) < 4:
            raise ValueError("a length is cut short")
        end = 4 + int.from_bytes(data[:4], "big")
        if end > len(data):
            raise ValueError("a string is cut short")
        yield data[4:end]
        data = data[end:]
