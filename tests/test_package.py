from __future__ import annotations

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import indult
from indult import testing
from indult.cli import VERBS
from indult.cli.frame import Verbs, root

SOURCE = Path(indult.__file__).parent
POLICY = SOURCE / "worlds" / "mixer" / "indult.yaml"
FACTS = '{"world": {"max_intensity": 4, "require_consent": false, "blocked_ids": []}}'
ACTION = '{"tool": "social_action", "args": {"intensity": 2, "participants": []}}'

SHOW_MODULES = """
import json, sys
from indult.cli import main
code = main(sys.argv[1:])
print(json.dumps(sorted(sys.modules)), file=sys.stderr)
sys.exit(code)
"""


def modules(*args: str) -> set[str]:
    """Return the modules that a command line has imported when it ends."""
    done = subprocess.run(
        [sys.executable, "-c", SHOW_MODULES, *args], capture_output=True, text=True, check=True, timeout=60
    )
    return set(json.loads(done.stderr))


def modules_at_start() -> set[str]:
    """Return the modules that this interpreter has before it runs anything."""
    script = "import sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    return set(done.stdout.split())


class TestNames:
    """The public names of the package."""

    @pytest.mark.parametrize("name", indult.__all__)
    def test_resolves(self, name: str) -> None:
        """Each public name is imported when it is used."""
        assert getattr(indult, name) is not None

    def test_sorted(self) -> None:
        """The names are listed in order, each once."""
        assert sorted(set(indult.__all__)) == indult.__all__

    def test_dir(self) -> None:
        """`dir` lists the public names before they are used."""
        assert {*indult.__all__, "__version__"} <= set(dir(indult))

    @pytest.mark.parametrize("module", [indult, testing], ids=["indult", "indult.testing"])
    def test_unknown(self, module: object) -> None:
        """A name that does not exist is an `AttributeError`, as in any module."""
        with pytest.raises(AttributeError, match="has no attribute `Nothing`"):
            module.Nothing  # type: ignore[attr-defined] # noqa: B018

    @pytest.mark.parametrize("name", testing.__all__)
    def test_testing(self, name: str) -> None:
        """Each shipped testing tool is imported when it is used."""
        assert getattr(testing, name) is not None

    def test_import_is_free(self) -> None:
        """`import indult` imports none of its modules and nothing from outside the standard library."""
        script = "import sys; before = set(sys.modules); import indult; print(*set(sys.modules) - before)"
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
        roots = {name.partition(".")[0] for name in done.stdout.split()}

        assert {"indult"} == roots - sys.stdlib_module_names
        assert not [name for name in done.stdout.split() if name.startswith("indult.")]


class TestVerbs:
    """The table of verbs."""

    def test_every_command_is_a_verb(self) -> None:
        """Each module with a command has a line in the table."""
        names = {f"indult.cli.{file.stem}" for file in (SOURCE / "cli").glob("*.py")} - {"indult.cli.__init__"}

        assert {name for name in names if hasattr(import_module(name), "command")} == {
            module for module, _ in VERBS.values()
        }

    @pytest.mark.parametrize("verb", VERBS)
    def test_command_has_the_name_of_its_verb(self, verb: str) -> None:
        """A verb's command is called as the table calls it, and both say in a sentence what it does."""
        command = Verbs(VERBS, name="indult").get_command(
            root.make_context("indult", ["x"], resilient_parsing=True), verb
        )

        assert command is not None
        assert verb == command.name
        assert command.help
        assert VERBS[verb][1].endswith(".")

    def test_help_imports_no_verb(self) -> None:
        """`indult --help` needs the table only."""
        assert {"indult.cli", "indult.cli.edge", "indult.cli.frame", "indult.cli.plain", "indult.errors"} == {
            name for name in modules("--help") if name.startswith("indult.")
        }


class TestWayToAVerdict:
    """What judging one action needs."""

    def test_from_outside(self) -> None:
        """`indult check` imports PyYAML, and nothing else from outside the standard library."""
        loaded = modules("check", "--policy", str(POLICY), "--facts", FACTS, ACTION)
        # PyYAML's fast reader brings the run time of Cython along; `.pth` files may bring anything.
        roots = {name.partition(".")[0] for name in loaded - modules_at_start() if "cython" not in name}

        assert {"indult", "yaml", "_yaml"} >= roots - sys.stdlib_module_names

    def test_no_ledger(self) -> None:
        """Judging without recording loads no database, no loop, no world, and nothing that grants are made of."""
        loaded = modules("check", "--policy", str(POLICY), "--facts", FACTS, ACTION)

        assert not {"sqlite3", "asyncio", "subprocess", "indult.ledger", "indult.loop", "indult.worlds"} & loaded
        assert (
            not {"indult.gate", "indult.approvals", "indult.scopes", "indult.signatures", "indult.critiques"} & loaded
        )
