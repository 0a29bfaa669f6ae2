"""The fixer: it gets its task, is kept within its limits, and nothing that it started outlives it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest
from tests.autofix.bench import Bench, ended, running, until

from indult.autofix.fixer import Process, end_left
from indult.autofix.workspace import Workspace
from indult.errors import ShipError
from indult.keeping import keeper, kept
from indult.keeping.processes import seen, start_of

WILD = """
import os, signal, subprocess, sys, time

for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)

def stay():
    while True:
        time.sleep(60)

if os.fork() == 0:
    stay()
if os.fork() == 0:
    os.setsid()
    stay()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.setsid()
        stay()
    os._exit(0)
bare = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
subprocess.Popen([sys.executable, "-c", bare, sys.argv[1]], env={}, start_new_session=True)
print("ready", flush=True)
stay()
"""
"""It ignores what asks it to end, and leaves children in every way that there is."""

RUNAWAY = """
import os, signal, sys, time

signal.signal(signal.SIGTERM, signal.SIG_IGN)
held = os.open(sys.argv[2], os.O_WRONLY)
print("ready", flush=True)
end = time.monotonic() + 60
while time.monotonic() < end:
    if os.fork():
        os._exit(0)
    os.setsid()
    time.sleep(0.001)
"""
"""It is another process every moment, for a minute, and holds a pipe: whether it runs is asked of that, and no listing."""


@pytest.fixture(name="bench")
def _bench(tmp_path: Path, data_home: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """Make a repository and a workspace, and be impatient."""
    monkeypatch.setattr(kept, "GRACE", 0.3)
    return Bench.make(tmp_path)


@pytest.fixture(name="word")
def _word() -> Iterator[str]:
    """Return a word by which processes of this test are found; none of them is left behind."""
    word = f"word-{uuid4().hex}"
    yield word
    for pid in running(word):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def ready(bench: Bench) -> bool:
    """Tell whether the fixer says that it has started all it wanted to."""
    path = Path(bench.workspace.output)
    return path.exists() and b"ready" in path.read_bytes()


def forked(bench: Bench, *words: str) -> tuple[int, Process]:
    """Run a fixer in a process of its own, and return that and what it says is to be looked for, once all is ready."""
    told = Path(bench.workspace.place, "told.json")
    run = os.fork()
    if run == 0:
        try:
            bench.started = Told(told)
            bench.words(*words)
        finally:
            os._exit(0)
    until(lambda: ready(bench) and told.exists())
    return run, Process.from_dict(json.loads(told.read_text()))


def above(pid: int) -> int:
    """Return the parent of a process."""
    return seen()[pid].parent


class Told(list[Process]):
    """Writes down what was started, as a ledger would."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def append(self, process: Process) -> None:
        """Keep it where another process finds it whole."""
        aside = self._path.with_suffix(".new")
        aside.write_text(json.dumps(process.to_dict()))
        aside.replace(self._path)


