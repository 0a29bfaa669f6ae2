"""Where programs take the code from that they run: the paths among their words, and the folder that they run in.

Of a program that builds, tests or checks by running what it finds, any word may say where that is: a file of tests, a
settings file with plugins in it, a folder with a makefile. So every path is taken for code, but for the few options
that are known to name what is written or left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from indult.decompose.shell.words import Word

__all__ = ["loaded", "loads", "set_for"]

_LOADERS: Final = frozenset(
    {"make", "gmake", "ninja", "meson", "cmake", "ctest", "just", "rake", "bazel", "scons", "go", "cargo",
     "rustc", "zig", "swift", "dotnet", "javac", "kotlinc", "mvn", "mvnw", "gradle", "gradlew", "sbt", "stack",
     "cabal", "mix", "npm", "pnpm", "yarn", "deno", "bun", "jest", "vitest", "mocha", "ava", "eslint",
     "prettier", "stylelint", "pytest", "py.test", "tox", "nox", "hatch", "coverage", "mypy", "pylint",
     "flake8", "pre-commit", "golangci-lint", "rspec", "rubocop", "phpunit", "composer", "task"}
)  # fmt: skip
"""Programs that run what they are led to, be it a test, a build, a plugin or a settings file that is a program."""

_MODULES: Final = frozenset(
    {"pytest", "unittest", "doctest", "build", "mypy", "pylint", "flake8", "coverage", "nox", "tox", "trial",
     "nose2", "pdb", "cProfile"}
)  # fmt: skip
"""Modules of Python that do so behind `-m`."""

_LAUNCHERS: Final = frozenset({"python", "pypy", "uv", "poetry", "pdm", "pipenv", "rye", "bundle", "coverage", "hatch"})

_ONE: Final = {"go": frozenset({"run"}), "deno": frozenset({"run"}), "bun": frozenset({"run"})}
"""Verbs that run what their first operand names, and hand it the others."""

_DATA: Final = re.compile(
    r"(?:.*(?:out|output|outdir|outfile|outputdir|outputfile|outputjunit|logfile|report|reports|reportfile"
    r"|reportlog|reportsdirectory|profile|cachedir|cachelocation|coveragedirectory|datafile|targetdir|tmpdir|basetemp"
    r"|installprefix|ignore|ignorepath|ignorepattern|exclude|deselect|publicpath|publicurl|basehref|baseurl)"
    r"|base|destdir|(?:junit)?xml|grep|filter|testnamepattern|run|bench|skip)\Z"
)
"""Options, without dashes and folded, whose value behind a sign is written, left out, or no path at all."""

_VALUED: Final = frozenset(
    {"--junitxml", "--junit-xml", "--cov-report", "--output-file", "--outputFile", "--outDir", "--outdir",
     "--out-dir", "--target-dir", "--coverageDirectory", "--log-file", "--data-file", "--cache-location",
     "--ignore-path", "--ignore", "--deselect", "--testNamePattern"}
)  # fmt: skip
"""Those of them that always take the next word for their value."""

_VALUED_BY: Final[dict[str, tuple[str, ...]]] = {
    "go": ("-o", "-run", "-bench", "-skip", "-coverprofile", "-cpuprofile", "-memprofile"),
    "cmake": ("-B",),
    "eslint": ("-o",),
    "rustc": ("-o",),
    "javac": ("-d",),
    "coverage": ("-d", "-o"),
    "ctest": ("-O", "-R", "-E", "-L"),
    "pytest": ("-k", "-m"),
    "jest": ("-t",),
    "vitest": ("-t",),
    "mocha": ("-g",),
}

_CODE: Final[dict[str, tuple[str, ...]]] = {
    "install": ("--strip-program",),
    "man": ("-C", "--config-file"),
    "nm": ("--plugin",),
    "objdump": ("--plugin",),
    "size": ("--plugin",),
    "strings": ("--plugin",),
    "pyright": ("--pythonpath", "--venvpath", "--venv-path"),
}
"""Programs that run nothing by themselves, and their options that name a program, a plugin or settings with one."""

_VARIABLES: Final = re.compile(
    r"(?:.*(?:TMP|TEMP|TMPDIR|CACHE|CACHE_DIR|LOG|LOG_FILE|OUT|OUTPUT|REPORT|URL|URI)|PWD)\Z"
)
"""Variables that name where something is kept or written."""

_MOST_LETTERS: Final = 8

_GIT_FOLDERS: Final = frozenset({"-C", "--git-dir", "--work-tree"})

_MAKE_DATA: Final = re.compile(r"(?:DESTDIR|PREFIX|prefix|TMPDIR|O|OUT\w*|BUILD\w*)[:?+]*=")


def loads(name: str, words: list[Word]) -> str:
    """Return which program, run by its own name or through another one, takes code from what it is led to, or none."""
    base = name.rpartition("/")[2]
    if base.rstrip("0123456789.") in _LAUNCHERS:
        for at, word in enumerate(words):
            text = (word.text or "").rpartition("/")[2]
            found = re.fullmatch(r"(?:-[A-Za-z]*m)?([A-Za-z][\w.-]*?)(?:\.__main__)?", text)
            if found is None:
                continue
            module = text.startswith("-") or (at > 0 and re.fullmatch(r"-[A-Za-z]*m", words[at - 1].text or ""))
            if found[1] in (_MODULES if module else _LOADERS):
                return found[1]
            if not text.startswith("-") and base.rstrip("0123456789.") in {"python", "pypy"}:
                # A script gets what stands behind it.
                return ""
    if base == "git":
        # The settings of a repository name programs that git runs.
        return base
    if base == "node":
        return base if any((word.text or "").startswith("--test") for word in words) else ""
    return base if base in _LOADERS else ""


def loaded(name: str, words: list[Word]) -> Iterator[Word]:
    """Yield the words that may say where the code is that a program runs."""
    tool = loads(name, words)
    yield from _named(words, _CODE.get(name, ()))
    if not tool:
        return
    if tool == "git":
        yield from (words[at + 1] for at, word in enumerate(words[:-1]) if word.text in _GIT_FOLDERS)
        return
    words = _without_arguments(tool, words)
    valued = _VALUED_BY.get(tool, ())
    at = 0
    while at < len(words):
        word, text = words[at], words[at].text or ""
        at += 1
        if text in _VALUED or text in valued:
            at += 1
            continue
        option, sign, _ = text.partition("=")
        if sign and option.startswith("-") and _DATA.match(re.sub(r"[-_.]|^-D(?=CMAKE)", "", option).lower()):
            continue
        if any(text.startswith(one) and len(one) == 2 and text[1:2] != "-" and len(text) > 2 for one in valued):
            continue
        if not (tool in {"make", "gmake"} and _MAKE_DATA.match(text)):
            yield word
            yield from _attached(text)


def _named(words: list[Word], options: tuple[str, ...]) -> Iterator[Word]:
    """Yield the values of options, shortened ones too."""
    for at, word in enumerate(words):
        given, sign, value = (word.text or "").partition("=")
        for option in options:
            if option.startswith("--"):
                found = len(given) > 3 and option.startswith(given)
            else:
                found = given[:1] == "-" and given[:2] != "--" and option[1] in given
                value = given.partition(option[1])[2] or value if found else value
            if found:
                yield Word(value) if sign or value else words[at + 1] if at + 1 < len(words) else Word(None)


def _attached(text: str) -> Iterator[Word]:
    """Yield what may be the value of a letter that stands behind others without one."""
    if text[:1] == "-" and text[1:2] != "-":
        for at in range(3, min(len(text), _MOST_LETTERS)):
            if not text[1:at].isalpha():
                return
            yield Word(text[at:])


def set_for(env: Mapping[str, str | None]) -> dict[str, str | None]:
    """Return the variables that may say where the code is that a program runs."""
    return {variable: value for variable, value in env.items() if value and not _VARIABLES.match(variable)}


def _without_arguments(tool: str, words: list[Word]) -> list[Word]:
    """Return the words without those that are handed to the program that is built, or to the script that is run."""
    texts = [word.text for word in words]
    if tool == "cargo" and "--" in texts:
        return words[: texts.index("--")]
    verb = next((at for at, text in enumerate(texts) if text is None or not text.startswith("-")), len(words))
    if verb == len(words) or texts[verb] not in _ONE.get(tool, ()):
        return words
    files = verb + 1
    while files < len(words) and (texts[files] or "").startswith("-"):
        files += 1
    while files + 1 < len(words) and (texts[files] or "").endswith(".go") and (texts[files + 1] or "").endswith(".go"):
        files += 1
    return words[: files + 1]
