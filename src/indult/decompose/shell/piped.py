"""What `xargs -0` is handed by the search before it in a pipe, where each name ends with a zero byte and none comes apart."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from indult.decompose.shell.finding import found
from indult.decompose.shell.words import Word

__all__ = ["handed", "takes_whole_names"]

_SHOWS: Final = frozenset({"-print", "-printf", "-ls", "-delete", "-fprint", "-fprint0", "-fprintf", "-fls"})
_RUNS: Final = ("-exec", "-ok")
_LISTS: Final = frozenset(
    {"-z", "-c", "-m", "-o", "-d", "--cached", "--modified", "--others", "--deleted", "--exclude-standard"}
)
_GREP: Final = re.compile(r"-[rlZiwEFIn]+|--include=[^/]*|--null|--recursive|--files-with-matches")
_RG: Final = re.compile(r"-[l0iwFS]+|--null|--files-with-matches")
_PASSES: Final[dict[str, re.Pattern[str]]] = {
    "sort": re.compile(r"-[zrunfVR]+|--zero-terminated"),
    "uniq": re.compile(r"-z|--zero-terminated"),
    "shuf": re.compile(r"-z|--zero-terminated"),
    "head": re.compile(r"-z|-\d+|-n\d+|--lines=\d+|--zero-terminated"),
    "tail": re.compile(r"-z|-\d+|-n\d+|--lines=\d+|--zero-terminated"),
}
"""Programs, with the words behind which they hand on no name that they were not handed."""

_OUTPUT: Final = frozenset({">", ">>", ">|"})


def handed(stmts: list[dict[str, Any]], argvs: Iterable[list[Word]]) -> Word | None:
    """Return a glob for the names that a pipe hands on, none where they may be others or come apart.

    `stmts` are the statements of the pipe so far, and `argvs` the words of each.
    """
    if not all(map(_quiet, stmts)):
        return None
    first, *others = ([word.text for word in argv] for argv in argvs)
    if None in first or not first:
        return None
    for texts in others:
        passes = _PASSES.get(texts[0] or "") if texts else None
        if passes is None or not all(text is not None and passes.fullmatch(text) for text in texts[1:]):
            return None
        if not any(re.match(r"-[a-yA-Z]*z|--zero", text or "") for text in texts[1:]):
            return None
    return _source([text or "" for text in first])


def _quiet(stmt: dict[str, Any]) -> bool:
    """Tell whether a statement is a plain command of which nothing but what it shows goes on."""
    command = stmt.get("Cmd") or {}
    if command.get("Type") != "CallExpr" or command.get("Assigns") or stmt.get("Negated") or stmt.get("Background"):
        return False
    return all(
        one.get("Op") in _OUTPUT
        and one.get("N", {}).get("Value") == "2"
        and [part.get("Value") for part in one.get("Word", {}).get("Parts", ())] == ["/dev/null"]
        for one in stmt.get("Redirs", ())
    )


def _source(texts: list[str]) -> Word | None:
    """Return a glob for the names that a search shows, each with a zero byte behind it."""
    name, words = texts[0], texts[1:]
    if name == "find":
        shows = words.count("-print0") == 1 and not _SHOWS.intersection(words)
        one = (
            found([Word(text) for text in texts])
            if shows and not any(text.startswith(_RUNS) for text in words)
            else None
        )
        return one if one is not None and one.glob is not None else None
    if name == "git" and words[:1] == ["ls-files"] and "-z" in words:
        named = [text for text in words[1:] if text not in _LISTS]
        if not named:
            return Word(None, "./**")
        plain = len(named) == 1 and named[0][:1] != "-" and not set(named[0]) & set("/:![\\")
        return Word(None, f"./**/{named[0]}") if plain else None
    if name in {"grep", "rg"}:
        return _matching(name, words)
    return None


def _matching(name: str, words: list[str]) -> Word | None:
    """Return a glob for the files that a search through a folder names."""
    pattern = _GREP if name == "grep" else _RG
    options = [text for text in words if text[:1] == "-"]
    letters = "".join(text for text in options if text[:2] != "--")
    named = [text for text in words if text[:1] != "-"]
    whole = "l" in letters or "--files-with-matches" in options
    ended = ("Z" if name == "grep" else "0") in letters or "--null" in options
    deep = name == "rg" or "r" in letters or "--recursive" in options
    if not (whole and ended and deep and 1 <= len(named) <= 2 and all(map(pattern.fullmatch, options))):
        return None
    start = named[1].rstrip("/") if len(named) == 2 else "."
    return Word(None, f"{start}/**") if start and not set(start) & set("*?[") else None


def takes_whole_names(own: list[Word]) -> bool:
    """Tell whether `xargs` is told to take what ends with a zero byte for one name, from its input."""
    zero, at = False, 1
    while at < len(own):
        text = own[at].text or ""
        at += 1
        if text.startswith("--"):
            zero = zero or text == "--null"
            if text.startswith(("--delim", "--arg-file")):
                return False
            at += text in {"--max-lines", "--max-args", "--max-procs", "--max-chars"}
            continue
        for place, letter in enumerate(text[1:], 2):
            if letter in "ad":
                return False
            zero = zero or letter == "0"
            if letter in "EILnPs":
                at += place == len(text)
                break
            if letter in "iel":
                break
    return zero
