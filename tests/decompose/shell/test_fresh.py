from __future__ import annotations

import pytest
from tests.decompose.shell.helpers import asks, possible

NEW = "it runs what the line itself writes"


@pytest.mark.parametrize(
    "text",
    [
        "cp -r /tmp/x src/y && ./src/y/run.sh",
        "mv /tmp/x src/y; bash src/y/a.sh",
        "ln -s a src/y && src/y/run.sh",
        "ln -sfn /tmp/x src && make -C src",
        "cp -r /tmp/x a; cp -r a/b c; c/run.sh",
        'cp -r "$X" a && python3 a/b.py',
        "cp -r /tmp/x a && pytest",
        "sed -i s/a/b/ run.sh && ./run.sh",
        "echo x > a.go && go run a.go",
        "echo x > a.c && gcc a.c -o a && ./a",
        "cp /tmp/a.c a.c && cc a.c && ./a.out",
    ],
)
def test_what_a_line_brings_it_may_not_run(text: str) -> None:
    """All that lies below what comes from elsewhere is as new as a file that the line writes."""
    assert NEW in asks(text)


@pytest.mark.parametrize(
    ("text", "recipe"),
    [
        ("echo x > Makefile; make", "Makefile"),
        ("echo x > sub/rules.MK; gmake", "sub/rules.MK"),
        ("tee conftest.py < a && python3 -m pytest", "conftest.py"),
        ("cp a.py tests/test_a.py && uv run pytest", "tests/test_a.py"),
        ("sed -i s/a/b/ tox.ini && tox", "tox.ini"),
        ("mv a package.json && npm test", "package.json"),
        ("echo x > eslint.config.js; eslint src", "eslint.config.js"),
        ("echo x > src/main.rs && cargo run", "src/main.rs"),
        ("cp /tmp/a.go main.go && go run .", "main.go"),
    ],
)
def test_a_recipe_is_not_written_and_followed_in_one_line(text: str, recipe: str) -> None:
    """A program that builds or tests does what a file of a known name says."""
    assert any(f"may run `{recipe}`" in why for why in asks(text))


@pytest.mark.parametrize(
    "text",
    [
        "cp -r src/a src/b && ./src/b/run.sh",
        "mkdir -p tests && pytest tests",
        "black tests/test_a.py && pytest tests/test_a.py",
        "sed -i s/a/b/ tests/test_a.py && pytest",
        "sed -i s/a/b/ src/a.py && pytest",
        "echo x > tests/test_a.py && mypy tests",
        "cp -r /tmp/x a && git add a",
        "echo x > Makefile && git add Makefile",
        "gcc a.c -o a && ./a",
        "echo x > src/main.rs && cargo build",
    ],
)
def test_work_goes_on_in_one_line(text: str) -> None:
    """To format, to edit or to make a folder brings no code that nobody could see."""
    assert [] == asks(text)


def test_what_is_below_a_source_that_is_not_there_yet_is_not_known() -> None:
    """A line may make the folder first that it then copies over everything."""
    fs = {"files": ["/repo/a.py"]}

    assert {"read:/tmp/q/**", "write:**"} <= set(possible("git init /tmp/q && cp -R /tmp/q/. .", fs=fs))
    assert [] == possible("mv a.py b.py", fs=fs)
