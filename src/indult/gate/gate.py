"""The gate: it judges by a boundary, uses up what it relies on, asks where a person has to be asked, and records it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from indult.actions import Action
from indult.boundary import Boundary, Fault
from indult.canonical import canonical
from indult.decompose import Decompose, decompose
from indult.errors import ApprovalError, InputError, LedgerConflict, ScopeError
from indult.gate import denials, index
from indult.gate.subjects import check_subject
from indult.judgements import Judgement, Verdict
from indult.ledger.masking import mask, suspicious
from indult.ledger.streams import Body, Draft
from indult.policy import DEFAULT, Policy, Record

if TYPE_CHECKING:
    from indult.approvals import Grant
    from indult.gate.requests import Requests
    from indult.ledger import Event, Ledger
    from indult.scopes import Scope

__all__ = ["PREVIEW_BYTES", "Gate", "Settled", "kept", "preview"]

PREVIEW_BYTES = 2000
"""How much of an action's content the ledger keeps under `record: preview` (design section 5)."""


_REASON: Final = 700
_UNASKED: Final = 250
"""How much of a reason is told, and of why nobody was asked, where nobody could be."""
_TITLE: Final = 80
"""How many characters of what a request opens stand in its title."""

_ATTEMPTS: Final = 1000
"""How often an action is judged again because somebody got ahead: so many mean a defect, and nothing is approved."""


class Settled(NamedTuple):
    """A judgement with what has to be appended in the same transaction: uses of grants, or a request that opens."""

    judgement: Judgement
    drafts: tuple[Draft, ...] = ()
    expect: Mapping[str, int] = MappingProxyType({})
    refused: bool = False
    """Whether nothing is left to be waited for: it was denied, or nobody is asked, or a person said no."""


