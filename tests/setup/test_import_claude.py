from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from indult.actions import Action
from indult.adapters.desk import decomposer
from indult.boundary import Boundary
from indult.policy import loads_policy
from indult.setup.import_claude import rule_of
from indult.setup.importing import import_settings
from indult.setup.policy import rule_text

ROOT, HOME = Path("/home/dev/shop"), Path("/home/dev")


def rule(effect: str, text: str, *, base: Path = ROOT) -> dict[str, Any] | None:
    """Return the rule that a permission comes to, without its sentence."""
    found = rule_of(effect, text, root=ROOT, base=base, home=HOME).rule
    return None if found is None else {key: value for key, value in found.items() if key not in {"says", "effect"}}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Bash(npm run test:*)", {"tool": "Bash", "target": "command:npm run test"}),
        ("Bash(npm run test *)", {"tool": "Bash", "target": "command:npm run test"}),
        ("Bash(make)", {"tool": "Bash", "target": "command:make", "when": 'args.command == "make"'}),
        ("Read", {"tool": "Read", "target": ["read:**"]}),
        ("Write", {"tool": "Write", "target": ["write:**", "edit:**"]}),
        ("WebSearch", {"tool": "WebSearch"}),
        ("mcp__github", {"tool": "mcp__github__*"}),
        ("mcp__github__get_issue", {"tool": "mcp__github__get_issue"}),
        ("Edit(/src/**)", {"tool": "Edit", "target": ["write:src/**", "edit:src/**"]}),
        ("Read(docs/a.md)", {"tool": "Read", "target": ["read:docs/a.md", "read:docs/a.md/**"]}),
        ("Read(//home/dev/shop/x)", {"tool": "Read", "target": ["read:x", "read:x/**"]}),
        ("Read(~/notes/**)", {"tool": "Read", "target": ["read:/home/dev/notes/**"]}),
        ("WebFetch(domain:a.example)", {"tool": "WebFetch", "when": 'args.url.matches("^https://a\\\\.example(/|$)")'}),
    ],
)
def test_allows(text: str, expected: dict[str, Any]) -> None:
    """What is allowed becomes a rule that matches no more than the permission did."""
    assert expected == rule("allow", text)


@pytest.mark.parametrize(
    "text",
    [
        "Bash",
        "Bash(*)",
        "PowerShell",
        "B*",
        "Bash(:*)",
        "*",
        "Bash(git * main)",
        "Bash(echo $HOME)",
        "Bash(a && b)",
        "Bash(CI=1 npm test)",
        "Bash(CI=1)",
        'Bash(git commit -m "x":*)',
        "Read(conf[ab])",
        "Edit(src/*.{js,ts})",
        "Read(../x)",
        "Read(./)",
        "WebFetch(domain:a b)",
        "Skill(x)",
        "Task(Explore)",
        "not a rule",
    ],
)
def test_allows_that_cannot_be_said(text: str) -> None:
    """What would allow more than was meant is not imported, and it is told why."""
    found = rule_of("allow", text, root=ROOT, base=ROOT, home=HOME)

    assert found.rule is None
    assert found.differs


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Bash", {"tool": "Bash"}),
        ("Bash(rm:*)", {"target": "command:rm"}),
        ("Edit", {"when": 'tool in ["Edit", "Write", "MultiEdit", "NotebookEdit"]'}),
        ("Read(*)", {"when": 'tool in ["Read", "Glob", "Grep", "LS"]'}),
        ("Write", {"tool": "Write"}),
        ("Bash(rm -rf)", {"target": "command:rm -rf"}),
        ("Bash(CI=1 rm:*)", {"target": "command:rm"}),
        (
            "Bash(git push * --force)",
            {
                "tool": "Bash",
                "target": "command:git push",
                "when": 'args.command.matches("(?s)git\\\\s+push.*\\\\-\\\\-force")',
            },
        ),
        ("Edit(.env)", {"target": ["whole:**/.env", "edit:**/.env", "whole:**/.env/**", "edit:**/.env/**"]}),
        ("Read(~/.ssh/**)", {"target": ["read:**/.ssh/**", "exec:**/.ssh/**"]}),
        ("Read(//etc/**)", {"target": ["read:/etc/**", "exec:/etc/**"]}),
        ("WebFetch(domain:A.example)", {"tool": "WebFetch", "when": 'args.url.matches("(?i)a\\\\.example")'}),
    ],
)
def test_denies(text: str, expected: dict[str, Any]) -> None:
    """What is denied is denied at least as widely."""
    assert expected == rule("deny", text)


@pytest.mark.parametrize(
    ("text", "tool"), [("Task(Explore)", "Task"), ("Bash(* --force)", "Bash"), ("Skill(x)", "Skill")]
)
def test_denies_that_ask(text: str, tool: str) -> None:
    """What cannot be denied exactly is asked about."""
    found = rule_of("deny", text, root=ROOT, base=ROOT, home=HOME)

    assert found.rule is not None
    assert ("ask", tool) == (found.rule["effect"], found.rule["tool"])
    assert found.differs


def test_slash_of_the_user_s_settings() -> None:
    """A path that begins with one slash starts where the settings lie."""
    assert {"tool": "Read", "target": ["read:/home/dev/.claude/x", "read:/home/dev/.claude/x/**"]} == rule(
        "allow", "Read(/x)", base=HOME / ".claude"
    )


