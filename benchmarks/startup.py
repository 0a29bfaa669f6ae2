"""How long commands take to start, beside the imports that any such tool needs.

The bars: `import indult` at most 1.0 times, `indult check` at most 1.6 times `import dataclasses, re, json, sqlite3,
yaml` in the same interpreter. Each figure is the quickest of many runs, taken in turns so that a busy moment of the
machine hits all of them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

POLICY = """
schema: 1
default: deny
context: {world: {cap: int}}
rules:
  - {id: cap, tool: move, effect: deny, when: args.intensity > world.cap, says: Stay below the cap.}
  - {id: rest, tool: move, effect: allow}
"""
ACTION = {"tool": "move", "args": {"intensity": 2}}
ROUNDS = 30


def main() -> int:
    """Measure, print one line a command, and return 1 when a bar is missed."""
    with tempfile.TemporaryDirectory() as folder:
        policy = Path(folder) / "indult.yaml"
        policy.write_text(POLICY)
        indult = str(Path(sys.executable).parent / "indult")
        commands: dict[str, tuple[list[str], float | None]] = {
            "python -c pass": ([sys.executable, "-c", "pass"], None),
            "the imports any such tool needs": (
                [sys.executable, "-c", "import dataclasses, re, json, sqlite3, yaml"],
                None,
            ),
            "import indult": ([sys.executable, "-c", "import indult"], 1.0),
            "indult --version": ([indult, "--version"], None),
            "indult check": (
                [indult, "check", "--policy", str(policy), "--facts", '{"world": {"cap": 4}}', json.dumps(ACTION)],
                1.6,
            ),
        }
        best = measure({name: command for name, (command, _) in commands.items()}, Path(folder))
    base = best["the imports any such tool needs"]
    missed = False
    for name, (_, bar) in commands.items():
        ratio = best[name] / base
        missed |= bar is not None and ratio > bar
        print(f"{best[name] * 1000:7.1f} ms  {ratio:5.2f} x  {name}{f' (bar: {bar} x)' if bar else ''}")
    return int(missed)


def measure(commands: dict[str, list[str]], home: Path) -> dict[str, float]:
    """Return the quickest of many runs of each command, in seconds."""
    best = dict.fromkeys(commands, float("inf"))
    environment = {**os.environ, "HOME": str(home), "XDG_DATA_HOME": str(home / "data")}
    # An installed package has its byte code beside it.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    for _ in range(ROUNDS):
        for name, command in commands.items():
            start = perf_counter()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
            best[name] = min(best[name], perf_counter() - start)
    return best


if __name__ == "__main__":
    sys.exit(main())
