"""`setup.cfg` and `setup.py`: requirements among settings, and among code that is not run here."""

from __future__ import annotations

import ast
import configparser
import re
import warnings
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from indult.decompose.manifests.pep508 import Entry, compare, read, read_all
from indult.decompose.manifests.reading import Unreadable
from indult.decompose.manifests.requirements import lines
from indult.decompose.manifests.tables import fields

__all__ = ["targets"]

_KEYS: Final = frozenset({"install_requires", "setup_requires", "tests_require"})
_EXTRAS: Final = "extras_require"
_OPTIONS: Final = "options"
_MOST_CODE: Final = 300_000
_MOST_SETTINGS: Final = 1_000_000
_MOST_TEXTS: Final = 1_000
_OPTION: Final = re.compile(r"(?P<option>[^=:]*+)(?P<vi>[=:])\s*+(?P<value>.*)\Z")
# What is a comment to Python and says something to whoever runs, reads or installs the script.
_SHEBANG: Final = "#!"
_CODING: Final = re.compile(r"^[ \t\f]*#.*?coding[:=]")
_BLOCK: Final = "# ///"


def targets(path: str, old: bytes | None, new: bytes) -> Iterator[str]:
    """Yield what changed in a `setup.cfg` or a `setup.py`."""
    compared = _code if path.endswith(".py") else _settings
    yield from compared(path, old, new)


def _settings(path: str, old: bytes | None, new: bytes) -> Iterator[str]:
    before = {} if old is None else _sections(old)
    after = _sections(new)
    was, now = _take(before), _take(after)
    for place in {**was, **now}:
        yield from compare(path, was.get(place, []), now.get(place, []))
    yield from fields(path, before, after)


class _Options:
    """Finds the name and the value of a line as the parser would, which itself costs the square of its blanks."""

    @staticmethod
    def match(line: str) -> re.Match[str]:
        found = _OPTION.match(line)
        if found is None or not found["option"].strip():
            # The parser would go on and keep all that is wrong in one text.
            raise Unreadable("no settings: a line that is none")
        return found


class _Parser(configparser.RawConfigParser):
    """A parser whose keys keep their case, as setuptools has it."""

    OPTCRE = _Options  # type: ignore[assignment]

    def optionxform(self, optionstr: str) -> str:
        return optionstr


def _sections(raw: bytes) -> dict[str, dict[str, str]]:
    """Read the sections, keys with their case and values as written."""
    parser = _Parser(strict=True)
    text = "\n".join(lines(raw))
    if len(text) > _MOST_SETTINGS:
        raise Unreadable("too many settings")
    try:
        parser.read_string(text)
    except (configparser.Error, ValueError, AttributeError) as exc:
        raise Unreadable(f"no settings: {type(exc).__name__}") from None
    if parser.defaults():
        raise Unreadable("a section whose values count for every other")
    return {name: dict(parser.items(name)) for name in parser.sections()}


def _take(data: dict[str, dict[str, str]]) -> dict[tuple[str, str], list[Entry]]:
    """Take the requirements out of the settings; the name of an extra stays, with an empty text."""
    taken: dict[tuple[str, str], list[Entry]] = {}
    for section, held in data.items():
        keys = [key for key in held if section == f"{_OPTIONS}.{_EXTRAS}" or (section == _OPTIONS and key in _KEYS)]
        for key in keys:
            value = held[key]
            # `file:` names where the list is, and is no list.
            if not value.lstrip().startswith("file:"):
                items = value.split("\n") if "\n" in value else value.split(";")
                taken[section, key] = read_all([item for item in items if item.strip()])
                del held[key]
                if section != _OPTIONS:
                    held[key] = ""
    return taken


class _Setup(NamedTuple):
    """A `setup.py`: its code without the versions of the requirements that it names, and these in their order.

    `comments` are those that a tool reads.
    """

    code: str
    entries: list[Entry]
    comments: list[str]


def _code(path: str, old: bytes | None, new: bytes) -> Iterator[str]:
    now = _setup(new)
    was = None if old is None else _setup(old)
    if was is None or was.code != now.code:
        yield f"change:{path}#code of the setup script"
        return
    if was.comments != now.comments:
        yield f"change:{path}#comments of the setup script that tools read"
    for one, other in zip(was.entries, now.entries, strict=True):
        yield from compare(path, [one], [other])


def _setup(raw: bytes) -> _Setup:
    found = lines(raw)
    text = "\n".join(found)
    if len(text) > _MOST_CODE:
        raise Unreadable("too much code")
    try:
        with warnings.catch_warnings():
            # What an interpreter would warn of is the script's own business.
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
        entries = [_masked(node) for node in _requirements(tree)]
        return _Setup(ast.dump(tree), entries, _comments(found))
    except (SyntaxError, ValueError) as exc:
        raise Unreadable(f"no Python: {type(exc).__name__}") from None


def _comments(found: list[str]) -> list[str]:
    """Return the lines that say how the script is run and read, and all whole lines of comments where a block may be."""
    told = [line for line in found[:1] if line.startswith(_SHEBANG)]
    told += [line for line in found[:2] if _CODING.match(line)]
    blocks = any(line.startswith(_BLOCK) for line in found)
    return told + [line for line in found if blocks and line.startswith("#")]


def _requirements(tree: ast.AST) -> list[ast.Constant]:
    """Return the literal requirements of the only call of `setup`, and none where there are several calls."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _is_setup(node.func)]
    if len(calls) != 1:
        return []
    found: list[ast.Constant] = []
    for keyword in calls[0].keywords:
        if keyword.arg in _KEYS:
            found += _texts(keyword.value)
        elif keyword.arg == _EXTRAS and isinstance(keyword.value, ast.Dict):
            for value in keyword.value.values:
                found += _texts(value)
    return found


def _is_setup(node: Any) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr == "setup"
    return isinstance(node, ast.Name) and node.id == "setup"


def _texts(node: Any) -> list[ast.Constant]:
    """Return the texts of a literal list, and none of one that is worked out in any way."""
    items = node.elts if isinstance(node, ast.List | ast.Tuple) else []
    texts = [item for item in items if isinstance(item, ast.Constant) and isinstance(item.value, str)]
    return texts if len(texts) == len(items) <= _MOST_TEXTS else []


def _masked(node: ast.Constant) -> Entry:
    """Return the requirement that a text is, and leave of the text all but the version or range."""
    entry = read(str(node.value))
    if entry.base:
        node.value = repr(("==", entry.name, entry.base))
    return entry
