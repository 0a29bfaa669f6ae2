"""Trust: which version of a policy file a person has seen, and what holds where the file is another one now.

An agent that works in a folder can write the policy file in it. So a person records the digest of the resolved policy
(`indult trust`), and the ledger keeps the policy with it. As long as the file says something else, both versions are
held against each action and the stricter one counts. Without a record the file holds as it is.

A record also says of which file it was made, byte for byte. As long as these are the bytes, and this the version of
indult that recorded it, the policy of the record holds and the file need not be understood once more.

Ledger: stream `trust:<digest of the path>`, kind `trusted {path, digest, model, by, file, version}`; stream
`policy:<digest of the path>`, kind `policy_seen {path, digest, model, file, version}`, one for each version of the file
that hooks judged by.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from indult import __version__
from indult.canonical import canonical, digest_text, parse_json
from indult.errors import ForgedRecord, IndultError
from indult.places import config_folder
from indult.policy.files import policy_text, text_digest
from indult.policy.model import Policy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from indult.ledger import Event, Ledger

__all__ = [
    "SYSTEM",
    "Change",
    "Trusted",
    "changes",
    "effective_policy",
    "real_place",
    "record_trust",
    "seen_policy",
    "trust_stream",
    "trusted",
]

SYSTEM: Final = "/etc/indult/policy.yaml"
"""The policy of the system, if there is one."""

_LARGEST: Final = 16_000_000


class Trusted(NamedTuple):
    """What a person recorded last of a policy file: its digest, when, and who.

    `model` is the whole policy, packed, and `version` that of the stream. `file` is the digest of the file that it was
    read from, by the version of indult that `read_by` names; both are empty where that is not known.
    """

    path: str
    digest: str
    at: str
    by: str
    version: int
    model: str
    file: str = ""
    read_by: str = ""

    @property
    def policy(self) -> Policy:
        """Return the policy that was trusted.

        Raises:
            ForgedRecord: What is kept is not the policy of this digest.
        """
        policy = _policy(self.model, self.digest)
        if policy is None:
            raise _forged(self.path)
        return policy


def real_place(path: str | os.PathLike[str]) -> str:
    """Return the one name of a policy file: its own, in the folder that its path really leads to.

    A link in the place of the file is not followed: otherwise, putting one there would be a way out of a record.
    """
    folder, name = os.path.split(os.path.abspath(path))  # noqa: PTH100
    return os.path.join(os.path.realpath(folder), name)  # noqa: PTH118


def trust_stream(path: str | os.PathLike[str]) -> str:
    """Return the name of the stream that keeps what was trusted of a policy file."""
    return "trust:" + digest_text(_named(path))


def trusted(path: str | os.PathLike[str], ledger: Ledger) -> Trusted | None:
    """Return what a person recorded last of a policy file, or none.

    Raises:
        ForgedRecord: The stream of the records is not what its chain says.
    """
    events = list(_chained(path, ledger))
    if not events:
        return None
    last = events[-1]
    values = {name: last.data.get(name) for name in ("path", "digest", "model", "by")}
    if last.kind != "trusted" or not all(isinstance(value, str) for value in values.values()):
        raise _forged(path)
    read = {"file": str(last.data.get("file", "")), "read_by": str(last.data.get("version", ""))}
    return Trusted(**{name: str(value) for name, value in values.items()}, at=last.at, version=last.version, **read)


def record_trust(path: str | os.PathLike[str], policy: Policy, ledger: Ledger, *, by: str) -> Trusted:
    """Record that a person trusts this policy as what the file says, and return the record.

    Raises:
        LedgerConflict: Somebody else recorded something since.
        ForgedRecord: The records are not what their chain says, so nothing can follow them.
    """
    from indult.ledger import Draft

    before = trusted(path, ledger)
    stream = trust_stream(path)
    model = _packed(canonical(policy.to_dict()))
    data = {"path": _named(path), "digest": policy.digest, "model": model, "by": by}
    _ = Trusted(**data, at="", version=0).policy  # A record that nobody could read would be worse than none.
    ledger.append(
        Draft(stream=stream, kind="trusted", data={**data, **_source(path, policy)}),
        expect={stream: before.version if before else 0},
    )
    after = trusted(path, ledger)
    assert after is not None
    return after


def _source(path: str | os.PathLike[str], policy: Policy) -> dict[str, str]:
    """Return which file a policy was read from, if it is what the file at `path` says."""
    from indult.policy.load import loads_policy

    try:
        raw = policy_text(path)
        same = loads_policy(raw).digest == policy.digest
    except IndultError:
        return {}
    return {"file": text_digest(raw), "version": __version__} if same else {}


def effective_policy(
    path: str | os.PathLike[str],
    ledger: Ledger | None = None,
    *,
    found: Policy | None = None,
    load: Callable[[bytes], Policy] | None = None,
    user: str | None = None,
    system: str = SYSTEM,
) -> Policy:
    """Return what holds for the policy file at `path`: with what is trusted of it, the user's and the system's policy.

    `found` is what the file says where it was read already, or read from elsewhere, such as a commit; `load` makes a
    policy of its text otherwise. `user` is
    `policy.yaml` in the folder of settings by default. Neither that nor `system` need be there.

    Raises:
        PolicyError: A file cannot be loaded, or the policies do not go together.
        ForgedRecord: The record of what is trusted is not what its chain says.
    """
    others: dict[str, Policy] = {}
    record = None if ledger is None else trusted(path, ledger)
    found = _read(path, record, load) if found is None else found
    if record is not None and record.digest != found.digest:
        found, others["changed"] = record.policy, found
    own = os.path.realpath(path)
    for name, place in (("user", user or os.path.join(config_folder(), "policy.yaml")), ("system", system)):  # noqa: PTH118
        if os.path.realpath(place) != own and _is_there(place):
            others[name] = _read(place, None, None)
    if not others:
        return found
    from indult.policy.merge import merge

    return merge(found, others)


def _read(path: str | os.PathLike[str], record: Trusted | None, load: Callable[[bytes], Policy] | None) -> Policy:
    """Return what a file says: by the record of it, where it is of these bytes and of this version, or else by loading it."""
    raw = policy_text(path)
    if record is not None and record.read_by == __version__ and record.file == text_digest(raw):
        return record.policy
    if load is not None:
        return load(raw)
    from indult.policy.load import loads_policy

    return loads_policy(raw, source=os.fspath(path))


def seen_policy(path: str | os.PathLike[str], raw: bytes, ledger: Ledger) -> Policy:
    """Return the policy that the text of a file is, by the record of it where the same was read before.

    To understand a policy of a hundred rules takes longer than to judge by it. So what was understood is recorded, which
    also tells afterwards which policy judged. Whoever could forge the record could as well write the file.

    Raises:
        PolicyError: The text is no policy.
    """
    from indult.ledger.streams import Draft

    stream = "policy:" + digest_text(_named(path))
    source = {"file": text_digest(raw), "version": __version__}
    last = ledger.last(stream, "policy_seen")
    if last is not None and {name: last.data.get(name) for name in source} == source:
        known = _policy(str(last.data.get("model")), str(last.data.get("digest")))
        if known is not None:
            return known
    from indult.policy.load import loads_policy

    found = loads_policy(raw, source=os.fspath(path))
    data = {"path": _named(path), "digest": found.digest, "model": _packed(canonical(found.to_dict())), **source}
    ledger.append(Draft(stream, "policy_seen", data))
    return found


def _policy(model: str, digest: str) -> Policy | None:
    """Return the policy that a record keeps, none where it is not the one of this digest."""
    try:
        policy = Policy.from_dict(parse_json(_unpacked(model), name="the recorded policy"))
        return policy if policy.digest == digest else None
    except (IndultError, ValueError):
        return None


def _is_there(path: str) -> bool:
    """Tell whether there is a file; one that cannot be looked at is there, and loading it says why it cannot be read."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        pass
    return True


