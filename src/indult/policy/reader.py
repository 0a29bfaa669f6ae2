"""Strict YAML: a file becomes nodes with positions, or an error that says where and why.

One document, no anchors, aliases, merge keys or tags, no character that could mislead a reviewer, bounded size and
depth. Nodes are built from the parser's events in a loop, so no input can exhaust the stack or multiply itself.
"""

from __future__ import annotations

import re
from typing import Any, Final

from indult.canonical import MAX_BYTES, MAX_DEPTH
from indult.errors import PolicyError
from indult.policy.scalars import json_scalar, misleading, positions, text_scalar

__all__ = ["Document", "Node", "read"]

MAP: Final = "mapping"
LIST: Final = "list"
SCALAR: Final = "text"

_BREAK: Final = re.compile("\r\n|\r|\n")
_EXCERPT: Final = 200
_LOOKALIKE: Final = r"[^\s,\[\]{}]+"


class Node:
    """One node of the file: `value` is a `str`, a list of nodes, or a list of pairs of them; `line` and `column` from 1."""

    __slots__ = ("column", "end_column", "end_line", "kind", "line", "style", "value")

    def __init__(self, kind: str, value: Any, start: Any, end: Any, style: str = "") -> None:
        self.kind = kind
        self.value = value
        self.line: int = start.line + 1
        self.column: int = start.column + 1
        self.end_line: int = end.line + 1
        self.end_column: int = end.column + 1
        self.style = style

    @property
    def is_map(self) -> bool:
        """Tell whether this is a mapping."""
        return self.kind == MAP

    @property
    def is_list(self) -> bool:
        """Tell whether this is a list."""
        return self.kind == LIST

    @property
    def is_scalar(self) -> bool:
        """Tell whether this is neither a list nor a mapping."""
        return self.kind == SCALAR

    @property
    def plain(self) -> bool:
        """Tell whether this is a scalar without quotes, whose meaning hangs on how it is spelled."""
        return self.style == ""


class Document:
    """A file that was read: its name, its lines and its root node (none where it holds nothing)."""

    __slots__ = ("lines", "root", "source")

    def __init__(self, text: str, source: str) -> None:
        self.source = source
        self.lines = _BREAK.split(text)
        self.root: Node | None = None

    def error(self, line: int, column: int, message: str, *, hint: str | None = None) -> PolicyError:
        """Return an error at this place."""
        return self.place(PolicyError(message, hint=hint), line, column)

    def at(self, node: Node, message: str, *, hint: str | None = None) -> PolicyError:
        """Return an error at a node."""
        return self.place(PolicyError(message, hint=hint), node.line, node.column)

    def place(self, exc: PolicyError, line: int, column: int) -> PolicyError:
        """Return the error with the place in this file, in the class that it has."""
        if line > len(self.lines):
            # The parser counts one line more at the end of a file.
            line, column = len(self.lines), len(self.lines[-1]) + 1
        text = self.lines[line - 1]
        excerpt = _visible(text[:_EXCERPT]) if text.strip() and column <= _EXCERPT else None
        return type(exc)(exc.message, hint=exc.hint, source=self.source, line=line, column=column, excerpt=excerpt)

    def within(self, exc: PolicyError, node: Node) -> PolicyError:
        """Return an error inside the text of a scalar, whose line and column count there, with the place in the file."""
        if exc.line is None or node.kind != SCALAR:
            return self.place(exc, node.line, node.column)
        before = node.value.split("\n")[: exc.line - 1]
        offset = sum(len(line) + 1 for line in before) + (exc.column or 1) - 1
        return self.place(exc, *positions(node, self.lines, min(offset, len(node.value))))

    def text(self, node: Node, what: str = "a text") -> str:
        """Return the text of a node.

        Raises:
            PolicyError: It is a list or a mapping, or reads as a number or another value.
        """
        if node.kind != SCALAR:
            raise self.at(node, f"expected {what}, not a {node.kind}")
        try:
            return text_scalar(node.value, plain=node.plain)
        except PolicyError as exc:
            raise self.place(exc, node.line, node.column) from None

    def json(self, node: Node) -> Any:
        """Return the JSON value of a node.

        Raises:
            PolicyError: A scalar that readers disagree about, or a key that is no text or stands twice.
        """
        if node.kind == LIST:
            return [self.json(item) for item in node.value]
        if node.kind == MAP:
            return {key: self.json(value) for key, _, value in self.pairs(node, json_keys=True)}
        try:
            return json_scalar(node.value, plain=node.plain)
        except PolicyError as exc:
            raise self.place(exc, node.line, node.column) from None

    def pairs(self, node: Node, *, json_keys: bool = False) -> list[tuple[str, Node, Node]]:
        """Return key, key node and value node of each pair of a mapping.

        Raises:
            PolicyError: It is no mapping, a key is no text, or a key stands twice.
        """
        if node.kind != MAP:
            raise self.at(node, f"expected a mapping of keys and values, not a {node.kind}")
        found: dict[str, tuple[str, Node, Node]] = {}
        for key, value in node.value:
            name = self.key(key, json_keys=json_keys)
            if name in found:
                raise self.twice(key, name, found[name][1])
            found[name] = (name, key, value)
        return list(found.values())

    def twice(self, node: Node, name: str, first: Node) -> PolicyError:
        """Return the error of a key that stands twice in one mapping."""
        return self.at(node, f"the key `{name}` stands twice", hint=f"it stands on line {first.line} already")

    def key(self, node: Node, *, json_keys: bool = False) -> str:
        """Return the text of a key.

        Raises:
            PolicyError: It is none.
        """
        if node.kind != SCALAR:
            raise self.at(node, f"a {node.kind} cannot be a key", hint="a text with `{` or `[` first needs quotes")
        if node.value == "<<" and node.plain:
            raise self.at(node, "merge keys are not part of policy files", hint="write the keys out")
        name = self.json(node) if json_keys else self.text(node)
        if not isinstance(name, str):
            raise self.at(node, f"the key `{node.value}` is not a text", hint=f'put it in quotes: "{node.value}"')
        return name


