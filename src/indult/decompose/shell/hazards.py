"""Options and arguments with which a program made for something else runs code."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Final

from indult.decompose.shell.inputs import COMPILERS, compiles, declares, fetches, queries, transforms
from indult.decompose.shell.launchers import launched
from indult.decompose.shell.programs import tested
from indult.decompose.shell.scripts import awk_runs, sed_runs
from indult.decompose.shell.tasks import builds_dotnet, checks_php, runs_rake, runs_sbt
from indult.decompose.shell.variables import sensitive
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
    "apt-cache": ("-o", "-c", "--option", "--config-file"),
    "less": ("+", "-k", "--lesskey-file", "--lesskey-src"),
    "go": ("-exec", "-toolexec", "-vettool", "-overlay"),
    "cargo": ("--config",),
    "bind": ("-x",),
    "complete": ("",),
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
    "clang-tidy": ("-load", "--load"),
    "pylint": ("--load-plugins",),
    "openssl": ("-engine", "-provider", "-provider-path", "engine"),
    "gcc": ("-wrapper", "-B", "-fplugin", "-specs"),
    "g++": ("-wrapper", "-B", "-fplugin", "-specs"),
    "cc": ("-wrapper", "-B", "-fplugin", "-specs"),
    "vim": ("-c", "+", "--cmd", "-S", "-s", "-u"),
    "vi": ("-c", "+", "--cmd", "-S", "-s", "-u"),
    "just": ("-c", "--command", "--shell", "--shell-arg", "--shell-command", "--chooser", "--set"),
    "meson": ("--wrapper", "--gdb-path"),
    "ctest": ("--build-and-test", "--overwrite", "-D", "-T", "-M"),
    "cabal": ("--test-wrapper", "--ghc-options", "--ghc-option", "--with-ghc", "--with-compiler", "--configure-option"),
    "javac": ("-J",),
    "ctags": ("--options", "--filter-terminator"),
    "fc": ("",),
}  # fmt: skip

_LONG_BY_ONE: Final = frozenset({"go", "ip", "openssl", "gcc", "g++", "cc", "zip", "find", "java", "clang-tidy"})
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
    "cherry-pick": ("--strategy",),
    "revert": ("--strategy",),
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
    tool, rest = tested(name, words)
    if tool == "pytest" and (why := _pytest(rest)):
        return why
    if name in _ELSEWHERE and (why := fetches(words, _ELSEWHERE[name])):
        return why
    if name == "bundle" and words and words[0].text == "exec":
        behind = [word for word in words[1:] if not (word.text or "").startswith("-")][:1]
        return hazard((behind[0].text or "").rpartition("/")[2], words[words.index(behind[0]) + 1 :]) if behind else ""
    special = _SPECIAL.get(name)
    if special is not None:
        return special(words)
    for option in _OPTIONS.get(name, ()):
        if _has(name, option, words):
            return f"`{name} {option}` can run code" if option else f"`{name}` runs code"
    inner = ((one[0].text or "", one[1:]) for one in launched([Word(name), *words]))
    return next((why for one, rest in inner if (why := hazard(one.rpartition("/")[2], rest))), "")


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
    # Where this writes, every subcommand that shows a difference has it, whether or not its manual says so.
    if any(_has("git", option, rest) for option in ("--output", "--output-directory")):
        return f"`git {command} --output` can write any file"
    if command == "stash" and (_has("git", "-a", rest) or _has("git", "--all", rest)):
        return "`git stash --all` takes what is ignored too, secrets among it"
    for option in _GIT.get(command, ()):
        if _has("git", option, rest):
            return f"`git {command} {option}` can run code".replace(" ` ", "` ")
    return ""


def _sed(words: list[Word]) -> str:
    """Mind the scripts among the words, whose options are read as the program reads them."""
    scripts: list[str] = []
    rest: list[str] = []
    at, ended = 0, False
    while at < len(words):
        text = words[at].text
        at += 1
        if text is None:
            if not (scripts or rest):
                return "the script of `sed` is not known"
            # Behind a script it stands for files, and yet an option with another script may follow.
            continue
        if ended or text == "-" or not text.startswith("-"):
            rest.append(text)
            continue
        if text == "--":
            ended = True
            continue
        option, value = _sed_option(text)
        if option in {"e", "l"} and value is None:
            value = words[at].text if at < len(words) else None
            at += 1
        if option == "l" and (value is None or not value.isdigit()):
            # Some versions take no number here, and the next word for the script.
            return "the length of a line of `sed` is none"
        if option == "?" or value is None:
            return "the script of `sed` is not known"
        if option == "e":
            scripts.append(value)
    return _sed_runs(scripts, rest)


_SED_LONG: Final = (
    "expression",
    "file",
    "line-length",
    "in-place",
    "quiet",
    "silent",
    "regexp-extended",
    "null-data",
    "zero-terminated",
    "separate",
    "unbuffered",
    "posix",
    "debug",
    "sandbox",
    "follow-symlinks",
    "binary",
    "help",
    "version",
)


def _sed_option(text: str) -> tuple[str, str | None]:
    """Return the option of a word that takes a value, with its value as far as it stands in the word.

    It is `e` for a script, `l` for a length, `?` for what is not read, and empty for what needs no look.
    """
    if text.startswith("--"):
        name, sign, value = text[2:].partition("=")
        found = [long for long in _SED_LONG if long.startswith(name)]
        if not name or not found or "file" in found:
            return "?", None
        letter = {"expression": "e", "line-length": "l"}.get(found[0], "")
        return letter, value if sign or not letter else None
    for at, letter in enumerate(text[1:], 2):
        if letter in "el":
            return letter, text[at:] or None
        if letter in "iI":
            return "", ""
        if letter not in "nErsuzab":
            return "?", None
    return "", ""


def _sed_runs(scripts: list[str], rest: list[str]) -> str:
    # `-i ''` has an empty suffix in some versions, and behind it the script.
    given = scripts or (rest[:2] if rest[:1] == [""] else rest[:1])
    return next((why for script in given if (why := sed_runs(script))), "")


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


def _compgen(words: list[Word]) -> str:
    """Mind all but the plainest ways to ask for names: words, functions and commands are expanded and run."""
    for word in words:
        if word.text is None or not (_COMPGEN.fullmatch(word.text) or word.text in _ACTIONS):
            return "`compgen` runs code"
    return ""


_COMPGEN: Final = re.compile(r"-[abcdefgjksuv]+|-A|\w[\w./]*")
_ACTIONS: Final = frozenset({"--"})


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
        if set(text[1:]) - set("euxvfEanCTo") or (text[0] == "-" and "a" in text):
            return "an option of the shell changes how a line is read"
        at += 1
        if "o" in text[1:]:
            name = words[at].text if at < len(words) else "pipefail"
            if name not in _HARMLESS_MODES or (name == "allexport" and text[0] == "-"):
                return "an option of the shell changes how a line is read"
            at += 1
    return ""


_HARMLESS_OPTIONS: Final = frozenset({"globstar", "failglob", "checkwinsize", "histappend", "inherit_errexit"})
_HARMLESS_MODES: Final = frozenset(
    {"pipefail", "errexit", "nounset", "xtrace", "verbose", "noglob", "noclobber", "errtrace", "functrace", "allexport"}
    | {"emacs", "vi"}
)


def _pytest(words: list[Word]) -> str:
    """Mind plugins that are named and settings that are overridden, except those that are known to do no harm."""
    for at, word in enumerate(words):
        text = word.text or ""
        behind = (words[at + 1].text or "") if at + 1 < len(words) else ""
        if short := re.match(r"-[qvxslhV]*p", text):
            plugin = text[short.end() :] or behind
            if not plugin.startswith("no:") and plugin not in _PLUGINS:
                return "`pytest -p` runs a plugin"
        option, sign, value = text.partition("=")
        if len(option) > 3 and "--pyargs".startswith(option):
            return "`pytest --pyargs` runs a package by its name, wherever it lies"
        setting = None
        if len(option) > 2 and "--override-ini".startswith(option):
            setting = value if sign else behind
        elif short := re.match(r"-[qvxslhV]*o", text):
            setting = text[short.end() :] or behind
        if setting is not None:
            key, _, value = setting.partition("=")
            if value and not key.startswith(_PYTEST_SETTINGS):
                return f"the setting `{key[:50]}` of pytest can run code or write elsewhere"
    return ""


_PLUGINS: Final = frozenset(
    {
        "xdist",
        "xdist.plugin",
        "pytest_cov",
        "pytest_asyncio",
        "pytest_timeout",
        "pytest_mock",
        "anyio",
        "randomly",
        "pytester",
    }
)
_PYTEST_SETTINGS: Final = (
    "log_cli", "log_level", "log_format", "log_date", "asyncio_", "junit_", "xfail_strict", "console_output_style",
    "timeout", "filterwarnings", "markers", "testpaths", "python_",
)  # fmt: skip


def _make(words: list[Word]) -> str:
    for word in words:
        text = word.text or ""
        if text.startswith("--"):
            given = text.partition("=")[0]
            if len(given) > 2 and any(option.startswith(given) for option in ("--eval", "--print-data-base")):
                return f"`make {given}` can run code or shows all variables"
        elif text.startswith("-"):
            # Behind a letter that takes a value, the others are that value.
            if set(re.split("[CfIoWjlO]", text[1:])[0]) & set("Ep"):
                return f"`make {text[:20]}` can run code or shows all variables"
        elif (found := _MAKE_VARIABLE.match(text)) is not None:
            name, sign, value = found[1], found[2], text[found.end() :]
            plain_tool = name in _TOOLS and re.fullmatch(r"[\w.+-]+", value) is not None
            if "!" in sign or set(value) & set("$`;|&#\\\n<>") or (sensitive(name) and not plain_tool):
                return "`make` is given code to run"
    return ""


_MAKE_VARIABLE: Final = re.compile(r"([^=]*?)\s*([:?+!]*=)", re.DOTALL)
_TOOLS: Final = frozenset({"CC", "CXX", "LD", "AR", "CPP"})
"""Variables of make with the name of a program; one that is installed may be chosen among."""


_ELSEWHERE: Final[dict[str, tuple[str, ...]]] = {
    "npm": ("-C", "--prefix", "--userconfig", "--globalconfig"),
    "pnpm": ("-C", "--dir"),
    "yarn": ("--cwd",),
    "bun": ("--cwd", "--preload", "-r", "--config"),
    "deno": ("--config", "-c", "--import-map"),
    "pre-commit": ("--config", "-c"),
}
"""Programs that run what a folder or file says, and their options that name another one."""


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
    "compgen": _compgen,
    **dict.fromkeys(COMPILERS, compiles),
    **dict.fromkeys(("export", "declare", "typeset", "readonly", "local"), declares),
    "jq": queries,
    "yq": transforms,
    "make": _make,
    "gmake": _make,
    "rake": runs_rake,
    "sbt": runs_sbt,
    "php": checks_php,
    "dotnet": builds_dotnet,
}
