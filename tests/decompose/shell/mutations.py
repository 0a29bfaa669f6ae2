"""Shell texts with small faults in them, made from given ones by a seed; run as a script, how they are judged.

`python -m tests.decompose.shell.mutations NUMBER [SEED]` judges that many and prints what it found.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from tests.decompose.shell.sandbox import valid

from indult.actions import Action
from indult.boundary import Boundary
from indult.decompose import decompose_with
from indult.decompose.paths import Places
from indult.decompose.shell import shell_parts
from indult.decompose.shell.shfmt import MAX_SECONDS
from indult.judgements import Verdict
from indult.policy import Effect, Policy, Rule
from indult.testing.runners.shell import Disk

DATA = Path(__file__).parents[2] / "data" / "shell"
PIECES = (
    "'", '"', "`", "\\", "$", "$(", ")", "(", "{", "}", "${", "[", "]", "[[", "]]", "((", "))", ";", "&", "|", "<", ">",
    "<<", "<<<", "<(", ">(", "#", "\n", " ", "\t", "=", "!", "*", "?", "~", ",", "..", "-", "/", "$'", '$"', "<<E\n",
    "\nE\n", ";;", "do", "done", "if", "then", "fi", "case", "esac", "in", "evil", "x", "1", "eval ", "time ", "env ",
)  # fmt: skip

EVERYTHING = Policy(
    rules=(Rule(id="all", effect=Effect.ALLOW, target=("command:**", "file:**", "file:/**")),), default=Effect.ASK
)
"""Allows whatever can be told at all."""


def sources() -> list[str]:
    """Return the texts that mutations are made of."""
    cases = [json.loads(line)["action"] for line in (DATA / "shell.jsonl").read_text(encoding="utf-8").splitlines()]
    constructs = (DATA / "constructs.txt").read_text(encoding="utf-8").rstrip("\n").split("\n==\n")
    return [case["command"] for case in cases if "command" in case] + constructs


def mutations(number: int, seed: int) -> Iterator[str]:
    """Yield texts with one to four faults, the same ones for the same seed."""
    chance = random.Random(seed)
    given = sources()
    for _ in range(number):
        text = chance.choice(given)
        for _ in range(chance.randint(1, 4)):
            at = chance.randint(0, len(text))
            way = chance.randrange(5)
            if way == 0:
                text = text[:at] + text[at + chance.randint(1, 3) :]
            elif way == 1:
                text = text[:at] + chance.choice(PIECES) + text[at:]
            elif way == 2:
                text = text[:at] + chance.choice(PIECES) + text[at + 1 :]
            elif way == 3:
                other = chance.choice(given)
                cut = chance.randint(0, len(other))
                text = text[:at] + other[cut : cut + chance.randint(1, 20)] + text[at:]
            else:
                end = min(len(text), at + chance.randint(1, 8))
                text = text[:end] + text[at:end] + text[end:]
        yield text


def faults(texts: Iterator[str]) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with how texts are judged, and the text: raised, took too long, or approved no valid bash."""
    places = Places(Disk({}), "/repo", "/home/dev")
    boundary = Boundary(policy=EVERYTHING, decompose=decompose_with(Disk({}), "/repo", "/home/dev"))
    for text in texts:
        start = time.perf_counter()
        try:
            shell_parts(text, tool="Bash", cwd="/repo", places=places)
            verdict = boundary.judge(Action(tool="Bash", args={"command": text}, cwd="/repo"), {}).verdict
        except Exception as exc:
            yield f"raised {exc!r}", text
            continue
        if time.perf_counter() - start > 4 * MAX_SECONDS:
            yield "took too long", text
        if verdict is Verdict.APPROVE and not valid(text):
            yield "approved what is not valid", text


def main(number: int, seed: int) -> int:
    """Judge mutations and print what is wrong; return how much."""
    found = 0
    for why, text in faults(mutations(number, seed)):
        found += 1
        sys.stdout.write(f"{why}: {text!r}\n")
    sys.stdout.write(f"{number} texts of seed {seed}: {found} faults\n")
    return found


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1) > 0)
