"""How fast the loop runs on a disk, what memory it takes, and whether it slows down as its ledger grows.

Speed: 200 personas over 50 turns, one durable transaction per step, beside single-row durable inserts into SQLite on the
same disk in the same run. Memory: the peak of that run above a bare interpreter. Growth: the same run on a ledger of
10,000 and of 1,000,000 events (`--events N` for another number).
"""

from __future__ import annotations

import argparse
import asyncio
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter

from measure import Report

from indult import open_ledger
from indult.ledger import Body, Draft, Ledger
from indult.worlds.mixer import Mixer, MixerOptions

ROUNDS = 3
PEOPLE, TURNS = 200, 50
INSERTS = 3000
BATCH = 500
STATUS = "/proc/self/status"


def main() -> int:
    """Measure, print the figures, and return 1 when a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000, help="size of the large ledger")
    parser.add_argument("--peak", metavar="FOLDER", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peak:
        return peak(Path(options.peak))
    report = Report("loop")
    with TemporaryDirectory(dir=Path(__file__).parent) as folder:
        speed(Path(folder), report)
        memory(Path(folder), report)
        growth(Path(folder), report, options.events)
    return report.close()


def steps(ledger: Ledger, run: str, people: int, turns: int) -> float:
    """Play one run and return its steps per second."""
    options = MixerOptions(agents=people, max_turns=turns, max_engine_calls=people * turns, stall_patience=turns + 1)
    world = Mixer(ledger, options)
    loop = world.loop()
    # No goal: each run is to take all of its turns, however large the bonds have grown.
    loop.goal = lambda turn: None
    start = perf_counter()
    result = asyncio.run(loop.run(run))
    elapsed = perf_counter() - start
    assert result.meter.engine_calls == people * turns
    return people * turns / elapsed


def inserts(path: Path) -> float:
    """Return how many single-row durable inserts the disk takes per second."""
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = FULL")
    database.execute("CREATE TABLE IF NOT EXISTS row (id INTEGER PRIMARY KEY, text TEXT)")
    start = perf_counter()
    for _ in range(INSERTS):
        database.execute("INSERT INTO row (text) VALUES (?)", ("x" * 100,))
    elapsed = perf_counter() - start
    database.close()
    return INSERTS / elapsed


def speed(folder: Path, report: Report) -> None:
    """Measure steps and bare inserts in turns."""
    ours, disk = [], []
    for number in range(ROUNDS):
        disk.append(inserts(folder / "bare.db"))
        with open_ledger(folder / f"speed-{number}.db") as ledger:
            ours.append(steps(ledger, "run", PEOPLE, TURNS))
    rate, bare = median(ours), median(disk)
    wanted = min(1000, 0.4 * bare)
    print(
        f"{PEOPLE} personas, {TURNS} turns: {rate:.0f} steps/s; bare inserts: {bare:.0f}/s; wanted: {wanted:.0f} steps/s"
    )
    report.ratio("steps per second / wanted", rate / wanted, least=1)


def memory(folder: Path, report: Report) -> None:
    """Measure the peak of a large run in a process of its own, and of an interpreter that does nothing."""
    bare = process("-c", f"print(open({STATUS!r}).read())")
    run = process(__file__, "--peak", str(folder))
    report.ratio("peak memory above the interpreter, MiB", (run - bare) / 1024, most=80)


def process(*args: str) -> int:
    """Run Python and return the peak memory in KiB that it prints as the last thing it does.

    The kernel's `VmHWM` is read, since `ru_maxrss` begins with what the parent had.
    """
    printed = subprocess.run([sys.executable, *args], check=True, capture_output=True, text=True).stdout
    return next(int(line.split()[1]) for line in printed.splitlines() if line.startswith("VmHWM"))


def peak(folder: Path) -> int:
    """Play one large run and print what the kernel knows of this process."""
    with open_ledger(folder / "peak.db") as ledger:
        steps(ledger, "run", PEOPLE, TURNS)
    print(Path(STATUS).read_text(encoding="utf-8"))
    return 0


def growth(folder: Path, report: Report, events: int) -> None:
    """Measure the same runs on a small and on a large ledger in turns."""
    rates: dict[str, list[float]] = {"small": [], "large": []}
    with open_ledger(folder / "small.db") as small, open_ledger(folder / "large.db") as large:
        fill(small, 10_000)
        fill(large, events)
        for number in range(9):
            for name, ledger in (("small", small), ("large", large)):
                rates[name].append(steps(ledger, f"run-{number}", 30, 20))
    slow, quick = median(rates["large"]), median(rates["small"])
    print(f"at 10,000 events {quick:.0f} steps/s, at {events:,} {slow:.0f} steps/s")
    report.ratio("steps per second at many events / at 10,000", slow / quick, least=0.8)


def fill(ledger: Ledger, events: int) -> None:
    """Grow a ledger with the steps of a real run, told again under other names."""
    steps(ledger, "seed", 30, 20)
    pattern = [
        (
            event.kind,
            {name: value for name, value in event.data.items() if name != "bodies"},
            bodies(ledger, event.data),
        )
        for event in ledger.events("run:seed")
    ]

    def drafts() -> Iterator[Draft]:
        copy = 0
        while True:
            copy += 1
            for kind, data, texts in pattern:
                named = {**data, "counts": {f"other-{copy % 97}": {"turns": 1}}} if "counts" in data else data
                yield Draft(stream=f"run:copy-{copy}", kind=kind, data=named, bodies=texts)

    source = drafts()
    while ledger.append(*(next(source) for _ in range(BATCH)))[-1].position < events:
        pass


def bodies(ledger: Ledger, data: dict[str, object]) -> tuple[Body, ...]:
    """Return the bodies of an event again."""
    digests = data.get("bodies", [])
    assert isinstance(digests, list)
    return tuple(Body(ledger.body(digest) or "") for digest in digests)


if __name__ == "__main__":
    sys.exit(main())
