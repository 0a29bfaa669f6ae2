"""`python -m indult.testing KIND FILE`: run a file of cases and print one JSON line per case.

Ends with 0 when all cases ran, whatever their results are; comparing them is the caller's part.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

from indult.errors import IndultError, InputError, UsageError
from indult.testing import runners

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

USAGE = "usage: python -m indult.testing KIND FILE"


def kinds() -> list[str]:
    """Return the kinds of cases that can be run."""
    return sorted(module.name for module in iter_modules(runners.__path__) if not module.name.startswith("_"))


def results(kind: str, path: Path) -> Iterator[Any]:
    """Run the cases of a file and yield the result of each.

    Raises:
        UsageError: There is no such kind.
        InputError: There is no such file, or it cannot be read as cases of this kind.
    """
    if kind not in kinds():
        raise UsageError(f"no such kind of cases: `{kind}`", hint=f"kinds: {', '.join(kinds()) or 'none'}")
    if not path.is_file():
        raise InputError(f"no such file: `{path}`")
    yield from import_module(f"{runners.__name__}.{kind}").run(path)


def main(args: Sequence[str]) -> int:
    """Run `KIND FILE`, print the results and return the exit code."""
    try:
        if set(args) & {"-h", "--help"}:
            print(f"{USAGE}\nkinds: {', '.join(kinds())}")
            return 0
        if len(args) != 2:
            raise UsageError(f"expected a kind and a file, got {len(args)} arguments", hint=USAGE)
        for result in results(args[0], Path(args[1])):
            print(json.dumps(result, ensure_ascii=False), flush=True)
    except IndultError as exc:
        print("error: " + "\n".join(exc.lines()), file=sys.stderr)
        return exc.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
