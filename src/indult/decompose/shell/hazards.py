"""Options and arguments with which a program made for something else runs code."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Final

from indult.decompose.shell.scripts import awk_runs, sed_runs
from indult.decompose.shell.words import Word

__all__ = ["hazard"]

# Program -> options; a single letter counts in a cluster and with a value attached, a long one when shortened.
_OPTIONS: Final[dict[str, tuple[str, ...]]] = {
    "rg": ("--pre", "--hostname-bin"),
    "tar": ("-I", "-F", "--use-compress-program", "--to-command", "--checkpoint-action", "--info-script",
            "--new-volume-script", "--rsh-command", "--rmt-command"),
    "rsync": ("-e", "--rsh", "--rsync-path"),
    "sort": ("--compress-program",),
    "split": ("--filter",),
    "zip": ("-TT", "--unzip-command"),
    "ssh": ("-o", "-F", "-W", "-D", "-L", "-R"),
    "scp": ("-S", "-o", "-F", "-D"),
    "sftp": ("-S", "-o", "-F", "-b", "-D"),
    "man": ("-P", "-H", "--pager", "--html"),
    "less": ("+", "-k", "--lesskey-file", "--lesskey-src"),
    "go": ("-exec", "-toolexec", "-vettool", "-overlay"),
    "cargo": ("--config",),
    "bind": ("-x",),
    "complete": ("",),
    "compgen": ("",),
    "jobs": ("-x",),
    "mapfile": ("-C",),
    "readarray": ("-C",),
    "hash": ("-p",),
    "enable": ("-f", "-n", "-d"),
    "tcpdump": ("-z",),
    "curl": ("-K", "--config"),
    "wget": ("--use-askpass", "--config", "-e", "--execute"),
    "ip": ("netns", "-batch", "-b"),
    "npm": ("--script-shell", "--node-options"),
    "jq": ("-L",),
    "openssl": ("-engine", "-provider", "-provider-path", "engine"),
    "gcc": ("-wrapper", "-B", "-fplugin", "-specs"),
    "g++": ("-wrapper", "-B", "-fplugin", "-specs"),
    "cc": ("-wrapper", "-B", "-fplugin", "-specs"),
    "vim": ("-c", "+", "--cmd", "-S", "-s", "-u"),
    "vi": ("-c", "+", "--cmd", "-S", "-s", "-u"),
    "ctags": ("--options", "--filter-terminator"),
    "fc": ("",),
}  # fmt: skip

_LONG_BY_ONE: Final = frozenset({"go", "ip", "openssl", "gcc", "g++", "cc", "zip", "find", "java"})
"""Programs whose options have one dash and many letters."""

_GIT_GLOBAL: Final = frozenset({"-c", "-p", "--paginate", "--exec-path", "--config-env"})
_GIT_VALUED: Final = frozenset(
    {"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--config-env"}
)
_GIT: Final[dict[str, tuple[str, ...]]] = {
    "rebase": ("-x", "--exec"),
    "difftool": ("",),
    "mergetool": ("",),
    "grep": ("-O", "--open-files-in-pager"),
    "diff": ("--ext-diff", "--textconv"),
    "log": ("--ext-diff", "--textconv"),
    "show": ("--ext-diff", "--textconv"),
    "blame": ("--textconv",),
    "cat-file": ("--textconv", "--filters", "--batch-command"),
    "fetch": ("--upload-pack",),
    "pull": ("--upload-pack",),
    "ls-remote": ("--upload-pack", "--exec"),
    "clone": ("-u", "--upload-pack", "-c", "--config", "--template"),
    "init": ("--template",),
    "push": ("--receive-pack", "--exec"),
    "archive": ("--exec", "--remote", "--output", "-o"),
    "filter-branch": ("",),
    "submodule": ("foreach",),
    "bisect": ("run",),
    "daemon": ("",),
    "send-email": ("",),
    "fast-import": ("",),
    "instaweb": ("",),
    "gui": ("",),
    "merge": ("-s", "--strategy"),
    "hook": ("run",),
}  # fmt: skip
"""Subcommand -> its options; an empty one stands for the subcommand itself."""

_GIT_KEYS: Final = re.compile(
    r"(?i)(?:alias\.|core\.(?:fsmonitor|pager|editor|hookspath|sshcommand|gitproxy|askpass|attributesfile|excludesfile)"
    r"|.*\.(?:command|cmd|driver|textconv|clean|smudge|process|helper|program|tool|path|proxy|uploadpack|receivepack)\Z"
    r"|include|pager\.|browser\.|sequence\.editor|credential|gpg|diff\.external|filter\.|merge\.|protocol\.|url\.|http\.)"
)


def hazard(name: str, words: list[Word]) -> str:
    """Return why a command may run more than it says, empty where it does not; `words` are those behind the name."""
    special = _SPECIAL.get(name)
    if special is not None:
        return special(words)
    for option in _OPTIONS.get(name, ()):
        if _has(name, option, words):
            return f"`{name} {option}` can run code" if option else f"`{name}` runs code"
    return ""


def _has(name: str, option: str, words: list[Word]) -> bool:
    """Tell whether an option or a word is given."""
    if not option:
        return True
    for word in words:
        text = word.text if word.text is not None else ""
        if word.text is None and word.glob is None:
            continue
        if text == "--":
            return False
        if option.startswith("--"):
            given = text.partition("=")[0]
            if len(given) > 2 and option.startswith(given):
                return True
        elif option == "+":
            if text.startswith("+"):
                return True
        elif len(option) == 2 and option[0] == "-" and name not in _LONG_BY_ONE:
            if text.startswith("-") and not text.startswith("--") and option[1] in text:
                return True
        elif text == option or text.startswith((option + "=", "-" + option)):
            return True
    return False


def _git(words: list[Word]) -> str:
    at = 0
    while at < len(words):
        text = words[at].text
        if text is None:
            return "an option of `git` is not known"
        if not text.startswith("-"):
            break
        if text.partition("=")[0] in _GIT_GLOBAL or (text.startswith("-c") and text[:2] != "--"):
            return f"`git {text.partition('=')[0]}` can run code"
        at += 2 if text in _GIT_VALUED else 1
    if at >= len(words):
        return ""
    command, rest = words[at].text or "", words[at + 1 :]
    if command == "config":
        keys = [word.text for word in rest if word.text is None or not word.text.startswith("-")]
        if len(keys) > 1 and any(key is None or _GIT_KEYS.match(key) for key in keys[:2]):
            return "this setting of git can run code later"
        return ""
    for option in _GIT.get(command, ()):
        if _has("git", option, rest):
            return f"`git {command} {option}` can run code".replace(" ` ", "` ")
    return ""


def _sed(words: list[Word]) -> str:
    scripts: list[str] = []
    rest: list[str] = []
    at = 0
    while at < len(words):
        text = words[at].text
        if text is None:
            return "" if scripts or rest else "the script of `sed` is not known"
        if text in {"-e", "--expression", "-f", "--file"} or (
            text[:1] == "-" and text[1:2] != "-" and text[-1] in "ef"
        ):
            value = words[at + 1].text if at + 1 < len(words) else None
            if value is None or text in {"-f", "--file"} or text[-1] == "f":
                return "the script of `sed` is not known"
            scripts.append(value)
            at += 2
            continue
        if text.startswith(("--expression=", "-e")):
            scripts.append(text.partition("=")[2] if text.startswith("--") else text[2:])
        elif text.startswith(("--file", "-f")):
            return "the script of `sed` is not known"
        elif not text.startswith("-"):
            rest.append(text)
        at += 1
    return next((why for script in scripts or rest[:1] if (why := sed_runs(script))), "")


def _awk(words: list[Word]) -> str:
    at = 0
    while at < len(words):
        text = words[at].text
        if text is None:
            return "the program of `awk` is not known"
        if text in {"-F", "-v", "--field-separator", "--assign"}:
            at += 2
        elif text == "--":
            at += 1
            break
        elif text.startswith(("-F", "-v", "--field-separator=", "--assign=")):
            at += 1
        elif text.startswith("-") and len(text) > 1:
            return f"`awk {text}` can run code"
        else:
            break
    if at >= len(words):
        return ""
    program = words[at].text
    return awk_runs(program) if program is not None else "the program of `awk` is not known"


def _evaluated(words: list[Word]) -> str:
    """Mind names with a subscript, which some builtins evaluate, and through it code."""
    for word in words:
        if word.text is None:
            continue
        if "[" in word.text and re.match(r"-?[A-Za-z_]\w*\[", word.text):
            return "a subscript is evaluated, which can run code"
    return ""


def _test(words: list[Word]) -> str:
    for one, other in pairwise(words):
        if one.text in {"-v", "-R"} and (other.text is None or "[" in other.text):
            return "a subscript is evaluated, which can run code"
    return ""


def _alias(words: list[Word]) -> str:
    return "an alias changes which program a name runs" if any("=" in (word.text or "=") for word in words) else ""


def _shopt(words: list[Word]) -> str:
    """Mind options that change how words and lines are read."""
    texts = [word.text for word in words]
    changes = [text for text in texts if text is None or not text.startswith("-")]
    if any(text is None or text not in _HARMLESS_OPTIONS for text in changes) and not {"-s", "-u"}.isdisjoint(texts):
        return "an option of the shell changes how a line is read"
    return "an option of the shell is not known" if None in texts else ""


def _set(words: list[Word]) -> str:
    """Mind options that change how words and lines are read."""
    at = 0
    while at < len(words):
        text = words[at].text
        if text is None:
            return "an option of the shell may be set"
        if text in {"--", "-"} or text[:1] not in {"-", "+"}:
            return ""
        if set(text[1:]) - set("euxvfEanCTo"):
            return "an option of the shell changes how a line is read"
        at += 1
        if "o" in text[1:]:
            name = words[at].text if at < len(words) else "pipefail"
            if name not in _HARMLESS_MODES:
                return "an option of the shell changes how a line is read"
            at += 1
    return ""


_HARMLESS_OPTIONS: Final = frozenset(
    {"dotglob", "globstar", "failglob", "checkwinsize", "histappend", "inherit_errexit"}
)
_HARMLESS_MODES: Final = frozenset(
    {"pipefail", "errexit", "nounset", "xtrace", "verbose", "noglob", "noclobber", "errtrace", "functrace", "allexport"}
)


def _make(words: list[Word]) -> str:
    for word in words:
        if word.text is not None and re.match(r"-?-?(?:eval|SHELL|MAKEFLAGS)", word.text):
            return "`make` is given code to run"
    return ""


_SPECIAL: Final[dict[str, Callable[[list[Word]], str]]] = {
    "git": _git,
    "sed": _sed,
    "gsed": _sed,
    "awk": _awk,
    "gawk": _awk,
    "mawk": _awk,
    "nawk": _awk,
    "read": _evaluated,
    "unset": _evaluated,
    "printf": lambda words: _evaluated(words[1:2]) if words and words[0].text == "-v" else "",
    "wait": _evaluated,
    "test": _test,
    "[": _test,
    "alias": _alias,
    "shopt": _shopt,
    "set": _set,
    "getopts": _evaluated,
    "make": _make,
    "gmake": _make,
}
