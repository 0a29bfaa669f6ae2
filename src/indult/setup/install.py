"""What setting up a repository comes to: which files change, and how; nothing is written here."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from indult.errors import ConfigurationError
from indult.places import POLICY, repository_ledger
from indult.policy import loads_policy
from indult.setup.detect import Found, detect
from indult.setup.harnesses import ENTRIES, merged
from indult.setup.importing import Imported, import_settings
from indult.setup.policy import policy_text, rule_text
from indult.setup.writing import Change, change_of

__all__ = ["Plan", "journal_place", "ledger_of", "plan", "program_here"]

_ADVICE = {
    "codex": "Codex skips a hook until you trust it: look at it with /hooks there",
    "copilot": "Copilot's agent in the cloud reads hooks from the default branch, and needs indult installed there",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The changes of a setup, the policy first where there was none, and what a person should know of them.

    `by_hand` is the text of imported rules for a policy that was there already.
    """

    found: Found
    harnesses: tuple[str, ...]
    changes: tuple[Change, ...]
    imported: Imported
    by_hand: str
    notes: tuple[str, ...]


def plan(root: str, *, harnesses: Sequence[str] = (), source: str | None = None, program: str | None = None) -> Plan:
    """Return what sets up the repository at `root` for these harnesses, or for those that were found.

    Raises:
        ConfigurationError: A file that is there cannot be read or added to.
        PolicyError: The policy would not load.
    """
    found = detect(root)
    chosen = tuple(name for name in ENTRIES if name in (harnesses or found.harnesses))
    word = program or program_here(root)
    imported = Imported() if source is None else import_settings(source, root)
    text = policy_text(found, imported.rules)
    policy = change_of(root, POLICY, text.encode())
    there = policy.before is not None
    if policy.before is not None:
        # Under a policy that does not load, the hooks would block every call.
        loads_policy(policy.before, source=POLICY)
    changes = [] if there else [policy]
    changes += [_hooks(root, name, word) for name in chosen]
    notes = [_ADVICE[name] for name in chosen if name in _ADVICE]
    if any(_names(change, word) for change in changes if change.path != POLICY):
        notes.append(f"the hooks name `{word}`, which is a place on this machine only")
    if not chosen:
        notes.append(
            f"no harness was found, so no hook puts the gate before an agent; name one: --harness {'|'.join(ENTRIES)}"
        )
    new = there and source is not None and policy.before != policy.after
    return Plan(
        found=found,
        harnesses=chosen,
        changes=tuple(changes),
        imported=imported,
        by_hand="\n".join(rule_text(rule, comment) for comment, rule in imported.rules) if new else "",
        notes=tuple(notes),
    )


def program_here(root: str) -> str:
    """Return how hooks name indult: by its name where a shell finds it outside of the work tree, else by its place."""
    found = shutil.which("indult")
    if found is not None and not _inside(found, root) and not _inside(os.path.realpath(found), root):
        return "indult"
    beside = Path(sys.executable).parent / "indult"
    return str(beside) if beside.exists() else found or "indult"


def ledger_of(root: str, environment: str | None) -> str:
    """Return the ledger that the hooks of a repository write: the one that the environment names, or its own.

    Raises:
        ConfigurationError: It would lie in the work tree, where an agent may write.
    """
    place = environment or repository_ledger(root)
    if "://" not in place and _inside(os.path.realpath(place), root):
        raise ConfigurationError(
            f"the ledger `{place}` would lie in the work tree, where an agent may write",
            hint="set INDULT_DB, or XDG_DATA_HOME, to a place outside",
        )
    return place


def journal_place(root: str) -> Path:
    """Return where the journal of a work tree is kept: beside the ledger of its repository."""
    name = sha256(os.fsencode(root)).hexdigest()[:16]
    return Path(repository_ledger(root)).with_name(f"setup-{name}.json")


def _hooks(root: str, harness: str, program: str) -> Change:
    file = ENTRIES[harness].file
    there = change_of(root, file, b"").before
    try:
        text = (there or b"").decode("utf-8")
    except UnicodeDecodeError as exc:
        raise ConfigurationError(f"`{file}` cannot be added to: it is not UTF-8") from exc
    return Change(path=file, before=there, after=merged(harness, text, program=program, exists=shutil.which).encode())


def _names(change: Change, program: str) -> bool:
    """Tell whether hooks name a program by its place."""
    return program != "indult" and json.dumps(program, ensure_ascii=False)[1:-1].encode() in change.after


def _inside(path: str, root: str) -> bool:
    return Path(path).is_relative_to(os.path.realpath(root))
