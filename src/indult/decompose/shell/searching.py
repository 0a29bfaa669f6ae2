"""Programs that read all that is below a folder: where they start, and what they leave out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from indult.decompose.searches import Filter
from indult.decompose.shell.programs import READ, has, packed, plain
from indult.decompose.shell.repositories import behind_verb
from indult.decompose.shell.words import Word

__all__ = ["searches", "takes_paths"]

_GREPS: Final = frozenset({"grep", "egrep", "fgrep", "zgrep", "rgrep"})
_SEARCHERS: Final = frozenset({"rg", "ag", "ack"})
_DIFFS: Final = frozenset({"diff", "colordiff"})
_HERE: Final = Word(".")
_RG_VALUED: Final = "ABCEefgjmMrtTd"
_GREP_VALUED: Final = "ABCDdefm"
_LETTERS: Final = {"rg": _RG_VALUED, "ag": "ABCGmp", "ack": "ABCGmg", "git": "ABCOefm"}
"""Letters behind which a value stands; those of grep where a program has none."""

_RG_NAMES: Final = ("--glob", "--iglob")
_GREP_NAMES: Final = ("--include", "--exclude", "--exclude-dir")
_PATTERN_GIVEN: Final = ("--regexp", "--file")
_VALUED: Final = frozenset(
    {"--include", "--exclude", "--exclude-dir", "--exclude-from", "--regexp", "--file", "--max-count", "--context",
     "--after-context", "--before-context", "--directories", "--glob", "--iglob", "--type", "--type-not", "--max-depth",
     "--ignore-file", "--sort", "--replace", "--threads"}
)  # fmt: skip
_FLAGS: Final = frozenset(
    {"--", "--hidden", "--recursive", "--dereference-recursive", "--line-number", "--ignore-case", "--smart-case",
     "--files-with-matches", "--count", "--only-matching", "--word-regexp", "--fixed-strings", "--extended-regexp",
     "--perl-regexp", "--invert-match", "--heading", "--json", "--column", "--multiline", "--unrestricted", "--untracked",
     "--cached", "--quiet", "--color", "--name-only", "--with-filename"}
)  # fmt: skip
"""Long options that take no value; of any other it is not known."""


def searches(name: str, words: list[Word]) -> list[tuple[Word, Filter]]:
    """Return the folders that a program reads with what is in them, each with what is read there."""
    if name == "tar":
        found = [one.word for one in packed(words) or () if one.kinds == READ and plain(one.word)]
        left_out = tuple(value for option, value in _given(words) if option == "--exclude" and "/" not in value)
        return [(word, Filter(without=left_out, folders=left_out)) for word in found]
    if name in _DIFFS and has(words, "r", "--recursive"):
        return [(word, Filter()) for word in words if plain(word)]
    if name == "git":
        return _git(words)
    if name in _GREPS and (name == "rgrep" or _recursive(words)):
        return _starting(name, words, _grep(words))
    if name in _SEARCHERS and not any(word.text == "--files" for word in words):
        return _starting(name, words, _quick(name, words))
    return []


def _starting(name: str, words: list[Word], filtered: Filter) -> list[tuple[Word, Filter]]:
    """Return the folders that a search of texts starts from: those behind its pattern, or the one it runs in.

    Where it is not sure which words are values of options, any of them may be a folder, and there may be none.
    """
    letters = _LETTERS.get(name, _GREP_VALUED)
    named: list[Word] = []
    sure, pattern, at = True, True, 0
    while at < len(words):
        text = words[at].text
        at += 1
        if plain(words[at - 1]):
            named.append(words[at - 1])
            continue
        option, sign, _ = (text or "").partition("=")
        pattern = pattern and not option.startswith(_PATTERN_GIVEN)
        if option.startswith("--"):
            sure = sure and bool(sign or option in _VALUED or option in _FLAGS or option.startswith("--no-"))
            at += not sign and option in _VALUED
        elif found := re.fullmatch(f"-[^{letters}]*([{letters}])(.*)", text or "", re.DOTALL):
            pattern = pattern and found[1] not in "ef"
            at += not found[2]
    starts = [word for word in (named[1:] if pattern else named) if word.text != "-"]
    every = [word for word in words if plain(word)] if not sure else []
    return [(word, filtered) for word in dict.fromkeys([*starts, *every, *([] if starts and sure else [_HERE])])]


def _recursive(words: list[Word]) -> bool:
    if has(words, "rR", "--recursive") or has(words, "", "--dereference-recursive"):
        return True
    texts = [word.text or "" for word in words]
    return any(
        re.match(r"-[A-Za-z]*drecurse|--dir[a-z]*=recurse", text)
        or (re.fullmatch(r"-[A-Za-z]*d|--dir[a-z]*", text) and texts[at + 1 : at + 2] == ["recurse"])
        for at, text in enumerate(texts)
    )


def _given(words: list[Word]) -> Iterator[tuple[str, str]]:
    """Yield the long options that have a value in the same word, or a word behind them."""
    for at, word in enumerate(words):
        text = word.text if word.text is not None else word.glob or ""
        if text == "--":
            return
        option, sign, value = text.partition("=")
        if text.startswith("--"):
            behind = words[at + 1] if at + 1 < len(words) else Word("")
            yield option, value if sign else behind.text or behind.glob or ""


def _grep(words: list[Word]) -> Filter:
    """Return what grep leaves out: where the first of its options names files to take, all others are left out."""
    if any(word.text is None and word.glob is None for word in words):
        # What is not known may be an option that takes files in.
        return Filter()
    given = [(option, value) for option, value in _given(words) if "--include".startswith(option) or "--ex" in option]
    if any(option not in _GREP_NAMES for option, _ in given if option != "--exclude-from"):
        return Filter()
    names = [(option, value) for option, value in given if option in _GREP_NAMES[:2]]
    folders = tuple(value.rstrip("/") for option, value in given if option == "--exclude-dir")
    only = tuple(value for option, value in names if option == "--include")
    if not only:
        return Filter(without=tuple(value for _, value in names), folders=folders)
    return Filter(only=only if names[0][0] == "--include" else (), folders=folders)


def _quick(name: str, words: list[Word]) -> Filter:
    """Return what a search leaves out that by itself looks at nothing hidden or ignored."""
    if name == "ack" or any(word.text is None and word.glob is None for word in words):
        return Filter()
    texts = [word.text for word in words if word.text is not None]
    letters = [re.split(f"[{_RG_VALUED}]", text[1:])[0] for text in texts if re.match(r"-[^-]", text)]
    if name == "ag":
        wide = any(set(one) & set("uUat") for one in letters) or any(text.startswith("--") for text in texts)
        return Filter() if wide else Filter(hidden=False, ignored=False)
    unrestricted = sum(one.count("u") for one in letters) + sum(text == "--unrestricted" for text in texts)
    hidden = unrestricted > 1 or "--hidden" in texts or any("." in one for one in letters)
    ignored = unrestricted > 0 or any(text.startswith("--no-ig") for text in texts)
    globs = [value for option, value in _given(words) if option in _RG_NAMES] + list(_short_globs(words))
    taken = [glob for glob in globs if not glob.startswith("!")]
    if taken:
        # A glob that takes files in does so whatever else leaves them out.
        return Filter(only=tuple(taken) if not any(set(glob) & set("/{") for glob in taken) else ())
    out = tuple(glob[1:] for glob in globs if "/" not in glob and "{" not in glob)
    return Filter(hidden=hidden, ignored=ignored, without=out, folders=out)


def _short_globs(words: list[Word]) -> Iterator[str]:
    for at, word in enumerate(words):
        text = word.text if word.text is not None else word.glob or ""
        found = re.match(f"-[^-{_RG_VALUED}]*g", text)
        if found:
            behind = words[at + 1] if at + 1 < len(words) else Word("")
            yield text[found.end() :].removeprefix("=") or behind.text or behind.glob or ""


def takes_paths(name: str, words: list[Word]) -> bool:
    """Tell whether a search starts from folders by their names; for git, a word may be a commit or a pattern as well."""
    return name != "git" or behind_verb(words)[0] == "diff"


def _git(words: list[Word]) -> list[tuple[Word, Filter]]:
    """Return what git reads of a folder: what is added although it is ignored, two folders to compare, or a search."""
    verb, rest = behind_verb(words)
    named = [word if word.glob is None else _EVERYWHERE for word in rest if plain(word)]
    if verb == "add" and has(rest, "f", "--force"):
        return [(word, Filter(folders=(".git",))) for word in named or [_EVERYWHERE]]
    if verb == "diff" and (has(rest, "", "--no-index") or (len(named) == 2 and any(map(_is_outside, named)))):
        return [(word, Filter()) for word in named if word.text not in {"-", "/dev/null"}]
    at = next((at for at, word in enumerate(words) if word.text == "grep"), None)
    if at is None:
        return []
    # Files that are tracked are not ignored; by an option it searches any others too.
    ignored = any(has(words[at:], "", option) for option in ("--no-index", "--no-exclude-standard"))
    return _starting("git", words[at + 1 :], Filter(ignored=ignored))


_EVERYWHERE: Final = Word(":/")
"""What git takes for the whole of its work tree."""


def _is_outside(word: Word) -> bool:
    """Tell whether a path may lead out of the work tree, by which git compares files that it does not keep."""
    return (word.text or "/").startswith(("/", ".."))
