from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indult.decompose.manifests import comparer
from indult.decompose.manifests.reading import Unreadable
from indult.decompose.manifests.requirements import lines

BASE = """\
# runtime
--index-url https://registry.example/simple
-r base.txt
-c limits.txt
httpkit==2.1.0 \\
    --hash=sha256:http210 \\
    --hash=sha256:http210b
yamlkit[c]==6.0.0; python_version < "3.14" --hash=sha256:yam600  # pinned
logkit==1.0
rangekit>=1
./local
-e git+https://registry.example/edit#egg=edit
"""


def told(*edits: tuple[str, str], base: str = BASE) -> tuple[str, ...]:
    """What changed in a file of requirements in which texts were replaced."""
    new = base
    for old, text in edits:
        assert old in new
        new = new.replace(old, text)
    return both(base.encode(), new.encode())


def both(old: bytes | None, new: bytes) -> tuple[str, ...]:
    """What changed between two contents."""
    compare = comparer("tools/requirements-dev.txt")
    assert compare is not None
    return compare("R", old, new)


UP = (("==2.1.0", "==2.1.1"), ("http210", "http211"))


def test_a_version_with_its_hashes() -> None:
    """A version moves along with the hashes of its files."""
    assert told(*UP) == ("entry:R#httpkit@2.1.1",)


def test_fewer_hashes() -> None:
    """Another version may have another number of files."""
    assert told(*UP, (" \\\n    --hash=sha256:http211b", "")) == ("entry:R#httpkit@2.1.1",)


def test_layout() -> None:
    """Comments, blank lines, order and where a line is broken are layout."""
    edits = [
        ("# runtime\n", "# pins below are hashed\n\n"),
        ("logkit==1.0\nrangekit>=1\n", "rangekit >= 1\nLogKit == 1.0  # one\n"),
        (" \\\n    --hash=sha256:http210b", " --hash sha256:http210b"),
        ("-r base.txt", "-r   base.txt"),
    ]
    assert told(*edits) == ()
    assert both(BASE.encode(), BASE.replace("\n", "\r\n").encode()) == ()


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("logkit==1.0", "logkit==1.1", ["entry:R#logkit@1.1"]),
        ("logkit==1.0\n", "", ["entry:R#logkit@none"]),
        ("logkit==1.0\n", "logkit==1.0\nevil==1.0\n", ["entry:R#evil@1.0"]),
        ("logkit==1.0\n", "logkit==1.0\nLogKit==1.1\n", ["change:R#logkit: named more than once"]),
        ("logkit==1.0", "logkit>=1.1", ["entry:R#logkit@>=1.1"]),
        ("logkit==1.0", "logkit", ["entry:R#logkit@*"]),
        ("logkit==1.0", "logkit[x]==1.1", ["change:R#logkit: `logkit==1.0` became `logkit[x]==1.1`"]),
        ("logkit==1.0", "logkit==1.1 --hash=sha256:aa", ["change:R#logkit: hashes added"]),
        ("rangekit>=1", "rangekit>=2", ["entry:R#rangekit@>=2"]),
        ("rangekit>=1", "rangekit==1.0", ["entry:R#rangekit@1.0 (was >=1)"]),
        (
            "rangekit>=1",
            "rangekit>=1 --hash=sha256:aa",
            ["change:R#rangekit: hashes changed while the version stays"],
        ),
        ("rangekit>=1", "rangekit>=2 --hash=sha256:aa", ["change:R#rangekit: `rangekit>=1` became `rangekit>=2`"]),
        ("logkit==1.0", "logkit==1.0\nevil==1 --pre", ["change:R#evil: added as `evil==1`"]),
        ("./local", "./other", ["change:R#./local: removed", "change:R#./other: added"]),
        (
            "yam600",
            "evil",
            ["change:R#yamlkit: hashes changed while the version stays", "entry:R#yamlkit@6.0.0"],
        ),
        (
            "yam600  # pinned",
            "yam600 --hash=sha256:evil",
            ["change:R#yamlkit: hashes changed while the version stays", "entry:R#yamlkit@6.0.0"],
        ),
    ],
)
def test_requirements(old: str, new: str, expected: list[str]) -> None:
    """Whatever changed in a requirement is told under its own name."""
    assert list(told((old, new))) == expected


def test_hashes_removed() -> None:
    """A version that moves and loses its hashes is more than a version."""
    edits = [("==2.1.0 \\\n    --hash=sha256:http210 \\\n    --hash=sha256:http210b", "==2.1.1")]
    assert told(*edits) == ("change:R#httpkit: hashes removed",)


def test_a_weak_hash() -> None:
    """A version that moves and is hashed in another way is more than a version."""
    base = "httpkit==2.1.0 --hash=sha256:aa\n"
    assert told(("2.1.0", "2.1.1"), ("sha256", "sha384"), base=base) == ("change:R#httpkit: hashed in another way",)
    (found,) = told(("2.1.0", "2.1.1"), ("sha256", "md5"), base=base)
    assert found.startswith("change:R#httpkit: ")


@pytest.mark.parametrize(
    "option",
    [
        "--global-option=--evil",
        "--config-settings=a=b",
        '--config-settings "a=b c"',
        "--install-option=--x",
        "--has=sha256:aa",
        "-e ./evil",
        "; python_version < '4'",
        "'",
    ],
)
def test_options_of_a_requirement(option: str) -> None:
    """An option that is added to a requirement's own line makes another kind of it."""
    (found,) = told(*UP, ("--hash=sha256:http211b", f"--hash=sha256:http211b {option}"))
    assert found.startswith("change:R#httpkit: ")


