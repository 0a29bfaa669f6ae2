from __future__ import annotations

from pathlib import Path

import pytest

from indult.actions import Action
from indult.adapters.desk import decomposer
from indult.boundary import Boundary
from indult.policy import loads_policy
from indult.setup.detect import Found
from indult.setup.policy import PRESETS, policy_text, refused, rule_text


def test_without_anything() -> None:
    """A repository of which nothing is known gets a policy that loads, on the presets, and asks about the rest."""
    text = policy_text(Found(root="/r"))

    assert "ask" == loads_policy(text).default
    assert f"extends: [{', '.join(PRESETS)}]\n" in text
    assert "No command that runs the tests was found" in text


def test_tests_are_allowed() -> None:
    """The command of the tests is allowed, under its own rule."""
    policy = loads_policy(policy_text(Found(root="/r", tests=("make test", "pytest"))))

    rule = policy.rule("tests")

    assert ("allow", ("command:make test", "command:pytest")) == (rule.effect, rule.targets)
    assert "Run the tests with `make test` or `pytest`." == rule.says


@pytest.mark.parametrize(
    "command",
    [
        "make test", "scripts/test", "npm test", "pnpm test", "yarn test", "bun run test", "pytest", "python -m pytest",
        "uv run pytest", "poetry run pytest", "pdm run pytest", "cargo test", "go test", "mix test", "mvn test",
        "./gradlew test", "just test", "tox", "nox", "bundle exec rspec", "deno test", "swift test",
    ],
)  # fmt: skip
def test_tests_can_be_run(command: str, tmp_path: Path) -> None:
    """Whatever command is found is approved as an agent would write it, and what stands beside it is judged by itself."""
    policy = loads_policy(policy_text(Found(root=str(tmp_path), tests=(command,))))
    boundary = Boundary(policy=policy, decompose=decomposer(str(tmp_path)))

    def verdict(line: str) -> str:
        return boundary.judge(Action(tool="Bash", args={"command": line}, cwd=str(tmp_path)), {}).verdict

    assert ["APPROVE", "APPROVE", "APPROVE", "ASK_USER"] == [
        verdict(line)
        for line in (command, f"{command} tests/a", f"{command} 2>&1 | tail -5", f"{command}; unknown-program")
    ]


def test_facts_stand_in_comments() -> None:
    """What was found stands in comments, and a name that would end the comment does not."""
    found = Found(root="/r", languages=("Python",), manifests=("a.json", "x\nrules: []", "y\u202ez", *"bcdefghijklmn"))

    lines = policy_text(found).splitlines()

    assert "# Languages: Python." in lines
    assert "# Manifests and lock files, whose entries ask: a.json, b, c, d, e, f, g, h, i, j, k, l and 4 more." in lines
    assert 1 == sum(line.startswith("rules:") for line in lines)


def test_imported_rules() -> None:
    """Imported rules stand in the file with where they come from."""
    rule = {"id": "claude.deny.1", "effect": "deny", "target": "command:rm", "says": 'Do not run "rm": ever.'}

    text = policy_text(Found(root="/r"), [("From a, b: c", rule)])

    assert "  # From a, b: c\n  - id: claude.deny.1\n" in text
    assert 'Do not run "rm": ever.' == loads_policy(text).rule("claude.deny.1").says


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ({"id": "a", "effect": "allow", "tool": "Read"}, None),
        ({"id": "a", "effect": "deny", "tool": "Read"}, "the rule `a` has no `says`"),
        ({"id": "a", "effect": "allow", "target": "command:git *"}, "`*` in the command pattern `git *`"),
    ],
)
def test_rules_that_no_policy_can_have(rule: dict[str, str], why: str | None) -> None:
    """A rule that would not load is told apart, with why."""
    assert why == refused(rule)


def test_rule_text() -> None:
    """Each line of a comment is one."""
    assert '  # a\n  # b\n  - id: x\n    effect: allow\n    target: ["read:**", "é"]\n' == rule_text(
        {"id": "x", "effect": "allow", "target": ["read:**", "é"]}, "a\nb"
    )
