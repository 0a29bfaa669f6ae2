"""Every code block of the documentation is run, and every verb and option is documented."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import pytest
import yaml

import indult
from indult.autofix.circle import Came
from indult.autofix.fixer import MARK as MARK_OF_A_FIX
from indult.autofix.receipt import Receipt
from indult.autofix.signals import SignalState
from indult.cli.frame import root
from indult.loop.stop import StopKind, StopReason
from indult.policy import keys
from indult.policy.autofix import SIGNAL
from indult.policy.autofix_keys import AUTOFIX_KEYS, BUDGET_KEYS, TRIAGE_KEYS
from indult.testing.__main__ import kinds

if TYPE_CHECKING:
    from collections.abc import Iterator

REPOSITORY = Path(__file__).parent.parent
GENERATED = REPOSITORY / "docs" / "reference" / "cli"
PAGES = sorted([*REPOSITORY.glob("*.md"), *REPOSITORY.glob("docs/**/*.md"), *REPOSITORY.glob("design/**/*.md")])
WRITTEN = [page for page in PAGES if page.parent != GENERATED]
HANDBOOK = [page for page in WRITTEN if page.parent.name != "design"]

FENCE = re.compile(r"^(?P<indent> *)```(?P<info>[^\n`]*)\n(?P<body>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL)
MARK = "\x1e"


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A fenced block: its language, the words after it, its text and its line in the page."""

    language: str
    words: tuple[str, ...]
    text: str
    line: int

    @property
    def file(self) -> str | None:
        """The file that the block is kept as, for later blocks of the page (`file=NAME`)."""
        return next((word.removeprefix("file=") for word in self.words if word.startswith("file=")), None)


@dataclass(slots=True, kw_only=True)
class Page:
    """A page that is being run: its folder, the names its Python blocks share, what the last one printed."""

    folder: Path
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "page"})
    printed: str = ""


def blocks(page: Path) -> Iterator[Block]:
    """Yield the blocks of a page in order."""
    text = page.read_text(encoding="utf-8")
    assert text.count("```") == 2 * len(FENCE.findall(text)), "a fence is not closed, or is not made of three backticks"
    for found in FENCE.finditer(text):
        language, *words = found["info"].split() or [""]
        body = re.sub(rf"^{found['indent']}", "", found["body"], flags=re.MULTILINE)
        yield Block(language=language, words=tuple(words), text=body, line=text.count("\n", 0, found.start()) + 1)


def run_block(block: Block, page: Page) -> None:
    """Run one block; languages that are not named here fail, so that no block is skipped in silence."""
    if block.file:
        (page.folder / block.file).parent.mkdir(parents=True, exist_ok=True)
        (page.folder / block.file).write_text(block.text, encoding="utf-8")
    match block.language:
        case "python":
            out = StringIO()
            with redirect_stdout(out):
                exec(compile(block.text, f"block at line {block.line}", "exec", dont_inherit=True), page.names)
            page.printed = out.getvalue()
        case "console":
            run_console(block.text, page.folder)
        case "yaml":
            check_yaml(block.text)
        case "json":
            json.loads(block.text)
        case "jsonl":
            for line in block.text.splitlines():
                json.loads(line)
        case "toml":
            tomllib.loads(block.text)
        case "text" if "output" in block.words:
            assert_shown(block.text, page.printed)
        case _:
            pytest.fail(f"line {block.line}: no way to run a block of `{block.language}`")


def check_yaml(text: str) -> None:
    """Parse YAML; what looks like a whole policy must load as one."""
    value = yaml.safe_load(text)
    if isinstance(value, dict) and "schema" in value:
        from indult.policy import loads_policy

        loads_policy(text)


def run_console(text: str, folder: Path) -> None:
    """Run the `$ ` lines of a block in one shell and compare what each printed with what is shown."""
    steps: list[tuple[str, str]] = []
    for line in text.splitlines(keepends=True):
        if line.startswith("$ "):
            steps.append((line[2:], ""))
        elif steps and line.startswith("> ") and not steps[-1][1]:
            steps[-1] = (steps[-1][0] + line[2:], "")
        else:
            steps[-1] = (steps[-1][0], steps[-1][1] + line)
    # The exit code of a command is kept for the next, so that a page can show it with `echo $?`.
    script = "".join(f"{command}\n__code=$?; printf '{MARK}%d{MARK}' $__code; (exit $__code)\n" for command, _ in steps)
    done = subprocess.run(
        ["bash", "-c", script], cwd=folder, env=environment(folder), timeout=120, check=False,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8",
    )  # fmt: skip
    parts = done.stdout.split(MARK)
    printed, codes = parts[:-1:2], parts[1::2]
    asked = [command.strip() == "echo $?" for command, _ in steps[1:]] + [False]
    for (command, shown), out, code, is_asked in zip(steps, printed, codes, asked, strict=True):
        assert "0" == code or is_asked, f"$ {command}ended with {code} and printed:\n{out}"
        if shown.strip():
            assert_shown(shown, out, command)


