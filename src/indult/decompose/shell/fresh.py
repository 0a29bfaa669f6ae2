"""What a line itself brings, and which of its commands run it: nobody could look at that before the line was judged."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Final

__all__ = ["FORMATTERS", "Fresh"]

FORMATTERS: Final = frozenset(
    {"black", "ruff", "isort", "autopep8", "yapf", "prettier", "biome", "eslint", "gofmt", "goimports", "rustfmt",
     "shfmt", "clang-format", "stylua", "dprint", "taplo", "yamlfmt", "rubocop", "standard", "dos2unix", "unix2dos"}
)  # fmt: skip
"""Programs that rewrite what is there, and bring nothing that was not there before."""

_MAKES_EMPTY: Final = frozenset({"mkdir"})
_MAKES_FILES: Final = frozenset({"", "touch", "tee", "truncate", "sort", "sed", "gsed"})
"""Programs that make plain files alone; the one without a name is a redirection."""
_EDITORS: Final = frozenset({"sed", "gsed"})
"""Programs that change a part of what is there; to edit a test and then to run it is how work goes on."""

_CHECKERS: Final = frozenset(
    {
        "mypy",
        "pylint",
        "flake8",
        "eslint",
        "prettier",
        "stylelint",
        "rubocop",
        "golangci-lint",
        "javac",
        "kotlinc",
        "rustc",
    }
)
"""Programs that run their settings and plugins, but not the files that they are given."""

_TESTS: Final = (
    "test_*.py", "*_test.py", "tests.py", "*.test.*", "*.spec.*", "*_test.*", "*_spec.*", "test*.java",
    "*test.java", "*tests.java", "*test.kt", "*test.php", "*tests.cs", "*test.cs",
)  # fmt: skip
_MAKES_AND_RUNS: Final = frozenset({"go", "cargo", "swift", "zig", "dotnet", "stack", "cabal", "deno", "bun"})
_SOURCES: Final = (
    "*.go",
    "*.rs",
    "*.swift",
    "*.zig",
    "*.cs",
    "*.fs",
    "*.hs",
    "*.c",
    "*.h",
    "*.ts",
    "*.js",
    "*.mjs",
    "*.s",
)
"""Programs with a verb `run`, behind which they make a program of what lies there and run it, and the sources of it."""

_RECIPES: Final = (
    "conftest.py", "makefile", "gnumakefile", "*.mk", "*.mak", "justfile", ".justfile", "taskfile.y*ml", "noxfile.py", "tox.ini",
    "pytest.ini", ".pytest.ini", "setup.cfg", "setup.py", "pyproject.toml", "package.json", "*.config.js", "*.config.cjs",
    "*.config.mjs", "*.config.ts", "*.config.cts", "*.config.mts", ".*rc", ".*rc.js", ".*rc.cjs", ".*rc.mjs", ".*rc.json",
    ".*rc.y*ml", "rakefile", "*.rake", "gemfile", ".rspec", "build.rs", "build.zig", "*.gradle", "*.gradle.kts", "pom.xml",
    "cmakelists.txt", "*.cmake", "meson.build", "build.ninja", "build.bazel", "*.bzl", "sconstruct", "mix.exs",
    "package.swift", "phpunit.xml*", "*.csproj", "*.props", "*.targets", "*.sbt", "deno.json*", "magefile.go",
)  # fmt: skip
"""Names, folded, of the files that say what a program that builds or tests is to run."""


class Fresh:
    """What one line brings, and which of its parts run what, by their places among the parts.

    Which of two commands comes first is not asked: loops, functions and traps may turn it around.
    """

    def __init__(self) -> None:
        self._written: set[str] = set()
        self._edited: set[str] = set()
        self._brought: set[str] = set()
        self._files: set[str] = set()
        self._runs: list[tuple[int, set[str], set[str], str, tuple[str, ...]]] = []

    def wrote(self, program: str, names: set[str]) -> None:
        """Note the names of files that a program writes."""
        if program in _EDITORS:
            self._edited |= names
        elif program not in FORMATTERS and program not in _MAKES_EMPTY:
            self._written |= names
        if program in _MAKES_FILES:
            self._files |= names

    def brought(self, names: set[str]) -> None:
        """Note the names of what may be folders full of files that were not here before."""
        self._brought |= names

    def is_file(self, name: str) -> bool:
        """Tell whether the line makes a plain file of this name."""
        return name in self._files

    def is_new(self, name: str) -> bool:
        """Tell whether what has this name comes from the line itself."""
        return name in self._written or any(_lies_below(name, one) for one in self._brought)

    def ran(self, at: int, names: set[str], tool: str, given: set[str], words: list[str | None]) -> None:
        """Note which files a part runs: by their names, or as the `tool` that it is, which is led to what it is given."""
        if tool in _CHECKERS:
            self._runs.append((at, names, set(), tool, ()))
        elif names or tool:
            sources = _SOURCES if tool in _MAKES_AND_RUNS and "run" in words else ()
            self._runs.append((at, names, given, tool, (*_TESTS, *sources)))

    def compiled(self, reads: set[str], names: set[str]) -> None:
        """Note what a compiler writes: it is as new as what it is made of."""
        if any(one in self._edited or self.is_new(one) for one in reads):
            self._written |= names

    def found(self) -> dict[int, str]:
        """Return the places of the parts that run what the line brings, and why each needs approval."""
        return {
            at: why for at, names, given, tool, globs in self._runs if (why := self._why(names, given, tool, globs))
        }

    def _why(self, names: set[str], given: set[str], tool: str, globs: tuple[str, ...]) -> str:
        if any(map(self.is_new, names | given)) or names & self._edited or (tool and self._brought):
            return "it runs what the line itself writes"
        read = {one for one in self._written if _any(one, globs)}
        read |= {one for one in self._written | self._edited if _any(one, _RECIPES)}
        first = min(read, default="") if tool else ""
        return f"`{tool}` may run `{first[-80:]}`, which the line itself writes" if first else ""


def _lies_below(name: str, folder: str) -> bool:
    return folder in {".", name} or name.startswith(f"{folder.rstrip('/')}/")


def _any(name: str, globs: tuple[str, ...]) -> bool:
    base = name.rpartition("/")[2].lower()
    return any(fnmatchcase(base, glob) for glob in globs)
