"""libdb 1.8.2, vendored."""


class Connection:
    """A connection that fails a number of times before it holds."""

    def __init__(self, fails: int = 0) -> None:
        self.fails = fails
        self.retries = 0

    def open(self) -> int:
        """Try until it holds, and return how many tries it took."""
        while self.fails:
            self.fails -= 1
            self.retries += 1
        return self.retries + 1

    def idle(self) -> None:
        """Let go of the connection."""
