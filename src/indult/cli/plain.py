"""Verbs whose time counts, declared once: a plain command line is read here, anything else by click.

Importing click takes longer than judging an action. So `indult check`, which stands in front of every action of an
agent, reads the command lines that programs write by itself, and leaves help, mistakes and rare forms to click.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["DATABASE", "DB", "JSON", "LAW", "POLICY", "Option", "Verb", "plain"]


class Option(NamedTuple):
    """One option: its flag, the name its function knows it by, and its help."""

    flag: str
    name: str
    help: str
    metavar: str | None = None
    default: str | None = None
    is_flag: bool = False


class Verb(NamedTuple):
    """A verb with one argument: `argument` is its name and default, `run` gets all values by name."""

    name: str
    short_help: str
    help: str
    argument: tuple[str, str]
    options: tuple[Option, ...]
    run: Callable[..., int | None]


JSON: Final = Option("--json", "as_json", "Print JSON Lines instead of text.", is_flag=True)
POLICY: Final = Option("--policy", "policy", "The policy file.", metavar="FILE", default="indult.yaml")
LAW: Final = Option(
    "--policy",
    "policy",
    "The policy file, taken as it is; by default indult.yaml and all else in force.",
    metavar="FILE",
)
"""The `--policy` of a verb that works under what is in force (`indult.cli.law`) where no file is named."""

DB: Final = Option("--db", "db", "The ledger; by default that of this repository, else your own.", metavar="PATH")

DATABASE: Final = "INDULT_DB"
"""The variable that names the ledger where `--db` does not."""


def plain(verb: Verb, args: Sequence[str]) -> dict[str, Any] | None:
    """Return the values of a plain command line by name; `None` where click has to look at it."""
    options = {option.flag: option for option in verb.options}
    values: dict[str, Any] = {option.name: False if option.is_flag else option.default for option in verb.options}
    name, default = verb.argument
    given: str | None = None
    words = iter(args)
    for word in words:
        option = options.get(word)
        if option is None:
            if given is not None or (word.startswith("-") and word != "-"):
                return None
            given = word
            continue
        value = True if option.is_flag else next(words, None)
        if value is None:
            return None
        values[option.name] = value
    return {**values, name: default if given is None else given}
