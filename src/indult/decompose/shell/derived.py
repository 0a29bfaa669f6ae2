"""Files that a program touches although no word is their name: backups, pieces under a prefix, and lists of names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from indult.decompose.shell.words import Word

__all__ = ["backups", "listed", "numbers", "pieces", "split_operands", "whole_paths"]

_COPIES: Final = frozenset({"cp", "mv", "ln", "install"})

_LISTS: Final[dict[str, tuple[str, ...]]] = {
    "zip": ("-@",),
    "tar": ("-T", "--files-from"),
    "bsdtar": ("-T", "--files-from"),
    "sort": ("--files0-from",),
    "wc": ("--files0-from",),
    "du": ("--files0-from",),
    "find": ("-files0-from",),
    "file": ("-f", "--files-from"),
    "xz": ("--files", "--files0"),
    "unxz": ("--files", "--files0"),
    "lzma": ("--files", "--files0"),
    "unlzma": ("--files", "--files0"),
    "xzcat": ("--files", "--files0"),
    "zstd": ("--filelist",),
    "strings": ("@",),
    "objdump": ("@",),
    "nm": ("@",),
    "size": ("@",),
    "readelf": ("@",),
    "git": ("--stdin-paths", "--pathspec-from-file"),
}
"""Program -> its options that name a file, or its input, with more names in it."""


def listed(name: str, words: list[Word]) -> bool:
    """Tell whether a program takes the names of its files from a list that stands in no word."""
    for option in _LISTS.get(name, ()):
        for at, word in enumerate(words):
            text = (word.text if word.text is not None else word.glob) or ""
            given = text.partition("=")[0]
            if option == "@":
                found = text.startswith("@")
            elif option.startswith("--"):
                found = len(given) > 2 and option.startswith(given)
            elif name == "find":
                found = text == option
            else:
                # The first word of tar may be letters without a dash.
                cluster = (text.startswith("-") and not text.startswith("--")) or (name == "tar" and at == 0)
                found = cluster and option[1] in text
            if found:
                return True
    return False


def backups(name: str, words: list[Word], written: list[Word]) -> Iterator[Word]:
    """Yield what is kept of the files that a program overwrites, under a name with a suffix."""
    if name == "tar" and any((word.text or "").startswith("--suf") for word in words):
        yield Word(None)
    if name in {"sed", "gsed"}:
        for suffix in filter(None, map(_in_place, words)):
            yield from (_suffixed(word, suffix) for word in words if not (word.text or "").startswith("-"))
    if name in _COPIES:
        for at, word in enumerate(words):
            given = _suffix(word.text or "", words[at + 1 : at + 2])
            if given is None:
                yield Word(None)
            elif given:
                yield from (_suffixed(one, given) for one in written)


def _suffix(text: str, following: list[Word]) -> str | None:
    """Return the suffix that an option of `cp` and its like gives, none where it is not known, and empty where none is."""
    after = following[0].text if following else None
    if text.startswith("--"):
        option, sign, value = text.partition("=")
        if len(option) > 3 and "--suffix".startswith(option):
            return value if sign else after
        return ""
    if not text.startswith("-") or "S" not in text:
        return ""
    return text.partition("S")[2] or after


def _in_place(word: Word) -> str:
    """Return the suffix of the backups that `sed` keeps, empty where it keeps none."""
    text = word.text or ""
    if text.startswith("--"):
        option, _, value = text.partition("=")
        return value if len(option) > 2 and "--in-place".startswith(option) else ""
    if not text.startswith("-"):
        return ""
    # Behind these letters stands a value and no further option.
    letters = text[1:]
    before, _, after = letters.partition("i")
    return "" if set(before) & set("efl") else after


def _suffixed(word: Word, suffix: str) -> Word:
    text = word.text if word.text is not None else word.glob
    if text is None:
        return Word(None)
    folder, slash, base = text.rpartition("/")
    # `sed` puts the name in place of a star, and takes a suffix with a slash for a path of its own.
    kept = suffix.replace("*", base) if "*" in suffix else base + suffix
    found = kept if "*" in suffix and "/" in suffix else f"{folder}{slash}{kept}"
    return Word(found) if word.text is not None else Word(None, found)


def pieces(name: str, words: list[Word]) -> Iterator[Word]:
    """Yield the names of the pieces that `split` and `csplit` write, which begin with a prefix."""
    if name not in {"split", "csplit"}:
        return
    texts = [word.text or "" for word in words]
    if name == "csplit" and any(text.startswith(("-b", "--suf")) for text in texts):
        yield Word(None)
    # Two letters or digits follow, and more behind a z, as long as no option says otherwise or puts an ending behind them.
    longer = ("-a", "-n", "--a", "--su", "--d") if name == "split" else ("-n", "--d")
    more = any(text.startswith(longer) or (text[:1] == "-" and "a" in text) for text in texts)
    endings = ("*",) if more or None in {word.text for word in words} else ("??", "???", "z???")
    given = split_operands(words) if name == "split" else None
    prefixes = _prefixes(name, words) if given is None else given[1:2]
    for prefix in ["xx" if name == "csplit" else "x", *prefixes]:
        yield from (Word(None, prefix + ending) if prefix else Word(None) for ending in endings)


_NUMBERS: Final[dict[str, tuple[str, str]]] = {
    "head": ("nc", "nc"),
    "tail": ("ncs", "nc"),
    "cut": ("bcdf", "bcdf"),
    "fold": ("w", "w"),
    "grep": ("efABCmdD", "ABCm"),
    "egrep": ("efABCmdD", "ABCm"),
    "fgrep": ("efABCmdD", "ABCm"),
}
"""Program -> letters of its options that take a value, and those of them whose value is no file, but a number or a mark."""


def numbers(name: str, words: list[Word]) -> list[Word]:
    """Return the words with a number in place of each that nobody knows and that stands behind an option for one."""
    valued, plain = _NUMBERS.get(name, ("", ""))
    found = list(words)
    at = 0
    while valued and at < len(words):
        word = words[at]
        text = word.text if word.text is not None else word.glob
        if text is None or text == "--" or (text.startswith("--") and "=" not in text):
            # Behind it, nobody knows what is an option.
            break
        at += 1
        letter = next((one for one in text[1:] if one in valued), "") if text[:1] == "-" and text[:2] != "--" else ""
        if not letter:
            continue
        place = at - 1
        if text.index(letter, 1) == len(text) - 1:
            place, at = at, at + 1
        value = words[place] if place < len(words) else Word("")
        if letter in plain and value.text is None and (value.glob is not None or value.whole):
            found[place] = Word("0")
    return found


_SPLIT: Final = re.compile(
    r"-[deux]*(?:[aClbnt](?P<value>.*))?|--(?:suffix-length|bytes|line-bytes|lines|number|separator|additional-suffix)=.*"
    r"|--(?:numeric-suffixes|hex-suffixes)(?:=\d+)?|--(?:elide-empty-files|unbuffered|verbose)",
    re.DOTALL,
)


def split_operands(words: list[Word]) -> list[str] | None:
    """Return the file and the prefix that `split` is given, as far as they are; none where its options are not known."""
    found: list[str] = []
    at = 0
    while at < len(words):
        text = words[at].text
        at += 1
        if text is None:
            return None
        if text == "-" or not text.startswith("-"):
            found.append(text)
            continue
        option = _SPLIT.fullmatch(text)
        if option is None:
            return None
        at += option["value"] == ""
    return found


def _prefixes(name: str, words: list[Word]) -> Iterator[str]:
    """Yield the words that may be a prefix of names, empty for one that is not known."""
    for word in words:
        text = word.text if word.text is not None else word.glob
        if text is None:
            yield ""
            continue
        if text.startswith("--"):
            text = text.partition("=")[2]
        elif text.startswith("-"):
            text = text.partition("f")[2] if name == "csplit" else ""
        if text:
            yield text


def whole_paths(name: str, words: list[Word]) -> bool:
    """Tell whether `cp` keeps the folders of its sources below the target."""
    return name == "cp" and any(
        len(text) > 3 and "--parents".startswith(text) for text in ((word.text or "") for word in words)
    )
