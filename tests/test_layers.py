from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parent.parent
SOURCE = REPOSITORY / "src" / "indult"
CONTRACTS = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
    "contracts"
]


def modules(folder: Path) -> set[str]:
    """Return the names of the modules in a package."""
    return {
        entry.stem
        for entry in folder.iterdir()
        if (entry.suffix == ".py" and entry.name != "__init__.py") or (entry / "__init__.py").exists()
    }


def test_every_module_stands_in_a_layer() -> None:
    """The layers name each module of the package, so that none escapes the check."""
    (contract,) = (contract for contract in CONTRACTS if contract["type"] == "layers")
    named = {name for layer in contract["layers"] for name in re.findall(r"\w+", layer)}

    assert modules(SOURCE) - {*contract["exhaustive_ignores"]} <= named


@pytest.mark.parametrize("world", sorted(modules(SOURCE / "worlds")) if (SOURCE / "worlds").exists() else [])
def test_every_grader_is_kept_from_its_maker(world: str) -> None:
    """A world with a maker and a verifier has a contract between the two."""
    contracts = {
        (source, target)
        for contract in CONTRACTS
        if contract["type"] == "forbidden"
        for source in contract["source_modules"]
        for target in contract["forbidden_modules"]
    }

    assert (f"indult.worlds.{world}.verifier", f"indult.worlds.{world}.maker") in contracts