def test_whole_files(tmp_path: Path) -> None:
    """Each setting of each file is told of: what became of it, and what indult has nothing like."""
    root, home = tmp_path / "root", tmp_path / "home"
    for folder in (root, home):
        (folder / ".claude").mkdir(parents=True)
    (root / ".claude" / "settings.json").write_text(
        '{"permissions": {"allow": ["Read", 7], "deny": ["Bash(rm:*)"], "defaultMode": "plan", "new": 1}}'
    )
    (root / ".claude" / "settings.local.json").write_text('{"permissions": {"allow": ["Bash"]}}')
    (home / ".claude" / "settings.json").write_text('{"permissions": {"ask": ["Bash(git push:*)"]}}')

    found = import_settings("claude", str(root), home=str(home))

    assert [
        (".claude/settings.json", "permissions.deny[0]", "Bash(rm:*)", "claude.deny.1"),
        (".claude/settings.json", "permissions.allow[0]", "Read", "claude.allow.1"),
        (".claude/settings.json", "permissions.allow[1]", "7", None),
        (".claude/settings.json", "permissions.defaultMode", '"plan"', None),
        (".claude/settings.json", "permissions.new", "1", None),
        (".claude/settings.local.json", "permissions.allow[0]", "Bash", None),
        ("~/.claude/settings.json", "permissions.ask[0]", "Bash(git push:*)", "claude.ask.1"),
    ] == [(line.file, line.where, line.setting, line.rule) for line in found.lines]
    assert ["claude.deny.1", "claude.allow.1", "claude.ask.1"] == [rule["id"] for _, rule in found.rules]


@pytest.mark.parametrize(
    ("permission", "tool", "args", "verdict"),
    [
        ("deny Bash(rm:*)", "Bash", {"command": "ls; sudo rm -rf x"}, "DENY"),
        ("deny Bash(git push * --force)", "Bash", {"command": "ls && git push origin --force"}, "DENY"),
        ("deny Bash(git push * --force)", "Bash", {"command": "git push origin"}, "APPROVE"),
        ("deny Edit", "Write", {"file_path": "a", "content": "x"}, "DENY"),
        ("deny Edit(.env)", "Bash", {"command": "echo x > sub/.env"}, "DENY"),
        ("deny Read(~/.ssh/**)", "Bash", {"command": "cat ~/.ssh/id_rsa"}, "DENY"),
        ("deny Read(secrets)", "Read", {"file_path": "a/secrets/x"}, "DENY"),
        ("deny WebFetch(domain:a.example)", "WebFetch", {"url": "http://u@A.example/x"}, "DENY"),
        ("ask Bash(git push:*)", "Bash", {"command": "git -C x push"}, "ASK_USER"),
        ("allow Bash(npm run test:*)", "Bash", {"command": "npm run test -- -x"}, "APPROVE"),
        ("allow Bash(npm run test:*)", "Bash", {"command": "npm run test && rm x"}, "ASK_USER"),
        ("allow Bash(npm run test:*)", "Bash", {"command": "npm run tests"}, "ASK_USER"),
        ("allow Bash(make)", "Bash", {"command": "make"}, "APPROVE"),
        ("allow Bash(make)", "Bash", {"command": "make all"}, "ASK_USER"),
        ("allow WebFetch(domain:a.example)", "WebFetch", {"url": "https://a.example/x"}, "APPROVE"),
        ("allow WebFetch(domain:a.example)", "WebFetch", {"url": "https://a.example.b/x"}, "ASK_USER"),
        ("allow WebFetch(domain:a.example)", "WebFetch", {"url": "https://a.example@b/x"}, "ASK_USER"),
        ("allow WebFetch(domain:*.a.example)", "WebFetch", {"url": "https://x.a.example"}, "APPROVE"),
        ("allow Edit(/src/**)", "Edit", {"file_path": "src/a", "old_string": "a", "new_string": "b"}, "APPROVE"),
        ("allow Edit(/src/**)", "Edit", {"file_path": "src/../a", "old_string": "a", "new_string": "b"}, "ASK_USER"),
        ("allow Read", "Read", {"file_path": "a.py"}, "APPROVE"),
        ("allow Read", "Read", {"file_path": "/etc/passwd"}, "ASK_USER"),
        ("allow mcp__db", "mcp__db__get", {}, "APPROVE"),
        ("allow mcp__db", "mcp__dbx__get", {}, "ASK_USER"),
    ],
)
def test_through_the_gate(permission: str, tool: str, args: dict[str, Any], verdict: str, tmp_path: Path) -> None:
    """A rule means to the gate what its permission means to Claude Code; where they part, the gate is stricter."""
    effect, text = permission.split(" ", 1)
    found = rule_of(effect, text, root=tmp_path, base=tmp_path, home=HOME)
    assert found.rule is not None
    rest = "" if effect == "allow" else "  - {id: rest, effect: allow}\n"
    policy = loads_policy(f"schema: 1\ndefault: ask\nrules:\n{rule_text({'id': 'r', **found.rule})}{rest}")
    boundary = Boundary(policy=policy, decompose=decomposer(str(tmp_path)))

    assert verdict == boundary.judge(Action(tool=tool, args=args, cwd=str(tmp_path)), {}).verdict
