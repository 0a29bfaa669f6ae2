"""What the tests of shell lines ask for: the parts of a text, on a disk with nothing on it."""

from __future__ import annotations

import json
from typing import Any

from indult.decompose import Part
from indult.decompose.paths import Places
from indult.decompose.shell import shell_parts
from indult.testing.runners.shell import Disk


def parts(text: str, *, fs: dict[str, Any] | None = None, cwd: str = "/repo") -> tuple[Part, ...]:
    """Return the parts of a text run in `/repo`."""
    return shell_parts(text, tool="Bash", cwd=cwd, places=Places(Disk(fs or {}), "/repo", "/home/dev"))


def named(part: Part) -> dict[str, Any]:
    """Return what the name of a command says."""
    kind, _, name = part.target().partition(":")
    assert kind == "command"
    found: dict[str, Any] = json.loads(name)
    return found


def commands(text: str, *, free: bool = False) -> list[Any]:
    """Return the words of all commands of a text that need a rule, or of those that need none."""
    return [
        named(part)["argv"]
        for part in parts(text)
        if part.target().startswith("command:") and part.free == free and named(part)["argv"]
    ]


def files(text: str) -> list[str]:
    """Return the targets of the redirections of a text."""
    return [part.target() for part in parts(text) if not part.target().startswith("command:")]


def asks(text: str) -> list[str]:
    """Return why parts of a text need approval whatever allows them."""
    return [part.asks for part in parts(text) if part.asks]


def touched(text: str) -> list[str]:
    """Return the other names of the first command of a text that are paths."""
    (first, *_) = [part for part in parts(text) if part.target().startswith("command:") and not part.free]
    return [name for name in first.also if not name.startswith("command:")]


def possible(text: str, fs: dict[str, Any] | None = None) -> list[str]:
    """Return the globs of what the commands of a text may touch."""
    return [glob for part in parts(text, fs=fs) for glob in part.maybe]
