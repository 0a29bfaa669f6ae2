"""Two ships at once: for one grant one of them lands, and into one target they land one after the other."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from tests.ship.yard import NAMED, Yard

from indult.approvals import RequestState
from indult.ledger import open_ledger
from indult.ship.ship import Landed

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

SHIPS = 4


def started(yard_of: Path, ledger: Path, branch: str, signal: str, gate: Path) -> int:
    """Start a process that ships a branch as soon as the gate opens; it ends with 0 if that landed, with 3 if not."""
    child = os.fork()
    if child:
        return child
    code = 9
    try:
        while not gate.exists():
            time.sleep(0.001)
        with open_ledger(ledger) as opened:
            came = Yard(folder=yard_of, ledger=opened, name=f"{os.getpid()}-").run(signal, branch=branch)
            code = 0 if isinstance(came, Landed) and not came.empty else 3
    finally:
        os._exit(code)


def ended(children: list[int]) -> list[int]:
    """Wait for the processes and return how they ended."""
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]


@pytest.mark.parametrize("clones", [False, True])
def test_one_grant_lands_once(tmp_path: Path, clones: bool) -> None:
    """Several branches under one approval, in one repository or in clones of it: exactly one lands."""
    ledger = tmp_path / "ledger.db"
    with open_ledger(ledger) as opened:
        yard = Yard.make(tmp_path / "0", opened)
        for number in range(1, SHIPS):
            yard.repo.git("switch", "--quiet", "-c", f"fix{number}", "fix")
            yard.repo.commit({f"src/{number}.js": "more\n"})
        yard.repo.git("switch", "--quiet", "elsewhere")
        found = yard.approved()
        assert found.grant is not None
    places = [tmp_path / "0"] * SHIPS
    if clones:
        for number in range(1, SHIPS):
            yard.repo.git("clone", "--quiet", "--mirror", ".", str(tmp_path / str(number) / "repository"))
        places = [tmp_path / str(number) for number in range(SHIPS)]
    gate = tmp_path / "gate"
    children = [
        started(place, ledger, f"fix{number}" if number else "fix", "s1", gate) for number, place in enumerate(places)
    ]
    gate.touch()

    assert [0] + [3] * (SHIPS - 1) == sorted(ended(children))
    with open_ledger(ledger) as opened:
        after = Yard(folder=tmp_path / "0", ledger=opened).requests()
        assert RequestState.SPENT is after.grant(found.grant.id).state
        assert () == opened.verify().faults


def test_different_grants_land_one_after_the_other(tmp_path: Path) -> None:
    """Ships that need nothing of each other may find the target moved; shipped again, each of them lands."""
    ledger = tmp_path / "ledger.db"
    with open_ledger(ledger) as opened:
        yard = Yard.make(tmp_path, opened)
        for number in range(SHIPS):
            yard.repo.git("switch", "--quiet", "-c", f"own{number}", "main")
            yard.repo.commit({f"vendor/{number}.js": "patched\n"})
            yard.approved(f"s{number}", {**NAMED, "paths": [f"vendor/{number}.js"]})
        yard.repo.git("switch", "--quiet", "elsewhere")
    gate = tmp_path / "gate"
    gate.touch()
    left = list(range(SHIPS))
    for _ in range(SHIPS):
        codes = ended([started(tmp_path, ledger, f"own{number}", f"s{number}", gate) for number in left])
        assert set(codes) <= {0, 3}
        left = [number for number, code in zip(left, codes, strict=True) if code]
        if not left:
            break

    assert [] == left
    with open_ledger(ledger) as opened:
        yard = Yard(folder=tmp_path, ledger=opened)
        shown = yard.repo.git("ls-tree", "--name-only", "main", "vendor/").split()
        assert {f"vendor/{number}.js" for number in range(SHIPS)} <= set(shown)
        assert SHIPS == sum(1 for _ in opened.events(kinds={"ship_landed"}))
