"""The second opinion on manifests: plain parsing, what belongs to the named dependency, and all that does not."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

__all__ = [
    "COMPARED",
    "Compare",
    "Odd",
    "Own",
    "patched",
    "pep503",
    "plain_text",
    "requirement",
    "same",
    "sides",
    "specs",
    "strict_json",
]

LIFECYCLE = {"preinstall", "install", "postinstall", "prepare", "prepublish", "prepublishOnly", "prepack"}
PLAIN = r"v?\d[0-9A-Za-z.+-]*"


class Odd(Exception):
    """A text that does not read one way only."""


class Own(NamedTuple):
    """The dependency that may change in a file: an empty name is that of no package."""

    name: str
    version: str
    paths: tuple[str, ...]
    python: bool

    def named(self, name: str) -> bool:
        """Tell whether this is the name of the dependency."""
        return self.name != "" and (pep503(name) == pep503(self.name) if self.python else name == self.name)

    def moved(self, old: str | None, new: str | None, sign: str = "") -> bool:
        """Tell whether a version text went from one plain version to the one that is named, came, or was removed."""
        if new is None:
            return self.version == "none"
        plain = old is None or re.fullmatch(re.escape(sign) + PLAIN, old) is not None
        return plain and new == sign + self.version


def pep503(name: str) -> str:
    """Return the one spelling of a name of Python."""
    return re.sub(r"[-_.]+", "-", name).lower()


def plain_text(data: bytes) -> str:
    """Return the text of a file that has no byte order mark."""
    if data.startswith(b"\xef\xbb\xbf"):
        raise Odd("a byte order mark")
    return data.decode("utf-8")


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise Odd("a key twice")
    return dict(pairs)


def strict_json(text: str) -> Any:
    """Return the value of a JSON text in which no key stands twice."""
    return json.loads(text, object_pairs_hook=_pairs)


def same(one: Any, other: Any) -> bool:
    """Tell whether two values are the same as JSON, types and all."""
    return json.dumps(one, sort_keys=True, default=str) == json.dumps(other, sort_keys=True, default=str)


def sides(old: Any, new: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield each key that differs between two objects with its two values."""
    for key in sorted({*old, *new}):
        if (key in old) != (key in new) or not same(old.get(key), new.get(key)):
            yield key, old.get(key), new.get(key)


def specs(old: Any, new: Any, own: Own, sign: str = "") -> Iterator[str]:
    """Compare two tables of names and version texts."""
    for name, was, now in sides(old or {}, new or {}):
        if not own.named(name):
            yield f"{name} changed"
        elif not own.moved(was, now, sign) if isinstance(was or now, str) else True:
            yield f"{name} is not plainly at {own.version}"


SECTIONS = ("dependencies", "devDependencies", "optionalDependencies", "peerDependencies")


def _npm(old: str, new: str, own: Own) -> Iterator[str]:
    one, two = strict_json(old), strict_json(new)
    for key, was, now in sides(one, two):
        tables = key == "scripts" or key in {*SECTIONS, "overrides", "resolutions", "patchedDependencies"}
        if tables and not all(isinstance(side, dict) for side in (was, now) if side is not None):
            yield f"{key} is no table"
        elif key == "scripts" and not all(isinstance(value, str) for value in (now or {}).values()):
            yield "scripts that are none"
        elif key == "scripts":
            yield from (f"script {name}" for name, *_ in sides(was or {}, now or {}) if name in LIFECYCLE)
        elif key in {*SECTIONS, "overrides", "resolutions"}:
            yield from specs(was, now, own)
        elif key == "patchedDependencies":
            yield from patched(was, now, own)
        else:
            yield f"{key} changed"


def patched(old: Any, new: Any, own: Own) -> Iterator[str]:
    """Compare two tables of packages at a version and their patch files."""
    for key, _, now in sides(old or {}, new or {}):
        if key != f"{own.name}@{own.version}" or now not in own.paths:
            yield f"patch of {key}"


def requirement(text: str) -> str:
    """Return the name that a requirement begins with."""
    found = re.match(r"[\w.-]+", text)
    if found is None:
        raise Odd(text)
    return found[0]


def _required(old: list[str], new: list[str], own: Own) -> Iterator[str]:
    """Compare two lists of requirements of Python."""
    sides: list[tuple[list[str], list[str]]] = []
    for lines in (old, new):
        named = [(requirement(line), line) for line in lines]
        mine = [line[len(name) :] for name, line in named if own.named(name)]
        sides.append((mine, sorted(pep503(name) + line[len(name) :] for name, line in named if not own.named(name))))
    (was, others), (now, other) = sides
    if others != other:
        yield "another requirement"
    before, after = (side[0] if side else None for side in (was, now))
    if was != now and (max(len(was), len(now)) > 1 or not own.moved(before, after, "==")):
        yield f"{own.name} is not plainly at {own.version}"


