"""Programs that look for files and run commands on what they find: the commands, and which files those may be."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from indult.decompose.shell.words import Word

__all__ = ["cleared", "found", "taken"]

_RUNS: Final = {
    "find": frozenset({"-exec", "-execdir", "-ok", "-okdir"}),
    "fd": frozenset({"-x", "--exec", "-X", "--exec-batch"}),
}
_ENDS: Final = {"find": frozenset({";", "+"}), "fd": frozenset({";"})}
_HOLES: Final = {"find": ("{}",), "fd": ("{}", "{/}", "{//}", "{.}", "{/.}")}
_BESIDE: Final = frozenset({"-execdir", "-okdir"})
_NEGATED: Final = frozenset({"!", "-not"})
_NAMED: Final = frozenset({"-name", "-iname"})
_CHOSEN: Final = frozenset(
    {"-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-regex", "-iregex", "-lname", "-ilname",
     "-inum", "-samefile"}
)  # fmt: skip
"""Tests that pick files out by what they are called."""
_UNKNOWN: Final = Word(None, None, whole=False)


def taken(name: str, argv: list[Word]) -> tuple[list[Word], list[tuple[list[Word], bool]]]:
    """Return the words that such a program is given for itself, and the commands that it runs.

    Of each command it is told whether it may run in another folder than the program does.
    """
    program = "find" if name == "find" else "fd"
    own: list[Word] = []
    commands: list[tuple[str, list[Word]]] = []
    at = 0
    while at < len(argv):
        option, sign, first = (argv[at].text or "").partition("=")
        if at == 0 or option not in _RUNS[program]:
            own.append(argv[at])
            at += 1
            continue
        at += 1
        words = [Word(first)] if sign else []
        while at < len(argv) and argv[at].text not in _ENDS[program]:
            words.append(argv[at])
            at += 1
        at += 1
        if words:
            commands.append((option, words))
    names = found(own) if program == "find" else _UNKNOWN
    return own, [(_fill(program, words, names), option in _BESIDE) for option, words in commands]


def _fill(program: str, words: list[Word], found: Word) -> list[Word]:
    """Return a command with what was found in its place."""
    holes = _HOLES[program]
    filled = []
    for word in words:
        if word.text is None or not any(hole in word.text for hole in holes):
            filled.append(word)
        else:
            filled.append(found if word.text == "{}" and filled else Word(None))
    # Where no place is given for it, `fd` puts it last.
    return [*filled, _UNKNOWN] if program == "fd" and filled == words else filled


_LEFTOVERS: Final = frozenset(
    {
        "*.pyc",
        "*.pyo",
        "*.o",
        "*.obj",
        "*.class",
        "*.tmp",
        "*.bak",
        "*.orig",
        "*.rej",
        "*.swp",
        "*~",
        "*.log",
        ".DS_Store",
    }
)
"""Names of what programs leave behind, and make again."""

_NARROWS: Final = frozenset({"-type", "-maxdepth", "-mindepth", "-mtime", "-mmin", "-size"})


def cleared(words: list[Word]) -> tuple[str, str] | None:
    """Return where `find` deletes leftovers and by which name, none where it is told anything else besides."""
    texts = [word.text or "" for word in words]
    start = texts.pop(0) if texts and texts[0][:1] not in {"-", "(", "!", ","} else "."
    if not start or texts[-1:] != ["-delete"] or len(texts) % 2 == 0:
        return None
    tests = list(zip(texts[:-1:2], texts[1:-1:2], strict=True))
    names = [value for test, value in tests if test == "-name"]
    if len(names) != 1 or names[0] not in _LEFTOVERS or any(test not in _NARROWS | {"-name"} for test, _ in tests):
        return None
    return start, names[0]


def found(words: list[Word]) -> Word:
    """Return a glob for all that a search may find, nothing known where it may be anything.

    It is `START/**` where nothing is picked out by name, or by several that stand beside it, `START/**/NAME` where one
    name is, else `START/**/*`.
    """
    starts: list[str] = []
    at = 1
    while at < len(words) and (words[at].text or "") in {"-L", "-H", "-P"}:
        at += 1
    while at < len(words):
        text = words[at].text
        if text is None:
            return _UNKNOWN
        if text[:1] in {"-", "(", "!", ","}:
            break
        starts.append(text)
        at += 1
    if len(starts) > 1 or any(word.text == "-files0-from" for word in words):
        return _UNKNOWN
    start = starts[0].rstrip("/") if starts else "."
    followed = any(word.text in {"-L", "-follow"} for word in words)
    names = [("-regex", "")] if followed else _chosen([word.text for word in words[at:]])
    if not names:
        return Word(None, f"{start}/**")
    known = [
        (value if test == "-name" else value.lower())
        for test, value in names
        if test in _NAMED and value and not set(value) & set("[\\/")
    ]
    if len(known) < len(names):
        return Word(None, f"{start}/**/*")
    if len(known) > 1:
        return Word(None, f"{start}/**", names=tuple(known))
    return Word(None, f"{start}/**/{known[0]}")


def _chosen(tests: list[str | None]) -> list[tuple[str, str | None]]:
    """Return the tests that pick files out by a name, without those that only leave files out."""
    found: list[tuple[str, str | None]] = []
    for at, (test, value) in enumerate(pairwise(tests)):
        left_out = (at > 0 and tests[at - 1] in _NEGATED) or tests[at + 2 : at + 3] == ["-prune"]
        if test in _CHOSEN and not left_out and (test not in _NAMED or value != "*"):
            found.append((test, value))
    return found
