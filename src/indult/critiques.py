"""Grades with advice, and what an actor's remembered advice comes to under the present facts."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from indult.canonical import MAX_INTEGER, canonical, copy_json
from indult.errors import InputError

__all__ = ["Advice", "Critique", "fact", "holds", "steer"]

_TEXT: Final = 4_000
"""The longest reason or text: it goes into a brief, and more than once into the event of its step."""

_NAMES: Final = 1_000
"""How many axes, rules or targets one critique may name."""

_READ: Final = 100_000
"""The longest canonical JSON of the facts that an advice depends on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """What to do another way next time.

    `rung` is the boldest move that is advised, where the world has a ladder of moves. `because` are the ids of the
    rules that pushed back and `read` the facts they read: the advice holds as long as those facts are the same.

    Raises:
        InputError: A text is no text or over 4,000 characters, or `read` is not a JSON object or over 100,000.
    """

    rung: str | None = None
    because: tuple[str, ...] = ()
    read: Mapping[str, Any] = field(default_factory=dict)
    text: str = ""

    def __post_init__(self) -> None:
        """Refuse what no ledger could keep."""
        if self.rung is not None:
            _check_text(self.rung, "advice has a `rung`")
        _check_text(self.text, "advice has a `text`")
        object.__setattr__(self, "because", _names(self.because, "advice has `because`"))
        if not isinstance(self.read, Mapping):
            raise InputError(f"advice has `read` of type `{type(self.read).__name__}`: it must be an object")
        object.__setattr__(self, "read", copy_json(dict(self.read), name="`read` of the advice"))
        if len(canonical(self.read)) > _READ:
            raise InputError(f"advice has `read` of over {_READ} characters")

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"rung": self.rung, "because": list(self.because), "read": dict(self.read), "text": self.text}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Advice:
        """Read what `to_dict` wrote."""
        return cls(rung=data["rung"], because=tuple(data["because"]), read=data["read"], text=data["text"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Critique:
    """A grade from 0 to 1 with its axes, its reason and, where the gate pushed back, advice.

    `asked` are the targets that the gate asked a person about and `request` is the question, both filled in by the loop:
    once live grants open them, the critique is void and no brief repeats it.

    Raises:
        InputError: The score or an axis is not a number from 0 to 1 (NaN is not), the reason is no text or over 4,000
            characters, or `tokens` is no whole number from 0.
    """

    score: float
    reason: str
    axes: Mapping[str, float] = field(default_factory=dict)
    advice: Advice | None = None
    tokens: int = 0
    asked: tuple[str, ...] = ()
    request: str | None = None

    def __post_init__(self) -> None:
        """Refuse grades that mean nothing, and what no ledger could keep."""
        if not isinstance(self.axes, Mapping):
            raise InputError(f"critique has `axes` of type `{type(self.axes).__name__}`: it must be an object")
        axes = dict(self.axes)
        _names(tuple(axes), "critique has `axes`")
        for name, value in (("score", self.score), *axes.items()):
            if type(value) not in {int, float} or not 0 <= value <= 1:
                shown = value if type(value) in {bool, float, str} else type(value).__name__
                if isinstance(value, int) and -MAX_INTEGER <= value <= MAX_INTEGER:
                    shown = value
                raise InputError(f"critique has the {name} `{shown}`: it must be a number from 0 to 1")
        object.__setattr__(self, "axes", axes)
        _check_text(self.reason, "critique has a `reason`")
        if type(self.tokens) is not int or not 0 <= self.tokens <= MAX_INTEGER:
            raise InputError("critique has bad `tokens`: they must be a whole number from 0 to 2**53 - 1")
        if self.request is not None:
            _check_text(self.request, "critique has a `request`")
        object.__setattr__(self, "asked", _names(self.asked, "critique has `asked`"))

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        shown: dict[str, Any] = {"score": self.score, "axes": dict(self.axes), "reason": self.reason}
        if self.advice is not None:
            shown["advice"] = self.advice.to_dict()
        if self.asked:
            shown["asked"] = list(self.asked)
        if self.request is not None:
            shown["request"] = self.request
        return shown

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Critique:
        """Read what `to_dict` wrote."""
        advice = Advice.from_dict(data["advice"]) if "advice" in data else None
        asked = tuple(data.get("asked", ()))
        return cls(
            score=data["score"],
            axes=data["axes"],
            reason=data["reason"],
            advice=advice,
            asked=asked,
            request=data.get("request"),
        )

    def void(self, opened: Container[str]) -> bool:
        """Tell whether live grants have opened all that this critique is about."""
        return _opened(self.asked, opened)


def fact(facts: Mapping[str, Any], path: str) -> Any:
    """Return the fact at a dotted path, or `None` where there is none."""
    value: Any = facts
    for name in path.split("."):
        if not isinstance(value, Mapping) or name not in value:
            return None
        value = value[name]
    return value


def holds(read: Mapping[str, Any], facts: Mapping[str, Any]) -> bool:
    """Tell whether every fact that was read then is the same now, in value and type."""
    return all(_same(fact(facts, path), value) for path, value in read.items())


def steer(
    kept: Iterable[Mapping[str, Any]], facts: Mapping[str, Any], ladder: Sequence[str], opened: Container[str] = ()
) -> str | None:
    """Return the lowest rung that an actor's remembered push-backs advise under the present facts.

    `kept` are `{"rung", "read"}` mappings, with `asked` where the gate asked a person; `ladder` runs from the boldest
    move to the gentlest; `opened` are the targets that live grants open. Without any push-back that still holds there is
    no steer: whoever was never pushed back is never steered.
    """
    places = [
        ladder.index(item["rung"])
        for item in kept
        if item["rung"] in ladder and holds(item["read"], facts) and not _opened(item.get("asked", ()), opened)
    ]
    return ladder[max(places)] if places else None


def _check_text(value: object, what: str) -> None:
    if type(value) is not str:
        raise InputError(f"{what} of type `{type(value).__name__}`: it must be a string")
    if len(value) > _TEXT:
        raise InputError(f"{what} of {len(value)} characters, at most {_TEXT}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InputError(f"{what} with a lone surrogate, which UTF-8 cannot carry") from None


def _names(values: object, what: str) -> tuple[str, ...]:
    """Return a list of texts as a tuple, if together they are no longer than a few texts may be."""
    if not isinstance(values, list | tuple):
        raise InputError(f"{what} of type `{type(values).__name__}`: it must be a list")
    for value in values:
        _check_text(value, f"{what} with a name")
    if len(values) > _NAMES or sum(map(len, values)) > _READ:
        raise InputError(f"{what} of {len(values)} names, at most {_NAMES}, of {_READ} characters together")
    return tuple(values)


def _opened(asked: Sequence[str], opened: Container[str]) -> bool:
    """Tell whether all that was asked about has been opened since; what was never asked about cannot be."""
    return bool(asked) and all(target in opened for target in asked)


def _same(present: Any, before: Any) -> bool:
    return canonical(present) == canonical(before)
