"""Texts that stand in a line as they are: words, and here-documents whose end is quoted."""

from __future__ import annotations

from typing import Any

from indult.decompose.shell.tree import is_quoted

__all__ = ["here_text", "plain_word", "shown_text"]


def here_text(stmt: dict[str, Any]) -> str | None:
    """Return the text of a here-document of a command that is taken as it is, none where there is no such text."""
    for redirect in stmt.get("Redirs", ()):
        if redirect.get("Op") in {"<<", "<<-"} and is_quoted(redirect.get("Word") or {}):
            text = "".join(part.get("Value", "") for part in (redirect.get("Hdoc") or {}).get("Parts", ()))
            return "\n".join(line.lstrip("\t") for line in text.split("\n")) if redirect["Op"] == "<<-" else text
    return None


def shown_text(node: dict[str, Any]) -> str | None:
    """Return the text of a substitution that does nothing but show a here-document, none of any other."""
    stmts = node.get("Stmts", ())
    if len(stmts) != 1 or any(stmts[0].get(key) for key in ("Negated", "Background", "Coprocess")):
        return None
    command = stmts[0].get("Cmd") or {}
    alone = command.get("Type") == "CallExpr" and not command.get("Assigns") and len(stmts[0].get("Redirs", ())) == 1
    if not alone or [plain_word(arg) for arg in command.get("Args", ())] != ["cat"]:
        return None
    text = here_text(stmts[0])
    return None if text is None else text.rstrip("\n")


def plain_word(word: dict[str, Any]) -> str | None:
    """Return the text of a word that stands as it is, none of any other."""
    parts = word.get("Parts", ())
    return parts[0].get("Value") if len(parts) == 1 and parts[0]["Type"] == "Lit" else None
