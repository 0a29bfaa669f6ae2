"""What file tools touch: the file of a call as it reads and as its links lead, and of a manifest what changes in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from indult.actions import Action
from indult.decompose import Part
from indult.decompose.paths import HERE, Places
from indult.decompose.shell.braces import expanded
from indult.decompose.shell.shfmt import Unparsable
from indult.decompose.shell.words import BARE

__all__ = ["file_parts"]

_PATHS: Final = ("file_path", "path", "notebook_path", "absolute_path", "filename", "target_file", "dir_path")
_READS: Final = frozenset({"Read", "read_file", "NotebookRead", "view", "read"})
_LISTS: Final = frozenset({"LS", "list_directory", "ls", "list_dir"})
_WRITES: Final = frozenset(
    {"Write", "Edit", "MultiEdit", "NotebookEdit", "write_file", "replace", "create", "edit", "edit_file", "write"}
)
_SEARCHES: Final = {
    "Glob": "pattern", "glob": "pattern", "Grep": "glob", "grep": "glob", "search_file_content": "include",
    "grep_search": "include_pattern", "rg": "glob",
}  # fmt: skip
_FINDS: Final = frozenset({"Glob", "glob"})
"""Those that show names alone."""

_PATCHES: Final = frozenset({"apply_patch"})
_ANYTHING: Final = "**"
_SHOWN: Final = "***"
"""All that is not hidden, for rules about one place; see `indult.policy.patterns.overlaps`."""
_ENDING: Final = (
    r"\*(\.(d|test|spec|stories))?\.(c|cc|cfg|cjs|clj|cpp|cs|css|csv|cxx|dart|erl|ex|exs|go|gradle|graphql|h|hpp|hs|html|ini|ipynb"
    r"|java|js|json|jsx|kt|kts|less|lua|m|md|mdx|mjs|ml|mm|mts|php|pl|proto|py|pyi|r|rb|rs|rst|sass|scala|scss|sh|sql"
    r"|svelte|svg|swift|tf|toml|ts|tsx|txt|vue|xml|yaml|yml|zig)"
)
"""The globs of texts that a work consists of; like the patterns below, it is understood when one is met."""
_FOLDER: Final = r"[A-Za-z0-9_][A-Za-z0-9_.-]*"
_AROUND: Final = r"\A[\s\x00-\x1f\ufeff\u180e\u200b\u2060]+|[\s\x00-\x1f\ufeff\u180e\u200b\u2060]+\Z"
"""What some tools leave out at both ends of a path."""


def file_parts(action: Action, cwd: str, places: Places) -> tuple[Part, ...] | None:
    """Return the parts of a call of a file tool, none where the tool is no such tool."""
    files = _Files(action, cwd, places)
    found: Iterator[Part]
    if action.tool in _READS or action.tool in _LISTS:
        empty = "." if action.tool in _LISTS else None
        found = (part for path in _paths(action.args) for part in files.touched("read", path or empty))
    elif action.tool in _WRITES:
        content = _content(action)
        found = (part for path in _paths(action.args) for part in files.written(path, content))
    elif action.tool in _SEARCHES:
        glob = action.args.get(_SEARCHES[action.tool])
        found = (part for path in _paths(action.args) for part in files.searched(path, glob))
    elif action.tool in _PATCHES:
        found = files.patched()
    else:
        return None
    return tuple(dict.fromkeys(found))


def _paths(args: Mapping[str, Any]) -> list[Any]:
    """Return every path that a call names, as which of them the tool takes is not known; one that is none without any."""
    return [args[key] for key in _PATHS if args.get(key) is not None] or [None]


_Content = Callable[[bytes | None], bytes | None]
"""Takes what a file holds and returns what it will hold, none where that is not known."""


def _content(action: Action) -> _Content:
    """Return how the call changes a file."""
    args = action.args
    whole = next((args[key] for key in ("content", "file_text") if isinstance(args.get(key), str)), None)
    given = args.get("edits")
    edits = given if isinstance(given, list) else [args]

    def changed(old: bytes | None) -> bytes | None:
        if whole is not None:
            return str(whole).encode(errors="surrogatepass")
        try:
            text = (old or b"").decode()
        except UnicodeDecodeError:
            return None
        for edit in edits:
            found = _edited(text, edit) if isinstance(edit, dict) else None
            if found is None:
                return None
            text = found
        return text.encode(errors="surrogatepass")

    return changed


def _edited(text: str, edit: Mapping[str, Any]) -> str | None:
    """Return a text after one replacement, none where what the tool would do cannot be told."""
    old, new = edit.get("old_string"), edit.get("new_string")
    if not isinstance(old, str) or not isinstance(new, str):
        return None
    count = text.count(old) if old else 0
    if count == 1 or (count > 1 and edit.get("replace_all") is True):
        return text.replace(old, new)
    return None


class _Files:
    """The parts of one call."""

    def __init__(self, action: Action, cwd: str, places: Places) -> None:
        self._action = action
        self._cwd = cwd
        self._places = places

    def _part(self, target: str, origin: str = "", **more: Any) -> Part:
        return Part(self._action.tool, _Name(target), origin=origin, **more)

    def _unknown(self, kind: str, why: str) -> Part:
        # The name holds a star, so that no approval can be for it.
        return self._part(f"{kind}:{_ANYTHING}", maybe=(f"{kind}:{_ANYTHING}",), asks=why)

    def _names(self, path: object) -> tuple[str, ...]:
        """Return the names of a path, as it stands and trimmed; none where it is no path or leads nowhere."""
        if not isinstance(path, str) or "\0" in path:
            return ()
        found = [self._named(one) for one in _spellings(path)]
        return tuple(dict.fromkeys(name for names in found for name in names)) if all(found) else ()

    def _named(self, path: str) -> tuple[str, ...]:
        """Return the names of a path in one spelling."""
        if not path:
            return ()
        home = self._places.home
        if path == "~" or path.startswith("~/"):
            if home is None:
                return ()
            path = home + path[1:]
        return self._places.names(self._cwd, path) or ()

    def touched(self, kind: str, path: object) -> Iterator[Part]:
        """Yield the parts of doing one thing to a file, one for each of its names."""
        names = self._names(path)
        if not names:
            yield self._unknown(kind, "which file is meant is not known")
        for name in names:
            also = tuple(f"{kind}:{one}" for one in self._places.folded([name]))
            yield self._part(f"{kind}:{name}", name, also=also)

    def written(self, path: object, content: _Content) -> Iterator[Part]:
        """Yield the parts of writing a file; a manifest whose new content is known comes apart."""
        for part in self.touched("write", path):
            yield from self._compared(part, content)

    def _compared(self, part: Part, content: _Content) -> Iterator[Part]:
        from indult.decompose.manifests import comparer

        name = part.origin
        compare = comparer(name) if name and not self._places.is_absolute(name) else None
        if compare is None:
            yield part
            return
        old = self._places.fs.content(self._places.join(self._places.root, name))
        new = content(old)
        if new is None:
            yield part
            return
        changes = compare(name, old, new)
        if old is None:
            yield part
        else:
            also = tuple(one.replace("write:", "edit:", 1) for one in part.also)
            yield self._part(f"edit:{name}", name, also=also)
        for change in changes:
            yield self._part(change, name)

    def searched(self, path: object, pattern: object) -> Iterator[Part]:
        """Yield the parts of a search: the folder that it starts from, and what it may find."""
        base = "." if path is None else path
        glob = pattern if isinstance(pattern, str) and pattern else None
        for part in self.touched("read", base):
            yield Part(part.tool, part.target, part.origin, also=part.also, maybe=part.maybe, asks=part.asks)
            if not part.origin:
                continue
            yield self._part(
                part.target(),
                part.origin,
                # Whatever lies in the folder, for rules about all of it.
                also=(f"read:{self._below(part.origin, '-')}",),
                maybe=tuple(dict.fromkeys(f"read:{one}" for one in self._found(part.origin, glob))),
                finds=None if self._action.tool in _FINDS else self._finder(part.origin, glob),
            )

    def _finder(self, name: str, glob: str | None) -> Callable[[], tuple[str, ...] | None]:
        """Return what lists the files that a search of texts reads: all but what is ignored, or what its glob finds."""
        from indult.decompose.searches import Filter, finder

        globs = [] if glob is None else [one for text in _spellings(glob) for one in _braced(text)]
        taken = [one.rpartition("/")[2] for one in globs if not one.startswith("!")]
        only = tuple(taken) if all(one.strip("*") for one in taken) else ()
        start = self._places.join(self._places.root, name)
        return finder(self._places, [(start, Filter(ignored=bool(taken), only=only))])

    def _found(self, name: str, glob: str | None) -> Iterator[str]:
        """Yield what a search may find, as globs.

        What is hidden is left out unless the glob of the search names it. To look through a folder of the work, or through
        all files of an ending in it, picks out no name that rules are about wherever it lies: that alone asks nothing, as
        with a search in a shell line. To look through home, or what lies above it, may find anything.
        """
        if self._holds_home(name):
            yield self._below(name, _ANYTHING)
            return
        globs = [] if glob is None else _spellings(glob)
        for one in [""] if glob is None else [one for text in globs for one in _braced(text)]:
            yield from [self._below(name, _SHOWN)] if one.startswith("!") else self._matched(name, one)

    def _holds_home(self, name: str) -> bool:
        home = self._places.home
        path = self._places.join(self._places.root, name)
        paths = (path, self._places.real(path))
        return home is not None and any(f"{home}/".startswith(f"{one.rstrip('/')}/") for one in paths)

    def _below(self, name: str, glob: str) -> str:
        return glob if name == HERE else f"{name.rstrip('/')}/{glob}"

    def _matched(self, name: str, glob: str) -> Iterator[str]:
        if self._places.is_absolute(glob):
            name, glob = HERE, self._places.name(self._places.normal(glob))
            if self._places.is_absolute(glob):
                yield glob
                return
        steps = [step for step in glob.replace("\\", "/").split("/") if step != "."]
        if ".." in steps:
            yield _ANYTHING
            return
        # A `*` given to a search of texts takes hidden files too; a search of names shows no more than a list does.
        if _general(steps, stars=self._action.tool in _FINDS):
            folders = [step for step in steps[:-1] if step != "**"]
            yield self._below(name, "/".join([*folders, _SHOWN]))
            return
        plain = "/".join(step for step in steps if step)
        whole = [plain] if "/" in plain or "**" in plain else [plain, f"**/{plain}"]
        for one in whole:
            found = self._below(name, one)
            found = "".join("?" if char in "[]" else char for char in found) if "[" in found else found
            yield found
            yield from self._places.folded([found])

    def patched(self) -> Iterator[Part]:
        """Yield the parts of a patch in the format of `apply_patch`."""
        args = self._action.args
        # Which of them the tool takes is not known, so all count; a list is the words of a command with a patch in it.
        texts = [args[key] for key in ("input", "patch", "command") if args.get(key) is not None]
        for text in texts or [None]:
            found = list(_patch(text)) if isinstance(text, str) else []
            if not found:
                yield self._unknown("write", "the patch cannot be read")
            for kind, path in found:
                yield from self.touched(kind, path)


def _spellings(text: str) -> list[str]:
    """Return a text as it stands, and without what is around it, since which of them a tool takes is not known."""
    if text.isascii() and text.isprintable() and text[:1] != " " != text[-1:]:
        return [text]
    return list(dict.fromkeys((text, re.sub(_AROUND, "", text))))


def _braced(glob: str) -> list[str]:
    """Return the globs that one with braces stands for, or one for anything where they are too many."""
    try:
        rows = expanded([(char, BARE) for char in glob])
    except Unparsable:
        return [_ANYTHING]
    return list(dict.fromkeys("".join(char for char, _ in row) for row in rows))


def _general(steps: list[str], *, stars: bool) -> bool:
    """Tell whether a glob picks out no name: it is about all that is shown, or all of an ending, like `src/**/*.py`."""
    *folders, name = steps
    plain = all(step == "**" or re.fullmatch(_FOLDER, step) for step in folders)
    return plain and (not name or (stars and name in {"*", "**"}) or re.fullmatch(_ENDING, name) is not None)


class _Name:
    """A target that is known already; equal to another of the same text, so that parts can be compared."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __call__(self) -> str:
        return self._text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Name) and other._text == self._text

    def __hash__(self) -> int:
        return hash(self._text)


_HEADS: Final = {
    "*** Add File: ": "write", "*** Update File: ": "write", "*** Delete File: ": "delete", "*** Move to: ": "write",
}  # fmt: skip


def _patch(text: str) -> Iterator[tuple[str, str]]:
    """Yield what a patch does to which paths; nothing where it is no such patch."""
    lines = text.strip().splitlines()
    if not lines or lines[0].strip() != "*** Begin Patch" or lines[-1].strip() != "*** End Patch":
        return
    last = ""
    for line in map(str.lstrip, lines[1:-1]):
        for head, kind in _HEADS.items():
            if line.startswith(head):
                path = line[len(head) :]
                if head.startswith("*** Move") and last:
                    yield "delete", last
                last = path
                yield kind, path