class Change(NamedTuple):
    """One difference between two versions of a policy: a key of the file, or a rule with its keys; none is absence."""

    what: str
    before: Any
    after: Any

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"what": self.what, "before": self.before, "after": self.after}


def changes(before: Policy | None, after: Policy) -> list[Change]:
    """Return what differs between two versions of a policy: keys of the file first, then rules of triage and rules by id."""
    old, new = ({} if policy is None else _parted(policy.to_dict()) for policy in (before, after))
    found = [
        Change(what=name, before=old.get(name), after=new.get(name))
        for name in sorted({*old, *new} - {"rules", "triage", "schema"})
        if old.get(name) != new.get(name)
    ]
    return [*found, *_by_id("triage rule", "triage", old, new), *_by_id("rule", "rules", old, new)]


def _parted(data: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON of a policy with the rules of triage apart from the rest of `autofix`, which is one key."""
    autofix = dict(data.get("autofix", {}))
    triage = autofix.pop("triage", [])
    return {**data, "triage": triage, **({"autofix": autofix} if "autofix" in data else {})}


def _by_id(what: str, key: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Change]:
    """Return which of the rules under a key differ."""
    one, other = ({rule["id"]: rule for rule in data.get(key, ())} for data in (old, new))
    return [
        Change(what=f"{what} {name}", before=one.get(name), after=other.get(name))
        for name in sorted({*one, *other})
        if one.get(name) != other.get(name)
    ]


def _chained(path: str | os.PathLike[str], ledger: Ledger) -> Iterator[Event]:
    """Yield the events of a file's stream, each once its hash is seen to follow from the one before it."""
    from indult.ledger import GENESIS
    from indult.ledger.streams import follows

    stream = trust_stream(path)
    head = ledger.head(stream)
    version, prev = 0, GENESIS
    for event in ledger.events(stream):
        version += 1
        if not follows(event, version, prev):
            raise _forged(path)
        prev = event.hash
        yield event
    if (version, prev) != head:
        raise _forged(path)


def _named(path: str | os.PathLike[str]) -> str:
    """Return the one name of a file as text; a name may be made of any bytes."""
    return os.fsencode(real_place(path)).decode("utf-8", "backslashreplace")


def _forged(path: str | os.PathLike[str]) -> ForgedRecord:
    return ForgedRecord(
        f"the record of what is trusted of `{os.fspath(path)}` is not what was recorded", hint="run `indult log verify`"
    )


def _packed(text: str) -> str:
    """Return the text of a policy as the ledger keeps it: a ledger masks what looks like a secret, and a rule may."""
    from base64 import b64encode
    from zlib import compress

    return b64encode(compress(text.encode(), 9)).decode()


def _unpacked(packed: str) -> bytes:
    from base64 import b64decode
    from zlib import decompressobj, error

    try:
        return decompressobj().decompress(b64decode(packed, validate=True), _LARGEST)
    except error as exc:
        raise ValueError(str(exc)) from exc
