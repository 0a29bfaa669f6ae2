"""Difference 7, law 8 on a real disk: kill -9 at any instant, resume, and the ledger is that of an undisturbed run."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from indult import open_ledger
from indult.ledger.sqlite import SqliteLedger
from indult.loop import StopKind
from indult.testing.kill import count_boundaries, kill_at
from indult.worlds.mixer import Mixer, MixerOptions

OPTIONS = MixerOptions(agents=30, max_turns=10, max_engine_calls=1000, goal_stage="close")
STEPS = 300
KILLS = 100


def play(ledger: SqliteLedger, *, resume: bool = False) -> StopKind:
    """Start or resume the run and take it to its end."""
    loop = Mixer(ledger, OPTIONS).loop()
    if resume:
        return asyncio.run(loop.resume("one")).stop.kind
    return asyncio.run(loop.run("one", world="mixer", options=OPTIONS.to_dict())).stop.kind


def opened(path: Path) -> SqliteLedger:
    """Open a ledger file."""
    ledger = open_ledger(path)
    assert isinstance(ledger, SqliteLedger)
    return ledger


def content(ledger: SqliteLedger) -> dict[str, Any]:
    """Return all that a ledger says, times and the hashes over them aside."""
    events = [(event.position, event.stream, event.version, event.kind, event.data) for event in ledger.events()]
    actors = Mixer(ledger, OPTIONS).cast
    return {
        "events": events,
        "counters": ledger.counters("mixer"),
        "critiques": {actor: ledger.latest("mixer", f"critique:{actor}") for actor in actors},
        "advice": {actor: ledger.remembered("mixer", f"steer:{actor}") for actor in actors},
        "damage": list(ledger.verify().faults),
    }


@pytest.fixture(name="undisturbed", scope="module")
def _undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], list[str]]:
    """Play the run without a kill; return what its ledger says and the boundaries that it passed."""
    with opened(tmp_path_factory.mktemp("whole") / "l.db") as ledger:
        with count_boundaries(ledger) as seen:
            play(ledger)
        return content(ledger), seen.statements


def instants(boundaries: list[str]) -> Iterator[int]:
    """Yield the boundaries to kill at: each of the first, of one middle and of the last write, the rest at random."""
    commits = [place for place, statement in enumerate(boundaries, 1) if statement == "after COMMIT"]
    middle = commits.index(min(commits, key=lambda place: abs(place - len(boundaries) // 2)))
    chosen = {*range(1, commits[0] + 1), *range(commits[middle - 1] + 1, commits[middle] + 1)}
    chosen |= set(range(commits[-2] + 1, commits[-1] + 1))
    rest = [place for place in range(1, len(boundaries) + 1) if place not in chosen]
    yield from sorted(chosen | set(random.Random(7).sample(rest, KILLS - len(chosen))))


def killed(path: Path, boundary: int) -> int:
    """Play in a child process that is killed at a boundary; return the signal that ended it."""
    child = os.fork()
    if child == 0:
        try:
            ledger = opened(path)
            kill_at(ledger, boundary)
            play(ledger)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_7_a_killed_run_resumes_as_if_nothing_had_happened(
    undisturbed: tuple[dict[str, Any], list[str]], tmp_path: Path
) -> None:
    """A hundred kills over a run of 300 steps: nothing is lost, nothing happens twice, and the chain verifies."""
    expected, boundaries = undisturbed
    places = list(instants(boundaries))
    assert KILLS == len(places)
    assert STEPS == sum(kind == "step" for _, _, _, kind, _ in expected["events"])
    for place in places:
        path = tmp_path / f"{place}.db"
        assert signal.SIGKILL == killed(path, place)
        with opened(path) as ledger:
            if ledger.last("run:one") is None:
                assert place <= boundaries.index("after COMMIT"), "a run that was begun is gone"
                play(ledger)
            elif ledger.last("run:one", "run_stopped") is None:
                play(ledger, resume=True)
            assert expected == content(ledger), f"killed at boundary {place}, before {boundaries[place - 1]}"
        path.unlink()
