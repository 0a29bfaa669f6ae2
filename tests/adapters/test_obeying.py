"""Every way in which a harness is known to run a tool because its hook did not speak its language."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.adapters.obeying import OBEY

from indult.adapters.hooks import Wire
from indult.setup.canary import Ran, Reading, reading

CONTRACTS = Path(__file__).parents[1] / "contracts"


def said(word: str, reason: str = "denied by `a`", **more: Any) -> Wire:
    """Return an answer to a call as Claude Code and Codex read it; `more` stands at its top."""
    decided = {"hookEventName": "PreToolUse", "permissionDecision": word, "permissionDecisionReason": reason}
    # `continue` is a word of Python, so it is given with a line below it.
    return Wire(json.dumps({"hookSpecificOutput": decided, **{name.rstrip("_"): one for name, one in more.items()}}))


def within(**more: Any) -> Wire:
    """Return a denial with more beside the decision."""
    shown = json.loads(said("deny").stdout)
    shown["hookSpecificOutput"].update(more)
    return Wire(json.dumps(shown))


OPEN = [
    ("codex", "pre-ask", said("ask")),
    ("codex", "pre-grant", said("allow")),
    ("codex", "pre-no-objection", said("allow", "")),
    ("codex", "pre-downgrade", said("defer")),
    ("codex", "trap-empty-reason", said("deny", "")),
    ("codex", "trap-ask-empty-reason", said("deny", " \n")),
    ("codex", "trap-deny-context", said("deny", decided_by="indult")),
    ("codex", "trap-deny-context", within(rule="force")),
    ("codex", "trap-notice", said("deny", continue_=False)),
    ("codex", "trap-notice", said("deny", stopReason="denied")),
    ("codex", "trap-notice", said("deny", suppressOutput=True)),
    ("codex", "trap-failure-empty", Wire(exit_code=2)),
    ("codex", "trap-failure", Wire(stderr="the ledger is busy", exit_code=1)),
    ("codex", "trap-failure-unread", Wire("{")),
    ("codex", "bad-not-json", Wire("[]")),
    ("claude-code", "trap-failure", Wire(stderr="the ledger is busy", exit_code=1)),
    ("claude-code", "trap-failure-unread", Wire(stderr="no such command", exit_code=127)),
    ("claude-code", "trap-failure-empty", Wire(exit_code=2)),
    ("claude-code", "pre-deny", within(hookEventName="PermissionRequest")),
    ("claude-code", "bad-not-json", Wire("denied")),
    ("copilot", "trap-failure", Wire(stderr="the ledger is busy", exit_code=2)),
    ("copilot", "trap-failure-cli", Wire(stderr="the ledger is busy", exit_code=1)),
]
"""Harness, the file that shows how its adapter keeps clear of it, and what runs the tool although nobody meant it to."""


@pytest.mark.parametrize(("harness", "file", "wire"), OPEN, ids=[f"{one}/{name}" for one, name, _ in OPEN])
def test_open(harness: str, file: str, wire: Wire) -> None:
    """The tests and `indult doctor` both know it, and a file shows what is written in its place."""
    (contract,) = CONTRACTS.glob(f"{harness}/*/{file}.json")
    case = json.loads(contract.read_text(encoding="utf-8"))
    instead = Wire("" if case["stdout"] == "" else json.dumps(case["stdout"]), case["stderr"], case["exit"])

    assert "broken" == OBEY[harness](wire)
    assert Reading.BROKEN == reading(harness, Ran(stdout=wire.stdout, stderr=wire.stderr, exit_code=wire.exit_code))[0]
    assert "broken" != OBEY[harness](instead)


@pytest.mark.parametrize("path", sorted(CONTRACTS.glob("*/*/*.json")), ids=lambda path: f"{path.parts[-3]}/{path.stem}")
def test_no_file_is_one(path: Path) -> None:
    """No file has an answer to a call that its harness does not take, and each denial and failure blocks there."""
    case = json.loads(path.read_text(encoding="utf-8"))
    told = case["stdin"] if isinstance(case["stdin"], dict) else {}
    if told.get("hook_event_name", "PreToolUse") != "PreToolUse" or case.get("event", {}).get("kind", "pre") != "pre":
        return
    wire = Wire("" if case["stdout"] == "" else json.dumps(case["stdout"]), case["stderr"], case["exit"])
    waits = case["stdin"] is None or {"tool_name", "toolName"} & told.keys()
    blocks = "refused" in case or ("failure" in case and waits) or case.get("answer", {}).get("say") == "deny"

    found = OBEY[path.parts[-3]](wire)

    assert "broken" != found
    assert found == "blocked" or not blocks
