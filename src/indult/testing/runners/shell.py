"""Runs shell cases: one tool call and a neutral policy in, the verdict out."""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING, Any, Final

from indult.actions import Action
from indult.boundary import Boundary
from indult.characters import fold
from indult.decompose import SHELL_TOOLS, decompose_with
from indult.decompose.paths import Places
from indult.errors import InputError
from indult.judgements import Verdict
from indult.policy import Effect, Policy, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["Disk", "policy_of", "run", "verdict"]

_WORDS: Final = {Verdict.APPROVE: "APPROVE", Verdict.ASK_USER: "ASK", Verdict.DENY: "DENY"}
_ROOT: Final = "/repo"

_SHELL_TOOLS: Final = SHELL_TOOLS | {"completion_command"}
"""The tools of cases that run a `command`; one of the cases has a text that stands in a configuration file."""


def run(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the verdict of each case.

    Raises:
        InputError: The file holds something else than cases.
    """
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            case = json.loads(line)
            yield {"id": case["id"], "verdict": verdict(case)}
        except (KeyError, TypeError, ValueError) as exc:
            raise InputError(f"line {number} is no shell case: {type(exc).__name__}: {exc}") from exc


def verdict(case: dict[str, Any]) -> str:
    """Return what the gate says of a case: APPROVE, ASK or DENY."""
    neutral = case["policy"]
    disk = Disk(neutral.get("fs", {}))
    root, home = neutral.get("cwd", _ROOT), neutral.get("home")
    decompose = decompose_with(disk, root, home, _SHELL_TOOLS)
    boundary = Boundary(policy=policy_of(neutral, Places(disk, root, home)), decompose=decompose)
    args = case["action"]
    if case["tool"] == "mcp":
        action = Action(tool=args["tool_name"], args=args.get("arguments", {}), cwd=root)
    else:
        action = Action(tool=case["tool"], args=args, cwd=root)
    return _WORDS[boundary.judge(action, {}).verdict]


class Disk:
    """The disk of a case, as far as it says what is on it."""

    def __init__(self, facts: dict[str, Any]) -> None:
        self.windows = facts.get("platform") == "windows"
        self.folds = bool(facts.get("case_insensitive"))
        links = {**facts.get("symlinks", {}), **facts.get("short_names", {})}
        self._links = {self.spelled(path): target for path, target in links.items()}
        self._files = {self.spelled(path) for path in facts.get("files", ())}

    def link(self, path: str) -> str | None:
        """Return the text of a link."""
        return self._links.get(self.spelled(path))

    def folder(self, path: str) -> bool:
        """Tell whether a folder may be at a path: a case does not list folders."""
        return self.spelled(path) not in self._files

    def entries(self, path: str) -> list[tuple[str, str]]:
        """Return what is in a folder, as far as a case lists it."""
        head = self.spelled(path).rstrip("/") + "/"
        found: dict[str, str] = {}
        for one in (*self._files, *self._links):
            if one.startswith(head):
                name, sign, _ = one[len(head) :].partition("/")
                found[name] = "folder" if sign else "link" if one in self._links else "file"
        return list(found.items())

    def spelled(self, path: str) -> str:
        """Return the one spelling of a path; here it is the folded one."""
        return fold(path) if self.folds else path

    def content(self, path: str) -> bytes | None:
        """Return nothing: a case does not say what files hold."""
        del path
        return None

    def digest(self, path: str) -> str | None:
        """Return nothing: a case does not say what files hold."""
        del path
        return None


def policy_of(neutral: dict[str, Any], places: Places) -> Policy:
    """Return the policy that means what a neutral one does."""
    rules = []
    for effect in Effect:
        commands = [_command(words) for words in neutral.get(f"{effect}_commands", ())]
        if effect is Effect.ASK:
            options = neutral.get("ask_options", {})
            commands += [_words([name, option]) for name, found in options.items() for option in found]
        if commands:
            rules.append(_rule(f"{effect}.commands", effect, target=tuple(dict.fromkeys(commands))))
        rules += [
            _rule(f"{effect}.tool{at}", effect, tool=pattern)
            for at, pattern in enumerate(neutral.get(f"{effect}_tools", ()))
            if effect is not Effect.ALLOW or _whole_server(pattern)
        ]
        for kind, key in (("file", "paths"), ("read", "read_paths"), ("write", "write_paths")):
            globs = [glob for path in neutral.get(f"{effect}_{key}", ()) for glob in _globs(path, places)]
            if globs:
                targets = tuple(dict.fromkeys(f"{kind}:{glob}" for glob in globs))
                rules.append(_rule(f"{effect}.{key}", effect, target=targets))
    return Policy(rules=tuple(rules), default=Effect.ASK)


def _rule(name: str, effect: Effect, **more: Any) -> Rule:
    return Rule(id=name, effect=effect, says=None if effect is Effect.ALLOW else f"Mind {name}.", **more)


def _command(text: str) -> str:
    return _words(shlex.split(text))


def _words(words: list[str]) -> str:
    return "command:" + json.dumps(words, ensure_ascii=False)


def _whole_server(pattern: str) -> bool:
    """Tell whether a star in the name of a server stands for the whole of it."""
    found = re.match(r"mcp__(.+?)(?:__|\Z)", pattern)
    return found is None or "*" not in found[1] or found[1] == "*"


def _globs(path: str, places: Places) -> Iterator[str]:
    """Yield the patterns that a path of a neutral policy stands for; `X/**` covers X itself too."""
    if path == "~" or path.startswith("~/"):
        path = f"{places.home}{path[1:]}"
    found = re.sub("//+", "/", path)
    if places.is_absolute(found) or places.fs.windows:
        names = [places.name(places.normal(found))]
        if "*" not in found:
            names += places.names(places.root, found) or ()
    else:
        names = [places.fs.spelled(found.removeprefix("./"))]
        if "*" not in found:
            names += places.names(places.root, found) or ()
    for name in dict.fromkeys(names):
        yield name
        if name.endswith("/**") and name != "/**":
            yield name.removesuffix("/**")
