from __future__ import annotations

import pytest
from tests.decompose.shell.helpers import asks, parts

from indult.decompose.shell.environment import decides, pieces
from indult.decompose.shell.variables import hands_options


def names(text: str) -> set[str]:
    """Return all the paths that a text may touch."""
    return {name for part in parts(text) for name in (*part.also, *part.maybe) if not name.startswith("command:")}


@pytest.mark.parametrize(
    "text",
    [
        "OUTPUT_FILE=indult.yaml ruff check src",
        "A=x:indult.yaml ruff check src",
        "A='x=y indult.yaml' ruff check src",
        "A=file:indult.yaml ruff check src",
        "A=sqlite:///indult.yaml ruff check src",
        "env A=indult.yaml ruff check src",
        "sudo A=indult.yaml ruff check src",
        "A=indult.yaml bash -c 'ruff check src'",
        "f() { ruff check src; }; A=indult.yaml f",
        "export A=indult.yaml; ruff check src",
        "declare -x A=indult.yaml; ruff check src",
        "A=indult.yaml; export A; ruff check src",
        "export A; A=indult.yaml; ruff check src",
        "A=indult.yaml; eval 'export A'; ruff check src",
        "TMPDIR=indult.yaml; mktemp",
    ],
)
def test_the_value_of_a_variable_may_be_a_file_that_a_program_writes(text: str) -> None:
    """However a variable is handed to a program, its value is judged as a word of the command would be."""
    assert "write:indult.yaml" in names(text)


@pytest.mark.parametrize(
    "text",
    [
        "A=indult.yaml; ruff check src",
        "LANG=indult.yaml ruff check src",
        "A=http://host.example/indult.yaml ruff check src",
        "declare A=indult.yaml; ruff check src",
    ],
)
def test_what_no_program_takes_for_a_file_is_no_path(text: str) -> None:
    """A variable of the shell alone, a language and an address name no file."""
    assert "write:indult.yaml" not in names(text)


@pytest.mark.parametrize("text", ["A=$(x) make", "export A=$(x)", "env A=$B ruff check src"])
def test_a_value_that_is_not_known_may_be_any_file(text: str) -> None:
    """What a program is handed in a variable is looked at, or else asked about."""
    assert "write:**" in names(text)


def test_an_exported_folder_is_judged_as_code_where_a_program_runs_what_it_is_led_to() -> None:
    """A file outside is run as well when the variable that names it was exported before."""
    assert "exec:/tmp/a.mk" in names("export A=/tmp/a.mk; make")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("AWKLIBPATH=/tmp/x gawk 1 a", True),
        ("env A=/tmp/x gcc a.c", True),
        ("TMPDIR=/tmp/x gcc a.c", False),
        ("A=/tmp/x ./a.sh", False),
        ("A=/tmp/x python3 a.py", False),
        ("A=/tmp/x echo b", False),
    ],
)
def test_a_program_that_is_installed_may_load_what_a_variable_names(text: str, found: bool) -> None:
    """A script of the work reads its variables itself, any other program may take a plugin from there."""
    assert found is ("exec:/tmp/x" in names(text))


@pytest.mark.parametrize(
    "text",
    [
        "A=-x ruff check src",
        "A='a --plugin=b' ruff check src",
        "export A=-x",
        "XZ_DEFAULTS=x xz a",
        "BZIP2=x bzip2 a",
        "LESSKEYIN=x less a",
        "RSH=x tar c a",
        "set -a",
        "set -o allexport",
        "export A; read A",
        "export A; for A in x; do y; done",
        "export A; : ${A:=x}",
    ],
)
def test_variables_with_options_in_them_ask(text: str) -> None:
    """A program may take options from a variable, and some variables say what runs."""
    assert asks(text)


@pytest.mark.parametrize(
    "text",
    [
        "CI=1 DEBUG=a:* NODE_ENV=test LC_ALL=C TZ=Europe/Berlin FORCE_COLOR=1 pytest",
        "N=-1 A='a - b' pytest",
        "CFLAGS='-O2 -Wall -std=c11 -DX=1' make",
        "export A=b",
        "A=$(x); y $A",
        "LANG=$(x) pytest",
        "set +a",
        "read A",
    ],
)
def test_ordinary_variables_do_not(text: str) -> None:
    """Numbers, names and plain options of a compiler run nothing else."""
    assert [] == asks(text)


@pytest.mark.parametrize("value", ["-fplugin=x", "-Wl,-o,x", "@x -O2 -B x", "-O2 -wrapper x", "-include x"])
def test_options_of_a_compiler_that_bring_files_are_no_plain_ones(value: str) -> None:
    """Only options that neither bring nor write a file are free in the variables for compilers."""
    assert hands_options("CFLAGS", value)


def test_a_language_that_leads_elsewhere_is_a_path() -> None:
    """A name that is harmless by itself is judged as soon as its value leads out of where languages lie."""
    assert ["/tmp/x"] == list(pieces({"LANGUAGE": "/tmp/x"}))
    assert [] == list(pieces({"LANGUAGE": "de:en"}))
    assert decides({"LANGUAGE": "-x"})
