"""Whether a setup works: what is installed, what is trusted, where the ledger lies, and canary calls that are blocked.

The canaries run the installed commands as they are, against a ledger of their own that holds the same record of trust, so
that nothing of them stays behind.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from indult.errors import IndultError
from indult.places import POLICY
from indult.policy import Mode, Policy, load_policy
from indult.setup import canary
from indult.setup.canary import Reading
from indult.setup.harnesses import DEADLINE, ENTRIES, command, command_of, installed
from indult.setup.install import program_here
from indult.setup.jsontext import parse

__all__ = ["Check", "State", "examine"]

_DATABASE: Final = "INDULT_DB"
_FAILS_CLOSED: Final = (2, 1, 295)
"""The first Claude Code in which a hook that takes too long can block."""
_BY_DEFAULT: Final = (0, 124, 0)
"""The first Codex that runs hooks without being told to."""
_MANAGED: Final = (
    Path("/etc/claude-code/managed-settings.json"),
    Path("/Library/Application Support/ClaudeCode/managed-settings.json"),
)
"""Where settings of Claude Code lie that no user can change."""
_REQUIRED: Final = Path("/etc/codex/requirements.toml")
"""Where those of Codex lie."""
_VERSION: Final = re.compile(r"(\d+)\.(\d+)\.(\d+)")


class State(StrEnum):
    """How a check ended."""

    OK = "ok"
    NOTE = "note"
    """Nothing is wrong, but a person should know it."""
    FAIL = "FAIL"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that was looked at: what it is about, how it ended, and what to do where it did not end well."""

    about: str
    state: State
    text: str
    hint: str = ""

    def to_dict(self) -> dict[str, str]:
        """Return the JSON form."""
        return {"about": self.about, "state": self.state.value, "text": self.text, "hint": self.hint}


def examine(root: str, ledger: str, *, home: str | None = None, run: bool = False) -> Iterator[Check]:
    """Look at the setup of the repository at `root`, whose ledger is at `ledger`, and yield each check as it is done.

    Only commands that `indult init` writes are run, unless `run` says that a person has looked at the others: they come
    from the repository, and whoever wrote that need not mean well.
    """
    place = Path(os.path.expanduser("~") if home is None else home)  # noqa: PTH111
    try:
        policy = load_policy(str(Path(root) / POLICY))
    except IndultError as exc:
        yield _fail("policy", str(exc), exc.hint or "")
        yield from _ledger(root, ledger)
        return
    yield from _policy(policy)
    yield from _ledger(root, ledger)
    yield from _trust(root, ledger, policy)
    yield _program(root)
    yield _parser(root)
    there = [harness for harness in ENTRIES if _hooks(root, harness)]
    if not there:
        yield _fail("hooks", "no harness has a hook of indult", "indult init --harness NAME")
    for harness in there:
        yield from _harness(root, ledger, harness, place, run=run)


def _policy(policy: Policy) -> Iterator[Check]:
    if policy.mode is Mode.OBSERVE:
        yield _fail("policy", "it has `mode: observe`, so nothing is blocked", "take the line out")
    yield from _context(policy)
    yield _ok("policy", f"{POLICY} loads, {policy.digest}")


def _context(policy: Policy) -> Iterator[Check]:
    for name in policy.context:
        if name not in {"session", "repo", "now"}:
            yield _fail("policy", f"it declares the fact `{name}`, which no hook supplies, so every call is blocked")


def _trust(root: str, ledger: str, policy: Policy) -> Iterator[Check]:
    from indult.ledger import open_ledger
    from indult.trust import trusted

    try:
        with open_ledger(ledger, read_only=True) as opened:
            record = trusted(Path(root) / POLICY, opened)
    except IndultError as exc:
        yield _fail("trust", exc.message, exc.hint or "")
        return
    if record is None:
        yield _fail("trust", "nobody trusts the policy yet, so whoever writes the file makes the law", "indult trust")
    elif record.digest != policy.digest:
        yield _fail(
            "trust", "the policy is not the version that is trusted; the stricter of both holds", "indult trust --show"
        )
    else:
        yield _ok("trust", f"trusted on {record.at} by {record.by}")


