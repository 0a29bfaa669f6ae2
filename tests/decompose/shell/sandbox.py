"""A folder in which real bash runs a text while every program that it could find only notes that it was run."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

BASH = shutil.which("bash") or "/bin/bash"

REAL = ("env", "nohup", "timeout", "nice", "stdbuf", "setsid", "ionice", "xargs", "find", "bash", "sh", "dash", "time")
"""Programs that note that they were run, and then run, since what they run in turn is what matters."""

NAMES = [
    "curl",
    "wget",
    "git",
    "rm",
    "cp",
    "mv",
    "ln",
    "cat",
    "ls",
    "grep",
    "rg",
    "find",
    "sort",
    "head",
    "tail",
    "wc",
    "awk",
    "sed",
    "jq",
    "tee",
    "python3",
    "python",
    "node",
    "npm",
    "npx",
    "make",
    "cargo",
    "go",
    "gh",
    "glab",
    "date",
    "id",
    "whoami",
    "touch",
    "mkdir",
    "chmod",
    "chown",
    "nc",
    "ssh",
    "scp",
    "tar",
    "zip",
    "base64",
    "rev",
    "diff",
    "cut",
    "tr",
    "uniq",
    "du",
    "df",
    "ps",
    "kill",
    "sleep",
    "sudo",
    "doas",
    "docker",
    "kubectl",
    "pip",
    "pytest",
    "psql",
    "ruby",
    "perl",
    "php",
    "java",
    "gcc",
    "agent-cli",
    "yarn",
    "pnpm",
    "bun",
    "uv",
    "mywrap",
    "deploy",
    "safe",
    "seq",
    "stat",
    "file",
    "basename",
    "dirname",
    "readlink",
    "realpath",
    "md5sum",
    "sha256sum",
    "xxd",
    "od",
    "strings",
    "hostname",
    "uname",
    "printenv",
    "rsync",
    "split",
    "patch",
    "ed",
    "vi",
    "vim",
    "less",
    "more",
    "man",
    "dd",
    "truncate",
    "mktemp",
    "install",
    "evil",
    "true",
    "false",
    "echo",
    "printf",
    "test",
    "[",
]


class Sandbox:
    """An empty work folder, a home, and a folder of programs that write their name into one file."""

    def __init__(self, folder: Path) -> None:
        self.root, self.home, self.programs = folder / "repo", folder / "home", folder / "bin"
        self.temporary = folder / "tmp"
        self._log = folder / "log"
        for one in (self.root, self.home, self.programs, self.temporary):
            one.mkdir()
        # Whatever is not found is noted too, by bash itself.
        self._start = folder / "start"
        self._start.write_text(
            f'command_not_found_handle() {{ builtin printf "%s\\n" "${{1##*/}}" >> {self._log}; return 0; }}\n'
        )
        for name in NAMES:
            self.program(name)
        for name in REAL:
            self.program(name)

    def program(self, name: str) -> None:
        """Put a program into the folder."""
        path = self.programs / name
        real = shutil.which(name) if name in REAL else None
        more = f'exec {real} "$@"\n' if real else ""
        path.write_text(f'#!{BASH} -p\nbuiltin printf "%s\\n" "{name}" >> {self._log}\n{more}')
        path.chmod(0o755)

    def placed(self, text: str) -> str:
        """Return a text with the places of a case as those of this folder."""
        for place, here in (("/repo", self.root), ("/home/dev", self.home), ("/tmp", self.temporary)):
            text = text.replace(place, str(here))
        return text

    def run(self, text: str) -> set[str]:
        """Run a text and return the names of all programs that ran."""
        self._log.write_text("")
        shutil.rmtree(self.root)
        self.root.mkdir()
        subprocess.run(
            [BASH, "--norc", "--noprofile", "-c", "--", text],
            cwd=self.root,
            env={
                "PATH": str(self.programs),
                "HOME": str(self.home),
                "BASH_ENV": str(self._start),
                "PWD": str(self.root),
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=10,
            check=False,
        )
        return set(self._log.read_text().split("\n")) - {""}


def valid(text: str) -> bool:
    """Tell whether bash takes a text, without running it."""
    ran = subprocess.run(
        [BASH, "-n", "-c", "--", text], capture_output=True, check=False, env={"PATH": os.defpath}, timeout=10
    )
    return ran.returncode == 0
