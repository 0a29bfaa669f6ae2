"""The presets that a policy can extend: versioned policy files shipped with the package."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from indult.errors import PolicyError
from indult.policy.reader import read

if TYPE_CHECKING:
    from indult.policy.reader import Document

__all__ = ["names", "preset"]

_FOLDER: Final = Path(__file__).parent / "presets"
_NAME: Final = re.compile(r"indult/([a-z][a-z-]*@[1-9][0-9]*)", re.ASCII).fullmatch


def names() -> list[str]:
    """Return the names of all presets of this version, as `extends` takes them."""
    return sorted(f"indult/{path.stem}" for path in _FOLDER.glob("*@*.yaml"))


@cache
def preset(name: str) -> Document:
    """Return the document of a preset; its source is its name.

    Raises:
        PolicyError: There is no such preset.
    """
    found = _NAME(name)
    path = _FOLDER / f"{found[1]}.yaml" if found else None
    if path is None or not path.is_file():
        raise PolicyError(f"unknown preset `{name}`", hint="there are " + ", ".join(f"`{one}`" for one in names()))
    return read(path.read_bytes(), source=name)
