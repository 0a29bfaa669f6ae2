"""JUnit reports: each test that failed is a sighting.

A report is written by whatever ran the tests, so nothing is taken for granted: there is no DOCTYPE, and so no entity
but the five of XML; depth, the length of a tag and what is kept of a text are bounded, and memory stays flat however
long the report is. A report is read to its end before anything of it counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from shutil import copyfileobj
from tempfile import TemporaryFile
from typing import Any, BinaryIO, Final
from xml.parsers import expat

from indult.autofix.logs import Ends, plain
from indult.autofix.signals import MAX_DETAIL, Sighting
from indult.errors import InputError

__all__ = ["MAX_DEPTH", "MAX_TAG", "read_junit"]

MAX_TAG: Final = 4_000_000
"""Longest tag, with its attributes, or comment of a report, in bytes."""

MAX_DEPTH: Final = 100
"""Deepest nesting of elements."""

_PIECE: Final = 65_536
_PROBLEMS: Final = frozenset({"error", "failure"})
_ROOTS: Final = frozenset({"testsuite", "testsuites"})
_UNNAMED: Final = "a test without a name"


def read_junit(file: BinaryIO, *, name: str) -> Iterator[Sighting]:
    """Yield a sighting of each test in a report that failed or ended in an error.

    Class and name of the test make it the same again. `name` is that of the report, which is the source where the report
    names neither file nor class.

    Raises:
        InputError: It is no JUnit report; raised before the first sighting.
    """
    if not file.seekable():
        with TemporaryFile() as copy:
            copyfileobj(file, copy)
            copy.seek(0)
            yield from read_junit(copy, name=name)
        return
    start = file.tell()
    for _ in _Report(name, checking=True).read(file):
        pass
    file.seek(start)
    yield from _Report(name).read(file)


class _Report:
    """One way through a report: where it stands in it, and what it found since it was last asked.

    With `checking` it finds nothing but what is wrong with the report.
    """

    def __init__(self, name: str, *, checking: bool = False) -> None:
        self._name = name
        self._checking = checking
        self._path: list[str] = []
        self._suites: list[Mapping[str, str]] = []
        self._case: Mapping[str, str] | None = None
        self._message = ""
        self._text: Ends | None = None
        self._within = 0
        self._found: list[Sighting] = []

    def read(self, file: BinaryIO) -> Iterator[Sighting]:
        """Yield what a report tells of, piece by piece."""
        parser = expat.ParserCreate()
        parser.StartDoctypeDeclHandler = self._doctype
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        if not self._checking:
            parser.CharacterDataHandler = self._characters
        # Else each line of a text would be a call of its own.
        parser.buffer_text = True
        parser.buffer_size = _PIECE
        read = 0
        ended = False
        while not ended:
            data = file.read(_PIECE)
            read, ended = read + len(data), not data
            try:
                parser.Parse(data, ended)
            except expat.ExpatError as exc:
                raise self._refused(f"line {exc.lineno}: {expat.ErrorString(exc.code)}") from exc
            except (LookupError, ValueError) as exc:
                raise self._refused("it is in an encoding that cannot be read") from exc
            if read - max(parser.CurrentByteIndex, 0) > MAX_TAG:
                raise self._refused(f"line {parser.CurrentLineNumber}: a tag is longer than {MAX_TAG} bytes")
            yield from self._found
            self._found.clear()

    def _refused(self, why: str) -> InputError:
        return InputError(f"`{self._name}` is no JUnit report: {why}", hint="nothing of it was taken")

    def _doctype(self, *_: Any) -> None:
        raise self._refused("it has a DOCTYPE")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        tag = tag.rpartition(":")[2]
        if not self._path and tag not in _ROOTS:
            raise self._refused(f"it begins with `{tag[:60]}`")
        if len(self._path) >= MAX_DEPTH:
            raise self._refused(f"elements are nested deeper than {MAX_DEPTH}")
        self._path.append(tag)
        if tag == "testsuite":
            self._suites.append(attributes)
        elif tag == "testcase":
            self._case, self._message, self._text = attributes, "", None
        elif tag in _PROBLEMS and self._path[-2] in {"testcase", "testsuite"} and not self._within:
            self._within = len(self._path)
            self._problem(attributes)

    def _problem(self, attributes: Mapping[str, str]) -> None:
        """Begin the text of a problem; a test may have several."""
        message = attributes.get("message") or attributes.get("type") or ""
        self._message = self._message or message
        self._text = self._text or Ends(2 * MAX_DETAIL)
        self._text.add(f"{message[: 2 * MAX_DETAIL]}\n".encode())

    def _characters(self, text: str) -> None:
        if self._within and self._text is not None:
            self._text.add(text.encode())

    def _end(self, tag: str) -> None:
        tag = tag.rpartition(":")[2]
        if self._within == len(self._path):
            self._within = 0
            if self._text is not None:
                self._text.add(b"\n")
            if self._case is None:
                self._finish({})
        self._path.pop()
        if tag == "testsuite":
            self._suites.pop()
        elif tag == "testcase":
            self._finish(self._case or {})
            self._case = None

    def _finish(self, case: Mapping[str, str]) -> None:
        """Make a sighting of a test that has problems, or of the problem of a whole suite."""
        if self._text is None or self._checking:
            return
        suite = self._suites[-1] if self._suites else {}
        within = case.get("classname", "" if case else suite.get("name", ""))
        title = "::".join(part for part in (within, case.get("name", "")) if part.strip()) or _UNNAMED
        said = plain(self._message).strip() or plain(self._text.text()).strip()
        first = said.partition("\n")[0]
        self._found.append(
            Sighting(
                kind="test",
                summary=f"{title[:MAX_DETAIL]}: {first}" if first else title,
                source=case.get("file") or suite.get("file") or within or self._name,
                detail=plain(self._text.text()).strip("\n"),
                key=title,
            )
        )
        self._message, self._text = "", None
