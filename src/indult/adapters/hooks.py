"""Hooks of coding agents, whichever harness runs them: what happened as an `Event`, what to say to it as an `Answer`.

A module per harness (`claude_code`, `codex`, `copilot`) reads its JSON into an event and writes an answer in its own
words; nothing else is its business. `decide` is the same for all of them: it asks the gate of the repository that the
event happened in, which a `Desk` holds open.

Ledger, stream of the subject: `judgement` (by the gate), `briefed {session, actor, boundary, text}` when an agent was
told the boundary, `outcome {call, judgement, status, result}` when a call that was judged has ended, `reported` when a
person was told of what was refused again and again. View `briefed:SUBJECT`: session, or session and
sub-agent -> the boundary that it read last.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from indult.actions import Action
from indult.gate.denials import denials, reported
from indult.judgements import Judgement, Verdict
from indult.ledger.streams import Body, Draft

if TYPE_CHECKING:
    from indult.adapters.desk import Desk

__all__ = ["NOTHING", "Answer", "Event", "Harness", "Kind", "Say", "Wire", "decide"]

_LONGEST: Final = 4000
"""How much of a reason an agent is shown."""

_RECENT: Final = 256
"""Among how many of the last judgements the one of a call that has ended is looked for."""


class Kind(StrEnum):
    """What happened in a harness."""

    PRE = "pre"
    PERMISSION = "permission"
    SESSION = "session"
    PROMPT = "prompt"
    POST = "post"
    STOP = "stop"

    @property
    def judges(self) -> bool:
        """Tell whether something waits for the answer that must not go ahead without one."""
        return self in {Kind.PRE, Kind.PERMISSION}


class Event(NamedTuple):
    """One event of a harness.

    `session` is its own name of the conversation, `actor` who acts and `agent` the name of a sub-agent, `cwd` where.
    `headless` is true where no person could answer a question. `failed` and `result` tell how a call ended. `tells` is true where what the answer has as
    context reaches the agent, and `form` which of several forms of its JSON the harness used.
    """

    kind: Kind
    session: str
    actor: str
    cwd: str
    tool: str = ""
    args: dict[str, Any] = {}  # noqa: RUF012 # nobody writes to it
    call_id: str | None = None
    headless: bool = False
    result: Any = None
    failed: bool = False
    tells: bool = True
    form: str = ""
    agent: str = ""

    @property
    def reader(self) -> str:
        """Return who has read what was told: a sub-agent has not read what the agent above it has."""
        return f"{self.session}/{self.agent}" if self.agent else self.session or "-"


class Say(StrEnum):
    """What an answer comes to."""

    NOTHING = "nothing"
    """No objection: what the harness, its settings and the person at it say of the call holds."""
    ALLOW = "allow"
    """A grant covers it, or what runs in its place was judged as well."""
    ASK = "ask"
    DENY = "deny"


class Answer(NamedTuple):
    """What to say to an event.

    `reason` is for whoever proposed, `args` are to be used in place of the ones that were proposed, `context` is what
    the agent is told beside that, and `notice` what the person at the harness is told. `boundary` is the digest that
    was judged by, or that the context states.
    """

    say: Say = Say.NOTHING
    reason: str = ""
    args: dict[str, Any] | None = None
    context: str = ""
    notice: str = ""
    boundary: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form; empty parts are left out."""
        return {name: value for name, value in self._asdict().items() if value not in ("", None)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Answer:
        """Read what `to_dict` wrote."""
        return cls(**{**data, "say": Say(data["say"])})


NOTHING: Final = Answer()


class Wire(NamedTuple):
    """What a hook's process does: standard output, standard error, exit code."""

    stdout: str = ""
    stderr: str = ""
    exit_code: int = 0


class Harness(Protocol):
    """The words of one harness: a module with these three functions."""

    def read(self, raw: bytes) -> Event:
        """Return the event that the harness describes; InputError where it is none that could be understood."""

    def write(self, event: Event, answer: Answer) -> Wire:
        """Return an answer in the harness's own words."""

    def failure(self, text: str, event: Event | None = None) -> Wire:
        """Return what blocks the call where indult itself failed; `event` is none where it could not be read."""


def decide(event: Event, desk: Desk) -> Answer:
    """Return what to say to an event."""
    return _DECIDE[event.kind](event, desk)


def _pre(event: Event, desk: Desk) -> Answer:
    """Judge a call that is about to run, and record that."""
    briefed = desk.briefed(event.reader)
    facts = desk.facts(event.session)
    judgement = desk.gate.check(_action(event), facts, briefed=briefed, session=event.session or None)
    answer = _said(event, judgement, desk)
    # A use of a grant that was the last one, or an answer that came since, made another boundary.
    if event.tells and (judgement.grants or judgement.boundary != briefed):
        answer = answer._replace(context=_join(answer.context, _brief(event, desk)))
    return answer


def _said(event: Event, judgement: Judgement, desk: Desk) -> Answer:
    """Put a judgement into words."""
    if not judgement.enforced:
        return Answer(boundary=judgement.boundary)
    match judgement.verdict:
        case Verdict.APPROVE if not judgement.grants:
            answer = NOTHING
        case Verdict.APPROVE:
            answer = Answer(Say.ALLOW, f"indult: {_grants(judgement.grants)} covers exactly this call")
        case Verdict.DOWNGRADE:
            assert judgement.instead is not None
            note = f"indult: rewritten, since the call as proposed is {judgement.reason}"
            answer = Answer(Say.ALLOW, _cut(note), judgement.instead.args, _cut(note))
        case _:
            answer = _stopped(event, judgement, desk)
    return answer._replace(boundary=judgement.boundary)


def _stopped(event: Event, judgement: Judgement, desk: Desk) -> Answer:
    """Put into words that a call does not run, or not yet; most calls run, and those do not wait for this import."""
    from indult.adapters.reasons import asked, refused

    if judgement.verdict is Verdict.ASK_USER and desk.waits(judgement.request):
        return Answer(Say.ASK, _cut(asked(event, judgement, desk)))
    # No approval could be put into exact words beforehand, but a person who sees the call can still say yes to it.
    open_to_see = judgement.verdict is Verdict.ASK_USER and judgement.request is None
    return Answer(Say.ASK if open_to_see else Say.DENY, _cut(refused(event, judgement, desk, desk.gate.repeated)))


def _permission(event: Event, desk: Desk) -> Answer:
    """Judge a call that a person is about to be asked for by the harness; what was judged before is not counted twice."""
    judgement = desk.gate.review(_action(event), desk.facts(event.session))
    if judgement.verdict is not Verdict.DENY or not judgement.enforced:
        return Answer(boundary=judgement.boundary)
    from indult.adapters.reasons import refused

    return Answer(Say.DENY, _cut(refused(event, judgement, desk, 0)), boundary=judgement.boundary)


def _session(event: Event, desk: Desk) -> Answer:
    """Tell an agent that begins what the boundary is."""
    return Answer(context=_brief(event, desk), boundary=desk.gate.boundary().digest)


def _prompt(event: Event, desk: Desk) -> Answer:
    """Tell an agent the boundary where it is not the one that it has read."""
    digest = desk.gate.boundary().digest
    return Answer(boundary=digest) if digest == desk.briefed(event.reader) else _session(event, desk)


def _post(event: Event, desk: Desk) -> Answer:
    """Record how a call ended that was judged before it ran."""
    judged = _judged(event, desk)
    if judged is None:
        return NOTHING
    version, data = judged
    outcome = {
        "judgement": version,
        "call": event.call_id,
        "status": "failed" if event.failed else "done",
        "result": desk.digest(event.result),
    }
    desk.ledger.append(Draft(desk.gate.subject, "outcome", outcome))
    found = Judgement.from_dict(data["judgement"])
    if found.verdict is Verdict.DENY and found.enforced:
        return Answer(notice=f"indult: `{event.tool}` ran although it was {found.reason}: the harness did not obey")
    return NOTHING


def _judged(event: Event, desk: Desk) -> tuple[int, dict[str, Any]] | None:
    if event.call_id is None:
        return None
    recent = desk.ledger.events(desk.gate.subject, kinds={"judgement"}, newest_first=True, limit=_RECENT)
    found = ((one.version, one.data) for one in recent if one.data.get("call") == event.call_id)
    return next(found, None)


def _stop(event: Event, desk: Desk) -> Answer:
    """Report what was refused again and again in a session that ends its turn."""
    subject = desk.gate.subject
    stuck = {
        name: entry
        for name, entry in desk.ledger.recall(denials(subject)).items()
        if entry.get("session") == event.session
    }
    if not stuck:
        return NOTHING
    desk.ledger.append(
        Draft(subject, "reported", {"session": event.session, "denials": sorted(stuck), **reported(subject, stuck)})
    )
    lines = [
        f"{entry['actor']} was refused {entry['count']} times: {', '.join(entry['targets'])}"
        f" ({', '.join(entry['rules'])})"
        for entry in stuck.values()
    ]
    hint = "Nothing opens by trying again: change the task or the policy, or look at `indult requests`."
    return Answer(notice="\n".join(["indult: handed back", *lines, hint]))


_DECIDE: Final = {
    Kind.PRE: _pre,
    Kind.PERMISSION: _permission,
    Kind.SESSION: _session,
    Kind.PROMPT: _prompt,
    Kind.POST: _post,
    Kind.STOP: _stop,
}


def _brief(event: Event, desk: Desk) -> str:
    """Return the boundary in force as text for an agent, and record that it was told."""
    boundary = desk.gate.boundary()
    brief = boundary.brief(actor=event.actor)
    text = f"{brief.text}\nEvery call is judged by this before it runs (indult, boundary {brief.digest})."
    body = Body(text)
    data = {
        "session": event.session,
        "actor": event.actor,
        "boundary": brief.digest,
        "text": {"body": body.digest},
        "latest": {desk.told: {event.reader: {"boundary": brief.digest}}},
    }
    desk.ledger.append(Draft(desk.gate.subject, "briefed", data, (body,)))
    return text


def _action(event: Event) -> Action:
    return Action(tool=event.tool, args=event.args, actor=event.actor, call_id=event.call_id, cwd=event.cwd)


def _grants(names: tuple[str, ...]) -> str:
    return ", ".join(f"grant {name}" for name in names)


def _join(*texts: str) -> str:
    return "\n\n".join(text for text in texts if text)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
