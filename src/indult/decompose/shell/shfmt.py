"""Runs the parser: text in, the tree of shfmt as JSON out, within limits of size and time.

The same text always gives the same tree, so whoever calls this stays a pure function, although the parser is a program.
"""

from __future__ import annotations

import json
import sys
from typing import Any, Final

from indult import spawn

__all__ = ["MAX_BYTES", "MAX_SECONDS", "Unparsable", "parse"]

MAX_BYTES: Final = 16_000
"""Longest shell text that is read at all."""

MAX_SECONDS: Final = 2.0
"""Longest time that reading one text may take."""

_KEPT: Final = "\t\n"


class Unparsable(Exception):
    """A text cannot be read, or could be read in two ways; the message says why."""


def parse(text: str) -> dict[str, Any]:
    """Return the tree of a text in bash.

    Raises:
        Unparsable: It is no bash, too long, holds control characters, or there is no parser.
    """
    _check(text)
    try:
        code, out = _ran(text.encode())
    except spawn.TimedOut:
        raise Unparsable(f"reading it takes over {MAX_SECONDS:g} s") from None
    except OSError as exc:
        raise Unparsable(f"the parser cannot be run: {exc.strerror}") from None
    if code:
        raise Unparsable("it is not valid bash")
    try:
        tree: dict[str, Any] = json.loads(out)
    except (ValueError, RecursionError):
        raise Unparsable("it is nested too deeply") from None
    return tree


def _check(text: str) -> None:
    """Refuse what is too long, and characters that bash drops or reads as part of a word while others end a line there."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise Unparsable("it holds half a character") from None
    if size > MAX_BYTES:
        raise Unparsable(f"it takes {size} bytes, at most {MAX_BYTES}")
    bad = next((char for char in text if (char < " " and char not in _KEPT) or char == "\x7f"), None)
    if bad is not None:
        raise Unparsable(f"it holds the control character U+{ord(bad):04X}")


def _ran(text: bytes) -> tuple[int, bytes]:
    """Run the parser that was installed with this package, at the usual place, or else the one that is found."""
    words = ["shfmt", "-ln", "bash", "-tojson"]
    try:
        return spawn.run(f"{sys.prefix}/bin/shfmt", words, text, seconds=MAX_SECONDS)
    except FileNotFoundError:
        return spawn.run(program(), words, text, seconds=MAX_SECONDS)


def program() -> str:
    """Return the path of the parser that was installed with this package, or else of the one that is found.

    Raises:
        Unparsable: There is none.
    """
    import shutil
    import sysconfig

    scripts = sysconfig.get_path("scripts")
    found = shutil.which("shfmt", path=scripts) or shutil.which("shfmt")
    if found is None:
        raise Unparsable("the parser `shfmt` is not installed")
    return found
