"""Patterns of rules: `tool` names with `*`, and `target` as `kind:GLOB`.

Patterns stand in rules only, which are reviewed like code; what a human opens is always an exact name. Every match takes
time linear in the length of the name, whoever chose that name: a pattern is never handed to a backtracking engine.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from indult.errors import PolicyError

__all__ = [
    "FILE_KINDS",
    "GROUPS",
    "KINDS",
    "MAX_PATTERN",
    "Matcher",
    "command_pattern",
    "first_word",
    "glob",
    "is_absolute",
    "overlaps",
    "program",
    "target_pattern",
    "tool_pattern",
    "with_nothing_unknown",
]

Matcher = Callable[[str], bool]
"""Tells whether a name matches; pure, and never raises for a `str`."""

FILE_KINDS: Final = ("read", "write", "exec", "delete", "mode", "link", "gitlink", "edit")
"""The kinds whose name is a path; `file:` in a rule stands for all of them."""

GROUPS: Final = {"file": FILE_KINDS, "whole": ("write", "delete", "mode", "link", "gitlink")}
"""The words of a rule's `target` that stand for several kinds.

`whole` is a file changed as one, and leaves out `edit`, whose other parts tell what has changed in it.
"""

KINDS: Final = (
    *FILE_KINDS,
    *GROUPS,
    "command",
    "entry",
    "script",
    "lifecycle",
    "field",
    "change",
    "call",
    "tool",
)
"""The words that may stand before the colon of a rule's `target`."""

MAX_PATTERN: Final = 1_000
"""Longest pattern in characters: with it, the cost of one match is bounded by the name alone."""

KNOWN: Final = 8_192
"""How many patterns are kept that were understood; below the number in one policy, each would be understood over and over."""

_MOST_PAIRS: Final = 50_000

_NO_WORD: Final = "\0"

_SHOWN: Final = "***"
_FOLDERS: Final = "?/"
_FIRST: Final = "?!"
_FIRST_OR_NONE: Final = "?*"

_KEYS: Final = frozenset(
    {
        "id_rsa*",
        "id_dsa*",
        "id_ecdsa*",
        "id_ed25519*",
        "service-account*.json",
        "service_account*.json",
        "credentials.json",
    }
)
_SOURCES: Final = tuple(
    f"*{ending}"
    for ending in (".c", ".cc", ".cpp", ".cs", ".css", ".csv", ".go", ".h", ".hpp", ".html", ".java", ".js", ".json", ".jsx", ".kt", ".log", ".md", ".mjs", ".php", ".py", ".pyi",
                   ".rb", ".rs", ".rst", ".sh", ".scss", ".sql", ".svg", ".swift", ".toml", ".ts", ".tsx", ".txt", ".vue", ".xml", ".yaml", ".yml")
)  # fmt: skip
"""What is named like a key and ends like source code is no key: patterns for the one do not meet globs for the other."""

_HASHED = frozenset({"entry", "script", "lifecycle", "field", "change"})


@lru_cache(maxsize=KNOWN)
def tool_pattern(text: str) -> Matcher:
    """Return the matcher of a rule's `tool`: a literal name in which each `*` stands for any characters, even none.

    Raises:
        PolicyError: The pattern is empty, too long, or holds a control character or a space at an end.
    """
    _check_text(text, "tool")
    if "*" not in text:
        return text.__eq__
    head, *middle, tail = text.split("*")
    parts = [part for part in middle if part]
    least = len(head) + len(tail) + sum(map(len, parts))
    if not parts:
        return lambda name: len(name) >= least and name.startswith(head) and name.endswith(tail)
    return lambda name: (
        len(name) >= least and name.startswith(head) and name.endswith(tail) and _in_order(name, head, parts, tail)
    )


def _in_order(name: str, head: str, parts: list[str], tail: str) -> bool:
    """Tell whether the parts stand between head and tail in this order; the leftmost find of each is always enough."""
    at, end = len(head), len(name) - len(tail)
    for part in parts:
        found = name.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True


