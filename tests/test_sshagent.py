from __future__ import annotations

import shutil
import socket
import subprocess
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from tests.agents import KEY, PUBLIC, StartAgent, agent_fixture, framed, identities, signed, text_of

from indult.errors import ApprovalError
from indult.keys import find_signer
from indult.signatures import verify
from indult.sshagent import AgentSigner, agent_keys

__all__ = ["agent_fixture"]

PAYLOAD = b'{"type":"indult-decision"}'


class TestAgent:
    """Keys that an agent holds."""

    def test_lists(self, agent: StartAgent) -> None:
        """The Ed25519 keys of the agent are listed with their comments; keys of other kinds are not ours."""
        agent(lambda _: identities((b"\0\0\0\x07ssh-rsa", b"other"), (PUBLIC.blob, b"ann's \xff")))
        (key,) = agent_keys()

        assert (PUBLIC.raw, "ann's \ufffd") == (key.raw, key.comment)

    def test_signs(self, agent: StartAgent) -> None:
        """The agent is asked for a signature over exactly the payload, and what it gives is checked."""
        fake = agent(lambda _: signed(KEY.sign(PAYLOAD)))
        text = AgentSigner(PUBLIC).sign(PAYLOAD)

        assert verify(PUBLIC.text, PAYLOAD, text)
        assert [bytes([13]) + text_of(PUBLIC.blob, PAYLOAD) + b"\0\0\0\0"] == fake.asked

    @pytest.mark.parametrize(
        ("answer", "message"),
        [
            (framed(b"\x05"), "did not sign"),
            (signed(Ed25519PrivateKey.generate().sign(PAYLOAD)), "something else"),
            (signed(KEY.sign(b"other")), "something else"),
            (signed(KEY.sign(PAYLOAD), b"ssh-rsa"), "something else"),
            (signed(b""), "something else"),
            (framed(b"\x0e\0\0\0"), "something else"),
            (framed(b"\x0e\0\0\0\x09x"), "something else"),
            (framed(b"\x0e"), "something else"),
            (b"\0\0\0\0", "does not speak its protocol"),
            (b"\xff\xff\xff\xff", "does not speak its protocol"),
            (b"\0\0\0\x09x", "it hung up"),
            (b"", "it hung up"),
        ],
    )
    def test_wrong_answer(self, agent: StartAgent, answer: bytes, message: str) -> None:
        """An agent that refuses, signs something else or speaks another language is an error, and nothing is signed."""
        agent(lambda _: answer)
        with pytest.raises(ApprovalError, match=message):
            AgentSigner(PUBLIC).sign(PAYLOAD)

    @pytest.mark.parametrize("answer", [framed(b"\x05"), framed(b"\x0c"), framed(b"\x0c\0\0\0\x01\0\0\0\x09x"), b""])
    def test_wrong_list(self, agent: StartAgent, answer: bytes) -> None:
        """A list that is none is an error."""
        agent(lambda _: answer)
        with pytest.raises(ApprovalError, match="ssh-agent at"):
            agent_keys()

    def test_none(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without an agent, the hint says how one is started."""
        monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
        with pytest.raises(ApprovalError, match="SSH_AUTH_SOCK is not set"):
            agent_keys()

    @pytest.mark.parametrize("name", ["none", "x" * 200, "nul\0"])
    def test_gone(self, tmp_path: Path, name: str) -> None:
        """An agent that is not there is an error, whatever the variable holds."""
        with pytest.raises(ApprovalError, match="cannot be reached"):
            agent_keys(str(tmp_path / name))

    def test_silent(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """An agent that does not answer is given up on."""
        monkeypatch.setattr("indult.sshagent._QUICK", 0.01)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
            listener.bind(str(tmp_path / "agent"))
            listener.listen()
            with pytest.raises(ApprovalError, match="did not answer in time"):
                agent_keys(str(tmp_path / "agent"))


class TestRealAgent:
    """The agent of OpenSSH."""

    def test_lists_and_signs(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A key that `ssh-add` put into `ssh-agent` is listed, found and signs."""
        if not all(map(shutil.which, ("ssh-agent", "ssh-add"))):
            pytest.skip("no ssh-agent: it comes with openssh-client")
        address = tmp_path / "real"
        process = subprocess.Popen(
            ["ssh-agent", "-D", "-a", address], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        try:
            assert process.stdout is not None
            process.stdout.readline()  # It tells its address once it listens.
            monkeypatch.setenv("SSH_AUTH_SOCK", str(address))
            self._add(tmp_path)
            (key,) = agent_keys()
            signer = find_signer(PUBLIC, lambda path: pytest.fail(f"asked for {path}"))

            assert (PUBLIC.raw, str(tmp_path / "id_ed25519")) == (key.raw, key.comment)
            assert isinstance(signer, AgentSigner)
            assert verify(PUBLIC.text, PAYLOAD, signer.sign(PAYLOAD))
            assert PUBLIC == signer.public_key

            subprocess.run(["ssh-add", "-q", "-D"], check=True, stderr=subprocess.DEVNULL)
            with pytest.raises(ApprovalError, match="did not sign"):
                signer.sign(PAYLOAD)
        finally:
            process.terminate()
            process.communicate()

    @staticmethod
    def _add(folder: Path) -> None:
        file = folder / "id_ed25519"
        file.write_bytes(KEY.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()))
        file.chmod(0o600)
        subprocess.run(["ssh-add", "-q", file], check=True)
