"""Where orders are kept."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "vendor"))

from libdb import Connection


def attempts(fails: int) -> int:
    """Return how often a connection that fails so many times is tried until it holds, after it was idle once."""
    connection = Connection(fails=2)
    connection.open()
    connection.idle()
    connection.fails = fails
    return connection.open()
