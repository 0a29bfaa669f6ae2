"""One module per kind of case file: `run(path)` yields the result of each case as a JSON value, in order."""

from __future__ import annotations
