"""Views: what a ledger remembers, as a fold over the reserved keys of its events.

| key of `data` | shape | view |
|---|---|---|
| `clear` | `[scope, ...]` | all views forget these scopes, before anything else of the same event |
| `counts` | `{scope: {name: delta}}` | counters: the delta is added |
| `latest` | `{scope: {key: object or null}}` | the object replaces the one before it; null removes it |
| `keep` | `{scope: {key: object}}` | the object joins a set, in order of first occurrence |

`changes` reads and checks these keys for every store; `Views` is the fold itself, in dicts, that each store must equal.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from indult.canonical import MAX_INTEGER, canonical
from indult.errors import InputError
from indult.ledger.streams import check_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = ["Changes", "Views", "changes"]

Number = int | float


class Changes(NamedTuple):
    """What one event does to the views, in the order of its application; objects are canonical JSON text."""

    clear: tuple[str, ...] = ()
    counts: tuple[tuple[str, str, Number], ...] = ()
    latest: tuple[tuple[str, str, str | None], ...] = ()
    keep: tuple[tuple[str, str, str], ...] = ()


NOTHING = Changes()


def changes(data: Mapping[str, Any]) -> Changes:
    """Return what `data` does to the views.

    Raises:
        InputError: A reserved key has another shape than the table above, or a counter's delta is no number.
    """
    if not data.keys() & {"clear", "counts", "latest", "keep"}:
        return NOTHING
    return Changes(
        clear=tuple(_cleared(data.get("clear", []))),
        counts=tuple(_counts(data.get("counts", {}))),
        latest=tuple(_replacements(data.get("latest", {}))),
        keep=tuple(_objects(data.get("keep", {}), "keep")),
    )


def _cleared(value: Any) -> Iterator[str]:
    if type(value) is not list:
        raise InputError("`clear` of an event must be a list of scopes")
    for scope in value:
        check_name(scope, "scope")
        yield scope


def _entries(value: Any, what: str) -> Iterator[tuple[str, str, Any]]:
    if type(value) is not dict or not all(type(entries) is dict for entries in value.values()):
        raise InputError(f"`{what}` of an event must be an object of objects: {{scope: {{name: value}}}}")
    for scope, entries in value.items():
        check_name(scope, "scope")
        for name, item in entries.items():
            check_name(name, "name in a view")
            yield scope, name, item


def _counts(value: Any) -> Iterator[tuple[str, str, Number]]:
    for scope, name, delta in _entries(value, "counts"):
        if type(delta) not in {int, float}:
            raise InputError(f"the counter `{name}` of `{scope}` cannot be changed by `{canonical(delta)}`")
        if abs(delta) > MAX_INTEGER:
            raise overflow(scope, name)
        yield scope, name, delta


def _replacements(value: Any) -> Iterator[tuple[str, str, str | None]]:
    for scope, key, item in _entries(value, "latest"):
        yield scope, key, None if item is None else _object(scope, key, item, "latest")


def _objects(value: Any, what: str) -> Iterator[tuple[str, str, str]]:
    for scope, key, item in _entries(value, what):
        yield scope, key, _object(scope, key, item, what)


def _object(scope: str, key: str, item: Any, what: str) -> str:
    if type(item) is not dict:
        raise InputError(f"`{what}` of `{scope}` needs an object under `{key}`, not `{canonical(item)}`")
    return canonical(item)


def overflow(scope: str, name: str) -> InputError:
    """Return the error of a counter that would leave the integers that every reader keeps exactly."""
    return InputError(f"the counter `{name}` of `{scope}` would pass 2**53 - 1")


class Views:
    """The fold in plain dicts: scope -> name -> value."""

    __slots__ = ("counters", "kept", "latest")

    def __init__(self) -> None:
        self.counters: dict[str, dict[str, Number]] = {}
        self.latest: dict[str, dict[str, str]] = {}
        self.kept: dict[str, dict[str, dict[str, None]]] = {}

    __hash__ = None  # type: ignore[assignment] # it changes

    def __eq__(self, other: object) -> bool:
        """Tell whether two folds hold the same."""
        if not isinstance(other, Views):
            return NotImplemented
        return (self.counters, self.latest, self.kept) == (other.counters, other.latest, other.kept)

    def check(self, made: Iterable[Changes]) -> None:
        """Refuse changes, to be applied in order, of which one would carry a counter too far."""
        values: dict[tuple[str, str], Number] = {}
        cleared: set[str] = set()
        for change in made:
            cleared.update(change.clear)
            values = {pair: value for pair, value in values.items() if pair[0] not in change.clear}
            for scope, name, delta in change.counts:
                before = 0 if scope in cleared else self.counters.get(scope, {}).get(name, 0)
                value = values.get((scope, name), before) + delta
                if abs(value) > MAX_INTEGER:
                    raise overflow(scope, name)
                values[scope, name] = value

    def apply(self, change: Changes) -> None:
        """Make one event's change."""
        for scope in change.clear:
            for view in (self.counters, self.latest, self.kept):
                view.pop(scope, None)
        for scope, name, delta in change.counts:
            counters = self.counters.setdefault(scope, {})
            counters[name] = counters.get(name, 0) + delta
        for scope, key, latest in change.latest:
            if latest is not None:
                self.latest.setdefault(scope, {})[key] = latest
            elif scope in self.latest:
                self.latest[scope].pop(key, None)
        for scope, key, text in change.keep:
            self.kept.setdefault(scope, {}).setdefault(key, {})[text] = None

    def prefixed(self, scope: str, prefix: str) -> dict[str, Number]:
        """Return the counters of `scope` whose name begins with `prefix`, by name."""
        return {name: value for name, value in sorted(self.counters.get(scope, {}).items()) if name.startswith(prefix)}

    def top(self, scope: str, prefix: str) -> tuple[str, Number] | None:
        """Return the largest of these counters, the first by name among equals."""
        found = self.prefixed(scope, prefix)
        return max(found.items(), key=lambda item: item[1]) if found else None

    def recall(self, scope: str) -> dict[str, dict[str, Any]]:
        """Return the objects last remembered in `scope`, by key."""
        return {key: json.loads(text) for key, text in sorted(self.latest.get(scope, {}).items())}

    def remembered(self, scope: str, key: str) -> list[dict[str, Any]]:
        """Return the objects kept under `key`, in order of first occurrence."""
        return [json.loads(text) for text in self.kept.get(scope, {}).get(key, {})]
