"""Changing who the approvers of a policy file are, in its text, so that all else stays as a person wrote it.

The file is read into nodes with positions, and text is put in or taken out between them. What comes of it is loaded: a
change after which the file says anything else than wanted is refused.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from indult.errors import PolicyError
from indult.policy.load import loads_policy
from indult.policy.reader import read

if TYPE_CHECKING:
    from indult.policy.model import Policy
    from indult.policy.reader import Document, Node

__all__ = ["add_approver", "approver_lines", "remove_approver"]

# A name that no reader of YAML takes for anything but itself.
_PLAIN: Final = re.compile(r"(?!(?:true|false|null|yes|no|on|off|y|n)\Z)[A-Za-z_][A-Za-z0-9_.@-]*", re.IGNORECASE)
_BREAK: Final = re.compile("\r\n|\r|\n")


def approver_lines(name: str, line: str) -> str:
    """Return what an approver looks like in a policy file that has none yet."""
    return f"approvers:\n  {_key(name)}: {line}\n"


def add_approver(text: str, name: str, line: str, *, source: str = "policy") -> str:
    """Return the text of a policy file with one more approver; `line` is the public key, as in a `.pub` file.

    Raises:
        PolicyError: The approver is there already, the text is no policy that can be added to, or the result is none.
    """
    edit = _Edit(text, source)
    found = edit.approvers
    if found is None:
        changed = edit.inserted(*edit.head, approver_lines(name, line))
    elif not found.is_map:
        raise edit.document.at(found, f"expected names and keys, not a {found.kind}")
    else:
        pairs = edit.document.pairs(found)
        _refuse_twice(edit.document, pairs, name)
        changed = _added(edit, found, pairs, f"{_key(name)}: {line}")
    return _checked(text, changed, source, lambda before: {**before, name: line})


def remove_approver(text: str, name: str, *, source: str = "policy") -> str:
    """Return the text of a policy file without one approver; with the last one goes the key `approvers`.

    Raises:
        PolicyError: There is no such approver, or the file would be no policy without it.
    """
    edit = _Edit(text, source)
    pairs = edit.document.pairs(edit.approvers) if edit.approvers is not None and edit.approvers.is_map else []
    at = next((place for place, (found, _, _) in enumerate(pairs) if found == name), None)
    if at is None:
        raise PolicyError(f"`{name}` is no approver", hint="indult approver list", source=source)
    if len(pairs) == 1:
        changed = edit.without_key()
    elif edit.flow:
        # The comma in front goes too; of the first one, the comma behind.
        start = edit.end(pairs[at - 1][2]) if at else edit.start(pairs[0][1])
        changed = edit.cut(start, edit.end(pairs[at][2]) if at else edit.start(pairs[1][1]))
    else:
        changed = edit.cut((pairs[at][1].line, 1), (edit.last_line(pairs[at][2]) + 1, 1))
    return _checked(text, changed, source, lambda before: {key: line for key, line in before.items() if key != name})


def _added(edit: _Edit, found: Node, pairs: list[tuple[str, Node, Node]], entry: str) -> str:
    if not pairs:
        # `approvers: {}` is an error of its own, and easily put right.
        return edit.inserted(found.line, found.column + 1, entry)
    _, key, value = pairs[-1]
    if edit.flow:
        return edit.inserted(*edit.end(value), f", {entry}")
    return edit.inserted(edit.last_line(value) + 1, 1, f"{' ' * (key.column - 1)}{entry}\n")


class _Edit:
    """The text of a policy file with the positions of its parts."""

    def __init__(self, text: str, source: str) -> None:
        self.text = text
        self.document = read(text, source=source)
        root = self.document.root
        if root is None or not root.is_map:
            raise PolicyError("this is no policy yet", hint="begin with `schema: 1`", source=source)
        self.root = root
        self.keys = {key.value: (key, value) for key, value in root.value}
        self.approvers: Node | None = self.keys["approvers"][1] if "approvers" in self.keys else None
        # The reader drops a byte order mark, and columns count without it.
        self._mark = "\ufeff" if text.startswith("\ufeff") else ""
        self._starts = [0, *(found.end() for found in _BREAK.finditer(text.removeprefix(self._mark)))]
        found = _BREAK.search(text)
        self._newline = found[0] if found else "\n"

    @property
    def flow(self) -> bool:
        """Tell whether the approvers stand between braces."""
        assert self.approvers is not None
        return self._body[self._offset((self.approvers.line, self.approvers.column))] == "{"

    @property
    def head(self) -> tuple[int, int]:
        """Return where a key of the file goes in: behind what stands at its beginning, before facts and rules.

        Raises:
            PolicyError: The whole file stands between braces.
        """
        if self._body[self._offset((self.root.line, self.root.column))] == "{":
            raise self.document.at(
                self.root, "the file is one mapping between braces", hint="add the line with an editor"
            )
        ends = [self.last_line(self.keys[name][1]) for name in ("schema", "default", "mode") if name in self.keys]
        return (max(ends) + 1 if ends else self.root.line, 1)

    @property
    def _body(self) -> str:
        return self.text.removeprefix(self._mark)

    def start(self, node: Node) -> tuple[int, int]:
        """Return where a node begins."""
        return node.line, node.column

    def end(self, node: Node) -> tuple[int, int]:
        """Return where a node ends."""
        return node.end_line, node.end_column

    def last_line(self, node: Node) -> int:
        """Return the last line that a value stands on; one that ends where a line begins ends on the line before."""
        return node.end_line - 1 if node.end_column == 1 and node.end_line > node.line else node.end_line

    def inserted(self, line: int, column: int, new: str) -> str:
        """Return the text with something put in, in the line breaks of the file."""
        at = self._offset((line, column))
        before = self._body[:at]
        gap = self._newline if column == 1 and before and not before.endswith(("\r", "\n")) else ""
        return f"{self._mark}{before}{gap}{new.replace(chr(10), self._newline)}{self._body[at:]}"

    def cut(self, start: tuple[int, int], end: tuple[int, int]) -> str:
        """Return the text without what stands between two places."""
        return f"{self._mark}{self._body[: self._offset(start)]}{self._body[self._offset(end) :]}"

    def without_key(self) -> str:
        """Return the text without the key `approvers` and all that belongs to it."""
        key, value = self.keys["approvers"]
        # A mapping without braces goes on to whatever comes next, comments and all.
        last = value if self.flow else value.value[-1][1]
        return self.cut((key.line, 1), (self.last_line(last) + 1, 1))

    def _offset(self, place: tuple[int, int]) -> int:
        line, column = place
        return self._starts[line - 1] + column - 1 if line <= len(self._starts) else len(self._body)


def _refuse_twice(document: Document, pairs: list[tuple[str, Node, Node]], name: str) -> None:
    for found, key, _ in pairs:
        if found == name:
            raise document.at(key, f"`{name}` is an approver already", hint="indult approver remove NAME takes one out")


def _checked(text: str, changed: str, source: str, wanted: Any) -> str:
    """Return the changed text, provided that it is the policy that is wanted and differs in nothing else."""
    after = loads_policy(changed, source=source)
    before = _loaded(text)
    if before is not None and (
        after.to_dict() | {"approvers": None} != before.to_dict() | {"approvers": None}
        or after.approvers != wanted(before.approvers)
    ):
        raise PolicyError(
            "the line cannot be put in without changing more", hint="add it with an editor", source=source
        )
    return changed


def _loaded(text: str) -> Policy | None:
    """Return the policy as it was; none where it was in error, for want of approvers as like as not."""
    try:
        return loads_policy(text)
    except PolicyError:
        return None


def _key(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else json.dumps(name, ensure_ascii=False)
