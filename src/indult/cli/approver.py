"""`indult approver`: say in the policy whose signed decisions count, and make the keys to sign with."""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from indult.cli.deciding import check_actor
from indult.cli.frame import emit, json_option, policy_option, printable, read_input
from indult.errors import ApprovalError, IndultError, PolicyError, UsageError
from indult.keys import key_path, make_key, open_key, read_passphrase, stored_keys
from indult.policy import load_policy
from indult.policy.edit import add_approver, approver_lines, remove_approver
from indult.signatures import PublicKey, parse_public_key
from indult.sshagent import agent_keys

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["command"]

# The public key of RFC 8032, section 7.1, test 1: it stands in for one that is not made yet.
_SAMPLE: Final = PublicKey(bytes.fromhex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"))


# A comment that stays what it is in a policy file without quotes.
_COMMENT: Final = re.compile(r"\w[\w.@+ -]*\w", re.ASCII)


@click.group(name="approver", help="Say whose signed decisions count under a policy.")
def command() -> None:
    """Hold the verbs about approvers together."""


@command.command(
    name="add",
    short_help="Declare an approver, with a new key or one that there is.",
    help="Declare NAME an approver in the policy file. The key is made and kept under a passphrase, unless there is one "
    "of that name already, or another is named. Nothing else in the file changes.",
)
@click.argument("name")
@click.option(
    "--agent",
    metavar="[FINGERPRINT]",
    is_flag=False,
    flag_value="",
    help="Take a key that ssh-agent holds: the only one, or the one of this fingerprint. Stands behind NAME.",
)
@click.option(
    "--key-file", metavar="FILE", type=click.Path(path_type=Path), help="Where the private key is, or is to be made."
)
@click.option("--public-key", metavar="LINE", help="Somebody's public key: the line of a .pub file, @FILE, or `-`.")
@click.option("--passphrase-file", metavar="FILE", help="Where the passphrase stands; `-` for the input.")
@click.option("--print", "only_print", is_flag=True, help="Print the lines for the policy file, and leave it alone.")
@policy_option
@json_option
def add(
    *,
    name: str,
    agent: str | None,
    key_file: Path | None,
    public_key: str | None,
    passphrase_file: str | None,
    only_print: bool,
    policy: str,
    as_json: bool,
) -> None:
    """Find or make the key, put the line into the file, and say what comes next."""
    check_actor()
    if sum(given is not None for given in (agent, key_file, public_key)) > 1:
        raise UsageError("`--agent`, `--key-file` and `--public-key` exclude each other")
    # All that can be wrong with the file is told before a key is made for it.
    text = "" if only_print else _read(policy)
    if not only_print:
        add_approver(text, name, _SAMPLE.text, source=policy)
    if public_key is not None:
        key, origin = parse_public_key(read_input(public_key).decode("utf-8", "replace")), "the line that was given"
    elif agent is not None:
        key, origin = _from_agent(agent), "ssh-agent"
    else:
        path = key_file or key_path(name)
        key, origin = _from_file(path, name, passphrase_file), str(path)
    line = f"{key.text} {key.comment}" if _COMMENT.fullmatch(key.comment) else key.text
    if not only_print:
        _write(policy, add_approver(text, name, line, source=policy))
    row = {"name": name, "fingerprint": key.fingerprint, "key": key.text, "from": origin}
    if as_json:
        emit(row | {"policy": None if only_print else policy})
    elif only_print:
        click.echo(approver_lines(name, line), nl=False)
    else:
        click.echo(printable(f"{name} is an approver of {policy} with {key.fingerprint}, from {origin}"))
        click.echo(_NEXT)


_NEXT: Final = "once a version of the file is trusted, the change counts when it is trusted too: indult trust"


@command.command(name="list", help="List the approvers of a policy, and where their private keys are, as far as seen.")
@policy_option
@json_option
def list_(*, policy: str, as_json: bool) -> None:
    """Print one line per approver."""
    approvers = load_policy(policy).approvers
    places = _places()
    for name, line in approvers.items():
        key = parse_public_key(line)
        row = {"name": name, "fingerprint": key.fingerprint, "key": key.text, "private": places.get(key.raw)}
        if as_json:
            emit(row)
        else:
            where = f"  {row['private']}" if row["private"] else ""
            click.echo(printable(f"{name}  {key.fingerprint}{where}"))
    if not approvers and not as_json:
        click.echo("no approvers: decisions under this policy are unsigned")


@command.command(
    name="remove",
    short_help="Take an approver out of the policy file.",
    help="Take NAME out of the approvers of the policy file. Nothing else in it changes, and no key is deleted.",
)
@click.argument("name")
@policy_option
@json_option
def remove(*, name: str, policy: str, as_json: bool) -> None:
    """Take the line out of the file and say what comes next."""
    check_actor()
    text = remove_approver(_read(policy), name, source=policy)
    _write(policy, text)
    left = load_policy(policy).approvers
    if as_json:
        emit({"name": name, "policy": policy, "left": list(left)})
        return
    click.echo(printable(f"{name} is no approver of {policy} any more"))
    if not left:
        click.echo("nobody is left: decisions under this policy are unsigned from now on")
    click.echo(_NEXT)


def _from_agent(fingerprint: str) -> PublicKey:
    """Return the key of this fingerprint that the agent holds; without one, the only key there is."""
    keys = agent_keys()
    if not keys:
        raise ApprovalError("ssh-agent holds no Ed25519 key", hint="ssh-keygen -t ed25519, then ssh-add -c FILE")
    found = [key for key in keys if not fingerprint or key.fingerprint == fingerprint]
    if len(found) == 1:
        return found[0]
    listed = ", ".join(f"{key.fingerprint} {key.comment}".strip() for key in keys)
    if fingerprint:
        raise ApprovalError(f"ssh-agent does not hold `{fingerprint}`", hint=f"it holds {listed}")
    raise UsageError(f"ssh-agent holds {len(keys)} keys: say which with --agent FINGERPRINT", hint=listed)


def _from_file(path: Path, name: str, passphrase_file: str | None) -> PublicKey:
    """Return the public part of the key at `path`, made if there is none."""
    if not path.exists():
        return make_key(path, read_passphrase(path, file=passphrase_file, twice=True), comment=name)
    # What the file beside it says of it is not taken for true: whoever wrote that would be the approver.
    return PublicKey(open_key(path, read_passphrase(path, file=passphrase_file)).public_key.raw, name)


def _places() -> Mapping[bytes, str]:
    """Return where private keys are by public key, as far as can be seen without opening any."""
    places: dict[bytes, str] = {key.raw: str(path) for path, key in stored_keys()}
    with suppress(IndultError):
        places |= {key.raw: "in ssh-agent" for key in agent_keys()}
    return places


def _read(policy: str) -> str:
    try:
        with open(policy, encoding="utf-8", newline="") as file:
            return file.read()
    except FileNotFoundError:
        raise PolicyError(
            "there is no such policy file", hint="name one with --policy, or --print", source=policy
        ) from None
    except (OSError, UnicodeDecodeError) as exc:
        raise _unusable(policy, "read", exc) from exc


def _write(policy: str, text: str) -> None:
    """Put a new text in the place of the file, as a whole or not at all."""
    place = Path(policy).resolve()
    aside = place.with_name(f"{place.name}.{os.getpid()}.new")
    try:
        mode = stat.S_IMODE(place.stat().st_mode)
        with aside.open("x", encoding="utf-8", newline="") as file:
            os.fchmod(file.fileno(), mode)
            file.write(text)
        aside.replace(place)
    except OSError as exc:
        with suppress(OSError):
            aside.unlink()
        raise _unusable(policy, "written", exc) from exc


def _unusable(policy: str, how: str, exc: Any) -> PolicyError:
    reason = (getattr(exc, "strerror", None) or str(exc)).lower()
    return PolicyError(f"the policy file cannot be {how}: {reason}", source=policy)
