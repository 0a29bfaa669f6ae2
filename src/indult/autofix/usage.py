"""What a fixer used, as far as it says so: in a file of its own, or in the last line that it printed."""

from __future__ import annotations

import json
import math
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

__all__ = ["Usage", "read_usage"]

_LARGEST: Final = 65_536
_MOST: Final = 10**15
"""More than anybody can have used: such a number is a mistake."""

_TOKENS: Final = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens and cost of one call of a fixer, none where it did not say; `notes` tell what of it could not be used."""

    tokens: int | None = None
    cost: float | None = None
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form, without what is not known."""
        found: dict[str, Any] = {"tokens": self.tokens, "cost": self.cost, "notes": list(self.notes)}
        return {name: value for name, value in found.items() if value not in (None, [])}


def read_usage(path: str, output: str) -> Usage:
    """Return what the file at `path` says, `{"tokens": n, "cost": x}`; without one, the last line of the output.

    That line counts where it is what `claude -p --output-format json` prints. Nothing here is an error: a fixer says
    what it likes.
    """
    try:
        text = _text(path)
    except FileNotFoundError:
        return _printed(output)
    except (OSError, ValueError) as exc:
        return Usage(notes=(f"the usage file cannot be read: {(getattr(exc, 'strerror', None) or str(exc)).lower()}",))
    data = _object(text)
    if data is None:
        return Usage(notes=("the usage file is no JSON object",))
    return _usage(data.get("tokens"), data.get("cost"))


def _printed(output: str) -> Usage:
    """Return what the last line that was printed says, if it is one that tells of usage."""
    lines = output.rstrip().rsplit("\n", 1)
    data = _object(lines[-1])
    if data is None or not data.keys() & {"usage", "total_cost_usd"}:
        return Usage()
    told = data.get("usage")
    counts = [told[name] for name in _TOKENS if told.get(name) is not None] if isinstance(told, dict) else []
    bad = [count for count in counts if not _whole(count)]
    return _usage(bad[0] if bad else sum(counts) if counts else None, data.get("total_cost_usd"))


def _usage(tokens: object, cost: object) -> Usage:
    notes = []
    if tokens is not None and not _whole(tokens):
        notes.append("`tokens` is no whole number from 0")
        tokens = None
    if cost is not None and not _number(cost):
        notes.append("`cost` is no number from 0")
        cost = None
    assert tokens is None or isinstance(tokens, int)
    assert cost is None or isinstance(cost, int | float)
    return Usage(tokens=tokens, cost=None if cost is None else float(cost), notes=tuple(notes))


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST


def _number(value: object) -> bool:
    return (
        isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= _MOST and math.isfinite(value)
    )


def _object(text: str) -> Mapping[str, Any] | None:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def _text(path: str) -> str:
    """Return what an ordinary, short file holds; opening another thing could take for ever."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode):
            raise ValueError("it is no ordinary file")
        if about.st_size > _LARGEST:
            raise ValueError(f"it is longer than {_LARGEST} bytes")
        return file.read(_LARGEST).decode(errors="replace")