@lru_cache(maxsize=KNOWN)
def target_pattern(text: str) -> tuple[frozenset[str], Callable[[str, bool], bool]]:
    """Return the kinds that a rule's `target` is about and the matcher of the name behind the colon.

    The matcher takes the name and whether to be cautious: a cautious one counts what is not known (a dynamic word of a
    command) as a match. Deny and ask are matched cautiously, allow is not.

    Raises:
        PolicyError: No known kind, or a glob that no name could match or that reads as something it is not.
    """
    _check_text(text, "target")
    kind, colon, rest = text.partition(":")
    if not colon or kind not in KINDS:
        raise PolicyError(
            f"unknown kind of target in `{text}`", hint="write `KIND:GLOB` with one of " + ", ".join(KINDS)
        )
    if rest != rest.strip():
        raise PolicyError(f"white space behind the colon of the target `{text}`")
    if not rest:
        raise PolicyError(f"the target `{text}` names nothing", hint=f"`{kind}:**` matches every target of its kind")
    if kind == "command":
        return frozenset({"command"}), command_pattern(rest)
    if kind in GROUPS or kind in FILE_KINDS:
        _check_path(rest, text)
    elif kind in _HASHED:
        _check_path(rest.partition("#")[0], text)
    matches = glob(rest)
    kinds = frozenset(GROUPS.get(kind, (kind,)))
    if kinds <= frozenset(FILE_KINDS) and not is_absolute(rest):
        # What is allowed by a pattern without a root lies below the root; what is denied may lie anywhere.
        return kinds, lambda name, cautious: (cautious or not is_absolute(name)) and matches(name)
    return kinds, lambda name, _: matches(name)


def is_absolute(path: str) -> bool:
    """Tell whether a path or a glob begins at a root, of Windows too."""
    return path.startswith("/") or path[1:3] == ":/"


@lru_cache(maxsize=KNOWN)
def glob(text: str) -> Matcher:
    """Return the matcher of a glob: `*` stops at `/`, `**` does not, both may stand for nothing, `**/` also for no folder.

    Raises:
        PolicyError: Three or more `*` in a row.
    """
    if "***" in text:
        raise PolicyError(f"`***` in the pattern `{text}`", hint="`*` stops at `/`, `**` does not")
    if "*" not in text:
        return text.__eq__
    if text == "**":
        return lambda _: True
    if text.endswith("**") and "*" not in text[:-2]:
        head = text[:-2]
        return lambda name: name.startswith(head)
    if text.startswith("**/") and "*" not in text[3:]:
        whole, tail = text[3:], text[2:]
        return lambda name: name == whole or name.endswith(tail)
    if text.startswith("**/") and text.endswith("/**") and text.count("*") == 4:
        middle = text[2:-2]
        return lambda name: middle in name or name.startswith(middle[1:])
    return _one_star(text) or _automaton(text)


def _one_star(text: str) -> Matcher | None:
    """Return the matcher of a glob with one `*` in its last name, below a literal folder or any, or none."""
    below = text.startswith("**/")
    rest = text[3:] if below else text
    folder, slash, base = rest.rpartition("/")
    if rest.count("*") != 1 or "*" not in base:
        return None
    folder += slash
    head, tail = base.split("*")
    least = len(head) + len(tail)

    def matches(name: str) -> bool:
        at = name.rfind("/") + 1
        return (
            len(name) - at >= least
            and name.startswith(head, at)
            and name.endswith(tail)
            and (name[:at] == folder or (below and (not folder or name.endswith("/" + folder, 0, at))))
        )

    return matches


def _automaton(text: str) -> Matcher:
    """Return a matcher that follows all ways of reading a glob at once, one bit per position of the pattern.

    Bit i is set while the first i tokens account for the name so far. A star keeps its own bit (it may go on) and hands
    it to the next one (it may stop). A `**/` at the start of a folder name is skipped whole only on entering it: once
    it has taken a character it must take its slash too.
    """
    tokens = _tokens(text)
    literals: dict[str, int] = {}
    stars = across = folders = 0
    for at, word in enumerate(tokens):
        bit = 1 << at
        if word not in ("*", "**"):
            literals[word] = literals.get(word, 0) | bit
            continue
        stars |= bit
        if word == "**":
            across |= bit
            if tokens[at + 1 : at + 2] == ["/"] and (at == 0 or tokens[at - 1] == "/"):
                folders |= bit
    final = 1 << len(tokens)

    def enter(states: int) -> int:
        states |= (states & folders) << 2
        return states | (states & stars) << 1

    start = enter(1)

    def matches(name: str) -> bool:
        states = start
        for char in name:
            kept = states & (across if char == "/" else stars)
            states = enter((states & literals.get(char, 0)) << 1) | kept | kept << 1
            if not states:
                return False
        return bool(states & final)

    return matches


