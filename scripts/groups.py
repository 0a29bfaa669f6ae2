"""Print the requirements of one dependency group of pyproject.toml, one word each."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import Any


def requirements(groups: dict[str, list[Any]], name: str) -> list[str]:
    """Return the requirements of the group `name`, those of included groups in their place."""
    found: list[str] = []
    for entry in groups[name]:
        found += requirements(groups, entry["include-group"]) if isinstance(entry, dict) else [entry.replace(" ", "")]
    return found


if __name__ == "__main__":
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))
    print(*requirements(project["dependency-groups"], sys.argv[1]))
