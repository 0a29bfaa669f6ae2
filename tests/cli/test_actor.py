"""Whoever is at work, as INDULT_ACTOR says, decides nothing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.agents import PUBLIC

from indult import load_policy

if TYPE_CHECKING:
    from tests.cli.conftest import Office


@pytest.fixture(name="at_work")
def _at_work(office: Office, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Name a request, a grant and the digest of the policy, and be at work from then on."""
    office.approve(row := office.ask())
    names = {"GRANT": office.show(row["id"])["grant"]["id"], "REQUEST": office.ask(to="eve", subject="t")["id"]}
    names |= {
        "DIGEST": office.show(names["REQUEST"])["digest"],
        "POLICY": load_policy(office.folder / "indult.yaml").digest,
    }
    monkeypatch.setenv("INDULT_ACTOR", "fixer")
    return names


@pytest.mark.parametrize(
    "words",
    [
        "approve REQUEST --digest DIGEST",
        "reject REQUEST --digest DIGEST",
        "discuss REQUEST --digest DIGEST --note why",
        "revoke GRANT",
        "trust indult.yaml --digest POLICY",
        "approver add eve --public-key KEY",
        "approver remove eve",
    ],
)
def test_it_decides_nothing(office: Office, at_work: dict[str, str], words: str) -> None:
    """Each verb that decides ends in an error that names the variable, and nothing has changed."""
    before = Path("indult.yaml").read_bytes()
    names = {**at_work, "KEY": PUBLIC.text}

    ran = office(*(names.get(word, word) for word in words.split()))

    assert 1 == ran.exit_code
    assert ran.stderr.startswith("error: `fixer` is at work here (INDULT_ACTOR)"), ran.stderr
    assert before == Path("indult.yaml").read_bytes()
    assert "open" == office.show(at_work["REQUEST"])["state"]
    assert [at_work["GRANT"]] == [row["id"] for row in office("grants", "--json").json]
    assert 4 == office("trust", "--show").exit_code


def test_reading_and_asking_stay(office: Office, at_work: dict[str, str]) -> None:
    """Whoever is at work can still look, ask and list."""
    assert 0 == office("show", at_work["REQUEST"]).exit_code
    assert 0 == office("approver", "list").exit_code
    assert "r_" in str(office.ask(to="bob")["id"])
