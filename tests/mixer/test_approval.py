"""The mixer with a person: approvals open single moves, seen in the next turn's brief and verdict."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from indult import Verdict
from indult.approvals import Choice, HumanDecision, RequestState, Standing, Via
from indult.boundary import Brief
from indult.gate import Requests
from indult.loop import Loop, Proposal, Step, StopKind
from indult.testing.memory import MemoryLedger
from indult.worlds.mixer import Mixer, MixerOptions, mixer_policy
from indult.worlds.mixer.maker import RuleMaker
from indult.worlds.mixer.show import step_row

if TYPE_CHECKING:
    from indult import Ledger

OPTIONS = MixerOptions(max_intensity=10, require_consent=True, on_ask="stop", max_turns=3)
NOW = "2026-01-01T00:00:00.000000Z"


class Watching(RuleMaker):
    """The rule-based maker, with every brief kept."""

    def __init__(self, world: Mixer) -> None:
        super().__init__(tuple(world.cast.values()), seed=world.options.seed, place="park")
        self.briefs: list[Brief] = []

    def propose(self, brief: Brief) -> Proposal:
        """Keep the brief, then propose."""
        self.briefs.append(brief)
        return super().propose(brief)


class Play:
    """A run of the mixer that stops to ask, and the person who is asked."""

    def __init__(self, ledger: Ledger | None = None) -> None:
        self.ledger = ledger or MemoryLedger(clock=lambda: NOW)
        self.world = Mixer(self.ledger, OPTIONS)
        self.maker = Watching(self.world)
        self.requests = Requests(self.ledger, mixer_policy(), clock=lambda: NOW)
        self.steps: list[Step] = []

    def loop(self) -> Loop:
        """Return the loop with everything watched."""
        loop = self.world.loop(proposer=self.maker, on_step=self.steps.append)
        return replace(loop, requests=self.requests)

    def run(self) -> StopKind:
        """Run until it waits for a person."""
        return asyncio.run(self.loop().run("one", world="mixer", options=OPTIONS.to_dict())).stop.kind

    def resume(self) -> StopKind:
        """Go on as another process would: with a maker of its own."""
        self.maker = Watching(self.world)
        self.steps.clear()
        return asyncio.run(self.loop().resume("one")).stop.kind

    def asked_by(self, actor: str) -> Standing:
        """Return the open request of an actor."""
        return next(one for one in self.requests.pending("run:one") if one.request.requested_by == actor)

    def answer(self, standing: Standing, choice: Choice, note: str = "") -> Standing:
        """Answer as a person who was shown just this."""
        decision = HumanDecision(
            id=f"d_{standing.request.id.removeprefix('r_')}{standing.seen}",
            request=standing.request.id,
            choice=choice,
            digest=standing.request.digest,
            seen=standing.seen,
            by="ann",
            via=Via.CLI,
            at=NOW,
            note=note,
        )
        return self.requests.decide(decision)

    def row(self, actor: str) -> dict[str, object]:
        """Return what an actor did in the first turn after a resume."""
        return next(step_row(step) for step in self.steps if step.actor == actor)

    def brief(self, actor: str) -> Brief:
        """Return the first brief that an actor read after a resume."""
        return next(brief for brief in self.maker.briefs if brief.actor == actor)


@pytest.fixture(name="waiting")
def _waiting() -> Play:
    """Play until everybody waits for consent."""
    play = Play()
    assert StopKind.AWAITING_APPROVAL is play.run()
    return play


def test_every_ask_is_one_request(waiting: Play) -> None:
    """A turn in which all five ask leaves five open requests of this run, each for exactly one move."""
    pending = waiting.requests.pending("run:one")

    assert {"a_jordan", "a_riley", "a_quinn", "a_sasha", "a_theo"} == {one.request.requested_by for one in pending}
    assert {1} == {len(one.request.scope.targets) for one in pending}


def test_the_endless_circle_is_broken(waiting: Play) -> None:
    """Asked, criticised, approved: the very next proposal is the same move, it runs, and the text said so."""
    request = waiting.asked_by("a_jordan")
    waiting.answer(request, Choice.APPROVE)
    waiting.resume()
    (words,) = request.request.scope.words()

    assert ("visit", "APPROVE", "a_theo") == tuple(
        waiting.row("a_jordan")[name] for name in ("move", "verdict", "target")
    )
    assert f"Except for one call of social_action (`{words}` only), this holds: Moves of intensity 3" in (
        waiting.brief("a_jordan").text
    )
    assert "over-reached" not in waiting.brief("a_jordan").text
    assert RequestState.SPENT is waiting.requests.standing(request.request.id).state


def test_text_and_verdict_are_of_one_boundary(waiting: Play) -> None:
    """The digest that the maker read is the digest that the gate judged by, with the grant in both."""
    waiting.answer(waiting.asked_by("a_jordan"), Choice.APPROVE)
    waiting.resume()
    step = next(step for step in waiting.steps if step.actor == "a_jordan")

    assert step.judgement is not None
    assert waiting.brief("a_jordan").digest == step.judgement.briefed == step.judgement.boundary
    assert step.judgement.grants


def test_nobody_else_is_opened_anything(waiting: Play) -> None:
    """The others go one rung down, as without any approval."""
    waiting.answer(waiting.asked_by("a_jordan"), Choice.APPROVE)
    waiting.resume()

    assert {"gentle_intro"} == {waiting.row(actor)["move"] for actor in ("a_riley", "a_sasha", "a_theo")}


def test_one_approval_is_one_move(waiting: Play) -> None:
    """Once it is used the same move asks again, and the actor is back to what was advised."""
    waiting.answer(waiting.asked_by("a_jordan"), Choice.APPROVE)
    waiting.resume()
    later = [step for step in waiting.steps if step.actor == "a_jordan" and step.turn == 3]

    assert ["gentle_intro"] == [step_row(step)["move"] for step in later]
    assert {Verdict.ASK_USER} == {step.judgement.verdict for step in later if step.judgement}


@pytest.mark.parametrize("choice", [Choice.DISCUSS, Choice.REJECT])
def test_any_other_answer_opens_nothing(waiting: Play, choice: Choice) -> None:
    """To discuss or to reject is not to approve: the next move is the one that was advised."""
    waiting.answer(waiting.asked_by("a_jordan"), choice, note="ask Theo first")
    waiting.resume()

    assert "gentle_intro" == waiting.row("a_jordan")["move"]


def test_guidance_reaches_the_next_brief(waiting: Play) -> None:
    """What the person wrote stands in the next brief of whoever asked, and in nobody else's."""
    waiting.answer(waiting.asked_by("a_jordan"), Choice.DISCUSS, note="ask Theo first")
    waiting.resume()

    assert "ask Theo first" in waiting.brief("a_jordan").text
    assert "ask Theo first" not in waiting.brief("a_theo").text
