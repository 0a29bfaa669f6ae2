"""The mixer world: its options, its facts, its bonds, and the loop that runs in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from importlib.resources import files
from typing import Any, Final, Literal

from indult.actions import Action
from indult.budget import Budget
from indult.errors import WorldError
from indult.ledger import Draft, Ledger
from indult.loop import Loop, Outcome, Proposer, Status, Step
from indult.policy import Policy, loads_policy
from indult.worlds.mixer.maker import RuleMaker
from indult.worlds.mixer.people import MOVES, STAGES, TOOL, check_known, fit, make_cast, pair, stage
from indult.worlds.mixer.verifier import RuleVerifier

__all__ = ["Mixer", "MixerOptions", "mixer_policy"]

_PLACE: Final = "park"
_MEMORY: Final = "mixer"
_LADDER: Final = tuple(MOVES)


@dataclass(frozen=True, slots=True, kw_only=True)
class MixerOptions:
    """What a run of the mixer can be told; the defaults are those of the worked example.

    With `on_ask: stop` a run waits for a person at the end of a turn that got nobody on, and is resumed afterwards.

    Raises:
        WorldError: The goal is no stage, a blocked id is nobody's, or there are fewer than two agents.
    """

    max_intensity: int = 4
    require_consent: bool = False
    blocked: tuple[str, ...] = ()
    goal_stage: str = "walk_buddy"
    max_turns: int = 12
    max_engine_calls: int = 60
    stall_patience: int = 4
    seed: int = 7
    agents: int = 5
    on_ask: Literal["stop", "continue"] = "continue"

    def __post_init__(self) -> None:
        """Refuse names that the world does not know."""
        check_known("stage", self.goal_stage, tuple(STAGES))
        cast = tuple(persona.id for persona in make_cast(self.agents, self.seed))
        for name in self.blocked:
            check_known("persona", name, cast)
        if self.stall_patience < 1:
            raise WorldError(f"stall patience is `{self.stall_patience}`", hint="at least 1 turn")

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {**asdict(self), "blocked": list(self.blocked)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> MixerOptions:
        """Read what `to_dict` wrote."""
        return cls(**{**data, "blocked": tuple(data.get("blocked", ()))})


def mixer_policy() -> Policy:
    """Return the law of the mixer, the policy file that ships beside this module."""
    source = files(__package__) / "indult.yaml"
    return loads_policy(source.read_text(encoding="utf-8"), source="indult.yaml")


class Mixer:
    """A park whose people act on their own; bonds and critiques persist in the ledger over all its runs."""

    effect = "ledger"
    """Moves change bonds only, which are counters of the ledger, so a step is one transaction."""

    def __init__(self, ledger: Ledger, options: MixerOptions) -> None:
        self.ledger = ledger
        self.options = options
        self.cast = {persona.id: persona for persona in make_cast(options.agents, options.seed)}

    def loop(self, *, proposer: Proposer | None = None, on_step: Callable[[Step], None] = lambda step: None) -> Loop:
        """Return the loop of this world, by default with the rule-based maker."""
        options = self.options
        maker = RuleMaker(tuple(self.cast.values()), seed=options.seed, place=_PLACE, blocked=options.blocked)
        return Loop(
            policy=mixer_policy(),
            ledger=self.ledger,
            proposer=maker if proposer is None else proposer,
            executor=self,
            verifier=RuleVerifier(_LADDER),
            actors=tuple(self.cast),
            facts=self.facts,
            goal=self.goal,
            check=self.check,
            task=f"Make friends at the {_PLACE}, one social move per turn.",
            ladder=_LADDER,
            memory=_MEMORY,
            budget=Budget(turns=options.max_turns, engine_calls=options.max_engine_calls),
            stall_patience=options.stall_patience,
            on_ask=options.on_ask,
            on_step=on_step,
        )

    def facts(self) -> dict[str, Any]:
        """Return the facts that the policy's conditions may read."""
        options = self.options
        world = {
            "max_intensity": options.max_intensity,
            "require_consent": options.require_consent,
            "blocked_ids": list(options.blocked),
        }
        return {"world": world}

    def goal(self, turn: int) -> str | None:
        """Return a detail once any pair is at the goal stage; turn 0 is before the first."""
        wanted = self.options.goal_stage
        best = self.ledger.top(_MEMORY, "bond:")
        if (best[1] if best is not None else 0) < STAGES[wanted]:
            return None
        return f"a pair reached '{wanted}' on turn {turn}" if turn else f"a pair already at/above '{wanted}'"

    def check(self, action: Action) -> None:
        """Refuse an action that is no move of this world; its intensity is the move's own, whatever a maker says.

        Raises:
            WorldError: Another tool, an unknown move or person, another intensity, or arguments beside these.
        """
        args = action.args
        if action.tool != TOOL or set(args) != {"type", "intensity", "participants"}:
            raise WorldError(
                f"`{action.tool}` with {sorted(args)} is no move", hint=f"{TOOL}: type, intensity, participants"
            )
        move, people = args["type"], args["participants"]
        if not isinstance(move, str) or move not in MOVES:
            raise WorldError(f"there is no move `{move}`", hint=f"moves: {', '.join(MOVES)}")
        if type(args["intensity"]) is not int or args["intensity"] != MOVES[move]:
            raise WorldError(f"move `{move}` has the intensity {MOVES[move]}, not `{args['intensity']}`")
        if not isinstance(people, list) or len(people) != 2 or people[0] != action.actor or people[0] == people[1]:
            raise WorldError(f"participants are `{people}`, not the actor and one other")
        for person in people:
            check_known("persona", person, tuple(self.cast))

    def execute(self, action: Action) -> Outcome:
        """Make the move: the bond of the two grows by half the intensity, at least by one."""
        points = max(1, action.args["intensity"] // 2)
        name = pair(*action.args["participants"])
        met = self.measure(action)
        counts = {f"bond:{name}": points, f"met:{name}": 1}
        if not met.before:
            # The how-manieth bond of this memory it is; lists show equal bonds in the order in which they began.
            counts |= {"bonds": 1, f"since:{name}": int(self.ledger.counter(_MEMORY, "bonds")) + 1}
        return replace(met, status=Status.DONE, after=(met.before or 0) + points, counts=counts)

    def measure(self, action: Action) -> Outcome:
        """Return the bond of the two people and how well they fit, with nothing done."""
        one, other = action.args["participants"]
        bond = int(self.ledger.counter(_MEMORY, f"bond:{pair(one, other)}"))
        return Outcome(status=Status.NOT_RUN, before=bond, after=bond, fit=fit(self.cast[one], self.cast[other]))

    def bonds(self) -> list[dict[str, Any]]:
        """Return all bonds, the strongest first and of equal ones the oldest."""
        points, met, since = (self._counted(what) for what in ("bond", "met", "since"))
        rows = []
        for name in sorted(points, key=lambda name: (-points[name], since[name], name)):
            one, other = name.split("|")
            shown = {"bond": points[name], "stage": stage(points[name]), "interactions": met[name]}
            rows.append({"a": one, "b": other, **shown})
        return rows

    def _counted(self, what: str) -> dict[str, int]:
        found = self.ledger.counters(_MEMORY, f"{what}:")
        return {name.removeprefix(f"{what}:"): int(count) for name, count in found.items()}

    def reset(self) -> None:
        """Forget the bonds and critiques of all runs; the log keeps what happened."""
        self.ledger.append(Draft(stream="memory:mixer", kind="memory_cleared", data={"clear": [_MEMORY]}))
