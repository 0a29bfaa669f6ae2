"""The hook entries of each harness: where they stand, what they say, and how they get into a file that is there.

A harness runs the tool when a hook cannot be started, crashes, or says what it does not understand. So each command ends
in what blocks there: exit code 2, for Codex with a text, and for Copilot a denial on standard output. Events that nothing
waits for end in 1 at most, since 2 would keep an agent from stopping.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from indult.setup.jsontext import append, parse, put, swap, take

__all__ = ["DEADLINE", "ENTRIES", "Entries", "command", "command_of", "installed", "merged", "parted", "program_of"]

DEADLINE: Final = 30
"""How many seconds a harness waits; indult itself gives up, and blocks, well before."""

_MEND: Final = (
    "a person can mend that: put indult on the PATH that agents start with, or run `indult init` again from where it is"
    " installed"
)
_BLOCK: Final = (
    "{program} hook {harness} --require || {{ case $? in 126|127) echo 'indult: not found where this hook looks for it, so"
    f" no call can be judged; {_MEND}' >&2;; esac; "
    # Exit code 2 without a text would not block everywhere.
    "echo 'indult: the call is blocked' >&2; exit 2; }}"
)
_GATE: Final = {
    "claude-code": _BLOCK,
    "codex": _BLOCK,
    # What was printed before a crash would not be JSON, so nothing is passed on before the end is known.
    "copilot": "out=$({program} hook copilot --require) && printf %s \"$out\" || printf '%s\\n' "
    '\'{{"permissionDecision":"deny","permissionDecisionReason":"indult gave no answer, so the call is blocked. Where it'
    f" is not found, {_MEND}\"}}}}'",
}
_TELL: Final = "{program} hook {harness} || exit 1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entries:
    """Where the hooks of a harness stand, and for which events.

    `gates` are the events that wait for a judgement; `matched` are those whose entries name the tools they are for.
    """

    file: str
    gates: tuple[str, ...]
    others: tuple[str, ...]
    matched: tuple[str, ...] = ()


ENTRIES: Final[Mapping[str, Entries]] = {
    "claude-code": Entries(
        file=".claude/settings.json",
        gates=("PreToolUse", "PermissionRequest"),
        others=("SessionStart", "SubagentStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure", "Stop"),
        matched=("PreToolUse", "PermissionRequest", "PostToolUse", "PostToolUseFailure"),
    ),
    "codex": Entries(
        file=".codex/hooks.json",
        gates=("PreToolUse", "PermissionRequest"),
        others=("SessionStart", "UserPromptSubmit", "PostToolUse", "Stop"),
    ),
    "copilot": Entries(
        file=".github/hooks/indult.json",
        gates=("preToolUse",),
        others=("postToolUse", "sessionStart", "userPromptSubmitted", "agentStop"),
    ),
}
"""Harness -> its entries."""


def merged(
    harness: str, text: str, *, program: str = "indult", exists: Callable[[str], object] = lambda _: True
) -> str:
    """Return the text of a harness's file with the entries of indult that are missing; all else stays as it is.

    An entry that names a program for which `exists` is false would only ever block, so it is made to name `program`.

    Raises:
        ConfigurationError: The file is one that cannot be added to.
    """
    entries = ENTRIES[harness]
    text = _mended(harness, text, program, exists)
    there = installed(harness, text)
    if harness == "copilot" and "version" not in parse(text, source=entries.file):
        text = put(text, "version", 1, source=entries.file)
    for event in (*entries.gates, *entries.others):
        if event not in there:
            text = append(text, ("hooks", event), _entry(harness, event, program), source=entries.file)
    return text if text.endswith("\n") else text + "\n"


def _mended(harness: str, text: str, program: str, exists: Callable[[str], object]) -> str:
    """Return the text with `program` in the entries that `indult init` wrote with one that is not there."""
    file = ENTRIES[harness].file
    for event, hook in installed(harness, text).items():
        old = command(hook)
        named = program_of(harness, event, old)
        if named is not None and named != program and not exists(named):
            text = swap(text, old, command_of(harness, event, program), source=file)
    return text


def parted(harness: str, text: str) -> str:
    """Return the text of a harness's file without the entries of indult; all else stays as it is.

    Raises:
        ConfigurationError: The file is one that cannot be read.
    """
    file = ENTRIES[harness].file
    while (path := _own(harness, parse(text, source=file).get("hooks"))) is not None:
        text = take(text, ("hooks", *path), source=file)
    return text


def _own(harness: str, hooks: Any) -> tuple[str | int, ...] | None:
    """Return where below `hooks` the first entry of indult stands, none where there is none."""
    ours = _ours(harness)
    for event, entries in hooks.items() if isinstance(hooks, dict) else ():
        for at, entry in enumerate(entries if isinstance(entries, list) else ()):
            inner = entry.get("hooks") if isinstance(entry, dict) else None
            below = inner if isinstance(inner, list) else []
            for place, hook in enumerate(below):
                if isinstance(hook, dict) and ours(command(hook)):
                    # An entry that has a matcher and no hook would be left over.
                    return (event, at) if len(below) == 1 else (event, at, "hooks", place)
            if isinstance(entry, dict) and inner is None and ours(command(entry)):
                return event, at
    return None


def _ours(harness: str) -> Callable[[str], object]:
    return re.compile(rf"\bindult['\"]? hook {harness}\b").search


def installed(harness: str, text: str) -> dict[str, dict[str, Any]]:
    """Return event -> the hook of indult that a file has for it, with the `matcher` of the entry around it.

    Raises:
        ConfigurationError: The file is one that cannot be read.
    """
    file = ENTRIES[harness].file
    ours = _ours(harness)
    hooks = parse(text, source=file).get("hooks")
    found: dict[str, dict[str, Any]] = {}
    for event, entries in hooks.items() if isinstance(hooks, dict) else ():
        for hook in _hooks(entries):
            if ours(command(hook)):
                found.setdefault(event, hook)
    return found


def command(hook: Mapping[str, Any]) -> str:
    """Return the shell command of a hook."""
    text = hook.get("command", hook.get("bash"))
    return text if isinstance(text, str) else ""


def _hooks(entries: Any) -> Iterator[dict[str, Any]]:
    """Yield the hooks below an event, whether or not a level with a matcher stands between."""
    for entry in entries if isinstance(entries, list) else ():
        if not isinstance(entry, dict):
            continue
        inner = entry.get("hooks")
        if isinstance(inner, list):
            yield from ({"matcher": entry.get("matcher"), **hook} for hook in inner if isinstance(hook, dict))
        else:
            yield entry


def command_of(harness: str, event: str, program: str) -> str:
    """Return the command that is written for an event, with the program that it runs."""
    word = shlex.quote(program)
    if event in ENTRIES[harness].gates:
        return _GATE[harness].format(program=word, harness=harness)
    return _TELL.format(program=word, harness=harness)


def program_of(harness: str, event: str, text: str) -> str | None:
    """Return the program that a command runs which `indult init` wrote for an event; none for any other command."""
    try:
        program = shlex.split(text.removeprefix("out=$("))[0]
    except (ValueError, IndexError):
        return None
    return program if text == command_of(harness, event, program) else None


def _entry(harness: str, event: str, program: str) -> dict[str, Any]:
    entries, text = ENTRIES[harness], command_of(harness, event, program)
    gate = event in entries.gates
    if harness == "copilot":
        return {"type": "command", "bash": text, "timeoutSec": DEADLINE}
    hook: dict[str, Any] = {"type": "command", "command": text, "timeout": DEADLINE}
    if harness == "claude-code" and gate:
        hook["onFailure"] = "block"
    return {**({"matcher": "*"} if event in entries.matched else {}), "hooks": [hook]}
