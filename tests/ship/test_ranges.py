from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.ship.yard import BASE, Yard

from indult import Verdict
from indult.ledger import open_ledger


def manifest(**versions: str) -> str:
    """Return package.json with other wanted versions."""
    data = json.loads(BASE["package.json"])
    return json.dumps({**data, "dependencies": {**data["dependencies"], **versions}})


def yard(tmp_path: Path, **versions: str) -> Yard:
    """Return a yard whose branch wants other versions."""
    ledger = open_ledger(tmp_path / "ledger.db")
    return Yard.make(tmp_path, ledger, fix={"package.json": manifest(**versions)})


def named(version: str) -> dict[str, Any]:
    """Return the exception that names a version of libdb."""
    return {"dependency": "libdb", "version": version, "paths": ["package.json"], "change": "take it"}


@pytest.mark.parametrize("version", ["^1.8.3", "~1.8.3", ">=1.8.3 <2", "1.8", "*"])
def test_a_range_is_asked_about_as_a_whole_commit(tmp_path: Path, version: str) -> None:
    """What `npm install` writes is refused as an ask, no exception of the version covers it, and a held commit does."""
    made = yard(tmp_path, libdb=version)
    shown = version if version != "1.8" else "1.8 (a range)"
    came = made.refused()
    assert came.verdict is Verdict.ASK_USER
    assert f"may only change package.json scripts, not libdb@{shown} [repo.dependencies]" in came.message

    # Approved, and of no use for a range.
    made.approved(named=named("1.8.3"))
    came = made.refused()
    assert came.verdict is Verdict.ASK_USER
    assert f"entries of libdb, not libdb@{shown} [repo.dependencies]" in came.message

    with made.repository() as repository:
        ship = made.ship(repository, "s2")
        held = ship.hold(ship.judge(), change="take libdb as npm writes it")
    made.decide(held)
    assert ("package.json",) == made.landed("s2").files


def test_a_version_in_place_of_a_range(tmp_path: Path) -> None:
    """A range that becomes the version named is another kind of entry, which only a held commit opens."""
    ledger = open_ledger(tmp_path / "ledger.db")
    made = Yard.make(tmp_path, ledger, fix={"package.json": manifest(libdb="^1.8.2")})
    with made.repository() as repository:
        ship = made.ship(repository, "s0")
        made.decide(ship.hold(ship.judge(), change="take a range"))
    made.landed("s0")
    made.repo.git("switch", "--quiet", "-C", "fix", "main")
    made.repo.commit({"package.json": manifest(libdb="1.8.3")})
    made.repo.git("switch", "--quiet", "elsewhere")

    made.approved(named=named("1.8.3"))
    came = made.refused()
    assert came.verdict is Verdict.ASK_USER
    assert "not libdb@1.8.3 (was ^1.8.2) [repo.dependencies]" in came.message


def test_another_package_is_denied(tmp_path: Path) -> None:
    """A range of another package under the same name is no range, and nobody can open it."""
    came = yard(tmp_path, libdb="npm:evil@^1.8.3").refused()

    assert came.verdict is Verdict.DENY
    assert "may not change package.json (libdb: is no plain version and no range) [repo.control]" in came.message
