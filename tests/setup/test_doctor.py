from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from indult.decompose.shell import shfmt
from indult.ledger import open_ledger
from indult.policy import load_policy
from indult.setup import canary
from indult.setup.canary import Ran
from indult.setup.checks import Check, State
from indult.setup.detect import Found
from indult.setup.doctor import examine
from indult.setup.harnesses import ENTRIES, merged
from indult.setup.install import journal_place
from indult.setup.policy import policy_text
from indult.setup.writing import Journal, change_of, write
from indult.trust import record_trust

if TYPE_CHECKING:
    from collections.abc import Callable


class Setup:
    """A repository with a policy that is trusted, hooks, and a ledger outside."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "root"
        (self.root / ".git").mkdir(parents=True)
        self.ledger = folder / "kept" / "ledger.db"
        self.home = folder / "home"
        self.home.mkdir()
        self.run = False
        self.policy(policy_text(Found(root=str(self.root))))
        self.trust()

    def policy(self, text: str) -> None:
        """Write the policy."""
        (self.root / "indult.yaml").write_text(text)

    def trust(self) -> None:
        """Record that the policy is trusted."""
        path = self.root / "indult.yaml"
        with open_ledger(str(self.ledger)) as ledger:
            record_trust(path, load_policy(path), ledger, by="ada")

    def hooks(self, harness: str, change: Callable[[str], str] = lambda text: text) -> None:
        """Write the hooks of a harness."""
        path = self.root / ENTRIES[harness].file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(change(merged(harness, "", program="indult")))

    def checks(self, about: str | None = None) -> list[Check]:
        """Return what is found, of one thing alone if it is named."""
        found = examine(str(self.root), str(self.ledger), home=str(self.home), run=self.run)
        return [check for check in found if about in {None, check.about}]

    def failures(self, about: str | None = None) -> list[str]:
        """Return the texts of what failed."""
        return [check.text for check in self.checks(about) if check.state is State.FAIL]


@pytest.fixture(name="setup")
def _setup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Setup:
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}/usr/bin{os.pathsep}/bin")
    return Setup(tmp_path)


@pytest.fixture(name="quick")
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run no hooks, for what is not about their answers."""
    monkeypatch.setattr(canary, "run_hook", lambda *_, **__: Ran(stdout="{}", stderr="", exit_code=0))


@pytest.mark.parametrize("harness", list(ENTRIES))
def test_all_is_well(harness: str, setup: Setup) -> None:
    """With what is installed by default, each canary is denied by the very command that is installed."""
    setup.hooks(harness)

    checks = setup.checks()

    assert [] == [check.text for check in checks if check.state is State.FAIL]
    denied = [check.text for check in checks if " is denied: " in check.text]
    assert 4 == len(denied)
    assert all("denied by" in text for text in denied)
    assert [f"a call {what} is blocked" for what in ("without indult", "in a crash")] == [
        check.text for check in checks if check.text.startswith("a call ")
    ]


