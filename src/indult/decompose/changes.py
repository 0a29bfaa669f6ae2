"""A branch comes apart into what it changes: files, links and modes, and of a manifest or lock its entries.

Paths are compared as bytes and told exactly. A path that another system reads as another one is told as a `change:`, and
so is whatever a name in the repository cannot say: a link that leads out of it, a submodule. A file that is reached
under several names, through links, is told under each of them.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from indult.characters import fold, misleading
from indult.decompose import Part
from indult.decompose.manifests import Compare, comparer

__all__ = ["TOOL", "Changed", "Read", "parts"]

TOOL: Final = "ship"
"""The tool that a changed file counts as."""

_NONE: Final = "000000"
_FILES: Final = frozenset({"100644", "100755"})
_LINK: Final = "120000"
_GITLINK: Final = "160000"
_MODES: Final = (_NONE, *sorted(_FILES), _LINK, _GITLINK)
_WRITTEN: Final = frozenset({("100644", "100644"), ("100755", "100755"), (_NONE, "100644")})
_PLAIN_ADDED: Final = frozenset({(_NONE, "100644"), (_NONE, _LINK), (_NONE, _GITLINK)})

_AHEAD: Final = 64
"""How many changed manifests are asked for at a time."""

_MOST_NAMES: Final = 1000
"""Under how many names one file is looked up; links that lead in circles make more and more of them."""

_MOST_IN_ALL: Final = 50_000
"""How many names other than their own are told of all that a branch changes; beyond that, that there are more."""

_MOST_STEPS: Final = 40
"""How many links are followed one after the other, as Linux does."""

# Letters, digits and marks that every file system reads alike; nearly every path is one of these.
_PLAIN: Final = re.compile(r"[A-Za-z0-9_+@=,()\[\]{}#%&!$;' -]+(?:[./][A-Za-z0-9_+@=,()\[\]{}#%&!$;' -]+)*\Z")
# Windows: another name of `.git` and of the files that steer git, one made up for a longer name, another stream of a
# file, a drive.
_SHORT: Final = re.compile(r"gi[0-9a-z]{0,6}~[0-9]+(\.|\Z)")
_SHORTENED: Final = re.compile(r"[^.]{1,6}~[0-9]+(\.[^.]{0,3})?[. ]*\Z")
_STREAM: Final = re.compile(r":+\$|\A\.git:")
_DRIVE: Final = re.compile(r"[A-Za-z]:")

_OUTSIDE: Final = "link leaves the repository"


class Changed(NamedTuple):
    """A path that differs between two trees: mode and object id on both sides, mode `000000` where it is not there."""

    path: bytes
    old_mode: str
    new_mode: str
    old: str
    new: str


Read = Callable[[Sequence[str]], Mapping[str, bytes]]
"""Returns the content of each object id, or of the first ones, at least one, where all would be too much to hold."""

Below = Callable[[str], Iterable[str]]
"""Returns every path of the tree that would land below one of its paths, none where that is no folder."""


def parts(
    changed: Sequence[Changed],
    *,
    read: Read,
    links: Mapping[str, str],
    guards: Callable[[str], bool],
    below: Below = lambda _: (),
    within: str | None = None,
) -> tuple[Part, ...]:
    """Return the parts of a branch, in the order of `changed`.

    `links` are the symlinks of the tree that would land, path to target. `guards` tells of a path whether it could be
    taken for one that a rule is about and that it is not. `below` lists what a link that changed gives another name.
    `within` is the whole that every part belongs to.
    """
    names = _Names(links, guards, below)
    turned = names.turned(changed)
    found = [names.ordinary(one) or _told(one, names, turned) for one in changed]
    _take_apart([told for told in found if not isinstance(told, str) and told.compare is not None], read)
    made: list[Part] = []
    for told in found:
        if isinstance(told, str):
            made.append(Part(TOOL, f"write:{told}".__str__, told, within))
        else:
            made += (Part(TOOL, target.__str__, told.path, within) for target in dict.fromkeys(told.targets))
    return tuple(made)


class _Told(NamedTuple):
    """What is told of one changed path; `compare` takes it apart further."""

    changed: Changed
    path: str
    targets: list[str]
    compare: Compare | None = None


def _told(changed: Changed, names: _Names, turned: Mapping[str, list[str]]) -> _Told:
    """Return what is told of one changed path, all but the entries of a manifest."""
    path, faults = names.read(changed.path)
    modes = (changed.old_mode, changed.new_mode)
    kinds = _KINDS[modes]
    compare = comparer(path) if kinds[0] == "write" and not faults else None
    if compare is not None and "#" in path:
        # Behind the path of a target stands `#`: which of two it is could not be told.
        faults, compare = ("a manifest with `#` in its path",), None
    edits = compare is not None and modes[0] in _FILES
    if kinds[0] == "write" and changed.old == changed.new and modes[0] in _FILES:
        # The content is the same: what there is to tell is the mode.
        kinds, compare = kinds[1:], None
    targets = [f"{'edit' if edits and kind == 'write' else kind}:{path}" for kind in kinds]
    if faults:
        targets += [f"change:{path}#{fault}" for fault in faults]
    if kinds[-1:] == ["gitlink"]:
        targets.append(f"change:{path}#gitlink")
    if modes[1] == _LINK:
        targets += names.reached(path)
    for link in turned.get(path, ()):
        if link != path:
            targets += (f"link:{link}", *names.reached(link))
        targets += names.entered(link)
    if names.links:
        targets += _elsewhere(path, kinds, names, edits=edits)
    return _Told(changed, path, targets, compare)


def _elsewhere(path: str, kinds: Sequence[str], names: _Names, *, edits: bool) -> Iterator[str]:
    """Yield the same under every other name that a path has through links of the repository."""
    others = names.others(path)
    if others is None:
        yield f"change:{path}#reached under too many names"
        return
    for other in others:
        # What changed in a manifest is told once; under a name that is no manifest of the kind it is one file.
        same = edits and _alike(path, other)
        yield from (f"{'edit' if same and kind == 'write' else kind}:{other}" for kind in kinds)
        yield from (f"change:{path}#also `{other}`: {fault}" for fault in names.faults(other))


def _kinds(old: str, new: str) -> list[str]:
    """Return the kinds of target that a change between these two modes is, `write` first and `gitlink` last."""
    kinds = []
    if new in _FILES:
        kinds.append("write")
    if new == _NONE:
        kinds.append("delete")
    if new not in {old, _NONE} and (old, new) not in _PLAIN_ADDED:
        kinds.append("mode")
    if new == _LINK or (old == _LINK and new != _NONE):
        kinds.append("link")
    if _GITLINK in {old, new}:
        kinds.append("gitlink")
    return kinds


_KINDS: Final = {(old, new): _kinds(old, new) for old in _MODES for new in _MODES if old != new or new != _NONE}


def _take_apart(manifests: Sequence[_Told], read: Read) -> None:
    """Add what changed in each manifest or lock of these; no more of them are in memory than are read at once."""
    content: Mapping[str, bytes] = {}
    for number, told in enumerate(manifests):
        sides = [side for side in _sides(told.changed) if side is not None]
        if any(side not in content for side in sides):
            ahead = manifests[number : number + _AHEAD]
            content = read(
                list(dict.fromkeys(side for one in ahead for side in _sides(one.changed) if side is not None))
            )
        for side in sides:
            if side not in content:
                content = {**content, **read([side])}
        assert told.compare is not None
        old, new = _sides(told.changed)
        assert new is not None
        told.targets.extend(told.compare(told.path, None if old is None else content[old], content[new]))


def _sides(changed: Changed) -> tuple[str | None, str | None]:
    """Return the object ids of the two sides, none where there is no ordinary file."""
    return (
        changed.old if changed.old_mode in _FILES else None,
        changed.new if changed.new_mode in _FILES else None,
    )


def _alike(path: str, other: str) -> bool:
    """Tell whether a manifest is taken apart the same way under another name."""
    return path.rpartition("/")[2] == other.rpartition("/")[2] and comparer(other) is not None


class _Way(NamedTuple):
    """Where a link leads: through which other ones, and where it ends, or why nowhere in the repository."""

    through: list[str]
    end: str | None
    why: str = ""


class _Names:
    """What the paths of a repository are read as, and what they lead to."""

    def __init__(self, links: Mapping[str, str], guards: Callable[[str], bool], below: Below) -> None:
        self.links = links
        self._guards = guards
        self._below = below
        self._left = _MOST_IN_ALL
        self._sorted = sorted(links)
        self._ways: dict[str, _Way] = {}
        self._to: dict[str, list[str]] = {}
        for link in self._sorted:
            way = self._ways[link] = self._follow(link)
            if way.end is not None:
                self._to.setdefault(way.end, []).append(link)

    def turned(self, changed: Sequence[Changed]) -> dict[str, list[str]]:
        """Return which links lead elsewhere now, by the changed link that they are or that they lead through."""
        new = {one.path for one in changed if one.new_mode == _LINK}
        moved = {link for link in self.links if link.encode(errors="surrogateescape") in new} if new else set()
        found: dict[str, list[str]] = {}
        for link, way in self._ways.items() if moved else ():
            one = next((each for each in (link, *way.through) if each in moved), None)
            if one is not None:
                found.setdefault(one, []).append(link)
        return found

    def entered(self, link: str) -> Iterator[str]:
        """Yield what lies below the end of a link that leads elsewhere now, under the names that the link gives it.

        Nobody wrote to it, but a manifest or a hook under a new name is a new one to whoever looks there.
        """
        ends = self._ends(link)
        names = [link, *(self.others(link) or ())]
        for end, lead in ends or ():
            for path in self._below(end):
                self._left -= len(names)
                if self._left < 0:
                    ends = None
                    break
                for name in (one + lead + path[len(end) :] for one in names):
                    yield f"write:{_shown(name)}"
                    yield from (f"change:{_shown(link)}#also `{_shown(name)}`: {fault}" for fault in self.faults(name))
        if ends is None:
            yield f"change:{_shown(link)}#gives too many paths another name"

    def _ends(self, link: str) -> list[tuple[str, str]] | None:
        """Return where a link ends and where those end that lie below that, and what leads there from the link.

        None if they are too many.
        """
        found: list[tuple[str, str]] = []
        open_: list[tuple[str, str, frozenset[str]]] = [(link, "", frozenset())]
        while open_:
            one, lead, used = open_.pop()
            end = self._ways[one].end
            if not end or end in used:
                continue
            found.append((end, lead))
            if len(found) > _MOST_NAMES:
                return None
            at = bisect_left(self._sorted, end + "/")
            while at < len(self._sorted) and self._sorted[at].startswith(end + "/"):
                open_.append((self._sorted[at], lead + self._sorted[at][len(end) :], used | {end}))
                at += 1
        return found

    def ordinary(self, changed: Changed) -> str | None:
        """Return the path of a file of which there is nothing to tell but that it was written, as of nearly all files."""
        name, old_mode, new_mode, old, new = changed
        if (old_mode, new_mode) not in _WRITTEN or old == new or not name.isascii():
            return None
        path = name.decode()
        if not _PLAIN.match(path) or "git" in path.lower() or comparer(path) is not None or self._guards(path):
            return None
        return None if self._to and any(lead in self._to for lead, _ in _heads(path)) else path

    def read(self, name: bytes) -> tuple[str, tuple[str, ...]]:
        """Return a path as it is shown, and what is wrong with it as a name."""
        try:
            path = name.decode()
        except UnicodeDecodeError:
            return name.decode(errors="backslashreplace"), ("the name is not UTF-8",)
        return path, self.faults(path)

    def faults(self, path: str) -> tuple[str, ...]:
        """Return why a path could be taken for another one."""
        found = () if _PLAIN.match(path) and "git" not in path.lower() else tuple(_misread(path))
        return (*found, "the name could be taken for a guarded one") if self._guards(path) else found

    def reached(self, link: str) -> Iterator[str]:
        """Yield what a link of the repository resolves to, and through which other ones."""
        if link not in self.links:
            yield f"change:{link}#link that cannot be followed"
            return
        way = self._ways[link]
        self._left -= len(way.through)
        if self._left < 0:
            yield f"change:{link}#one of too many links"
            return
        yield from (f"link:{path}" for path in way.through)
        if way.end is None:
            yield f"change:{link}#{way.why}"
        elif not way.end:
            yield f"change:{link}#link to the whole repository"
        else:
            yield f"link:{way.end}"
            # As a folder it stands for all that is in it.
            yield f"link:{way.end}/"
            yield from (f"change:{link}#leads to `{way.end}`: {fault}" for fault in self.faults(way.end))

    def others(self, path: str) -> list[str] | None:
        """Return the other names that a path has through links, each used once on the way; none if they are too many."""
        most = min(_MOST_NAMES, max(0, self._left))
        found: dict[str, None] = {}
        open_: list[tuple[str, frozenset[str]]] = [(path, frozenset({path}))]
        while open_ and len(found) <= most:
            name, used = open_.pop()
            for lead, rest in _heads(name):
                for link in self._to.get(lead, ()):
                    other = link + rest
                    if link not in used and other != path and other not in found:
                        found[other] = None
                        open_.append((other, used | {link}))
                        if len(found) > most:
                            break
        self._left -= len(found)
        return list(found) if len(found) <= most else None

    def _follow(self, link: str) -> _Way:
        """Follow a link as a system does that opens it."""
        through: list[str] = []
        done: list[str] = []
        left = link.split("/")[::-1]
        steps = 0
        while left:
            part = left.pop()
            if part == ".." and not done:
                return _Way(through, None, _OUTSIDE)
            if part == "..":
                left_behind = "/".join(done) + "/"
                # A folder that is entered only to be left again, not the one that a link lies in.
                if not any(name.startswith(left_behind) for name in (link, *through)):
                    through.append(left_behind)
                done.pop()
            if part in {"", ".", ".."}:
                continue
            done.append(part)
            here = "/".join(done)
            target = self.links.get(here)
            if target is None:
                continue
            steps += 1
            if steps > _MOST_STEPS:
                return _Way(through, None, "link in a loop")
            if here != link:
                through.append(here)
            if not target or target.startswith("/") or "\\" in target or _DRIVE.match(target):
                return _Way(through, None, _OUTSIDE)
            done.pop()
            left += target.split("/")[::-1]
        return _Way(through, "/".join(done))


def _shown(path: str) -> str:
    return path if path.isascii() else path.encode(errors="surrogateescape").decode(errors="backslashreplace")


def _heads(path: str) -> Iterator[tuple[str, str]]:
    """Yield each way to cut a path between two names, the whole path and the whole repository among them."""
    yield path, ""
    at = path.rfind("/")
    while at >= 0:
        yield path[:at], path[at:]
        at = path.rfind("/", 0, at)
    yield "", "/" + path


def _misread(path: str) -> Iterator[str]:
    """Yield why a path could be read two ways."""
    if "\\" in path:
        yield "a backslash in the name"
    if any(map(misleading, path)):
        yield "the name holds what is invisible or changes how it reads"
    for part in path.split("/"):
        plain = fold(part)
        if part in {"", ".", ".."}:
            yield f"`{part}` in the path"
        elif plain == ".git" or _SHORT.match(plain) or _SHORTENED.match(part) or _STREAM.search(plain):
            yield f"`{part}` is another name of something on some systems"
