from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from indult.spawn import MAX_GIVEN, TimedOut, run


def python(code: str, given: bytes = b"", seconds: float = 20) -> tuple[int, bytes]:
    """Run some Python in a process of its own."""
    return run(sys.executable, ["python", "-S", "-c", code], given, seconds=seconds)


def test_gives_and_takes() -> None:
    """A program gets the text on standard input; what it writes comes back whole, with its exit code."""
    code = "import sys; data = sys.stdin.buffer.read(); sys.stdout.buffer.write(data * 100); sys.exit(3)"

    assert (3, b"x" * MAX_GIVEN * 100) == python(code, b"x" * MAX_GIVEN)


def test_the_environment_is_empty() -> None:
    """Nothing of the caller's environment reaches the program."""
    code = (
        "import os; print(sorted(name for name in os.environ if name not in ('LC_CTYPE', '__CF_USER_TEXT_ENCODING')))"
    )

    assert (0, b"[]\n") == python(code)


def test_a_program_that_takes_too_long_is_killed(tmp_path: Path) -> None:
    """One that does not end in time is told of, and nothing of it is left."""
    place = tmp_path / "pid"
    with pytest.raises(TimedOut):
        python(f"import os, time; open({str(place)!r}, 'w').write(str(os.getpid())); time.sleep(60)", seconds=2)

    with pytest.raises(ChildProcessError):
        os.waitpid(int(place.read_text()), os.WNOHANG)


def test_a_program_that_does_not_read() -> None:
    """One that ends without reading is no error of its caller."""
    assert (0, b"") == python("", b"x" * MAX_GIVEN)


def test_a_program_that_is_killed() -> None:
    """One that a signal ended has a negative exit code."""
    assert -9 == python("import os; os.kill(os.getpid(), 9)")[0]


def test_a_program_that_is_not_there() -> None:
    """One that is not there is an error, and no file stays open."""
    before = len([*Path("/dev/fd").iterdir()])
    with pytest.raises(FileNotFoundError):
        run("/absent", ["absent"], b"", seconds=1)

    assert before == len([*Path("/dev/fd").iterdir()])


def test_too_long_a_text_is_refused() -> None:
    """A text that a pipe may not take at once is refused, instead of waiting for ever."""
    with pytest.raises(ValueError, match="more than a pipe takes"):
        python("", b"x" * (MAX_GIVEN + 1))
