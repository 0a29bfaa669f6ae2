"""A small `ssh-agent` that answers what a test wants, and the words of its protocol."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from indult.signatures import PublicKey


def text_of(*parts: bytes) -> bytes:
    """Return strings as the protocol of the agent writes them."""
    return b"".join(struct.pack(">I", len(part)) + part for part in parts)


class FakeAgent:
    """Answers each message with what a function makes of it, as raw bytes on the wire."""

    def __init__(self, path: Path, answer: Callable[[bytes], bytes]) -> None:
        self.asked: list[bytes] = []
        self._answer = answer
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(path))
        self._listener.listen()
        self._thread = Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                channel, _ = self._listener.accept()
            except OSError:
                return
            with channel:
                size = int.from_bytes(channel.recv(4, socket.MSG_WAITALL), "big")
                self.asked.append(channel.recv(size, socket.MSG_WAITALL))
                channel.sendall(self._answer(self.asked[-1]))

    def close(self) -> None:
        """Stop listening."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()


StartAgent = Callable[[Callable[[bytes], bytes]], FakeAgent]


@pytest.fixture(name="agent")
def agent_fixture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StartAgent]:
    """Put a fake agent where ours is looked for."""
    started: list[FakeAgent] = []

    def start(answer: Callable[[bytes], bytes]) -> FakeAgent:
        path = tmp_path / f"agent{len(started)}"
        started.append(FakeAgent(path, answer))
        monkeypatch.setenv("SSH_AUTH_SOCK", str(path))
        return started[-1]

    yield start
    for one in started:
        one.close()


KEY = Ed25519PrivateKey.generate()
PUBLIC = PublicKey(KEY.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw))


def framed(body: bytes) -> bytes:
    """Return a message as it goes over the wire."""
    return struct.pack(">I", len(body)) + body


def identities(*keys: tuple[bytes, bytes]) -> bytes:
    """Return the answer that lists these keys."""
    parts = b"".join(text_of(blob, comment) for blob, comment in keys)
    return framed(bytes([12]) + struct.pack(">I", len(keys)) + parts)


def signed(raw: bytes, name: bytes = b"ssh-ed25519") -> bytes:
    """Return the answer that carries a signature."""
    return framed(bytes([14]) + text_of(text_of(name, raw)))