def _tokens(text: str) -> list[str]:
    while "**/**/" in text:
        text = text.replace("**/**/", "**/")
    tokens: list[str] = []
    for char in text:
        if char == "*" and tokens and tokens[-1] == "*":
            tokens[-1] = "**"
        else:
            tokens.append(char)
    return tokens


def overlaps(pattern: str, name: str) -> bool:
    """Tell whether a glob of a rule and a glob of a name can stand for the same text.

    In the name, `?` is any one character but `/`. A star takes the dot that a hidden name begins with too, as a shell can
    be told to do so, but not where source code is meant: `src/*.py` is about no `.env.py`. `***` at its end is all that is not hidden: no pattern overlaps it that begins with a star, since it
    would be about a name wherever it lies. Where telling would take too long, they can.
    """
    if name == "**":
        return True
    if name.endswith(_SHOWN):
        hidden = pattern.startswith((".", "*")) or "/." in pattern
        if hidden or is_absolute(pattern) > is_absolute(name):
            return False
        name = name[:-1]
    source = name.endswith(_SOURCES)
    if source and pattern.rpartition("/")[2] in _KEYS:
        return False
    one, other = _steps(_tokens(pattern), hides=False), _steps(_tokens(name), hides=source)
    if len(one) * len(other) > _MOST_PAIRS:
        return True
    seen = {(0, 0)}
    todo = [(0, 0)]
    while todo:
        at, place = todo.pop()
        if at == len(one) and place == len(other):
            return True
        steps = [(skip, place) for skip in _skips(one, at)] + [(at, skip) for skip in _skips(other, place)]
        if at < len(one) and place < len(other) and _meet(one[at], other[place]):
            steps.append((at + (one[at][0] != "*"), place + (other[place][0] != "*")))
        for step in steps:
            if step not in seen:
                seen.add(step)
                todo.append(step)
    return False


def _steps(tokens: list[str], *, hides: bool) -> list[str]:
    """Return the tokens of a glob with a place before each `**/` that begins a step, from where it can be left out.

    With `hides`, what begins a step and takes no dot there is told apart.
    """
    found: list[str] = []
    for at, word in enumerate(tokens):
        first = at == 0 or tokens[at - 1] == "/"
        if first and word == "**" and tokens[at + 1 : at + 2] == ["/"]:
            found += [_FOLDERS, word]
        elif first and hides and word == "*":
            found += [_FIRST_OR_NONE, word]
        else:
            found.append(_FIRST if first and hides and word == "?" else word)
    return found


def _skips(tokens: list[str], at: int) -> list[int]:
    """Return where reading a glob may go on without taking a character."""
    word = tokens[at] if at < len(tokens) else ""
    if word == _FOLDERS:
        return [at + 1, at + 3]
    if word == _FIRST_OR_NONE:
        return [at + 2]
    return [at + 1] if word[:1] == "*" else []


def _meet(one: str, other: str) -> bool:
    """Tell whether a token of a pattern and one of a name can take the same character."""
    if _FOLDERS in {one, other}:
        return False
    if other in {_FIRST, _FIRST_OR_NONE}:
        return one not in {"/", "."}
    if other == "?":
        return one != "/"
    if one[0] != "*" and other[0] != "*":
        return one == other
    if one[0] == "*" and other[0] == "*":
        return True
    star, char = (one, other) if one[0] == "*" else (other, one)
    return star == "**" or char != "/"


def command_pattern(text: str) -> Callable[[str, bool], bool]:
    """Return the matcher of `command:WORDS`: true where the words are the first words of the command; `**` is any.

    Words that hold white space or quotes are written as a JSON list. The name of a command target is the canonical JSON
    of its argv, or of an object with an `argv`; in it null stands for words that are not known, and `{"glob": G}` for
    the files that a glob finds. With `options` beside it, the argv is without options, which may then stand anywhere.

    Raises:
        PolicyError: A `*` that is not the whole pattern, or quotes and backslashes, which words compared whole lack.
    """
    if text == "**":
        return lambda *_: True
    words = _words(text)
    if _listed(text) is None:
        for char in "*\"'\\":
            if char in text:
                raise PolicyError(
                    f"`{char}` in the command pattern `{text}`",
                    hint="write the leading words of the command as they are after quote removal; whatever follows matches",
                )
    plain = [word for word in words if word[:1] != "-" or word == "-"]
    options = [word for word in words if word[:1] == "-" and word != "-"]

    def matches(name: str, cautious: bool) -> bool:
        found = _command(name)
        if found is None:
            return cautious
        argv, given = found
        if given is None:
            return _leads(words, argv) if cautious else argv[: len(words)] == words
        return cautious and _leads(plain, argv) and (None in argv or all(_given(one, given) for one in options))

    return matches


