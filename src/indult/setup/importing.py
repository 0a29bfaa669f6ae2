"""Permission settings that a harness has already, as rules; what cannot be said in rules is told, line by line.

A rule that allows matches no more calls than the setting did, but those of any harness whose tool has the same name. What
is denied or asked about may come out wider, and what cannot be translated is left to the default, which asks.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from indult.setup.policy import refused

__all__ = ["SOURCES", "Imported", "Line", "Translated", "collected", "import_settings"]

SOURCES: Final = ("claude", "codex")
"""Whose settings can be imported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Translated:
    """What one setting comes to: the keys of a rule without its id, none where it cannot be said, and what differs."""

    rule: dict[str, Any] | None = None
    differs: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """What is told of one setting: where it stands, what it says, the rule that it became, and how that differs."""

    file: str
    where: str
    setting: str
    rule: str | None = None
    differs: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {name: getattr(self, name) for name in ("file", "where", "setting", "rule", "differs")}

    @property
    def text(self) -> str:
        """Return the line that a person reads."""
        done = "not imported" if self.rule is None else f"rule {self.rule}"
        return f"{self.file}: {self.where}: {self.setting}: {done}{f'; {self.differs}' if self.differs else ''}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """Rules, each with a comment that says where it comes from, and what is told of each setting."""

    rules: tuple[tuple[str, dict[str, Any]], ...] = ()
    lines: tuple[Line, ...] = ()


@dataclass(slots=True)
class _Collected:
    source: str
    rules: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)

    def add(self, file: str, where: str, setting: str, found: Translated) -> None:
        setting = setting if setting.isprintable() and len(setting) <= 200 else ascii(setting)[1:-1][:200]
        rule, differs = found.rule, found.differs
        name = None
        if rule is not None:
            effect = rule["effect"]
            name = f"{self.source}.{effect}.{self.counts.get(effect, 0) + 1}"
            rule = {"id": name, **rule}
            why = refused(rule)
            if why is not None:
                name, differs = None, f"no rule can say it: {why}"
            else:
                self.counts[effect] = self.counts.get(effect, 0) + 1
                comment = f"From {file}, {where}: {setting}" + (f"\nIt differs: {differs}." if differs else "")
                self.rules.append((comment, rule))
        self.lines.append(Line(file=file, where=where, setting=setting, rule=name, differs=differs))


def collected(source: str, found: Iterable[tuple[str, str, str, Translated]]) -> Imported:
    """Number the rules of settings, given as file, place, text and what each comes to."""
    into = _Collected(source)
    for file, where, setting, translated in found:
        into.add(file, where, setting, translated)
    return Imported(rules=tuple(into.rules), lines=tuple(into.lines))


def import_settings(source: str, root: str, *, home: str | None = None) -> Imported:
    """Translate the settings of a harness: those of the repository at `root` and those of the user.

    Raises:
        ConfigurationError: A file of settings cannot be read.
    """
    place = os.path.expanduser("~") if home is None else home  # noqa: PTH111
    return collected(source, _settings(source, Path(root), Path(place)))


def _settings(source: str, root: Path, home: Path) -> Iterator[tuple[str, str, str, Translated]]:
    if source == "claude":
        from indult.setup import import_claude

        yield from import_claude.settings(root, home)
    else:
        from indult.setup import import_codex

        yield from import_codex.settings(root, home)
