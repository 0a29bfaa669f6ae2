"""The gate: it judges by a boundary and records what it judged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from indult.actions import Action
from indult.boundary import Boundary
from indult.canonical import canonical, copy_json
from indult.judgements import Judgement
from indult.ledger import Body, Draft, Ledger, mask
from indult.ledger.masking import suspicious
from indult.policy import DEFAULT, Policy, Record

__all__ = ["PREVIEW_BYTES", "Gate", "preview"]

PREVIEW_BYTES = 2000
"""How much of an action's content the ledger keeps under `record: preview` (design section 5)."""


class Gate:
    """Judges the actions of one subject under one policy and keeps the judgements in a ledger.

    `check` records; `review` judges and leaves no trace.
    """

    def __init__(self, policy: Policy, ledger: Ledger, subject: str) -> None:
        self.policy = policy
        self.ledger = ledger
        self.subject = subject
        self._last: tuple[dict[str, Any], Body] | None = None
        self._boundary = Boundary(policy=policy, subject=subject)

    def boundary(self) -> Boundary:
        """Return the boundary in force now: the policy and the live grants of the subject."""
        return self._boundary

    def review(self, action: Action, facts: Mapping[str, Any], *, briefed: str | None = None) -> Judgement:
        """Judge an action; nothing is recorded and no request opens."""
        return self.boundary().judge(action, facts, briefed=briefed)

    def check(self, action: Action, facts: Mapping[str, Any], *, briefed: str | None = None) -> Judgement:
        """Judge an action and record the judgement in the subject's stream."""
        judgement = self.review(action, facts, briefed=briefed)
        fields, bodies = self.record(action, facts, judgement)
        self.ledger.append(Draft(stream=self.subject, kind="judgement", data=fields, bodies=bodies))
        return judgement

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
        kept = Body(_text(content)) if record is Record.FULL else preview(content)
        fields["content"] = {"body": kept.digest}
        return fields, (given, kept)

    def _given(self, facts: Mapping[str, Any]) -> Body:
        """Return the body of the facts; they seldom change from one action to the next."""
        if self._last is None or self._last[0] != facts:
            self._last = (copy_json(dict(facts), name="facts"), Body(_text(facts)))
        return self._last[1]

    def _record(self, judgement: Judgement) -> Record:
        """Return how much to keep: the most sparing word of the rules that decided."""
        chosen = {self.policy.rule(name).record for name in judgement.rules if name != DEFAULT}
        sparing = (Record.DIGEST, Record.PREVIEW, Record.FULL)
        return next((record for record in sparing if record in chosen), Record.PREVIEW)


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
