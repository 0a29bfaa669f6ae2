"""How long it takes to make signals of sightings, and what memory it takes, on a disk.

Speed: 10,000 sightings of about 500 faults, each with a page of evidence, no two texts alike. Memory: the peak above a
bare interpreter, for 10,000 and for 100,000 (`--sightings N` for another number), which must not grow with them.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time

from measure import Report

from indult.autofix.signals import Sighting, ingest, signals
from indult.ledger import open_ledger

FAULTS = 500
FEW = 10_000
SECONDS = 30
STATUS = "/proc/self/status"
WORDS = ("cart", "order", "payment", "stock", "mail", "search", "login", "report", "index", "queue")
CAUSES = ("timed out", "was refused", "is empty", "has no owner", "was seen twice", "does not parse", "is too old")


def main() -> int:
    """Measure, print the figures, and return 1 when a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sightings", type=int, default=100_000, help="how many the large run has")
    parser.add_argument("--one", nargs=2, metavar=("FOLDER", "SIGHTINGS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        return one(Path(options.one[0]), int(options.one[1]))
    report = Report("signals")
    with TemporaryDirectory(dir=Path(__file__).parent) as folder:
        bare = peak(process("-c", f"print(open({STATUS!r}).read())"))
        few, many = (process(__file__, "--one", folder, str(number)) for number in (FEW, options.sightings))
    print(f"{FEW:,} sightings: {few.splitlines()[0]}; {options.sightings:,}: {many.splitlines()[0]}")
    report.ratio(f"seconds for {FEW:,} sightings", float(few.split()[0]), most=SECONDS)
    report.ratio("peak memory above the interpreter, MiB", (peak(many) - bare) / 1024, most=80)
    report.ratio("peak memory of many sightings / of few", (peak(many) - bare) / (peak(few) - bare), most=1.3)
    return report.close()


def process(*args: str) -> str:
    """Run Python and return what it prints."""
    return subprocess.run([sys.executable, *args], check=True, capture_output=True, text=True).stdout


def peak(printed: str) -> int:
    """Return the peak memory in KiB that a process printed: the kernel's `VmHWM`, which begins anew with each program."""
    return next(int(line.split()[1]) for line in printed.splitlines() if line.startswith("VmHWM"))


def one(folder: Path, number: int) -> int:
    """Ingest so many sightings and print the seconds, and what the kernel knows of this process."""
    with open_ledger(folder / f"{number}.db") as ledger:
        start, used = perf_counter(), process_time()
        found = ingest(ledger, sightings(number))
        elapsed, used = perf_counter() - start, process_time() - used
        assert FAULTS == found.new == len(found.ids)
        assert number == sum(signal.count for signal in signals(ledger))
    print(f"{elapsed:.2f} s ({used:.2f} s of one core), {number / elapsed:.0f} a second")
    print(Path(STATUS).read_text(encoding="utf-8"))
    return 0


def sightings(number: int) -> Iterator[Sighting]:
    """Yield sightings of 500 faults, each time with other numbers, times, addresses and paths."""
    chance = random.Random(1)
    for count in range(number):
        fault = count % FAULTS
        what = f"{WORDS[fault % 10]} {CAUSES[fault // 10 % 7]} in {WORDS[fault // 70]}_{fault % 70 % 10}"
        place = f"/tmp/run-{chance.getrandbits(32):08x}/{WORDS[fault % 9]}.py:{chance.randrange(900)}"
        line = f"{what} after {chance.random() * 60:.2f} s at 0x{chance.getrandbits(40):x}"
        detail = "".join(f"  File {place}, in {WORDS[step]}, frame {chance.getrandbits(64):x}\n" for step in range(10))
        yield Sighting(
            kind="log", summary=line, source="app.log", detail=f"{line}\n{detail * 3}", key=f"fault_{fault}x {line}"
        )


if __name__ == "__main__":
    sys.exit(main())
