"""The fixer: it gets its task, is kept within its limits, and nothing that it started outlives it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.autofix.bench import Bench


@pytest.fixture(name="bench")
def _bench(tmp_path: Path, data_home: Path) -> Bench:
    """Make a repository and a workspace."""
    return Bench.make(tmp_path)


class TestRun:
    def test_it_gets_the_task_twice(self, bench: Bench) -> None:
        """The task is on standard input and in the file that INDULT_TASK names."""
        came = bench.run(
            "import os, sys",
            "print(sys.stdin.read() == open(os.environ['INDULT_TASK']).read(), os.environ['INDULT_SIGNAL'])",
            task="Repair `a`.\n",
        )

        assert ("done", 0, "True s_1\n") == (came.why, came.code, came.output)
