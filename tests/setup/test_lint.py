from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from indult.approvals import Choice, Grant, HumanDecision, Via
from indult.boundary import Boundary
from indult.decompose import Part
from indult.policy import loads_policy
from indult.scopes import Scope
from indult.setup.instructions import block_of
from indult.setup.lint import Judge, lint

if TYPE_CHECKING:
    from indult.actions import Action

POLICY = """\
schema: 1
default: ask
context: {session: string}
rules:
  - {id: gen, effect: deny, target: "file:docs/gen/**", says: No.}
  - {id: ci, effect: ask, target: "file:ci/**", says: Ask.}
  - {id: push, effect: deny, target: "command:git push", says: No.}
  - {id: once, effect: deny, target: "file:odd/**", when: session == 'a', says: No.}
  - {id: rest, effect: allow, target: ["file:**", "command:make"]}
"""
PLAIN = Boundary(policy=loads_policy(POLICY))


def words(action: Action) -> tuple[Part, ...]:
    """Take a command apart at its spaces."""
    argv = '","'.join(action.args["command"].split())
    return (Part("Bash", lambda: f'command:{{"argv":["{argv}"]}}'),)


def opened(target: str, rule: str) -> Boundary:
    """Return the boundary with a grant for one target under one rule."""
    scope = Scope(subject="tree:/r", title="one file", rules=(rule,), targets=(target,), change="one line")
    decision = HumanDecision(
        id="d_1", request="r_1", choice=Choice.APPROVE, digest="", seen=0, by="ada", via=Via.CLI, at=""
    )
    grant = Grant(id="g_1", request="r_1", scope=scope, decision=decision, uses_left=1)
    return replace(PLAIN, subject="tree:/r", grants=(grant,))


JUDGE = Judge(
    plain=PLAIN,
    opened=PLAIN,
    of=lambda subject: replace(PLAIN, subject=subject),
    decompose=words,
    folder=lambda path: path == "docs/gen",
    root="/r",
    facts={"session": "a"},
)


def found(text: str, judge: Judge = JUDGE) -> list[tuple[int, str]]:
    """Return lines and texts of what is wrong with a file that has its block at the end."""
    return [(one.line, one.text) for one in lint({"AGENTS.md": f"{text}\n{block_of(PLAIN)}\n"}, judge)]


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("You may edit `docs/gen/x.md`.", "permits changing `docs/gen/x.md`, which the gate denies (gen)"),
        ("Feel free to edit `docs/gen`.", "permits changing `docs/gen`, which the gate denies (gen)"),
        ("Feel free to edit `./docs/gen/`.", "permits changing `./docs/gen/`, which the gate denies (gen)"),
        ("Always delete `docs/gen/**`.", "permits deleting `docs/gen/**`, which the gate denies (gen)"),
        ("You may change `ci/run.sh`.", "permits changing `ci/run.sh`, which needs a person's approval (ci)"),
        ("Run `git push origin main`.", "permits running `git push origin main`, which the gate denies (push)"),
        ("Run `cargo build`.", "permits running `cargo build`, which needs a person's approval (default)"),
        ("Never edit `src/a.py`.", "forbids changing `src/a.py`, which the gate allows (rest)"),
        ("Do not run `make all`.", "forbids running `make all`, which the gate allows (rest)"),
        ("Never edit `docs/gen/x.md`.", None),
        ("Never edit `ci/run.sh`.", None),
        ("Never edit `odd/x.md`. You may edit `odd/y.md`.", None),
        ("You may edit `src/a.py`. Run `make test`.", None),
        ("Never edit `../x/a.py`.", None),
    ],
)
def test_prose(text: str, wrong: str | None) -> None:
    """A sentence that the gate answers otherwise is found; one that hangs on a fact or leads outside is not judged."""
    assert ([] if wrong is None else [(1, wrong)]) == found(text)


def test_opened_by_a_person() -> None:
    """A sentence that forbids what a person has opened is found as long as the grant lives."""
    judge = replace(JUDGE, opened=opened("write:ci/run.sh", "ci"))

    assert [(1, "forbids changing `ci/run.sh`, which a person has opened (g_1)")] == found(
        "Never edit `ci/run.sh`.", judge
    )
    assert [] == found("Never edit `ci/other.sh`.", judge)