def environment(folder: Path) -> dict[str, str]:
    """Return an environment with our command in front and nothing of the person who runs the tests."""
    return {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(folder / "home"),
        "LANG": "C.UTF-8",
        "PYTHONWARNINGS": "error",
    }


def assert_shown(shown: str, printed: str, command: str = "") -> None:
    """Compare what a page shows with what was printed; `...` stands for anything, on its own line for any lines."""
    lines = [re.escape(line).replace(re.escape("..."), ".*") for line in shown.rstrip().splitlines()]
    pattern = "\n".join(r"(?:.*\n)*?.*" if line == ".*" else line for line in lines)
    if not re.fullmatch(pattern, printed.rstrip()):
        assert shown == printed, command


@pytest.fixture(name="clone")
def _clone(tmp_path: Path) -> Path:
    """Return a folder that looks like a clone of the repository whose `.venv` is the running one."""
    folder = tmp_path / "indult"
    folder.mkdir()
    for entry in REPOSITORY.iterdir():
        if entry.name not in {".git", ".venv"}:
            (folder / entry.name).symlink_to(entry)
    venv = folder / ".venv"
    venv.mkdir()
    for entry in Path(sys.prefix).iterdir():
        if entry.is_dir() or entry.name == "pyvenv.cfg":
            (venv / entry.name).symlink_to(entry)
    (venv / "installed-dev").write_bytes((REPOSITORY / "pyproject.toml").read_bytes())
    return folder


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_blocks(path: Path, clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each block does what the page shows."""
    page = Page(folder=clone if path.parent == REPOSITORY else tmp_path)
    monkeypatch.chdir(page.folder)
    for block in blocks(path):
        try:
            run_block(block, page)
        except Exception as exc:
            exc.add_note(f"in the block at {path.relative_to(REPOSITORY)}:{block.line}")
            raise


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_links(path: Path) -> None:
    """Each link inside the documentation leads to a file, and each anchor to a heading."""
    broken = []
    for target in re.findall(r"\]\((?!https?:)([^)]+)\)", FENCE.sub("", path.read_text(encoding="utf-8"))):
        name, _, anchor = target.partition("#")
        file = (path.parent / name).resolve() if name else path
        if not file.exists() or (anchor and anchor not in anchors(file)):
            broken.append(target)

    assert [] == broken


def anchors(page: Path) -> set[str]:
    """Return the anchors that a renderer gives the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text(encoding="utf-8")), flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def commands() -> Iterator[tuple[str, click.Command]]:
    """Yield each command with its full name."""
    context = click.Context(root, info_name="indult")
    for verb in root.list_commands(context):
        command = root.get_command(context, verb)
        assert command is not None
        waiting = [(f"indult {verb}", command)]
        while waiting:
            name, found = waiting.pop()
            yield name, found
            if isinstance(found, click.Group):
                waiting += [(f"{name} {part}", inner) for part, inner in found.commands.items()]


def test_every_command_is_used_in_the_handbook() -> None:
    """Each verb, and each part of it, stands in a page that a person wrote."""
    text = "\n".join(page.read_text(encoding="utf-8") for page in HANDBOOK)

    assert [] == [
        name
        for name, command in commands()
        if not isinstance(command, click.Group) and not re.search(rf"{name}\b", text)
    ]


def test_every_option_is_explained() -> None:
    """Each option has a help text, and its command's page shows it."""
    pages = {file.stem: file.read_text(encoding="utf-8") for file in GENERATED.glob("*.md")}
    missing = [
        f"{name} {option.opts[0]}"
        for name, command in commands()
        for option in command.params
        if isinstance(option, click.Option)
        and (not option.help or max(option.opts, key=len) not in pages[name.split()[1]])
    ]

    assert [] == missing


def test_reference_is_current() -> None:
    """The pages of the commands are what the commands say of themselves."""
    done = subprocess.run(
        [sys.executable, "scripts/reference.py", "--check"], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )

    assert (0, "") == (done.returncode, done.stderr)


def test_public_names_are_documented() -> None:
    """The names of the package are those of the API page, in both directions."""
    page = (REPOSITORY / "docs" / "reference" / "api.md").read_text(encoding="utf-8")

    assert sorted(indult.__all__) == sorted(re.findall(r"^### `(\w+)`", page, flags=re.MULTILINE))


