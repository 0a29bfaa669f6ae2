"""What the prose of a file of instructions says an agent may or must not do, read as narrowly as can be.

A finding is a clause with two things in it: words that permit or forbid, and a code span that is a command or a path,
with a verb that says what is to be done with it. Everything else is not seen: text without code spans, fenced blocks,
questions, what stands in another sentence. A clause that makes it depend on a person's approval is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

__all__ = ["SKIP", "Claim", "Does", "claims"]

SKIP: Final = "<!-- indult:skip -->"
"""A line with this in it is not read."""

_FENCE: Final = re.compile(r"\s*(`{3,}(?!.*`)|~{3,})")
_ITEM: Final = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+(?:\[[ xX]\]\s+)?|\s*#+\s+|\s*>\s?|\s*\|")
_SPAN: Final = re.compile(r"(`+)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_MARK: Final = "\x00"
_CLAUSE: Final = re.compile(
    r"(?<=[.!?:])\s+|;\s+|\s+(?:but|whereas|while)\s+|,\s+(?:and\s+|or\s+)?(?=(?:never|do not|don't|you may)\b)",
    re.IGNORECASE,
)

_FORBIDS: Final = re.compile(
    r"\b(?:never|do not|don't|must not|mustn't|may not|cannot|can't|should not|shouldn't|(?:is|are) not allowed"
    r"|not (?:be )?allowed|(?:is|are) (?:forbidden|prohibited|off[- ]limits)|(?:is|are) never)\b",
    re.IGNORECASE,
)
_PERMITS: Final = re.compile(
    r"\b(?:you (?:may|can|should|must|are allowed to|are free to)|feel free to|(?:is|are) (?:allowed|permitted|fine|ok)"
    r"|(?:may|can) be|always)\b",
    re.IGNORECASE,
)
_DEPENDS: Final = re.compile(
    r"\b(?:ask\w*|approv\w+|permission|confirm\w*|person|human|maintainer|owner|unless|except|without|only if|until)\b",
    re.IGNORECASE,
)

_RUN: Final = r"run(?:ning)?|execut(?:e|ing)|invok(?:e|ing)"
_USE: Final = r"us(?:e|ing)|call(?:ing)?|start(?:ing)?"
_WRITE: Final = (
    r"edit(?:ing|ed)?|chang(?:e|ing|ed)|modif(?:y|ying|ied)|writ(?:e|ing|ten)|touch(?:ing|ed)?|updat(?:e|ing|ed)"
    r"|overwrit(?:e|ing|ten)|creat(?:e|ing|ed)|add(?:ing)?|patch(?:ing|ed)?|commit(?:ting)?"
)
_DELETE: Final = r"delet(?:e|ing|ed)|remov(?:e|ing|ed)"
_READ: Final = r"read(?:ing)?|open(?:ing)?|look(?:ing)? (?:at|into)|print(?:ing)?"
_VERBS: Final = re.compile(
    rf"\b(?:(?P<delete>{_DELETE})|(?P<write>{_WRITE})|(?P<read>{_READ})|(?P<run>{_RUN})|(?P<use>{_USE}))\b",
    re.IGNORECASE,
)
_ORDER: Final = re.compile(
    rf"[*_ ]*(?:(?:please|then|first|also|now|always),? )?(?:{_RUN}|{_USE}|edit|change|modify|write|update|delete|remove|read|open)\b",
    re.IGNORECASE,
)

_PATH: Final = re.compile(r"[\w.+*][\w.@+*-]*(?:/[\w.@+*-]+)*/?")
_ENDS: Final = re.compile(
    r"(?:.*/)?(?:\.[\w.-]*[a-z][\w.-]*|.+\.(?:bash|c|cc|cfg|conf|cpp|cs|css|csv|env|go|h|hpp|html|ini|ipynb|java|jsx?|json|kt|less|lock"
    r"|lua|md|mdx|mjs|cjs|php|proto|py|pyi|rb|rs|rst|scss|sh|snap|sql|svelte|swift|tf|toml|tsx?|txt|vue|xml|ya?ml|zig))",
    re.IGNORECASE,
)
"""Names of files as people write them: with a known ending, or beginning with a dot. `state.value` is none."""
_FILE: Final = frozenset({"Makefile", "Dockerfile", "LICENSE", "README", "CODEOWNERS", "Gemfile", "Justfile"})
_PROGRAM: Final = re.compile(r"[a-z0-9_./-]*[a-z][a-z0-9_./-]*", re.ASCII)
_PROGRAMS: Final = frozenset(
    [
        "bash",
        "brew",
        "bun",
        "bunx",
        "cargo",
        "chmod",
        "cp",
        "curl",
        "docker",
        "gh",
        "git",
        "go",
        "gradle",
        "helm",
        "indult",
        "just",
        "kubectl",
        "ln",
        "make",
        "mv",
        "mvn",
        "mypy",
        "node",
        "nox",
        "npm",
        "npx",
        "pip",
        "pip3",
        "pipx",
        "pnpm",
        "poetry",
        "pre-commit",
        "psql",
        "pytest",
        "python",
        "python3",
        "rm",
        "rsync",
        "ruff",
        "scp",
        "sh",
        "ssh",
        "sudo",
        "terraform",
        "tofu",
        "tox",
        "twine",
        "uv",
        "uvx",
        "wget",
        "yarn",
    ]
)
"""Programs by which a code span behind "use" is known for a command."""
_VERSION: Final = re.compile(r"v?\d+(\.\d+)*")


class Does(StrEnum):
    """What is to be done with a target."""

    RUN = "run"
    WRITE = "write"
    DELETE = "delete"
    READ = "read"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One thing that a text permits or forbids: the line, what is done, and the command or path that it is done with."""

    line: int
    permits: bool
    does: Does
    target: str


