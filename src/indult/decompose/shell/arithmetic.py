"""Whether an arithmetic expression can run code: bash evaluates the values of its variables again, subscripts included."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

__all__ = ["Numbers", "literal", "nodes"]

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_NUMBER: Final = re.compile(r"[-+]?[0-9]+(?:#[0-9A-Za-z@_]+)?\Z|0[xX][0-9A-Fa-f]+\Z")
_RANGE: Final = re.compile(r"\{-?\d+\.\.-?\d+(?:\.\.-?\d+)?\}\Z")
_COUNTS: Final = frozenset({"?", "#", "$", "!", "RANDOM", "SECONDS", "LINENO", "UID", "EUID", "PPID", "BASHPID", "-"})
_READING: Final = frozenset({"read", "mapfile", "readarray", "printf", "getopts", "wait", "env", "unset"})
_ANYTHING: Final = frozenset({"eval", "source", ".", "trap"})


def nodes(node: Any) -> Iterator[dict[str, Any]]:
    """Yield a node and all below it."""
    todo = [node]
    while todo:
        one = todo.pop()
        if isinstance(one, dict):
            yield one
            todo.extend(value for value in one.values() if isinstance(value, dict | list))
        else:
            todo.extend(item for item in one if isinstance(item, dict | list))


def literal(word: dict[str, Any] | None) -> str | None:
    """Return the text of a word of one plain piece, none of any other."""
    parts = (word or {}).get("Parts", ())
    if len(parts) == 1 and parts[0]["Type"] == "Lit":
        value: str = parts[0].get("Value", "")
        return value if "\\" not in value else None
    return None


class Numbers:
    """Which variables of a text can hold nothing but a number, or are not set in it at all."""

    def __init__(self) -> None:
        self._open: set[str] = set()
        self._all = False

    def learn(self, tree: Any) -> None:
        """Take in the assignments of a text, wherever they stand."""
        for node in nodes(tree):
            self._learn(node)

    def set(self, name: str) -> None:
        """Take in that a variable is set to what is not known."""
        self._open.add(name)

    def why(self, tree: Any) -> str:
        """Return why an arithmetic expression may run code, empty where it cannot."""
        for node in nodes(tree):
            kind = node.get("Type")
            if kind in {"CmdSubst", "ProcSubst"}:
                return "the result of a command is evaluated as arithmetic, which can run code"
            if kind == "ParamExp" and not node.get("Length"):
                name = node.get("Param", {}).get("Value", "")
                if name not in _COUNTS and (not _NAME.match(name) or self._is_open(name)):
                    return f"the value of `{name}` is evaluated as arithmetic, which can run code"
            if kind == "Lit":
                text = node.get("Value", "")
                if self._is_open(text) or not (_NAME.match(text) or _NUMBER.match(text)):
                    return f"the value of `{text[:40]}` is evaluated as arithmetic, which can run code"
            if kind in {"SglQuoted", "ExtGlob"}:
                return "a text is evaluated as arithmetic, which can run code"
        return ""

    def _is_open(self, name: str) -> bool:
        return name in self._open or (self._all and _NUMBER.match(name) is None)

    def _learn(self, node: dict[str, Any]) -> None:
        if "Value" in node and isinstance(node.get("Name"), dict) and isinstance(node["Value"], dict):
            if not _is_number(node["Value"]):
                self._open.add(node["Name"].get("Value", ""))
        elif isinstance(node.get("Array"), dict):
            if not all(_is_number(one.get("Value")) for one in node["Array"].get("Elems", ())):
                self._open.add(node.get("Name", {}).get("Value", ""))
        elif node.get("Naked") and isinstance(node.get("Value"), dict):
            self._open.update(re.findall(r"[A-Za-z_][A-Za-z0-9_]*", _text(node["Value"])))
        elif node.get("Type") == "WordIter":
            items = node.get("Items") or [None]
            if not all(_is_number(one) or _RANGE.match(literal(one) or "") for one in items):
                self._open.add(node.get("Name", {}).get("Value", ""))
        elif node.get("Type") == "ParamExp" and node.get("Exp", {}).get("Op") in {"=", ":="}:
            self._open.add(node.get("Param", {}).get("Value", ""))
        elif node.get("Type") == "CallExpr":
            self._learn_call(node.get("Args", []))

    def _learn_call(self, args: list[dict[str, Any]]) -> None:
        names = [_text(word) for word in args]
        first = next((name.rpartition("/")[2] for name in names if name not in {"command", "builtin"}), "")
        self._all = self._all or not _ANYTHING.isdisjoint(names) or (bool(args) and first == "")
        if not _READING.isdisjoint(names):
            for name in names:
                self._open.update(re.findall(r"[A-Za-z_][A-Za-z0-9_]*", name))
            if first in {"read", "mapfile", "readarray"}:
                self._open.update({"REPLY", "MAPFILE"})


def _is_number(word: Any) -> bool:
    parts = (word or {}).get("Parts", ())
    if len(parts) == 1 and parts[0]["Type"] == "DblQuoted":
        parts = parts[0].get("Parts", ())
    if not parts:
        return word is not None
    if len(parts) > 1:
        return False
    part = parts[0]
    if part["Type"] == "ParamExp":
        return bool(part.get("Length")) or part.get("Param", {}).get("Value") in _COUNTS
    return part["Type"] == "ArithmExp" or (part["Type"] == "Lit" and _NUMBER.match(part.get("Value", "")) is not None)


def _text(word: dict[str, Any]) -> str:
    """Return all plain text of a word, whatever stands between."""
    return "".join(node["Value"] for node in nodes(word) if isinstance(node.get("Value"), str))
