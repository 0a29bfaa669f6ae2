"""Actions: what an agent proposes to do, as a value that nobody can change afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from indult.canonical import copy_json, digest
from indult.errors import InputError

__all__ = ["Action"]

_LONGEST = 1000
_KEYS = frozenset({"tool", "args", "actor", "call_id", "cwd"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One thing that an agent proposes to do.

    `args` is copied when the action is made, so that whoever gave it cannot change what is judged. `actor` names who proposes,
    `call_id` is the caller's own name of this call and `cwd` the folder that relative paths start from.

    Raises:
        InputError: `tool` is empty or not text, a name is over 1,000 characters or holds control ones, or `args` is not a JSON object (see `indult.canonical.copy_json`).
    """

    tool: str
    args: dict[str, Any] = field(default_factory=dict)
    actor: str = "agent"
    call_id: str | None = None
    cwd: str | None = None

    def __post_init__(self) -> None:
        """Check and copy what the caller gave."""
        for name, value in (("tool", self.tool), ("actor", self.actor)):
            if type(value) is not str or not value:
                raise InputError(f"action has no `{name}`: it must be a non-empty string")
        for name, optional in (("call_id", self.call_id), ("cwd", self.cwd)):
            if optional is not None and type(optional) is not str:
                raise InputError(f"action has `{name}` of type `{type(optional).__name__}`: it must be a string")
        for name in ("tool", "actor", "call_id", "cwd"):
            _check_name(name, getattr(self, name))
        if not isinstance(self.args, Mapping):
            raise InputError(f"action has `args` of type `{type(self.args).__name__}`: it must be an object")
        object.__setattr__(self, "args", copy_json(dict(self.args), name="args"))

    @property
    def digest(self) -> str:
        """Return `sha256:` over the canonical JSON of tool, args and cwd; who proposes and when is not in it.

        It is computed each time, of what the arguments are now: a digest that was kept could be older than they are.
        """
        return digest({"tool": self.tool, "args": self.args, "cwd": self.cwd})

    def target(self) -> str:
        """Return the exact name of the call as a whole, `call:` and the digest."""
        return f"call:{self.digest}"

    def with_args(self, changes: Mapping[str, Any]) -> Action:
        """Return the action with `changes` shallow-merged into its arguments."""
        return Action(
            tool=self.tool, args={**self.args, **changes}, actor=self.actor, call_id=self.call_id, cwd=self.cwd
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form; what was not given is left out."""
        shown: dict[str, Any] = {"tool": self.tool, "args": self.args, "actor": self.actor}
        if self.call_id is not None:
            shown["call_id"] = self.call_id
        if self.cwd is not None:
            shown["cwd"] = self.cwd
        return shown

    @classmethod
    def from_dict(cls, data: object) -> Action:
        """Read the JSON form; only `tool` is required.

        Raises:
            InputError: `data` is not an object, has a key that an action does not have, or a value of a wrong type.
        """
        if not isinstance(data, Mapping):
            raise InputError(
                f"action is a `{type(data).__name__}`, not an object", hint='try {"tool": "NAME", "args": {}}'
            )
        unknown = sorted(set(data) - _KEYS)
        if unknown:
            raise InputError(f"action has the unknown key `{unknown[0]}`", hint=f"keys: {', '.join(sorted(_KEYS))}")
        if "tool" not in data:
            raise InputError("action has no `tool`", hint='try {"tool": "NAME", "args": {}}')
        return cls(**data)


def _check_name(name: str, text: str | None) -> None:
    """Refuse a name that could not be kept or shown as it is: one too long, with control characters or half of one."""
    if text is None or (len(text) <= _LONGEST and text.isprintable()):
        return
    if len(text) > _LONGEST:
        raise InputError(f"action has `{name}` of {len(text)} characters: at most {_LONGEST}")
    bad = next((char for char in text if char < " " or "\x7f" <= char <= "\x9f" or "\ud800" <= char <= "\udfff"), None)
    if bad is not None:
        raise InputError(f"action has `{name}` that holds U+{ord(bad):04X}: no control characters, no lone surrogates")
