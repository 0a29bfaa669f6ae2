"""`format`: the verbs `%s %d %f %e %b %o %x %X %%`, with `%.Nf` and `%.Ne`."""

from __future__ import annotations

import math
import re
from typing import Any, Final

from indult.cel.functions import double_text, string_of_bytes
from indult.cel.times import Duration, Timestamp
from indult.cel.values import CelType, UInt, keys_of, type_of
from indult.errors import EvaluationError

__all__ = ["format_text"]

_CLAUSE: Final = r"%(?:(%)|(?:\.([0-9]{1,4}))?([a-zA-Z])|)"
_BASES: Final = {"b": "b", "o": "o", "x": "x", "X": "X"}
_MAX_PRECISION: Final = 1_000


def format_text(template: str, values: list[Any]) -> str:
    """Return `template` with each clause replaced by the next value."""
    taken = iter(values)

    def one(match: re.Match[str]) -> str:
        percent, precision, verb = match.groups()
        if percent:
            return "%"
        if verb is None:
            raise EvaluationError("malformed clause in a format")
        for value in taken:
            return _clause(verb, precision, value)
        raise EvaluationError("a format has more clauses than values")

    return re.sub(_CLAUSE, one, template)


def _clause(verb: str, precision: str | None, value: Any) -> str:
    digits = 6 if precision is None else int(precision)
    if digits > _MAX_PRECISION:
        raise EvaluationError(f"a format has precision `{digits}`, at most {_MAX_PRECISION}")
    if verb == "s":
        return _show(value)
    if verb == "d" and type(value) in (int, UInt, float):
        return str(int(value)) if type(value) is not float else _special(value) or f"{value:f}"
    if verb in ("f", "e"):
        return _fixed(verb, digits, value)
    if verb in _BASES:
        return _based(verb, value)
    raise EvaluationError(f"`%{verb}` cannot format a `{type_of(value).name}`")


def _fixed(verb: str, digits: int, value: Any) -> str:
    if type(value) in (int, UInt, float):
        return _special(float(value)) or f"{float(value):.{digits}{verb}}"
    if value in ("NaN", "Infinity", "-Infinity"):
        return str(value)
    raise EvaluationError(f"`%{verb}` cannot format a `{type_of(value).name}`")


def _decimal(value: float) -> str:
    return _special(value) or double_text(value)


def _based(verb: str, value: Any) -> str:
    kind = type(value)
    if kind is int or kind is UInt:
        return f"{int(value):{_BASES[verb]}}"
    if kind is bool and verb == "b":
        return "1" if value else "0"
    if kind in (str, bytes) and verb in "xX":
        text = (value.encode() if kind is str else value).hex()
        return text.upper() if verb == "X" else text  # type: ignore[no-any-return]
    raise EvaluationError(f"`%{verb}` cannot format a `{type_of(value).name}`")


def _special(value: float) -> str | None:
    if math.isfinite(value):
        return None
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _show(value: Any) -> str:
    """Return the text of `%s`."""
    kind = type(value)
    if kind is str:
        return value  # type: ignore[no-any-return]
    if value is None:
        return "null"
    if kind is bool:
        return "true" if value else "false"
    if kind is int or kind is UInt:
        return str(int(value))
    if kind is float:
        return _decimal(value)
    if kind is bytes:
        return string_of_bytes(value)
    if kind is list:
        return "[" + ", ".join(map(_show, value)) + "]"
    if kind is dict:
        shown = zip(map(_show, keys_of(value)), map(_show, value.values()), strict=True)
        return "{" + ", ".join(f"{key}: {text}" for key, text in sorted(shown)) + "}"
    if kind is Timestamp:
        # Unlike `string(value)`, which groups the digits of a second by three.
        return re.sub(r"\.?0*Z$", "Z", str(value)) if "." in str(value) else str(value)
    if kind is Duration or kind is CelType:
        return repr(value) if kind is CelType else str(value)
    raise EvaluationError(f"`%s` cannot format a `{kind.__name__}`")
