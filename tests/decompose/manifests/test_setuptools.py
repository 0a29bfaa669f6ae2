from __future__ import annotations

import pytest

from indult.decompose.manifests import comparer

CFG = """\
[metadata]
name = demo

[options]
packages = find:
install_requires =
    httpkit==2.1.0
    # a comment
    yamlkit[c]==6.0.0; python_version < "3.14"
setup_requires = wheel==0.40; cython==3.0

[options.extras_require]
cli = rich==13.0.0
"""

PY = '''\
"""Set up."""
from setuptools import setup

VERSION = "0.1"
setup(
    name="demo",
    version=VERSION,
    install_requires=["httpkit==2.1.0", 'yamlkit[c]==6.0.0; python_version<"3.14"'],
    extras_require={"cli": ["rich==13.0.0"]},
    tests_require=("pytest==8.0.0",),
)
'''


def both(path: str, old: str | bytes | None, new: str | bytes) -> tuple[str, ...]:
    """What changed between two contents."""
    compare = comparer(path)
    assert compare is not None
    raw = [side.encode() if isinstance(side, str) else side for side in (old, new)]
    assert raw[1] is not None
    return compare(path, raw[0], raw[1])


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("httpkit==2.1.0", "HttpKit == 2.1.1", ["entry:setup.cfg#httpkit@2.1.1"]),
        ("cython==3.0", "cython==3.1", ["entry:setup.cfg#cython@3.1"]),
        ("rich==13.0.0", "rich==13.0.1", ["entry:setup.cfg#rich@13.0.1"]),
        ("    httpkit==2.1.0\n", "", ["entry:setup.cfg#httpkit@none"]),
        ("    httpkit==2.1.0\n", "    httpkit==2.1.0\n    evil==1.0\n", ["entry:setup.cfg#evil@1.0"]),
        ("# a comment", "; another", []),
        ("name = demo", "name = other", ["field:setup.cfg#/metadata/name"]),
        ("[options]\n", "[options]\ndependency_links = x\n", ["field:setup.cfg#/options/dependency_links"]),
        ("[options]\n", "[options]\nINSTALL_REQUIRES = evil\n", ["field:setup.cfg#/options/INSTALL_REQUIRES"]),
        (
            "cli = rich",
            "web = rich",
            [
                "entry:setup.cfg#rich@13.0.0",
                "entry:setup.cfg#rich@none",
                "field:setup.cfg#/options.extras_require/cli",
                "field:setup.cfg#/options.extras_require/web",
            ],
        ),
        ("httpkit==2.1.0", "httpkit>=2", ["entry:setup.cfg#httpkit@>=2"]),
        ("[metadata]", "[easy_install]\nindex_url = x\n[metadata]", ["field:setup.cfg#/easy_install/index_url"]),
        ("[metadata]", "[metadata]\n[metadata]", ["change:setup.cfg#not readable: no settings: DuplicateSectionError"]),
        ("[metadata]", "[metadata]\nname = x", ["change:setup.cfg#not readable: no settings: DuplicateOptionError"]),
        ("[metadata]", "[metadata]\nx", ["change:setup.cfg#not readable: no settings: a line that is none"]),
        ("[metadata]", "[metadata]\n = x", ["change:setup.cfg#not readable: no settings: a line that is none"]),
        ("name = demo", "name  : = demo", ["field:setup.cfg#/metadata/name"]),
        ("name = demo", "name :demo", []),
        ("[metadata]", "x\n[metadata]", ["change:setup.cfg#not readable: no settings: MissingSectionHeaderError"]),
        (
            "[metadata]",
            "[DEFAULT]\ninstall_requires = evil\n[metadata]",
            ["change:setup.cfg#not readable: a section whose values count for every other"],
        ),
    ],
)
def test_settings(old: str, new: str, expected: list[str]) -> None:
    """In `setup.cfg` the lists of requirements hold entries, and everything else is a field."""
    assert old in CFG
    found = both("setup.cfg", CFG, CFG.replace(old, new))
    assert list(found) == expected


