"""Values of variables that a text itself gives: plain assignments, and loops over words that can be told.

What is known holds at one place of the text (`State.variables`). It is given up as a whole where the text does what may set
any variable (functions, `eval`, `source`, traps, a program that is not known), and for a name that anything else than
a plain assignment may set, be it before or behind: the text is then walked again as if no value were known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from indult.decompose.shell.arithmetic import nodes
from indult.decompose.shell.state import State
from indult.decompose.shell.variables import sensitive
from indult.decompose.shell.words import FOUND, QUOTED, Word

__all__ = ["Bindings", "assigned_in", "bound", "bound_to", "without"]

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_OWN: Final = frozenset(
    {"_", "RANDOM", "SRANDOM", "SECONDS", "LINENO", "REPLY", "OPTARG", "OPTERR", "UID", "EUID", "PPID", "GROUPS",
     "DIRSTACK", "FUNCNAME", "PIPESTATUS", "MAPFILE", "COPROC", "EPOCHREALTIME", "COLUMNS", "LINES", "HOSTNAME",
     "HOSTTYPE", "MACHTYPE", "OSTYPE", "SHLVL"}
)  # fmt: skip
"""Variables that bash sets by itself, or lets nobody set."""

_SETTERS: Final = frozenset(
    {"read", "mapfile", "readarray", "getopts", "unset", "wait", "declare", "typeset", "export", "readonly", "local",
     "let", "printf"}
)  # fmt: skip
_DECLARES: Final = frozenset({"declare", "typeset", "local"})
_ANYTHING: Final = frozenset({"eval", "source", ".", "trap", "alias", "enable", "hash"})
_ASSIGNS: Final = frozenset({"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", "++", "--"})


class Bindings:
    """What one walk relied on of the values of variables, and what may be otherwise."""

    def __init__(self, *, known: bool) -> None:
        self.known = known
        self._relied: set[str] = set()
        self._unsure: set[str] = set()
        self._doubt = False

    @property
    def broken(self) -> bool:
        """Tell whether a value was relied on that may be another one."""
        return bool(self._relied) and (self._doubt or not self._relied.isdisjoint(self._unsure))

    def value(self, name: str, state: State) -> tuple[str, int] | None:
        """Return the value that a variable has in a state, none where it is not known."""
        found = state.variables.get(name) if self.known else None
        if found is not None:
            self._relied.add(name)
        return found

    def doubt(self) -> None:
        """Take in that any variable may have been set."""
        self._doubt = True

    def unsure(self, *names: str) -> None:
        """Take in that variables may be set to what is not known."""
        self._unsure.update(names)

    def ran(self, name: str, argv: list[Word]) -> None:
        """Take in what a builtin sets."""
        if name in _ANYTHING:
            self._doubt = True
        texts = [word.text for word in argv[1:]]
        first = texts[0] if texts else ""
        if name not in _SETTERS or (name == "printf" and first is not None and not first.startswith("-")):
            return
        if name in _DECLARES and any((text or "")[:1] == "-" and "n" in (text or "") for text in texts):
            # From here on, setting another name may set this one.
            self._doubt = True
        for text in texts:
            if text is None:
                self._doubt = self._doubt or name != "printf" or first is None
                continue
            self._unsure.update(re.split(r"[=+\[]", one)[0] for one in (text, text[2:] if text[:1] == "-" else ""))

    def counted(self, tree: Any) -> None:
        """Take in what an arithmetic expression sets."""
        for one in nodes(tree):
            if one.get("Type") in {"BinaryArithm", "UnaryArithm"} and one.get("Op") in _ASSIGNS:
                parts = one.get("X", {}).get("Parts", ())
                self._unsure.add("".join(part.get("Value", "") for part in parts if part.get("Type") == "Lit"))


def bound(state: State, name: str, text: str | None) -> State:
    """Return the state in which a variable has a text for its value, or one that is not known."""
    return bound_to(state, name, None if text is None else Word(text))


def bound_to(state: State, name: str, word: Word | None) -> State:
    """Return the state in which a variable is a word: its text, or one of the files that a glob finds."""
    variables = {one: value for one, value in state.variables.items() if one != name}
    own = name in _OWN or name.startswith(("BASH", "COMP_", "READLINE_")) or not _NAME.match(name) or sensitive(name)
    if word is not None and not own:
        if word.text is not None:
            variables[name] = (word.text, QUOTED)
        elif word.glob is not None:
            variables[name] = (word.glob, FOUND)
    return state._replace(variables=variables)


def without(state: State, names: Iterable[str]) -> State:
    """Return the state in which nothing is known of some variables."""
    names = set(names)
    if names.isdisjoint(state.variables):
        return state
    kept: Mapping[str, tuple[str, int]] = {one: value for one, value in state.variables.items() if one not in names}
    return state._replace(variables=kept)


def assigned_in(node: Any) -> set[str]:
    """Return the variables that a piece of a text assigns, each time that it is run."""
    found: set[str] = set()
    for one in nodes(node):
        for assign in one.get("Assigns", ()):
            found.add(assign["Name"]["Value"])
        if one.get("Type") in {"WordIter", "DeclClause"}:
            found.update(str(name.get("Value", "")) for name in _names(one))
    return found


def _names(node: dict[str, Any]) -> Iterable[dict[str, Any]]:
    yield node.get("Name") or {}
    for arg in node.get("Args", ()):
        yield arg.get("Name") or {}