class TestRun:
    def test_it_gets_the_task_twice(self, bench: Bench) -> None:
        """The task is on standard input and in the file that INDULT_TASK names."""
        came = bench.run(
            "import os, sys",
            "print(sys.stdin.read() == open(os.environ['INDULT_TASK']).read(), os.environ['INDULT_SIGNAL'])",
            task="Repair `a`.\n",
        )

        assert ("done", 0, "True s_1\n") == (came.why, came.code, came.output)

    def test_it_works_in_the_tree(self, bench: Bench) -> None:
        """Its folder is the work tree, and what it writes there can be committed."""
        came = bench.run("open('src/app.py', 'w').write('two')")

        assert "done" == came.why
        assert bench.workspace.commit("Fix it") == bench.workspace.head()

    def test_the_environment(self, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
        """It gets the caller's environment, without what would lead it elsewhere, and what is ours."""
        for name, value in {
            "INDULT_POLICY": "x", "GIT_DIR": "/nowhere", "GIT_INDEX_FILE": "x", "CLAUDE_PROJECT_DIR": "/x", "MINE": "1",
            "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "user.name", "GIT_CONFIG_VALUE_0": "Somebody",
        }.items():  # fmt: skip
            monkeypatch.setenv(name, value)

        came = bench.run(
            "import json, os, subprocess",
            "name = subprocess.run(['git', 'config', 'user.name'], capture_output=True, text=True).stdout.strip()",
            "print(json.dumps({**os.environ, 'name': name}))",
        )

        found = json.loads(came.output)
        assert {"INDULT_ACTOR", "INDULT_DB", "INDULT_FIX", "INDULT_SIGNAL", "INDULT_TASK", "INDULT_USAGE"} == {
            name for name in found if name.startswith("INDULT_")
        }
        assert not {"GIT_DIR", "GIT_INDEX_FILE", "CLAUDE_PROJECT_DIR"} & set(found)
        assert ("fixer", "1", "Somebody", bench.workspace.tree) == (
            found["INDULT_ACTOR"], found["MINE"], found["name"], found["PWD"],
        )  # fmt: skip

    def test_a_long_task_that_nobody_reads(self, bench: Bench) -> None:
        """A fixer need not read its task, however long that is."""
        came = bench.run("print('done')", task="x" * 1_000_000)

        assert ("done", "done\n") == (came.why, came.output)

    def test_a_long_task_is_read_whole(self, bench: Bench) -> None:
        """A task of a megabyte, of any characters, arrives as it is."""
        came = bench.run("import sys", "print(len(sys.stdin.buffer.read()))", task="ä" * 500_000)

        assert "1000000\n" == came.output

    @pytest.mark.parametrize(("line", "code"), [("raise SystemExit(3)", 3), ("import os; os.kill(os.getpid(), 9)", -9)])
    def test_a_failure_tells_its_code(self, bench: Bench, line: str, code: int) -> None:
        """A fixer that fails, or is killed by somebody else, has failed with that code."""
        came = bench.run("print('so far', flush=True)", line)

        assert ("failed", code, "so far\n") == (came.why, came.code, came.output)

    @pytest.mark.parametrize(
        ("words", "why"),
        [
            (("/nowhere/fixer",), "no such file or directory"),
            (("src/app.py",), "permission denied"),
            (("a\0b",), "embedded null byte"),
            ((), "index out of range"),
        ],
    )
    def test_one_that_cannot_be_started(self, bench: Bench, words: tuple[str, ...], why: str) -> None:
        """A command that is none is told of, and nothing was started."""
        came = bench.words(*words)

        assert ("not_started", None) == (came.why, came.code)
        assert why in came.output
        assert [] == bench.started

    def test_secrets_are_masked(self, bench: Bench) -> None:
        """What looks like a secret in what it printed is masked."""
        came = bench.run("print('token ghp_' + 'a1B2' * 9)")

        assert "token [masked:github-token]\n" == came.output

    def test_an_error_of_the_run_ends_the_fixer(self, bench: Bench, word: str) -> None:
        """An error of the run itself, such as one of its ledger, ends the fixer before it is told."""
        bench.started = Failing()
        with pytest.raises(RuntimeError, match="no ledger"):
            bench.words(sys.executable, "-c", WILD, word)

        assert set() == running(word)


class Failing(list[Process]):
    """A ledger that cannot be written."""

    def append(self, process: Process) -> None:
        """Fail."""
        raise RuntimeError("no ledger")


class TestPranks:
    @pytest.mark.parametrize("prank", ["os.mkfifo(path)", "os.mkdir(path)", "os.symlink('/etc/passwd', path)"])
    def test_something_else_in_the_place_of_our_files(self, bench: Bench, prank: str) -> None:
        """Whatever a fixer puts in the place of files of ours, nobody waits for it, and the next call works."""
        came = bench.run(
            "import os",
            "here = os.path.dirname(os.environ['INDULT_TASK'])",
            "for name in ('task.md', 'output.log', 'usage.json', 'excludes', 'message'):",
            "    path = os.path.join(here, name)",
            "    if os.path.lexists(path): os.unlink(path)",
            f"    {prank}",
            "open('new', 'w')",
        )
        assert ("done", 1) == (came.why, len(came.usage.notes))
        assert bench.workspace.commit("Fix it") is not None

        came = bench.run("import sys", "print(sys.stdin.read())", task="again")

        assert ("done", "again\n", ()) == (came.why, came.output, came.usage.notes)
        bench.workspace.remove(keep_branch=False)
        assert not Path(bench.workspace.place).exists()

    def test_the_folder_is_gone(self, bench: Bench) -> None:
        """A fixer that removes its own folder has ended, and the next call is an error."""
        came = bench.run("import os, shutil", "shutil.rmtree(os.path.dirname(os.environ['INDULT_TASK']))")

        assert ("done", "") == (came.why, came.output)
        for call in (lambda: bench.run(""), lambda: bench.workspace.commit("x")):
            with pytest.raises(ShipError):
                call()
        bench.workspace.remove(keep_branch=False)
        assert "main" == bench.repo.git("for-each-ref", "--format=%(refname:short)")


class TestOutput:
    def test_a_flood_is_cut(self, bench: Bench) -> None:
        """Of a flood the beginning and the end are kept, with a line between that says how much is not."""
        came = bench.run(
            "import os, json",
            "for _ in range(600): os.write(1, b'x' * 99_999 + b'\\n')",
            "print(json.dumps({'total_cost_usd': 0.5, 'usage': {'input_tokens': 2, 'output_tokens': 3}}))",
        )

        size = Path(bench.workspace.output).stat().st_size
        assert keeper.MOST + keeper.TAIL < size < keeper.MOST + keeper.TAIL + 100
        assert b"bytes were dropped here]" in Path(bench.workspace.output).read_bytes()
        assert ("done", 4000, 5, 0.5) == (came.why, len(came.output), came.usage.tokens, came.usage.cost)

    def test_both_streams_are_kept(self, bench: Bench) -> None:
        """What goes to standard error is output, too."""
        came = bench.run("import sys", "print('out', flush=True)", "print('err', file=sys.stderr)")

        assert "out\nerr\n" == came.output

    def test_what_is_left_in_the_pipe_is_kept(self, bench: Bench) -> None:
        """What was printed by a process that is killed is not lost."""
        came = bench.run("import time", "print('last words', flush=True)", "time.sleep(600)", seconds=1)

        assert ("timed_out", "last words\n") == (came.why, came.output)


class TestEnd:
    def test_by_the_limit(self, bench: Bench, word: str) -> None:
        """At its limit all that a fixer started ends, whatever it does about that."""
        came = bench.words(sys.executable, "-c", WILD, word, seconds=2)

        assert ("timed_out", 0) == (came.why, came.left)
        assert set() == running(word)

    def test_by_stop(self, bench: Bench, word: str) -> None:
        """Where the run is to stop, so does all that the fixer started."""
        came = bench.words(sys.executable, "-c", WILD, word, stop=lambda: ready(bench))

        assert ("stopped", 0) == (came.why, came.left)
        assert set() == running(word)

    def test_by_itself(self, bench: Bench, word: str) -> None:
        """What a fixer leaves behind when it is done ends, too."""
        came = bench.words(sys.executable, "-c", WILD.replace("\nstay()", "\nprint('bye')"), word)

        assert ("done", 0) == (came.why, came.left)
        assert set() == running(word)

    @pytest.mark.skipif(sys.platform != "linux", reason="needs a system that brings orphans back")
    def test_one_that_runs_away(self, bench: Bench, tmp_path: Path) -> None:
        """A process that is another one every moment, and in no listing, is caught."""
        os.mkfifo(tmp_path / "held")
        held = os.open(tmp_path / "held", os.O_RDONLY | os.O_NONBLOCK)
        try:
            came = bench.words(sys.executable, "-c", RUNAWAY, "runaway", str(tmp_path / "held"))

            assert ("done", 0) == (came.why, came.left)
            # The end of the pipe, which comes when nobody holds it any more; it would block otherwise.
            assert b"" == os.read(held, 1)
        finally:
            os.close(held)

    def test_one_that_ends_when_it_is_asked(self, bench: Bench) -> None:
        """A fixer that has to end may say something, and has ended by itself."""
        came = bench.run(
            "import signal, sys, time",
            "signal.signal(signal.SIGTERM, lambda *_: (print('good bye', flush=True), sys.exit(0)))",
            "print('ready', flush=True)",
            "time.sleep(600)",
            stop=lambda: ready(bench),
        )

        assert ("stopped", 0, "ready\ngood bye\n") == (came.why, came.code, came.output)

    def test_by_a_keyboard(self, bench: Bench, word: str) -> None:
        """Ctrl-C at the run ends the fixer before the run goes on."""

        def stop() -> bool:
            if ready(bench):
                raise KeyboardInterrupt
            return False

        with pytest.raises(KeyboardInterrupt):
            bench.words(sys.executable, "-c", WILD, word, stop=stop)

        assert set() == running(word)

    def test_the_run_is_killed(self, bench: Bench, word: str) -> None:
        """Nothing outlives a run that is killed."""
        run, process = forked(bench, sys.executable, "-c", WILD, word)
        assert len(running(word)) >= 5

        os.kill(run, signal.SIGKILL)
        os.waitpid(run, 0)

        ended(word)
        until(lambda: start_of(process.pid) is None)
        assert not end_left(process)

    @pytest.mark.parametrize("which", ["the keeper", "who watches over it"])
    def test_the_keeper_is_killed(self, bench: Bench, word: str, which: str) -> None:
        """Nothing outlives a keeper that is killed, and the run goes on."""
        killed: list[int] = []

        def stop() -> bool:
            if ready(bench) and not killed:
                pid = bench.started[0].pid
                killed.append(pid if which == "the keeper" else above(pid))
                os.kill(killed[0], signal.SIGKILL)
            return False

        came = bench.words(sys.executable, "-c", WILD, word, stop=stop)

        assert ("failed" if which == "the keeper" else "stopped") == came.why
        assert set() == running(word)

    def test_it_is_to_stop_at_once(self, bench: Bench, word: str) -> None:
        """A run that is to stop before anything has started leaves nothing behind either."""
        came = bench.words(sys.executable, "-c", WILD, word, stop=lambda: True)

        assert "stopped" == came.why
        assert set() == running(word)

    def test_a_keeper_that_was_stopped(self, bench: Bench, word: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """A fixer that stops its keeper gains nothing: the run ends it."""
        monkeypatch.setattr(kept, "PATIENCE", 1.0)
        monkeypatch.setattr(kept, "KILLED", 1.0)
        stopper = WILD.replace("\nstay()", "\nos.kill(os.getppid(), signal.SIGSTOP)\nstay()")

        # Long enough for a slow machine to have it stopped before the limit.
        came = bench.words(sys.executable, "-c", stopper, word, seconds=6)

        assert "failed" == came.why
        assert set() == running(word)
        until(lambda: start_of(bench.started[0].pid) is None)


class TestEndLeft:
    @pytest.fixture(name="left")
    def _left(self, bench: Bench, word: str) -> Process:
        """Kill a run and all that kept its fixer, and return what the ledger would have of it."""
        run, process = forked(bench, sys.executable, "-c", WILD.replace("env={}, ", ""), word)
        guard = above(process.pid)
        for pid in (guard, process.pid):
            os.kill(pid, signal.SIGSTOP)
        for pid in (run, guard, process.pid):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(run, 0)
        until(lambda: start_of(process.pid) is None and start_of(process.fixer) is None)
        assert len(running(word)) >= 3
        return process

    def test_what_is_left_ends(self, left: Process, word: str) -> None:
        """Where nobody is left who keeps a fixer, a later run ends all of it, and there is nothing to end then."""
        assert end_left(left)
        assert set() == running(word)
        assert not end_left(left)

    def test_a_keeper_that_is_still_there(self, bench: Bench, word: str) -> None:
        """A keeper that goes on is told to end, and ends all it keeps."""
        run, process = forked(bench, sys.executable, "-c", WILD, word)

        assert end_left(process)

        assert set() == running(word)
        os.waitpid(run, 0)

    def test_another_process_of_the_same_number(self, word: str) -> None:
        """A number that was given to another process, which started at another time, ends nothing."""
        other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", word])
        try:
            start = start_of(other.pid)
            assert start is not None
            number, _, ticks = start.rpartition(":")
            earlier = f"{number}:{int(ticks) - 1}"
            process = Process(pid=other.pid, start=earlier, fixer=other.pid, fixer_start=earlier, mark=uuid4().hex)

            assert not end_left(process)
            assert not end_left(replace(process, start="", fixer_start=""))
            assert other.poll() is None
            assert start == start_of(other.pid)
        finally:
            other.kill()
            other.wait()

    def test_a_record_comes_back(self) -> None:
        """What was started can be kept in a ledger and read again."""
        process = Process(pid=1, start="b:2", fixer=3, fixer_start="b:4", mark="m")

        assert process == Process.from_dict(json.loads(json.dumps(process.to_dict())))


def test_a_workspace_is_removed_after_all(bench: Bench, word: str) -> None:
    """After a killed run, what it left is ended, found and removed."""
    run, process = forked(bench, sys.executable, "-c", WILD, word)
    os.kill(run, signal.SIGKILL)
    os.waitpid(run, 0)
    end_left(process)

    for left in Workspace.left(str(bench.repo.folder)):
        left.remove(keep_branch=False)

    assert set() == running(word)
    assert not Path(bench.workspace.place).exists()
