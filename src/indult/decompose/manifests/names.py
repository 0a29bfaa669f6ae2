"""Names, plain versions and registry addresses of the npm family, and the targets that are made of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from indult.characters import misleading
from indult.decompose.manifests.reading import Unreadable, pointer, same

__all__ = [
    "change",
    "check_needs",
    "commands",
    "entry",
    "field",
    "is_name",
    "is_plain",
    "mapping",
    "shown",
    "tarball",
    "weaker",
]

_MAX_NEEDS: Final = 500_000
_MAX_SHOWN: Final = 100
_MAX_KEY: Final = 200

_NAME: Final = re.compile(r"(?:@[A-Za-z0-9_~-][A-Za-z0-9._~-]{0,99}/)?[A-Za-z0-9_~-][A-Za-z0-9._~-]{0,213}\Z")
_PART: Final = r"(?:0|[1-9][0-9]{0,15})"
_PLAIN: Final = re.compile(rf"{_PART}\.{_PART}\.{_PART}(?:-[0-9A-Za-z.-]{{1,100}})?(?:\+[0-9A-Za-z.-]{{1,100}})?\Z")
_PREFIX: Final = re.compile(r"https?://[A-Za-z0-9.-]{1,253}(?::[0-9]{1,5})?(?:/[A-Za-z0-9_~@-][A-Za-z0-9._~@-]*)*\Z")
_COMMAND: Final = re.compile(r"(?!\.{1,2}\Z)[A-Za-z0-9._~+@-]{1,200}\Z")
_INSIDE: Final = re.compile(r"(?:(?!\.{1,2}(?:/|\Z))[^/\\:\0]++(?:/|\Z))+\Z")
_HASH: Final = re.compile(r"(sha1|sha256|sha384|sha512)-[^\s]+\Z")


def is_name(text: object) -> bool:
    """Tell whether a value is the name of an npm package, with or without a scope."""
    return isinstance(text, str) and _NAME.match(text) is not None


def is_plain(text: object) -> bool:
    """Tell whether a value is one exact version, in three numbers and nothing before them."""
    return isinstance(text, str) and _PLAIN.match(text) is not None


def mapping(value: Any, what: str) -> dict[str, Any]:
    """Return a value that must be an object.

    Raises:
        Unreadable: It is something else.
    """
    if not isinstance(value, dict):
        raise Unreadable(f"{what} is no object")
    return value


def check_needs(records: Iterable[Mapping[str, Any]], keys: tuple[str, ...]) -> None:
    """Refuse a lock with so many needs that finding them all would take too long.

    Raises:
        Unreadable: There are more than any project has.
    """
    count = sum(len(value) for one in records for key in keys if isinstance(value := one.get(key), dict))
    if count > _MAX_NEEDS:
        raise Unreadable("more needs than any project has")


def shown(text: str) -> str:
    """Return a text as it can stand in one line of a message."""
    cut = text if len(text) <= _MAX_SHOWN else text[:_MAX_SHOWN] + "..."
    return "".join(f"\\u{ord(char):04x}" if misleading(char) else char for char in cut)


def entry(path: str, name: str, version: str) -> str:
    """Return the target of an entry that belongs to one package, at its version now."""
    return f"entry:{path}#{name}@{version}" if is_name(name) else change(path, name, "not the name of a package")


def change(path: str, name: str, what: str) -> str:
    """Return the target of a change that no exception can name."""
    return f"change:{path}#{shown(name)}: {what}"


def field(path: str, *keys: str) -> str:
    """Return the target of a changed field; a key that cannot be shown as it is makes it a change."""
    if any(len(key) > _MAX_KEY or any(map(misleading, key)) for key in keys):
        return change(path, keys[-1], "a key that cannot be shown")
    return f"field:{path}#{pointer(*keys)}"


def tarball(url: object, name: str, version: str) -> str | None:
    """Return the registry that an address fetches from, if its file is that version of that package.

    Registries differ in how they write a scope, and in whether the file's name has it.
    """
    if not isinstance(url, str):
        return None
    file = name.rpartition("/")[2]
    for folder in (name, name.replace("/", "%2f"), name.replace("/", "%2F")):
        for ending in (
            f"/{folder}/-/{one}-{it}.tgz" for one in (file, name) for it in (version, version.partition("+")[0])
        ):
            prefix = url.removesuffix(ending)
            if prefix != url and _PREFIX.match(prefix):
                return prefix
    return None


def weaker(old: Mapping[str, Any] | None, new: Mapping[str, Any], key: str = "integrity") -> str | None:
    """Say whether an entry has no hash, or one of a weaker kind than the entry that it replaces.

    Where that one had none either, nothing is wrong.
    """
    before, after = _strength((old or {}).get(key)), _strength(new.get(key))
    if after is None:
        return None if old is not None and key not in old and key not in new else f"has no {key}"
    return f"has a weaker {key}" if before is not None and after < before else None


def commands(old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> str | None:
    """Say whether a package, unlike the one that it replaces, brings commands that are no names or lie outside of it."""
    found = new.get("bin", {})
    if old is not None and same(old.get("bin"), found):
        return None
    places = found if isinstance(found, dict) else {"bin": found}
    for name, place in places.items():
        if not _COMMAND.match(name) or not isinstance(place, str) or not _INSIDE.match(place.removeprefix("./")):
            return f"brings a command outside of it: {shown(name)}"
    return None


def _strength(value: object) -> int | None:
    """Return how strong the strongest hash of a text is, which is the one that counts."""
    found = [_HASH.match(word) for word in value.split()] if isinstance(value, str) else []
    kinds = [int(one[1].removeprefix("sha")) for one in found if one]
    return max(kinds) if kinds and len(kinds) == len(found) else None
