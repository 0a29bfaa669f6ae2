"""Turns what is found in a shell text into parts: exact names, other names, and what is not known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from indult.canonical import canonical
from indult.decompose import Part
from indult.decompose.paths import HERE, Places
from indult.decompose.searches import Filter, finder
from indult.decompose.shell.candidates import candidates, guesses
from indult.decompose.shell.environment import decides, pieces
from indult.decompose.shell.forms import other_names
from indult.decompose.shell.fresh import Fresh
from indult.decompose.shell.globbing import matches
from indult.decompose.shell.hazards import hazard
from indult.decompose.shell.inputs import COMPILERS
from indult.decompose.shell.loaded import loads, set_for
from indult.decompose.shell.programs import (
    EXEC,
    READ,
    UNKNOWN,
    brings,
    counts,
    lists,
    modules,
    opens_nothing,
    scripts,
    writes,
)
from indult.decompose.shell.programs import operands as touched
from indult.decompose.shell.repositories import heads, moves_branch, strange
from indult.decompose.shell.rewriting import rewrites
from indult.decompose.shell.searching import searches, takes_paths
from indult.decompose.shell.shfmt import Unparsable
from indult.decompose.shell.state import State
from indult.decompose.shell.words import Word

__all__ = ["Parts"]

_HARMLESS: Final = "/dev/null"
_NETWORK: Final = ("/dev/tcp/", "/dev/udp/")
_MOST_PATHS: Final = 4_000
_MOST_POSSIBLE: Final = 300
_LONGEST_GLOB: Final = 300
_MOST_TAILS: Final = 40
_FOLDERS: Final = ("-C", "--directory", "--cwd", "--prefix", "--git-dir", "--work-tree", "--target-directory")


_PATTERNS: Final = ("--include=", "--exclude=", "--exclude-dir=", "--glob=")
"""Options of searches whose value is no file but a pattern of names."""


class Parts:
    """The parts of one text, in the order in which they were found."""

    def __init__(self, tool: str, places: Places) -> None:
        self.found: list[Part] = []
        self._tool = tool
        self._places = places
        self._seen: set[tuple[object, ...]] = set()
        self._looked = self._possible = 0
        self._fresh = Fresh()
        self._exported: dict[str, str | None] = {}
        self._starts: list[tuple[str, Filter]] = []
        self._bringing = False

    def command(
        self,
        argv: list[Word],
        state: State,
        *,
        via: list[list[Any]],
        env: dict[str, str | None],
        asks: str = "",
        free: bool = False,
        opens: bool = True,
        operands: list[Word] | None = None,
        tails: bool = False,
        sets: dict[str, str | None] | None = None,
    ) -> None:
        """Add one simple command; `via` are the wrappers that run it, `free` means that it needs no rule.

        Its words, or `operands` alone, name files unless it `opens` none itself; with `tails`, any of its words may be a command of its own.
        It `sets` variables for what runs afterwards.
        """
        name = (argv[0].text or "").rpartition("/")[2]
        if argv[0].text is None or argv[0].glob is not None:
            asks = asks or "which program runs is not known"
        self._exported.update(sets or {})
        given = {**env, **(sets or {})}
        asks = asks or ("" if free else hazard(name, argv[1:])) or decides(given)
        if name == "git":
            asks = asks or moves_branch(argv[1:], lambda text: self._is_listed(text, state))
        shown: dict[str, Any] = {"argv": [word.shown for word in argv], "cwd": self._folder(state)}
        shown.update({key: value for key, value in (("via", via), ("env", env)) if value})
        also = list(other_names(argv, folds=self._places.fs.folds))
        also += self._taken_back(argv, state)
        maybe: dict[str, None] = {}
        self._starts = []
        files = self._executed(argv, state, also)
        files.update(self._module(argv, state, also))
        if files:
            shown["files"] = files
        runs = _of_kind(also, "exec")
        if name == "git":
            found = heads(self._places, self._moved(argv[1:], state).bases)
            asks = asks or strange(self._places, found)
            runs |= set(map(self._places.name, found))
        loader = loads(name, argv[1:])
        if loader:
            self._folders(state, also, maybe)
        # A script reads its variables by itself; of any other program, one may name a plugin or settings with a program.
        script = "/" in (argv[0].text or "") or not (writes(name) or name in COMPILERS)
        installed = not script and not opens_nothing(name)
        for piece in pieces(set_for({**self._exported, **env} if loader else env if installed else {})):
            for one in candidates("", piece or ""):
                self._named(one, EXEC, state, also, maybe, below=False)
        handed: list[str] = []
        self._environment(given, state, handed, maybe, silent=not sets and opens_nothing(name))
        if opens:
            self._operands(name, argv[1:] if operands is None else operands, state, also, maybe)
        for at in range(1, min(len(argv), _MOST_TAILS) if tails else 1):
            also.extend(other_names(argv[at:], folds=self._places.fs.folds))
        also.extend(handed)
        if writes(name) and not loader:
            # To set a variable writes nothing yet, and what a script makes of one is its own matter.
            left = handed if sets or "/" in (argv[0].text or "") else []
            self._fresh.wrote(name, _of_kind(also, "write") - _of_kind(left, "write"))
            self._bring(name, argv[1:], also, maybe)
        elif name in COMPILERS:
            made = [one for base in state.bases for one in self._places.names(base, "a.out") or ()]
            self._fresh.compiled(_of_kind(also, "read"), _of_kind(also, "write") | set(made))
        at = len(self.found)
        self._add(
            f"command:{canonical(shown)}", also=also, maybe=list(maybe), asks=asks, free=free, starts=self._starts
        )
        if len(self.found) > at:
            tool = "" if loader == "git" else loader
            self._fresh.ran(at, runs, tool, _of_kind(also, "exec") if tool else set(), [word.text for word in argv])

    def done(self) -> tuple[Part, ...]:
        """Return the parts; a command that runs a file that the text itself writes needs approval, since nobody saw it."""
        for at, why in self._fresh.found().items():
            self.found[at] = self.found[at]._replace(asks=self.found[at].asks or why)
        return tuple(self.found)

    def _bring(self, name: str, words: list[Word], also: list[str], maybe: dict[str, None]) -> None:
        """Note what a program brings that may be a folder from elsewhere, by which all below it is new."""
        if not brings(name, words):
            return
        sources = _of_kind(also, "read")
        new = any(self._places.is_absolute(one) or self._fresh.is_new(one) for one in sources)
        if name == "ln" or new or "read:**" in maybe:
            self._fresh.brought(_of_kind(also, "write"))

    def unknown(self, why: str, text: str) -> None:
        """Add a part for what cannot be told to run, which no rule allows and no approval opens."""
        self._add(f"command:{canonical({'argv': [None], 'text': text[:200]})}", asks=why)

    def nothing(self, text: str) -> None:
        """Add a part for a text that runs no command of its own."""
        self._add(f"command:{canonical({'argv': [], 'text': text[:2000]})}")

    def setting(self, name: str, value: str | None) -> None:
        """Add a part for a variable that decides what runs."""
        shown = {"argv": [], "env": {name: value}}
        self._add(f"command:{canonical(shown)}", asks=f"`{name}` decides which code runs", free=True)

    def assigned(self, name: str, value: str | None, state: State) -> None:
        """Add a part for a variable that is handed to what runs afterwards."""
        given, also, maybe = {name: value}, list[str](), dict[str, None]()
        self._exported.update(given)
        self._environment(given, state, also, maybe)
        shown = {"argv": [], "env": given}
        self._add(f"command:{canonical(shown)}", also=also, maybe=list(maybe), asks=decides(given), free=True)

    def parameter(self, name: str) -> None:
        """Add a part for a variable that is used and may be secret, wherever in a text its name stands."""
        self._add(f"command:{canonical({'argv': [], 'parameter': name})}", free=True)

    def reason(self, why: str) -> None:
        """Add a part that asks, for what stands in no command."""
        self._add(f"command:{canonical({'argv': [], 'why': why})}", asks=why, free=True)

    def redirected(self, kind: str, word: Word | None, state: State) -> None:
        """Add the file that a redirection opens for `read` or `write`; reading needs no rule."""
        text = None if word is None else word.text
        free = kind == "read"
        if text == _HARMLESS:
            return
        if text is None or (state.lost and not self._places.is_absolute(text)):
            glob = None if word is None else word.glob
            maybe = (
                list(self._globs(glob or "**", state)) if text is None and glob else [f"**/{text}" if text else "**"]
            )
            also = tuple(f"{kind}:{one}" for one in maybe)
            # The name holds a star, so that no approval can be for it.
            self._add(f"{kind}:**", maybe=also, asks="" if free else "which file is written is not known", free=free)
            return
        asks = "it opens a connection" if text.startswith(_NETWORK) else ""
        for base in self._bases(state, text):
            names = self._places.names(base, text)
            if names is None:
                self._add(f"{kind}:**", maybe=(f"{kind}:**",), asks="links lead in a circle", free=free)
            for name in names or ():
                if kind == "write":
                    self._fresh.wrote("", {name})
                folded = tuple(f"{kind}:{one}" for one in self._places.folded([name]))
                self._add(f"{kind}:{name}", also=folded, asks=asks, free=free)

    def _add(
        self,
        target: str,
        *,
        also: Any = (),
        maybe: Any = (),
        asks: str = "",
        free: bool = False,
        starts: Sequence[tuple[str, Filter]] = (),
    ) -> None:
        others = tuple(dict.fromkeys(one for one in also if one != target))
        maybe = tuple(maybe)
        self._possible += len(maybe)
        if self._possible > _MOST_POSSIBLE:
            maybe = tuple(dict.fromkeys(f"{one.partition(':')[0]}:**" for one in maybe))
        key = (target, asks, others, maybe, free, *starts)
        if key in self._seen:
            return
        self._seen.add(key)
        finds = finder(self._places, list(starts)) if starts else None
        self.found.append(
            Part(self._tool, lambda: target, also=others, maybe=tuple(maybe), asks=asks, free=free, finds=finds)
        )

    def _bases(self, state: State, text: str) -> tuple[str, ...]:
        """Return the folders that a path may start from; an absolute one starts from the root wherever one is."""
        self._looked += 1 + len(state.bases)
        if self._looked > _MOST_PATHS:
            raise Unparsable(f"it names over {_MOST_PATHS} paths")
        return ("/",) if self._places.is_absolute(text) else state.bases

    def _folder(self, state: State) -> str | None:
        return state.bases[0] if len(state.bases) == 1 and not state.lost else None

    def _executed(self, argv: list[Word], state: State, also: list[str]) -> dict[str, str | None]:
        """Return the files of the tree that a command executes, with their digests."""
        files: dict[str, str | None] = {}
        for text in scripts(argv):
            if text == _HARMLESS:
                continue
            for base in self._bases(state, text):
                for name in self._places.names(base, text) or ():
                    also.append(f"exec:{name}")
                    also.extend(f"exec:{one}" for one in self._places.folded([name]))
                    if not self._places.is_absolute(name):
                        digest = self._places.fs.digest(self._places.join(self._places.root, name))
                        if digest is not None:
                            files[name] = digest
        return files

    def _module(self, argv: list[Word], state: State, also: list[str]) -> dict[str, str | None]:
        """Return the files of a module of the tree that Python runs, with their digests, none of any other module."""
        folder = self._folder(state)
        for paths in modules(argv) if folder is not None else ():
            names = [name for path in paths for name in self._places.names(folder or "", path) or ("/",)]
            real = {name: self._places.fs.digest(self._places.join(self._places.root, name)) for name in names}
            if not any(self._places.is_absolute(name) for name in names) and all(real.values()):
                also.extend(f"exec:{name}" for name in names)
                return dict(real)
        return {}

    def _folders(self, state: State, also: list[str], maybe: dict[str, None]) -> None:
        """Add the folders that a program may run in which takes its code from there."""
        if state.lost:
            maybe["exec:**"] = None
        for base in self._bases(state, HERE):
            for name in self._places.names(base, HERE) or ():
                if name != HERE:
                    also.extend(f"exec:{one}" for one in (name, *self._places.folded([name])))

    def _taken_back(self, argv: list[Word], state: State) -> tuple[str, ...]:
        """Return the other names of `git checkout NAME` where a file of that name is there, which is then taken back."""
        if len(argv) != 3 or argv[1].text != "checkout" or (argv[0].text or "").rpartition("/")[2] != "git":
            return ()
        text = argv[2].text
        if not text or text.startswith("-"):
            return ()
        if not self._is_there(text, state) and not state.lost:
            return ()
        return other_names([*argv[:2], Word("--"), argv[2]], folds=self._places.fs.folds)

    def _is_listed(self, text: str, state: State) -> bool:
        """Tell whether a file or folder of a name is among what its folder holds."""
        paths = [self._places.join(base, text).rpartition("/") for base in self._bases(state, text)]
        return any(name in dict(self._places.fs.entries(folder or "/")) for folder, _, name in paths)

    def _is_there(self, text: str, state: State) -> bool:
        """Tell whether anything has a name in one of the folders that may be in force."""
        fs = self._places.fs
        paths = [self._places.join(base, text) for base in self._bases(state, text)]
        return any(fs.folder(one) or fs.link(one) is not None or fs.digest(one) is not None for one in paths)

    def _environment(
        self,
        env: dict[str, str | None],
        state: State,
        also: list[str],
        maybe: dict[str, None],
        *,
        silent: bool = False,
    ) -> None:
        """Add the names of the files that the values of variables may be."""
        for piece in pieces(env):
            if piece is None and not silent:
                maybe.update((f"{kind}:**", None) for kind in UNKNOWN)
            for text in candidates("", piece or ""):
                self._named(text, UNKNOWN, state, also, maybe, below=False)

    def _operands(self, name: str, words: list[Word], state: State, also: list[str], maybe: dict[str, None]) -> None:
        """Add the names of the files that the words behind a program may be."""
        bases = self._moved(words, state)
        guess = not (opens_nothing(name) or lists(name, words))
        self._bringing = brings(name, words)
        for word, kinds, below in touched(name, words):
            if word.text == _HARMLESS and kinds == EXEC:
                continue
            if word.text is not None:
                for text in candidates(name, word.text):
                    self._named(text, kinds, bases, also, maybe, below=below and text == word.text)
            elif not guess or (word.glob is None and counts(name)):
                continue
            elif word.glob is not None and "**" in word.glob and kinds == READ:
                self._searched(word.glob, bases, also, maybe, names=word.names)
            elif word.glob is not None and word.glob.startswith(_PATTERNS):
                for text in guesses(word.glob.partition("=")[2]):
                    maybe.update((f"read:{one}", None) for one in self._globs(text, bases))
            elif word.glob is not None:
                for text in candidates(name, word.glob):
                    self._there(text, kinds, bases, also, maybe)
                    for glob in self._globs(text, bases):
                        maybe.update(
                            (f"{kind}:{one}", None)
                            for kind in kinds
                            for one in (glob, *([f"{glob}/**"] if below else []))
                        )
            else:
                maybe.update((f"{kind}:**", None) for kind in kinds)
        if name == "git" and not {"remote", "config"}.isdisjoint(word.text for word in words):
            # Both show what stands in the settings of the repository.
            self._named(f"{self._places.root}/.git/config", READ, bases, also, maybe, below=False)
        if self._bringing and any(one.startswith("read:") for one in maybe):
            # Of what comes along, nobody knows either where it appears below the target.
            maybe.update((f"write:{_inside(one)}", None) for one in sorted(_of_kind(also, "write")))
        for word, filtered in searches(name, words):
            if word.text is not None:
                start = word.text if takes_paths(name, words) else self._start(word.text, bases)
                self._searched(f"{start}/**", bases, also, maybe, filtered=filtered)
        for word, filtered in rewrites(name, words):
            # Whatever lies in the folder, for rules about all of it.
            self._named(f"{word.text or HERE}/-", (filtered.kind,), bases, also, maybe, below=False)
            self._starts += [(self._places.join(base, word.text or HERE), filtered) for base in bases.bases]

    def _there(self, glob: str, kinds: tuple[str, ...], state: State, also: list[str], maybe: dict[str, None]) -> None:
        """Add the files that a glob finds as it stands now, for what no pattern of names tells."""
        for base in state.bases if set(glob) & set("*?[") else ():
            for path in matches(self._places, base, glob):
                self._named(path, kinds, state, also, maybe, below=False)

    def _start(self, text: str, state: State) -> str:
        """Return where a search starts: for git, what is no path that is there may be a commit, or a pattern of paths."""
        fs = self._places.fs
        paths = [self._places.join(base, text) for base in state.bases]
        there = any(fs.content(path) is not None or next(iter(fs.entries(path)), None) for path in paths)
        return text if there and not set(text) & set(":*?[") else self._places.root

    def _searched(
        self,
        glob: str,
        state: State,
        also: list[str],
        maybe: dict[str, None],
        *,
        names: tuple[str, ...] = (),
        filtered: Filter | None = None,
    ) -> None:
        """Add what a search reads: the folder and what lies in it, as far as rules are about all of it or about a name.

        Whoever reads all that is in a folder of the work may find there what a rule is about, which is looked for on the
        disk. But a search that picks out a name is about that name, and one through home may find anything.
        """
        start, _, name = glob.partition("/**")
        start, name = start or "/", name.lstrip("/")
        if start.startswith("**"):
            start, name = HERE, glob.rpartition("/")[2].lstrip("*")
        for text in (start, f"{start}/-"):
            self._named(text, READ, state, also, maybe, below=False)
        wide = name == "*" or self._holds_home(start, state)
        for one in ["**"] if wide else [guess for found in (name, *names) for guess in guesses(found)]:
            maybe.update((f"read:{found}", None) for found in self._globs(f"{start.rstrip('/')}/{one}", state))
        if state.lost and not self._places.is_absolute(start):
            maybe["read:**"] = None
        only = tuple(one for one in (name.rpartition("/")[2], *names) if one.strip("*"))
        for base in self._bases(state, start):
            self._starts.append((self._places.join(base, start), filtered or Filter(only=only)))

    def _holds_home(self, start: str, state: State) -> bool:
        home = self._places.home
        paths = [self._places.join(base, start) for base in state.bases or ("/",)]
        paths += [self._places.real(path) for path in paths]
        return home is not None and any(f"{home}/".startswith(f"{path.rstrip('/')}/") for path in paths)

    def _moved(self, words: list[Word], state: State) -> State:
        """Return the state with the folders that a program is told to work in."""
        bases = list(state.bases)
        for at, word in enumerate(words):
            text = word.text or ""
            option, sign, value = text.partition("=")
            found: str | None = None
            if option in _FOLDERS:
                found = value if sign else (words[at + 1].text if at + 1 < len(words) else None)
            elif text.startswith("-C") and len(text) > 2:
                found = text[2:]
            if found:
                bases += [self._places.join(base, found) for base in state.bases]
        return state._replace(bases=tuple(dict.fromkeys(bases)))

    def _named(
        self,
        text: str,
        kinds: tuple[str, ...],
        state: State,
        also: list[str],
        maybe: dict[str, None],
        *,
        below: bool,
    ) -> None:
        if state.lost and not self._places.is_absolute(text):
            glob = "**" if ".." in text else f"**/{text.removeprefix('./')}"
            maybe.update((f"{kind}:{glob}", None) for kind in kinds)
        for base in self._bases(state, text):
            names = self._places.names(base, text)
            if names is None:
                maybe.update((f"{kind}:**", None) for kind in kinds)
                continue
            for one in (*names, *self._places.folded(names)):
                also.extend(f"{kind}:{one}" for kind in kinds)
            if below and self._may_hold(self._places.real(self._places.join(base, text))):
                for one in (*names, *self._places.folded(names)):
                    maybe.update((f"{kind}:{_inside(one)}", None) for kind in kinds)

    def _may_hold(self, path: str) -> bool:
        """Tell whether files may lie below a path: it is a folder, or brought elsewhere and not there to be looked at."""
        fs = self._places.fs
        if fs.folder(path) or not self._bringing:
            return fs.folder(path)
        folder = path.rpartition("/")[0] or "/"
        there = any(fs.spelled(f"{folder.rstrip('/')}/{name}") == fs.spelled(path) for name, _ in fs.entries(folder))
        return not there and not self._fresh.is_file(self._places.name(path))

    def _globs(self, glob: str, state: State) -> Iterator[str]:
        """Yield the names that a glob may find, as globs from the root."""
        steps = glob.split("/")
        first = next((at for at, step in enumerate(steps) if set(step) & set("*?[")), len(steps))
        head, rest = "/".join(steps[:first]), "/".join(steps[first:])
        if len(glob) > _LONGEST_GLOB or ".." in steps[first:]:
            yield "**"
            return
        absolute = glob.startswith("/")
        if state.lost and not absolute:
            yield f"**/{rest or steps[-1]}"
        for base in self._bases(state, glob):
            names = self._places.names(base, ("/" if absolute else "") + head.lstrip("/") or ".")
            for name in names or ("**",):
                found = (rest or HERE) if name == HERE else f"{name.rstrip('/')}/{rest}" if rest else name
                yield found
                yield from self._places.folded([found])


def _inside(name: str) -> str:
    """Return a glob for all below a folder."""
    return "**" if name == HERE else f"{name.rstrip('/')}/**"


def _of_kind(names: list[str], kind: str) -> set[str]:
    """Return the names of one kind."""
    return {one[len(kind) + 1 :] for one in names if one.startswith(f"{kind}:")}
