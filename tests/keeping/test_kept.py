"""Kept commands: they end when they have to, nothing that they started outlives them, and nobody else is ended."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from tests.autofix.bench import ended, running, until

from indult.errors import RunError
from indult.keeping import kept
from indult.keeping.kept import Kept, Process, run_kept
from indult.keeping.processes import seen

DAEMON = """
import os, sys, time

if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execve(sys.executable, [sys.executable, "-c", "import time; time.sleep(600)", sys.argv[1]], {})
    os._exit(0)
time.sleep(0.01)
print("ready", flush=True)
"""
"""It leaves a process in a session of its own, of another parent, and without any variable."""

STAYS = DAEMON + "time.sleep(600)\n"

linux = pytest.mark.skipif(sys.platform != "linux", reason="needs a system that brings orphans back")


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "GRACE", 0.3)


@pytest.fixture(name="word")
def _word() -> Iterator[str]:
    """Return a word by which processes of this test are found; none of them is left behind."""
    word = f"word-{uuid4().hex}"
    yield word
    for pid in running(word):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def keep(folder: Path, *words: str, seconds: float = 60, **more: Any) -> Kept:
    """Run a script under a keeper, what it prints in `output`."""
    return run_kept(
        [sys.executable, "-c", *words],
        cwd=str(folder),
        environment=dict(os.environ),
        output=str(folder / "output"),
        seconds=seconds,
        **more,
    )


class Killing:
    """Kills both processes of a keeper as soon as the command is ready, after it called `first`."""

    def __init__(self, folder: Path, first: Callable[[], object] = lambda: None) -> None:
        self._output = folder / "output"
        self._first = first
        self._keeper = 0

    def started(self, process: Process) -> None:
        """Take note of the keeper."""
        self._keeper = process.pid

    def __call__(self) -> bool:
        if self._keeper and "ready" in self._output.read_text():
            self._first()
            keeper, self._keeper = self._keeper, 0
            for pid in (seen()[keeper].parent, keeper):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        return False


@pytest.mark.parametrize("task", [b"read me", "given", None])
def test_what_it_reads(tmp_path: Path, task: bytes | str | None) -> None:
    """A command reads the bytes that it is given, or a file, or nothing."""
    (tmp_path / "given").write_bytes(b"read me")
    given = str(tmp_path / task) if isinstance(task, str) else task

    came = keep(tmp_path, "import sys; print(sys.stdin.read())", task=given)

    assert ("done", 0) == (came.why, came.code)
    assert ("\n" if task is None else "read me\n") == (tmp_path / "output").read_text()


@pytest.mark.parametrize("name", ["output", "task"])
@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: path.symlink_to("/etc/passwd")])
def test_something_else_in_the_place_of_a_file(tmp_path: Path, name: str, make: Callable[[Path], None]) -> None:
    """Nobody waits for a pipe, or follows a link, that is in the place of a file of ours."""
    make(tmp_path / name)

    with pytest.raises(RunError, match=f"{name}` "):
        keep(tmp_path, "", task=str(tmp_path / "task") if name == "task" else None)


def test_nothing_of_the_folder_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Modules in the folder of a command, or where an empty entry of the path leads, are not those of the keeper."""
    for name in ("json", "ctypes", "signal", "sitecustomize", "usercustomize", "indult"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'imported')!r}, 'a').write({name!r})\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", f":{tmp_path}")

    came = run_kept(["/bin/true"], cwd=str(tmp_path), environment={}, output=str(tmp_path / "output"), seconds=60)

    assert ("done", 0) == (came.why, came.code)
    assert not (tmp_path / "imported").exists()


