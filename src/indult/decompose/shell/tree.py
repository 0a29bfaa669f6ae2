"""The closed list of what a parsed text may consist of; a tree with anything else in it is not read at all.

So a new version of the parser with a new kind of node never makes a command disappear.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any, Final

from indult.decompose.shell.shfmt import Unparsable

__all__ = ["check", "is_quoted"]

_MAX_DEPTH: Final = 150

_PLACE: Final = frozenset({"Offset", "Line", "Col"})

_COMMANDS: Final = (
    "CallExpr", "Subshell", "Block", "IfClause", "WhileClause", "ForClause", "BinaryCmd", "FuncDecl", "ArithmCmd",
    "CaseClause", "TestClause", "DeclClause", "TimeClause", "CoprocClause", "LetClause",
)  # fmt: skip
_ARITHMETIC: Final = ("Word", "BinaryArithm", "UnaryArithm", "ParenArithm")
_TESTS: Final = ("Word", "BinaryTest", "UnaryTest", "ParenTest")
_PIECES: Final = ("Lit", "SglQuoted", "DblQuoted", "ParamExp", "CmdSubst", "ArithmExp", "ProcSubst", "ExtGlob")

_SHAPES: Final[dict[str, dict[str, tuple[str, ...]]]] = {
    "File": {"Stmts": ("Stmt",), "Last": ("Comment",)},
    "Comment": {"Text": ("str",)},
    "Stmt": {
        "Comments": ("Comment",), "Cmd": _COMMANDS, "Negated": ("bool",), "Background": ("bool",),
        "Coprocess": ("bool",), "Redirs": ("Redirect",),
    },
    "Assign": {
        "Append": ("bool",), "Naked": ("bool",), "Name": ("Lit",), "Index": _ARITHMETIC, "Value": ("Word",),
        "Array": ("ArrayExpr",),
    },
    "Redirect": {"Op": ("str",), "N": ("Lit",), "Word": ("Word",), "Hdoc": ("Word",)},
    "CallExpr": {"Assigns": ("Assign",), "Args": ("Word",)},
    "Subshell": {"Stmts": ("Stmt",), "Last": ("Comment",)},
    "Block": {"Stmts": ("Stmt",), "Last": ("Comment",)},
    "IfClause": {
        "Cond": ("Stmt",), "CondLast": ("Comment",), "Then": ("Stmt",), "ThenLast": ("Comment",),
        "Else": ("IfClause",), "Last": ("Comment",),
    },
    "WhileClause": {
        "Until": ("bool",), "Cond": ("Stmt",), "CondLast": ("Comment",), "Do": ("Stmt",), "DoLast": ("Comment",),
    },
    "ForClause": {
        "Select": ("bool",), "Braces": ("bool",), "Loop": ("WordIter", "CStyleLoop"), "Do": ("Stmt",),
        "DoLast": ("Comment",),
    },
    "WordIter": {"Name": ("Lit",), "Items": ("Word",)},
    "CStyleLoop": {"Init": _ARITHMETIC, "Cond": _ARITHMETIC, "Post": _ARITHMETIC},
    "BinaryCmd": {"Op": ("str",), "X": ("Stmt",), "Y": ("Stmt",)},
    "FuncDecl": {"RsrvWord": ("bool",), "Parens": ("bool",), "Name": ("Lit",), "Body": ("Stmt",)},
    "Word": {"Parts": _PIECES},
    "Lit": {"Value": ("str",)},
    "SglQuoted": {"Dollar": ("bool",), "Value": ("str",)},
    "DblQuoted": {"Dollar": ("bool",), "Parts": _PIECES},
    "CmdSubst": {"Stmts": ("Stmt",), "Last": ("Comment",), "Backquotes": ("bool",)},
    "ParamExp": {
        "Short": ("bool",), "Excl": ("bool",), "Length": ("bool",), "Param": ("Lit",), "Index": _ARITHMETIC,
        "Slice": ("Slice",), "Repl": ("Replace",), "Names": ("str",), "Exp": ("Expansion",),
    },
    "Slice": {"Offset": _ARITHMETIC, "Length": _ARITHMETIC},
    "Replace": {"All": ("bool",), "Orig": ("Word",), "With": ("Word",)},
    "Expansion": {"Op": ("str",), "Word": ("Word",)},
    "ArithmExp": {"Bracket": ("bool",), "X": _ARITHMETIC},
    "ArithmCmd": {"X": _ARITHMETIC},
    "BinaryArithm": {"Op": ("str",), "X": _ARITHMETIC, "Y": _ARITHMETIC},
    "UnaryArithm": {"Op": ("str",), "Post": ("bool",), "X": _ARITHMETIC},
    "ParenArithm": {"X": _ARITHMETIC},
    "CaseClause": {"Word": ("Word",), "Items": ("CaseItem",), "Last": ("Comment",)},
    "CaseItem": {
        "Op": ("str",), "Comments": ("Comment",), "Patterns": ("Word",), "Stmts": ("Stmt",), "Last": ("Comment",),
    },
    "TestClause": {"X": _TESTS},
    "BinaryTest": {"Op": ("str",), "X": _TESTS, "Y": _TESTS},
    "UnaryTest": {"Op": ("str",), "X": _TESTS},
    "ParenTest": {"X": _TESTS},
    "DeclClause": {"Variant": ("Lit",), "Args": ("Assign",)},
    "ArrayExpr": {"Elems": ("ArrayElem",), "Last": ("Comment",)},
    "ArrayElem": {"Index": _ARITHMETIC, "Value": ("Word",), "Comments": ("Comment",)},
    "ExtGlob": {"Op": ("str",), "Pattern": ("Lit",)},
    "ProcSubst": {"Op": ("str",), "Stmts": ("Stmt",), "Last": ("Comment",)},
    "TimeClause": {"PosixFormat": ("bool",), "Stmt": ("Stmt",)},
    "CoprocClause": {"Name": ("Word",), "Stmt": ("Stmt",)},
    "LetClause": {"Exprs": _ARITHMETIC},
}  # fmt: skip
"""Type of a node -> its fields -> what may stand there, one or several."""

_BODIES: Final = frozenset(
    {"Block", "Subshell", "IfClause", "WhileClause", "ForClause", "CaseClause", "ArithmCmd", "TestClause"}
)
_SIMPLE: Final[dict[str, type]] = {"str": str, "bool": bool}

_QUOTED: Final = re.compile(rb"'[^']*'|\"[^\"]*\"")
_OPERATORS: Final = re.compile(rb"[()<>&|;]")

_RESERVED: Final = frozenset({"case", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if", "in", "select", "then",
                              "until", "while", "{", "}", "[[", "]]"})  # fmt: skip
"""The words of bash's grammar that no command can begin with (Bash manual, Reserved Words), but for `!` and `time`, which
stand before one, and `coproc`, which the parser has a node for."""

_DESCRIPTOR: Final = re.compile(r"(?:\d+|\{[A-Za-z_]\w*\})\Z")
_HIDDEN: Final = re.compile(r"(?<!\\)(?:\\\\)*(?:\$[({\[]|`)")
_PROCESS: Final = re.compile(r"(?<!\\)(?:\\\\)*[<>]\(")


def check(tree: dict[str, Any], text: str) -> None:
    """Refuse a tree with anything that is not on the list, or in which the parser is known to overlook code.

    The places in the text are taken out of the tree.

    Raises:
        Unparsable: Something is unknown, nested too deeply, or known to be read in another way by bash.
    """
    try:
        _check(tree, text.encode())
    except (AttributeError, KeyError, TypeError):
        raise Unparsable("the parser gave something unknown") from None


def _check(tree: dict[str, Any], source: bytes) -> None:
    todo: list[tuple[Any, tuple[str, ...], int, bool, bool]] = [(tree, ("File",), 0, False, False)]
    while todo:
        node, allowed, depth, quoted, tested = todo.pop()
        if depth > _MAX_DEPTH:
            raise Unparsable("it is nested too deeply")
        kind = _kind(node, allowed)
        if not quoted:
            _guard(kind, node, source)
        if kind == "ExtGlob" and not tested:
            # Elsewhere, bash takes such a pattern only after an option was set on a line before.
            raise Unparsable("it holds an extended pattern")
        tested = (tested and kind != "Stmt") or kind == "TestClause"
        for name, value in tuple(node.items()):
            if name == "Type":
                continue
            if _is_place(value):
                # Nobody needs places any more, and walking over them takes longer than over all else.
                del node[name]
                continue
            fits = _SHAPES[kind].get(name)
            if fits is None:
                raise Unparsable(f"it holds `{kind}.{name}`, which is not read")
            items = value if isinstance(value, list) else [value]
            if fits[0] in _SIMPLE:
                if not all(isinstance(item, _SIMPLE[fits[0]]) for item in items):
                    raise Unparsable("the parser gave something unknown")
                continue
            # A long list of commands leans to the left and is no deeper for it.
            below = depth - 1 if (kind, name) == ("BinaryCmd", "X") else depth + 1
            text_only = quoted or (name == "Hdoc" and is_quoted(node["Word"]))
            if not text_only and (kind == "DblQuoted" or name == "Hdoc"):
                _guard_quoted(items)
            todo.extend((item, fits, below, text_only, tested) for item in items)


def is_quoted(word: dict[str, Any]) -> bool:
    """Tell whether the delimiter of a here-document is quoted, so that its text is taken as it is."""
    return any(piece["Type"] != "Lit" or "\\" in piece.get("Value", "") for piece in word.get("Parts", ()))


def _kind(node: Any, allowed: tuple[str, ...]) -> str:
    """Return the type of a node; the parser names it only where several may stand."""
    if not isinstance(node, dict):
        raise Unparsable("the parser gave something unknown")
    kind = node.get("Type", allowed[0] if len(allowed) == 1 else None)
    if not isinstance(kind, str) or kind not in allowed:
        raise Unparsable(f"it holds a `{kind}`, which is not read")
    return kind


def _guard(kind: str, node: dict[str, Any], source: bytes) -> None:
    """Refuse what the parser takes for text although bash may run it."""
    if kind == "Comment" and (node.get("Text", "").endswith("\\") or "\n" in node.get("Text", "")):
        # The parser lets the comment go on in the next line, bash never does.
        raise Unparsable("a comment ends in a backslash")
    if kind == "TimeClause" and not (node.get("Stmt") or {}).get("Cmd"):
        raise Unparsable("`time` stands alone")
    if kind == "CallExpr" and not node.get("Assigns") and (word := _first_word(node.get("Args"))) in _RESERVED:
        # The parser takes some of them for the name of a program, and bash none.
        raise Unparsable(f"`{word}` stands where a command does")
    if kind == "Redirect" and node.get("Hdoc") and not is_quoted(node["Word"]) and _ends_early(node, source):
        raise Unparsable("a here-document may end before it seems to")
    if kind == "Redirect" and node.get("Hdoc") and _ends_within(node, source):
        raise Unparsable("a here-document may end before it seems to")
    if kind == "Redirect" and _is_number_of_next(node.get("Word") or {}, source):
        raise Unparsable("the word of a redirection may belong to the next one")
    if kind == "FuncDecl" and not node.get("Name", {}).get("Value"):
        raise Unparsable("a function has no name")
    body = node["Body"] if kind == "FuncDecl" else {}
    if kind == "FuncDecl" and ((body.get("Cmd") or {}).get("Type") not in _BODIES or body.get("Negated")):
        raise Unparsable("the body of a function is no compound command")
    if kind == "LetClause" and _OPERATORS.search(_QUOTED.sub(b"", _source(node, source))):
        # The parser reads arithmetic, where bash reads words first.
        raise Unparsable("the arithmetic of `let` stands without quotes")
    if kind == "CmdSubst" and node.get("Backquotes") and b"\\" in _source(node, source):
        raise Unparsable("a backslash between backquotes can be read in two ways")
    if kind == "Lit" and _HIDDEN.search(node.get("Value", "")):
        raise Unparsable("a substitution stands where none is read")
    if kind == "ExtGlob" and _PROCESS.search(node["Pattern"].get("Value", "")):
        raise Unparsable("a pattern holds a process substitution")
    if kind == "ParamExp":
        replaced = node.get("Repl", {})
        words = [node.get("Exp", {}).get("Word"), replaced.get("Orig"), replaced.get("With")]
        if any(_holds_process(word) for word in words if word):
            raise Unparsable("a parameter expansion holds a process substitution")


def _first_word(words: list[dict[str, Any]] | None) -> str | None:
    """Return the first of some words, if it is one without quotes."""
    parts: list[dict[str, Any]] = words[0].get("Parts", []) if words else []
    return str(parts[0].get("Value")) if len(parts) == 1 and parts[0].get("Type") == "Lit" else None


def _ends_early(redirect: dict[str, Any], source: bytes) -> bool:
    """Tell whether a line of a here-document becomes its delimiter when it is joined with the one before.

    Bash joins lines that end in a backslash before it looks for the delimiter, the parser looks first.
    """
    delimiter = "".join(part.get("Value", "") for part in redirect["Word"].get("Parts", ())).encode()
    # Where the parser has the text begin and end depends on joined lines too: a little more of both is looked at.
    start, end = redirect["Word"]["End"]["Offset"], redirect["Hdoc"]["End"]["Offset"] + len(delimiter) + 16
    lines = source[start:end].split(b"\n")
    return any(
        before.endswith(b"\\") and (before[:-1] + line).replace(b"\\", b"").strip(b"\t").endswith(delimiter)
        for before, line in pairwise(lines)
    )


def _ends_within(redirect: dict[str, Any], source: bytes) -> bool:
    """Tell whether a here-document in a substitution has a line that begins with its delimiter and goes on.

    Some versions of bash take it for the end there.
    """
    start = redirect["Word"]["Pos"]["Offset"]
    if not any(sign in source[:start] for sign in (b"$(", b"`", b"<(", b">(")):
        return False
    delimiter = _plain(redirect["Word"]).replace("\\", "").encode()
    lines = [line.lstrip(b"\t") for line in _source(redirect["Hdoc"], source).split(b"\n")]
    return any(line.startswith(delimiter) and line != delimiter for line in lines)


def _plain(node: dict[str, Any]) -> str:
    """Return the text of a word without its quotes."""
    return "".join(part["Value"] if "Value" in part else _plain(part) for part in node.get("Parts", ()))


def _is_number_of_next(word: dict[str, Any], source: bytes) -> bool:
    """Tell whether bash takes a word for the descriptor of a redirection that stands right behind it."""
    texts = [part.get("Value", "") for part in word.get("Parts", ()) if part["Type"] == "Lit"]
    behind = source[word["End"]["Offset"] :][:1] if "End" in word else b""
    return len(texts) == 1 and behind in {b"<", b">"} and _DESCRIPTOR.match(texts[0]) is not None


def _guard_quoted(pieces: list[Any]) -> None:
    """Refuse single quotes in a parameter expansion within double quotes: to bash they are text, to the parser quotes."""
    todo = [(piece, False) for piece in pieces]
    while todo:
        node, expansion = todo.pop()
        kind = node.get("Type") if isinstance(node, dict) else None
        if kind in {"CmdSubst", "ProcSubst"}:
            continue
        if kind == "SglQuoted" and expansion:
            raise Unparsable("a parameter expansion within double quotes holds single quotes")
        below = node.values() if isinstance(node, dict) else node
        todo.extend((one, expansion or kind == "ParamExp") for one in below if isinstance(one, dict | list))


def _source(node: dict[str, Any], source: bytes) -> bytes:
    return source[node["Pos"]["Offset"] : node["End"]["Offset"]]


def _is_place(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() == _PLACE and all(isinstance(one, int) for one in value.values())


def _holds_process(word: dict[str, Any]) -> bool:
    """Tell whether the text of a word, quotes included, holds the beginning of a process substitution."""
    return any(
        ("Value" in piece and _PROCESS.search(piece["Value"]) is not None) or _holds_process(piece)
        for piece in word.get("Parts") or ()
    )