def test_command_of_a_stranger(setup: Setup, tmp_path: Path) -> None:
    """A command that is not the one that is written here is shown and not run: it may come from anybody."""
    mark = tmp_path / "mark"
    setup.hooks("codex", lambda text: text.replace("indult hook codex --", f"touch {mark}; indult hook codex --"))

    failures = setup.failures("codex")

    assert [f"its command is not the one that `indult init` writes, so it was not run: touch {mark}; "] == [
        text.partition("indult hook")[0] for text in failures
    ]
    assert not mark.exists()


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(("found", "state"), [(None, State.FAIL), ("root/shfmt", State.NOTE), ("bin/shfmt", State.OK)])
def test_parser(found: str | None, state: State, setup: Setup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the parser of commands every one asks, and one in the work tree can be changed."""

    def program() -> str:
        if found is None:
            raise shfmt.Unparsable("the parser `shfmt` is not installed")
        return str(tmp_path / found)

    monkeypatch.setattr(shfmt, "program", program)

    assert [state] == [check.state for check in setup.checks("parser")]


def test_nothing_stays_behind(setup: Setup) -> None:
    """The canaries leave no trace in the ledger and the repository."""
    setup.hooks("claude-code")
    before = {path: path.read_bytes() for path in setup.root.rglob("*") if path.is_file()}

    setup.checks()

    with open_ledger(str(setup.ledger), read_only=True) as ledger:
        assert ["trusted"] == [event.kind for event in ledger.events()]
    assert before == {path: path.read_bytes() for path in setup.root.rglob("*") if path.is_file()}


def test_policy_that_denies_nothing(setup: Setup) -> None:
    """A policy under which an agent may change its own gate does not pass."""
    setup.policy("schema: 1\nrules: [{id: all, effect: allow}]\n")
    setup.trust()
    setup.hooks("claude-code")

    assert [
        f"{what} is not denied, but runs: "
        for what in (
            "writing indult.yaml",
            "writing .claude/settings.json",
            "`indult approve r_canary`",
            "`indult init --undo`",
        )
    ] == setup.failures("claude-code")


def test_policy_that_only_asks(setup: Setup) -> None:
    """What an approval could open is no denial, though Codex is told to deny it."""
    setup.policy("schema: 1\ndefault: ask\nrules: []\n")
    setup.trust()
    setup.hooks("codex")

    assert ["not denied, but asks"] * 4 == [text.split(" is ")[1].split(":")[0] for text in setup.failures("codex")]


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ('"onFailure": "block"', '"onFailure": "open"', 'lacks `"onFailure": "block"`'),
        ('"timeout": 30', '"timeout": 5', "has 5 seconds"),
        ('"matcher": "*"', '"matcher": "Bash"', "is for `Bash` only"),
        (" --require", "", "lacks `--require`"),
        ("PermissionRequest", "Other", "has no hook for PermissionRequest"),
        ("SessionStart", "Other", "has no hook for SessionStart"),
        ("Stop", "Other", "has no hook for Stop"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("quick")
def test_entries_that_let_calls_through(old: str, new: str, text: str, setup: Setup) -> None:
    """An entry that would let a call through is found by its words."""
    setup.hooks("claude-code", lambda before: before.replace(old, new))

    assert [one for one in setup.failures("claude-code") if text in one]


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("indult hook claude-code --require || ", "true || indult hook claude-code --require || ", "is not denied, but runs"),
        ("exit 2; }", "exit 1; }", "a call in a crash is not blocked: exit code 1"),
        ("exit 2; }", "exit 1; }", "a call without indult is not blocked: exit code 1"),
    ],
)  # fmt: skip
def test_commands_that_let_calls_through(old: str, new: str, text: str, setup: Setup) -> None:
    """A command that lets a call through is found by what it does, once a person has looked at it."""
    setup.run = True
    setup.hooks("claude-code", lambda before: before.replace(old, new))

    assert [one for one in setup.failures("claude-code") if text in one]


@pytest.mark.usefixtures("quick")
def test_gate_that_only_fails(setup: Setup) -> None:
    """A hook that blocks all because it fails proves nothing."""
    setup.policy(policy_text(Found(root="/r")).replace("default: ask", "default: ask\ncontext: {moon: string}"))
    setup.trust()
    setup.hooks("codex")

    found = setup.failures()

    assert "it declares the fact `moon`, which no hook supplies, so every call is blocked" in found


def test_trust(setup: Setup) -> None:
    """A policy that nobody trusts, or another version of it, is a failure."""
    before = (setup.root / "indult.yaml").read_text()
    setup.policy(before + "\nmode: observe\n")

    assert ["the policy is not the version that is trusted; the stricter of both holds"] == setup.failures("trust")
    assert ["it has `mode: observe`, so nothing is blocked"] == setup.failures("policy")


def test_nobody_trusts(setup: Setup) -> None:
    """Without a record of trust, whoever writes the file makes the law."""
    setup.ledger.unlink()
    with open_ledger(str(setup.ledger)):
        pass

    told = (
        "nobody trusts the policy here yet: until somebody does, what the file allows is allowed, and whoever writes it"
        " makes the law"
    )
    assert [told] == setup.failures("trust")
    setup.ledger.unlink()
    assert [told] == setup.failures("trust")


def test_ledger(setup: Setup) -> None:
    """A ledger that others can read, or that lies in the work tree, is a failure, and so is none."""
    setup.ledger.chmod(0o644)
    setup.ledger.parent.chmod(0o755)
    assert ["mode 0644", "mode 0755"] == [text.split("has ")[1].split(",")[0] for text in setup.failures("ledger")]
    setup.ledger = setup.root / "x.db"

    assert 2 == len(setup.failures("ledger"))


def test_hooks_of_one_harness_that_are_gone(setup: Setup) -> None:
    """Hooks that a setup wrote and that are gone are a failure, even where another harness still has its own."""
    journal = Journal(place=journal_place(str(setup.root)), root=str(setup.root))
    changes = [
        change_of(str(setup.root), ENTRIES[harness].file, merged(harness, "").encode())
        for harness in ("codex", "claude-code")
    ]
    write(journal, changes)
    assert [] == setup.failures()
    (setup.root / ".claude" / "settings.json").write_text("{}")

    assert [".claude/settings.json has no hook any more, so nothing is judged there"] == setup.failures()


@pytest.mark.usefixtures("quick")
def test_harness_without_hooks(setup: Setup) -> None:
    """A harness whose files are here, and that nobody set up, is noted."""
    setup.hooks("codex")
    (setup.root / "CLAUDE.md").write_text("")

    assert [State.NOTE] == [check.state for check in setup.checks("claude-code")]


@pytest.mark.parametrize("harness", list(ENTRIES))
def test_program_that_is_not_there(harness: str, setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the hooks name a program that is not there, that is said, and how to mend it, and nothing else is tried."""
    setup.hooks(harness)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")

    failed = [check for check in setup.checks(harness) if check.state is State.FAIL]

    assert [
        ("its hooks run `indult`, which is not found from here, so every call is blocked",
         f"put it there, or: indult init --harness {harness}")
    ] == [(check.text, check.hint) for check in failed]  # fmt: skip


def test_policy_that_breaks_every_call(setup: Setup) -> None:
    """A call that is blocked because it could not be judged is told from one that is denied."""
    setup.hooks("claude-code")
    setup.policy(policy_text(Found(root="/r")).replace("default: ask", "default: ask\ncontext: {moon: string}"))
    setup.trust()

    found = setup.failures("claude-code")

    assert 4 == len([text for text in found if "is blocked, but not judged: " in text])
    assert [] == [text for text in found if "is not denied" in text]


def test_no_hooks(setup: Setup) -> None:
    """A repository without any hook is not set up."""
    assert ["no harness has a hook of indult"] == setup.failures()


def test_policy_that_does_not_load(setup: Setup) -> None:
    """Where the policy does not load, nothing else is tried."""
    setup.policy("schema: 2\n")

    assert ["policy", "ledger"] == [check.about for check in setup.checks()]


@pytest.mark.usefixtures("quick")
def test_traps(setup: Setup) -> None:
    """What keeps hooks from running is a failure, whatever the hooks answer."""
    setup.hooks("codex")
    (setup.home / ".codex").mkdir()
    (setup.home / ".codex" / "config.toml").write_text("[features]\nhooks = false\n")

    assert [text for text in setup.failures("codex") if "turns the hooks here off" in text]


@pytest.mark.usefixtures("quick")
def test_program_in_the_work_tree(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    """An indult that lies where the agent may write is noted."""
    program = setup.root / ".venv" / "bin" / "indult"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent))

    assert [State.NOTE] == [check.state for check in setup.checks("program")]


def test_json_form(setup: Setup) -> None:
    """A check has a JSON form."""
    assert {"about", "state", "text", "hint"} == set(json.loads(json.dumps(setup.checks()[0].to_dict())))
