"""Programs that bring code, or what files hold, by words of their own language, and builtins that show variables."""

from __future__ import annotations

import re
from typing import Final

from indult.decompose.shell.words import Word

__all__ = ["COMPILERS", "compiles", "declares", "fetches", "handed_on", "included", "queries", "transforms"]

COMPILERS: Final = frozenset({"gcc", "g++", "cc", "c++", "cpp", "clang", "clang++"})

_PLUGINS: Final = (
    "-wrapper", "--wrapper", "-B", "-fplugin", "-fpass-plugin", "-fmodule-mapper", "-iplugindir", "-specs", "--specs", "-Xclang",
    "--ld-path", "-plugin", "--plugin", "--gcc-toolchain", "--gcc-install-dir", "-ccc-", "--config", "@",
)  # fmt: skip
_HANDS_ON: Final = ("-Wl,", "-Wa,", "-Wp,")
"""Options of a compiler with options for the linker, the assembler or the preprocessor behind them."""

_SEARCHED: Final = (
    "-rpath",
    "--rpath",
    "-rpath-link",
    "--rpath-link",
    "-dynamic-linker",
    "--dynamic-linker",
    "-soname",
)
"""Options of a linker whose value is written into the program and opened by nobody yet."""
_INPUTS: Final = ("-", "/dev/stdin", "/dev/fd/", "/proc/")
_INCLUDES: Final = ("-include", "--include", "-imacros", "--imacros")


def compiles(words: list[Word]) -> str:
    """Return why a compiler may run or show more than the files that it is given, empty where it does not."""
    for text in (one for word in words for one in (word.text or "", *(handed_on("cc", word.text or "") or ()))):
        if text.startswith(_PLUGINS) or (text.startswith("-fuse-ld=") and "/" in text):
            return f"`{text[:50]}` makes a compiler run code"
        if text == _INPUTS[0] or text.startswith(_INPUTS[1:]):
            # A directive in it brings any file into what is shown.
            return "a compiler reads a source that stands in no file"
    return ""


def handed_on(name: str, text: str) -> list[str] | None:
    """Return the words that a compiler hands on to another program, none where a word is for itself."""
    if name not in COMPILERS or not text.startswith(_HANDS_ON):
        return None
    found, skipped = [], False
    for one in text.split(",")[1:]:
        if not (skipped or one.startswith(tuple(f"{option}=" for option in _SEARCHED))):
            found.append(one)
        skipped = one in _SEARCHED
    return found


def included(name: str, words: list[Word]) -> list[Word]:
    """Return the files that options of a compiler bring in, with the name behind the option in one word."""
    found = []
    for word in words if name in COMPILERS else ():
        text = word.text if word.text is not None else word.glob or ""
        for option in _INCLUDES:
            if text.startswith(option) and len(text) > len(option):
                value = text[len(option) :].removeprefix("=")
                found.append(Word(value) if word.text is not None else Word(None, value))
    return found


_MODULES: Final = re.compile(r"\b(?:import|include|search|modulemeta)\b")


def queries(words: list[Word]) -> str:
    """Return why `jq` may read more than the files that it is given, empty where it does not."""
    for at, word in enumerate(words):
        text = word.text or ""
        short = text.startswith("-") and not text.startswith("--")
        if (short and "L" in text) or (len(text) > 3 and "--library-path".startswith(text.partition("=")[0])):
            return "`jq -L` brings code from elsewhere"
        if (short and "f" in text) or (len(text) > 3 and "--from-file".startswith(text.partition("=")[0])):
            behind = words[at + 1].text if at + 1 < len(words) else None
            if behind is None or behind.startswith(("/", "-", "~")) or ".." in behind:
                return "the program of `jq` is not known"
        if '"' in text and _MODULES.search(text):
            return "the program of `jq` reads other files"
    return ""


_TRANSFORMS: Final = re.compile(r"\b(?:system|load\w*|import|include|eval(?=\s*\())\b")


def transforms(words: list[Word]) -> str:
    """Return why `yq` may run a program or read more than the files that it is given, empty where it does not."""
    for word in words:
        text = word.text or ""
        short = text.startswith("-") and not text.startswith("--")
        long = text.partition("=")[0]
        if (short and set(text[1:].partition("=")[0]) & set("fL")) or (
            len(long) > 3 and "--from-file".startswith(long)
        ):
            return "the program of `yq` is not known"
        if text.startswith("--security") or (not text.startswith("-") and _TRANSFORMS.search(text)):
            return "the program of `yq` runs code or reads other files"
    return ""


def declares(words: list[Word]) -> str:
    """Return why a builtin that sets variables shows them or makes one stand for another, empty where it does not."""
    named = functions = False
    for word in words:
        text = word.text
        if text is None or text[:1] not in {"-", "+"}:
            named = True
        elif text[:2] != "--":
            if "p" in text:
                return "it shows what variables hold"
            if "n" in text and text[0] == "-" and "x" not in text:
                return "it makes a name stand for another variable"
            functions = functions or bool(set(text) & set("fF"))
    return "" if named or functions else "it shows what variables hold"


def fetches(words: list[Word], options: tuple[str, ...]) -> str:
    """Return why a program may run something else than what lies here, empty where it does not."""
    for at, word in enumerate(words):
        text = word.text or ""
        for option in options:
            if not text.startswith(option):
                continue
            value = text[len(option) :].removeprefix("=") or (words[at + 1].text if at + 1 < len(words) else None)
            if value is None or value.startswith(("/", "~")) or ".." in value:
                return f"`{option}` makes it run what lies elsewhere"
    return ""