def test_a_list_in_another_file() -> None:
    """A list that `file:` names elsewhere is a field."""
    new = CFG.replace("setup_requires = wheel==0.40; cython==3.0", "setup_requires = file: evil.txt")
    assert both("setup.cfg", CFG, new) == (
        "entry:setup.cfg#cython@none",
        "entry:setup.cfg#wheel@none",
        "field:setup.cfg#/options/setup_requires",
    )


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("httpkit==2.1.0", "HttpKit == 2.1.1", ["entry:setup.py#httpkit@2.1.1"]),
        ("6.0.0", "6.0.1", ["entry:setup.py#yamlkit@6.0.1"]),
        ("13.0.0", "13.0.1", ["entry:setup.py#rich@13.0.1"]),
        ("8.0.0", "8.0.1", ["entry:setup.py#pytest@8.0.1"]),
        ('"httpkit==2.1.0"', "'httpkit==2.1.0'", []),
        ("VERSION =", "# why\nVERSION =", []),
        ('VERSION = "0.1"', 'VERSION = "0.2"', ["change:setup.py#code of the setup script"]),
        ('"""Set up."""', "import evil", ["change:setup.py#code of the setup script"]),
        ('"httpkit==2.1.0",', '"httpkit==2.1.0", "evil==1.0",', ["change:setup.py#code of the setup script"]),
        ('"httpkit==2.1.0",', "", ["change:setup.py#code of the setup script"]),
        ("httpkit==2.1.0", "httpkit>=2.1.1", ["entry:setup.py#httpkit@>=2.1.1"]),
        ("httpkit==2.1.0", "httpkit[x]==2.1.1", ["change:setup.py#code of the setup script"]),
        ("httpkit==2.1.0", "otherkit==2.1.0", ["change:setup.py#code of the setup script"]),
        ('"httpkit==2.1.0"', '"httpkit==" + "2.1.1"', ["change:setup.py#code of the setup script"]),
        ('name="demo"', "name=True", ["change:setup.py#code of the setup script"]),
        ("setup(", "setup(\n", []),
        ('"cli"', '"web"', ["change:setup.py#code of the setup script"]),
    ],
)
def test_code(old: str, new: str, expected: list[str]) -> None:
    """In `setup.py` only the versions of literal requirements may differ."""
    assert old in PY
    assert list(both("setup.py", PY, PY.replace(old, new))) == expected


@pytest.mark.parametrize("line", ["a" + " " * 300_000 + "b", " \t" * 150_000 + "=", "b\n" * 300_000, "a  " * 100_000])
def test_settings_that_would_take_long(line: str) -> None:
    """A line of blanks, and many lines that are none, are refused at once."""
    (found,) = both("setup.cfg", CFG, f"[a]\n{line}\n")
    assert found.startswith("change:setup.cfg#not readable: no settings: ")


def test_more_settings_than_any_project_has() -> None:
    """Each line costs the parser some time, so that there may not be millions of them."""
    assert both("setup.cfg", CFG, CFG + "\n" * 1_000_000) == ("change:setup.cfg#not readable: too many settings",)


SCRIPT = "#!/usr/bin/env python3\n# what this is\n"
BLOCK = "# /// script\n# dependencies = ['x']\n# ///\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (PY, SCRIPT + PY),
        (SCRIPT + PY, PY),
        (SCRIPT + PY, SCRIPT.replace("env python3", "env -S sh -c x") + PY),
        (PY, "# coding: utf-8\n" + PY),
        (SCRIPT + PY, SCRIPT.replace("what this is", "vim: set fileencoding=utf-8 :") + PY),
        (PY, BLOCK + PY),
        (PY, PY + BLOCK),
        (BLOCK + PY, PY),
        (BLOCK + PY, BLOCK.replace("'x'", "'evil'") + PY),
        (BLOCK + PY, BLOCK.replace("# ///\n", "#\n# ///\n") + PY),
    ],
)
def test_comments_that_tools_read(old: str, new: str) -> None:
    """Who runs a script, in which encoding, and what it needs to be run stand in comments that count."""
    assert both("setup.py", old, new) == ("change:setup.py#comments of the setup script that tools read",)
    found = both("setup.py", old, new.replace("2.1.0", "2.1.1"))
    assert found == (
        "change:setup.py#comments of the setup script that tools read",
        "entry:setup.py#httpkit@2.1.1",
    )


