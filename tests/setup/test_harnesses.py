from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from indult.setup.harnesses import DEADLINE, ENTRIES, command, installed, merged, parted

if TYPE_CHECKING:
    from pathlib import Path

HARNESSES = list(ENTRIES)


def shell(text: str, path: str) -> subprocess.CompletedProcess[str]:
    """Run a hook's command with an event, as a harness does, with programs from one folder."""
    return subprocess.run(
        ["/bin/sh", "-c", text], env={"PATH": path}, input="{}", capture_output=True, text=True, check=False
    )


def gate(harness: str, program: str = "indult") -> str:
    """Return the command that waits for a judgement."""
    return gate_of(harness, merged(harness, "", program=program))


def gate_of(harness: str, text: str) -> str:
    """Return the command in a file that waits for a judgement."""
    return command(installed(harness, text)[ENTRIES[harness].gates[0]])


def program(folder: Path, body: str) -> str:
    """Put a program in the place of indult and return its folder."""
    file = folder / "indult"
    file.write_text(f"#!/bin/sh\n{body}\n")
    file.chmod(0o755)
    return f"{folder}:/usr/bin:/bin"


@pytest.mark.parametrize("harness", HARNESSES)
def test_twice_is_once(harness: str) -> None:
    """What is there already is not added again."""
    once = merged(harness, "")

    assert once == merged(harness, once)
    assert set(installed(harness, once)) == {*ENTRIES[harness].gates, *ENTRIES[harness].others}


def test_own_hooks_stay() -> None:
    """Hooks and settings that were there stay first and as they are."""
    text = '{"model": "x", "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "mine"}]}]}}'

    found = json.loads(merged("claude-code", text))

    assert ["model", "hooks"] == list(found)
    assert {"matcher": "Bash", "hooks": [{"type": "command", "command": "mine"}]} == found["hooks"]["PreToolUse"][0]
    assert "*" == found["hooks"]["PreToolUse"][1]["matcher"]


@pytest.mark.parametrize("harness", HARNESSES)
def test_parted(harness: str) -> None:
    """The entries of indult can be taken out again, and what others added meanwhile stays."""
    mine = {"type": "command", "command": "mine", "bash": "mine"}
    event = ENTRIES[harness].gates[0]
    text = (
        json.dumps({"version": 1, "hooks": {event: [{"hooks": [mine]} if harness != "copilot" else mine]}}, indent=2)
        + "\n"
    )

    there = merged(harness, text)

    assert text == parted(harness, there)
    assert {} == installed(harness, parted(harness, there.replace('"version": 1', '"version": 1, "more": [0]')))


def test_parted_from_one_entry() -> None:
    """Of an entry that other hooks share, only the hook of indult goes."""
    ours = {"type": "command", "command": "/opt/indult hook claude-code"}
    shared = {
        "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "a"}, ours, {"type": "command", "command": "b"}]}]}
    }

    found = json.loads(parted("claude-code", json.dumps(shared)))

    assert ["a", "b"] == [hook["command"] for hook in found["hooks"]["Stop"][0]["hooks"]]


def test_shape_for_claude_code() -> None:
    """A hook that is too slow blocks, and the harness waits longer than indult takes."""
    found: dict[str, Any] = json.loads(merged("claude-code", ""))["hooks"]

    assert {
        "matcher": "*",
        "hooks": [
            {"type": "command", "command": gate("claude-code"), "timeout": DEADLINE, "onFailure": "block"}
        ],
    } == found["PreToolUse"][0]  # fmt: skip
    assert "onFailure" not in found["Stop"][0]["hooks"][0]


def test_shape_for_codex() -> None:
    """Codex refuses a file with a key at the top that it does not know, so `hooks` stands there alone."""
    assert ["hooks"] == list(json.loads(merged("codex", "")))