class TestRunner:
    """The runner of the blocks finds what is wrong with a page."""

    @pytest.mark.parametrize(
        ("language", "text"),
        [
            ("console", "$ echo one\ntwo\n"),
            ("console", "$ false\n"),
            ("console", "$ false\n$ echo one\none\n"),
            ("console", "$ true\n$ echo $?\n1\n"),
            ("console", "$ printf 'a\\nb\\n'\na\n"),
            ("console", "$ echo a\na\n...\nb\n"),
            ("python", "assert False\n"),
            ("json", "{\n"),
            ("jsonl", "{}\nx\n"),
            ("toml", "x\n"),
            ("yaml", "a: [\n"),
            ("yaml", "schema: 1\nrules: [{id: a}]\n"),
            ("text", "anything\n"),
            ("", "anything\n"),
            ("sh", "true\n"),
        ],
    )
    def test_wrong(self, language: str, text: str, tmp_path: Path) -> None:
        """A block that does not do what it shows fails, and so does one that cannot be run."""
        with pytest.raises((Exception, pytest.fail.Exception)):
            run_block(Block(language=language, words=(), text=text, line=1), Page(folder=tmp_path))

    @pytest.mark.parametrize(
        "text",
        [
            "$ echo one\none\n",
            "$ printf 'a\\nb\\nc\\n'\na\n...\nc\n",
            "$ printf 'a\\nb\\n'\n...\n",
            "$ echo run_1\nrun_...\n",
            "$ false\n$ echo $?\n1\n",
            "$ cd /\n$ pwd\n/\n",
            "$ echo a \\\n> b\na b\n",
        ],
    )
    def test_right(self, text: str, tmp_path: Path) -> None:
        """A block that does what it shows passes."""
        run_block(Block(language="console", words=(), text=text, line=1), Page(folder=tmp_path))


@pytest.mark.parametrize(
    ("index", "pages"),
    [
        ("docs/index.md", [page for page in WRITTEN if REPOSITORY / "docs" in page.parents]),
        ("docs/reference/cli/index.md", [page for page in PAGES if page.parent == GENERATED]),
        ("design/README.md", [page for page in PAGES if page.parent.name == "design"]),
    ],
)
def test_every_page_can_be_found(index: str, pages: list[Path]) -> None:
    """Each page is linked from an index."""
    home = REPOSITORY / index
    linked = {(home.parent / name).resolve() for name in re.findall(r"\]\(([^)#]+)", home.read_text(encoding="utf-8"))}

    assert {page.resolve() for page in pages} - {home.resolve()} <= linked


def test_fragments_of_the_changelog() -> None:
    """Each fragment has one of the kinds and is made of full sentences."""
    kinds = {"added", "changed", "deprecated", "removed", "fixed", "security"}
    fragments = [file for file in (REPOSITORY / "changelog.d").glob("*.md") if file.name != "README.md"]

    assert [] == [
        file.name
        for file in fragments
        if file.suffixes[0][1:] not in kinds or not file.read_text("utf-8").endswith(".\n")
    ]


def test_policy_keys_are_documented() -> None:
    """Each key of a policy file that works stands in the reference, and each that is refused is named as such."""
    page = (REPOSITORY / "docs" / "reference" / "policy.md").read_text(encoding="utf-8")
    works, refused = page.split("## Keys that are refused")
    unavailable = keys.UNAVAILABLE["policy"] | keys.UNAVAILABLE["rule"]

    assert unavailable == set(re.findall(r"`(\w+)`", refused.partition("\n\n")[2].partition(".\n")[0]))
    assert [] == [
        key
        for key in {*keys.POLICY_KEYS, *keys.RULE_KEYS, "autofix", *AUTOFIX_KEYS, *TRIAGE_KEYS} - unavailable
        if f"| `{key}`" not in works and f", `{key}`" not in works
    ]
    assert [] == [name for name in (*BUDGET_KEYS, *(f"signal.{fact}" for fact in SIGNAL)) if f"`{name}`" not in works]


def test_words_of_autofix_are_documented() -> None:
    """Each state of a signal, each end of a run, each key of a receipt and each variable of a fixer stands in the reference."""
    page = (REPOSITORY / "docs" / "reference" / "autofix.md").read_text(encoding="utf-8")
    stop = StopReason(kind=StopKind.GOAL_REACHED, detail="landed 1")
    shown = Receipt(run="a_1", stop=stop).to_dict()
    ended = Came(signal="s_1", stop=stop, state=SignalState.LANDED, turns=1).to_dict()
    stops = {str(kind) for kind in StopKind} - {StopKind.BUDGET_REVIEWS}
    given = {"INDULT_ACTOR", "INDULT_DB", "INDULT_SIGNAL", "INDULT_TASK", "INDULT_USAGE", MARK_OF_A_FIX}

    assert [] == sorted(
        word
        for word in {*shown, *shown["metrics"], *ended, *stops, *map(str, SignalState), *given}
        if f"`{word}`" not in page
    )


def test_kinds_of_cases_are_documented() -> None:
    """Each kind of case files stands in the reference."""
    page = (REPOSITORY / "docs" / "reference" / "testing.md").read_text(encoding="utf-8")

    assert [] == [kind for kind in kinds() if f"| `{kind}` |" not in page]