def _ledger(root: str, ledger: str) -> Iterator[Check]:
    if "://" in ledger:
        yield _note("ledger", f"`{ledger}` is no file, so its place is not looked at")
        return
    path = Path(os.path.realpath(ledger))
    if path.is_relative_to(os.path.realpath(root)):
        yield _fail("ledger", f"`{path}` lies in the work tree, where an agent may write", f"unset {_DATABASE}")
    if not path.exists():
        yield _fail("ledger", f"there is none at `{path}`", "indult init")
        return
    for one, most in ((path, 0o600), (path.parent, 0o700)):
        mode = stat.S_IMODE(one.stat().st_mode)
        if mode & ~most:
            yield _fail("ledger", f"`{one}` has mode {mode:04o}, so others can read it", f"chmod {most:o} {one}")
    yield _ok("ledger", str(path))


def _program(root: str) -> Check:
    program = shutil.which("indult")
    if program is None:
        return _note(
            "program", "`indult` is not on the path of this shell; a hook that names it alone blocks every call"
        )
    for place in (program, os.path.realpath(program), os.path.realpath(__file__)):
        if Path(place).is_relative_to(os.path.realpath(root)):
            return _note(
                "program", f"`{place}` lies in the work tree, so an agent that may write there is its own judge",
                "install indult elsewhere",
            )  # fmt: skip
    return _ok("program", program)


def _parser(root: str) -> Check:
    from indult.decompose.shell.shfmt import Unparsable, program

    try:
        found = program()
    except Unparsable as exc:
        return _fail("parser", f"{exc}, so every command asks", "pip install shfmt-py")
    if Path(found).is_relative_to(os.path.realpath(root)):
        return _note(
            "parser", f"`{found}` lies in the work tree, so an agent that may write there reads its own commands"
        )
    return _ok("parser", found)


def _hooks(root: str, harness: str) -> dict[str, dict[str, Any]]:
    try:
        return installed(harness, (Path(root) / ENTRIES[harness].file).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, IndultError):
        return {}


def _harness(root: str, ledger: str, harness: str, home: Path, *, run: bool) -> Iterator[Check]:
    hooks, entries = _hooks(root, harness), ENTRIES[harness]
    for event in entries.gates:
        if event not in hooks:
            yield _fail(harness, f"{entries.file} has no hook for {event}", "indult init")
    for event in set(entries.gates) & set(hooks):
        yield from _gate(harness, event, hooks[event])
    yield from _traps(root, harness, home)
    gate = hooks.get(entries.gates[0])
    if gate is None:
        return
    text = command(gate)
    if run or any(text == command_of(harness, entries.gates[0], program) for program in ("indult", program_here(root))):
        yield from _canaries(root, ledger, harness, text)
    else:
        text = f"its command is not the one that `indult init` writes, so it was not run: {text}"
        yield _fail(harness, text, "look at it, and then: indult doctor --run")


