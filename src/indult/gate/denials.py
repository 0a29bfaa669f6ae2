"""Denials as state: how often the same was refused to a subject, so that the third answer is not the first again.

Every action is judged anew each time. What is the same about two refused ones is the digest of what may not go ahead in
them, by its exact names, of the rules that say so, of the facts that these read, and of the policy; the spelling does
not count.

| view | scope | key | holds |
|---|---|---|---|
| counter | `denials:SUBJECT` | that digest | how often it was refused |
| latest | `denials:SUBJECT` | that digest | from the third time on: `count`, `session`, `actor`, `rules`, `targets` |

Both follow from the event of the judgement. Whoever reports a refusal that was repeated takes it out of `latest`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from indult.canonical import canonical, digest, parse_json
from indult.characters import misleading
from indult.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from indult.boundary import Fault
    from indult.judgements import Judgement
    from indult.ledger import Ledger

__all__ = ["REPEATED", "denials", "reported", "spelled", "views"]

REPEATED: Final = 3
"""From which refusal of the same on an agent is told to stop and hand back."""

_SHOWN: Final = 5
"""How many targets are kept of what was refused repeatedly."""

_LONGEST: Final = 120
"""How much of such a target is kept."""

_PLAIN: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-")
"""Characters of a command that need no quotes."""


def denials(subject: str) -> str:
    """Return the scope that counts what was refused to a subject."""
    return f"denials:{subject}"


def key(judgement: Judgement, faults: Iterable[Fault], policy: str) -> str:
    """Return what is the same about two refusals of the same under a policy of this digest."""
    targets = sorted({fault.target for fault in faults if fault.verdict is judgement.verdict})
    same = {"targets": targets, "rules": list(judgement.rules), "read": _plain(judgement.read), "policy": policy}
    return digest(same)


def views(
    ledger: Ledger,
    subject: str,
    judgement: Judgement,
    faults: tuple[Fault, ...],
    *,
    policy: str,
    tool: str,
    actor: str,
    session: str | None,
) -> tuple[dict[str, Any], int]:
    """Return what a refusal adds to the data of its event, and how often the same was refused, this time included."""
    scope, name = denials(subject), key(judgement, faults, policy)
    count = int(ledger.counter(scope, name)) + 1
    data: dict[str, Any] = {"counts": {scope: {name: 1}}}
    if count >= REPEATED:
        targets = [spelled(fault, tool) for fault in faults if fault.verdict is judgement.verdict][:_SHOWN]
        entry = {"count": count, "session": session or "", "actor": actor, "rules": list(judgement.rules)}
        data["latest"] = {scope: {name: {**entry, "targets": targets}}}
    return data, count


def reported(subject: str, names: Iterable[str]) -> dict[str, Any]:
    """Return what an event adds to its data that reports these refusals: they are not reported twice."""
    return {"latest": {denials(subject): dict.fromkeys(names)}}


def spelled(fault: Fault, tool: str) -> str:
    """Return what was refused of a call in few words: a command as one would type it, a whole call by its tool.

    Nobody is asked to approve what stands there, so it may be cut, and a word that is not known is `…`.
    """
    kind, _, name = fault.target.partition(":")
    text = tool if kind == "call" else fault.target
    if kind == "command":
        text = _command(name)
    text = "".join(f"\\u{ord(char):04x}" if misleading(char) else char for char in text)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _command(name: str) -> str:
    try:
        command = parse_json(name)
    except InputError:
        return name  # whoever takes actions apart in another way may write commands in another way
    argv, text = (command.get("argv"), command.get("text")) if isinstance(command, dict) else (None, None)
    if isinstance(text, str):
        return text
    return " ".join(map(_word, argv)) if isinstance(argv, list) else name


def _word(word: object) -> str:
    if word is None:
        return "…"
    # A quoted word is written as JSON has it, which tells where it ends.
    return word if isinstance(word, str) and word and _PLAIN.issuperset(word) else canonical(word)


def _plain(read: Mapping[str, Any]) -> dict[str, Any]:
    """Return facts as JSON: a value of another type, such as a time, by its text."""
    known = (str, int, float, bool, list, dict, type(None))
    return {name: value if isinstance(value, known) else str(value) for name, value in read.items()}
