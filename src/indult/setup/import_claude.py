"""The permissions of Claude Code's settings, `Tool` or `Tool(specifier)`, as rules."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from indult.errors import ConfigurationError
from indult.setup.importing import Translated
from indult.setup.jsontext import parse

__all__ = ["rule_of", "settings"]

_RULE: Final = re.compile(r"([\w*-]+)(?:\((.*)\))?", re.DOTALL)
_READS: Final = ("Read", "Glob", "Grep", "LS")
_EDITS: Final = ("Edit", "Write", "MultiEdit", "NotebookEdit")
_SHELL: Final = "Bash"
_SHELLS: Final = ("Bash", "PowerShell")
_SETS: Final = re.compile(r"[A-Za-z_]\w*=")
_WORDS: Final = {"allow": "allow", "ask": "ask", "deny": "deny"}

_OTHERS: Final = {
    "defaultMode": "indult has no modes; what no rule speaks of asks, whatever the mode",
    "additionalDirectories": "a file outside the repository asks, unless a rule names its absolute path",
    "disableBypassPermissionsMode": "hooks run in that mode too, so the gate holds",
}
_PIECE: Final = "how indult reads it: each command of a line by itself, after quotes are removed"


def settings(root: Path, home: Path) -> Iterator[tuple[str, str, str, Translated]]:
    """Yield file, place, text and rule of each permission; those of the user come last."""
    places = (
        (root / ".claude" / "settings.json", ".claude/settings.json", root),
        (root / ".claude" / "settings.local.json", ".claude/settings.local.json", root),
        (home / ".claude" / "settings.json", "~/.claude/settings.json", home / ".claude"),
    )
    for path, shown, base in places:
        found = _permissions(path, shown)
        for effect in ("deny", "ask", "allow"):
            entries = found.get(effect)
            for at, text in enumerate(entries if isinstance(entries, list) else ()):
                where = f"permissions.{effect}[{at}]"
                known = (
                    rule_of(effect, text, root=root, base=base, home=home) if isinstance(text, str) else Translated()
                )
                yield shown, where, text if isinstance(text, str) else json.dumps(text), known
        for key, value in found.items():
            if key not in _WORDS:
                why = _OTHERS.get(key, "indult has nothing like it")
                yield shown, f"permissions.{key}", json.dumps(value), Translated(differs=why)


def rule_of(effect: str, text: str, *, root: Path, base: Path, home: Path) -> Translated:
    """Return what one permission comes to; `base` is where a path that begins with one slash starts."""
    found = _RULE.fullmatch(text.strip())
    if found is None:
        return Translated(differs="it is no `Tool` or `Tool(specifier)`")
    tool, specifier = found[1], found[2]
    if specifier in {None, "", "*"} or (specifier == ":*" and tool == _SHELL):
        return _whole(effect, tool)
    if tool == _SHELL:
        return _command(effect, specifier)
    if tool in _READS or tool in _EDITS:
        return _path(effect, tool, specifier, root=root, base=base, home=home)
    if tool == "WebFetch" and specifier.startswith("domain:"):
        return _domain(effect, specifier.removeprefix("domain:"))
    if effect == "allow":
        return Translated(differs=f"what stands behind `{tool}` is not read, so such a call asks")
    return Translated(
        rule={"effect": "ask", "tool": tool, "says": f"Ask before you use {tool}."},
        differs=f"what stands behind `{tool}` is not read, so every call of it asks",
    )


def _whole(effect: str, tool: str) -> Translated:
    """Return the rule for every call of a tool."""
    if effect == "allow" and tool in _SHELLS:
        return Translated(differs="it allows every command; allow those that you mean")
    if effect == "allow" and "*" in tool and not tool.startswith("mcp__"):
        return Translated(differs="it allows tools that it does not name; allow those that you mean")
    if re.fullmatch(r"mcp__[^*]+", tool) and tool.count("__") == 1:
        tool = f"{tool}__*"
    rule: dict[str, Any] = {"effect": effect, "tool": tool}
    family = _READS if tool == "Read" else _EDITS if tool == "Edit" else ()
    if effect != "allow" and family:
        when = f"tool in {json.dumps(family)}"
        says = _sentence(effect, f"use {', '.join(family)}")
        return Translated(
            rule={"effect": effect, "when": when, "says": says}, differs=f"for {', '.join(family[1:])} too"
        )
    if effect != "allow":
        return Translated(rule={**rule, "says": _sentence(effect, f"use {tool}")})
    if tool in _READS:
        return Translated(
            rule={**rule, "target": ["read:**"]}, differs="inside the repository only; what lies outside asks"
        )
    if tool in _EDITS:
        return Translated(
            rule={**rule, "target": ["write:**", "edit:**"]},
            differs="inside the repository only, and entries of manifests ask",
        )
    return Translated(rule=rule)


def _command(effect: str, specifier: str) -> Translated:
    """Return the rule for a command: exact, with a prefix, or with a `*` somewhere."""
    text = specifier.removesuffix(":*").removesuffix(" *")
    prefix = text != specifier
    if "*" in text:
        return _starred(effect, specifier, text)
    words = text.split()
    # What a command is given in variables is no word of it here.
    while words and _SETS.match(words[0]) and effect != "allow":
        del words[0]
    if not words:
        return Translated(differs="it names no command")
    if _SETS.match(words[0]):
        return Translated(differs="variables that are set for a command are not read; such a command asks")
    if any(char in text for char in "\"'\\$`;|&<>(){}#~?[]\n"):
        if effect == "allow":
            return Translated(differs="it holds what a shell reads in its own way; such a command asks")
        return _starred(effect, specifier, text)
    rule: dict[str, Any] = {"effect": effect, "target": "command:" + " ".join(words)}
    if effect != "allow":
        wider = "" if prefix else "with more words behind it too, and "
        return Translated(
            rule={**rule, "says": _sentence(effect, f"run `{' '.join(words)}`")},
            differs=f"{wider}in every harness, wherever it stands in a line",
        )
    rule = {"effect": effect, "tool": _SHELL, "target": rule["target"]}
    if prefix:
        return Translated(rule=rule, differs=_PIECE)
    return Translated(rule={**rule, "when": f"args.command == {json.dumps(text)}"}, differs="as the whole line only")


def _starred(effect: str, specifier: str, text: str) -> Translated:
    """Return the rule for a command that cannot be compared word by word: by its text, for what only restricts."""
    if effect == "allow":
        return Translated(differs="a `*` before the end is not read; allow the commands that you mean")
    head = re.split(r"[*\"'\\$`;|&<>(){}#~?\[\]\n]", text)[0]
    words = head.split() if head.endswith(" ") else head.split()[:-1]
    if not words:
        return Translated(
            rule={"effect": "ask", "tool": _SHELL, "when": f"args.command.matches({_regex(specifier)})"}
            | {"says": f"Ask before you run what looks like `{specifier}`."},
            differs="it is compared with the text of the whole line and asks, since a text can be written in many ways",
        )
    return Translated(
        rule={
            "effect": effect,
            "tool": _SHELL,
            "target": "command:" + " ".join(words),
            "when": f"args.command.matches({_regex(specifier)})",
            "says": _sentence(effect, f"run what looks like `{specifier}`"),
        },
        differs="the words before the `*` as words, the rest anywhere in the text of the line",
    )


def _regex(specifier: str) -> str:
    """Return a condition's text for an expression that finds a specifier anywhere in a line."""
    pieces = specifier.replace(":*", "*").split("*")
    return json.dumps("(?s)" + ".*".join(re.escape(piece.strip()).replace("\\ ", "\\s+") for piece in pieces))


