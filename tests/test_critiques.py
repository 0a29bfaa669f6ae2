from __future__ import annotations

import math

import pytest

from indult import Advice, Critique
from indult.critiques import fact, holds, steer
from indult.errors import InputError

LADDER = ("visit", "gentle_intro", "leave_a_note")


class TestCritique:
    @pytest.mark.parametrize("score", [-0.01, 1.01, math.nan, math.inf, True, "0.5", None])
    def test_refuses_a_score_that_means_nothing(self, score: object) -> None:
        """A score outside 0 to 1, NaN or of another type is refused, so no grade is better than the best."""
        with pytest.raises(InputError, match="must be a number from 0 to 1"):
            Critique(score=score, reason="odd")  # type: ignore[arg-type]

    def test_refuses_an_axis_that_means_nothing(self) -> None:
        """An axis is held to the same range as the score and is named in the error."""
        with pytest.raises(InputError, match="critique has the quality `nan`"):
            Critique(score=0.5, reason="odd", axes={"quality": math.nan})

    def test_survives_the_ledger(self) -> None:
        """A critique with advice is the same after its JSON form."""
        advice = Advice(rung="gentle_intro", because=("cap",), read={"world.max": 4}, text="gentler")
        critique = Critique(score=0.87, reason="lowered", axes={"advance": 0.5}, advice=advice)

        assert critique == Critique.from_dict(critique.to_dict())


class TestFact:
    def test_follows_a_dotted_path(self) -> None:
        """A dotted path leads through nested facts."""
        assert 4 == fact({"world": {"max": 4}}, "world.max")

    def test_is_nothing_where_the_path_ends_early(self) -> None:
        """A path that leads nowhere gives nothing, not an error."""
        assert fact({"world": 3}, "world.max") is None


class TestHolds:
    def test_sees_a_change_of_type(self) -> None:
        """The fact `true` is not the fact `1`, though Python calls them equal."""
        assert not holds({"world.max": 1}, {"world": {"max": True}})

    def test_sees_a_change_inside_a_list(self) -> None:
        """A list of facts is compared by its content."""
        assert not holds({"ids": ["a"]}, {"ids": ["b"]})


class TestSteer:
    def test_whoever_was_never_pushed_back_is_never_steered(self) -> None:
        """Without remembered push-backs there is no steer."""
        assert steer([], {"world": {"max": 4}}, LADDER) is None

    def test_the_lowest_rung_wins(self) -> None:
        """Of several push-backs that hold, the gentlest advice counts."""
        kept = [{"rung": "leave_a_note", "read": {}}, {"rung": "gentle_intro", "read": {}}]

        assert "leave_a_note" == steer(kept, {}, LADDER)

    def test_lifts_when_the_facts_change(self) -> None:
        """Advice that was given under another cap is void."""
        kept = [{"rung": "gentle_intro", "read": {"world.max": 4}}]

        assert steer(kept, {"world": {"max": 10}}, LADDER) is None

    def test_holds_again_when_the_facts_return(self) -> None:
        """Advice comes back with the facts that it was given under."""
        kept = [{"rung": "gentle_intro", "read": {"world.max": 4}}]

        assert "gentle_intro" == steer(kept, {"world": {"max": 4}}, LADDER)

    def test_ignores_a_rung_of_another_ladder(self) -> None:
        """A rung that this world does not have is no advice in it."""
        assert steer([{"rung": "whisper", "read": {}}], {}, LADDER) is None
