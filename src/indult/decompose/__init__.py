"""Actions come apart into parts, each with the canonical exact name of what it touches.

An action that does not come apart is its own only part, with the target `call:DIGEST`. A shell line comes apart into the
commands that it runs (`indult.decompose.shell`), a call of a file tool into the file as it reads and as its links lead
(`indult.decompose.files`). A call of any other tool that carries a `command` is itself and the commands in it. A branch
comes apart into what it changes (`indult.decompose.changes`), and a changed manifest or lock into its entries
(`indult.decompose.manifests`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

from indult.actions import Action

if TYPE_CHECKING:
    from indult.decompose.paths import FileSystem, Places

__all__ = ["SHELL_TOOLS", "Decompose", "Part", "decompose", "decompose_with"]

SHELL_TOOLS: Final = frozenset(
    {
        "Bash", "bash", "PowerShell", "powershell", "Shell", "shell", "local_shell", "shell_command", "container.exec",
        "exec_command", "run_command", "run_shell_command", "run_terminal_cmd", "run_in_terminal",
    }
)  # fmt: skip
"""Tools of harnesses that do nothing but run the `command` that they are given."""


class Part(NamedTuple):
    """One part of an action: the tool that it counts as, and its target on demand.

    `target` is a function since an exact name may cost a digest, which most rules never ask for. `origin` is the path
    that a person would look at to see why this part is there, and `within` the exact name of a whole that it belongs
    to, such as a commit: opening that opens the part.

    The others only ever make a verdict stricter. `also` are more exact names of the same thing, which deny and ask rules
    meet as they meet the target; a grant covers the part by its target alone. `maybe` are globs of names that it could
    turn out to have: whatever denies or asks about one of them makes it an ask, which nothing opens. `asks` says why the
    part needs approval whatever allows it. `finds` lists what the part comes upon, as targets such as `read:a`, none where
    it is too much: a rule that denies one of them makes it an ask, which nothing opens. It looks at the disk, so that it is
    called only where the answer hangs on it. A `free` part needs no rule that allows it, but deny and ask rules hold for
    it too; there is always another part that does need one.
    """

    tool: str
    target: Callable[[], str]
    origin: str = ""
    within: str | None = None
    also: tuple[str, ...] = ()
    maybe: tuple[str, ...] = ()
    asks: str = ""
    free: bool = False
    finds: Callable[[], tuple[str, ...] | None] | None = None


Decompose = Callable[[Action], tuple[Part, ...]]
"""Returns the parts of an action, none where the action is its own only part."""


def decompose(action: Action) -> tuple[Part, ...]:
    """Return the parts of `action`, none where it is its own only part."""
    del action
    return ()


def decompose_with(fs: FileSystem, root: str, home: str | None, shell_tools: frozenset[str] = SHELL_TOOLS) -> Decompose:
    """Return the decomposer for calls of tools on a disk; paths below `root` are named from there.

    A call comes apart by its tool, or as a shell line where its arguments carry a `command`; any other call is its own
    only part. Only of `shell_tools` is it known that they do no more than run that line: a call of any other tool is a
    part too.
    """
    from indult.decompose.paths import Places

    def decomposer(action: Action) -> tuple[Part, ...]:
        try:
            places = Places(fs, root, home)
            inside = places.is_absolute(action.cwd or "")
            cwd = places.normal(action.cwd if action.cwd and inside else f"{root}/{action.cwd or ''}")
            return _taken_apart(action, cwd, places, shell_tools)
        except Exception as exc:
            # Whatever went wrong, what is not known is not allowed.
            why = f"it cannot be taken apart: {type(exc).__name__}"
            return (Part(action.tool, lambda: 'command:{"argv":[null]}', asks=why),)

    return decomposer


def _taken_apart(action: Action, cwd: str, places: Places, shell_tools: frozenset[str]) -> tuple[Part, ...]:
    from indult.decompose.files import file_parts

    found = file_parts(action, cwd, places)
    if found is None and "command" in action.args:
        from indult.decompose.shell import call_parts

        found = call_parts(action, cwd, places)
        if action.tool not in shell_tools:
            found = (Part(action.tool, action.target), *found)
    return found or ()
