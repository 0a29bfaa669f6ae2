"""Runners of tasks, which take code in an option, in a word or in a variable behind them."""

from __future__ import annotations

import re
from typing import Final

from indult.decompose.shell.variables import hands_options, sensitive
from indult.decompose.shell.words import Word

__all__ = ["builds_dotnet", "checks_php", "runs_rake", "runs_sbt"]

_RAKE_LETTERS: Final = frozenset("eEprfRgG")
_RAKE_LONG: Final = (
    "--execute", "--execute-print", "--execute-continue", "--require", "--rakefile", "--rakelib", "--rakelibdir",
    "--system",
)  # fmt: skip
_ASSIGNED: Final = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_SBT_TASKS: Final = frozenset({"clean", "compile", "test", "Test/compile", "test:compile"})
_PROPERTY: Final = re.compile(r"(?:--?|/)(?:p|property)[:=]([^=]*)", re.IGNORECASE)
_PLAIN_PROPERTY: Final = re.compile(
    r"(?:Configuration|Platform|\w*Version|TargetFrameworks?|RuntimeIdentifier|TreatWarningsAsErrors|WarningLevel|NoWarn|Nullable"
    r"|LangVersion|Optimize|DebugType|CollectCoverage|CoverletOutputFormat|ContinuousIntegrationBuild)\Z",
    re.IGNORECASE,
)
"""Properties that are a number or a name, and neither a file nor a command."""
_PHP_LETTERS: Final = frozenset("dczrBRFE")
_PHP_LONG: Final = ("--define", "--php-ini", "--zend-extension", "--run", "--process-code", "--process-begin")


def runs_rake(words: list[Word]) -> str:
    """Return why rake may run more than the tasks of its file, empty where it does not."""
    for word in words:
        text = word.text or ""
        if _given(text, _RAKE_LETTERS, _RAKE_LONG):
            return f"`rake {text[:20]}` can run code"
        found = _ASSIGNED.fullmatch(text)
        if found and (sensitive(found[1]) or hands_options(found[1], found[2])):
            return f"`{found[1]}` decides which code runs"
    return ""


def runs_sbt(words: list[Word]) -> str:
    """Return why sbt may run more than well-known tasks: it takes each word for a command of its own language."""
    for word in words[1:]:
        if word.text not in _SBT_TASKS and not (word.text or "").startswith("-no-color"):
            return "`sbt` runs each of its words"
    return ""


def checks_php(words: list[Word]) -> str:
    """Return why PHP may run more than the file that it is given, as the options before that say; empty where it does not."""
    for word in words:
        text = word.text or ""
        if text == "-" or not text.startswith("-"):
            return ""
        if _given(text, _PHP_LETTERS, _PHP_LONG):
            return f"`php {text[:20]}` can run code"
    return ""


def builds_dotnet(words: list[Word]) -> str:
    """Return why a build of .NET may run more than its project says, empty where it does not: a property may be a command."""
    for word in words:
        found = _PROPERTY.match(word.text or "")
        if found and not _PLAIN_PROPERTY.match(found[1]):
            return f"the property `{found[1][:50]}` can run code"
    return ""


def _given(text: str, letters: frozenset[str], long: tuple[str, ...]) -> bool:
    """Tell whether a word is one of some options, be it shortened, or a letter among others."""
    if text.startswith("--"):
        option = text.partition("=")[0]
        return len(option) > 2 and any(one.startswith(option) for one in long)
    return text.startswith("-") and not letters.isdisjoint(text)
