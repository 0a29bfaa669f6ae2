"""Actions come apart into parts, each with the canonical exact name of what it touches.

Every action is its own only part so far, with the target `call:DIGEST`; shells, files and branches bring more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from indult.actions import Action

__all__ = ["Part", "decompose"]


@dataclass(frozen=True, slots=True)
class Part:
    """One part of an action: the tool it belongs to, the kind of its target, and its target on demand.

    `target` is a function since the exact name of a call costs a digest, which most rules never ask for.
    """

    tool: str
    kind: str
    target: Callable[[], str]
    own: bool


def decompose(action: Action) -> tuple[Part, ...]:
    """Return the parts of `action`; there is always at least one."""
    return (Part(action.tool, "call", lambda: f"call:{action.digest}", True),)
