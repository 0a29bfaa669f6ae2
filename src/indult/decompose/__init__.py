"""Actions come apart into parts, each with the canonical exact name of what it touches.

An action that does not come apart is its own only part, with the target `call:DIGEST`. So far none does: shells, files
and branches bring the decomposers that tell otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from indult.actions import Action

__all__ = ["Decompose", "Part", "decompose"]


@dataclass(frozen=True, slots=True)
class Part:
    """One part of an action: the tool that it counts as, and its target on demand.

    `target` is a function since an exact name may cost a digest, which most rules never ask for.
    """

    tool: str
    target: Callable[[], str]


Decompose = Callable[[Action], tuple[Part, ...]]
"""Returns the parts of an action, none where the action is its own only part."""


def decompose(action: Action) -> tuple[Part, ...]:
    """Return the parts of `action`, none where it is its own only part."""
    del action
    return ()
