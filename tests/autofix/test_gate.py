"""The gate before a fixer's own calls: the hooks in its work tree judge for the signal, by the repository's law."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.adapters.harness import Harness, indult
from tests.autofix.bench import Bench

from indult.gate.subjects import appointment
from indult.ledger import Draft, open_ledger
from indult.places import POLICY, repository_ledger
from indult.setup.canary import Call, Reading, reading, run_hook
from indult.setup.harnesses import ENTRIES, command, installed

LAW = """
schema: 1
default: deny
rules:
  - {id: reading, effect: allow, target: ["read:**", "command:echo"]}
  - {id: writing, effect: allow, target: ["write:src/**", "edit:src/**"]}
  - {id: patches, effect: ask, target: ["write:patches/*", "edit:patches/*"], says: A patch needs a person.}
"""
WIDE = """
schema: 1
default: allow
rules: []
"""


@pytest.fixture(name="bench")
def _bench(tmp_path: Path, data_home: Path) -> Bench:
    """Make a workspace with hooks, which the ledger says is that of the signal `s_1`."""
    bench = Bench.make(tmp_path, {POLICY: LAW, "src/app.py": "one\n", "patches/keep": ""})
    root = str(bench.repo.folder)
    with open_ledger(repository_ledger(root)) as ledger:
        latest = appointment(bench.workspace.tree, "signal:s_1", f"{root}/{POLICY}")
        ledger.append(Draft("signal:s_1", "fix_started", {"latest": latest}))
    bench.workspace.install_hooks(ENTRIES)
    return bench


@pytest.fixture(name="agent")
def _agent(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Harness:
    """Begin a session of a coding agent in the tree, with the environment that a fixer has."""
    for name, value in bench.workspace.environment().items():
        monkeypatch.setenv(name, value)
    agent = Harness(Path(bench.workspace.tree))
    agent.begin()
    return agent


def approve(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Approve the one request that waits, as a person does elsewhere, and return it."""
    monkeypatch.delenv("INDULT_ACTOR")
    root = bench.repo.folder
    (row,) = [json.loads(line) for line in indult("requests", "--json", cwd=root).stdout.splitlines()]
    ran = indult("approve", row["id"], "--digest", row["digest"], "--by", "you", cwd=root)
    assert 0 == ran.returncode, ran.stderr
    return dict(row)


def test_a_grant_of_the_signal_opens(bench: Bench, agent: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    """What needs a person is asked for the signal; approved, it opens in the fix and not for whoever is in the repository."""
    patch = str(agent.root / "patches" / "react.patch")
    assert (
        "runs" == agent.call("Edit", file_path=str(agent.root / "src/app.py"), old_string="one", new_string="two").word
    )
    assert "asks" == agent.call("Write", file_path=patch, content="+ a\n").word

    row = approve(bench, monkeypatch)

    assert "signal:s_1" == row["subject"]
    other = Harness(bench.repo.folder, "s-2")
    other.begin()
    assert "asks" == other.call("Write", file_path=str(other.root / "patches/react.patch"), content="+ a\n").word
    assert "written" == agent.call("Write", file_path=patch, content="+ a\n").result


def test_the_fixers_own_policy_opens_nothing(agent: Harness) -> None:
    """A policy that is written into the tree, or below it, is not the law there."""
    for folder in (agent.root, agent.root / "src"):
        (folder / POLICY).write_text(WIDE)
        inner = Harness(folder, f"s-{folder.name}")
        inner.begin()

        assert "blocked" == inner.call("Write", file_path=str(agent.root / "README"), content="x").word


@pytest.mark.parametrize("harness", ENTRIES)
def test_the_hooks_that_were_put_there(bench: Bench, harness: str) -> None:
    """The very commands in the tree, run with the fixer's environment, let pass what is allowed and block what is not."""
    text = Path(bench.workspace.tree, ENTRIES[harness].file).read_text()
    hook = command(installed(harness, text)[ENTRIES[harness].gates[0]])
    calls = {
        name: Call(what=name, tool="Write", args={"file_path": f"{bench.workspace.tree}/{name}", "content": "x"})
        for name in ("src/new.py", "README")
    }
    if harness == "codex":
        calls = {name: Call(what=name, tool="Bash", args={"command": f"echo x > {name}"}) for name in calls}

    came = {
        name: reading(
            harness,
            run_hook(harness, hook, call, root=bench.workspace.tree, environment=bench.workspace.environment()),
        )[0]
        for name, call in calls.items()
    }

    assert {"src/new.py": Reading.RUNS, "README": Reading.BLOCKED} == came


def test_a_fixer_cannot_approve_for_itself(bench: Bench, agent: Harness) -> None:
    """In the environment of a fixer nothing is decided."""
    agent.call("Write", file_path=str(agent.root / "patches" / "react.patch"), content="+ a\n")

    came = bench.run(
        "import json, subprocess, sys",
        "run = lambda *w: subprocess.run([sys.executable, '-m', 'indult', *w], capture_output=True, text=True)",
        "row = json.loads(run('requests', '--json').stdout)",
        "ran = run('approve', row['id'], '--digest', row['digest'], '--by', 'you')",
        "print(ran.returncode, ran.stderr)",
    )

    assert came.output.startswith("1 error: `fixer` is at work here (INDULT_ACTOR)"), came.output
