"""What comes in at the seams of the loop, taken apart once into plain values that nobody else holds."""

from __future__ import annotations

from asyncio import CancelledError
from typing import Any, Final

from indult.actions import Action
from indult.boundary import Brief
from indult.canonical import copy_json
from indult.critiques import Advice, Critique
from indult.errors import IndultError, InputError
from indult.loop.protocols import Outcome, Proposal, Usage

__all__ = ["for_the_run", "fresh", "graded", "measured", "readable", "taken", "told"]

_TOLD: Final = 300
"""How many characters a record repeats of what a maker, a tool or a grader raised."""

_READABLE: Final = 2_000
"""How many characters a record keeps of a result that is no JSON."""

_SHOWN: Final = 100
"""How many characters of a type's name are shown where nothing else can be."""


def for_the_run(exc: BaseException) -> bool:
    """Tell whether an exception is meant for the run itself: a person stops it, or its coroutine is closed."""
    if isinstance(exc, GeneratorExit):
        # Closing a coroutine raises this where it waits; one that was raised further in has frames of its own.
        return exc.__traceback__ is None or exc.__traceback__.tb_next is None
    return isinstance(exc, KeyboardInterrupt | CancelledError)


def told(exc: BaseException, whose: str) -> str:
    """Say in at most 300 characters what `whose` code raised; a message of indult's own stands for itself."""
    if isinstance(exc, IndultError):
        return _safe(lambda: exc.message, _TOLD) or f"{whose} raised an error without words"
    return f"{whose} raised `{_safe(lambda: repr(exc), _TOLD - 50) or type(exc).__name__[:_SHOWN]}`"


def readable(result: object) -> Any:
    """Return a result as JSON; of one that is none, what it looks like."""
    try:
        return copy_json(result, name="result")
    except BaseException as exc:
        if for_the_run(exc):
            raise
        return _safe(lambda: repr(result), _READABLE) or f"a `{type(result).__name__[:_SHOWN]}` that cannot be shown"


def taken(proposal: object, brief: Brief) -> Proposal:
    """Return a proposal of our own with what a maker's proposal holds, each part read once.

    Raises:
        InputError: It is no proposal, proposes no action, or is not in the name of the actor who was asked.
    """
    if not isinstance(proposal, Proposal):
        raise InputError(f"the proposer returned a `{type(proposal).__name__}`, not a proposal")
    action, rationale, usage = proposal.action, proposal.rationale, proposal.usage
    if type(usage) is not Usage:
        raise InputError(f"the proposal has `usage` of type `{type(usage).__name__}`, not a usage")
    if type(rationale) is not str:
        raise InputError(f"the proposal has a `rationale` of type `{type(rationale).__name__}`: it must be a string")
    copy_json(rationale, name="the rationale")
    spent = Usage(tokens=usage.tokens, cost=usage.cost)
    return Proposal(action=None if action is None else _named(action, brief), rationale=rationale, usage=spent)


def _named(action: object, brief: Brief) -> Action:
    """Return a copy of a proposed action that can be recorded and is in the right name."""
    if type(action) is not Action:
        raise InputError(f"the proposer proposed a `{type(action).__name__}`, not an action")
    copied = fresh(action)
    if copied.actor != brief.actor:
        raise InputError(f"the proposal is in the name of `{copied.actor}`, not of `{brief.actor}`")
    return copied


def fresh(action: Action) -> Action:
    """Return a copy of an action, so that whoever holds the first cannot change what is in this one."""
    return Action(tool=action.tool, args=action.args, actor=action.actor, call_id=action.call_id, cwd=action.cwd)


def measured(outcome: object, **changes: Any) -> Outcome:
    """Return an outcome of our own with what an executor's outcome holds, each part read once.

    Raises:
        InputError: It is no outcome, or one of its parts cannot be kept.
    """
    if not isinstance(outcome, Outcome):
        raise InputError(f"the executor returned a `{type(outcome).__name__}`")
    names = ("status", "before", "after", "fit", "counts")
    parts = {name: changes[name] if name in changes else getattr(outcome, name) for name in names}
    result = outcome.result
    return Outcome(**parts, result=None if result is None else readable(result))


def graded(critique: object) -> Critique:
    """Return a critique of our own with what a verifier's critique holds, each part read once.

    Raises:
        InputError: It is no critique, or one of its parts cannot be kept.
    """
    if not isinstance(critique, Critique):
        raise InputError(f"the verifier returned a `{type(critique).__name__}`, not a critique")
    given = critique.advice
    advice = None
    if isinstance(given, Advice):
        advice = Advice(rung=given.rung, because=given.because, read=given.read, text=given.text)
    elif given is not None:
        raise InputError(f"the critique has `advice` of type `{type(given).__name__}`, not an advice")
    return Critique(
        score=critique.score, reason=critique.reason, axes=critique.axes, advice=advice, tokens=critique.tokens
    )


def _safe(words: Any, limit: int) -> str:
    """Return what `words()` says, cut, in characters that UTF-8 can carry; nothing where it cannot be said."""
    try:
        text = str.__getitem__(words(), slice(limit))
    except BaseException as exc:
        if for_the_run(exc):
            raise
        return ""
    return text.encode(errors="backslashreplace").decode()[:limit]