def first_word(pattern: str) -> str | None:
    """Return the first word of a command pattern, none where what it matches need not begin with one word."""
    words = _words(pattern)
    return None if pattern == "**" or not words or (words[0][:1] == "-" and words[0] != "-") else words[0]


def program(name: str) -> str | None:
    """Return the first word of a command target's name, none where it is not known."""
    found = _command(name)
    word = found[0][0] if found is not None and found[0] else None
    return word if isinstance(word, str) else None


def with_nothing_unknown(name: str) -> str | None:
    """Return the name of a command with each unknown word replaced by one that no pattern holds, none without any.

    What matches this one matches whatever the unknown words turn out to be.
    """
    found = _command(name)
    if found is None:
        return '[""]'
    argv, given = found
    if all(isinstance(word, str) for word in argv):
        return None
    words = [word if isinstance(word, str) else _NO_WORD for word in argv]
    return json.dumps(words if given is None else {"argv": words, "options": given})


def _words(text: str) -> list[str]:
    return _listed(text) or text.split()


def _listed(text: str) -> list[str] | None:
    """Return the words of a JSON list, none where the text is no such list."""
    try:
        value = json.loads(text) if text.startswith("[") else None
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, list) and value and all(isinstance(word, str) for word in value) else None


def _leads(words: list[str], argv: list[object]) -> bool:
    """Tell whether words can be the first ones of a command; what is not known may be any number of words."""
    for place, (word, found) in enumerate(zip(words, argv, strict=False)):
        if found is None:
            return True
        if isinstance(found, dict):
            # A glob finds one file or many, but a rule is never about what only happens to be named like an option.
            pattern = found.get("glob")
            if not isinstance(pattern, str):
                return True
            if (word[:1] == "-" and pattern[:1] != "-") or not overlaps(word, pattern):
                return False
            return any(_leads(words[place + more :], argv[place + 1 :]) for more in range(1, len(words) - place + 1))
        if word != found:
            return False
    return len(words) <= len(argv)


def _given(option: str, given: list[object]) -> bool:
    """Tell whether an option stands among those given: itself, abbreviated, or letter by letter."""
    if option in given:
        return True
    if option[:2] == "--":
        return any(isinstance(one, str) and len(one) > 2 and option.startswith(one) for one in given)
    return len(option) > 2 and all("-" + letter in given for letter in option[1:])


@lru_cache(maxsize=64)
def _command(name: str) -> tuple[list[object], list[object] | None] | None:
    try:
        value = json.loads(name)
    except (ValueError, RecursionError):
        return None
    options = None
    if isinstance(value, dict):
        options = value.get("options")
        value = value.get("argv")
    if not isinstance(value, list):
        return None
    return value, options if isinstance(options, list) else None


def _check_text(text: str, what: str) -> None:
    if not text:
        raise PolicyError(f"the {what} pattern is empty", hint="leave the key out to match every " + what)
    if len(text) > MAX_PATTERN:
        raise PolicyError(f"the {what} pattern is {len(text)} characters long, at most {MAX_PATTERN}")
    if text != text.strip():
        raise PolicyError(f"the {what} pattern `{text}` begins or ends with white space")
    if not text.isprintable():
        raise PolicyError(f"the {what} pattern `{repr(text)[1:-1]}` holds a control or an invisible character")


def _check_path(path: str, text: str) -> None:
    """Refuse paths that no target has, since a deny that can never match is worse than an error."""
    steps = path.removeprefix("/").split("/")
    if "\\" in path:
        raise PolicyError(f"a backslash in the target `{text}`", hint="paths are written with `/`")
    if path.endswith("/"):
        raise PolicyError(f"the target `{text}` ends with `/`", hint=f"`{text}**` matches everything below")
    if any(step in ("", ".", "..") for step in steps):
        raise PolicyError(f"the target `{text}` is not a normal path", hint="leave out `//`, `./` and `..`")
    if path.startswith("~"):
        raise PolicyError(f"`~` in the target `{text}` is not expanded", hint="write the absolute path, or `**/NAME`")
