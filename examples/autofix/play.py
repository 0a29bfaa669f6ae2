"""A shop that repairs itself, told by the real commands in a real repository that is thrown away afterwards.

Three of its tests fail: one for a bug of its own, one for a bug in a library that it vendors, one for wrong data. Each is
noticed and becomes a signal; a fixer works on each in a work tree of its own. The first fix lands, on its second turn.
The second one is handed back, names the one patch that it needs, and lands after a person approved exactly that. The
third one would change what nobody opens for a fixer, so it is handed back for good.

    python examples/autofix/play.py
"""

# ruff: noqa: INP001, T201 # a script that talks, in no package

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

HERE = Path(__file__).parent
TESTS = ("tests.test_total", "tests.test_store", "tests.test_rates")


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command did."""

    code: int
    text: str


@dataclass(slots=True)
class Story:
    """The story as it is told: where it happens, whether aloud, and what came of it on the way."""

    folder: Path
    aloud: bool = False
    signals: list[dict[str, Any]] = field(default_factory=list)
    runs: list[dict[str, Any]] = field(default_factory=list)
    shown: str = ""
    request: str = ""
    passing: list[str] = field(default_factory=list)

    def say(self, text: str) -> None:
        """Tell what happens next."""
        if self.aloud:
            print(f"\n# {text}", flush=True)

    def run(self, *words: str, ends: tuple[int, ...] = (0,), quiet: bool = False) -> Ran:
        """Run a command in the repository and show it; an end other than `ends` ends the story."""
        command = [sys.executable, "-m", "indult", *words[1:]] if words[0] == "indult" else list(words)
        done = subprocess.run(
            command,
            cwd=self.folder / "shop",
            env=self._environment(),
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
        )
        if self.aloud and not quiet:
            print(f"$ {shlex.join(words)}\n{done.stdout}", end="", flush=True)
        if done.returncode not in ends:
            raise SystemExit(f"{shlex.join(words)} ended with {done.returncode}: {done.stdout}")
        return Ran(done.returncode, done.stdout)

    def rows(self, *words: str, ends: tuple[int, ...] = (0,)) -> list[dict[str, Any]]:
        """Return what a command prints as JSON, line by line."""
        return [json.loads(line) for line in self.run(*words, "--json", ends=ends, quiet=True).text.splitlines()]

    def autofix(self, verb: str, *words: str) -> None:
        """Run autofix, and keep its receipt."""
        self.run("indult", "autofix", verb, *words, ends=(0, 4))
        self.runs.append(self.rows("indult", "autofix", "status")[0]["latest"][0])

    def _environment(self) -> dict[str, str]:
        """Return an environment with nothing in it of the person who runs this."""
        cache = str(self.folder / "cache")  # byte code is no part of the shop
        own = {"HOME": str(self.folder), "GIT_CONFIG_NOSYSTEM": "1", "PYTHONPYCACHEPREFIX": cache}
        path = os.pathsep.join([str(self.folder / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]])
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "XDG_", "INDULT_"))}
        kept.pop("PYTHONDONTWRITEBYTECODE", None)
        return {**kept, **own, "PATH": path}


def play(folder: Path, *, aloud: bool = False) -> Story:
    """Tell the story in an empty folder, and return it."""
    story = Story(folder, aloud)
    _begin(story)
    _notice(story)
    _repair(story)
    return story


def _begin(story: Story) -> None:
    story.say("A shop with a law of its own, which names its fixer. A person looks at it and trusts it as it is.")
    shutil.copytree(HERE / "shop", story.folder / "shop", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(HERE / "indult.yaml", story.folder / "shop")
    (story.folder / "bin").mkdir()
    shutil.copy(HERE / "mender.py", story.folder / "bin" / "mender")
    (story.folder / "bin" / "mender").chmod(0o755)
    story.run("git", "init", "--quiet", "--initial-branch=main", ".")
    for name, value in (("user.name", "Shop"), ("user.email", "shop@indult.example")):
        story.run("git", "config", name, value, quiet=True)
    story.run("git", "add", "--all", quiet=True)
    story.run("git", "commit", "--quiet", "--message", "The shop")
    digest = story.rows("indult", "trust", "--show", ends=(4,))[0]["digest"]
    story.run("indult", "trust", "--digest", digest)


def _notice(story: Story) -> None:
    story.say(
        "Three tests fail. Each is run under `indult watch`, which makes a signal of a failure; twice is still one."
    )
    for number, name in enumerate((*TESTS, TESTS[0])):
        story.run("indult", "watch", "--", "python3", "-m", "unittest", name, ends=(1,), quiet=number == len(TESTS))
    story.run("indult", "signal", "list")
    story.signals = story.rows("indult", "signal", "list")


def _repair(story: Story) -> None:
    story.say("The fixer works on each signal in turn. What it leaves is shipped through the gate.")
    story.autofix("run")
    story.say(
        "One fix has landed, and two questions wait. A person looks at the one that names a patch, and approves it."
    )
    waiting = story.rows("indult", "requests")
    story.request = next(row["id"] for row in waiting if row["title"] == "libdb@1.8.2")
    story.shown = story.run("indult", "show", story.request, "--by", "Max").text
    row = story.rows("indult", "show", story.request)[0]
    words = ("--by", "Max", "--digest", row["digest"], "--seen", str(row["seen"]))
    story.run("indult", "approve", story.request, *words)
    story.say("The run goes on: the same record that changed the task lets the patch through the gate.")
    story.autofix("resume")
    story.say("The data still waits for a person: no approval opens it for a fixer.")
    story.run("indult", "signal", "list")
    for name in TESTS:
        done = story.run("python3", "-m", "unittest", "--quiet", name, ends=(0, 1), quiet=True)
        if done.code == 0:
            story.passing.append(name)
    story.say(f"What passes now: {', '.join(story.passing)}.")


if __name__ == "__main__":
    with TemporaryDirectory() as place:
        told = play(Path(place), aloud=True)
    sys.exit(0 if told.passing == list(TESTS[:2]) else 1)
