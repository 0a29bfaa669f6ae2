"""Triage: which signals are taken up, by rules that are data, and by what people answered.

A new signal is taken up, left to a person or ignored, as `autofix` of the policy says. A signal that waits for a person
goes on once its newest hand-back is answered. An answer counts once: what was said before the signal was last taken up
has been heard.

Ledger: stream `signal:ID`, kind `triaged {before, state, reason, priority, rule, rules, answer}`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from indult.approvals import Choice, HumanDecision, RequestState, Standing, request_stream
from indult.autofix.fingerprints import one_line
from indult.autofix.signals import MAX_REASON, Signal, SignalState, find, move, signals
from indult.errors import ForgedRecord, LedgerConflict, UnknownRequest
from indult.gate.requests import asked_stream
from indult.policy.autofix import SIGNAL, Autofix, TriageRule, TriageState
from indult.ship.report import HANDOFF

if TYPE_CHECKING:
    from indult.gate.requests import Requests
    from indult.ledger import Ledger
    from indult.policy import Policy

__all__ = ["NOTE_UNNAMED", "Decision", "answered", "decide", "handed_back", "triage"]

NOTE_UNNAMED: Final = (
    "approving it opened nothing, since the card named no patch: name `dependency_exception` {dependency, version,"
    " paths, change} in `indult report`, and ask again"
)
"""What a fixer is told whose question was approved though it named nothing that approving could open."""

_KIND: Final = "triaged"
_ATTEMPTS: Final = 1000
_NAME: Final = 60
_TITLE: Final = 100
_WORDS: Final = 250


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What becomes of a signal, and why.

    `rules` are the triage rules that match it or fail on it, those first that decided; `answer` is the id of the human
    decision behind it.
    """

    state: SignalState
    reason: str
    rules: tuple[str, ...] = ()
    priority: int = 0
    rule: str | None = None
    answer: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "state": self.state.value,
            "reason": self.reason,
            "rules": list(self.rules),
            "priority": self.priority,
            "rule": self.rule,
            "answer": self.answer,
        }


def decide(signal: Signal, law: Autofix, *, now: str) -> Decision:
    """Return what the rules make of a new signal at `now`: it is taken up, left to a person, ignored, or stays new.

    A rule whose condition has no value for the signal leaves it to a person, as if it were the strictest.
    """
    matches = law.matches({name: getattr(signal, name) for name in SIGNAL})
    state, deciding = _strictest(matches.rules)
    failed = [name for name, _ in matches.errors]
    if failed:
        state = TriageState.NEEDS_HUMAN
        deciding = [rule for rule in matches.rules if rule.state is state]
    first = [*failed, *(rule.id for rule in deciding)]
    rules = (*first, *(rule.id for rule in matches.rules if rule not in deciding))
    said = [f"the triage rule `{name}` has no value for it: {message}" for name, message in matches.errors]
    said += [rule.says or f"the triage rule `{rule.id}` says so" for rule in deciding]
    waits = _waits(signal, law, matches.rules, now) if state is TriageState.FIX else ""
    return Decision(
        state=SignalState.NEW if waits else SignalState(state.value),
        reason=one_line(waits or "; ".join(said), MAX_REASON) or f"seen {_times(signal.count)}",
        rules=rules,
        priority=max((rule.priority for rule in matches.rules if rule.priority is not None), default=0),
        rule=first[0] if first else None,
    )


def _strictest(rules: tuple[TriageRule, ...]) -> tuple[TriageState, list[TriageRule]]:
    """Return the state that beats the others, and the rules that say so; without any, a signal is to be fixed."""
    for state in TriageState:
        found = [rule for rule in rules if rule.state is state]
        if found:
            return state, found
    return TriageState.FIX, []


def _waits(signal: Signal, law: Autofix, rules: tuple[TriageRule, ...], now: str) -> str:
    """Return why a signal that is to be fixed is not taken up yet, or nothing."""
    threshold = max((rule.threshold for rule in rules if rule.threshold is not None), default=law.threshold)
    if signal.count < threshold:
        return f"seen {_times(signal.count)}, and taken up once it is seen {_times(threshold)}"
    if signal.ended_at is not None:
        until = _later(signal.ended_at, law.cooldown)
        if until > now:
            return f"left alone until {until}, since its last fix ended at {signal.ended_at}"
    return ""


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _later(at: str, seconds: int) -> str:
    """Return a time of the ledger that is later by so many seconds."""
    return f"{datetime.fromisoformat(at) + timedelta(seconds=seconds):%Y-%m-%dT%H:%M:%S.%fZ}"


def answered(signal: Signal, standing: Standing | None, *, heard: int = 0) -> Decision | None:
    """Return what the answer to the newest hand-back makes of a signal that waits for a person; none if it still waits.

    `heard` is the version of the last decision on it that was made before the signal was last taken up. Threshold and
    cooldown do not hold an answer up. What has expired, was taken back, used up or superseded is no answer.
    """
    if standing is None or standing.state.closed:
        return None
    refused = {line.partition(":")[0] for line in standing.refused}
    fresh = [one for one in standing.decisions if one.seen >= heard and one.id not in refused]
    if not fresh:
        return None
    last = fresh[-1]
    if last.choice is Choice.REJECT:
        said = [f"{_name(last)} rejected {_title(standing)}{_words(last)}"]
        return _told(SignalState.IGNORED, said, signal, last)
    said = [*_approval(standing, fresh), *_discussion(last)]
    return _told(SignalState.FIX, said, signal, last) if said else None


