"""The private keys of approvers: in a file under a passphrase, or held by an `ssh-agent`.

A key that opens without a passphrase is worth as much as no key, since an agent that works for the same person can read
the same files. So none is made, and none is loaded.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from indult.errors import ApprovalError
from indult.places import config_folder
from indult.signatures import PublicKey, Signer, missing_extra, parse_public_key, signature_text
from indult.sshagent import AgentSigner, agent_keys

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = [
    "MIN_PASSPHRASE",
    "KeyFile",
    "find_signer",
    "key_path",
    "make_key",
    "open_key",
    "read_passphrase",
    "stored_keys",
]

MIN_PASSPHRASE: Final = 8
"""Shortest passphrase in characters."""

# N, r and p of scrypt: each guess at a passphrase takes 16 MB, five times over. OpenSSL opens no key that takes over 32 MB.
_COST: Final = (1 << 14, 8, 5)

_NAME: Final = re.compile(r"\w[\w.@+-]{0,99}")
_ENCRYPTED: Final = b"-----BEGIN ENCRYPTED PRIVATE KEY-----"
_MOST: Final = 256 * 1024


def key_path(name: str) -> Path:
    """Return where the key of this name is by default.

    Raises:
        ApprovalError: The name is none of a file.
    """
    if not _NAME.fullmatch(name):
        raise ApprovalError(f"`{name}` cannot be the name of a key file", hint="name the file with --key-file")
    return Path(config_folder()) / "keys" / f"{name}.pem"


class KeyFile:
    """A signer whose private key was read from a file and opened with a passphrase."""

    def __init__(self, key: Any) -> None:
        from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

        self._key = key
        self._public = PublicKey(key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw))

    @property
    def public_key(self) -> PublicKey:
        """Return the key that the signatures can be checked with."""
        return self._public

    def sign(self, payload: bytes) -> str:
        """Return the text of the signature over these bytes."""
        return signature_text(self._key.sign(payload))


def make_key(path: Path, passphrase: str, *, comment: str = "") -> PublicKey:
    """Make a key, keep it encrypted at `path`, with its public part beside it in a `.pub` file, and return that.

    Raises:
        ApprovalError: The passphrase is too short, there is a file already, or it cannot be written.
        MissingExtra: The library that makes keys is not installed.
    """
    _check_passphrase(passphrase)
    try:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
    except ImportError as exc:
        raise missing_extra() from exc
    key = Ed25519PrivateKey.generate()
    plain = key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
    public = PublicKey(KeyFile(key).public_key.raw, comment)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if path.parent == Path(config_folder()) / "keys":
            path.parent.chmod(0o700)
        if path.exists():
            raise ApprovalError(f"there is a key `{path}` already", hint="it can be used as it is, or moved away")
        _write(path, _encrypted(plain, passphrase))
        with suppress(FileNotFoundError):
            path.with_suffix(".pub").unlink()
        _write(path.with_suffix(".pub"), f"{public.text} {comment}".rstrip().encode() + b"\n")
    except OSError as exc:
        raise ApprovalError(f"the key `{path}` cannot be written: {_why(exc)}") from exc
    return public


def open_key(path: Path, passphrase: str) -> KeyFile:
    """Open the key at `path` with its passphrase.

    Raises:
        ApprovalError: There is none, others can read it, it has no passphrase or a short one, or this one is wrong.
        MissingExtra: The library that opens keys is not installed.
    """
    pem = _read_key(path)
    _check_passphrase(passphrase)
    try:
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key
    except ImportError as exc:
        raise missing_extra() from exc
    try:
        key = load_pem_private_key(pem, passphrase.encode("utf-8", "surrogateescape"))
    except (ValueError, TypeError, UnsupportedAlgorithm) as exc:
        raise ApprovalError(
            f"the key `{path}` does not open", hint="the passphrase is another, or it is damaged"
        ) from exc
    if not isinstance(key, Ed25519PrivateKey):
        raise ApprovalError(f"the key `{path}` is not an Ed25519 key", hint="make one: indult approver add NAME")
    return KeyFile(key)


def _read_key(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            _check_private(os.fstat(file.fileno()), f"the key `{path}`", f"chmod 600 {path}")
            pem = file.read(_MOST)
    except FileNotFoundError:
        raise ApprovalError(f"there is no key `{path}`", hint="make one: indult approver add NAME") from None
    except OSError as exc:
        raise ApprovalError(f"the key `{path}` cannot be read: {_why(exc)}") from exc
    if not pem.lstrip().startswith(_ENCRYPTED):
        hint = "make one: indult approver add NAME; a key of OpenSSH goes into ssh-agent, for --agent"
        raise ApprovalError(f"`{path}` is no key under a passphrase", hint=hint)
    return pem


def _check_private(found: os.stat_result, what: str, hint: str) -> None:
    if stat.S_ISREG(found.st_mode) and (found.st_mode & 0o077 or found.st_uid != os.getuid()):
        raise ApprovalError(f"{what} can be read by others", hint=hint)


def _check_passphrase(passphrase: str) -> None:
    if len(passphrase) < MIN_PASSPHRASE:
        hint = "whoever can read the file can try passphrases; four words that nobody would guess are a good one"
        raise ApprovalError(f"the passphrase is shorter than {MIN_PASSPHRASE} characters", hint=hint)


def _write(path: Path, data: bytes) -> None:
    """Write a file that only its owner can read, where none is."""
    with open(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _encrypted(plain: bytes, passphrase: str) -> bytes:
    """Return the PEM of a PKCS 8 key under PBES2 with scrypt (RFC 7914, section 7) and AES-256-CBC.

    What the library writes by itself has 2048 rounds of PBKDF2, which would let somebody try very many passphrases.
    """
    from base64 import encodebytes

    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
    from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

    salt, iv = os.urandom(16), os.urandom(16)
    cost, block, parallel = _COST
    kdf = Scrypt(salt=salt, length=32, n=cost, r=block, p=parallel)
    secret = kdf.derive(passphrase.encode("utf-8", "surrogateescape"))
    cipher = Cipher(algorithms.AES256(secret), modes.CBC(iv)).encryptor()
    padding = 16 - len(plain) % 16
    sealed = cipher.update(plain + bytes([padding]) * padding) + cipher.finalize()
    settings = _sequence(_octets(salt), *map(_number, _COST))
    derived = _sequence(_object("2b06010401da47040b"), settings)
    scheme = _sequence(derived, _sequence(_object("60864801650304012a"), _octets(iv)))
    der = _sequence(_sequence(_object("2a864886f70d01050d"), scheme), _octets(sealed))
    return b"%b\n%b-----END ENCRYPTED PRIVATE KEY-----\n" % (_ENCRYPTED, encodebytes(der))


def _tagged(tag: int, body: bytes) -> bytes:
    size = len(body)
    return bytes([tag, size] if size < 128 else [tag, 0x81, size]) + body


def _sequence(*parts: bytes) -> bytes:
    return _tagged(0x30, b"".join(parts))


def _object(name: str) -> bytes:
    return _tagged(0x06, bytes.fromhex(name))


def _octets(data: bytes) -> bytes:
    return _tagged(0x04, data)


def _number(value: int) -> bytes:
    return _tagged(0x02, value.to_bytes(value.bit_length() // 8 + 1, "big"))


def find_signer(key: PublicKey, passphrase: Callable[[Path], str], *, key_file: Path | None = None) -> Signer:
    """Return who can sign for a public key: `key_file` if given, else the agent, else a file in the folder of keys.

    `passphrase` is asked for that of a file, and only when one is opened.

    Raises:
        ApprovalError: The private key is nowhere, or does not open.
    """
    if key_file is None:
        with suppress(ApprovalError):
            if any(held.raw == key.raw for held in agent_keys()):
                return AgentSigner(key)
        key_file = next((path for path, public in stored_keys() if public.raw == key.raw), None)
        if key_file is None:
            hint = "add it to ssh-agent (ssh-add -c FILE), or name its file with --key-file"
            raise ApprovalError(
                f"the private key of {key.fingerprint} is neither in ssh-agent nor in a file", hint=hint
            )
    _read_key(key_file)  # What cannot be opened anyway is no reason to ask for a passphrase.
    signer = open_key(key_file, passphrase(key_file))
    if signer.public_key.raw != key.raw:
        raise ApprovalError(f"the key `{key_file}` is {signer.public_key.fingerprint}, not {key.fingerprint}")
    return signer


def stored_keys() -> Iterator[tuple[Path, PublicKey]]:
    """Yield the key files in the folder of keys, with what the `.pub` file beside each says of it."""
    for path in sorted((Path(config_folder()) / "keys").glob("*.pub")):
        with suppress(OSError, ValueError, ApprovalError):
            yield path.with_suffix(".pem"), parse_public_key(path.read_text(encoding="utf-8"))


def read_passphrase(path: Path, *, file: str | None = None, twice: bool = False) -> str:
    """Return a passphrase for the key at `path`: the first line of `file`, of standard input for `-`, or what is typed.

    Raises:
        ApprovalError: There is neither a file nor a terminal, the file can be read by others, or two inputs differ.
    """
    if file is not None:
        return _passphrase_of(file)
    if not sys.stdin.isatty():
        hint = "give --passphrase-file FILE, or use a key in ssh-agent"
        raise ApprovalError(f"no terminal to ask for the passphrase of `{path}` on", hint=hint)
    from getpass import getpass

    typed = getpass(f"Passphrase of {path}: ")
    if twice and getpass("Once more: ") != typed:
        raise ApprovalError("the two passphrases differ")
    return typed


def _passphrase_of(file: str) -> str:
    if file == "-":
        line = sys.stdin.buffer.readline(_MOST)
    else:
        try:
            with open(file, "rb") as opened:
                _check_private(os.fstat(opened.fileno()), f"the passphrase file `{file}`", f"chmod 600 {file}")
                line = opened.readline(_MOST)
        except OSError as exc:
            raise ApprovalError(f"the passphrase file `{file}` cannot be read: {_why(exc)}") from exc
    return line.rstrip(b"\r\n").decode("utf-8", "surrogateescape")


def _why(exc: Exception) -> str:
    return (getattr(exc, "strerror", None) or str(exc)).lower()
