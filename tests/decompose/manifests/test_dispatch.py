from __future__ import annotations

import inspect
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indult import scopes
from indult.decompose import manifests
from indult.decompose.manifests import comparer
from indult.scopes import Scope, dependency_path

# One name of each kind that goes by a pattern.
PATTERNED = ("requirements.txt", "requirements-dev.txt", "constraints.txt", "constraints_ci.txt")
NAMES = (*manifests._MODULES, *PATTERNED)


def scope(path: str) -> Scope:
    """Return the scope of one dependency in one file."""
    return Scope.dependency("Lib_db", "1.8.2", [path], "mend it", subject="run:1")


def test_every_manifest_of_a_scope_has_a_comparer() -> None:
    """The names that a scope opens entries in are those that are taken apart, and the other way round."""
    assert sorted(scopes._MANIFESTS) == sorted(manifests._MODULES)


@pytest.mark.parametrize("name", NAMES)
def test_every_comparer_is_there(name: str) -> None:
    """A manifest has a comparer wherever it stands, and a scope of it has its entry."""
    for path in (name, f"packages/a/{name}"):
        opened = [target for target in scope(path).targets if target.startswith("entry:")]

        assert comparer(path) is not None
        assert dependency_path(path)
        assert [f"entry:{path}#"] == [target[: len(path) + 7] for target in opened]


def test_every_module_that_compares_is_in_the_table() -> None:
    """No comparer lies there unused."""
    folder = Path(manifests.__file__).parent
    names = {file.stem for file in folder.glob("*.py")} - {"__init__"}
    comparing = {name for name in names if _compares(import_module(f"{manifests.__name__}.{name}"))}

    assert comparing == {*manifests._MODULES.values(), "requirements"}


def _compares(module: object) -> bool:
    """Tell whether a module offers what a comparer is made of: three arguments, a path first."""
    targets = getattr(module, "targets", None)
    return targets is not None and list(inspect.signature(targets).parameters) == ["path", "old", "new"]


@given(st.one_of(st.sampled_from(NAMES), st.from_regex(r"(requirements|constraints)[^/]{0,9}\.txt.?")), st.text())
def test_both_take_the_same_names(name: str, more: str) -> None:
    """A name that is almost one of a manifest is either one for both or for neither."""
    for path in (name, more, name + more, more + name, name.upper(), f"{more}/{name}"):
        somebody_elses = scopes._FOLDERS.intersection(path.split("/")[:-1])

        assert (comparer(path) is not None) == (scopes._is_manifest(path) and not somebody_elses)


@pytest.mark.parametrize("folder", sorted(scopes._FOLDERS))
@pytest.mark.parametrize("name", NAMES)
def test_somebody_elses_code_is_not_taken_apart(folder: str, name: str) -> None:
    """In a folder of other people's code a manifest is a file like any other, for both."""
    path = f"a/{folder}/{name}"

    assert comparer(path) is None
    assert dependency_path(path)
    assert scopes._FOLDERS == manifests._FOLDERS


@pytest.mark.parametrize("name", NAMES)
def test_both_spell_a_name_alike(name: str) -> None:
    """Where the spelling of a name does not count, a scope and an entry carry the same one."""
    python = (manifests._MODULES.get(name) or "requirements") in {"python", "python_lock", "requirements", "setuptools"}
    (entry,) = (target for target in scope(name).targets if target.startswith("entry:"))

    assert entry == f"entry:{name}#{'lib-db' if python else 'Lib_db'}@1.8.2"
