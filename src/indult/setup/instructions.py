"""What indult writes into the files that agents read: one marked block that says what the gate answers.

The block is the text of the boundary of the policy file, with its digest in the mark, and nothing else in the file is
touched. It is written without grants, unless it is for one subject: what a person opens for a work tree is told to the
agent there, by its hooks.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from indult.boundary import Boundary
from indult.errors import ConfigurationError, UsageError
from indult.setup.writing import replace_file

__all__ = [
    "FILES",
    "Block",
    "block_of",
    "found_block",
    "mark_line",
    "present",
    "put_block",
    "target_of",
    "text_of",
    "with_block",
]

FILES: Final = ("AGENTS.md", "CLAUDE.md", "GEMINI.md", ".github/copilot-instructions.md")
"""Where agents look for instructions in a repository."""

_MARK: Final = "indult:"
_BEGIN: Final = re.compile(r"<!-- indult:begin (sha256:[0-9a-f]{64})(?: subject=(\S+))? -->")
_END: Final = "<!-- indult:end -->"
_ANY_MARK: Final = re.compile(r"<!-- indult:(?:begin|end -->)")

_HEAD: Final = """\
## What the gate answers

Each of your calls is judged before it runs. This is what the judge answers, whatever else you read; `indult brief --write`
writes it, so change nothing here. Where approval is needed, just make the call: a person is asked, and you are told how to
go on.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A block in a text: where it begins and ends, on which line it begins, and what its mark says."""

    start: int
    end: int
    first: int
    digest: str
    subject: str | None
    text: str

    def blanked(self, text: str) -> str:
        """Return the text around the block, in which all else is on the line on which it was."""
        return text[: self.start] + "\n" * text.count("\n", self.start, self.end) + text[self.end :]


def block_of(boundary: Boundary) -> str:
    """Return the block for a boundary, marks included, without a line break at the end.

    Raises:
        ConfigurationError: The policy's own sentences hold a mark.
        UsageError: The subject cannot stand in a mark.
    """
    text = boundary.text()
    if _MARK in text:
        raise ConfigurationError(f"a sentence of the policy holds `{_MARK}`, which marks the block in a file")
    subject = ""
    if boundary.subject:
        if not re.fullmatch(r"[^\s<>]+", boundary.subject) or "--" in boundary.subject:
            raise UsageError(f"`{boundary.subject}` cannot stand in the mark of a block")
        subject = f" subject={boundary.subject}"
    return f"<!-- indult:begin {boundary.digest}{subject} -->\n{_HEAD}\n{text}\n{_END}"


def text_of(path: Path) -> str:
    """Return the text of a file of instructions, with its line breaks as they are; nothing where there is none.

    Raises:
        ConfigurationError: It cannot be read as text.
    """
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as exc:
        raise ConfigurationError(f"`{path}` cannot be read: {exc}") from exc


def found_block(text: str, *, source: str) -> Block | None:
    """Return the block of a text, none where it has none.

    Raises:
        ConfigurationError: There are several, or one without an end, or a mark that is none.
    """
    begins, ends = list(_BEGIN.finditer(text)), [found.start() for found in re.finditer(re.escape(_END), text)]
    if not begins and not ends and "<!-- indult:begin" not in text:
        return None
    if len(begins) != 1 or len(ends) != 1 or ends[0] < begins[0].end():
        raise ConfigurationError(
            f"`{source}` has marks of indult that are no block",
            hint="take all lines with `<!-- indult:` out, and write it again",
        )
    start, end = begins[0].start(), ends[0] + len(_END)
    return Block(
        start=start,
        end=end,
        first=text.count("\n", 0, start) + 1,
        digest=begins[0][1],
        subject=begins[0][2],
        text=text[start:end].replace("\r\n", "\n"),
    )


def mark_line(text: str) -> int:
    """Return the line of the first mark in a text that does not belong to a first whole block."""
    marks = [(found.start(), found[0].startswith(_END)) for found in _ANY_MARK.finditer(text)]
    whole = [end for _, end in marks[:2]] == [False, True]
    place = marks[2][0] if whole and len(marks) > 2 else marks[0][0]
    return text.count("\n", 0, place) + 1


def with_block(text: str, block: str, *, source: str) -> str:
    """Return a text with this block in place of its own, or at its end; all else, line breaks too, stays as it is.

    Raises:
        ConfigurationError: As for `found_block`.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    new = block.replace("\n", newline)
    found = found_block(text, source=source)
    if found is not None:
        return text[: found.start] + new + text[found.end :]
    gap = "" if not text else newline if text.endswith("\n") else 2 * newline
    return f"{text}{gap}{new}{newline}"


def put_block(targets: Mapping[Path, str], block: str) -> dict[str, str]:
    """Write a block into files, all of them or none, and return what was done by the name of each.

    Raises:
        ConfigurationError: One of them cannot be read, or has marks that are no block.
    """
    texts = {path: text_of(path) for path in targets}
    new = {path: with_block(text, block, source=targets[path]) for path, text in texts.items()}
    for path, text in new.items():
        if text != texts[path]:
            path.parent.mkdir(parents=True, exist_ok=True)
            mode = path.stat().st_mode & 0o7777 if path.exists() else 0o644
            replace_file(path, text.encode(), mode=mode)
    return {name: "unchanged" if new[path] == texts[path] else "written" for path, name in targets.items()}


def target_of(file: str, root: str) -> Path:
    """Return the file that a name leads to, which has to lie in the repository at `root`.

    Raises:
        UsageError: It lies outside, or is a folder.
    """
    path = Path(os.path.realpath(file))
    if not path.is_relative_to(os.path.realpath(root)):
        raise UsageError(f"`{file}` leads out of the repository", hint=f"name a file below `{root}`")
    if path.is_dir():
        raise UsageError(f"`{file}` is a folder")
    return path


def present(root: str) -> tuple[str, ...]:
    """Return the files of instructions that a repository has, by their paths from its root."""
    return tuple(name for name in FILES if (Path(root) / name).is_file())
