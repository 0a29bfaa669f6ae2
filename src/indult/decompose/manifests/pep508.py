"""Python requirements, as manifests and locks name them: a package, how it is asked for, and at which version.

What counts is the kind of a requirement. `httpkit==2.1.0` and `httpkit==2.1.1` are of one kind, and the version is all
that differs. A range is an entry at a text that no approval of a version opens; an extra, a marker or a direct URL makes
another kind.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from indult.decompose.manifests import ranges
from indult.decompose.manifests.reading import Unreadable

__all__ = ["Entry", "compare", "freeze", "normal", "plain", "read", "read_all", "shown", "specified", "with_options"]

_NAME: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?\Z")
_VERSION: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.!+_-]*[A-Za-z0-9])?\Z")
_RUN: Final = re.compile(r"[-_.]+")
_LONGEST: Final = 2000
_MOST: Final = 20_000
_SHOWN: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One requirement: `pin` is its plain version, None where it has none, and `kind` all else that may not change.

    `name` is normalised, and empty where the text is no requirement of a named package. `alone` tells that nothing but
    the name and the version was given. `hashes` are those of the files that may be installed. `range` is the text of
    the versions that may be taken where there is no plain one, and `base` what may not change where a range comes or
    goes: it is empty where neither may.
    """

    name: str
    pin: str | None
    kind: tuple[Any, ...]
    text: str = field(compare=False)
    alone: bool = False
    hashes: frozenset[str] = frozenset()
    range: str | None = None
    base: tuple[Any, ...] = ()


def normal(name: str) -> str:
    """Return a package's name as all of its spellings have it (PEP 503), empty where it cannot be one."""
    return _RUN.sub("-", name).lower() if len(name) <= _LONGEST and _NAME.match(name) else ""


def plain(version: object) -> bool:
    """Tell whether a value is the text of one exact version."""
    return isinstance(version, str) and len(version) <= _LONGEST and _VERSION.match(version) is not None


def shown(text: str) -> str:
    """Return what a message can show of a text: one line, printable, and not long."""
    line = " ".join(text.split())
    cut = line if len(line) <= _SHOWN else f"{line[:_SHOWN]}..."
    return "".join(char if char.isascii() and char.isprintable() else f"\\u{ord(char):04x}" for char in cut)


def freeze(value: Any) -> tuple[Any, ...]:
    """Return a value in a form that can be hashed and that is equal only where types are equal too."""
    if isinstance(value, Mapping):
        return ("table", tuple(sorted((key, freeze(held)) for key, held in value.items())))
    if isinstance(value, list | tuple):
        return ("list", tuple(freeze(held) for held in value))
    return (type(value).__name__, repr(value))


def read(text: str) -> Entry:
    """Return the requirement that a text is; one that is none by PEP 508 counts as a whole, under no name."""
    # Imported late: only a changed Python manifest needs it.
    from packaging.requirements import InvalidRequirement, Requirement

    nothing = Entry(name="", pin=None, kind=("text", text.strip()), text=text)
    # Readers replace `${NAME}`, so that what it stands for is known nowhere else; beyond ASCII, patterns that ignore
    # case take some letters for others.
    if len(text) > _LONGEST or not text.isascii() or "${" in text:
        return nothing
    try:
        found = Requirement(text)
        marker = str(found.marker or "")
    except (InvalidRequirement, ValueError, RecursionError):
        return nothing
    rest = (tuple(sorted(found.extras)), marker)
    if found.url is not None:
        return Entry(name=normal(found.name), pin=None, kind=("url", found.url, *rest), text=text)
    return _specified(normal(found.name), [str(one) for one in found.specifier], rest, text, alone=rest == ((), ""))


def read_all(texts: Sequence[str]) -> list[Entry]:
    """Return the requirements that texts are.

    Raises:
        Unreadable: There are more than any project has.
    """
    if len(texts) > _MOST:
        raise Unreadable(f"over {_MOST} requirements in one list")
    return [read(text) for text in texts]


def specified(name: str, specifier: str, rest: tuple[Any, ...], *, text: str, alone: bool) -> Entry:
    """Return the requirement of a package whose specifiers stand apart from its name, as in a lock."""
    specifiers = [one.strip() for one in specifier.split(",")] if specifier.strip() else []
    return _specified(normal(name), specifiers, rest, text, alone=alone)


def _specified(name: str, specifiers: list[str], rest: tuple[Any, ...], text: str, *, alone: bool) -> Entry:
    if not name:
        return Entry(name="", pin=None, kind=("text", text, *rest), text=text)
    if len(specifiers) == 1:
        version = re.fullmatch(r"==\s*([^=\s].*)", specifiers[0])
        if version and plain(version[1]):
            return Entry(name=name, pin=version[1], kind=("==", *rest), text=text, alone=alone, base=("pep508", *rest))
    kind = ("range", tuple(sorted(specifiers)), *rest)
    found = ranges.python(specifiers)
    base = () if found is None else ("pep508", *rest)
    return Entry(name=name, pin=None, kind=kind, text=text, alone=alone, range=found, base=base)


