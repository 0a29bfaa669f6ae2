from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from indult.errors import ConfigurationError
from indult.setup.importing import Imported, import_settings

if TYPE_CHECKING:
    from pathlib import Path


def imported(root: Path, *, rules: str = "", config: str = "") -> Imported:
    """Import from a repository with these files."""
    (root / ".codex" / "rules").mkdir(parents=True)
    (root / ".codex" / "rules" / "default.rules").write_text(rules)
    (root / ".codex" / "config.toml").write_text(config)
    return import_settings("codex", str(root), home=str(root / "nobody"))


def test_prefix_rules(tmp_path: Path) -> None:
    """A rule with a prefix becomes one with leading words, each alternative by itself."""
    found = imported(
        tmp_path,
        rules=(
            'prefix_rule(pattern=["git", ["push", "fetch"]], decision="prompt", justification="It leaves here.")\n'
            'prefix_rule(pattern=["rm", "-rf"], decision="forbidden")\n'
            'prefix_rule(\n    pattern=["ls"],\n    match=["ls -l"],\n)\n'
            'prefix_rule(pattern=["git", "commit", "-m", "a b"])\n'
        ),
    )

    assert [
        {
            "id": "codex.ask.1",
            "effect": "ask",
            "target": ["command:git push", "command:git fetch"],
            "says": "Ask before you run `git push`, `git fetch`. It leaves here.",
        },
        {"id": "codex.deny.1", "effect": "deny", "target": ["command:rm -rf"], "says": "Do not run `rm -rf`."},
        {"id": "codex.allow.1", "effect": "allow", "target": ["command:ls"]},
        {"id": "codex.allow.2", "effect": "allow", "target": ['command:["git", "commit", "-m", "a b"]']},
    ] == [rule for _, rule in found.rules]


@pytest.mark.parametrize(
    "text",
    [
        "x = 1",
        'network_rule(host="a")',
        'prefix_rule(pattern=["a"] + ["b"])',
        'prefix_rule(["a"])',
        'prefix_rule(pattern=["a"], decision="maybe")',
        'prefix_rule(pattern=["a", []])',
        'prefix_rule(pattern="a")',
        f"prefix_rule(pattern={[[chr(97), chr(98)]] * 7})",
    ],
)
def test_what_does_not_read_one_way(text: str, tmp_path: Path) -> None:
    """What computes, or is no prefix rule, is told and not imported."""
    found = imported(tmp_path, rules=text)

    assert () == found.rules
    assert ["line 1"] == [line.where for line in found.lines]
    assert found.lines[0].differs


def test_settings_are_told(tmp_path: Path) -> None:
    """Settings that are no rules are named with how they differ, and tools that are off are denied."""
    found = imported(
        tmp_path, config='approval_policy = "never"\nmodel = "m"\n[mcp_servers.db]\ndisabled_tools = ["drop"]\n'
    )

    assert [("approval_policy", None), ("mcp_servers.db.disabled_tools", "codex.deny.1")] == [
        (line.where, line.rule) for line in found.lines
    ]
    assert "mcp__db__drop" == found.rules[0][1]["tool"]


@pytest.mark.parametrize(("rules", "config"), [("prefix_rule(", ""), ("", "a = ")])
def test_files_that_cannot_be_read(rules: str, config: str, tmp_path: Path) -> None:
    """A file that cannot be read ends the import, so that no denial is lost without a word."""
    with pytest.raises(ConfigurationError, match="cannot be read"):
        imported(tmp_path, rules=rules, config=config)