def test_stale_block() -> None:
    """A block that is not what the gate answers is found at its line, whatever its digest says."""
    block = block_of(PLAIN)
    for old in (block.replace("No.", "Yes."), block.replace("sha256:", "sha256:0", 1).replace(" -->", "", 1)):
        finding = next(lint({"AGENTS.md": f"a\n\n{old}\n"}, JUDGE))
        assert finding.file == "AGENTS.md"
    finding = next(lint({"AGENTS.md": "a\n\n" + block.replace("No.", "Yes.")}, JUDGE))

    assert (3, "indult brief --write AGENTS.md") == (finding.line, finding.hint)


def test_block_of_a_subject() -> None:
    """A block that was written for a subject is held against the boundary of that subject."""
    block = block_of(replace(PLAIN, subject="tree:/r"))

    assert [] == list(lint({"AGENTS.md": block}, JUDGE))


def test_block_with_other_line_breaks() -> None:
    """Line breaks of Windows are no difference."""
    assert [] == list(lint({"AGENTS.md": block_of(PLAIN).replace("\n", "\r\n")}, JUDGE))


def test_no_block() -> None:
    """One of the files has to have a block; another may do without."""
    texts = {"AGENTS.md": block_of(PLAIN), "CLAUDE.md": "@AGENTS.md\n"}

    assert [] == list(lint(texts, JUDGE))
    assert ["nothing here says what the gate answers"] == [
        one.text for one in lint({"CLAUDE.md": "@AGENTS.md\n"}, JUDGE)
    ]


def test_block_is_not_read_as_prose() -> None:
    """The sentences of the block are the policy's own and are not judged again."""
    policy = loads_policy(
        "schema: 1\nrules: [{id: a, effect: deny, tool: x, says: Never edit `src/a.py`.}, {id: b, effect: allow}]\n"
    )
    plain = Boundary(policy=policy)

    assert [] == list(lint({"AGENTS.md": block_of(plain)}, replace(JUDGE, plain=plain, opened=plain, facts={})))


def test_prose_beside_the_marks() -> None:
    """What stands on the lines of the marks is no part of the block."""
    text = f"\x0c\nYou may edit `docs/gen/a`. {block_of(PLAIN)} You may edit `docs/gen/b`.\n"

    findings = list(lint({"AGENTS.md": text}, JUDGE))

    assert [2, 2 + block_of(PLAIN).count("\n")] == [one.line for one in findings]
    assert all("docs/gen" in one.text for one in findings)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("<!-- indult:end -->", 1),
        ("a\n<!-- indult:begin -->\n", 2),
        ("a\n\n<!-- indult:end -->\n" + block_of(PLAIN), 3),
        (f"a\n{block_of(PLAIN)}\n\n{block_of(PLAIN)}\n", 4 + block_of(PLAIN).count("\n")),
    ],
)
def test_marks_that_are_no_block(text: str, line: int) -> None:
    """Damaged marks, or a second block, are a finding at their line and no crash."""
    for more in ({}, {"CLAUDE.md": block_of(PLAIN)}):
        assert [(line, "`AGENTS.md` has marks of indult that are no block")] == [
            (one.line, one.text) for one in lint({"AGENTS.md": text, **more}, JUDGE)
        ]


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_both_ways_and_code(newline: str) -> None:
    """What permits and what forbids in one file are both found at their lines; code and what stands in it are not read."""
    lines = [
        "# Rules", "", "```console", "Never edit `src/a.py`.", "```", "", "You may edit `docs/gen/x.md`, but never edit",
        "`src/a.py`.", "", "~~~", "```", "You may edit `docs/gen/x.md`.", "~~~", "", "- Never run `make all`.",
        "- Run `git push`.", "",
    ]  # fmt: skip

    assert [
        (7, "permits changing `docs/gen/x.md`, which the gate denies (gen)"),
        (8, "forbids changing `src/a.py`, which the gate allows (rest)"),
        (15, "forbids running `make all`, which the gate allows (rest)"),
        (16, "permits running `git push`, which the gate denies (push)"),
    ] == [
        (one.line, one.text)
        for one in lint({"AGENTS.md": newline.join(lines) + block_of(PLAIN).replace("\n", newline)}, JUDGE)
    ]
