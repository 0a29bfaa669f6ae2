from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indult.decompose.manifests.pep508 import compare, freeze, normal, plain, read, read_all, shown, specified
from indult.decompose.manifests.reading import Unreadable
from indult.errors import ScopeError
from indult.scopes import Scope


def told(old: list[str], new: list[str]) -> list[str]:
    """What changed between two lists of requirements."""
    return sorted(compare("P", map(read, old), map(read, new)))


@pytest.mark.parametrize("name", ["HttpKit_Core", "httpkit-core", "HTTPKIT.core", "httpkit__-.core"])
def test_spellings_of_a_name(name: str) -> None:
    """All spellings of a package's name are one name."""
    assert normal(name) == "httpkit-core"


@pytest.mark.parametrize(
    "name", ["", "-httpkit", "httpkit-", "http kit", "httpkit@2.1.1", "httpkit#", "httpkit\n", "\u2179ml"]
)
def test_no_name(name: str) -> None:
    """What no package can be called is no name, so that none can look like another in a target."""
    assert normal(name) == ""


@pytest.mark.parametrize("version", ["2.1.1", "1!2.0", "2.1.1+cu121", "2.1.1.post1", "v2", "2.1.1-1"])
def test_plain(version: str) -> None:
    """An exact version is plain."""
    assert plain(version)


@pytest.mark.parametrize(
    "version", ["", "2.*", ">=2", "2 || 3", "2.1.1\n", "^2", "~2", 2, None, "2,3", "file:x", "2@1"]
)
def test_not_plain(version: object) -> None:
    """A range, a place and what is no text are not plain."""
    assert not plain(version)


def test_a_version_moves() -> None:
    """Where only the version of a requirement differs, it is that package's entry at its new version."""
    old = ["httpkit==2.1.0", "yamlkit==6.0.0"]
    assert told(old, ["yamlkit==6.0.0", "httpkit==2.1.1"]) == ["entry:P#httpkit@2.1.1"]


def test_layout() -> None:
    """Order, spaces, brackets and the spelling of a name are layout."""
    old = ["Http_Kit==2.1.0", 'yamlkit[c]==6.0.0;python_version<"3.14"']
    assert told(old, ["yamlkit [c] == 6.0.0 ; python_version < '3.14'", "http-kit (==2.1.0)"]) == []


def test_extras_and_markers_stay() -> None:
    """A requirement with an extra and a marker may move like any other."""
    old = ["httpkit[http2]==2.1.0; python_version<'3.14'"]
    assert told(old, ["httpkit[http2]==2.1.1; python_version < '3.14'"]) == ["entry:P#httpkit@2.1.1"]


@pytest.mark.parametrize(
    "new",
    [
        "httpkit[http2]>=2.1.1",
        "httpkit>=2.1.1; python_version<'3.14'",
        "httpkit[http2]==2.1.1",
        "httpkit==2.1.1; python_version<'3.14'",
        "httpkit @ https://files.registry.example/httpkit-2.1.1.tar.gz",
        "httpkit @ git+https://registry.example/httpkit@2.1.1",
        "httpkit @ file:///tmp/httpkit",
    ],
)
def test_another_kind(new: str) -> None:
    """A requirement of another kind is no version of the one before, and is named."""
    assert told(["httpkit==2.1.0"], [new]) == [f"change:P#httpkit: `httpkit==2.1.0` became `{new}`"]


@pytest.mark.parametrize(
    ("new", "shown"),
    [
        ("httpkit>=2.1.1", ">=2.1.1"),
        ("httpkit==2.*", "==2.*"),
        ("httpkit===2.1.1", "===2.1.1"),
        ("HttpKit == 2.1.1 , > 0", "==2.1.1,>0"),
        ("httpkit >= 2.31, < 3", "<3,>=2.31"),
        ("httpkit~=2.1.1", "~=2.1.1"),
        ("httpkit", "*"),
    ],
)
def test_ranges(new: str, shown: str) -> None:
    """To a range, from a range and as a new entry, the text is exact and none that a named exception could hold.

    All of these were changes, so that nobody could open what package managers write by themselves.
    """
    assert told(["httpkit==2.1.0"], [new]) == [f"entry:P#httpkit@{shown}"]
    assert told(["httpkit<9"], [new]) == [f"entry:P#httpkit@{shown}"]
    assert told([], [new]) == [f"entry:P#httpkit@{shown}"]
    assert told([new], ["httpkit==2.1.0"]) == [f"entry:P#httpkit@2.1.0 (was {shown})"]
    for version in (shown, f"2.1.0 (was {shown})"):
        with pytest.raises(ScopeError):
            Scope.dependency("httpkit", version, ["pyproject.toml"], "take it", subject="run:1")


