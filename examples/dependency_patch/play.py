"""One story of a dependency patch, told by the real commands in a real repository that is thrown away afterwards.

An agent finds that a fault lies in the library libdb. It may not touch dependencies, so it hands the signal back and
names the one patch that it needs. A person discusses it, then approves it. The agent's first two branches hold more
than that and are refused; the third one lands.

    python examples/dependency_patch/play.py
"""

# ruff: noqa: INP001, T201 # a script that talks, in no package

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

LAW = Path(__file__).parent / "indult.yaml"
PATCH = "patches/libdb@1.8.2.patch"

REPORT = {
    "signal": "s1",
    "by": "fixer",
    "relaxes_constraint": True,
    "card": {"title": "orders hang after a retry", "question": "May libdb be patched?"},
    "dependency_exception": {
        "dependency": "libdb",
        "version": "1.8.2",
        "paths": ["package.json", "bun.lock", PATCH],
        "change": "reset the retry counter when the protocol state returns to idle",
    },
    # What stands in the evidence is on no card, so it opens nothing.
    "evidence": {
        "log": "retries = 7",
        "dependencyException": {
            "dependency": "other",
            "version": "2.0.0",
            "paths": ["package.json"],
            "change": "unshown",
        },
    },
}

MANIFEST: dict[str, Any] = {"name": "demo", "dependencies": {"libdb": "1.8.2", "other": "1.0.0"}}
LOCK: dict[str, Any] = {
    "lockfileVersion": 1,
    "workspaces": {"": MANIFEST},
    "packages": {
        "libdb": ["libdb@1.8.2", "", {}, "sha512-AAAA"],
        "other": ["other@1.0.0", "", {}, "sha512-BBBB"],
    },
}
FILES = {"package.json": MANIFEST, "bun.lock": LOCK, "src/app.js": 'require("libdb").open();\n'}

PATCHED = {"patchedDependencies": {"libdb@1.8.2": PATCH}}
FIX = {
    "package.json": {**MANIFEST, **PATCHED},
    "bun.lock": {**LOCK, **PATCHED},
    PATCH: "--- a/index.js\n+++ b/index.js\n@@ -1 +1,2 @@\n exports.idle = (state) => {\n+  state.retries = 0;\n",
}
BUMPED = {"package.json": {**MANIFEST, **PATCHED, "dependencies": {"libdb": "1.8.2", "other": "2.0.0"}}}


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command did."""

    code: int
    text: str


@dataclass(slots=True)
class Story:
    """The story as it is told: where it happens, whether aloud, the briefs on the way, and what each ship said."""

    folder: Path
    aloud: bool = False
    briefs: dict[str, str] = field(default_factory=dict)
    ships: list[Ran] = field(default_factory=list)
    shown: str = ""
    landed: list[str] = field(default_factory=list)

    def say(self, text: str) -> None:
        """Tell what happens next."""
        if self.aloud:
            print(f"\n# {text}", flush=True)

    def run(self, *words: str, quiet: bool = False, waits: bool = False) -> Ran:
        """Run a command in the repository, and show it unless it is beside the point.

        It ends with 0, or where it `waits` for a person with 4 or 0; anything else ends the story.
        """
        command = [sys.executable, "-m", "indult", *words[1:]] if words[0] == "indult" else list(words)
        done = subprocess.run(
            command,
            cwd=self.folder / "repository",
            env=self._environment(),
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
        )
        if self.aloud and not quiet:
            print(f"$ {shlex.join(words)}\n{done.stdout}", end="", flush=True)
        if done.returncode not in ({0, 4} if waits else {0}):
            raise SystemExit(f"{words[0]} {words[1]} ended with {done.returncode}: {done.stdout}")
        return Ran(done.returncode, done.stdout)

    def brief(self, when: str) -> None:
        """Keep what the agent reads now."""
        task = "Signal s1: orders hang after a retry. Find the cause and repair it."
        self.briefs[when] = self.run("indult", "brief", "--subject", "signal:s1", "--task", task).text

    def commit(self, files: Mapping[str, object], message: str) -> None:
        """Write files and commit all that there is."""
        for name, content in files.items():
            path = self.folder / "repository" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            text = content if isinstance(content, str) else json.dumps(content, indent=2) + "\n"
            path.write_text(text, encoding="utf-8")
        self.run("git", "add", "--all", quiet=True)
        self.run("git", "commit", "--quiet", "--message", message)

    def ship(self) -> None:
        """Try to land the branch."""
        self.ships.append(self.run("indult", "ship", "fix", "--into", "main", "--signal", "s1", waits=True))

    def _environment(self) -> dict[str, str]:
        """Return an environment with nothing in it of the person who runs this."""
        own = {"HOME": str(self.folder), "INDULT_DB": str(self.folder / "ledger.db"), "GIT_CONFIG_NOSYSTEM": "1"}
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "XDG_", "INDULT_"))}
        return {**kept, **own}


def play(folder: Path, *, aloud: bool = False) -> Story:
    """Tell the story in an empty folder, and return it."""
    story = Story(folder, aloud)
    _begin(story)
    _ask(story)
    _repair(story)
    return story


def _begin(story: Story) -> None:
    story.say("A repository with a law of its own.")
    (story.folder / "repository").mkdir()
    story.run("git", "init", "--quiet", "--initial-branch=main", ".")
    for name, value in (("user.name", "Fixer"), ("user.email", "fixer@indult.example")):
        story.run("git", "config", name, value, quiet=True)
    shutil.copy(LAW, story.folder / "repository" / "indult.yaml")
    story.commit(FILES, "The service")
    story.say("What the agent reads: dependencies are not for it to change.")
    story.brief("before")


def _ask(story: Story) -> None:
    story.say("The fault lies in libdb. The agent hands the signal back and names the one patch that it needs.")
    (story.folder / "report.json").write_text(json.dumps(REPORT, indent=2), encoding="utf-8")
    handed = story.run("indult", "report", "@../report.json", waits=True)
    request = handed.text.split()[0]
    story.say("A person looks, and asks back. That opens nothing: the brief stays as it is.")
    story.shown = story.run("indult", "show", request, "--by", "Max").text
    story.run("indult", "discuss", request, "--by", "Max", "--note", "Is there a release that has this?")
    story.brief("discussed")
    story.say("The person approves exactly what was shown, and the same record changes the text.")
    row = json.loads(story.run("indult", "show", request, "--json", quiet=True).text)
    story.run("indult", "approve", request, "--by", "Max", "--digest", row["digest"], "--seen", str(row["seen"]))
    story.brief("approved")


def _repair(story: Story) -> None:
    story.run("git", "switch", "--quiet", "--create", "fix")
    story.say("The first branch holds the patch, and moves another package besides.")
    story.commit({**FIX, **BUMPED}, "Patch libdb, and update other")
    story.ship()
    story.say("The second one leaves that package alone, and adds a file.")
    story.commit({**FIX, "vendor/other.js": "module.exports = 1;\n"}, "Leave other alone")
    story.ship()
    story.say("The third one is what was approved, and lands.")
    (story.folder / "repository" / "vendor" / "other.js").unlink()
    story.commit({}, "Leave vendor alone")
    story.ship()
    story.landed = story.run("git", "diff", "--name-only", "main^1", "main").text.splitlines()
    story.say("The approval is used up, and the agent reads what it read before.")
    story.brief("landed")


if __name__ == "__main__":
    with TemporaryDirectory() as place:
        told = play(Path(place), aloud=True)
    sys.exit(0 if [ship.code for ship in told.ships] == [4, 4, 0] else 1)
