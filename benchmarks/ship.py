"""How long judging a large branch takes, beside the git that it cannot do without, and what memory it takes.

The branch changes 10,000 files: 9,900 plain ones and 100 manifests, in which an allowed script changes beside layout.
What is measured is all of `Ship.judge` but the opening of the ledger: finding the branches and where they part, merging,
the difference, every link, the manifests, and the verdict under the preset for repositories. Beside it stand, in the
same turns, `git diff-tree -r --raw -z` of the two commits and `git cat-file --batch`, once of the blobs of all changed
files and once of those of the manifests alone, which is what judging reads.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from measure import Report, in_turns

from indult import open_ledger
from indult.judgements import Verdict
from indult.ship.git import Repository
from indult.ship.ship import Ship

ROUNDS = 15
PLAIN, MANIFESTS = 9_900, 100
STATUS = "/proc/self/status"
LAW = b"schema: 1\nextends: indult/repository@1\n"
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}


def main() -> int:
    """Measure, print the figures, and return 1 when a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peak", metavar="FOLDER", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peak:
        return peak(Path(options.peak))
    report = Report("ship")
    with TemporaryDirectory(dir=Path(__file__).parent) as folder:
        make(Path(folder))
        speed(Path(folder), report)
        memory(Path(folder), report)
    return report.close()


def make(folder: Path) -> None:
    """Make the repository: `main`, and a branch `fix` that changes every file but the policy."""
    git(folder, "init", "--quiet", "--initial-branch=main", ".")
    git(folder, "fast-import", "--quiet", stdin=b"".join([*commit("main", "one"), *commit("fix", "two")]))
    git(folder, "repack", "-adq")


def commit(branch: str, word: str) -> list[bytes]:
    """Return what makes a commit of all files, for `git fast-import`."""
    head = f"commit refs/heads/{branch}\ncommitter bench <bench@example.com> 1700000000 +0000\ndata 1\nx\n"
    files = {"indult.yaml": LAW}
    for number in range(PLAIN):
        files[f"src/part{number % 90:02}/file{number:05}.txt"] = f"{word} {number}\n".encode() * 40
    for number in range(MANIFESTS):
        needs = ", ".join(f'"needed-{other}": "1.{other}.0"' for other in range(20))
        text = f'{{"name": "p{number}", "dependencies": {{{needs}}}, "scripts": {{"test": "{word}"}}}}\n'
        files[f"packages/p{number:03}/package.json"] = text.encode()
    return [
        head.encode(),
        *([b"from refs/heads/main\n"] if branch != "main" else []),
        *(b"M 100644 inline %s\ndata %d\n%s\n" % (path.encode(), len(text), text) for path, text in files.items()),
    ]


def git(folder: Path, *words: str, stdin: bytes = b"") -> bytes:
    """Run git and return what it prints."""
    done = subprocess.run(["git", *words], cwd=folder, env=CLEAN, input=stdin, stdout=subprocess.PIPE, check=True)
    return done.stdout


def judge(folder: Path) -> int:
    """Judge the branch and return of how many parts it is made."""
    with open_ledger(folder / "bench.db") as ledger, Repository.open(folder) as repository:
        judged = Ship(repository=repository, ledger=ledger, branch="fix", into="main").judge()
        assert judged.judgement.verdict is Verdict.APPROVE, judged.judgement.reason
        return len(judged.parts)


def speed(folder: Path, report: Report) -> None:
    """Measure judging and git in turns."""
    main, fix = (git(folder, "rev-parse", name).decode().strip() for name in ("main", "fix"))
    fields = git(folder, "diff-tree", "-r", "--raw", "-z", main, fix).split(b"\0")
    pairs = [(path, row.split()[2:4]) for row, path in zip(fields[::2], fields[1::2], strict=False)]
    every = b"".join(b"%s\n%s\n" % tuple(ids) for _, ids in pairs)
    manifests = b"".join(b"%s\n%s\n" % tuple(ids) for path, ids in pairs if path.endswith(b"package.json"))

    def plain(ids: bytes) -> None:
        git(folder, "diff-tree", "-r", "--raw", "-z", main, fix)
        git(folder, "cat-file", "--batch", stdin=ids)

    with open_ledger(folder / "bench.db") as ledger:

        def all_of_it() -> None:
            with Repository.open(folder) as repository:
                Ship(repository=repository, ledger=ledger, branch="fix", into="main").judge()

        print(f"{len(pairs):,} changed files, {judge(folder):,} parts")
        times = in_turns(
            {"judge": all_of_it, "git, all blobs": lambda: plain(every), "git, manifests": lambda: plain(manifests)},
            rounds=ROUNDS,
        )
    print(", ".join(f"{what} {time * 1000:.0f} ms" for what, time in times.items()))
    report.ratio(
        "judging / diff-tree and cat-file of all changed blobs", times["judge"] / times["git, all blobs"], most=3
    )
    report.ratio("judging / diff-tree and cat-file of the manifests", times["judge"] / times["git, manifests"])


def memory(folder: Path, report: Report) -> None:
    """Measure the peak of judging in a process of its own."""
    printed = subprocess.run(
        [sys.executable, __file__, "--peak", str(folder)], check=True, capture_output=True, text=True
    ).stdout
    # Not `ru_maxrss`, which begins with what the parent had.
    most = next(int(line.split()[1]) for line in printed.splitlines() if line.startswith("VmHWM"))
    report.ratio("peak memory of judging, interpreter included, MiB", most / 1024, most=150)


def peak(folder: Path) -> int:
    """Judge once and print what the kernel knows of this process."""
    judge(folder)
    print(Path(STATUS).read_text(encoding="utf-8"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