class Gate:
    """Judges the actions of one subject under one policy and keeps the judgements in a ledger.

    `check` records, uses up a grant that its judgement relies on, and opens a request where a person has to be asked;
    `review` judges and leaves no trace. `requests` are those of the ledger, if they are not to be made here, and
    `decompose` takes actions apart.
    """

    def __init__(
        self,
        policy: Policy,
        ledger: Ledger,
        subject: str,
        *,
        requests: Requests | None = None,
        decompose: Decompose = decompose,
    ) -> None:
        check_subject(subject)
        self.policy = policy
        self.ledger = ledger
        self.subject = subject
        self._requests = requests
        self._last: tuple[str, Body] | None = None
        self._boundary = Boundary(policy=policy, subject=subject, decompose=decompose)
        self._over = False
        self.repeated = 0
        """How often what `check` judged last was refused before and now; 0 where it was not refused."""
        self.faults: tuple[Fault, ...] = ()
        """The parts that kept what `check` judged last from going ahead; empty where nothing did, or it has no parts."""

    @property
    def requests(self) -> Requests:
        """Return the requests of the ledger: imported when there are some, since most actions meet none."""
        if self._requests is None:
            from indult.gate.requests import Requests

            self._requests = Requests(self.ledger, self.policy)
        return self._requests

    def boundary(self) -> Boundary:
        """Return the boundary in force now: the policy and the live grants of the subject, folded afresh."""
        grants: tuple[Grant, ...] = ()
        self._over = False
        if self.ledger.recall(index.live(self.subject)):
            found = self.requests.look(self.subject)
            grants, self._over = found.grants, bool(found.over)
        if grants != self._boundary.grants:
            self._boundary = replace(self._boundary, grants=grants)
        return self._boundary

    def review(self, action: Action, facts: Mapping[str, Any], *, briefed: str | None = None) -> Judgement:
        """Judge an action; nothing is recorded, nothing is used up and no request opens."""
        return self.boundary().judge(action, facts, briefed=briefed)

    def check(
        self, action: Action, facts: Mapping[str, Any], *, briefed: str | None = None, session: str | None = None
    ) -> Judgement:
        """Judge an action and record the judgement in the subject's stream.

        A use of each grant that it relies on is reserved in the same transaction; an ask opens a request, or finds the
        one that is open already; a refusal is counted (`indult.gate.denials`). `session` is whose call it is.

        Raises:
            ApprovalError: A grant that judges as live cannot be used, so its records are damaged.
            InputError: The subject is a run, which keeps its own stream.
        """
        if self.subject.startswith("run:") and self.ledger.last(self.subject, "run_started") is not None:
            raise InputError(
                f"`{self.subject}` is a run, and its stream is written by its loop", hint="`review` judges"
            )
        for attempt in range(_ATTEMPTS):
            last = attempt == _ATTEMPTS - 1
            self.faults = ()
            judgement = self.review(action, facts, briefed=briefed)
            try:
                settled = self.settle(action, facts, judgement)
            except ApprovalError:
                if last or self.requests.live(self.subject) == self._boundary.grants:
                    raise
                continue  # it was used up or taken back since: judged again, that is no approval
            fields, bodies = self.record(action, facts, settled.judgement)
            fields |= self._refusal(action, facts, settled, session)
            fields |= {name: text for name, text in (("call", action.call_id), ("session", session)) if text}
            mine = Draft(stream=self.subject, kind="judgement", data=fields, bodies=bodies)
            try:
                events = self.ledger.append(*settled.drafts, mine, expect=settled.expect)
            except LedgerConflict:
                if last:
                    raise
                continue
            self.appended(settled, events)
            return settled.judgement
        raise AssertionError("unreachable")

    def _refusal(
        self, action: Action, facts: Mapping[str, Any], settled: Settled, session: str | None
    ) -> dict[str, Any]:
        """Return what a refusal adds to the data of its event, and keep how often it was made."""
        self.repeated = 0
        if not settled.refused:
            return {}
        self.faults = self.faults or self._boundary.at_fault(action, facts)
        data, self.repeated = denials.views(
            self.ledger,
            self.subject,
            settled.judgement,
            self.faults,
            policy=self.policy.digest,
            tool=action.tool,
            actor=action.actor,
            session=session,
        )
        return data

    def settle(self, action: Action, facts: Mapping[str, Any], judgement: Judgement) -> Settled:
        """Return what follows from a judgement of the boundary in force, to be appended together with its record.

        An approval that relies on grants uses each of them once; an ask names the request that was put to a person.
        Whoever appends it hands the events to `appended`, and judges again on a `LedgerConflict` that names
        another stream than the caller's own.

        Raises:
            ApprovalError: A grant that the judgement relies on is not live any more.
        """
        if judgement.verdict is Verdict.APPROVE and judgement.grants:
            known = {grant.id: grant for grant in self._boundary.grants}
            relied = [known.get(name, name) for name in judgement.grants]
            drafts, expect = self.requests.reserve(relied, action=action, by=action.actor)
            return Settled(judgement=judgement, drafts=tuple(drafts), expect=expect)
        # Under `mode: observe` nothing waits for an answer, so nobody is asked.
        if judgement.verdict is Verdict.ASK_USER and judgement.enforced:
            return self._ask(action, facts, judgement)
        return Settled(judgement=judgement, refused=judgement.verdict is Verdict.DENY and judgement.enforced)

    def appended(self, settled: Settled, events: Iterable[Event]) -> None:
        """Take note of the events that a settled judgement was appended with, and tidy up what is over by time."""
        if settled.drafts:
            self.requests.note(events)
        if self._over or settled.judgement.request is not None:
            self.requests.sweep(self.subject)

    def _ask(self, action: Action, facts: Mapping[str, Any], judgement: Judgement) -> Settled:
        from indult.approvals import RequestState

        try:
            opening = self.requests.opening(
                self._asked(action, facts),
                boundary=self._boundary,
                requested_by=action.actor,
                action=action,
                facts=facts,
            )
        except (ApprovalError, ScopeError) as exc:
            # What the rules say stands in the reason already, and why nobody was asked may say it again.
            told = exc.message
            for name in judgement.rules:
                says = None if name == DEFAULT else self.policy.rule(name).says
                told = told.replace(says, "") if says else told
            reason = (
                f"{_short(judgement.reason, _REASON)} (nobody was asked: {_short(' '.join(told.split()), _UNASKED)})"
            )
            return Settled(judgement=judgement._replace(reason=reason), refused=True)
        answer = opening.standing.answer
        reason = f"{judgement.reason} (request `{opening.request}`: {answer})" if answer else judgement.reason
        return Settled(
            judgement=judgement._replace(request=opening.request, reason=reason),
            drafts=opening.drafts,
            expect=opening.expect,
            refused=opening.standing.state is RequestState.REJECTED,
        )

    def _asked(self, action: Action, facts: Mapping[str, Any]) -> Scope:
        """Return the scope of what a person has to be asked about: the call, or exactly those of its parts that ask.

        Raises:
            ScopeError: It cannot be told exactly, or is more than a person can be asked to read.
        """
        from indult.scopes import Scope

        if not self._boundary.decompose(action):
            return Scope.call(action, subject=self.subject)
        self.faults = self._boundary.at_fault(action, facts)
        targets = [fault.target for fault in self.faults]
        scope = Scope.parts(targets, subject=self.subject, title="part of one call")
        # The first words of what it opens, so that one question can be told from another in a list.
        first = scope.words()[0]
        title = first if len(first) <= _TITLE else first[: _TITLE - 1] + "…"
        return replace(scope, title=title)

    def record(
        self, action: Action, facts: Mapping[str, Any], judgement: Judgement, extra: Mapping[str, Any] | None = None
    ) -> tuple[dict[str, Any], tuple[Body, ...]]:
        """Return the fields and bodies that a ledger keeps of a judged action.

        Arguments, facts and `extra` go to bodies, which can be forgotten; how much of the arguments is kept is for the
        rules that decided to say (`record`), the most sparing of them first.
        """
        shown = judgement.to_dict()
        content: dict[str, Any] = {"args": action.args, **(extra or {})}
        if "instead" in shown:
            content["instead"] = shown.pop("instead")["args"]
        given = self._given(facts)
        fields = {
            "tool": action.tool,
            "action": action.digest,
            "actor": action.actor,
            "judgement": shown,
            "facts": {"body": given.digest},
        }
        record = self._record(judgement)
        if record is Record.DIGEST:
            return fields, (given,)
        body = Body(_text(content)) if record is Record.FULL else preview(content)
        fields["content"] = {"body": body.digest}
        return fields, (given, body)

    def _given(self, facts: Mapping[str, Any]) -> Body:
        """Return the body of the facts; they seldom change from one action to the next."""
        # Compared as text: in Python, true equals 1.
        text = canonical(dict(facts))
        if self._last is None or self._last[0] != text:
            self._last = (text, Body(_text(facts)))
        return self._last[1]

    def _record(self, judgement: Judgement) -> Record:
        """Return how much to keep: the most sparing word of the rules that decided."""
        chosen = {self.policy.rule(name).record for name in judgement.rules if name != DEFAULT}
        sparing = (Record.DIGEST, Record.PREVIEW, Record.FULL)
        return next((record for record in sparing if record in chosen), Record.PREVIEW)


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def kept(ledger: Ledger, data: Mapping[str, Any], part: str = "content") -> dict[str, Any] | None:
    """Return what the ledger still keeps beside a recorded judgement: its `content`, or the `facts` at the time.

    `data` is that of the event; there is nothing where it was forgotten or never kept.
    """
    named = data.get(part)
    text = ledger.body(named["body"]) if named else None
    return None if text is None else dict(json.loads(text))


def preview(content: Mapping[str, Any]) -> Body:
    """Return the body that keeps `content`; of one over 2 kB, its size and its beginning."""
    text = _text(content)
    size = len(text.encode())
    if size <= PREVIEW_BYTES:
        return Body(text)
    cut = text.encode()[:PREVIEW_BYTES].decode(errors="ignore")
    return Body(canonical({"preview": cut, "bytes": size}))


def _text(content: Mapping[str, Any]) -> str:
    """Return the canonical JSON of what is to be kept, with secrets masked inside its strings and not across them."""
    text = canonical(dict(content))
    return canonical(mask(dict(content))) if suspicious(text) else text
