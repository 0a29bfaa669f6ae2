"""go.mod and go.work: requirements are entries, what sends a module elsewhere is a change, all else is a field.

A requirement that came in with another module cannot be told from one that did not without the go.mod files of all
modules, so each requirement is an entry of its own. `// indirect` is part of a requirement; every other comment is
layout.

Source: The Go Modules Reference, "go.mod files" and "Workspaces".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from dataclasses import field as made
from typing import Any, Final, NamedTuple, TypeVar

from indult.decompose.manifests.go_syntax import Line, lines
from indult.decompose.manifests.names import change, field, shown
from indult.decompose.manifests.reading import Unreadable, decode

__all__ = ["VERSION", "module_path", "targets"]

VERSION: Final = re.compile(
    r"v(?:0|[1-9][0-9]*)\.(?:0|[1-9][0-9]*)\.(?:0|[1-9][0-9]*)(?:-[0-9A-Za-z.-]{1,200})?(?:\+incompatible)?\Z"
)
"""A version as the Go command writes it, a pseudo-version among them; `v1.2` or `latest` is none."""

_MODULE: Final = re.compile(r"[A-Za-z0-9._~-]+(?:/[A-Za-z0-9._~+-]+)*\Z")
_MAX_PATH: Final = 300
_ALONE: Final = frozenset({"go", "toolchain"})
_MOD: Final = frozenset({"module", "godebug", "require", "exclude", "replace", "retract", "tool", "ignore"})
_WORK: Final = frozenset({"godebug", "use", "replace"})

_FOLDER: Final = re.compile(r"\.{0,2}[/\\]|\.{1,2}\Z|[A-Za-z]:")
_INDIRECT: Final = re.compile(r"[ \t]*indirect(?:[ \t]*\Z|;[ \t]+\S)")


_Key = TypeVar("_Key", bound=Hashable)


class _Required(NamedTuple):
    version: str
    indirect: bool


class _Steered(NamedTuple):
    """What sends a module elsewhere: which one, at which version or at all, and how."""

    verb: str
    module: str
    version: str


@dataclass(frozen=True, slots=True)
class _File:
    required: dict[str, _Required] = made(default_factory=dict)
    steered: dict[_Steered, str] = made(default_factory=dict)
    fields: dict[tuple[str, ...], tuple[str, ...]] = made(default_factory=dict)


def targets(path: str, old: bytes | None, new: bytes) -> Iterator[str]:
    """Yield what changed between two versions of a go.mod or go.work."""
    blocks = _WORK if path.rpartition("/")[2] == "go.work" else _MOD
    before = _File() if old is None else _read(old, blocks)
    after = _read(new, blocks)
    yield from _requirements(path, before.required, after.required)
    for key in _changed(before.steered, after.steered):
        yield change(path, key.module, _says(key, after.steered.get(key)))
    for keys in _changed(before.fields, after.fields):
        yield field(path, *keys)


def module_path(text: str) -> str:
    """Return a module path that a registry can serve.

    Raises:
        Unreadable: It is none.
    """
    if len(text) > _MAX_PATH or not _MODULE.match(text):
        raise Unreadable(f"`{shown(text)}` is no module path")
    return text


def _requirements(path: str, before: Mapping[str, _Required], after: Mapping[str, _Required]) -> Iterator[str]:
    for module in _changed(before, after):
        then, now = before.get(module), after.get(module)
        if now is None:
            yield f"entry:{path}#{module}@none"
        elif not VERSION.match(now.version) or (then is not None and not VERSION.match(then.version)):
            yield change(path, module, "not from one plain version to another")
        else:
            yield f"entry:{path}#{module}@{now.version}"


def _changed(before: Mapping[_Key, Any], after: Mapping[_Key, Any]) -> list[_Key]:
    keys = dict.fromkeys([*before, *after])
    return [key for key in keys if before.get(key) != after.get(key)]


def _says(key: _Steered, now: str | None) -> str:
    at = f"{shown(key.version)} " if key.version else ""
    if key.verb == "exclude":
        return f"{at}no longer excluded" if now is None else f"{at}excluded"
    return f"{at}no longer replaced" if now is None else f"{at}replaced by {shown(now)}"


def _read(raw: bytes, blocks: frozenset[str]) -> _File:
    file = _File()
    for line in lines(decode(raw), alone=_ALONE, blocks=blocks):
        _ADD[line.verb](file, line)
    return file


def _require(file: _File, line: Line) -> None:
    module, version = _two(line)
    _put(file.required, module, _Required(version, _INDIRECT.match(line.comment) is not None))


def _exclude(file: _File, line: Line) -> None:
    module, version = _two(line)
    _put(file.steered, _Steered(line.verb, module, version), version)


def _replace(file: _File, line: Line) -> None:
    arrow = 1 if line.args[1:2] == ("=>",) else 2
    left, right = line.args[:arrow], line.args[arrow + 1 :]
    if line.args[arrow : arrow + 1] != ("=>",) or len(right) not in {1, 2} or (len(right) == 1) != _folder(right[0]):
        raise Unreadable("a `replace` that is not MODULE [VERSION] => MODULE VERSION or FOLDER")
    _put(file.steered, _Steered(line.verb, module_path(left[0]), "".join(left[1:])), " ".join(right))


def _single(file: _File, line: Line) -> None:
    """Keep a directive that stands once in a file."""
    _put(file.fields, (line.verb,), (_one(line),))


def _each(file: _File, line: Line) -> None:
    """Keep a directive of which each argument is a thing of its own."""
    _put(file.fields, (line.verb, _one(line)), ())


def _godebug(file: _File, line: Line) -> None:
    name, sign, value = _one(line).partition("=")
    if not name or not sign:
        raise Unreadable("a `godebug` that is not NAME=VALUE")
    _put(file.fields, (line.verb, name), (value,))


def _retract(file: _File, line: Line) -> None:
    """Keep a version or an interval; the reason that may stand beside it is a comment."""
    if len(line.args) not in {1, 5}:
        raise Unreadable("a `retract` that is neither a version nor an interval")
    _put(file.fields, (line.verb, "".join(line.args)), ())


_ADD: Final[Mapping[str, Callable[[_File, Line], None]]] = {
    "module": _single,
    "go": _single,
    "toolchain": _single,
    "require": _require,
    "exclude": _exclude,
    "replace": _replace,
    "retract": _retract,
    "godebug": _godebug,
    "tool": _each,
    "ignore": _each,
    "use": _each,
}


def _one(line: Line) -> str:
    if len(line.args) != 1:
        raise Unreadable(f"`{line.verb}` with {len(line.args)} arguments")
    return line.args[0]


def _two(line: Line) -> tuple[str, str]:
    if len(line.args) != 2:
        raise Unreadable(f"`{line.verb}` with {len(line.args)} arguments")
    return module_path(line.args[0]), line.args[1]


def _folder(text: str) -> bool:
    return _FOLDER.match(text) is not None


def _put(kept: dict[_Key, Any], key: _Key, value: object) -> None:
    """Keep a value; of two, one reader takes the first, another the last and a third the greater."""
    if key in kept:
        named = " ".join(filter(None, key)) if isinstance(key, tuple) else str(key)
        raise Unreadable(f"`{shown(named)}` stands twice")
    kept[key] = value
