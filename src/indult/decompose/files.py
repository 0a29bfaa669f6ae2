"""What file tools touch: the file of a call as it reads and as its links lead, and of a manifest what changes in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from indult.actions import Action
from indult.decompose import Part
from indult.decompose.paths import Places

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
_PATCHES: Final = frozenset({"apply_patch"})
_ANYTHING: Final = "**"


def file_parts(action: Action, cwd: str, places: Places) -> tuple[Part, ...] | None:
    """Return the parts of a call of a file tool, none where the tool is no such tool."""
    files = _Files(action, cwd, places)
    if action.tool in _READS or action.tool in _LISTS:
        found = files.touched("read", _path(action.args) or ("." if action.tool in _LISTS else None))
    elif action.tool in _WRITES:
        found = files.written(_path(action.args), _content(action))
    elif action.tool in _SEARCHES:
        found = files.searched(_path(action.args), action.args.get(_SEARCHES[action.tool]))
    elif action.tool in _PATCHES:
        found = files.patched()
    else:
        return None
    return tuple(dict.fromkeys(found))


def _path(args: Mapping[str, Any]) -> Any:
    return next((args[key] for key in _PATHS if args.get(key) is not None), None)


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
        """Return the names of a path, none where it is no path or leads nowhere."""
        if not isinstance(path, str) or not path or "\0" in path:
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
        glob = pattern if isinstance(pattern, str) and pattern else _ANYTHING
        for part in self.touched("read", base):
            yield Part(part.tool, part.target, part.origin, also=part.also, maybe=part.maybe, asks=part.asks)
            if not part.origin:
                continue
            yield self._part(
                part.target(),
                part.origin,
                maybe=tuple(dict.fromkeys(f"read:{one}" for one in self._found(part.origin, glob))),
            )

    def _found(self, name: str, glob: str) -> Iterator[str]:
        steps = glob.replace("\\", "/").split("/")
        if ".." in steps or any(char in glob for char in "{!"):
            yield _ANYTHING
            return
        if self._places.is_absolute(glob):
            yield self._places.name(self._places.normal(glob))
            return
        plain = "/".join(step for step in steps if step not in {"", "."})
        whole = [plain] if "/" in plain or "**" in plain else [plain, f"**/{plain}"]
        for one in whole:
            found = one if name == "." else f"{name.rstrip('/')}/{one}"
            found = "".join("?" if char in "[]" else char for char in found) if "[" in found else found
            yield found
            yield from self._places.folded([found])

    def patched(self) -> Iterator[Part]:
        """Yield the parts of a patch in the format of `apply_patch`."""
        args = self._action.args
        text = next((args[key] for key in ("input", "patch", "command") if isinstance(args.get(key), str)), None)
        found = list(_patch(text)) if text is not None else []
        if not found:
            yield self._unknown("write", "the patch cannot be read")
        for kind, path in found:
            yield from self.touched(kind, path)


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
    for line in lines[1:-1]:
        for head, kind in _HEADS.items():
            if line.startswith(head):
                path = line[len(head) :].strip()
                if head.startswith("*** Move") and last:
                    yield "delete", last
                last = path
                yield kind, path
