"""One thing that was looked at, and how that ended."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Check", "State", "fail", "note", "ok"]


class State(StrEnum):
    """How a check ended."""

    OK = "ok"
    NOTE = "note"
    """Nothing is wrong, but a person should know it."""
    FAIL = "FAIL"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that was looked at: what it is about, how it ended, and what to do where it did not end well."""

    about: str
    state: State
    text: str
    hint: str = ""

    def to_dict(self) -> dict[str, str]:
        """Return the JSON form."""
        return {"about": self.about, "state": self.state.value, "text": self.text, "hint": self.hint}


def ok(about: str, text: str) -> Check:
    """Return a check that ended well."""
    return Check(about=about, state=State.OK, text=text)


def note(about: str, text: str, hint: str = "") -> Check:
    """Return what a person should know."""
    return Check(about=about, state=State.NOTE, text=text, hint=hint)


def fail(about: str, text: str, hint: str = "") -> Check:
    """Return a check that failed."""
    return Check(about=about, state=State.FAIL, text=text, hint=hint)
