from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indult.setup.reading import claims


def said(text: str) -> list[tuple[str, str, str]]:
    """Return what a text permits and forbids, as words."""
    return [("may" if claim.permits else "never", str(claim.does), claim.target) for claim in claims(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Never edit `indult.yaml`.", [("never", "write", "indult.yaml")]),
        ("Do not touch `.github/` or `data/**`.", [("never", "write", ".github/"), ("never", "write", "data/**")]),
        ("- **Don't** run `git push --force`", [("never", "run", "git push --force")]),
        ("You may edit `src/a.py`.", [("may", "write", "src/a.py")]),
        ("Feel free to delete `build/`.", [("may", "delete", "build/")]),
        ("1. Run `make test` and `make check`.", [("may", "run", "make test"), ("may", "run", "make check")]),
        ("Please always run `make test`.", [("may", "run", "make test")]),
        ("`package.json` must not be changed.", [("never", "write", "package.json")]),
        ("The `Makefile` may be edited.", [("may", "write", "Makefile")]),
        ("You can read `docs/x.md`; never change `docs/y.md`.", [("may", "read", "docs/x.md"), ("never", "write", "docs/y.md")]),
        ("You may edit `a.py` but never touch `b.py`.", [("may", "write", "a.py"), ("never", "write", "b.py")]),
        ("Edit `a/b`, never change `.env`.", [("may", "write", "a/b"), ("never", "write", ".env")]),
        ("Never touch `*.snap` or `a/.env.local`.", [("never", "write", "*.snap"), ("never", "write", "a/.env.local")]),
        ("Never run\n`npm publish`.", [("never", "run", "npm publish")]),
        ("- [ ] Run `make test`", [("may", "run", "make test")]),
        ("~~~\r\nx\r\n~~~\r\nNever edit `a.py`.\r\n", [("never", "write", "a.py")]),
        ("Use ``git log`` for this.", [("may", "run", "git log")]),
    ],
)  # fmt: skip
def test_what_is_seen(text: str, expected: list[tuple[str, str, str]]) -> None:
    """Words that permit or forbid, a verb and a code span together are a claim."""
    assert expected == said(text)


@pytest.mark.parametrize(
    "text",
    [
        "Never edit the policy.",
        "`make docs` writes `docs/cli/`.",
        "Do not use `dict` where a `NamedTuple` would do; never return `None`.",
        "Never edit `a.py` without asking.",
        "Ask before you run `npm publish`.",
        "You may not, unless a person approves, run `npm publish`.",
        "May I run `npm publish`?",
        "Never use version `1.2.3`.",
        "Use `src/` for code.",
        "Change `x.y` to `x.z`, and do not modify `state.value`. Never edit `@scope/name` or `1.2`.",
        "Use `NamedTuple` for a value, and call `close`. Run `Task`.",
        "```sh\nnpm publish\n```\nNever do that.",
        "- Never do this:\n\n    ```\n    run `npm publish`\n    ```",
        "| never | edit |\n|---|---|\n| it is | `a.py` |",
        "~~~\nNever edit `a.py`.\n~~~",
        "Never edit `a.py`. <!-- indult:skip -->",
        "You may, but you must not, edit `a.py` always.",
    ],
)
def test_what_is_not_seen(text: str) -> None:
    """What is not a plain permission or prohibition of a command or path is left alone."""
    assert [] == said(text)


def test_lines() -> None:
    """A claim is at the line of its code span, whatever else some take for the end of a line."""
    text = "# Head \u2028 \x0c\n\n- Never edit\n  `a.py`.\n- Never edit `b.py`.\n\nRun `make`\nand `cc`.\n"

    assert [(4, "a.py"), (5, "b.py"), (7, "make"), (8, "cc")] == [(one.line, one.target) for one in claims(text)]


def test_fences_end() -> None:
    """A fenced block ends at a fence of its own kind, and what comes after it is read."""
    assert [("never", "write", "a.py")] == said("````\n```\nNever edit `x.py`.\n````\nNever edit `a.py`.")


@given(st.text(alphabet="`~\n .;-#>*\x00never edit doa/y", max_size=200))
def test_any_text(text: str) -> None:
    """No text makes it fail, and no claim lies outside of the text."""
    lines = text.count("\n") + 1

    assert all(1 <= claim.line <= lines for claim in claims(text))