def _path(effect: str, tool: str, specifier: str, *, root: Path, base: Path, home: Path) -> Translated:
    """Return the rule for paths, which are read as lines of a .gitignore."""
    if any(char in specifier for char in "?[]{}!\\"):
        specifier, odd = re.sub(r"\[[^\]]*\]|\{[^}]*\}|[?\\!]", "*", specifier), True
        if effect == "allow":
            return Translated(differs="only `*` and `**` are read in a path; such a file asks")
    else:
        odd = False
    glob, differs = _glob(effect, specifier, root=root, base=base, home=home)
    if not glob:
        return Translated(differs="it names no path that a rule can name")
    kinds = _kinds(effect, tool)
    globs = [glob] if glob.endswith("**") else [glob, f"{glob}/**"]
    rule: dict[str, Any] = {"effect": effect, "target": [f"{kind}:{one}" for one in globs for kind in kinds]}
    if effect == "allow":
        return Translated(rule={"effect": effect, "tool": tool, "target": rule["target"]}, differs=differs)
    verb = "read" if tool in _READS else "change"
    also = "in every harness, and in commands of the shell too"
    notes = [differs, "what stands in brackets counts as `*`" if odd else "", also]
    return Translated(
        rule={**rule, "says": _sentence(effect, f"{verb} `{specifier}`")},
        differs="; ".join(note for note in notes if note),
    )


