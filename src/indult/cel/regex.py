"""`matches` with RE2's meaning and RE2's promise: time linear in the text, whatever the pattern.

RE2 costs some 12 microseconds per call from Python, the standard library 0.5. A pattern that Python's backtracking
provably runs in linear time too goes to `re`, rewritten so that both mean the same: at most one unbounded repetition
and only behind `^`, no group, no alternative, classes spelled out in ASCII, `$` as the very end. Everything else goes
to `google-re2`, imported when the first such pattern is met.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

from indult.errors import EvaluationError

__all__ = ["matcher", "matches", "to_python", "verify"]

MAX_PATTERN: Final = 4_096
"""Longest pattern, in characters."""

_ATOM: Final = r"""
    (?P<literal>[A-Za-z0-9_\ /:@=,;'"<>&%#!~`-] | \\[][.^$*+?(){}|\\/-] | [^\x00-\x7f])
  | (?P<dot>\.)
  | (?P<digit>\\[dwDW])
  | (?P<set>\[\^?(?:[A-Za-z0-9](?:-[A-Za-z0-9])?|[_\ /.:@=,;%]|\\[-\].^]|\\[dw])+\])
    """
_CLASSES: Final = {r"\d": "0-9", r"\w": "0-9A-Za-z_"}
# Each optional atom doubles the ways to fail; a handful is nothing, twenty are a million.
_MAX_OPTIONAL: Final = 4


def to_python(pattern: str) -> str | None:
    """Return a pattern of `re` with the meaning of `pattern`, or `None` where only RE2 keeps the promise."""
    anchored = pattern.startswith("^")
    atoms = re.compile(_ATOM, re.VERBOSE)
    at, parts, unbounded, optional = int(anchored), [r"\A"] if anchored else [], 0, 0
    while at < len(pattern):
        if pattern[at] == "$" and at == len(pattern) - 1:
            parts.append(r"\Z")
            break
        atom = atoms.match(pattern, at)
        if atom is None:
            return None
        parts.append(_rewrite(atom))
        at = atom.end()
        if at < len(pattern) and pattern[at] in "*+?":
            unbounded += pattern[at] != "?"
            optional += pattern[at] == "?"
            parts.append(pattern[at])
            at += 1
            # `a*?`, `a*+` and `a**` mean three different things in three engines.
            if at < len(pattern) and pattern[at] in "*+?{":
                return None
        elif at < len(pattern) and pattern[at] == "{":
            return None
    linear = unbounded <= int(anchored) and optional <= _MAX_OPTIONAL
    return "".join(parts) if linear else None


def _rewrite(atom: re.Match[str]) -> str:
    text = atom.group()
    if atom.lastgroup == "literal":
        return re.escape(text[-1])
    if atom.lastgroup == "dot":
        return "."
    if atom.lastgroup == "digit":
        return f"[{'^' if text.isupper() else ''}{_CLASSES[text.lower()]}]"
    return text.replace(r"\d", _CLASSES[r"\d"]).replace(r"\w", _CLASSES[r"\w"])


@lru_cache(maxsize=1024)
def matcher(pattern: str) -> Callable[[str], Any]:
    """Return a function of a text that is truthy exactly when `pattern` matches somewhere in it.

    Raises:
        EvaluationError: `pattern` is no regular expression of RE2.
    """
    if len(pattern) > MAX_PATTERN:
        raise EvaluationError(f"regular expression is too long: {len(pattern)} characters, at most {MAX_PATTERN}")
    quick = _backtracking(pattern)
    if quick is not None:
        return quick
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        search = re2.compile(pattern, options).search
    except re2.error as exc:
        cause = exc.args[0] if exc.args else "malformed"
        text = cause.decode("utf-8", "replace") if isinstance(cause, bytes) else str(cause)
        raise EvaluationError(f"malformed regular expression `{pattern[:64]}`: {text}") from exc
    # Given bytes, RE2's binding leaves out the mapping of offsets back to characters.
    return lambda text: search(text.encode())


def _backtracking(pattern: str) -> Callable[[str], Any] | None:
    rewritten = to_python(pattern)
    if rewritten is None:
        return None
    try:
        compiled = re.compile(rewritten)
    except re.error:
        # A set such as `[z-a]`; RE2 has the say on what is malformed.
        return None
    return compiled.match if pattern.startswith("^") else compiled.search


def verify(pattern: str) -> None:
    """Raise the error of a malformed pattern, without compiling one that cannot be malformed.

    A policy is loaded more often than each of its patterns is used.

    Raises:
        EvaluationError: `pattern` is no regular expression of RE2.
    """
    # Of the patterns that are rewritten only one with a set can be malformed: `[z-a]`.
    if "[" in pattern or len(pattern) > MAX_PATTERN or to_python(pattern) is None:
        matcher(pattern)


def matches(text: str, pattern: str) -> bool:
    """Tell whether `pattern` matches somewhere in `text`."""
    return matcher(pattern)(text) is not None
