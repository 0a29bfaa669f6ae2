from __future__ import annotations

import pytest

from indult import Budget, Meter
from indult.errors import ConfigurationError


class TestBudget:
    @pytest.mark.parametrize(
        "ceilings", [{"turns": -1}, {"turns": 1.5}, {"tokens": True}, {"seconds": float("nan")}, {"cost": "3"}]
    )
    def test_refuses_a_ceiling_that_cannot_be_compared(self, ceilings: dict[str, float]) -> None:
        """Negative, fractional where whole, NaN and text ceilings are refused with the name of the budget."""
        with pytest.raises(ConfigurationError, match=f"budget `{next(iter(ceilings))}` is"):
            Budget(**ceilings)  # type: ignore[arg-type]

    def test_survives_the_ledger(self) -> None:
        """A budget is the same after its JSON form, which names only what has a ceiling."""
        budget = Budget(turns=3, seconds=1.5)

        assert {"turns": 3, "seconds": 1.5} == budget.to_dict()
        assert budget == Budget.from_dict(budget.to_dict())


class TestMeter:
    def test_a_ceiling_of_nothing_is_hit_at_once(self) -> None:
        """A budget of 0 is spent before anything happens."""
        assert ("engine_calls", 0) == Meter().exhausted(Budget(engine_calls=0))

    def test_names_the_first_budget_in_a_fixed_order(self) -> None:
        """Where several budgets are spent at once, turns come first, then engine calls."""
        meter = Meter(turns=2, engine_calls=10)

        assert ("turns", 2) == meter.exhausted(Budget(engine_calls=10, turns=2))

    def test_turns_do_not_stop_a_turn(self) -> None:
        """Within a turn the number of turns is no reason to stop."""
        meter = Meter(turns=2, engine_calls=10)

        assert ("engine_calls", 10) == meter.exhausted(Budget(engine_calls=10, turns=2), within_turn=True)

    def test_no_ceiling_is_never_hit(self) -> None:
        """Without ceilings nothing is ever spent."""
        assert Meter(turns=10**9, tokens=10**12).exhausted(Budget()) is None

    def test_leaves_the_time_out_of_the_ledger(self) -> None:
        """Elapsed seconds are not in the JSON form, so two runs of the same kind write the same."""
        assert "seconds" not in Meter(seconds=3.2).to_dict()
