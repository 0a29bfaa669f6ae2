"""Actions come apart into parts, each with the canonical exact name of what it touches.

An action that does not come apart is its own only part, with the target `call:DIGEST`. A branch comes apart into what it
changes (`indult.decompose.changes`), and a changed manifest or lock into its entries (`indult.decompose.manifests`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from indult.actions import Action

__all__ = ["Decompose", "Part", "decompose"]


@dataclass(frozen=True, slots=True)
class Part:
    """One part of an action: the tool that it counts as, and its target on demand.

    `target` is a function since an exact name may cost a digest, which most rules never ask for. `origin` is the path
    that a person would look at to see why this part is there, and `within` the exact name of a whole that it belongs
    to, such as a commit: opening that opens the part.
    """

    tool: str
    target: Callable[[], str]
    origin: str = ""
    within: str | None = None


Decompose = Callable[[Action], tuple[Part, ...]]
"""Returns the parts of an action, none where the action is its own only part."""


def decompose(action: Action) -> tuple[Part, ...]:
    """Return the parts of `action`, none where it is its own only part."""
    del action
    return ()
