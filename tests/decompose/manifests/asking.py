"""What an exception of one package covers, for the tests of comparers."""

from __future__ import annotations

import json
from typing import Any

from indult.decompose.manifests import comparer


def told(path: str, old: str | bytes | None, new: str | bytes) -> tuple[str, ...]:
    """All targets of a change of one file."""
    compare = comparer(path)
    assert compare is not None
    raw = [one.encode() if isinstance(one, str) else one for one in (old, new)]
    assert raw[1] is not None
    return compare(path, raw[0], raw[1])


def beside(path: str, old: str | bytes | None, new: str | bytes, owner: str = "libdb@1.8.3") -> list[str]:
    """The targets that are neither entries of the owner nor scripts that anyone may change."""
    found = told(path, old, new)
    return [one for one in found if one != f"entry:{path}#{owner}" and not one.startswith("script:")]


def dumps(value: Any) -> str:
    """JSON as tools write it."""
    return json.dumps(value, indent=2) + "\n"
