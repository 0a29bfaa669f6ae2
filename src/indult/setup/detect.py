"""What a repository is made of: its languages, its manifests, the command of its tests, and the agents that work in it."""

from __future__ import annotations

import json
import os
import re
import shutil
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

__all__ = ["HARNESSES", "Found", "detect", "own_harnesses"]

HARNESSES: Final = ("claude-code", "codex", "copilot")
"""The harnesses that indult has hooks for."""

_LANGUAGES: Final = {
    ".c": "C", ".cc": "C++", ".clj": "Clojure", ".cpp": "C++", ".cs": "C#", ".dart": "Dart", ".ex": "Elixir",
    ".exs": "Elixir", ".go": "Go", ".hs": "Haskell", ".java": "Java", ".js": "JavaScript", ".jsx": "JavaScript",
    ".kt": "Kotlin", ".lua": "Lua", ".mjs": "JavaScript", ".php": "PHP", ".py": "Python", ".r": "R", ".rb": "Ruby",
    ".rs": "Rust", ".scala": "Scala", ".sh": "Shell", ".swift": "Swift", ".ts": "TypeScript", ".tsx": "TypeScript",
    ".zig": "Zig",
}  # fmt: skip

_MANIFESTS: Final = frozenset({
    "Cargo.lock", "Cargo.toml", "Gemfile", "Gemfile.lock", "Pipfile", "build.gradle", "build.gradle.kts", "bun.lock",
    "bun.lockb", "composer.json", "go.mod", "go.sum", "go.work", "mix.exs", "package-lock.json", "package.json",
    "pdm.lock", "pnpm-lock.yaml", "poetry.lock", "pom.xml", "pyproject.toml", "setup.cfg", "setup.py", "uv.lock",
    "yarn.lock",
})  # fmt: skip
_REQUIREMENTS: Final = re.compile(r"(requirements|constraints).*\.txt")

_SKIPPED: Final = frozenset({"__pycache__", "build", "dist", "node_modules", "patches", "target", "vendor", "venv"})
"""Folders that hold no code of the repository's own; those whose name begins with a dot are left out too."""

_MOST_FILES: Final = 20_000
_DEEPEST: Final = 8
_LARGEST: Final = 1_000_000

_NO_TEST: Final = re.compile(r"no test specified")
_RECIPE: Final = re.compile(r"^@?test\b[^:=\n]*:(?!=)", re.MULTILINE)
_TARGET: Final = re.compile(r"^test\s*:(?!=)", re.MULTILINE)

_SIGNS: Final[Mapping[str, tuple[str, tuple[str, ...], str]]] = {
    "claude-code": ("claude", (".claude", "CLAUDE.md"), ".claude"),
    "codex": ("codex", (".codex",), ".codex"),
    "copilot": ("copilot", (".github/copilot-instructions.md", ".github/hooks"), ".copilot"),
}
"""Of each harness: its program, what in a repository is its own, and its folder in a home folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What was found in the repository at `root`.

    `languages` are those with the most files first, `manifests` are paths, `tests` are commands that run the tests, and
    `harnesses` are those that are used in the repository or on this machine.
    """

    root: str
    languages: tuple[str, ...] = ()
    manifests: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    harnesses: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {name: getattr(self, name) for name in ("root", "languages", "manifests", "tests", "harnesses")}


def detect(root: str, *, home: str | None = None, path: str | None = None) -> Found:
    """Look at the repository at `root`; `path` is where programs are searched for, by default that of the process."""
    languages: dict[str, int] = {}
    manifests = []
    for name in _files(Path(root)):
        base = name.rpartition("/")[2]
        language = _LANGUAGES.get(os.path.splitext(base)[1].lower())  # noqa: PTH122
        if language:
            languages[language] = languages.get(language, 0) + 1
        if base in _MANIFESTS or _REQUIREMENTS.fullmatch(base):
            manifests.append(name)
    return Found(
        root=root,
        languages=tuple(sorted(languages, key=lambda name: (-languages[name], name))),
        manifests=tuple(sorted(manifests, key=lambda name: (name.count("/"), name))),
        tests=tuple(dict.fromkeys(_tests(Path(root)))),
        harnesses=tuple(_harnesses(Path(root), home, path)),
    )


