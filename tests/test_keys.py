from __future__ import annotations

import io
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from tests.agents import PUBLIC, StartAgent, agent_fixture, identities

from indult.errors import ApprovalError, MissingExtra
from indult.keys import (
    find_signer,
    key_path,
    make_key,
    open_key,
    read_passphrase,
    stored_keys,
)
from indult.signatures import parse_public_key, verify
from indult.sshagent import AgentSigner

__all__ = ["agent_fixture"]

PASSPHRASE = "correct horse"
PAYLOAD = b'{"type":"indult-decision"}'


def never(path: Path) -> str:
    """Stand for a person who must not be asked."""
    pytest.fail(f"asked for the passphrase of {path}")


def mode(path: Path) -> int:
    """Return the permission bits of a file."""
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(name="folder")
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the test a folder of settings and no agent."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    return tmp_path / "config" / "indult" / "keys"


class TestMake:
    """Making a key."""

    def test_for_its_owner_only(self, folder: Path) -> None:
        """The file is 0600 in a folder that is 0700, and so it stays where the folder was there and open."""
        folder.mkdir(parents=True, mode=0o755)
        make_key(key_path("ann"), PASSPHRASE)

        assert folder / "ann.pem" == key_path("ann")
        assert (0o700, 0o600) == (mode(folder), mode(folder / "ann.pem"))

    def test_public_part(self, folder: Path) -> None:
        """The public part stands beside the key as OpenSSH writes it, with whose it is."""
        public = make_key(key_path("ann"), PASSPHRASE, comment="ann@example.org")
        line = (folder / "ann.pub").read_text(encoding="utf-8")

        assert f"{public.text} ann@example.org\n" == line
        assert "ann@example.org" == parse_public_key(line).comment

    @pytest.mark.parametrize("passphrase", ["", "short", "1234567"])
    def test_short_passphrase(self, folder: Path, passphrase: str) -> None:
        """Without a passphrase, or with one under eight characters, nothing is made."""
        with pytest.raises(ApprovalError, match="shorter than 8"):
            make_key(key_path("ann"), passphrase)

        assert not folder.exists()

    def test_never_over_another(self, folder: Path) -> None:
        """A key that is there is left as it is."""
        make_key(key_path("ann"), PASSPHRASE)
        before = (folder / "ann.pem").read_bytes(), (folder / "ann.pub").read_bytes()
        with pytest.raises(ApprovalError, match="already"):
            make_key(key_path("ann"), PASSPHRASE)

        assert before == ((folder / "ann.pem").read_bytes(), (folder / "ann.pub").read_bytes())

    def test_where_nothing_can_be_written(self, tmp_path: Path) -> None:
        """A folder that cannot be made is an error that says so."""
        (tmp_path / "file").touch()
        with pytest.raises(ApprovalError, match="cannot be written"):
            make_key(tmp_path / "file" / "ann.pem", PASSPHRASE)

    @pytest.mark.parametrize("name", ["", ".", "..", "../ann", "a/b", "ann\n", "-x", "a\0", "x" * 101])
    def test_name(self, name: str) -> None:
        """A name that would lead elsewhere is refused."""
        with pytest.raises(ApprovalError, match="cannot be the name of a key file"):
            key_path(name)

    def test_costly_to_guess(self, folder: Path) -> None:
        """The passphrase goes through scrypt, and no quicker way is taken behind our back."""
        make_key(key_path("ann"), PASSPHRASE)
        pem = (folder / "ann.pem").read_text(encoding="ascii")
        done = subprocess.run(["openssl", "asn1parse"], input=pem, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"no openssl: {done.stderr}")

        assert "scrypt" in done.stdout
        assert "INTEGER           :4000" in done.stdout

    def test_without_the_library(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without the library, the error says how to install it."""
        make_key(key_path("ann"), PASSPHRASE)
        monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.asymmetric.ed25519", None)
        for attempt in (lambda: make_key(key_path("bob"), PASSPHRASE), lambda: open_key(key_path("ann"), PASSPHRASE)):
            with pytest.raises(MissingExtra) as caught:
                attempt()

            assert "pip install 'indult[sign]'" == caught.value.hint


class TestOpen:
    """Opening a key."""

    def test_signs(self, folder: Path) -> None:
        """What it signs is good under its public key, and under no other."""
        public = make_key(key_path("ann"), PASSPHRASE)
        signer = open_key(folder / "ann.pem", PASSPHRASE)

        assert public.raw == signer.public_key.raw
        assert verify(public.text, PAYLOAD, signer.sign(PAYLOAD))
        assert not verify(make_key(key_path("bob"), PASSPHRASE).text, PAYLOAD, signer.sign(PAYLOAD))

    @pytest.mark.parametrize("passphrase", ["pass phrase with \u00e9", "\N{HORSE}" * 8, "x" * 500])
    def test_any_passphrase(self, folder: Path, passphrase: str) -> None:
        """A passphrase may hold what a keyboard gives."""
        make_key(key_path("ann"), passphrase)

        assert open_key(folder / "ann.pem", passphrase)

    def test_wrong_passphrase(self, folder: Path) -> None:
        """Another passphrase opens nothing."""
        make_key(key_path("ann"), PASSPHRASE)
        with pytest.raises(ApprovalError, match="does not open"):
            open_key(folder / "ann.pem", PASSPHRASE + "!")

    def test_missing(self, folder: Path) -> None:
        """Where there is no key, the hint says how one is made."""
        with pytest.raises(ApprovalError, match="there is no key") as caught:
            open_key(folder / "ann.pem", PASSPHRASE)

        assert "make one: indult approver add NAME" == caught.value.hint

    @pytest.mark.parametrize("bits", [0o640, 0o604, 0o660, 0o644, 0o610])
    def test_others_can_read_it(self, folder: Path, bits: int) -> None:
        """A key that others can read or write is not used."""
        make_key(key_path("ann"), PASSPHRASE)
        (folder / "ann.pem").chmod(bits)
        with pytest.raises(ApprovalError, match="can be read by others"):
            open_key(folder / "ann.pem", PASSPHRASE)

    @pytest.mark.parametrize("form", [PrivateFormat.PKCS8, PrivateFormat.OpenSSH])
    def test_without_a_passphrase(self, tmp_path: Path, form: PrivateFormat) -> None:
        """A key that opens without a passphrase is refused, whatever passphrase is given."""
        path = tmp_path / "ann.pem"
        path.write_bytes(Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, form, NoEncryption()))
        path.chmod(0o600)
        with pytest.raises(ApprovalError, match="no key under a passphrase"):
            open_key(path, PASSPHRASE)

    def test_short_passphrase(self, tmp_path: Path) -> None:
        """A key that somebody made elsewhere under a short passphrase is refused though it would open."""
        path = tmp_path / "ann.pem"
        key = Ed25519PrivateKey.generate()
        path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"1234567")))
        path.chmod(0o600)
        with pytest.raises(ApprovalError, match="shorter than 8"):
            open_key(path, "1234567")

    def test_made_elsewhere(self, tmp_path: Path) -> None:
        """A PKCS 8 key that another tool encrypted opens."""
        path = tmp_path / "ann.pem"
        key = Ed25519PrivateKey.generate()
        path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"12345678")))
        path.chmod(0o600)

        assert key.public_key().public_bytes_raw() == open_key(path, "12345678").public_key.raw

    def test_another_kind_of_key(self, tmp_path: Path) -> None:
        """An RSA key is not taken for one of ours."""
        path = tmp_path / "ann.pem"
        key = generate_private_key(65537, 2048)
        path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"12345678")))
        path.chmod(0o600)
        with pytest.raises(ApprovalError, match="not an Ed25519 key"):
            open_key(path, "12345678")

    @pytest.mark.parametrize("cut", [60, 100, 200, -40])
    def test_damaged(self, folder: Path, cut: int) -> None:
        """A file that is cut short does not open, and no error of the library escapes."""
        make_key(key_path("ann"), PASSPHRASE)
        path = folder / "ann.pem"
        path.write_bytes(path.read_bytes()[:cut])
        with pytest.raises(ApprovalError, match="does not open"):
            open_key(path, PASSPHRASE)

    def test_opens_with_other_tools(self, folder: Path) -> None:
        """OpenSSL reads the file: nobody is tied to this program."""
        public = make_key(key_path("ann"), PASSPHRASE)
        command = ["openssl", "pkey", "-passin", f"pass:{PASSPHRASE}", "-pubout", "-outform", "DER", "-in"]
        try:
            done = subprocess.run([*command, folder / "ann.pem"], capture_output=True, check=False)
        except FileNotFoundError:
            pytest.skip("no openssl")

        assert public.raw == done.stdout[-32:]


class TestPassphrase:
    """Where a passphrase comes from."""

    def test_without_a_terminal(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Nobody is asked where there is no terminal; the hint says what else there is."""
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"correct horse\n")))
        with pytest.raises(ApprovalError, match="no terminal") as caught:
            read_passphrase(Path("ann.pem"))

        assert "give --passphrase-file FILE, or use a key in ssh-agent" == caught.value.hint

    @pytest.mark.parametrize("text", ["correct horse", "correct horse\n", "correct horse\r\nsecond line\n"])
    def test_file(self, tmp_path: Path, text: str) -> None:
        """Of a file, the first line counts, without its end."""
        file = tmp_path / "passphrase"
        file.write_bytes(text.encode())
        file.chmod(0o600)

        assert "correct horse" == read_passphrase(Path("ann.pem"), file=str(file))

    def test_file_of_all(self, tmp_path: Path) -> None:
        """A file that others can read is no place for a passphrase."""
        file = tmp_path / "passphrase"
        file.write_text(PASSPHRASE, encoding="utf-8")
        file.chmod(0o644)
        with pytest.raises(ApprovalError, match="can be read by others"):
            read_passphrase(Path("ann.pem"), file=str(file))

    def test_no_file(self, tmp_path: Path) -> None:
        """A file that is not there is an error that names it."""
        with pytest.raises(ApprovalError, match="no such file"):
            read_passphrase(Path("ann.pem"), file=str(tmp_path / "none"))

    def test_standard_input(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """`-` is a line of standard input, for whoever keeps passphrases in a safe."""
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"correct horse\n")))

        assert "correct horse" == read_passphrase(Path("ann.pem"), file="-")

    @pytest.mark.parametrize(("second", "same"), [("correct horse", True), ("correct hose", False)])
    def test_twice(self, monkeypatch: pytest.MonkeyPatch, second: str, same: bool) -> None:
        """A new passphrase is typed twice, and the two must agree."""
        typed = iter(["correct horse", second])
        monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
        monkeypatch.setattr("getpass.getpass", lambda _: next(typed))
        if same:
            assert "correct horse" == read_passphrase(Path("ann.pem"), twice=True)
            return
        with pytest.raises(ApprovalError, match="differ"):
            read_passphrase(Path("ann.pem"), twice=True)


