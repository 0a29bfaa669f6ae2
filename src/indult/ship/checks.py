"""The checks of a project, run on a fresh checkout of what would land, with an environment of its own.

A check is a program of the project, so it runs code of the branch under judgement. It gets no secret that the caller's
environment may hold, and nothing that it does to the checkout can reach what lands.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from indult.errors import RunError, ShipError
from indult.keeping.kept import run_kept
from indult.ledger import mask_text

if TYPE_CHECKING:
    from indult.ship.git import Repository

__all__ = ["ENVIRONMENT", "SECONDS", "Failed", "run_checks"]

ENVIRONMENT: Final = ("PATH", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "TZ", "TERM", "SYSTEMROOT")
"""The variables that a check gets from its caller; HOME and TMPDIR are folders of its own."""

SECONDS: Final = 1800.0
"""How long one check may take."""

_GRACE: Final = 1.0
"""For how many seconds what a check leaves behind, or a check that has to end, may end by itself."""

_KILLED: Final = "whoever kept it was killed"

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
            why = _run(name, list(words), folder, seconds, stopped)
            if why is not None:
                return Failed(name=name, why=why, output=_end(folder / "output"), command=tuple(words))
    return None


def _run(name: str, words: list[str], folder: Path, seconds: float, stopped: Callable[[], bool]) -> str | None:
    """Run one check, with all that it starts, and return why it did not pass."""
    own = {"HOME": str(folder / "home"), "TMPDIR": str(folder / "tmp")}
    environment = {key: value for key, value in os.environ.items() if key in ENVIRONMENT} | own
    try:
        kept = run_kept(
            words,
            cwd=str(folder / "tree"),
            environment=environment,
            output=str(folder / "output"),
            seconds=seconds,
            stop=stopped,
            grace=_GRACE,
        )
    except RunError as exc:
        raise ShipError(f"the check `{name}` cannot be started: {exc.message}") from exc
    if kept.why == "not_started":
        raise ShipError(f"the check `{name}` cannot be started: {kept.said}: `{words[0]}`")
    if kept.why != "done":
        return {"timed_out": f"not done after {seconds:g} s", "stopped": "stopped"}.get(kept.why, _KILLED)
    if kept.left:
        return f"left {kept.left} processes that cannot be ended"
    return None if kept.code == 0 else f"ended with {kept.code}"


def _end(output: Path) -> str:
    """Return the end of what was printed, secrets masked."""
    try:
        # A check may have put anything in the place of the file.
        with open(os.open(output, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _TAIL))
            return mask_text(file.read(_TAIL).decode(errors="replace"))
    except OSError:
        return ""