@pytest.mark.parametrize(("old", "new"), [(SCRIPT, SCRIPT.replace("what", "who")), (SCRIPT, SCRIPT + "# more\n")])
def test_comments_that_nobody_reads(old: str, new: str) -> None:
    """Any other comment is layout."""
    assert both("setup.py", old + PY, new + PY) == ()
    assert both("setup.py", BLOCK + PY, BLOCK + PY.replace("setup(", "setup(  # all of it")) == ()


@pytest.mark.parametrize(
    "more",
    [
        "setup(install_requires=['httpkit==2.1.0'])\n",
        "import setuptools\nsetuptools.setup(install_requires=['httpkit==2.1.0'])\n",
    ],
)
def test_two_calls(more: str) -> None:
    """Where `setup` is called twice, nothing in it is a plain version."""
    for times in (1, 2):
        new = (PY + more).replace("2.1.0", "2.1.1", times)
        assert both("setup.py", PY + more, new) == ("change:setup.py#code of the setup script",)


@pytest.mark.parametrize(
    "code",
    [
        "setup(install_requires=['httpkit==2.1.0'] + MORE)",
        "setup(install_requires=['httpkit==2.1.0', MORE])",
        "setup(install_requires='httpkit==2.1.0')",
        "setup(**{'install_requires': ['httpkit==2.1.0']})",
        "run(install_requires=['httpkit==2.1.0'])",
        "setup(['httpkit==2.1.0'])",
        "setup(extras_require=dict(cli=['httpkit==2.1.0']))",
        "setup(name='httpkit==2.1.0')",
        "'httpkit==2.1.0'",
    ],
)
def test_what_is_worked_out(code: str) -> None:
    """A text that is no member of a literal list of requirements is code."""
    assert both("setup.py", code, code.replace("2.1.0", "2.1.1")) == ("change:setup.py#code of the setup script",)


def test_a_text_that_looks_like_a_masked_one() -> None:
    """No text in the code can pass for a requirement whose version is left out."""
    new = PY.replace('"httpkit==2.1.0"', repr(repr(("==", "httpkit", ("==", (), "")))))
    assert both("setup.py", PY, new) != ()
    assert not any(target.endswith("#httpkit@2.1.0") for target in both("setup.py", PY, new))


@pytest.mark.parametrize(
    "raw",
    [
        b"setup(\n",
        b"# coding: latin-1\nsetup()\n",
        b"\xef\xbb\xbfsetup()\n",
        b"setup()\rsetup()\n",
        b"setup()\x00\n",
        b"x = " + b"(" * 3000,
        b"x = " + b"-" * 100_000 + b"1",
        b"x" + b".a" * 100_000,
        b"x = 1\n" * 200_000,
    ],
)
def test_code_that_cannot_be_read(raw: bytes) -> None:
    """Code that does not parse, or not in the same way everywhere, is not readable."""
    for old, new in ((raw, PY.encode()), (PY.encode(), raw)):
        (found,) = both("setup.py", old, new)
        assert found.startswith("change:setup.py#not readable: ")


def test_warnings() -> None:
    """What an interpreter would warn of is none of our business."""
    assert both("setup.py", "x = '\\d'\n", "x = '\\d'\n# y\n") == ()


def test_new_files() -> None:
    """A new script is code; of new settings everything is a change."""
    assert both("setup.py", None, PY) == ("change:setup.py#code of the setup script",)
    assert "entry:setup.cfg#httpkit@2.1.0" in both("setup.cfg", None, CFG)
