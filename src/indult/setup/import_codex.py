"""The rules and settings of Codex: `prefix_rule(...)` in files of rules, and keys of config.toml, which are no rules."""

from __future__ import annotations

import ast
import itertools
import json
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from indult.errors import ConfigurationError
from indult.setup.importing import Translated

__all__ = ["settings"]

_EFFECTS: Final = {"allow": "allow", "prompt": "ask", "forbidden": "deny"}
_MOST: Final = 64

_KEYS: Final = {
    "approval_policy": "indult does not follow it; what no rule speaks of asks, and a person answers from anywhere",
    "sandbox_mode": "a sandbox goes on beside indult, which judges a call before the sandbox sees it",
    "sandbox_workspace_write": "a sandbox goes on beside indult, which judges a call before the sandbox sees it",
    "default_permissions": "indult does not read it; profiles of permissions go on beside it",
    "permissions": "indult does not read it; profiles of permissions go on beside it",
}


def settings(root: Path, home: Path) -> Iterator[tuple[str, str, str, Translated]]:
    """Yield file, place, text and rule of each setting; those of the user come last."""
    for folder, shown in ((root / ".codex", ".codex"), (home / ".codex", "~/.codex")):
        for path in sorted((folder / "rules").glob("*.rules")):
            yield from _rules(path, f"{shown}/rules/{path.name}")
        yield from _config(folder / "config.toml", f"{shown}/config.toml")


def _rules(path: Path, shown: str) -> Iterator[tuple[str, str, str, Translated]]:
    """Read a file of rules as what it looks like to a person: calls with lists of texts, and nothing that computes."""
    text = _text(path, shown)
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as exc:
        raise ConfigurationError(f"`{shown}` cannot be read: {exc}") from exc
    for statement in tree.body:
        where = f"line {statement.lineno}"
        source = " ".join((ast.get_source_segment(text, statement) or "").split())
        for translated in _statement(statement):
            yield shown, where, source, translated


def _statement(statement: ast.stmt) -> Iterator[Translated]:
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.func.id != "prefix_rule":
        yield Translated(differs="only `prefix_rule(...)` is read")
        return
    try:
        given = {word.arg: ast.literal_eval(word.value) for word in call.keywords}
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        given = {}
    yield from (
        _prefix(given) if given and not call.args else iter([Translated(differs="it does not read one way only")])
    )


def _prefix(given: Mapping[str | None, Any]) -> Iterator[Translated]:
    effect = _EFFECTS.get(str(given.get("decision", "allow")))
    pattern = given.get("pattern")
    steps = [[step] if isinstance(step, str) else step for step in pattern] if isinstance(pattern, list) else []
    good = all(isinstance(step, list) and step and all(isinstance(word, str) for word in step) for step in steps)
    if effect is None or not steps or not good:
        yield Translated(differs="it does not read one way only")
        return
    lines = list(itertools.islice(itertools.product(*steps), _MOST + 1))
    if len(lines) > _MOST:
        yield Translated(differs=f"it stands for more than {_MOST} commands")
        return
    rule: dict[str, Any] = {"effect": effect, "target": [_target(words) for words in lines]}
    differs = "in every harness, and each command of a line by itself; it takes no command out of the sandbox"
    if effect != "allow":
        shown = ", ".join(f"`{' '.join(words)}`" for words in lines)
        why = given.get("justification")
        said = f"Do not run {shown}." if effect == "deny" else f"Ask before you run {shown}."
        rule["says"] = f"{said} {why.strip()}" if isinstance(why, str) and why.strip() else said
        differs = "in every harness, and inside the sandbox too"
    yield Translated(rule=rule, differs=differs)


def _target(words: tuple[str, ...]) -> str:
    """Return the pattern of leading words; words that hold what a pattern reads in its own way stand in a list."""
    plain = " ".join(words)
    odd = plain.startswith("[") or any(not word or set(word) & set(" \t\n*\"'\\") for word in words)
    return "command:" + (json.dumps(list(words), ensure_ascii=False) if odd else plain)


def _config(path: Path, shown: str) -> Iterator[tuple[str, str, str, Translated]]:
    text = _text(path, shown)
    try:
        config = tomllib.loads(text)
    except (ValueError, RecursionError) as exc:
        raise ConfigurationError(f"`{shown}` cannot be read: {exc}") from exc
    for key, why in _KEYS.items():
        if key in config:
            yield shown, key, json.dumps(config[key], default=str), Translated(differs=why)
    servers = config.get("mcp_servers")
    for server, keys in servers.items() if isinstance(servers, dict) else ():
        tools = keys.get("disabled_tools") if isinstance(keys, dict) else None
        for tool in tools if isinstance(tools, list) else ():
            name = f"mcp__{server}__{tool}"
            rule = {"effect": "deny", "tool": name, "says": f"Do not use {name}."}
            yield shown, f"mcp_servers.{server}.disabled_tools", str(tool), Translated(rule=rule)


def _text(path: Path, shown: str) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as exc:
        raise ConfigurationError(f"`{shown}` cannot be read: {exc}") from exc