def test_a_range_of_the_same_marker() -> None:
    """A range may move where extras and marker stay as they are, each for itself."""
    old = ["httpkit[x]>=1; python_version<'3'", "httpkit[x]>=2; python_version>='3'"]
    new = ["httpkit[x]>=1; python_version<'3'", "httpkit[x]>=2.1; python_version>='3'"]
    assert told(old, new) == ["entry:P#httpkit@>=2.1"]


def test_a_new_requirement() -> None:
    """A new requirement of an exact version, or of a range, is an entry, one that asks for more is not."""
    assert told([], ["HttpKit==2.1.1"]) == ["entry:P#httpkit@2.1.1"]
    for more in ("httpkit[http2]>=2", "httpkit[http2]==2.1.1", "httpkit==2.1.1; python_version<'4'"):
        assert told([], [more]) == [f"change:P#httpkit: added as `{more}`"]


def test_a_requirement_goes() -> None:
    """A requirement that goes is an entry without a version."""
    assert told(["httpkit==2.1.0", "yamlkit"], ["yamlkit"]) == ["entry:P#httpkit@none"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ([], ["httpkit==2.1.1", "httpkit==2.1.1"]),
        (["httpkit==2.1.0"], ["httpkit==2.1.0", "httpkit==2.1.1"]),
        (["httpkit==2.1.0", "httpkit==2.1.1"], ["httpkit==2.1.1"]),
        (["httpkit==2.1.0", "httpkit==2.1.1"], ["httpkit==2.1.2", "httpkit==2.1.3"]),
    ],
)
def test_a_name_twice(old: list[str], new: list[str]) -> None:
    """Where one name stands twice, which of the two moved cannot be told."""
    assert told(old, new) == ["change:P#httpkit: named more than once"]


def test_a_name_once_for_each_marker() -> None:
    """One name with two markers is two requirements, of which each may move."""
    old = ["httpkit==1.0; python_version<'3'", "httpkit==2.1.0; python_version>='3'"]
    new = ["httpkit==1.0; python_version<'3'", "httpkit==2.1.1; python_version>='3'"]
    assert told(old, new) == ["entry:P#httpkit@2.1.1"]


@pytest.mark.parametrize(
    "text", ["./httpkit", "https://registry.example/x.whl", "httpkit==", "httpkit ==2 ==3", "h\u0131ttp"]
)
def test_no_requirement(text: str) -> None:
    """What is no requirement counts as a whole, and may only stay as it is."""
    assert told([text], [text]) == []
    assert told([], [text]) == [f"change:P#{shown(text)}: added"]
    assert told([text], []) == [f"change:P#{shown(text)}: removed"]


def test_variables() -> None:
    """A requirement in which a variable is replaced has no version of its own."""
    assert read("httpkit==2.1.1; python_version<'${X}'").pin is None


def test_letters_that_only_look_right() -> None:
    """No letter beyond ASCII takes part in a version, whatever a pattern that ignores case would say."""
    assert read("httpkit==2.1.1.po\u017ft1").name == ""


def test_nesting() -> None:
    """A marker that is nested without end counts as a whole."""
    assert read(f"httpkit==2.1.1; {'(' * 900}python_version<'3'{')' * 900}").pin in {None, "2.1.1"}
    assert read(f"httpkit==2.1.1; {'(' * 90000}").name == ""


def test_specifiers_apart() -> None:
    """A version may stand apart from the name, as locks have it."""
    assert specified("HttpKit", "==2.1.1", (), text="", alone=True).pin == "2.1.1"
    assert specified("HttpKit", "==2.1.1,<3", (), text="", alone=True).pin is None
    assert specified("HttpKit", "", (), text="", alone=True).pin is None
    assert specified("http kit", "==2.1.1", (), text="", alone=True).name == ""


def test_shown() -> None:
    """What a message shows of a text is short, on one line and printable."""
    assert shown("a\n b\u202e\x1b") == "a b\\u202e\\u001b"
    assert shown("a" * 200) == "a" * 100 + "..."


def test_frozen_values_keep_their_types() -> None:
    """`True`, `1`, `1.0` and `"1"` are four values."""
    assert len({freeze(value) for value in (True, 1, 1.0, "1", [1], {"1": 1})}) == 6
    assert freeze({"a": 1, "b": [2]}) == freeze({"b": [2], "a": 1})


def test_too_many() -> None:
    """A list that no project has is not read at all."""
    with pytest.raises(Unreadable, match="requirements in one list"):
        read_all(["a"] * 20_001)


@given(st.text(alphabet="httpki=2.1 >,[]();@'\"", max_size=30), st.text(alphabet="httpki=2.1 >,[]();@'\"", max_size=30))
def test_two_texts(one: str, other: str) -> None:
    """Whatever stands there, an entry is told only for a requirement of exactly that version, or of that range."""
    for target in told([one], [other]):
        if target.startswith("entry:") and not target.endswith("@none"):
            name, _, version = target.removeprefix("entry:P#").partition("@")
            found = read(other)
            assert name == found.name
            assert version.partition(" (was ")[0] == (found.pin or found.range)
