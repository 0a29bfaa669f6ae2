"""`requirements*.txt` and `constraints*.txt`: one requirement a logical line, and options that steer all of them.

Several tools read this format, which none of them defines; where they may join, split or end a line differently, the
file counts as unreadable.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterator
from typing import Final, NamedTuple

from indult.decompose.manifests.pep508 import Entry, compare, read, shown, with_options
from indult.decompose.manifests.reading import Unreadable, decode, pointer

__all__ = ["lines", "targets"]

# Python ends a line at each of these, other readers do not.
_BREAKS: Final = re.compile("[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_CODING: Final = re.compile(r"^[ \t]*#.*?coding[:=][ \t]*([-_.a-zA-Z0-9]+)")
_COMMENT: Final = re.compile(r"(?:^|(?<=\s))#.*")
_OPTION: Final = re.compile(r"(?:^|(?<= ))-")
_NAME: Final = re.compile(r"--[A-Za-z][A-Za-z0-9-]*|-[A-Za-z]")
_HASH: Final = re.compile(r"sha(?:256|384|512):[0-9A-Za-z]+\Z")
_MOST: Final = 20_000
# Quoted options beyond any real ones; taking them apart costs the square of the longest.
_LONGEST: Final = 20_000
_LONG: Final = {
    "-r": "--requirement",
    "-c": "--constraint",
    "-e": "--editable",
    "-i": "--index-url",
    "-f": "--find-links",
}


class _File(NamedTuple):
    options: list[str]
    entries: list[Entry]


def targets(path: str, old: bytes | None, new: bytes) -> Iterator[str]:
    """Yield what changed in a file of requirements or constraints."""
    was = _File([], []) if old is None else _read(old)
    now = _read(new)
    yield from compare(path, was.entries, now.entries)
    yield from _options(path, was.options, now.options)


def lines(raw: bytes) -> list[str]:
    """Return the lines of a text that every reader splits into the same ones.

    Raises:
        Unreadable: It declares another encoding, or has a character that only some readers take for a line break.
    """
    text = decode(raw).replace("\r\n", "\n")
    if _BREAKS.search(text):
        raise Unreadable("a character that only some readers take for a line break")
    found = text.split("\n")
    for line in found[:2]:
        declared = _CODING.match(line)
        if declared and declared[1].lower().replace("_", "-") not in {"utf-8", "utf8"}:
            raise Unreadable("declares another encoding than UTF-8")
    return found


def _read(raw: bytes) -> _File:
    file = _File([], [])
    for line in _logical(lines(raw)):
        if len(file.entries) > _MOST:
            raise Unreadable(f"over {_MOST} requirements")
        if line.startswith("-"):
            file.options.append(" ".join(line.split()))
        else:
            file.entries.append(_requirement(line))
    return file


def _logical(physical: list[str]) -> Iterator[str]:
    """Yield the logical lines: joined where a backslash ends a line, without comments, none of them empty."""
    parts: list[str] = []
    for line in physical:
        _check(line, continued=bool(parts))
        if parts and not parts[-1][-1:].isspace() and line.strip() and not line[0].isspace():
            # Nothing stands between the two halves of a word, or a comment that is none.
            raise Unreadable("a word that goes on after a line break")
        parts.append(_COMMENT.sub("", line.removesuffix("\\")))
        if not line.endswith("\\"):
            joined = "".join(parts).strip()
            parts = []
            if joined:
                yield joined
    if parts:
        raise Unreadable("a backslash at the end of the file")


def _check(line: str, *, continued: bool) -> None:
    """Refuse the backslashes that readers differ on."""
    if not line.rstrip().endswith("\\"):
        ambiguous = continued and line.startswith("\\")
    else:
        ambiguous = not line.endswith("\\") or line.endswith("\\\\") or line.startswith("\\")
        ambiguous = ambiguous or _COMMENT.search(line) is not None
    if ambiguous:
        raise Unreadable("a backslash that readers take differently")


def _requirement(line: str) -> Entry:
    """Return what one line asks for; the hashes may follow the version, other options may not change."""
    begin = _OPTION.search(line)
    if begin is None:
        return read(line)
    entry = read(line[: begin.start()])
    words = _words(line[begin.start() :])
    if not entry.name or words is None or "${" in line:
        return Entry(name=entry.name, pin=None, kind=("line", line), text=line)
    hashes: list[str] = []
    rest: list[str] = []
    waiting = iter(words)
    for word in waiting:
        value = next(waiting, "") if word == "--hash" else word.removeprefix("--hash=")
        known = word == "--hash" or word.startswith("--hash=")
        (hashes if known and _HASH.match(value) else rest).append(value if known else word)
    return with_options(entry, tuple(rest), hashes, text=line[: begin.start()])


def _words(text: str) -> list[str] | None:
    if not re.search(r"[\"'\\]", text):
        return text.split()
    if len(text) > _LONGEST:
        return None
    try:
        return shlex.split(text)
    except ValueError:
        return None


def _options(path: str, old: list[str], new: list[str]) -> Iterator[str]:
    """Yield what changed in the lines that hold options, of which each counts for the whole file."""
    changed = [*(Counter(old) - Counter(new)), *(Counter(new) - Counter(old))]
    for line in changed:
        names = [_LONG.get(name, name) for word in line.split() for name in _NAME.findall(word)[:1] if word[0] == "-"]
        yield from (f"field:{path}#{pointer(name)}" for name in names)
        if not names or "--editable" in names:
            yield f"change:{path}#{shown(line)}"
    if not changed and old != new:
        yield f"change:{path}#order of the option lines"
