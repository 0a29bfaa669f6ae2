"""Changed manifests and locks come apart into entries, each attributed to one package and its version now.

A comparer takes the path, the old content (`None` for a new file) and the new content of one manifest or lock, and
returns the targets of what changed, sorted and each once. Nothing is returned where only the layout changed. It never
raises, whatever the bytes are: what cannot be read one way only is `change:PATH#not readable: REASON`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Final

from indult.characters import misleading
from indult.decompose.manifests.names import shown
from indult.decompose.manifests.reading import MAX_BYTES, Unreadable

__all__ = ["Compare", "comparer"]

Compare = Callable[[str, bytes | None, bytes], tuple[str, ...]]
"""Returns what changed in one manifest or lock, as target texts."""

_MODULES: Final = {
    "package.json": "npm",
    "package-lock.json": "npm_lock",
    "npm-shrinkwrap.json": "npm_lock",
    "bun.lock": "bun",
    "pnpm-lock.yaml": "pnpm",
    "yarn.lock": "yarn",
    "pyproject.toml": "python",
    "setup.py": "setuptools",
    "setup.cfg": "setuptools",
    "uv.lock": "python_lock",
    "poetry.lock": "python_lock",
    "pdm.lock": "python_lock",
    "Cargo.toml": "cargo",
    "Cargo.lock": "cargo_lock",
    "go.mod": "go",
    "go.sum": "go_sum",
    "go.work": "go",
}
_REQUIREMENTS: Final = re.compile(r"(requirements|constraints)[^/]*\.txt\Z")

# Longest part of a target behind its path.
_MAX_SAID: Final = 600

# Whatever lies there is somebody else's code, changed as a whole.
_FOLDERS: Final = frozenset({"vendor", "node_modules", "patches"})

Targets = Callable[[str, bytes | None, bytes], Iterator[str]]
"""What each module offers as `targets`: the same as a comparer, unsorted, and `Unreadable` may be raised."""


def comparer(path: str) -> Compare | None:
    """Return what takes the manifest or lock at `path` apart, `None` where there is none or it must not be."""
    *folders, name = path.split("/")
    module = _MODULES.get(name) or ("requirements" if _REQUIREMENTS.match(name) else None)
    if module is None or _FOLDERS.intersection(folders):
        return None
    targets: Targets = import_module(f"{__name__}.{module}").targets
    return lambda path, old, new: _guarded(targets, path, old, new)


def _guarded(targets: Targets, path: str, old: bytes | None, new: bytes) -> tuple[str, ...]:
    """Turn whatever goes wrong in a comparison into a change that nobody can attribute."""
    if max(len(old or b""), len(new)) > MAX_BYTES:
        return (f"change:{path}#not readable: over {MAX_BYTES} bytes",)
    try:
        return tuple(sorted({_exact(path, target) for target in targets(path, old, new)}))
    except Unreadable as exc:
        return (f"change:{path}#not readable: {shown(str(exc))}",)
    except (RecursionError, MemoryError):
        return (f"change:{path}#not readable: too large or nested too deep",)
    except Exception as exc:
        return (f"change:{path}#not readable: {type(exc).__name__}",)


def _exact(path: str, target: str) -> str:
    """Return a target that a person can read as it is; where a name of the file does not let them, a change."""
    said = target.partition(":")[2].removeprefix(path)
    if len(said) <= _MAX_SAID and ((said.isascii() and said.isprintable()) or not any(map(misleading, said))):
        return target
    return f"change:{path}#cannot be shown: {shown(said)}"
