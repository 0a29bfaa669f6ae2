from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from indult.setup.checks import State
from indult.setup.traps import traps

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _no_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Find programs in one folder and the usual ones only."""
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}/usr/bin{os.pathsep}/bin")


def found(harness: str, tmp_path: Path, files: dict[str, str]) -> list[tuple[State, str]]:
    """Write files, and return what is found of a harness."""
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    return [(check.state, check.text) for check in traps(str(tmp_path / "root"), harness, tmp_path / "home")]


@pytest.mark.parametrize(
    ("harness", "file", "content", "text"),
    [
        ("claude-code", "root/.claude/settings.local.json", '{"disableAllHooks": true}', "has `disableAllHooks`"),
        ("claude-code", "root/.claude/settings.json", '{"disableAllHooks": true}', "has `disableAllHooks`"),
        ("claude-code", "home/.claude/settings.json", '{"allowManagedHooksOnly": true}', "has `allowManagedHooksOnly`"),
        ("claude-code", "bin/claude", "#!/bin/sh\necho '2.1.240 (Claude Code)'\n", "version 2.1.240: a hook that is too slow"),
        ("codex", "home/.codex/config.toml", "[features]\nhooks = false\n", "turns the hooks here off"),
        ("codex", "root/.codex/config.toml", "[features]\ncodex_hooks = false\n", "turns the hooks here off"),
        ("codex", "home/.codex/config.toml", "allow_managed_hooks_only = true\n", "turns the hooks here off"),
        ("codex", "bin/codex", "#!/bin/sh\necho 'codex-cli 0.120.1'\n", "version 0.120.1 runs no hooks by default"),
    ],
)  # fmt: skip
def test_failures(harness: str, file: str, content: str, text: str, tmp_path: Path) -> None:
    """Settings and versions in which hooks do not run, or do not block, are failures."""
    assert [text] == [
        text for state, one in found(harness, tmp_path, {file: content}) if state is State.FAIL and text in one
    ]


@pytest.mark.parametrize("harness", ["claude-code", "codex", "copilot"])
def test_nothing_wrong(harness: str, tmp_path: Path) -> None:
    """Where nothing is known to be wrong, what cannot be seen is noted."""
    assert {State.NOTE} == {state for state, _ in found(harness, tmp_path, {"root/.claude/settings.json": "{} // odd"})}


def test_good_version(tmp_path: Path) -> None:
    """A version in which slow hooks block is fine."""
    files = {"bin/claude": "#!/bin/sh\necho '2.1.332 (Claude Code)'\n"}

    assert [(State.OK, "version 2.1.332")] == found("claude-code", tmp_path, files)


@pytest.mark.parametrize("body", ["exit 1", "echo nothing", "exec false"])
def test_version_that_cannot_be_told(body: str, tmp_path: Path) -> None:
    """A program that does not say its version has none that is known."""
    [(state, text)] = found("claude-code", tmp_path, {"bin/claude": f"#!/bin/sh\n{body}\n"})

    assert State.NOTE is state
    assert "is not known here" in text


def test_codex_that_does_not_trust_the_folder(tmp_path: Path) -> None:
    """Codex reads no hooks of a repository that it does not trust, which its settings tell."""
    text = "does not trust this repository"
    before = [one for _, one in found("codex", tmp_path, {}) if text in one]
    config = f'[projects."{tmp_path / "root"}"]\ntrust_level = "trusted"\n'

    assert 1 == len(before)
    assert [] == [one for _, one in found("codex", tmp_path, {"home/.codex/config.toml": config}) if text in one]
