"""The ship gate: a branch lands only if every change in it is allowed."""
