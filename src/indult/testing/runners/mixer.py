"""Runs the cases of `mixer.json`: arguments in, steps, stop, metrics and bonds out."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from indult.ledger import Ledger, open_ledger
from indult.loop import Step
from indult.worlds.mixer import Mixer, MixerOptions
from indult.worlds.mixer.show import metrics, step_row

__all__ = ["run"]


def run(path: Path) -> Iterator[dict[str, Any]]:
    """Yield one line per case; a case that `continues` another runs on that one's ledger."""
    cases = json.loads(Path(path).read_text(encoding="utf-8"))
    with TemporaryDirectory() as folder:
        files: dict[str, Path] = {}
        for number, case in enumerate(cases):
            files[case["name"]] = files.get(case["continues"], Path(folder) / f"{number}.db")
            with open_ledger(files[case["name"]]) as ledger:
                yield {"name": case["name"], **_play(ledger, f"case-{number}", case["args"])}


def _play(ledger: Ledger, run: str, args: dict[str, Any]) -> dict[str, Any]:
    options = MixerOptions.from_dict(args)
    world = Mixer(ledger, options)
    steps: list[Step] = []
    result = asyncio.run(world.loop(on_step=steps.append).run(run, world="mixer", options=options.to_dict()))
    return {
        "stop": result.stop.to_dict(),
        "metrics": metrics(result.meter),
        "bonds": world.bonds(),
        "steps": [step_row(step) for step in steps],
    }
