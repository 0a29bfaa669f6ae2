"""What in the settings or the version of a harness keeps hooks from running, or from blocking."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from indult.errors import IndultError
from indult.setup.checks import Check, fail, note, ok
from indult.setup.jsontext import parse

__all__ = ["traps"]

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


def traps(root: str, harness: str, home: Path) -> Iterator[Check]:
    """Yield what in the settings or the version of a harness keeps hooks from running or from blocking."""
    if harness == "claude-code":
        yield from _claude_code(Path(root), home)
    elif harness == "codex":
        yield from _codex(Path(root), home)
    else:
        yield note(
            harness, "its agent in the cloud reads hooks from the default branch, and needs indult installed there"
        )


def _claude_code(root: Path, home: Path) -> Iterator[Check]:
    own = (root / ".claude/settings.json", root / ".claude/settings.local.json", home / ".claude/settings.json")
    for path in (*own, *_MANAGED):
        for key in ("disableAllHooks", "allowManagedHooksOnly"):
            if _json(path).get(key) is True:
                yield fail("claude-code", f"`{path}` has `{key}`, so the hooks here do not run", "take it out")
    version = _version("claude")
    if version is None:
        text = "its version is not known here; before 2.1.295 a hook that is too slow blocks nothing"
        yield note("claude-code", text)
    elif version < _FAILS_CLOSED:
        text = f"version {_dotted(version)}: a hook that is too slow blocks nothing"
        yield fail("claude-code", text, "update to 2.1.295 or newer")
    else:
        yield ok("claude-code", f"version {_dotted(version)}")


def _codex(root: Path, home: Path) -> Iterator[Check]:
    own = home / ".codex/config.toml"
    for path in (root / ".codex/config.toml", own, _REQUIRED):
        config = _toml(path)
        features = config.get("features")
        off = isinstance(features, dict) and (features.get("hooks") is False or features.get("codex_hooks") is False)
        if off or config.get("allow_managed_hooks_only") is True:
            yield fail("codex", f"`{path}` turns the hooks here off", "take it out")
    projects = _toml(own).get("projects")
    project = projects.get(str(root)) if isinstance(projects, dict) else None
    if not isinstance(project, dict) or project.get("trust_level") != "trusted":
        text = f"`{own}` does not trust this repository, and then Codex does not read its hooks"
        yield note("codex", text, "start Codex here and trust the folder")
    version = _version("codex")
    if version is not None and version < _BY_DEFAULT:
        yield fail("codex", f"version {_dotted(version)} runs no hooks by default", "update to 0.124.0 or newer")
    text = "it skips a hook until you trust it, and after each change to it; that cannot be seen from here"
    yield note("codex", text, "/hooks in Codex")


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
