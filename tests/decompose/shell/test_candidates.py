from __future__ import annotations

import pytest
from tests.decompose.shell.helpers import asks, possible, touched

from indult.decompose.shell.candidates import candidates


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("sort", "-uoindult.yaml", "indult.yaml"),
        ("sort", "-o.env", ".env"),
        ("sort", "-uo/etc/x", "/etc/x"),
        ("date", "-uf.env", ".env"),
        ("gcc", "-MFindult.yaml", "indult.yaml"),
        ("gcc", "-MF/etc/x", "/etc/x"),
        ("gcc", "-Wl,-o,a.b", "a.b"),
        ("gcc", "-Wl,-oa.b", "a.b"),
        ("cc", "-Wp,-MD,a.d", "a.d"),
        ("dotnet", "-logger:A,/tmp/x.dll", "/tmp/x.dll"),
        ("javac", "-J-javaagent:/tmp/x", "/tmp/x"),
        ("clang", "-Wa,--listing=a.b", "a.b"),
    ],
)
def test_every_end_of_a_cluster_may_be_the_value_of_its_last_letter(name: str, text: str, found: str) -> None:
    """Which letter takes a value is not known, so the file behind any of them is judged."""
    assert found in list(candidates(name, text))


@pytest.mark.parametrize(
    ("name", "text", "left"),
    [
        ("sed", "-nes/a/b/", "/a/b/"),
        ("gcc", "-Iinclude/a", "/a"),
        ("git", "-Csrc/a", "/a"),
        ("gcc", "-Wl,-rpath,/usr/lib", "/usr/lib"),
        ("gcc", "-Wl,-rpath=/usr/lib", "/usr/lib"),
        ("grep", "-ea:.env", ".env"),
    ],
)
def test_what_stands_behind_a_known_letter_is_one_value(name: str, text: str, left: str) -> None:
    """The end of a script, of a folder or of a path to search later is no path of its own."""
    assert left not in list(candidates(name, text))


def test_a_word_of_very_many_letters_asks() -> None:
    """A cluster with more ends than are looked at is no way around the look."""
    assert asks(f"sort -{'u' * 4050}o.env x")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("install -s --strip-program=/tmp/x a b", "exec:/tmp/x"),
        ("install -s --strip-p /tmp/x a b", "exec:/tmp/x"),
        ("nm --plugin tools/x.so a.o", "exec:tools/x.so"),
        ("man -C/tmp/x ls", "exec:/tmp/x"),
        ("pyright --pythonpath=.venv/bin/python", "exec:.venv/bin/python"),
    ],
)
def test_an_option_that_names_what_runs_is_judged_as_code(text: str, found: str) -> None:
    """A plugin, a program or a settings file behind an option is one that runs, wherever it lies."""
    assert found in touched(text)


def test_an_option_without_a_value_that_is_known_may_name_any_code() -> None:
    """A plugin that a variable names may lie anywhere."""
    assert "exec:**" in possible("nm --plugin $x a.o")
