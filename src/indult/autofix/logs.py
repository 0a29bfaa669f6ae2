"""Logs: lines that match a pattern become sightings, and of long output what stands at either end is kept.

The pattern is one of RE2, which reads any line in time linear in its length. A log may be of any size and hold any
bytes: of a line only its beginning is read, and what is no UTF-8 is replaced.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, Final

from indult.autofix.signals import MAX_DETAIL, Sighting
from indult.errors import InputError

__all__ = ["MAX_LINE", "Ends", "compiled", "plain", "read_log", "telling"]

MAX_LINE: Final = 65_536
"""How many bytes of a line are read."""

MAX_PATTERN: Final = 4_096
"""Longest pattern, in characters."""

_KEY: Final = "key"
_LINES: Final = 200
# CSI and OSC sequences of ECMA-48, and the two-byte escapes of terminals.
_ESCAPES: Final = re.compile(r"\x1b(?:\[[0-?]{0,64}[ -/]{0,8}[@-~]|\][^\x07\x1b]{0,2000}(?:\x07|\x1b\\)|[ -/]?[0-~])")
_TELLING: Final = re.compile(
    r"error|exception|fail|fatal|panic|assert|abort|cannot|can't|denied|refused|not found|no such|undefined|unexpected"
    r"|killed|timed out|unable|segmentation",
    re.IGNORECASE,
)
_RULED: Final = re.compile(r"[-=_*#~]{3}")

Search = Callable[[str], Any]
"""Looks for a pattern in a line, and returns a match or nothing."""


class Ends:
    """The beginning and the end of output of any length."""

    def __init__(self, most: int = 4 * MAX_DETAIL) -> None:
        self._most = most // 2
        self._head = bytearray()
        self._tail = bytearray()
        self.length = 0
        """How many bytes there were in all."""

    def add(self, data: bytes) -> None:
        """Take more of the output."""
        self.length += len(data)
        taken = max(0, self._most - len(self._head))
        self._head += data[:taken]
        self._tail += data[taken:]
        # Cut now and then, so that bytes are not moved for each piece.
        if len(self._tail) > 4 * self._most:
            del self._tail[: -self._most]

    def text(self) -> str:
        """Return what was kept, with a line for what was not."""
        tail = self._tail[-self._most :]
        left = self.length - len(self._head) - len(tail)
        gap = f"\n[{left} bytes are left out]\n".encode() if left else b""
        return (bytes(self._head) + gap + bytes(tail)).decode("utf-8", "replace")


def plain(text: str) -> str:
    """Return output as it ended up on a terminal: without colours, and of a line that was drawn again the last."""
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    if "\r" not in text:
        return text
    lines = text.replace("\r\n", "\n").split("\n")
    return "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in lines)


def telling(text: str) -> str:
    """Return the line of some output that says best what went wrong: the last that speaks of an error, else the last."""
    lines = [line.strip() for line in text.split("\n")[-_LINES:] if line.strip() and not _RULED.match(line.strip())]
    speaking = (line for line in reversed(lines) if _TELLING.search(line))
    return next(speaking, lines[-1] if lines else "")


def compiled(pattern: str) -> Search:
    """Return what looks for a pattern of RE2 in a line.

    Raises:
        InputError: It is no such pattern, or longer than 4,096 characters.
    """
    if len(pattern) > MAX_PATTERN:
        raise InputError(f"the pattern has {len(pattern)} characters, at most {MAX_PATTERN}")
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        search: Search = re2.compile(pattern, options).search
    except (re2.error, UnicodeError) as exc:
        cause = exc.args[0] if exc.args else "malformed"
        text = cause.decode("utf-8", "replace") if isinstance(cause, bytes) else str(cause)
        raise InputError(f"malformed pattern `{pattern[:64]}`: {text}") from exc
    return search


def read_log(file: BinaryIO, pattern: str, *, source: str, kind: str = "log") -> Iterator[Sighting]:
    """Yield a sighting of each line in which a pattern of RE2 is found, as the lines come.

    What its group `key` holds makes two lines the same fault; without one, what the pattern matched.

    Raises:
        InputError: It is no such pattern.
    """
    search = compiled(pattern)
    for line in _lines(file):
        match = search(line)
        if match is not None:
            named = match.groupdict().get(_KEY) or match[0]
            shown = line if line.strip() else "an empty line"
            yield Sighting(kind=kind, summary=shown, source=source, detail=line, key=named)


def _lines(file: BinaryIO) -> Iterator[str]:
    """Yield the lines of a file, of each the beginning, without its end."""
    while line := file.readline(MAX_LINE):
        yield plain(line.decode("utf-8", "replace").rstrip("\n"))
        while line and not line.endswith(b"\n"):
            line = file.readline(MAX_LINE)
