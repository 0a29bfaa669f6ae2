from __future__ import annotations

import json

import pytest
from tests.decompose.shell.helpers import asks, parts


def known_as(text: str) -> list[list[str]]:
    """Return the words of every other name of the first command of a text that leaves none out."""
    names = [json.loads(name.partition(":")[2]) for name in parts(text)[0].also if name.startswith("command:")]
    return [name["argv"] for name in names if "options" not in name]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("python3 -m pytest -x", ["pytest", "-x"]),
        ("python3.12 -Bm mypy.__main__ src", ["mypy", "src"]),
        ("python -mpytest -x", ["pytest", "-x"]),
        ("uv run pytest -x", ["pytest", "-x"]),
        ("uv run --python 3.12 pytest", ["pytest"]),
        ("uv run --isolated -m pytest -x", ["pytest", "-x"]),
        ("uv run python -m pytest -x", ["pytest", "-x"]),
        ("poetry -C a run mypy src", ["mypy", "src"]),
        ("bundle exec rake test", ["rake", "test"]),
        ("pnpm exec eslint src", ["eslint", "src"]),
        ("npx eslint src", ["eslint", "src"]),
        (".venv/bin/python -m coverage run -m pytest -x", ["pytest", "-x"]),
    ],
)
def test_a_tool_that_is_launched_goes_by_its_own_name_too(text: str, words: list[str]) -> None:
    """Rules for a tool hold for it whichever program runs it."""
    assert words in known_as(text)


@pytest.mark.parametrize("text", ["uv pip list", "npm run eslint", "poetry install pytest"])
def test_what_is_no_tool_goes_by_no_other_name(text: str) -> None:
    """A verb of the launcher, a script of a manifest and a package are not run as an installed tool."""
    assert {text.partition(" ")[0]} == {name[0] for name in known_as(text)}


@pytest.mark.parametrize(
    "text", ["python3 -m pylint --load-plugins=x", "hatch test -- -p evil", "hatch test -pevil", "uv run rg --pre=x y"]
)
def test_options_that_run_code_count_behind_a_launcher(text: str) -> None:
    """What makes a tool run code does so however the tool is started."""
    assert asks(text)
