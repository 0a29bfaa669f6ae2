from __future__ import annotations

import pytest
from tests.decompose.shell.helpers import asks, parts


def run_from(text: str) -> set[str]:
    """Return the names and globs of places outside of the work tree that the commands of a text may take code from."""
    found = (name for part in parts(text) for name in (*part.also, *part.maybe))
    return {name for name in found if name.startswith(("exec:/", "exec:*"))}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("pytest /tmp/x.py", "exec:/tmp/x.py"),
        ("pytest ../x.py::test_a", "exec:/x.py"),
        ("pytest --rootdir /tmp tests", "exec:/tmp"),
        ("pytest tests --confcutdir=/tmp", "exec:/tmp"),
        ("python3 -m pytest ~/x.py", "exec:/home/dev/x.py"),
        ("uv run pytest /tmp/x.py", "exec:/tmp/x.py"),
        ("coverage run -m pytest /tmp/x.py", "exec:/tmp/x.py"),
        (".venv/bin/jest --config /tmp/x.js", "exec:/tmp/x.js"),
        ("make -C /tmp/x", "exec:/tmp/x"),
        ("make -kC/tmp/x", "exec:/tmp/x"),
        ("make -skf../x.mk", "exec:/x.mk"),
        ("make PYTHON=/tmp/python test", "exec:/tmp/python"),
        ("npm test --prefix /tmp/x", "exec:/tmp/x"),
        ("npm test -- /tmp/x.test.js", "exec:/tmp/x.test.js"),
        ("cargo test --manifest-path=/tmp/Cargo.toml", "exec:/tmp/Cargo.toml"),
        ("go run -C /tmp/x .", "exec:/tmp/x"),
        ("go run a.go /tmp/b.go", "exec:/tmp/b.go"),
        ("deno run -q /tmp/x.ts", "exec:/tmp/x.ts"),
        ("node --test /tmp/x.js", "exec:/tmp/x.js"),
        ("cmake -DCMAKE_TOOLCHAIN_FILE=/tmp/t.cmake .", "exec:/tmp/t.cmake"),
        ("rustc --extern a=/tmp/liba.so b.rs", "exec:/tmp/liba.so"),
        ("javac @/tmp/x", "exec:/tmp/x"),
        ("find /tmp -name '*.py' -exec pytest {} +", "exec:/tmp/**/*.py"),
        ("git -C /tmp/x status", "exec:/tmp/x"),
    ],
)
def test_a_path_that_a_loader_is_given_is_one_that_it_may_run(text: str, name: str) -> None:
    """Programs that build, test and check run what they are led to, whichever option or operand leads there."""
    assert name in run_from(text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("cd /tmp/x && make", {"exec:/tmp/x"}),
        ("cd ..; pytest", {"exec:/"}),
        ("pushd ~/x && go test ./...", {"exec:/home/dev/x"}),
        ("env -C /tmp/x make", {"exec:/tmp/x"}),
        ("sh -c 'cd /tmp/x; cargo test'", {"exec:/tmp/x"}),
        ("cd /tmp/x && git status", {"exec:/tmp/x"}),
        ('cd "$X" && make', {"exec:**"}),
        ("JAVA_HOME=/tmp/jdk ./gradlew test", {"exec:/tmp/jdk"}),
        ("cd /tmp/x && ls", set()),
        ("cd /repo/sub && make", set()),
    ],
)
def test_the_folder_of_a_loader_is_a_place_that_it_runs_from(text: str, found: set[str]) -> None:
    """Where no word says it, code comes from the folder in force; one that is not known may be any."""
    assert found <= run_from(text)
    assert bool(found) == bool(run_from(text))


@pytest.mark.parametrize(
    "text",
    [
        "pytest --junitxml=/tmp/r.xml --cov-report html:/tmp/c tests",
        "pytest -c /dev/null -k /tmp",
        "go build -o /tmp/app ./cmd/app",
        "go build -o/tmp/app ./cmd/app",
        "go run ./cmd/x /tmp/in.json",
        "go test -coverprofile /tmp/c.out ./...",
        "cargo run -- /tmp/in.txt",
        "cargo build --target-dir=/tmp/t",
        "cmake -S . -B /tmp/build -DCMAKE_INSTALL_PREFIX=/usr/local",
        "make DESTDIR=/tmp/i O=/tmp/o all",
        "deno run a.ts /tmp/in",
        "node a.js /tmp/in",
        "python3 a.py pytest /tmp/in",
        "eslint -o /tmp/r.json src",
        "rustc a.rs -o /tmp/a",
        "TMPDIR=/tmp/t make test",
        "jest src -t /api",
        "cat /tmp/a",
    ],
)
def test_what_a_loader_writes_or_hands_on_is_no_code(text: str) -> None:
    """Reports, builds, patterns of names and the arguments of the program that is run lead to nothing that runs."""
    assert set() == run_from(text)


def test_a_flag_hides_no_path_behind_it() -> None:
    """Only an option that always takes a value takes the next word away from what may run."""
    assert {"exec:/tmp/x.py"} <= run_from("pytest --trace /tmp/x.py")
    assert {"exec:/tmp/x.js"} <= run_from("jest --json /tmp/x.js")


@pytest.mark.parametrize(
    "text", ["black src && flake8 src", "npm test && npm test", "sed -i s/a/b/ t.py && pytest t.py"]
)
def test_a_loader_is_asked_about_no_file_that_the_line_changes(text: str) -> None:
    """To format and then to check, or to edit a test and then to run it, is how work goes on."""
    assert [] == asks(text)


@pytest.mark.parametrize(
    "text",
    [
        "pytest --pyargs x",
        "pytest --pya x",
        "pylint --load-plugins=x src",
        "clang-tidy -load ./a.so a.c",
        "clang-tidy --load=a.so a.c",
        "DOTNET_STARTUP_HOOKS=a.dll dotnet test",
        "GRADLE_USER_HOME=a gradle test",
        "RUSTUP_TOOLCHAIN=a cargo test",
    ],
)
def test_code_that_is_named_in_no_path_asks(text: str) -> None:
    """Packages, plugins and variables bring code from places that no word shows."""
    assert asks(text)