def _pyproject(old: str, new: str, own: Own) -> Iterator[str]:
    docs = tomllib.loads(old), tomllib.loads(new)
    lists: list[dict[str, list[str]]] = []
    for doc in docs:
        found = {"dependencies": doc.get("project", {}).pop("dependencies", [])}
        found |= {
            f"extra {key}": value for key, value in doc.get("project", {}).pop("optional-dependencies", {}).items()
        }
        found |= {f"group {key}": value for key, value in doc.pop("dependency-groups", {}).items()}
        found["build"] = doc.get("build-system", {}).pop("requires", [])
        lists.append(found)
    for key in sorted({*lists[0], *lists[1]}):
        yield from _required(lists[0].get(key, []), lists[1].get(key, []), own)
    if not same(*docs):
        yield "another field"


def _requirements(old: str, new: str, own: Own) -> Iterator[str]:
    sides = []
    for text in (old, new):
        joined = re.sub(r"\\\n\s*", " ", text)
        lines = [re.sub(r"(^|\s)#.*", "", line).strip() for line in joined.splitlines()]
        sides.append([re.sub(r"\s+", " ", line) for line in lines if line])
    options = [sorted(line for line in side if line.startswith("-")) for side in sides]
    if options[0] != options[1]:
        yield "an option"
    mine = [[line for line in side if not line.startswith("-") and own.named(requirement(line))] for side in sides]
    hashed = [all(re.search(" --hash=sha256:[0-9a-f]+$", line) for line in side) for side in mine]
    if mine[0] != mine[1] and mine[1] and hashed[0] and not hashed[1]:
        yield "hashes left out"
    same = mine[0] != mine[1] and _versions(mine[0]) == _versions(mine[1])
    if same:
        yield "another hash of the same version"
    before, after = (
        [_unhashed(line) if line in lines else line for line in side if not line.startswith("-")]
        for side, lines in zip(sides, mine, strict=True)
    )
    yield from _required(before, after, own)


def _unhashed(line: str) -> str:
    return re.sub("( --hash=sha256:[0-9a-f]+)+$", "", line)


def _versions(lines: list[str]) -> list[str]:
    return [_unhashed(line) for line in lines]


def _cargo(old: str, new: str, own: Own) -> Iterator[str]:
    one, two = tomllib.loads(old), tomllib.loads(new)
    for key, was, now in sides(one, two):
        if key.endswith("dependencies"):
            yield from specs(was, now, own)
        else:
            yield f"{key} changed"


def _go(old: str, new: str, own: Own) -> Iterator[str]:
    sides: list[tuple[dict[str, str], list[str]]] = []
    for text in (old, new):
        needs: dict[str, str] = {}
        rest = []
        block = ""
        for line in text.splitlines():
            words = line.partition("//")[0].split()
            if words == [")"]:
                block = ""
            elif words[1:] == ["("]:
                block = words[0]
            elif words:
                head, *tail = [block, *words] if block else words
                if head == "require" and len(tail) == 2 and tail[0] not in needs:
                    needs[tail[0]] = tail[1]
                else:
                    rest.append(" ".join([head, *tail]))
        sides.append((needs, rest))
    yield from specs(sides[0][0], sides[1][0], own)
    if sides[0][1] != sides[1][1]:
        yield "another directive"


def _go_sum(old: str, new: str, own: Own) -> Iterator[str]:
    sides: list[dict[tuple[str, str], str]] = []
    for text in (old, new):
        lines = [line.split() for line in text.splitlines() if line.strip()]
        if any(len(line) != 3 for line in lines):
            raise Odd("a line of another form")
        found = {(line[0], line[1]): line[2] for line in lines}
        if len(found) != len(lines):
            raise Odd("a sum twice")
        sides.append(found)
    for key in sorted({*sides[0], *sides[1]}):
        was, now = sides[0].get(key), sides[1].get(key)
        if was == now:
            continue
        version = key[1].removesuffix("/go.mod")
        if not own.named(key[0]) or (was and now) or (now and version != own.version):
            yield f"{key[0]} changed"


Compare = Callable[[str, str, Own], Iterator[str]]
"""Yields what is wrong with the difference between two texts."""

COMPARED: dict[str, Compare] = {
    "package.json": _npm,
    "pyproject.toml": _pyproject,
    "requirements.txt": _requirements,
    "Cargo.toml": _cargo,
    "go.mod": _go,
    "go.sum": _go_sum,
}
