from __future__ import annotations

import pytest

from indult.decompose.manifests.locked import Found, identity, linked, names, unneeded
from indult.decompose.manifests.reading import Unreadable


def found(name: str, version: str = "1.0", *wants: tuple[str, str], source: str = "r") -> Found:
    """A package as it was found."""
    return Found(name=name, version=version, source=source, record={"": {}}, wants=wants)


def test_needs() -> None:
    """A need of any version leads to all of them, and one of a version to that one."""
    packages = linked(
        [found("a", "1.0", ("b", ""), ("c", "2.0"), ("d", "")), found("b"), found("c"), found("c", "2.0")]
    )
    assert set(packages["a@1.0"].needs) == {"b@1.0", "c@2.0"}
    packages = linked([found("a", "1.0", ("c", "")), found("c"), found("c", "2.0")])
    assert set(packages["a@1.0"].needs) == {"c@1.0", "c@2.0"}


def test_one_version_from_two_places() -> None:
    """Two packages of one version are told apart by where they come from, and cannot be both from there."""
    assert set(linked([found("a"), found("a", source="s")])) == {"a@1.0 r", "a@1.0 s"}
    with pytest.raises(Unreadable, match="one package twice"):
        linked([found("a"), found("a")])


def test_unneeded() -> None:
    """What no other package needs is what the project asks for."""
    assert unneeded(linked([found("a", "1.0", ("b", ""), ("a", "")), found("b")])) == ("a@1.0",)


def test_too_many_needs() -> None:
    """A lock whose packages need each other in all versions is not followed."""
    many = [found("a", str(version), ("a", "")) for version in range(2000)]
    with pytest.raises(Unreadable, match="too many needs"):
        linked(many)


def test_identity() -> None:
    """A package has a plain name and a plain version."""
    assert identity({"name": "Http_Kit", "version": "2.1.1"}) == ("http-kit", "2.1.1")
    for record in ({}, {"name": "a"}, {"name": "a b", "version": "1"}, {"name": "a", "version": ">=1"}):
        with pytest.raises(Unreadable):
            identity(record)


def test_names() -> None:
    """Names as a lock spells them are wants of any version, and what is no name is none."""
    assert names(["Http_Kit", "a b", 1]) == (("http-kit", ""),)