def _told(state: SignalState, said: list[str], signal: Signal, answer: HumanDecision) -> Decision:
    reason = one_line("; ".join(said), MAX_REASON)
    return Decision(state=state, reason=reason, priority=signal.priority, answer=answer.id)


def _approval(standing: Standing, fresh: list[HumanDecision]) -> list[str]:
    """Return what is said of an approval that was not heard before, if that is how the request stands."""
    if standing.state is not RequestState.APPROVED:
        return []
    approving = [one for one in fresh if one.choice is Choice.APPROVE and one.by in standing.approved_by]
    if not approving:
        return []
    last = approving[-1]
    names = one_line(" and ".join(dict.fromkeys(one.by for one in approving)), _NAME)
    said = f"{names} approved {_title(standing)}"
    # What a person wrote may be long, and a reason is cut at its end.
    unnamed = [] if standing.request.scope.targets else [NOTE_UNNAMED]
    return [said, *unnamed, *([f"{_name(last)}: {one_line(last.note, _WORDS)}"] if last.note.strip() else [])]


def _discussion(last: HumanDecision) -> list[str]:
    """Return what the last word asks for; to discuss without a word asks for nothing."""
    if last.choice is not Choice.DISCUSS or not last.note.strip():
        return []
    return [f"{_name(last)} asks: {one_line(last.note, _WORDS)}"]


def _name(decision: HumanDecision) -> str:
    return one_line(decision.by, _NAME)


def _title(standing: Standing) -> str:
    return one_line(standing.request.scope.title, _TITLE)


def _words(decision: HumanDecision) -> str:
    return f": {one_line(decision.note, _WORDS)}" if decision.note.strip() else ""


def triage(
    ledger: Ledger, policy: Policy, requests: Requests, *, clock: Callable[[], str]
) -> list[tuple[Signal, Decision]]:
    """Decide about every signal that is new or waits for a person, record what changes, and return that.

    Each signal is returned as it stands then. Why one stays new, `decide` tells.
    """
    law = policy.autofix or Autofix()
    waiting = list(signals(ledger, SignalState.NEW, SignalState.NEEDS_HUMAN))
    found = (_triaged(ledger, signal, law, requests, clock()) for signal in waiting)
    return [one for one in found if one is not None]


def _triaged(
    ledger: Ledger, signal: Signal, law: Autofix, requests: Requests, now: str
) -> tuple[Signal, Decision] | None:
    """Decide about one signal until nobody else gets ahead of it; none if it stays as it is."""
    for attempt in range(_ATTEMPTS):
        decision, expect = _decision(ledger, signal, law, requests, now)
        if decision is None or decision.state is signal.state:
            return None
        try:
            return _moved(ledger, signal, decision, expect), decision
        except LedgerConflict:
            if attempt == _ATTEMPTS - 1:
                raise
            signal = find(ledger, signal.id)
    raise AssertionError("unreachable")


def _decision(
    ledger: Ledger, signal: Signal, law: Autofix, requests: Requests, now: str
) -> tuple[Decision | None, dict[str, int]]:
    """Return what becomes of a signal as it is now, and the versions of other streams on which that rests."""
    if signal.state is SignalState.NEW:
        return decide(signal, law, now=now), {}
    if signal.state is not SignalState.NEEDS_HUMAN:
        return None, {}
    standing = handed_back(requests, signal.subject)
    if standing is None or not standing.decisions:
        return None, {}
    request = standing.request.id
    # An approval that is taken back while this is written must not start a fix.
    return answered(signal, standing, heard=_heard(ledger, signal, request)), {
        request_stream(request): standing.version
    }


def _moved(ledger: Ledger, signal: Signal, decision: Decision, expect: Mapping[str, int]) -> Signal:
    more = {name: value for name, value in decision.to_dict().items() if name not in {"state", "reason"}}
    return move(ledger, signal, decision.state, reason=decision.reason, kind=_KIND, more=more, expect=expect)


def handed_back(requests: Requests, subject: str) -> Standing | None:
    """Return how the newest hand-back of a signal stands, if it ever was handed back; calls that were asked about are none."""
    for event in requests.ledger.events(asked_stream(subject), newest_first=True):
        try:
            standing = requests.standing(str(event.data.get("request")))
        except (UnknownRequest, ForgedRecord):
            continue  # it answers nothing; `Requests.forged` tells of it
        if standing.request.kind == HANDOFF and standing.request.scope.subject == subject:
            return standing
    return None


def _heard(ledger: Ledger, signal: Signal, request: str) -> int:
    """Return the version of the last decision on a request that was made before the signal was last taken up."""
    made = list(ledger.events(request_stream(request), kinds={"decided"}))
    for event in ledger.events(signal.subject, newest_first=True):
        if not made or event.position < made[0].position:
            break
        if "before" in event.data and event.data.get("state") == SignalState.FIX:
            return max((one.version for one in made if one.position < event.position), default=0)
    return 0