def _gate(harness: str, event: str, hook: dict[str, Any]) -> Iterator[Check]:
    """Yield what is wrong with an entry that waits for a judgement."""
    matcher = hook.get("matcher")
    if matcher not in {None, "", "*"}:
        yield _fail(harness, f"the hook for {event} is for `{matcher}` only, so other tools are not judged")
    timeout = hook.get("timeout", hook.get("timeoutSec", DEADLINE))
    if not isinstance(timeout, int) or timeout < DEADLINE:
        yield _fail(
            harness, f"the hook for {event} has {timeout} seconds, fewer than indult may take", f"make it {DEADLINE}"
        )
    if "--require" not in command(hook):
        yield _fail(harness, f"the hook for {event} lacks `--require`, so without a policy nothing is judged")
    if harness == "claude-code" and hook.get("onFailure") != "block":
        yield _fail(
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
                yield _ok(harness, f"{call.what} is denied: {_line(why)}")
            else:
                yield _fail(harness, f"{call.what} is not denied, but {got}: {_line(why)}", "the policy has to deny it")
        got, why = answer(canary.harmless())
        if got in {Reading.FAILED, Reading.BROKEN}:
            yield _fail(harness, f"`{canary.harmless().what}` could not be judged: {_line(why)}")
        else:
            yield _ok(harness, f"`{canary.harmless().what}` is judged: {got}")
        for what, more in (("without indult", {"PATH": _without(text)}), ("in a crash", {"PYTHONHOME": folder})):
            if not more.get("PATH", "-"):
                continue
            got, why = answer(canary.harmless(), **more)
            good = got in {Reading.FAILED, Reading.BLOCKED}
            # A program that takes no notice of the variable has not crashed.
            alive = what == "in a crash" and got in {Reading.RUNS, Reading.ASKS}
            if good or alive:
                yield _ok(harness, f"a call {what} {'did not crash here' if alive else 'is blocked'}")
            else:
                yield _fail(harness, f"a call {what} is not blocked: {_line(why)}", "indult init writes a hook that is")


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


def _traps(root: str, harness: str, home: Path) -> Iterator[Check]:
    """Yield what in the settings or the version of a harness keeps hooks from running or from blocking."""
    if harness == "claude-code":
        yield from _claude_code(Path(root), home)
    elif harness == "codex":
        yield from _codex(Path(root), home)
    else:
        yield _note(
            harness, "its agent in the cloud reads hooks from the default branch, and needs indult installed there"
        )


def _claude_code(root: Path, home: Path) -> Iterator[Check]:
    own = (root / ".claude/settings.json", root / ".claude/settings.local.json", home / ".claude/settings.json")
    for path in (*own, *_MANAGED):
        for key in ("disableAllHooks", "allowManagedHooksOnly"):
            if _json(path).get(key) is True:
                yield _fail("claude-code", f"`{path}` has `{key}`, so the hooks here do not run", "take it out")
    version = _version("claude")
    if version is None:
        text = "its version is not known here; before 2.1.295 a hook that is too slow blocks nothing"
        yield _note("claude-code", text)
    elif version < _FAILS_CLOSED:
        text = f"version {_dotted(version)}: a hook that is too slow blocks nothing"
        yield _fail("claude-code", text, "update to 2.1.295 or newer")
    else:
        yield _ok("claude-code", f"version {_dotted(version)}")


def _codex(root: Path, home: Path) -> Iterator[Check]:
    own = home / ".codex/config.toml"
    for path in (root / ".codex/config.toml", own, _REQUIRED):
        config = _toml(path)
        features = config.get("features")
        off = isinstance(features, dict) and (features.get("hooks") is False or features.get("codex_hooks") is False)
        if off or config.get("allow_managed_hooks_only") is True:
            yield _fail("codex", f"`{path}` turns the hooks here off", "take it out")
    projects = _toml(own).get("projects")
    project = projects.get(str(root)) if isinstance(projects, dict) else None
    if not isinstance(project, dict) or project.get("trust_level") != "trusted":
        text = f"`{own}` does not trust this repository, and then Codex does not read its hooks"
        yield _note("codex", text, "start Codex here and trust the folder")
    version = _version("codex")
    if version is not None and version < _BY_DEFAULT:
        yield _fail("codex", f"version {_dotted(version)} runs no hooks by default", "update to 0.124.0 or newer")
    text = "it skips a hook until you trust it, and after each change to it; that cannot be seen from here"
    yield _note("codex", text, "/hooks in Codex")


def _version(program: str) -> tuple[int, int, int] | None:
    path = shutil.which(program)
    if path is None:
        return None
    try:
        done = subprocess.run(
            [path, "--version"], capture_output=True, timeout=20, check=False, encoding="utf-8", errors="replace"
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = _VERSION.search(done.stdout)
    return None if found is None else (int(found[1]), int(found[2]), int(found[3]))


def _dotted(version: tuple[int, int, int]) -> str:
    return ".".join(map(str, version))


def _json(path: Path) -> dict[str, Any]:
    try:
        return parse(path.read_text(encoding="utf-8"), source=str(path))
    except (OSError, UnicodeDecodeError, IndultError):
        return {}


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 160 else line[:159] + "…"


def _ok(about: str, text: str) -> Check:
    return Check(about=about, state=State.OK, text=text)


def _note(about: str, text: str, hint: str = "") -> Check:
    return Check(about=about, state=State.NOTE, text=text, hint=hint)


def _fail(about: str, text: str, hint: str = "") -> Check:
    return Check(about=about, state=State.FAIL, text=text, hint=hint)
