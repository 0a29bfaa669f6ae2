from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indult.policy import Effect, Policy, Rule, dumps_policy, load_policy, loads_policy

ROOT = Path(__file__).parent.parent.parent
GOOD = [*(ROOT / "tests" / "data" / "policy" / "good").glob("*.yaml"), ROOT / "examples" / "mixer" / "indult.yaml"]

texts = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"])),
    st.sampled_from(["yes", "017", "1e3", "0o17", ".inf", "2026-01-31", "~", "", "*", "&a", "!b", "a: b", "a #b", "<<", "=", "1:30"]),
    st.sampled_from(["a\nb", " a\n  b\n", "\n", "a\u200bb", "\ufeff", "x\u202ey\nz", "# a\nb", "\ta\n", "a\r\nb", "\u2028"]),
)  # fmt: skip
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.name)
def test_a_dumped_policy_loads_as_the_same_policy(path: Path) -> None:
    """The YAML of a policy file's policy, presets merged, is a file with the same policy and digest."""
    policy = load_policy(path)
    again = loads_policy(dumps_policy(policy))

    assert policy == again
    assert policy.digest == again.digest


@given(st.dictionaries(texts, values, min_size=1, max_size=3))
def test_any_arguments_survive(args: dict[str, Any]) -> None:
    """Whatever JSON stands in a ladder, the dumped text reads back as that very value."""
    policy = Policy(rules=(Rule(id="a", effect=Effect.DENY, says="No.", downgrade=(args,)),))

    assert policy.canonical_text == loads_policy(dumps_policy(policy)).canonical_text
