from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.decompose.shell.mutations import EVERYTHING
from tests.decompose.shell.sandbox import Sandbox, valid

from indult.actions import Action
from indult.boundary import Boundary
from indult.decompose import Part, decompose_with
from indult.judgements import Verdict
from indult.testing.runners.shell import Disk, verdict

CASES = [
    json.loads(line)
    for line in (Path(__file__).parents[2] / "data" / "shell" / "shell.jsonl").read_text(encoding="utf-8").splitlines()
]
APPROVED = [case for case in CASES if "command" in case["action"] and case["expected"] == "APPROVE"]
CONSTRUCTS = (Path(__file__).parents[2] / "data" / "shell" / "constructs.txt").read_text(encoding="utf-8")
OTHERS = [case for case in CASES if "command" in case["action"] and case["expected"] != "APPROVE"]
LEAVES = ("/bin/r?", "/bin/rm", "/usr/bin/", "/dev/tcp", "../bin", "select x")
"""What would leave the folder, or wait for somebody."""


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    """Return an empty sandbox, with the programs that the constructs name."""
    box = Sandbox(tmp_path)
    for name in ("evil2", "evil3"):
        box.program(name)
    return box


def listed(parts: tuple[Part, ...]) -> tuple[set[str], bool]:
    """Return the names of all commands that parts list, and whether one of them is not known."""
    argvs = [json.loads(part.target()[8:])["argv"] for part in parts if part.target().startswith("command:")]
    first = [argv[0] for argv in argvs if argv]
    return {str(name).rpartition("/")[2] for name in first}, any(not isinstance(name, str) for name in first)


def ran_and_listed(text: str, sandbox: Sandbox) -> tuple[set[str], set[str], bool]:
    """Run a text and return what ran, what was listed, and whether something is not known."""
    text = sandbox.placed(text)
    decompose = decompose_with(Disk({}), str(sandbox.root), str(sandbox.home))
    parts = decompose(Action(tool="Bash", args={"command": text}, cwd=str(sandbox.root)))
    names, unknown = listed(parts)
    unknown = unknown or any(part.asks for part in parts)
    for name in names:
        if name.isprintable() and name not in {"", ".", ".."} and not (sandbox.programs / name).exists():
            sandbox.program(name)
    return sandbox.run(text), names, unknown


def test_what_is_approved_runs_no_program_that_is_not_listed(sandbox: Sandbox) -> None:
    """Run in real bash, nothing that is approved starts a program that its parts do not name; at least 80 are run."""
    ran = 0
    for case in APPROVED:
        text = case["action"]["command"]
        if any(one in text for one in LEAVES) or not valid(text):
            continue
        assert "APPROVE" == verdict(case), case["id"]
        started, names, unknown = ran_and_listed(text, sandbox)
        assert not unknown, case["id"]
        assert started <= names, (case["id"], started - names)
        ran += 1
    everything = Boundary(policy=EVERYTHING, decompose=decompose_with(Disk({}), str(sandbox.root), str(sandbox.home)))
    for text in CONSTRUCTS.rstrip("\n").split("\n==\n"):
        action = Action(tool="Bash", args={"command": text}, cwd=str(sandbox.root))
        if everything.judge(action, {}).verdict is Verdict.APPROVE and valid(text):
            started, names, _ = ran_and_listed(text, sandbox)
            assert started <= names, (text, started - names)
            ran += 1

    assert ran >= 80


def test_no_other_case_runs_a_program_that_is_not_listed(sandbox: Sandbox) -> None:
    """The same holds for what is not approved, unless a part says that what runs is not known."""
    ran = 0
    for case in OTHERS:
        text = case["action"]["command"]
        if any(one in text for one in LEAVES) or not valid(text):
            continue
        started, names, unknown = ran_and_listed(text, sandbox)
        assert unknown or started <= names, (case["id"], started - names)
        ran += 1

    assert ran >= 80
