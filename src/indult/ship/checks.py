"""The checks of a project, run on a fresh checkout of what would land, with an environment of its own.

A check is a program of the project, so it runs code of the branch under judgement. It gets no secret that the caller's
environment may hold, and nothing that it does to the checkout can reach what lands.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from indult.errors import ShipError
from indult.ledger import mask_text

if TYPE_CHECKING:
    from indult.ship.git import Repository

__all__ = ["ENVIRONMENT", "SECONDS", "Failed", "run_checks"]

ENVIRONMENT: Final = ("PATH", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "TZ", "TERM", "SYSTEMROOT")
"""The variables that a check gets from its caller; HOME and TMPDIR are folders of its own."""

SECONDS: Final = 1800.0
"""How long one check may take."""

_EACH: Final = 0.2
"""How many seconds pass between two looks whether a check has to be ended."""

_TAIL: Final = 4000
"""How many bytes of the end of its output are told of a check that failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """A check that did not pass: its name, why, the end of what it printed, and the words of the command that ran."""

    name: str
    why: str
    output: str
    command: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"name": self.name, "command": list(self.command), "why": self.why, "output": self.output}


def run_checks(
    checks: Mapping[str, Sequence[str]],
    repository: Repository,
    tree: str,
    *,
    seconds: float = SECONDS,
    stopped: Callable[[], bool] = lambda: False,
) -> Failed | None:
    """Run each check in a fresh checkout of `tree`, in order of name, and return the first that fails.

    One that takes longer than `seconds`, or is not done when `stopped` says so, has failed.

    Raises:
        ShipError: The checkout cannot be made, or a check's program cannot be started.
    """
    for name, words in sorted(checks.items()):
        with tempfile.TemporaryDirectory(prefix="indult-check-", ignore_cleanup_errors=True) as place:
            folder = Path(place)
            for inner in ("tree", "home", "tmp"):
                (folder / inner).mkdir()
            repository.export(tree, str(folder / "tree"))
            with (folder / "output").open("w+b") as output:
                why = _run(name, list(words), folder, output, seconds, stopped)
                if why is not None:
                    return Failed(name=name, why=why, output=_end(output), command=tuple(words))
    return None


def _run(
    name: str, words: list[str], folder: Path, output: IO[bytes], seconds: float, stopped: Callable[[], bool]
) -> str | None:
    """Run one check and return why it did not pass."""
    own = {"HOME": str(folder / "home"), "TMPDIR": str(folder / "tmp")}
    environment = {key: value for key, value in os.environ.items() if key in ENVIRONMENT} | own
    try:
        process = subprocess.Popen(
            words,
            cwd=folder / "tree",
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as exc:
        raise ShipError(f"the check `{name}` cannot be started: {exc.strerror}: `{words[0]}`") from exc
    try:
        code = _wait(process, seconds, stopped)
    finally:
        _end_group(process)
    if code is None:
        return "stopped" if stopped() else f"not done after {seconds:g} s"
    return None if code == 0 else f"ended with {code}"


def _wait(process: subprocess.Popen[bytes], seconds: float, stopped: Callable[[], bool]) -> int | None:
    """Return what a check ended with, none if it has to be ended."""
    until = time.monotonic() + seconds
    while not stopped() and (left := until - time.monotonic()) > 0:
        with suppress(subprocess.TimeoutExpired):
            return process.wait(min(left, _EACH))
    return None


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """End what a check left running: its process group is its own."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _end(output: IO[bytes]) -> str:
    """Return the end of what was printed, secrets masked."""
    size = output.seek(0, os.SEEK_END)
    output.seek(max(0, size - _TAIL))
    return mask_text(output.read().decode(errors="replace"))