def test_options_of_a_requirement_stay() -> None:
    """A requirement with options may move as long as they stay."""
    base = "httpkit==2.1.0 --config-settings='a=b c' --hash=sha256:aa\n"
    assert told(("2.1.0", "2.1.1"), ("aa", "bb"), base=base) == ("entry:R#httpkit@2.1.1",)


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("--extra-index-url https://evil.example/simple", "--extra-index-url"),
        ("--extra-index-url=https://evil.example/simple", "--extra-index-url"),
        ("-i https://evil.example/simple", "--index-url"),
        ("--find-links ./wheels", "--find-links"),
        ("-f./wheels", "--find-links"),
        ("-r more.txt", "--requirement"),
        ("-rmore.txt", "--requirement"),
        ("-c more.txt", "--constraint"),
        ("--no-binary :all:", "--no-binary"),
        ("--trusted-host evil.example", "--trusted-host"),
        ("--pre", "--pre"),
    ],
)
def test_option_lines(line: str, name: str) -> None:
    """An option on a line of its own counts for all requirements, and is a field."""
    assert told(("# runtime", line)) == (f"field:R#/{name}",)


def test_option_lines_changed() -> None:
    """An option that moves to another place or goes is a field too."""
    assert told(("registry.example/simple", "evil.example/simple")) == ("field:R#/--index-url",)
    assert told(("-c limits.txt\n", "")) == ("field:R#/--constraint",)
    assert told(("-r base.txt\n-c limits.txt\n", "-c limits.txt\n-r base.txt\n")) == (
        "change:R#order of the option lines",
    )


def test_editable() -> None:
    """What is installed from a folder or a repository is told as it stands there."""
    assert told(("# runtime", "-e ./evil")) == ("change:R#-e ./evil", "field:R#/--editable")
    assert "change:R#-e git+https://registry.example/edit@v2#egg=edit" in told(("/edit#", "/edit@v2#"))


def test_variables() -> None:
    """A line in which a variable is replaced may only stay as it is."""
    base = "httpkit==2.1.0 --hash=sha256:${H}\n--index-url https://${HOST}/simple\n"
    assert told(base=base) == ()
    assert told(("2.1.0", "2.1.1"), base=base) == (
        "change:R#httpkit: `httpkit==2.1.0 --hash=sha256:${H}` became `httpkit==2.1.1 --hash=sha256:${H}`",
    )
    assert told(("2.1.0", "${V}"), base="httpkit==2.1.0\n") == (
        "change:R#httpkit==${V}: added",
        "entry:R#httpkit@none",
    )


@pytest.mark.parametrize(
    "text",
    [
        "httpkit==2.1.1 # x \\\nyamlkit==6.0.0\n",
        "# x \\\nyamlkit==6.0.0\n",
        "httpkit==2.1.1 \\\\\nyamlkit==6.0.0\n",
        "httpkit==2.1.1 \\ \n--hash=sha256:aa\n",
        "httpkit==2.1.1 \\\n\\ --hash=sha256:aa\n",
        "httpkit==2.1.\\\n1\n",
        "httpkit==2.1.1\\\n# via x\n",
        "httpkit==2.1.1 \\",
        "httpkit==2.1.1\ryamlkit==6.0.0\n",
        "httpkit==2.1.1\x0cyamlkit==6.0.0\n",
        "# x\u2028evil==1.0\n",
        "# x\x85evil==1.0\n",
        "# -*- coding: utf-7 -*-\nhttpkit==2.1.1\n",
        "\n# coding=latin-1\nhttpkit==2.1.1\n",
        "\ufeffhttpkit==2.1.1\n",
        "httpkit==2.1.1\0\n",
    ],
)
def test_what_readers_take_differently(text: str) -> None:
    """Where readers may join or split lines differently, the file cannot be read, on either side."""
    for old, new in ((text.encode(), BASE.encode()), (BASE.encode(), text.encode())):
        (found,) = both(old, new)
        assert found.startswith("change:R#not readable: ")


def test_comments_after_a_broken_line() -> None:
    """A comment ends a line that a backslash went on, as older generators write it."""
    text = "httpkit==2.1.0 \\\n    --hash=sha256:aa \\\n    # via demo\nyamlkit==6.0.0\n"
    assert told(("2.1.0", "2.1.1"), ("aa", "bb"), base=text) == ("entry:R#httpkit@2.1.1",)


def test_lines() -> None:
    """Both common line ends are one, and UTF-8 may be declared."""
    assert lines(b"# coding: utf-8\r\na\nb") == ["# coding: utf-8", "a", "b"]
    with pytest.raises(Unreadable, match="line break"):
        lines(b"a\rb")


def test_a_new_file() -> None:
    """Of a new file every line is a change."""
    assert both(None, b"evil==1.0\n--pre\n") == ("entry:R#evil@1.0", "field:R#/--pre")


def test_too_many() -> None:
    """A file of more requirements than any project has is not read."""
    assert both(b"", b"a\n" * 30_000) == ("change:R#not readable: over 20000 requirements",)


def test_long_quoted_options() -> None:
    """A quoted word longer than any real one counts as a whole, without being taken apart."""
    for word in ('"' + "b" * 3_000_000 + '"', '"' * 3_000_000, "\\x" * 1_500_000):
        (found,) = told(("logkit==1.0", f"logkit==1.0 --x={word}"))
        assert found.startswith("change:R#logkit: ")


@given(st.text(alphabet="ab=1. \\\n#-e[];", max_size=60))
def test_any_text(text: str) -> None:
    """Whatever a new file holds, it is compared without an error and is equal to itself."""
    raw = text.encode()
    assert both(raw, raw) == () or both(raw, raw)[0].startswith("change:R#not readable: ")
    assert isinstance(both(b"", raw), tuple)
