from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from indult.setup.detect import detect

if TYPE_CHECKING:
    from pathlib import Path

    from indult.setup.detect import Found


def look(root: Path, files: dict[str, str]) -> Found:
    """Write files and look at them, on a machine without agents."""
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return detect(str(root), home=str(root / "nobody"), path="")


@pytest.mark.parametrize(
    ("files", "tests"),
    [
        ({}, ()),
        ({"Makefile": "all:\n\ntest: all\n\tpytest\n"}, ("make test",)),
        ({"Makefile": "tests:\n\t\n.PHONY: test\nTEST := 1\ntest := 2\n"}, ()),
        ({"package.json": '{"scripts": {"test": "vitest"}}'}, ("npm test",)),
        ({"package.json": '{"scripts": {"test": "vitest"}}', "pnpm-lock.yaml": ""}, ("pnpm test",)),
        ({"package.json": '{"scripts": {"test": "vitest"}}', "bun.lock": ""}, ("bun run test",)),
        ({"package.json": '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}'}, ()),
        ({"package.json": '{"scripts": []}'}, ()),
        ({"package.json": "[1"}, ()),
        ({"pyproject.toml": "[tool.pytest.ini_options]\n"}, ("pytest", "python -m pytest")),
        ({"pyproject.toml": "[tool.pytest\n", "uv.lock": ""}, ("uv run pytest", "pytest", "python -m pytest")),
        ({"tests/conftest.py": ""}, ("pytest", "python -m pytest")),
        ({"pyproject.toml": "[project]\n"}, ()),
        ({"justfile": "test *args: build\n  pytest\n", "tox.ini": ""}, ("just test", "tox")),
        ({"justfile": "test := 'x'\ntester:\n"}, ()),
        ({"Cargo.toml": "", "go.mod": ""}, ("cargo test", "go test")),
    ],
)
def test_command_of_the_tests(files: dict[str, str], tests: tuple[str, ...], tmp_path: Path) -> None:
    """The command of the tests is the one that the repository's own files name."""
    assert tests == look(tmp_path, files).tests


def test_script_that_can_be_run(tmp_path: Path) -> None:
    """A script counts as the command of the tests if it can be run."""
    (tmp_path / "scripts").mkdir()
    script = tmp_path / "scripts" / "test"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o644)
    before = look(tmp_path, {}).tests
    script.chmod(0o755)

    assert ((), ("scripts/test",)) == (before, look(tmp_path, {}).tests)


def test_languages_and_manifests(tmp_path: Path) -> None:
    """Languages come in the order of their files, and code of others is not looked at."""
    found = look(
        tmp_path,
        {
            "a.py": "", "b.py": "", "c.ts": "", "node_modules/x/a.js": "", ".venv/a.rb": "", "web/package.json": "",
            "pyproject.toml": "", "requirements-dev.txt": "", "vendor/go.mod": "",
        },
    )  # fmt: skip

    assert ("Python", "TypeScript") == found.languages
    assert ("pyproject.toml", "requirements-dev.txt", "web/package.json") == found.manifests


@pytest.mark.parametrize(
    ("name", "harness"),
    [
        ("CLAUDE.md", "claude-code"),
        (".claude/settings.json", "claude-code"),
        (".codex/config.toml", "codex"),
        (".github/copilot-instructions.md", "copilot"),
    ],
)
def test_harness_of_the_repository(name: str, harness: str, tmp_path: Path) -> None:
    """An agent is used here if the repository has a file of its."""
    assert (harness,) == look(tmp_path, {name: ""}).harnesses


def test_harness_of_the_machine(tmp_path: Path) -> None:
    """An agent is used here if its program is on the path, or its folder in the home folder."""
    program = tmp_path / "bin" / "codex"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    (tmp_path / "home" / ".claude").mkdir(parents=True)
    root = tmp_path / "root"
    root.mkdir()

    found = detect(str(root), home=str(tmp_path / "home"), path=str(program.parent))

    assert ("claude-code", "codex") == found.harnesses


def test_nothing_of_other_agents(tmp_path: Path) -> None:
    """AGENTS.md is read by many agents, so it stands for none of them."""
    assert () == look(tmp_path, {"AGENTS.md": "", ".github/workflows/ci.yml": ""}).harnesses
