"""How long one hook takes, beside the imports that any such tool needs.

The bars: one process of `indult hook claude-code` at most 1.6 times `import dataclasses, re, json, sqlite3, yaml` in the
same interpreter, under 100 rules, with its judgement on the disk before it answers, in a ledger of a million events
(`--events N` for another number); where a shell command has to be parsed, at most 2.2 times. The policy is measured both
as a person trusted it, which is how `indult init` leaves it, and without such a record. What `indult init` writes has
fewer rules and twelve times as many patterns; its figures are told beside the others, and have no bar.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from measure import Report, in_turns

from indult import Action, load_policy
from indult.gate import Gate
from indult.ledger import Body, Draft, Ledger, open_ledger
from indult.places import repository_ledger
from indult.setup.detect import detect
from indult.setup.policy import policy_text
from indult.trust import record_trust

BASE = [sys.executable, "-c", "import dataclasses, re, json, sqlite3, yaml"]
BATCH = 500
ROUNDS = 41

TOOLS = {"Bash": "command", "Read": "file_path", "Write": "file_path", "Edit": "file_path", "Grep": "pattern",
         "Glob": "pattern", "WebFetch": "url", "mcp__*": "query"}  # fmt: skip
"""Tools, and the argument that conditions on them read."""


def main() -> int:
    """Measure, print the figures, and return 1 when a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000, help="events in the ledger")
    options = parser.parse_args()
    report = Report("hooks")
    with TemporaryDirectory(dir=Path(__file__).parent) as folder:
        measure(Path(folder), report, options.events)
    return report.close()


def measure(folder: Path, report: Report, events: int) -> None:
    """Call hooks and the imports in turns."""
    os.environ |= {"HOME": str(folder), "XDG_DATA_HOME": str(folder / "data")}
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its byte code beside it
    root = folder / "repository"
    (root / ".git").mkdir(parents=True)
    (root / "indult.yaml").write_text(law(), encoding="utf-8")
    start = perf_counter()
    with open_ledger(repository_ledger(str(root))) as ledger:
        fill(ledger, f"tree:{os.path.realpath(root)}", events)
    print(f"{events:,} events, filled in {perf_counter() - start:.0f} s")
    calls = {
        "a call": {"tool_name": "Read", "tool_input": {"file_path": "src/main.py"}},
        "a shell command": {"tool_name": "Bash", "tool_input": {"command": "git log --oneline -20 | head -5"}},
    }
    bars: dict[str, float | None] = {"a call": 1.6, "a shell command": 2.2}
    for how in ("not recorded", "trusted", "of indult init, trusted"):
        if how.startswith("of"):
            (root / "indult.yaml").write_text(policy_text(detect(str(root))), encoding="utf-8")
            bars = dict.fromkeys(bars)
        if how.endswith("trusted"):
            with open_ledger(repository_ledger(str(root))) as ledger:
                record_trust(root / "indult.yaml", load_policy(root / "indult.yaml"), ledger, by="you")
        functions = {name: hook(root, call) for name, call in calls.items()}
        times = in_turns({"imports": process(BASE), **functions}, rounds=ROUNDS)
        print(f"policy {how}: " + ", ".join(f"{name} {time * 1000:.1f} ms" for name, time in times.items()))
        for name, most in bars.items():
            report.ratio(f"{name} / imports, policy {how}", times[name] / times["imports"], most=most)


def law() -> str:
    """Return a policy of 100 rules, most of which have a condition."""
    lines = ["schema: 1", "default: ask", "rules:"]
    for number in range(98):
        tool, key = list(TOOLS.items())[number % len(TOOLS)]
        effect = ("deny", "ask", "allow")[number % 3]
        test = (f"args.{key}.startsWith('x{number} ')", f"args.{key}.contains('--flag{number}')", f"args.n > {number}")
        field = "n" if number % 4 == 2 else key
        lines.append(f"  - id: r{number}\n    tool: {tool}\n    effect: {effect}\n    says: Rule {number} says so.")
        lines.append(
            f"    target: file:src/{number}/**" if number % 4 == 3 else
            f'    when: "has(args.{field}) && {test[number % 4]}"'
        )  # fmt: skip
    return "\n".join(
        [*lines, *(f"  - {{id: {tool.lower()}, tool: {tool}, effect: allow}}" for tool in ("Bash", "Read"))]
    )


def fill(ledger: Ledger, subject: str, events: int) -> None:
    """Write judgements as hooks do, of this work tree and of nine others."""
    policy = load_policy(Path(subject.removeprefix("tree:")) / "indult.yaml")
    gate = Gate(policy, ledger, subject)
    action = Action(tool="Read", args={"file_path": "a"}, actor="claude-code", call_id="toolu_0")
    fields, bodies = gate.record(action, {}, gate.review(action, {}))
    drafts = (draft(number, subject, fields, bodies) for number in range(events))
    for batch in batches(drafts):
        ledger.append(*batch)


def draft(number: int, subject: str, fields: dict[str, Any], bodies: tuple[Body, ...]) -> Draft:
    """Return one judgement."""
    stream = subject if number % 10 == 0 else f"tree:/srv/{number % 10}"
    return Draft(stream, "judgement", {**fields, "call": f"toolu_{number}", "session": f"s-{number // 100}"}, bodies)


def batches(drafts: Iterator[Draft]) -> Iterator[list[Draft]]:
    """Yield drafts in lists."""
    while batch := list(islice(drafts, BATCH)):
        yield batch


def hook(root: Path, call: dict[str, Any]) -> Callable[[], object]:
    """Return what runs one hook before a call; its session has read the boundary by then."""
    event = {"session_id": "s-1", "cwd": str(root), "hook_event_name": "PreToolUse", "tool_use_id": "toolu_1", **call}
    command = [str(Path(sys.executable).parent / "indult"), "hook", "claude-code"]
    run = process(command, json.dumps(event).encode())
    run()
    if run() != b"{}\n":
        sys.exit(f"error: {call} is answered with {run()!r}")
    return run


def process(command: list[str], given: bytes = b"") -> Callable[[], bytes]:
    """Return what runs a command to its end."""
    return lambda: subprocess.run(command, input=given, check=True, capture_output=True).stdout


if __name__ == "__main__":
    sys.exit(main())
