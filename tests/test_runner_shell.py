from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from indult.decompose.paths import Places
from indult.errors import InputError
from indult.testing.__main__ import main
from indult.testing.runners.shell import Disk, policy_of, run, verdict


def case(
    tool: str = "shell", fs: dict[str, Any] | None = None, action: dict[str, Any] | None = None, **neutral: Any
) -> Any:
    """Return a case."""
    policy = {"cwd": "/repo", "home": "/home/dev", "fs": fs or {}, **neutral}
    return {"id": "a", "tool": tool, "policy": policy, "action": action or {"command": "ls x"}}


def test_each_case_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The runner prints id and verdict of each case."""
    file = tmp_path / "cases.jsonl"
    file.write_text(json.dumps(case(allow_commands=["ls"])) + "\n" + json.dumps(case(deny_commands=["ls"])) + "\n")

    assert 0 == main(["shell", str(file)])
    assert [{"id": "a", "verdict": "APPROVE"}, {"id": "a", "verdict": "DENY"}] == [
        json.loads(line) for line in capsys.readouterr().out.splitlines()
    ]


def test_what_is_no_case_is_an_error(tmp_path: Path) -> None:
    """A line that is no case names itself."""
    file = tmp_path / "cases.jsonl"
    file.write_text('{"id": 1}\n')

    with pytest.raises(InputError, match="line 1 is no shell case"):
        list(run(file))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (case(), "ASK"),
        (case(ask_commands=["ls"], allow_commands=["ls"]), "ASK"),
        (case(allow_commands=["ls"], ask_options={"ls": ["--all", "-l"]}, action={"command": "ls --al"}), "ASK"),
        (case(allow_commands=["ls"], ask_options={"ls": ["-l"]}, action={"command": "ls -al"}), "ASK"),
        (case(allow_commands=["cat"], deny_paths=["/repo/x/**"], action={"command": "cat x"}), "DENY"),
        (case(allow_commands=["cat"], deny_paths=["~/x"], action={"command": "cat ~/x"}), "DENY"),
        (case(allow_commands=["cat"], deny_paths=["/repo//x"], action={"command": "cat x"}), "DENY"),
        (
            case(
                allow_commands=["cat"],
                deny_paths=["/repo/l"],
                fs={"symlinks": {"/repo/l": "/x"}},
                action={"command": "cat /x"},
            ),
            "DENY",
        ),
        (case("read_file", allow_read_paths=["**"], action={"path": "a/b"}), "APPROVE"),
        (case("read_file", allow_read_paths=["**"], action={"path": "/a"}), "ASK"),
        (case("read_file", allow_read_paths=["**"], ask_paths=["a/**"], action={"path": "a/b"}), "ASK"),
        (case("mcp", allow_tools=["mcp__*"], action={"tool_name": "mcp__a__b"}), "APPROVE"),
        (case("mcp", allow_tools=["mcp__a*__b"], action={"tool_name": "mcp__ax__b"}), "ASK"),
        (case("mcp", ask_tools=["mcp__a*__b"], action={"tool_name": "mcp__ax__b"}), "ASK"),
        (case("mcp", deny_tools=["mcp__*__b"], action={"tool_name": "mcp__a__b"}), "DENY"),
    ],
)
def test_a_neutral_policy_means_what_it_says(given: Any, expected: str) -> None:
    """Every kind of rule of a neutral policy becomes one of a policy, with the same meaning."""
    assert expected == verdict(given)


def test_the_policy_of_a_case_is_an_ordinary_one() -> None:
    """It asks by default, and its rules can be written down."""
    neutral = {"allow_commands": ["ls"], "deny_paths": ["**/.env"], "allow_write_paths": ["/tmp/**"]}
    policy = policy_of(neutral, Places(Disk({}), "/repo", "/home/dev"))

    assert "ask" == policy.default
    assert {
        "allow.commands": 'command:["ls"]',
        "allow.write_paths": ["write:/tmp", "write:/tmp/**"],
        "deny.paths": "file:**/.env",
    } == {rule["id"]: rule["target"] for rule in policy.to_dict()["rules"]}