class TestFind:
    """Finding who can sign for a public key."""

    def test_agent_first(self, folder: Path, agent: StartAgent) -> None:
        """A key that the agent holds needs no passphrase."""
        agent(lambda _: identities((PUBLIC.blob, b"")))

        assert isinstance(find_signer(PUBLIC, never), AgentSigner)

    def test_then_file(self, folder: Path, agent: StartAgent) -> None:
        """A key that the agent does not hold is looked for in the folder of keys, and its passphrase asked for once."""
        agent(lambda _: identities())
        public = make_key(key_path("ann"), PASSPHRASE)
        make_key(key_path("abe"), PASSPHRASE)
        asked: list[Path] = []
        signer = find_signer(public, lambda path: asked.append(path) or PASSPHRASE)  # type: ignore[func-returns-value]

        assert verify(public.text, PAYLOAD, signer.sign(PAYLOAD))
        assert [folder / "ann.pem"] == asked

    def test_broken_agent(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """An agent that is gone does not hide the file."""
        monkeypatch.setenv("SSH_AUTH_SOCK", str(folder / "none"))
        public = make_key(key_path("ann"), PASSPHRASE)

        assert public.raw == find_signer(public, lambda _: PASSPHRASE).public_key.raw

    def test_nowhere(self, folder: Path) -> None:
        """A key that is nowhere is an error that names it as OpenSSH does."""
        make_key(key_path("ann"), PASSPHRASE)
        with pytest.raises(ApprovalError, match=r"private key of SHA256:.{43} is neither"):
            find_signer(PUBLIC, never)

    def test_another_key(self, folder: Path) -> None:
        """A `.pub` file that lies about its key brings no signature of another."""
        make_key(key_path("ann"), PASSPHRASE)
        (folder / "ann.pub").write_text(PUBLIC.text, encoding="utf-8")
        with pytest.raises(ApprovalError, match=", not SHA256:"):
            find_signer(PUBLIC, lambda _: PASSPHRASE)

    def test_named_file(self, folder: Path, tmp_path: Path) -> None:
        """A named file is opened, and no other place is looked at."""
        public = make_key(tmp_path / "mine.pem", PASSPHRASE)

        assert public.raw == find_signer(public, lambda _: PASSPHRASE, key_file=tmp_path / "mine.pem").public_key.raw
        with pytest.raises(ApprovalError, match="there is no key"):
            find_signer(public, never, key_file=tmp_path / "none.pem")

    def test_stored(self, folder: Path) -> None:
        """Keys in the folder are listed by what stands beside them; what is unreadable is passed over."""
        ann = make_key(key_path("ann"), PASSPHRASE, comment="ann")
        (folder / "bad.pub").write_bytes(b"\xff")
        (folder / "rsa.pub").write_text("ssh-rsa AAAA", encoding="utf-8")

        assert [(folder / "ann.pem", ann)] == list(stored_keys())
