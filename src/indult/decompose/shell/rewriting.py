"""Programs that rewrite or delete all files of some endings below a folder: where they start, and which files those are."""

from __future__ import annotations

from typing import Final

from indult.decompose.searches import Filter
from indult.decompose.shell.finding import cleared
from indult.decompose.shell.programs import has, plain
from indult.decompose.shell.words import Word

__all__ = ["rewrites"]

_SCRIPTS: Final = ("*.js", "*.cjs", "*.mjs", "*.jsx", "*.ts", "*.cts", "*.mts", "*.tsx", "*.json", "*.jsonc", "*.css")
_TEXTS: Final = (
    "*.yml",
    "*.yaml",
    "*.md",
    "*.html",
    "*.json5",
    "*.vue",
    "*.less",
    "*.scss",
    ".*rc",
    "*.code-workspace",
)
_SHELLS: Final = (
    "*.sh", "*.bash", "*.bats", "*.ksh", "pre-*", "post-*", "commit-msg", "prepare-commit-msg", "update", "applypatch-msg",
)  # fmt: skip
_FORMATTERS: Final[dict[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "prettier": (("-w", "--write"), _SCRIPTS + _TEXTS),
    "biome": (("--write", "--fix", "--apply", "--apply-unsafe"), _SCRIPTS),
    "eslint": (("--fix",), _SCRIPTS + _TEXTS),
    "stylelint": (("--fix",), _SCRIPTS + _TEXTS),
    "deno": ((), _SCRIPTS + _TEXTS),
    "shfmt": (("-w", "--write"), _SHELLS),
    "yamlfmt": ((), _TEXTS),
    "yamlfix": ((), _TEXTS),
    "taplo": ((), ("*.toml",)),
    "dprint": ((), _SCRIPTS + _TEXTS),
}
"""Formatter -> the options with which it writes, none where it does without, and the names of what it rewrites.

What touches sources of one language alone, as `black`, `gofmt` and `rustfmt` do, comes upon nothing that controls the
repository.
"""
_LOOKS: Final = ("--check", "--list-different", "--dry-run")
_VERBS: Final = frozenset({"check", "format", "lint", "fmt", "output-file-paths"})


def rewrites(name: str, words: list[Word]) -> list[tuple[Word, Filter]]:
    """Return the folders below which a program rewrites or deletes files, each with which of them."""
    if name == "find" and (leftovers := cleared(words)) is not None:
        return [(Word(leftovers[0]), Filter(kind="delete", only=(leftovers[1],)))]
    found = _FORMATTERS.get(name)
    if found is None or (name == "deno" and [word.text for word in words[:1]] != ["fmt"]):
        return []
    options, names = found
    writes = any(_given(option, words) for option in options) if options else not _looks(words)
    if not writes:
        return []
    starts = [_start(word) for word in words if plain(word) and word.text not in _VERBS]
    filtered = Filter(kind="write", ignored=False, only=names, folders=("node_modules",))
    return [(word, filtered) for word in dict.fromkeys(starts or [Word(".")])]


def _given(option: str, words: list[Word]) -> bool:
    return has(words, "", option) if option.startswith("--") else has(words, option[1], option)


def _looks(words: list[Word]) -> bool:
    return any((word.text or "").startswith(_LOOKS) for word in words)


def _start(word: Word) -> Word:
    """Return the folder that an operand starts from, which may be a pattern that the program itself expands."""
    text = word.text if word.text is not None else word.glob
    if text is None:
        return Word(".")
    steps = text.split("/")
    first = next((at for at, step in enumerate(steps) if set(step) & set("*?[{!")), len(steps))
    return Word("/".join(steps[:first]) or ("/" if text.startswith("/") else "."))
