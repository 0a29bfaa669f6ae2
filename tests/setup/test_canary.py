from __future__ import annotations

import json

import pytest

from indult.setup.canary import Ran, Reading, calls, harmless, reading, run_hook


def answer(word: str, reason: str = "denied by `a`", **more: object) -> str:
    """Return a decision as Claude Code and Codex read it."""
    shown = {"hookEventName": "PreToolUse", "permissionDecision": word, "permissionDecisionReason": reason, **more}
    return json.dumps({"hookSpecificOutput": shown})


DENY = answer("deny")


@pytest.mark.parametrize(
    ("harness", "stdout", "stderr", "code", "expected"),
    [
        ("claude-code", DENY, "", 0, Reading.BLOCKED),
        ("claude-code", answer("ask"), "", 0, Reading.ASKS),
        ("claude-code", answer("defer"), "", 0, Reading.ASKS),
        ("claude-code", answer("allow"), "", 0, Reading.RUNS),
        ("claude-code", "{}", "", 0, Reading.RUNS),
        ("claude-code", "", "", 0, Reading.RUNS),
        ("claude-code", answer("deny", "indult itself failed"), "", 0, Reading.FAILED),
        ("claude-code", "", "no policy", 2, Reading.FAILED),
        ("claude-code", "", "", 2, Reading.BROKEN),
        ("claude-code", DENY, "", 1, Reading.BROKEN),
        ("claude-code", DENY[:-1], "", 0, Reading.BROKEN),
        ("claude-code", DENY.replace("PreToolUse", "Stop"), "", 0, Reading.BROKEN),
        ("claude-code", "[]", "", 0, Reading.BROKEN),
        ("claude-code", DENY, "", None, Reading.BROKEN),
        ("codex", DENY, "", 0, Reading.BLOCKED),
        ("codex", answer("deny", "needs approval under `a`"), "", 0, Reading.ASKS),
        ("codex", answer("deny", ""), "", 0, Reading.BROKEN),
        ("codex", answer("ask"), "", 0, Reading.BROKEN),
        ("codex", answer("allow"), "", 0, Reading.BROKEN),
        ("codex", answer("deny", extra=1), "", 0, Reading.BROKEN),
        ("codex", json.dumps({**json.loads(DENY), "extra": 1}), "", 0, Reading.BROKEN),
        ("codex", json.dumps({**json.loads(DENY), "continue": False}), "", 0, Reading.BROKEN),
        ("codex", json.dumps({**json.loads(DENY), "stopReason": "x"}), "", 0, Reading.BROKEN),
        ("codex", json.dumps({**json.loads(DENY), "suppressOutput": True}), "", 0, Reading.BROKEN),
        ("codex", "", "why", 2, Reading.FAILED),
        ("codex", "", "", 2, Reading.BROKEN),
        ("codex", "", "why", 3, Reading.BROKEN),
        ("copilot", '{"permissionDecision": "deny", "permissionDecisionReason": "denied by `a`"}', "", 0, Reading.BLOCKED),
        ("copilot", '{"permissionDecision": "deny", "permissionDecisionReason": "gave no answer"}', "", 0, Reading.FAILED),
        ("copilot", '{"permissionDecision": "ask"}', "", 0, Reading.ASKS),
        ("copilot", "null", "", 0, Reading.RUNS),
        ("copilot", "", "", 0, Reading.RUNS),
        ("copilot", "", "why", 2, Reading.BROKEN),
    ],
)  # fmt: skip
def test_reading(harness: str, stdout: str, stderr: str, code: int | None, expected: Reading) -> None:
    """An answer is read as its harness does, and what that takes for leave to run the tool counts as such."""
    assert expected == reading(harness, Ran(stdout=stdout, stderr=stderr, exit_code=code))[0]


@pytest.mark.parametrize("harness", ["claude-code", "codex", "copilot"])
def test_event(harness: str, tmp_path: object) -> None:
    """The command gets each call as an event of its harness, in the repository, with what the caller sets."""
    ran = run_hook(
        harness, 'cat; printf "\\n%s" "$MARK"; pwd >&2', harmless(), root=str(tmp_path), environment={"MARK": "m"}
    )
    event = json.loads(ran.stdout.splitlines()[0])

    assert ("m", str(tmp_path), 0) == (ran.stdout.splitlines()[1], ran.stderr.strip(), ran.exit_code)
    if harness == "copilot":
        assert ("bash", {"command": "echo canary"}) == (event["toolName"], json.loads(event["toolArgs"]))
    else:
        assert ("PreToolUse", "Bash", {"command": "echo canary"}) == (
            event["hook_event_name"],
            event["tool_name"],
            event["tool_input"],
        )


def test_calls() -> None:
    """The canaries are the ways around the gate: its policy, its hooks, deciding in a person's name, and undoing all of it."""
    assert [
        "writing indult.yaml",
        "writing .codex/hooks.json",
        "`indult approve r_canary`",
        "`indult init --undo`",
    ] == [call.what for call in calls("/r", "codex")]
    assert {"Bash"} == {call.tool for call in calls("/r", "codex")}