def _kinds(effect: str, tool: str) -> tuple[str, ...]:
    if tool in _READS:
        return ("read",) if effect == "allow" else ("read", "exec")
    return ("write", "edit") if effect == "allow" else ("whole", "edit")


def _glob(effect: str, text: str, *, root: Path, base: Path, home: Path) -> tuple[str, str]:
    """Return a glob of targets for a path of the settings, and how it differs."""
    text = text.rstrip("/") if text.strip("/") else text
    if text.startswith("~/"):
        if effect == "allow":
            return f"{home}/{text[2:]}", "your home folder by its path, so it holds on this machine only"
        return f"**/{text[2:].removeprefix('**/')}", "in any folder, not in your home folder only"
    if text.startswith("//"):
        inside = _inside(text[1:], root)
        return (inside or text[1:]), ""
    if text.startswith("/"):
        return (_inside(f"{base}{text}", root) or f"{base}{text}"), ""
    here = text.startswith("./")
    text = text.removeprefix("./")
    if text in {"", ".", ".."} or "/../" in f"/{text}/":
        return "", ""
    # A name alone is meant anywhere; of one with `./` that is not as clear, so it is read the stricter way.
    if "/" in text.removeprefix("**/") or (here and effect == "allow"):
        return text, "from the root of the repository, not from the folder of the call"
    return f"**/{text.removeprefix('**/')}", ""


def _inside(path: str, root: Path) -> str | None:
    return path.removeprefix(f"{root}/") if path.startswith(f"{root}/") else None


def _domain(effect: str, domain: str) -> Translated:
    """Return the rule for fetching from a host."""
    host = domain.strip().lower()
    if not re.fullmatch(r"(\*\.)?[a-z0-9.-]+", host):
        return Translated(differs="it is no name of a host")
    name = re.escape(host.removeprefix("*."))
    if effect == "allow":
        below = r"([a-z0-9-]+\.)+" if host.startswith("*.") else ""
        when = f"args.url.matches({json.dumps(f'^https://{below}{name}(/|$)')})"
        return Translated(
            rule={"effect": effect, "tool": "WebFetch", "when": when}, differs="over https, no other port"
        )
    when = f"args.url.matches({json.dumps(f'(?i){name}')})"
    return Translated(
        rule={"effect": effect, "tool": "WebFetch", "when": when, "says": _sentence(effect, f"fetch from {host}")},
        differs="wherever the name stands in the address",
    )


def _sentence(effect: str, what: str) -> str:
    return f"Do not {what}." if effect == "deny" else f"Ask before you {what}."


def _permissions(path: Path, shown: str) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as exc:
        raise ConfigurationError(f"`{shown}` cannot be read: {exc}") from exc
    found = parse(text, source=shown).get("permissions", {})
    return found if isinstance(found, dict) else {}