def _visible(line: str) -> str:
    """Return a line in which every character takes one column, so that a caret below it is right."""
    return "".join(char if char.isprintable() or char == "\t" else "\ufffd" for char in line)


def read(raw: bytes | str, *, source: str) -> Document:
    """Read a policy file into nodes.

    Raises:
        PolicyError: It is too large, not UTF-8, not YAML, or YAML that a policy may not use.
    """
    text = _decode(raw, source)
    document = Document(text, source)
    found = misleading(text)
    if found:
        raise _misleading(document, text, found.start())
    document.root = _compose(document, text)
    return document


def _decode(raw: bytes | str, source: str) -> str:
    size = len(raw) if isinstance(raw, bytes) else len(raw.encode("utf-8", "surrogatepass"))
    if size > MAX_BYTES:
        raise PolicyError(f"the policy is too large: more than {MAX_BYTES} bytes", source=source)
    if isinstance(raw, str):
        return raw.removeprefix("\ufeff")
    try:
        return raw.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as exc:
        line = raw.count(b"\n", 0, exc.start) + 1
        column = len(raw[raw.rfind(b"\n", 0, exc.start) + 1 : exc.start].decode("utf-8", "replace")) + 1
        raise PolicyError(
            f"the policy is not UTF-8: byte 0x{raw[exc.start]:02x}",
            hint="save the file as UTF-8",
            source=source,
            line=line,
            column=column,
        ) from None


def _misleading(document: Document, text: str, at: int) -> PolicyError:
    before = _BREAK.split(text[:at])
    char = text[at]
    return document.error(
        len(before),
        len(before[-1]) + 1,
        f"the character U+{ord(char):04X} is invisible or changes how the line reads",
        hint="remove it" if ord(char) != 0 else "save the file as UTF-8 text",
    )


def _compose(document: Document, text: str) -> Node | None:
    """Build the nodes of the one document that the text may hold."""
    import yaml

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        parser = loader(text)
        try:
            return _build(document, parser.get_event)
        finally:
            parser.dispose()
    except yaml.MarkedYAMLError as exc:
        raise _syntax(document, exc) from None
    except yaml.YAMLError as exc:
        raise PolicyError(f"not YAML: {exc}", source=document.source) from None