@linux
class TestKilled:
    def test_both_keepers(self, tmp_path: Path, word: str) -> None:
        """What a command left without a mark ends, though nobody is left of those who kept it."""
        killing = Killing(tmp_path)

        came = keep(tmp_path, STAYS, word, stop=killing, started=killing.started)

        assert set() == running(word)
        assert ("failed", None) == (came.why, came.code)

    def test_by_the_command_itself(self, tmp_path: Path, word: str) -> None:
        """What a command started a moment before it killed them ends, at the head of its session or not."""
        line = """
import os, signal, sys
if os.fork() == 0:
    os.setsid()
    os.execve(sys.executable, [sys.executable, "-c", "import time; time.sleep(600)", sys.argv[1]], {})
keeper = os.getppid()
above = int(open(f"/proc/{keeper}/stat").read().rpartition(")")[2].split()[1])
for pid in (above, keeper):
    os.kill(pid, signal.SIGKILL)
"""

        came = keep(tmp_path, line, word)

        assert ("failed", set()) == (came.why, running(word))

    def test_children_of_others_go_on(self, tmp_path: Path, word: str) -> None:
        """Children of this process that were there before, or are in its session, are not taken for orphans."""
        with subprocess.Popen(["/bin/sleep", "600"], start_new_session=True) as before:
            after: list[subprocess.Popen[bytes]] = []
            killing = Killing(tmp_path, lambda: after.append(subprocess.Popen(["/bin/sleep", "600"])))

            came = keep(tmp_path, STAYS, word, stop=killing, started=killing.started)

            assert [None, None] == [one.poll() for one in (before, *after)]
            for one in (before, *after):
                one.kill()
                one.wait()
        assert "failed" == came.why

    def test_one_that_could_be_either(self, tmp_path: Path, word: str) -> None:
        """A child that another thread may have started meanwhile is left alone, and that is told."""
        other: list[subprocess.Popen[bytes]] = []
        words = ["/bin/sleep", "600"]
        killing = Killing(tmp_path, lambda: other.append(subprocess.Popen(words, start_new_session=True)))

        came = keep(tmp_path, STAYS, word, stop=killing, started=killing.started)

        assert ["vanished", None] == [came.why, other[0].poll()]
        assert set() == running(word)
        other[0].kill()
        other[0].wait()

    def test_the_run(self, tmp_path: Path, word: str) -> None:
        """A command ends with whoever runs it."""
        run = os.fork()
        if run == 0:
            keep(tmp_path, STAYS, word)
            os._exit(0)
        until(lambda: len(running(word)) == 2 and "ready" in (tmp_path / "output").read_text())

        os.kill(run, signal.SIGKILL)
        os.waitpid(run, 0)

        ended(word)

    def test_orphans_come_only_meanwhile(self, tmp_path: Path) -> None:
        """Whether orphans come to this process is afterwards as it was before."""

        def asked() -> int:
            found = ctypes.c_int(-1)
            ctypes.CDLL(None).prctl(37, ctypes.byref(found), 0, 0, 0)
            return found.value

        before, meanwhile = asked(), []
        keep(tmp_path, "", started=lambda _: meanwhile.append(asked()))

        assert ([1], before) == (meanwhile, asked())


@linux
def test_nobody_else_speaks_for_the_keeper(tmp_path: Path) -> None:
    """A command cannot open what its keeper says things on."""
    line = "import os; os.open(f'/proc/{os.getppid()}/fd/1', os.O_RDWR)"

    came = keep(tmp_path, line)

    assert ("done", 1) == (came.why, came.code)


@pytest.mark.parametrize(
    "line",
    [
        b"nonsense", b"5", b"[]", b"\xff", b"[" * 100_000, b'{"pid": 1}', b'{"pid": "x", "start": 1}',
        b'{"why": "done"}', b'{"why": "done", "code": 0, "left": "x", "seconds": "y"}', b'{"why": ["done"]}',
        b'{"why": ["x"], "code": 0, "left": 0, "seconds": 1.0}', b'{"why": "done", "code": 0, "left": 0, "seconds": NaN}',
        b'{"pid": 1, "start": "a:1", "kept": 1, "kept_start": "a:1"}', b'{"not_started": 3}', b'{"starting": 1}',
    ],
)  # fmt: skip
def test_junk_says_nothing(line: bytes) -> None:
    """What is no word of a keeper is none, whatever it looks like."""
    assert {} == kept._said(line)
