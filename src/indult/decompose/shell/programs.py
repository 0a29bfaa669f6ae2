"""What well-known programs do to the paths among their words; of any other program, both reading and writing is assumed."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Final, NamedTuple

from indult.decompose.shell.derived import backups, listed, numbers, pieces, split_operands, whole_paths
from indult.decompose.shell.finding import cleared
from indult.decompose.shell.inputs import included
from indult.decompose.shell.known import GIT_HISTORY, GIT_PATHS, GIT_READERS, GIT_WRITERS, READERS, SILENT
from indult.decompose.shell.loaded import loaded
from indult.decompose.shell.words import Word

__all__ = [
    "EXEC",
    "READ",
    "Operand",
    "brings",
    "counts",
    "has",
    "lists",
    "modules",
    "opens_nothing",
    "operands",
    "packed",
    "plain",
    "scripts",
    "tested",
    "writes",
]

READ: Final = ("read",)
WRITE: Final = ("write",)
EXEC: Final = ("exec",)
UNKNOWN: Final = ("read", "write")

_UNPACKERS: Final = frozenset({"patch", "unzip", "cpio", "7z", "7za", "unrar", "pax", "ar", "gpatch", "bsdcpio"})

_INTO: Final = frozenset({"cp", "mv", "ln", "install", "scp", "rsync"})
"""Programs that write their last operand, or a file of the same name below it."""

_WHOLE: Final = frozenset({"mv", "ln", "rsync", "tar", "zip", "7z", "cpio", "scp", "mount", "umount", "rename"})
"""Programs that take a folder with all that is in it."""


class Operand(NamedTuple):
    """A word that may name a path, what is done to it, and whether all below it is meant."""

    word: Word
    kinds: tuple[str, ...]
    below: bool = False


def opens_nothing(name: str) -> bool:
    """Tell whether a program opens none of the files that its words may name."""
    return name in SILENT


def lists(name: str, words: list[Word]) -> bool:
    """Tell whether a program shows names and sizes of files alone, and nothing of what is in them."""
    return name in _LISTERS or (name == "find" and _does(name, words)[0] == READ)


def brings(name: str, words: list[Word]) -> bool:
    """Tell whether a program may bring a folder with all that is in it to another place."""
    return name in _INTO and (name in _WHOLE or has(words, "rRa", "--recursive") or has(words, "", "--archive"))


def counts(name: str) -> bool:
    """Tell whether a program shows no more of files than how long they are."""
    return name == "wc"


def operands(name: str, words: list[Word]) -> Iterator[Operand]:
    """Yield what the words behind a command word may touch."""
    if name == "find" and cleared(words) is not None:
        # What it deletes is looked for on the disk.
        return
    yield from (Operand(word, READ) for word in included(name, words))
    yield from (Operand(word, EXEC) for word in loaded(name, words))
    yield from (Operand(word, WRITE) for word in pieces(name, words))
    if name not in _INTO:
        yield from (Operand(word, WRITE) for word in backups(name, words, []))
    if listed(name, words):
        kinds = _does(name, words)[0]
        removes = (name == "zip" and has(words, "m", "--move")) or (name == "tar" and has(words, "", "--remove-files"))
        if name in _ZIPS:
            kinds = ("read", "write", "delete")
        elif name in {"zip", "tar"}:
            kinds = ("read", "delete") if removes else READ
        yield Operand(Word(None), kinds)
    if name in _INTO:
        yield from _into(name, words)
        return
    if _spreads(name, words):
        # Which files appear or change stands in an archive, a patch or a commit.
        yield Operand(Word(None, "**"), ("write", "delete", "link", "mode"))
    if name == "tar" and (made := packed(words)) is not None:
        yield from made
        return
    if name in {"split", "xxd"} and all(word.text is not None for word in words):
        given = split_operands(words) if name == "split" else None
        if given is not None:
            yield from (Operand(Word(one), kinds) for one, kinds in zip(given, (READ, WRITE), strict=False))
            return
        named = [word for at, word in enumerate(words) if plain(word) and not _counted(name, words[at - 1 : at])]
        yield from (Operand(word, WRITE if len(named) > 1 and word is named[-1] else READ) for word in words)
        return
    if name in _ZIPS and _does(name, words)[0] != READ:
        # The other file has the name of the one that is given, with or without an ending.
        if has(words, "NS", "--name") or has(words, "", "--suffix"):
            yield Operand(Word(None, "**"), WRITE)
        for word in words:
            if word.text is not None and plain(word):
                yield Operand(Word(word.text.rpartition(".")[0] or word.text), WRITE)
                # Some versions take other marks than a dot for the beginning of an ending.
                if (bare := re.sub(r"[-_]g?[zZ]\Z", "", word.text)) != word.text:
                    yield Operand(Word(bare), WRITE)
    if name == "git":
        named = [word for word in words if plain(word)]
        if named and named[0].text == "mv":
            yield from (Operand(word, ("write", "link")) for word in _below(named[-1], named[1:-1], whole=False))
    yield from _cleared(name, words)
    kinds, below = _does(name, words)
    shown = name == "curl" and not any(has(words, "OJ", long) for long in ("--remote-name", "--remote-name-all"))
    verb = next((word for word in words if plain(word)), None) if name == "git" else None
    words = numbers(name, words)
    for word in _without_program(words) if name in _AWKS else _without_excluded(words) if name in _LEAVE_OUT else words:
        if word is verb and verb is not None and verb.text in GIT_HISTORY:
            continue
        # An address names no file, unless what it leads to is kept under its name.
        if not (shown and (word.text or "").startswith(("http://", "https://"))):
            yield Operand(word, READ if _checked(name, words, word) else kinds, below)
    if name == "find" and "delete" in kinds and not (words and plain(words[0])):
        yield Operand(Word("."), kinds, below)


def _counted(name: str, before: list[Word]) -> bool:
    """Tell whether a word behind an option is a number for `xxd`."""
    return name == "xxd" and [word.text for word in before] in [["-l"], ["-c"], ["-g"], ["-s"], ["-o"]]


def _checked(name: str, words: list[Word], word: Word) -> bool:
    """Tell whether a glob finds files for a program that only checks them; behind an option it may be what it writes."""
    if word.glob is None or (name not in {"mypy", "pyright", "flake8"} and (name, words[0].text) != ("ruff", "check")):
        return False
    return all(one.glob is not None or (one.text is not None and one.text[:1] != "-") for one in words)


def _cleared(name: str, words: list[Word]) -> Iterator[Operand]:
    """Yield the files that a program deletes or writes as an option says that is there for something else."""
    if name == "git":
        for word, value in _valued(words, ("--output", "--output-directory")):
            yield Operand(value if value is not None else word, WRITE)
        return
    tool, rest = tested(name, words)
    if tool == "pytest":
        for word, value in _valued(rest, ("--basetemp",)):
            yield Operand(value if value is not None else word, ("write", "delete"), below=True)
    elif tool == "venv" and has(rest, "", "--clear"):
        for word in rest:
            if plain(word):
                yield Operand(word, ("write", "delete"), below=True)


def _valued(words: list[Word], options: tuple[str, ...]) -> Iterator[tuple[Word, Word | None]]:
    """Yield each word that is one of some long options, shortened too, with its value."""
    for at, word in enumerate(words):
        given, sign, value = (word.text or "").partition("=")
        if len(given) > 2 and any(option.startswith(given) for option in options):
            yield word, Word(value) if sign else words[at + 1] if at + 1 < len(words) else None


_RUNNERS: Final = frozenset({"python", "pypy", "uv", "poetry", "coverage", "pdm", "hatch", "pipenv", "rye"})


def tested(name: str, words: list[Word]) -> tuple[str, list[Word]]:
    """Return whether `pytest` or `venv` runs, by its own name or through another program, and the words behind it."""
    if name in {"pytest", "py.test"}:
        return "pytest", words
    if name == "hatch" and words and words[0].text == "test":
        # What stands behind the dashes is handed on.
        return "pytest", words[next((at for at, word in enumerate(words) if word.text == "--"), 0) + 1 :]
    if name.rstrip("0123456789.") in _RUNNERS:
        for at, word in enumerate(words):
            text = (word.text or "").rpartition("/")[2]
            found = re.fullmatch(r"(?:-[A-Za-z]*m)?(pytest|py\.test|_pytest|venv|virtualenv)(?:\.__main__)?", text)
            if found:
                return "venv" if "env" in found[1] else "pytest", words[at + 1 :]
    return "", []


def packed(words: list[Word]) -> list[Operand] | None:
    """Return what tar touches where it only makes or lists an archive, none where it does or may do anything else."""
    texts = [word.text for word in words]
    mode, out, at = "", [], 0
    while at < len(words):
        text = texts[at]
        if text is None and words[at].glob is None:
            return None
        at += 1
        if text is None or (not text.startswith("-") and at > 1):
            out.append(Operand(words[at - 1], READ))
        elif text.startswith("--"):
            option, _, value = text[2:].partition("=")
            if option not in _PACKS:
                return None
            mode += {"create": "c", "list": "t"}.get(option, "")
            if option == "file":
                out.append(Operand(Word(value), UNKNOWN))
        else:
            letters = text.lstrip("-")
            if set(letters) - set("cztvfjJahpC") or ("f" in letters[:-1]) or ("C" in letters[:-1]):
                return None
            mode += "".join(letter for letter in letters if letter in "ct")
            if letters[-1:] in {"f", "C"} and at < len(words):
                out.append(Operand(words[at], UNKNOWN if letters[-1] == "f" else READ))
                at += 1
    if mode not in {"c", "t"}:
        return None
    return [one._replace(kinds=READ) if mode == "t" else one for one in out]


_PACKS: Final = frozenset(
    [
        "create",
        "list",
        "file",
        "gzip",
        "bzip2",
        "xz",
        "verbose",
        "exclude",
        "exclude-vcs",
        "transform",
        "newer-mtime",
        "directory",
        "one-file-system",
    ]
)
"""Long options of tar with which it does no more than make or list an archive."""


def _without_excluded(words: list[Word]) -> Iterator[Word]:
    """Yield the words without the names of files that are not read."""
    skipped = False
    for word in words:
        text = word.text or word.glob or ""
        if not skipped and not text.startswith(_LEFT_OUT):
            yield word
        skipped = not skipped and f"{text}=" in _LEFT_OUT


def _without_program(words: list[Word]) -> list[Word]:
    """Return the words of awk without its options and its program; hazards see to what those do."""
    at = 0
    while at < len(words) and (words[at].text or "").startswith("-"):
        at += 2 if words[at].text in {"-F", "-v"} else 1
    return words[at + 1 :]


def _spreads(name: str, words: list[Word]) -> bool:
    """Tell whether a program writes files that its words do not name."""
    if name in _UNPACKERS:
        return True
    texts = [word.text for word in words]
    if name in {"tar", "bsdtar"}:
        first = texts[0] if texts else ""
        return has(words, "x", "--extract") or has(words, "", "--get") or (bool(first) and "x" in (first or ""))
    if name == "yq":
        return _yaml("s", "--split", words)
    if name != "git":
        return False
    named = [word.text for word in words if plain(word)]
    if not named or named[0] not in GIT_WRITERS or _only_says(words):
        return False
    if named[0] not in GIT_HISTORY:
        return True
    # These put other content over what lies in the work tree, and name no path of it.
    if named[0] == "reset" and any(has(words, "", option) for option in ("--hard", "--merge", "--keep")):
        return True
    if named[0] == "stash" and not {"pop", "apply", "branch"}.isdisjoint(named[1:2]):
        return True
    # What comes from history was judged before it got there, so that only the paths that are named count.
    return has(words, "", "--pathspec-from-file") or (
        named[0] in GIT_PATHS and any(word.text is None or _pathspec(word.text) for word in words if plain(word))
    )


def _yaml(letter: str, long: str, words: list[Word]) -> bool:
    """Tell whether `yq` has an option; what is not known may be it. Behind some letters stands a value."""
    for word in words:
        text = word.text if word.text is not None or word.glob is None else ""
        if text is None or text.startswith(long):
            return True
        if (letters := re.match(r"-(?!-)([^opI=]*)", text)) is not None and letter in letters[1]:
            return True
    return False


def _only_says(words: list[Word]) -> bool:
    """Tell whether `git clean` only says what it would delete."""
    texts = [word.text for word in words]
    texts = texts[: texts.index("--")] if "--" in texts else texts
    return texts[:1] == ["clean"] and any(re.fullmatch(r"-[dxXq]*n[dxXqn]*|--dry-run", text or "") for text in texts)


def _pathspec(text: str) -> bool:
    """Tell whether git takes a word for a pattern of paths."""
    return text.startswith(":") or not {"*", "?", "["}.isdisjoint(text)


def plain(word: Word) -> bool:
    """Tell whether a word is no option."""
    return word.text is None or word.text == "-" or not word.text.startswith("-")


def _does(name: str, words: list[Word]) -> tuple[tuple[str, ...], bool]:
    """Return what a program does to its operands, and whether to all below them."""
    if name == "sort":
        return (UNKNOWN if has(words, "o", "--output") else READ), False
    if name == "sed":
        return (UNKNOWN if has(words, "i", "--in-place") else READ), False
    if name == "yq":
        return (UNKNOWN if _yaml("i", "--in", words) else READ), False
    if name == "find":
        writes = any(word.text is None or word.text in _FINDS for word in words)
        return (("read", "write", "delete"), True) if writes else (READ, False)
    if name in {"rm", "rmdir", "unlink", "shred", "trash", "srm"}:
        return ("delete",) if name != "shred" else ("delete", "write"), has(words, "rR", "--recursive")
    if name in {"chmod", "chown", "chgrp", "chattr", "setfacl", "xattr"}:
        return ("mode",), has(words, "R", "--recursive")
    if name in {"touch", "tee", "mkdir", "truncate", "mkfifo", "mknod", "mktemp"}:
        return WRITE, False
    if name == "git":
        word = next((word.text for word in words if plain(word)), None)
        if _only_says(words):
            return READ, False
        if word in {"rm", "mv", "clean"}:
            return ("delete", "write"), word != "rm" or has(words, "r", "")
        if word in GIT_PATHS:
            # Without another commit, a folder is only taken back to what was committed or added.
            count = sum(map(plain, words))
            return UNKNOWN, has(words, "s", "--source") if word == "restore" else word == "checkout" and count > 2
        if word in GIT_HISTORY:
            return READ, False
        return (READ if word in GIT_READERS else UNKNOWN), False
    if name in _WHOLE:
        return UNKNOWN, True
    if name in _ZIPS:
        shows = has(words, "clt", "--stdout") or has(words, "", "--list") or has(words, "", "--test")
        known = all(word.text is not None or word.glob is not None or word.whole for word in words)
        below = has(words, "r", "--recursive")
        return (READ if shows and known else (*UNKNOWN, "delete") if below else UNKNOWN), below
    if name == "uniq":
        # Its second operand is written.
        return (READ if sum(map(plain, words)) < 2 and all(word.text for word in words) else UNKNOWN), False
    if name in _AWKS:
        return READ, False
    return (READ if name in READERS or name in SILENT else UNKNOWN), False


_LISTERS: Final = frozenset(
    {"ls", "dir", "tree", "du", "df", "stat", "readlink", "realpath", "test", "[", "cd", "pushd", "namei"}
)

_AWKS: Final = frozenset({"awk", "gawk", "mawk", "nawk"})
_ZIPS: Final = frozenset({"gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz", "zstd", "uncompress", "lzma", "unlzma"})

_LEAVE_OUT: Final = frozenset({"grep", "egrep", "fgrep", "zgrep", "diff"})
_LEFT_OUT: Final = ("--exclude=", "--exclude-dir=")
"""Options with the names of files that are not read."""

_FINDS: Final = frozenset({"-delete", "-fprint", "-fprint0", "-fprintf", "-fls"})


def has(words: list[Word], letters: str, long: str) -> bool:
    """Tell whether an option is given, shortened or among others too; what is not known may be it."""
    for word in words:
        text = word.text
        if text is None:
            if word.glob is None:
                return True
        elif text == "--":
            return False
        elif text.startswith("--"):
            if long.startswith(text.partition("=")[0]):
                return True
        elif text.startswith("-") and any(letter in text for letter in letters):
            return True
    return False


def _into(name: str, words: list[Word]) -> Iterator[Operand]:
    """Yield what is done by programs that bring files to their last operand."""
    named = [word for word in words if plain(word)]
    below = name in _WHOLE or has(words, "rRal", "--recursive") or has(words, "", "--archive")
    into = has(words, "t", "--target-directory")
    taken = {"mv": ("read", "delete"), "ln": ("read", "write", "link")}.get(name, READ)
    if name == "cp" and has(words, "lsdaP", "--link"):
        # A hard link or a copied symbolic one is the same file by another name.
        taken = ("read", "write", "link")
    target = named[-1] if named else None
    for word in words:
        if not plain(word):
            yield Operand(word, ("read", "write", "link"), below)
        elif into or len(named) < 2:
            yield Operand(word, (*taken, "write", "link"), below)
        elif word is not target:
            yield Operand(word, taken, below)
    if target is not None:
        yield Operand(target, ("write", "link") if name == "ln" else WRITE)
    whole = whole_paths(name, words)
    found = [target] if target is not None else []
    for folder in named if into else named[-1:]:
        found += _below(folder, [word for word in named if word is not folder], whole=whole)
    if into:
        for word in words:
            if word.text is not None and word.text.startswith("-"):
                value = word.text.partition("=")[2] if word.text.startswith("--") else word.text.partition("t")[2]
                found += _below(Word(value), named, whole=whole) if value else ()
    yield from (
        Operand(word, WRITE if word.text is None else ("write", "link")) for word in found if word is not target
    )
    yield from (Operand(word, WRITE) for word in backups(name, words, found))


def _below(folder: Word, sources: list[Word], *, whole: bool) -> Iterator[Word]:
    """Yield the files that appear when sources are brought into a folder, by their names or by their `whole` paths."""
    for source in sources:
        if folder.text is None or source.text is None:
            yield Word(None)
        else:
            base = source.text.rstrip("/").rpartition("/")[2]
            yield Word(f"{folder.text}/{base}")
            if whole:
                yield Word(f"{folder.text}/{source.text}")


_INTERPRETERS: Final = frozenset(
    [
        "bash",
        "sh",
        "dash",
        "zsh",
        "ksh",
        "python",
        "python2",
        "python3",
        "node",
        "nodejs",
        "deno",
        "bun",
        "ruby",
        "perl",
        "php",
        "lua",
        "Rscript",
        "tclsh",
        "source",
        ".",
        "make",
    ]
)
_SHELLS: Final = frozenset({"bash", "sh", "dash", "zsh", "ksh"})
_INLINE: Final = ("-c", "-e", "-m", "-p", "-r", "--eval", "--print", "--require", "--import")
"""Options behind which no script stands, but a text or a name."""

_COMPILERS: Final = frozenset(
    {"gcc", "g++", "cc", "c++", "clang", "clang++", "rustc", "javac", "go", "cargo", "make", "cmake"}
)
"""Programs that make programs of what lies in the work."""


def writes(name: str) -> bool:
    """Tell whether what a program writes is new to whoever runs it afterwards."""
    return name not in _COMPILERS and name.rstrip("0123456789.") not in _INTERPRETERS


def _settings(name: str, words: list[Word]) -> Iterator[str]:
    """Yield the settings that a test run is told to take, which say what runs."""
    tool, rest = tested(name, words)
    if tool != "pytest":
        return
    for at, word in enumerate(rest):
        text = word.text or ""
        option, sign, value = text.partition("=")
        short = re.match(r"-[qvxslhV]*c", text)
        if short is not None:
            value, sign = text[short.end() :].removeprefix("="), text[short.end() :]
        elif not (len(option) > 5 and "--config-file".startswith(option)):
            continue
        if not sign:
            value = (rest[at + 1].text or "") if at + 1 < len(rest) else ""
        if value and len(value) <= 1000 and "\n" not in value:
            yield value


_MODULE: Final = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*", re.ASCII)


def modules(argv: list[Word]) -> Iterator[tuple[str, ...]]:
    """Yield the files that `python -m NAME` runs if they lie where it is started: the module, and what makes a package."""
    if (argv[0].text or "").rpartition("/")[2].rstrip("0123456789.") not in {"python", "pypy"}:
        return
    texts = [word.text for word in argv[1:4]]
    texts = texts[1:] if texts[:1] in (["-u"], ["-B"]) else texts
    name = texts[1] if len(texts) > 1 and texts[0] == "-m" else None
    if name is None or len(name) > 200 or not _MODULE.fullmatch(name):
        return
    first, dot, _ = name.partition(".")
    # Of those that come with Python, some are loaded before anything in the folder is looked at.
    if first in sys.stdlib_module_names:
        return
    path, package = name.replace(".", "/"), f"{first}/__init__.py"
    yield (f"{path}.py", package) if dot else (f"{path}.py",)
    yield f"{path}/__main__.py", package


def scripts(argv: list[Word]) -> Iterator[str]:
    """Yield the paths of the files that a command executes: its own, and the script of an interpreter."""
    text = argv[0].text
    if text is None:
        return
    if "/" in text:
        yield text
    yield from _settings(text.rpartition("/")[2], argv[1:])
    if text.rpartition("/")[2].rstrip("0123456789.") in _INTERPRETERS or text in _INTERPRETERS:
        for word in argv[1:]:
            if word.text is None or word.text in (_INLINE[:1] if text.rpartition("/")[2] in _SHELLS else _INLINE):
                return
            if plain(word):
                break
        else:
            return
        script = word.text
        if script and len(script) <= 1000 and "\n" not in script:
            yield script
