"""The other spellings of a command, under which deny and ask rules look at it; what allows looks at the words alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from indult.canonical import canonical
from indult.decompose.shell.launchers import launched
from indult.decompose.shell.words import Word

__all__ = ["other_names"]

_TWINS: Final = {".": "source", "source": ".", "[": "test", "test": "["}

_SUBCOMMANDS: Final = frozenset(
    [
        "git",
        "npm",
        "pnpm",
        "yarn",
        "bun",
        "docker",
        "podman",
        "kubectl",
        "helm",
        "gh",
        "glab",
        "cargo",
        "go",
        "pip",
        "pip3",
        "uv",
        "poetry",
        "terraform",
        "tofu",
        "aws",
        "gcloud",
        "az",
        "systemctl",
        "brew",
        "apt",
        "apt-get",
        "dnf",
        "yum",
        "pacman",
        "conda",
        "make",
        "gradle",
        "mvn",
        "dotnet",
        "flyctl",
        "heroku",
        "vercel",
        "wrangler",
        "npx",
    ]
)
"""Programs whose first word without a dash says what they do, and may stand behind options with values."""

_VERSIONED: Final = re.compile(r"(python|pypy|pip|node|ruby|perl|php|lua)-?(\d[\d.]*)?t?(?:\.exe)?\Z")
_PYTHON_OPTION: Final = re.compile(r"-[bBdEhiIOPqsSuvVx]*([mcWX])(.*)\Z", re.DOTALL)
_INTERPRETERS: Final = frozenset(
    {"python", "pypy", "bash", "sh", "dash", "zsh", "ksh", "node", "nodejs", "ruby", "perl", "php", "bun", "deno"}
)

_ONE_DASH: Final = frozenset(
    {"find", "go", "java", "javac", "gcc", "g++", "cc", "clang", "terraform", "openssl", "test"}
)
"""Programs whose options have one dash and many letters."""

_MOST: Final = 6


def other_names(argv: list[Word], *, folds: bool) -> tuple[str, ...]:
    """Return the other names of a command: by its base name, without the options that stand first, and without any."""
    names: dict[str, None] = {}
    for words in _spellings(argv, folds=folds):
        shown = [word.shown for word in words]
        names[canonical({"argv": shown})] = None
        options = list(_options(words))
        if options:
            names[canonical({"argv": _plain(words), "options": options})] = None
    return tuple(f"command:{name}" for name in names)


def _spellings(argv: list[Word], *, folds: bool) -> Iterator[list[Word]]:
    text = argv[0].text
    if text is None:
        yield argv
        return
    base = text.rpartition("/")[2] or text
    names = [text, base, _TWINS.get(base), *_unversioned(base)]
    if folds:
        names += [one.lower() for one in names if one]
    for name in dict.fromkeys(one.removesuffix(".exe") for one in names if one):
        words = [Word(name), *argv[1:]]
        yield words
        yield from _run_by(words)
        if name in _SUBCOMMANDS:
            yield from _behind_options(words)
    for inner in launched(argv):
        yield from _spellings(inner, folds=folds)


def _unversioned(base: str) -> Iterator[str]:
    """Yield the name of an interpreter or of its installer without its version, and without the lesser part of it."""
    found = _VERSIONED.match(base)
    if found is not None:
        yield found[1]
        if found[2]:
            yield found[1] + found[2][0]


def _run_by(words: list[Word]) -> Iterator[list[Word]]:
    """Yield what an interpreter runs: the module as the option is spelled out, or the script as a program of its name."""
    name = (words[0].text or "").rpartition("/")[2]
    if name.rstrip("0123456789.") not in _INTERPRETERS:
        return
    python = name.startswith(("python", "pypy"))
    at = 1
    while at < len(words):
        text = words[at].text
        if text is None:
            return
        if not text.startswith("-") or text == "-":
            yield [Word(text.rpartition("/")[2] or text), *words[at + 1 :]]
            return
        found = _PYTHON_OPTION.match(text) if python else None
        if found is None:
            at += 1
            continue
        value = words[at + 1] if not found[2] and at + 1 < len(words) else Word(found[2])
        at += 1 if found[2] else 2
        if found[1] == "c":
            return
        if found[1] == "m":
            # A module below a package does what the package is there for.
            for module in dict.fromkeys((value.text, (value.text or "").partition(".")[0])):
                yield [words[0], Word("-m"), Word(module), *words[at:]]
            return


def _behind_options(words: list[Word]) -> Iterator[list[Word]]:
    """Yield a command without the options that stand before its subcommand, whether or not they take a value."""
    after_option = False
    for at in range(1, min(len(words), 2 * _MOST)):
        text = words[at].text
        if text is not None and text.startswith("-"):
            after_option = "=" not in text
            continue
        if at > 1:
            yield [words[0], *words[at:]]
        if not after_option:
            return
        after_option = False


def _options(words: list[Word]) -> Iterator[str]:
    """Yield every option, also each letter of those that stand together."""
    seen: dict[str, None] = {}
    for word in words[1:]:
        text = word.text
        if text == "--":
            break
        if text is None or not text.startswith("-") or text == "-":
            continue
        seen[text.partition("=")[0] if text.startswith("--") else text] = None
        if not text.startswith("--") and words[0].text not in _ONE_DASH:
            seen.update((f"-{letter}", None) for letter in text[1:40])
    yield from seen


def _plain(words: list[Word]) -> list[Any]:
    out, ended = [], False
    for word in words:
        if not ended and word.text == "--":
            ended = True
        elif ended or word.text is None or not word.text.startswith("-") or word.text == "-":
            out.append(word.shown)
    return out
