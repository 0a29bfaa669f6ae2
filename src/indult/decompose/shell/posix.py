"""What every shell reads alike: a text for another shell than bash is read only if it holds nothing else."""

from __future__ import annotations

from typing import Any, Final

from indult.decompose.shell.arithmetic import nodes
from indult.decompose.shell.shfmt import Unparsable

__all__ = ["check_portable"]

_TYPES: Final = frozenset(
    {"ArithmCmd", "TestClause", "ProcSubst", "CoprocClause", "TimeClause", "LetClause", "CStyleLoop", "ExtGlob"}
)
_FIELDS: Final = (
    "Dollar",
    "Array",
    "Select",
    "RsrvWord",
    "Slice",
    "Repl",
    "Excl",
    "Index",
    "Names",
    "Append",
    "Braces",
)
_OPERATORS: Final = frozenset({"&>", "&>>", "<<<", "|&", ";&", ";;&", "@", "^", "^^", ",", ",,"})
_DECLARES: Final = frozenset({"export", "readonly", "local"})


def check_portable(tree: dict[str, Any], shell: str) -> None:
    """Refuse a text that another shell could read in another way than bash does.

    Raises:
        Unparsable: It holds something that the standard of the shell does not know.
    """
    for node in nodes(tree):
        kind = node.get("Type")
        if (
            kind in _TYPES
            or any(node.get(name) is True or isinstance(node.get(name), list | str) for name in _FIELDS)
            or any(isinstance(node.get(name), dict) and "Col" not in node[name] for name in _FIELDS)
            or node.get("Op") in _OPERATORS
            or (kind == "DeclClause" and node["Variant"].get("Value") not in _DECLARES)
            or (kind == "Lit" and _braces(node.get("Value", "")))
        ):
            raise Unparsable(f"`{shell}` may read it in another way than bash")


def _braces(text: str) -> bool:
    return "{" in text and ("," in text or ".." in text)
