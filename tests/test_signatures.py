from __future__ import annotations

import sys
from base64 import b64decode, b64encode

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from indult.errors import ApprovalError, MissingExtra
from indult.signatures import parse_public_key, signature_text, verify

KEY = Ed25519PrivateKey.generate()
LINE = KEY.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()
PAYLOAD = b'{"choice":"approve"}'
SIGNATURE = signature_text(KEY.sign(PAYLOAD))


def line_of(raw: bytes) -> str:
    """Return the line of a public key of these 32 bytes, whatever they are."""
    return "ssh-ed25519 " + b64encode(b"\0\0\0\x0bssh-ed25519\0\0\0\x20" + raw).decode()


class TestVerify:
    """Whether a signature is good."""

    def test_good(self) -> None:
        """The signature of the key over these bytes is good, with or without a comment behind the key."""
        assert verify(LINE, PAYLOAD, SIGNATURE)
        assert verify(f"{LINE} ann@example.org", PAYLOAD, SIGNATURE)

    def test_other(self) -> None:
        """Over other bytes, or of another key, it is not."""
        assert not verify(LINE, PAYLOAD + b" ", SIGNATURE)
        assert not verify(LINE, PAYLOAD, signature_text(Ed25519PrivateKey.generate().sign(PAYLOAD)))

    @pytest.mark.parametrize("at", range(0, 64, 9))
    def test_changed(self, at: int) -> None:
        """One changed bit is enough for it not to be."""
        raw = bytearray(b64decode(SIGNATURE.removeprefix("ed25519:")))
        raw[at] ^= 1

        assert not verify(LINE, PAYLOAD, signature_text(bytes(raw)))

    @pytest.mark.parametrize(
        "signature",
        [
            "",
            "ed25519:",
            SIGNATURE.removeprefix("ed25519:"),
            SIGNATURE.upper(),
            "rsa:" + SIGNATURE,
            SIGNATURE + "=",
            SIGNATURE + "\n",
            " " + SIGNATURE,
            SIGNATURE[:-4],
            SIGNATURE[:30] + "\n" + SIGNATURE[30:],
            "ed25519:\u00e9",
            "ed25519:\udcff",
            signature_text(b"\0" * 63),
            signature_text(b"\xff" * 64),
            None,
            7,
            SIGNATURE.encode(),
        ],
    )
    def test_malformed_signature(self, signature: object) -> None:
        """What is no signature is not good, and no error."""
        assert verify(LINE, PAYLOAD, signature) is False  # type: ignore[arg-type]

    def test_one_text_for_one_signature(self) -> None:
        """Base64 with other bits in its last character stands for the same bytes and is refused."""
        head, last = SIGNATURE[:-3], SIGNATURE[-3]
        alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
        twin = f"{head}{alphabet[alphabet.index(last) + 1]}=="

        assert b64decode(twin.removeprefix("ed25519:")) == b64decode(SIGNATURE.removeprefix("ed25519:"))
        assert not verify(LINE, PAYLOAD, twin)

    @pytest.mark.parametrize("key", ["", "ssh-ed25519", "ssh-ed25519 AAAA", LINE.replace("ed25519", "rsa"), None, 7])
    def test_malformed_key(self, key: object) -> None:
        """Under what is no key, no signature is good."""
        assert verify(key, PAYLOAD, SIGNATURE) is False  # type: ignore[arg-type]

    def test_group_order(self) -> None:
        """A signature to which the order of the group was added is another text for the same, and is not good."""
        raw = b64decode(SIGNATURE.removeprefix("ed25519:"))
        order = 2**252 + 27742317777372353535851937790883648493
        twin = raw[:32] + (int.from_bytes(raw[32:], "little") + order).to_bytes(32, "little")

        assert not verify(LINE, PAYLOAD, signature_text(twin))

    def test_without_the_library(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without the library, whoever needs it reads how to install it; nothing is taken for good."""
        monkeypatch.setitem(sys.modules, "cryptography.exceptions", None)
        with pytest.raises(MissingExtra) as caught:
            verify(LINE, PAYLOAD, SIGNATURE)

        assert "pip install 'indult[sign]'" == caught.value.hint


class TestPublicKey:
    """The line of a public key."""

    def test_parts(self) -> None:
        """A key has one text, which its comment is no part of."""
        key = parse_public_key(f"  {LINE}  ann of the first floor\n")

        assert (LINE, "ann of the first floor") == (key.text, key.comment)

    def test_fingerprint(self) -> None:
        """The fingerprint is the one that OpenSSH shows: this pair is what `ssh-keygen -lf` printed."""
        line = line_of(bytes.fromhex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"))

        assert "SHA256:bbXpuKG6zhzdmnxq256TlqzFBzRl2f6OOg722cYNbU8" == parse_public_key(line).fingerprint

    @pytest.mark.parametrize(
        "line",
        [
            "",
            "ssh-ed25519",
            LINE + "A",
            LINE + "AAAA",
            LINE.replace(" ", "\n"),
            LINE.replace("ssh-ed25519", "ssh-rsa"),
            LINE.partition(" ")[2],
            "ssh-ed25519 \u00e9",
            f'command="x" {LINE}',
            line_of(b"\x01" * 31),
        ],
    )
    def test_malformed(self, line: str) -> None:
        """Another line is refused."""
        with pytest.raises(ApprovalError, match="not an OpenSSH Ed25519 public key"):
            parse_public_key(line)

    @pytest.mark.parametrize(
        "number",
        [
            0,
            1,
            2**255 - 20,
            2**255 - 19,
            2**255 - 18,
            2,
            0x7A03AC9277FDC74EC6CC392CFA53202A0F67100D760B3CBA4FD84D3D706A17C7,
            0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826,
        ],
    )
    @pytest.mark.parametrize("sign", [0, 2**255])
    def test_unsound(self, number: int, sign: int) -> None:
        """Points of small order, other encodings of them and numbers that are no point are no keys."""
        with pytest.raises(ApprovalError, match="not a sound"):
            parse_public_key(line_of((number | sign).to_bytes(32, "little")))

    def test_small_order_forges(self) -> None:
        """Why small order is refused: under such a key the library takes one signature for any message."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        weak = (1).to_bytes(32, "little")
        Ed25519PublicKey.from_public_bytes(weak).verify(weak + bytes(32), b"anything")

        assert not verify(line_of(weak), b"anything", signature_text(weak + bytes(32)))
