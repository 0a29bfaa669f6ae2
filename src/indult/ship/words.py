"""What a refused ship says: every path at fault with the rule that stops it, and what a named exception does cover."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from indult.boundary import Fault
from indult.decompose.manifests import comparer
from indult.ship.report import DEPENDENCY

if TYPE_CHECKING:
    from indult.policy import Policy
    from indult.scopes import Scope

__all__ = ["MOST_PATHS", "refusal"]

MOST_PATHS: Final = 500
"""How many paths a refusal names; the record of the ship has them all."""

_INSIDE: Final = frozenset({"entry", "script", "lifecycle", "field"})
"""Kinds of parts that lie in a manifest or a lock of which other parts may be allowed."""

_HOW: Final = {
    "delete": "deleted",
    "mode": "mode",
    "link": "a link",
    "gitlink": "a submodule",
}
"""How a file changed, where it is not simply another content."""


def refusal(faults: Sequence[Fault], policy: Policy, scope: Scope | None = None) -> tuple[str, ...]:
    """Return why a ship was refused, a line for each path at fault and what holds for all of them last.

    `scope` is that of the named exception in force, if there is one.
    """
    by_path: dict[str, list[Fault]] = {}
    for fault in faults:
        by_path.setdefault(fault.origin or _path(fault.target), []).append(fault)
    said = [_one(path, found, scope) for path, found in list(by_path.items())[:MOST_PATHS]]
    if len(by_path) > MOST_PATHS:
        said.append(f"and {len(by_path) - MOST_PATHS} more paths")
    if scope is not None:
        covered = _paths(scope)
        said.append(f"the named exception {scope.title} covers only {', '.join(covered or scope.targets)}")
    elif any(policy.rule(name).exception == DEPENDENCY for fault in faults for name in fault.rules):
        said.append(
            "hand back and name the one change that is needed: dependency_exception {dependency, version, paths, change}"
        )
    return tuple(said)


def _one(path: str, faults: Sequence[Fault], scope: Scope | None) -> str:
    """Return what is wrong with one path, and under which rules."""
    rules = ", ".join(sorted({name for fault in faults for name in fault.rules}))
    inside = [fault for fault in faults if _inside(path, fault)]
    if len(inside) < len(faults):
        # The file as a whole is at fault, so it does not help to say which of its parts are, too.
        details = "; ".join(dict.fromkeys(word for fault in faults for word in _detail(path, fault)))
        shown = f" ({details})" if details else ""
        return f"may not change {path}{shown} [{rules}]"
    names = ", ".join(dict.fromkeys(fault.target.partition("#")[2] or _path(fault.target) for fault in inside))
    allowed = _allowed(path, scope)
    return (
        f"may only change {allowed}, not {names} [{rules}]" if allowed else f"may not change {path}: {names} [{rules}]"
    )


def _inside(path: str, fault: Fault) -> bool:
    """Tell whether a fault is one of the parts of a manifest or a lock, such as a patch file that an entry names."""
    kind, name = _kind(fault.target), _path(fault.target)
    return kind in _INSIDE or (kind == "write" and name != path and comparer(path) is not None)


def _allowed(path: str, scope: Scope | None) -> str:
    """Return what may change in a manifest or a lock, in words; empty for nothing."""
    named = scope is not None and f"write:{path}" in scope.targets
    entries = f"the entries of {scope.title.rpartition('@')[0]}" if scope is not None and named else ""
    if path.rpartition("/")[2] == "package.json":
        return f"{path} scripts and {entries}" if entries else f"{path} scripts"
    return f"{entries} in {path}" if entries else ""


def _detail(path: str, fault: Fault) -> Iterable[str]:
    """Yield what a reader cannot see from the path alone."""
    kind, name, what = _kind(fault.target), _path(fault.target), fault.target.partition("#")[2]
    if what:
        yield what
    elif name != path:
        yield f"leads to {name}"
    elif kind in _HOW:
        yield _HOW[kind]


def _paths(scope: Scope) -> list[str]:
    """Return the files that a scope opens, in its order."""
    return [target.removeprefix("write:") for target in scope.targets if target.startswith("write:")]


def _kind(target: str) -> str:
    return target.partition(":")[0]


def _path(target: str) -> str:
    return target.partition(":")[2].partition("#")[0]