def test_shape_for_copilot() -> None:
    """Copilot wants a version, and has the command directly below the event."""
    found = json.loads(merged("copilot", ""))

    assert 1 == found["version"]
    assert {"type": "command", "bash": gate("copilot"), "timeoutSec": DEADLINE} == found["hooks"]["preToolUse"][0]


@pytest.mark.parametrize(
    "body", [None, "exit 1", "kill -9 $$", "printf '{\"half\": '; exit 3", "echo oops; exit 127"], ids=str
)
@pytest.mark.parametrize("harness", HARNESSES)
def test_missing_or_crashing(harness: str, body: str | None, tmp_path: Path) -> None:
    """Without indult, or with one that crashes, each command ends in what blocks in its harness."""
    path = "/usr/bin:/bin" if body is None else program(tmp_path, body)

    ran = shell(gate(harness), path)

    if harness == "copilot":
        assert (0, "deny") == (ran.returncode, json.loads(ran.stdout)["permissionDecision"])
    else:
        assert 2 == ran.returncode
        assert "the call is blocked" in ran.stderr


@pytest.mark.parametrize("harness", HARNESSES)
@pytest.mark.parametrize(("body", "told"), [(None, True), ("exit 126", True), ("exit 1", False), ("exit 2", False)])
def test_not_found(harness: str, body: str | None, told: bool, tmp_path: Path) -> None:
    """Where indult cannot be started, what the agent reads says so and how a person mends it."""
    path = "/usr/bin:/bin" if body is None else program(tmp_path, body)

    ran = shell(gate(harness), path)

    # Copilot shows nothing but the reason, which is the same for all that can go wrong there.
    reason = json.loads(ran.stdout)["permissionDecisionReason"] if harness == "copilot" else ran.stderr
    assert (told or harness == "copilot") == ("run `indult init` again from where it is installed" in reason)


@pytest.mark.parametrize("harness", HARNESSES)
@pytest.mark.parametrize("old", ["indult", "/old/my venv/bin/indult"])
def test_program_that_is_gone(harness: str, old: str) -> None:
    """Entries that name a program that is not there are made to name one that is, in place; others stay as they are."""
    there = merged(harness, '{"mine": [1,  2]}', program=old)

    mended = merged(harness, there, program="/new/indult", exists=lambda _: None)

    assert merged(harness, '{"mine": [1,  2]}', program="/new/indult") == mended
    assert there == merged(harness, there, program="/new/indult", exists=lambda name: name == old)
    own = there.replace("--require", "--require --repository /r")
    kept = gate_of(harness, merged(harness, own, program="/new/indult", exists=lambda _: None))
    assert gate_of(harness, own) == kept


@pytest.mark.parametrize("harness", HARNESSES)
def test_answer_passes(harness: str, tmp_path: Path) -> None:
    """What indult answers reaches the harness as it is."""
    ran = shell(gate(harness), program(tmp_path, "cat; printf '%s' ' é\"'"))

    assert (0, '{} é"', "") == (ran.returncode, ran.stdout, ran.stderr)


@pytest.mark.parametrize("harness", HARNESSES)
def test_agent_can_stop(harness: str, tmp_path: Path) -> None:
    """A hook that nothing waits for never ends in 2, which would keep an agent from stopping."""
    stop = command(installed(harness, merged(harness, ""))[ENTRIES[harness].others[-1]])

    assert [1, 1] == [shell(stop, path).returncode for path in ("/nowhere", program(tmp_path, "exit 2"))]


def test_place_with_spaces(tmp_path: Path) -> None:
    """A program that is named by its place is quoted."""
    folder = tmp_path / "my $HOME's programs"
    folder.mkdir()
    program(folder, "echo fine")

    assert "fine\n" == shell(gate("codex", str(folder / "indult")), "/usr/bin:/bin").stdout


def test_entry_of_another_harness() -> None:
    """The hook of one harness does not count as that of another."""
    text = merged("codex", "")

    assert {} == installed("claude-code", text)
