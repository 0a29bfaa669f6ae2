"""What an agent is told of a call that does not run: what was not done, by which rules, what is covered, and the way on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from indult.gate.denials import REPEATED, spelled
from indult.judgements import Verdict

if TYPE_CHECKING:
    from indult.adapters.desk import Desk
    from indult.adapters.hooks import Event
    from indult.judgements import Judgement

__all__ = ["asked", "refused"]

_AGAIN: Final = 200
"""How much of what the rules say is shown again where the same is refused once more."""

_PARTS: Final = 5
"""How many parts of a call are named, and how many grants."""

_ONE_FILE: Final = ("file_path", "notebook_path", "path")
"""Arguments that name the one file that a call is about, so that there is no part to be told from another."""

_STOP: Final = "Stop trying: say what you need and why, hand it back to a person (`indult report --signal NAME --question TEXT`), and go on with something else."
_SAME: Final = "Written in another way it is the same."
_DENIED: Final = (
    "No approval opens this. Do what you need in a way that is allowed, or hand it back with `indult report`."
)
_UNASKED: Final = "Nobody could be asked for exactly this; propose it in parts, or with less in it."
_REJECTED: Final = "A person said no. The same is refused until it or the policy is another one; do as they say."


def asked(event: Event, judgement: Judgement, desk: Desk) -> str:
    """Return what is told while a person has yet to answer."""
    shown, approved = (f"`indult {verb} {judgement.request}`" for verb in ("show", "approve"))
    how = (
        f"Request {judgement.request} asks a person to open exactly this ({shown}, {approved}). Once it is approved, make"
        " the same call again; until then, go on with something else."
    )
    return "\n".join(
        [f"indult: not run yet: {judgement.reason}", *_parts(event, judgement, desk), how, *_covered(desk)]
    )


def refused(event: Event, judgement: Judgement, desk: Desk, times: int) -> str:
    """Return what is told of a refusal that was made so many times by now; 0 where nobody counts."""
    if judgement.verdict is not Verdict.ASK_USER:
        what = _DENIED
    else:
        what = _UNASKED if judgement.request is None else _REJECTED
    reason = judgement.reason
    if times > 1:
        told = f"Refused {times} times now, and nothing changed in between."
        what = f"{told} {_STOP}" if times >= REPEATED else f"{told} {_SAME} {what}"
        reason = _again(judgement, desk)
    return "\n".join([f"indult: not run: {reason}", *_parts(event, judgement, desk), what, *_covered(desk)])


def _again(judgement: Judgement, desk: Desk) -> str:
    """Return the reason of what was refused before: the rules, the beginning of what they say, and what a person answered."""
    rules, colon, said = judgement.reason.partition(": ")
    if len(said) <= _AGAIN:
        return judgement.reason
    answer = "" if judgement.request is None else desk.gate.requests.standing(judgement.request).answer
    return f"{rules}{colon}{said[:_AGAIN]}…{f' ({answer})' if answer else ''}"


def _parts(event: Event, judgement: Judgement, desk: Desk) -> list[str]:
    """Return which parts of the call the verdict is about, where that is not plainly all of it."""
    faults = [fault for fault in desk.gate.faults if fault.verdict is judgement.verdict]
    shown = list(dict.fromkeys(spelled(fault, event.tool) for fault in faults if not fault.target.startswith("call:")))
    whole = event.args.get("command")
    if not shown or (len(shown) == 1 and (shown[0] == whole or any(name in event.args for name in _ONE_FILE))):
        return []
    more = f" and {len(shown) - _PARTS} more" if len(shown) > _PARTS else ""
    return [f"It is about {', '.join(f'`{one}`' for one in shown[:_PARTS])}{more}."]


def _covered(desk: Desk) -> list[str]:
    """Return what is open instead, so that nobody has to guess at it."""
    return [
        f"Grant {grant.id} covers only {', '.join(grant.scope.words())}."
        for grant in desk.gate.boundary().grants[:_PARTS]
    ]