class _Piece(NamedTuple):
    """A paragraph or an item of a list, with its code spans taken out."""

    line: int
    text: str
    spans: tuple[tuple[int, str], ...]


def claims(text: str) -> Iterator[Claim]:
    """Yield what a Markdown text permits and forbids."""
    for piece in _pieces(text):
        spans = iter(piece.spans)
        for clause in _CLAUSE.split(piece.text):
            own = [next(spans) for _ in range(clause.count(_MARK))]
            yield from _clause(clause, own)


def _pieces(text: str) -> Iterator[_Piece]:
    """Yield the paragraphs, items and rows of a text outside of fenced blocks."""
    lines: list[tuple[int, str]] = []
    fence = ""
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), start=1):
        mark = _FENCE.match(line)
        if fence or mark:
            yield from _piece(lines)
            lines = []
            if not fence:
                fence = mark[1] if mark else ""
            elif mark and mark[1][0] == fence[0] and len(mark[1]) >= len(fence) and not line.strip(" `~"):
                fence = ""
            continue
        item = _ITEM.match(line)
        if item or not line.strip():
            yield from _piece(lines)
            lines = []
        if line.strip() and SKIP not in line:
            lines.append((number, line[item.end() :] if item else line))
    yield from _piece(lines)


def _piece(lines: list[tuple[int, str]]) -> Iterator[_Piece]:
    if not lines:
        return
    whole = "\n".join(line for _, line in lines)
    spans: list[tuple[int, str]] = []

    def out(found: re.Match[str]) -> str:
        spans.append((lines[whole.count("\n", 0, found.start())][0], " ".join(found[2].split())))
        return _MARK

    plain = _SPAN.sub(out, whole.replace(_MARK, " "))
    yield _Piece(lines[0][0], " ".join(plain.split()), tuple(spans))


def _clause(clause: str, spans: list[tuple[int, str]]) -> Iterator[Claim]:
    """Yield the claims of one clause; one that permits and forbids at once is not understood, so it says nothing."""
    if not spans or clause.rstrip().endswith("?") or _DEPENDS.search(clause):
        return
    forbids = _FORBIDS.search(clause) is not None
    rest = _FORBIDS.sub(" ", clause)
    permits = _PERMITS.search(rest) is not None or (not forbids and _ORDER.match(clause) is not None)
    if forbids == permits:
        return
    verbs = list(_VERBS.finditer(clause))
    places = [found.start() for found in re.finditer(_MARK, clause)]
    for (line, target), place in zip(spans, places, strict=True):
        # The verb of a span is the last one before it: "Run `a`, never edit `b`".
        before = [verb for verb in verbs if verb.start() < place]
        verb = before[-1] if before else verbs[0] if verbs else None
        does = None if verb is None else _does(verb.lastgroup or "", target)
        if does is not None:
            yield Claim(line=line, permits=permits, does=does, target=target)


def _does(verb: str, target: str) -> Does | None:
    """Return what a verb does with a target, none where the target is nothing of that kind."""
    if verb in {"run", "use"}:
        return Does.RUN if _is_command(target, sure=verb == "run") else None
    return Does(verb) if _is_path(target) else None


def _is_path(target: str) -> bool:
    return target in _FILE or (
        _PATH.fullmatch(target) is not None and ("/" in target or _ENDS.fullmatch(target) is not None)
    )


def _is_command(target: str, *, sure: bool) -> bool:
    """Tell whether a code span is a command: what is run is one; what is used may be anything, so it has to look like it."""
    first, _, rest = target.partition(" ")
    if sure:
        return _PROGRAM.fullmatch(first) is not None and not _VERSION.fullmatch(first)
    return first in _PROGRAMS and bool(rest)
