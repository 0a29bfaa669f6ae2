"""What a refused ship says: every path at fault with the rule that stops it, and what a named exception does cover."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from indult.approvals import Choice, RequestState, Standing
from indult.boundary import Fault
from indult.decompose.manifests import comparer
from indult.errors import ScopeError
from indult.judgements import Verdict
from indult.scopes import Scope, dependency_path
from indult.ship.report import DEPENDENCY

if TYPE_CHECKING:
    from indult.policy import Policy

__all__ = ["MOST_PATHS", "answered", "in_short", "refusal"]

MOST_PATHS: Final = 500
"""How many paths a refusal names; the record of the ship has them all."""

_SHORT: Final = 3
"""How many of the changes that ask stand in the title of a held commit; its card has them all."""

_PLAIN: Final = re.compile(r"[\w.@/+~^-]{1,60}", re.ASCII)
"""A name that nobody can take for more than a name."""

_INSIDE: Final = frozenset({"entry", "script", "lifecycle", "field"})
"""Kinds of parts that lie in a manifest or a lock of which other parts may be allowed."""

_HOW: Final = {
    "delete": "deleted",
    "mode": "mode",
    "link": "a link",
    "gitlink": "a submodule",
}
"""How a file changed, where it is not simply another content."""


def refusal(
    faults: Sequence[Fault], policy: Policy, scope: Scope | None = None, *, signal: str = "ID"
) -> tuple[str, ...]:
    """Return why a ship was refused, a line for each path at fault and what holds for all of them last.

    `scope` is that of the named exception in force, if there is one. `signal` is the id of the signal that is shipped.
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
    said += _ways_on(faults, policy, signal) if scope is None else ()
    return tuple(said)


def in_short(targets: Iterable[str]) -> str:
    """Return the first things among the targets that ask, dependencies with the files that they stand in.

    It is empty where a name could be taken for more than a name: whoever made the commit chose it.
    """
    places: dict[str, list[str]] = {}
    for target in targets:
        thing = target.partition("#")[2] if _kind(target) == "entry" else ""
        places.setdefault(thing or _path(target), []).extend([_path(target)] if thing else [])
    if not all(map(_PLAIN.fullmatch, [*places, *(path for paths in places.values() for path in paths)])):
        return ""
    said = [f"{thing} in {', '.join(dict.fromkeys(paths))}" if paths else thing for thing, paths in places.items()]
    more = [f"{len(said) - _SHORT} more"] if len(said) > _SHORT else []
    return "; ".join([*said[:_SHORT], *more])


def answered(found: Standing | None, subject: str) -> str:
    """Return what has become of the last question that was put to a person for a subject."""
    if found is None:
        return f"nothing was handed back for {subject}"
    request = found.request.id
    match found.state:
        case RequestState.OPEN:
            talk = found.decisions and found.decisions[-1].choice is Choice.DISCUSS
            said = f", and {found.answer}" if talk else ""
            return f"{request} waits for an answer{said}: indult show {request}"
        case RequestState.REJECTED:
            return f"{request} was answered: {found.answer}"
        case RequestState.APPROVED:
            return f"{request} named no exception, so its approval opened nothing: name it and ask again"
        case _:
            return f"{request} is {found.state}: hand back again"


def _ways_on(faults: Sequence[Fault], policy: Policy, signal: str) -> Iterator[str]:
    """Yield how what is at fault could be opened, or that it cannot."""
    denied = {name for fault in faults if fault.verdict is Verdict.DENY for name in fault.rules}
    if denied:
        yield f"no approval opens what is denied [{', '.join(sorted(denied))}]: take it off the branch"
    elif all(_nameable(fault, policy) for fault in faults):
        yield "hand back and name the one change that is needed: dependency_exception {dependency, version, paths, change}"
        owners = {fault.target.partition("#")[2] for fault in faults if _kind(fault.target) == "entry"}
        if len(owners) == 1:
            name, _, version = owners.pop().rpartition("@")
            paths = dict.fromkeys(_path(fault.target) for fault in faults)
            words = ["--dependency", name, "--version", version, *(word for path in paths for word in ("--path", path))]
            named = f"--signal {shlex.quote(signal)} --relaxes-constraint"
            yield f"as a command: indult report {named} {shlex.join(words)} --change TEXT"


def _nameable(fault: Fault, policy: Policy) -> bool:
    """Tell whether a named exception could cover a fault."""
    kind, path = _kind(fault.target), _path(fault.target)
    try:
        if kind == "entry":
            name, _, version = fault.target.partition("#")[2].rpartition("@")
            Scope.dependency(name, version, [path], "c", subject="s")
        elif kind != "write" or not dependency_path(path):
            return False
    except ScopeError:
        return False
    return all(policy.rule(name).exception == DEPENDENCY for name in fault.rules)


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