def _build(document: Document, events: Any) -> Node | None:
    root: Node | None = None
    stack: list[tuple[Node, list[Node]]] = []
    while True:
        event = events()
        kind = type(event).__name__
        if kind == "StreamEndEvent":
            return root
        if kind == "DocumentStartEvent":
            _check_start(document, event, first=root is None)
        elif kind in ("SequenceEndEvent", "MappingEndEvent"):
            node, items = stack.pop()
            node.end_line, node.end_column = event.end_mark.line + 1, event.end_mark.column + 1
            node.value = items if node.kind == LIST else list(zip(items[::2], items[1::2], strict=True))
        elif kind in _STARTS:
            _check_event(document, event, kind)
            if kind == "ScalarEvent":
                style = "" if event.implicit[0] and event.style in (None, "") else event.style or ""
                node = Node(SCALAR, event.value, event.start_mark, event.end_mark, style)
            else:
                node = Node(_STARTS[kind], None, event.start_mark, event.end_mark, "{")
            if stack:
                stack[-1][1].append(node)
            else:
                root = node
            if kind != "ScalarEvent":
                if len(stack) >= MAX_DEPTH:
                    raise document.at(node, f"nested over {MAX_DEPTH} deep")
                stack.append((node, []))


_STARTS: Final = {
    "ScalarEvent": SCALAR,
    "SequenceStartEvent": LIST,
    "MappingStartEvent": MAP,
    "AliasEvent": "",
}


def _check_start(document: Document, event: Any, *, first: bool) -> None:
    mark = event.start_mark
    if not first:
        raise document.error(
            mark.line + 1, mark.column + 1, "a second document begins here", hint="one file, one policy"
        )
    if event.version or event.tags:
        raise document.error(mark.line + 1, mark.column + 1, "`%` directives are not part of policy files")


def _check_event(document: Document, event: Any, kind: str) -> None:
    """Refuse anchors, aliases and tags; a name pattern or a negation without quotes looks like one."""
    line, column = event.start_mark.line + 1, event.start_mark.column + 1
    if event.anchor is None and getattr(event, "tag", None) is None:
        return
    rest = document.lines[line - 1][column - 1 :].strip()
    shown = re.match(_LOOKALIKE, rest)
    name = shown[0] if shown else rest
    if kind == "AliasEvent":
        raise document.error(line, column, f"`{name}` is an alias to YAML", hint=f'put a pattern in quotes: "{name}"')
    if event.anchor is not None:
        raise document.error(line, column, f"the anchor `&{event.anchor}` is not part of policy files")
    if event.tag is not None:
        hint = "put a condition that begins with `!` in quotes, or write it below `when: |`"
        raise document.error(
            line, column, f"`{name}` is a tag to YAML", hint="leave it out" if name.startswith("!!") else hint
        )


def _syntax(document: Document, exc: Any) -> PolicyError:
    """Put a complaint of the YAML parser into words for the person who wrote the line."""
    mark = exc.problem_mark or exc.context_mark
    problem = " ".join(part for part in (exc.context, exc.problem) if part).replace("'", "`")
    if mark is None:
        return PolicyError(f"not YAML: {problem}", source=document.source)
    text = document.lines[mark.line] if mark.line < len(document.lines) else ""
    return document.error(
        mark.line + 1, mark.column + 1, f"not YAML: {problem}", hint=_advice(text, mark.column, problem)
    )


def _advice(text: str, column: int, problem: str) -> str | None:
    """Return what the writer of such a line has usually overlooked."""
    if "\t" in text[: column + 1] and "token" in problem:
        return "indent with spaces, not with tabs"
    if "alias" in problem or "anchor" in problem:
        return 'a text that begins with `*` or `&` needs quotes: tool: "*"'
    if "mapping values are not allowed" in problem:
        return "a text that holds `: ` needs quotes"
    if text[column : column + 1] in ("@", "`", "%"):
        return f"a text that begins with `{text[column]}` needs quotes"
    if text[:column].rstrip()[-1:] in ('"', "'", "]", "}"):
        return "a text that goes on after a closing quote or bracket needs quotes around the whole"
    if "flow" in problem:
        return "close the bracket, or put a text that holds brackets in quotes"
    return None
