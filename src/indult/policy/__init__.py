"""Policies: what they say (`model`), how a file becomes one (`load`), and the patterns of their rules (`patterns`).

What reads files is imported when it is first used: a policy that a person trusted is judged by without its file being
read once more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from indult.policy.bucket import Bucket
from indult.policy.model import DEFAULT, SCHEMA, Effect, Mode, Policy, Record, Rule

if TYPE_CHECKING:
    from indult.policy.dump import dumps_policy
    from indult.policy.load import Loaded, find_errors, load_policy, loads_policy, read_policy

__all__ = [
    "DEFAULT",
    "SCHEMA",
    "Bucket",
    "Effect",
    "Loaded",
    "Mode",
    "Policy",
    "Record",
    "Rule",
    "dumps_policy",
    "find_errors",
    "load_policy",
    "loads_policy",
    "read_policy",
]


def __getattr__(name: str) -> Any:
    """Import a name that reads or writes policy files."""
    if name not in __all__:
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{'dump' if name == 'dumps_policy' else 'load'}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names before they are imported, too."""
    return sorted({*globals(), *__all__})
