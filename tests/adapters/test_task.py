"""A task of 30 calls, from its first brief to its end, through real hook processes."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from tests.adapters.harness import Harness, indult

from indult.adapters.desk import Desk

if TYPE_CHECKING:
    from pathlib import Path

LAW = """
schema: 1
default: deny
rules:
  - {id: reading, effect: allow, target: "read:**"}
  - {id: writing, effect: allow, target: ["write:src/**", "write:docs/**", "edit:src/**"]}
  - id: looking
    effect: allow
    target: ["command:ls", "command:cat", "command:grep", "command:git status", "command:git log", "command:git diff",
             "command:git add", "command:git commit"]
  - {id: searching, effect: allow, tool: mcp__search__find}
  - {id: secrets, effect: deny, target: "file:.env", says: "Leave .env alone; .env.example says what is in it."}
  - {id: publishing, effect: ask, target: "command:git push", says: A push needs a person.}
  - {id: history, effect: deny, target: "command:git push --force", says: Never rewrite what others have.}
  - id: narrow
    effect: deny
    tool: mcp__search__find
    when: has(args.limit) && args.limit > 100
    says: Search for at most 100 lines at once.
    downgrade: [{limit: 100}]
"""


@pytest.fixture(name="root")
def _root(tmp_path: Path, data_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a repository with a history and a remote."""
    for name in ("GIT_AUTHOR", "GIT_COMMITTER"):
        monkeypatch.setenv(f"{name}_NAME", "agent")
        monkeypatch.setenv(f"{name}_EMAIL", "agent@example.org")
    root = tmp_path / "app"
    git(tmp_path, "init", "-q", "--bare", "remote.git")
    git(tmp_path, "init", "-q", "-b", "main", "app")
    for name, text in {
        "indult.yaml": LAW,
        "src/main.py": "def hello():\n    return 'helo'\n",
        "docs/index.md": "# app\n",
        ".env": "KEY=1\n",
        ".env.example": "KEY=\n",
        ".gitignore": ".env\n",
    }.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    git(root, "remote", "add", "origin", "../remote.git")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "Begin")
    return root


def git(folder: Path, *args: str) -> str:
    """Run git and return what it printed."""
    return subprocess.run(["git", *args], cwd=folder, capture_output=True, text=True, check=True).stdout


def approve(root: Path) -> str:
    """Approve the one request that is open, from a process of its own, and return the request."""
    (waiting,) = [json.loads(line) for line in indult("requests", "--json", cwd=root).stdout.splitlines()]
    shown = json.loads(indult("show", waiting["id"], "--json", cwd=root).stdout.splitlines()[0])
    digest = shown.get("digest") or shown["request"]["digest"]
    ran = indult("approve", waiting["id"], "--by", "you", "--digest", digest, cwd=root)
    assert ran.returncode == 0, ran.stderr
    return str(waiting["id"])


@pytest.mark.parametrize(("entry", "asks"), [("cli", "asks"), ("sdk-cli", "blocked")])
def test_a_task_of_30_calls(root: Path, entry: str, asks: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A denial is answered with a better call, a question approved elsewhere and resumed, a call downgraded.

    At every call the boundary that judged is the one that the agent had read. Without a person at the keyboard a question
    is a denial that names the request, and all else is the same.
    """
    monkeypatch.setenv("CLAUDE_CODE_ENTRYPOINT", entry)
    agent = Harness(root)
    src, docs = str(root / "src" / "main.py"), str(root / "docs" / "index.md")
    agent.begin()
    agent.prompt("Fix the greeting and publish it.")

    for command in ("ls", "git status", "git log --oneline", "grep -rn helo src | cat"):
        assert "runs" == agent.call("Bash", command=command).word
    assert "helo" in str(agent.call("Read", file_path=src).result)
    assert "runs" == agent.call("Read", file_path=docs).word

    # A denial, answered with a better call.
    denied = agent.call("Read", file_path=str(root / ".env"))
    assert ("blocked", None) == (denied.word, denied.result)
    assert ".env.example says what is in it" in denied.reason
    assert "KEY=" in str(agent.call("Read", file_path=str(root / ".env.example")).result)

    # A downgrade.
    lowered = agent.call("mcp__search__find", text="helo", limit=5000)
    assert ("allowed", {"text": "helo", "limit": 100}) == (lowered.word, lowered.args)
    assert "Search for at most 100" in agent.context[-1]
    assert "runs" == agent.call("mcp__search__find", text="helo", limit=50).word

    assert "runs" == agent.call("Edit", file_path=src, old_string="helo", new_string="hello").word
    assert "runs" == agent.call("Write", file_path=docs, content="# app\n\nSays hello.\n").word
    for command in ("git diff", "cat src/main.py docs/index.md", "git add src docs", "git commit -q -m 'Say hello'"):
        assert "runs" == agent.call("Bash", command=command).word

    # What others have is not rewritten; a plain push needs a person.
    force = agent.call("Bash", command="git push --force origin main")
    assert "blocked" == force.word
    assert "Never rewrite what others have." in force.reason
    asked = agent.call("Bash", command="git push -q origin main")
    assert asks == asked.word
    assert "runs" == agent.call("Bash", command="git log --oneline -1").word  # it goes on meanwhile
    request = approve(root)
    assert request in asked.reason
    agent.prompt("I have approved it, go on.")
    assert "Except for" in agent.context[-1]
    pushed = agent.call("Bash", command="git push -q origin main")
    assert "allowed" == pushed.word
    assert "grant g_" in pushed.reason
    assert git(root, "rev-parse", "main") == git(root, "rev-parse", "origin/main")
    # It was opened for this once.
    assert asks == agent.call("Bash", command="git push -q origin main").word

    # Refused again and again, it is told to stop.
    tries = [agent.call("Bash", command=f"git push {spelling} origin main") for spelling in ("--force", "'--force'")]
    assert ["blocked", "blocked"] == [one.word for one in tries]
    assert "Stop trying" in tries[-1].reason

    while len(agent.calls) < 30:
        assert "runs" == agent.call("Bash", command=f"git log --oneline -{len(agent.calls)}").word
    assert "refused 3 times" in agent.stop()

    judged = recorded(root, "judgement")
    assert 30 == len(judged)
    # What the agent had in front of it, what the ledger says that it was told, and what judged are one boundary.
    read = [call.read for call in agent.calls]
    assert read == [one["judgement"]["boundary"] for one in judged]
    assert read == [one["judgement"]["briefed"] for one in judged]
    assert 2 == len({*read})  # without the grant, and with it
    subject = f"tree:{root.resolve()}"
    (brief,) = [
        json.loads(line) for line in indult("brief", "--subject", subject, "--json", cwd=root).stdout.splitlines()
    ]
    assert read[-1] == brief["digest"]
    assert agent.context[0].startswith(brief["text"])
    assert {"toolu_" + str(at + 1) for at, one in enumerate(agent.calls) if one.result is not None} == {
        one["call"] for one in recorded(root, "outcome")
    }
    verdicts = [one["judgement"]["verdict"] for one in judged]
    assert (23, 1, 2, 4) == tuple(map(verdicts.count, ("APPROVE", "DOWNGRADE", "ASK_USER", "DENY")))
    assert indult("log", "verify", cwd=root).returncode == 0


def recorded(root: Path, kind: str) -> list[dict[str, Any]]:
    """Return what the ledger keeps of a kind for the work tree."""
    with Desk.open(str(root)) as desk:
        return [event.data for event in desk.ledger.events(desk.gate.subject, kinds={kind})]
