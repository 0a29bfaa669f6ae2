"""How git is called: with nothing of the caller's environment and configuration that could change its answer.

Settings of the system and of a person are off, so are replace refs, prompts and every transport; HOME is an empty
folder. What a repository itself configures is kept out by never asking git inside of it where that can be helped; see
`indult.ship.git`.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Final

from indult.errors import ShipError

__all__ = ["LEAST", "Git", "failed", "late", "told"]

LEAST: Final = (2, 38)
"""Oldest git that merges without a work tree (`merge-tree --write-tree`)."""

SECONDS: Final = 300.0
"""How long one call of git may take; a file of the repository could be a pipe that nobody ever writes to."""

_KEPT_OUT: Final = ("XDG_CONFIG_HOME", "PAGER", "EDITOR", "VISUAL", "SSH_ASKPASS", "LANGUAGE")

# Set for every call. An empty list of protocols is none: a repository that lacks objects fetches them from nowhere.
_ALWAYS: Final = {
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}

# For calls that read the configuration of a real repository: programs that it may name are named over.
_HARMLESS: Final = (
    "safe.directory=*",
    f"core.hooksPath={os.devnull}",
    "core.fsmonitor=false",
    f"core.attributesFile={os.devnull}",
    f"core.excludesFile={os.devnull}",
    "core.pager=cat",
    "core.untrackedCache=false",
    "core.splitIndex=false",
    "submodule.recurse=false",
    "gc.auto=0",
    "maintenance.auto=false",
)


class Git:
    """Calls the git of this machine, from `home`, an empty folder of ours.

    `shown` are places of ours, each with the one of the repository that it stands for: messages name that one.
    """

    def __init__(self, home: str) -> None:
        self.program = _program()
        self.home = home
        self.shown: dict[str, str] = {}
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.upper().startswith("GIT_") and name not in _KEPT_OUT
        }
        self._environment = {**kept, **_ALWAYS, "HOME": home}

    def environment(self, more: Mapping[str, str]) -> dict[str, str]:
        """Return the environment of a call."""
        return {**self._environment, **more}

    def run(
        self, *words: str, more: Mapping[str, str], cwd: str | None = None, stdin: bytes = b""
    ) -> subprocess.CompletedProcess[bytes]:
        """Run git and return how it ended and what it wrote; `more` is added to its environment."""
        command = [self.program, "--no-pager", *words]
        try:
            # In a group of its own, so that nothing that it started is left when it takes too long.
            process = subprocess.Popen(
                command,
                env=self.environment(more),
                cwd=cwd or self.home,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except (OSError, ValueError) as exc:
            raise ShipError(f"git cannot be started: {exc}") from exc
        try:
            out, said = process.communicate(stdin, SECONDS)
        except BaseException as exc:
            _end_group(process)
            if isinstance(exc, subprocess.TimeoutExpired):
                raise late(SECONDS) from exc
            raise
        for place, meant in self.shown.items():
            said = said.replace(os.fsencode(place), os.fsencode(meant))
        return subprocess.CompletedProcess(command, process.returncode, out, said)

    def inside(
        self, *words: str, more: Mapping[str, str], cwd: str | None = None, stdin: bytes = b""
    ) -> subprocess.CompletedProcess[bytes]:
        """Run git in a real repository, with every program that its configuration could name named over."""
        settings = [word for setting in _HARMLESS for word in ("-c", setting)]
        return self.run(*settings, *words, more=more, cwd=cwd, stdin=stdin)


def late(seconds: float) -> ShipError:
    """Return the error that tells that git did not answer."""
    hint = "look for a pipe or a device in place of a file of the repository, or for a disk that does not answer"
    return ShipError(f"git does not answer within {seconds:g} s", hint=hint)


def failed(done: subprocess.CompletedProcess[bytes], what: str) -> ShipError:
    """Return the error that tells why git could not do something."""
    return ShipError(f"git cannot {what}: {told(done)}")


def told(done: subprocess.CompletedProcess[bytes]) -> str:
    """Return the first line of what git says of a failure, without what could mislead on a terminal."""
    lines = [line.strip() for line in done.stderr.decode(errors="backslashreplace").splitlines() if line.strip()]
    said = next((line for line in lines if line.startswith(("fatal:", "error:"))), lines[0] if lines else "")
    said = re.sub(r"^(fatal|error): ", "", said)
    return "".join(char if char.isprintable() else "?" for char in said)[:300] or f"it ended with {done.returncode}"


def _end_group(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def _program() -> str:
    found = shutil.which("git")
    if found is None:
        raise ShipError("there is no git on the PATH", hint=f"install git {_text(LEAST)} or newer")
    version = _version(found)
    if version < LEAST:
        raise ShipError(f"git is of version {_text(version)}", hint=f"install git {_text(LEAST)} or newer")
    return os.path.abspath(found)  # noqa: PTH100


@lru_cache(maxsize=8)
def _version(program: str) -> tuple[int, ...]:
    try:
        done = subprocess.run([program, "version"], capture_output=True, check=False, env={"LC_ALL": "C"}, timeout=60)
    except subprocess.TimeoutExpired as exc:
        raise late(60) from exc
    except OSError as exc:
        raise ShipError(f"git cannot be started: {exc.strerror}: `{program}`") from exc
    found = re.match(rb"git version (\d+)\.(\d+)", done.stdout)
    if found is None:
        raise ShipError(f"`{program}` does not say which version of git it is")
    return int(found[1]), int(found[2])


def _text(version: Sequence[int]) -> str:
    return ".".join(map(str, version))
