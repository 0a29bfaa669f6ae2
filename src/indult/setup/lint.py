"""Whether files of instructions say what the gate answers: the block, and what other prose permits or forbids."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from indult.actions import Action
from indult.boundary import Boundary
from indult.decompose import Decompose, Part
from indult.errors import IndultError
from indult.judgements import Judgement, Verdict
from indult.setup.instructions import block_of, found_block, mark_line
from indult.setup.reading import Claim, Does, claims

__all__ = ["Finding", "Judge", "lint"]

_KINDS: Final = {Does.WRITE: ("write", "Write"), Does.DELETE: ("delete", "apply_patch"), Does.READ: ("read", "Read")}
_DOING: Final = {Does.RUN: "running", Does.WRITE: "changing", Does.DELETE: "deleting", Does.READ: "reading"}
_ANY: Final = "name"
"""What stands for the name of a file where a text names a folder or a glob."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What is wrong, with the file and line where it stands."""

    file: str
    line: int
    text: str
    hint: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"file": self.file, "line": self.line, "text": self.text, "hint": self.hint}


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """What the gate answers: the boundary without grants, and that of the work tree with those that live there.

    `of` returns the boundary of a subject that a block is for. `decompose` takes commands apart, `facts` are what the
    policy declares, and `folder` tells whether a path is one.
    """

    plain: Boundary
    opened: Boundary
    of: Callable[[str], Boundary]
    decompose: Decompose
    folder: Callable[[str], bool]
    root: str
    facts: Mapping[str, Any]

    def answers(self, claim: Claim) -> tuple[Judgement, Judgement] | None:
        """Return the judgements of a claim's target without and with grants; none where they hang on something else."""
        action, parts = self._action(claim)
        if action is None:
            return None
        try:
            found = [replace(one, decompose=parts).judge(action, self.facts) for one in (self.plain, self.opened)]
        except IndultError:
            return None
        # What a rule says by a fact may be said otherwise tomorrow.
        return None if any(one.read or one.errors for one in found) else (found[0], found[1])

    def _action(self, claim: Claim) -> tuple[Action | None, Decompose]:
        if claim.does is Does.RUN:
            return Action(tool="Bash", args={"command": claim.target}, cwd=self.root), self.decompose
        path = self._path(claim.target)
        kind, tool = _KINDS[claim.does]
        part = Part(tool, lambda: f"{kind}:{path}")
        if path is None:
            return None, lambda _: ()
        return Action(tool=tool, args={"file_path": f"{self.root}/{path}"}, cwd=self.root), lambda _: (part,)

    def _path(self, text: str) -> str | None:
        path = text.removeprefix("./")
        if ".." in path.split("/") or path.startswith("~"):
            return None
        below = path.endswith("/") or self.folder(path)
        path = path.rstrip("/").replace("**", _ANY).replace("*", _ANY)
        return f"{path}/{_ANY}" if below else path


def lint(files: Mapping[str, str], judge: Judge) -> Iterator[Finding]:
    """Yield what is wrong with the texts of files, by name; at least one of them has to have a block."""
    blocks = 0
    for name, text in files.items():
        try:
            block = found_block(text, source=name)
        except IndultError as exc:
            blocks += 1  # there is one, or what is left of it: to ask for another would only add to it
            yield Finding(file=name, line=mark_line(text), text=exc.message, hint=exc.hint or "")
            continue
        if block is not None:
            blocks += 1
            boundary = judge.plain if block.subject is None else judge.of(block.subject)
            if block.text != block_of(boundary):
                text = "the block is not what the gate answers now"
                yield Finding(file=name, line=block.first, text=text, hint=_rewrite(name, block.subject))
        for claim in claims(text if block is None else block.blanked(text)):
            wrong = _wrong(claim, judge)
            if wrong:
                yield Finding(file=name, line=claim.line, text=wrong)
    if files and not blocks:
        first = next(iter(files))
        yield Finding(file=first, line=1, text="nothing here says what the gate answers", hint=_rewrite(first, None))


def _rewrite(name: str, subject: str | None) -> str:
    return f"indult brief --write {name}" + (f" --subject {subject}" if subject else "")


def _wrong(claim: Claim, judge: Judge) -> str | None:
    """Return how a claim differs from what the gate answers, none where it does not or nobody can tell."""
    found = judge.answers(claim)
    if found is None:
        return None
    plain, opened = found
    what = f"{_DOING[claim.does]} `{claim.target}`"
    if claim.permits:
        if plain.verdict is Verdict.DENY:
            return f"permits {what}, which the gate denies ({_names(plain.rules)})"
        if plain.verdict is Verdict.ASK_USER:
            return f"permits {what}, which needs a person's approval ({_names(plain.rules)})"
        return None
    if plain.verdict in {Verdict.APPROVE, Verdict.DOWNGRADE}:
        return f"forbids {what}, which the gate allows ({_names(plain.rules)})"
    if opened.verdict is Verdict.APPROVE:
        return f"forbids {what}, which a person has opened ({_names(opened.grants)})"
    return None


def _names(names: Sequence[str]) -> str:
    return ", ".join(names) or "no rule"