def compare(path: str, old: Iterable[Entry], new: Iterable[Entry]) -> Iterator[str]:
    """Yield the targets of what changed between two lists of requirements of one place; their order means nothing."""
    before, after = _grouped(old), _grouped(new)
    for key in {**before, **after}:
        yield from _same_name(path, before.get(key, []), after.get(key, []))


def _grouped(entries: Iterable[Entry]) -> dict[tuple[str, str], list[Entry]]:
    groups: dict[tuple[str, str], list[Entry]] = {}
    for entry in entries:
        groups.setdefault((entry.name, "" if entry.name else entry.text.strip()), []).append(entry)
    return groups


def _same_name(path: str, old: Sequence[Entry], new: Sequence[Entry]) -> Iterator[str]:
    gone = list((Counter(old) - Counter(new)).elements())
    come = list((Counter(new) - Counter(old)).elements())
    if not gone and not come:
        return
    name = (come or gone)[0].name
    if not name:
        yield f"change:{path}#{shown((come or gone)[0].text)}: {'added' if come else 'removed'}"
    elif not new:
        yield f"entry:{path}#{name}@none"
    elif not old and len(come) == 1 and come[0].alone and come[0].pin is not None:
        yield f"entry:{path}#{name}@{come[0].pin}"
    elif not old and len(come) == 1 and come[0].alone and come[0].range is not None:
        yield f"entry:{path}#{name}@{ranges.unnamed(come[0].range)}"
    elif not old:
        what = "named more than once" if len(come) > 1 else f"added as `{shown(come[0].text)}`"
        yield f"change:{path}#{name}: {what}"
    else:
        yield from _moved(path, name, gone, come)


def _moved(path: str, name: str, gone: list[Entry], come: list[Entry]) -> Iterator[str]:
    """Yield what became of the requirements of one name, which can be told only if each has one of its kind."""
    before = {_kept(entry): entry for entry in gone}
    after = {_kept(entry): entry for entry in come}
    if before.keys() != after.keys() or not len(before) == len(gone) == len(come):
        yield f"change:{path}#{name}: {_difference(gone, come)}"
        return
    for key, new in after.items():
        old = before[key]
        if old.kind == new.kind:
            yield from _version(path, old, new)
        elif not (old.range or new.range) or old.hashes or new.hashes:
            # A range with hashes is one that only these files can meet.
            yield f"change:{path}#{name}: {_difference([old], [new])}"
        else:
            now = ranges.was(str(new.pin), str(old.range)) if new.range is None else ranges.unnamed(new.range)
            yield f"entry:{path}#{name}@{now}"


def _kept(entry: Entry) -> tuple[Any, ...]:
    """Return what has to stay the same when the versions that a requirement asks for change."""
    return entry.base or entry.kind


def _version(path: str, old: Entry, new: Entry) -> Iterator[str]:
    """Yield what became of one requirement, of which the version, the hashes or both changed."""
    if old.pin == new.pin:
        if new.pin is not None:
            yield f"entry:{path}#{new.name}@{new.pin}"
        yield f"change:{path}#{new.name}: hashes changed while the version stays"
    elif old.pin is None or new.pin is None:
        yield f"change:{path}#{new.name}: no plain version on one side"
    elif bool(old.hashes) != bool(new.hashes):
        yield f"change:{path}#{new.name}: hashes {'added' if new.hashes else 'removed'}"
    elif not _algorithms(new) <= _algorithms(old):
        yield f"change:{path}#{new.name}: hashed in another way"
    else:
        yield f"entry:{path}#{new.name}@{new.pin}"


def _algorithms(entry: Entry) -> set[str]:
    return {one.partition(":")[0] for one in entry.hashes}


def _difference(gone: list[Entry], come: list[Entry]) -> str:
    if len(gone) != 1 or len(come) != 1:
        return "named more than once"
    return f"`{shown(gone[0].text)}` became `{shown(come[0].text)}`"


def with_options(entry: Entry, options: tuple[str, ...], hashes: Iterable[str], *, text: str) -> Entry:
    """Return a requirement with what stands behind it on its line: its hashes, and options that may not change."""
    return replace(
        entry,
        kind=(*entry.kind, *options),
        base=(*entry.base, *options) if entry.base else (),
        alone=entry.alone and not options,
        hashes=frozenset(hashes),
        text=text,
    )
