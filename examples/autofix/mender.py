#!/usr/bin/env python3
"""A fixer that needs no model: it reads its task as an agent would, and acts on what the task says.

A real one is a line of the policy, for instance `fixer: [claude, -p]`. Both get the same: the task on standard input, a
work tree as the current folder, and `indult report` to hand back.
"""

import os
import subprocess
import sys
from pathlib import Path

LIBRARY = Path("vendor/libdb/__init__.py")


def main() -> None:
    """Read the task and work on what it is about."""
    task = sys.stdin.read()
    signal = os.environ["INDULT_SIGNAL"]
    if "tests.test_total" in task:
        mend_total(task)
    elif "tests.test_store" in task:
        mend_store(task, signal)
    elif "tests.test_rates" in task:
        mend_rates(task, signal)


def mend_total(task: str) -> None:
    """Repair the sum; the first try forgets orders without a discount, and the check that fails says so."""
    wrong = "(100 + discount)"
    right = "(100 - discount)" if "plain" in task else "(90)"
    path = Path("shop/total.py")
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(wrong, right).replace("(90)", right), encoding="utf-8")


def mend_store(task: str, signal: str) -> None:
    """Patch the library, if exactly that was opened; else hand back and name the patch."""
    if "Named exception" not in task:
        exception = ["--dependency", "libdb", "--version", "1.8.2", "--path", str(LIBRARY)]
        change = "count retries anew after a connection was idle"
        report(
            signal,
            "tries are never counted anew",
            "May libdb be patched?",
            "--relaxes-constraint",
            *exception,
            "--change",
            change,
        )
        return
    text = LIBRARY.read_text(encoding="utf-8")
    idle = '        """Let go of the connection."""\n'
    LIBRARY.write_text(text.replace(idle, f"{idle}        self.retries = 0\n"), encoding="utf-8")


def mend_rates(task: str, signal: str) -> None:
    """Correct the data; told that nobody opens that, hand back what a person has to do."""
    if "may not change data/rates.json" in task:
        report(signal, "the tax rate of Germany is wrong in the data", "Will you correct data/rates.json to 19?")
        return
    path = Path("data/rates.json")
    path.write_text(path.read_text(encoding="utf-8").replace("91", "19"), encoding="utf-8")


def report(signal: str, title: str, question: str, *more: str) -> None:
    """Hand the signal back to a person."""
    words = ["indult", "report", "--signal", signal, "--by", "fixer", "--title", title, "--question", question, *more]
    done = subprocess.run(words, check=False)
    if done.returncode not in {0, 4}:
        raise SystemExit(f"the report was not taken: {done.returncode}")


main()