def _files(root: Path) -> Iterator[str]:
    """Yield the paths of the repository's own files, as far as there are not too many."""
    seen = 0
    for folder, folders, files in os.walk(root):
        inside = os.path.relpath(folder, root)
        depth = 0 if inside == "." else inside.count(os.sep) + 1
        folders[:] = (
            sorted(name for name in folders if name not in _SKIPPED and name[0] != ".") if depth < _DEEPEST else []
        )
        for name in sorted(files):
            seen += 1
            if seen > _MOST_FILES:
                return
            yield name if inside == "." else f"{inside.replace(os.sep, '/')}/{name}"


def _tests(root: Path) -> Iterator[str]:
    """Yield the commands that run the tests, those that the repository names itself first."""
    if _TARGET.search(_text(root / "Makefile")):
        yield "make test"
    if any(_RECIPE.search(_text(root / name)) for name in ("justfile", "Justfile", ".justfile")):
        yield "just test"
    script = root / "scripts" / "test"
    if script.is_file() and os.access(script, os.X_OK):
        yield "scripts/test"
    yield from _script_tests(root)
    yield from _python_tests(root)
    for name, command in (
        ("tox.ini", "tox"), ("noxfile.py", "nox"), (".rspec", "bundle exec rspec"), ("deno.json", "deno test"),
        ("Package.swift", "swift test"),
        ("Cargo.toml", "cargo test"), ("go.mod", "go test"), ("mix.exs", "mix test"), ("pom.xml", "mvn test"),
        ("gradlew", "./gradlew test"),
    ):  # fmt: skip
        if (root / name).is_file():
            yield command


def _script_tests(root: Path) -> Iterator[str]:
    try:
        scripts = json.loads(_text(root / "package.json")).get("scripts", {})
        test = scripts.get("test")
    except (AttributeError, ValueError, RecursionError):
        return
    if not isinstance(test, str) or _NO_TEST.search(test):
        return
    managers = (("bun", "bun.lock"), ("bun", "bun.lockb"), ("pnpm", "pnpm-lock.yaml"), ("yarn", "yarn.lock"))
    # `bun test` is bun's own runner and not the script.
    named = {"bun": "bun run test", "pnpm": "pnpm test", "yarn": "yarn test"}
    yield next((named[manager] for manager, lock in managers if (root / lock).exists()), "npm test")


def _python_tests(root: Path) -> Iterator[str]:
    text = _text(root / "pyproject.toml")
    try:
        project: dict[str, Any] = tomllib.loads(text)
    except (ValueError, RecursionError):
        project = {}
    tools = project.get("tool")
    asks = (isinstance(tools, dict) and "pytest" in tools) or "pytest" in text
    if not asks and not any((root / name).is_file() for name in ("pytest.ini", "conftest.py", "tests/conftest.py")):
        return
    runners = (("uv.lock", "uv run pytest"), ("poetry.lock", "poetry run pytest"), ("pdm.lock", "pdm run pytest"))
    yield from (command for lock, command in runners if (root / lock).exists())
    yield "pytest"
    yield "python -m pytest"


def own_harnesses(root: Path) -> tuple[str, ...]:
    """Return the harnesses that have files of their own in the repository at `root`."""
    return tuple(name for name, (_, own, _) in _SIGNS.items() if any((root / one).exists() for one in own))


def _harnesses(root: Path, home: str | None, path: str | None) -> Iterator[str]:
    place = Path(os.path.expanduser("~") if home is None else home)  # noqa: PTH111
    used = own_harnesses(root)
    for name, (program, _, folder) in _SIGNS.items():
        if name in used or (place / folder).is_dir() or shutil.which(program, path=path) is not None:
            yield name


def _text(path: Path) -> str:
    """Return the beginning of a file as text, nothing where it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(_LARGEST).decode(errors="replace")
    except OSError:
        return ""
