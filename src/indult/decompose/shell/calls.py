"""Simple commands: wrappers around another command, texts for another shell, functions, and what moves the folder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from indult.decompose.shell.finding import taken
from indult.decompose.shell.piped import takes_whole_names
from indult.decompose.shell.state import MOST_BASES, Ends, State, both
from indult.decompose.shell.variables import sensitive
from indult.decompose.shell.words import Word
from indult.decompose.shell.wrappers import SHELLS, Inner, Opaque, known_as, shell_text, unwrap

if TYPE_CHECKING:
    from indult.decompose.shell.walk import Walk

__all__ = ["Calls"]

_UNKNOWN: Final = Word(None, None, whole=False)
_SAME_SHELL: Final = frozenset({"command", "builtin"})
_SETTERS: Final = frozenset({"read", "printf", "mapfile", "readarray", "getopts", "unset", "wait"})
_OPAQUE: Final = frozenset(
    [
        "su",
        "script",
        "watch",
        "strace",
        "ltrace",
        "parallel",
        "chroot",
        "unshare",
        "nsenter",
        "flock",
        "chrt",
        "taskset",
        "setpriv",
        "runuser",
        "pkexec",
        "busybox",
        "toybox",
        "unbuffer",
        "expect",
        "entr",
        "gdb",
        "dbus-run-session",
        "systemd-run",
        "firejail",
        "bwrap",
        "proot",
        "fakeroot",
        "at",
        "batch",
        "crontab",
        "start-stop-daemon",
        "daemonize",
        "tmux",
        "screen",
        "rlwrap",
        "chpst",
        "envdir",
        "softlimit",
        "catchsegv",
        "valgrind",
        "perf",
        "coproc",
        "ionotify",
        "run-parts",
        "ld.so",
        "torsocks",
        "proxychains",
        "unzip7",
    ]
)
"""Programs that run what they are given, in ways that are not read."""

_LONGEST_BASE: Final = 200
_MOST_TAILS: Final = 40


class Calls:
    """Runs the simple commands of one walk."""

    def __init__(self, walk: Walk) -> None:
        self._walk = walk

    def run(
        self,
        argv: list[Word],
        state: State,
        *,
        env: dict[str, str | None],
        via: list[list[Any]] | None = None,
        asks: str = "",
        given: str | None = None,
        functions: bool = True,
        piped: Word | None = None,
    ) -> Ends:
        """Add the command and all that it runs; return the state behind it.

        `piped` are the names that it is handed by a pipe. `functions` tells that a function of this name is called; behind a wrapper, the program of that name runs.
        """
        via = via or []
        asks = asks or next((f"`{name}` decides which code runs" for name in env if _decides(name, argv)), "")
        parts, name = self._walk.parts, argv[0].text

        def command(asks: str = asks, **more: Any) -> None:
            parts.command(argv, state, via=via, env=env, asks=asks, **more)

        if name is None:
            self._walk.bindings.doubt()
        if name is None or len(via) > 20:
            command(asks or ("" if name is None else "wrappers are nested too deeply"))
            return both(state)
        if functions and name in state.functions and not self._walk.unsets:
            command(free=True)
            return self._walk.call_function(name, state)
        try:
            inner = unwrap(list(argv))
            text = shell_text(argv) if inner is None else None
        except Opaque as exc:
            command(asks or str(exc), tails=True)
            return both(state)
        if inner is not None:
            return self._wrapped(argv, inner, state, env, via, asks, piped)
        if text is not None:
            command(free=True, opens=False)
            self._text(text[0], state, text[1])
            return both(state)
        return self._plain(argv, name, state, command, given, asks)

    def _plain(self, argv: list[Word], name: str, state: State, command: Any, given: str | None, asks: str) -> Ends:
        """Add a command that is no wrapper."""
        base = known_as(argv[0])
        self._walk.bindings.ran(base, argv)
        if base == "eval":
            return self._eval(argv, state, command)
        if base in {"trap", "find", "fd", "fdfind"}:
            if base == "trap":
                command(free=self._trap(argv), opens=False)
                return both(self._trapped(argv, state))
            own, inner = taken(base, argv)
            command(operands=own[1:])
            for words, beside in inner:
                inside = state._replace(lost=True) if beside else state
                self.run(words, inside, env={}, via=[[base]], functions=False)
            return both(state)
        if base in _OPAQUE:
            command(asks or f"`{base}` runs what it is given", tails=True)
            return both(state)
        command(asks or self._sets(base, argv))
        if base in SHELLS and given is not None:
            self._walk.text(given, state._replace(functions={}, variables={}), shell=base)
        if base in {"cd", "pushd", "popd"}:
            return self._moved(base, argv[1:], state)
        if name == "exit":
            return Ends(None, None)
        if name == "unset":
            return both(_unset(argv, state))
        return both(state)

    def _sets(self, name: str, argv: list[Word]) -> str:
        """Return why a builtin that sets variables needs approval."""
        if name not in _SETTERS or (name == "printf" and argv[1:2] != [Word("-v")]):
            return ""
        for word in argv[1:]:
            if word.text is None and name != "printf":
                return f"what `{name}` sets is not known"
            if word.text is not None and word.text.isidentifier() and self._walk.decides(word.text):
                return f"`{word.text}` decides which code runs"
        return ""

    def _wrapped(
        self,
        argv: list[Word],
        inner: Inner,
        state: State,
        env: dict[str, str | None],
        via: list[list[Any]],
        asks: str,
        piped: Word | None,
    ) -> Ends:
        """Add a wrapper, which needs no rule, and what it runs, which does."""
        parts = self._walk.parts
        parts.command(argv, state, via=via, env=env, free=True, opens=False)
        for word in inner.reads:
            parts.redirected("read", word, state)
        words = inner.words
        if inner.name == "xargs":
            words = _filled(inner, piped if piped is not None and takes_whole_names(inner.own) else _UNKNOWN)
        inside = state
        if inner.folder is not None:
            inside = self._moved("cd", [inner.folder], state).done or state
        for name, _ in inner.assigned:
            self._walk.numbers.set(name)
        same = inner.name in _SAME_SHELL
        ends = self.run(
            words,
            inside,
            env={**env, **dict(inner.assigned)},
            via=[*via, [word.shown for word in inner.own]],
            asks=asks,
            functions=False,
        )
        return ends if same else both(state)

    def _text(self, word: Word, state: State, shell: str) -> None:
        """Walk the text that another shell is given."""
        if word.text is None:
            self._walk.parts.unknown("the text of a shell is not known", "")
        else:
            self._walk.text(word.text, state._replace(functions={}, variables={}), shell=shell)

    def _eval(self, argv: list[Word], state: State, command: Any) -> Ends:
        command(free=True, opens=False)
        words = argv[2:] if argv[1:2] == [Word("--")] else argv[1:]
        if any(word.text is None for word in words):
            self._walk.parts.unknown("the text of `eval` is not known", "")
            return both(state)
        return self._walk.text(" ".join(word.text or "" for word in words), state)

    def _trap(self, argv: list[Word]) -> bool:
        """Tell whether a trap is given a text."""
        words = _behind_dashes(argv)
        return len(words) > 1 and bool(words[0].text) and not (words[0].text or "").startswith("-")

    def _trapped(self, argv: list[Word], state: State) -> State:
        """Walk the text of a trap; return the state from here on, where it may run between any two commands."""
        words = _behind_dashes(argv)
        if len(words) < 2 or (words[0].text or "-").startswith("-"):
            if len(words) > 1 and words[0].text is None:
                self._walk.parts.unknown("the text of `trap` is not known", "")
            return state
        last = all((word.text or "").upper() in {"EXIT", "SIGEXIT", "0"} for word in words[1:])
        return self._walk.later_text(words[0].text or "", state, last=last)

    def _moved(self, name: str, words: list[Word], state: State) -> Ends:
        """Return the state behind a change of the folder, which may fail."""
        places = self._walk.places
        while words and (words[0].text or "")[:1] == "-" and words[0].text != "-":
            ended, words = words[0].text == "--", words[1:]
            if ended:
                break
        if not words and name == "cd" and places.home is not None:
            words = [Word(places.home)]
        text = words[0].text if len(words) == 1 else None
        if text is None or text == "-" or (name == "popd") or (name == "pushd" and text[:1] in "+-"):
            return Ends(State((), state.functions, lost=True), state)
        # By its links or as it reads: an option of the shell or of `cd` decides.
        starts = state.bases or ("/",)
        found = [(places.join(base, text), places.followed(base, text)) for base in starts]
        bases = tuple(dict.fromkeys(path for paths in found for path in paths))
        absolute = places.is_absolute(text)
        if not absolute and not state.bases:
            bases = ()
        kept = tuple(base for base in bases if len(base) <= _LONGEST_BASE)[:MOST_BASES]
        return Ends(State(kept, state.functions, (state.lost and not absolute) or kept != bases), state)


def _filled(inner: Inner, names: Word) -> list[Word]:
    """Return the words of a command of xargs with the names that it is handed where they are put."""
    if inner.replaced is None:
        return [*inner.words, names]
    hole = inner.replaced
    one = Word(None) if names is _UNKNOWN else names
    return [
        word if word.text is None or hole not in word.text else one if at and word.text == hole else Word(None)
        for at, word in enumerate(inner.words)
    ]


def _decides(name: str, argv: list[Word]) -> bool:
    """Tell whether a variable before a command decides which code runs; how `read` parts a line does not."""
    return sensitive(name) and not (name == "IFS" and argv[0].text == "read")


def _behind_dashes(argv: list[Word]) -> list[Word]:
    return argv[2:] if argv[1:2] == [Word("--")] else argv[1:]


def _unset(argv: list[Word], state: State) -> State:
    names = {word.text for word in argv[1:]}
    if None in names:
        return state._replace(functions={})
    return state._replace(functions={name: body for name, body in state.functions.items() if name not in names})
