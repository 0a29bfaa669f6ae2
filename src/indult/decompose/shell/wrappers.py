"""Programs that only run the command that stands behind their own options."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from indult.decompose.shell.words import Word

__all__ = ["RUNNERS", "SHELLS", "Inner", "Opaque", "shell_text", "unwrap"]

SHELLS: Final = frozenset({"bash", "sh", "dash", "zsh", "ksh"})
"""Shells whose `-c` text is read as a part of the line."""

_MODES: Final = frozenset({"pipefail", "errexit", "nounset", "xtrace", "verbose", "noglob", "noclobber"})
_SYSTEM: Final = re.compile(r"(?:/usr)?/bin/([a-z]+)\Z")
_ASSIGNED: Final = re.compile(r"([^=]*)=(.*)\Z", re.DOTALL)


class Opaque(Exception):
    """It cannot be told which command a wrapper runs; the message says why."""


@dataclass(frozen=True, slots=True)
class _Options:
    """The options of a wrapper: letters and long names without and with a value, and what stands before the command."""

    flags: str = ""
    valued: str = ""
    long_flags: frozenset[str] = frozenset()
    long_valued: frozenset[str] = frozenset()
    before: int = 0
    assigns: bool = False
    itself: str = ""
    """Letters with which the program runs nothing."""


def _long(text: str) -> frozenset[str]:
    return frozenset(text.split())


_WRAPPERS: Final[dict[str, _Options]] = {
    "env": _Options("i0v", "uCS", _long("ignore-environment null debug"), _long("unset chdir split-string"), 0, True),
    "sudo": _Options(
        "AbEHnPSBN", "ugpCDRTrt", _long("askpass background preserve-env non-interactive set-home stdin"),
        _long("user group prompt close-from chdir role type"), 0, True, "KklvV",
    ),
    "doas": _Options("n", "u", itself="L"),
    "nohup": _Options(),
    "timeout": _Options("vfp", "ks", _long("preserve-status foreground verbose"), _long("kill-after signal"), 1),
    "nice": _Options("", "n", frozenset(), _long("adjustment")),
    "stdbuf": _Options("", "ioe", frozenset(), _long("input output error")),
    "setsid": _Options("cfw", "", _long("ctty fork wait")),
    "ionice": _Options("t", "cn", _long("ignore"), _long("class classdata"), itself="pPu"),
    "command": _Options("p", itself="vV"),
    "builtin": _Options(),
    "exec": _Options("cl", "a"),
    "time": _Options("pvaq", "fo", _long("portability verbose append quiet"), _long("format output")),
    "xargs": _Options(
        "0rtpxo", "adEILnPs", _long("null no-run-if-empty verbose interactive exit open-tty"),
        _long("arg-file delimiter max-lines max-args max-procs max-chars replace-all"),
    ),
}  # fmt: skip


RUNNERS: Final = frozenset({*_WRAPPERS, *SHELLS, "eval", "trap", "source", ".", "parallel", "watch", "ssh"})
"""Programs whose words may be another command, or a text for a shell."""


@dataclass(slots=True)
class Inner:
    """What a wrapper runs: the words of the command, and what the wrapper changes about it."""

    name: str
    words: list[Word]
    own: list[Word]
    assigned: list[tuple[str, str | None]] = field(default_factory=list)
    folder: Word | None = None
    """The folder that it is run in."""
    replaced: str | None = None
    """The text that stands for what is not known yet."""
    reads: list[Word] = field(default_factory=list)
    """Files that the wrapper itself opens."""


def known_as(word: Word) -> str:
    """Return the name of a wrapper or shell that a command word names, from a folder of the system too."""
    text = word.text or ""
    found = _SYSTEM.match(text)
    return found[1] if found else text


def unwrap(words: list[Word]) -> Inner | None:
    """Return what a command runs in its place, none where it is no wrapper or runs nothing else.

    Raises:
        Opaque: It is one, but with options that are not known.
    """
    name = known_as(words[0])
    options = _WRAPPERS.get(name)
    if options is None:
        return None
    inner = Inner(name, [], [])
    at = _options(inner, options, words)
    if at is None:
        return None
    at = _assignments(inner, words, at) if options.assigns else at
    for word in words[at : at + options.before]:
        if word.text is None and word.glob is None:
            # What is not known may be several words, and one of them the command.
            raise Opaque(f"a word before the command of `{name}` is not known")
    at += options.before
    if at >= len(words) and name == "xargs":
        words.append(Word("echo"))
    if at >= len(words):
        return None
    inner.own, inner.words = words[:at], words[at:]
    return inner


def _options(inner: Inner, options: _Options, words: list[Word]) -> int | None:
    """Take the options of a wrapper; return where they end, none where it runs nothing."""
    at = 1
    while at < len(words):
        text = words[at].text
        if text is None:
            raise Opaque(f"an option of `{inner.name}` is not known")
        if text == "--":
            return at + 1
        if text == "-" and inner.name == "env":
            at += 1
            continue
        if text == "-" or not text.startswith("-"):
            return at
        step = _long_option(inner, options, words, at) if text.startswith("--") else _cluster(inner, options, words, at)
        if step is None:
            return None
        at += step
    return at


def _long_option(inner: Inner, options: _Options, words: list[Word], at: int) -> int | None:
    text = words[at].text or ""
    name, sign, value = text[2:].partition("=")
    if name in {"help", "version"}:
        return None
    if name in options.long_valued:
        found = Word(value) if sign else (words[at + 1] if at + 1 < len(words) else Word(None))
        _valued(inner, name, found, words, at + (1 if sign else 2))
        return 1 if sign else 2
    if inner.name == "xargs" and name in {"replace", "eof"}:
        inner.replaced = (value or "{}") if name == "replace" else inner.replaced
        return 1
    if name in options.long_flags:
        return 1
    raise Opaque(f"`{inner.name}` has the unknown option `--{name}`")


def _cluster(inner: Inner, options: _Options, words: list[Word], at: int) -> int | None:
    text = words[at].text or ""
    if inner.name == "nice" and text[1:].isdigit():
        return 1
    for place, letter in enumerate(text[1:], 1):
        if letter in options.itself:
            return None
        rest = text[place + 1 :]
        if letter in options.valued:
            found = Word(rest) if rest else (words[at + 1] if at + 1 < len(words) else Word(None))
            _valued(inner, letter, found, words, at + (1 if rest else 2))
            return 1 if rest else 2
        if inner.name == "xargs" and letter in "iel":
            inner.replaced = (rest or "{}") if letter == "i" else inner.replaced
            return 1
        if letter not in options.flags:
            raise Opaque(f"`{inner.name}` has the unknown option `-{letter}`")
    return 1


def _valued(inner: Inner, name: str, value: Word, words: list[Word], after: int) -> None:
    """Mind the options of a wrapper that say where or what it runs."""
    if value.text is None and name not in {"n", "P", "s", "L", "k"}:
        raise Opaque(f"the value of an option of `{inner.name}` is not known")
    if (inner.name, name) in {("env", "S"), ("env", "split-string")}:
        words[after:after] = _split(value.text or "")
    elif name == "chdir" or (inner.name, name) in {("env", "C"), ("sudo", "D")}:
        inner.folder = value
    elif (inner.name, name) == ("sudo", "R"):
        raise Opaque("`sudo` runs it below another root")
    elif (inner.name, name) == ("xargs", "I"):
        inner.replaced = value.text
    elif (inner.name, name) in {("xargs", "a"), ("xargs", "arg-file")}:
        inner.reads.append(value)
    elif (inner.name, name) in {("time", "o"), ("time", "output")}:
        raise Opaque("`time` writes a file")


def _split(text: str) -> list[Word]:
    """Split the text of `env -S`.

    Raises:
        Opaque: It has what shells read in another way.
    """
    import shlex

    if "\\" in text or "$" in text or "#" in text:
        raise Opaque("`env -S` has a text with escapes or variables")
    try:
        return [Word(word) for word in shlex.split(text)]
    except ValueError:
        raise Opaque("`env -S` has a text that cannot be split") from None


def _assignments(inner: Inner, words: list[Word], at: int) -> int:
    """Take the variables that stand before the command."""
    while at < len(words):
        text = words[at].text
        if text is None:
            raise Opaque(f"a word before the command of `{inner.name}` is not known")
        found = _ASSIGNED.match(text)
        if found is None:
            return at
        inner.assigned.append((found[1], found[2]))
        at += 1
    return at


def shell_text(words: list[Word]) -> tuple[Word, str] | None:
    """Return the text that a shell runs because of `-c`, and the name of the shell; none where it runs no such text.

    Raises:
        Opaque: The options of the shell are not known.
    """
    name = known_as(words[0])
    if name not in SHELLS:
        return None
    text_next, at = False, 1
    while at < len(words):
        text = words[at].text
        if text is None:
            raise Opaque(f"an option of `{name}` is not known")
        if text in {"--", "-"}:
            at += 1
            break
        if not text.startswith(("-", "+")):
            break
        if text in {"--rcfile", "--init-file"}:
            raise Opaque(f"`{name}` reads a start-up file")
        if text.startswith("--"):
            at += 1
            continue
        if set(text[1:]) - set("celxuvifprsnEabhmCHPTo"):
            raise Opaque(f"`{name} {text}` changes how a text is read")
        if "o" in text[1:] and at + 1 < len(words) and words[at + 1].text not in _MODES:
            raise Opaque(f"`{name} {text}` changes how a text is read")
        text_next = text_next or (text[0] == "-" and "c" in text)
        # `-o NAME` takes the next word.
        at += 1 + text[1:].count("o")
    if not text_next:
        return None
    if at >= len(words):
        raise Opaque(f"`{name} -c` has no text")
    return words[at], name
