"""Whether a setup works: what is installed, what is trusted, where the ledger lies, and canary calls that are blocked.

The canaries run the installed commands as they are, against a ledger of their own that holds the same record of trust, so
that nothing of them stays behind.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from indult.errors import ConfigurationError, IndultError
from indult.places import POLICY
from indult.policy import Mode, Policy, load_policy
from indult.setup import canary
from indult.setup.canary import Reading
from indult.setup.checks import Check, fail, note, ok
from indult.setup.detect import own_harnesses
from indult.setup.harnesses import DEADLINE, ENTRIES, command, command_of, installed, program_of
from indult.setup.install import journal_place, program_here
from indult.setup.traps import traps
from indult.setup.writing import read_journal

__all__ = ["examine"]

_DATABASE: Final = "INDULT_DB"
_NOBODY: Final = (
    "nobody trusts the policy here yet: until somebody does, what the file allows is allowed, and whoever writes it makes"
    " the law"
)


def examine(root: str, ledger: str, *, home: str | None = None, run: bool = False) -> Iterator[Check]:
    """Look at the setup of the repository at `root`, whose ledger is at `ledger`, and yield each check as it is done.

    Only commands that `indult init` writes are run, unless `run` says that a person has looked at the others: they come
    from the repository, and whoever wrote that need not mean well.
    """
    place = Path(os.path.expanduser("~") if home is None else home)  # noqa: PTH111
    try:
        if not os.path.lexists(Path(root) / POLICY):
            raise ConfigurationError(f"there is no `{POLICY}` here", hint="indult init")
        policy = load_policy(str(Path(root) / POLICY))
    except IndultError as exc:
        yield fail("policy", str(exc), exc.hint or "")
        yield from _ledger(root, ledger)
        return
    yield from _policy(policy)
    yield from _ledger(root, ledger)
    yield from _trust(root, ledger, policy)
    yield _program(root)
    yield _parser(root)
    there = [harness for harness in ENTRIES if _hooks(root, harness)]
    if not there:
        yield fail("hooks", "no harness has a hook of indult", "indult init --harness NAME")
    yield from _absent(root, there)
    for harness in there:
        yield from _harness(root, ledger, harness, place, run=run)


def _absent(root: str, there: list[str]) -> Iterator[Check]:
    """Yield the harnesses that have no hook although a setup wrote some, or although files in the repository are theirs."""
    try:
        written = read_journal(journal_place(root), root).files
    except (IndultError, OSError):
        written = {}
    for harness in ENTRIES:
        if harness in there:
            continue
        file, hint = ENTRIES[harness].file, f"indult init --harness {harness}"
        if file in written:
            yield fail(harness, f"{file} has no hook any more, so nothing is judged there", hint)
        elif harness in own_harnesses(Path(root)):
            yield note(harness, "files here are its own, and it has no hook: nothing is judged there", hint)


def _policy(policy: Policy) -> Iterator[Check]:
    if policy.mode is Mode.OBSERVE:
        yield fail("policy", "it has `mode: observe`, so nothing is blocked", "take the line out")
    yield from _context(policy)
    yield ok("policy", f"{POLICY} loads, {policy.digest}")


def _context(policy: Policy) -> Iterator[Check]:
    for name in policy.context:
        if name not in {"session", "repo", "now"}:
            yield fail("policy", f"it declares the fact `{name}`, which no hook supplies, so every call is blocked")


def _trust(root: str, ledger: str, policy: Policy) -> Iterator[Check]:
    from indult.ledger import open_ledger
    from indult.trust import trusted

    if "://" not in ledger and not os.path.lexists(ledger):
        yield fail("trust", _NOBODY, "indult init; indult trust")
        return
    try:
        with open_ledger(ledger, read_only=True) as opened:
            record = trusted(Path(root) / POLICY, opened)
    except IndultError as exc:
        yield fail("trust", exc.message, exc.hint or "")
        return
    if record is None:
        yield fail("trust", _NOBODY, "indult trust")
    elif record.digest != policy.digest:
        yield fail(
            "trust", "the policy is not the version that is trusted; the stricter of both holds", "indult trust --show"
        )
    else:
        yield ok("trust", f"trusted on {record.at} by {record.by}")


def _ledger(root: str, ledger: str) -> Iterator[Check]:
    if "://" in ledger:
        yield note("ledger", f"`{ledger}` is no file, so its place is not looked at")
        return
    path = Path(os.path.realpath(ledger))
    if path.is_relative_to(os.path.realpath(root)):
        yield fail("ledger", f"`{path}` lies in the work tree, where an agent may write", f"unset {_DATABASE}")
    if not path.exists():
        yield fail("ledger", f"there is none at `{path}`", "indult init")
        return
    for one, most in ((path, 0o600), (path.parent, 0o700)):
        mode = stat.S_IMODE(one.stat().st_mode)
        if mode & ~most:
            yield fail("ledger", f"`{one}` has mode {mode:04o}, so others can read it", f"chmod {most:o} {one}")
    yield ok("ledger", str(path))


def _program(root: str) -> Check:
    program = shutil.which("indult")
    if program is None:
        return note(
            "program", "`indult` is not on the path of this shell; a hook that names it alone blocks every call"
        )
    for place in (program, os.path.realpath(program), os.path.realpath(__file__)):
        if Path(place).is_relative_to(os.path.realpath(root)):
            return note(
                "program", f"`{place}` lies in the work tree, so an agent that may write there is its own judge",
                "install indult elsewhere",
            )  # fmt: skip
    return ok("program", program)


def _parser(root: str) -> Check:
    from indult.decompose.shell.shfmt import Unparsable, program

    try:
        found = program()
    except Unparsable as exc:
        return fail("parser", f"{exc}, so every command asks", "pip install shfmt-py")
    if Path(found).is_relative_to(os.path.realpath(root)):
        return note(
            "parser", f"`{found}` lies in the work tree, so an agent that may write there reads its own commands"
        )
    return ok("parser", found)


def _hooks(root: str, harness: str) -> dict[str, dict[str, Any]]:
    try:
        return installed(harness, (Path(root) / ENTRIES[harness].file).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, IndultError):
        return {}


def _harness(root: str, ledger: str, harness: str, home: Path, *, run: bool) -> Iterator[Check]:
    hooks, entries = _hooks(root, harness), ENTRIES[harness]
    for event in (*entries.gates, *entries.others):
        if event not in hooks:
            yield fail(harness, f"{entries.file} has no hook for {event}", f"indult init --harness {harness}")
    for event in [event for event in entries.gates if event in hooks]:
        yield from _gate(harness, event, hooks[event])
    yield from traps(root, harness, home)
    gate = hooks.get(entries.gates[0])
    if gate is None:
        return
    text = command(gate)
    named = program_of(harness, entries.gates[0], text)
    if named is not None and shutil.which(named) is None:
        text = f"its hooks run `{named}`, which is not found from here, so every call is blocked"
        yield fail(harness, text, f"put it there, or: indult init --harness {harness}")
    elif run or any(
        text == command_of(harness, entries.gates[0], program) for program in ("indult", program_here(root))
    ):
        yield from _canaries(root, ledger, harness, text)
    else:
        text = f"its command is not the one that `indult init` writes, so it was not run: {text}"
        yield fail(harness, text, "look at it, and then: indult doctor --run")


def _gate(harness: str, event: str, hook: dict[str, Any]) -> Iterator[Check]:
    """Yield what is wrong with an entry that waits for a judgement."""
    matcher = hook.get("matcher")
    if matcher not in {None, "", "*"}:
        yield fail(harness, f"the hook for {event} is for `{matcher}` only, so other tools are not judged")
    timeout = hook.get("timeout", hook.get("timeoutSec", DEADLINE))
    if not isinstance(timeout, int) or timeout < DEADLINE:
        yield fail(
            harness, f"the hook for {event} has {timeout} seconds, fewer than indult may take", f"make it {DEADLINE}"
        )
    if "--require" not in command(hook):
        yield fail(harness, f"the hook for {event} lacks `--require`, so without a policy nothing is judged")
    if harness == "claude-code" and hook.get("onFailure") != "block":
        yield fail(
            harness, f'the hook for {event} lacks `"onFailure": "block"`, so a hook that is too slow blocks nothing'
        )


def _canaries(root: str, ledger: str, harness: str, text: str) -> Iterator[Check]:
    """Yield what the installed command answers: to calls that have to be denied, to one that has not, and in a crash."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {_DATABASE: _same_trust(root, ledger, folder)}

        def answer(call: canary.Call, **more: str) -> tuple[Reading, str]:
            ran = canary.run_hook(harness, text, call, root=root, environment={**environment, **more})
            return canary.reading(harness, ran)

        for call in canary.calls(root, harness):
            got, why = answer(call)
            if got is Reading.BLOCKED:
                yield ok(harness, f"{call.what} is denied: {_line(why)}")
            elif got is Reading.FAILED:
                yield fail(harness, f"{call.what} is blocked, but not judged: {_line(why)}")
            else:
                yield fail(harness, f"{call.what} is not denied, but {got}: {_line(why)}", "the policy has to deny it")
        got, why = answer(canary.harmless())
        if got in {Reading.FAILED, Reading.BROKEN}:
            yield fail(harness, f"`{canary.harmless().what}` could not be judged: {_line(why)}")
        else:
            yield ok(harness, f"`{canary.harmless().what}` is judged: {got}")
        for what, more in (("without indult", {"PATH": _without(text)}), ("in a crash", {"PYTHONHOME": folder})):
            if not more.get("PATH", "-"):
                continue
            got, why = answer(canary.harmless(), **more)
            good = got in {Reading.FAILED, Reading.BLOCKED}
            # A program that takes no notice of the variable has not crashed.
            alive = what == "in a crash" and got in {Reading.RUNS, Reading.ASKS}
            if good or alive:
                yield ok(harness, f"a call {what} {'did not crash here' if alive else 'is blocked'}")
            else:
                yield fail(harness, f"a call {what} is not blocked: {_line(why)}", "indult init writes a hook that is")


def _same_trust(root: str, ledger: str, folder: str) -> str:
    """Return a ledger of its own for the canaries, with the same record of trust."""
    from indult.ledger import open_ledger
    from indult.trust import record_trust, trusted

    path = Path(root) / POLICY
    place = str(Path(folder) / "canary" / "ledger.db")
    try:
        with open_ledger(ledger, read_only=True) as opened:
            record = trusted(path, opened)
    except IndultError:
        record = None
    with open_ledger(place) as opened:
        if record is not None:
            record_trust(path, record.policy, opened, by=record.by)
    return place


def _without(text: str) -> str:
    """Return a search path without indult, for a command that names it alone; nothing where there is no such path."""
    if not text.removeprefix("out=$(").startswith("indult "):
        return ""
    folders = [one for one in os.environ.get("PATH", "").split(os.pathsep) if one]
    left = [one for one in folders if not (Path(one) / "indult").exists()]
    return os.pathsep.join(left)


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 160 else line[:159] + "…"
