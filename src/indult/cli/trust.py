"""`indult trust`: record that a person has seen this version of a policy file and trusts it."""

from __future__ import annotations

import sys
from shlex import quote
from typing import TYPE_CHECKING, Any, Final

import click

from indult.canonical import canonical
from indult.cli.deciding import check_actor, os_user
from indult.cli.frame import db_option, emit, json_option, printable
from indult.cli.law import ledger_is_there
from indult.cli.plain import POLICY
from indult.errors import ApprovalError, StaleDecision, UsageError
from indult.ledger import open_ledger
from indult.policy import Policy, loads_policy, read_policy
from indult.trust import Change, Trusted, changes, real_place, record_trust, trusted

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from indult.policy import Loaded

__all__ = ["command"]

_WAITING: Final = 4
"""The exit code of `--show` for a file that a person has yet to look at."""


@click.command(
    name="trust",
    short_help="Trust a policy file as it is now, after seeing what changed.",
    help="Show what changed in a policy file since it was last trusted, ask, and record that it is trusted as it is "
    "now. Without a terminal, the digest that was looked at has to be given.",
)
@click.argument("file", default="indult.yaml")
@click.option("--digest", metavar="SHA256", help="The digest of the policy that you looked at; nothing is asked then.")
@click.option("--show", is_flag=True, help="Only say whether the file is trusted; ends with 4 if it is not.")
@db_option
@json_option
def command(*, file: str, digest: str | None, show: bool, db: str | None, as_json: bool) -> int | None:
    """Show, ask and record; what is recorded is what was shown, whatever the file says meanwhile."""
    if show and digest is not None:
        raise UsageError("`--show` records nothing, so it takes no `--digest`")
    if not show:
        check_actor()
    loaded = read_policy(file)
    policy = loaded.policy
    before = _before(file, db)
    if digest is not None and digest != policy.digest:
        raise StaleDecision(f"`{file}` has the digest {policy.digest}", hint="look at it again: indult trust --show")
    known = before is not None and before.digest == policy.digest
    if show or known or digest is None:
        _tell(file, loaded, before, as_json=as_json)
    if show or known:
        return 0 if known else _WAITING
    if digest is None:
        _ask(policy, as_json=as_json)
    with open_ledger(db) as ledger:
        record = record_trust(file, policy, ledger, by=os_user())
    if as_json:
        emit({"path": record.path, "digest": record.digest, "trusted": True, "at": record.at, "by": record.by})
    else:
        click.echo(printable(f"trusted: {record.path} {record.digest}"))
    return None


def _before(file: str, db: str | None) -> Trusted | None:
    if not ledger_is_there(db):
        return None
    with open_ledger(db, read_only=True) as ledger:
        return trusted(file, ledger)


def _ask(policy: Policy, *, as_json: bool) -> None:
    """Ask whether the policy is to be trusted.

    Raises:
        UsageError: Nobody can be asked.
        ApprovalError: The answer is no.
    """
    if as_json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            "without a terminal `trust` needs `--digest`", hint=f"if you want it so: --digest {policy.digest}"
        )
    if not click.confirm("Trust this policy?"):
        raise ApprovalError("nothing was recorded")


def _tell(file: str, loaded: Loaded, before: Trusted | None, *, as_json: bool) -> None:
    policy = loaded.policy
    known = before is not None and before.digest == policy.digest
    found = [] if known else changes(None if before is None else before.policy, policy)
    if as_json:
        last = None if before is None else {"digest": before.digest, "at": before.at, "by": before.by}
        rows = [change.to_dict() for change in found]
        emit({"path": real_place(file), "digest": policy.digest, "trusted": known, "last": last, "changes": rows})
        return
    click.echo("\n".join(printable(line) for line in _lines(file, loaded, before, found)))


def _lines(file: str, loaded: Loaded, before: Trusted | None, found: list[Change]) -> Iterator[str]:
    policy = loaded.policy
    yield f"policy   {real_place(file)}"
    yield f"digest   {policy.digest}"
    if before is None:
        yield "trusted  never: the file holds as it is"
        found = yield from _presets(file, loaded, found)
    elif before.digest == policy.digest:
        yield f"trusted  on {before.at} by {before.by}"
        return
    else:
        yield f"trusted  {before.digest} on {before.at} by {before.by}"
        yield "         until the file is trusted, both versions are held against each action"
    for change in found:
        yield from _change_lines(change)


def _presets(file: str, loaded: Loaded, found: list[Change]) -> Generator[str, None, list[Change]]:
    """Yield a line for each preset, and return the changes with what the file itself says of their rules.

    A preset ships with indult, so its name and version say all of it.
    """
    told: dict[str, Change | None] = {}
    for name in loaded.extends:
        preset = loads_policy(f"schema: 1\nextends: {name}\n")
        count = len(preset.rules)
        yield f"+ extends {name}: {'1 rule' if count == 1 else f'{count} rules'}"
        differ = {change.what: change for change in changes(preset, loaded.policy)}
        told |= {what: differ.get(what) for what in (f"rule {rule.id}" for rule in preset.rules)}
    if told:
        named = "" if file == POLICY.default else f" --policy {quote(file)}"
        yield f"    to read them: indult policy show --resolved{named}"
    kept = (told.get(change.what, change) for change in found)
    return [change for change in kept if change is not None]


def _change_lines(change: Change) -> Iterator[str]:
    """Yield one line for what is new or gone, and one for each key of a rule that changed."""
    if change.before is None:
        yield f"+ {change.what}: {_shown(change.after)}"
    elif change.after is None:
        yield f"- {change.what}: {_shown(change.before)}"
    else:
        yield f"~ {change.what}"
        pairs = _pairs(change)
        for name, (old, new) in pairs.items():
            yield f"    {name}: {_shown(old)} -> {_shown(new)}" if name else f"    {_shown(old)} -> {_shown(new)}"


def _pairs(change: Change) -> dict[str, tuple[Any, Any]]:
    """Return old and new value of each key that differs; of a value without keys, under an empty name."""
    if not isinstance(change.before, dict) or not isinstance(change.after, dict):
        return {"": (change.before, change.after)}
    names = sorted({*change.before, *change.after})
    return {
        name: (change.before.get(name), change.after.get(name))
        for name in names
        if change.before.get(name) != change.after.get(name)
    }


def _shown(value: Any) -> str:
    return "nothing" if value is None else canonical(value)
